# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # variables of the scripts
#
# For scripts that judge the JSON of ddperf; sourced.

# Of jq: a spread is in order.
SPREAD='def spread: .min <= .p25 and .p25 <= .median and .median <= .p75 and
	.p75 <= .max and .min > 0; '

# report FILTER COMMAND...: its JSON satisfies the filter.
report() {
	local got=0

	timeout 100 "${@:2}" >out.json 2>err || got=$?
	[ "$got" = 0 ] && jq -e "$1" out.json >/dev/null && return
	diag "${*:2}: exit code $got: $(head -c 500 err)"
	diag "$(head -c 1500 out.json)"
	return 1
}
