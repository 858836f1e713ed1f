/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * request.h - requests to segments by the kernel
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_REQUEST_H
#define _DD_REQUEST_H

#include "import.h"

#define DDI_MEM_MAX	INT32_MAX	/* bytes of a request */

int ddi_mem_submit(struct dd_mem *m, struct dd_sqe *sqe, const void *local, size_t len);
int64_t ddi_mem_start(struct dd_mem *m, struct dd_sqe *sqe, const void *local, size_t len);

#endif /* _DD_REQUEST_H */
