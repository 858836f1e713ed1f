#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only
#
# The shared library exports what its headers declare, all of it under a
# version, and nothing else but what is private to the tree's libraries; it
# needs few other libraries.
#
#   exports.sh LIBRARY INCLUDEDIR PREFIX HEADERS LIBRARIES
# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
library=$1 include=$2 prefix=$3 headers=$4 libraries=$5
soname=${library##*/}

# is NAME HAVE WANT
is() { check "$1" diff <(echo "$2") <(echo "$3"); }

symbols=$(nm -D --defined-only "$library" | grep -v '@@LIB[A-Z]*_PRIVATE$')
exported=$(echo "$symbols" |
	sed -n 's/.* [TB] \([^@]*\)@@LIB[A-Z]*_.*/\1/p' | sort)
every=$(echo "$symbols" | grep -vc ' A LIB')
# shellcheck disable=SC2086 # words
declared=$(printf '#include "%s"\n' $headers |
	"${CC:-cc}" -E -I"$include" - |
	grep -o "\<${prefix}[A-Za-z_]*[[(]" | tr -d '([' | sort -u)

is "$soname: exported is what is declared" "$exported" "$declared"
is "$soname: all under a version" "$every" "$(printf '%s\n' "$exported" | wc -l)"
is "$soname: soname" "$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" \
	"$soname"
# The loader is named for thread-local storage.
is "$soname: needs" "$(readelf -d "$library" |
	sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^ld-linux')" "$libraries"
finish
