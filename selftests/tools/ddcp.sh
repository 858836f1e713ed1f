#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ddcp: every size, pipes, several senders, names, a full disk, and the death
# of either side at every stage of a copy.
#
# shellcheck disable=SC2317,SC2086 # called through check; words
# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
PATH=$(cd "$(dirname "$0")/../.." && pwd)/build/selftests:$PATH
scratch
mkdir in out
SLOT=262144

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

	for size in 0 1 4095 $((SLOT - 1)) $SLOT $((SLOT + 1)) $((3 * SLOT + 17)); do
		random "$size" >in/f
		receive -d out
		send_now in/f && exited "$RECV" 0 recv.err && copy_of in/f || return 1
	done
}

large() {
	random $((64 << 20)) >in/large
	receive -d out
	send_now in/large && exited "$RECV" 0 recv.err || return 1
	diag "$(cat send.err)"
	[ "$(sha256sum <in/large)" = "$(sha256sum <out/large)" ] && copy_of in/large
}

geometry() {
	local slots size

	random 1000003 >in/f
	for slots in 2 3 64; do
		for size in 4K 12K 100000; do
			receive -d out --slots 5 --slot-size 8K
			send_now in/f --slots $slots --slot-size $size &&
				exited "$RECV" 0 recv.err && copy_of in/f || return 1
		done
	done
}

mode_kept() {
	random 10 >in/f
	chmod 751 in/f
	(umask 027; ddcp recv -d out 2>recv.err) &
	send_now -w 10 in/f && wait $! && [ "$(stat -c %a out/f)" = 750 ] &&
		copy_of in/f
}

pipes() {
	random 3000000 >in/f
	# One side slow, then the other one.
	{ head -c 1000 in/f; sleep 0.3; tail -c +1001 in/f; } |
		ddcp send -w 10 - 2>send.err &
	ddcp recv -o - 2>recv.err | { sleep 0.5; cat; } >out/f
	wait $! && copy_of in/f
}

made_up() {
	receive -d out
	send_now /proc/version && exited "$RECV" 0 recv.err && copy_of /proc/version
}

json() {
	random 300000 >in/f
	receive -d out -j -q
	send_now -j in/f && exited "$RECV" 0 recv.err && copy_of in/f || return 1
	jq -e '.status == "ok" and .bytes == 300000 and .name == "f" and
		.slots == 2 and .slot_size == 262144 and .seconds > 0 and
		.bytes_per_second > 0 and (.xxh128 | length) == 32' \
		send.out recv.out >/dev/null || return 1
	[ "$(jq -r .xxh128 send.out)" = "$(jq -r .xxh128 recv.out)" ] &&
		[ "$(jq -r .role send.out recv.out | xargs)" = "send recv" ] || return 1
	refused 1 '.' ddcp send -j in/f &&
		jq -e '.status == "error" and (.error | startswith("no receiver")) and
			.name == "f"' refused.out >/dev/null
}

# says ROLE CODE COMMAND...: what never began is told of in JSON too.
says() {
	local role=$1 code=$2

	shift 2
	refused "$code" . "$@" && jq -e --arg role "$role" '.status == "error" and
		.role == $role and (.error | length) > 0' refused.out >/dev/null
}

json_before() {
	local nobody="setpriv --reuid=nobody --clear-groups"

	says send 3 $nobody ddcp send -j /proc/version &&
		says recv 3 $nobody ddcp recv -j -d /tmp || return 1
	receive -n taken -d out
	says recv 1 ddcp recv -j -n taken || return 1
	kill $RECV
	wait $RECV
	return 0
}

several() {
	local i pids=()

	receive -d out -c 6
	for i in 1 2 3 4 5 6; do
		random $((i * 777777)) >in/$i
		ddcp send -q -w 20 in/$i 2>send.$i &
		pids+=($!)
	done
	for i in 1 2 3 4 5 6; do
		exited "${pids[i - 1]}" 0 send.$i && cmp in/$i out/$i || return 1
	done
	exited "$RECV" 0 recv.err && rm -f out/[1-6] && empty out
}

two_receivers() {
	random 5000 >in/f
	receive -n other -d out
	refused 1 "receiver 'other' on this node already" ddcp recv -n other &&
		refused 1 "no receiver 'ddcp' on node" ddcp send in/f &&
		refused 1 "no receiver 'other' on node 99" ddcp send -n other -N 99 in/f &&
		send_now -n other in/f && exited "$RECV" 0 recv.err && copy_of in/f
}

patience() {
	random 5000 >in/f
	start_send /dev/null -w 20 in/f
	sleep 0.5
	receive -d out
	exited "$SEND" 0 send.err && exited "$RECV" 0 recv.err && copy_of in/f
}

