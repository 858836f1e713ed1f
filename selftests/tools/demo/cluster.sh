#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# cluster.sh: two virtual machines as a cluster of two nodes; "make
# demo-cluster". Their network cards are the ends of a QEMU socket; each gets the
# same cluster file, and ddcp sends 64 MiB from one to the other. The exit status
# is 0 only if both machines report success and the checksums are equal.
#
# The machines' output is in build/demo/node1.log and node2.log.
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/vm/common.sh
. selftests/vm/common.sh

VM=selftests/vm
LOGS=build/demo
QUEUE=${DD_VM_LOCK:-vm}	# the two wait in it as one machine
export KERNEL=stock SMP=1 MEM=1024 ICOUNT=no MODULE=yes TIMEOUT=600

die() {
	echo "demo-cluster: $*" >&2
	exit 1
}

# node I NIC: the machine of that number.
node() {
	local i=$1

	NIC=$2 NIC_MAC=52:54:00:dd:00:0$i DD_VM_LOCK=$QUEUE-$i \
		"$VM/run.sh" "selftests/tools/demo/cluster-node.sh $i" \
		2> >(sed -u "s/^/node $i! /" >&2) | tr -d '\r' |
		tee "$LOGS/node$i.log" | sed -u "s/^/node $i: /"
}

sum() { sed -n 's/^@sum //p' "$LOGS/node$1.log"; }

both() {
	local port first second

	port=$(free_port 29151)
	[ -n "$port" ] || die "no free TCP port"
	node 2 "listen=127.0.0.1:$port" &
	second=$!
	# Node 2 listens before node 1 connects.
	for ((first = 0; first < 600; first++)); do
		[ -z "$(ss -Hltn "sport = :$port")" ] || break
		sleep 0.1
	done
	node 1 "connect=127.0.0.1:$port"
	first=$?
	wait "$second"
	second=$?
	[ "$first" = 0 ] || die "node 1: exit status $first"
	[ "$second" = 0 ] || die "node 2: exit status $second"
}

build() {
	"$VM/deps.sh" && make -s user build/tsc-khz && "$VM/kernels.sh" fetch stock &&
		"$VM/module.sh" stock
}

mkdir -p "$LOGS" || exit
echo "Direct Deposit between two virtual machines."
build || die "cannot build"
with_lock "$QUEUE" 7200 both || exit
if [[ ! $(sum 1) =~ ^[0-9a-f]{64}$ ]] || [ "$(sum 1)" != "$(sum 2)" ]; then
	die "the file that arrived is not the one that was sent"
fi
echo "Both nodes have done all of it, sha256 $(sum 1); $SECONDS s."
