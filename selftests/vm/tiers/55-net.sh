#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Between nodes, which are network namespaces: DDP as on one node, and networks
# and nodes that fail, on both kernels; and proof that each requirement is named
# by a test that passed. Then between two machines.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

make -s selftests >&2 || exit

# Leaks between nodes are looked for in the last list of the debug kernel.
for kernel in stock debug; do
	vm_list $kernel selftests/net/ddp.list LEAKS=no >"build/net-$kernel.tap"
	cat "build/net-$kernel.tap"
	check "$kernel: each requirement is named by a test that passed" \
		selftests/ddp/coverage.sh "build/net-$kernel.tap"
done
vm_list stock selftests/net/guest.list
vm_list debug selftests/net/debug.list
selftests/net/machines.sh
finish
