#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The network between two nodes is cut, for times around the dead time, which suits the
# speed of this machine. After a short cut connections continue. After a long one they
# are closed at both ends, and new ones can be made. Each message that was reported done
# has been received, and none twice. TAP; in a guest, as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

SOME=$(pick 40 10)	# messages of each node that prove that there is traffic
CONNS=$(pick 4 2)
LEAST=$(pick 1000 5000)	# ms; a node that is silent for this time is not just slow

# Tenths of the dead time, for the soak only.
MORE=${DD_SOAK:+2 3 4 6 7 8 10 12 13 14 15 20 25}

# The dead time, in ms: long compared to a cut on this machine during traffic.
choose_dead_time() {
	begin || return
	silence 0
	dead_time $((5 * LASTED > LEAST ? 5 * LASTED : LEAST))
	end_all "" && nothing_comes
}

# No packet passes a cut.
nothing_comes() {
	local status=1

	cut 2
	cluster_exec 1 ping -c 1 -W 1 10.9.0.2 >/dev/null || status=0
	heal 2
	within "$PATIENCE" all_up || return
	return "$status"
}

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
	begin_all 0 "$CONNS" 65536 && within "$PATIENCE" all_up &&
		flows "$SOME" 1 2
}

# cuts TENTHS TIMES: each cut was shorter than the dead time, by enough for an answer.
cuts() {
	local i short=0

	for ((i = 0; i < $2; i++)); do
		silence $(($1 * DEAD / 10))
		[ "$LASTED" -lt $((8 * DEAD / 10)) ] || short=1
		flows "$SOME" 1 2 || return 2
	done
	return "$short"
}

# survives TENTHS TIMES: on a busy machine a cut may take longer than planned. Then the
# result does not count, and the cut is repeated with a longer dead time.
survives() {
	local tries status

	for tries in {1..4}; do
		begin || return
		status=0
		cuts "$@" || status=$?
		case $status in
		0)
			end_all whole
			return
			;;
		1) diag "cut for $LASTED ms: too long, $tries times" ;;
		*) return 1 ;;
		esac
		within "$PATIENCE" all_up && end_all "" || return
		dead_time $((2 * DEAD)) || return
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
	cluster_exec 1 timeout "$PATIENCE" net_traffic "$FILE" load 2 -t 1 \
		-c 1 -k w || status=$?
	heal 2
	within "$PATIENCE" all_up || return
	[ "$status" = 0 ]
}

plan $((7 + $(wc -w <<<"$MORE")))
cluster 2
cluster_offload off
within "$PATIENCE" all_up
check "how long a cut takes" choose_dead_time
check "cut for 0.1 of the dead time, three times: connections continue" survives 1 3
check "cut for half of it: connections continue" survives 5 1
check "cut for 0.9 of it: closed or not, nothing is lost or comes twice" either 9
check "cut for 1.1 of it: closed or not, nothing is lost or comes twice" either 11
check "cut for longer: both ends notice, and new connections work" ends
check "a client that connects meanwhile gets an error" connecting
for tenths in $MORE; do
	check "cut for $tenths tenths of it: closed or not, nothing is lost or comes twice" either "$tenths"
done
finish
