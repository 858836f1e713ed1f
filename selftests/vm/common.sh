# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
# Shared by the scripts of this folder; sourced, never run.

# Compilers through ccache, where it is installed.
PATH=/usr/lib/ccache:$PATH:/usr/sbin:/sbin
VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
TOP=$(cd "$VM_DIR/../.." && pwd -P)
DD_CACHE=${DD_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/dd-linux}
mkdir -p "$DD_CACHE"

say() { echo "$*" >&2; }
die() { say "${0##*/}: $*"; exit 1; }

# free_port FIRST: a TCP port of the 49 from there on, on which no process listens.
free_port() {
	local port

	for ((port = $1; port < $1 + 49; port++)); do
		[ -n "$(ss -Hltn "sport = :$port")" ] || {
			echo "$port"
			return
		}
	done
}

# with_lock NAME SECONDS COMMAND...: run COMMAND alone on this machine, after
# waiting for at most SECONDS. The lock ends with COMMAND, whose children do not
# inherit it.
with_lock() {
	local lock=$DD_CACHE/.lock-$1 limit=$2
	shift 2
	(
		flock -n 9 || {
			say "waiting for ${lock##*.lock-} (at most $limit s)"
			flock -w "$limit" 9
		} || exit 206
		"$@" 9>&-
	) 9>"$lock"
}
