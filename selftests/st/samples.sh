#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The programs of tools/samples that use ST, on one node or, run by across.sh, with the servers
# at the other one.
#
# shellcheck disable=SC2317 # called through check
# shellcheck source=selftests/harness/servers.sh
. "$(dirname "$0")/../harness/servers.sh"

latency() {
	serve ready st-lat serve 2001 &&
		st-lat ping "$host" 2001 500 >out && wait "$SERVER" && grep -q '^500 round trips: ' out
}

bandwidth() {
	serve ready st-bw serve 2002 &&
		st-bw "$1" "$host" 2002 1 >out && wait "$SERVER" && [ "$(grep -c 'MB/s$' out)" = 8 ]
}

store() {
	local ret=0

	head -c 3000000 /dev/urandom >blocks
	serve ready st-store serve 2003 file &&
		st-store write "$host" 2003 5 <blocks &&
		within "$PATIENCE" listens 2 && st-store read "$host" 2003 5 733 >back &&
		head -c 3000000 back | cmp - blocks &&
		tail -c +20481 file | cmp - blocks && within "$PATIENCE" listens 3 &&
		! st-store read "$host" 2003 100000 1 2>err && grep -q 'the store: ' err || ret=1
	end TERM
	return $ret
}
listens() { [ "$(grep -c ready server.out)" = "$1" ]; }

check "ST_38 ST_44 st-lat" latency
for how in put silent whole get; do
	check "ST_40 st-bw $how" bandwidth "$how"
done
check "ST_40 ST_48 st-store" store
finish