bad_names() {
	local name

	random 10 >in/f
	for name in / a/b ../up . ..  /etc/passwd; do
		receive -d out
		refused 1 'receiver: refused the sender.s name' ddcp send -a "$name" in/f &&
			exited "$RECV" 1 recv.err && empty out && [ ! -e up ] || return 1
	done
	refused 1 'File name too long' ddcp send -a "$(printf '%0256d' 0)" in/f &&
		refused 1 'No such file' ddcp send -a "" absent
}

long_name() {
	local name

	name=$(printf '%0255d' 0)
	random 10 >in/f
	receive -d out
	send_now -a "$name" in/f && exited "$RECV" 0 recv.err &&
		cmp in/f "out/$name" && rm "out/$name" && empty out
}

existing() {
	random 10 >in/f
	echo precious >out/f
	receive -d out
	refused 1 'receiver: out/f: File exists' ddcp send in/f &&
		exited "$RECV" 1 recv.err && [ "$(cat out/f)" = precious ] || return 1
	receive -d out -f
	send_now in/f && exited "$RECV" 0 recv.err && cmp in/f out/f || return 1
	echo precious >out/f
	receive -o out/f
	send_now -a another in/f && exited "$RECV" 0 recv.err && copy_of in/f
}

# A sender that stops for good after $1 bytes, and its receiver.
stall() {
	rm -f tap.fifo
	mkfifo tap.fifo
	receive -d out
	start_send tap.fifo -a f -
	exec 7>tap.fifo
	random "$1" >&7
	within "$PATIENCE" has_partial || diag "the receiver has not heard of it"
	within "$PATIENCE" all_taken "$1" || diag "the sender has not read all of it"
}

# all_taken BYTES: of what the sender has read, whole slots are in the file.
all_taken() {
	local file

	file=$(compgen -G 'out/.f.ddcp.*') &&
		[ "$(stat -c %s "$file")" -ge $(($1 / SLOT * SLOT)) ]
}

has_partial() { compgen -G 'out/.f.ddcp.*' >/dev/null; }

MOMENTS="0 1 $((SLOT - 1)) $SLOT $((2 * SLOT + 5)) $((20 * SLOT))"

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
		# While its input is silent.
		exited "$SEND" 4 send.err && has_line send.err 'the receiver went away' &&
			[ ! -e out/f ] || return 1
		exec 7>&-
		rm -f out/.f.ddcp.*
	done
}

# The receiver has heard of it; all of it may be there.
has_begun() { [ -e out/big ] || compgen -G 'out/.big.ddcp.*' >/dev/null; }

# Killed while data flows, at whatever moment it is.
kill_in_flight() {
	local i

	random $((32 << 20)) >in/big
	for i in 1 2 3 4 5 6; do
		receive -d out
		start_send /dev/null in/big
		within "$PATIENCE" has_begun || return 1
		sleep 0.0$((i * 15))
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
		# Whole, or not there.
		[ ! -e out/big ] || cmp in/big out/big || return 1
		rm -f out/big out/.big.ddcp.*
	done
}

signals() {
	local signal

	for signal in TERM HUP; do
		stall $((SLOT + 5))
		kill -$signal "$RECV"
		exited "$RECV" $((128 + $(kill -l $signal))) recv.err && empty out &&
			exited "$SEND" 4 send.err || return 1
		exec 7>&-
		stall $((SLOT + 5))
		kill -$signal "$SEND"
		exited "$SEND" $((128 + $(kill -l $signal))) send.err &&
			exited "$RECV" 4 recv.err && empty out || return 1
		exec 7>&-
	done
}

interrupt() {
	rm -f tap.fifo
	mkfifo tap.fifo
	dd_pty ddcp recv -d out >recv.err &
	RECV=$!
	within "$PATIENCE" has_line recv.err '^ddcp: ready' || return 1
	start_send tap.fifo -a f -
	exec 7>tap.fifo
	random $((SLOT + 5)) >&7
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
	receive -d small
	# Size known: before anything is copied. Unknown: on the way.
	refused 1 'receiver: small/f: No space left' ddcp send in/f &&
		exited "$RECV" 1 recv.err && has_line recv.err 'No space left' &&
		empty small || ret=1
	receive -d small
	refused_stdin 'receiver: small/f: No space left' ddcp send -a f - < <(cat in/f) &&
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
	{
		ddcp recv -o - 2>recv.err
		echo $? >recv.code
	} | head -c 10 >/dev/null &
	within "$PATIENCE" has_line recv.err ready &&
		refused 1 'receiver: output: Broken pipe' ddcp send in/f &&
		wait $! && [ "$(cat recv.code)" = 1 ]
}

