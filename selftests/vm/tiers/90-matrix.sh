#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The lists on the kernels where the gate does not run them.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

# on KERNEL LIST...: by folder and name.
on() {
	local kernel=$1

	shift
	vm_list "$kernel" "$(printf 'selftests/%s.list ' "$@")" TIMEOUT=14400
}

on um core/{stress,soak} net/stock tools/tools
on um-smp core/smp
on stock core/{abi,load} ddp/kernel admin/{guest,leaks} net/{ddp,debug,guest}
on debug core/{kunit,abi,failnth,races,stress,load} ddp/{guest,kernel} admin/{guest,leaks} \
	net/{ddp,guest,stock,debug} {rmem,vmmc,sbl,st}/debug tools/tools
for kernel in 6.12 7.x; do
	on $kernel core/{abi,stress,load} ddp/{guest,kernel} admin/{guest,leaks} \
		net/{guest,stock} tools/tools
done
finish
