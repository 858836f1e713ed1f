#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds a copy of the sources, installs into another directory, and checks that the
# installed files suffice. Then uninstalls, and checks that nothing is left.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"
# shellcheck source=selftests/vm/check/files.sh
. selftests/vm/check/files.sh

# ccache knows objects by their paths: the sources are always in the same place, and the
# second build of the module, from the files of DKMS, is in the place of the first.
WORK=$PWD/build/obj/installed
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

install_all() {
	quiet build all KDIR="$KDIR" && quiet build install KDIR="$KDIR" \
		DESTDIR="$ROOT" && present usr/lib/libdd.so usr/lib/libdd.a \
		usr/lib/pkgconfig/libdd.pc usr/lib/librmem.so usr/lib/librmem.a \
		usr/lib/pkgconfig/librmem.pc usr/include/rmem.h usr/sbin/rmclerk \
		usr/lib/systemd/system/rmclerk.service usr/share/man/man8/rmclerk.8 \
		usr/lib/libvmmc.so usr/lib/libvmmc.a usr/lib/libvmmc_debug.so \
		usr/lib/pkgconfig/libvmmc.pc usr/include/vmmc.h usr/share/man/man3/vmmc.3 \
		usr/share/man/man3/vmmc_GetData.3 \
		usr/sbin/vmmcsvr usr/bin/cfgvmmc usr/lib/systemd/system/vmmcsvr.service \
		usr/share/man/man8/vmmcsvr.8 usr/share/man/man1/cfgvmmc.1 etc/dd/vmmcsvr.conf etc/pam.d/vmmcsvr \
		usr/lib/libsbl.so usr/lib/libsbl.a usr/lib/pkgconfig/libsbl.pc usr/include/sbl.h \
		usr/share/man/man3/sbl.3 usr/share/man/man3/SBL_AUMap.3 \
		usr/share/man/man3/rmem.3 usr/share/man/man3/rm_write.3 usr/include/dd.h usr/include/dd_mem.h usr/include/fedex.h \
		usr/include/linux/dd.h usr/include/linux/dd_ddp.h \
		usr/include/linux/dd_mem.h \
		usr/include/linux/dd_netlink.h \
		usr/sbin/ddctl usr/bin/ddcp usr/bin/ddperf usr/bin/rmfs usr/bin/dd-echo-server \
		usr/lib/udev/rules.d/60-dd.rules usr/lib/sysusers.d/dd.conf etc/dd \
		usr/lib/modules-load.d/dd.conf usr/share/man/man8/ddctl.8 \
		usr/lib/systemd/system/dd-cluster.service \
		usr/share/man/man5/dd-cluster.conf.5 \
		usr/share/man/man1/dd-echo-server.1 \
		usr/share/man/man3/ddsend.3 usr/share/man/man3/ddclose.3 usr/share/man/man4/dd.4 \
		usr/share/bash-completion/completions/ddctl \
		usr/share/bash-completion/completions/rmclerk \
		usr/share/ynl/specs/dd.yaml usr/share/doc/dd/protocol.rst \
		usr/share/doc/dd/tutorial.rst \
		"${WIRESHARK#/}/dd.lua"
}

