#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ddcp: every size, pipes, names, a full disk, and the death of either side at
# every stage of a copy.
#
# shellcheck disable=SC2317 # called through check
# shellcheck source=selftests/harness/servers.sh
. "$(dirname "$0")/../harness/servers.sh"
PATH=$TOP/build/selftests:$PATH
mkdir in out
PLACE=262144	# bytes of a message

# A shell has background jobs ignore SIGINT.
UNIGNORED=(env --default-signal=INT)

# input BYTES: a file to send, in/f.
input() { head -c "$1" /dev/urandom >in/f; }

# receive OPTION...: start a receiver, as $SERVER.
receive() { serve '^ddcp: ready' "${UNIGNORED[@]}" ddcp recv "$@"; }
received() { exited "$SERVER" "${1:-0}" server.err; }

# start_send INPUT ARGUMENT...: a sender in the background.
start_send() {
	"${UNIGNORED[@]}" ddcp send "${@:2}" <"$1" >send.out 2>send.err &
	SEND=$!
}

# No file, finished or not, in DIRECTORY.
empty() {
	[ -z "$(ls -A "$1")" ] && return
	diag "$1 holds: $(ls -A "$1")"
	return 1
}

# copy_of FILE [NAME]: in out, the same, and nothing else left there.
copy_of() {
	local copy=out/${2:-${1##*/}}

	cmp "$1" "$copy" && rm "$copy" && empty out
}

# arrives FILE OPTION...: sent to the receiver that is ready, which ends.
arrives() {
	timeout "$PATIENCE" ddcp send "${@:2}" "$1" >send.out 2>send.err && received && return
	diag "send $*: $(<send.err)"
	return 1
}

# copies FILE [NAME]
copies() { receive -o "out/${2:-${1##*/}}" && arrives "$1" && copy_of "$@"; }

sizes() {
	local size

	for size in 0 1 4095 $((PLACE - 1)) $PLACE $((PLACE + 1)) $((13 * PLACE + 17)); do
		input "$size"
		copies in/f || return
	done
}

mode_kept() {
	input 10
	chmod 751 in/f
	(umask 027; receive -o out/f; arrives in/f) && [ "$(stat -c %a out/f)" = 750 ] && copy_of in/f
}

pipes() {
	input 3000000
	ddcp send -w "$PATIENCE" - < <(cat in/f) 2>send.err &
	ddcp recv -o - 2>recv.err | cat >out/f
	wait $! && copy_of in/f
}

sums() { sha256sum "$1"/[12] | cut -d ' ' -f 1 | sort; }

# The sender that finds the receiver taken waits for the next one. Which one does is open.
two_senders() {
	local i senders=()

	receive -o out/1
	for i in 1 2; do
		head -c $((i * 555555)) /dev/urandom >in/$i
		ddcp send -q -w "$PATIENCE" in/$i 2>send.$i &
		senders+=($!)
	done
	received && receive -o out/2 && received &&
		exited "${senders[0]}" 0 send.1 && exited "${senders[1]}" 0 send.2 &&
		[ "$(sums in)" = "$(sums out)" ] && rm out/[12] && empty out
}

two_receivers() {
	input 5000
	receive -n other -o out/f &&
		refused 1 "service name 'other' is in use" ddcp recv -n other &&
		refused 1 "connecting: .*has no service 'ddcp'" ddcp send in/f &&
		refused 1 "connecting: .*there is no node 99" ddcp send -n other -N 99 in/f &&
		arrives in/f -n other && copy_of in/f
}

# The longest one, and one that a file has.
names() {
	input 10
	copies in/f "$(printf '%0255d' 0)" && echo old >out/f && copies in/f
}

# stall BYTES: a sender whose input stops after so many bytes, and its receiver.
stall() {
	rm -f input.fifo
	mkfifo input.fifo
	receive -o out/f
	start_send input.fifo -
	exec 7>input.fifo
	head -c "$1" /dev/urandom >&7
	within "$PATIENCE" has_size f $(($1 / PLACE * PLACE)) && return
	diag "the receiver has no file, or less than $1 bytes"
	return 1
}

# has_size NAME BYTES: of the file, so much is there, or all of it.
has_size() {
	local partial

	[ ! -e "out/$1" ] || return 0
	partial=$(compgen -G "out/.$1.ddcp.*") && [ "$(stat -c %s "$partial" 2>/dev/null || echo -1)" -ge "$2" ]
}

# cut_off SIGNAL SIDE BYTES: one side is ended when so many bytes have been sent: the other one
# says so, and ends with exit code 4. Only a receiver that is killed leaves its unfinished file.
cut_off() {
	local code=$((128 + $(kill -l "$1"))) ret=0

	stall "$3" || return
	case $2 in
	sender)
		kill -"$1" "$SEND"
		exited "$SEND" "$code" send.err && received 4 &&
			has_line server.err 'f: the sender went away' && ! has_line server.err '\<1 bytes' || ret=1
		;;
	receiver)
		# The sender's input is silent.
		kill -"$1" "$SERVER"
		received "$code" && exited "$SEND" 4 send.err &&
			has_line send.err 'the receiver went away' && [ ! -e out/f ] || ret=1
		[ "$1" != KILL ] || rm -f out/.f.ddcp.*
		;;
	esac
	exec 7>&-
	empty out && return $ret
}

