# SPDX-License-Identifier: GPL-2.0-only
#
# make check		what needs neither root nor a virtual machine, as one
#			TAP stream; make check-X is one part of it
# make check-sources	licences, shell, spelling, manual pages, headers
# make check-kernel	checkpatch, kernel-doc, warnings, sparse; with all kernels
# make check-installed	what "make install" puts in a directory can be used
#
# Parts that are not here come from the other makefiles. Tools that are missing
# are skipped by name; kernels that are not in the cache too ("make kernels").

CHECKS += check-sources check-kernel check-installed

.PHONY: check check-sources check-kernel check-installed
check:
	@printf '@3600 $(MAKE) -s %s\n' $(CHECKS) | \
		DD_TRIES=1 selftests/vm/guest-run.sh /dev/stdin

check-sources:
	@selftests/vm/check/sources.sh

check-kernel:
	@selftests/vm/check/kernel.sh

check-installed:
	@selftests/vm/check/installed.sh
