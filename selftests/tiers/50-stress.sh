#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Traffic, ends, kills, loading and unloading, on both kernels; on the debug
# kernel also each good path with each of its allocations failing.
# shellcheck source=selftests/lib/tier.sh
. "$(dirname "$0")/../lib/tier.sh"

make -s selftests >&2 || exit

vm_list stock selftests/stress/guest.list
vm_list debug selftests/stress/guest.list
vm_list debug selftests/stress/failnth.list
finish
