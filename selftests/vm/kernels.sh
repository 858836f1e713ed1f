#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The kernels that guests boot, in a cache outside the tree; nothing is
# installed on this machine.
#
#   kernels.sh fetch [KERNEL]...                 make them available (all of the gate)
#   kernels.sh path KERNEL image|build|modules|source|release
#
#   stock   Debian 12's linux-image-amd64 and its headers
#   6.12    the same of bookworm-backports
#   7.x     the same of trixie-backports, with that suite's libc6 for its build tools
#   source  Debian 12's linux-source-6.1, unpacked
#   source-7.3
#           trixie-backports' linux-source-7.3, unpacked
#           These four have the versions of kernels.pin, if Debian still has them.
#   ynl     the netlink generator of bookworm-backports' linux-source-6.12
#   debug, um, kcsan
#           built from Debian 12's source, um for User-Mode Linux, with guest.config
#           and further fragments: see fragments() below
#   um-smp, um-smp-debug
#           the same for User-Mode Linux with two processors, from source-7.3; the
#           latter with all checks
#
# DD_CACHE names the cache, DD_DEBIAN_MIRROR a Debian mirror, for a host whose
# own package sources name none.
set -euo pipefail
# shellcheck source=selftests/vm/common.sh
. "$(dirname "$0")/common.sh"

KERNELS=(stock 6.12 7.x source source-7.3 ynl um um-smp-debug)

# --- packages, through an apt configuration of our own -----------------------

APT_DIR=$DD_CACHE/apt

apt_opts=(
	-o Dir::State="$APT_DIR/state"
	-o Dir::State::status="$APT_DIR/status"
	-o Dir::Cache="$APT_DIR/cache"
	-o Dir::Etc::sourcelist="$APT_DIR/sources.list"
	-o Dir::Etc::sourceparts=/dev/null
	-o APT::Sandbox::User=
	-o Acquire::Languages=none
	-o Acquire::Retries=3
)

# host_uri PATTERN: where this machine gets the suites matching PATTERN from.
host_uri() {
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' \
		'Created-By: Packages' |
		awk -v pat="$1" '$1 ~ /\/debian/ && $2 ~ pat && !n++ { print $1 }'
}

write_sources() {
	local main security by='' ring=/usr/share/keyrings/debian-archive-keyring.gpg

	main=${DD_DEBIAN_MIRROR:-$(host_uri '^[a-z]+$')}
	[ -n "$main" ] || die "no Debian mirror in this machine's package sources; set DD_DEBIAN_MIRROR"
	security=$(host_uri '-security$')
	security=${security:-${main%/}-security}
	[ ! -e "$ring" ] || by="[signed-by=$ring]"
	cat <<-LIST
	deb $by $main bookworm main
	deb $by $main bookworm-backports main
	deb $by $main trixie main
	deb $by $main trixie-backports main
	deb $by $security bookworm-security main
	LIST
}

# apt_init SUITE: the one whose packages are preferred, with its updates.
apt_init() {
	apt_opts+=(-o APT::Default-Release="/^$1(|-security)\$/")
	mkdir -p "$APT_DIR/state/lists/partial" "$APT_DIR/cache/archives/partial"
	: >>"$APT_DIR/status"
	write_sources >"$APT_DIR/sources.list"
	apt-get "${apt_opts[@]}" -qq update
}

# depends PACKAGE PATTERN: the dependency of PACKAGE that matches.
depends() {
	apt-cache "${apt_opts[@]}" show --no-all-versions "$1" |
		sed -n 's/^Depends: //p' | tr ',' '\n' | sed 's/^ *//; s/ .*//' |
		awk -v pat="$2" '$1 ~ pat && !n++' | grep . ||
		die "$1 depends on no $2"
}

# pin KERNEL: its package and version.
pin() { awk -v kernel="$1" '$1 == kernel { print $2, $3 }' "$VM_DIR/kernels.pin"; }

