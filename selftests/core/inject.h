/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Failing allocations and copies from user space, in the calling task or in the
 * kernel's workers. Needs root to get ready, and a kernel with fault injection.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_INJECT_H
#define DD_INJECT_H

#include <stdbool.h>

#include "raw.h"

#define INJECT_LIMIT	(1 << 22)	/* above each n that meets a failure */

/* What fails. INJECT_NTH counts all, the others their kind from n on. */
enum inject {
	INJECT_NTH,		/* the n-th of all, once */
	INJECT_SLAB,		/* all objects after n bytes of them */
	INJECT_PAGE,		/* all pages after n of them */
	INJECT_COPY,		/* all copies after n of them */
	INJECT_WORKER,		/* as INJECT_SLAB, in workers */
};

/* False where faults cannot be injected. Each task that arms calls it before. */
bool inject_ready(void);
/*
 * Drops all capabilities but those that arming and a registrar need, after a change of
 * the user with PR_SET_KEEPCAPS.
 */
bool inject_keep(void);
void inject_arm(enum inject how, int n);
/* Whether a failure was injected since inject_arm(). */
bool inject_disarm(enum inject how);
/* The next @n of a sweep: each one for INJECT_NTH, fewer and fewer for the others. */
int inject_next(enum inject how, int n);
/* Reports what is wrong after failure @n, and exits. */
void inject_failed(enum inject how, int n, const char *format, ...)
	__attribute__((format(printf, 3, 4), noreturn));
/* Disarms INJECT_NTH; returns the number of failures that were possible before. */
int inject_count(int armed);

#endif /* DD_INJECT_H */
