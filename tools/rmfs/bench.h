/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench.h - rmfs bench
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMFS_BENCH_H
#define _RMFS_BENCH_H

/* Returns the exit code. */
int bench(int argc, char **argv);

#endif /* _RMFS_BENCH_H */