# in_archive PACKAGE VERSION
in_archive() { apt-cache "${apt_opts[@]}" madison "$1" | grep -qF "| $2 |"; }

# pinned KERNEL CURRENT: sets $package and $version, those of kernels.pin or, if
# Debian does not have these any more, CURRENT and nothing.
pinned() {
	read -r package version < <(pin "$1")
	if in_archive "$package" "$version" &&
		in_archive "${package/image/headers}" "$version"; then
		return
	fi
	say "$package $version is not in Debian's archive any more: $1 is $2"
	package=$2 version=''
}

# unpack DIRECTORY PACKAGE...
unpack() {
	local dir=$1 deb tmp

	shift
	tmp=$(mktemp -d "$DD_CACHE/deb.XXXXXX")
	say "fetching $*"
	(cd "$tmp" && apt-get "${apt_opts[@]}" -qq download "$@")
	for deb in "$tmp"/*.deb; do
		dpkg-deb -x "$deb" "$dir"
	done
	rm -rf "$tmp"
}

# --- Debian's binary kernels -------------------------------------------------

# siblings PACKAGE RELEASE: the packages of that kernel among its dependencies, for
# an image of several packages.
siblings() {
	apt-cache "${apt_opts[@]}" show --no-all-versions "$1" |
		sed -n 's/^Depends: //p' | tr ',' '\n' | sed 's/^ *//; s/ .*//' |
		grep -F -- "-$2" || true
}

# As in the packages of kernels before 7.
old_places() {
	local dir=$1 rel=$2

	[ ! -e "$dir/usr/lib/modules" ] || ln -s usr/lib "$dir/lib"
	[ ! -e "$dir/lib/modules/$rel/vmlinuz" ] ||
		install -D "$dir/lib/modules/$rel/vmlinuz" "$dir/boot/vmlinuz-$rel"
}

# this_compiler DIRECTORY: build for a kernel of another compiler version, without
# the options of that.
this_compiler() {
	sed -i 's/gcc-[0-9]*$/gcc/' "$1/.kernelvariables" 2>/dev/null || return 0
	gcc -fmin-function-alignment=16 -E -x c /dev/null >/dev/null 2>&1 ||
		sed -i '/CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT/d' "$1/include/config/auto.conf"
}

# can_check DIRECTORY: Debian's headers lack a script without which the makefile of 7.3 runs no
# checker.
can_check() {
	local script=$1/scripts/checker-valid.sh

	grep -q checker-valid "$1/Makefile" || return 0
	printf '#!/bin/sh\necho 1\n' >"$script"
	chmod +x "$script"
}

# later_libc DIRECTORY SUITE: run build tools that need a later C library than this
# machine's with that of SUITE.
later_libc() {
	local dir=$1/libc lib=$1/libc/usr/lib/x86_64-linux-gnu tools tool

	mapfile -t tools < <(find "$1"/usr/lib/linux-kbuild-* -name '*.real-lsb-64' -o \
		-name '*.real-x86')
	for tool in "${tools[@]}"; do
		[[ "$(ldd "$tool" 2>&1)" == *"not found"* ]] || continue
		[ -d "$dir" ] || unpack "$dir" "libc6/$2"
		mv "$tool" "$tool.program"
		printf '#!/bin/sh\nexec %s --library-path %s %s "$@"\n' \
			"$lib/ld-linux-x86-64.so.2" "$lib" "$tool.program" >"$tool"
		chmod +x "$tool"
	done
}

