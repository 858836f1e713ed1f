#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Reports name the objects of the requesting user only, unless it has
# CAP_NET_ADMIN over the network namespace.

# shellcheck disable=SC2086 # $as_user and $as_member are words
# shellcheck source=selftests/admin/guest.sh
. "$(dirname "$0")/guest.sh"

# as_1000 FILTER OBJECT: FILTER holds for the objects that user 1000 sees.
as_1000() {
	run $as_user ddctl -j "$2"
	json "$1"
}

test_own() {
	hold root
	hold member $as_member
	tell root serve of-root 2 1 0
	tell member serve of-member 2 1 0
	tell root connect of-root 1 1 1
	tell member connect of-member 1 1 1
	check 'user: its own service, no other' as_1000 'length == 1 and
		.[0].name == "of-member" and .[0].uid == 1000' service
	check 'user: its own two ends, no other' as_1000 'length == 2 and
		all(.[]; .uid == 1000)' conn
	check 'user: its own memory, no other' as_1000 'length == 2' region
	tell root export of-root 1 2
	tell member export of-member 0 2
	tell root import of-root 1
	tell member import of-root 1
	for object in service segment import; do
		check "root sees each $object" json 'length == 2' $object
	done
	check 'user: its own segment, no other' as_1000 'length == 1 and
		.[0].key == "of-member" and .[0].uid == 1000' segment
	check 'user: its own import, and whose segment that is' as_1000 'length == 1 and
		.[0].uid == 1000 and .[0].peer_uid == 0' import
	tell member connect of-root 1 1 1
	check 'user: its end of a connection to root is shown' as_1000 '
		[.[] | select(.service == "of-root")] | length == 1 and
		.[0].role == "client"' conn
	run $as_user unshare -Ur ddctl -j service
	check 'user: a capability over another user namespace does not count' json '
		length == 1 and .[0].name == "of-member"'
	let_go member
	let_go root
}

test_events() {
	run timeout 60 $as_user ddctl monitor
	check 'user: events are refused' failed 4 'not permitted: CAP_NET_ADMIN'
	$as_user "$TESTS/dd_ask" join >"$TAP_DIR/join" 2>&1
	check 'user: by the kernel' [ "$(cat "$TAP_DIR/join")" = 1 ]
	check 'root: events are not' [ "$("$TESTS/dd_ask" join)" = 0 ]
}

plan 13
test_own
test_events
finish
