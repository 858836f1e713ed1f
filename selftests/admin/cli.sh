#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# cli.sh [DDCTL]: the command line of ddctl, which needs no module: usage,
# help, exit statuses, completion, manual page.

HERE=$(cd "$(dirname "$0")" && pwd)
TOP=$(cd "$HERE/../.." && pwd)
DDCTL=$(realpath "${1:-$TOP/build/bin/ddctl}")
# shellcheck source=selftests/admin/tap.sh
. "$HERE/tap.sh"
# shellcheck source=tools/ddctl/completion.bash
. "$TOP/tools/ddctl/completion.bash"

COMMANDS='apply conn doctor help import monitor node peer region segment service stat version'
CONF=$TAP_DIR/cluster.conf

ddctl() { "$DDCTL" "$@"; }

# --- usage errors -------------------------------------------------------

test_usage() {
	exits 'usage: no command' 2 ddctl
	exits 'usage: no such command' 2 ddctl nodes
	exits 'usage: no such option' 2 ddctl -x node
	exits 'usage: no such long option' 2 ddctl --jason node
	exits 'usage: an empty word' 2 ddctl ''
	exits 'usage: node: no such verb' 2 ddctl node start
	exits 'usage: node up: an argument' 2 ddctl node up now
	exits 'usage: node down: an argument' 2 ddctl node down now
	exits 'usage: node set: nothing' 2 ddctl node set
	exits 'usage: node set: no such word' 2 ddctl node set pid 1
	exits 'usage: node set: no number' 2 ddctl node set id
	exits 'usage: node set: twice' 2 ddctl node set id 1 id 2
	for word in '' x 1x -1 4294967296 99999999999999999999 1.5; do
		exits "usage: node set: id '$word'" 2 ddctl node set id "$word"
	done
	out_of_range 'id must be 0 to 4095, not 4096' node set id 4096
	out_of_range 'max must be 1 to 4096, not 0' node set max 0
	out_of_range 'max must be 1 to 4096, not 4097' node set id 1 max 4097
	out_of_range 'port must be 1 to 65535, not 0' node set port 0
	out_of_range 'port must be 1 to 65535, not 65536' node set port 65536
	out_of_range "number must be 0 to 4095, not 4096" peer add 4096 10.0.0.1
	out_of_range "number must be 0 to 4095, not 4096" peer show 4096
	out_of_range 'dead-time must be 100 to 3600000, not 99' \
		peer add 1 10.0.0.1 dead-time 99
	out_of_range 'dead-time must be 100 to 3600000, not 3600001' \
		peer set 1 dead-time 3600001
	out_of_range 'apply: --node must be 0 to 4095, not 4096' \
		apply --node 4096 x
	for word in 1.2.3 10.1 0x7f.0.0.1 0x7f000001 010.0.0.1 10.0.0.01 1 \
		256.1.1.1 1.2.3.4.5 1.2.3:5; do
		run ddctl peer add 1 "$word"
		check "usage: peer add: address '$word'" \
			says 2 "^ddctl: '$word': .* four decimal numbers"
	done
	for word in 0.0.0.0 224.0.0.1 255.255.255.255 '[::]:1' '[ff02::1]' \
		'[::ffff:10.0.0.1]' '[fe80::1]' '[10.0.0.1]:5'; do
		exits "usage: peer add: address '$word'" 2 \
			ddctl peer add 1 "$word"
	done
	exits "usage: node set: port 'dd'" 2 ddctl node set port dd
	exits 'usage: peer: no such verb' 2 ddctl peer list
	exits 'usage: peer show: two arguments' 2 ddctl peer show 1 2
	for verb in show add set del; do
		exits "usage: peer $verb: no number" 2 \
			ddctl peer $verb one 10.0.0.1
	done
	exits 'usage: peer add: nothing' 2 ddctl peer add
	exits 'usage: peer add: no address' 2 ddctl peer add 1
	exits 'usage: peer set: nothing' 2 ddctl peer set
	exits 'usage: peer set: nothing to change' 2 ddctl peer set 1
	exits 'usage: peer del: nothing' 2 ddctl peer del
	exits 'usage: peer del: two' 2 ddctl peer del 1 2
	for word in '' : :1 a: a:0 a:65536 a:dd '[::1' '[::1]1' '[]' '[::1]:'; do
		exits "usage: peer add: address '$word'" 2 \
			ddctl peer add 1 "$word"
	done
	exits 'usage: peer add: no such word' 2 ddctl peer add 1 10.0.0.1 port 1
	exits 'usage: peer add: no value' 2 ddctl peer add 1 10.0.0.1 dead-time
	exits 'usage: peer set: neither on nor off' 2 \
		ddctl peer set 1 payload-crc 1
	exits 'usage: peer set: twice' 2 \
		ddctl peer set 1 dead-time 100 dead-time 100
	exits 'peer add: a name that is not known' 1 \
		ddctl peer add 1 nowhere.invalid
	exits 'usage: apply: nothing' 2 ddctl apply
	exits 'usage: apply: no such option' 2 ddctl apply --test x
	exits 'usage: apply: two files' 2 ddctl apply x y
	exits 'usage: apply: --node of nothing' 2 ddctl apply --node
	exits 'usage: apply: --node of no number' 2 ddctl apply --node me x
	exits 'apply: no such file' 1 ddctl apply "$TAP_DIR/missing"
	exits 'apply: a directory' 7 ddctl apply "$TAP_DIR"
	for command in service conn region segment import stat; do
		exits "usage: $command: no such verb" 2 ddctl $command list
		exits "usage: $command show: an argument" 2 \
			ddctl $command show all
	done
	for command in monitor doctor version; do
		exits "usage: $command: an argument" 2 ddctl $command me
	done
	exits 'usage: help: no such command' 2 ddctl help nodes
	exits 'usage: help: two commands' 2 ddctl help node conn
}

