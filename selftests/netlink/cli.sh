#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# cli.sh [DDCTL]: the command line of ddctl, which needs no module: usage,
# help, exit statuses, completion, manual page.

HERE=$(cd "$(dirname "$0")" && pwd)
TOP=$(cd "$HERE/../.." && pwd)
DDCTL=$(realpath "${1:-$TOP/build/bin/ddctl}")
# shellcheck source=selftests/netlink/tap.sh
. "$HERE/tap.sh"
# shellcheck source=tools/ddctl/completion.bash
. "$TOP/tools/ddctl/completion.bash"

COMMANDS='conn doctor help monitor node region service stat version'

ddctl() { "$DDCTL" "$@"; }

# --- what makes no sense -------------------------------------------------------

test_usage() {
	exits 'usage: nothing to do' 2 ddctl
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
	for command in service conn region stat; do
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
USAGE_TESTS=32

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
}
HELP_TESTS=$((3 + 3 * 9))

# --- without the module --------------------------------------------------------

says_no_module() {
	[ "$status" = 3 ] && [ ! -s "$OUT" ] && grep -q 'modprobe dd' "$ERR"
}

without_module() {
	local name="no module: $*"

	if [ -e /sys/module/dd ]; then
		skip "$name" 'dd is loaded'
		return
	fi
	run ddctl "$@"
	check "$name" says_no_module
}

test_without_module() {
	local object

	for object in node service conn region stat; do
		without_module $object
		without_module -j $object show
	done
	without_module node up
	without_module node down
	without_module node set id 1 max 2
	without_module monitor
}
WITHOUT_TESTS=14

# Needs something done exactly if it says so.
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

test_version() {
	exits 'version: for people' 0 ddctl version
	check 'version: -V is the same' cmp "$OUT" <(ddctl -V)
	run ddctl -j version
	check 'version: JSON' jq -e '(.ddctl | type) == "string" and
		.abi == 1 and has("module")' "$OUT"
	exits 'output: a full disk is noticed' 1 bash -c "'$DDCTL' help >/dev/full"
	run ddctl -p version
	check 'output: -p is JSON too' jq -e .abi "$OUT"
}

# --- completion and manual -----------------------------------------------------

# complete_line WORD...: what may stand for the last word.
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
	check 'completion: options' \
		[ "$(complete_line --j)" = --json ]
	for command in $COMMANDS; do
		want=$(verbs_of "$command" | xargs)
		[ "$command" != help ] || want=$COMMANDS
		check "completion: verbs of $command" [ \
			"$(sorted "$(complete_line "$command" '')")" = \
			"$(sorted "$want")" ]
	done
	check 'completion: node set' \
		[ "$(complete_line node set '')" = 'id max' ]
	check 'completion: node set id 1' \
		[ "$(complete_line node set id 1 '')" = max ]
	check 'completion: node set id' [ -z "$(complete_line node set id '')" ]
	check 'completion: options are those of help' [ \
		"$(sorted "$_ddctl_options")" = \
		"$(sorted "$(ddctl help | grep -o '^  -., --[a-z]*' | tr -d , | xargs)")" ]
}
COMPLETION_TESTS=16

# Each exit status that ddctl.h gives a name, and no other, is in the manual.
manual_has_statuses() {
	diff <(sed -n 's/^\tEXIT_[A-Z_]* = \([0-9]*\),$/\1/p' \
		"$TOP/tools/ddctl/ddctl.h") \
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

test_manual() {
	check 'manual: exit statuses' manual_has_statuses
	check 'manual: commands and verbs' manual_has_verbs
}

plan $((USAGE_TESTS + HELP_TESTS + WITHOUT_TESTS + 3 + 5 + COMPLETION_TESTS + 2))
test_usage
test_help
test_without_module
test_doctor
test_version
test_completion
test_manual
finish
