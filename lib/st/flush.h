/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * flush.h - counting what was sent
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _ST_FLUSH_H
#define _ST_FLUSH_H

#include "end.h"

/* Wake the calls that wait for other threads to send. */
void st_flush_wake(struct st_end *e);

/* @n headers or STUs were accepted. */
static inline void st_submitted(struct st_end *e, unsigned int n)
{
	__atomic_add_fetch(&e->submitted, n, __ATOMIC_SEQ_CST);
	/* Pairs with flush_others(): that sees @submitted, or this sees @waiting. */
	if (__atomic_load_n(&e->waiting, __ATOMIC_SEQ_CST))
		st_flush_wake(e);
}

#endif /* _ST_FLUSH_H */
