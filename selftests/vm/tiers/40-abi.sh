#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The ioctls and the shared area, without the library, on both kernels.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

make -s selftests >&2 || exit

vm_list stock selftests/core/abi.list
vm_list debug selftests/core/abi.list
# Where there is little memory, and all of it is taken.
vm_list stock selftests/core/oom.list MEM=1024
finish
