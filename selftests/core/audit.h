/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects that are left after a test.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_AUDIT_H
#define DD_AUDIT_H

/* Services, connections, regions, segments and imports of this node; -1 if ddctl fails. */
int audit_count(void);

/*
 * Waits until there are none, within the usual hang limit: workers free the
 * objects of a killed process soon. Returns the number that is left.
 */
int audit_settled(void);

#define EXPECT_CLEAN()	EXPECT_EQ(0, audit_settled())

#endif /* DD_AUDIT_H */
