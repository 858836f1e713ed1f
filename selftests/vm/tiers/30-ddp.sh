#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# DDP as its description and requirements have it, on both kernels, and by both
# ways to send; and proof that each requirement is named by a test that passed.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

make -s selftests >&2 || exit

for kernel in stock debug; do
	vm_list $kernel selftests/ddp/guest.list >"build/ddp-$kernel.tap"
	cat "build/ddp-$kernel.tap"
	check "$kernel: each requirement is named by a test that passed" \
		selftests/ddp/coverage.sh "build/ddp-$kernel.tap"
	# The same programs; what leaks when the kernel sends does so in 50-stress.
	vm_list $kernel selftests/ddp/kernel.list LEAKS=no
done
finish