# says STATUS PATTERN: the exit status, and a line on standard error.
says() { [ "$status" = "$1" ] && grep -q -- "$2" "$ERR"; }

# out_of_range PATTERN ARGUMENT...
out_of_range() {
	local pattern=$1

	shift
	run ddctl "$@"
	check "usage: $*" says 2 "^ddctl: .*$pattern\$"
}

# Columns are chosen before the module is asked.
test_columns() {
	run ddctl -o pid,x,uid import
	check 'usage: -o: no such column' \
		says 2 "^ddctl: import has no column 'x'; it has pid,uid,.*,error\$"
	exits "usage: -o: an empty one" 2 ddctl conn -o pid,
	exits "usage: -o: no columns" 2 ddctl conn -o
	exits "usage: -o: nothing is shown" 2 ddctl -o number peer del 1
	exits "usage: -o: and no object" 2 ddctl -o abi version
	exits "usage: -o: of one peer" 2 ddctl peer show 1 -o ctx
}

# --- options -------------------------------------------------------------------

# same WORDS...: prints the same as "-j version".
same() { cmp <(ddctl -j version) <(ddctl "$@"); }

# error_in_json STATUS ARGUMENT...: the error is in JSON and on standard error.
error_in_json() {
	local want=$1

	shift
	run ddctl "$@"
	check "JSON: an error of '$*'" is_json_error "$want"
}
is_json_error() {
	[ "$status" = "$1" ] && [ -s "$OUT" ] && jq -e --argjson want "$1" --rawfile err "$ERR" '
		.status == "error" and .exit_status == $want and
		(.error | split("\n") | map("ddctl: " + . + "\n") | add) == $err' "$OUT"
}

test_options() {
	check 'options: behind a command' same version -j
	check 'options: a long one behind it' same version --json
	check 'options: shortened' same version --js
	check 'options: before and behind' same -j version -t
	echo '0 10.0.0.1' >"$CONF"
	run ddctl apply --check -j --node 0 "$CONF" -p
	check 'options: among those of apply' [ "$(jq -c . "$OUT")" = \
		'{"node":0,"maxnodes":1,"nodes":1,"skipped":[]}' ]
	run ddctl -j node --help
	check 'options: help of a command, in JSON' \
		[ "$(jq -r '.[].command' "$OUT")" = node ]
	run ddctl -- node -j
	check 'options: none behind --' says 2 "node has no verb '-j'"
	error_in_json 2 nodes -j
	error_in_json 2 -x -j
	error_in_json 2 node set id 5000 -j
	error_in_json 2 peer add 1 1.2.3 --pretty
	error_in_json 1 -j apply "$TAP_DIR/missing"
	printf '%s\n' '0 10.0.0.1' '0 10.0.0.2' 'max 0' >"$CONF"
	error_in_json 7 -j apply --check "$CONF"
	check 'one write: an error' one_write "$DDCTL" nodes
	check 'one write: several' one_write "$DDCTL" apply --check "$CONF"
}

