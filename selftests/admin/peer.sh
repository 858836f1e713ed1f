#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Peers: valid and invalid ones, the messages of refusals, and changes, which are
# in this node only.
#
#	peer.sh [GROUP]		the tests of one group: numbers, addresses, change, ...

# shellcheck disable=SC2086 # $as_user is words
# shellcheck source=selftests/admin/guest.sh
. "$(dirname "$0")/guest.sh"

EPERM=1 ENOENT=2 EBUSY=16 EEXIST=17 EINVAL=22 ERANGE=34
GET=7 ADD=8 SET=9 DEL=10
NUMBER=1 ADDRESS=2 DEAD=3 CRC=4

# Present only while a link serves the node.
MEASURED='reason packet_size rtt rtt_var cwnd in_flight packets_sent'
MEASURED+=' packets_received packets_lost bytes_sent bytes_received dropped counters'

# A struct sockaddr_in with the usual port, 56797, is $IN4, the address and $ZEROS; a struct
# sockaddr_in6 is $IN6, the address and the scope in host order.
IN4=$ADDRESS:x:0200dddd ZEROS=0000000000000000
IN6=$ADDRESS:x:0a00dddd00000000

# --- numbers and addresses ---------------------------------------------------

test_numbers() {
	local good=${IN4}0a000002$ZEROS

	all_refused numbers <<-EOT
	add: nothing|$EINVAL|the number of the peer is missing|request $ADD
	add: no address|$EINVAL|the address of the peer is missing|request $ADD $NUMBER:4:0
	add: number 4096|$ERANGE|integer out of range|request $ADD $NUMBER:4:4096 $good
	add: number 4|$ERANGE|a peer's number must be below the number of nodes|request $ADD $NUMBER:4:4 $good
	add: number 1|$EINVAL|a node cannot be its own peer|request $ADD $NUMBER:4:1 $good
	add: dead-time 99|$ERANGE|integer out of range|request $ADD $NUMBER:4:0 $good $DEAD:4:99
	add: dead-time 3600001|$ERANGE|integer out of range|request $ADD $NUMBER:4:0 $good $DEAD:4:3600001
	add: payload-crc 2|$ERANGE|integer out of range|request $ADD $NUMBER:4:0 $good $CRC:1:2
	add: an attribute to read|$EINVAL|Unknown attribute type|request $ADD $NUMBER:4:0 $good 5:4:1
	$SET: nothing|$EINVAL|the number of the peer is missing|request $SET
	$DEL: nothing|$EINVAL|the number of the peer is missing|request $DEL
	$GET: nothing|$EINVAL|the number of the peer is missing|request $GET
	set: nothing to change|$EINVAL|nothing to change; give address, dead-time or payload-crc|request $SET $NUMBER:4:0
	set: no such peer|$ENOENT|no such peer|request $SET $NUMBER:4:0 $good
	del: no such peer|$ENOENT|no such peer|request $DEL $NUMBER:4:0
	del: an address|$EINVAL|Unknown attribute type|request $DEL $NUMBER:4:0 $good
	get: no such peer|$ENOENT|no such peer|request $GET $NUMBER:4:0
	EOT
	run "$TESTS/dd_ask" dump $GET "$NUMBER:4:0"
	check 'kernel: a dump of one is refused' \
		[ "$(cut -d ' ' -f 1 "$OUT")" = $EINVAL ]
}
NUMBER_TESTS=19

