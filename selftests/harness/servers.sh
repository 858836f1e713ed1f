# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # variables of the scripts
#
# For scripts that run servers and their clients; sourced. Run by across.sh, or by clerks.sh -2,
# the servers are at node 2.

# shellcheck source=selftests/vm/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../vm/tap.sh"
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch

# The prefix of commands at the servers' node, and its number and address for clients.
there=() node=-1 host=127.0.0.1
[ -z "${DDP_PEER_NODE:-}" ] || {
	there=(ip netns exec "$DDP_PEER_NETNS")
	node=$DDP_PEER_NODE host=10.9.0.$DDP_PEER_NODE
}
# The prefix of the peers' commands.
as=()

# start PROGRAM ARGUMENT...: start a server, as $SERVER.
start() {
	rm -f server.out server.err
	"${there[@]}" "$@" >server.out 2>server.err &
	SERVER=$!
}

printed() { has_line server.out "$1" || has_line server.err "$1"; }

# serve PATTERN PROGRAM ARGUMENT...: start a server, and wait until it prints such a line.
serve() {
	start "${@:2}"
	within "$PATIENCE" printed "$1" && return
	diag "${*:2} does not print '$1': $(<server.err)"
	return 1
}

exported() { "${there[@]}" ddctl segment | grep -qw "$1"; }

# serve_segment NAME PROGRAM ARGUMENT...: start a server, and wait until it has exported its segment.
serve_segment() {
	start "${@:2}"
	within "$PATIENCE" exported "$1" && return
	diag "${*:2} exports no '$1': $(<server.err)"
	return 1
}

# end SIGNAL [PID]: end a process, the server, and wait for it.
end() {
	kill -"$1" "${2:-$SERVER}"
	wait "${2:-$SERVER}" 2>/dev/null
	return 0
}

# peers NUMBER PROGRAM: start peers of a program, the odd ones at the other node; $PEERS are the
# addresses that they print.
peers() {
	local i at

	PIDS=() PEERS=()
	rm -f peer*
	for ((i = 1; i <= $1; i++)); do
		at=("${there[@]}")
		[ $((i % 2)) = 1 ] || at=()
		"${at[@]}" "${as[@]}" "$2" worker >"peer$i" 2>"peer$i.err" &
		PIDS+=($!)
		within "$PATIENCE" has_line "peer$i" : || diag "$2 worker: $(<"peer$i.err")"
		PEERS+=("$(<"peer$i")")
	done
}

# with_peers PROGRAM ARGUMENT...: the program, and all processes of $PIDS, end with status 0.
with_peers() {
	local pid bad=0

	"${as[@]}" "$@" "${PEERS[@]}" >out 2>err || bad=1
	for pid in "${PIDS[@]}"; do
		[ "$bad" = 0 ] || kill "$pid"
		wait "$pid" || bad=1
	done
	[ "$bad" = 0 ] || diag "$(cat out err peer*)"
	return "$bad"
}
