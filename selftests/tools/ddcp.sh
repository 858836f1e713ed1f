#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ddcp: every size, pipes, names, a full disk, and the death of either side at
# every stage of a copy.
#
# shellcheck disable=SC2317,SC2086 # called through check; numbers
# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
PATH=$(cd "$(dirname "$0")/../.." && pwd)/build/selftests:$PATH
scratch
mkdir in out
PLACE=262144	# bytes of a message

random() { head -c "$1" /dev/urandom; }

# receive OPTION...: start a receiver, wait until it is ready.
receive() {
	rm -f recv.err
	ddcp recv "$@" >recv.out 2>recv.err &
	RECV=$!
	within "$PATIENCE" has_line recv.err '^ddcp: ready' || diag "$(cat recv.err)"
}

# start_send INPUT-FD-FILE OPTION...: a sender in the background.
start_send() {
	local input=$1

	shift
	ddcp send "$@" <"$input" >send.out 2>send.err &
	SEND=$!
}

send_now() {
	timeout 60 ddcp send "$@" >send.out 2>send.err && return
	diag "send $*: $(cat send.err)"
	return 1
}

# No file, finished or not, in DIRECTORY.
empty() {
	[ -z "$(ls -A "$1")" ] && return
	diag "$1 holds: $(ls -A "$1")"
	return 1
}

