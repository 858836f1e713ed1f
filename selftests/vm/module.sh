#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# module.sh KERNEL [FAULT]: builds dd.ko for a guest's kernel in build/kmod/KERNEL.
# With FAULT it applies selftests/vm/faults/FAULT.patch, which plants a fault or
# changes the version of the protocol, and builds in build/kmod/KERNEL-FAULT. In its
# place, "coverage" builds a module that counts what has run (gcov), and "--sparse"
# lets sparse check all sources, too.
set -euo pipefail
# shellcheck source=selftests/vm/common.sh
. "$(dirname "$0")/common.sh"

kernel=$1
fault=${2:-} sparse=()
if [ "$fault" = --sparse ]; then
	fault='' sparse=(C=2 CHECK=sparse)
fi
name=$kernel${fault:+-$fault}
# A module with a fault is built in a copy of the good one's build, so that only the
# patched files are compiled.
good=$TOP/build/kmod/$kernel
args=()
# kcov sees the code that is built for it; stress_kcov.
case $kernel in
um) args+=(ARCH=um KCOV_INSTRUMENT=y) ;;
um-smp) args+=(ARCH=um) ;;
esac
dir=$good${fault:+-faults}
out=$TOP/build/kmod/$name
if [ "$fault" = coverage ]; then
	args+=(GCOV_PROFILE=y)
	fault='' dir=$out
fi

# kbuild leaves its products beside the sources, so each kernel gets a copy. Files
# are compared by content: a reverted patch must be compiled again.
copy_sources() {
	rsync -rlp --checksum --delete --exclude='*.o' --exclude='*.ko' \
		--exclude='*.mod*' --exclude='.*' --exclude='*.symvers' --exclude='*.gc??' \
		--exclude=modules.order \
		"$TOP/Kbuild" "$TOP/kernel" "$TOP/include" "$dir/"
}

spoil_sources() {
	patch -s -F0 -d "$dir" -p1 <"$TOP/selftests/vm/faults/$fault.patch"
}

# kbuild compares the commands of the previous build, and reads the objects to link
# from a list; both have the path of the directory.
copy_good() {
	"$VM_DIR/module.sh" "$kernel"
	rsync -a --delete "$good/" "$dir/"
	find "$dir" \( -name '.*.cmd' -o -name '*.mod' -o -name modules.order \) \
		-exec sed -i "s#$good/#$dir/#g" {} +
}

# The module differs from the one without the fault.
is_spoiled() {
	! cmp -s "$dir/dd.ko" "$good/dd.ko" ||
		die "$fault is not in the module that was built"
}

# A warning is a failure, also in the next run. modpost has no option for that.
# Nothing compares the version of pahole, which makes BTF only.
compile() {
	local log=$dir/build.log status=0

	# The number of jobs of a make around this one would be a warning.
	env -u MAKEFLAGS make -s -j"$(nproc)" -C "$("$VM_DIR/kernels.sh" path "$kernel" build)" M="$dir" \
		W=1 KCFLAGS=-Werror CONFIG_DEBUG_INFO_BTF_MODULES= PAHOLE_VERSION= \
		CONFIG_PAHOLE_VERSION= "${args[@]}" "${sparse[@]}" modules \
		>"$log" 2>&1 || status=$?
	cat "$log" >&2
	grep -qE 'warning:|WARNING:' "$log" || return $status
	[ ${#sparse[@]} != 0 ] || rm -f "$dir"/*.ko "$dir"/*.o
	return 1
}

# A hash of everything that the module is built from: kbuild needs seconds to find
# out that nothing has changed.
key() {
	{
		"$VM_DIR/kernels.sh" path "$kernel" build
		"$VM_DIR/kernels.sh" path "$kernel" release
		[ -z "$fault" ] || cat "$TOP/selftests/vm/faults/$fault.patch"
		cat "$VM_DIR/module.sh"
		echo "${args[@]}"
		cd "$TOP"
		find Kbuild kernel include -type f -print0 | sort -z |
			xargs -0 sha256sum
	} | sha256sum
}

# kbuild does not see that objects are of another kernel: its commands name the
# headers of that by relative paths.
forget_other_kernel() {
	local now

	now=$("$VM_DIR/kernels.sh" path "$kernel" build)
	[ "$(cat "$dir/.kernel" 2>/dev/null)" = "$now" ] || rm -rf "$dir"
	mkdir -p "$dir"
	echo "$now" >"$dir/.kernel"
}

build() {
	local key

	key=$(key)
	if [ ${#sparse[@]} = 0 ] && [ -e "$out/dd.ko" ] &&
		[ "$(cat "$out/.key" 2>/dev/null)" = "$key" ]; then
		return
	fi
	rm -f "$out/.key"
	if [ -n "$fault" ]; then
		copy_good
		spoil_sources
	else
		forget_other_kernel
		copy_sources
	fi
	compile
	[ -z "$fault" ] || is_spoiled
	[ -z "$fault" ] || install -D -t "$out" "$dir"/*.ko
	echo "$key" >"$out/.key"
}

with_lock "module-$(echo "$dir" | sha256sum | cut -c1-12)" 600 build
