#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Count how often CPUs wait for a spinlock while a command runs, and where: a kprobe
# counts the stacks that enter the slow path of spinlocks.
#
#   contended.sh COMMAND [ARGUMENT...]
#
# Prints the output of COMMAND, then the functions of dd.ko that took the lock,
# innermost first, with the number of waits; the last line counts the waits outside of
# dd.ko. The exit status is that of COMMAND. The probe itself takes time.
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

# Stacks are in braces, one function per line; functions of modules have the name of
# the module.
report() {
	awk '
	/^\{/ { path = ""; next }
	/^\} hitcount:/ { sum[path] += $NF; next }
	/\[dd\]$/ {
		sub(/\+.*/, "", $1)
		path = path (path == "" ? "" : " < ") $1
	}
	/^ *Dropped: [1-9]/ { print "contended: stacks left out:" $2 >"/dev/stderr" }
	END {
		for (path in sum)
			if (path != "")
				printf "%8d  %s\n", sum[path], path | "sort -rn"
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
echo "# waits for a spinlock, and the functions that took it:"
report
exit $status
