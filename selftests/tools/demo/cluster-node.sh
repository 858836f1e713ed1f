#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# cluster-node.sh NUMBER: one machine of "make demo-cluster".
set -eu

I=$1
FILE=/tmp/demo.bin

# within SECONDS COMMAND...
within() {
	local end=$((SECONDS + $1))

	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || {
			echo "not within the time: $*"
			return 1
		}
		sleep 0.2
	done
}

peer_up() { ddctl -j peer show | jq -e 'any(.[]; .state == "up")' >/dev/null; }
reachable() { ping -c 1 -W 1 "10.8.0.$((3 - I))" >/dev/null 2>&1; }
unreachable() { ! reachable; }

[ -e /sys/class/net/eth0 ] || modprobe -a virtio_pci virtio_net
within 20 test -e /sys/class/net/eth0
ip addr add "10.8.0.$I/24" dev eth0
ip link set eth0 up

cat >/tmp/cluster.conf <<-END
	# the same file on every node
	max 3
	1 10.8.0.1
	2 10.8.0.2
END
ddctl apply /tmp/cluster.conf
within 120 reachable
within 60 peer_up
ddctl node show
ddctl peer show

case $I in
1)
	head -c 67108864 /dev/urandom >$FILE
	ddcp send --wait 60 --node 2 $FILE
	;;
2)
	ddcp recv -o $FILE
	;;
esac
ddctl peer show
echo "@sum $(sha256sum <$FILE | cut -d' ' -f1)"
# Machine 1 may still wait for acknowledgments: machine 2 is the last to stop.
[ "$I" = 1 ] || within 60 unreachable
