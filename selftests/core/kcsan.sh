#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What runs against each other in dd.ko, on a kernel with KCSAN: a report that
# names a function of dd's is a failure, of the program that ran then and of the
# run. And proof that one is seen.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../vm/tier.sh"

make -s selftests >&2 || exit

echo "TAP version 13"
vm_list kcsan selftests/core/kcsan.list
red plain-counter 200 'KCSAN: data-race in local_put' \
	'DD_DIRECT=0 build/selftests/stress_flow many_senders' KERNEL=kcsan
finish
