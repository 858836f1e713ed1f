# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# For the scripts of this directory: a cluster, and traffic in it. To be
# sourced. The working directory becomes a temporary one.

NET_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=selftests/vm/tap.sh
. "$NET_DIR/../vm/tap.sh"
# shellcheck source=selftests/net/cluster.sh
. "$NET_DIR/cluster.sh"
PATH=$NET_DIR/../../build/bin:$NET_DIR/../../build/selftests:$PATH

# Whether this is one of the debug kernels, which are slow.
if [ -e /proc/self/fail-nth ]; then SLOW=yes; else SLOW=; fi
# pick STOCK DEBUG: the value for this kernel.
pick() { if [ "$SLOW" ]; then echo "$2"; else echo "$1"; fi; }
# count STOCK DEBUG: rounds; DD_SOAK times as many if that is set.
count() { echo $(($(pick "$@") * ${DD_SOAK:-1})); }

scratch
trap 'net_end; rm -rf "$TAP_DIR"' EXIT

net_end() {
	local pids

	mapfile -t pids < <(jobs -p)
	[ ${#pids[@]} = 0 ] || kill -9 "${pids[@]}" 2>/dev/null
	wait
	cluster_down 2>/dev/null
}

# --- the cluster -------------------------------------------------------------

# The dead time of sessions, in ms: a busy machine may stop a guest for seconds.
# partition.sh tests the dead time.
DEAD=60000

# cluster N [MTU [FAMILY]]: make a cluster whose nodes are all peers.
cluster() {
	NODES=$1
	cluster_up "$1" "${2:-1500}" && cluster_peers "$1" "${3:-4}" "$DEAD" && return
	echo "Bail out! no cluster of $NODES nodes"
	exit 1
}

# peer NODE PEER FILTER: apply a jq filter to what ddctl reports of a peer.
peer() { cluster_exec "$1" ddctl -j peer show "$2" | jq -r "$3"; }

UP='"state":"up"'
# is_up NODE PEER
is_up() { [[ $(cluster_exec "$1" ddctl -j peer show "$2") == *"$UP"* ]]; }

# Whether all nodes have sessions with all others.
all_up() {
	local i peers up

	for ((i = 1; i <= NODES; i++)); do
		peers=$(cluster_exec "$i" ddctl -j peer show)
		up=${peers//"$UP"/}
		[ $((${#peers} - ${#up})) = $(((NODES - 1) * ${#UP})) ] || return
	done
}

# cut and heal the network between a node and all others, in both directions at once, with
# real-time priority. The port of the node gets the state "listening", in which it
# forwards nothing. If the link went down, the kernel would take a second or more to see
# it up again. If the port left its bridge, a packet that arrives at that moment could
# have the bridge use it after it is freed (Linux 6.1). A disabled port is enabled again
# by the kernel.
port_is() {
	chrt -f 1 ip -n "$CLUSTER_BRIDGE" link set "port$1" type bridge_slave \
		state "$2"
}
cut() { port_is "$1" 1; }	# listening
heal() { port_is "$1" 3; }	# forwarding

# --- traffic -----------------------------------------------------------------

# Processes of net_traffic by node. They are started without a shell function, which
# would be killed instead of them.
declare -A SERVER LOAD
FILES=0

# DD_SEED repeats the traffic of a test that failed.
new_traffic() {
	local left=("${SERVER[@]}" "${LOAD[@]}")

	# A test that failed leaves processes.
	[ ${#left[@]} = 0 ] || kill -9 "${left[@]}" 2>/dev/null
	SERVER=() LOAD=()
	SEED=${DD_SEED:-$RANDOM}
	FILE=$HOLD/traffic.$((++FILES))
	net_traffic "$FILE" init "$SEED"
}

# serve NODE OPTION...: start a server in the background, and wait until it is ready.
serve() {
	local log=$HOLD/server.$1

	rm -f "$log"
	ip netns exec "dd$1" net_traffic "$FILE" serve "${@:2}" >"$log" &
	SERVER[$1]=$!
	within $PATIENCE has_line "$log" ready
}

# load NODE TO,... OPTION...: start clients in the background.
load() { load_as "$1" "$@"; }

# load_as KEY NODE TO,... OPTION...: others of this node.
load_as() {
	ip netns exec "dd$2" net_traffic "$FILE" load "${@:3}" &
	LOAD[$1]=$!
}

# hangs NODE PID: report what a process that does not end is waiting for.
hangs() {
	diag "process $2 at node $1 does not end: $(cat /proc/"$2"/task/*/stack)"
	diag "$(cluster_exec "$1" ddctl conn show)"
	diag "$(cluster_exec "$1" ddctl peer show)"
}

# end SERVER|LOAD SECONDS: let these processes end after their current message, and wait
# until they have, with success.
end() {
	declare -n group=$1
	local i bad=0

	[ ${#group[@]} = 0 ] || kill -TERM "${group[@]}" 2>/dev/null
	for i in "${!group[@]}"; do
		within "$2" ended "${group[$i]}" || hangs "$i" "${group[$i]}"
		kill -9 "${group[$i]}" 2>/dev/null
		wait "${group[$i]}" || bad=1
		unset "$1[$i]"
	done
	[ $bad = 0 ] || diag "a process of $1 has failed"
	return $bad
}

# others NODE: all other nodes; a node alone.
others() {
	local i list=''

	for ((i = 1; i <= NODES; i++)); do
		[ "$i" = "$1" ] && [ "$NODES" != 1 ] || list+=,$i
	done
	echo "${list#,}"
}

# flows N NODE...: wait until N more messages of each of these nodes have been received.
flows() {
	local IFS=,

	net_traffic "$FILE" wait "$1" "${*:2}" >"$HOLD/flows" && return
	diag "$(<"$HOLD/flows")"
	return 1
}

# begin_all CONNECTIONS BYTES [OPTION...]: traffic between all nodes.
begin_all() {
	local i most=$(((NODES > 1 ? NODES - 1 : 1) * $1))

	for ((i = 1; i <= NODES; i++)); do
		serve "$i" -c "$most" -m "$2" || return
	done
	for ((i = 1; i <= NODES; i++)); do
		load "$i" "$(others "$i")" -c "$1" -m "$2" "${@:3}"
	done
}

# end_all whole|broken: end the traffic, and compare what was received with what was sent.
end_all() {
	local bad=0 said

	end LOAD 180 || bad=1
	end SERVER $PATIENCE || bad=1
	said=$(net_traffic "$FILE" check "$1") || bad=1
	diag "$said (seed $SEED)"
	return $bad
}

# Some traffic of each kind between all nodes, all of it correct.
talk() {
	local nodes

	within "$PATIENCE" all_up || { diag "no session"; return 1; }
	mapfile -t nodes < <(seq "$NODES")
	new_traffic
	begin_all 4 65536 && flows 20 "${nodes[@]}" && end_all whole
}
