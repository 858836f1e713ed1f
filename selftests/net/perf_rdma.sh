#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Soft-RoCE (rdma_rxe, measured by perftest) beside direct deposit and TCP.
#
#   perf_rdma.sh [MTU [ROUNDS]]
#
# In Linux 6.1 rdma_rxe works in the initial network namespace only, so both its devices
# are there, at the ends of a veth pair. A dd node is a network namespace, so one end of
# its veth pair is in the initial namespace and one in another. Rounds are interleaved,
# and processes are pinned to the same two CPUs. Figures of perftest:
#   ib_send_lat -s 64      t_typical, half a round trip, polling; doubled here
#   ib_write_bw -s 1M      average bandwidth
#   ib_write_bw -t 1       time of a write until it is done: 1 by the message rate
#   ib_read_lat, ib_atomic_lat   t_typical
#
# For example: make vm RUN='selftests/net/perf_rdma.sh 9000'

# shellcheck source=selftests/net/cluster.sh
. "$(dirname "$0")/cluster.sh"
# shellcheck source=selftests/net/roce.sh
. "$(dirname "$0")/roce.sh"
set -uo pipefail

MTU=${1:-1500} ROUNDS=${2:-11}
# Sizes and counts of one-sided requests.
ACCESS="8 500
64 500
4096 200
65536 100
1048576 20"
HOLD=$(mktemp -d)

die() {
	echo "perf_rdma: $*" >&2
	tail -n 5 "$HOLD"/*.err >&2
	exit 1
}

finish() {
	local pids

	mapfile -t pids < <(jobs -p)
	[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null
	wait
	ddctl peer del 2 2>/dev/null
	ip netns del dd2 2>/dev/null
	ip link del dd0 2>/dev/null
	roce_down
	rm -rf "$HOLD"
}
trap finish EXIT

# wait_for COMMAND...
wait_for() {
	local tries

	for tries in {1..300}; do
		! "$@" >/dev/null || return 0
		sleep 0.1
	done
	die "'$*': not within $tries tries"
}

# --- soft-RoCE ---------------------------------------------------------------

roce_lat() { roce_test ib_send_lat -s 64 -n 1000 | awk '{ print 2 * $5 }'; }
roce_bw() {
	roce_test ib_write_bw -s 1048576 -n 100 --report_gbits |
		awk '{ print 125 * $4 }'
}

# roce_access put|get|cas SIZE COUNT: microseconds
roce_access() {
	case $1 in
	put) roce_test ib_write_bw -t 1 -s "$2" -n "$3" | awk '{ print 1 / $5 }' ;;
	get) roce_test ib_read_lat -s "$2" -n "$3" | awk '{ print $5 }' ;;
	cas) roce_test ib_atomic_lat -A CMP_AND_SWAP -n "$3" | awk '{ print $5 }' ;;
	esac
}

# --- dd, and TCP -----------------------------------------------------------

nodes_up() {
	ip netns add dd2 &&
	ip link add dd0 mtu "$MTU" type veth \
		peer name eth0 mtu "$MTU" netns dd2 &&
	ip addr add 10.9.0.1/24 dev dd0 && ip link set dd0 up &&
	ip -n dd2 link set lo up &&
	ip -n dd2 addr add 10.9.0.2/24 dev eth0 && ip -n dd2 link set eth0 up &&
	ddctl node down && ddctl node set id 1 max 3 && ddctl node up &&
	cluster_number 2 3 && ddctl peer add 2 10.9.0.2 &&
	cluster_exec 2 ddctl peer add 1 10.9.0.1 || return
	ip netns exec dd2 ddperf net serve >"$HOLD/ready" 2>"$HOLD/serve.err" &
	wait_for grep -q ready "$HOLD/ready"
	wait_for is_up
}

is_up() { [ "$(ddctl -j peer show 2 | jq -r .state)" = up ]; }

# ours TEST SIZE COUNT: prints "DD TCP".
ours() {
	local size=(-s "$2")

	[ "$1" != cas ] || size=()
	ddperf net "$1" --node 2 -j -r 1 "${size[@]}" -n "$3" >"$HOLD/ours" || die ddperf
	jq -r '[.results[0].methods[] | {(.name): .rounds.median}] | add |
		"\(.dd) \(."tcp-spin")"' "$HOLD/ours"
}

# our_access put|get|cas SIZE COUNT: microseconds
our_access() {
	local size=(-s "$2")

	[ "$1" != cas ] || size=()
	ddperf net "$1" --node 2 -j -r 1 "${size[@]}" -n "$3" >"$HOLD/ours" || die ddperf
	jq '.results[0].rounds.median / 1000' "$HOLD/ours"
}

# --- the table ---------------------------------------------------------------

median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# spread COLUMN FILE: median (min..max)
spread() {
	printf '%.5g (%.5g..%.5g)' "$(cut -d' ' -f"$1" "$2" | median)" \
		"$(cut -d' ' -f"$1" "$2" | sort -g | head -n 1)" \
		"$(cut -d' ' -f"$1" "$2" | sort -g | tail -n 1)"
}

# rows FILE NAME UNIT: the columns of FILE are soft-RoCE, dd and perhaps TCP, its lines
# rounds.
rows() {
	awk '{ tcp = NF > 2 ? $2 / $3 : 0; print $2 / $1, tcp }' "$1" >"$1.ratio"
	printf '%s; %s\n' "$2" "$3"
	printf '  %-10s %s\n' dd "$(spread 2 "$1")" soft-RoCE "$(spread 1 "$1")" \
		"dd/RoCE" "$(spread 1 "$1.ratio")"
	[ "$(head -n 1 "$1" | wc -w)" -lt 3 ] ||
		printf '  %-10s %s\n' tcp-spin "$(spread 3 "$1")" \
			"dd/TCP" "$(spread 2 "$1.ratio")"
}

roce_up "$MTU" 2>"$HOLD/roce.err" || die "no soft-RoCE"
nodes_up 2>"$HOLD/nodes.err" || die "no nodes"
for ((r = 0; r < ROUNDS; r++)); do
	roce=$(roce_lat) && own=$(ours lat 64 1000) || exit
	echo "$roce $own" >>"$HOLD/lat"
	roce=$(roce_bw) && own=$(ours bw 1048576 64) || exit
	echo "$roce $own" >>"$HOLD/bw"
	while read -r size count; do
		for access in put get cas; do
			[ $access != cas ] || [ "$size" = 8 ] || continue
			roce=$(roce_access $access "$size" "$count") &&
				own=$(our_access $access "$size" "$count") || exit
			echo "$roce $own" >>"$HOLD/$access.$size"
		done
	done <<<"$ACCESS"
done
echo "MTU $MTU (RoCE: $(sed -n 's/.*Mtu *: *//p' "$HOLD/client.out")), $ROUNDS rounds, median (min..max)"
rows "$HOLD/lat" "64 B round trip" us
rows "$HOLD/bw" "1 MiB one way" MB/s
for file in "$HOLD"/{put,get,cas}.*; do
	rows "$file" "${file##*/} bytes, until it is done" us
done
