#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What operations cost in instructions, beside what they did; whether the
# structures that they touch lie as they did; and whether what is measured beside
# ours can be built from the packages that "make bench" asks for.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

status=0
make -s --no-print-directory check-layout || status=$?
make -s --no-print-directory check-cost || status=$?
check "what make bench needs" make -s --no-print-directory bench-ready
[ "$status" = 0 ] || BAD=1
finish
