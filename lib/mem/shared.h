/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * shared.h - the handle and the note list that the libraries of a process share
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_SHARED_H
#define _DD_SHARED_H

#include "dd_mem.h"

int ddi_shared(struct dd **h);
int ddi_shared_list(void);

#endif /* _DD_SHARED_H */
