#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Two virtual machines whose network cards are the ends of a QEMU socket. The first one
# keeps running. The second one removes its module and loads it again, and starts again
# with a module of another version of the protocol, and then with one of the first version.
# TAP. The output of the second one is in build/net/machine2.*.log.
#
# They count as one machine in the queue that DD_VM_LOCK names, see run.sh.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/vm/common.sh
. selftests/vm/common.sh

LOGS=$TOP/build/net
QUEUE=${DD_VM_LOCK:-vm}
export KERNEL=${KERNEL:-stock} SMP=1 MEM=512 ICOUNT=no MODULE=yes TIMEOUT=1800
RESULTS=10 RAN=0 BAD=0 BOOTS=0

# result STATUS NAME
result() {
	local verdict=ok

	RAN=$((RAN + 1))
	[ "$1" = 0 ] || verdict="not ok" BAD=$((BAD + 1))
	echo "$verdict $RAN - $2"
}

# machine NODE NIC ROLE: run a machine, and print its output.
machine() {
	NIC=$2 NIC_MAC=52:54:00:dd:00:0$1 DD_VM_LOCK=$QUEUE-$1 \
		selftests/vm/run.sh "selftests/net/machine.sh $3" 2>&1 | sed -u 's|\r||'
	return "${PIPESTATUS[0]}"
}

# --- node 2 ------------------------------------------------------------------

# boot ROLE [MODULE]: in the background.
boot() {
	ROLE=$1
	LOG=$LOGS/machine2.$((++BOOTS)).log
	FAULT=${2:-} machine 2 "connect=127.0.0.1:$PORT" "$1" >"$LOG" &
	NODE2=$!
}

# The machine ends by itself, with success.
boot_ends() {
	local status=0

	wait "$NODE2" || status=$?
	sed 's/^/# node 2: /' "$LOG"
	result $status "node 2, which $ROLE: clean kernel log, module unloaded"
}

# --- node 1 ------------------------------------------------------------------

# Print the lines of node 1, and carry out its requests.
follow() {
	local line role module

	while IFS= read -r line; do
		case $line in
		"@boot "*)
			read -r _ role module <<<"$line"
			[ "$BOOTS" = 0 ] || boot_ends
			boot "$role" "$module"
			;;
		"ok "*) result 0 "${line#ok * }" ;;
		"not ok "*) result 1 "${line#not ok * }" ;;
		"TAP version"* | 1..*) ;;
		"# "*) echo "$line" ;;
		*) echo "# $line" ;;
		esac
	done
}

run() {
	local out stays

	PORT=$(free_port 29201)
	exec {out}< <(machine 1 "listen=127.0.0.1:$PORT" stays)
	stays=$!
	follow <&"$out"
	[ "$BOOTS" = 0 ] || boot_ends
	wait "$stays"
	result $? "node 1, which stays: clean kernel log, module unloaded"
	echo "# $SECONDS s"
	[ "$RAN" = $RESULTS ] || result 1 "there are $RESULTS results"
	echo "1..$RAN"
	[ "$BAD" = 0 ]
}

build() {
	selftests/vm/kernels.sh fetch "$KERNEL" && make -s user selftests build/tsc-khz &&
		selftests/vm/module.sh "$KERNEL" &&
		selftests/vm/module.sh "$KERNEL" version-next &&
		selftests/vm/module.sh "$KERNEL" version-first
}

mkdir -p "$LOGS" || exit
build >&2 || exit
echo "TAP version 13"
with_lock "$QUEUE" 7200 run
