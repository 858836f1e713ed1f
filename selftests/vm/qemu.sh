#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Becomes the virtual machine: qemu.sh ARGUMENTS-FOR-QEMU. The environment
# gives KERNEL, SMP, MEM, LEAKS, ICOUNT and APPEND as run.sh describes them.
#
# KVM is used where a bounded trial boots a guest, once per boot of the host: on some
# hosts /dev/kvm opens, but guests never leave the firmware.
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
# A task that waits for the thread that unpacks it would count as hung after 30 s.
append+=" initramfs_async=0"
# The guest's init compares addresses of lock classes with those of the module.
append+=" no_hash_pointers"
# The emulator translates code for its address. With random addresses it translates
# a program again at each start, which takes most of the time.
append+=" norandmaps"

# Without ACPI the MP table lists the processors, one for each socket.
case $KERNEL in
debug)
	machine+=(-smp "$SMP,sockets=$SMP")
	append+=" kasan_multi_shot"
	[ "${LEAKS:-yes}" = yes ] || append+=" kmemleak=off"
	# selftests/net/busy.sh makes allocations of this cache fail.
	append+=" slub_debug=A,kmalloc-192"
	;;
kcsan)
	machine+=(-smp "$SMP,sockets=$SMP")
	# A watchpoint for every 100 accesses, not 4,000: little code is instrumented.
	append+=" kcsan.skip_watch=100 kcsan.udelay_task=200"
	;;
*)
	machine+=(-smp "$SMP")
	append+=" mitigations=off"
	;;
esac

# An emulated "rep movsb" copies byte by byte. With five page table levels the width of
# addresses is wrong for a moment at boot, and KASAN reports an interrupt at that
# time as a wild access.
emulated="max,-erms,-fsrm,-la57"

if [ "$ICOUNT" = yes ]; then
	machine+=(-accel "tcg,thread=single" -icount "shift=0,sleep=off")
	machine+=(-cpu "$emulated")
elif kvm_works; then
	machine+=(-accel kvm -cpu host)
else
	machine+=(-accel "tcg,thread=multi" -cpu "$emulated")
	# The guest reads the host's counter; on a busy host its calibration fails.
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
