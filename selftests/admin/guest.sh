# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# For the scripts that need the module; sourced, never run. They run as root in a
# virtual machine, because they change the node.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$HERE/../.." && pwd)
TESTS=$TOP/build/selftests
# shellcheck source=selftests/vm/tap.sh
. "$TOP/selftests/vm/tap.sh"
PATH=$TOP/build/bin:$PATH

[ -e /sys/module/dd ] || {
	echo "1..0 # SKIP dd is not loaded"
	exit 4
}

# --- processes that hold objects -------------------------------------------------

declare -A holder_to holder_from holder_pid

# hold NAME [COMMAND...]: start dd_hold, by COMMAND, which must exec it.
hold() {
	local name=$1 fd

	shift
	mkfifo "$TAP_DIR/$name.in" "$TAP_DIR/$name.out"
	"$@" "$TESTS/dd_hold" <"$TAP_DIR/$name.in" >"$TAP_DIR/$name.out" &
	holder_pid[$name]=$!
	exec {fd}>"$TAP_DIR/$name.in"
	holder_to[$name]=$fd
	exec {fd}<"$TAP_DIR/$name.out"
	holder_from[$name]=$fd
	rm "$TAP_DIR/$name.in" "$TAP_DIR/$name.out"
	# It is in its namespaces after this line.
	read -r -t 60 <&"$fd" || echo "# $name did not start" >&2
}

# tell NAME REQUEST...: send a request to dd_hold; the answer is in $reply.
tell() {
	local name=$1

	shift
	reply=dead
	echo "$*" >&"${holder_to[$name]}"
	read -r -t 120 reply <&"${holder_from[$name]}"
	[[ $reply != error* && $reply != dead ]] ||
		echo "# $name: $*: $reply" >&2
}

# let_go NAME: kill that process, and wait for it.
let_go() {
	local to=${holder_to[$1]} from=${holder_from[$1]}

	kill -9 "${holder_pid[$1]}"
	wait "${holder_pid[$1]}" 2>/dev/null
	exec {to}>&- {from}<&-
	unset "holder_pid[$1]" "holder_to[$1]" "holder_from[$1]"
}

# until_true COMMAND...: wait for a state.
until_true() { within "$PATIENCE" "$@" >/dev/null 2>&1; }

# A user without and one with access to the device. These are words, not functions:
# the process that is started must become the holder.
# shellcheck disable=SC2034 # used by other scripts
as_user='setpriv --reuid 1000 --regid 1000 --clear-groups'
# shellcheck disable=SC2034
as_member='setpriv --reuid 1000 --regid 1000 --groups 900'

load() {
	modprobe dd && chown root:dd /dev/dd && chmod 660 /dev/dd
}

# --- output of ddctl ----------------------------------------------------------------

# json FILTER [OBJECT]: FILTER holds for $OUT, or for the present OBJECT.
json() {
	[ $# = 1 ] || run ddctl -j "$2"
	jq -e "$1" "$OUT"
}

# typed OBJECT [KEYS]: ddctl's JSON has the keys and types of the specification;
# KEYS may be absent.
typed() {
	run ddctl -j "$1"
	[ "$status" = 0 ] && jq -e --slurpfile keys "$TESTS/dd_keys.json" \
		--arg object "$1" --arg optional "${2:-}" '
		($keys[0][$object]) as $want | ($optional / " ") as $may |
		(if type == "array" then . else [.] end) |
		length > 0 and all(.[];
			map_values(type) as $have |
			all($have | to_entries[]; $want[.key] == .value) and
			(($want | keys) - ($have | keys) - $may == []))' "$OUT"
}

# --- refusals --------------------------------------------------------------------

# What is configured; the rest changes by itself.
config() {
	{ ddctl -j node; ddctl -j peer; } | jq -c 'if type == "object" then . else
		map([.number, .address, .dead_time, .payload_crc]) end'
}

# all_refused WHAT: for each line NAME|ERRNO|MESSAGE|REQUEST of the input the kernel
# answers so, and nothing changes. To ask after each of them would take ten times as long.
all_refused() {
	local name errno message request before

	before=$(config)
	while IFS='|' read -r name errno message request; do
		# shellcheck disable=SC2086 # words
		run "$TESTS/dd_ask" $request
		check "kernel: $name" has_line "$OUT" "^$errno .*$message"
	done
	check "kernel: $1: nothing has changed" [ "$(config)" = "$before" ]
}

# ddctl_refuses NAME STATUS MESSAGE ARGUMENT...
ddctl_refuses() {
	local name=$1 want=$2 message=$3

	shift 3
	run ddctl "$@"
	check "ddctl: $name" failed "$want" "$message"
}

# failed STATUS MESSAGE: without output.
failed() {
	[ "$status" = "$1" ] && [ ! -s "$OUT" ] && has_line "$ERR" "^ddctl: .*$2"
}
