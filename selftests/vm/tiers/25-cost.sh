#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Instructions of each operation, compared with the committed figures; and whether
# the peers of "make bench" build from the packages that it installs.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

status=0
make -s --no-print-directory check-cost || status=$?
check "what make bench needs" make -s --no-print-directory bench-ready
[ "$status" = 0 ] || BAD=1
finish
