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

# perf SECONDS PATTERN ARGUMENT...: a report with such a line, and no cluster afterwards.
perf() {
	timeout "$1" "$NET/perf.sh" "${@:3}" >out 2>err && grep -q "$2" out && no_nodes && return
	diag "$(tail -n 5 out err)"
	return 1
}

# shellcheck disable=SC2086 # words
measures() { perf 100 '^dd .* packets a message' "$@" $QUICK; }

# The report begins with the receiving processors, and what a slow link is made of.
steered_slow_link() {
	measures -r 1:2 -l slow && grep -q '^qdisc tbf .* rate 20Mbit' out &&
		[ "$(grep -o '^steered .*: [12]$' out | grep -o '.$' | xargs)" = '1 2' ]
}

# Beside a TCP stream: both get a share.
shared_link() {
	perf 240 '^dd  *[0-9.]*  *0\.[0-9]*$' -l slow share 60 && grep -q '^tcp  *[0-9.]*  *0\.[0-9]*$' out
}

# shellcheck disable=SC2086 # words
wrong() {
	refused 2 'perf.sh \[-m MTU\]' "$NET/perf.sh" &&
		refused 2 'perf.sh \[-m MTU\]' "$NET/perf.sh" -l none-such $QUICK &&
		refused 1 'no such processors: x:2' "$NET/perf.sh" -r x:2 $QUICK &&
		no_nodes
}

plan 5
check "perf.sh" measures
check "perf.sh: a slow link; either side's own processor receives" steered_slow_link
check "perf.sh: a link shared with TCP" shared_link
check "perf.sh: a link that loses packets: bandwidth" perf 240 '^tcp-block ' -l loss bw -s 64K -n 20 -r 1
check "perf.sh: wrong command lines" wrong
finish
