/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * flush.h - counting what was sent
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _ST_FLUSH_H
#define _ST_FLUSH_H

#include "end.h"

/* @n headers or STUs were accepted. */
void st_submitted(struct st_end *e, unsigned int n);

#endif /* _ST_FLUSH_H */
