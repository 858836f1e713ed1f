#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Requests that the kernel refuses: errno and message, and nothing changes; and the
# error that ddctl prints.

# shellcheck disable=SC2086 # $as_user and $as_member are words
# shellcheck source=selftests/admin/guest.sh
. "$(dirname "$0")/guest.sh"

EPERM=1 EBUSY=16 EINVAL=22 ERANGE=34 EOPNOTSUPP=95
GET=1 SET=2 SERVICE=3 STAT=6 SEGMENT=11 IMPORT=12
ID=1 MAX=2 UP=3 ABI=5

test_kernel() {
	all_refused requests <<-EOT
	set: nothing|$EINVAL|nothing to change; give|request $SET
	set: id 4096|$ERANGE|integer out of range|request $SET $ID:4:4096
	set: maxnodes 0|$ERANGE|integer out of range|request $SET $MAX:4:0
	set: maxnodes 4097|$ERANGE|integer out of range|request $SET $MAX:4:4097
	set: up 2|$ERANGE|integer out of range|request $SET $UP:1:2
	set: id of two bytes|$EINVAL|invalid attribute length|request $SET $ID:2:1
	set: up of four bytes|$EINVAL|invalid attribute length|request $SET $UP:4:1
	set: an attribute to read|$EINVAL|Unsupported attribute|request $SET $ABI:4:1
	set: an attribute of the future|$EINVAL|Unknown attribute type|request $SET 77:4:1
	set: id not below maxnodes|$ERANGE|below the number|request $SET $ID:4:2
	set: maxnodes while up|$EBUSY|while the node is down|request $SET $MAX:4:8
	set: maxnodes while up, and up|$EBUSY|while the node is down|request $SET $MAX:4:8 $UP:1:1
	set: id good, maxnodes bad: neither|$ERANGE|below the number|request $SET $ID:4:0 $MAX:4:1 $ID:4:1
	get: an attribute|$EINVAL|[Aa]ttribute|request $GET $ID:4:1
	stat: an attribute|$EINVAL|[Aa]ttribute|request $STAT $ID:4:1
	dump: an attribute|$EINVAL|[Aa]ttribute|dump $SERVICE $ID:4:1
	dump of segments: an attribute|$EINVAL|[Aa]ttribute|dump $SEGMENT $ID:4:1
	dump of imports: an attribute|$EINVAL|[Aa]ttribute|dump $IMPORT $ID:4:1
	a dump of a request without one|$EOPNOTSUPP||dump $GET
	services without a dump|$EOPNOTSUPP||request $SERVICE
	segments without a dump|$EOPNOTSUPP||request $SEGMENT
	imports without a dump|$EOPNOTSUPP||request $IMPORT
	no such request|$EOPNOTSUPP||request 31
	EOT
}
KERNEL_TESTS=24

test_ddctl() {
	ddctl_refuses 'set id 2' 5 'refused by the kernel: id 2: .*below the number' \
		node set id 2
	ddctl_refuses 'set max 8 while up' 5 \
		'refused by the kernel: max 8: .*while the node is down' \
		node set max 8
	run ddctl node set max 8 -j
	check 'ddctl: a refusal in JSON' refused_in_json
}

refused_in_json() {
	[ "$status" = 5 ] && [ -s "$OUT" ] && jq -e '.status == "error" and .exit_status == 5 and
		(.error | startswith("refused by the kernel: max 8: "))' "$OUT"
}

test_user() {
	local object

	run $as_user ddctl node down
	check 'user: down' failed 4 'not permitted: CAP_NET_ADMIN'
	check 'user: the kernel refuses' \
		[ "$($as_user "$TESTS/dd_ask" request $SET $UP:1:0)" = "$EPERM " ]
	check 'user: nothing has changed' json '.up' node
	for object in node stat; do
		exits "user: $object may be seen" 0 $as_user ddctl -j $object
	done
}

# Running programs may have read both numbers.
test_in_use() {
	exits 'in use: down' 0 ddctl node down
	hold user
	all_refused 'in use' <<-EOT
	in use: id|$EBUSY|while no process has /dev/dd open|request $SET $ID:4:0
	in use: maxnodes|$EBUSY|while no process has /dev/dd open|request $SET $MAX:4:8
	EOT
	ddctl_refuses 'in use: id' 5 'id 0: .*while no process has /dev/dd open' \
		node set id 0
	exits 'in use: the present values' 0 ddctl node set id 1 max 2
	let_go user
	until_true ddctl node set id 0
	check 'not in use: id' json '.id == 0' node
	exits 'not in use: and back' 0 ddctl node set id 1
	exits 'not in use: up' 0 ddctl node up
}

# A valid request makes all its changes.
test_set() {
	exits 'set: down' 0 ddctl node down
	check 'set: is down' json '.up | not' node
	exits 'set: id and max' 0 ddctl node set id 4095 max 4096
	check 'set: both have changed' json '.id == 4095 and .maxnodes == 4096' node
	exits 'set: hexadecimal' 0 ddctl node set max 0x10 id 0xf
	check 'set: both have changed, by hexadecimal' json '.id == 15 and .maxnodes == 16' node
	exits 'set: up, with these' 0 ddctl node up
	exits 'set: id while up' 0 ddctl node set id 3
	check 'set: id has changed' json '.id == 3 and .up' node
	exits 'set: down and maxnodes in one' 0 \
		"$TESTS/dd_ask" request $SET $UP:1:0 $ID:4:1 $MAX:4:2
	check 'set: all have changed' json '.id == 1 and .maxnodes == 2 and
		(.up | not)' node
	exits 'set: up' 0 ddctl node up
}

plan $((KERNEL_TESTS + 3 + 5 + 9 + 12))
test_kernel
test_ddctl
test_user
test_in_use
test_set
finish