# --- help ----------------------------------------------------------------------

names_verbs() {
	local verb

	[ "$status" = 0 ] && [ ! -s "$ERR" ] || return
	ddctl -j help | jq -r ".[] | select(.command == \"$1\").verbs[].verb" |
		while read -r verb; do
			grep -q "ddctl $1 *$verb" "$OUT" || exit 1
		done
}

test_help() {
	local command

	exits 'help: overview' 0 ddctl help
	check 'help: -h is the same' cmp "$OUT" <(ddctl -h)
	for command in $COMMANDS; do
		check "help: overview names $command" grep -q "^  $command " "$OUT"
	done
	for command in $COMMANDS; do
		run ddctl help "$command"
		check "help: $command" names_verbs "$command"
		check "help: $command --help is the same" \
			cmp "$OUT" <(ddctl "$command" --help)
	done
	run ddctl -j help
	check 'help: JSON has these commands and no other' \
		[ "$(jq -r '.[].command' "$OUT" | tr '\n' ' ')" = "$COMMANDS " ]
	run ddctl -j help conn
	check 'help: JSON of one command' \
		[ "$(jq -r '.[].command' "$OUT")" = conn ]
}

# --- without the module --------------------------------------------------------

says_no_module() {
	[ "$status" = 3 ] && grep -q 'modprobe dd' "$ERR" || return
	if [ "$1" = -j ]; then
		is_json_error 3
	else
		[ ! -s "$OUT" ]
	fi
}

without_module() {
	local name="no module: $*"

	if [ -e /sys/module/dd ]; then
		skip "$name" 'dd is loaded'
		return
	fi
	run ddctl "$@"
	check "$name" says_no_module "$1"
}

test_without_module() {
	local object

	for object in node peer service conn region segment import stat; do
		without_module $object
		without_module -j $object show
	done
	without_module peer show 1
	without_module peer add 1 10.0.0.1
	without_module peer set 1 dead-time 100
	without_module peer del 1
	echo '0 10.0.0.1' >"$CONF"
	without_module apply --node 0 "$CONF"
	without_module node up
	without_module node down
	without_module node set id 1 max 2
	without_module monitor
}

# The exit status is 6 if, and only if, there is something to fix.
doctor_agrees() {
	local fixes

	fixes=$(jq '[.[] | select(.status == "fix")] | length' "$OUT") || return
	if [ "$fixes" = 0 ]; then [ "$status" = 0 ]; else [ "$status" = 6 ]; fi
}

doctor_is_typed() {
	jq -e 'type == "array" and length >= 4 and all(.[];
		(.check | type) == "string" and (.text | type) == "string" and
		(.status | IN("ok", "note", "fix")) and
		(.advice | type | IN("string", "null")) and
		(.status == "fix") <= (.advice != null))' "$OUT"
}

test_doctor() {
	run ddctl -j doctor
	check 'doctor: JSON' doctor_is_typed
	check 'doctor: exit status' doctor_agrees
	check 'doctor: the same for people' \
		[ "$(ddctl doctor | grep -c '^[a-z]')" = "$(jq length "$OUT")" ]
}

# kernel RELEASE VERSION STATUS TEXT: the doctor's line about that kernel.
kernel() {
	run env LD_PRELOAD="$TOP/build/selftests/dd_uname.so" \
		UNAME_RELEASE="$1" UNAME_VERSION="$2" "$DDCTL" -j doctor
	check "doctor: Linux $1 $2" has_kernel "$3" "$4"
}
has_kernel() {
	jq -e --arg status "$1" --arg text "$2" 'any(.[]; .check == "kernel" and
		.status == $status and (.text | test($text)) and
		(.advice == null) == ($status == "ok"))' "$OUT"
}

test_kernels() {
	kernel 6.1.0-37-amd64 '#1 SMP PREEMPT_DYNAMIC' ok '^Linux 6.1.0-37-amd64$'
	kernel 6.12.30-cloud '#1 SMP' ok '^Linux 6.12.30-cloud$'
	kernel 7.3.4+deb13-amd64 '#1 SMP' ok '^Linux 7.3.4'
	kernel 6.1.0-37-rt-amd64 '#1 SMP PREEMPT_RT' fix 'PREEMPT_RT'
	kernel 5.10.0 '#1 SMP' fix 'not supported'
	kernel 6.6.1 '#1 SMP' note 'not supported: dd is for 6.1, 6.12 and 7.3'
	kernel 6.10.0 '#1 SMP' note 'not supported'
	kernel 7.1.0 '#1 SMP' note 'not supported'
	check 'doctor: no advice to look for "dd" in all words' \
		lacks 'grep dd' "$DDCTL"
}
lacks() { ! grep -qa -- "$1" "$2"; }

