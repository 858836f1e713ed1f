# SPDX-License-Identifier: GPL-2.0-only
#
# make check		tests that need neither root nor a virtual machine, as one
#			TAP stream; make check-X is one part of it
# make check-sources	licences, shell, spelling, language, manual pages, headers
# make check-kernel	checkpatch, kernel-doc, warnings, sparse; with all kernels
# make check-rooms	that files and folders use only those below them
# make check-installed	the result of "make install" can be used
#
# Other makefiles add parts. Missing tools, and kernels that are not in the cache
# ("make kernels"), are skipped by name.

CHECKS += check-sources check-kernel check-rooms check-installed

.PHONY: check check-sources check-kernel check-rooms check-installed
check:
	@printf '@3600 $(MAKE) -s %s\n' $(CHECKS) | \
		DD_TRIES=1 selftests/vm/guest-run.sh /dev/stdin

check-sources:
	@selftests/vm/check/sources.sh

check-kernel:
	@selftests/vm/check/kernel.sh

check-rooms:
	@selftests/vm/check/rooms.sh

check-installed:
	@selftests/vm/check/installed.sh
