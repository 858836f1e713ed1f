#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Data races, found by a kernel that is built for it.
cd "$(dirname "$0")/../../.." && exec make -s kcsan
