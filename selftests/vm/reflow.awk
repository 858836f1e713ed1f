# SPDX-License-Identifier: GPL-2.0-only
#
# Turns the TAP that a program prints into results of a longer TAP stream:
# numbered on from "n", each with the program's name. The input may hold several
# TAP streams; their plans are added. Its last line is "@status N", the exit
# status of the program. Everything else, indented subtests included, becomes a
# comment.
#
# A failed result is added for: no plan, fewer or more results than planned, fewer
# results than "least", not counting skips, and an exit status that reports a
# failure that no result has.
#
#   name     the program
#   n        the number of the last result before
#   least    the least number of results
#   results  file that gets the results, which are comments in the output then;
#            otherwise the output has them
#   output   file that gets the input
#   counts   file that gets the last number and the numbers of results that
#            failed, passed and were skipped

function result(verdict, what) {
	if (verdict != "ok")
		failed++
	else if (what ~ /# *[Ss][Kk][Ii][Pp]/)
		skipped++
	else
		passed++
	what = name ": " what
	if (results)
		print verdict " " ++n " " what >results
	else
		print verdict " " ++n " " what
}

BEGIN {
	n += 0
	if (results)
		printf "" >results
}

output { print >output }
{ sub(/\r$/, "") }

/^@status / { status = $2; next }
/^K?TAP version / { next }
/^1\.\.0 *# *[Ss][Kk][Ii][Pp]/ {
	sub(/^1\.\.0 */, "")
	result("ok", $0)
	empty = 1
	next
}
/^1\.\.[0-9]+/ { plan += substr($1, 4); planned = 1; next }
/^#  RUN / { running = $3 }
/^(not )?ok( |$)/ {
	verdict = $1 == "ok" ? "ok" : "not ok"
	sub(/^(not )?ok *[0-9]* *(- )?/, "")
	seen++
	what = (/^#/ ? running " " : "") $0
	result(verdict, what)
	if (results)
		print "# " verdict ": " what
	fflush()
	next
}
/^Bail out!/ { result("not ok", $0) }
/^[# ]/ { print; fflush(); next }
{ print "# " $0; fflush() }

END {
	how = status == 124 ? "ran out of time" : "exit status " status
	if (!planned && !empty) {
		if (!seen && status == 4)	# kselftest's status for a skip
			result("ok", "# SKIP " how)
		else
			result("not ok", "printed no plan, " how)
	}
	if (seen < plan)
		result("not ok", plan - seen " results are missing, " how)
	else if (planned && seen > plan)
		result("not ok", seen " results, but the plan was " plan)
	else if (passed + failed < least)
		result("not ok", least - passed - failed " results are missing, " how)
	if (status != 0 && status != 4 && !failed)
		result("not ok", how)
	print n, failed + 0, passed + 0, skipped + 0 >counts
}
