#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# splats.sh [FILE]: prints the lines of a kernel log that mean that something
# is wrong in the kernel. Fault injection and failed allocations may print
# stack traces, so a trace alone means nothing.

patterns=(
	'^(\[ *[0-9.]+\] )?WARNING: '
	'BUG: '
	'kernel BUG at '
	'Oops'
	'general protection fault'
	'unable to handle '
	'double fault'
	'UBSAN: '
	'ODEBUG: '
	'refcount_t: '
	'Bad page state'
	'INFO: task .* blocked for more than '
	'soft lockup'
	'rcu: INFO: .* stall'
	'INFO: trying to register non-static key'
	'unregister_netdevice: waiting for '
	'Slab cache still has objects'
	'Kernel panic - not syncing: [^A]'
)
IFS='|'
grep -a -E "${patterns[*]}" "$@" | tr -d '\r' | head -n "${SPLATS:-3}"
