# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Sourced, in the checkout: which files there are.

# files PATH...: what git knows and is still there; what is there where the
# sources came without git, less what kbuild leaves there.
files() {
	if [ -e .git ]; then
		git ls-files -- "$@"
	else
		find "$@" -name build -prune -o -type f ! -name '*.o' \
			! -name '*.ko' ! -name '*.mod' ! -name '*.mod.c' \
			! -name '.*.cmd' -print |
			sed 's,^\./,,'
	fi | while read -r file; do
		[ ! -f "$file" ] || echo "$file"
	done
}
