#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Two nodes connected by WireGuard: its interfaces have the addresses of the peers, and a
# firewall drops datagrams of dd on the network itself. Documentation/protocol.rst
# recommends this for networks on which others may listen.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"
plan 5

PORT=56797
MARK=thisisnotforeverybodytoread

# tunnel NODE: make its end of the tunnel, with a key of its own.
tunnel() {
	local i=$1

	(umask 077 && wg genkey >"key$i") && wg pubkey <"key$i" >"pub$i" &&
		ip -n "dd$i" link add wg0 type wireguard &&
		ip -n "dd$i" addr add "10.7.0.$i/24" dev wg0 &&
		cluster_exec "$i" wg set wg0 private-key "key$i" listen-port 51820
}

join() {
	local i=$1 j=$2

	cluster_exec "$i" wg set wg0 peer "$(<"pub$j")" \
		allowed-ips "10.7.0.$j/32" endpoint "10.9.0.$j:51820" &&
		ip -n "dd$i" link set wg0 mtu 1420 up &&
		ip -n "dd$i" rule add pref 10 ipproto udp dport $PORT \
			to 10.9.0.0/24 blackhole
}

make_tunnel() {
	local i

	for i in 1 2; do
		tunnel $i || return
	done
	join 1 2 && join 2 1
}

plain_closed() {
	cluster_exec 1 ddctl peer add 2 10.9.0.2 || return
	cluster_exec 2 ddctl peer add 1 10.9.0.1 || return
	within "$PATIENCE" dropped 1 2 && within "$PATIENCE" dropped 2 1 || return
	! is_up 1 2 && ! is_up 2 1
}

dropped() { [ "$(peer "$1" "$2" .counters.tx_noroute)" -ge 3 ]; }

tunnelled_up() {
	cluster_exec 1 ddctl peer set 2 10.7.0.2 &&
		cluster_exec 2 ddctl peer set 1 10.7.0.1 &&
		within "$PATIENCE" all_up
}

# The largest datagram has 1420 bytes less the headers of IPv4 and UDP.
right_size() {
	within "$PATIENCE" is_size 1 2 && within "$PATIENCE" is_size 2 1
}
is_size() { [ "$(peer "$1" "$2" .packet_size)" = 1392 ]; }

# Capture all packets on the network while a file is copied.
copied() {
	local pid

	yes "$MARK" | head -c 16777216 >in.bin
	# Started by a function, tcpdump would not be the process that is killed.
	ip netns exec dd1 tcpdump -Z root -q -i eth0 -U -w wire.pcap -B 32768 \
		2>tcpdump.err &
	pid=$!
	within "$PATIENCE" has_line tcpdump.err 'listening on' || {
		diag "$(<tcpdump.err)"
		return 1
	}
	cluster_exec 2 ddcp recv -q -o out.bin 2>recv.err &
	cluster_exec 1 timeout 120 ddcp send -q --wait 30 --node 2 in.bin || {
		diag "$(<recv.err)"
		return 1
	}
	within "$PATIENCE" cmp -s in.bin out.bin || return
	# tcpdump may not have written the last packets yet.
	within "$PATIENCE" on_the_wire
	kill -TERM "$pid"
	wait "$pid"
	[ "$(sha256sum <in.bin)" = "$(sha256sum <out.bin)" ]
}

on_the_wire() { [ "$(stat -c %s wire.pcap)" -gt 16777216 ]; }

# The file cannot be read there, and all packets are in the tunnel.
sealed() {
	local inside

	inside=$(tcpdump -Z root -q -nn -r wire.pcap 'udp port 51820' 2>/dev/null | wc -l)
	diag "$inside packets of WireGuard"
	[ "$inside" -gt 5000 ] && ! grep -q "$MARK" wire.pcap &&
		[ -z "$(tcpdump -Z root -q -nn -r wire.pcap "udp port $PORT" 2>/dev/null)" ]
}

NODES=2
if ! cluster_up 2 || ! make_tunnel; then
	echo "Bail out! no tunnel"
	exit 1
fi
check "the firewall drops datagrams of dd" plain_closed
check "sessions through the tunnel" tunnelled_up
check "packets of the size that fits" right_size
check "a file is copied completely" copied
check "all packets are in the tunnel and encrypted" sealed
finish
