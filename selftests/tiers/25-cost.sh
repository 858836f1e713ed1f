#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What operations cost in instructions, beside what they did.
cd "$(dirname "$0")/../.." && exec make -s --no-print-directory check-cost
