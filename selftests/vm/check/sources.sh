#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks of all sources.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"
# shellcheck source=selftests/vm/check/files.sh
. selftests/vm/check/files.sh

# Words of mdoc, netlink and mathematics that look like mistakes.
WORDS=nd,fo,ans,iput

mapfile -t FILES < <(files . | grep -v '^LICENSES/')
mapfile -t SCRIPTS < <(grep -lE -m 1 '^#!.*\b(ba)?sh$|^# shellcheck shell=' \
	"${FILES[@]}")
mapfile -t RST < <(printf '%s\n' "${FILES[@]}" | grep '\.rst$')
mapfile -t PAGES < <(grep -L '^\.so ' Documentation/man/*.[1-8])

# none COMMAND...: it finds nothing, which grep reports by status 1.
none() {
	local status=0

	"$@" || status=$?
	[ "$status" = 1 ]
}

# --- shell -------------------------------------------------------------------

scripts() {
	local script key bad=0

	key=$({ shellcheck --version
		sed -n 's/^[ \t]*# shellcheck source=//p' "${SCRIPTS[@]}" | sort -u |
			xargs cat; } | sha256sum)
	for script in "${SCRIPTS[@]}"; do
		remembered "$key" shellcheck -x "$script" || bad=1
	done
	return "$bad"
}

# --- licences ----------------------------------------------------------------

# Files that can have a comment; data cannot.
sources() {
	printf '%s\n' "${FILES[@]}" | grep -E \
		'\.([chS]|sh|py|awk|mk|ya?ml|map|conf|rules|rst|bash|[1-8])$|(^|/)(Makefile|Kbuild)$'
	printf '%s\n' "${SCRIPTS[@]}"
}

# The licences of an identifier, new or old style, are in LICENSES.
texts_are_there() {
	local word

	for word in ${1//[()]/}; do
		case $word in
		WITH | OR) continue ;;
		GPL-2.0 | LGPL-2.1) word+=-only ;;
		esac
		[ -s "LICENSES/$word.txt" ] || return 1
	done
}

# right_for FILE LICENCE
right_for() {
	case $1 in
	kernel/*) [[ $2 =~ ^\(*GPL-2.0 ]] ;;
	include/uapi/*) [[ $2 =~ Linux-syscall-note ]] ;;
	lib/* | include/*) [[ $2 =~ ^LGPL-2.1 ]] ;;
	esac
}

# The identifier is in the first line, or in the second below "#!".
licences() {
	local file line bad=0

	while read -r file; do
		{ read -r line; [[ $line != '#!'* ]] || read -r line; } <"$file"
		line=${line##*SPDX-License-Identifier: }
		line=${line% \*/}
		[ -n "$line" ] && texts_are_there "$line" &&
			right_for "$file" "$line" && continue
		echo "$file: '$line'"
		bad=1
	done < <(sources | sort -u)
	return "$bad"
}

# --- words -------------------------------------------------------------------

spelling() { codespell -L "$WORDS" "${FILES[@]}"; }

# Split, so that this file has none.
marks() { none grep -nwE "TO""DO|FIX""ME|XX""X" "${FILES[@]}"; }

# Plain technical English.
plain() { selftests/vm/check/words.py "${FILES[@]}"; }

# Empty context lines of a patch are blanks.
blanks() { none grep -nIE --exclude='*.patch' '[[:blank:]]+$' "${FILES[@]}"; }

# --- manual pages ------------------------------------------------------------

mandoc_lint() { ! mandoc -T lint -W warning "${PAGES[@]}" | grep -v 'missing date'; }

groff_lint() {
	local page

	for page in "${PAGES[@]}"; do
		LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 \
			man --warnings -E UTF-8 -l -Tutf8 -Z "$page" >/dev/null
	done 2>"$ERR"
	! grep . "$ERR"
}

# --- reStructuredText ---------------------------------------------------------

rst() {
	local page

	for page in "${RST[@]}"; do
		python3 -m docutils --report=warning --exit-status=2 \
			"$page" >/dev/null || return
	done
}

# --- the contract ------------------------------------------------------------

# uapi COMPILER LANGUAGE: each header of the kernel's interface compiles alone, and its
# structures have the same layout for both word sizes, and the sizes of uapi.sizes. Debian
# has the headers that linux/types.h includes in one directory for both.
uapi() {
	local bits header

	for bits in 64 32; do
		for header in include/uapi/linux/*.h; do
			"$1" -x "$2" -m$bits -g -fno-eliminate-unused-debug-types -c -Wall -Wextra \
				-Werror -Iinclude/uapi -idirafter /usr/include/x86_64-linux-gnu \
				-o "$TAP_DIR/uapi.o" "$header" || return
			pahole --prefix_filter=dd_ "$TAP_DIR/uapi.o"
			pahole --prefix_filter=dd_ --sizes "$TAP_DIR/uapi.o" >&3
		done >"$TAP_DIR/layout$bits" 3>"$TAP_DIR/sizes" || return
	done
	diff "$TAP_DIR"/layout{64,32} &&
		diff <(cut -f1,2 "$TAP_DIR/sizes" | LC_ALL=C sort -u) \
			<(grep -v '^#' selftests/vm/check/uapi.sizes)
}

# need PROGRAM NAME COMMAND...
need() { check_if "$(type -P "$1")" "$1 is not installed; run: make deps" "${@:2}"; }

need shellcheck "shellcheck" scripts
need codespell "codespell" spelling
check "SPDX: first line, text, and the part's licence" licences
need python3 "plain English: words.py" plain
check "no marks of unfinished work" marks
check "no blanks at the end of a line" blanks
need mandoc "manual pages: mandoc" mandoc_lint
need man "manual pages: groff" groff_lint
need rst2html "reStructuredText: docutils" rst
for compiler in 'gcc c' 'g++ c++' 'clang c' 'clang++ c++'; do
	# shellcheck disable=SC2086 # words
	need "${compiler% *}" "uapi: headers alone, layout, ${compiler% *}" uapi $compiler
done
finish
