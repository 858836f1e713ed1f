#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Races and load on four processors.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

for kernel in stock debug; do
	vm_list $kernel "$(echo selftests/{core/{races,stress},net/debug}.list)" \
		SMP=4 TIMEOUT=7200
done
finish
