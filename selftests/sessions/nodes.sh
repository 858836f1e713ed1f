# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Nodes with servers of sessions: namespaces of the network, of mounts and of the host's name. To be
# sourced. All nodes have one munged and one /etc; each has its /run/vmmc and /var/lib/vmmc.

# shellcheck source=selftests/net/net.sh
. "$(dirname "${BASH_SOURCE[0]}")/../net/net.sh"
DEAD=5000	# ms; tests wait for the end of silent nodes
export TOP
TOP=$(cd "$NET_DIR/../.." && pwd)
declare -A HOLDER SVR
trap 'sessions_end; net_end; rm -rf "$TAP_DIR"' EXIT

munge_start() {
	"$TOP/build/selftests/member" seed || return
	mkdir -p /etc/munge /var/lib/munge /var/log/munge /run/munge
	chmod 700 /etc/munge /var/lib/munge /var/log/munge
	[ -e /etc/munge/munge.key ] ||
		(umask 077 && dd if=/dev/urandom of=/etc/munge/munge.key bs=128 count=1) 2>/dev/null
	munged --force >munged.log 2>&1 && within "$PATIENCE" test -S /run/munge/munge.socket.2
}
munge_stop() { kill "$(cat /run/munge/munged.pid)" && within "$PATIENCE" test ! -e /run/munge/munge.socket.2; }

# on NODE COMMAND...: as root. as USER NODE COMMAND...: in the directory $WD, or in $HOLD. User-Mode
# Linux needs a tenth of a second to start a program: nsenter also sets the user, and group dd.
declare -A USER_ID=([alice]=1000 [bob]=1001)
GROUP_DD=900
on() { nsenter -t "${HOLDER[$1]}" -m -u -n -w "${@:2}"; }
as() {
	nsenter -t "${HOLDER[$2]}" -m -u -n --wdns="${WD:-$HOLD}" -S "${USER_ID[$1]}" -G "$GROUP_DD" "${@:3}"
}

# node_up NUMBER: a node without a server.
# shellcheck disable=SC2016 # the other shell expands
node_up() {
	nsenter --net="/run/netns/dd$1" unshare -m -u bash -c 'hostname "$0" &&
		mkdir -p /run/vmmc /var/lib/vmmc && mount -t tmpfs -o size=1m none /run/vmmc &&
		mount -t tmpfs -o size=1m none /var/lib/vmmc && echo up && exec sleep infinity' "node$1" \
		>"holder.$1" &
	HOLDER[$1]=$!
	within "$PATIENCE" has_line "holder.$1" up
}

# server_up NODE: wait until it serves; its log is log.NODE.
server_up() {
	: >"ready.$1"
	# Not by a function, whose shell $! would be.
	nsenter -t "${HOLDER[$1]}" -m -u -n -w vmmcsvr >"ready.$1" 2>>"log.$1" &
	SVR[$1]=$!
	within "$PATIENCE" has_line "ready.$1" ready
}
# server_kill NODE
server_kill() {
	kill -9 "${SVR[$1]}" && ! { wait "${SVR[$1]}"; } 2>/dev/null
}

# sessions_up N [MTU]
sessions_up() {
	local i

	chmod 755 "$TAP_DIR"
	mkdir -p /etc/dd /etc/pam.d
	cp "$TOP/packaging/vmmcsvr.pam" /etc/pam.d/vmmcsvr
	sed -i '/ node[0-9]/d' /etc/hosts
	: >/etc/dd/cluster.conf
	for ((i = 1; i <= $1; i++)); do
		echo "10.9.0.$i node$i" >>/etc/hosts
		echo "$i node$i" >>/etc/dd/cluster.conf
	done
	cluster "$1" && ip -n "$CLUSTER_BRIDGE" addr add 10.9.0.100/24 dev br0 && munge_start || return
	for ((i = 1; i <= $1; i++)); do
		node_up "$i" && server_up "$i" || return
	done
	within "$PATIENCE" all_up
}

# Programs that run later in the guest read the same files.
sessions_end() {
	rm -f /etc/dd/cluster.conf /etc/dd/vmmcsvr.conf
	sed -i '/ node[0-9]/d' /etc/hosts
	{ kill -9 "${SVR[@]}" && wait "${SVR[@]}"; } 2>/dev/null
	pkill -9 -u alice,bob 2>/dev/null
	[ ! -e /run/munge/munged.pid ] || munge_stop
	kill -9 "${HOLDER[@]}" 2>/dev/null
	for dir in /sys/fs/cgroup/vmmc-*; do
		[ ! -e "$dir" ] || { echo 1 >"$dir/cgroup.kill"; within 10 rmdir "$dir"; }
	done 2>/dev/null
}
