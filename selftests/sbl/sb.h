/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * sb.h - what the tests of SBL share
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _SBL_SB_H
#define _SBL_SB_H

#include "sbl.h"
#include "worker.h"

/* The node of the workers THERE. */
NodeID node_there(void);

/* Fill words with others than those of another seed. */
void fill(Int32 *words, long n, int seed);

/* Whether a word of the board, at last, has a value. */
bool arrives(const Int32 *word, Int32 value);

/* Nanoseconds, of a clock that is never set back. */
long now_ns(void);

#endif /* _SBL_SB_H */
