# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Peers that other tools measure; sourced by guest.sh. Each job prints a record. The
# one-way latency of these tools is doubled to a round trip.
#
#   ucx_perftest  UCX's own: half a round trip, the median; bandwidth in MiB/s;
#                 requests one at a time, until the local side may go on
#   fi_pingpong   libfabric's own: half a round trip, the mean
#   perftest      of soft-RoCE (rdma_rxe): half a round trip, "typical"; requests until
#                 they are done, the mean; writes by the message rate, one at a time
#   sockperf      UDP between nodes: half a round trip, the median
#   dd-mpi        ddperf's loops, by MPI (mpi.c)
#
# Their receivers spin, and do not read the payload.

# shellcheck source=selftests/net/roce.sh
. "$(dirname "$0")/../selftests/net/roce.sh"

PORT=20000
RESIDENT=
SIZES_BYTES=$(tr , '\n' <<<"$SIZES" | numfmt --from=iec)

# The sizes from $1 to 1 MiB, for tools that are started anew for each size.
sizes_from() { awk -v min="$1" '$1 >= min && $1 <= 1048576' <<<"$SIZES_BYTES"; }

# As many messages as ddperf sends of that size.
count_of() {
	local n=$((67108864 / $1))

	n=${COUNT:-$n}
	echo $((n > 1000 ? 1000 : n < 16 ? 16 : n))
}

# Sizes of put and get; of a swap, a word.
access_sizes() { if [ "$1" = cas ]; then echo 8; else sizes_from 8; fi; }

# peer_record WHERE LOAD TOOL METHOD WHAT COMMAND <lines of SIZE and VALUE
peer_record() {
	local unit=us less=true

	[ "$2" != bw ] || unit=MB/s less=false
	# shellcheck disable=SC2016 # variables of jq
	jq -Rnc --argjson round "$ROUND" --arg where "$1" --arg load "$2" \
		--arg tool "$3" --arg method "$4" --arg what "$5" --arg command "$6" \
		--arg unit $unit --argjson less $less '{
		round: $round, where: $where, load: $load, touch: false,
		unit: $unit, less_is_better: $less, tool: $tool, command: $command,
		figures: [inputs | split(" ") | map(tonumber) |
			[$method, "spin", .[0], .[1]]], what: { ($method): $what }
	} | if .figures == [] then error("no figures") else . end'
}

# At the client's and the server's node, on their CPUs.
client() {
	if [ "$WHERE" = here ]; then taskset -c 0 timeout 60 "$@"
	else taskset -c 0 timeout 60 ip netns exec dd1 "$@"; fi
}
server() {
	if [ "$WHERE" = here ]; then exec taskset -c 1 timeout 60 "$@"
	else exec taskset -c 1 timeout 60 ip netns exec dd2 "$@"; fi
}
listens() {
	if [ "$WHERE" = here ]; then ss -Hltun "sport = :$PORT" | grep -q .
	else ip netns exec dd2 ss -Hltun "sport = :$PORT" | grep -q .; fi
}

listens_or_gone() { listens || ! kill -0 "$1"; }

# both SERVER... -- CLIENT...: output of the client. A server that does not end by
# itself is killed where RESIDENT is set.
both() {
	local other=() pid status=0

	while [ "$1" != -- ]; do
		other+=("$1")
		shift
	done
	shift
	server "${other[@]}" >"$HOLD/server.out" 2>&1 &
	pid=$!
	wait_for listens_or_gone $pid
	client "$@" 2>>"$HOLD/err" || status=1
	[ "$status$RESIDENT" = 0 ] || kill $pid 2>/dev/null
	wait $pid || [ -n "$RESIDENT" ] || status=1
	[ "$status" = 0 ] || tail -n 1 "$HOLD/server.out" >>"$HOLD/err"
	return $status
}

address() { if [ "$WHERE" = here ]; then echo 127.0.0.1; else echo 10.9.0.2; fi; }

# --- UCX ---------------------------------------------------------------------

