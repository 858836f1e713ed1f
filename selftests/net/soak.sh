#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# "make soak": the tests between nodes, for longer.
# shellcheck source=selftests/lib/tier.sh
. "$(dirname "$0")/../lib/tier.sh"

echo "TAP version 13"
for kernel in ${KERNELS:-stock debug}; do
	vm_list "$kernel" selftests/net/soak.list TIMEOUT=21600
done
finish
