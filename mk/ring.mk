# SPDX-License-Identifier: GPL-2.0-only
#
# make check-ring	direct rings, raced on this machine; with the compiler's
#			ThreadSanitizer, and with faults planted

CHECKS += check-ring

.PHONY: check-ring
check-ring:
	@selftests/lib/ring.sh
