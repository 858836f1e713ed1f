#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The samples, on one node or, run by across.sh, with other members at the other one.
#
# shellcheck disable=SC2317 # called through check
# shellcheck source=selftests/harness/servers.sh
. "$(dirname "$0")/../harness/servers.sh"
PROGRAMS=$TOP/build/samples/sbl

pingpong() {
	peers 1 "$PROGRAMS/pingpong" && with_peers "$PROGRAMS/pingpong" "$1" "$2" &&
		grep -q "^$1 update: $2 round trips" out
}

# The second member is at the other node.
blackboard() {
	local board=$PROGRAMS/blackboard first

	rm -f peer*
	"$board" 0 3 "from the first" >peer0 2>&1 &
	PIDS=($!) PEERS=()
	within "$PATIENCE" has_line peer0 :
	first=$(head -n 1 peer0)
	"${there[@]}" "$board" 1 3 "from the second" "$first" >peer1 2>&1 &
	PIDS+=($!)
	with_peers "$board" 2 3 "from the third" "$first" &&
		diff out - <<<$'0: from the first\n1: from the second\n2: from the third' &&
		diff peer1 out && tail -n +2 peer0 | diff - out
}

check "SBL_13_pingpong by deliberate update" pingpong deliberate 300
check "SBL_16_pingpong by automatic update" pingpong automatic 100
check "SBL_16_blackboard of three members" blackboard
check "the programs explain themselves" explain "$PROGRAMS"/{pingpong,blackboard}
finish
