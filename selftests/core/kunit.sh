#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Loads dd_kunit.ko, which runs its tests, and prints their results as TAP.
set -u
results=/sys/kernel/debug/kunit

modprobe dd_kunit || exit 1
echo "TAP version 13"
awk '
/# Subtest: dd_/ { suite = $NF }
/^    (not )?ok / {
	bad = $1 == "not"
	print (bad ? "not ok " : "ok ") ++n " " suite "." $(bad ? 4 : 3)
	failed += bad
}
/^    1\.\.[0-9]+$/ { split($1, plan, /\.\./); planned += plan[2] }
END { print "1.." planned; exit failed > 0 || n != planned }
' $results/dd_*/results
status=$?
modprobe -r dd_kunit || exit 1
exit $status
