#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Becomes the User-Mode Linux guest: um.sh KERNEL-COMMAND-LINE-WORD...
# The environment gives KERNEL, SMP, MEM, LEAKS and APPEND as run.sh describes them.
# Standard output is the guest's ttyS1, standard error its console, and file
# descriptor 3 its ttyS2.
set -euo pipefail
# shellcheck source=selftests/vm/common.sh
. "$(dirname "$0")/common.sh"

# The guest's memory is a file, which is fast on a tmpfs only. That of a container is
# often too small.
room=$(df -m --output=avail /dev/shm 2>/dev/null | tail -n 1)
if ((${room:-0} > MEM + 256)); then
	export TMPDIR=/dev/shm
else
	export TMPDIR=$DD_CACHE
fi

words=(mem="${MEM}M" con=null ssl=null console=ttyS0
	"ssl0=null,fd:2" "ssl1=null,fd:1" "ssl2=null,fd:3"
	noreboot panic=-1 oops=panic ignore_loglevel printk.devkmsg=on
	norandmaps kasan_multi_shot)
# Processors need the newer way to run processes.
[ "$KERNEL" = um ] || words+=("ncpus=$SMP" seccomp=on)
[ "${LEAKS:-yes}" = yes ] || words+=(kmemleak=off)
# selftests/net/busy.sh makes allocations of this cache fail.
words+=("slub_debug=A,kmalloc-192")

# shellcheck disable=SC2086 # words
exec "$("$VM_DIR/kernels.sh" path "$KERNEL" image)" "${words[@]}" ${APPEND:-} "$@"
