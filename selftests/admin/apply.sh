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

# applies NAME OUTPUT STATE ARGUMENT...: apply prints OUTPUT and leads to STATE.
applies() {
	local name=$1 output=$2 want=$3

	shift 3
	run ddctl apply "$@" "$CONF"
	check "$name" did "$output" "$want"
}

did() {
	[ "$status" = 0 ] && [ ! -s "$ERR" ] &&
		[ "$(<"$OUT")" = "$1" ] && [ "$(state)" = "$2" ]
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

# refuses NAME STATUS ERRORS ARGUMENT...: apply fails.
refuses() {
	local name=$1 want=$2 complaints=$3

	shift 3
	run ddctl apply "$@" "$CONF"
	check "$name" did_not "$want" "$complaints"
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
peer 2: added, 10.0.0.12:5000' \
		'[0,8,56797,true] [[1,"10.0.0.11:56797",5000,false],[2,"10.0.0.12:5000",5000,false]]'
	applies 'apply: a second time' 'nothing to change' "$(state)"
	run ddctl apply --check "$CONF"
	check 'apply: --check' [ "$status $(cat "$OUT")" = \
		"0 $CONF: 3 nodes of 8; this is node 0, 10.0.0.10" ]
	file 'max 8' '0 10.0.0.10' '1 10.0.0.21' '3 10.0.0.13'
	applies 'apply: one added, one changed, one removed' \
		'peer 1: changed, 10.0.0.21:56797, was 10.0.0.11:56797
peer 2: removed, was 10.0.0.12:5000
peer 3: added, 10.0.0.13:56797' \
		'[0,8,56797,true] [[1,"10.0.0.21:56797",5000,false],[3,"10.0.0.13:56797",5000,false]]'
	file 'max 8' '0 10.0.0.10' '3 10.0.0.21' '1 10.0.0.13'
	applies 'apply: two exchange their addresses' \
		'peer 1: changed, 10.0.0.13:56797, was 10.0.0.21:56797
peer 3: changed, 10.0.0.21:56797, was 10.0.0.13:56797' \
		'[0,8,56797,true] [[1,"10.0.0.13:56797",5000,false],[3,"10.0.0.21:56797",5000,false]]'
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
peer 2: removed, was [fd00::2]:56797' \
		'[1,2,5000,true] [[0,"10.0.0.13:56797",5000,false]]'
	ddctl node down
	file 'max 3' '1 10.0.0.10 5000' '0 10.0.0.13'
	applies 'apply: a node that is down stays down' \
		'node 1 of 3, port 5000; was node 1 of 2, port 5000' \
		'[1,3,5000,false] [[0,"10.0.0.13:56797",5000,false]]'
	ddctl node up
	file '1 10.0.0.10'
	applies 'apply: alone' \
		'node 1 of 2, port 56797; was node 1 of 3, port 5000
peer 0: removed, was 10.0.0.13:56797' '[1,2,56797,true] []'
	file '0 10.0.0.13' '2 fd00::1'
	applies 'apply: found by its address of IPv6' \
		'node 2 of 3, port 56797; was node 1 of 2, port 56797
peer 0: added, 10.0.0.13:56797' \
		'[2,3,56797,true] [[0,"10.0.0.13:56797",5000,false]]'
	file '0 10.0.0.13' '1 10.0.0.14' '2 10.0.0.15'
	applies 'apply: --node' \
		'node 1 of 3, port 56797; was node 2 of 3, port 56797
peer 2: added, 10.0.0.15:56797' \
		'[1,3,56797,true] [[0,"10.0.0.13:56797",5000,false],[2,"10.0.0.15:56797",5000,false]]' \
		--node 1
	echo '10.0.0.10 lab.test' >>/etc/hosts
	file '0 lab.test' '1 10.0.0.14'
	applies 'apply: found by its name' \
		'node 0 of 2, port 56797; was node 1 of 3, port 56797
peer 0: removed, was 10.0.0.13:56797
peer 1: added, 10.0.0.14:56797
peer 2: removed, was 10.0.0.15:56797' \
		'[0,2,56797,true] [[1,"10.0.0.14:56797",5000,false]]'
	file '0 lab.test' '1 nowhere.invalid' '2 10.0.0.15'
	partly 'apply: a name that is not known: the others, and its node as it was' \
		'[0,3,56797,true] [[1,"10.0.0.14:56797",5000,false],[2,"10.0.0.15:56797",5000,false]]'
	file '0 lab.test' '1 nowhere.invalid' '2 10.0.0.14'
	partly 'apply: a name that is not known, and its address is of another node now' \
		'[0,3,56797,true] [[2,"10.0.0.14:56797",5000,false]]'
	file '0 lab.test' '1 10.0.0.14'
	applies 'apply: and when it is known' \
		'node 0 of 2, port 56797; was node 0 of 3, port 56797
peer 1: added, 10.0.0.14:56797
peer 2: removed, was 10.0.0.14:56797' \
		'[0,2,56797,true] [[1,"10.0.0.14:56797",5000,false]]'
}
CHANGE_TESTS=16

# --- errors -----------------------------------------------------------

test_errors() {
	file '0 10.0.0.10' 'one 10.0.0.11'
	refuses 'errors: a word' 7 "f:2: 'one' is neither a node's number nor \
'max', 'dead-time' or 'payload-crc'"
	file '0 10.0.0.10' '' '0 10.0.0.11' '# x' '1 10.0.0.12 0' 'max 0'
	refuses 'errors: all of them' 7 \
		"f:3: node 0 is there already, in line 1
f:5: the port must be 1 to 65535, not '0'
f:6: max must be 1 to 4096, not '0'"
	file '0 10.0.0.11' '1 10.0.0.12'
	refuses 'errors: another cluster' 7 \
		'f: no line has an address of this machine; which node is it? --node NUMBER'
	refuses 'errors: no such node' 7 'f: there is no node 3 in it' --node 3
	file '0 10.0.0.10' '1 fd00::1'
	refuses 'errors: two lines are this machine' 7 \
		'f:2: fd00::1 is this machine, and so is 10.0.0.10 in line 1; which node is it? --node NUMBER'
	refuses 'errors: two lines, one port' 7 \
		'f:2: fd00::1 is this machine, which is node 0; give the other node another port' \
		--node 0
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
		'[0,2,56797,true] [[1,"10.0.0.14:56797",5000,false]]' ]
	file '0 10.0.0.10' '1 10.0.0.11 x'
	run ddctl apply --check "$CONF"
	check 'errors: --check says the same' [ "$status $(cat "$ERR")" = \
		"7 ddctl: $CONF:2: the port must be 1 to 65535, not 'x'" ]
}
ERROR_TESTS=10

