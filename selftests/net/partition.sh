#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The network between two nodes is cut, for times around the dead time, which suits the
# speed of this machine. After a short cut connections continue. After a long one they
# are closed at both ends, and new ones can be made. Each message that was reported done
# has been received, and none twice. TAP; in a guest, as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

DEAD=5000	# ms, until it is chosen
SOME=$(pick 40 10)	# messages of each node that prove that there is traffic
CONNS=$(pick 4 3)
LEAST=$(pick 1000 5000)	# ms; a node that is silent for this time is not just slow

# Tenths of the dead time near which connections may end or not, for the soak only: the
# simulator has them all in its "partition".
NEAR=${DD_SOAK:+2 3 4 6 7 8 9 10 11 12 13 14 15 20 25}

dead_time() {
	local i

	DEAD=$1
	PATIENCE=$((60 + DEAD / 500))
	for i in 1 2; do
		cluster_exec "$i" ddctl peer set $((3 - i)) dead-time "$DEAD" || return
	done
	diag "the dead time is $DEAD ms"
}

# silence MS: cut the network for MS. LASTED is an upper bound of the time that it took;
# the process that ends the cut has real-time priority.
silence() {
	LASTED=$(
		chrt -f -p 1 "$BASHPID"
		start=${EPOCHREALTIME//[.,]/}
		cut 2 && sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
		heal 2
		echo $(((${EPOCHREALTIME//[.,]/} - start) / 1000))
	)
}

begin() {
	new_traffic
	begin_all "$CONNS" 65536 && within "$PATIENCE" all_up &&
		flows "$SOME" 1 2
}

# A dead time that is long compared to a cut on this machine during traffic.
choose_dead_time() {
	begin || return
	silence 0
	dead_time $((5 * LASTED > LEAST ? 5 * LASTED : LEAST))
	end_all ""
}

# The cut is shorter than the dead time, by enough for an answer. On a busy machine it may take
# longer than planned: then the result does not count, and it is repeated with a longer dead
# time.
survives() {
	local tries

	for tries in {1..4}; do
		begin || return
		silence $((DEAD / 2))
		flows "$SOME" 1 2 || return
		if [ "$LASTED" -lt $((8 * DEAD / 10)) ]; then
			end_all whole
			return
		fi
		diag "cut for $LASTED ms: too long, $tries times"
		within "$PATIENCE" all_up && end_all "" && dead_time $((2 * DEAD)) || return
	done
	return 1
}

# ends: both ends notice a long cut, and traffic continues afterwards.
ends() {
	local before after noticed=0

	before=$(peer 1 2 .sessions)
	begin && cut 2 || return
	within "$PATIENCE" unreachable 1 2 &&
		within "$PATIENCE" unreachable 2 1 || noticed=1
	heal 2
	within "$PATIENCE" all_up && flows "$SOME" 1 2 || return
	end_all broken || return
	after=$(peer 1 2 .sessions)
	diag "sessions: $before before, $after after"
	[ "$noticed" = 0 ] && [ "$after" -gt "$before" ]
}

# either TENTHS: near the dead time, connections may end or not.
either() {
	begin || return
	silence $(($1 * DEAD / 10))
	diag "cut for $LASTED ms"
	within "$PATIENCE" all_up && flows "$SOME" 1 2 || return
	end_all ""
}

unreachable() { [ "$(peer "$1" "$2" .state)" = unreachable ]; }

# A client that connects during the cut gets an error each time, and does not hang.
connecting() {
	local status=0

	cut 2
	new_traffic
	within "$PATIENCE" unreachable 1 2 || return
	cluster_exec 1 timeout --preserve-status -k "$PATIENCE" 2 \
		net_traffic "$FILE" load 2 -c 1 -k w || status=$?
	heal 2
	within "$PATIENCE" all_up || return
	[ "$status" = 0 ]
}

plan $((3 + $(wc -w <<<"$NEAR")))
cluster 2
cluster_offload off
if ! within "$PATIENCE" all_up || ! choose_dead_time; then
	echo "Bail out! no traffic"
	exit 1
fi
check "cut for half of the dead time: connections continue" survives
check "cut for longer: both ends notice, and new connections work" ends
check "a client that connects meanwhile gets an error" connecting
for tenths in $NEAR; do
	check "cut for $tenths tenths of it: closed or not, nothing is lost or comes twice" either "$tenths"
done
finish