# The receiver's output is stuck, and then its sender dies.
stuck_output() {
	rm -f out.fifo
	mkfifo out.fifo
	random 3000000 >in/f
	ddcp recv -o out.fifo 2>recv.err &
	RECV=$!
	within "$PATIENCE" has_line recv.err ready || return 1
	start_send /dev/null in/f
	exec 8<out.fifo
	sleep 0.3
	kill -9 "$SEND"
	wait "$SEND" 2>/dev/null
	exited "$RECV" 4 recv.err
	local ret=$?

	exec 8<&-
	return $ret
}

unwritable() {
	random 10 >in/f
	mkdir absent
	receive -d absent
	rmdir absent
	refused 1 'receiver: absent/f: No such file' ddcp send in/f &&
		exited "$RECV" 1 recv.err || return 1
	receive -o absent
	mkdir absent
	refused 1 'receiver: absent: Is a directory' ddcp send in/f &&
		exited "$RECV" 1 recv.err || return 1
	rmdir absent
	refused 1 '^ddcp: absent: No such file' ddcp recv -d absent &&
		! has_line refused.err ready &&
		refused 1 '^ddcp: in: Is a directory' ddcp recv -o in &&
		! has_line refused.err ready
}

# The sender has gone before the receiver, whose output is stuck, hears of it.
shrinking() {
	rm -f out.fifo
	mkfifo out.fifo
	random 3000000 >in/f
	ddcp recv -o out.fifo 2>recv.err &
	RECV=$!
	within "$PATIENCE" has_line recv.err ready || return 1
	start_send /dev/null in/f
	exec 8<out.fifo
	sleep 0.3
	truncate -s 400000 in/f
	# Enough for one slot to come back, so that the sender reads on.
	head -c 300000 <&8 >/dev/null
	exited "$SEND" 1 send.err && has_line send.err 'its size changed from 3000000' &&
		exited "$RECV" 1 recv.err && has_line recv.err 'the sender gave up'
	local ret=$?

	exec 8<&-
	return $ret
}

terminal() {
	random 3000000 >in/f
	# Slow enough for several pictures.
	receive -o /dev/null -q
	dd_pty ddcp send in/f >tty.out || return 1
	exited "$RECV" 0 recv.err && grep -q '100% \[##*\].*iB/s' tty.out &&
		grep -q 'checksum verified' tty.out || return 1
	receive -o /dev/null
	send_now in/f && exited "$RECV" 0 recv.err && ! grep -q '%' send.err recv.err || return 1
	receive -o /dev/null
	dd_pty ddcp send -q in/f >tty.out && exited "$RECV" 0 recv.err && [ ! -s tty.out ]
}

# Somebody who does not speak the protocol does no harm.
stranger() {
	random 300000 >in/f
	receive -d out
	refused 4 '.' dd-rpc-client --name ddcp &&
		send_now -w 10 in/f && exited "$RECV" 0 recv.err && copy_of in/f
}

one_cpu() {
	random $((16 << 20)) >in/f
	taskset -c 0 ddcp recv -d out 2>recv.err &
	RECV=$!
	taskset -c 0 timeout 60 ddcp send -w 10 in/f 2>send.err &&
		exited "$RECV" 0 recv.err && diag "$(cat send.err)" && copy_of in/f
}

node_down() {
	random 10 >in/f
	ddctl node down || return 1
	refused 3 '^ddcp: ' ddcp send in/f && refused 3 '^ddcp: ' ddcp recv
	local ret=$?

	ddctl node up
	return $ret
}

plan 28
check "sizes 0, 1, and around a slot" sizes
check "64 MiB: sha256 equal" large
check "any two geometries" geometry
check "permission bits, within the umask" mode_kept
check "standard input to standard output" pipes
check "a file that says that it is empty" made_up
check "--json on both sides" json
check "--json where nothing begins" json_before
check "six senders, one receiver" several
check "receivers by name" two_receivers
check "--wait finds a receiver that comes later" patience
check "names with a slash, and of directories, are refused" bad_names
check "the longest name" long_name
check "an existing file is replaced on request only" existing
check "sender killed: no file, partial or not; exit code 4" kill_sender
check "receiver killed: nothing under the final name; exit code 4" kill_receiver
check "either side killed while data flows" kill_in_flight
check "SIGTERM and SIGHUP leave nothing behind" signals
check "^C on a terminal leaves nothing behind" interrupt
check "a full disk: said on both sides" full_disk
check "output that nobody reads any more" no_reader
check "sender killed while the output is stuck" stuck_output
check "a directory that is not there, at first or later; an output that is one" unwritable
check "a file that shrinks meanwhile" shrinking
check "progress on a terminal only" terminal
check "a stranger on the service" stranger
check "both sides on one CPU" one_cpu
check "node down: exit code 3" node_down
finish
