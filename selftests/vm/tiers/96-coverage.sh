#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Lines of dd.ko that no test on User-Mode Linux runs.
cd "$(dirname "$0")/../../.." && exec make -s coverage
