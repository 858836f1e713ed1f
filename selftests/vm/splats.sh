#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# splats.sh [races] [FILE]: prints the first SPLATS lines (3) of a kernel log that report a bug,
# of those after the line that ends with AFTER.
# Fault injection and failed allocations print stack traces, so a trace alone is
# none. A data race is one if KCSAN names a function of dd; with "races" the other
# races are printed instead.

patterns=(
	'^(\[ *[0-9.]+\] )?WARNING: '
	'BUG: '
	'BUG [^ ]+ \((Not tainted|Tainted)'	# the allocator, about a cache
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

# races dd [FILE]: the log without the headlines of races of the kernel alone.
# races kernel [FILE]: these headlines. A report that the log cuts off counts as dd's.
races() {
	LC_ALL=C awk -v whose="$1" -v after="${AFTER:-}" '
	function report(ours) {
		if (ours && whose == "dd" || !ours && whose == "kernel")
			print race
		race = ""
	}
	{ sub(/\r$/, "") }
	after != "" {
		if (substr($0, length($0) - length(after) + 1) == after)
			after = ""
		next
	}
	/BUG: KCSAN: / { race = $0; ours = 0; next }
	whose == "dd" { print }
	race == "" { next }
	/\[dd\]/ { ours = 1 }
	/==========/ { report(ours || race ~ /\[dd\]/) }
	END { if (race != "") report(1) }' "${@:2}"
}

# Without further programs: guests with all checks start few of them in a second.
if [ "${1:-}" = races ]; then
	races kernel "${@:2}"
else
	IFS='|'
	races dd "$@" | grep -a -E -m "${SPLATS:-3}" "${patterns[*]}" || :
fi
