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

/* The name of the segment of @mx of an end. */
void st_map_key(void *key, const uint32_t nonce[ST_NONCE], uint32_t mx);

struct st_import *st_remote_table(unsigned int count);

/*
 * Write @len bytes at @local to, or read them from, memory of the other end. The place is buffer
 * @hdr->bufx of @hdr->mx, and @hdr->offset. Returns 0; EBADMSG: there is no such place;
 * EACCES: the other end's program is to answer the Get; or another error. The caller holds
 * st_end.order, and has called st_settle(), unless st_remote_joins().
 */
int st_remote_put(struct st_end *e, const st_header_t *hdr, const void *local, size_t len);
int st_remote_get(struct st_end *e, const st_header_t *hdr, void *local, size_t len);

/*
 * Whether @len bytes of this header may be under way together with those that are: few bytes of silent
 * Data for one map on another node, of which the kernel has a copy. Then st_end.busy is set when
 * st_remote_put() returns.
 */
bool st_remote_joins(const struct st_end *e, const st_header_t *hdr, size_t len);

/*
 * Wait until no Data is under way, and let the other end count what had no place there; without @wait,
 * only look. The caller holds st_end.order. 0 or ECONNRESET.
 */
int st_settle(struct st_end *e, bool wait);

#endif /* _ST_REMOTE_H */
