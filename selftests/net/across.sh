#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# across.sh PROGRAM [ARGUMENT...]: run a test of selftests/ddp between two nodes.
# The program runs at node 1, its peers at node 2, see selftests/harness/worker.h.
# DDP_FAMILY is 4 or 6, DDP_MTU is the MTU of the network, DDP_LOSS, such as 1%, is the share of
# packets that it loses. With KEEP=yes the nodes stay for the next such program if this one
# succeeds: on a debug kernel they take ten seconds.

# shellcheck source=selftests/net/cluster.sh
. "$(dirname "$0")/cluster.sh"

nodes="${DDP_MTU:-1500} ${DDP_FAMILY:-4}"

end() {
	if [ $? = 0 ] && [ "${KEEP:-}" ] && [ ! "${DDP_LOSS:-}" ]; then
		echo "$nodes" >"$CLUSTER_KEPT"
	else
		cluster_down 2>/dev/null
	fi
}
trap end EXIT

if [ "${KEEP:-}" ] && [ "$(cat "$CLUSTER_KEPT" 2>/dev/null)" = "$nodes" ]; then
	rm "$CLUSTER_KEPT"
else
	# shellcheck disable=SC2086 # two words
	if ! cluster_up 2 ${nodes% *} || ! cluster_peers 2 ${nodes#* }; then
		echo "Bail out! no cluster of two nodes"
		exit 1
	fi
fi
[ ! "${DDP_LOSS:-}" ] || cluster_netem loss "$DDP_LOSS"
export DDP_OWN_NODE=1 DDP_PEER_NODE=2 DDP_PEER_NETNS=dd2
cluster_exec 1 "$@"
