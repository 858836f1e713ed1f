#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# One of the machines of machines.sh: machine.sh ROLE, where ROLE is
#
#   stays	node 1: watches node 2 and prints TAP
#   comes	node 2: removes its module, loads it again, and runs until it is killed
#   differs	node 2, with a module of another version of the protocol
#   returns	node 2, with a module of the first version, which node 1 speaks as well
#
# Lines of node 1 that begin with "@" are requests to the host. Node 1 gives orders to
# node 2 by taking addresses, which answer pings independently of dd.

# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
exec 3>&1	# check() captures the standard output

PATIENCE=420	# the other machine may have to start twice
LONG=600000	# ms; a dead time longer than the test
CALLS=500	# messages that prove that there is traffic
scratch

# --- the network -------------------------------------------------------------

case $1 in stays) I=1 ;; *) I=2 ;; esac
FAR=$((3 - I))

network() {
	[ -e /sys/class/net/eth0 ] || modprobe -a virtio_pci virtio_net
	within 20 test -e /sys/class/net/eth0 &&
		ip addr add "10.8.0.$I/24" dev eth0 && ip link set eth0 up
}

configure() {
	printf 'max 3\n1 10.8.0.1\n2 10.8.0.2\n' >cluster.conf
	ddctl apply cluster.conf >/dev/null && ddctl peer set "$FAR" dead-time "$1"
}

# order N: give an order. ordered N: whether it was given.
order() { ip addr add "10.8.0.10$1/24" dev eth0; }
ordered() { ping -c 1 -W 1 "10.8.0.10$1" >/dev/null 2>&1; }
obey() {
	within 300 ordered "$1" && return
	echo "# node $I: no order $1 within 300 s"
	exit 1
}

# The other machine has obeyed the last order and ends. This one runs until then, so that
# the order is not lost.
away() { ! ping -c 1 -W 1 "10.8.0.$FAR" >/dev/null 2>&1; }

# --- the state of dd ------------------------------------------------------------

peer() { ddctl -j peer show "$FAR" | jq -r "$1"; }
same() { [ "$(peer "$1")" = "$2" ]; }
is() {
	same "$@" && return
	diag "$1 is $(peer "$1"), not $2"
	return 1
}
becomes() { within "$PATIENCE" same "$@" || is "$@"; }

# Traffic in both directions: more messages arrive than are counted now.
more() { [ "$(peer .counters.messages)" -ge "$1" ]; }
traffic() {
	within "$PATIENCE" more $(($(peer .counters.messages) + CALLS)) && return
	diag "no traffic: $(peer .state)"
	return 1
}

# --- users -------------------------------------------------------------------

serve() {
	dd-echo-server >server.log 2>&1 &
	SERVER=$!
}

# Call the server without end, as soon as there is one.
client() {
	(
		until dd-rpc-client --node "$FAR" --count 1 --sleep; do
			sleep 0.1
		done >/dev/null 2>&1
		exec dd-rpc-client --node "$FAR" --count 1000000000 --sleep
	) >client.log 2>&1 &
	CLIENT=$!
}

# The open connections; a server keeps closed ones until it has read of the close.
connections() { ddctl -j conn | jq 'map(select(.error == 0)) | length'; }
no_connections() { [ "$(connections)" = 0 ]; }

# The client gets the error, and the server has no open connection.
both_ended() {
	within "$PATIENCE" ended "$CLIENT" || {
		diag "the client has not ended"
		return 1
	}
	wait "$CLIENT"
	diag "$(<client.log)"
	grep -q 'closed by the other end' client.log || return
	within "$PATIENCE" no_connections && return
	diag "$(connections) connections are open"
	return 1
}

users() { serve && client; }
# A client may have ended already, because its server died first.
users_die() {
	kill -9 "$SERVER" "$CLIENT" 2>/dev/null
	wait "$SERVER" "$CLIENT" 2>/dev/null
	return 0
}

# --- node 1 ------------------------------------------------------------------

talk() { becomes .state up && traffic; }

# The dead time is minutes, so it does not end the session.
removed() {
	order 1 && both_ended && becomes .reason stopped &&
		is .sessions 1
}

inserted() {
	client
	order 2 && becomes .sessions 2 && talk
}

counted() { [ "$(peer '.counters["drop_config"]')" -gt "$1" ]; }

other_version() {
	local before

	order 3 && both_ended || return
	before=$(peer '.counters["drop_config"]')
	echo "@boot differs version-next" >&3
	becomes .state refused && becomes .reason version || return
	# Both nodes send requests, and the receiver of one counts it.
	within "$PATIENCE" counted "$before" || return
	diag "$(peer '"\(.counters["drop_config"]) refused"')"
	timeout "$PATIENCE" dd-rpc-client --node 2 --count 1 >refused.log 2>&1
	[ $? = 1 ] || return
	diag "$(<refused.log)"
	# DDP-30 tests errno; this is the text.
	grep -q 'node 2 and this node have no protocol version in common' refused.log || return
	is .sessions 2 && no_connections
}

# Data of any other version would be counted as drop_version.
returned() {
	order 4 || return
	echo "@boot returns version-first" >&3
	client
	becomes .sessions 3 && talk && is '.counters["drop_version"]' 0
}

no_segments() { refused 1 'dd_import: Protocol not supported' dd-hash "$FAR" key; }

node_stays() {
	plan 6
	network && configure $LONG || return
	echo "@boot comes" >&3
	users
	check "two machines exchange messages" talk
	check "the module is removed there: connections end, the session by BYE" removed
	check "it is loaded again: another incarnation, and traffic" inserted
	check "another version of the protocol is refused and counted" other_version
	check "of two versions the common one is used" returned
	check "a node of the first version has no segments" no_segments
	users_die
	order 5
	within 300 away || echo "# node $FAR does not end"
	finish
}

# --- node 2 ------------------------------------------------------------------

module_gone() { rmmod dd 2>/dev/null; }

node_comes() {
	network && configure $LONG && users || return
	obey 1
	traffic || return
	users_die
	# Its last user may be just about to go.
	within 20 module_gone || return
	echo "# the module is removed"
	obey 2
	modprobe dd && configure $LONG && users || return
	obey 3
	users_die
}

node_differs() {
	network && configure 5000 || return
	becomes .state refused && becomes .reason version && is .sessions 0 ||
		return
	echo "# refused here, too: $(peer '"\(.state), \(.reason)"')"
	obey 4
}

node_returns() {
	network && configure 5000 && users || return
	obey 5
	users_die
}

"node_$1"
