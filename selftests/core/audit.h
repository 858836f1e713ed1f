/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is left when everybody has gone.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_AUDIT_H
#define DD_AUDIT_H

/* Services, connections and regions of this node; -1 if ddctl fails. */
int audit_count(void);

/*
 * Until none of them is left, within the bound that anything has here: what a
 * killed process owned is freed soon, but by others. The number left.
 */
int audit_settled(void);

#define EXPECT_CLEAN()	EXPECT_EQ(0, audit_settled())

#endif /* DD_AUDIT_H */
