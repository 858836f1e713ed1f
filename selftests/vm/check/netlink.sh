#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# netlink.sh [--write]: generates the uapi header, the policies and the operations
# table of the netlink family from its specification, with the kernel's own
# tools/net/ynl. Compares them with the committed files, or writes them.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

SPEC=Documentation/netlink/specs/dd.yaml
FILES=(include/uapi/linux/dd_netlink.h kernel/admin/netlink_gen.h kernel/admin/netlink_gen.c)

# generate MODE KIND FILE: the generator looks for MAINTAINERS above the
# specification, and for the schema beside it.
generate() {
	/usr/bin/python3 "$YNL/tools/net/ynl/ynl-gen-c.py" --spec "$TAP_DIR/$SPEC" \
		--mode "$1" "--$2" -o "$TAP_DIR/$3"
}

generate_all() {
	mkdir -p "$TAP_DIR/$(dirname $SPEC)" "$TAP_DIR/include/uapi/linux" \
		"$TAP_DIR/kernel/admin"
	touch "$TAP_DIR/MAINTAINERS"
	cp $SPEC "$TAP_DIR/$SPEC"
	cp "$YNL/$(dirname $SPEC)"/../*.yaml "$TAP_DIR/Documentation/netlink/"
	generate uapi header "${FILES[0]}" && generate kernel header "${FILES[1]}" &&
		generate kernel source "${FILES[2]}"
}

if ! YNL=$(selftests/vm/kernels.sh path ynl source); then
	[ "${1:-}" != --write ] || exit 1
	skip "files generated from $SPEC" 'no generator; run: make kernels'
	finish
	exit
fi

if [ "${1:-}" = --write ]; then
	generate_all || exit
	for file in "${FILES[@]}"; do
		cp "$TAP_DIR/$file" "$file"
	done
	exit
fi

same() {
	local file

	generate_all || return
	for file in "${FILES[@]}"; do
		diff -u "$file" "$TAP_DIR/$file" || return
	done
}
check "$SPEC: the files generated from it are those here; else: make netlink" same
finish
