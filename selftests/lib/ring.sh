#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The library's ring code and the kernel's race on this machine's processors: no
# wake-up is lost, and ThreadSanitizer finds nothing. With any one thing left out
# that is said to be needed, one of the two fails.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../vm/tier.sh"

DIR=build/ring
WRAP=-Wl,--wrap=open,--wrap=ioctl,--wrap=mmap,--wrap=close
TSAN=(-O1 -fsanitize=thread -Wno-tsan -DFAKE_ONE_ADDRESS "-Wl,--wrap=mremap")
FIND=900	# s to look for a wake-up that is lost; on an idle machine it takes one

# build NAME [FILE SED-SCRIPT] [-- OPTION...]: $DIR/NAME/race, of sources of which
# one is changed.
build() {
	local dir=$DIR/$1 flags

	rm -rf "$dir"
	mkdir -p "$dir/o"
	cp --parents -t "$dir" kernel/rings.h kernel/linger.h lib/dd/*.[ch] || return
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
		-I"$dir/lib/dd" -Ilib/tests "$@")
	for file in "$dir"/lib/dd/*.c lib/tests/fake*.c; do
		"${CC:-gcc}" "${flags[@]}" -w -c -o "$dir/o/$(basename "$file").o" \
			"$file" || return
	done
	"${CC:-gcc}" "${flags[@]}" -Wall -I"$dir" -Iselftests/lib/include \
		-Iselftests/transport/sim/include "$WRAP" -o "$dir/race" \
		selftests/lib/ring_race.c "$dir"/o/*.o
}

# The sanitizer wants addresses where it looks for them. The two threads have to run
# at the same time: where that is allowed, other programs of the machine wait.
race() {
	local prefix=()

	setarch -R true 2>/dev/null && prefix=(setarch -R)
	! chrt -r 1 true 2>/dev/null || prefix+=(chrt -r 1)
	"${prefix[@]}" timeout $((FIND + 60)) "$DIR/$1/race" "${@:2}" 2>&1
}

holds() {
	local name=$1 what=$2

	build "$name" -- "${@:3}" && race "$name" "$what"
}

# breaks NAME FILE SED-SCRIPT: a wake-up is lost.
breaks() {
	local status=0

	build "$1" "$2" "$3" -- -O2 || return
	race "$1" wake "$FIND" || status=$?
	[ "$status" = 1 ]
}

# races NAME FILE SED-SCRIPT: the sanitizer says so.
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
	check "nobody sleeps for ever" holds plain wake -O2
	check "without the sender's barrier somebody does" breaks no-sender-barrier \
		lib/dd/direct.h "s/$POST/ddi_store_release(\\&note->seq, pos + 1)/"
	check "without the receiver's barrier somebody does" \
		breaks no-receiver-barrier kernel/rings.h '/smp_mb();/d'
fi
check "no data race" holds tsan traffic "${TSAN[@]}"
check "a note that is shown too early is one" races note-early \
	lib/dd/direct.h "s/$POST/ddi_store(\\&note->seq, pos + 1)/"
check "a note that is read too early is one" races read-early \
	lib/dd/internal.h '/define ddi_equals/s/ddi_load_acquire(p) == (v)/ddi_load(p) == (v)/'
check "a slot that is given back too early is one" races slot-early \
	lib/dd/take.h 's/ddi_store_release(\(.*state->head\)/ddi_store(\1/'
finish
