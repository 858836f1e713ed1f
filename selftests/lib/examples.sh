#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The examples of the manual pages and of README.md, run as they stand; "make
# selftests" has compiled them.
#
# shellcheck disable=SC2317 # called through check
# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
PROGRAMS=$PWD/build/selftests/man
scratch

# It ends, with status 0.
run() { timeout 60 "$PROGRAMS/$1" >out 2>&1 </dev/null || { diag "$(cat out)"; return 1; }; }

# serve NAME PROGRAM: start a server, wait for its service.
serve() {
	"$PROGRAMS/$2" >server.out 2>&1 &
	SERVER=$!
	within "$PATIENCE" serving "$1" || diag "$(cat server.out)"
}
serving() { ddctl -j service show | grep -q "\"$1\""; }

stop() {
	kill "$SERVER" 2>/dev/null
	wait "$SERVER" 2>/dev/null
	return 0
}

for program in "$PROGRAMS"/*.[0-9]; do
	name=${program##*/}
	case $name in
	# These need a server, or are one.
	README.md.* | dd_send.3.2 | ddcall.3.* | dd_connect.3.* | ddconn.3.[12] | ddserve.3.2 | rmem.3.*) ;;
	*) check "$name" run "$name" ;;
	esac
done

# prints TEXT NAME [ARGUMENT]: an example, whose output has this text.
prints() { timeout 60 "$PROGRAMS/$2" "${@:3}" </dev/null 2>&1 | tee out | grep -qw "$1"; }

serve echo README.md.1
check README.md.2 prints hello README.md.2
# A sanitizer ends a program that leaks or races with another status.
clean() { run "$1" && grep -qx hello out; }
for sanitizer in address thread; do
	# They need more address space than some guests have.
	if "$PROGRAMS/none.$sanitizer" 2>/dev/null; then
		check "README.md.2 with the $sanitizer sanitizer" clean client.$sanitizer
	else
		skip "README.md.2 with the $sanitizer sanitizer" "it does not run here"
	fi
done
for name in ddcall.3.1 ddconn.3.1 dd_send.3.2 dd_connect.3.1; do
	check "$name" run "$name"
done
stop

# The client sends a line, which the server prints.
lines() { "$PROGRAMS/ddconn.3.2" <<<hello && within "$PATIENCE" grep -qx hello server.out; }

serve lines ddserve.3.2
check "ddserve.3.2 and ddconn.3.2" lines
stop
rmclerk >server.out 2>&1 &
SERVER=$!
within "$PATIENCE" grep -q 'rmclerk: ready' server.out
check rmem.3.1 run rmem.3.1
"$PROGRAMS/README.md.3" &
OWNER=$!
check README.md.3 within "$PATIENCE" prints 42 README.md.3 -1
kill "$OWNER"
stop
finish