# packaged_kernel NAME SUITE: image and headers, unpacked and ready to build on.
packaged_kernel() {
	local dir=$DD_CACHE/$1 package version rel headers common kbuild parts

	apt_init "$2"
	pinned "$1" "$(depends linux-image-amd64 '^linux-image-')"
	rel=${package#linux-image-}
	headers=linux-headers-$rel
	common=$(depends "$headers" '^linux-headers-.*-common')
	kbuild=$(depends "$headers" '^linux-kbuild-')

	mapfile -t parts < <(siblings "$package" "$rel")
	parts+=("$package" "$headers" "$common" "$kbuild")

	rm -rf "$dir"
	unpack "$dir" "${parts[@]/%/${version:+=$version}}"
	old_places "$dir" "$rel"
	this_compiler "$dir/usr/src/$headers"
	can_check "$dir/usr/src/$common"
	later_libc "$dir" "${2%-backports}"
	# Debian's makefiles name the place where they are installed.
	sed -i "s#/usr/src/#$dir/usr/src/#; s#/usr/lib/linux-kbuild#$dir&#" \
		"$dir/usr/src/$headers/Makefile"
	depmod -b "$dir" "$rel"
	pin "$1" >"$dir/pin"
	echo "$rel" >"$dir/release"
}

# number FILE OFFSET BYTES: in FILE, the lowest byte first.
number() { od -An -v -tu"$3" -j"$2" -N"$3" "$1" | tr -d ' '; }

# kernel_of IMAGE: the kernel that is compressed in it (xz), by the x86 boot
# protocol. An emulated machine needs 6 s to unpack it.
kernel_of() {
	local start

	start=$((512 * ($(number "$1" 497 1) + 1) + $(number "$1" 584 4)))
	dd if="$1" iflag=skip_bytes,count_bytes bs=1M skip="$start" \
		count="$(number "$1" 588 4)" status=none | xz -dc --single-stream
}

fetch_stock() {
	local dir=$DD_CACHE/stock

	if [ ! -s "$dir/release" ] || ! is_pinned stock "$dir"; then
		packaged_kernel stock bookworm
	fi
	kernel_of "$dir/boot/vmlinuz-$(cat "$dir/release")" >"$dir/vmlinux.new"
	mv "$dir/vmlinux.new" "$dir/vmlinux"
}

fetch_6.12() { packaged_kernel 6.12 bookworm-backports; }

fetch_7.x() { packaged_kernel 7.x trixie-backports; }

# --- kernels that are built --------------------------------------------------

# fetch_unpacked NAME SUITE CURRENT-PACKAGE
fetch_unpacked() {
	local dir=$DD_CACHE/$1 tmp package version

	apt_init "$2"
	pinned "$1" "$3"
	tmp=$(mktemp -d "$DD_CACHE/src.XXXXXX")
	unpack "$tmp" "$package${version:+=$version}"
	rm -rf "$dir"
	tar -C "$tmp" -xf "$tmp/usr/src/$package.tar.xz"
	zcat "$tmp/usr/share/doc/$package/changelog.Debian.gz" |
		sed -n '1s/.*(\(.*\)).*/\1/p' >"$tmp/version"
	pin "$1" >"$tmp/$package/pin"
	mv "$tmp/$package" "$dir"
	mv "$tmp/version" "$dir/release"
	rm -rf "$tmp"
}

fetch_source() { fetch_unpacked source bookworm linux-source-6.1; }

fetch_source-7.3() { fetch_unpacked source-7.3 trixie-backports linux-source-7.3; }

# Debian 12's own source has no generator.
fetch_ynl() {
	local dir=$DD_CACHE/ynl name=linux-source-6.12 tmp

	apt_init bookworm-backports
	tmp=$(mktemp -d "$DD_CACHE/src.XXXXXX")
	unpack "$tmp" $name
	rm -rf "$dir"
	mkdir "$dir"
	tar -C "$dir" --strip-components=1 -xf "$tmp/usr/src/$name.tar.xz" \
		$name/tools/net/ynl $name/Documentation/netlink
	zcat "$tmp/usr/share/doc/$name/changelog.Debian.gz" |
		sed -n '1s/.*(\(.*\)).*/\1/p' >"$tmp/version"
	mv "$tmp/version" "$dir/release"
	rm -rf "$tmp"
}

# Further arguments of make, one per line. KCSAN instruments dd.ko and the data
# structures that order dd's objects; races elsewhere in the kernel are out of
# scope, and without instrumentation it is fast. Barriers of its locks and grace
# periods count.
build_args() {
	case $1 in
	um*) echo ARCH=um ;;
	kcsan)
		echo KCSAN_SANITIZE=n
		printf 'KCSAN_SANITIZE_%s.o=y\n' rbtree xarray
		printf 'KCSAN_INSTRUMENT_BARRIERS_%s.o=y\n' spinlock mutex rwsem \
			tree srcutree update workqueue refcount sock
		;;
	esac
}

