#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Becomes the virtual machine: qemu.sh ARGUMENTS-FOR-QEMU. The environment
# gives KERNEL, SMP, MEM, LEAKS, ICOUNT and APPEND as run.sh describes them.
#
# KVM is used where it is seen to work: there are hosts whose /dev/kvm opens
# and whose guests never get anywhere. One bounded trial a boot of the host.
set -euo pipefail
# shellcheck source=selftests/vm/common.sh
. "$(dirname "$0")/common.sh"

try_kvm() {
	local log=$DD_CACHE/kvm.log

	rm -f "$log"
	timeout -k 5 20 qemu-system-x86_64 -machine pc -nodefaults \
		-no-reboot -display none -smp 2 -m 1024 -accel kvm -cpu host \
		-kernel "$("$VM_DIR/kernels.sh" path "$KERNEL" image)" \
		-initrd "$("$VM_DIR/image.sh" base)" -serial file:"$log" \
		-append "console=ttyS0 panic=-1 rdinit=/usr/bin/reboot -- -f" \
		</dev/null >/dev/null 2>&1 || true
	grep -q "reboot: Restarting system" "$log"
}

kvm_works() {
	local known

	[ -w /dev/kvm ] || return 1
	known=$DD_CACHE/kvm-$(cat /proc/sys/kernel/random/boot_id)
	if [ ! -e "$known" ]; then
		rm -f "$DD_CACHE"/kvm-*
		if try_kvm; then echo yes; else echo no; fi >"$known"
	fi
	[ "$(cat "$known")" = yes ]
}

machine=(-machine pc -nodefaults -no-user-config -no-reboot -display none
	-nic none -m "$MEM")
append="console=ttyS0 ignore_loglevel printk.devkmsg=on panic=-1 oops=panic"
append+=" tsc=reliable no_timer_check random.trust_cpu=on rcupdate.rcu_cpu_stall_timeout=60"
# Who waits for another thread to unpack it counts as hung after 30 s.
append+=" initramfs_async=0"
# The emulator translates code for the address it is at: a program that is
# somewhere else each time is translated each time, which takes most of its time.
append+=" norandmaps"

# Without ACPI a table tells of the processors: one in each socket.
case $KERNEL in
debug)
	machine+=(-smp "$SMP,sockets=$SMP")
	append+=" kasan_multi_shot"
	[ "${LEAKS:-yes}" = yes ] || append+=" kmemleak=off"
	# What selftests/net/busy.sh lets fail, where it says so.
	append+=" slub_debug=A,kmalloc-192"
	;;
kcsan)
	machine+=(-smp "$SMP,sockets=$SMP")
	# A watchpoint for every 100 accesses, not 4,000: little code is looked at.
	append+=" kcsan.skip_watch=100 kcsan.udelay_task=200"
	;;
*)
	machine+=(-smp "$SMP")
	append+=" mitigations=off"
	;;
esac

# An emulated "rep movsb" goes byte by byte. Linux forgets for a moment, while it
# starts, how wide addresses of five levels are, and KASAN calls what an
# interrupt does then a wild access.
emulated="max,-erms,-fsrm,-la57"

if [ "$ICOUNT" = yes ]; then
	machine+=(-accel "tcg,thread=single" -icount "shift=0,sleep=off")
	machine+=(-cpu "$emulated")
elif kvm_works; then
	machine+=(-accel kvm -cpu host)
else
	machine+=(-accel "tcg,thread=multi" -cpu "$emulated")
	# Its clock is ours, and it cannot measure that where it has to wait.
	if khz=$("$TOP/build/tsc-khz" 2>/dev/null); then
		append+=" tsc_early_khz=$khz"
	fi
fi

append+=" ${APPEND:-}"

if [ $# -eq 0 ]; then
	echo "${machine[*]}"
	exit
fi
exec qemu-system-x86_64 "${machine[@]}" -append "$append" "$@"
