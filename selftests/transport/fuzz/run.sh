#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh SECONDS: runs each fuzzer for SECONDS, from its corpus, which lies in the
# tree as lines of hexadecimal digits. What was found on the way stays in
# build/fuzz/corpus-*; an input that fails, in build/fuzz/crash-*: give it to
# the fuzzer as its argument. "run.sh --keep" writes the corpus anew from there.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../../vm/tier.sh"

DIR=build/fuzz
CORPUS=selftests/transport/fuzz/corpus

# unpack NAME DIRECTORY
unpack() {
	mkdir -p "$2"
	cat "$CORPUS/$1"*.hex | perl -e 'while (<STDIN>) { next if /^#/; chomp;
		open my $f, ">:raw", "$ARGV[0]/seed-$." or die; print $f pack "H*", $_; }' "$2"
}

# pack NAME DIRECTORY: of the smallest set that covers as much, a part.
pack() {
	local file

	rm -rf "$DIR/merged"
	mkdir -p "$DIR/merged"
	"$DIR/fuzz_$1" -set_cover_merge=1 "$DIR/merged" "$2" 2>/dev/null
	{
		echo "# SPDX-License-Identifier: GPL-2.0-only"
		find "$DIR/merged" -type f -size -200c -printf '%s %p\n' |
			sort -n | awk 'NR % 4 == 1 { print $2 }' |
			while read -r file; do
				od -An -v -tx1 "$file" | tr -d ' \n'
				echo
			done
	} >"$CORPUS/$1.hex"
}

fuzz() {
	local name=$1 seconds=$2 log=$DIR/$1.log

	${MAKE:-make} -s --no-print-directory "$DIR/fuzz_$name" || return
	unpack "$name" "$DIR/corpus-$name"
	"$DIR/fuzz_$name" -max_total_time="$seconds" -max_len=2048 \
		-artifact_prefix="$DIR/crash-" "$DIR/corpus-$name" >"$log" 2>&1 || {
		grep -E 'ERROR|SUMMARY|runtime error|Test unit' "$log"
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
	for name in wire session; do pack "$name" "$DIR/corpus-$name"; done
	exit
fi
for name in wire session; do
	if can_fuzz; then
		check "fuzz $name, $1 s" fuzz "$name" "$1"
	else
		skip "fuzz $name" "no clang with its runtime; run: make deps"
	fi
done
finish
