#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The netlink family and ddctl, on both kernels.
# shellcheck source=selftests/lib/tier.sh
. "$(dirname "$0")/../lib/tier.sh"

make -s selftests >&2 || exit

# These start programs for the most part, which kmemleak makes slow.
vm_list stock selftests/netlink/guest.list
vm_list stock selftests/netlink/leaks.list
vm_list debug selftests/netlink/guest.list LEAKS=no
vm_list debug selftests/netlink/leaks.list
finish
