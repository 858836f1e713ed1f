#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The virtual machine passes output and exit status on, and reports each way in
# which a run can go wrong. The module has no part in this; 70-faults is about
# faults in the module.
# shellcheck disable=SC2317 # functions that check calls
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

export LEAKS=no	# no scan for leaks: without the module there are none to find

# "make vm" as a caller sees it.
output_and_failure() {
	local out status=0

	out=$(make -s vm KERNEL=um MODULE=no \
		RUN='echo "a  b"; echo c >&2; exit 7' <&-) || status=$?
	[ $status != 0 ] && [ "$out" = $'a  b\nc' ]
}

check "make vm passes output through and fails with the command" output_and_failure
# "make quick" as CONTRIBUTING.md has it.
quick() { make -s quick T=abi:abi_data:window_of_3 | grep -q '^ok 1 .*window_of_3'; }

check "make quick runs one test" quick
vm_run "the exit status is that of the command" um 7 'exit 7' MODULE=no
vm_run "a crash is a splat" stock 200 'echo c >/proc/sysrq-trigger' MODULE=no
vm_run "a kernel warning is a splat" um 200 \
	'echo WARNING >/sys/kernel/debug/provoke-crash/DIRECT' MODULE=no
vm_run "a command without end is a timeout" um 202 'sleep 1000' \
	MODULE=no TIMEOUT=3
vm_run "a guest that hangs while it starts is noticed" um 206 true \
	MODULE=no START_TIME=0
# User-Mode Linux prints its version and ends.
early_end() {
	guest um true MODULE=no APPEND=--version 2>&1 | grep -q "^vm: a bad start (3 of 3)"
}

check "a guest that ends before it runs init is started again" early_end
# A built-in module of that kernel warns before there is an init.
vm_run "a guest whose kernel complains while it starts is not trusted" um 206 \
	true MODULE=no APPEND="lkdtm.cpoint_name=DIRECT lkdtm.cpoint_type=WARNING"
vm_run "CHAOS stops the guest" um 0 'sleep 5' MODULE=no CHAOS=1
vm_run "a guest that stops is noticed" um 203 'reboot -f' MODULE=no
finish