# ucx_figures LOAD: a line for each size. Columns 3 and 7 of the last line are
# the median, and the bandwidth of the whole run.
ucx_figures() {
	local load=$1 size n line

	for size in $(sizes_from 8); do
		n=$(count_of "$size")
		PORT=$((PORT + 1))
		line=$(both ucx_perftest -p $PORT -- ucx_perftest "$(address)" \
			-p $PORT -t "tag_$load" -s "$size" -n "$n" -w $((n / 10 + 1)) |
			grep '^Final:') || return
		# shellcheck disable=SC2086 # words
		set -- $line
		if [ "$load" = lat ]; then echo "$size $(awk "BEGIN { print 2 * $3 }")"
		else echo "$size $(awk "BEGIN { print 1.048576 * $7 }")"; fi
	done
}

# ucx_access put|get|cas: the mean of each size.
ucx_access() {
	local load=$1 size n line
	local -A tests=([put]=ucp_put_bw [get]=ucp_get [cas]=ucp_cswap)

	for size in $(access_sizes "$load"); do
		n=$(count_of "$size")
		PORT=$((PORT + 1))
		line=$(both ucx_perftest -p $PORT -- ucx_perftest "$(address)" -p $PORT \
			-t "${tests[$load]}" -O 1 -s "$size" -n "$n" -w $((n / 10 + 1)) |
			grep '^Final:') || return
		awk -v size="$size" '{ print size, $5 }' <<<"$line"
	done
}

# ucx WHERE LOAD TLS METHOD WHAT
ucx() {
	local WHERE=$1 test=tag_$2 figures=ucx_figures

	case $2 in put | get | cas) test=ucp_$2 figures=ucx_access ;; esac
	local -x UCX_TLS=$3 UCX_WARN_UNUSED_ENV_VARS=n

	[ "$1" = here ] || local -x UCX_NET_DEVICES=eth0
	$figures "$2" >"$HOLD/figures" && peer_record "$1" "$2" ucx_perftest "$4" \
		"$5" "UCX_TLS=$3 ucx_perftest -t $test" <"$HOLD/figures"
}

# sockperf, between nodes: a round trip is what it calls latency, doubled.
sockperf_figures() {
	local size n line

	for size in $(sizes_from 16); do
		[ "$size" -le 65500 ] || continue
		PORT=$((PORT + 1))
		line=$(both sockperf server -i "$(address)" -p $PORT "$@" -- sockperf \
			ping-pong -i "$(address)" -p $PORT -m "$size" -t 1 "$@" |
			grep -o 'percentile 50.000 = *[0-9.]*') || return
		echo "$size $(awk "BEGIN { print 2 * ${line##*=} }")"
	done
}

sockperf_udp() {
	local WHERE=net RESIDENT=yes

	sockperf_figures --nonblocked >"$HOLD/figures" && peer_record net lat sockperf \
		udp-spin "UDP, spinning" "sockperf ping-pong --nonblocked" <"$HOLD/figures"
}

# --- libfabric ---------------------------------------------------------------

fabric_figures() {
	local provider=$1 type=$2 size n line

	for size in $(sizes_from 64); do
		n=$(count_of "$size")
		PORT=$((PORT + 1))
		line=$(both fi_pingpong -p "$provider" -e "$type" -I "$n" -S "$size" -B $PORT -- \
			fi_pingpong -p "$provider" -e "$type" -I "$n" -S "$size" \
			-P $PORT "$(address)" | tail -n 1) || return
		awk -v s="$size" '$7 > 0 { print s, 2 * $7; good = 1 } END { exit !good }' \
			<<<"$line" || return
	done
}

# fabric WHERE PROVIDER TYPE METHOD WHAT
fabric() {
	local WHERE=$1

	fabric_figures "$2" "$3" >"$HOLD/figures" && peer_record "$1" lat fi_pingpong \
		"$4" "$5" "fi_pingpong -p $2 -e $3" <"$HOLD/figures"
}

# --- soft-RoCE ---------------------------------------------------------------

# roce lat|bw|put|get|cas
# shellcheck disable=SC2016 # columns of awk
roce() {
	local those command column size n line

	those=$(sizes_from 64)
	case $1 in
	lat) command="ib_send_lat" column='2 * $5' ;;
	bw) command="ib_write_bw --report_gbits" column='125 * $4' ;;
	put) command="ib_write_bw -t 1" column='1 / $5' ;;
	get) command="ib_read_lat" column='$6' ;;
	cas) command="ib_atomic_lat -A CMP_AND_SWAP" column='$6' ;;
	esac
	case $1 in put | get | cas) those=$(access_sizes "$1") ;; esac
	for size in $those; do
		n=$(count_of "$size")
		# A megabyte takes tens of milliseconds.
		n=$((n > 32 && size > 65536 ? 32 : n))
		# shellcheck disable=SC2046,SC2086 # words
		line=$(roce_test $command $([ "$1" = cas ] || echo "-s $size") -n "$n") || return
		awk -v size="$size" "{ print size, $column }" <<<"$line"
	done >"$HOLD/figures"
	peer_record net "$1" perftest soft-RoCE \
		"soft-RoCE (rdma_rxe) between the ends of a veth pair" "$command" \
		<"$HOLD/figures"
}

