#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ddctl doctor: finds each fault, and no other.

# shellcheck disable=SC2086 # $as_user and $as_member are words
# shellcheck source=selftests/admin/guest.sh
. "$(dirname "$0")/guest.sh"

# finds NAME CHECK ADVICE [COMMAND...]: doctor, run by COMMAND, finds one thing to
# fix; ADVICE is a regular expression of jq.
finds() {
	local name=$1 what=$2 advice=$3

	shift 3
	run "$@" ddctl -j doctor
	check "doctor: $name" found "$what" "$advice"
}

found() {
	[ "$status" = 6 ] && jq -e --arg what "$1" --arg advice "$2" '
		map(select(.status == "fix")) | length == 1 and
		.[0].check == $what and (.[0].advice | test($advice))' "$OUT"
}

# content NAME [COMMAND...]: there is nothing to fix.
content() {
	local name=$1

	shift
	run "$@" ddctl -j doctor
	check "doctor: $name" is_content
}

is_content() {
	[ "$status" = 0 ] && jq -e 'all(.[]; .status != "fix")' "$OUT"
}

# has CHECK STATUS TEXT: a line whose text matches.
has() {
	jq -e --arg what "$1" --arg status "$2" --arg text "$3" 'any(.[];
		.check == $what and .status == $status and
		(.text | test($text)))' "$OUT"
}

# reports NAME CHECK STATUS TEXT
reports() {
	run ddctl -j doctor
	check "doctor: $1" has "${@:2}"
}

test_device() {
	content 'nothing to fix for root'
	check 'doctor: all checks are there' json '
		map(.check) | unique == ["abi", "clerk", "cpus", "device", "kernel",
		"memlock", "module", "node", "peers", "port"]'
	content 'nothing to fix for a member of the group' $as_member
	finds 'a user outside of the group' device 'usermod -aG dd alice' $as_user
	chgrp 4711 /dev/dd
	finds 'a group without a name' device 'groupadd -g 4711 dd' $as_member
	chgrp dd /dev/dd
	chmod 600 /dev/dd
	finds 'a device without group permission' device 'chmod 660' $as_member
	chmod 666 /dev/dd
	content 'a device for every user' $as_user
	check 'doctor: a device for every user is noted' has device note .
	chmod 660 /dev/dd
	mv /dev/dd /dev/dd.away
	finds 'no device' device 'mknod /dev/dd c 10'
	: >/dev/dd
	finds 'no device, but a file' device 'rm /dev/dd'
	rm /dev/dd
	mknod /dev/dd c 1 5
	finds 'the number of another device' device 'mknod /dev/dd c 10'
	mv /dev/dd.away /dev/dd
}

test_memlock() {
	finds 'a low limit on locked memory' memlock 'limits.d' \
		$as_member prlimit --memlock=1048576
	hold member $as_member prlimit --memlock=8388608
	tell member region 1500
	finds 'locked memory in use' memlock 'limits.d' \
		$as_member prlimit --memlock=8388608
	check 'doctor: how much is in use' json 'any(.[]; .check == "memlock" and
		(.text | test("^60[0-9][0-9] KiB of 8192 KiB in use by alice")))'
	let_go member
	content 'no limit with CAP_IPC_LOCK' prlimit --memlock=0
	finds 'root of a user namespace has a limit' memlock 'limits.d' \
		$as_member prlimit --memlock=0 unshare -Ur
}

test_node() {
	ddctl node down
	finds 'the node is down' node 'ddctl node up'
	ddctl node up
	content 'one processor' taskset -c 0
	check 'doctor: one processor is noted' has cpus note .
}

says_in_use() {
	[ "$status" = 5 ] && grep -q '^ddctl: refused by the kernel: .*port is in use' "$ERR" &&
		grep -q "'ss -lunp sport = :56797' shows which program.*ip_local_reserved_ports=56797'" "$ERR"
}

RESERVED=/proc/sys/net/ipv4/ip_local_reserved_ports

# Without peers dd does not have the port.
test_port() {
	local list

	reports 'a port that others may take is noted' port note \
		'port 56797 may be given to any program'
	for list in 56797 1-3,56797 50000-60000 56796,56797-56798,60000; do
		echo $list >$RESERVED
		reports "it is reserved ($list)" port ok 'port 56797'
	done
	echo 5,56798-60000 >$RESERVED
	reports 'others are reserved' port note 'port 56797'
	echo >$RESERVED
	ddctl node set port 700
	reports 'a port that programs do not get' port ok 'port 700'
	ddctl node set port 56797
	ip link add other type vxlan id 1 dstport 56797 local 127.0.0.1
	ip link set other up
	finds 'the port is in use' port 'ss -lunp sport = :56797'
	run ddctl peer add 0 10.0.0.2
	check 'peer add: the port is in use' says_in_use
	check 'peer add: and there is no peer' json '. == []' peer
	ip link del other
	exits 'peer: the port is free again' 0 ddctl peer add 0 10.0.0.2
	ddctl peer del 0
}

test_peers() {
	reports 'no peers' peers note 'node 1 of 2 has no peers'
	mkdir -p /etc/dd
	echo '1 10.0.0.1' >/etc/dd/cluster.conf
	finds 'a cluster file that was not applied' peers \
		'ddctl apply /etc/dd/cluster.conf'
	rm /etc/dd/cluster.conf
	ddctl peer add 0 10.0.0.2
	reports 'a peer that does not answer' peers note 'node 0 at 10.0.0.2:56797 is '
	ddctl peer del 0
	# Independent of the other routes.
	ip route add unreachable 10.99.0.0/16
	ddctl peer add 0 10.99.0.2
	until_true without_route
	reports 'a peer without a route' peers note \
		'node 0 at 10.99.0.2:56797 is .*: no route to it for [0-9]* packets?$'
	check 'doctor: and what to do' jq -e 'any(.[]; .check == "peers" and
		(.advice | startswith("ip route get 10.99.0.2 ")))' "$OUT"
	ddctl peer del 0
	ip route del unreachable 10.99.0.0/16
}

without_route() { ddctl -j peer show 0 | jq -e '.counters.tx_noroute > 0'; }

test_clerk() {
	local clerk

	reports 'no name clerk is noted' clerk note 'has no name clerk'
	rmclerk >clerk.out &
	clerk=$!
	until_true grep -q ready clerk.out
	content 'a name clerk'
	check 'doctor: the name clerk answers' has clerk ok 'answers'
	kill -STOP $clerk
	finds 'the name clerk is stopped' clerk 'systemctl restart rmclerk'
	kill -CONT $clerk
	kill $clerk
	wait $clerk
}

test_module() {
	rmmod dd
	finds 'no module' module 'modprobe dd'
	check 'version: no module' json '.module == null' version
	exits 'node: no module' 3 ddctl node
	# In the place of Secure Boot.
	mount -t tmpfs none /sys/module
	mkdir -p /sys/module/module/parameters
	echo Y >/sys/module/module/parameters/sig_enforce
	finds 'a kernel that loads signed modules only' module 'mokutil --import'
	echo N >/sys/module/module/parameters/sig_enforce
	finds 'a kernel that loads all modules' module 'linux-headers-'
	umount /sys/module
	: >/run/.containerenv
	finds 'a container whose host has no module' module 'host of this container'
	rm /run/.containerenv
	load
	check 'version: the same as of the module' \
		json '.module == .ddctl' version
}

plan $((25 + 11 + 6 + 4))
test_device
test_memlock
test_node
test_port
test_peers
test_clerk
test_module
finish
