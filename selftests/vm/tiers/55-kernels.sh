#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The other kernels that the module supports: samples, DDP between nodes, two
# networks, restarts of nodes, and what their sockets and memory do differently; and
# proof that each requirement is named by a test that passed between nodes.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

for kernel in 6.12 7.x; do
	vm_list_covers $kernel "$(echo selftests/{net/ddp,net/kernels,tools/samples}.list)" \
		selftests/ddp/coverage
done
finish
