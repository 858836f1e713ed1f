#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The parts of a guest's initramfs, each a cpio archive; the kernel unpacks
# their concatenation.
#
#   image.sh base            what programs.list names, accounts, and links
#   image.sh modules KERNEL  modules of the kernel's package
#   image.sh more LIST       what LIST names, besides
#   image.sh tree FILE       this checkout with its build products and the libraries
#                            they need
#
# A list names packages of Debian, whose programs guests get, and files, by patterns
# that begin with "/". The first three are cached and print the path of the archive;
# the last one writes FILE.
set -euo pipefail
# shellcheck source=selftests/vm/common.sh
. "$(dirname "$0")/common.sh"

# archive FILE COMMAND...: FILE becomes the archive of a directory, $root, that COMMAND
# fills. Root owns everything in it.
archive() {
	local file=$1 root

	root=$(mktemp -d "$DD_CACHE/root.XXXXXX")
	chmod 755 "$root"
	mkdir -p "$root"/usr/{bin,lib,lib64}
	ln -s bin "$root/usr/sbin"
	ln -s usr/{bin,sbin,lib,lib64} "$root"
	"${@:2}"
	(cd "$root" && find . -print0 | sort -z |
		cpio --quiet -0 -o -H newc -R 0:0) >"$file.new"
	mv "$file.new" "$file"
	rm -rf "$root"
}

# cached NAME LIST COMMAND...: print the path of an archive, which COMMAND makes if there
# is none for the present state of LIST and of this machine's packages.
cached() {
	local key file

	key=$({ cat "$VM_DIR/image.sh" "$2"; stat -c %Y /var/lib/dpkg/status; } |
		sha256sum | cut -c1-12)
	file=$DD_CACHE/$1-$key.cpio
	[ -s "$file" ] || {
		# Another run may use a recent archive.
		find "$DD_CACHE" -maxdepth 1 -mtime +3 \
			\( -name '*.cpio' -o -name 'r*.??????' \) \
			-exec rm -rf {} +
		with_lock image 600 archive "$file" "${@:3}"
	}
	echo "$file"
}

entries() { grep -v '^#' "$1"; }

# --- programs and files ------------------------------------------------------

# paths LIST: the files that it names.
paths() {
	local entry

	entries "$1" | while read -r entry; do
		case $entry in
		/*) compgen -G "$entry" ;;
		*) dpkg -L "$entry" 2>/dev/null | grep -E '^(/usr)?/s?bin/.' ;;
		esac || die "guests need $entry; run: $VM_DIR/deps.sh, or $VM_DIR/deps.sh bench"
	done
}

# install_libraries: those that the dynamic loader finds for the programs that standard
# input names. Scripts and static programs have none. ldd starts four programs for each.
install_libraries() {
	local program lib

	while read -r program; do
		/lib64/ld-linux-x86-64.so.2 --list "$program" || :
	done 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 }
		$1 ~ /^\// && NF == 2 { print $1 }' | sort -u |
		while read -r lib; do
			[[ "$lib" == "$TOP"/* ]] ||
				install -D -m 755 "$lib" "$root/usr${lib#/usr}"
		done
}

install_list() {
	local path paths

	paths=$(paths "$1")
	while read -r path; do
		mkdir -p "$root${path%/*}"
		cp -L "$path" "$root$path"
	done <<<"$paths"
	install_libraries <<<"$paths"
}

write_accounts() {
	local etc=$root/etc

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
	local dev=$root/usr/share/dev

	mkdir -p "$dev"
	ln -s /proc/self/fd "$dev/fd"
	ln -s /proc/self/fd/0 "$dev/stdin"
	ln -s /proc/self/fd/1 "$dev/stdout"
	ln -s /proc/self/fd/2 "$dev/stderr"
	mkfifo "$root/run/never" "$root/run/output"
}

make_base() {
	mkdir -p "$root"/{etc/ld.so.conf.d,dev,proc,sys,run,root,mnt,tmp,var/tmp}
	chmod 1777 "$root/tmp" "$root/var/tmp"
	ln -s ../run "$root/var/run"
	install_list "$VM_DIR/programs.list"
	# Debian's jq compiles its library at each start: 175 million instructions,
	# seconds of an emulated processor.
	ln -s gojq "$root/usr/bin/jq"
	# It leaves the programs that are there.
	busybox --install -s "$root/usr/bin" 2>/dev/null || :
	write_accounts
	make_nodes
	echo "/usr/lib/x86_64-linux-gnu" >"$root/etc/ld.so.conf"
	ldconfig -r "$root"
}

# --- modules -----------------------------------------------------------------

# insmods DIRECTORY RELEASE: the commands that load the modules. Newer kernels have
# those with a question mark built in, or do without.
insmods() {
	local name

	entries "$VM_DIR/modules.list" | while read -r name; do
		modprobe -d "$1" -S "$2" -D "${name#\?}" 2>/dev/null ||
			[[ $name == \?* ]] || die "$2 has no module $name"
	done
}

# make_modules KERNEL RELEASE
make_modules() {
	local from=$DD_CACHE/$1 rel=$2 dir=lib/modules/$2

	mkdir -p "$root/$dir"
	touch "$root/$dir"/modules.{order,builtin,builtin.modinfo}
	case $1 in
	debug | um* | kcsan) return ;;	# everything is built in
	esac
	insmods "$from" "$rel" | awk '$1 == "insmod" { print $2 }' | sort -u |
		while read -r ko; do
			install -D -m 644 "$ko" "$root/${ko#"$from"/}"
		done
	cp "$from/$dir"/modules.{order,builtin*} "$root/$dir/"
}

# --- the checkout ------------------------------------------------------------

# Sources, and build products without objects. A test of the host may delete a file of
# its own meanwhile: rsync reports that by its status 24.
make_tree() {
	local status=0

	mkdir -p "$root$TOP"
	{
		find "$TOP"/build/{bin,lib,selftests} -type f -perm /111 2>/dev/null || :
	} | install_libraries
	rsync -a --exclude=/.git \
		--exclude=/build/{kmod,vm,obj,fuzz,model,mutants,net,ring,test} \
		--include=/build/ --filter=':- .gitignore' "$TOP/" "$root$TOP/" || status=$?
	[ $status = 0 ] || [ $status = 24 ] || die "rsync: exit status $status"
}

case ${1:-} in
base) cached base "$VM_DIR/programs.list" make_base ;;
modules)
	rel=$("$VM_DIR/kernels.sh" path "$2" release)
	cached "modules-$2-$rel" "$VM_DIR/modules.list" make_modules "$2" "$rel"
	;;
more) cached more "${2:?list}" install_list "$2" ;;
tree) archive "${2:?file}" make_tree ;;
*) die "usage: image.sh base | modules KERNEL | more LIST | tree FILE" ;;
esac
