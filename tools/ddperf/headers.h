/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Headers of Scheduled Transfer.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDPERF_HEADERS_H
#define DDPERF_HEADERS_H

#include <stddef.h>
#include <st.h>

#include "pair.h"

/* Bytes of a header and its payload. */
#define HEADERS_LIMIT	(sizeof(st_header_t) + ST_PAYLOAD)

/* Methods: a header, with its payload if the message has more bytes than that. */
void headers_put(struct side *s, size_t size);
char *headers_get(struct side *s, size_t size);

#endif /* DDPERF_HEADERS_H */
