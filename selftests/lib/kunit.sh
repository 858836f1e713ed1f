#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs the KUnit suites of dd_kunit.ko, in the guest with the debug kernel:
# loading it runs them. Their cases become one flat TAP stream.
set -uo pipefail

RESULTS=/sys/kernel/debug/kunit

rmmod dd_kunit 2>/dev/null
modprobe dd_kunit || exit 1
echo "TAP version 13"
awk '
	/KTAP version|^1\.\.|^(not )?ok |pass:/ { next }
	/^    1\.\./ { plan += substr($1, 4); next }
	/^    # Subtest: / { suite = $NF; next }
	/^    (not )?ok / {
		verdict = $1 == "ok" ? "ok" : "not ok"
		sub(/^ *(not )?ok [0-9]+ (- )?/, "")
		print verdict " " ++n " - " suite "." $0
		bad += verdict != "ok"
		next
	}
	{ print "# " $0 }
	END {
		print "1.." plan + 0
		exit bad > 0
	}' "$RESULTS"/dd_*/results
status=$?
rmmod dd_kunit
exit $status
