#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds from what belongs to the sources, in a directory of its own, installs
# into another one, and looks at what is there with the eyes of somebody who
# has nothing else. Then uninstalls, and looks for what is left.
# shellcheck disable=SC2317 # called through check
# shellcheck source=selftests/lib/tier.sh
. "$(dirname "$0")/../lib/tier.sh"
# shellcheck source=selftests/check/files.sh
. selftests/check/files.sh

WORK=$(mktemp -d)
trap 'rm -rf "$WORK" "$TIER_ERR"' EXIT
SRC=$WORK/src
ROOT=$WORK/root
KDIR=$(selftests/vm/kernels.sh path stock build 2>/dev/null) ||
	KDIR=/nonexistent
REL=$(selftests/vm/kernels.sh path stock release 2>/dev/null)

# quiet COMMAND...: its output only if it fails.
quiet() {
	local status=0

	"$@" >"$WORK/log" 2>&1 || status=$?
	[ "$status" = 0 ] || tail -n 20 "$WORK/log"
	return "$status"
}

# This make's settings are for the checkout.
build() {
	env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$SRC" "$@"
}

copy_tree() {
	mkdir "$SRC"
	files . | xargs cp --parents -t "$SRC"
}

present() {
	local file

	for file; do
		[ -e "$ROOT/$file" ] || { echo "$file is missing"; return 1; }
	done
}

# --- building and installing -------------------------------------------------

# Without headers the rest is built, and what is missing is said.
without_headers() {
	quiet build all KDIR=/nonexistent || return
	[ -e "$SRC/build/lib/libdd.so.0" ] && [ ! -e "$SRC/dd.ko" ] &&
		grep -q 'dd.ko is not built:.*install linux-headers-' "$WORK/log"
}

install_all() {
	quiet build all KDIR="$KDIR" && quiet build install KDIR="$KDIR" \
		DESTDIR="$ROOT" && present usr/lib/libdd.so usr/lib/libdd.a \
		usr/lib/pkgconfig/libdd.pc usr/include/dd.h usr/include/fedex.h \
		usr/include/linux/dd.h usr/include/linux/dd_netlink.h \
		usr/sbin/ddctl usr/bin/ddcp usr/bin/ddperf usr/bin/dd-echo-server \
		usr/lib/udev/rules.d/60-dd.rules usr/lib/sysusers.d/dd.conf \
		usr/lib/modules-load.d/dd.conf usr/share/man/man8/ddctl.8 \
		usr/lib/systemd/system/dd-cluster.service \
		usr/share/man/man5/dd-cluster.conf.5 \
		usr/share/man/man1/dd-echo-server.1 \
		usr/share/man/man3/ddsend.3 usr/share/man/man4/dd.4 \
		usr/share/bash-completion/completions/ddctl
}

# modprobe finds it, and it is of that kernel. depmod has no kernel here to
# look symbols up in.
module() {
	depmod -b "$ROOT" "$REL" &&
		modprobe -d "$ROOT" -S "$REL" --show-depends dd |
		grep "/lib/modules/$REL/extra/dd.ko" &&
		modinfo -b "$ROOT" -k "$REL" -F vermagic dd | grep "^$REL " &&
		modinfo -b "$ROOT" -k "$REL" -F license dd | grep -x GPL
}

# What lies there is the installer's and readable for everybody.
modes() {
	local odd

	odd=$(find "$ROOT" ! -type l ! -perm -a+r -o -perm /022 ! -type l)
	[ -z "$odd" ] || { echo "$odd"; return 1; }
}

# udevadm of Debian 12 checks rules by reading them; systemd-sysusers likewise.
rules() {
	grep -qx 'KERNEL=="dd", SUBSYSTEM=="misc", MODE="0660", GROUP="dd"' \
		"$ROOT/usr/lib/udev/rules.d/60-dd.rules" || return
	mkdir -p "$ROOT/etc"
	: >"$ROOT/etc/group"
	systemd-sysusers --root="$ROOT" dd.conf && grep '^dd:' "$ROOT/etc/group"
}

# The unit is what systemd understands, and runs what was installed. Of other
# units, and of what "network-online" means here, nothing is known.
unit() {
	local unit=$ROOT/usr/lib/systemd/system/dd-cluster.service

	grep -q "^ExecStart=/usr/sbin/ddctl apply /etc/dd/cluster.conf\$" "$unit" ||
		return
	mkdir "$WORK/units"
	sed "s,=/usr/sbin/ddctl,=$ROOT/usr/sbin/ddctl," "$unit" \
		>"$WORK/units/dd-cluster.service"
	silent_verify "$WORK/units/dd-cluster.service"
}
silent_verify() {
	local out

	out=$(systemd-analyze verify --man=no --recursive-errors=no "$1" 2>&1) &&
		! grep -F dd-cluster <<<"$out"
}

# What is given as an example is right, for one of its machines.
example() {
	"$ROOT/usr/sbin/ddctl" apply --check --node 1 \
		"$ROOT/usr/share/doc/dd/examples/cluster.conf"
}

# --- a program of somebody else's --------------------------------------------

pc() {
	PKG_CONFIG_LIBDIR="$ROOT/usr/lib/pkgconfig" \
		PKG_CONFIG_SYSROOT_DIR="$ROOT" pkg-config "$@"
}

# Its header directory is a system's one, which pkg-config does not mention.
flags() {
	pc "$@" --cflags --libs libdd | tr '\n' ' '
	echo "-isystem $ROOT/usr/include"
}

# runs PROGRAM: with the installed library, to its end.
runs() {
	LD_LIBRARY_PATH=$ROOT/usr/lib "$1" </dev/null
}

