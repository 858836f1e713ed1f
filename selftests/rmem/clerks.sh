#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# clerks.sh [-N] COMMAND...: runs a command on a node with a name clerk; with -2 or -3, on
# node 1 of two or three nodes with a clerk each. CLERK has options of the clerks. The file
# $CLERKS/I has the process id of the clerk of node I.

# shellcheck source=selftests/net/cluster.sh
. "$(dirname "$0")/../net/cluster.sh"

nodes=1
case $1 in
-[2-9]) nodes=${1#-}; shift ;;
esac
CLERKS=$(mktemp -d)
export CLERKS

finish() {
	local pids

	mapfile -t pids < <(jobs -p)
	[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null
	wait
	rm -rf "$CLERKS"
	[ "$nodes" = 1 ] || cluster_down 2>/dev/null
}
trap finish EXIT

# The prefix of commands at a node.
at() {
	on=()
	[ "$nodes" = 1 ] || on=(ip netns exec "dd$1")
}

if [ "$nodes" != 1 ]; then
	if ! cluster_up "$nodes" || ! cluster_peers "$nodes"; then
		echo "Bail out! no cluster of $nodes nodes"
		exit 1
	fi
	export DDP_OWN_NODE=1 DDP_PEER_NODE=2 DDP_PEER_NETNS=dd2
fi
for ((i = 1; i <= nodes; i++)); do
	at $i
	# shellcheck disable=SC2086 # options
	"${on[@]}" rmclerk ${CLERK:-} >"$CLERKS/ready$i" &
	echo $! >"$CLERKS/$i"
	wait_for grep -q ready "$CLERKS/ready$i" || exit
done
at 1
"${on[@]}" "$@"
