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

# --- licences ----------------------------------------------------------------

# Files that can have a comment; data cannot.
sources() {
	printf '%s\n' "${FILES[@]}" | grep -E \
		'\.([chS]|sh|py|awk|mk|ya?ml|map|conf|rules|rst|bash|[1-8])$|(^|/)(Makefile|Kbuild)$'
	printf '%s\n' "${SCRIPTS[@]}"
}

# The identifier is in the first line, or in the second below "#!".
spdx_line() {
	local first second

	{ read -r first; read -r second; } <"$1"
	case $first in
	'#!'*) echo "$second" ;;
	*) echo "$first" ;;
	esac | sed -n 's/.*SPDX-License-Identifier: *//p' | sed 's, *\*/$,,'
}

# The licences of an identifier, new or old style, are in LICENSES.
texts_are_there() {
	local word

	for word in $(tr -d '()' <<<"$1"); do
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

licences() {
	local file line bad=0

	while read -r file; do
		line=$(spdx_line "$file")
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

# Plain technical English; selftests/vm/check/words.py -a FILE... reads exempt files.
plain() { selftests/vm/check/words.py "${FILES[@]}"; }

# Empty context lines of a patch are blanks.
blanks() {
	local texts

	mapfile -t texts < <(printf '%s\n' "${FILES[@]}" | grep -v '\.patch$')
	none grep -nIE '[[:blank:]]+$' "${texts[@]}"
}

# --- manual pages ------------------------------------------------------------

mandoc_lint() {
	none mandoc_says
}
mandoc_says() {
	mandoc -T lint -W warning "${PAGES[@]}" | grep -v 'missing date'
}

groff_lint() {
	local page

	for page in "${PAGES[@]}"; do
		LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 \
			man --warnings -E UTF-8 -l -Tutf8 -Z "$page" >/dev/null
	done 2>"$ERR"
	none cat_nonempty "$ERR"
}
cat_nonempty() { grep . "$1"; }

# --- reStructuredText ---------------------------------------------------------

rst() {
	local page

	for page in "${RST[@]}"; do
		python3 -m docutils --report=warning --exit-status=2 \
			"$page" >/dev/null || return
	done
}

# --- one version -------------------------------------------------------------

versions() {
	local want

	want=$(sed -n 's/^VERSION[ \t]*:= *//p' Makefile)
	echo "Makefile: $want"
	grep -H "^PACKAGE_VERSION=$want\$" dkms.conf &&
		grep -HE "MODULE_VERSION\((\"$want\"|DD_VERSION)\)" kernel/main.c &&
		{ ! grep -q 'MODULE_VERSION(DD_VERSION)' kernel/main.c ||
			grep -rH "define DD_VERSION.*\"$want\"" kernel; }
}

# --- the contract ------------------------------------------------------------

# uapi COMPILER LANGUAGE -m64|-m32: the asserts of uapi.c hold. Debian has the headers
# that linux/types.h includes in one directory for both word sizes.
uapi() {
	"$1" -x "$2" -fsyntax-only -Wall -Wextra -Werror "$3" -Iinclude/uapi \
		-idirafter /usr/include/x86_64-linux-gnu selftests/vm/check/uapi.c
}

# alone COMPILER LANGUAGE: each public header includes what it needs.
alone() {
	local header

	for header in include/*.h include/uapi/linux/*.h; do
		header=${header#include/}
		"$1" -x "$2" -fsyntax-only -Wall -Wextra -Werror -Iinclude -Iinclude/uapi - \
			<<<"#include <${header#uapi/}>" || return
	done
}

headers() {
	local compiler=$1 language=$2 bits

	command -v "$compiler" >/dev/null || {
		skip "uapi: $compiler" "it is not installed"
		return
	}
	check "each header alone, $compiler" alone "$compiler" "$language"
	for bits in -m64 -m32; do
		check "uapi: layout, $compiler $bits" \
			uapi "$compiler" "$language" $bits
	done
}

# need PROGRAM NAME COMMAND...
need() {
	local program=$1 name=$2

	shift 2
	if command -v "$program" >/dev/null; then
		check "$name" "$@"
	else
		skip "$name" "$program is not installed; run: make deps"
	fi
}

need shellcheck "shellcheck" shellcheck -x "${SCRIPTS[@]}"
need codespell "codespell" spelling
check "SPDX: first line, text, and the part's licence" licences
need python3 "plain English: words.py" plain
check "no marks of unfinished work" marks
check "no blanks at the end of a line" blanks
need mandoc "manual pages: mandoc" mandoc_lint
need man "manual pages: groff" groff_lint
if python3 -m docutils --version >/dev/null 2>&1; then
	check "reStructuredText: docutils" rst
else
	skip "reStructuredText: docutils" "python3-docutils is not installed; run: make deps"
fi
check "one version" versions
headers gcc c
headers g++ c++
headers clang c
headers clang++ c++
finish
