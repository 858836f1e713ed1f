# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Soft-RoCE devices rxe0 and rxe1 at the ends of a veth pair, both in the initial
# network namespace, since in Linux 6.1 rdma_rxe works there only; and perftest
# between them. Sourced after cluster.sh, where HOLD is a directory.

# roce_up MTU
#
# Packets from one end to the other would be delivered locally if rdma_rxe did not choose
# the interface. The receiving end must accept their source address.
roce_up() {
	local mtu=$1 i

	modprobe -a rdma_rxe rdma_ucm &&
	ip link add roce0 mtu "$mtu" type veth peer name roce1 mtu "$mtu" || return
	for i in 0 1; do
		sysctl -qw "net.ipv4.conf.roce$i.accept_local=1" \
			"net.ipv4.conf.roce$i.rp_filter=0" &&
		ip addr add "10.10.0.$((i + 1))/24" dev roce$i &&
		ip link set roce$i up || return
	done
	for i in 0 1; do
		ip neigh replace "10.10.0.$((2 - i))" dev roce$i nud permanent \
			lladdr "$(cat /sys/class/net/roce$((1 - i))/address)" &&
		rdma link add rxe$i type rxe netdev roce$i || return
	done
	wait_for roce_gid 0 && wait_for roce_gid 1
}

roce_down() {
	rdma link delete rxe0 2>/dev/null
	rdma link delete rxe1 2>/dev/null
	ip link del roce0 2>/dev/null
}

# roce_gid I: the index of the IPv4 address among the GIDs of device I.
roce_gid() {
	grep -l "ffff:0a0a:000$(($1 + 1))$" \
		/sys/class/infiniband/rxe"$1"/ports/1/gids/* 2>/dev/null |
		sed 's,.*/,,' | grep .
}

roce_listens() { [ -n "$(ss -Hltn 'sport = :18515')" ]; }

# roce_test PROGRAM OPTION...: run a program of perftest at both ends, and print the last
# line of figures of the client.
roce_test() {
	local program=$1 server

	shift
	taskset -c 1 timeout 90 "$program" -d rxe1 -x "$(roce_gid 1)" -F "$@" \
		>"$HOLD/server.out" 2>"$HOLD/server.err" &
	server=$!
	wait_for roce_listens
	if ! timeout 60 taskset -c 0 "$program" -d rxe0 -x "$(roce_gid 0)" -F "$@" \
		127.0.0.1 >"$HOLD/client.out" 2>"$HOLD/client.err"; then
		kill $server 2>/dev/null
		wait $server
		tail -n 3 "$HOLD/client.out" "$HOLD/client.err" >&2
		return 1
	fi
	wait $server
	grep -E '^ *[0-9]+ +[0-9]' "$HOLD/client.out" | tail -n 1
}
