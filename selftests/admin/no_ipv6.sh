#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Peers of a kernel that was booted with ipv6.disable=1: each user may name one, in
# namespaces of its own.

# shellcheck disable=SC2086 # $as_user and $as_member are words
# shellcheck source=selftests/admin/guest.sh
. "$(dirname "$0")/guest.sh"

plan 6

# own COMMAND: a shell of a user in namespaces of its own; leaves $status, $OUT and $ERR.
own() { run $as_user unshare -Urn sh -c "$1"; }

# refused COMMAND: it is refused for the lack of IPv6.
refused() {
	own "$1"
	[ "$status" != 0 ] && grep -q 'this kernel has no IPv6' "$ERR"
}

check 'the kernel has no IPv6' grep -qw ipv6.disable=1 /proc/cmdline
own 'ddctl peer add 0 10.0.0.2 && ddctl -j peer show 0'
check 'a peer by IPv4' [ "$status" = 0 ]
check 'add: a peer by IPv6' refused 'ddctl peer add 0 fd00::3'
check 'set: a peer by IPv6' refused 'ddctl peer add 0 10.0.0.2 && ddctl peer set 0 fd00::3'
# Prints the node of an address, or why there is none.
run $as_member build/selftests/man/dd_open.3.2 127.0.0.1
check 'this node by an IPv4 address' grep -qx '127.0.0.1 is node 1' "$OUT"
run $as_member build/selftests/man/dd_open.3.2 fd00::3
check 'no node by an IPv6 address' grep -qx 'fd00::3: Machine is not on the network' "$ERR"
finish