# modprobe finds the module, and it is for that kernel. Without that kernel depmod
# cannot look up symbols.
module() {
	depmod -b "$ROOT" "$REL" &&
		modprobe -d "$ROOT" -S "$REL" --show-depends dd |
		grep "/lib/modules/$REL/extra/dd.ko" &&
		modinfo -b "$ROOT" -k "$REL" -F vermagic dd | grep "^$REL " &&
		modinfo -b "$ROOT" -k "$REL" -F license dd | grep -x GPL
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

# unit NAME COMMAND: systemd accepts the unit, and the unit runs an installed program.
# Messages about other units and network-online.target are ignored.
unit() {
	local unit=$ROOT/usr/lib/systemd/system/$1.service out

	grep -qxF "ExecStart=/usr/sbin/$2" "$unit" || return
	mkdir -p "$WORK/units"
	sed "s,=/usr/sbin/,=$ROOT/usr/sbin/," "$unit" >"$WORK/units/$1.service"
	out=$(systemd-analyze verify --man=no --recursive-errors=no \
		"$WORK/units/$1.service" 2>&1) && ! grep -F "$1" <<<"$out"
}
units() {
	unit dd-cluster "ddctl apply /etc/dd/cluster.conf" &&
		unit rmclerk "rmclerk \$RMCLERK_OPTIONS" && unit vmmcsvr vmmcsvr
}

# The example of a cluster file is valid on one of its machines.
example() {
	"$ROOT/usr/sbin/ddctl" apply --check --node 1 \
		"$ROOT/usr/share/doc/dd/examples/cluster.conf"
}

# --- manual pages --------------------------------------------------------

# Pages and files below /usr that a page refers to exist.
cited() {
	local page name section file bad=0

	for page in "$ROOT"/usr/share/man/man*/*; do
		while read -r name section; do
			[ -e "$ROOT/usr/share/man/man$section/$name.$section" ] &&
				continue
			echo "$page: $name($section) is not installed"
			bad=1
		done < <(sed -n 's/^\.Xr \([dr][dm][^ ]*\|vmmc[^ ]*\|cfgvmmc\) \([1-8]\).*/\1 \2/p' "$page"
			sed -n 's/^\.BR \([dr][dm][^ ]*\|vmmc[^ ]*\) (\([1-8]\)).*/\1 \2/p' "$page")
		while read -r file; do
			[ -e "$ROOT$file" ] && continue
			echo "$page: $file is not installed"
			bad=1
		done < <(sed -n 's/^\.\(Pa\|I\) \(\/usr\/\|\)\([^ ]*\/[^ ]*\).*/\2\3/p' \
			"$page" | grep -v -e '^/etc/' -e '^/proc/' -e '^/dev/' -e '^/sys/' -e '^/run/' -e '^/var/')
	done
	return "$bad"
}

# Installed pages do not refer to texts that only the sources have.
no_ids() { ! grep -rE 'DDP-[0-9]' "$ROOT/usr/share/man" "$ROOT/usr/include"; }

# .Os without an argument names the system that formats the page.
os_is_linux() {
	local pages

	mapfile -t pages < <(grep -lr '^\.Dd ' "$ROOT/usr/share/man")
	! grep -Lx '\.Os Linux' "${pages[@]}" | grep .
}

# --- a program that uses the library --------------------------------------------

pc() {
	PKG_CONFIG_LIBDIR="$ROOT/usr/lib/pkgconfig" \
		PKG_CONFIG_SYSROOT_DIR="$ROOT" pkg-config "$@"
}

# pkg-config does not print the header directories of the system.
flags() {
	pc "$@" --cflags --libs librmem libdd | tr '\n' ' '
	echo "-isystem $ROOT/usr/include"
}

# runs COMMAND...: it succeeds with the installed library.
runs() {
	LD_LIBRARY_PATH=$ROOT/usr/lib "$@" </dev/null
}

# consumer COMPILER ARGUMENT...: compiles, links and runs.
consumer() {
	local out=$WORK/consumer

	rm -f "$out"
	# shellcheck disable=SC2046 # flags
	"$@" -Wall -Wextra -Werror -o "$out" $(flags) && runs "$out"
}

# The hash table that the tutorial shows is the example.
tutorial_shows() {
	local doc=$ROOT/usr/share/doc/dd

	diff -B <(sed -n '/^#include/,$p' "$doc/examples/dd-hash.c") \
		<(sed -n '/^\t#include <dd_mem.h>/,/^[^\t]/ s/^\t//p; /^$/p' "$doc/tutorial.rst")
}

# Each example compiles as it is installed, and says what is missing here: either
# the module, or its argument.
examples() {
	local source out=$WORK/example count=0

	for source in "$ROOT"/usr/share/doc/dd/examples/*.c; do
		[[ $source != */st-*.c ]] || continue
		# shellcheck disable=SC2046 # flags
		gcc -O2 -Wall -Wextra -Werror -o "$out" "$source" $(flags) || return
		! runs "$out" 2>"$WORK/log" && grep -E 'not running|: usage: ' "$WORK/log" ||
			return
		count=$((count + 1))
	done
	[ "$count" = 12 ]
}

