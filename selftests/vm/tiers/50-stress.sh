#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Traffic, ends, kills, loading and unloading, on both kernels; on the debug
# kernel also each good path with each of its allocations failing.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

make -s selftests >&2 || exit

vm_list stock selftests/core/stress.list
vm_list debug selftests/core/stress.list
vm_list debug selftests/core/failnth.list
finish