test_version() {
	exits 'version: for people' 0 ddctl version
	check 'version: -V is the same' cmp "$OUT" <(ddctl -V)
	run ddctl -j version
	check 'version: JSON' jq -e '(.ddctl | type) == "string" and
		(.abi | type) == "number" and has("module")' "$OUT"
	check 'version: the ABI is the header'"'"'s' [ "$(jq .abi "$OUT")" = "$(sed -n \
		's/^#define DD_ABI_VERSION[ \t]*//p' "$TOP/include/uapi/linux/dd.h")" ]
	run ddctl -V -j
	check 'version: -V, in JSON' jq -e .abi "$OUT"
	exits 'output: a full disk is noticed' 1 bash -c "'$DDCTL' help >/dev/full"
	run ddctl -p version
	check 'output: -p is JSON too' jq -e .abi "$OUT"
}

# --- the cluster file --------------------------------------------------------

# reports FILE LINES: status 7, and an error for each of these lines.
reports() {
	[ "$status" = 7 ] && [ ! -s "$OUT" ] &&
		diff <(sed -n "s,^ddctl: $1:\([0-9]*\): .*,\1,p" "$ERR" | xargs) \
		<(echo "$2")
}

# leaves_out FILE LINE: status 0; this line, of node 1, and that it is left out, are reported.
leaves_out() {
	[ "$status" = 0 ] && jq -e '.skipped == [1] and .nodes == 3' "$OUT" &&
		grep -q "^ddctl: $1:$2: nowhere.invalid: " "$ERR" &&
		grep -qx "ddctl: $1: 1 node is left out; .*, apply the file again" "$ERR"
}

test_apply() {
	printf '%s\n' '# all of it' 'max 3' '0 10.0.0.1 5000' '2 10.0.0.2' >"$CONF"
	run ddctl apply --check --node 2 "$CONF"
	check 'apply: a file that is right' [ "$status $(cat "$OUT")" = \
		"0 $CONF: 2 nodes of 3; this is node 2, 10.0.0.2" ]
	run bash -c "printf '10 10.0.0.1' | '$DDCTL' apply --check --node 010 -"
	check 'apply: no number is octal' [ "$status $(cat "$OUT")" = \
		'0 standard input: 1 node of 11; this is node 10, 10.0.0.1' ]
	run ddctl -j apply --node 0 --check "$CONF"
	check 'apply: the same in JSON' \
		jq -e '. == {node: 0, maxnodes: 3, nodes: 2, skipped: []}' "$OUT"
	run ddctl apply --check "$CONF"
	check 'apply: which node is this?' \
		[ "$status" = 7 -a "$(cat "$ERR")" = "ddctl: $CONF: no line has an \
address of this machine; which node is it? --node NUMBER" ]
	run bash -c "printf '1 localhost' | '$DDCTL' apply --check -"
	check 'apply: standard input, and a name' [ "$status $(cat "$OUT")" = \
		'0 standard input: 1 node of 2; this is node 1, localhost' ]
	printf '%s\n' '0 10.0.0.1' '0 10.0.0.2' 'max 4' '9 x y z' >"$CONF"
	run ddctl apply --check "$CONF"
	check 'apply: errors have lines' reports "$CONF" '2 4 4'
	printf '%s\n' '0 10.0.0.1' '1 nowhere.invalid' '2 10.0.0.2' >"$CONF"
	run ddctl -j apply --check --node 2 "$CONF"
	check 'apply: a name that is not known is reported, and no error' \
		leaves_out "$CONF" 2
	printf '%s\n' '0 10.0.0.1' '1 10.0.0.1' '2 ff02::1' >"$CONF"
	run ddctl apply --check --node 1 "$CONF"
	check 'apply: errors of addresses have lines' reports "$CONF" '3 1'
}

# --- completion and manual -----------------------------------------------------

# complete_line WORD...: the completions of the last word.
complete_line() {
	COMP_WORDS=(ddctl "$@")
	COMP_CWORD=$#
	_ddctl
	echo "${COMPREPLY[*]}"
}

