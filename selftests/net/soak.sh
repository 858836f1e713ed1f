#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# "make soak": the tests between nodes, for longer. KERNELS is the stock one by default.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../vm/tier.sh"

echo "TAP version 13"
for kernel in ${KERNELS:-stock}; do
	vm_list "$kernel" selftests/net/soak.list TIMEOUT=3600
done
finish
