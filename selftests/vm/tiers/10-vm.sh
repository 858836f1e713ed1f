#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The virtual machine passes on what it should, and goes red by name when it
# should. The module has no part in this; planted faults in it have their own
# tier.
# shellcheck disable=SC2317 # functions that check calls
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

# A command's output and status, as a caller sees them.
output_and_status() {
	local out

	out=$(make -s vm MODULE=no RUN='echo "a  b"; echo c >&2; exit 7' <&-)
	[ $? = 7 ] && [ "$out" = $'a  b\nc' ]
}

check "output and exit status are the command's" output_and_status
vm_run "a crash is a splat" stock 200 'echo c >/proc/sysrq-trigger' MODULE=no
vm_run "a kernel warning is a splat" debug 200 \
	'echo WARNING >/sys/kernel/debug/provoke-crash/DIRECT' MODULE=no
vm_run "a command without end is a timeout" stock 202 'sleep 1000' \
	MODULE=no TIMEOUT=3
vm_run "a guest that hangs while it starts is noticed" stock 206 true \
	MODULE=no START_TIME=0
# A module that is part of that kernel does it, before there is an init.
vm_run "a guest whose kernel complains while it starts is not trusted" debug 206 \
	true MODULE=no APPEND="lkdtm.cpoint_name=DIRECT lkdtm.cpoint_type=WARNING"
vm_run "a guest that stops is noticed" stock 203 'reboot -f' MODULE=no
finish
