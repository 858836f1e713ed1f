#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only
#
# The shared library exports what its headers declare, all of it under a
# version, and nothing else; it needs the C library only.
#
#   exports.sh LIBRARY INCLUDEDIR
set -u
library=$1 include=$2
n=0 failed=0

is() {
	n=$((n + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $n $1"
	else
		printf 'have: %s\nwant: %s\n' "$2" "$3" | sed 's/^/# /'
		echo "not ok $n $1"
		failed=1
	fi
}

echo "TAP version 13"
exported=$(nm -D --defined-only "$library" |
	sed -n 's/.* T \([^@]*\)@@LIBDD_.*/\1/p' | sort)
every=$(nm -D --defined-only "$library" | grep -vc ' A LIBDD_')
declared=$(printf '#include "dd_mem.h"\n#include "fedex.h"\n' |
	"${CC:-cc}" -E -I"$include" - |
	grep -o '\<dd[a-z_]*(' | tr -d '(' | sort -u)

is "exported is what is declared" "$exported" "$declared"
is "all under a version" "$every" "$(printf '%s\n' "$exported" | wc -l)"
is "soname" "$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" \
	libdd.so.0
# The loader is named for thread-local storage.
is "needs" "$(readelf -d "$library" |
	sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^ld-linux')" libc.so.6
echo "1..$n"
exit $failed
