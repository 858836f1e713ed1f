#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests between nodes, for longer.
cd "$(dirname "$0")/../../.." && exec make -s soak
