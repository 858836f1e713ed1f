/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * segment.h - what the tests of segments begin with: one of the owner, and one of this process
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMEM_SEGMENT_H
#define _RMEM_SEGMENT_H

#include "owner.h"

extern rm_seg_t seg;	/* of the owner: all of @shared */
extern rm_desc_t rd;	/* its descriptor */
extern rm_seg_t own;	/* of this process */
extern char *local;	/* memory of @own, whole pages */
extern struct rm_note note;

/* Rights and policy of @seg. */
void begin(int rights, int policy);
void end(void);

/* The same, and a descriptor of the owner for @own, which has the name "own" and this policy. */
rm_desc_t begin_reverse(int policy);

/* The result of an operation, or of its fence. It may find others under way. */
int fenced(int ret);

#endif /* _RMEM_SEGMENT_H */
