#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only
#
# The manual pages of the library: all sections, a page for every exported call, and every
# example a program that compiles and links; so do the programs of README.md, two
# directories above the pages.
#
#   man.sh MANDIR LIBDIR [PROGDIR]	PROGDIR: where to put the programs, which
#					selftests/lib/examples.sh runs
# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
man=$1 lib=$2 programs=${3:-}
work=$TAP_DIR

# The examples of a page, each in a file of its own: $work/example.1.c ...
examples() {
	rm -f "$work"/example.*
	awk -v to="$work/example." '
		/^\.Sh/ { on = /EXAMPLES/ }
		/^\.Bd/ { if (on) out = to (++n) ".c"; next }
		/^\.Ed/ { out = ""; next }
		on && out { gsub(/\\e/, "\\"); gsub(/\\&/, ""); print >out }' "$1"
}

# readme FILE: the same for the C programs of a Markdown page.
readme() {
	rm -f "$work"/example.*
	awk -v to="$work/example." '
		/^```c$/ { out = to (++n) ".c"; next }
		/^```/ { out = ""; next }
		out { print >out }' "$1"
}

# compile NAME: they are programs, and compile without a message.
compile() {
	local source number

	for source in "$work"/example.*.c; do
		silent "${CC:-cc}" -std=gnu11 -Wall -Wextra -Iinclude -Iinclude/uapi \
			-o "$work/example" "$source" -pthread -L"$lib" -L"$lib/dd" \
			-lst -lsbl -lvmmc -lrmem -ldd -Wl,--disable-new-dtags \
			"-Wl,-rpath,\$ORIGIN/../../lib,-rpath,\$ORIGIN/../../lib/dd" || return
		[ -z "$programs" ] && continue
		number=${source%.c}
		cp "$work/example" "$programs/$1.${number##*.}"
	done
}

# sanitized: the client of README.md, and a program without calls, with each sanitizer.
sanitized() {
	local sanitizer

	echo 'int main(void) { return 0; }' >"$work/none.c"
	for sanitizer in address thread; do
		silent clang -fsanitize=$sanitizer -o "$programs/none.$sanitizer" "$work/none.c" &&
			silent clang -fsanitize=$sanitizer -g -Iinclude \
				-o "$programs/client.$sanitizer" "$work/example.2.c" \
				"$lib/libdd.a" -lpthread || return
	done
}

sections() {
	local section bad=0

	for section in NAME SYNOPSIS DESCRIPTION 'RETURN VALUES' ERRORS EXAMPLES 'SEE ALSO'; do
		grep -q "^\.Sh $section\$" "$1" && continue
		echo "no $section"
		bad=1
	done
	return "$bad"
}

every_call() {
	local call bad=0

	while read -r call; do
		grep -qs "^\.Nm $call\( ,\)\?\$" "$man"/*.3 && continue
		echo "$call"
		bad=1
	done < <(nm -D --defined-only "$lib/libdd.so.0" "$lib/librmem.so.0" "$lib/libvmmc.so.2" \
		"$lib/libsbl.so.1" "$lib/dd/libst.so.0" |
		sed -n '/_PRIVATE$/!s/.* T \([^@]*\)@.*/\1/p')
	return "$bad"
}

for page in "$man"/*.3; do
	name=$(basename "$page")
	# Another name of a page stands for itself.
	grep -q '^\.so ' "$page" && continue
	examples "$page"
	check "$name: example" compile "$name"
	check "$name: sections" sections "$page"
done
readme "$man/../../README.md"
check "README.md: programs" compile README.md
[ -z "$programs" ] || check "README.md: the client with sanitizers" sanitized
check "a page for every call" every_call
finish
