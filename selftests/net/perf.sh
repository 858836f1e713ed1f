#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Figures between nodes: two network namespaces that are the ends of one veth
# pair, "ddperf net serve" at one of them, "ddperf net" at the other.
#
#   perf.sh [-m MTU] [-l LINK] [-r CPUS:CPUS] TEST [OPTION...]
#
# TEST and OPTIONs are those of ddperf (lat, bw, rate, conns, insn, trip), or TEST is
#   share [N]  N messages (1200) of 64 KiB beside a TCP stream of iperf3 that runs
#              all the time: rates, and shares of their sum
# MTU is 1500 by default. LINK disturbs the path between them:
#   loss       1 % of the packets in each direction are lost
#   slow       20 Mbit/s, 20 ms there and back, and one bandwidth-delay product of
#              buffer (50,000 bytes) before the slow link
#   slow-loss  the same, and 1 % of the packets towards the server are lost
# CPUS are two masks of processors, in hexadecimal, that receive packets at the node of
# the client and at that of the server (rps_cpus). 1:2 are those that each side is pinned
# to. Without CPUS the processor of the sender receives the packets.
# With a LINK, segmentation by the (virtual) hardware is off, since netem would drop and
# delay whole bursts.
#
# For example: make vm RUN='selftests/net/perf.sh -m 9000 bw --rounds 21'

# shellcheck source=selftests/net/cluster.sh
. "$(dirname "$0")/cluster.sh"

RATE=20mbit
DELAY=20ms
BUFFER=50000	# bytes: RATE times DELAY
BURST=3200	# two packets; with less, tbf does not reach the rate

usage() {
	sed -n '3,/^$/s/^# \{0,1\}//p' "$0" >&2
	exit 2
}

die() {
	echo "perf: $*" >&2
	exit 1
}

# The link from the client to the server is slow, the other direction has a delay.
slow() {
	tc -n dd1 qdisc add "$@" tbf rate $RATE burst $BURST limit $BUFFER &&
	tc -n dd2 qdisc add dev eth0 root netem delay $DELAY limit 10000
}

disturb() {
	[ "$1" = none ] || cluster_offload off || return
	case $1 in
	none) ;;
	loss) cluster_netem loss 1% limit 10000 ;;
	slow) slow dev eth0 root ;;
	slow-loss)
		tc -n dd1 qdisc add dev eth0 root handle 1: netem loss 1% limit 10000 &&
		slow dev eth0 parent 1:1
		;;
	*) usage ;;
	esac
}

# steer NODE CPUS
steer() {
	# shellcheck disable=SC2016 # by the shell that it is for
	ip netns exec "dd$1" sh -c 'for q in /sys/class/net/eth0/queues/rx-*/rps_cpus; do
		echo "$1" >"$q" && echo "steered  $q: $(cat "$q")" || exit; done' sh "$2"
}

finish() {
	local pids

	mapfile -t pids < <(jobs -p)
	[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null
	wait 2>/dev/null
	cluster_down 2>/dev/null
}

# share N
share() {
	local tcp=$READY.tcp dd

	ip netns exec dd2 iperf3 -s >/dev/null &
	wait_for listens || die "no iperf3"
	ip netns exec dd1 iperf3 -c 10.9.0.2 -t 86400 -f m --forceflush >"$tcp" &
	wait_for grep -q ' sec ' "$tcp" || die "no TCP stream"
	# "flag" is no method between nodes: only direct deposit is measured.
	dd=$(cluster_exec 1 ddperf net bw --node 2 -m flag --sleep -w 8 -s 64K -r 1 \
		-n "$1" -j | jq '.results[0].methods[0].rounds.median')
	# The first second does not count.
	awk -v dd="$dd" '/ sec / && n++ { sum += $7 / 8 } END {
		if (!dd || n < 2)
			exit 1
		tcp = sum / (n - 1)
		printf "%-6s %9s %9s\n%-6s %9.4g %9.3f\n%-6s %9.4g %9.3f\n", "", "MB/s",
			"share", "dd", dd, dd / (dd + tcp), "tcp", tcp, tcp / (dd + tcp)
	}' "$tcp" || die "no share: $(tail -n 2 "$tcp")"
}

listens() { ip netns exec dd2 ss -Hltn 'sport = :5201' | grep -q .; }

MTU=1500 LINK=none STEER=''
while getopts m:l:r: option; do
	case $option in
	m) MTU=$OPTARG ;;
	l) LINK=$OPTARG ;;
	r) STEER=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# != 0 ] || usage

cluster_down 2>/dev/null
READY=$(mktemp)
trap 'finish; rm -f "$READY" "$READY.tcp"' EXIT
if ! cluster_pair "$MTU" || ! cluster_peers 2 || ! disturb "$LINK"; then
	die "no cluster"
fi
if [ -n "$STEER" ] && { ! steer 1 "${STEER%%:*}" || ! steer 2 "${STEER##*:}"; }; then
	die "no such processors: $STEER"
fi
ip netns exec dd2 ddperf net serve >"$READY" &
wait_for grep -q ready "$READY" || die "no server"
wait_for cluster_is_up || die "no session"
[ "$LINK" = none ] || tc -n dd1 qdisc show dev eth0
if [ "$1" = share ]; then
	share "${2:-1200}"
	exit
fi
cluster_exec 1 ddperf net "$@" --node 2
