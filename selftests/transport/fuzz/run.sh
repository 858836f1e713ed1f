#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh SECONDS: runs the fuzzer for SECONDS, from its corpus, which lies in the tree as
# lines of hexadecimal digits. What was found on the way stays in build/fuzz/corpus; an
# input that fails, in build/fuzz/crash-*: give it to the fuzzer as its argument.
# "run.sh --keep" writes the corpus anew from there.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../../vm/tier.sh"

DIR=build/fuzz
CORPUS=selftests/transport/fuzz/corpus

unpack() {
	mkdir -p "$DIR/corpus"
	cat "$CORPUS"/*.hex | perl -e 'while (<STDIN>) { next if /^#/; chomp;
		open my $f, ">:raw", "$ARGV[0]/seed-$." or die; print $f pack "H*", $_; }' \
		"$DIR/corpus"
}

# Of the smallest set that covers as much, a part.
keep() {
	local file

	rm -rf "$DIR/merged"
	mkdir -p "$DIR/merged"
	"$DIR/fuzz_session" -set_cover_merge=1 "$DIR/merged" "$DIR/corpus" 2>/dev/null
	{
		echo "# SPDX-License-Identifier: GPL-2.0-only"
		find "$DIR/merged" -type f -size -200c -printf '%s %p\n' |
			sort -n | awk 'NR % 4 == 1 { print $2 }' |
			while read -r file; do
				od -An -v -tx1 "$file" | tr -d ' \n'
				echo
			done
	} >"$CORPUS/session.hex"
}

fuzz() {
	local log=$DIR/log

	${MAKE:-make} -s --no-print-directory "$DIR/fuzz_session" || return
	unpack
	"$DIR/fuzz_session" -max_total_time="$1" -max_len=2048 \
		-artifact_prefix="$DIR/crash-" "$DIR/corpus" >"$log" 2>&1 || {
		grep -E 'ERROR|SUMMARY|runtime error|Assertion|Test unit' "$log"
		return 1
	}
	# Each kind of request and of reply was received.
	if grep -E '^completed.* 0( |$)' "$log"; then
		return 1
	fi
	grep -E '^Done|DONE|^completed' "$log" | tail -n 4
}

can_fuzz() {
	mkdir -p "$DIR"
	echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
		"${FUZZ_CC:-clang}" -x c -fsanitize=fuzzer,address - \
			-o "$DIR/probe" 2>/dev/null
}

if [ "${1:?seconds}" = --keep ]; then
	keep
	exit
fi
if can_fuzz; then
	check "fuzz the transport, $1 s" fuzz "$1"
else
	skip "fuzz the transport" "no clang with its runtime; run: make deps"
fi
finish
