#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Programs of VMMC that Open MPI's mpirun starts, on three nodes. The guest needs more programs:
#
#   MORE=selftests/sessions/mpi.programs selftests/vm/run.sh selftests/sessions/mpi.sh
#
# shellcheck disable=SC2016,SC2317 # the other shell expands; called through check
# shellcheck source=selftests/sessions/nodes.sh
. "$(dirname "$0")/nodes.sh"
command -v mpirun >/dev/null || {
	echo "1..0 # SKIP the guest has no mpirun"
	exit
}
DRIVE=$HOLD/drive

# As ssh: a host, and a command for its shell.
agent() {
	local i

	echo '#!/bin/sh'
	echo 'case $1 in'
	for i in "${!HOLDER[@]}"; do
		echo "node$i) node=${HOLDER[$i]} ;;"
	done
	echo 'esac; shift; exec nsenter -t $node -m -u -n sh -c "$*"'
}

prepare() {
	local i

	mkdir -p "$DRIVE"/{bin,out,work}
	cp "$TOP/build/selftests/member" "$TOP/build/samples/vmmc/all2all" "$DRIVE/bin/"
	mkdir -p /etc/dd
	echo 'root yes' >/etc/dd/vmmcsvr.conf
	sessions_up 3 && agent >rsh && chmod +x rsh || return
	for i in 1 2 3; do
		on 1 cfgvmmc "node$i" add Job "" "" "$DRIVE" "" /out || return
	done
}

# mpi HOSTS PROGRAM ARGUMENT...
mpi() {
	run on 1 env VMMCSESSION=Job VMMCHOSTS="node1 node2 node3" HOME="$HOLD" \
		sh -c 'cd "$0" && exec "$@"' "$DRIVE/work" timeout "$PATIENCE" mpirun --allow-run-as-root \
		--mca plm_rsh_agent "$HOLD/rsh" --mca oob_tcp_if_include 10.9.0.0/24 \
		-x VMMCSESSION -x VMMCHOSTS -H "$1" "$DRIVE/bin/$2" "${@:3}"
}

hosts() {
	mpi node1,node2,node3 member hosts && [ "$(grep -c 'node1 node2 node3 0' "$OUT")" = 3 ] && return
	show_output
	return 1
}
spawns() {
	mpi node2 all2all pairwise 3 100 20 && has_line "$OUT" '^3 processes, 100 words' && return
	show_output
	return 1
}

prepare || { diag "$(cat ready.* log.*)"; echo "Bail out! no servers"; exit 1; }
check "VM_48 programs of mpirun know the session's nodes" hosts
check "VM_76 a program of mpirun spawns" spawns
finish
