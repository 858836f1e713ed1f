#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The parts of a guest's initramfs, each a cpio archive; the kernel unpacks
# their concatenation.
#
#   image.sh base            programs of this machine and their libraries
#   image.sh modules KERNEL  modules of the kernel's package
#   image.sh more LIST       further programs, by name, and files, by path or
#                            pattern, that LIST has
#   image.sh tree FILE       this checkout with its build products and the libraries
#                            they need
#
# The first three are cached and print the path of the archive; the last one writes
# FILE.
set -euo pipefail
# shellcheck source=selftests/vm/common.sh
. "$(dirname "$0")/common.sh"

PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin

entries() { grep -v '^#' "$VM_DIR/$1"; }

# pack DIRECTORY FILE: archive DIRECTORY with root as the owner of everything.
pack() {
	chmod 755 "$1"
	(cd "$1" && find . -print0 | sort -z |
		cpio --quiet -0 -o -H newc -R 0:0) >"$2.new"
	mv "$2.new" "$2"
}

# --- programs ----------------------------------------------------------------

program_paths() {
	local p

	for p in $(entries programs.list); do
		type -P "$p" || die "guests need $p; run: make deps"
	done
}

base_key() {
	{
		cat "$VM_DIR/image.sh" "$VM_DIR/programs.list"
		program_paths | xargs stat -L -c '%n %s %Y'
		stat -c %Y /var/lib/dpkg/status
	} | sha256sum | cut -c1-12
}

