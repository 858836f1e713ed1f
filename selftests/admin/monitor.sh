#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# monitor.sh [--update]: the events of a sequence of actions, compared with
# monitor.golden, where objects are numbered by their first appearance. --update
# writes the events there instead; review the difference.

# shellcheck source=selftests/admin/guest.sh
. "$(dirname "$0")/guest.sh"

GOLDEN=$HERE/monitor.golden
EVENTS=$TAP_DIR/events
LINES=$TAP_DIR/lines

# --- the monitors ----------------------------------------------------------------

# start FILE [OPTION...]: start a monitor; its process is $monitor.
start() {
	local file=$1

	shift
	ddctl "$@" monitor >"$file" 2>"$file.err" &
	monitor=$!
	until_true test -s "$file"
}

seen() { grep -q "$1" "$EVENTS"; }

count_is() { [ "$(grep -c "\"$1\"" "$EVENTS")" = "$2" ]; }

# Replace what differs in each run: #1 is the first id to appear.
normalise() {
	jq -c -n '
		def name($table; $key): ($table | index($key)) + 1 | "#\(.)";
		reduce (inputs | select(.event | IN("peer-up", "peer-down") | not)) as $line ({ids: [], ctxs: [], out: []};
			($line.conn // $line.service // $line.segment // $line.import // {}) as $o |
			reduce ([$o.ctx, $o.peer_ctx] | .[] | values) as $c (.;
				if .ctxs | index($c) then . else .ctxs += [$c] end) |
			reduce ([[$o.ctx, $o.id], [$o.peer_ctx, $o.peer_id]] |
				.[] | select(.[0])) as $i (.;
				if .ids | index([$i]) then . else .ids += [$i] end) |
			. as $s | .out += [$line | del(.seq) |
				(.node.version | values) = "VERSION" |
				(.node.abi | values) = "ABI" |
				(.peer | values) |= {number, address, dead_time} |
				((.conn, .service, .segment, .import) | values) |= (
					del(.list, .generation) |
					.id = ($s.ids | index([[$o.ctx, $o.id]]) + 1 |
						"#\(.)") |
					.ctx = name($s.ctxs; $o.ctx) |
					if .peer_ctx then
					.peer_id = ($s.ids |
						index([[$o.peer_ctx, $o.peer_id]]) + 1 |
						"#\(.)") |
					.peer_ctx = name($s.ctxs; $o.peer_ctx)
					else . end)]) | .out[]' "$1"
}

# --- actions ------------------------------------------------------------------

act() {
	ddctl node down
	ddctl node set max 4
	ddctl node set id 3
	ddctl node up
	ddctl node set id 1
	ddctl peer add 0 10.0.0.2
	ddctl peer add 0 10.0.0.2 2>/dev/null	# is refused
	ddctl peer set 0 dead-time 1000
	ddctl peer set 0 10.0.0.3
	ddctl peer del 0
	hold server
	tell server serve echo 2 1 0
	service=$reply
	hold client
	tell client connect echo 1 1 1
	first=$reply
	tell client connect echo 1 3 2
	second=$reply
	tell client send "$second" 64
	tell server take
	tell client close "$first"
	until_true count_is conn-del 1
	tell server unserve "$service"
	tell client close "$second"
	tell server export shared 1 3
	segment=$reply
	tell client import shared 3
	first=$reply
	tell client import shared 1
	second=$reply
	tell client put "$first" 8 8
	tell client end "$first"
	tell server end "$segment"
	tell client end "$second"
	tell client registrar
	tell server register kept
	tell server end "$reply"
	let_go client
	let_go server
	ddctl node down
	ddctl node set max 2
	ddctl node up
	until_true count_is node-up 2
}

test_golden() {
	start "$EVENTS" -j
	json_monitor=$monitor
	start "$LINES" -t
	line_monitor=$monitor
	act
	normalise "$EVENTS" >"$TAP_DIR/normal"
	if [ "$update" = yes ]; then
		cp "$TAP_DIR/normal" "$GOLDEN"
	fi
	run diff -u "$GOLDEN" "$TAP_DIR/normal"
	check 'events are those of monitor.golden' [ "$status" = 0 ]
	check 'the same for people' \
		[ "$(sed -n 's/^[^ ]* \([a-z-]*\): .*/\1/p' "$LINES")" = \
		"$(jq -r .event "$EVENTS")" ]
	check 'times do not go back' sort -s -c -k 1,1 "$LINES"
	check 'standard error is empty' \
		[ ! -s "$EVENTS.err" -a ! -s "$LINES.err" ]
}

# Each end is added and deleted once: also one whose block is reused, and one of a
# killed process.
pairs() {
	jq -e -s '[.[] | select(.conn) | {event, key: [.conn.ctx, .conn.id]}] |
		group_by(.key) | length >= 44 and
		all(.[]; map(.event) == ["conn-add", "conn-del"])' "$EVENTS"
}

test_pairs() {
	hold server
	tell server serve one 1 1 0
	hold client
	tell client churn 20 one
	tell client connect one 1 3 1
	let_go client
	let_go server
	until_true count_is service-del 2
	check 'each end that was added was deleted' pairs
	check 'events are numbered without a gap' jq -e -s '[.[1:][].seq] |
		. == [range(.[0]; .[0] + length)]' "$EVENTS"
}

# The first event that cannot be written ends the monitor.
test_full_disk() {
	run timeout 60 bash -c 'ddctl monitor >/dev/full'
	check 'a full disk ends it with status 1' \
		[ "$status" = 1 -a "$(cat "$ERR")" = \
		'ddctl: standard output: No space left on device' ]
}

test_end() {
	kill "$line_monitor"
	wait "$line_monitor"
	rmmod dd
	status=0
	wait "$json_monitor" || status=$?
	check 'unloading ends it with status 3' \
		[ "$status" = 3 -a "$(cat "$EVENTS.err")" = \
		'ddctl: the module dd has been unloaded' ]
	exits 'without the module: status 3' 3 ddctl monitor
	load
}

update=no
[ "${1:-}" != --update ] || update=yes
plan 9
test_golden
test_pairs
test_full_disk
test_end
finish
