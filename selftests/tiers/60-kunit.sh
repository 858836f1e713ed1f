#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Unit tests of dd.ko, in the kernel that has KUnit.
# shellcheck source=selftests/lib/tier.sh
. "$(dirname "$0")/../lib/tier.sh"

vm_list debug selftests/kunit/guest.list
finish
