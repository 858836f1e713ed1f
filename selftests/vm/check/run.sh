#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh TARGET...: make check. Makes one TAP stream of what the targets print,
# numbered on, their plans summed; a target that prints no plan is one result,
# its exit status. Missing results and exit statuses that tell of a failure
# when no result does are failures. Output of a target stays in build/check.
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 1

LOGS=build/check
total=0 failed=0 skipped=0
mkdir -p "$LOGS"

# reflow TARGET: its output, with "@status N" last, numbered on from $total.
reflow() {
	awk -v target="$1" -v n="$total" -v counts="$LOGS/counts" '
	function result(verdict, name) {
		print verdict " " ++n " - " target ": " name
		bad += verdict != "ok"
		skips += name ~ /# SKIP/
		fflush()
	}
	/^@status / { status = $2; next }
	/^TAP version/ { next }
	/^1\.\.[0-9]+/ { plan += substr($1, 4); planned = 1; next }
	/^(not )?ok( |$)/ {
		verdict = $1 == "ok" ? "ok" : "not ok"
		sub(/^(not )?ok *[0-9]* *(- )?/, "")
		seen++
		result(verdict, $0)
		next
	}
	{ print (/^#/ ? "" : "# ") $0; fflush() }
	END {
		if (!planned && !seen)
			result(status == 0 ? "ok" : "not ok", "exit status " status)
		else if (!planned)
			result("not ok", "printed no plan")
		for (i = seen; i < plan; i++)
			result("not ok", "a result is missing")
		if (planned && seen > plan)
			result("not ok", seen " results, but the plan was " plan)
		if (status != 0 && !bad)
			result("not ok", "exit status " status)
		print n, bad + 0, skips + 0 >counts
	}'
}

echo "TAP version 13"
for target; do
	{
		"${MAKE:-make}" -s --no-print-directory "$target" 2>&1 </dev/null
		echo "@status $?"
	} | tee "$LOGS/$target.log" | reflow "$target"
	read -r total bad skips <"$LOGS/counts"
	failed=$((failed + bad))
	skipped=$((skipped + skips))
done
rm -f "$LOGS/counts"
echo "1..$total"
echo "# $((total - failed - skipped)) passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
