#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only
#
# The manual pages of the library: clean source, a page for every exported
# call, and every example a program that compiles and links; so do the programs
# of README.md, two directories above the pages.
#
#   man.sh MANDIR LIBDIR [PROGDIR]	PROGDIR: where to put the programs, which
#					selftests/lib/examples.sh runs
set -u
man=$1 lib=$2 programs=${3:-}
n=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# result NAME STATUS OUTPUT
result() {
	n=$((n + 1))
	if [ "$2" -eq 0 ] && [ -z "$3" ]; then
		echo "ok $n $1"
	else
		printf '%s\n' "$3" | sed 's/^/# /'
		echo "not ok $n $1"
		failed=1
	fi
}

# Standard error says what could not be typeset.
lint() {
	if command -v mandoc >/dev/null; then
		# Operating system, date and cross references are not its.
		mandoc -Tlint -W warning "$1" 2>&1 |
			grep -v -e 'missing date' -e 'referenced manual not found'
		return 0
	fi
	groff -ww -z -mandoc -Tutf8 "$1" 2>&1
}

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

# They are programs.
compile() {
	for source in "$work"/example.*.c; do
		"${CC:-cc}" -std=gnu11 -Wall -Wextra -Iinclude -Iinclude/uapi \
			-o "$work/example" "$source" -L"$lib" -lrmem -ldd \
			"-Wl,-rpath,\$ORIGIN/../../lib" 2>&1 || return
		[ -z "$programs" ] && continue
		number=${source%.c}
		cp "$work/example" "$programs/$name.${number##*.}"
	done
}

echo "TAP version 13"
for page in "$man"/*.3 "$man"/dd.7 "$man"/dd.4; do
	name=$(basename "$page")
	# Another name of a page stands for itself.
	grep -q '^\.so ' "$page" && continue
	out=$(lint "$page")
	result "$name: source" 0 "$out"
	case $name in
	*.3)
		examples "$page"
		out=$(compile)
		result "$name: example" $? "$out"
		out=$(for section in NAME SYNOPSIS DESCRIPTION 'RETURN VALUES' \
				ERRORS EXAMPLES 'SEE ALSO'; do
			grep -q "^\.Sh $section\$" "$page" || echo "no $section"
		done
		# Requirement ids mean something in the sources only.
		! grep 'DDP-[0-9]' "$page")
		result "$name: sections" 0 "$out"
		;;
	esac
done

name=README.md
readme "$man/../../README.md"
out=$(compile)
result "README.md: programs" $? "$out"

missing=$(nm -D --defined-only "$lib/libdd.so.0" "$lib/librmem.so.0" |
	sed -n 's/.* T \([^@]*\)@.*/\1/p' | while read -r call; do
		grep -qs "^\.Nm $call\( ,\)\?\$" "$man"/*.3 || echo "$call"
	done)
result "a page for every call" 0 "$missing"
echo "1..$n"
exit $failed
