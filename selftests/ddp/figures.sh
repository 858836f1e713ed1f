#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The protocol description's programs, compiled as printed, against each other
# (requirements DDP-75 to DDP-78), and against figcheck, which looks at the bytes.
# TAP on stdout; the programs are on PATH or in build. They want their servers at node 1, which is this one; clients
# are in the network namespace DDP_PEER_NETNS, if that is set.
set -u
cd "$(dirname "$0")/../.." || exit 1
PATH=$PWD/build/bin:$PWD/build/selftests:$PATH
LD_LIBRARY_PATH=$PWD/build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH LD_LIBRARY_PATH

count=0 failed=0 server=
said=$(mktemp)
trap 'rm -f "$said"' EXIT

# result NAME STATUS WHY
result() {
	count=$((count + 1))
	if [ "$2" = 0 ]; then
		echo "ok $count $1"
	else
		echo "# $3"
		echo "not ok $count $1"
		failed=$((failed + 1))
	fi
}

# Services registered, by name, as ddctl tells.
services() { ddctl -j service | jq -r '.. | .name? // empty'; }

# wait_service NAME: for a state, within a bound.
wait_service() {
	local _

	for _ in {1..300}; do
		services | grep -qxF "$1" && return 0
		kill -0 "$server" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

wait_gone() {
	local _

	for _ in {1..300}; do
		[ -z "$(services)" ] && return 0
		sleep 0.1
	done
	return 1
}

# start PROGRAM SERVICE...: the program may have arguments, in the same word.
start() {
	local name

	# shellcheck disable=SC2086 # words
	$1 &
	server=$!
	shift
	for name; do
		wait_service "$name" || return 1
	done
}

stop() {
	kill -9 "$server" 2>/dev/null
	wait "$server" 2>/dev/null
	wait_gone
}

client() {
	if [ -n "${DDP_PEER_NETNS:-}" ]; then
		timeout -s KILL 60 ip netns exec "$DDP_PEER_NETNS" "$@"
	else
		timeout -s KILL 60 "$@"
	fi
}

# The echo server answers a client, and goes on to the next.
echo_server() {
	start fig2 echo && client fig3 && client fig3 && kill -0 "$server"
	local ok=$?

	stop
	return $ok
}

# The servers of figures 2 and 4 return the bytes, the latter in both orders.
bytes_return() {
	start "$1" "${@:2}" && client figcheck client 1 "${@:2}" &&
		kill -0 "$server"
	local ok=$?

	stop
	return $ok
}

# bytes_are_sent PROGRAM SERVICE...: one message to each service.
bytes_are_sent() {
	local ok=1

	if start "figcheck server $(($# - 1))" "${@:2}" && client "$1"; then
		wait "$server"
		ok=$?
	fi
	stop
	return $ok
}

# fig5, as printed, is gone after one answer of two. The other one may come to
# nobody, and then fig4, as printed, is gone, too.
split_client() {
	client fig5 >"$said" 2>&1 &&
		grep -qxE '(echo|reverse) response' "$said" &&
		[ "$(wc -l <"$said")" = 2 ]
}

# Two connections at a time, each with 2048 bytes.
echo_blocks() {
	start fig2 echo || return 1
	ddctl -j service | jq -e '[.. | objects | select(.name? == "echo") |
		(.maxconn // .max // ."max-conn")] == [2]' >/dev/null
	local ok=$?

	stop
	return $ok
}

two_services() {
	start fig4 echo reverse && client fig3 && kill -0 "$server" &&
		split_client
	local ok=$?

	stop
	return $ok
}

# A client without a server says so and fails.
no_server() {
	local out

	! out=$(client fig3 2>&1) && [[ $out == ddconnect* ]]
}

for program in fig2 fig3 fig4 fig5 figcheck ddctl jq; do
	type -P $program >/dev/null || {
		echo "Bail out! no $program"
		exit 1
	}
done

echo "TAP version 13"
echo "1..10"
echo_server
result DDP_75_echo_server $? "fig2 does not serve"
echo_blocks
result DDP_75_echo_server_has_two_connections $? "$(ddctl -j service)"
bytes_return fig2 echo
result DDP_75_echo_server_returns_the_bytes $? "fig2 does not return them"
no_server
result DDP_76_rpc_client_without_server_fails $? "fig3 does not fail"
start fig2 echo && client fig3
result DDP_76_rpc_client $? "fig3 failed"
stop
bytes_are_sent fig3 echo
result DDP_76_rpc_client_sends_what_it_has_filled_in $? "fig3 sends something else"
bytes_return fig4 echo reverse
result DDP_77_two_service_server_returns_the_bytes $? "fig4 does not return them"
two_services
result DDP_77_two_service_server $? "fig4 does not serve fig3 and fig5: $(<"$said")"
split_phase() {
	local ok

	for _ in 1 2; do
		start fig4 echo reverse && split_client
		ok=$?
		stop
		[ $ok = 0 ] || break
	done
	return $ok
}
split_phase
result DDP_78_split_phase_client $? "fig5 failed: $(<"$said")"
bytes_are_sent fig5 echo reverse
result DDP_78_split_phase_client_sends_to_both $? "fig5 sends something else"
exit $((failed != 0))