# Sorted words of a list, in one line.
sorted() { tr ' ' '\n' <<<"$*" | sort | tr '\n' ' '; }

verbs_of() {
	ddctl -j help | jq -r ".[] | select(.command == \"$1\").verbs[].verb"
}

test_completion() {
	local command want

	check 'completion: commands' \
		[ "$(sorted "$(complete_line '')")" = "$(sorted "$COMMANDS")" ]
	check 'completion: after options' \
		[ "$(complete_line -j --pretty mo)" = monitor ]
	check 'completion: behind options in between' \
		[ "$(complete_line node -j se)" = set ]
	check 'completion: options behind a command' \
		[ "$(complete_line node --pr)" = --pretty ]
	check 'completion: options' \
		[ "$(complete_line --j)" = --json ]
	for command in $COMMANDS; do
		want=$(verbs_of "$command" | xargs)
		[ "$command" != help ] || want=$COMMANDS
		[ "$command" != apply ] || want=$(compgen -f | xargs)
		check "completion: verbs of $command" [ \
			"$(sorted "$(complete_line "$command" '')")" = \
			"$(sorted "$want")" ]
	done
	check 'completion: columns' \
		[ "$(complete_line region -o '')" = 'pid uid ctx id length busy' ]
	check 'completion: further columns' \
		[ "$(complete_line -j peer --output number,stat)" = number,state ]
	check 'completion: a verb behind columns' [ "$(complete_line -o id node se)" = set ]
	check 'completion: node set' \
		[ "$(complete_line node set '')" = 'id max port' ]
	check 'completion: node set id 1' \
		[ "$(complete_line node set id 1 '')" = 'max port' ]
	check 'completion: peer add' [ -z "$(complete_line peer add 1 '')" ]
	check 'completion: peer add 1 a' \
		[ "$(complete_line peer add 1 a '')" = 'dead-time payload-crc' ]
	check 'completion: peer set 1 a payload-crc' \
		[ "$(complete_line peer set 1 a payload-crc '')" = 'on off' ]
	check 'completion: peer set 1 payload-crc on' \
		[ "$(complete_line peer set 1 payload-crc on '')" = dead-time ]
	check 'completion: apply --' \
		[ "$(complete_line apply --)" = '--check --node' ]
	check 'completion: node set id' [ -z "$(complete_line node set id '')" ]
	check 'completion: options are those of help' [ \
		"$(sorted "$_ddctl_options")" = \
		"$(sorted "$(ddctl help | grep -o '^  -., --[a-z]*' | tr -d , | xargs)")" ]
}

# The manual has the exit statuses of say.h, and no other.
manual_has_statuses() {
	diff <(sed -n 's/^\tEXIT_[A-Z_]* = \([0-9]*\),.*/\1/p' \
		"$TOP/tools/ddctl/say.h") \
		<(sed -n '/^\.Sh EXIT STATUS/,/^\.El/s/^\.It \([0-9]*\)$/\1/p' \
		"$TOP/Documentation/man/ddctl.8")
}

manual_has_verbs() {
	local command verb

	for command in $COMMANDS; do
		for verb in $(verbs_of "$command") ''; do
			grep -Eq "^\.(It )?Cm $command( .*)?\b$verb\b" \
				"$TOP/Documentation/man/ddctl.8" || {
				echo "$command $verb is not in the manual" >&2
				return 1
			}
		done
	done
}

# The manual has the peer counters of the module, and no other.
manual_has_counters() {
	diff <(sed -n -e 's/^\tDD_UDP_OF_\(LINK\|TP\)("\([a-z-]*\)".*/\2/p' \
		-e 's/^\tDD_UDP_OF_DROP("\([a-z-]*\)".*/drop-\1/p' \
		"$TOP/kernel/udp/udp.c" | tr - _ | sort) \
		<(sed -n '/^\.Sh PEER COUNTERS/,/^\.Sh FILES/s/^\.It Li \(.*\)$/\1/p' \
		"$TOP/Documentation/man/ddctl.8" | sort)
}

test_manual() {
	check 'manual: counters of a peer' manual_has_counters
	check 'manual: exit statuses' manual_has_statuses
	check 'manual: commands and verbs' manual_has_verbs
}

test_usage
test_columns
test_options
test_help
test_without_module
test_doctor
test_kernels
test_version
test_apply
test_completion
test_manual
finish
