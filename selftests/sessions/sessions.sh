#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sessions of VMMC on three nodes. SPAWNS is the number of processes of one test.
#
# shellcheck disable=SC2009,SC2012,SC2013,SC2015,SC2016,SC2046,SC2094,SC2317 # see nodes.sh
# shellcheck source=selftests/sessions/nodes.sh
. "$(dirname "$0")/nodes.sh"

N=3
LAST=node1		# where processes spawn others: the own node, or another one
DRIVE=$HOLD/drive
MEMBER=/bin/member
S=Test
PATH=$TOP/build/samples/vmmc:$PATH

cfg() { as alice 1 cfgvmmc "$@"; }
ok() { run cfg "$@"; [ "$status" = 0 ] && [ ! -s "$ERR" ] && return; show_output; return 1; }
# bad STATUS PATTERN ARGUMENT...
bad() {
	run cfg "${@:3}"
	[ "$status" = "$1" ] && has_line "$ERR" "$2" && return
	show_output
	return 1
}
# says PATTERN COMMAND...: it prints such a line.
says() {
	run "${@:2}"
	has_line "$OUT" "$1" && return
	show_output
	return 1
}
# begin FILE PATTERN COMMAND...: start it, as $BEGUN, and wait until its output has such a line.
begin() {
	: >"$1"
	"${@:3}" >"$1" 2>&1 &
	BEGUN=$!
	within "$PATIENCE" has_line "$1" "$2"
}
# has FILE LINE...: the file has these lines.
has() {
	local text line

	text=$'\n'$(<"$1")$'\n'
	for line in "${@:2}"; do
		[[ $text == *$'\n'"$line"$'\n'* ]] || { echo "$1 has no line '$line'"; return 1; }
	done
}
# lpid, real pid and log of the last "run", of NODE
pids() {
	read -r _ LPID _ PID <"$OUT"
	LPID=${LPID%,}
	LOG=$(log_of "$1" "$LPID")
}
log_of() { echo "$DRIVE/out/VMMC_$1.$2"; }
control() { echo "$DRIVE/out/${1}_$2"; }
add() { ok "$1" add "$S" "" "" "$DRIVE" "" /out; }
add_all() {
	local i

	for ((i = 1; i <= N; i++)); do add "node$i" || return; done
}
del_all() {
	local i

	for ((i = 1; i <= N; i++)); do ok "node$i" del "$S" || return; done
}
# starts NODE DIRECTORY PROGRAM ARGUMENT...: run it on a node of $S. ran: and wait for its end.
starts() { ok "$1" run "$S" "${@:2}" && pids "$1"; }
ran() { starts "$@" && within "$PATIENCE" gone "$PID"; }
# serves: the server of node 1 does, whatever has happened.
serves() { ok node1 run "$S" / /bin/script; }
# shell ARGUMENT...: member, by alice or $BY, from a shell in a directory of the drive, in $S.
shell() { WD=$DRIVE/work VMMCSESSION=$S VMMCHOSTS='' as "${BY:-alice}" 1 "$DRIVE$MEMBER" "$@"; }
# Whether the server of a node has no process.
idle() { ! compgen -G "/proc/${HOLDER[$1]}/root/run/vmmc/sessions/*/[0-9]*" >/dev/null; }
cgroups() { local all=(/sys/fs/cgroup/vmmc-*); [ -e "${all[0]}" ] && echo ${#all[@]} || echo 0; }

prepare() {
	mkdir -p "$DRIVE"/{bin,out,work/deep}
	cp "$TOP/build/selftests/member" "$(type -P true)" "$(type -P sleep)" "$DRIVE/bin/"
	printf '#!/bin/sh\necho script $*\npwd\n' >"$DRIVE/bin/script"
	printf 'echo none\n' >"$DRIVE/bin/plain"
	chmod 755 "$DRIVE"/bin/*
	ln -s /etc "$DRIVE/away"
	ln -s ../../../../../../etc "$DRIVE/work/up"
	chown -R alice: "$DRIVE"/{out,work}
	sessions_up "$N"
}

# in_session NAME COMMAND...: one test. If one before has failed, which may have left less than there
# was, it begins with munged, the server of node 1, and the sessions.
KNOWN=0
in_session() {
	local i

	if [ "$BAD" != "$KNOWN" ]; then
		KNOWN=$BAD
		pkill -9 -u alice member
		[ -S /run/munge/munge.socket.2 ] || munge_start
		! gone "${SVR[1]}" || server_up 1
		S=Test
		for i in 1 2 3; do add "node$i"; done
	fi >/dev/null 2>&1
	check "$@"
}

# ---- sessions ----------------------------------------------------------------------------

one_server() {
	local got=0

	on 1 vmmcsvr >second 2>&1 || got=$?
	[ "$got" = 1 ] && has_line second 'TCP port 56797: Address already in use'
}

usage() {
	bad 2 "'walk' is not add" node1 walk &&
		bad 2 'add takes 6 arguments, not 5' node1 add x "" "" - "" &&
		bad 2 'SESSION is empty' node1 add "" "" "" - "" /tmp &&
		bad 2 "DRIVE 'Z:' is neither" node1 add x "" "" Z: "" /tmp &&
		bad 2 "OUTDIR '' is not" node1 add x "" "" - "" "" &&
		bad 2 "WORKINGDIR 'bin' is not" node1 run x bin true &&
		bad 2 "PID 'abc' is not" node1 kill x abc &&
		bad 1 "drive '/nowhere': No such" node1 add x "" "" /nowhere "" /tmp &&
		bad 2 "drive '$DRIVE/away' is '/etc'" node1 add x "" "" "$DRIVE/away" "" / &&
		bad 1 "outDir '/nowhere': No such" node1 add x "" "" "$DRIVE" "" /nowhere &&
		bad 1 "outDir '/bin': Permission" node1 add x "" "" "$DRIVE" "" /bin &&
		bad 1 "outDir '/away': No such" node1 add x "" "" "$DRIVE" "" /away &&
		bad 1 "there is no session 'x' on node node1" node1 del x &&
		bad 3 "HOST 'node9'" node9 del x && [ "$(cgroups)" = 0 ]
}

add_del() {
	add_all && bad 1 "session 'Test' exists on node node1" node1 add "$S" "" "" - "" /tmp &&
		[ "$(cgroups)" = "$N" ] && del_all && [ "$(cgroups)" = 0 ] &&
		bad 1 "no session 'Test'" node1 del "$S"
}

names() {
	local name

	for name in .. $'a/b %41\n\377\001' "$(printf '%0128d' 0)"; do
		S=$name
		add node1 && ran node1 / /bin/script && has "$LOG" script && ok node1 del "$name" || return
	done
	S=Test
	bad 2 'more than 128 bytes' node1 add "$(printf '%0129d' 0)" "" "" - "" /tmp &&
		bad 1 'too long' node1 add "$(printf '%0100d' 0 | tr 0 /)" "" "" - "" /tmp &&
		ls "$DRIVE/out" >names && grep -qx '%2E._[0-9]*' names &&
		LC_ALL=C grep -qax $'a%2Fb %2541%0A\377%01_[0-9]*' names && rm "$DRIVE"/out/*
}

# A drive that is mounted, with a share that is a directory.
share() {
	bad 1 "NETSHARE '/srv': no line 'share'" node1 add x "" "" - /srv /out || return
	mkdir -p /srv/share/out /mnt/k
	chown alice /srv/share/out
	cp "$DRIVE/bin/script" /srv/share/
	printf '# test\nshare /srv/*\ndrive /mnt/k\nprocesses 4\n' >/etc/dd/vmmcsvr.conf
	server_kill 1 && server_up 1 &&
		bad 1 "DRIVE '/mnt': no line 'drive'" node1 add x "" "" /mnt /srv/share /out &&
		ok node1 add "$S" guest secret /mnt/k /srv/share /out &&
		ran node1 / script && has "/srv/share/out/VMMC_node1.$LPID" /mnt/k &&
		bad 1 'something is mounted there' node1 add x "" "" /mnt/k /srv/share /out &&
		has_line "/srv/share/out/${S}_$LPID" 'User \[guest\]' && ok node1 del "$S" &&
		! on 1 mountpoint -q /mnt/k && ok node1 add "$S" "" "" - /srv/share /out &&
		ran node1 / script && has_line "/srv/share/out/VMMC_node1.$LPID" '^/run/vmmc/drives/' &&
		ok node1 del "$S" && [ -z "$(on 1 ls /run/vmmc/drives)" ] &&
		! grep -r secret /srv/share "$HOLD"/log.*
}

# ---- processes ---------------------------------------------------------------------------

runs() {
	ran node1 / $MEMBER info 'a b' "" "\$x;\`'" && cp "$LOG" info &&
		has info 'argument 0 [/bin/member]' 'argument 2 [a b]' 'argument 3 []' "argument 4 [\$x;\`']" \
			"directory $DRIVE" 'error output' 'leader 1' 'parent -23' &&
		ran node1 /bin member info && has "$LOG" "directory $DRIVE/bin" &&
		ran node1 /bin script x y && has "$LOG" 'script x y' &&
		ran "$LAST" /work/deep ../../bin/member info && has "$LOG" "directory $DRIVE/work/deep"
}

user() {
	has_line info '^user 1000 1000 (900 1000|1000 900)$' &&
		has info HOME=/tmp USER=alice "VMMCSESSION=$S" PATH=/usr/local/bin:/usr/bin:/bin \
			'LEFTOVER=(none)' 'VMMCHOSTS=(none)' &&
		VMMCHOSTS='node1 x' ran node1 / $MEMBER info && has "$LOG" 'VMMCHOSTS=node1 x'
}

# Limits as after a login, and not those of the server or of root; an account that has ended.
account() {
	local got=0

	mkdir -p /etc/security/limits.d
	printf '%s\n' 'alice - memlock 4096' 'alice - nofile 100' 'root - memlock 2048' \
		>/etc/security/limits.d/test.conf
	printf '#!/bin/sh\nulimit -Sl\nulimit -Hl\nulimit -Sn\nulimit -Hn\nulimit -Hs\n' >"$DRIVE/bin/limits"
	chmod 755 "$DRIVE/bin/limits"
	printf '%s\n' 4096 4096 100 100 "$(ulimit -Hs)" >wanted
	prlimit --pid "${SVR[1]}" --memlock=unlimited --nofile=4096 --stack=16777216:16777216 &&
		ran node1 / /bin/limits && cmp "$LOG" wanted || got=1
	rm /etc/security/limits.d/test.conf
	sed -i '/^alice/s/.*/alice:*:1:::::1:/' /etc/shadow
	bad 1 'user 1000: PAM service vmmcsvr: User account has expired' node1 run "$S" / /bin/limits &&
		has_line log.1 'PAM service vmmcsvr: User account has expired' || got=1
	sed -i '/^alice/s/.*/alice:*:1::::::/' /etc/shadow
	mv /etc/pam.d/vmmcsvr pam
	bad 1 'user 1000: PAM service vmmcsvr: ' node1 run "$S" / /bin/limits || got=1
	mv pam /etc/pam.d/vmmcsvr
	server_kill 1 && server_up 1 && serves && return $got
}

refusals() {
	bad 1 "workingDir '/nowhere': No such" node1 run "$S" /nowhere $MEMBER &&
		bad 1 "program 'member': No such" node1 run "$S" / member &&
		bad 1 "program '/bin': Permission" node1 run "$S" / /bin &&
		bad 1 "program '/bin/plain': Exec format" node1 run "$S" / /bin/plain &&
		bad 1 "program 'uname': No such" node1 run "$S" /bin uname &&
		bad 1 "workingDir '/away': No such" node1 run "$S" /away $MEMBER &&
		bad 1 "program '/work/up/passwd': No such" node1 run "$S" / /work/up/passwd &&
		bad 1 "program '../../../../usr/bin/true': No such" node1 run "$S" / ../../../../usr/bin/true
}

kills() {
	local lpid pid

	starts node1 / $MEMBER wait && lpid=$LPID && starts node1 / $MEMBER wait && pid=$PID &&
		starts node1 / /bin/member wait &&
		ok node1 kill "$S" "$lpid" && ok node1 kill "$S" "$pid" && within "$PATIENCE" gone "$pid" &&
		! gone "$PID" && bad 1 "PID $lpid: no process of session" node1 kill "$S" "$lpid" &&
		bad 1 'PID 1: no process of session' node1 kill "$S" 1 && ok node1 kill "$S" &&
		within "$PATIENCE" gone "$PID" && serves
}

control_file() {
	local lines line='HOST=node1 REALPID=[0-9]+ TIME=20[0-9]{2}/[ 1][0-9]/[ 1-3][0-9]-[ 12][0-9]:[ 1-5][0-9]'

	ran node1 / /bin/script || return
	mapfile -t lines <"$(control "$S" "$LPID")"
	[ ${#lines[@]} = 4 ] && [ "${lines[0]}${lines[2]}" = '##' ] &&
		[ "${lines[1]}" = "# VMMC Output Control For Session [$S] Run #$LPID User []" ] &&
		[[ ${lines[3]} =~ ^"VMMC_node1 $LPID # "$line$ ]]
}

# ---- spawn ---------------------------------------------------------------------------------

spawn() {
	says '^spawned ' shell spawn "$LAST" ../bin/member info x || return
	read -r _ _ PID <"$OUT"
	within "$PATIENCE" gone "$PID" && SPAWNED=$(grep -l 'parent node1' "$DRIVE"/out/VMMC_"$LAST".*) &&
		has "$SPAWNED" 'argument 0 [../bin/member]' 'argument 1 [info]' 'argument 2 [x]' \
			"directory $DRIVE/work" "VMMCSESSION=$S" && has_line "$SPAWNED" '^user 1000 1000 '
}

# The lead from the shell and the spawned process, in this order.
group_file() {
	local file lead child=${SPAWNED##*.}

	file=$(grep -lE "^VMMC_$LAST $child # HOST=$LAST REALPID=$PID TIME=" "$DRIVE"/out/${S}_*) || return
	lead=${file##*_}
	[ "$(wc -l <"$file")" = 5 ] && sed -n 4p "$file" | grep -qE "^VMMC_node1 $lead # HOST=node1 REALPID=" &&
		[ ! -e "$(log_of node1 "$lead")" ] && [ "$lead" != "$child" ]
}

spawn_errors() {
	local long

	long=$(printf '%0100000d' 0)
	says '^spawn -8 ' shell spawn "$LAST" ../bin/none &&
		says '^spawn -15 ' shell spawn node9 ../bin/member &&
		S=none says '^spawn -15 ' shell spawn node1 ../bin/member &&
		says '^spawn -15 ' as alice 1 "$DRIVE$MEMBER" spawn node1 "$DRIVE$MEMBER" &&
		BY=bob says '^spawn -24 ' shell spawn node1 ../bin/member wait &&
		WD=/ VMMCSESSION=$S says '^spawn -8 ' as alice 1 "$DRIVE$MEMBER" spawn node1 "$DRIVE$MEMBER" &&
		says '^spawn -8 ' shell spawn node1 ../bin/member info "$long" "$long" &&
		within "$PATIENCE" idle 1
}

before_first_call() {
	begin meet spawned shell meet "$LAST" "$DRIVE/work/now" && ! has_line meet met &&
		touch "$DRIVE/work/now" && exited $BEGUN 0 meet && has_line meet 'met 0' && rm "$DRIVE/work/now"
}

# A process that is killed before its first call, and pids that are none.
no_process() {
	local child

	begin meet spawned shell meet "$LAST" "$DRIVE/work/never" && read -r _ _ child <meet || return
	kill -9 "$child" && exited $BEGUN 1 meet && has_line meet 'met -16' &&
		says '^import -16$' shell import "$LAST" "$child" && says '^import -16$' shell import "$LAST" 4194000
}

# A process that has ended, but whose parent has not waited for it.
zombie() {
	local pid got=0

	begin zombie zombie shell zombie && read -r _ pid <zombie || return
	begin imported '^import -16$' shell import "$LAST" "$pid" && exited $BEGUN 0 imported || got=1
	pkill -9 -u alice member
	return $got
}

# Neither call of an import waits for a server: that of this node is stopped.
async() {
	local got=0

	begin async first shell async "$LAST" 4194000 "$DRIVE/work/go" || return
	kill -STOP "${SVR[1]}"
	touch "$DRIVE/work/go"
	within 10 has_line async 'begun -19' || got=1
	kill -CONT "${SVR[1]}"
	rm "$DRIVE/work/go"
	within "$PATIENCE" has_line async 'result -16' && return $got
}

forks() { says 'parent -23' shell fork "$LAST" && [ "$status" = 0 ] && has_line "$OUT" spawned; }

# Slurm's list of nodes.
job() { SLURM_JOB_NODELIST=$1 says "^$2\$" as alice 1 "$DRIVE$MEMBER" hosts; }
jobs_hosts() {
	job node3 'node3 0' && job 'node[1]' 'node1 0' && job 'node[1,1-1],node1' 'node1 node1 node1 0' &&
		job 'n[1]' -15 && job 'node[' 0 &&
		job 'node[1-2],node3' 'node1 node2 node3 0'
}

# Chains of processes over the nodes; see the sample. sample_spawn NODE...
sample_spawn() {
	rm -f "$DRIVE"/out/*
	cp "$TOP/build/samples/vmmc/spawn" "$DRIVE/bin/"
	WD=$DRIVE/work VMMCSESSION=$S VMMCHOSTS=$* run as alice 1 "$DRIVE/bin/spawn" 4
	[ "$status" = 0 ] && within "$PATIENCE" level_0 && [ "$(ls "$DRIVE"/out/"$S"_* | wc -l)" = 1 ] &&
		[ "$(grep -c ^VMMC "$DRIVE"/out/"$S"_*)" = 5 ] &&
		[ "$(ls "$DRIVE"/out/VMMC_* | sed 's/.*VMMC_//; s/\..*//' | sort -u | wc -l)" = $# ] && return
	show_output
	return 1
}
level_0() { grep -qs 'level 0' "$DRIVE"/out/VMMC_*; }

# The programs of the guide start their own processes. sample STATUS TEXT PROGRAM ARGUMENT...
sample() {
	[ -e "$DRIVE/bin/$3" ] || cp "$TOP/build/samples/vmmc/$3" "$DRIVE/bin/"
	WD=$DRIVE/work VMMCSESSION=$S VMMCHOSTS='node1 node2 node3' \
		run as alice 1 timeout "$PATIENCE" "$DRIVE/bin/$3" "${@:4}"
	[ "$status" = "$1" ] && { has_line "$OUT" "$2" || has_line "$ERR" "$2"; } && return
	show_output
	return 1
}
samples() {
	local name

	sample 0 '^16 words, 20 round trips' latency 16 20 &&
		sample 0 "^$N processes, 100 words" all2all pairwise "$N" 100 5 &&
		sample 0 "^$N processes, 100 words" all2all random "$N" 100 5 || return
	for name in PP Oneway Bidir Fetch; do
		sample 0 ' 1024 words' ${name}Bandwidth 5 1 1024 || return
	done
	for name in Chain One2All All2All; do
		sample 0 "^Random$name: .*good" Random$name "$N" 100 5 || return
	done
	sample 2 '4 processes, but the session has' all2all random 4 1 1
}

# ---- ends ------------------------------------------------------------------------------------

registered() {
	begin first pid shell first && ok node1 del "$S" && exited $BEGUN 137 && add node1
}

# With what they have started, also in sessions of their own.
del_kills() {
	printf '#!/bin/sh\nsetsid sleep 1000 &\necho $! >pid\nwait\n' >"$DRIVE/bin/daemon"
	chmod 755 "$DRIVE/bin/daemon"
	starts node1 /work /bin/daemon && within "$PATIENCE" test -s "$DRIVE/work/pid" &&
		ok node1 del "$S" && within "$PATIENCE" gone "$PID" &&
		within "$PATIENCE" gone "$(<"$DRIVE/work/pid")" &&
		[ "$(cgroups)" = $((N - 1)) ] && rm "$DRIVE/work/pid" && add node1
}

restart() {
	local lpid pid

	starts node1 / $MEMBER wait && lpid=$LPID pid=$PID && server_kill 1 && ! gone "$pid" &&
		bad 3 'is vmmcsvr running there' node1 kill "$S" && server_up 1 &&
		starts node1 / $MEMBER wait && [ "$LPID" != "$lpid" ] && ok node1 kill "$S" "$lpid" &&
		within "$PATIENCE" gone "$pid" && ! gone "$PID" && server_kill 1 && kill -9 "$PID" &&
		server_up 1 && has_line log.1 "process $LPID \(pid $PID\) was ended by signal 9" &&
		bad 1 'no process' node1 kill "$S" "$LPID"
}

# The child waits for the lock of its control file: the request survives the server.
restart_hanging() {
	local next file pid

	starts node1 / /bin/script && next=$((LPID + N + 1)) file=$(control "$S" $next) || return
	as alice 1 flock "$file" sleep 1000 &
	within "$PATIENCE" test -e "$file" || return
	cfg node1 run "$S" / /bin/script >hanging 2>&1 &
	pid=$!
	within "$PATIENCE" test -e "$(log_of node1 $next)" && server_kill 1 && server_up 1 &&
		ok node1 kill "$S" && exited $pid 1 && has_line hanging 'killed' &&
		within "$PATIENCE" idle 1 && pkill -9 -u alice sleep
}

# Spawns while the server is killed again and again: each that has succeeded has its log.
restart_load() {
	local i load records

	rm -f "$DRIVE"/out/*
	for i in 1 2 3; do
		shell many "$LAST" 7 /bin/true >"many.$i" 2>&1 &
		load+=" $!"
	done
	for i in 1 2; do
		nap 300
		server_kill 1 && server_up 1 || return
	done
	# shellcheck disable=SC2086 # pids
	wait $load
	diag "$(cat many.* | wc -l) of 21 spawned while the server was killed twice"
	[ "$(cat many.* | wc -l)" -gt 10 ] || return
	records=$(cat "$DRIVE"/out/"$S"_*)
	for i in $(cat many.*); do
		[[ $records == *"REALPID=$i "* ]] || { echo "process $i has no line"; return 1; }
	done
	ok node1 del "$S" && add node1
}

# many NUMBER: so many processes, half of which are killed.
zombies() { ps -eo stat= | grep -c '^Z'; }
many() {
	local before i count=0

	before=$(zombies)
	rm -f "$DRIVE"/out/*
	for ((i = 0; i < $1; i += 20)); do
		for program in '/bin/true' '/bin/sleep 1000'; do
			# shellcheck disable=SC2086 # words
			run shell many "$LAST" 10 $program
			[ "$status" = 0 ] && [ "$(wc -l <"$OUT")" = 10 ] || { show_output; return 1; }
		done
		ok "$LAST" kill "$S" && within "$PATIENCE" idle "${LAST#node}" || return
		count=$((count + 20))
	done
	[ "$(zombies)" -le "$before" ] && [ "$(ls "$DRIVE"/out/VMMC_"$LAST".* | wc -l)" = $count ] &&
		[ "$(cat "$DRIVE"/out/"$S"_* | grep -c "^VMMC_$LAST")" = $count ] && [ "$(cgroups)" = "$N" ]
}

# The commands of the tutorial, each of which succeeds.
tutorial() {
	awk '/^Sessions of VMMC$/ { on = 1 } /^Automatic update/ { on = 0 } on && /^  \$ / { print substr($0, 5) }' \
		"$TOP/Documentation/tutorial.rst" >commands &&
		[ "$(wc -l <commands)" = 10 ] && sed -i '/cfgvmmc.*run/a until [ "$(cat /tmp/vmmc/out/VMMC_* | grep -c level)" = 2 ]; do sleep 0.1; done' commands || return
	WD=$TOP as alice 1 timeout 60 bash -e -x <commands >walk 2>&1 &&
		has_line walk '^VMMC_node1 [0-9]+ # HOST=node1 ' && has_line walk '^level 0' &&
		[ ! -e /tmp/vmmc/none ] && rm -r /tmp/vmmc && return
	diag "$(<walk)"
	return 1
}

# ---- security --------------------------------------------------------------------------------

other_user() {
	local status=0

	for args in "del $S" "kill $S" "run $S / /bin/script"; do
		# shellcheck disable=SC2086 # words
		run as bob 1 cfgvmmc node1 $args
		[ "$status" = 1 ] && has_line "$ERR" 'belongs to another user' || return
	done
	run on 1 cfgvmmc node1 add x "" "" - "" /tmp
	has_line "$ERR" 'root: no line' && serves
}

outside() {
	run ip netns exec "$CLUSTER_BRIDGE" setpriv --reuid alice --regid alice --init-groups \
		cfgvmmc 10.9.0.1 run "$S" / /bin/script
	[ "$status" = 0 ]
}

no_munge() {
	munge_stop && bad 3 'munged must run here' node1 del "$S" && munge_start && serves
}

other_key() {
	mv /etc/munge/munge.key key && munge_stop && munge_start || return
	# The server of node 1 asks the same munged: a credential of the old key.
	as alice 1 munge -s x >cred && munge_stop && mv key /etc/munge/munge.key && munge_start &&
		frame "$(cat cred)" >frame && [ "$(on 1 rogue replay 10.9.0.1 frame)" = 0 ] && serves
}
# A frame of fewer than 65,536 bytes.
frame() {
	# shellcheck disable=SC2059 # bytes
	printf "$(printf '\\x%02x\\x%02x\\x%02x\\x%02x' 0 0 $((${#1} / 256)) $((${#1} % 256)))"
	printf %s "$1"
}
send() { on 1 bash -c 'exec 3<>/dev/tcp/$0/56797 && cat "$1" >&3 && timeout 5 cat <&3 >/dev/null' "$1" "$2"; }

# More connections than a server takes, which send a part: the others go on.
flood() {
	local i

	rm -f flood.*
	for i in 1 2; do
		on 1 bash -c 'for ((i = 10; i < 160; i++)); do
			eval "exec $i<>/dev/tcp/10.9.0.1/56797"; printf "\0\0" >&$i; done 2>/dev/null
			echo $$ >"flood.$0"; exec sleep 100' $i &
	done
	within "$PATIENCE" test -s flood.1 -a -s flood.2 && within "$PATIENCE" serves || return
	kill $(cat flood.1 flood.2)
	printf '\377\377\377\377' >huge && send 10.9.0.1 huge
	printf 'GET / HTTP/1.0\r\n\r\n' >http && send 10.9.0.1 http
	serves
}

limits() {
	local i

	for ((i = 0; i < 4; i++)); do
		ok node1 run "$S" / $MEMBER wait || return
	done
	bad 1 'has 4 processes' node1 run "$S" / $MEMBER wait && ok node1 kill "$S" &&
		within "$PATIENCE" serves
}

full_disk() {
	mkdir -p /mnt/small && on 1 mount -t tmpfs -o size=64k none /mnt/small && on 1 mkdir /mnt/small/out &&
		on 1 chown alice /mnt/small/out || return
	ok node1 add Full "" "" / "" /mnt/small/out && ok node1 run Full / "$DRIVE/bin/script" &&
		on 1 dd if=/dev/zero of=/mnt/small/fill bs=4k 2>/dev/null
	bad 1 "No space left" node1 run Full / "$DRIVE/bin/script" && serves &&
		ok node1 del Full && on 1 umount /mnt/small
}

huge() {
	bad 1 'more than 131072 bytes' node1 run "$S" / $MEMBER info "$(printf '%0100000d' 0)" "$(printf '%0100000d' 0)" && serves
}

# A user of another machine that does not exist here.
unknown_user() {
	run nsenter -t "${HOLDER[1]}" -m -u -n -S 4242 -G 4242 cfgvmmc node1 add x "" "" / "" /tmp
	[ "$status" = 1 ] && has_line "$ERR" 'user 4242 is unknown' && return
	show_output
	return 1
}

logs_made() { ls "$DRIVE/out" | wc -l; }
rogue_up() { begin rogue.out ready "$@"; }

# A host that passes a request on to a server, which it was not meant for.
relayed() {
	local before

	before=$(logs_made)
	rogue_up ip netns exec "$CLUSTER_BRIDGE" rogue relay 56797 10.9.0.1 sent || return
	run cfg 10.9.0.100 run "$S" / /bin/script
	[ "$status" != 0 ] && [ "$(logs_made)" = "$before" ] && return
	show_output
	return 1
}

# What was good once, to the same server and to another one.
replayed() {
	local before

	rogue_up nsenter -t "${HOLDER[1]}" -n rogue relay 5000 10.9.0.1 sent &&
		ok -p 5000 10.9.0.1 run "$S" / /bin/script && pids node1 && within "$PATIENCE" gone "$PID" || return
	before=$(logs_made)
	on 1 rogue replay 10.9.0.1 sent && on 1 rogue replay 10.9.0.3 sent && [ "$(logs_made)" = "$before" ]
}

# A client waits ten seconds for an answer: it begins before other checks.
silent_begin() {
	begin rogue.silent ready nsenter -t "${HOLDER[1]}" -n rogue silent 5001
	as alice 1 timeout 20 cfgvmmc -p 5001 10.9.0.1 del "$S" >silent 2>&1 &
	SILENT=$!
}
silent_server() { exited $SILENT 3 silent && has_line silent 'no answer'; }

# A process connects to the server and ends; another user's gets its number before the request comes.
stale_pid() {
	local pid victim='' got=0

	begin stale connected shell stale "$DRIVE/work/taken" && read -r _ pid <stale && within "$PATIENCE" gone "$pid" || return
	while [ "$victim" != "$pid" ]; do
		[ -z "$victim" ] || kill "$victim"
		echo $((pid - 1)) >/proc/sys/kernel/ns_last_pid || return
		setpriv --reuid bob --regid bob --init-groups sleep 1000 &
		victim=$!
	done
	touch "$DRIVE/work/taken"
	within "$PATIENCE" has_line stale pid && ok node1 kill "$S" || got=1
	rm "$DRIVE/work/taken"
	kill "$victim" && ! { wait "$victim"; } 2>/dev/null && return $got
}

# The disk with the server's records.
full_state() {
	local got=0

	on 1 sh -c 'for d in /run/vmmc /var/lib/vmmc; do dd if=/dev/zero of=$d/fill bs=4k; done' 2>/dev/null
	bad 1 'No space left' node1 run "$S" / /bin/script && bad 1 'No space left' node1 add x "" "" - "" /tmp &&
		ok node1 kill "$S" || got=1
	on 1 rm /run/vmmc/fill /var/lib/vmmc/fill && serves && return $got
}

# A link in the place of a log, or of a control file.
links() {
	local next

	starts node1 / /bin/script && next=$((LPID + N + 1)) && : >"$HOLD/victim" &&
		chown alice "$HOLD/victim" && as alice 1 ln -s "$HOLD/victim" "$(log_of node1 $next)" &&
		starts node1 / /bin/script && [ "$LPID" = $next ] && [ ! -s "$HOLD/victim" ] && [ ! -L "$LOG" ] &&
		next=$((LPID + N + 1)) && as alice 1 ln -s "$HOLD/victim" "$(control "$S" $next)" &&
		bad 1 'control file' node1 run "$S" / /bin/script && [ ! -s "$HOLD/victim" ]
}

# ----------------------------------------------------------------------------------------------

prepare || { diag "$(cat ready.* log.* munged.log holder.* 2>&1)"; echo "Bail out! no servers"; exit 1; }
check "VM_5 one server on a node" one_server
check "VM_12 VM_14 VM_15 wrong arguments are named" usage
check "VM_9 VM_13 a session is added and deleted" add_del
check "VM_9 names of any bytes" names
add_all || echo "Bail out! no session"
in_session "VM_10 VM_14 run: directory, program, arguments" runs
in_session "VM_17 run: user, groups, environment" user
in_session "VM_17 run: limits of the user, an account that has expired, no PAM" account
in_session "VM_14 run: what cannot be run" refusals
in_session "VM_15 kill one by either pid, and all" kills
in_session "VM_20 VM_21 control file, byte by byte" control_file
for LAST in node1 node3; do
	in_session "VM_18 VM_76 VM_77 spawn on $LAST, from a shell" spawn
	in_session "VM_19 VM_20 VM_21 the run group of a shell's process, $LAST" group_file
	in_session "VM_76 import from a process before its first call, $LAST" before_first_call
	in_session "VM_46_17 no such process: ended before its first call, or never was, $LAST" no_process
	in_session "VM_46_17 no such process: not waited for, $LAST" zombie
	in_session "VM_65 VM_66 an import does not wait for a server, $LAST" async
	in_session "VM_77 no parent in a child of fork, which may spawn, $LAST" forks
done
in_session "VM_76 spawn: errors" spawn_errors
in_session "SBL_31 spawn" says 'sbl 0 [0-9]+' shell sbl
in_session "VM_48 the nodes of a job" jobs_hosts
in_session "VM_22 spawn 4, one node" sample_spawn node1
in_session "VM_22 spawn 4, three nodes" sample_spawn node1 node2 node3
in_session "VM_23 VM_24 VM_25 VM_26 VM_27 VM_28 the programs of the guide" samples
in_session "VM_11 del kills a process that has registered" registered
in_session "VM_11 del kills all that processes have started" del_kills
in_session "VM_16 cfgvmmc outside the cluster" outside
in_session "VM_5 a server that was killed knows its sessions" restart
in_session "VM_5 killed while a process is being started" restart_hanging
in_session "VM_5 killed under load" restart_load
SPAWNS=${SPAWNS:-20}
in_session "VM_19 $SPAWNS spawns, half of them killed: no zombie, no group, no log is lost" many "$SPAWNS"
in_session "VM_13 VM_14 VM_15 VM_18 the tutorial" tutorial
silent_begin
in_session "security: other users, root" other_user
in_session "security: an unknown user" unknown_user
in_session "security: a pid that another user's process has got" stale_pid
in_session "security: a request passed on to another server" relayed
in_session "security: a request again, here and elsewhere" replayed
in_session "security: a server that does not answer" silent_server
in_session "security: no munge" no_munge
in_session "security: a credential of another key" other_key
in_session "security: flood, half a request, no request" flood
in_session "security: too many arguments" huge
in_session "security: a full disk" full_disk
in_session "security: a full disk of the server" full_state
in_session "security: links in the place of files" links
in_session "VM_11 VM_13 the end" del_all
check "VM_10 VM_11 VM_12 shares" share
add_all
in_session "security: limit of processes" limits
check "VM_6 the log" has_line log.1 "session 'Test': process [0-9]+ \(pid [0-9]+\) has ended with status 0"
finish
