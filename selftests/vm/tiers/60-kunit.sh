#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Unit tests of dd.ko, in the kernel that has KUnit.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

vm_list debug selftests/core/kunit.list
finish
