#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Command lines of the tools, where there is no module: each has its help, its
# usage errors, and a message and an exit code of its own when dd is not
# available. Needs neither root nor a virtual machine.

# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"

HOLD=$TAP_DIR
TOP=$(cd "$(dirname "$0")/../.." && pwd)
EXAMPLES="dd-echo-server dd-rpc-client dd-epoll-server dd-sum-server dd-sum-client
	dd-stream-send dd-stream-recv dd-hash"

# status CODE COMMAND...: it exits with CODE
status() {
	local want=$1 got=0

	shift
	timeout 10 "$@" >"$OUT" 2>"$ERR" </dev/null || got=$?
	[ "$got" = "$want" ] || diag "$* exited with $got, not $want: $(cat "$ERR")"
	[ "$got" = "$want" ]
}

# usage COMMAND...: refused, by its name only, and nothing on standard output
usage() {
	status 2 "$@" && [ ! -s "$OUT" ] && grep -q "^$1: " "$ERR" &&
		! grep -v "^$1: \|^Try '$1 --help'\.$" "$ERR"
}

help_is_there() {
	status 0 "$1" --help && grep -q '^Usage: ' "$OUT" && [ ! -s "$ERR" ] &&
		status 0 "$1" --version && grep -q '[0-9]\.[0-9]' "$OUT"
}

all_usage() {
	local line

	while read -r line; do
		# shellcheck disable=SC2086 # words
		usage $line || return 1
	done
}

wrong_examples() {
	local s

	for s in dd-echo-server dd-rpc-client; do
		status 0 $s --help && grep -q "^Usage: $s" "$OUT" &&
			status 2 $s --frobnicate && status 2 $s --size || return 1
	done
	explain rm-board rm-call rm-lock rm-queue st-bw st-lat st-store &&
		status 2 dd-sum-client 0 && status 2 dd-sum-client 1 2 3 4 &&
		status 2 dd-stream-send 1 2 && status 2 dd-hash 1 && status 2 dd-hash 1 2 3 4
}

# complete_line WORD...: the completions of the last word.
complete_line() {
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	"$([ "$1" = cfgvmmc ] && echo _dd_cfgvmmc || echo _dd_tool)" "$1"
	echo "${COMPREPLY[*]}"
}

completion() {
	local s

	# shellcheck source=tools/common/completion.bash
	. "$TOP/tools/common/completion.bash"
	for s in ddcp ddperf rmclerk rmfs vmmcsvr; do
		[ "$(complete_line $s --ver)" = --version ] || return 1
	done
	[ "$(complete_line ddcp '')" = 'recv send' ] && [ "$(complete_line ddperf la)" = lat ] &&
		[ "$(complete_line rmfs read)" = readlink ] && [ -z "$(complete_line rmclerk '')" ] &&
		[ "$(complete_line ddcp send --na)" = --name ] &&
		[ "$(complete_line cfgvmmc node1 k)" = kill ] && [ -z "$(complete_line cfgvmmc node1 kill '')" ]
}

# systemd-analyze rates from 0 to 10.
sandbox() {
	sed 's,@SBINDIR@,/usr/sbin,' "$TOP/packaging/rmclerk.service.in" >"$HOLD/rmclerk.service" &&
		systemd-analyze security --offline=true --threshold=30 "$HOLD/rmclerk.service"
}

# names OPTION COMMAND...: refused as no option, as it was given.
names() {
	local option=$1

	shift
	status 2 "$@" && grep -q -- "^$1: '$option' is no option of " "$ERR" && return
	diag "$*: $(cat "$ERR")"
	return 1
}

wrong_option_named() {
	names -P ddperf lat -P 1 && names -w ddperf lat -w2 &&
		names --node ddperf lat --node 3 && names --node ddperf lat --node=3 &&
		names -m ddperf insn -s 8 -m shm
}

# Where files cannot be created is said at once, with or without the module.
no_directory() {
	status 1 ddcp recv -o "$HOLD/absent/file" &&
		grep -q "absent/file: No such file" "$ERR" && ! grep -q ready "$ERR" &&
		status 1 ddcp recv -o "$HOLD" && grep -q "Is a directory" "$ERR" &&
		status 1 ddcp recv -o "$0/file" && grep -q "Not a directory" "$ERR"
}

