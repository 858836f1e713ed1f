#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# splats.sh [FILE]: prints the lines of a kernel log that mean that something
# is wrong in the kernel. Fault injection and failed allocations may print
# stack traces, so a trace alone means nothing. A data race means something if
# a function of dd's is among those that KCSAN names; with "races" as the first
# argument those races are printed that are wholly the kernel's own.

patterns=(
	'^(\[ *[0-9.]+\] )?WARNING: '
	'BUG: '
	'kernel BUG at '
	'Oops'
	'general protection fault'
	'unable to handle '
	'double fault'
	'UBSAN: '
	'ODEBUG: '
	'refcount_t: '
	'Bad page state'
	'INFO: task .* blocked for more than '
	'soft lockup'
	'rcu: INFO: .* stall'
	'INFO: trying to register non-static key'
	'unregister_netdevice: waiting for '
	'Slab cache still has objects'
	'Kernel panic - not syncing: [^A]'
)

# races WHOSE [FILE]: the log without the headlines of races that are not dd's, or
# those headlines. A report ends with a line; where the log ends before, who knows.
races() {
	LC_ALL=C awk -v whose="$1" '
	function report(ours) {
		if (ours && whose == "dd" || !ours && whose == "kernel")
			print race
		race = ""
	}
	/BUG: KCSAN: / { race = $0; ours = 0; next }
	whose == "dd" { print }
	race == "" { next }
	/\[dd\]/ { ours = 1 }
	/==========/ { report(ours || race ~ /\[dd\]/) }
	END { if (race != "") report(1) }' "${@:2}"
}

if [ "${1:-}" = races ]; then
	shift
	races kernel "$@"
else
	IFS='|'
	races dd "$@" | grep -a -E "${patterns[*]}"
fi | tr -d '\r' | head -n "${SPLATS:-3}"
