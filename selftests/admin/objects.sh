#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ddctl's output about services, connections, regions, segments, imports and counters:
# keys and types are those of the specification, values are right, tables agree with
# JSON.

# shellcheck source=selftests/admin/guest.sh
. "$(dirname "$0")/guest.sh"

ESC=$'\e'

# A table has a heading, and a line for each object of the JSON.
table_agrees() {
	local rows lines

	rows=$(ddctl -j "$1" | jq length)
	run ddctl "$1"
	mapfile -t lines <"$OUT"
	[ "$status" = 0 ] && [ ${#lines[@]} = $((rows + 1)) ]
}

# A table has each value of a key of the JSON.
table_has() {
	local value values

	run ddctl "$1"
	mapfile -t values < <(ddctl -j "$1" | jq -r ".[] | .$2")
	for value in "${values[@]}"; do
		has_line "$OUT" "(^| )$value( |$)" || return
	done
	[ ${#values[@]} != 0 ]
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
	for object in service conn region segment import; do
		check "$object: a table with a line for each" \
			table_agrees $object
	done
	check 'service: names are in the table' table_has service name
	check 'conn: ids are in the table' table_has conn id
	check 'region: ids are in the table' table_has region id
	check 'segment: keys are in the table' table_has segment key
	check 'import: rights are in the table' table_has import rights
	for object in node service conn region segment import stat; do
		check "$object: -p is -j, indented" pretty_agrees $object
		exits "$object show is $object" 0 ddctl -j $object show
	done
}
SHAPE_TESTS=31

test_values() {
	check 'service: values' json "length == 1 and .[0].name == \"echo\" and
		(.[0] | .id == $service and .pid == ${holder_pid[server]} and
		.uid == 0 and .maxconn == 4 and .conns == 3 and .window == 2 and
		.accept == false and .recv_block == 4096 and
		.send_block == 4096 and .total == 3 and .received == 2 and
		.sent == 0)" service
	check 'conn: the two ends of each agree' ends_agree
	check 'conn: types' json '[.[] | select(.role == "client").type] |
		sort == ["rpc", "split", "stream"]' conn
	check 'conn: blocks are at the serving end' json '
		([.[] | select(.role == "server").block] | sort == [0, 1, 2]) and
		all(.[]; .role == "server" or (has("block") | not))' conn
	check 'conn: messages' json "any(.[]; .id == ${conn[3]} and
		.submitted == 2 and .sent == 2 and .done == 2 and .error == 0)"
	check 'region: values' json "any(.[]; .id == $region and
		.length == 3 * 4096 and .busy == false and
		.pid == ${holder_pid[server]}) and
		([.[] | select(.busy)] | length == 4)" region
	check 'segment: values' json "length == 1 and (.[0] | .id == $segment and
		.class == \"name\" and .key == \"shared\" and
		.pid == ${holder_pid[server]} and .uid == 0 and .length == 4096 and
		.rights == \"put,get,cas\" and .policy == \"never\" and
		.permission == \"any\" and .inhibit and .list == 0 and
		.window == 0 and .importers == 2 and .max_importers == 5)" segment
	check 'segment: refused requests by reason' json '.[0] | .refused_rights == 1 and
		.refused_inhibit == 1 and .refused_bounds == 1'
	check 'import: values' json "map(select(.id == $import)) | length == 1 and
		(.[0] | .pid == ${holder_pid[client]} and .rights == \"put,get\" and
		.length == 4096 and .peer_node == 1 and .error == 0 and
		.submitted == 1 and .done == 1)" import
	# shellcheck disable=SC2016 # variables of jq
	check 'import: names its segment' jq -e --slurpfile segments \
		<(ddctl -j segment) '$segments[0][0] as $s | all(.[];
		.peer_id == $s.id and .peer_ctx == $s.ctx and .peer_pid == $s.pid and
		.peer_uid == $s.uid and .generation == $s.generation)' "$OUT"
	check 'stat: values' json "($before) as \$old |
		.bytes - \$old.bytes == 400 and .ops - \$old.ops == 3 and
		.notes - \$old.notes == 2 and .connects - \$old.connects == 3" \
		stat
}

# After a close the ends of one process are gone, and those of the other report it.
test_ends() {
	tell client close "${conn[1]}"
	check 'a closed connection: its serving end reports it' json '
		([.[] | select(.error == 104)] | length == 1) and
		length == 5' conn
	check 'a closed connection is not counted' json '.[0].conns == 2 and
		.[0].total == 3 and .[0].received == 2' service
	tell server unserve "$service"
	check 'without the service: the ends of clients' json '
		length == 2 and all(.[]; .role == "client" and .error == 104 and
		(has("service") | not))' conn
	check 'without the service: its name is not known' \
		[ "$(ddctl conn | tail -n +2 | awk '{ print $1 }' | sort -u)" = - ]
	check 'without the service: none is listed' json '. == []' service
	tell server end "$segment"
	check 'a segment that has ended: its imports report it' json '
		length == 2 and all(.[]; .error == 116)' import
	check 'a segment that has ended: it is not listed' json '. == []' segment
	let_go client
	let_go server
	check 'without the processes: no imports' json '. == []' import
	check 'without the processes: nothing is left' json '. == []' conn
	check 'without the processes: no memory' json '. == []' region
}

# A name that a registrar keeps. It stays without the registrar.
test_registered() {
	check 'without a registrar: the node has none' json '.registrar == false' node
	hold clerk
	tell clerk registrar
	check 'registrar: the node has one' json '.registrar == true' node
	hold server
	tell server register kept
	check 'registered segment: class and name' json 'length == 1 and (.[0] |
		.class == "registered" and .key == "kept")' segment
	check 'registered segment: its name is in the table' table_has segment key
	let_go clerk
	check 'the registrar has ended: the node has none' json '.registrar == false' node
	check 'the registrar has ended: the name stays' json '.[0].key == "kept"' segment
	let_go server
}
REGISTERED_TESTS=6

# All lines have the same number of characters.
columns_aligned() {
	[ "$(jq -R 'length' "$OUT" | sort -u | wc -l)" = 1 ]
}

# Names are bytes that any user chooses.
test_names() {
	hold server
	tell server serve $'a\xff\xfeb' 1 1 0
	tell server serve "x${ESC}[31mred" 1 1 2
	tell server serve grüße 1 1 0
	check 'names: JSON is UTF-8' json '[.[].name] | sort ==
		["a\ufffd\ufffdb", "gr\u00fc\u00dfe", "x\u001b[31mred"]' service
	check 'names: accept' json '[.[] | select(.accept).name] ==
		["x\u001b[31mred"]'
	run ddctl service
	check 'names: no control characters in tables' \
		[ "$(tr -d '\n\040-\176\200-\377' <"$OUT" | wc -c)" = 0 ]
	check 'names: columns are aligned' columns_aligned
	run ddctl -o ACCEPT,uid,name service
	check 'columns: those of -o, also without a heading' [ "$(awk '{ print $1, $2, NF }' "$OUT" |
		sort -u | xargs)" = 'ACCEPT UID 3 no 0 3 yes 0 3' ]
	run ddctl -j -o uid,accept service
	check 'columns: of JSON, too' json 'length == 3 and
		all(.[]; keys == ["accept", "uid"])'
	let_go server
}

plan $((SHAPE_TESTS + 11 + 10 + REGISTERED_TESTS + 6))
declare -a conn
set_up
test_shape
test_values
test_ends
test_registered
test_names
finish
