# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A cluster of network namespaces: dd1 ... ddN, each with an interface eth0 on a
# common bridge, the addresses 10.9.0.I and fd09::I, and dd node number I of
# N + 1. The bridge has a namespace of its own, ddnet, with a port for each node:
# port1 ... portN. A qdisc at eth0 disturbs the packets that a node sends, one at its
# port those that it receives. To be sourced.

CLUSTER_BRIDGE=ddnet
CLUSTER_KEPT=/run/dd-cluster	# by across.sh, with what it is

cluster_nodes() {
	local file

	for file in /run/netns/dd[0-9]*; do
		[ ! -e "$file" ] || echo "${file##*/dd}"
	done
}

# wait_for COMMAND...: repeat it until it succeeds.
wait_for() {
	local tries

	for tries in {1..600}; do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	echo "'$*': not within $tries tries" >&2
	return 1
}

# Whether nodes 1 and 2 have a session.
cluster_is_up() { [ "$(cluster_exec 1 ddctl -j peer show 2 | jq -r .state)" = up ]; }

# Send echo requests, so that the bridge forwards and the neighbours are known before a
# test begins.
cluster_wait() {
	local i=$1 tries

	for tries in {1..100}; do
		if ip netns exec dd1 ping -c 1 -W 1 "10.9.0.$i" &&
		   ip netns exec dd1 ping -c 1 -W 1 "fd09::$i"; then
			return 0
		fi
		sleep 0.1
	done >/dev/null 2>&1
	echo "cluster: node $i does not answer, $tries times" >&2
	return 1
}

cluster_add() {
	local i=$1 mtu=$2

	ip -batch - <<-END || return
		netns add dd$i
		link add eth0 netns dd$i mtu $mtu type veth peer name port$i mtu $mtu netns $CLUSTER_BRIDGE
	END
	ip -n $CLUSTER_BRIDGE link set "port$i" master br0 up &&
		cluster_interface_up "$i"
}

cluster_interface_up() {
	local i=$1

	ip -n "dd$i" -batch - <<-END
		link set lo up
		addr add 10.9.0.$i/24 dev eth0
		addr add fd09::$i/64 dev eth0 nodad
		link set eth0 up
	END
}

# Without the module the cluster is a network without nodes.
cluster_number() {
	local i=$1 of=$2

	[ -e /sys/module/dd ] || return 0
	cluster_exec "$i" ddctl apply --node "$i" - >/dev/null <<-END
		max $of
		$i 10.9.0.$i
	END
}

# cluster_up N [MTU]: in the place of an earlier cluster; the MTU is 1500.
cluster_up() {
	local n=$1 mtu=${2:-1500} i

	! cluster_bridged || cluster_down 2>/dev/null
	ip netns add $CLUSTER_BRIDGE && ip -n $CLUSTER_BRIDGE -batch - <<-END || return
		link add br0 mtu $mtu type bridge forward_delay 0 mcast_snooping 0
		link set br0 up
	END
	for ((i = 1; i <= n; i++)); do
		cluster_add "$i" "$mtu" && cluster_number "$i" $((n + 1)) ||
			return
	done
	for ((i = 2; i <= n; i++)); do
		cluster_wait "$i" || return
	done
}

# cluster_pair [MTU]: two nodes without a bridge: their interfaces are the ends of one veth pair.
cluster_pair() {
	local mtu=${1:-1500} i

	ip -batch - <<-END || return
		netns add dd1
		netns add dd2
		link add eth0 netns dd1 mtu $mtu type veth peer name eth0 netns dd2 mtu $mtu
	END
	for i in 1 2; do
		cluster_interface_up "$i" && cluster_number "$i" 3 || return
	done
	cluster_wait 2
}

cluster_address() {
	if [ "${2:-4}" = 6 ]; then echo "fd09::$1"; else echo "10.9.0.$1"; fi
}

# cluster_peers N [4|6 [DEAD]]: make the first N nodes peers of each other, by IPv4 or 6, with
# this dead time in ms.
cluster_peers() {
	local n=$1 i file

	file="max $(($(cluster_nodes | wc -l) + 1))"$'\n'"${3:+dead-time $3}"
	for ((i = 1; i <= n; i++)); do
		file+=$'\n'"$i $(cluster_address "$i" "${2:-4}")"
	done
	for ((i = 1; i <= n; i++)); do
		cluster_exec "$i" ddctl apply --node "$i" - <<<"$file" >/dev/null || return
	done
}

# cluster_exec I COMMAND...: run COMMAND at node I.
cluster_exec() {
	local i=$1

	shift
	ip netns exec "dd$i" "$@"
}

cluster_bridged() { [ -e "/run/netns/$CLUSTER_BRIDGE" ]; }

# cluster_offload on|off: segmentation by the (virtual) hardware; with it, netem drops and
# delays whole bursts.
cluster_offload() {
	local i

	for i in $(cluster_nodes); do
		ip netns exec "dd$i" ethtool -K eth0 tso "$1" gso "$1" \
			tx-udp-segmentation "$1" >/dev/null || return
		cluster_bridged || continue
		ip netns exec $CLUSTER_BRIDGE ethtool -K "port$i" tso "$1" \
			gso "$1" tx-udp-segmentation "$1" >/dev/null || return
	done
}

# cluster_mtu MTU: of every link.
cluster_mtu() {
	local i

	# The MTU of a bridge is at most that of its smallest port.
	for i in $(cluster_nodes); do
		ip -n "dd$i" link set eth0 mtu "$1" &&
			ip -n $CLUSTER_BRIDGE link set "port$i" mtu "$1" || return
	done
	ip -n $CLUSTER_BRIDGE link set br0 mtu "$1"
}

# cluster_netem [ARGUMENT...]: add netem at every node, or remove it.
cluster_netem() {
	local i

	for i in $(cluster_nodes); do
		if [ $# = 0 ]; then
			tc -n "dd$i" qdisc del dev eth0 root
		else
			tc -n "dd$i" qdisc replace dev eth0 root netem "$@"
		fi || return
	done
}

cluster_down() {
	local i

	rm -f "$CLUSTER_KEPT"
	for i in $(cluster_nodes); do
		echo "netns del dd$i"
	done | ip -batch -
	cluster_bridged || return 0
	ip netns del $CLUSTER_BRIDGE
}
