#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Loading and unloading dd.ko: refused while it is in use, many times in a row,
# and against processes that use it. In a guest, as root.

# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
cd "$(dirname "$0")/../.." || exit 1

# A module of the debug kernel has megabytes, which an emulated processor relocates.
case ${DD_VM:-} in
debug) rounds=2 often=4 ;;
um | um-smp-debug) rounds=10 often=10 ;;
*) rounds=50 often=10 ;;
esac

present() { [ -e /sys/module/dd ]; }

load() {
	modprobe dd || return
	chgrp dd /dev/dd && chmod 0660 /dev/dd
}

remove() { rmmod dd 2>/dev/null; }

# A worker may end the last use some time after its process has exited.
unload() { within "$PATIENCE" remove; }

stays() { ! remove && present; }

refused_while_open() {
	local status=0

	exec 7<>/dev/dd || return
	stays || status=1
	exec 7>&-
	return $status
}

has_service() { ddctl -j service | jq -e 'length > 0' >/dev/null; }

# fig2 has a mapping, a region and a service.
refused_while_served() {
	local pid status=0

	build/bin/fig2 &
	pid=$!
	within "$PATIENCE" has_service && stays || status=1
	kill -9 $pid
	wait $pid
	return $status
}

# refused_while_held REQUEST...: of dd_hold, whose first line says that it is ready.
refused_while_held() {
	local pid status=0

	mkfifo "$TAP_DIR/requests"
	build/selftests/dd_hold <"$TAP_DIR/requests" >"$TAP_DIR/held" &
	pid=$!
	exec 8>"$TAP_DIR/requests"
	rm "$TAP_DIR/requests"
	printf '%s\n' "$@" >&8
	within "$PATIENCE" answered $(($# + 1)) && stays || status=1
	grep error "$TAP_DIR/held" && status=1
	kill -9 $pid
	wait $pid
	exec 8>&-
	return $status
}
answered() { [ "$(wc -l <"$TAP_DIR/held")" = "$1" ]; }

unloads() {
	unload && ! present && [ ! -e /dev/dd ] && ! grep -q '^dd_' /proc/slabinfo
}

many_times() {
	local i

	for ((i = 0; i < rounds; i++)); do
		load && unloads || return 1
	done
}

used() { wc -l <"$TAP_DIR/used"; }

user() {
	until [ -e "$TAP_DIR/stop" ]; do
		build/selftests/abi_data window_of_3 && echo >>"$TAP_DIR/used"
	done >/dev/null 2>&1
}

# Until unloading has succeeded, was refused, and the users have exchanged
# messages, each so often.
users_come_and_go() {
	local users=() status=0 unloaded=0 refused=0

	load || return
	: >"$TAP_DIR/used"
	for _ in 1 2 3; do
		user &
		users+=($!)
	done
	while [ $unloaded -lt $often ] || [ $refused -lt $often ] ||
		[ "$(used)" -lt $often ]; do
		if ! remove; then
			refused=$((refused + 1))
			continue
		fi
		unloaded=$((unloaded + 1))
		load || {
			status=1
			break
		}
	done
	touch "$TAP_DIR/stop"
	wait "${users[@]}"
	echo "# unloaded $unloaded times, refused $refused times, used $(used) times"
	return $status
}

plan 10
present || load
check "unloading is refused while the device is open" refused_while_open
check "unloading is refused while a service exists" refused_while_served
check "unloading is refused while memory is exported and imported" refused_while_held \
	registrar 'register held' 'export held 0 4' 'import held 7' 'begin later 0' list
check "unloading is refused while a list can be read" refused_while_held list drop
check "unloading is refused while there is a registrar" refused_while_held registrar drop
check "an unused module is unloaded and leaves nothing" unloads
check "loaded and unloaded $rounds times" many_times
check "unloaded while users come and go" users_come_and_go
check "it works afterwards" build/selftests/abi_data window_of_16
reload() { unloads && load; }
check "unloaded and loaded a last time" reload
finish