# copy_of FILE: in out, the same, and nothing else left there.
copy_of() {
	local n=${1##*/}

	cmp "$1" "out/$n" && rm "out/$n" && empty out
}

sizes() {
	local size

	for size in 0 1 4095 $((PLACE - 1)) $PLACE $((PLACE + 1)) $((13 * PLACE + 17)); do
		random "$size" >in/f
		receive -o out/f
		send_now in/f && exited "$RECV" 0 recv.err && copy_of in/f || return 1
	done
}

mode_kept() {
	random 10 >in/f
	chmod 751 in/f
	(umask 027; ddcp recv -o out/f 2>recv.err) &
	send_now -w 10 in/f && wait $! && [ "$(stat -c %a out/f)" = 750 ] &&
		copy_of in/f
}

pipes() {
	random 3000000 >in/f
	ddcp send -w "$PATIENCE" - < <(cat in/f) 2>send.err &
	ddcp recv -o - 2>recv.err | cat >out/f
	wait $! && copy_of in/f
}

made_up() {
	receive -o out/version
	send_now /proc/version && exited "$RECV" 0 recv.err && copy_of /proc/version
}

sums() { sha256sum "$1"/[12] | cut -d ' ' -f 1 | sort; }

# The sender that finds the receiver taken waits for the next one. Which one does is open.
two_senders() {
	local first second

	random 777777 >in/1
	random 999999 >in/2
	receive -o out/1
	first=$RECV
	ddcp send -q -w "$PATIENCE" in/1 2>send.1 &
	SEND=$!
	ddcp send -q -w "$PATIENCE" in/2 2>send.2 &
	second=$!
	exited $first 0 recv.err || return 1
	receive -o out/2
	exited "$RECV" 0 recv.err && exited "$SEND" 0 send.1 && exited $second 0 send.2 &&
		[ "$(sums in)" = "$(sums out)" ] && rm out/[12] && empty out
}

two_receivers() {
	random 5000 >in/f
	receive -n other -o out/f
	refused 1 "service name 'other' is in use" ddcp recv -n other &&
		refused 1 "connecting: .*has no service 'ddcp'" ddcp send in/f &&
		refused 1 "connecting: .*there is no node 99" ddcp send -n other -N 99 in/f &&
		send_now -n other in/f && exited "$RECV" 0 recv.err && copy_of in/f
}

has_device() { find "/proc/$1/fd" -lname /dev/dd 2>/dev/null | grep -q .; }

patience() {
	random 5000 >in/f
	start_send /dev/null -w "$PATIENCE" in/f
	within "$PATIENCE" has_device "$SEND"
	receive -o out/f
	exited "$SEND" 0 send.err && exited "$RECV" 0 recv.err && copy_of in/f
}

long_name() {
	local name

	name=$(printf '%0255d' 0)
	random 10 >in/f
	receive -o "out/$name"
	send_now in/f && exited "$RECV" 0 recv.err &&
		cmp in/f "out/$name" && rm "out/$name" && empty out
}

existing() {
	random 10 >in/f
	echo old >out/f
	receive -o out/f
	send_now in/f && exited "$RECV" 0 recv.err && copy_of in/f
}

# stall BYTES: a sender whose input stops after so many bytes, and its receiver.
stall() {
	rm -f tap.fifo
	mkfifo tap.fifo
	receive -o out/f
	start_send tap.fifo -
	exec 7>tap.fifo
	random "$1" >&7
	within "$PATIENCE" has_partial || diag "the receiver has no file"
	within "$PATIENCE" all_taken "$1" || diag "the receiver has less than $1 bytes"
}

# all_taken BYTES: the whole messages of so many bytes are in the file.
all_taken() {
	local file

	file=$(compgen -G 'out/.f.ddcp.*') &&
		[ "$(stat -c %s "$file")" -ge $(($1 / PLACE * PLACE)) ]
}

has_partial() { compgen -G 'out/.f.ddcp.*' >/dev/null; }

MOMENTS="0 1 $((PLACE - 1)) $PLACE $((2 * PLACE + 5)) $((20 * PLACE))"

kill_sender() {
	local moment

	for moment in $MOMENTS; do
		stall "$moment"
		kill -9 "$SEND"
		wait "$SEND" 2>/dev/null
		exec 7>&-
		exited "$RECV" 4 recv.err && has_line recv.err 'f: the sender went away' &&
			! has_line recv.err '\<1 bytes' && empty out || return 1
	done
}

kill_receiver() {
	local moment

	for moment in $MOMENTS; do
		stall "$moment"
		kill -9 "$RECV"
		wait "$RECV" 2>/dev/null
		# The sender's input is silent.
		exited "$SEND" 4 send.err && has_line send.err 'the receiver went away' &&
			[ ! -e out/f ] || return 1
		exec 7>&-
		rm -f out/.f.ddcp.*
	done
}

# has_size BYTES: of the file, so much is there, or all of it.
has_size() {
	local partial

	[ ! -e out/big ] || return 0
	partial=$(compgen -G 'out/.big.ddcp.*') &&
		[ "$(stat -c %s "$partial" 2>/dev/null || echo 0)" -ge "$1" ]
}

# Killed while data flows.
kill_in_flight() {
	local i

	random $((32 << 20)) >in/big
	for i in 1 2 3 4 5 6; do
		receive -o out/big
		start_send /dev/null in/big
		within "$PATIENCE" has_size $((i * 4 << 20)) || return 1
		if ((i % 2)); then
			kill -9 "$SEND" 2>/dev/null
			wait "$SEND" 2>/dev/null
			within "$PATIENCE" gone "$RECV" || return 1
		else
			kill -9 "$RECV" 2>/dev/null
			wait "$RECV" 2>/dev/null
			within "$PATIENCE" gone "$SEND" || return 1
		fi
		wait
		# The file is whole, or not there.
		[ ! -e out/big ] || cmp in/big out/big || return 1
		rm -f out/big out/.big.ddcp.*
	done
}

signals() {
	local signal

	for signal in TERM HUP; do
		stall $((PLACE + 5))
		kill -$signal "$RECV"
		exited "$RECV" $((128 + $(kill -l $signal))) recv.err && empty out &&
			exited "$SEND" 4 send.err || return 1
		exec 7>&-
		stall $((PLACE + 5))
		kill -$signal "$SEND"
		exited "$SEND" $((128 + $(kill -l $signal))) send.err &&
			exited "$RECV" 4 recv.err && empty out || return 1
		exec 7>&-
	done
}

interrupt() {
	rm -f tap.fifo recv.err
	mkfifo tap.fifo
	dd_pty ddcp recv -o out/f >recv.err &
	RECV=$!
	within "$PATIENCE" has_line recv.err '^ddcp: ready' || return 1
	start_send tap.fifo -
	exec 7>tap.fifo
	random $((PLACE + 5)) >&7
	within "$PATIENCE" has_partial || return 1
	kill -USR1 "$RECV"
	exited "$RECV" 130 recv.err && empty out && exited "$SEND" 4 send.err
	local ret=$?

	exec 7>&-
	return $ret
}

full_disk() {
	local ret=0

	mkdir -p small
	mount -t tmpfs -o size=1M tmpfs small || return 1
	random 3000000 >in/f
	receive -o small/f
	refused 1 'receiver: small/f: No space left' ddcp send in/f &&
		exited "$RECV" 1 recv.err && has_line recv.err 'No space left' &&
		empty small || ret=1
	receive -o small/f
	refused_stdin 'receiver: small/f: No space left' ddcp send - < <(cat in/f) &&
		exited "$RECV" 1 recv.err && has_line recv.err 'No space left' &&
		empty small || ret=1
	umount small
	return $ret
}

# refused() reads nothing.
refused_stdin() {
	local pattern=$1 got=0

	shift
	timeout "$PATIENCE" "$@" 2>refused.err || got=$?
	[ "$got" = 1 ] && grep -q -- "$pattern" refused.err && return
	diag "$*: exit code $got: $(cat refused.err)"
	return 1
}

no_reader() {
	random 3000000 >in/f
	rm -f recv.err
	{
		ddcp recv -o - 2>recv.err
		echo $? >recv.code
	} | head -c 10 >/dev/null &
	within "$PATIENCE" has_line recv.err ready &&
		refused 1 'receiver: standard output: Broken pipe' ddcp send in/f &&
		wait $! && [ "$(cat recv.code)" = 1 ]
}

unwritable() {
	random 10 >in/f
	mkdir absent
	receive -o absent/f
	rmdir absent
	refused 1 'receiver: absent/f: No such file' ddcp send in/f &&
		exited "$RECV" 1 recv.err || return 1
	receive -o absent
	mkdir absent
	refused 1 'receiver: absent: Is a directory' ddcp send in/f &&
		exited "$RECV" 1 recv.err || return 1
	rmdir absent
	refused 1 '^ddcp: absent/f: No such file' ddcp recv -o absent/f &&
		! has_line refused.err ready &&
		refused 1 '^ddcp: in: Is a directory' ddcp recv -o in &&
		! has_line refused.err ready
}

# read_by PID BYTES: the process has read so much of a file.
read_by() { grep -q "^pos:	$2\$" /proc/$1/fdinfo/*; }

# The receiver's output is a pipe that is not read: the sender has read one message
# that is being written, four that are unread, one without a notification, and the next.
shrinking() {
	local ret

	rm -f out.fifo
	mkfifo out.fifo
	exec 8<>out.fifo
	random 3000000 >in/f
	receive -o out.fifo 8<&-
	start_send /dev/null in/f 8<&-
	within "$PATIENCE" read_by "$SEND" $((7 * PLACE))
	truncate -s 400000 in/f
	exec 9<out.fifo 8<&-
	cat <&9 >out/f &
	exec 9<&-
	exited "$SEND" 1 send.err && has_line send.err 'its size has changed from 3000000' &&
		exited "$RECV" 4 recv.err && has_line recv.err 'the sender went away'
	ret=$?
	rm -f out/f
	return $ret
}

terminal() {
	random 3000000 >in/f
	receive -o /dev/null -q
	dd_pty ddcp send in/f >tty.out || return 1
	exited "$RECV" 0 recv.err && grep -q '100% .*iB/s' tty.out &&
		grep -q 'checksum verified' tty.out || return 1
	receive -o /dev/null
	send_now in/f && exited "$RECV" 0 recv.err && ! grep -q '%' send.err recv.err || return 1
	receive -o /dev/null
	dd_pty ddcp send -q in/f >tty.out && exited "$RECV" 0 recv.err && [ ! -s tty.out ]
}

# A client that does not use the protocol makes room for a sender.
stranger() {
	random 300000 >in/f
	receive -o out/f
	refused 1 'closed by the other end' dd-rpc-client --name ddcp &&
		send_now -w 10 in/f && exited "$RECV" 0 recv.err && copy_of in/f
}

node_down() {
	random 10 >in/f
	ddctl node down || return 1
	refused 3 '^ddcp: ' ddcp send in/f && refused 3 '^ddcp: ' ddcp recv
	local ret=$?

	ddctl node up
	return $ret
}

plan 21
check "sizes 0, 1, and around a message" sizes
check "permission bits, within the umask" mode_kept
check "standard input to standard output" pipes
check "a file of /proc, whose size is 0" made_up
check "a second sender waits for the next receiver" two_senders
check "receivers by name" two_receivers
check "--wait finds a receiver that comes later" patience
check "the longest name" long_name
check "a file of that name is replaced" existing
check "sender killed: no file, partial or not; exit code 4" kill_sender
check "receiver killed: no file under the final name; exit code 4" kill_receiver
check "either side killed while data flows" kill_in_flight
check "SIGTERM and SIGHUP leave no file" signals
check "^C on a terminal leaves no file" interrupt
check "a full disk: both sides report it" full_disk
check "output whose reader has gone" no_reader
check "a directory that is not there, at first or later; an output that is one" unwritable
check "a file that shrinks meanwhile" shrinking
check "progress on a terminal only" terminal
check "a client that is no ddcp" stranger
check "node down: exit code 3" node_down
finish
