#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Whether the peers of "make bench" build from the packages that it installs; and the
# instructions of each operation, compared with limits and with the committed figures.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

status=0
check "what make bench needs" make -s --no-print-directory bench-ready
make -s --no-print-directory check-cost || status=$?
[ "$status" = 0 ] || BAD=1
finish
