#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs a command in a virtual machine that has dd.ko loaded; "make vm".
#
#   run.sh COMMAND
#
# Settings come from the environment:
#   KERNEL=stock|um|um-smp|um-smp-debug|debug|kcsan|6.12|7.x   SMP=2   MEM=MiB   MODULE=yes|no
#   TIMEOUT=300 (s, for the command)   START_TIME=120 (s without output before
#   init runs; a kernel that hangs, complains or ends while it boots is booted again,
#   at most twice)
#   ICOUNT=no|yes (guest time counts instructions, one processor)
#   LEAKS=yes|no (kmemleak on kernels that have it; without it programs start 1.7
#   times as fast, and a debug guest ends half a minute earlier)
#   APPEND=WORDS (for the kernel's command line; time-travel=inf-cpu makes waiting
#   take no time on um)
#   CHAOS=seed (stop and continue the guest at random intervals that follow from
#   this number)
#   FAULT=name (a module built with selftests/vm/faults/name.patch)
#   DD_VM_LOCK=name (the queue to wait in: "vm", or "um" for User-Mode Linux, which
#   needs one processor of the host)
#   MORE=LIST (of further programs and files for the guest: image.sh)
#   NIC=ARGUMENTS (a network card, eth0, on QEMU's "-netdev socket,ARGUMENTS")
#   NIC_MAC=address of that card
#   PIDFILE=file that gets the process id of QEMU
#
# Standard output is that of the command; messages about a failed run go to standard
# error. The kernel's log stays in build/vm/KERNEL: console.log of the last run,
# red-*.log of failed runs. Exit status:
#   0..199  that of the command (199 if it was higher)
#   200     splat: the kernel warned, oopsed, or reported a bug, hang or race; or locks:
#           more are nested than Documentation/locking.rst permits
#   201     leak: kmemleak found something
#   202     timeout
#   203     unexpected stop of the guest
#   204     the module could not be loaded
#   205     the module could not be unloaded, or left something behind
#   206     the machine could not be started
set -euo pipefail
# shellcheck source=selftests/vm/common.sh
. "$(dirname "$0")/common.sh"

export RUN=${1?command} KERNEL=${KERNEL:-stock} SMP=${SMP:-2}
export MODULE=${MODULE:-yes} TIMEOUT=${TIMEOUT:-300} ICOUNT=${ICOUNT:-no}
export LEAKS=${LEAKS:-yes}
[ "$ICOUNT" = no ] || SMP=1
# kmemleak needs 4 s for each GiB.
case $KERNEL in
debug | um*) export MEM=${MEM:-1024} ;;
*) export MEM=${MEM:-4096} ;;
esac

BOOT_TIME=180	# of boot, leak scans and unloading, s
START_TIME=${START_TIME:-120}	# of silence, until init runs
STARTS=3
VARIANT=$KERNEL${FAULT:+-$FAULT}
OUT=$TOP/build/vm/$VARIANT

# --- the guest's files -----------------------------------------------------

write_conf() {
	local name

	for name in TOP KERNEL RUN MODULE TIMEOUT LEAKS; do
		printf '%s=%q\n' $name "${!name}"
	done
}

