# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Sourced by the checks, in the checkout.

# shellcheck source=selftests/vm/common.sh
. selftests/vm/common.sh

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

# remembered KEY COMMAND... FILE: COMMAND, unless it has succeeded on this machine with this
# content of FILE. KEY names the content of everything else that it reads.
remembered() {
	local passed=$DD_CACHE/passed stamp

	stamp=$passed/$({ echo "$*"; cat "${@: -1}"; } | sha256sum | cut -c1-32)
	[ ! -e "$stamp" ] || return 0
	"${@:2}" && mkdir -p "$passed" && : >"$stamp"
}

# check_if THERE REASON NAME COMMAND...: one test, skipped for REASON if THERE is empty.
check_if() {
	if [ "$1" ]; then check "${@:3}"; else skip "$3" "$2"; fi
}
