#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# How often somebody has to wait for a spinlock while a command runs, and where:
# a kprobe counts the stacks in which the kernel gets to where it queues for one.
#
#   contended.sh COMMAND [ARGUMENT...]
#
# What COMMAND prints comes first, its exit status is ours. Then the functions of
# dd's that wanted the lock, innermost first, with how often they had to wait, and
# in the last line what had nothing to do with dd. The probe takes time itself.
#
# For example: make vm RUN='selftests/net/contended.sh selftests/net/perf.sh lat -s 64'

TRACING=/sys/kernel/tracing
PROBE=dd_contended
EVENT=$TRACING/events/kprobes/$PROBE
HIST=hist:keys=stacktrace:size=4096

die() {
	echo "contended: $*" >&2
	exit 2
}

begin() {
	echo "p:$PROBE native_queued_spin_lock_slowpath" \
		>>"$TRACING/kprobe_events" && echo "$HIST" >"$EVENT/trigger"
}

# shellcheck disable=SC2317 # called by trap
end() {
	[ ! -e "$EVENT" ] || {
		echo "!$HIST" >"$EVENT/trigger"
		echo "-:$PROBE" >>"$TRACING/kprobe_events"
	} 2>/dev/null
}

# Stacks are in braces, a function a line, that of a module with its name.
report() {
	awk '
	/^\{/ { who = ""; next }
	/^\} hitcount:/ { sum[who] += $NF; next }
	/\[dd\]$/ {
		sub(/\+.*/, "", $1)
		who = who (who == "" ? "" : " < ") $1
	}
	/^ *Dropped: [1-9]/ { print "contended: stacks left out:" $2 >"/dev/stderr" }
	END {
		for (who in sum)
			if (who != "")
				printf "%8d  %s\n", sum[who], who | "sort -rn"
		close("sort -rn")
		printf "%8d  elsewhere\n", sum[""]
	}' "$EVENT/hist"
}

[ $# != 0 ] || {
	sed -n '3,/^$/s/^# \{0,1\}//p' "$0" >&2
	exit 2
}
[ -e "$TRACING/kprobe_events" ] || die "this kernel has no kprobes to trace with"
trap end EXIT
begin || die "this kernel does not count stacks"
"$@"
status=$?
echo "# waits for a spinlock, and who wanted it:"
report
exit $status