# Every node of a cluster applies the same file.
test_same_file() {
	local i

	file '0 10.7.0.10' '1 10.7.0.11' '2 10.7.0.12 5000'
	for i in 0 1 2; do
		ip netns add same$i
		ip netns exec same$i ip link add dd0 type dummy
		ip netns exec same$i ip link set dd0 up
		ip netns exec same$i ip addr add 10.7.0.1$i/24 dev dd0
		ip netns exec same$i ddctl apply "$CONF" >/dev/null
		ip netns exec same$i ddctl -j node | jq -c '[.id, .maxnodes, .port]'
		ip netns exec same$i ddctl -j peer | jq -c 'map([.number, .address])'
	done >"$TAP_DIR/same"
	check 'one file on three nodes' diff - "$TAP_DIR/same" <<-'END'
		[0,3,56797]
		[[1,"10.7.0.11:56797"],[2,"10.7.0.12:5000"]]
		[1,3,56797]
		[[0,"10.7.0.10:56797"],[2,"10.7.0.12:5000"]]
		[2,3,5000]
		[[0,"10.7.0.10:56797"],[1,"10.7.0.11:56797"]]
	END
	for i in 0 1 2; do ip netns del same$i; done
}

before=$(command ddctl -j node; command ddctl -j peer)
# Not on loopback, where every address of the network is local.
ip netns add lab
ip netns exec lab ip link add dd0 type dummy
ip netns exec lab ip link set dd0 up
ip netns exec lab ip addr add 10.0.0.10/24 brd + dev dd0
ip netns exec lab ip addr add fd00::1/64 dev dd0 nodad
plan $((CHANGE_TESTS + ERROR_TESTS + 2))
test_changes
test_errors
test_same_file
ip netns del lab
check 'this node was not touched' \
	[ "$before" = "$(command ddctl -j node; command ddctl -j peer)" ]
finish
