#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# across.sh PROGRAM [ARGUMENT...]: run a test of selftests/ddp between two nodes.
# The program runs at node 1, its peers at node 2, see selftests/ddp/peer.h.
# DDP_FAMILY is 4 or 6, DDP_MTU is the MTU of the network.

# shellcheck source=selftests/net/cluster.sh
. "$(dirname "$0")/cluster.sh"

[ ! -e "/run/netns/$CLUSTER_BRIDGE" ] || cluster_down 2>/dev/null
trap 'cluster_down 2>/dev/null' EXIT
if ! cluster_up 2 "${DDP_MTU:-1500}" || ! cluster_peers 2 "${DDP_FAMILY:-4}"; then
	echo "Bail out! no cluster of two nodes"
	exit 1
fi
export DDP_OWN_NODE=1 DDP_PEER_NODE=2 DDP_PEER_NETNS=dd2
cluster_exec 1 "$@"
