#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The demonstration succeeds, and only if all of it has happened: machines made
# of shell that leave something out are refused.
# shellcheck disable=SC2317 # functions that check calls
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

TMP=$(mktemp -d)
trap 'rm -rf "$TMP" "$TAP_DIR"' EXIT
SUM=$(echo | sha256sum | cut -d' ' -f1)
GOOD=(module dd-echo-server dd-rpc-client dd-sum-server dd-sum-client
	dd-stream-send dd-epoll-server ddctl "ddcp $SUM $SUM" ddperf "nodes $SUM $SUM" rmem vmmc sbl st end)

# machine STATUS STEP...: demo.sh, with a machine that says so and exits so.
machine() {
	local status=$1 step

	shift
	{
		echo '#!/bin/sh'
		for step; do
			echo "echo @demo $step"
		done
		echo "exit $status"
	} >"$TMP/run.sh"
	chmod +x "$TMP/run.sh"
	DD_DEMO_RUN=$TMP/run.sh selftests/tools/demo/demo.sh
}

# refused REASON STATUS STEP...
refused() {
	local reason=$1

	shift
	! machine "$@" >"$TMP/out" 2>&1 && grep "^demo: $reason" "$TMP/out" &&
		grep -q '^demo: not complete' "$TMP/out" && return
	cat "$TMP/out"
	return 1
}

# instead REASON STEP [LINE]: a machine that leaves that out, or says something
# else, is refused.
instead() {
	local reason=$1 left=$2 step steps=()

	for step in "${GOOD[@]}"; do
		[ "${step%% *}" = "$left" ] || steps+=("$step")
	done
	refused "$reason" 0 "${steps[@]}" "${@:3}"
}

check "the demonstration" selftests/tools/demo/demo.sh
check "a machine that does all" machine 0 "${GOOD[@]}"
check "refused: a step is missing" instead "'rmem' has not happened" rmem
check "refused: a complaint of the machine" \
	refused "the virtual machine's exit status is 205" 205 "${GOOD[@]}"
check "refused: another file arrives" \
	instead "nodes: the file that arrived" nodes "nodes $SUM ${SUM//[0-4]/5}"
check "refused: no checksum" instead "ddcp: the file that arrived" ddcp ddcp
finish
