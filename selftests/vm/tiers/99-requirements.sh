#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Each requirement of the five interfaces is named by a test that passed in this run, and
# those that concern two nodes by one that passed between nodes.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

for table in selftests/*/coverage; do
	check "$table" selftests/coverage.sh "$table" build/test/*.log
	[ -z "$(. "./$table"; echo "${NODES:-}")" ] ||
		check "$table, between nodes" selftests/coverage.sh -n "$table" build/test/*.log
done
finish
