#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The other kernels that the module supports: samples, DDP between nodes, two
# networks, restarts of nodes, and what their sockets and memory do differently.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

for kernel in 6.12 7.x; do
	vm_list $kernel "$(echo selftests/{net/ddp,net/kernels,tools/samples}.list)"
done
finish
