#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The scripts that measure between nodes do what they say, and leave nothing
# behind. Their figures are not judged here.
#
# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
NET=$(cd "$(dirname "$0")/../net" && pwd)
scratch
QUICK="lat -s 64 -n 20 -r 1 -m tcp-spin"

no_nodes() { ! ip netns list | grep -q '^dd[12]\b'; }

# measures OPTION...: a report, and no cluster afterwards.
measures() {
	# shellcheck disable=SC2086 # words
	timeout 100 "$NET/perf.sh" "$@" $QUICK >out 2>err &&
		grep -q '^dd .* packets a message' out && no_nodes && return
	diag "$(tail -n 5 out err)"
	return 1
}

# The report begins with the receiving processors.
steered() {
	measures -r 1:2 && [ "$(grep -o '^steered .*: [12]$' out | grep -o '.$' |
		tr -d '\n')" = 12 ]
}

# And what a slow link is made of.
slow_link() { measures -l slow && grep -q '^qdisc tbf .* rate 20Mbit' out; }

# Beside a TCP stream: both get a share.
shared_link() {
	timeout 240 "$NET/perf.sh" -l slow share 60 >out 2>err &&
		grep -q '^dd  *[0-9.]*  *0\.[0-9]*$' out &&
		grep -q '^tcp  *[0-9.]*  *0\.[0-9]*$' out && no_nodes && return
	diag "$(tail -n 5 out err)"
	return 1
}

lossy_link() {
	timeout 240 "$NET/perf.sh" -l loss bw -s 64K -n 20 -r 1 >out 2>err &&
		grep -q '^tcp-block ' out && no_nodes && return
	diag "$(tail -n 5 out err)"
	return 1
}

# shellcheck disable=SC2086 # words
wrong() {
	refused 2 'perf.sh \[-m MTU\]' "$NET/perf.sh" &&
		refused 2 'perf.sh \[-m MTU\]' "$NET/perf.sh" -l none-such $QUICK &&
		refused 1 'no such processors: x:2' "$NET/perf.sh" -r x:2 $QUICK &&
		no_nodes
}

plan 6
check "perf.sh" measures
check "perf.sh: either side's own processor receives" steered
check "perf.sh: a slow link" slow_link
check "perf.sh: a link shared with TCP" shared_link
check "perf.sh: a link that loses packets: bandwidth" lossy_link
check "perf.sh: wrong command lines" wrong
finish
