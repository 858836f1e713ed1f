#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The file service in remote memory, on this node or, between two nodes of clerks.sh, with the
# server on the other one. Starts of servers and clerks are tests, too: see MATCH in tap.sh.

# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
scratch

files=100
CLERK=''
at=()
[ -z "${DDP_PEER_NETNS:-}" ] || at=(ip netns exec "$DDP_PEER_NETNS")
node=${DDP_PEER_NODE:-}
NAME255=$(printf '%0255d' 7)

# --- the tree ----------------------------------------------------------------------

# many FIRST LAST: files of one directory.
many() {
	local i

	for ((i = $1; i < $2; i++)); do
		echo "$i" >"tree/many/file $i"
	done
}

make_tree() {
	local i text

	printf -v text '%0499d\n' {1..40}
	mkdir -p tree/{a,b,c}/d/e tree/{many,small}
	mount -t tmpfs -o size=64K tmpfs tree/small
	touch tree/small/file tree/{other,rogue}
	many 0 "$files"
	for i in 0 1 8191 8192 8193 20000; do
		printf '%s' "${text::i}" >"tree/a/$i"
	done
	printf '%s' "${text::9000}" >tree/large
	echo long >"tree/b/$NAME255"
	echo dash >tree/b/-n
	ln -s large tree/link
	ln -s ../../a tree/b/d/up
	ln -s /a/8193 tree/b/absolute
	ln -s nothing tree/b/dangling
	ln -s b/loop tree/loop
	ln -s ../loop tree/b/loop
	ln -s /etc/passwd tree/c/outside
}

# paths TEST...: of find(1); those for which it is true are in $list.
paths() { mapfile -t list < <(cd tree && find . -mindepth 1 "$@" | sort); }

# --- processes ---------------------------------------------------------------------

# start LOG VARIABLE COMMAND...: the process is in VARIABLE.
ready_or_gone() { has_line "$1" ready || gone "$2"; }
start() {
	local log=$1 variable=$2

	shift 2
	: >"$log"
	"$@" >"$log" 2>&1 &
	printf -v "$variable" %s $!
	within "$PATIENCE" ready_or_gone "$log" $! && has_line "$log" ready && return
	diag "$*: $(cat "$log")"
	return 1
}

# shellcheck disable=SC2120 # options
server_start() {
	start server.log SERVER "${at[@]}" rmfs serve "$@" tree
}

# It goes on until each of its threads has found the signal.
server_stop() { kill -STOP "$SERVER" && within "$PATIENCE" all_stopped; }

