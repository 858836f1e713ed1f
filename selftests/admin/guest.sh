# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# For the scripts that need the module; sourced, never run. They are run as
# root, in a machine of their own: they change the node.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$HERE/../.." && pwd)
TESTS=$TOP/build/selftests
# shellcheck source=selftests/admin/tap.sh
. "$HERE/tap.sh"
PATH=$TOP/build/bin:$PATH

[ -e /sys/module/dd ] || {
	echo "1..0 # SKIP dd is not loaded"
	exit 4
}

# --- processes that hold objects -------------------------------------------------

declare -A holder_to holder_from holder_pid

# hold NAME [COMMAND...]: a process to be told what to hold, run by COMMAND,
# which becomes it.
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
	# Until then it may not be in its namespaces yet.
	read -r -t 60 <&"$fd" || echo "# $name did not start" >&2
}

# tell NAME REQUEST...: leaves the answer in $reply.
tell() {
	local name=$1

	shift
	reply=dead
	echo "$*" >&"${holder_to[$name]}"
	read -r -t 120 reply <&"${holder_from[$name]}"
	[[ $reply != error* && $reply != dead ]] ||
		echo "# $name: $*: $reply" >&2
}

# let_go NAME: its process dies, and has died.
let_go() {
	local to=${holder_to[$1]} from=${holder_from[$1]}

	kill -9 "${holder_pid[$1]}"
	wait "${holder_pid[$1]}" 2>/dev/null
	exec {to}>&- {from}<&-
	unset "holder_pid[$1]" "holder_to[$1]" "holder_from[$1]"
}

# until_true COMMAND...: wait for a state, at most 20 s.
until_true() {
	local left=200

	while ! "$@" >/dev/null 2>&1; do
		((left-- > 0)) || return 1
		sleep 0.1
	done
}

# A user who may not open the device, and one who may.
# Words, not functions: a holder must be the process that is run.
# shellcheck disable=SC2034 # used by those who source this
as_user='setpriv --reuid 1000 --regid 1000 --clear-groups'
# shellcheck disable=SC2034
as_member='setpriv --reuid 1000 --regid 1000 --groups 900'

load() {
	modprobe dd && chown root:dd /dev/dd && chmod 660 /dev/dd
}

# --- what ddctl says ----------------------------------------------------------------

# json FILTER [OBJECT]: whether FILTER holds for $OUT, or for OBJECT now.
json() {
	[ $# = 1 ] || run ddctl -j "$2"
	jq -e "$1" "$OUT"
}

# ddctl's JSON of OBJECT has the specified keys and types; $2 are keys that may
# be missing.
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
