/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects that are left after a test.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_AUDIT_H
#define DD_AUDIT_H

#include "dd_harness.h"

/* Services, connections, regions, segments and imports of this node; -1 if ddctl fails. */
static inline int audit_count(void)
{
	return printed_number("for o in service conn region segment import; do ddctl -j $o || "
			      "echo '\"failed\"'; done | jq -s 'map(length) | add'");
}

/* Workers free the objects of a killed process soon. */
#define EXPECT_CLEAN()	EXPECT_TRUE(WAIT_FOR(audit_count() == 0))

#endif /* DD_AUDIT_H */
