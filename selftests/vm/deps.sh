#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Installs the packages of Debian that building and testing need; without root it
# prints the command. Quick when nothing is missing.
#
#   deps.sh [bench]     "bench": what "make bench" needs, too
set -euo pipefail

packages=(
	# building
	ccache gcc make perl pkg-config libc6-dev libjson-c-dev libnl-3-dev
	libmunge-dev libnl-genl-3-dev libpam0g-dev libsmartcols-dev libxxhash-dev
	# kernels and modules
	bc bison cpio dwarves flex kmod libelf-dev libssl-dev rsync xz-utils zstd
	# virtual machines, and the programs in them
	bash iproute2 jq libpam-modules perftest qemu-system-x86
	# checks
	clang codespell g++ gcovr git gnuplot-nox groff-base libclang-rt-14-dev man-db mandoc musl-dev
	python3 python3-docutils python3-jsonschema python3-yaml shellcheck sparse spin tshark
)
mapfile -t -O ${#packages[@]} packages < <(grep '^[a-z]' "$(dirname "$0")/programs.list")
[ "${1:-}" != bench ] || packages+=(libfabric-bin libopenmpi-dev nfs-common
	nfs-kernel-server openmpi-bin sockperf ucx-utils)

missing() {
	dpkg-query -W -f '${db:Status-Abbrev}|${Package}\n' "${packages[@]}" \
		2>/dev/null | sed -n 's/^ii *|//p' | sort |
		comm -13 - <(printf '%s\n' "${packages[@]}" | sort -u) | tr '\n' ' '
}

command -v dpkg-query >/dev/null || {
	echo "This machine has no dpkg-query. Needed packages: ${packages[*]}" >&2
	exit 1
}
need=$(missing || true)
[ -n "$need" ] || exit 0

install="apt-get install -y --no-install-recommends $need"
quiet="-qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0"
if [ "$(id -u)" != 0 ]; then
	echo "Packages are missing. As root: apt-get update && $install" >&2
	exit 1
fi
echo "installing $need" >&2
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # options
$install $quiet >/dev/null || {
	apt-get update -qq >&2
	$install $quiet >/dev/null
}
[ -z "$(missing || true)" ] || {
	echo "still missing: $(missing)" >&2
	exit 1
}
