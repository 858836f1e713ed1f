#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The network between two nodes is cut, for times around the dead time. If that
# is short everything goes on; if it is long, connections are closed at both
# ends, and new ones are made when it is over. Whatever was done has come, and
# nothing has come twice. TAP; in a guest, as root.

# shellcheck disable=SC2317 # called through check
# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

DEAD=1000	# ms

# silence SECONDS
silence() {
	cut 2 && sleep "$1"
	heal 2
}

begin() {
	new_traffic
	begin_all "$1" 4 65536 && within "$PATIENCE" all_up && sleep 0.5
}

# survives SECONDS TIMES
survives() {
	local i

	begin $((1 + $2)) || return
	for ((i = 0; i < $2; i++)); do
		silence "$1"
		sleep 0.3
	done
	end_all whole
}

# ends SECONDS: and goes on afterwards.
ends() {
	local before after

	before=$(peer 1 2 .sessions)
	begin $((3 + ${1%.*})) || return
	silence "$1"
	within "$PATIENCE" all_up || return
	end_all broken || return
	after=$(peer 1 2 .sessions)
	diag "sessions: $before before, $after after"
	[ "$after" -gt "$before" ]
}

# either SECONDS: near the dead time it may end or not.
either() {
	begin $((3 + ${1%.*})) || return
	silence "$1"
	within "$PATIENCE" all_up || return
	end_all ""
}

# Who asks while nobody answers is told after the dead time, not for ever later.
connecting() {
	local start took status=0

	cut 2
	new_traffic
	within "$PATIENCE" unreachable 1 2 || return
	start=$(date +%s)
	cluster_exec 1 timeout 20 net_traffic "$FILE" load 2 -t 1 -c 1 -k w ||
		status=$?
	took=$(($(date +%s) - start))
	heal 2
	within "$PATIENCE" all_up || return
	diag "told after $took s, or sooner"
	[ "$status" = 0 ] && [ "$took" -le 10 ]
}

unreachable() { [ "$(peer "$1" "$2" .state)" = unreachable ]; }

# The state says so while it lasts, and both ends notice.
noticed() {
	cut 2
	within "$PATIENCE" unreachable 1 2 && within "$PATIENCE" unreachable 2 1
	local status=$?

	heal 2
	within "$PATIENCE" all_up && return "$status"
}

plan 7
cluster 2
cluster_offload off
for i in 1 2; do
	cluster_exec $i ddctl peer set $((3 - i)) dead-time $DEAD
done
check "cut for 0.1 s, three times: everything goes on" survives 0.1 3
check "cut for 0.5 s: everything goes on" survives 0.5 1
check "cut for 0.9 s: closed or not, nothing is lost or comes twice" either 0.9
check "cut for 1.1 s: closed or not, nothing is lost or comes twice" either 1.1
check "cut for 2.5 s: closed, and new connections work" ends 2.5
check "both ends notice" noticed
check "who asks meanwhile is told, in the dead time" connecting
finish