image_target() {
	case $1 in
	um*) echo linux ;;
	*) echo bzImage ;;
	esac
}

# The source of a kernel that is built here.
source_of() {
	case $1 in
	um-smp*) echo source-7.3 ;;
	*) echo source ;;
	esac
}

# The patch of a kernel that is built here.
patch_of() {
	case $1 in
	um-smp*) echo um-smp.patch ;;
	*) echo "$1.patch" ;;
	esac
}

# The options that a kernel that is built here asks for. Some no longer have a name of
# their own in 7.3.
fragments() {
	local gone=' '

	[[ "$1" != um-smp* ]] || gone='CONFIG_(LIBCRC32C|MEMCG_KMEM|PROC_SYSCTL|SCHED_DEBUG)'
	case $1 in
	debug) set -- guest qemu checks debug ;;
	um) set -- guest checks um ;;
	um-smp) set -- guest um-smp ;;
	um-smp-debug) set -- guest checks um-smp um-smp-debug ;;
	kcsan) set -- guest qemu kcsan ;;
	esac
	(cd "$VM_DIR" && cat "${@/%/.config}" | grep -vE "^($gone)=")
}

# What a kernel is made of; comments do not count.
built_key() {
	{
		cat "$DD_CACHE/$(source_of "$1")/release"
		fragments "$1" | grep '^CONFIG_'
		cat "$VM_DIR/$(patch_of "$1")" 2>/dev/null || true
		build_args "$1"
		gcc --version | head -n 1
	} | sha256sum | cut -c1-12
}

# missing_options NAME DIRECTORY
missing_options() {
	fragments "$1" | grep '^CONFIG_' | sort -u |
		comm -23 - <(sort "$2/.config")
}

# configure NAME DIRECTORY MAKE-ARGUMENT...
configure() {
	local name=$1 dir=$2 src missing

	shift 2
	src=$DD_CACHE/$(source_of "$name")
	make -s -C "$src" O="$dir" "$@" allnoconfig >/dev/null
	fragments "$name" >"$dir/requested"
	(cd "$dir" && "$src/scripts/kconfig/merge_config.sh" -m .config requested) >/dev/null
	make -s -C "$src" O="$dir" "$@" olddefconfig 2>/dev/null
	# allnoconfig writes it, for 32 bits on um; the build writes it again.
	rm -f "$dir/include/config/auto.conf"
	missing=$(missing_options "$name" "$dir")
	[ -z "$missing" ] ||
		die "fragments of $name ask for what this kernel does not set: ${missing//$'\n'/ }"
}

# The patches touch arch/um only: the source of the other kernels stays the same. A
# copy of a patch names what has been applied.
patch_source() {
	local patch src

	patch=$(patch_of "$1")
	src=$DD_CACHE/$(source_of "$1")
	[ -e "$VM_DIR/$patch" ] || return 0
	! cmp -s "$VM_DIR/$patch" "$src/$patch" || return 0
	[ ! -e "$src/$patch" ] || patch -s -R -p1 -d "$src" -i "$patch"
	patch -s -p1 -d "$src" -i "$VM_DIR/$patch"
	cp "$VM_DIR/$patch" "$src/"
}

