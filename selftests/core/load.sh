#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Loading and unloading dd.ko: refused while somebody uses it, fifty times in a
# row, and with users who come and go. TAP; in a guest, as root.
set -u
cd "$(dirname "$0")/../.." || exit 1

rounds=${DD_LOAD_ROUNDS:-$([ -e /proc/self/fail-nth ] && echo 10 || echo 50)}
count=0 failed=0

result() {
	count=$((count + 1))
	if [ "$2" = 0 ]; then
		echo "ok $count $1"
	else
		echo "not ok $count $1"
		failed=$((failed + 1))
	fi
}

present() { [ -e /sys/module/dd ]; }

load() {
	modprobe dd || return
	chgrp dd /dev/dd && chmod 0660 /dev/dd
}

# A use may end a moment after its process.
unload() {
	local _

	for _ in {1..100}; do
		rmmod dd 2>/dev/null && return
		sleep 0.1
	done
	return 1
}

refused() { ! rmmod dd 2>/dev/null && present; }

refused_while_open() {
	local ok

	exec 7<>/dev/dd || return
	refused
	ok=$?
	exec 7>&-
	return $ok
}

# A program that has a mapping, a region and a service, for a while.
refused_while_served() {
	local pid ok _

	build/bin/fig2 &
	pid=$!
	for _ in {1..300}; do
		ddctl -j service | jq -e 'length > 0' >/dev/null && break
		sleep 0.1
	done
	ddctl -j service | jq -e 'length > 0' >/dev/null && refused
	ok=$?
	kill -9 $pid
	wait $pid 2>/dev/null
	return $ok
}

clean() {
	! present && [ ! -e /dev/dd ] && ! grep -q '^dd_' /proc/slabinfo
}

many_times() {
	local i

	for ((i = 0; i < rounds; i++)); do
		load && unload && clean || return 1
	done
}

alive() { kill -0 "$@" 2>/dev/null; }

# Unloading is tried as long as they are there; it works, or it is refused.
users_come_and_go() {
	local i k users=() status=0 unloaded=0 refused=0

	load || return
	for i in 1 2 3; do
		(
			for ((k = 0; k < rounds; k++)); do
				build/selftests/abi_data window_of_3
			done
		) >/dev/null 2>&1 &
		users+=($!)
	done
	for i in "${users[@]}"; do
		while alive "$i"; do
			if rmmod dd 2>/dev/null; then
				unloaded=$((unloaded + 1))
				load || status=1
			else
				refused=$((refused + 1))
			fi
		done
		wait "$i"
	done
	present || load || status=1
	echo "# unloaded $unloaded times, refused $refused times"
	[ $((unloaded + refused)) -gt 0 ] && return $status
}

works() {
	build/selftests/abi_data window_of_16 >/dev/null 2>&1
}

echo "TAP version 13"
echo "1..7"
present || load
refused_while_open
result "unloading is refused while the device is open" $?
refused_while_served
result "unloading is refused while a service is there" $?
unload && clean
result "it is unloaded when nobody uses it, and leaves nothing" $?
many_times
result "loaded and unloaded $rounds times" $?
users_come_and_go
result "unloaded again and again while users come and go" $?
works
result "it works afterwards" $?
unload && clean && load
result "and is unloaded and loaded a last time" $?
exit $((failed != 0))
