#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The programs of the document, on one node or, run by across.sh, with peers at the other one.
# With WORKER_USER in the environment, they are run by an ordinary user with 8 MiB
# of memory that may be locked.
#
# shellcheck disable=SC2317 # called through check
# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
PROGRAMS=$PWD/build/samples/vmmc
scratch

there=()
[ -z "${DDP_PEER_NODE:-}" ] || there=(ip netns exec "$DDP_PEER_NETNS")

as=()
[ -z "${WORKER_USER:-}" ] || {
	ulimit -l 8192
	as=(setpriv --reuid alice --regid alice --groups dd)
}

mkdir -p /etc/dd
printf '1 fedex1\n2 fedex2\n' >/etc/dd/cluster.conf

# peers PROGRAM NUMBER: start peers, the odd ones at the other node; set PEERS.
peers() {
	local program=$1 i at

	PEERS=()
	rm -f peer*
	for ((i = 1; i <= $2; i++)); do
		at=()
		[ $((i % 2)) = 0 ] || at=("${there[@]}")
		"${at[@]}" "${as[@]}" "$PROGRAMS/$program" worker >"peer$i" 2>"peer$i.err" &
		PIDS+=($!)
		within "$PATIENCE" grep -q : "peer$i" || diag "$(cat "peer$i.err")"
		PEERS+=("$(cat "peer$i")")
	done
}

# runs PROGRAM PEERS ARGUMENT...: the master and its peers end with status 0.
runs() {
	local program=$1 pid bad=0

	PIDS=()
	peers "$program" "$2"
	"${as[@]}" "$PROGRAMS/$program" "${@:3}" "${PEERS[@]}" >out 2>err || bad=1
	for pid in "${PIDS[@]}"; do
		[ "$bad" = 0 ] || kill "$pid"
		wait "$pid" || bad=1
	done
	[ "$bad" = 0 ] || diag "$(cat out err peer*.err)"
	return "$bad"
}

# A peer may be named by an address of its node.
by_address() {
	local host=127.0.0.1

	[ -z "${DDP_PEER_NODE:-}" ] || host=10.9.0.$DDP_PEER_NODE
	PIDS=()
	peers latency 1
	"${as[@]}" "$PROGRAMS/latency" 16 10 "$host:${PEERS[0]##*:}" >out 2>&1 && wait "${PIDS[@]}" && return
	diag "$(cat out peer*.err)"
	kill "${PIDS[@]}"
	return 1
}

latency() { runs latency 1 16 100 && grep -q '^16 words, 100 round trips: latency [0-9.]* us$' out; }
all2all() {
	runs all2all 2 pairwise 3 100 20 && grep -q '^3 processes, 100 words, 20 rounds: ' out &&
		runs all2all 2 random 3 100 20
}
# Sizes double; each has a line.
bandwidth() {
	runs "$1" 1 20 1 1024 && [ "$(grep -c 'MB/s$' out)" = 11 ] &&
		[ "$(awk '{ n += $1 } END { print n }' out)" = 2047 ]
}
random() { runs "$1" 3 4 100 20 && grep -q "^$1: 4 processes, 100 words, 20 rounds: good" out; }

check "VM_23 latency" latency
check "VM_70 latency, with the peer's address" by_address
check "VM_24 all2all" all2all
for name in PP Oneway Bidir Fetch; do
	check "VM_25 ${name}Bandwidth" bandwidth ${name}Bandwidth
done
check "VM_26 RandomChain" random RandomChain
check "VM_27 RandomOne2All" random RandomOne2All
check "VM_28 RandomAll2All" random RandomAll2All
check "VM_23 the programs explain themselves" explain "$PROGRAMS"/{latency,all2all,PPBandwidth,RandomChain}
# Other programs in this guest have a node without a name.
rm /etc/dd/cluster.conf
finish
