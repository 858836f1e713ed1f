#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The ioctls and the shared area, without the library, on both kernels.
# shellcheck source=selftests/lib/tier.sh
. "$(dirname "$0")/../lib/tier.sh"

make -s selftests >&2 || exit

vm_list stock selftests/abi/guest.list
vm_list debug selftests/abi/guest.list
# Where there is little memory, and all of it is taken.
vm_list stock selftests/abi/oom.list MEM=1024
finish
