#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The tools; the samples where there is one processor only, and no peer runs
# while a process spins; and the other kernel that the module supports.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

make -s selftests >&2 || exit

vm_list stock selftests/tools/tools.list
vm_list stock selftests/tools/samples.list SMP=1
vm_list 6.12 selftests/tools/samples.list
finish