# init, its settings, the modules built here, and links to the libraries where the
# dynamic loader searches.
make_extra() {
	local root=$1 dest ko libs=usr/lib/x86_64-linux-gnu

	dest=$root/usr/lib/modules/$("$VM_DIR/kernels.sh" path "$KERNEL" release)
	mkdir -p "$dest/extra" "$root/$libs"
	for ko in "$TOP/build/kmod/$VARIANT"/*.ko; do
		[ ! -e "$ko" ] || strip --strip-debug -o "$dest/extra/${ko##*/}" "$ko"
	done
	[ ! -d "$TOP/build/lib" ] || ln -s "$TOP"/build/lib/*.so* "$root/$libs/"
	install -m 755 "$VM_DIR/init" "$root/init"
	write_conf >"$root/run.conf"
	(cd "$root" && find . | cpio --quiet -o -H newc -R 0:0)
}

make_initrd() {
	local base modules more

	base=$("$VM_DIR/image.sh" base)
	modules=$("$VM_DIR/image.sh" modules "$KERNEL")
	"$VM_DIR/image.sh" tree "$TMP/tree"
	make_extra "$TMP/extra" >"$TMP/extra.cpio"
	[ -z "${MORE:-}" ] || more=$("$VM_DIR/image.sh" more "$MORE")
	cat "$base" "$modules" ${more:+"$more"} "$TMP/tree" "$TMP/extra.cpio" \
		>"$TMP/initrd"
}

# --- the run -----------------------------------------------------------------

# bounded COMMAND...: run it with the time limit of a machine and its process id in
# PIDFILE.
bounded() {
	# shellcheck disable=SC2016 # the inner shell's
	timeout --foreground -k 5 $((TIMEOUT + BOOT_TIME)) \
		bash -c 'echo $$ >"$0"; exec "$@"' "$PIDFILE" "$@" </dev/null
}

# User-Mode Linux changes between processes of the host at each system call and page
# fault of the guest. On one processor that takes half the time. Sets $on to a command
# for one that no other such guest has; to nothing if there is none.
choose_processor() {
	local cpu

	on=()
	for cpu in $(python3 -c 'import os; print(*os.sched_getaffinity(0))'); do
		exec 8>"$DD_CACHE/.lock-processor$cpu"
		if flock -n 8; then
			on=(taskset -c "$cpu")
			return
		fi
	done
}

# If the guest's kernel is killed, a process that it has just made stays stopped forever,
# with our output open.
user_mode() {
	local status=0

	bounded "$@" initrd="$TMP/initrd" || status=$?
	pkill -KILL -f "initrd=$TMP/initrd" || :
	return $status
}

machine() {
	local nic=() on=()

	if [[ "$KERNEL" = um* ]]; then
		[ "$KERNEL" != um ] || choose_processor
		user_mode "${on[@]}" "$VM_DIR/um.sh" 2>>"$TMP/console.log" 3>>"$TMP/verdict" | cat
		return
	fi
	[ -z "${NIC:-}" ] || nic=(-netdev "socket,id=n0,$NIC"
		-device "virtio-net-pci,netdev=n0${NIC_MAC:+,mac=$NIC_MAC}")
	bounded "$VM_DIR/qemu.sh" "${nic[@]}" -initrd "$TMP/initrd" \
		-kernel "$("$VM_DIR/kernels.sh" path "$KERNEL" image)" \
		-serial file:"$TMP/console.log" -serial stdio \
		-serial file:"$TMP/verdict" 2>"$TMP/qemu.log" | cat
}

# Complaints of the kernel before it started init.
early_splat() {
	sed '/Run \/init as init process/q' "$TMP/console.log" |
		SPLATS=1 "$VM_DIR/splats.sh"
}

# bad_start WHY: stop the machine as soon as its process id is known.
bad_start() {
	echo "$1" >"$TMP/bad"
	until kill -KILL "$(cat "$PIDFILE" 2>/dev/null)" 2>/dev/null; do
		sleep 1
	done
}

# Stop a machine that prints nothing for START_TIME before init runs, or whose
# kernel has complained by then.
watch() {
	local left=$START_TIME size last=0 splat

	while [ ! -s "$TMP/verdict" ]; do
		size=$(stat -c %s "$TMP/console.log")
		[ "$size" = "$last" ] || left=$START_TIME
		last=$size
		if ((left-- <= 0)); then
			bad_start "it hung"
			return
		fi
		sleep 1
	done
	splat=$(early_splat)
	[ -z "$splat" ] || bad_start "$splat"
}

# Whether the machine had started well, after its end. It may have ended before the
# watcher read the log.
started_well() {
	local splat

	[ ! -e "$TMP/bad" ] || return 1
	splat=$(early_splat)
	[ -n "$splat" ] || [ -s "$TMP/verdict" ] ||
		splat="no init: $(tail -qn 1 "$TMP"/{console,qemu}.log | tr -d '\r' | tr '\n' ' ')"
	[ -n "$splat" ] || return 0
	echo "$splat" >"$TMP/bad"
	return 1
}

# nap LIMIT: sleep for less than LIMIT milliseconds.
nap() { sleep "$(printf '0.%03d' $((RANDOM % $1)))"; }

# Stop and continue the guest once init runs.
chaos() {
	RANDOM=$CHAOS
	while nap 1000; do
		[ -s "$TMP/verdict" ] || continue
		kill -STOP "$(cat "$PIDFILE")" && echo >>"$TMP/stops" && nap 1000
		kill -CONT "$(cat "$PIDFILE")"
	done 2>/dev/null
}

# About one in a hundred emulated machines hangs while its kernel boots, or its
# kernel rejects its clock, because early timer interrupts are lost. No test has
# begun by then.
boot() {
	local try watcher disturber='' status

	for ((try = 1; try <= STARTS; try++)); do
		rm -f "$TMP/bad" "$PIDFILE"
		: >"$TMP/console.log"
		: >"$TMP/verdict"
		watch &
		watcher=$!
		if [ -n "${CHAOS:-}" ]; then
			chaos &
			disturber=$!
		fi
		status=0
		machine || status=$?
		kill $watcher $disturber 2>/dev/null || true
		wait $watcher $disturber 2>/dev/null || true
		[ $status != 124 ] || return $status
		! started_well || return $status
		say "vm: a bad start ($try of $STARTS): $(cat "$TMP/bad")"
		keep_log
	done
	return 125
}

# --- the verdict -------------------------------------------------------------

# finding NAME: what the guest reported under that name.
finding() { sed -n "s/^$1: //p" "$TMP/verdict"; }

# red STATUS NAME DETAIL: name a reason; the first one is the result.
red() {
	say "vm: $2: $3"
	result=${result:-$1}
}

# List data races without a function of dd; they are no failure.
list_races() {
	local races

	races=$(SPLATS=1000 "$VM_DIR/splats.sh" races "$TMP/console.log" |
		sed 's/.*BUG: KCSAN: /vm|   /' | sort | uniq -c)
	[ -z "$races" ] || say "vm: data races of the kernel's own:"$'\n'"$races"
}

judge() {
	local qemu=$1 splat stops

	case $qemu in
	125) red 206 start "none of $STARTS was good: $(<"$TMP/bad")" && return ;;
	206) red 206 start "the others did not end" && return ;;
	esac
	if [ -n "${CHAOS:-}" ]; then
		stops=$(wc -l <"$TMP/stops")
		say "vm: stopped $stops times"
		[ "$stops" != 0 ] || red 206 chaos "the guest was never stopped"
	fi
	list_races
	splat=$("$VM_DIR/splats.sh" "$TMP/console.log")
	[ -z "$splat" ] || red 200 splat "${splat%%$'\n'*}"
	[ -z "$(finding load)" ] || red 204 load "$(finding load)"
	[ -z "$(finding timeout)" ] || red 202 timeout "$(finding timeout)"
	if [ "$qemu" = 124 ]; then
		red 202 timeout "the machine was stopped after $((TIMEOUT + BOOT_TIME)) s"
	elif ! grep -qx end "$TMP/verdict"; then
		red 203 stop "the guest stopped unexpectedly, status $qemu"
	fi
	[ -z "$(finding locks)" ] || red 200 locks "$(finding locks)"
	[ -z "$(finding unload)" ] || red 205 unload "$(finding unload)"
	[ -z "$(finding leak)" ] || red 201 leak "$(finding leak)"
}

# The most useful part of the kernel's log: from the first complaint on, or its end.
excerpt() {
	local first

	first=$(SPLATS=1 "$VM_DIR/splats.sh" "$TMP/console.log")
	first=${first:-$(grep -m1 'vm: unreferenced' "$TMP/console.log" || true)}
	if [ -n "$first" ]; then
		grep -F -A 40 -m1 -e "${first%$'\r'}" "$TMP/console.log"
	else
		tail -n 15 "$TMP/console.log"
	fi | sed 's/\r$//; s/^/vm| /' >&2
}

keep_log() {
	local log

	log=$OUT/red-$(date +%H%M%S)-$$.log
	cp "$TMP/console.log" "$log"
	say "vm: the kernel's log is in $log"
}

main() {
	local qemu=0 queue=vm result='' status

	command -v qemu-system-x86_64 >/dev/null || die "no qemu; run: make deps"
	mkdir -p "$OUT"
	TMP=$(mktemp -d "$DD_CACHE/run.XXXXXX")
	trap 'rm -rf "$TMP"' EXIT
	PIDFILE=${PIDFILE:-$TMP/pid}
	make_initrd
	touch "$TMP"/{console.log,qemu.log,verdict,stops}
	[ "$KERNEL" != um ] || queue=um
	with_lock "${DD_VM_LOCK:-$queue}" 7200 boot || qemu=$?
	cp "$TMP/console.log" "$OUT/"
	judge $qemu
	status=$(finding status)
	[ "${status:-0}" -lt 200 ] || status=199
	[ -n "$result$status" ] || red 206 status "the guest has reported none"
	[ -z "$result" ] || { excerpt; keep_log; }
	return "${result:-$status}"
}

main
