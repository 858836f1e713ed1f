#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The protocol description's programs, compiled as printed, against each other
# (requirements DDP-75 to DDP-78), and against figcheck, which checks the bytes.
# The programs are on PATH or in build. They expect their servers at node 1,
# which is this one; clients are in the network namespace DDP_PEER_NETNS, if that
# is set.

# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
cd "$(dirname "$0")/../.." || exit 1
PATH=$PWD/build/bin:$PWD/build/selftests:$PATH
LD_LIBRARY_PATH=$PWD/build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH LD_LIBRARY_PATH

server=

# Names of the registered services.
services() { ddctl -j service | jq -r '.. | .name? // empty'; }

serves() { services | grep -qxF "$1"; }

serves_or_gone() { serves "$1" || gone "$server"; }

no_service() { [ -z "$(services)" ]; }

# start PROGRAM SERVICE...: the program may have arguments, in the same word.
start() {
	local name

	# shellcheck disable=SC2086 # words
	$1 &
	server=$!
	shift
	for name; do
		within "$PATIENCE" serves_or_gone "$name" && serves "$name" || return
	done
}

stop() {
	kill -9 "$server" 2>/dev/null
	wait "$server" 2>/dev/null
	within "$PATIENCE" no_service
}

client() {
	if [ -n "${DDP_PEER_NETNS:-}" ]; then
		timeout -s KILL 60 ip netns exec "$DDP_PEER_NETNS" "$@"
	else
		timeout -s KILL 60 "$@"
	fi
}

# with "PROGRAM SERVICE..." COMMAND...: succeeds if COMMAND does while the program
# serves, and the program outlives it.
with() {
	local status=1 words

	read -ra words <<<"$1"
	shift
	start "${words[@]}" && "$@" && ! gone "$server" && status=0
	stop && return $status
}

# The echo server answers a client, then the next one.
two_clients() { client fig3 && client fig3; }

# Two connections at a time, each with 2048 bytes.
two_connections() {
	ddctl -j service | jq -e '[.. | objects | select(.name? == "echo") |
		(.maxconn // .max // ."max-conn")] == [2]'
}

# A client without a server reports it and fails.
no_server() {
	local out

	! out=$(client fig3 2>&1) && [[ $out == ddconnect* ]]
}

# bytes_are_sent PROGRAM SERVICE...: one message to each service.
bytes_are_sent() {
	local status=1

	if start "figcheck server $(($# - 1))" "${@:2}" && client "$1"; then
		wait "$server"
		status=$?
	fi
	stop && return $status
}

# fig5, as printed, exits after one reply of two. The other one may then be
# refused, which ends fig4, as printed.
split_client() {
	client fig5 >"$OUT" 2>"$ERR" &&
		grep -qxE '(echo|reverse) response' "$OUT" &&
		[ "$(cat "$OUT" "$ERR" | wc -l)" = 2 ]
}

split_phase() {
	local status=1

	start fig4 echo reverse && "$@" && split_client && status=0
	stop && return $status
}

served_before() { client fig3 && ! gone "$server"; }

twice() { "$@" && "$@"; }

for program in fig2 fig3 fig4 fig5 figcheck ddctl jq; do
	type -P $program >/dev/null || {
		echo "Bail out! no $program"
		exit 1
	}
done

plan 10
check DDP_75_echo_server with "fig2 echo" two_clients
check DDP_75_echo_server_has_two_connections with "fig2 echo" two_connections
check DDP_75_echo_server_returns_the_bytes with "fig2 echo" \
	client figcheck client 1 echo
check DDP_76_rpc_client_without_server_fails no_server
check DDP_76_rpc_client with "fig2 echo" client fig3
check DDP_76_rpc_client_sends_what_it_has_filled_in bytes_are_sent fig3 echo
check DDP_77_two_service_server_returns_the_bytes with "fig4 echo reverse" \
	client figcheck client 1 echo reverse
check DDP_77_two_service_server split_phase served_before
check DDP_78_split_phase_client twice split_phase true
check DDP_78_split_phase_client_sends_to_both bytes_are_sent fig5 echo reverse
finish
