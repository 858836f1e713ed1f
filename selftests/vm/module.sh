#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# module.sh KERNEL [FAULT]: builds dd.ko for a guest's kernel, in
# build/kmod/KERNEL. With FAULT, from sources that selftests/faults/FAULT.patch
# has spoiled, in build/kmod/KERNEL-FAULT: the gate has to notice those, or it is
# another version of the protocol.
set -euo pipefail
# shellcheck source=selftests/vm/common.sh
. "$(dirname "$0")/common.sh"

kernel=$1
fault=${2:-}
name=$kernel${fault:+-$fault}
# Modules with faults are built in one place, where only what is spoiled, and what
# was the last time, has to be compiled again.
dir=$TOP/build/kmod/$kernel${fault:+-faults}

# kbuild leaves its products beside the sources, so each kernel gets a copy. A file
# that was another is new, whatever its age is.
copy_sources() {
	rsync -rlp --checksum --delete --exclude='*.o' --exclude='*.ko' \
		--exclude='*.mod*' --exclude='.*' --exclude='*.symvers' \
		--exclude=modules.order \
		"$TOP/Kbuild" "$TOP/kernel" "$TOP/include" "$dir/"
}

spoil_sources() {
	patch -s -d "$dir" -p1 <"$TOP/selftests/faults/$fault.patch"
}

build() {
	mkdir -p "$dir"
	copy_sources
	[ -z "$fault" ] || spoil_sources
	make -s -C "$("$VM_DIR/kernels.sh" path "$kernel" build)" M="$dir" \
		W=1 CONFIG_DEBUG_INFO_BTF_MODULES= modules >&2
	[ -z "$fault" ] || install -D -t "$TOP/build/kmod/$name" "$dir"/*.ko
}

with_lock "module-$(echo "$dir" | sha256sum | cut -c1-12)" 600 build
