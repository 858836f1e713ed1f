#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Races, load, ends of processes and of the module, sleeps in atomic context, and services
# of many processes, remote files and sessions, on User-Mode Linux with all checks and two
# processors.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

vm_list um-smp-debug \
	"$(echo selftests/{core/{kunit,races,stress,load},{net,rmem,vmmc,sbl,st}/debug,sessions/guest}.list)"
finish
