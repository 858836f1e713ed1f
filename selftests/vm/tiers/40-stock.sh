#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# All that users run, on Debian's kernel with two processors: libraries, ioctls,
# ddctl, tools, load, and networks and nodes that fail; and proof that each
# requirement is named by a test that passed. Then what needs another machine.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

LOG=build/stock.tap

vm_list stock "$(echo selftests/{ddp/guest,lib/guest,core/{abi,stress},admin/guest,tools/tools,net/guest}.list)" \
	> >(tee $LOG)
wait $!
check "stock: each requirement is named by a test that passed" \
	selftests/ddp/coverage.sh $LOG
# Until no memory is left.
vm_list stock selftests/core/oom.list MEM=1024
# One processor: no peer runs while a process spins.
vm_list stock selftests/tools/samples.list SMP=1
selftests/net/machines.sh
finish
