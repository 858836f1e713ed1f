#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds a copy of the sources, installs into another directory, and checks that the
# installed files suffice. Then uninstalls, and checks that nothing is left.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"
# shellcheck source=selftests/vm/check/files.sh
. selftests/vm/check/files.sh

# ccache knows objects by their paths: the sources of all checkouts are in the same place,
# and the second build of the module, from the files of DKMS, is in the place of the first.
WORK=$DD_CACHE/installed
exec 9>"$DD_CACHE/.lock-installed"
flock 9
rm -rf "$WORK"
mkdir -p "$WORK"
trap 'rm -rf "$WORK" "$TAP_DIR"' EXIT
VERSION=$(sed -n 's/^VERSION[ \t]*:= *//p' Makefile)
SRC=$WORK/tree/dd/$VERSION/build
ROOT=$WORK/root
KDIR=$(selftests/vm/kernels.sh path stock build 2>/dev/null) ||
	KDIR=/nonexistent
REL=$(selftests/vm/kernels.sh path stock release 2>/dev/null)

# The directory of Wireshark's plugins; an installed Wireshark reports it.
WIRESHARK=$(tshark -G folders 2>/dev/null |
	sed -n 's/^Global Lua Plugins:[ \t]*//p')
: "${WIRESHARK:=/usr/lib/$(gcc -print-multiarch)/wireshark/plugins}"

# quiet COMMAND...: its output only if it fails.
quiet() {
	local status=0

	"$@" >"$WORK/log" 2>&1 || status=$?
	[ "$status" = 0 ] || tail -n 20 "$WORK/log"
	return "$status"
}

# Settings of the calling make concern the checkout.
build() {
	env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$SRC" "$@"
}

copy_tree() {
	mkdir -p "$SRC"
	files . | xargs cp --parents -t "$SRC"
}

present() {
	local file

	for file; do
		[ -e "$ROOT/$file" ] || { echo "$file is missing"; return 1; }
	done
}

# --- building and installing -------------------------------------------------

# Without kernel headers the rest is built, and a message names the missing headers.
without_headers() {
	quiet build all KDIR=/nonexistent || return
	[ -e "$SRC/build/lib/libdd.so.0" ] && [ ! -e "$SRC/dd.ko" ] &&
		grep -q 'dd.ko is not built:.*install linux-headers-' "$WORK/log"
}

# What no check below uses.
install_all() {
	quiet build all KDIR="$KDIR" &&
		quiet build install KDIR="$KDIR" DESTDIR="$ROOT" &&
		present etc/dd/vmmcsvr.conf etc/pam.d/vmmcsvr \
			usr/bin/rmfs usr/include/dd_mem.h usr/include/linux/dd_{mem,netlink}.h \
			usr/lib/modules-load.d/dd.conf usr/lib/lib{vmmc,sbl}.a \
			usr/share/{bash-completion/completions/{ddctl,rmclerk},ynl/specs/dd.yaml} \
			usr/share/doc/dd/protocol.rst \
			usr/share/man/man1/{cfgvmmc,dd-echo-server}.1 \
			usr/share/man/man3/{ddsend,ddclose,rmem,rm_write,sbl,SBL_AUMap,vmmc,vmmc_GetData}.3 \
			usr/share/man/man{4/dd.4,5/dd-cluster.conf.5} \
			usr/share/man/man8/{ddctl,rmclerk,vmmcsvr}.8 "${WIRESHARK#/}/dd.lua"
}

# modprobe finds the module, and it is for that kernel. Without that kernel depmod
# cannot look up symbols.
module() {
	depmod -b "$ROOT" "$REL" &&
		modprobe -d "$ROOT" -S "$REL" --show-depends dd |
		grep "/lib/modules/$REL/extra/dd.ko" &&
		modinfo -b "$ROOT" -k "$REL" -F vermagic dd | grep "^$REL " &&
		modinfo -b "$ROOT" -k "$REL" -F license dd | grep -x GPL &&
		modinfo -b "$ROOT" -k "$REL" -F version dd | grep -xF "$VERSION"
}

# The user that installs owns the files, and all users can read them.
modes() {
	local odd

	odd=$(find "$ROOT" ! -type l ! -perm -a+r -o -perm /022 ! -type l)
	[ -z "$odd" ] || { echo "$odd"; return 1; }
}

