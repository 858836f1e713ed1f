#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The transport in user space: another hundred networks in the simulator, by the
# seed SEED, ten minutes of fuzzing, and random changes of the transport, of which the
# simulator must find LEAST per cent.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

LEAST=60
SEED=${SEED:-$(date +%s)}
make -s build/selftests/sim >&2 || exit
echo "# SEED=$SEED"
check "simulator, seed $SEED" build/selftests/sim --seed "$SEED" --runs 100
make -s fuzz

# The same changes each time: another choice would find more or fewer.
mutants() {
	local found tried

	make -s mutants SEED=1 | tee build/mutants.txt
	read -r _ found _ tried _ < <(tail -n 1 build/mutants.txt)
	[ "${tried:-0}" -gt 0 ] && [ $((100 * found)) -ge $((LEAST * tried)) ]
}

check "the simulator finds $LEAST % of random changes of the transport" mutants
finish
