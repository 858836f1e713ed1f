#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Threads look up proxies while another one moves them in their array: ThreadSanitizer finds
# nothing. It does if they are moved by plain stores.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../vm/tier.sh"

DIR=build/destspace
TEST=threads_find_proxies_while_others_move

# build [SED-SCRIPT]: with lib/mem/destspace.c changed.
build() {
	mkdir -p "$DIR"
	sed "${1:-}" lib/mem/destspace.c >"$DIR/destspace.c"
	[ $# = 0 ] || ! cmp -s lib/mem/destspace.c "$DIR/destspace.c" || return
	"${CC:-gcc}" -std=gnu11 -g -O1 -fsanitize=thread -Wno-tsan -D_GNU_SOURCE -pthread \
		-Iinclude -Iinclude/uapi -Ilib/core -Ilib/mem -Iselftests/harness -w \
		-o "$DIR/race" "$DIR/destspace.c" selftests/{lib/lib_destspace,harness/tap}.c
}

# The sanitizer needs addresses that are not random.
race() {
	local prefix=()

	! setarch -R true 2>/dev/null || prefix=(setarch -R)
	"${prefix[@]}" timeout 300 "$DIR/race" "$TEST" 2>&1
}

holds() {
	build && race
}

races() {
	local out

	build "$1" || return
	out=$(race)
	grep -q 'ThreadSanitizer: data race' <<<"$out" && return
	echo "$out"
	return 1
}

check "no data race" holds
check "a data race: an entry is stored at once" races \
	'/^static void entry_move/,/^}/s/ddi_store(&entries\[to\].dest, \(.*\));/entries[to].dest = \1;/'
finish
