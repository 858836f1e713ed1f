/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * shared.h - the handle and the note list that the libraries of a process share
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_SHARED_H
#define _DD_SHARED_H

#include <pthread.h>
#include <stdbool.h>

#include "dd_mem.h"

/*
 * Have a child of fork() call a function; *@done says that it was done. Inline, since functions
 * that pthread_atfork() has got from a library end with it.
 */
static inline void ddi_at_fork(bool *done, void (*in_the_child)(void))
{
	if (!*done)
		*done = !pthread_atfork(NULL, NULL, in_the_child);
}

int ddi_shared(struct dd **h);
int ddi_shared_list(void);

#endif /* _DD_SHARED_H */
