#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Guests that are stopped and continued at random moments, as on a busy host.
# CHAOS is the seed.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

CHAOS=${CHAOS:-$RANDOM}
echo "# CHAOS=$CHAOS"
vm_list um "$(echo selftests/{ddp/guest,core/abi,admin/guest,net/{ddp,guest}}.list)" \
	CHAOS="$CHAOS" TIMEOUT=7200
vm_list stock "$(echo selftests/{core/stress,net/stock}.list)" \
	CHAOS="$CHAOS" TIMEOUT=7200
finish
