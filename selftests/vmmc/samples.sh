#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs of the document without a session, on one node or, run by across.sh, with peers at the
# other one; selftests/sessions/sessions.sh runs all of them in a session.
# With WORKER_USER in the environment, they are run by an ordinary user with 8 MiB
# of memory that may be locked.
#
# shellcheck disable=SC2317 # called through check
# shellcheck source=selftests/harness/servers.sh
. "$(dirname "$0")/../harness/servers.sh"
PROGRAMS=$TOP/build/samples/vmmc

# shellcheck disable=SC2034 # of servers.sh
[ -z "${WORKER_USER:-}" ] || {
	ulimit -l 8192
	as=(setpriv --reuid alice --regid alice --groups dd)
}

mkdir -p /etc/dd
printf '1 fedex1\n2 fedex2\n' >/etc/dd/cluster.conf

# runs NUMBER PROGRAM ARGUMENT...: a program of so many peers ends with status 0, and they do.
runs() { peers "$1" "$PROGRAMS/$2" && with_peers "$PROGRAMS/$2" "${@:3}"; }

# A peer may be named by an address of its node.
by_address() {
	peers 1 "$PROGRAMS/latency"
	PEERS=("$host:${PEERS[0]##*:}")
	with_peers "$PROGRAMS/latency" 16 10
}

latency() { runs 1 latency 16 100 && grep -q '^16 words, 100 round trips: latency [0-9.]* us$' out; }
all2all() {
	runs 2 all2all pairwise 3 100 20 && grep -q '^3 processes, 100 words, 20 rounds: ' out &&
		runs 2 all2all random 3 100 20
}

check "VM_23 latency" latency
check "VM_70 latency, with the peer's address" by_address
check "VM_24 all2all" all2all
check "VM_23 the programs explain themselves" explain "$PROGRAMS"/{latency,all2all,PPBandwidth,RandomChain}
# Other programs in this guest have a node without a name.
rm /etc/dd/cluster.conf
finish