# The samples of VMMC compile as they are installed, and say that the module is missing; the debug
# library names the call, too.
vmmc_samples() {
	local doc=$ROOT/usr/share/doc/dd/examples/vmmc out=$WORK/example name library

	for name in latency all2all; do
		for library in vmmc vmmc_debug; do
			# shellcheck disable=SC2046 # flags
			gcc -O2 -Wall -Wextra -Werror -o "$out" "$doc/$name.c" "$doc/group.c" \
				-l$library $(pc --cflags --libs libvmmc libdd) \
				-isystem "$ROOT/usr/include" || return
			! runs "$out" worker >"$WORK/log" 2>&1 &&
				grep -q '^export: no such node' "$WORK/log" || return
			[ "$(grep -c '^vmmc_ExportRecvBuf: ' "$WORK/log")" = \
				"$([ $library = vmmc ]; echo $?)" ] || return
		done
	done
}

# So do those of SBL.
sbl_samples() {
	local doc=$ROOT/usr/share/doc/dd/examples/sbl out=$WORK/example name

	for name in pingpong blackboard; do
		# shellcheck disable=SC2046 # flags
		gcc -O2 -Wall -Wextra -Werror -o "$out" "$doc/$name.c" "$doc/member.c" \
			$(pc --cflags --libs libsbl libdd) -isystem "$ROOT/usr/include" || return
	done
	! runs "$out" 0 1 text >"$WORK/log" 2>&1 && grep -q '^export: no such node' "$WORK/log"
}

# Those of ST find the header and the library, which are in directories of their own.
st_samples() {
	local name out=$WORK/example

	for name in lat bw store; do
		# shellcheck disable=SC2046 # flags
		gcc -O2 -Wall -Wextra -Werror -o "$out" \
			"$ROOT/usr/share/doc/dd/examples/st-$name.c" $(pc --cflags --libs dd-st) \
			"-Wl,-rpath-link,$ROOT/usr/lib" || return
		! LD_LIBRARY_PATH=$ROOT/usr/lib:$ROOT/usr/lib/dd "$out" 2>"$WORK/log" &&
			grep -q ': usage: ' "$WORK/log" || return
	done
}

# The library and pkg-config report the same version.
library_version() {
	consumer gcc selftests/vm/check/consumer.c &&
		runs "$WORK/consumer" "$(pc --modversion libdd)" &&
		! runs "$WORK/consumer" 0.0.0
}

consumer_static() {
	local out=$WORK/consumer

	rm -f "$out"
	# shellcheck disable=SC2046 # flags
	"$@" -Wall -Wextra -Werror -static -o "$out" $(flags --static) &&
		! readelf -d "$out" | grep NEEDED && "$out"
}

# The installation works in another place, also for pkg-config.
relocatable() {
	local moved=$WORK/moved

	cp -r "$ROOT/usr" "$moved"
	PKG_CONFIG_LIBDIR=$moved/lib/pkgconfig pkg-config --define-prefix \
		--cflags --libs libdd | tee "$WORK/log"
	grep -q -e "-I$moved/include " "$WORK/log" &&
		grep -q -e "-L$moved/lib " "$WORK/log"
}

version_is_ours() {
	[ "$(pc --modversion libdd)" = "$VERSION" ]
}

# --- the library -------------------------------------------------------------

lib=$ROOT/usr/lib/libdd.so.0

relocations() {
	! readelf -d "$lib" | grep -w TEXTREL &&
		! readelf -lW "$lib" | grep -E 'GNU_STACK.*E|LOAD.*WE'
}

# The library names all libraries that it uses: link the archive with -z defs.
defined() {
	gcc -shared -pthread -Wl,-z,defs -Wl,--fatal-warnings -Wl,--whole-archive \
		"$ROOT/usr/lib/libdd.a" -Wl,--no-whole-archive -o "$WORK/all.so"
}

# Installed programs have no RUNPATH.
no_runpath() {
	local file bad=0

	for file in "$ROOT"/usr/bin/* "$ROOT"/usr/sbin/* "$lib"; do
		! readelf -d "$file" | grep -E 'RUNPATH|RPATH' && continue
		echo "$file has it"
		bad=1
	done
	return "$bad"
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

# No program of kmod, no kernel headers, no modules of the running kernel.
as_in_container() {
	mkdir -p "$WORK/tools"
	# shellcheck disable=SC2016 # the other shell's
	here bash -c '
		quiet build install KDIR=/nonexistent PREFIX="$WORK/usr" &&
		[ -e "$WORK/usr/lib/libdd.so.0" ] && [ -d /etc/dd ] &&
		quiet build uninstall KDIR=/nonexistent PREFIX="$WORK/usr" &&
		[ -z "$(find "$WORK/usr" /etc/dd ! -type d 2>/dev/null)" ]'
}

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

# The sources of another commit have the same version; files may be gone.
dkms_again() {
	fake_dkms
	# shellcheck disable=SC2016 # the other shell's
	here bash -c '
		again() { quiet build dkms-install DKMS_SRC="$WORK/usr/src"; }
		mkdir -p "$WORK/usr" && again && : >"$WORK/usr/src/kernel/gone.c" &&
		echo "/* changed */" >>"$SRC/kernel/main.c" && again &&
		grep -q changed "$WORK/usr/dkms/kernel/main.c" &&
		[ ! -e "$WORK/usr/dkms/kernel/gone.c" ]'
}