# install_libraries ROOT PROGRAM...: the libraries that the dynamic loader finds for
# them. Scripts and static programs have none.
install_libraries() {
	local root=$1 lib

	shift
	{ ldd "$@" 2>/dev/null || true; } | awk '$2 == "=>" && $3 ~ /^\// { print $3 }
		$1 ~ /^\// && NF == 2 { print $1 }' | sort -u |
		while read -r lib; do
			[[ "$lib" == "$TOP"/* ]] ||
				install -D -m 755 "$lib" "$root/usr${lib#/usr}"
		done
}

SECURITY=/usr/lib/x86_64-linux-gnu/security
install_programs() {
	local root=$1 programs

	mapfile -t programs < <(program_paths)
	cp -L "${programs[@]}" "$root/usr/bin/"
	install_libraries "$root" "${programs[@]}"
	# Debian's jq compiles its library at each start: 175 million instructions,
	# seconds of an emulated processor.
	mv "$root/usr/bin/gojq" "$root/usr/bin/jq"
	# glibc loads it when a thread is cancelled; no program names it.
	install -D /lib/x86_64-linux-gnu/libgcc_s.so.1 \
		"$root/usr/lib/x86_64-linux-gnu/libgcc_s.so.1"
	# PAM loads its modules by their names.
	install -D -m 644 -t "$root$SECURITY" $SECURITY/pam_{limits,unix}.so
	install_libraries "$root" $SECURITY/pam_{limits,unix}.so
	install -D -m 644 -t "$root/etc/security" /etc/security/limits.conf
	# libibverbs loads the driver of soft-RoCE by its name.
	install -D -m 644 -t "$root/etc/libibverbs.d" /etc/libibverbs.d/rxe.driver
	install -D -t "$root/usr/lib/x86_64-linux-gnu/libibverbs" \
		/usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav*.so
}

install_busybox() {
	local root=$1 applet

	cp -L "$(type -P busybox)" "$root/usr/bin/busybox"
	for applet in $("$root/usr/bin/busybox" --list); do
		[ -e "$root/usr/bin/$applet" ] ||
			ln -s busybox "$root/usr/bin/$applet"
	done
}

write_accounts() {
	local etc=$1/etc

	cat >"$etc/passwd" <<-EOT
	root:x:0:0:root:/root:/bin/bash
	alice:x:1000:1000::/tmp:/bin/bash
	bob:x:1001:1001::/tmp:/bin/bash
	nobody:x:65534:65534::/nonexistent:/bin/false
	EOT
	cat >"$etc/group" <<-EOT
	root:x:0:
	dd:x:900:alice,bob
	alice:x:1000:
	bob:x:1001:
	nogroup:x:65534:
	EOT
	echo "127.0.0.1 localhost" >"$etc/hosts"
	printf '%s:*:1::::::\n' root alice bob >"$etc/shadow"
	echo dd >"$etc/hostname"
	cat >"$etc/fstab" <<-EOT
	proc /proc proc defaults
	sysfs /sys sysfs defaults
	devtmpfs /dev devtmpfs defaults
	devpts /dev/pts devpts gid=5,mode=620,ptmxmode=666,X-mount.mkdir
	shm /dev/shm tmpfs mode=1777,X-mount.mkdir
	hugetlbfs /dev/hugepages hugetlbfs mode=1777,X-mount.mkdir
	debugfs /sys/kernel/debug debugfs defaults
	tracefs /sys/kernel/tracing tracefs defaults
	cgroup2 /sys/fs/cgroup cgroup2 defaults
	EOT
}

# Links for /dev and the pipes of init.
make_nodes() {
	mkdir -p "$1/usr/share/dev"
	ln -s /proc/self/fd "$1/usr/share/dev/fd"
	ln -s /proc/self/fd/0 "$1/usr/share/dev/stdin"
	ln -s /proc/self/fd/1 "$1/usr/share/dev/stdout"
	ln -s /proc/self/fd/2 "$1/usr/share/dev/stderr"
	mkfifo "$1/run/never" "$1/run/output"
}

make_base() {
	local file=$1 root

	root=$(mktemp -d "$DD_CACHE/root.XXXXXX")
	(
		cd "$root"
		mkdir -p usr/bin usr/lib usr/lib64 etc/ld.so.conf.d \
			dev proc sys run root mnt var/tmp tmp
		chmod 1777 tmp var/tmp
		ln -s bin usr/sbin
		ln -s usr/bin usr/sbin usr/lib usr/lib64 .
		ln -s ../run var/run
	)
	install_programs "$root"
	install_busybox "$root"
	write_accounts "$root"
	make_nodes "$root"
	cp /etc/services /etc/protocols "$root/etc/" 2>/dev/null || true
	echo "/usr/lib/x86_64-linux-gnu" >"$root/etc/ld.so.conf"
	ldconfig -r "$root"
	pack "$root" "$file"
	rm -rf "$root"
}

# --- more of them ------------------------------------------------------------

# more_paths LIST: the paths of its entries.
more_paths() {
	local entry

	grep -v '^#' "$1" | while read -r entry; do
		case $entry in
		/*) compgen -G "$entry" ;;
		*) type -P "$entry" ;;
		esac || die "guests need $entry; run: $VM_DIR/deps.sh bench"
	done
}

more_key() {
	{
		cat "$VM_DIR/image.sh" "$1"
		stat -c %Y /var/lib/dpkg/status
	} | sha256sum | cut -c1-12
}

# make_more FILE LIST
make_more() {
	local root path paths

	root=$(mktemp -d "$DD_CACHE/root.XXXXXX")
	mapfile -t paths < <(more_paths "$2")
	# The guest's /usr/sbin is a link.
	for path in "${paths[@]}"; do
		install -D -m "$(stat -L -c %a "$path")" "$path" \
			"$root${path/#\/usr\/sbin/\/usr\/bin}"
	done
	install_libraries "$root" "${paths[@]}"
	pack "$root" "$1"
	rm -rf "$root"
}

# --- modules -----------------------------------------------------------------

modules_key() {
	{
		echo "$1"
		cat "$VM_DIR/modules.list" "$VM_DIR/image.sh"
	} | sha256sum | cut -c1-12
}

# insmods DIRECTORY RELEASE: the commands that load the modules. Newer kernels have
# those with a question mark built in, or do without.
insmods() {
	local name

	entries modules.list | while read -r name; do
		modprobe -d "$1" -S "$2" -D "${name#\?}" 2>/dev/null ||
			[[ $name == \?* ]] || die "$2 has no module $name"
	done
}

# make_modules FILE KERNEL RELEASE
make_modules() {
	local file=$1 from=$DD_CACHE/$2 rel=$3 root dir=lib/modules/$3

	root=$(mktemp -d "$DD_CACHE/root.XXXXXX")
	mkdir -p "$root/usr/$dir"
	: >"$root/usr/$dir/modules.order"
	: >"$root/usr/$dir/modules.builtin"
	: >"$root/usr/$dir/modules.builtin.modinfo"
	case $2 in
	debug | um | um-smp | kcsan) ;;	# everything is built in
	*)
		insmods "$from" "$rel" |
			awk '$1 == "insmod" { print $2 }' | sort -u |
			while read -r ko; do
				install -D -m 644 "$ko" "$root/usr/${ko#"$from"/}"
			done
		cp "$from/$dir"/modules.{order,builtin*} "$root/usr/$dir/"
		;;
	esac
	pack "$root" "$file"
	rm -rf "$root"
}

# --- the checkout ------------------------------------------------------------

# Sources, and build products without objects.
tree_files() {
	if git -C "$TOP" rev-parse --git-dir >/dev/null 2>&1; then
		git -C "$TOP" ls-files -z -co --exclude-standard |
			grep -zv '^build/'
	else
		(cd "$TOP" && find . -path ./build -prune -o -type f -print0)
	fi
	# cpio fails if a test of the host deletes a file of its own meanwhile.
	[ ! -d "$TOP/build" ] || (cd "$TOP" && find build \
		-regex 'build/\(kmod\|vm\|obj\|fuzz\|model\|mutants\|net\|ring\|test\)' -prune -o \
		! -type d ! -name '*.[oad]' ! -name '*.cmd' -print0)
}

existing() {
	local file

	while IFS= read -r -d '' file; do
		[ ! -e "$TOP/$file" ] || printf '%s\0' "$TOP/$file"
	done
}

# In a cpio archive the directories above a file come before it.
with_parents() {
	awk 'BEGIN { RS = ORS = "\0" } {
		for (i = 2; i <= length($0); i++)
			if (substr($0, i, 1) == "/" && !seen[d = substr($0, 1, i - 1)]++)
				print d
		print
	}'
}

built_programs() {
	find "$TOP/build/bin" "$TOP/build/lib" "$TOP/build/selftests" \
		-type f -perm /111 2>/dev/null || true
}

make_tree() {
	local root

	root=$(mktemp -d "$DD_CACHE/root.XXXXXX")
	mkdir "$root/usr"
	# shellcheck disable=SC2046 # paths of ours
	install_libraries "$root" $(built_programs)
	pack "$root" "$1"
	rm -rf "$root"
	tree_files | existing | sed -z 's#^/##' | with_parents |
		(cd / && cpio --quiet -0 -o -H newc -R 0:0) >>"$1"
}

cached() {
	local file=$1

	shift
	[ -s "$file" ] || {
		# Another run may use a recent archive.
		find "$DD_CACHE" -maxdepth 1 -mtime +3 \
			\( -name '*.cpio' -o -name 'r*.??????' \) \
			-exec rm -rf {} +
		with_lock image 600 "$@"
	}
	echo "$file"
}

case ${1:-} in
base)
	file=$DD_CACHE/base-$(base_key).cpio
	cached "$file" make_base "$file"
	;;
modules)
	rel=$("$VM_DIR/kernels.sh" path "$2" release)
	file=$DD_CACHE/modules-$rel-$(modules_key "$2").cpio
	cached "$file" make_modules "$file" "$2" "$rel"
	;;
more)
	file=$DD_CACHE/more-$(more_key "${2:?list}").cpio
	more_paths "$2" >/dev/null
	cached "$file" make_more "$file" "$2"
	;;
tree) make_tree "${2:?file}" ;;
*) die "usage: image.sh base | modules KERNEL | more LIST | tree FILE" ;;
esac
