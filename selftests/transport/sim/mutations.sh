#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mutations.sh OBJECTS: faults planted in the transport and in kernel/cluster, each of
# which the simulator must find. OBJECTS is where its own objects are, CPPFLAGS its
# include path, LDLIBS what else it is linked with. mutations.txt has the
# faults: "@NAME: SCENARIO...", the scenarios that are to find it; "# WHAT"; and for
# each change "=FILE" and lines, as in a patch, whose old text is in the file once.
OBJECTS=$PWD/$1
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../../vm/tier.sh"

FAULTS=selftests/transport/sim/mutations.txt
DIR=build/mutants
SEEDS=4

# plant NAME: the fault's changes, in the copy of the transport.
plant() {
	python3 - "$FAULTS" "$1" "$DIR" <<'END'
import re, sys

faults, name, dir = sys.argv[1:]
fault = re.search(rf"^@{re.escape(name)}:.*\n#.*\n((?:[= +-].*\n)+)",
                  open(faults, encoding="utf-8").read(), re.M).group(1)
for change in re.split("^=", fault, flags=re.M)[1:]:
    file, *lines = change.splitlines()
    with open(f"{dir}/{file}", encoding="utf-8") as f:
        text = f.read()
    old, new = ("".join(line[1:] + "\n" for line in lines if line[0] in " " + sign)
                for sign in "-+")
    if ("\n" + text).count("\n" + old) != 1:
        sys.exit(f"{name}: the old text is not once in {file}")
    with open(f"{dir}/{file}", "w", encoding="utf-8") as f:
        f.write(("\n" + text).replace("\n" + old, "\n" + new)[1:])
END
}

# build NAME: the simulator with one fault, as $DIR/sim.
build() {
	local file object objects

	rm -rf "$DIR"
	mkdir -p "$DIR"
	cp --parents kernel/*/*.[ch] "$DIR"
	plant "$1" || return
	mapfile -t objects < <(ls "$OBJECTS"/sim/*.o)
	for object in "$OBJECTS"/kernel/*/*.o; do
		file=${object#"$OBJECTS/"}
		file=${file%.o}.c
		cmp -s "$file" "$DIR/$file" || {
			object=$DIR/${file%.c}.o
			# shellcheck disable=SC2086 # words
			"${CC:-gcc}" -std=gnu11 -O1 -w ${CPPFLAGS/-Ikernel/-I$DIR/kernel} \
				-c -o "$object" "$DIR/$file" || return
		}
		objects+=("$object")
	done
	# shellcheck disable=SC2086 # words
	"${CC:-gcc}" -o "$DIR/sim" "${objects[@]}" $LDLIBS
}

# found NAME SCENARIO...: the simulator fails with one of the seeds, and says why.
found() {
	local name=$1 scenario args=() status=0 seed

	shift
	build "$name" || return 2
	for scenario; do
		args+=(--scenario "$scenario")
	done
	for ((seed = 1; seed <= SEEDS && status == 0; seed++)); do
		timeout 600 "$DIR/sim" --seed "$seed" "${args[@]}" \
			>"$DIR/log" || status=$?
	done
	grep -m 1 -E '^# .*(at [0-9.]+ s:|signal)' "$DIR/log"
	[ "$status" = 1 ]
}

while IFS=': ' read -r name scenarios; do
	# shellcheck disable=SC2086 # words
	check "planted fault is found: $name" found "$name" $scenarios
done < <(sed -n 's/^@//p' "$FAULTS")
finish