test_addresses() {
	local own='the address and port are those of this node'
	local nowhere="the unspecified address cannot be a peer's"
	local many="a multicast address cannot be a peer's"
	local all="a broadcast address cannot be a peer's"
	local none='neither a struct sockaddr_in nor a struct sockaddr_in6'

	all_refused addresses <<-EOT
	address: of 15 bytes|$EINVAL|$none|request $ADD $NUMBER:4:0 $ADDRESS:x:0200dddd0a000002${ZEROS:2}
	address: of 29 bytes|$EINVAL|$none|request $ADD $NUMBER:4:0 ${IN6}20010db80000000000000000000000010000000000
	address: of another family|$EINVAL|$none|request $ADD $NUMBER:4:0 $ADDRESS:x:0100dddd0a000002$ZEROS
	address: IPv6 in too few bytes|$EINVAL|$none|request $ADD $NUMBER:4:0 $ADDRESS:x:0a00dddd0a000002$ZEROS
	address: IPv4 in too many bytes|$EINVAL|$none|request $ADD $NUMBER:4:0 $ADDRESS:x:0200dddd0a000002${ZEROS}00000000$ZEROS
	address: port 0|$EINVAL|the port must be 1 to 65535|request $ADD $NUMBER:4:0 $ADDRESS:x:020000000a000002$ZEROS
	address: 0.0.0.0|$EINVAL|$nowhere|request $ADD $NUMBER:4:0 ${IN4}00000000$ZEROS
	address: 224.0.0.1|$EINVAL|$many|request $ADD $NUMBER:4:0 ${IN4}e0000001$ZEROS
	address: 255.255.255.255|$EINVAL|$all|request $ADD $NUMBER:4:0 ${IN4}ffffffff$ZEROS
	address: broadcast of a net|$EINVAL|$all|request $ADD $NUMBER:4:0 ${IN4}0a0900ff$ZEROS
	address: our own|$EINVAL|$own|request $ADD $NUMBER:4:0 ${IN4}0a090001$ZEROS
	address: loopback, our port|$EINVAL|$own|request $ADD $NUMBER:4:0 ${IN4}7f000001$ZEROS
	address: any loopback, our port|$EINVAL|$own|request $ADD $NUMBER:4:0 ${IN4}7f090909$ZEROS
	address: ::|$EINVAL|$nowhere|request $ADD $NUMBER:4:0 ${IN6}0000000000000000000000000000000000000000
	address: ff02::1|$EINVAL|$many|request $ADD $NUMBER:4:0 ${IN6}ff02000000000000000000000000000100000000
	address: ::ffff:10.0.0.2|$EINVAL|IPv4-mapped IPv6 address; use the IPv4 address|request $ADD $NUMBER:4:0 ${IN6}00000000000000000000ffff0a00000200000000
	address: link-local, of nowhere|$EINVAL|a link-local address needs its interface: fe80::1%eth0|request $ADD $NUMBER:4:0 ${IN6}fe80000000000000000000000000000200000000
	address: link-local, of a link that is not there|$EINVAL|a link-local address needs its interface: fe80::1%eth0|request $ADD $NUMBER:4:0 ${IN6}fe800000000000000000000000000002ffffff00
	address: loopback of IPv6, our port|$EINVAL|$own|request $ADD $NUMBER:4:0 ${IN6}0000000000000000000000000000000100000000
	address: our own of IPv6|$EINVAL|$own|request $ADD $NUMBER:4:0 ${IN6}fd09000000000000000000000000000100000000
	address: our own link-local one|$EINVAL|$own|request $ADD $NUMBER:4:0 ${IN6}fe80000000000000000000000000000101000000
	EOT
}
ADDRESS_TESTS=22

# --- changes --------------------------------------------------------

# peer N FILTER: FILTER holds for peer N.
peer() {
	run ddctl -j peer show "$1"
	[ "$status" = 0 ] && jq -e "$2" "$OUT"
}

test_change() {
	exits 'add' 0 ddctl peer add 0 10.0.0.2
	check 'add: is there' peer 0 '.address == "10.0.0.2:56797" and
		.number == 0 and .dead_time == 5000 and (.payload_crc | not)'
	exits 'add: all there is' 0 ddctl peer add 3 '[fd09::2]:1' \
		dead-time 250 payload-crc on
	check 'add: is there' peer 3 '.address == "[fd09::2]:1" and
		.dead_time == 250 and .payload_crc'
	check 'show: both, by number' json 'map(.number) == [0, 3]' peer
	check 'show: keys and types' typed peer "$MEASURED"
	check 'show: a table' \
		[ "$(ddctl peer | awk '{ print $1, $2 }' | xargs)" = \
		'NODE ADDRESS 0 10.0.0.2:56797 3 [fd09::2]:1' ]
	check 'show: one' [ "$(ddctl peer show 3 | grep -E \
		'^(NODE|ADDRESS|PAYLOAD CRC|DEAD TIME)' | awk '{ print $NF }' |
		xargs)" = '3 [fd09::2]:1 250 yes' ]
	all_refused 'it is there' <<-EOT
	add: it is there|$EEXIST|the peer exists already; change it with 'ddctl peer set'|request $ADD $NUMBER:4:0 ${IN4}0a000003$ZEROS
	add: another is there|$EEXIST|another peer has that address and port|request $ADD $NUMBER:4:2 ${IN4}0a000002$ZEROS
	set: another is there|$EEXIST|another peer has that address and port|request $SET $NUMBER:4:3 ${IN4}0a000002$ZEROS
	EOT
	exits 'set: an address' 0 ddctl peer set 0 10.0.0.3:5
	check 'set: has changed' peer 0 '.address == "10.0.0.3:5" and .dead_time == 5000'
	exits 'set: the rest' 0 ddctl peer set 0 payload-crc on dead-time 3600000
	check 'set: has changed' peer 0 '.address == "10.0.0.3:5" and
		.dead_time == 3600000 and .payload_crc'
	exits 'set: the present address' 0 ddctl peer set 0 10.0.0.3:5
	exits 'add: one address, two ports' 0 ddctl peer add 2 10.0.0.3:6
	exits 'add: our own address, another port' 0 \
		ddctl peer set 2 10.9.0.1:6
	exits 'set: link-local' 0 ddctl peer set 2 '[fe80::2%lo]:7'
	check 'set: has changed' peer 2 '.address == "[fe80::2%lo]:7"'
}
CHANGE_TESTS=21