# --- Open MPI ----------------------------------------------------------------

# mpi LOAD METHOD WHAT OPTION...
mpi() {
	local load=$1 method=$2 what=$3
	local run=(mpirun --allow-run-as-root -np 2 --bind-to none
		--mca plm isolated --mca oob_tcp_if_include lo)

	shift 3
	# shellcheck disable=SC2086 # words
	COUNT=$COUNT timeout 120 "${run[@]}" "$@" build/bench/dd-mpi "$load" $SIZES_BYTES \
		>"$HOLD/figures" 2>>"$HOLD/err" </dev/null &&
		peer_record here "$load" dd-mpi "$method" "$what" \
			"mpirun -np 2 $* dd-mpi $load" <"$HOLD/figures"
}

# Transports of UCX within a node: all of them, or those without the kernel.
SHARED_MEMORY=posix,sysv,cma,self
if [ "$NATIVE" ]; then
	SHARED_MEMORY=posix,sysv,self
	export FI_SHM_DISABLE_CMA=1
fi

# peer NAME LOAD: a job.
peer() {
	case $1 in
	ucx-shm) ucx here "$2" "$SHARED_MEMORY" ucx-shm "UCX, shared memory, tag matching; its unit is a microsecond" ;;
	ucx-tcp) ucx net "$2" tcp,self ucx-tcp "UCX over TCP, tag matching" ;;
	fabric-shm) fabric here shm rdm fabric-shm "libfabric, shm, reliable datagrams" ;;
	fabric-tcp) fabric net tcp msg fabric-tcp "libfabric, tcp, connected" ;;
	fabric-udp) fabric net 'udp;ofi_rxd' rdm fabric-udp "libfabric, udp and rxd" ;;
	udp) sockperf_udp ;;
	roce) roce "$2" ;;
	mpi-shm) mpi "$2" mpi-shm "Open MPI, its own shared memory (vader)" \
		--mca pml ob1 --mca btl self,vader \
		${NATIVE:+--mca btl_vader_single_copy_mechanism none} ;;
	mpi-ucx) UCX_TLS=$SHARED_MEMORY mpi "$2" mpi-ucx "Open MPI over UCX, shared memory" \
		--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any ;;
	# mtl/ofi does not take the provider shm.
	mpi-fabric) FI_TCP_IFACE=lo mpi "$2" mpi-fabric "Open MPI over libfabric, tcp and rxm, loopback" \
		--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include 'tcp;ofi_rxm' ;;
	mpi-tcp) mpi "$2" mpi-tcp "Open MPI over TCP, loopback" \
		--mca pml ob1 --mca btl self,tcp --mca btl_tcp_if_include lo ;;
	esac
}

PEER_JOBS=("peer fabric-shm lat" "peer fabric-tcp lat" "peer fabric-udp lat" "peer udp lat")
for name in ucx-shm ucx-tcp roce mpi-shm mpi-ucx mpi-fabric mpi-tcp; do
	PEER_JOBS+=("peer $name lat" "peer $name bw")
done
for name in ucx-shm ucx-tcp roce; do
	PEER_JOBS+=("peer $name put" "peer $name get" "peer $name cas")
done
NATIVE_PEER_JOBS=("peer fabric-shm lat")
for load in lat bw; do
	NATIVE_PEER_JOBS+=("peer ucx-shm $load" "peer mpi-shm $load" "peer mpi-ucx $load")
done
for load in put get cas; do
	NATIVE_PEER_JOBS+=("peer ucx-shm $load")
done
