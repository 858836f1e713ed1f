#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What users run, on Debian's kernel with two processors: DDP, libraries, tools, load,
# networks that fail, and what depends on how that kernel is configured. Then what needs
# another machine. Other ioctls, ddctl and networks that change behave the same on um.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

vm_list stock \
	"$(echo selftests/{ddp/guest,lib/guest,core/{stock,stress},admin/stock,tools/tools,net/stock,{rmem,vmmc,sbl,st}/stock}.list)"
# Until no memory is left.
vm_list stock selftests/core/oom.list MEM=1024
# One processor: no peer runs while a process spins.
vm_list stock selftests/tools/samples.list SMP=1
selftests/net/machines.sh
finish