# build NAME CPU-MINUTES. The stamp "release" is written last: an interrupted build
# is continued by the next run.
build() {
	local name=$1 dir args

	fetch "$(source_of "$name")"
	with_lock "patch-$(source_of "$name")" 600 patch_source "$name"
	dir=$DD_CACHE/$name-$(built_key "$name")
	say "building the $name kernel in $dir (some $2 CPU minutes)"
	mkdir -p "$dir"
	mapfile -t args < <(build_args "$name")
	# Configuring again would compile everything again.
	[ -e "$dir/configured" ] || configure "$name" "$dir" "${args[@]}"
	: >"$dir/configured"
	nice make -s -C "$dir" -j"$(nproc)" "${args[@]}" "$(image_target "$name")" modules \
		>"$dir/build.log" 2>&1 ||
		{ tail -n 30 "$dir/build.log" >&2; die "see $dir/build.log"; }
	make -s -C "$dir" "${args[@]}" kernelrelease >"$dir/release.new"
	mv "$dir/release.new" "$dir/release"
}

fetch_debug() { build debug 20; }

fetch_um() { build um 20; }
fetch_um-smp() { build um-smp 12; }
fetch_um-smp-debug() { build um-smp-debug 25; }

fetch_kcsan() { build kcsan 10; }

# --- the cache ---------------------------------------------------------------

dir_of() {
	case $1 in
	stock | 6.12 | 7.x | source | source-7.3 | ynl) echo "$DD_CACHE/$1" ;;
	debug | um* | kcsan)
		[ -s "$DD_CACHE/$(source_of "$1")/release" ] || return 0
		echo "$DD_CACHE/$1-$(built_key "$1")"
		;;
	*) die "no kernel $1; there are: ${KERNELS[*]} um-smp debug kcsan" ;;
	esac
}

# is_pinned KERNEL DIRECTORY: whether it was fetched for this line of kernels.pin.
is_pinned() { [ "$(pin "$1")" = "$(cat "$2/pin" 2>/dev/null)" ]; }

present() {
	local dir

	dir=$(dir_of "$1")
	[ -s "$dir/release" ] || return
	case $1 in
	stock) is_pinned stock "$dir" && [ -s "$dir/vmlinux" ] ;;
	7.x) is_pinned 7.x "$dir" && compgen -G "$dir/usr/src/*/scripts/checker-valid.sh" >/dev/null ;;
	6.12 | source | source-7.3) is_pinned "$1" "$dir" ;;
	esac
}

fetch_absent() { present "$1" || "fetch_$1"; }

fetch() {
	present "$1" || with_lock "kernel-$1" 5400 fetch_absent "$1"
}

path() {
	local dir rel

	present "$1" || die "kernel $1 is not in $DD_CACHE; run: make kernels"
	dir=$(dir_of "$1")
	rel=$(cat "$dir/release")
	case $1:$2 in
	*:release) echo "$rel" ;;
	source:* | source-7.3:* | ynl:*) echo "$dir" ;;
	um*:image) echo "$dir/linux" ;;
	debug:image | kcsan:image) echo "$dir/arch/x86/boot/bzImage" ;;
	debug:build | um*:build | kcsan:build) echo "$dir" ;;
	debug:modules | um*:modules | kcsan:modules) echo "$dir" ;;
	stock:image) echo "$dir/vmlinux" ;;
	*:image) echo "$dir/boot/vmlinuz-$rel" ;;
	*:build) echo "$dir/usr/src/linux-headers-$rel" ;;
	*:modules) echo "$dir/lib/modules/$rel" ;;
	*:source) echo "$dir/usr/src/linux-headers-${rel%-amd64}-common" ;;
	*) die "no $2 of kernel $1" ;;
	esac
}

case ${1:-} in
fetch)
	shift
	[ $# -gt 0 ] || set -- "${KERNELS[@]}"
	for k; do
		fetch "$k"
	done
	;;
path) path "${2:?kernel}" "${3:?what}" ;;
*) die "usage: kernels.sh fetch [KERNEL]... | path KERNEL image|build|modules|source|release" ;;
esac
