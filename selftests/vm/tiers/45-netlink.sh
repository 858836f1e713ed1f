#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The netlink family and ddctl, on both kernels.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

make -s selftests >&2 || exit

# These start programs for the most part, which kmemleak makes slow.
vm_list stock selftests/admin/guest.list
vm_list stock selftests/admin/leaks.list
vm_list debug selftests/admin/guest.list LEAKS=no
vm_list debug selftests/admin/leaks.list
finish
