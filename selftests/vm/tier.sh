# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For the scripts of selftests/vm/tiers; source it, and end with "finish". The
# working directory is the checkout's.

# shellcheck source=selftests/vm/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

comment() { sed 's/^/# /'; }

# vm_run NAME KERNEL STATUS COMMAND [SETTING=VALUE]...: a run in the virtual
# machine that is to end with STATUS.
vm_run() {
	local name=$1 kernel=$2 want=$3 command=$4 status=0

	shift 4
	make -s vm KERNEL="$kernel" RUN="${command//$/$$}" "$@" 2>"$ERR" |
		comment
	status=${PIPESTATUS[0]}
	comment <"$ERR"
	if [ "$status" = "$want" ]; then
		pass "$name"
	else
		fail "$name" "status $status, not $want"
	fi
}

# vm_list KERNEL LIST [SETTING=VALUE]...: the programs of a list, see
# selftests/vm/guest-run.sh. Their results come as a TAP stream of its own; what
# the machine itself says of the run is one more result of this one.
vm_list() {
	local kernel=$1 list=$2 status=0 name

	shift 2
	name="$kernel ${list##*/}: clean kernel log, no leak, module unloaded"
	make -s vm KERNEL="$kernel" RUN="selftests/vm/guest-run.sh $list" \
		TIMEOUT=3600 "$@" 2>"$ERR" || status=$?
	comment <"$ERR"
	case $status in
	0 | 1) pass "$name" ;;
	*) fail "$name" "$(sed -n 's/^vm: //p' "$ERR" | tr '\n' ' ')" ;;
	esac
}

# red FAULT STATUS PATTERN COMMAND [SETTING=VALUE]...: a run with a module that has
# a fault planted ends with STATUS, and says what PATTERN matches.
red() {
	local fault=$1 want=$2 pattern=$3 command=$4 status=0 out

	shift 4
	out=$(make -s vm KERNEL=debug FAULT="$fault" TIMEOUT=300 LEAKS=no \
		RUN="${command//$/$$}" "$@" 2>&1) || status=$?
	if [ "$status" != "$want" ]; then
		comment <<<"$out"
		fail "$fault" "status $status, not $want"
	elif ! grep -qE "$pattern" <<<"$out"; then
		comment <<<"$out"
		fail "$fault" "the reason is not named"
	else
		grep -E "^vm: |$pattern" <<<"$out" | comment
		pass "$fault"
	fi
}