# udevadm of Debian 12 and systemd-sysusers check files when they read them.
rules() {
	grep -qx 'KERNEL=="dd", SUBSYSTEM=="misc", MODE="0660", GROUP="dd"' \
		"$ROOT/usr/lib/udev/rules.d/60-dd.rules" || return
	mkdir -p "$ROOT/etc"
	: >"$ROOT/etc/group"
	systemd-sysusers --root="$ROOT" dd.conf && grep '^dd:' "$ROOT/etc/group"
}

# systemd accepts the units, whose programs are installed.
units() {
	silent systemd-analyze --root="$ROOT" verify --man=no --recursive-errors=no \
		"$ROOT"/usr/lib/systemd/system/{dd-cluster,rmclerk,vmmcsvr}.service
}

# The example of a cluster file is valid on one of its machines.
example() {
	"$ROOT/usr/sbin/ddctl" apply --check --node 1 \
		"$ROOT/usr/share/doc/dd/examples/cluster.conf"
}

# --- manual pages --------------------------------------------------------

# Pages of dd that a page refers to are installed.
cited() {
	! mandoc -M "$ROOT/usr/share/man" -T lint -W style "$ROOT"/usr/share/man/man*/* 2>"$ERR" |
		grep -E 'referenced manual not found: Xr (dd|rm|vmmc|cfgvmmc|SBL_|sbl|st_|st )'
}

# They do not refer to texts that only the sources have. .Os without an argument names the
# system that formats the page.
pages() { ! grep -rnE 'DDP-[0-9]|^\.Os$' "$ROOT/usr/share/man" "$ROOT/usr/include"; }

# --- programs that use the libraries ---------------------------------------------

pc() {
	PKG_CONFIG_LIBDIR="$ROOT/usr/lib/pkgconfig" \
		PKG_CONFIG_SYSROOT_DIR="$ROOT" pkg-config "$@"
}

# flags WORD...: of libraries. pkg-config does not print the header directories of the system.
flags() {
	pc --cflags --libs "$@" | tr '\n' ' '
	echo "-isystem $ROOT/usr/include"
}

# runs COMMAND...: it succeeds with the installed libraries.
runs() {
	LD_LIBRARY_PATH=$ROOT/usr/lib:$ROOT/usr/lib/dd "$@" </dev/null
}

# consumer [--static]: a program in C and C++ compiles, links and runs, and finds the version.
# shellcheck disable=SC2046,SC2086 # words
consumer() {
	local compiler out=$WORK/consumer

	for compiler in 'gcc -x c' 'g++ -x c++'; do
		$compiler selftests/vm/check/consumer.c -x none ${1:+-static} -Wall -Wextra -Werror \
			-o "$out" $(flags ${1:-} librmem libdd) &&
			runs "$out" && runs "$out" "$VERSION" || return
	done
}

# compiles SOURCE... FLAG...: an example, as it is installed.
compiles() { gcc -O2 -Wall -Wextra -Werror -o "$WORK/example" "$@"; }

# Tests in guests run them.
# shellcheck disable=SC2046 # flags
examples() {
	local doc=$ROOT/usr/share/doc/dd/examples source name

	for source in "$doc"/{dd,rm}-*.c; do
		compiles "$source" $(flags librmem libdd) || return
	done
	# The header and the library of ST are in directories of their own.
	for source in "$doc"/st-*.c; do
		compiles "$source" $(pc --cflags --libs dd-st) "-Wl,-rpath-link,$ROOT/usr/lib" || return
	done
	for name in all2all bandwidth latency random spawn; do
		compiles "$doc"/vmmc/{$name,group}.c $(flags libvmmc libdd) || return
	done
	for name in blackboard pingpong; do
		compiles "$doc"/sbl/{$name,member}.c $(flags libsbl libdd) || return
	done
}

# It names the call that fails.
# shellcheck disable=SC2046 # flags
vmmc_debug() {
	local doc=$ROOT/usr/share/doc/dd/examples/vmmc

	compiles "$doc"/{latency,group}.c -lvmmc_debug $(flags libvmmc libdd) &&
		! runs "$WORK/example" worker 2>"$ERR" && has_line "$ERR" '^export: no such node' &&
		has_line "$ERR" '^vmmc_ExportRecvBuf: '
}

# The hash table that the tutorial shows is the example.
tutorial_shows() {
	local doc=$ROOT/usr/share/doc/dd

	diff -B <(sed -n '/^#include/,$p' "$doc/examples/dd-hash.c") \
		<(sed -n '/^\t#include <dd_mem.h>/,/^[^\t]/ s/^\t//p; /^$/p' "$doc/tutorial.rst")
}

# The version is ours, and the installation works in another place.
pkg_config() {
	local moved=$WORK/moved flags

	[ "$(pc --modversion libdd)" = "$VERSION" ] && cp -r "$ROOT/usr" "$moved" || return
	flags=$(PKG_CONFIG_LIBDIR=$moved/lib/pkgconfig pkg-config --define-prefix \
		--cflags --libs libdd)
	echo "$flags"
	[[ " $flags " == *" -I$moved/include"*" -L$moved/lib "* ]]
}

# No program or library has a text relocation, an executable stack or a RUNPATH.
binaries() {
	! readelf -dlW "$ROOT"/usr/{bin,sbin}/* "$ROOT"/usr/lib/*.so.* |
		grep -E 'TEXTREL|RUNPATH|RPATH|GNU_STACK.*E|LOAD.*WE'
}

# Installed programs run with the installed library.
tools_run() {
	local tool

	for tool in ddcp ddperf cfgvmmc ../sbin/vmmcsvr; do
		runs "$ROOT/usr/bin/$tool" --version || return
	done
	runs "$ROOT/usr/bin/dd-echo-server" --help &&
		runs "$ROOT/usr/bin/dd-rpc-client" --help || return
	"$ROOT/usr/sbin/ddctl" version
}

# --- uninstalling --------------------------------------------------------

uninstall_all() {
	find "$ROOT/etc" -maxdepth 1 -type f -delete
	rm -rf "${ROOT:?}/lib/modules/$REL"/modules.*
	quiet build uninstall KDIR="$KDIR" DESTDIR="$ROOT" || return
	find "$ROOT" ! -type d | tee "$WORK/left"
	[ ! -s "$WORK/left" ] && [ ! -e "$ROOT/etc/dd" ]
}

# --- on the machine itself ---------------------------------------------------------

# here COMMAND...: with directories of its own in the place of /etc, /run and /lib/modules,
# without the programs of sbin, such as depmod, and with those in $WORK/tools.
here() {
	rm -rf "${WORK:?}/etc" "${WORK:?}/usr"
	cp -a /etc "$WORK/etc" 2>/dev/null
	rm -rf "$WORK/etc/dd"
	# shellcheck disable=SC2016 # the other shell's
	unshare -rm bash -ec 'mount --bind "$1/etc" /etc
		mount -t tmpfs none /run
		[ ! -d /lib/modules ] || mount -t tmpfs none /lib/modules
		export PATH="$1/tools:/usr/bin:/bin"
		shift
		"$@"' bash "$WORK" "$@"
}
export -f build quiet
export SRC WORK VERSION

# Into another PREFIX. No program of kmod, no kernel headers, no modules of the running kernel.
as_in_container() {
	mkdir -p "$WORK/tools"
	# shellcheck disable=SC2016 # the other shell's
	here bash -c '
		quiet build install KDIR=/nonexistent PREFIX="$WORK/usr" &&
		[ -e "$WORK/usr/lib/libdd.so.0" ] && [ -d /etc/dd ] &&
		[ "$(PKG_CONFIG_LIBDIR=$WORK/usr/lib/pkgconfig \
			pkg-config --variable=libdir libdd)" = "$WORK/usr/lib" ] &&
		quiet build uninstall KDIR=/nonexistent PREFIX="$WORK/usr" &&
		[ -z "$(find "$WORK/usr" /etc/dd ! -type d 2>/dev/null)" ]'
}

# --- DKMS --------------------------------------------------------------------

# Its version is ours, and it builds for supported kernels only.
dkms_conf() (
	# shellcheck disable=SC2034 # dkms.conf uses them
	kernel_source_dir='' dkms_tree=''
	# shellcheck source=dkms.conf
	. ./dkms.conf
	[ "$PACKAGE_VERSION" = "$VERSION" ] || exit
	for release in 6.1.0-37-amd64 6.12.30+deb12-amd64 6.12.9 7.3.4+deb13-amd64; do
		[[ $release =~ $BUILD_EXCLUSIVE_KERNEL ]] || exit
	done
	for release in 5.10.0-35-amd64 6.10.0 6.16.3-amd64 7.30.1 16.1.0; do
		[[ ! $release =~ $BUILD_EXCLUSIVE_KERNEL ]] || exit
	done
)

# A dkms that, like the real one, keeps what it has of a version. The headers of kernel 6.1.0 are
# gone.
fake_dkms() {
	mkdir -p "$WORK/tools"
	cat >"$WORK/tools/dkms" <<-'EOT'
	#!/bin/sh
	has=$WORK/usr/dkms
	case $1 in
	status) [ ! -e "$has" ] || echo "dd/$VERSION, 6.1.0, x86_64: installed" ;;
	remove) rm -r "$has" ;;
	install) case "$*" in *'-k 6.1.0') exit 1 ;; esac
		 [ -e "$has" ] || cp -r "$WORK/usr/src" "$has" ;;
	esac
	EOT
	chmod +x "$WORK/tools/dkms"
}

# The module of "make install" goes. The sources of another commit have the same version, and
# files may be gone. "make install" leaves the module to DKMS where that has one.
dkms_install() {
	fake_dkms
	mkdir -p "$WORK/kdir"
	echo 'modules modules_install:' >"$WORK/kdir/Makefile"
	# shellcheck disable=SC2016 # the other shell's
	here bash -ec '
		dir=$WORK/usr/modules
		with="KDIR=$WORK/kdir MOD_DIR=$dir PREFIX=$WORK/usr DKMS_SRC=$WORK/usr/src"
		mkdir -p $dir/updates/dkms $dir/extra
		: >$dir/extra/dd.ko
		quiet build dkms-install $with
		[ ! -e $dir/extra/dd.ko ]
		: >"$WORK/usr/src/kernel/gone.c"
		echo "/* changed */" >>"$SRC/kernel/main.c"
		quiet build dkms-install $with
		grep -q changed "$WORK/usr/dkms/kernel/main.c"
		[ ! -e "$WORK/usr/dkms/kernel/gone.c" ]
		build -n install $with >"$WORK/log"
		grep -q modules_install "$WORK/log"
		: >$dir/updates/dkms/dd.ko.xz
		build -n install $with >"$WORK/log"
		grep -q "DKMS has $dir/updates/dkms/dd.ko.xz" "$WORK/log"
		[ "$(grep -c modules_install "$WORK/log")" = 0 ]'
}

