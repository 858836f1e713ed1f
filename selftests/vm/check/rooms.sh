#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A folder of kernel/ or lib/ uses only those below it (Documentation/design.rst), and the
# files of a folder do not call each other in a circle. nm says which object uses what another
# one defines, so inline functions count where they are used. kernel/ calls upwards through the
# tables of kernel/core/hooks.h and kernel/udp/upper.h.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

# The folders right below each.
declare -A BELOW=(
	[kernel/core]=''
	[kernel/direct]='kernel/core'
	[kernel/transport]=''
	[kernel/udp]='kernel/core kernel/transport'
	[kernel/cluster]='kernel/core kernel/transport kernel/udp'
	[kernel/ddp]='kernel/core kernel/direct kernel/cluster'
	[kernel/admin]='kernel/core kernel/direct kernel/cluster kernel/ddp'
	[kernel/dev]='kernel/core kernel/direct kernel/cluster kernel/ddp'
	[lib/core]=''
	[lib/conn]='lib/core'
	[lib/mem]='lib/core'
	[lib/ddp]='lib/core lib/conn'
	[lib/rmem]='lib/core lib/mem'
	[lib/vmmc]='lib/core lib/mem'
	[lib/sbl]='lib/core lib/mem'
	[lib/st]='lib/core lib/conn lib/mem lib/ddp'
)
NAMED='kernel/(ddp|admin|dev)'		# folders that may name connections
CIRCLES='kernel/(cluster|ddp)'		# whose circles are not refused yet
SYMBOLS=$TAP_DIR/symbols

# uses PATTERN: "file other-file symbol" for each use of a symbol of another object, among
# the objects of these folders.
uses() {
	grep -E "^$1/[^/]*\.o:" "$SYMBOLS" | awk '
	{ sub(/\.o:.*/, "", $1) }
	$2 == "U" { uses[$1 " " $3] = $3; next }
	$2 ~ /^[A-Z]$/ { home[$3] = $1 }
	END {
		for (use in uses)
			if (uses[use] in home) {
				split(use, file)
				print file[1], home[uses[use]], uses[use]
			}
	}' | sort
}

# all_below FOLDER: those below it, directly or not.
all_below() {
	local folder

	for folder in ${BELOW[$1]}; do
		echo "$folder"
		all_below "$folder"
	done
}

only_below() {
	local bad=0 direct=${BELOW[$1]//kernel\//}

	uses "${1%%/*}(/.*)?" | awk -v folder="$1" -v below=" $1 $(all_below "$1" | tr '\n' ' ')" '
	$3 ~ /^__(SC[KT]__tp|tracepoint)_/ { next }	# main.c defines all tracepoints
	{ from = $1; to = $2; sub(/\/[^\/]*$/, "", from); sub(/\/[^\/]*$/, "", to) }
	from == folder && !index(below, " " to " ") { print; bad = 1 }
	END { exit bad }' || bad=1
	[[ $1 == kernel/* ]] || return $bad
	! grep -nE '#include "\w+/' "$1"/*.[ch] |
		grep -vE "\"(${1#*/}|compat|${direct// /|})/" || bad=1
	[[ $1 =~ ^$NAMED$ ]] ||
		! grep -nE '\bdd_(conn|service|client)\b' "$1"/*.[ch] || bad=1
	return $bad
}

# tsort names the files of a circle.
no_circle() {
	uses "$1" | cut -d' ' -f1,2 | tsort >/dev/null && return
	uses "$1"
	return 1
}

make -s user >&2 && (cd build/obj && nm -A lib/*/*.o tools/*/*.o) >"$SYMBOLS" || exit
if selftests/vm/kernels.sh path stock build >/dev/null 2>&1; then
	selftests/vm/module.sh stock >&2 && cat build/kmod/stock/symbols >>"$SYMBOLS" || exit
	kernel=(kernel/*/)
else
	skip "folders of kernel" "not in the cache; run: make kernels"
fi
for folder in "${kernel[@]}" lib/*/; do
	[ ! -v "BELOW[${folder%/}]" ] ||
		check "${folder%/} uses only the folders below it" only_below "${folder%/}"
done
for folder in "${kernel[@]}" lib/*/ tools/*/; do
	folder=${folder%/}
	[[ $folder =~ ^$CIRCLES$ ]] || ! grep -q "^$folder/[^/]*\.o:" "$SYMBOLS" ||
		check "no files of $folder call each other in a circle" no_circle "$folder"
done
finish
