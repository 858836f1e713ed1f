/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * client.h - rmfs stat, ls, cat, readlink, statfs and write
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMFS_CLIENT_H
#define _RMFS_CLIENT_H

/* Returns the exit code. */
int client(int argc, char **argv);

#endif /* _RMFS_CLIENT_H */
