/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * clerk.h - rmfs clerk
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMFS_CLERK_H
#define _RMFS_CLERK_H

/* Returns the exit code. */
int clerk(int argc, char **argv);

#endif /* _RMFS_CLERK_H */
