#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The other kernel that the module supports: samples, DDP between nodes, two
# networks, and restarts of nodes; and proof that each requirement is named by a
# test that passed between nodes.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

vm_list_covers 6.12 "$(echo selftests/{net/ddp,net/6.12,tools/samples}.list)" \
	selftests/ddp/coverage
finish
