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

# Remove the cluster of a script that was killed.
fresh() {
	[ ! -e "/run/netns/$CLUSTER_BRIDGE" ] || cluster_down 2>/dev/null
}
fresh

# cluster N [MTU [FAMILY]]: make a cluster whose nodes are all peers. DEAD is the dead time
# in ms, if it is not the default.
cluster() {
	local file=$HOLD/cluster.conf i

	NODES=$1
	echo "max $(($1 + 1))" >"$file"
	[ -z "${DEAD:-}" ] || echo "dead-time $DEAD" >>"$file"
	for ((i = 1; i <= NODES; i++)); do
		echo "$i $(cluster_address "$i" "${3:-4}")" >>"$file"
	done
	cluster_up "$1" "${2:-1500}" || no_cluster
	for ((i = 1; i <= NODES; i++)); do
		cluster_exec "$i" ddctl apply --node "$i" "$file" >"$HOLD/apply" ||
			no_cluster
	done
}

no_cluster() {
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
declare -A SERVER LOAD TIMED
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

# load NODE TO,... OPTION...: start clients in the background, until loads_stop or for
# -t seconds.
load() {
	ip netns exec "dd$1" net_traffic "$FILE" load "${@:2}" &
	LOAD[$1]=$!
	TIMED[$1]=$([[ " $* " != *" -t "* ]] || echo yes)
}

# Let the clients end after their current message, except those with -t.
loads_stop() {
	local i

	for i in "${!LOAD[@]}"; do
		[ "${TIMED[$i]}" ] || kill -TERM "${LOAD[$i]}" 2>/dev/null
	done
}

# hangs NODE PID: report what a process that does not end is waiting for.
hangs() {
	diag "process $2 at node $1 does not end: $(cat /proc/"$2"/task/*/stack)"
	diag "$(cluster_exec "$1" ddctl conn show)"
	diag "$(cluster_exec "$1" ddctl peer show)"
}

# Wait until all clients have ended by themselves, with success.
loads_end() {
	local i bad=0

	for i in "${!LOAD[@]}"; do
		within 180 gone "${LOAD[$i]}" || hangs "$i" "${LOAD[$i]}"
		kill -9 "${LOAD[$i]}" 2>/dev/null
		wait "${LOAD[$i]}" || bad=1
		unset "LOAD[$i]"
	done
	[ $bad = 0 ] || diag "a client has failed"
	return $bad
}

servers_end() {
	local i bad=0

	for i in "${!SERVER[@]}"; do
		kill -TERM "${SERVER[$i]}"
		within $PATIENCE gone "${SERVER[$i]}" || hangs "$i" "${SERVER[$i]}"
		kill -9 "${SERVER[$i]}" 2>/dev/null
		wait "${SERVER[$i]}" || bad=1
		unset "SERVER[$i]"
	done
	[ $bad = 0 ] || diag "a server has failed"
	return $bad
}

# others NODE: all other nodes.
others() {
	local list

	list=$(seq "$NODES" | grep -vx "$1")
	echo "${list//$'\n'/,}"
}

# flows N [NODE...]: wait until N more messages of each of these nodes have been received;
# of all nodes together if none is named.
flows() {
	local n=$1 nodes

	shift
	nodes=$*
	# shellcheck disable=SC2086 # none, or one
	net_traffic "$FILE" wait "$n" ${nodes// /,} >"$HOLD/flows" && return
	diag "$(<"$HOLD/flows")"
	return 1
}

# begin_all SECONDS CONNECTIONS BYTES: traffic between all nodes; with 0 seconds until
# end_all.
begin_all() {
	local i most=$((2 * (NODES - 1) * $2))

	for ((i = 1; i <= NODES; i++)); do
		serve "$i" -c "$most" -m "$3" || return
	done
	for ((i = 1; i <= NODES; i++)); do
		# shellcheck disable=SC2046 # none, or two words
		load "$i" "$(others "$i")" -c "$2" -m "$3" \
			$([ "$1" = 0 ] || echo "-t $1")
	done
}

# end_all whole|broken: end the traffic, and compare what was received with what was sent.
end_all() {
	local ends=0 said

	loads_stop
	loads_end || ends=1
	servers_end || ends=1
	said=$(net_traffic "$FILE" check "$1") || ends=1
	diag "$said (seed $SEED)"
	return $ends
}

# Some traffic of each kind between all nodes, all of it correct.
talk() {
	local nodes

	within "$PATIENCE" all_up || { diag "no session"; return 1; }
	mapfile -t nodes < <(seq "$NODES")
	new_traffic
	begin_all 0 4 65536 && flows 20 "${nodes[@]}" && end_all whole
}
