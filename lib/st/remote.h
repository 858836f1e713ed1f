/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * remote.h - memory that the other end has mapped
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _ST_REMOTE_H
#define _ST_REMOTE_H

#include "end.h"

/*
 * An Mx is positive: the first buffer, counted from ST_OPT_BUFX_BASE, whether a Get is permitted,
 * and a number that differs between maps that have begun at this buffer one after another.
 */
#define ST_MX(sequence, get, first)	((uint32_t)(sequence) << 21 | (uint32_t)!!(get) << 20 | (first))
#define ST_MX_FIRST(mx)		((mx) & 0xfffff)
#define ST_MX_GET(mx)		((mx) >> 20 & 1)
#define ST_MX_SEQUENCES		1024

/*
 * Requests of Data that may be under way. libdd has the results of the last 64 of an import.
 */
#define ST_UNDER_WAY	32

/* The name of the segment of @mx of an end. */
void st_map_key(void *key, const uint32_t nonce[ST_NONCE], uint32_t mx);

struct st_import *st_remote_table(unsigned int count);

/*
 * Write @len bytes at @local to, or read them from, memory of the other end. The place is buffer
 * @hdr->bufx of @hdr->mx, and @hdr->offset. Returns 0; EINPROGRESS: a copy is under way, as request
 * st_end.newest; EBADMSG: there is no such place; EACCES: the other end's program is to answer the
 * Get; or another error. The caller holds st_end.order, and has called st_settle(), unless
 * st_remote_follows().
 */
int st_remote_put(struct st_end *e, const st_header_t *hdr, const void *local, size_t len);
int st_remote_get(struct st_end *e, const st_header_t *hdr, void *local, size_t len);

/*
 * Whether this header and its @len bytes may be sent while Data is under way to another node: few bytes
 * for the same map, of which the kernel has a copy, or a header behind that of the last Data.
 */
bool st_remote_follows(const struct st_end *e, const st_header_t *hdr, size_t len);

/* A header was sent for the last request under way. */
void st_remote_announced(struct st_end *e);

/*
 * Wait until no Data is under way, and let the other end count what had no place there; without @wait,
 * only look. The caller holds st_end.order. 0 or ECONNRESET.
 */
int st_settle(struct st_end *e, bool wait);

#endif /* _ST_REMOTE_H */
