# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For the scripts of selftests/vm/tiers; source it, and end with "finish". The
# working directory is the checkout's.

# shellcheck source=selftests/vm/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

comment() { sed 's/^/# /'; }

# findings: what run.sh said about the machine, in one line.
findings() { sed -n 's/^vm: //p' | tr '\n' ' '; }

# guest KERNEL COMMAND [SETTING=VALUE]...: a run in a virtual machine, with the
# output and exit status of run.sh. What it needs is built first.
guest() {
	local kernel=$1 command=$2

	shift 2
	make -s vm-ready KERNEL="$kernel" "$@" >&2 || return
	env KERNEL="$kernel" "$@" selftests/vm/run.sh "$command"
}

# vm_run NAME KERNEL STATUS COMMAND [SETTING=VALUE]...: a run that shall end with
# STATUS.
vm_run() {
	local name=$1 want=$3 status=0

	guest "$2" "$4" "${@:5}" >"$OUT" 2>"$ERR" || status=$?
	comment <"$OUT"
	comment <"$ERR"
	if [ "$status" = "$want" ]; then
		pass "$name"
	else
		fail "$name" "status $status, not $want"
	fi
}

# vm_list KERNEL "LIST..." [SETTING=VALUE]...: the programs of lists, see
# selftests/vm/guest-run.sh, in one guest. Their results are a TAP stream of its own;
# the findings of the machine are one more result of this script.
vm_list() {
	local kernel=$1 lists=$2 status=0

	shift 2
	guest "$kernel" "selftests/vm/guest-run.sh $lists" TIMEOUT=3600 "$@" \
		2>"$ERR" || status=$?
	comment <"$ERR"
	case $status in
	0 | 1) pass "$kernel: clean kernel log, no leak, module unloaded" ;;
	*) fail "$kernel: clean kernel log, no leak, module unloaded" \
		"$(findings <"$ERR")" ;;
	esac
}

# red FAULT STATUS PATTERN COMMAND [SETTING=VALUE]...: a run with a module that has
# a fault planted ends with STATUS and prints a line that PATTERN matches, on um
# unless a setting names another KERNEL. If only the command shows the fault, STATUS 1,
# the run ends with that line.
red() {
	local fault=$1 want=$2 pattern=$3 command=$4 status=0 out

	shift 4
	[ "$want" != 1 ] || command="sed -E '/$pattern/q1' < <($command)"
	out=$(guest um "$command" FAULT="$fault" TIMEOUT=300 \
		LEAKS=no "$@" 2>&1) || status=$?
	if [ "$status" != "$want" ]; then
		comment <<<"$out"
		fail "$fault" "status $status, not $want: $(findings <<<"$out")"
	elif ! grep -qE "$pattern" <<<"$out"; then
		comment <<<"$out"
		fail "$fault" "the reason is not named"
	else
		grep -E "^vm: |$pattern" <<<"$out" | comment
		pass "$fault"
	fi
}
