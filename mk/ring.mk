# SPDX-License-Identifier: GPL-2.0-only
#
# make check-ring	races on direct rings, in a process of this machine, with
#			ThreadSanitizer and with planted faults

CHECKS += check-ring

.PHONY: check-ring
check-ring:
	@selftests/lib/ring.sh
