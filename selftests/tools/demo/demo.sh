#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# demo.sh: all of dd at work, on a machine that has nothing but Debian 12;
# "make demo", for machines that have make. It installs the packages that are
# missing, builds, boots a virtual machine with Debian's own kernel, and runs
# guest.sh there. The guest reports each finished step by name. The exit status
# is 0 only if all steps were reported.
#
# It takes a minute or two, and longer the first time. The output of the commands
# is in build/demo.
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 1

VM=selftests/vm
LOGS=build/demo
STEPS=(module dd-echo-server dd-rpc-client dd-sum-server dd-sum-client
	dd-stream-send dd-epoll-server ddctl ddcp ddperf nodes rmem vmmc sbl st end)
PARTS=6
RUNNER=${DD_DEMO_RUN:-$VM/run.sh}	# replaced when this script is tested
part=0
export KERNEL=stock SMP=2 MEM=4096 ICOUNT=no MODULE=yes TIMEOUT=900

die() {
	echo "demo: $*" >&2
	echo "demo: not complete, after $SECONDS s" >&2
	exit 1
}

# Print the scripts' messages about their progress.
news() { grep --line-buffered -E '^(installing|fetching|waiting) ' | sed -u 's/^/      /'; }

# A sign of life every ten seconds, until killed.
heartbeat() {
	local waited=0 nap=

	trap 'kill $nap 2>/dev/null; exit' TERM
	while :; do
		sleep 10 &
		nap=$!
		wait $nap
		waited=$((waited + 10))
		echo "      ... $waited s"
	done
}

# work TEXT COMMAND...: one part. Its output is in a file, and printed if it fails.
work() {
	local text=$1 start=$SECONDS log heart status

	shift
	part=$((part + 1))
	log=$LOGS/$part.log
	echo "[$part/$PARTS] $text"
	heartbeat &
	heart=$!
	"$@" 2>&1 </dev/null | tee "$log" | news
	status=${PIPESTATUS[0]}
	kill $heart
	wait $heart 2>/dev/null
	[ "$status" = 0 ] || {
		grep -Ev '^(installing|fetching|waiting) ' "$log" | tail -n 20 >&2
		die "that failed; its output is in $log"
	}
	echo "      done, $((SECONDS - start)) s"
}

# qemu.sh uses /dev/kvm only if a bounded trial succeeds.
how_it_runs() {
	if grep -q '^-machine.*-accel kvm' "$LOGS/$part.log"; then
		echo "with KVM"
	else
		echo "by software emulation"
	fi
}

# --- the guest's report ------------------------------------------------------

# Log the guest's output and print it at once, without the reports of steps.
show_guest() {
	tr -d '\r' | tee "$LOGS/guest.log" |
		sed -u -e '/^@demo /d' -e 's/^/      /'
}

# named STEP: the guest has reported the step, once.
named() { [ "$(grep -cE "^@demo $1( |\$)" "$LOGS/guest.log")" = 1 ]; }

# same_sums STEP
same_sums() {
	local sent received

	read -r _ _ sent received < <(grep "^@demo $1 " "$LOGS/guest.log")
	[[ $sent =~ ^[0-9a-f]{64}$ ]] && [ "$sent" = "$received" ]
}

judge() {
	local status=$1 step

	for step in "${STEPS[@]}"; do
		named "$step" || die "'$step' has not happened (exit status $status)"
	done
	for step in ddcp nodes; do
		same_sums $step || die "$step: the file that arrived is not the one that was sent"
	done
	[ "$status" = 0 ] || die "the virtual machine's exit status is $status"
}

run_guest() {
	local how

	how=$(how_it_runs)
	part=$((part + 1))
	echo "[$part/$PARTS] the virtual machine, $how"
	"$RUNNER" selftests/tools/demo/guest.sh 2> >(sed -u 's/^/      /' >&2) |
		show_guest
	judge "${PIPESTATUS[0]}"
}

main() {
	mkdir -p "$LOGS" || exit
	echo "Direct Deposit for Linux: a demonstration in a virtual machine."
	echo "This machine gets packages of Debian where they are missing, nothing else."
	work "packages of Debian" "$VM/deps.sh"
	work "the library and the tools" make -s user build/tsc-khz
	work "Debian's kernel, for the guest only" "$VM/kernels.sh" fetch stock
	work "dd.ko for Linux $("$VM/kernels.sh" path stock release)" \
		"$VM/module.sh" stock
	work "whether KVM works here" "$VM/qemu.sh"
	run_guest
	echo
	echo "All ${#STEPS[@]} steps have happened; the module was unloaded and the machine"
	echo "switched off, and its kernel reported no error. $SECONDS s in all."
}

main
