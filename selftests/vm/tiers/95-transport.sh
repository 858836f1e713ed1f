#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The transport in user space: another hundred networks in the simulator, by the
# seed SEED, and ten minutes of fuzzing.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

SEED=${SEED:-$(date +%s)}
make -s build/selftests/sim >&2 || exit
echo "# SEED=$SEED"
check "simulator, seed $SEED" build/selftests/sim --seed "$SEED" --runs 100
make -s fuzz
finish