# What was printed and could not be written is a failure.
full_disk() {
	local s option got

	for s in ddcp ddperf rmclerk rmfs; do
		for option in --help --version; do
			got=0
			"$s" "$option" >/dev/full 2>"$ERR" || got=$?
			[ "$got" = 1 ] && grep -q "^$s: standard output: No space" \
				"$ERR" && continue
			diag "$s $option: exit code $got: $(cat "$ERR")"
			return 1
		done
	done
}

whole_lines() {
	one_write ddcp && one_write ddcp send -o x y && one_write ddperf speed &&
		one_write ddcp send "$HOLD/absent"
}

unreadable_file() {
	status 1 ddcp send "$HOLD/absent" && grep -q "absent: No such file" "$ERR" &&
		status 1 ddcp send "$HOLD" && grep -q "Is a directory" "$ERR"
}

# without CODE COMMAND...: that exit code, and the reason in words
without() {
	status "$@" && grep -q "^$2: .*not running" "$ERR"
}

without_module() {
	local s

	for s in $EXAMPLES; do
		without 1 "$s" || return 1
	done
	without 3 rmclerk && without 3 rmfs clerk x && without 3 ddcp recv && without 3 ddcp send "$0" &&
		without 3 ddperf lat -n 1 --rounds 1 &&
		without 3 ddperf insn -n 1 && without 3 ddperf mem -N 1 &&
		without 3 ddperf conns -N 1 &&
		without 3 ddperf net lat --node 2 && without 3 ddperf net serve
}

# Each program finds its libraries where it was built or installed.
linked() {
	local dir

	dir=$(dirname "$(command -v ddcp)")
	! ldd "$dir"/dd* "$dir"/rm* 2>"$ERR" | grep -e ':$' -e 'not found' | grep -B 1 'not found'
}

plan 18
check "programs find their libraries" linked
for s in ddcp ddperf rmclerk rmfs; do
	check "$s: --help and --version" help_is_there "$s"
done
check "examples: command lines" wrong_examples
check "ddcp: wrong command lines" all_usage <<-EOT
	ddcp
	ddcp copy
	ddcp send
	ddcp recv word
	ddcp send --frobnicate file
	ddcp send --output x file
	ddcp recv --node 1
	ddcp recv --name $(printf '%064d' 0)
	ddcp send --wait forever file
EOT
check "ddperf: wrong command lines" all_usage <<-EOT
	ddperf
	ddperf speed
	ddperf lat --frobnicate
	ddperf lat --size 0
	ddperf lat --cpus 0,x
	ddperf lat --cpus 99999
	ddperf lat --size 1,x
	ddperf insn --size 64,128
	ddperf lat --methods shm,sham
	ddperf rate --window 257
	ddperf lat --window 2
	ddperf net
	ddperf net lat
	ddperf net lat --node 4096
	ddperf net trip --node 2 --window 2
	ddperf net serve --port 0
	ddperf lat --node 2
	ddperf lat -S
	ddperf conns --processes 1,,2
	ddperf lat --size 8,
EOT
check "rmclerk: wrong command lines" all_usage <<-EOT
	rmclerk word
	rmclerk --frobnicate
	rmclerk -m guess
	rmclerk -s 0
EOT
check "rmfs: wrong command lines" all_usage <<-EOT
	rmfs
	rmfs frobnicate
	rmfs serve -q
	rmfs clerk -x
	rmfs bench -q
EOT
check "completion" completion
if command -v systemd-analyze >/dev/null; then
	check "rmclerk.service runs in a sandbox" sandbox
else
	skip "rmclerk.service runs in a sandbox" "no systemd-analyze"
fi
check "ddcp: a file that cannot be read" unreadable_file
check "ddcp: a directory that cannot be written to" no_directory
check "ddperf: an option of another test, as it was given" wrong_option_named
check "a full disk" full_disk
check "each message is one write" whole_lines
if [ -e /dev/dd ]; then
	skip "without the module: a message and an exit code" "the module is loaded"
else
	check "without the module: a message and an exit code" without_module
fi
finish
