#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The kernel's own tools check the module: checkpatch, kernel-doc, the compiler with
# W=1, sparse. They need the kernels in the cache; without them ("make kernels")
# their tests are skipped.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"
# shellcheck source=selftests/vm/check/files.sh
. selftests/vm/check/files.sh

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
	local file release bad=0

	release=$(kernel_path source release)
	for file in "${MODULE_FILES[@]}"; do
		remembered "$release" silent perl "$SOURCE/scripts/checkpatch.pl" --no-tree --strict \
			--terse --ignore "$(exempt "$file")" -f "$file" || bad=1
	done
	return "$bad"
}

kernel_doc() { silent perl "$SOURCE/scripts/kernel-doc" -none -Werror "${DOC_FILES[@]}"; }

# --- compilers ---------------------------------------------------------------

# module.sh builds with warnings as errors, of the compiler and of sparse. Another run may
# build at the same time.
module() {
	local status=0

	selftests/vm/module.sh "$1" >"$ERR" 2>&1 || status=$?
	! grep -v '^waiting for module-' "$ERR" && [ "$status" = 0 ]
}

SOURCE=$(kernel_path source source)
check_if "$SOURCE" "no kernel sources; run: make kernels" "checkpatch --strict" checkpatch
check_if "$SOURCE" "no kernel sources; run: make kernels" "kernel-doc" kernel_doc
for kernel in stock 6.12 7.x; do
	check_if "$(kernel_path "$kernel" build)" "not in the cache; run: make kernels" \
		"$kernel: no warning of W=1 and sparse" module "$kernel"
done
finish
