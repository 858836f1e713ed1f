#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The scoreboard; "make bench" says what may be set.
#
#   run.sh DIRECTORY     measures, and writes report, tables and charts there
#
# With HOST=1 it measures on this machine, as root and with dd.ko loaded; with NATIVE=1
# in User-Mode Linux with two processors, what uses no kernel; else in a virtual machine.
set -euo pipefail
cd "$(dirname "$0")/.."

DIR=$1
RAW=$DIR/records.jsonl

if [ -n "${QUICK:-}" ]; then
	ROUNDS=${ROUNDS:-2} SIZES=${SIZES:-8,64,4K,1M} CONNS=${CONNS:-1 100}
	READ_SIZES=${READ_SIZES:-4K,1M}
	COUNT=${COUNT:-20} MESSAGES=${MESSAGES:-2000}
fi

settings() {
	local name

	for name in NATIVE ROUNDS SIZES READ_SIZES CONNS COUNT MESSAGES MTU ONLY; do
		[ -z "${!name:-}" ] || printf '%s=%q ' $name "${!name}"
	done
}

on_host() {
	if [ "$(id -u)" != 0 ] || [ ! -c /dev/dd ]; then
		echo "HOST=1: as root, with dd.ko loaded: make install; modprobe dd" >&2
		exit 3
	fi
	env PATH="$PWD/build/bin:$PATH" bash -c "$(settings) bench/guest.sh"
}

in_vm() {
	local kernel=stock

	[ -z "${NATIVE:-}" ] || kernel=um-smp
	KERNEL=$kernel TIMEOUT=7200 MORE=bench/programs.list selftests/vm/run.sh "$(settings) bench/guest.sh"
}

# Records to standard output, progress to standard error.
split() {
	local line begin=

	while IFS= read -r line; do
		begin=${begin:-$SECONDS}
		case $line in
		'{'*) echo "$line" ;;
		*) printf '%4d s %s\n' $((SECONDS - begin)) "$line" >&2 ;;
		esac
	done
}

mkdir -p "${RAW%/*}"
status=0
if [ -n "${HOST:-}" ]; then on_host; else in_vm; fi | split >"$RAW" || status=$?
[ -s "$RAW" ] || exit "$status"
bench/report.py "$RAW" bench/instructions.json "$DIR"
echo "$DIR/report.md" >&2
exit "$status"
