#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ddctl apply in a network namespace: all of a cluster file is applied, or nothing.

# shellcheck source=selftests/admin/guest.sh
. "$(dirname "$0")/guest.sh"

CONF=$TAP_DIR/cluster.conf

# Everything happens in a namespace of its own; the node of this namespace must not
# change, which is checked at the end.
ddctl() { ip netns exec lab ddctl "$@"; }

# file LINE...
file() { printf '%s\n' "$@" >"$CONF"; }

# state: the configuration of node and peers, in one line.
state() {
	{ ddctl -j node; ddctl -j peer; } | jq -s -r '(.[0] | [.id, .maxnodes, .port, .up] | tojson) +
		" " + (.[1] | map([.number, .address, .dead_time, .payload_crc]) | tojson)'
}

# applies NAME OUTPUT: apply prints OUTPUT, and leads to what the file says.
applies() {
	run ddctl apply "$CONF"
	check "$1" did "$2"
}

did() {
	[ "$status" = 0 ] && [ ! -s "$ERR" ] && [ "$(<"$OUT")" = "$1" ] &&
		[ "$(ddctl apply "$CONF")" = 'nothing to change' ]
}

# partly NAME STATE: apply reports the unknown name in line 2, and leads to STATE.
partly() {
	run ddctl apply "$CONF"
	check "$1" did_partly "$2"
}

did_partly() {
	[ "$status" = 8 ] && [ "$(state)" = "$1" ] &&
		grep -q "^ddctl: $CONF:2: nowhere.invalid: " "$ERR" &&
		grep -q '1 node is left out;.* apply the file again$' "$ERR"
}

# refuses NAME STATUS ERRORS: apply fails.
refuses() {
	run ddctl apply "$CONF"
	check "$1" did_not "$2" "$3"
}

did_not() {
	[ "$status" = "$1" ] && [ ! -s "$OUT" ] &&
		[ "$(sed "s,^ddctl: $CONF,f,;s,^ddctl: ,," "$ERR")" = "$2" ]
}

# --- valid files -----------------------------------------------------------

test_changes() {
	file 'max 8' '0 10.0.0.10' '1 10.0.0.11' '2 10.0.0.12 5000'
	applies 'apply: to a new node' \
		'node 0 of 8, port 56797; was node 1 of 2, port 56797
peer 1: added, 10.0.0.11:56797
peer 2: added, 10.0.0.12:5000'
	file 'max 8' '0 10.0.0.10' '1 10.0.0.21' '3 10.0.0.13'
	applies 'apply: one added, one changed, one removed' \
		'peer 1: changed, 10.0.0.21:56797, was 10.0.0.11:56797
peer 2: removed, was 10.0.0.12:5000
peer 3: added, 10.0.0.13:56797'
	file 'max 8' '0 10.0.0.10' '3 10.0.0.21' '1 10.0.0.13'
	applies 'apply: two exchange their addresses' \
		'peer 1: changed, 10.0.0.13:56797, was 10.0.0.21:56797
peer 3: changed, 10.0.0.21:56797, was 10.0.0.13:56797'
	file 'max 9' 'dead-time 700' 'payload-crc on' '0 10.0.0.10' \
		'1 10.0.0.13' '2 fd00::2'
	run ddctl -j apply "$CONF"
	check 'apply: JSON' json '. == {node: 0, maxnodes: 9, port: 56797,
		node_changed: true, peers: [
		{peer: 1, action: "changed", address: "10.0.0.13:56797"},
		{peer: 2, action: "added", address: "[fd00::2]:56797"},
		{peer: 3, action: "removed", address: "10.0.0.21:56797"}],
		skipped: []}'
	check 'apply: settings of all' [ "$(state)" = \
		'[0,9,56797,true] [[1,"10.0.0.13:56797",700,true],[2,"[fd00::2]:56797",700,true]]' ]
	file 'max 2' '1 10.0.0.10 5000' '0 10.0.0.13'
	applies 'apply: another number, another port, a smaller cluster' \
		'node 1 of 2, port 5000; was node 0 of 9, port 56797
peer 0: added, 10.0.0.13:56797
peer 1: removed, was 10.0.0.13:56797
peer 2: removed, was [fd00::2]:56797'
	ddctl node down
	file 'max 3' '1 10.0.0.10 5000' '0 10.0.0.13'
	applies 'apply: a node that is down stays down' \
		'node 1 of 3, port 5000; was node 1 of 2, port 5000'
	check 'apply: it has stayed down' json '.up | not' node
	ddctl node up
	file '0 10.0.0.13' '2 fd00::1'
	applies 'apply: found by its address of IPv6' \
		'node 2 of 3, port 56797; was node 1 of 3, port 5000'
	echo '10.0.0.10 lab.test' >>/etc/hosts
	file '0 lab.test' '1 10.0.0.14'
	applies 'apply: found by its name' \
		'node 0 of 2, port 56797; was node 2 of 3, port 56797
peer 0: removed, was 10.0.0.13:56797
peer 1: added, 10.0.0.14:56797'
	file '0 lab.test' '1 nowhere.invalid' '2 10.0.0.15'
	partly 'apply: a name that is not known: the others, and its node as it was' \
		'[0,3,56797,true] [[1,"10.0.0.14:56797",5000,false],[2,"10.0.0.15:56797",5000,false]]'
	file '0 lab.test' '1 nowhere.invalid' '2 10.0.0.14'
	partly 'apply: a name that is not known, and its address is of another node now' \
		'[0,3,56797,true] [[2,"10.0.0.14:56797",5000,false]]'
}
CHANGE_TESTS=12

# --- errors -----------------------------------------------------------

test_errors() {
	file '0 10.0.0.11' '1 10.0.0.12'
	refuses 'errors: another cluster' 7 \
		'f: no line has an address of this machine; which node is it? --node NUMBER'
	file '0 10.0.0.10' '1 10.0.0.14' '2 10.0.0.12' '3 10.0.0.255' 'max 9'
	refuses 'errors: found by the kernel' 5 \
		"refused by the kernel: address 10.0.0.255:56797: a broadcast address cannot be a peer's
f:4: this node cannot be a peer
f: nothing has been changed"
	ip netns exec lab setpriv --reuid 1000 --regid 1000 --clear-groups \
		"$TOP/build/bin/ddctl" apply - <"$CONF" 2>"$ERR"
	check 'errors: not permitted' grep -q \
		'^ddctl: not permitted: CAP_NET_ADMIN' "$ERR"
	check 'errors: and none of these has changed anything' [ "$(state)" = \
		'[0,3,56797,true] [[2,"10.0.0.14:56797",5000,false]]' ]
}
ERROR_TESTS=4

before=$(command ddctl -j node; command ddctl -j peer)
# Not on loopback, where every address of the network is local.
ip netns add lab
ip netns exec lab ip link add dd0 type dummy
ip netns exec lab ip link set dd0 up
ip netns exec lab ip addr add 10.0.0.10/24 brd + dev dd0
ip netns exec lab ip addr add fd00::1/64 dev dd0 nodad
plan $((CHANGE_TESTS + ERROR_TESTS + 1))
test_changes
test_errors
ip netns del lab
check 'this node was not touched' \
	[ "$before" = "$(command ddctl -j node; command ddctl -j peer)" ]
finish
