#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A thousand connections from one node to another, used at random, all or some of them,
# without loss and with 1 % loss. TAP; in a guest, as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

# A busy machine may stop a guest for seconds; partition.sh tests the dead time.
DEAD=60000

# A debug kernel takes 10 times as long.
CONNS=$(pick 1000 100)

# many ACTIVE NETEM...
many() {
	local there

	cluster_netem "${@:2}" || return
	new_traffic
	serve 2 -c "$CONNS" -m 1000 || return
	load 1 2 -c "$CONNS" -m 1000 -a "$1" -k sw
	within "$PATIENCE" connected || diag "$(connections) connections"
	there=$(connections)
	flows $((3 * CONNS)) || return
	end_all whole && [ "$there" = "$CONNS" ]
}

connections() { cluster_exec 2 ddctl -j conn | jq length; }
connected() { [ "$(connections)" = "$CONNS" ]; }

plan 3
cluster 2
cluster_offload off
check "$CONNS connections, all used" many "$CONNS" delay 0
check "$CONNS connections, 64 used at a time" many 64 delay 0
check "$CONNS connections, 64 used at a time, loss 1 %" many 64 loss 1%
finish