# The files for DKMS suffice to build the module.
dkms_sources() {
	local dir=$WORK/dkms/usr/src/dd-$VERSION make

	quiet build dkms-install DESTDIR="$WORK/dkms" || return
	make=$(
		# shellcheck disable=SC2034 # dkms.conf uses them
		kernel_source_dir=$KDIR dkms_tree=$WORK/tree
		# shellcheck source=dkms.conf
		. "$dir/dkms.conf" && echo "${MAKE[0]}"
	)
	rm -r "$SRC"
	cp -r "$dir" "$SRC"
	quiet bash -c "$make" && [ -e "$SRC/dd.ko" ]
}

copy_tree || exit
check "without kernel headers the rest is built" without_headers
check "make install" install_all
check_if "$REL" "kernel not in the cache" "the module is found and of its kernel" module
check "modes" modes
check "udev rule and group" rules
check_if "$(type -P systemd-analyze)" "systemd-analyze is not installed" "systemd units" units
check "example of a cluster file" example
check_if "$(type -P mandoc)" "mandoc is not installed" "manual pages: what they cite is installed" cited
check "manual pages and headers: no requirement ids, about Linux wherever formatted" pages
check "pkg-config: version, moves with its prefix" pkg_config
check "programs in C and C++" consumer
check "programs in C and C++, static" consumer --static
check "examples compile" examples
check "the debug library of VMMC" vmmc_debug
check "the tutorial shows an example as it is" tutorial_shows
check "programs and libraries: stack, relocations, no RUNPATH" binaries
check "tools run with their library" tools_run
check "make uninstall leaves nothing" uninstall_all
spaces=$(unshare -rm echo yes 2>/dev/null)
check_if "$spaces" "no namespaces" \
	"installed and uninstalled elsewhere, without kmod and headers" as_in_container
check "DKMS: version and kernels" dkms_conf
check_if "$spaces" "no namespaces" "DKMS: other sources of a version, and one module" dkms_install
check_if "$REL" "kernel not in the cache" "DKMS: its sources are enough" dkms_sources
finish
