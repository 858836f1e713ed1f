#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The gate can go red: dd.ko is built with a fault planted, put through a load,
# and the machine must say what is wrong, by its name.
# shellcheck source=selftests/lib/tier.sh
. "$(dirname "$0")/../lib/tier.sh"

make -s selftests >&2 || exit

# red FAULT STATUS PATTERN PROGRAM: the run ends with STATUS and
# names PATTERN. Messages are the kernel's to send, since the faults are there.
red() {
	local fault=$1 want=$2 pattern=$3 program=$4 status=0 out

	out=$(make -s vm KERNEL=debug FAULT="$fault" TIMEOUT=120 \
		RUN="DD_DIRECT=0 build/selftests/$program" 2>&1) || status=$?
	printf '%s\n' "$out" | tail -n 5 | sed 's/^/# /'
	if [ "$status" != "$want" ]; then
		fail "$fault" "status $status, not $want"
	elif ! grep -qE "$pattern" <<<"$out"; then
		fail "$fault" "the reason is not named"
	else
		pass "$fault"
	fi
}

red leak-page 200 'WARNING.*dd_page_exit' ddp_info
red leak-reference 200 'Objects remaining|cache still has objects' ddp_conn
red sleep-under-spinlock 200 'scheduling while atomic|invalid context' ddp_info
red invert-locks 200 'circular locking dependency' ddp_model
red use-after-free 200 'KASAN.*use-after-free' ddp_conn
red lose-note 1 '^not ok .*many_senders' 'stress_flow many_senders'
red hang-in-release 200 'blocked for more than' ddp_info
red warn-on-good-path 200 'WARNING.*dd_conn_connect' ddp_info
finish