test_node() {
	all_refused 'peers, up' <<-EOT
	the number while there are peers|$EBUSY|the node's number can change only while it has no peers: ddctl peer del|request 2 1:4:0 2:4:4
	the port while there are peers|$EBUSY|the port can change only while there are no peers: ddctl peer del|request 2 7:4:5
	EOT
	ddctl node down
	all_refused 'peers, down' <<-EOT
	max not above all peers|$EBUSY|a peer's number is not below that: ddctl peer del|request 2 2:4:3
	EOT
	exits 'max above all peers' 0 ddctl node set max 64
	exits 'the present values, with peers' 0 ddctl node set id 1 port 56797
	ddctl node up
	exits 'del' 0 ddctl peer del 0
	ddctl_refuses 'del: it is gone' 5 \
		'refused by the kernel: peer 0: no such peer' \
		peer del 0
	ddctl peer del 2
	ddctl peer del 3
	check 'del: none is left' json '. == []' peer
	exits 'the port without peers' 0 ddctl node set port 5000
	check 'the port has changed' json '.port == 5000' node
	ddctl node set port 56797
}
NODE_TESTS=12

test_user() {
	local reason='not permitted: CAP_NET_ADMIN over this network namespace is needed; try it as root'

	ddctl peer add 0 10.0.0.2
	exits 'user: may see them' 0 $as_user ddctl -j peer
	for words in 'add 2 10.0.0.3' 'set 0 10.0.0.3' 'del 0'; do
		run $as_user ddctl peer $words
		check "user: may not $words" failed 4 "$reason"
	done
	check 'user: the kernel refuses' [ "$($as_user "$TESTS/dd_ask" \
		request $DEL "$NUMBER:4:0")" = "$EPERM " ]
	exits 'user: may in a namespace of its own' 0 \
		$as_user unshare -Urn ddctl peer add 0 10.0.0.2
	check 'user: which is another one, and nothing has changed here' json 'map(.number) == [0]' peer
	ddctl peer del 0
}
USER_TESTS=7

# --- other namespaces ------------------------------------------------------------------

test_namespaces() {
	ip netns add left
	ip -n left link add left0 type dummy
	ip -n left addr add 10.8.0.1/24 dev left0
	ip -n left link set left0 up
	exits 'net: a peer there' 0 ip netns exec left ddctl peer add 0 10.8.0.2
	check 'net: none here' json '. == []' peer
	run ip netns exec left ddctl peer set 0 10.8.0.1
	check 'net: own addresses are those of there' failed 5 \
		'refused by the kernel: address 10.8.0.1:56797: the address and port are those of this node'
	exits 'net: which are not own here' 0 ddctl peer add 0 10.8.0.1
	ip netns del left
	check 'net: one ends, the other has its peer' json 'length == 1' peer
	ddctl peer del 0
}
NET_TESTS=5

# Peers that exist all the time are in each dump, once, in order.
test_many() {
	local i

	ddctl node down
	ddctl node set max 4096
	ddctl node up
	{
		echo 'max 4096'
		echo '1 10.9.0.1'
		for i in {2..61}; do
			echo "$((i * 20)) 10.1.0.$i"
		done
	} | ddctl apply - >/dev/null
	check 'many: all, in order' json \
		'map(.number) == [range(2; 62) | . * 20]' peer
	for i in {1..10}; do
		ddctl peer add 4095 10.2.0.1
		ddctl peer add 3 10.2.0.2
		ddctl peer del 3
		ddctl peer del 4095
	done &
	for i in {1..10}; do
		ddctl -j peer
	done >"$TAP_DIR/dumps"
	wait $!
	check 'many: all, while others come and go' jq -e -s 'length == 10 and
		all(.[]; map(.number) - [3, 4095] == [range(2; 62) | . * 20])' "$TAP_DIR/dumps"
	rmmod dd
	load
	check 'many: they end with the module' json '. == []' peer
	ip netns add left
	ip netns exec left ddctl peer add 0 10.1.0.1
	rmmod dd
	load
	check 'many: in all namespaces' [ "$(ip netns exec left ddctl -j peer)" = '[]' ]
	ip netns del left
}

ip link set lo up
ip addr add 10.9.0.1/24 brd + dev lo
ip addr add fd09::1/64 dev lo
ip addr add fe80::1/64 dev lo
ddctl node down
ddctl node set max 4
ddctl node up
if [ $# != 0 ]; then
	"test_$1"
	finish
	exit
fi
plan $((NUMBER_TESTS + ADDRESS_TESTS + CHANGE_TESTS + NODE_TESTS + USER_TESTS +
	NET_TESTS + 4))
test_numbers
test_addresses
test_change
test_node
test_user
test_namespaces
test_many
finish
