#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ddctl's output about services, connections, regions, segments, imports and counters:
# keys and types are those of the specification, values are right, tables agree with
# JSON.

# shellcheck source=selftests/admin/guest.sh
. "$(dirname "$0")/guest.sh"

ESC=$'\e'

# A table has a heading, and a line for each object of the JSON, with its value of a key.
table_agrees() {
	local value lines values

	run ddctl "$1"
	mapfile -t lines <"$OUT"
	mapfile -t values < <(ddctl -j "$1" | jq -r ".[] | .$2")
	[ "$status" = 0 ] && [ ${#values[@]} != 0 ] &&
		[ ${#lines[@]} = $((${#values[@]} + 1)) ] || return
	for value in "${values[@]}"; do
		has_line "$OUT" "(^| )$value( |$)" || return
	done
}

pretty_agrees() {
	run ddctl -p "$1"
	has_line "$OUT" '^ ' && ddctl -j "$1" | jq -e -s --slurpfile pretty "$OUT" '. == $pretty'
}

# Every end has its other end, with the same values.
# shellcheck disable=SC2016 # variables of jq
ends_agree() {
	json 'length == 6 and (. as $all | all($all[]; . as $a | any($all[]; . as $b |
		$a.ctx == $b.peer_ctx and $a.id == $b.peer_id and
		$a.peer_id == $b.id and $a.pid == $b.peer_pid and
		$a.uid == $b.peer_uid and $a.role != $b.role and
		$a.type == $b.type and $a.recv_size == $b.peer_size and
		$a.window == $b.send_window and $a.submitted == $b.received and
		$a.service == $b.service)))' conn
}

set_up() {
	before=$(ddctl -j stat)
	hold server
	hold client
	tell server serve echo 4 2 0
	service=$reply
	for type in 1 2 3; do
		tell client connect echo 1 $type 1
		conn[type]=$reply
	done
	tell server region 3
	region=$reply
	for bytes in 100 200; do
		tell client send "${conn[3]}" $bytes
		tell server take
	done
	tell server export shared 1 5
	segment=$reply
	tell client import shared 3
	import=$reply
	tell client put "$import" 0 100
	tell client import shared 2
	tell client put "$reply" 0 8
	tell client put "$import" 4096 8
	tell server control "$segment" 1 1
	tell client put "$import" 0 8
}

test_shape() {
	local object

	for object in node service region segment import stat; do
		check "$object: keys and types" typed $object
	done
	check 'conn: keys and types' typed conn block
	check 'service: a table with the name of each' table_agrees service name
	check 'conn: a table with the id of each' table_agrees conn id
	check 'region: a table with the id of each' table_agrees region id
	check 'segment: a table with the key of each' table_agrees segment key
	check 'import: a table with the rights of each' table_agrees import rights
	for object in node service conn region segment import stat; do
		check "$object: -p is -j, indented" pretty_agrees $object
		exits "$object show is $object" 0 ddctl -j $object show
	done
}
SHAPE_TESTS=26

test_values() {
	check 'conn: the two ends of each agree' ends_agree
	check 'conn: types, and blocks at the serving end' json '
		([.[] | select(.role == "client").type] | sort == ["rpc", "split", "stream"]) and
		([.[] | select(.role == "server").block] | sort == [0, 1, 2]) and
		all(.[]; .role == "server" or (has("block") | not))' conn
	check 'region: values' json "any(.[]; .id == $region and
		.length == 3 * 4096 and .busy == false and
		.pid == ${holder_pid[server]}) and
		([.[] | select(.busy)] | length == 4)" region
	check 'segment: values' json "length == 1 and (.[0] | .id == $segment and
		.class == \"name\" and .key == \"shared\" and
		.pid == ${holder_pid[server]} and .uid == 0 and .length == 4096 and
		.rights == \"put,get,cas\" and .policy == \"never\" and
		.permission == \"any\" and .inhibit and .list == 0 and
		.window == 0 and .importers == 2 and .max_importers == 5 and
		.refused_rights == 1 and .refused_inhibit == 1 and .refused_bounds == 1)" segment
	check 'stat: values' json "($before) as \$old |
		.bytes - \$old.bytes == 400 and .ops - \$old.ops == 3 and
		.notes - \$old.notes == 2 and .connects - \$old.connects == 3" \
		stat
}

test_ends() {
	tell server unserve "$service"
	check 'without the service: its name is not known' \
		[ "$(ddctl conn | tail -n +2 | awk '{ print $1 }' | sort -u)" = - ]
	let_go client
	let_go server
	for object in service conn region segment import; do
		check "without the processes: no $object" json '. == []' $object
	done
}

# Names are bytes that any user chooses.
test_names() {
	hold server
	tell server serve $'a\xff\xfeb' 1 1 0
	tell server serve "x${ESC}[31mred" 1 1 2
	tell server serve grüße 1 1 0
	check 'names: JSON is UTF-8' json '[.[].name] | sort ==
		["a\ufffd\ufffdb", "gr\u00fc\u00dfe", "x\u001b[31mred"]' service
	run ddctl service
	check 'names: no control characters in tables' \
		[ "$(tr -d '\n\040-\176\200-\377' <"$OUT" | wc -c)" = 0 ]
	check 'names: all lines have as many characters' [ "$(jq -R length "$OUT" | uniq | wc -l)" = 1 ]
	run ddctl -o ACCEPT,uid,name service
	check 'columns: those of -o, also without a heading' [ "$(awk '{ print $1, $2, NF }' "$OUT" |
		sort -u | xargs)" = 'ACCEPT UID 3 no 0 3 yes 0 3' ]
	run ddctl -j -o uid,accept service
	check 'columns: of JSON, too' json 'length == 3 and
		all(.[]; keys == ["accept", "uid"])'
	let_go server
}

plan $((SHAPE_TESTS + 5 + 6 + 5))
declare -a conn
set_up
test_shape
test_values
test_ends
test_names
finish
