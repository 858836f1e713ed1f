/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * server.h - rmfs serve
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMFS_SERVER_H
#define _RMFS_SERVER_H

/* Returns the exit code. */
int serve(int argc, char **argv);

#endif /* _RMFS_SERVER_H */
