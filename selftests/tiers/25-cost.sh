#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What operations cost in instructions, beside what they did; and whether the
# structures that they touch lie as they did.
cd "$(dirname "$0")/../.." || exit
status=0
make -s --no-print-directory check-layout || status=$?
make -s --no-print-directory check-cost || status=$?
exit $status
