#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only
#
# Each public header compiles alone, in every dialect, without a warning; the
# figures of the protocol's description compile as printed; and the libraries
# compile with the headers of musl.
#
#   headers.sh INCLUDEDIR FIGUREDIR LIBDIR
# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
include=$1 figures=$2 lib=$3
CC=${CC:-cc} CXX=${CXX:-c++}

# compile NAME SOURCE COMPILER ARGUMENT...
compile() { check "$1" compiles "${@:2}"; }
compiles() { silent "${@:2}" -fsyntax-only - <<<"$1"; }

for header in dd.h dd_mem.h fedex.h dd_errno.h rmem.h vmmc.h sbl.h st.h; do
	for std in c89 gnu89 c99 gnu11 c11 gnu17; do
		pedantic=-pedantic
		# ddcall() takes five to seven arguments: a variadic macro, of which -pedantic
		# warns in gnu89.
		[ "$std" = gnu89 ] && pedantic=
		compile "$header alone in $std" "#include \"$header\"" "$CC" \
			-xc -std=$std -Wall -Wextra $pedantic -I"$include"
	done
	for std in c++11 c++17; do
		compile "$header alone in $std" "#include \"$header\"" "$CXX" \
			-xc++ -std=$std -Wall -Wextra -pedantic -I"$include"
	done
done

compile "all headers together, with the kernel's" '#include <linux/dd_ddp.h>
#include "dd.h"
#include "fedex.h"' "$CC" -xc -std=gnu11 -Wall -Wextra -I"$include" \
	-I"$include/uapi"

compile "calls of a C++ program" '#include "fedex.h"
int f(connid_t c, noteid_t n)
{
	ddrecv_desc_t d;
	address_t a;
	size_t s;

	dderror("%d", ddcall(c, 0, 1, &a, &s));
	return ddcall(c, 0, 1, &a, &s, RECV_TIMEOUT, SBP_HZ) +
		ddrecv(n, &d, RECV_SLEEP, NULL) + DD_ISCONN(&d);
}' "$CXX" -xc++ -std=c++17 -Wall -Wextra -pedantic -I"$include"

# The protocol without names that others may want, and without its misprints.
strict='#define DD_STRICT
#include "fedex.h"
#if defined(ddsnd) || defined(ddcall) || defined(ddrecv) || defined(ddpacketsize)
#error not strict
#endif
typedef struct { int other; } offset_t, option_t, timeout_t, timeval_t;
typedef struct { int other; } address_t, addr_t, serviceid_t;
int ddsnd;
int f(connid_t c, noteid_t n, servid_t s)
{
	static const char text[] = "const";
	ddrecv_desc_t d;
	conninfo_t i;
	char *a;
	size_t size;

	return ddsend(c, text, 6, 0, SEND_UNWIRED) + ddflush(text, 6) +
		ddsend_with_metadata(c, text, 6, 0, SEND_UNWIRED, text, 1) +
		ddcall(c, text, 6, &a, &size, RECV_TIMEOUT, SBP_HZ) +
		ddrecv(n, &d, RECV_SLEEP, 0) + ddconninfo(c, &i) + ddunserve(s) +
		DD_ISCONN(&d);
}'
for std in c89 c99 gnu11 c11 gnu17; do
	compile "strict in $std" "$strict" "$CC" \
		-xc -std=$std -Wall -Wextra -pedantic -I"$include"
done
for std in c++11 c++17; do
	compile "strict in $std" "$strict" "$CXX" \
		-xc++ -std=$std -Wall -Wextra -pedantic -I"$include"
done

compile "const sources" '#include "fedex.h"
int f(connid_t c, const char *text, const unsigned int *meta)
{
	address_t a;
	size_t s;

	return ddsend(c, text, 1, 0, SEND_UNWIRED) + ddflush(text, 1) +
		ddsend_with_metadata(c, text, 1, 0, SEND_UNWIRED,
				     (const char *)meta, 1) +
		ddcall(c, text, 1, &a, &s);
}' "$CC" -xc -std=gnu11 -Wall -Wextra -I"$include"

compile "hidden extensions" '#define _DD_NO_EXTENSIONS
#include "fedex.h"
#if defined(_DD_EXTENSIONS) || defined(CONN_WINDOW) || defined(CONN_NODIRECT)
#error not hidden
#endif
int ddfd, ddfree;' "$CC" -xc -std=gnu11 -Wall -Wextra -I"$include"

for figure in 2 3 4 5; do
	# Figures 4 and 5 are printed without their include.
	text=$(cat "$figures/fig$figure.c")
	[ $figure -lt 4 ] || text="#include \"fedex.h\"
$text"
	compile "figure $figure as printed (DDP-7$((figure + 3)))" "$text" \
		"$CC" -xc -std=gnu89 -Wall -Wno-implicit -Wno-return-type \
		-Werror=int-conversion -Werror=incompatible-pointer-types \
		-I"$include"
done

# with_musl HEADERS: those of the kernel do not depend on the C library.
with_musl() {
	local kernel=$TAP_DIR/kernel source bad=0

	mkdir "$kernel"
	ln -s /usr/include/linux /usr/include/asm-generic \
		"/usr/include/$("$CC" -print-multiarch)/asm" "$kernel"
	for source in "$lib"/*/*.c; do
		"$CC" -fsyntax-only -Wall -Wextra -Werror -std=gnu11 -D_GNU_SOURCE \
			-DDD_VERSION='"0"' -nostdinc -I"$include" -I"$include/uapi" \
			-I"$lib/core" -I"$lib/mem" -I"$lib/conn" -isystem "$1" \
			-isystem "$("$CC" -print-file-name=include)" \
			-isystem "$kernel" "$source" || bad=1
	done
	return "$bad"
}
check "the libraries compile with musl" with_musl "/usr/include/$(uname -m)-linux-musl"

finish