all_stopped() { ! grep -L '^State:.T' "/proc/$SERVER/task"/*/status | grep -q .; }

clerk_start() {
	# shellcheck disable=SC2086 # none on one node
	start clerk.log CLERK rmfs clerk -x "$1" rmfs $node && connect main
}

kill_one() {
	kill "-$1" "$2" 2>/dev/null
	wait "$2" 2>/dev/null
}

# --- comparisons ---------------------------------------------------------------------

same() { cmp want got; }

# all_of_it: what the clients read is what the tree has.
all_of_it() { all_files && all_directories && all_links && all_attributes; }

all_files() {
	local list

	paths -type f
	(cd tree && cat "${list[@]}") >want
	rmfs cat "${list[@]}" >got && same
}

some_files() {
	cat tree/{large,a/8191} >want
	rmfs cat large a/8191 >got && same
}

# As "ls -Ap" prints them.
all_directories() {
	local list

	paths -type d
	find tree -mindepth 1 \( -type d -printf '%f/\n' -o -printf '%f\n' \) | sort >want
	rmfs ls . "${list[@]}" >list && sort list >got && same
}

all_links() {
	local list

	paths -type l
	(cd tree && readlink "${list[@]}") >want
	rmfs readlink "${list[@]}" >got && same
}

all_attributes() {
	local list mode rest

	paths
	(cd tree && stat -c '%f %h %u %g %s' "${list[@]}") |
		while read -r mode rest; do
			printf '%06o %s\n' "0x$mode" "$rest"
		done >want
	rmfs stat "${list[@]}" >list && cut -d' ' -f1-5 list >got && same
}

links_are_followed() {
	local list=(link b/d/up/8193 b/absolute a/../large ../../large)

	(cd tree && cat large a/8193 a/8193 large large) >want
	rmfs cat "${list[@]}" >got && same || return
	refused 1 'No such file' rmfs cat b/dangling &&
		refused 1 'Too many levels' rmfs cat loop &&
		refused 1 'No such file' rmfs cat c/outside &&
		refused 1 'No such file' rmfs cat ../../../../etc/passwd
}

statistics() {
	rmfs statfs / >got && grep -q "names of 255 bytes" got &&
		grep -q "of $(stat -f -c %S tree) bytes" got
}

# What was written is in the file, and is read at once.
write_and_read() {
	local text

	printf -v text '%s%05000d' "$1" {1..5}
	printf '%s' "$text" >want
	: >tree/written
	rmfs write written <want && cmp want tree/written && rmfs cat written >got &&
		same || return
	# A part, over the end of a block.
	printf '%s' "${text::3000}" >part
	dd if=part of=want bs=1000 seek=7 conv=notrunc 2>/dev/null
	rmfs write -o 7000 written <part && cmp want tree/written && rmfs cat written >got &&
		same && rmfs stat written >got && grep -q " $(stat -c %s want) " got &&
		! rmfs write a <part 2>err && grep -q 'Is a directory' err
}

has() { [ "$(<"tree/$1")" = "$2" ]; }

# A client sees what it has written, although the server may execute that later.
read_after_write() {
	local got handle i

	printf old >tree/other
	look_up other || return
	for i in 1 22 4444; do
		answers 0 $WRITE "$handle" 3 "$i" && answers 0 $GETATTR "$handle" 0 &&
			answers 0 $READ "$handle" 0 && [ "${got[1]}" = $((3 + ${#i})) ] &&
			answers 0 $WRITE "$handle" 3 "$i" && [ "$(rmfs cat other)" = "old$i" ] || return
	done
}

# More clients than the clerk has places for errors leave without fetching theirs.
leave_with_errors() {
	local i

	for ((i = 0; i < 40; i++)); do
		connect gone
		echo "$WRITE $1 0 x" >&"${IN[gone]}"
		read -t "$PATIENCE" -r <&"${OUT[gone]}" || return
		disconnect gone
	done
}

errors_of_writes() {
	local got=0 handle text='a write that was accepted has failed: '

	[ "$1" != hy ] || text=
	timeout "$PATIENCE" rmfs write small/file <large 2>err || got=$?
	diag "exit code $got: $(cat err)"
	[ $got = 1 ] && grep -q "small/file: ${text}No space left" err && : >tree/small/file &&
		answers_late $EISDIR 0 x && echo 1 >tree/removed &&
		look_up removed && rm tree/removed &&
		answers_late $ESTALE "$handle" x && leave_with_errors "$handle" &&
		answers_late $ESTALE "$handle" x
}

# By one clerk, and between two nodes by one of the other node, too.
two_clients() {
	local second=() pid pids=() bad=0 part=$((120 * 1000))

	if [ "$node" ]; then
		second=("${at[@]}")
		start second.log pid "${at[@]}" rmfs clerk -x "$1" rmfs || return
	fi
	: >tree/shared
	: >tree/other
	dd if=large bs=$part count=1 status=none | rmfs write shared &
	pids+=($!)
	dd if=large bs=$part skip=1 status=none |
		"${second[@]}" rmfs write -o $part shared &
	pids+=($!)
	rmfs write other <large &
	pids+=($!)
	wait "${pids[0]}" && wait "${pids[1]}" && wait "${pids[2]}" || bad=1
	[ ! "$node" ] || kill_one TERM "$pid"
	[ $bad = 0 ] && cmp large tree/shared && cmp large tree/other &&
		rmfs cat other >got && cmp large got
}

# write_stopped: by connection "one", while the server is stopped.
write_stopped() {
	printf old >tree/other
	connect one
	on one 0 0 $LOOKUP 0 0 other && server_stop &&
		on one 0 0 $WRITE "${got[2]}" 0 new && has other old
}

# The server does not have to run for a write, or for reads of other files after it.
write_while_stopped() {
	local bad=0

	rmfs cat large >want && write_stopped && timeout "$PATIENCE" rmfs cat large >got && same &&
		has other old || bad=1
	kill -CONT "$SERVER"
	[ $bad = 0 ] && within "$PATIENCE" has other new && on one 0 0 $SYNC 0 0 && disconnect one
}

killed_with_writes() {
	connect two
	on two 0 0 $LOOKUP 0 0 other && write_stopped || return
	kill_one KILL "$SERVER"
	server_start && on two 0 0 $SYNC 0 0 && on one 0 $EHOSTDOWN $SYNC 0 0 &&
		on one 0 0 $SYNC 0 0 && has other old || return
	disconnect one
	disconnect two
}

seen() { rmfs cat changing >got 2>/dev/null && cmp -s tree/changing got; }

# Another process changes a file, shrinks it, and replaces it.
changes_on_disk() {
	local i

	for i in 20000 1; do
		printf "%0${i}d" 3 >tree/changing
		rmfs cat changing >/dev/null
		printf "%0${i}d" 4 >tree/changing
		within "$PATIENCE" seen || return
	done
	echo new >tree/new && mv tree/new tree/changing && within "$PATIENCE" seen &&
		rm tree/changing && within "$PATIENCE" \
		refused 1 'No such file' rmfs cat changing
}

bad_paths() {
	refused 1 'too long' rmfs cat "${NAME255}1" &&
		refused 1 'No such file' rmfs ls nothing &&
		refused 1 'Not a directory' rmfs ls large &&
		refused 1 'Is a directory' rmfs cat a &&
		refused 1 'Invalid' rmfs readlink large &&
		refused 1 'Not a directory' rmfs cat large/x
}

# What a cache has needs no action of the server.
server_stopped() {
	local bad=0

	rmfs cat large link a/8191 >want && server_stop || return
	timeout "$PATIENCE" rmfs cat large link a/8191 >got && same || bad=1
	kill -CONT "$SERVER"
	return $bad
}

# --- clients and clerks that keep to no rule -----------------------------------------

garbage() {
	local size

	for size in 64 72 100 8192 8256; do
		refused 1 'is wrong' dd-rpc-client --name rmfs:rmfs --size $size || return
	done
	refused 1 'not inside the buffer' dd-rpc-client --name rmfs:rmfs --size 20000 || return
	some_files
}

another_user() {
	chmod a+rw /dev/dd
	refused 3 'another user' setpriv --reuid 12345 --clear-groups rmfs cat large
}

# The clerk serves another client meanwhile.
scribbler() {
	local pid bad=0

	start scribbler.log pid intruder scribble && all_files && ! gone "$pid" || bad=1
	kill_one KILL "$pid"
	[ $bad = 0 ] && all_files
}

# The server has requests in all mailboxes that no clerk has made.
forger() {
	# shellcheck disable=SC2086 # none on one node
	intruder forge $node && all_files && ! gone "$SERVER"
}

# The server serves others while it looks for a clerk on a node that does not answer.
stray() {
	local pid hold bad=0

	"${at[@]}" ddctl peer add 0 10.9.0.99 dead-time 60000 && mkfifo stay || return
	printf old >tree/other
	exec {hold}<>stay
	: >stray.log
	intruder stray 0 "$node" <stay >stray.log 2>&1 &
	pid=$!
	within "$PATIENCE" ready_or_gone stray.log $pid && printf new | rmfs write other &&
		has other new || bad=1
	echo >&"$hold"
	wait "$pid" || bad=1
	exec {hold}>&-
	"${at[@]}" ddctl peer del 0 && [ $bad = 0 ]
}

# called NAME OPERATION HANDLE OFFSET [TEXT]: a call by a connection; in $got the error, bytes,
# handle of a name, and error of an earlier write.
called() {
	echo "${@:2}" >&"${IN[$1]}"
	read -t "$PATIENCE" -ra got <&"${OUT[$1]}" && [ ${#got[@]} = 4 ]
}

# answers ERROR OPERATION...: by the connection that each clerk gets.
answers() { called main "${@:2}" && [ "${got[0]}" = "$1" ]; }

# look_up NAME: its handle is in $handle.
look_up() { called main $LOOKUP 0 0 "$1" && handle=${got[2]}; }

NULL=0 GETATTR=1 LOOKUP=2 READ=3 READDIR=5 WRITE=7 SYNC=8
EISDIR=21 EINVAL=22 EFBIG=27 EOPNOTSUPP=95 EHOSTDOWN=112 ESTALE=116

# connect NAME: a connection for calls.
declare -A IN OUT CALLER
connect() {
	local in out

	[ -z "${IN[$1]:-}" ] || disconnect "$1"
	rm -f "$1.in" "$1.out"
	mkfifo "$1.in" "$1.out"
	intruder calls <"$1.in" >"$1.out" &
	CALLER[$1]=$!
	exec {in}>"$1.in" {out}<"$1.out"
	IN[$1]=$in OUT[$1]=$out
}

disconnect() {
	local in=${IN[$1]} out=${OUT[$1]}

	exec {in}>&- {out}<&-
	kill_one TERM "${CALLER[$1]}"
	unset "IN[$1]"
}

# on NAME ERROR LATE OPERATION HANDLE OFFSET [TEXT]: a call with these errors, by a connection.
on() {
	called "$1" "${@:4}" && [ "${got[0]} ${got[3]}" = "$2 $3" ] && return
	diag "$*: ${got[*]}"
	return 1
}

# answers_late ERROR HANDLE TEXT: of a write, whether it is late or not.
answers_late() {
	local got synced

	connect late
	echo "$WRITE $2 0 $3" >&"${IN[late]}"
	echo "$SYNC 0 0" >&"${IN[late]}"
	read -t "$PATIENCE" -ra got <&"${OUT[late]}" &&
		read -t "$PATIENCE" -ra synced <&"${OUT[late]}" || return
	disconnect late
	[ $((got[0] + synced[3])) = "$1" ] && [ "${got[3]} ${synced[0]}" = "0 0" ]
}

# The file is another one now, or the server.
stale_handles() {
	local got handle

	echo 1 >tree/stale
	look_up stale && answers 0 $READ "$handle" 0 || return
	rm tree/stale
	echo 2 >tree/stale
	within "$PATIENCE" answers $ESTALE $READ "$handle" 0 &&
		answers_late $ESTALE "$handle" x && rmfs cat stale >got && cmp tree/stale got &&
		look_up large || return
	kill_one KILL "$SERVER"
	server_start && answers $ESTALE $READ "$handle" 0 && answers_late $ESTALE "$handle" x &&
		some_files
}

outside_of_files() {
	local got handle

	look_up large && answers 0 $READ "$handle" 2 && [ "${got[1]}" = 0 ] &&
		answers 0 $READ "$handle" $(((1 << 49) - 1)) && [ "${got[1]}" = 0 ] &&
		answers $EFBIG $READ "$handle" $((1 << 49)) && answers $EFBIG $READ "$handle" -1 &&
		answers $EFBIG $WRITE "$handle" $(((1 << 62) - 1)) xx &&
		answers $EINVAL $READDIR 0 1 && answers $EINVAL $GETATTR "$handle" 1 &&
		answers $EINVAL $LOOKUP 0 0 a/b && answers $EOPNOTSUPP 9 0 0 &&
		answers $ESTALE $GETATTR 12345 0 && rmfs cat large >got && cmp tree/large got
}

# The client that has written gets the error, once.
whose_error() {
	connect one
	connect two
	on one 0 0 $WRITE 0 0 x && on two 0 0 $SYNC 0 0 && on one 0 $EISDIR $NULL 0 0 &&
		on one 0 0 $SYNC 0 0 && disconnect one && disconnect two
}

# The server does not execute what has no number, and does execute what a killed clerk has left.
# The other clerk's write comes later.
killed_in_a_write() {
	local how

	printf old >tree/other
	rmfs cat other >got
	for how in half whole; do
		# shellcheck disable=SC2086 # none on one node
		run intruder left $how other new $node
		[ "$status" = 137 ] || return
		rmfs write rogue <want || return
		[ $how = whole ] || has other old || return
	done
	within "$PATIENCE" has other new && within "$PATIENCE" printed other new
}
printed() { [ "$(rmfs cat "$1")" = "$2" ]; }

rogue() {
	# shellcheck disable=SC2086 # none on one node
	intruder rogue rogue $node || return
	: >tree/rogue
	within "$PATIENCE" all_files
}

# The server executes what it has before it ends. A read of its tables follows the Write to its
# node.
stopped_with_writes() {
	write_stopped && on one 0 0 $LOOKUP 0 0 other && kill -TERM "$SERVER" && has other old &&
		kill_one CONT "$SERVER" && has other new || return
	disconnect one
	server_start && some_files
}

# A file whose last path is gone is found by its other one.
other_names() {
	echo 1 >tree/a/hard
	ln tree/a/hard tree/b/hard
	rmfs cat a/hard b/hard >got && rm tree/b/hard && echo 2 >>tree/a/hard &&
		within "$PATIENCE" printed a/hard $'1\n2'
}

# A clerk that finds no mailbox says so. The server frees those that no clerk uses.
all_mailboxes() {
	# shellcheck disable=SC2086 # none on one node
	[ "$(intruder fill $node)" = 31 ] &&
		refused 1 'Too many users' rmfs clerk rmfs $node && some_files &&
		within "$PATIENCE" refused 1 'cannot serve' rmfs clerk rmfs $node
}

all_connections() {
	local pids=() hold i bad=0

	mkfifo fifo && exec {hold}<>fifo
	for ((i = 0; i < 33; i++)); do
		rmfs write large <fifo 2>/dev/null &
		pids+=($!)
	done
	within "$PATIENCE" refused 3 'as many clients' rmfs stat large || bad=1
	kill -KILL "${pids[@]}"
	wait "${pids[@]}" 2>/dev/null
	exec {hold}>&-
	[ $bad = 0 ] && within "$PATIENCE" rmfs stat large && some_files
}

# --- ends of processes ---------------------------------------------------------------

reading() { [ -s got ]; }

# killed_during_reads PID MESSAGE: what a client has printed is right, and it says what has
# happened.
killed_during_reads() {
	local got=0 reader list=() i

	for i in {1..100}; do
		list+=(large a/20000 a/8191)
	done
	(cd tree && cat "${list[@]}") >want
	: >got
	rmfs cat "${list[@]}" >got 2>err &
	reader=$!
	within "$PATIENCE" reading
	kill_one KILL "$1"
	wait $reader || got=$?
	# It may have been done.
	[ $got = 0 ] || { [ $got = 4 ] && grep -q "$2" err; } || {
		diag "exit code $got: $(head -n 3 err)"
		return 1
	}
	cmp -n "$(stat -c %s got)" want got
}

# A copy is used for a while.
server_killed() {
	killed_during_reads "$SERVER" 'server is gone' &&
		within "$PATIENCE" answers $EHOSTDOWN $LOOKUP 0 0 large &&
		refused 4 'server is gone' rmfs cat large && server_start && some_files
}

clerk_killed() {
	killed_during_reads "$CLERK" 'clerk is gone' && refused 3 'no clerk' rmfs cat large &&
		clerk_start "$1" && some_files
}

# --- more files than the caches have places for --------------------------------------

# All are listed, each tenth is read.
ten_thousand() {
	local list=() i

	many "$files" 10000
	for ((i = 0; i < 10000; i += 10)); do
		list+=("many/file $i")
	done
	(cd tree && cat "${list[@]}") >want
	rmfs cat "${list[@]}" >got && same && within "$PATIENCE" all_directories
}

# --- the benchmark ---------------------------------------------------------------------

# Both schemes are measured, and with reads no operation misses. How long they take is
# printed, and not compared: a busy machine decides that.
bench() {
	# shellcheck disable=SC2086 # none on one node
	timeout $PATIENCE rmfs bench -c 100 rmfs $node >got &&
		sed 's/^/# /' got &&
		awk 'NR > 1 && $1 != "Write" && $1 != "mix" && $5 { bad = 1 }
		     END { exit bad || NR != 10 }' got
}

make_tree
dd if=/dev/urandom of=large bs=1000 count=240 status=none
check RM_48_a_server_starts server_start
# Schemes differ in how a result is found and in how a write gets to the server, which is the
# same with dx and push.
for scheme in dx hy push; do
	[[ RM_50_a_clerk_starts_$scheme =~ ${MATCH:-.} ]] || continue
	check "RM_50_a_clerk_starts_$scheme" clerk_start $scheme
	# The second time, the results are in the caches of the server (dx) or in the copy of
	# the clerk (push). With hy both times are the same.
	for time in 1 2; do
		[ "$scheme $time" != 'hy 2' ] || continue
		check "RM_48_RM_52_files_${scheme}_$time" all_of_it
	done
	check "RM_52_statistics_$scheme" statistics
	if [ $scheme != push ]; then
		check "RM_52_write_then_read_$scheme" write_and_read $scheme
		check "RM_52_errors_of_writes_$scheme" errors_of_writes $scheme
		check "RM_52_two_clients_write_$scheme" two_clients $scheme
	fi
	if [ $scheme != hy ]; then
		check "RM_52_read_after_write_$scheme" read_after_write
		check "changes_on_disk_are_seen_$scheme" changes_on_disk
		check "RM_49_RM_50_no_control_transfer_$scheme" server_stopped
	fi
	if [ $scheme = dx ]; then
		check RM_52_links_are_followed links_are_followed
		check bad_paths bad_paths
		check RM_50_writes_without_control_transfer write_while_stopped
		check RM_30_a_server_is_killed_with_writes killed_with_writes
	fi
	if [ $scheme = push ]; then
		check a_clerk_is_killed_during_reads clerk_killed $scheme
	fi
	check "RM_30_a_server_is_killed_during_reads_$scheme" server_killed
	kill_one TERM "$CLERK"
done
kill_one TERM "$SERVER"
check RM_49_a_small_cache server_start -s 128K
check RM_49_a_clerk_of_it clerk_start dx
check RM_49_misses_are_loaded all_files
check RM_47_garbage_of_a_client garbage
check RM_47_another_user another_user
check RM_47_a_client_writes_while_its_clerk_reads scribbler
check RM_47_a_clerk_writes_to_all_mailboxes forger
[ ! "$node" ] || check RM_47_a_clerk_whose_node_does_not_answer stray
check RM_47_a_clerk_with_right_numbers rogue
check RM_47_errors_of_the_client_that_has_written whose_error
check RM_45_a_clerk_is_killed_in_a_write killed_in_a_write
check RM_30_a_server_is_stopped_with_writes stopped_with_writes
check RM_48_other_names_of_a_file other_names
check RM_47_stale_handles stale_handles
check RM_47_requests_outside_of_files outside_of_files
check all_connections_of_a_clerk all_connections
check all_mailboxes_of_a_server all_mailboxes
check RM_51_both_schemes_are_measured bench
[ "$node" ] || check RM_48_ten_thousand_files ten_thousand
kill_one TERM "$CLERK"
kill_one TERM "$SERVER"
umount tree/small
finish
