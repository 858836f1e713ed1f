#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# clerks.sh [-2] COMMAND...: runs a command while this node has a name clerk; with -2, on
# node 1 of two nodes that have one. CLERK is its options.

# shellcheck source=selftests/net/cluster.sh
. "$(dirname "$0")/../net/cluster.sh"

nodes=1
[ "$1" != -2 ] || { nodes=2; shift; }
tmp=$(mktemp -d)

finish() {
	local pids

	mapfile -t pids < <(jobs -p)
	[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null
	wait
	rm -rf "$tmp"
	[ $nodes = 1 ] || cluster_down 2>/dev/null
}
trap finish EXIT

# The prefix of commands at a node.
at() {
	on=()
	[ $nodes = 1 ] || on=(ip netns exec "dd$1")
}

if [ $nodes = 2 ]; then
	[ ! -e "/run/netns/$CLUSTER_BRIDGE" ] || cluster_down 2>/dev/null
	if ! cluster_up 2 || ! cluster_peers 2; then
		echo "Bail out! no cluster of two nodes"
		exit 1
	fi
	export DDP_OWN_NODE=1 DDP_PEER_NODE=2 DDP_PEER_NETNS=dd2
fi
for ((i = 1; i <= nodes; i++)); do
	at $i
	# shellcheck disable=SC2086 # options
	"${on[@]}" rmclerk ${CLERK:-} >"$tmp/ready$i" &
	until grep -q ready "$tmp/ready$i"; do
		kill -0 $! || exit 1
		sleep 0.05
	done
done
at 1
"${on[@]}" "$@"
