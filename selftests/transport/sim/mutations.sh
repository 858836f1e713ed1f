#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mutations.sh OBJECTS: faults planted in the transport, each of which the
# simulator must find: mutations/*.patch, with the scenarios that are to do it
# in a line "Found by: ...". OBJECTS is where its own objects are.
OBJECTS=$PWD/$1
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../../vm/tier.sh"

DIR=build/mutants
SEEDS=4

# build PATCH: the simulator with one fault, as $DIR/sim.
build() {
	local file objects

	rm -rf "$DIR"
	mkdir -p "$DIR"
	cp --parents kernel/*/*.h kernel/transport/*.c "$DIR"
	patch -s -p1 -d "$DIR" <"$1" || return
	mapfile -t objects < <(ls "$OBJECTS"/sim/*.o)
	for file in kernel/transport/*.c; do
		cmp -s "$file" "$DIR/$file" && {
			objects+=("$OBJECTS/${file%.c}.o")
			continue
		}
		"${CC:-gcc}" -std=gnu11 -O1 -w -Iselftests/transport/sim/include \
			-I"$DIR/kernel" -c -o "$DIR/${file%.c}.o" "$DIR/$file" ||
			return
		objects+=("$DIR/${file%.c}.o")
	done
	"${CC:-gcc}" -o "$DIR/sim" "${objects[@]}" -lm
}

# found PATCH: the simulator fails, and says why.
found() {
	local scenarios scenario args=() status=0

	build "$1" || return 2
	read -ra scenarios < <(sed -n 's/^Found by: //p' "$1")
	for scenario in "${scenarios[@]}"; do
		args+=(--scenario "$scenario")
	done
	timeout 600 "$DIR/sim" --seed 1 --runs "$SEEDS" "${args[@]}" \
		>"$DIR/log" || status=$?
	grep -m 1 -E '^# .*(at [0-9.]+ s:|signal)' "$DIR/log"
	[ "$status" = 1 ]
}

for patch in selftests/transport/sim/mutations/*.patch; do
	name=${patch##*/}
	check "planted fault is found: ${name%.patch}" found "$patch"
done
finish