# consumer COMPILER ARGUMENT...: compiles, links and runs.
consumer() {
	local out=$WORK/consumer

	rm -f "$out"
	# shellcheck disable=SC2046 # flags
	"$@" -Wall -Wextra -Werror -o "$out" $(flags) && runs "$out"
}

consumer_static() {
	local out=$WORK/consumer

	rm -f "$out"
	# shellcheck disable=SC2046 # flags
	"$@" -Wall -Wextra -Werror -static -o "$out" $(flags --static) &&
		! readelf -d "$out" | grep NEEDED && "$out"
}

version_is_ours() {
	[ "$(pc --modversion libdd)" = \
		"$(sed -n 's/^VERSION[ \t]*:= *//p' Makefile)" ]
}

# --- the library -------------------------------------------------------------

lib=$ROOT/usr/lib/libdd.so.0

soname() {
	readelf -d "$lib" | grep 'SONAME.*\[libdd\.so\.0\]' &&
		[ "$(readlink "$ROOT/usr/lib/libdd.so")" = libdd.so.0 ]
}

mapped() { sed -n '/global:/,/local:/s/^[ \t]*\([a-z_]*\);$/\1/p' lib/dd/libdd.map; }
exported() { nm -D --defined-only "$lib" | sed -n 's/.* [TDBR] \([^@]*\)@@.*/\1/p'; }

symbols() { diff <(mapped | sort) <(exported | sort); }

relocations() {
	! readelf -d "$lib" | grep -w TEXTREL &&
		! readelf -lW "$lib" | grep -E 'GNU_STACK.*E|LOAD.*WE'
}

# Everything it uses it names: -z defs, once more from the archive.
defined() {
	gcc -shared -pthread -Wl,-z,defs -Wl,--fatal-warnings -Wl,--whole-archive \
		"$ROOT/usr/lib/libdd.a" -Wl,--no-whole-archive -o "$WORK/all.so"
}

# Programs that were installed find the library that was installed.
tools_run() {
	local tool

	for tool in dd-echo-server dd-rpc-client dd-split-client dd-two-services \
		ddcp ddperf; do
		env -u LD_LIBRARY_PATH ldd "$ROOT/usr/bin/$tool" |
			grep -q "libdd.so.0 => $ROOT/" || {
			echo "$tool does not find libdd"
			return 1
		}
		"$ROOT/usr/bin/$tool" --version || return
	done
	"$ROOT/usr/sbin/ddctl" version
}

# --- and away with it --------------------------------------------------------

uninstall_all() {
	rm -rf "${ROOT:?}/etc" "$ROOT/lib/modules/$REL"/modules.*
	quiet build uninstall KDIR="$KDIR" DESTDIR="$ROOT" || return
	find "$ROOT" ! -type d | tee "$WORK/left"
	[ ! -s "$WORK/left" ]
}

other_prefix() {
	quiet build install KDIR=/nonexistent DESTDIR="$ROOT" PREFIX=/usr/local &&
		[ "$(pc_local --variable=libdir libdd)" = /usr/local/lib ] &&
		quiet build uninstall KDIR=/nonexistent DESTDIR="$ROOT" \
			PREFIX=/usr/local &&
		[ -z "$(find "$ROOT" ! -type d)" ]
}
pc_local() {
	PKG_CONFIG_LIBDIR=$ROOT/usr/local/lib/pkgconfig pkg-config "$@"
}

# --- DKMS --------------------------------------------------------------------

# What DKMS is given is enough to build of.
dkms_sources() {
	local dir=$WORK/dkms/usr/src/dd-$1 make

	quiet build dkms-install DESTDIR="$WORK/dkms" || return
	make=$(
		# shellcheck disable=SC2034 # dkms.conf uses them
		kernel_source_dir=$KDIR dkms_tree=$WORK/tree
		# shellcheck source=dkms.conf
		. "$dir/dkms.conf" && echo "${MAKE[0]}"
	)
	mkdir -p "$WORK/tree/dd/$1"
	cp -r "$dir" "$WORK/tree/dd/$1/build"
	quiet bash -c "$make" && [ -e "$WORK/tree/dd/$1/build/dd.ko" ]
}

copy_tree || exit
check "without kernel headers the rest is built" without_headers
check "make install" install_all
if [ -n "$REL" ]; then
	check "the module is found and of its kernel" module
else
	skip "the module is found and of its kernel" "kernel not in the cache"
fi
check "modes" modes
check "udev rule and group" rules
if command -v systemd-analyze >/dev/null; then
	check "systemd unit" unit
else
	skip "systemd unit" "systemd-analyze is not installed"
fi
check "example of a cluster file" example
check "pkg-config: version" version_is_ours
check "a program in C" consumer gcc selftests/check/consumer.c
check "a program in C, static" consumer_static gcc selftests/check/consumer.c
check "a program in C++" consumer g++ -x c++ selftests/check/consumer.c -x none
check "a program in C++, static" \
	consumer_static g++ -x c++ selftests/check/consumer.c -x none
check "library: soname" soname
check "library: exports what libdd.map says" symbols
check "library: no text relocation, no executable stack" relocations
check "library: nothing undefined" defined
check "tools find their library" tools_run
check "make uninstall leaves nothing" uninstall_all
check "another PREFIX, there and back" other_prefix
if [ -n "$REL" ]; then
	check "DKMS: its sources are enough" dkms_sources \
		"$(sed -n 's/^VERSION[ \t]*:= *//p' Makefile)"
else
	skip "DKMS: its sources are enough" "kernel not in the cache"
fi
finish
