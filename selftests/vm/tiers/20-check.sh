#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What needs no virtual machine.
cd "$(dirname "$0")/../../.." && exec make -s --no-print-directory check