# killed SIDE
killed() {
	local bytes

	for bytes in 0 1 $((PLACE - 1)) $PLACE $((2 * PLACE + 5)) $((20 * PLACE)); do
		cut_off KILL "$1" "$bytes" || return
	done
}

signals() {
	local signal

	for signal in INT TERM HUP; do
		cut_off $signal receiver $((PLACE + 5)) && cut_off $signal sender $((PLACE + 5)) || return
	done
}

full_disk() {
	local ret=0

	mkdir -p small
	mount -t tmpfs -o size=1M tmpfs small || return
	input 3000000
	receive -o small/f &&
		refused 1 'receiver: small/f: No space left' ddcp send in/f &&
		received 1 && has_line server.err 'No space left' && empty small || ret=1
	umount small
	return $ret
}

no_reader() {
	input 3000000
	rm -f recv.err
	{
		ddcp recv -o - 2>recv.err
		echo $? >recv.code
	} | head -c 10 >/dev/null &
	within "$PATIENCE" has_line recv.err ready &&
		refused 1 'receiver: standard output: Broken pipe' ddcp send in/f &&
		wait $! && [ "$(<recv.code)" = 1 ]
}

unwritable() {
	input 10
	mkdir absent
	receive -o absent/f && rmdir absent &&
		refused 1 'receiver: absent/f: No such file' ddcp send in/f && received 1 &&
		receive -o absent && mkdir absent &&
		refused 1 'receiver: absent: Is a directory' ddcp send in/f && received 1 && rmdir absent
}

# read_by PID BYTES: the process has read so much of a file.
read_by() { grep -q "^pos:	$2\$" "/proc/$1/fdinfo"/*; }

# The receiver's output is a pipe that is not read: the sender has read one message
# that is being written, four that are unread, one without a notification, and the next.
shrinking() {
	local ret=0

	rm -f out.fifo
	mkfifo out.fifo
	exec 8<>out.fifo
	input 3000000
	receive -o out.fifo 8<&-
	start_send /dev/null in/f 8<&-
	within "$PATIENCE" read_by "$SEND" $((7 * PLACE))
	truncate -s 400000 in/f
	exec 9<out.fifo 8<&-
	cat <&9 >out/f &
	exec 9<&-
	exited "$SEND" 1 send.err && has_line send.err 'its size has changed from 3000000' &&
		received 4 && has_line server.err 'the sender went away' || ret=1
	rm -f out/f
	return $ret
}

terminal() {
	input 3000000
	start ddcp recv -o /dev/null -q	# which does not say that it is ready
	dd_pty ddcp send -w 10 in/f >tty.out && received &&
		grep -q '100% .*iB/s' tty.out && grep -q 'checksum verified' tty.out &&
		receive -o /dev/null && arrives in/f && ! grep -q '%' send.err server.err &&
		receive -o /dev/null && dd_pty ddcp send -q in/f >tty.out && received && [ ! -s tty.out ]
}

# A client that does not use the protocol makes room for a sender.
stranger() {
	input 300000
	receive -o out/f && refused 1 'closed by the other end' dd-rpc-client --name ddcp &&
		arrives in/f -w 10 && copy_of in/f
}

plan 16
check "sizes 0, 1, and around a message" sizes
check "permission bits, within the umask" mode_kept
check "standard input to standard output" pipes
check "a file of /proc, whose size is 0" copies /proc/version
check "a second sender waits for the next receiver" two_senders
check "receivers by name" two_receivers
check "the longest name, and one that a file has" names
check "sender killed: no file, partial or not; exit code 4" killed sender
check "receiver killed: no file under the final name; exit code 4" killed receiver
check "SIGINT, SIGTERM and SIGHUP leave no file" signals
check "a full disk: both sides report it" full_disk
check "output whose reader has gone" no_reader
check "a directory that is not there any more; an output that has become one" unwritable
check "a file that shrinks meanwhile" shrinking
check "progress on a terminal only" terminal
check "a client that is no ddcp" stranger
finish
