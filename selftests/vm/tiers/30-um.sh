#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# All that the module does and one processor can show, on User-Mode Linux with KASAN,
# lockdep, kmemleak and fault injection: unit tests, DDP on one node by both ways to
# send and between nodes, ioctls, netlink, networks and nodes that change or fail, good
# paths with each of their allocations failing, and generated sequences of calls. Remote
# memory, VMMC, SBL and ST, on one node and between nodes.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

vm_list um \
	"$(echo selftests/{core/{kunit,abi,failnth,kcov},admin/{guest,leaks},ddp/{guest,kernel},net/{ddp,guest},{rmem,vmmc,sbl,st}/guest}.list)"
vm_list um selftests/admin/no_ipv6.list APPEND=ipv6.disable=1
finish