# One module is installed: that of DKMS, or the other one.
one_module() {
	fake_dkms
	mkdir -p "$WORK/kdir"
	echo 'modules modules_install:' >"$WORK/kdir/Makefile"
	# shellcheck disable=SC2016 # the other shell's
	here bash -c '
		set -e
		dir=$WORK/usr/modules
		with="KDIR=$WORK/kdir MOD_DIR=$dir PREFIX=$WORK/usr DKMS_SRC=$WORK/usr/src"
		mkdir -p $dir/updates/dkms $dir/extra
		: >$dir/updates/dkms/dd.ko.xz
		build -n install $with >"$WORK/log"
		! grep modules_install "$WORK/log"
		grep -q "DKMS has $dir/updates/dkms/dd.ko.xz" "$WORK/log"
		rm $dir/updates/dkms/dd.ko.xz
		build -n install $with >"$WORK/log"
		grep -q modules_install "$WORK/log"
		: >$dir/extra/dd.ko
		quiet build dkms-install $with
		[ ! -e $dir/extra/dd.ko ]'
}

# --- DKMS --------------------------------------------------------------------

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

# DKMS builds for supported kernels only.
dkms_kernels() {
	local release want bad=0

	while read -r want release; do
		# shellcheck source=dkms.conf
		(kernel_source_dir='' dkms_tree='' && . ./dkms.conf &&
			[[ $release =~ ${BUILD_EXCLUSIVE_KERNEL:-.} ]])
		[ $? = "$want" ] && continue
		echo "$release"
		bad=1
	done <<-EOT
	0 6.1.0-37-amd64
	0 6.12.30+deb12-amd64
	0 6.12.9
	0 7.3.4+deb13-amd64
	1 5.10.0-35-amd64
	1 6.10.0
	1 6.16.3-amd64
	1 7.30.1
	1 16.1.0
	EOT
	return "$bad"
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
	check "systemd units" units
else
	skip "systemd units" "systemd-analyze is not installed"
fi
check "example of a cluster file" example
check "manual pages: what they cite is installed" cited
check "manual pages and headers: no requirement ids" no_ids
check "manual pages: about Linux, wherever formatted" os_is_linux
check "pkg-config: version" version_is_ours
check "pkg-config: moves with its prefix" relocatable
check "library: version" library_version
check "examples compile and run" examples
check "the samples of VMMC, also with the debug library" vmmc_samples
check "the samples of SBL" sbl_samples
check "the samples of ST" st_samples
check "the tutorial shows an example as it is" tutorial_shows
check "a program in C" consumer gcc selftests/vm/check/consumer.c
check "a program in C, static" consumer_static gcc selftests/vm/check/consumer.c
check "a program in C++" consumer g++ -x c++ selftests/vm/check/consumer.c -x none
check "a program in C++, static" \
	consumer_static g++ -x c++ selftests/vm/check/consumer.c -x none
check "library: no text relocation, no executable stack" relocations
check "library: nothing undefined" defined
check "programs and library: no RUNPATH" no_runpath
check "tools run with their library" tools_run
check "make uninstall leaves nothing" uninstall_all
check "another PREFIX, there and back" other_prefix
if unshare -rm true 2>/dev/null; then
	check "installed and uninstalled without kmod and headers" as_in_container
	check "DKMS: other sources of the same version" dkms_again
	check "DKMS or make install: one module" one_module
else
	skip "installed and uninstalled without kmod and headers" "no namespaces"
	skip "DKMS: other sources of the same version" "no namespaces"
	skip "DKMS or make install: one module" "no namespaces"
fi
check "DKMS: which kernels" dkms_kernels
if [ -n "$REL" ]; then
	check "DKMS: its sources are enough" dkms_sources
else
	skip "DKMS: its sources are enough" "kernel not in the cache"
fi
finish
