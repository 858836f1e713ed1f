#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Dumps longer than one message: every object once, also while connections,
# services and contexts come and go; and readers that stop early.

# shellcheck source=selftests/admin/guest.sh
. "$(dirname "$0")/guest.sh"

CLIENTS=4
EACH=150
CONNS=$((CLIENTS * EACH))

set_up() {
	local i

	hold server
	tell server serve many $((CONNS + 50)) 1 0
	for ((i = 0; i < CLIENTS; i++)); do
		hold client$i
		tell client$i connects $EACH many
	done
}

# No end is in $OUT twice.
no_twins() { jq -e '(map([.ctx, .id]) | unique | length) == length' "$OUT"; }

test_still() {
	run ddctl -j conn
	check 'every end is there' json "length == 2 * $CONNS"
	check 'no end is there twice' no_twins
	check 'every region is there' json "length == 1 + $CONNS" region
	check 'in a table too' \
		[ "$(ddctl conn | wc -l)" = $((2 * CONNS + 1)) ]
}

living() {
	run ddctl -j "$1"
	jq -e "map(select(.error == 0)) | length == 2 * $CONNS" "$OUT"
}

# All ends of the processes that stay are in each of 10 dumps, once.
steady() {
	local i stay

	stay=$(for ((i = 0; i < CLIENTS; i++)); do
		echo "${holder_pid[client$i]}"
	done | jq -s .)
	for ((i = 0; i < 10; i++)); do
		ddctl -j conn
	done >"$OUT"
	jq -e -s "$stay as \$stay | length == 10 and all(.[];
		(map([.ctx, .id]) | unique | length) == length and
		(map(select(.role == \"client\" and (.pid | IN(\$stay[])))) | length == $CONNS))" "$OUT"
}

# Contexts, services and connections come and go until the file "stop" exists.
restless() {
	while [ ! -e "$TAP_DIR/stop" ]; do
		printf '%s\n' 'serve restless 2 1 0' 'connects 20 many' \
			'churn 20 many' | "$TESTS/dd_hold" >/dev/null
	done
}

test_churn() {
	restless &
	check 'ends that stay are reported once, while others come and go' steady
	touch "$TAP_DIR/stop"
	wait $!
	# Serving ends stay until their blocks are reused.
	check 'ends that came have gone' living conn
}

# The leak scan at the end finds memory of a dump that was not freed.
test_impatient() {
	local i

	for i in {1..10}; do
		ddctl -j conn | head -c 10 >/dev/null
		timeout "0.0$((2 * i))" ddctl -j conn >/dev/null
	done
	check 'readers that stop early do no harm' living conn
}

plan 7
set_up
test_still
test_churn
test_impatient
for name in "${!holder_pid[@]}"; do
	let_go "$name"
done
finish
