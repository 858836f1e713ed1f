#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The cost of each operation of rmfs, and of its parts, where the clock counts instructions:
# at node 1 of selftests/rmem/clerks.sh -2. And of a read() of 8 KiB by a client of rmfs, and
# by one of NFS 4.2 over loopback if its programs are there. Prints JSON.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=selftests/net/cluster.sh
. selftests/net/cluster.sh

COUNT=50	# operations in a series of rmfs bench
READS=100
EVENTS=(dd/dd_note dd/dd_packet_received dd/dd_packet_sent irq/softirq_entry irq/softirq_exit
	net/netif_receive_skb raw_syscalls/sys_enter raw_syscalls/sys_exit sched/sched_switch)
TRACING=/sys/kernel/tracing
# NFS exports a tmpfs.
tmp=$(mktemp -d -p /dev/shm)
pids=()

cleanup() {
	kill "${pids[@]}"
	if [ -d "$tmp/nfs" ]; then
		umount "$tmp/nfs"
		rpc.nfsd 0
	fi
	umount $TRACING
	rm -rf "$tmp"
}
trap cleanup EXIT

# start COMMAND...: until it is ready.
start() {
	: >"$tmp/ready"
	"$@" >"$tmp/ready" &
	pids+=($!)
	wait_for grep -q ready "$tmp/ready"
}

# --- operations ----------------------------------------------------------------

trace() {
	: >$TRACING/trace
	rmfs bench -c $((3 * COUNT)) -m $TRACING/trace_marker rmfs "$DDP_PEER_NODE" >/dev/null
	cp $TRACING/trace "$1"
}

operations() {
	local event server=${pids[0]}

	# The namespace has a /sys of its own.
	mount -t tracefs tracefs $TRACING
	pushd $TRACING >/dev/null
	echo x86-tsc >trace_clock
	echo 32768 >buffer_size_kb
	trace "$tmp/marks"
	echo 'vec == 3' | tee events/irq/softirq_{entry,exit}/filter >/dev/null
	echo "common_pid == $server && (id == 0 || id == 7 || id == 16)" |
		tee events/raw_syscalls/sys_{enter,exit}/filter >/dev/null
	for event in "${EVENTS[@]}"; do
		echo 1 >"events/$event/enable"
	done
	trace "$tmp/events"
	echo 0 >events/enable
	popd >/dev/null
	awk -v SERVER="$server" -v COUNT=$COUNT -f bench/rmfs.awk "$tmp/marks" "$tmp/events"
}

# --- reads by a client -----------------------------------------------------------

# timed COMMAND...: microseconds, the second time.
timed() {
	local begin

	"$@" >/dev/null
	begin=${EPOCHREALTIME/./}
	"$@" >/dev/null
	echo $((${EPOCHREALTIME/./} - begin))
}

# a_read COMMAND...: with a file of READS blocks, and with one of twice as many, so that what
# a process costs does not count.
a_read() {
	echo $((($(timed "$@" two) - $(timed "$@" one)) * 1000 / READS))
}

by_rmfs() { rmfs cat "$1"; }

# Each read() is a request.
by_nfs() { dd if="$tmp/nfs/$1" bs=8K iflag=direct status=none; }

nfs_up() {
	modprobe -a nfsd nfsv4
	mount -t nfsd nfsd /proc/fs/nfsd
	mkdir -p /var/lib/nfs /etc/exports.d "$tmp/nfs"
	: >/var/lib/nfs/etab
	exportfs -i -o rw,fsid=0,insecure,no_subtree_check,no_root_squash "*:$tmp/files"
	rpc.mountd -F -N 2 -N 3 2>/dev/null &
	pids+=($!)
	# The first open() waits until the time for clients of an earlier server is over.
	rpc.nfsd -N 3 -G 10 -L 10 1
	mount -t nfs -o vers=4.2 127.0.0.1:/ "$tmp/nfs"
}

# ---------------------------------------------------------------------------------

mkdir "$tmp/files"
dd if=/dev/zero of="$tmp/files/one" bs=8K count=$READS status=none
dd if=/dev/zero of="$tmp/files/two" bs=8K count=$((2 * READS)) status=none
ln -s one "$tmp/files/link"
start ip netns exec "$DDP_PEER_NETNS" rmfs serve "$tmp/files"
operations=$(operations)
start rmfs clerk rmfs "$DDP_PEER_NODE"
reads="\"rmfs\": $(a_read by_rmfs)"
if type exportfs >/dev/null 2>&1; then
	nfs_up
	reads+=", \"nfs\": $(a_read by_nfs)"
fi
echo "{\"test\": \"rmfs\", \"command\": \"rmfs bench\", \"operations\": $operations, \"reads\": {$reads}}"
