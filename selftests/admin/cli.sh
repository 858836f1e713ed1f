#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# cli.sh [DDCTL]: the command line of ddctl, which needs no module: usage,
# help, exit statuses, completion, manual page.

HERE=$(cd "$(dirname "$0")" && pwd)
TOP=$(cd "$HERE/../.." && pwd)
DDCTL=$(realpath "${1:-$TOP/build/bin/ddctl}")
# shellcheck source=selftests/vm/tap.sh
. "$TOP/selftests/vm/tap.sh"
# shellcheck source=tools/ddctl/completion.bash
. "$TOP/tools/ddctl/completion.bash"

COMMANDS='apply conn doctor help import monitor node peer region segment service stat version'
CONF=$TAP_DIR/cluster.conf

ddctl() { "$DDCTL" "$@"; }

# --- usage errors -------------------------------------------------------

# misused ARGUMENT...: ddctl refuses them.
misused() { exits "usage: ddctl ${*@Q}" 2 ddctl "$@"; }

# misused_as PATTERN ARGUMENT...: the same, with a message that ends in PATTERN.
misused_as() {
	local pattern=$1

	shift
	run ddctl "$@"
	check "usage: ddctl ${*@Q}" says 2 "^ddctl: .*$pattern\$"
}

test_usage() {
	misused
	misused nodes
	misused -x node
	misused --jason node
	misused ''
	misused node start
	misused node up now
	misused node set
	misused node set pid 1
	misused node set id
	misused node set id 1 id 2
	for word in '' x 1x -1 4294967296 99999999999999999999 1.5; do
		misused node set id "$word"
	done
	misused node set port dd
	misused_as 'id must be 0 to 4095, not 4096' node set id 4096
	misused_as 'max must be 1 to 4096, not 0' node set max 0
	misused_as 'max must be 1 to 4096, not 4097' node set id 1 max 4097
	misused_as 'port must be 1 to 65535, not 0' node set port 0
	misused_as 'port must be 1 to 65535, not 65536' node set port 65536
	misused_as "number must be 0 to 4095, not 4096" peer add 4096 10.0.0.1
	misused_as "number must be 0 to 4095, not 4096" peer show 4096
	misused_as 'dead-time must be 100 to 3600000, not 99' \
		peer add 1 10.0.0.1 dead-time 99
	misused_as 'dead-time must be 100 to 3600000, not 3600001' \
		peer set 1 dead-time 3600001
	misused_as 'apply: --node must be 0 to 4095, not 4096' \
		apply --node 4096 x
	for word in 1.2.3 10.1 0x7f.0.0.1 0x7f000001 010.0.0.1 10.0.0.01 1 \
		256.1.1.1 1.2.3.4.5 1.2.3:5; do
		misused_as "'$word': .* four decimal numbers.*" peer add 1 "$word"
	done
	while read -r word message; do
		misused_as "$message.*" peer add 1 "$word"
	done <<-'EOT'
	0.0.0.0 the unspecified address is no address of a node
	224.0.0.1 a multicast address is no address of a node
	255.255.255.255 a broadcast address is no address of a node
	[::]:1 the unspecified address is no address of a node
	[ff02::1] a multicast address is no address of a node
	[::ffff:10.0.0.1] an IPv4-mapped IPv6 address; give the IPv4 address
	[fe80::1] a link-local address needs its interface: fe80::1%eth0
	:1 ':1': the address is missing
	a: 'a:': the port must be 1 to 65535
	a:65536 the port must be 1 to 65535
	[::1 a ']' is missing
	[::1]1 only ':PORT' may follow the ']'
	EOT
	for word in '' : a:0 a:dd '[10.0.0.1]:5' '[]' '[::1]:'; do
		misused peer add 1 "$word"
	done
	misused peer list
	misused peer show 1 2
	for verb in show add set del; do misused peer $verb one 10.0.0.1; done
	misused peer add
	misused peer add 1
	misused peer set
	misused peer set 1
	misused peer del
	misused peer add 1 10.0.0.1 port 1
	misused peer add 1 10.0.0.1 dead-time
	misused peer set 1 payload-crc 1
	misused peer set 1 dead-time 100 dead-time 100
	exits 'peer add: a name that is not known' 1 \
		ddctl peer add 1 nowhere.invalid
	misused apply
	misused apply --test x
	misused apply x y
	misused apply --node
	misused apply --node me x
	exits 'apply: no such file' 1 ddctl apply "$TAP_DIR/missing"
	exits 'apply: a directory' 7 ddctl apply "$TAP_DIR"
	for command in service conn region segment import stat; do
		misused $command list
		misused $command show all
	done
	for command in monitor doctor version; do misused $command me; done
	misused help nodes
}

# says STATUS PATTERN: the exit status, and a line on standard error.
says() { [ "$status" = "$1" ] && grep -q -- "$2" "$ERR"; }

# Columns are chosen before the module is asked.
test_columns() {
	run ddctl -o pid,x,uid import
	check 'usage: -o: no such column' \
		says 2 "^ddctl: import has no column 'x'; it has pid,uid,.*,error\$"
	misused conn -o pid,
	misused conn -o
	misused -o number peer del 1
	misused -o abi version
	misused peer show 1 -o ctx
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

verbs_of() {
	ddctl -j help | jq -r ".[] | select(.command == \"$1\").verbs[].verb"
}

# The overview names the command, and its help names its verbs, behind it too.
has_help() {
	local verb

	ddctl help | grep -q "^  $1 " && [ "$(ddctl help "$1")" = "$(ddctl "$1" --help)" ] || return
	for verb in $(verbs_of "$1"); do
		ddctl help "$1" | grep -q "ddctl $1 *$verb" || return
	done
}

test_help() {
	local command

	check 'help: -h is the same' cmp <(ddctl help) <(ddctl -h)
	for command in $COMMANDS; do
		check "help: $command" has_help "$command"
	done
	check 'help: JSON has these commands and no other' \
		[ "$(ddctl -j help | jq -r '.[].command' | xargs)" = "$COMMANDS" ]
	check 'help: JSON of one command' \
		[ "$(ddctl -j help conn | jq -r '.[].command')" = conn ]
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
	run ddctl -V -j
	check 'version: JSON' jq -e '(.ddctl | type) == "string" and has("module")' "$OUT"
	check 'version: the ABI is the header'"'"'s' [ "$(jq .abi "$OUT")" = "$(sed -n \
		's/^#define DD_ABI_VERSION[ \t]*//p' "$TOP/include/uapi/linux/dd.h")" ]
	exits 'output: a full disk is noticed' 1 bash -c "'$DDCTL' help >/dev/full"
}

# --- the cluster file --------------------------------------------------------

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
	run bash -c "printf '1 localhost' | '$DDCTL' apply --check -"
	check 'apply: standard input, and a name' [ "$status $(cat "$OUT")" = \
		'0 standard input: 1 node of 2; this is node 1, localhost' ]
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

# completes WORDS WANT: a word that is '.' stands for an empty one.
completes() {
	local words

	read -ra words <<<"$1"
	check "completion: $1" \
		[ "$(sorted "$(complete_line "${words[@]/#./}")")" = "$(sorted "$2")" ]
}

test_completion() {
	local command words want

	completes . "$COMMANDS"
	for command in $COMMANDS; do
		want=$(verbs_of "$command" | xargs)
		[ "$command" != help ] || want=$COMMANDS
		[ "$command" != apply ] || want=$(compgen -f | xargs)
		completes "$command ." "$want"
	done
	while IFS='|' read -r words want; do
		completes "$words" "$want"
	done <<-'EOT'
	-j --pretty mo|monitor
	node -j se|set
	node --pr|--pretty
	--j|--json
	region -o .|pid uid ctx id length busy
	-j peer --output number,stat|number,state
	-o id node se|set
	node set .|id max port
	node set id .|
	node set id 1 .|max port
	peer add 1 .|
	peer add 1 a .|dead-time payload-crc
	peer set 1 a payload-crc .|on off
	peer set 1 payload-crc on .|dead-time
	apply --|--check --node
	EOT
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
