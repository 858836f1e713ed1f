#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Models of the lock-free code, explored by spin. Each model has no error. If one of the
# parts that its comment calls necessary is left out, spin finds an error.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../../vm/tier.sh"
# shellcheck source=selftests/vm/check/files.sh
. selftests/vm/check/files.sh

MODELS=selftests/transport/model
KEY=$(spin -V 2>&1; cat "$MODELS/run.sh")

# explore MODEL [DEFINE]: its states, all of them; prints the verdict of spin.
explore() {
	local dir=build/model/${1##*/}${2:+-$2}

	rm -rf "$dir"
	mkdir -p "$dir"
	cd "$dir" || return
	spin -a ${2:+-D"$2"} "$OLDPWD/$1" &&
		gcc -O1 -w -DSAFETY -o pan pan.c && ./pan -m1000000
	cd - >/dev/null || return
}

# holds MODEL
holds() {
	local out

	out=$(explore "$1")
	grep -q 'errors: 0$' <<<"$out" && ! grep -q 'max search depth too' <<<"$out" &&
		return
	echo "$out"
	return 1
}

# breaks DEFINE PATTERN MODEL: it fails, and for the reason it should.
breaks() {
	local out

	out=$(explore "$3" "$1")
	grep -qE 'errors: [1-9]' <<<"$out" && grep -q "$2" <<<"$out" && return
	echo "$out"
	return 1
}

if ! command -v spin >/dev/null; then
	skip "models" "spin is not installed; run: make deps"
	finish
	exit
fi

check "wake.pml: no thread sleeps forever" remembered "$KEY" holds "$MODELS/wake.pml"
for barrier in NO_SENDER_BARRIER NO_RECEIVER_BARRIER CLEAR_AFTER_WAKE; do
	check "wake.pml: with $barrier a thread sleeps forever" \
		remembered "$KEY" breaks "$barrier" "invalid end state" "$MODELS/wake.pml"
done
check "ring_wait.pml: every waiter is woken" remembered "$KEY" holds "$MODELS/ring_wait.pml"
for wrong in NO_READER_BARRIER NO_WAITER_BARRIER LOOK_BEFORE ARM_BEFORE FORGET; do
	check "ring_wait.pml: with $wrong one is not" \
		remembered "$KEY" breaks "$wrong" "invalid end state" "$MODELS/ring_wait.pml"
done
check "close.pml: what was accepted is read, and what was read accepted" \
	remembered "$KEY" holds "$MODELS/close.pml"
for wrong in NO_SENDER_BARRIER NO_SECOND_LOOK CLOSE_FIRST NO_QUESTION LOOK_FIRST; do
	check "close.pml: with $wrong it need not be" \
		remembered "$KEY" breaks "$wrong" "assertion violated" "$MODELS/close.pml"
done
finish
