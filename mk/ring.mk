# SPDX-License-Identifier: GPL-2.0-only
#
# Races in the libraries, in a process of this machine, with ThreadSanitizer and with planted
# faults:
#
#   make check-ring		direct rings
#   make check-destspace	addresses that stand for memory of other processes

CHECKS += check-ring check-destspace

.PHONY: check-ring check-destspace
check-ring:
	@selftests/lib/ring.sh

check-destspace:
	@selftests/lib/destspace.sh
