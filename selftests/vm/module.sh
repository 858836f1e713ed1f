#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# module.sh KERNEL [FAULT]: builds dd.ko for a guest's kernel, into build/kmod/KERNEL.
# With FAULT it applies selftests/vm/faults/FAULT.patch, which plants a fault or
# changes the version of the protocol, and builds into build/kmod/KERNEL-FAULT. In its
# place, "coverage" builds a module that counts what has run (gcov). On
# kernels of QEMU without a fault, sparse checks each file that is compiled.
set -euo pipefail
# shellcheck source=selftests/vm/common.sh
. "$(dirname "$0")/common.sh"

kernel=$1
fault=${2:-}
good=$TOP/build/kmod/$kernel
out=$good${fault:+-$fault}
KDIR=$("$VM_DIR/kernels.sh" path "$kernel" build)
# Objects and commands of kbuild have the name of the directory in which they were made. All
# checkouts use the same one, so each finds what another one has compiled.
dir=$DD_CACHE/kmod/${KDIR##*/}
args=()
case $kernel in
# kcov sees the code that is built for it; stress_kcov.
um) args+=(ARCH=um KCOV_INSTRUMENT=y) ;;
um-smp*) args+=(ARCH=um) ;;
# The headers of 7.x use what Debian's sparse does not know, or not as a constant.
7.x) unknown='-D"__typeof_unqual__(x)=__typeof__((0,(x)))" -D"__builtin_strlen(s)=(sizeof(s)-1)"' ;;
esac
case $kernel:$fault in
stock: | 6.12: | 7.x: | debug:) args+=(C=1 "CHECK=sparse -Wsparse-error ${unknown:-}") ;;
esac
if [ "$fault" = coverage ]; then
	args+=(GCOV_PROFILE=y)
	fault='' dir=$out	# the guest has the counts by the names of the objects
fi

# kbuild leaves its products beside the sources, so each kernel gets a copy. Files
# are compared by content: a reverted patch must be compiled again.
copy_sources() {
	mkdir -p "$dir"
	rsync -rlp --checksum --delete --exclude='*.o' --exclude='*.ko' \
		--exclude='*.mod*' --exclude='.*' --exclude='*.symvers' --exclude='*.gc??' \
		--exclude=modules.order \
		"$TOP/Kbuild" "$TOP/kernel" "$TOP/include" "$dir/"
	[ -z "$fault" ] ||
		patch -s -F0 -d "$dir" -p1 <"$TOP/selftests/vm/faults/$fault.patch"
}

# A warning is a failure, also in the next run. modpost has no option for that.
# Nothing compares the version of pahole, which makes BTF only.
compile() {
	local log=$dir/build.log status=0

	# The number of jobs of a make around this one would be a warning.
	env -u MAKEFLAGS make -s -j"$(nproc)" -C "$KDIR" M="$dir" \
		W=1 KCFLAGS=-Werror CONFIG_DEBUG_INFO_BTF_MODULES= PAHOLE_VERSION= \
		CONFIG_PAHOLE_VERSION= "${args[@]}" modules >"$log" 2>&1 || status=$?
	sed "s#$dir/##g" "$log" >&2
	grep -qE 'warning:|WARNING:' "$log" || return $status
	rm -f "$dir"/*.ko "$dir"/*.o
	return 1
}

# The module differs from the one without the fault.
is_spoiled() {
	! cmp -s "$dir/dd.ko" "$good/dd.ko" ||
		die "$fault is not in the module that was built"
}

# A hash of everything that the module is built from: kbuild needs seconds to find
# out that nothing has changed.
key() {
	{
		echo "$KDIR" "${args[@]}"
		"$VM_DIR/kernels.sh" path "$kernel" release
		[ -z "$fault" ] || cat "$TOP/selftests/vm/faults/$fault.patch"
		cat "$VM_DIR/module.sh"
		cd "$TOP"
		find Kbuild kernel include -type f -print0 | sort -z |
			xargs -0 sha256sum
	} | sha256sum
}

build() {
	rm -f "$out/.key"
	copy_sources
	compile
	[ -z "$fault" ] || is_spoiled
	[ "$dir" = "$out" ] || install -D -t "$out" "$dir"/*.ko
	(cd "$dir" && nm -A kernel/*.o kernel/*/*.o) >"$out/symbols"	# for check/rooms.sh
	echo "$key" >"$out/.key"
}

key=$(key)
if [ -e "$out/dd.ko" ] && [ "$(cat "$out/.key" 2>/dev/null)" = "$key" ]; then
	exit
fi
[ -z "$fault" ] || "$VM_DIR/module.sh" "$kernel"
with_lock "module-$(echo "$dir" | sha256sum | cut -c1-12)" 1800 build
