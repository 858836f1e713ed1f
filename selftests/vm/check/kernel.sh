#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The kernel's own tools check the module: checkpatch, kernel-doc, the compiler with
# W=1, sparse. They need the kernels in the cache; without them ("make kernels")
# their tests are skipped.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

MODULE_FILES=(kernel/*.[ch] kernel/*/*.[ch] include/uapi/linux/*.h)
DOC_FILES=(kernel/*.c kernel/*/*.[ch] include/uapi/linux/dd.h
	include/uapi/linux/dd_ddp.h include/uapi/linux/dd_mem.h include/*.h)

kernel_path() { selftests/vm/kernels.sh path "$1" "$2" 2>/dev/null; }

# --- checkpatch --------------------------------------------------------------

# Exceptions: offsetof() does not evaluate its argument, a macro of chardev.c takes the
# name of a member, trace.h has the layout of
# tracing macros, and compat/ is the only place that compares kernel versions.
exempt() {
	case $1 in
	kernel/core/notelist.h) echo MACRO_ARG_REUSE ;;
	kernel/dev/chardev.c) echo MACRO_ARG_PRECEDENCE ;;
	kernel/*/trace.h) echo OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT ;;
	kernel/compat/*) echo LINUX_VERSION_CODE,CONSTANT_COMPARISON ;;
	*) echo FILE_PATH_CHANGES ;;
	esac
}

checkpatch() {
	local file bad=0

	for file in "${MODULE_FILES[@]}"; do
		silent perl "$SOURCE/scripts/checkpatch.pl" --no-tree --strict \
			--terse --ignore "$(exempt "$file")" -f "$file" || bad=1
	done
	return "$bad"
}

kernel_doc() { silent perl "$SOURCE/scripts/kernel-doc" -none -Werror "${DOC_FILES[@]}"; }

# --- compilers ---------------------------------------------------------------

# Another run may build at the same time.
module() {
	local status=0

	selftests/vm/module.sh "$@" >"$ERR" 2>&1 || status=$?
	! grep -v '^waiting for module-' "$ERR" && [ "$status" = 0 ]
}

# module.sh builds with warnings as errors.
compile() { module "$1"; }

sparse_module() { module "$1" --sparse; }

# Each is planted where it was written for.
faults_apply() {
	local fault bad=0

	for fault in selftests/vm/faults/*.patch; do
		silent patch -s -p1 -F0 --dry-run -i "$fault" || {
			echo "$fault"
			bad=1
		}
	done
	return "$bad"
}

check "planted faults apply without fuzz" faults_apply

if SOURCE=$(kernel_path debug source); then
	check "checkpatch --strict" checkpatch
	check "kernel-doc" kernel_doc
else
	skip "checkpatch --strict" "no kernel sources; run: make kernels"
	skip "kernel-doc" "no kernel sources; run: make kernels"
fi
for kernel in stock 6.12 7.x debug; do
	if [ -n "$(kernel_path "$kernel" build)" ]; then
		check "$kernel: no warning, W=1" compile "$kernel"
	else
		skip "$kernel: no warning, W=1" "not in the cache; run: make kernels"
	fi
done
# Not for 7.x: its headers need a sparse that knows __typeof_unqual__, and the makefile
# runs no other one.
for kernel in stock 6.12 debug; do
	if [ -n "$(kernel_path "$kernel" build)" ]; then
		check "$kernel: sparse" sparse_module "$kernel"
	else
		skip "$kernel: sparse" "not in the cache; run: make kernels"
	fi
done
finish
