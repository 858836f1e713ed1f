#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The library's ring code and the kernel's race on this machine's processors: no
# wake-up is lost, and ThreadSanitizer finds nothing. Without any one of the
# barriers one of the two fails. ring_kernel.c stands for the module, because
# ThreadSanitizer sees races within one process only, and none of the kernel.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../vm/tier.sh"

DIR=build/ring
WRAP=-Wl,--wrap=open,--wrap=ioctl,--wrap=mmap,--wrap=mremap,--wrap=clock_gettime,--wrap=sched_yield
TSAN=(-O1 -fsanitize=thread -Wno-tsan)
LIMIT=960	# hang limit in s; on an idle machine a run takes one or two

# build NAME [FILE SED-SCRIPT] [-- OPTION...]: builds $DIR/NAME/race, with one
# source changed. All are built in one place, so that ccache finds the other objects.
build() {
	local name=$1 dir=$DIR/src flags

	rm -rf "$dir"
	mkdir -p "$dir/o" "$DIR/$name"
	cp --parents -t "$dir" kernel/core/rings.h kernel/core/deferred.h \
		lib/{core,conn,mem,ddp}/*.[ch] || return
	shift
	if [ "$1" != -- ]; then
		sed -i "$2" "$dir/$1"
		! cmp -s "$1" "$dir/$1" || {
			echo "$1 has no such thing: $2"
			return 1
		}
		shift 2
	fi
	shift
	flags=(-std=gnu11 -g -D_GNU_SOURCE "-DDD_VERSION=\"0\"" -pthread -Iinclude -Iinclude/uapi
		-I"$dir/lib/core" -I"$dir/lib/conn" "$@")
	for file in "$dir"/lib/{core,conn,mem,ddp}/*.c selftests/lib/ring_kernel.c; do
		"${CC:-gcc}" "${flags[@]}" -w -c -o "$dir/o/${file//\//-}.o" \
			"$file" || return
	done
	"${CC:-gcc}" "${flags[@]}" -Wall -I"$dir" -I"$dir/kernel" -Iselftests/lib/include \
		-Iselftests/transport/sim/include "$WRAP" -o "$DIR/$name/race" \
		selftests/lib/ring_race.c "$dir"/o/*.o
}

# The sanitizer needs addresses that are not random. The two threads have to run at
# the same time: where that is allowed, they have priority over other programs.
race() {
	local prefix=()

	setarch -R true 2>/dev/null && prefix=(setarch -R)
	! chrt -r 1 true 2>/dev/null || prefix+=(chrt -r 1)
	"${prefix[@]}" timeout "$LIMIT" "$DIR/$1/race" "${@:2}" 2>&1
}

holds() {
	local name=$1 what=$2

	build "$name" -- "${@:3}" && race "$name" "$what"
}

# breaks NAME FILE SED-SCRIPT: a wake-up is lost.
breaks() {
	local status=0

	build "$1" "$2" "$3" -- -O2 || return
	race "$1" lost || status=$?
	[ "$status" = 1 ]
}

# races NAME FILE SED-SCRIPT: the sanitizer reports a data race.
races() {
	local out

	build "$1" "$2" "$3" -- "${TSAN[@]}" || return
	out=$(race "$1" traffic)
	grep -q 'ThreadSanitizer: data race' <<<"$out" && return
	echo "$out"
	return 1
}

POST='ddi_store_mb(.note->seq, pos + 1)'

if [ "$(nproc)" = 1 ]; then
	skip "wake-ups" "there is one processor only"
else
	check "each receiver is woken" holds plain wake -O2
	check "a receiver that spins does not read the clock" race plain clock
	check "without the sender's barrier a wake-up is lost" breaks no-sender-barrier \
		lib/conn/send.c "s/$POST/ddi_store_release(\\&note->seq, pos + 1)/"
	check "without the receiver's barrier a wake-up is lost" \
		breaks no-receiver-barrier kernel/core/rings.h '/smp_mb();/d'
fi
check "no data race" holds tsan traffic "${TSAN[@]}"
check "a data race: a note is stored too early" races note-early \
	lib/conn/send.c "s/$POST/ddi_store(\\&note->seq, pos + 1)/"
check "a data race: a note is read too early" races read-early \
	lib/conn/recv.c 's/ddi_load_acquire(&slot->seq)/ddi_load(\&slot->seq)/'
check "a data race: a slot is released too early" races slot-early \
	lib/conn/recv.c 's/ddi_store_mb(f->head,/ddi_store(f->head,/'
finish
