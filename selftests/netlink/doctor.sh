#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ddctl doctor: each thing that may be wrong is found, and only that.

# shellcheck disable=SC2086 # $as_user and $as_member are words
# shellcheck source=selftests/netlink/guest.sh
. "$(dirname "$0")/guest.sh"

# finds NAME CHECK ADVICE [COMMAND...]: doctor, run by COMMAND, wants one thing
# fixed, with ADVICE; ADVICE may be a regular expression of jq.
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

# content NAME [COMMAND...]: nothing needs doing.
content() {
	local name=$1

	shift
	run "$@" ddctl -j doctor
	check "doctor: $name" is_content
}

is_content() {
	[ "$status" = 0 ] && jq -e 'all(.[]; .status != "fix")' "$OUT"
}

noted() { jq -e --arg what "$1" 'any(.[]; .check == $what and
	.status == "note" and .advice != null)' "$OUT"; }

test_device() {
	content 'root is content'
	check 'doctor: and everything was looked at' json '
		map(.check) | unique == ["abi", "cpus", "device", "kernel",
		"memlock", "module", "node"]'
	content 'a member of the group is content' $as_member
	finds 'a user outside of the group' device 'usermod -aG dd alice' $as_user
	chmod 600 /dev/dd
	finds 'a device without group permission' device 'chmod 660' $as_member
	chmod 666 /dev/dd
	content 'a device for everybody' $as_user
	check 'doctor: a device for everybody is noted' noted device
	chmod 660 /dev/dd
	mv /dev/dd /dev/dd.away
	finds 'no device' device 'mknod /dev/dd c 10'
	: >/dev/dd
	finds 'no device, but a file' device 'rm /dev/dd'
	mv /dev/dd.away /dev/dd
}

test_memlock() {
	finds 'a low limit on locked memory' memlock 'limits.d' \
		$as_member prlimit --memlock=1048576
	hold member $as_member prlimit --memlock=8388608
	tell member region 1500
	finds 'locked memory in use' memlock 'limits.d' \
		$as_member prlimit --memlock=8388608
	check 'doctor: how much of it' json 'any(.[]; .check == "memlock" and
		(.text | test("^6000 KiB of 8192 KiB in use by alice")))'
	let_go member
	content 'no limit for who may lock' prlimit --memlock=0
	finds 'root of a user namespace may not' memlock 'limits.d' \
		$as_member prlimit --memlock=0 unshare -Ur
}

test_node() {
	ddctl node down
	finds 'the node is down' node 'ddctl node up'
	ddctl node up
	content 'one processor' taskset -c 0
	check 'doctor: one processor is noted' noted cpus
}

test_module() {
	rmmod dd
	finds 'no module' module 'modprobe dd'
	check 'version: no module' json '.module == null' version
	exits 'node: no module' 3 ddctl node
	load
	check 'version: the same as of the module' \
		json '.module == .ddctl' version
}

plan 21
test_device
test_memlock
test_node
test_module
finish
