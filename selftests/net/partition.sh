#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The network between two nodes is cut, for times around the dead time, which is
# as long as this machine needs it to be. If that
# is short everything goes on; if it is long, connections are closed at both
# ends, and new ones are made when it is over. Whatever was done has come, and
# nothing has come twice. TAP; in a guest, as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

SOME=$(pick 40 10)	# messages of each node that show that there is traffic
CONNS=$(pick 4 2)
LEAST=$(pick 1000 5000)	# ms; who is silent for that is not just slow

# Tenths of the dead time that are left to those who have the time.
MORE=${DD_SOAK:+2 3 4 6 7 8 10 12 13 14 15 20 25}

# The dead time, in ms: long beside what a cut takes here while there is traffic.
choose_dead_time() {
	begin || return
	silence 0
	dead_time $((5 * LASTED > LEAST ? 5 * LASTED : LEAST))
	end_all "" && nothing_comes
}

# Through a cut.
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

# silence MS. LASTED is how long it was in truth, at most: traffic does not keep
# who ends it from running.
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

# cuts TENTHS TIMES: each was shorter than the dead time, by enough for an answer.
cuts() {
	local i short=0

	for ((i = 0; i < $2; i++)); do
		silence $(($1 * DEAD / 10))
		[ "$LASTED" -lt $((8 * DEAD / 10)) ] || short=1
		flows "$SOME" 1 2 || return 2
	done
	return "$short"
}

# survives TENTHS TIMES: a machine that is busy may make a cut longer than it was
# to be; then that one says nothing, and there is another, of a longer dead time.
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

# ends: once both ends have noticed; and goes on afterwards.
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

# either TENTHS: near the dead time it may end or not.
either() {
	begin || return
	silence $(($1 * DEAD / 10))
	diag "cut for $LASTED ms"
	within "$PATIENCE" all_up && flows "$SOME" 1 2 || return
	end_all ""
}

unreachable() { [ "$(peer "$1" "$2" .state)" = unreachable ]; }

# Who asks while nobody answers is told, again and again, and does not hang.
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
check "cut for 0.1 of the dead time, three times: everything goes on" survives 1 3
check "cut for half of it: everything goes on" survives 5 1
check "cut for 0.9 of it: closed or not, nothing is lost or comes twice" either 9
check "cut for 1.1 of it: closed or not, nothing is lost or comes twice" either 11
check "cut for longer: both ends notice, and new connections work" ends
check "who asks meanwhile is told" connecting
for tenths in $MORE; do
	check "cut for $tenths tenths of it: likewise" either "$tenths"
done
finish
