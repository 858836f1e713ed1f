// SPDX-License-Identifier: LGPL-2.1-only
/*
 * remote.c - memory that the other end has mapped
 *
 * Copyright (C) 2026 The dd authors
 *
 * A map is a segment of libdd, imported when it is first used. Since two live maps have no
 * buffer in common, an import is replaced when another map begins at its first buffer.
 *
 * Requests of one import are executed in their order, and those of two imports, and messages, are
 * not. So Data of one import may be under way, to another node. The message with the header of Data
 * says which request it belongs to, and the other end does not read it, nor those behind it, before
 * that is in place. Anything else waits until no Data is under way, or if its message is to be read
 * after silent Data.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "remote.h"

#define COPIED		16384	/* bytes of Data that the kernel copies, at most */

/**
 * struct st_import - a map of the other end
 * @mx: its Mx
 * @mem: of libdd; NULL: there is none
 */
struct st_import {
	uint32_t mx;
	struct dd_mem *mem;
};

void st_map_key(void *key, const uint32_t nonce[ST_NONCE], uint32_t mx)
{
	memset(key, 0, DD_KEY_SIZE);
	snprintf(key, DD_KEY_SIZE, ST_MAP_NAME, nonce[0], nonce[1], nonce[2], nonce[3], mx);
}

struct st_import *st_remote_table(unsigned int count)
{
	return calloc(count, sizeof(struct st_import));
}

static void import_drop(struct st_import *i)
{
	dd_unimport(i->mem);
	i->mem = NULL;
}

/*
 * Replace an import only when there is another one: then its map has ended. Otherwise the numbers of
 * its requests would begin again, while the other end has headers with the former ones.
 */
static int import_open(struct st_end *e, struct st_import *i, uint32_t mx)
{
	struct dd_import_attr attr = {
		.size = sizeof(attr), .node = e->node, .key_class = DD_KEY_NAME,
		.rights = DD_CAN_PUT | DD_CAN_GET, .flags = DD_IMPORT_MAY,
		.depth = ST_UNDER_WAY,
	};
	struct dd_mem *mem;
	int ret;

	st_map_key(attr.key, e->remote.nonce, mx);
	ret = dd_import_begin(e->h, &attr, &mem);
	if (ret)
		return ret;
	while ((ret = dd_import_wait(mem, -1)) == -EINTR)
		;
	if (ret) {
		dd_unimport(mem);
		return ret;
	}
	if (i->mem)
		import_drop(i);
	i->mem = mem;
	i->mx = mx;
	return 0;
}

/* Find the bytes of a header: 0 or -errno. */
static int place(struct st_end *e, const st_header_t *hdr, size_t len, struct st_import **import,
		 uint64_t *offset)
{
	uint32_t first = ST_MX_FIRST(hdr->mx);
	uint64_t buffer = hdr->bufx - (uint64_t)e->remote.base;
	struct st_import *i;
	int ret = 0;

	if (first >= e->remote.count || hdr->bufx < e->remote.base || buffer < first)
		return -ERANGE;
	i = &e->import[first];
	if (!i->mem || i->mx != hdr->mx)
		ret = import_open(e, i, hdr->mx);
	if (ret)
		return ret;
	*offset = (buffer - first) * e->remote.bufsize + hdr->offset;
	*import = i;
	return *offset > dd_mem_size(i->mem) || len > dd_mem_size(i->mem) - *offset ? -ERANGE : 0;
}

static int remote_errno(int ret)
{
	switch (-ret) {
	case ECONNREFUSED:
	case EACCES:
	case ERANGE:
	case ESTALE:
		return EBADMSG;
	}
	return ret ? st_errno(ret) : 0;
}

/* Whether to look the Mx up once more: an earlier map, that has ended, had the same one. */
static bool ended(struct st_import *i, int ret, int *attempts)
{
	if (ret != -ESTALE)
		return false;
	import_drop(i);
	return !(*attempts)++;
}

/*
 * Wait for a request to another node, however late its result is: dd_put() and dd_get() return
 * before that, and then refuse the next one.
 */
static int finish(const struct st_import *i, int64_t request, bool wait)
{
	int ret = request;

	while (request > 0 && (ret = dd_wait(i->mem, request, wait ? -1 : 0)) == -EINTR)
		;
	return ret;
}

/* ---- what is under way --------------------------------------------------------- */

static bool announced(const struct st_end *e, int64_t request)
{
	return e->announced >> request % 64 & 1;
}

void st_remote_announced(struct st_end *e)
{
	e->announced |= 1ull << e->newest % 64;
}

/* Whether these bytes of Data may be under way together with those that are. */
static bool joins(const struct st_end *e, const st_header_t *hdr, size_t len)
{
	return e->far && len <= COPIED && (!e->busy || e->busy->mx == hdr->mx);
}

bool st_remote_follows(const struct st_end *e, const st_header_t *hdr, size_t len)
{
	if (hdr->op == ST_OP_DATA && len)
		return joins(e, hdr, len);
	return hdr->op != ST_OP_GET && !e->bad && (!e->busy || announced(e, e->newest));
}

/* Collect the result of the oldest request that is under way: 0, EAGAIN, or ECONNRESET. */
static int collect(struct st_end *e, bool wait)
{
	int ret = finish(e->busy, e->oldest, wait), error;

	if (ret == -EAGAIN)
		return EAGAIN;
	error = remote_errno(ret);
	/* The other end counts the header of Data itself. */
	if (error == EBADMSG && !announced(e, e->oldest))
		__atomic_add_fetch(&e->bad, 1, __ATOMIC_RELAXED);
	if (e->oldest++ == e->newest) {
		e->busy = NULL;
		__atomic_store_n(&e->under_way, 0, __ATOMIC_RELEASE);
	}
	return error == EBADMSG ? 0 : error;
}

int st_settle(struct st_end *e, bool wait)
{
	const st_header_t none = { .op = ST_OP_BAD };
	int error = 0, ret;

	while (e->busy) {
		ret = collect(e, wait);
		if (ret == EAGAIN)
			return 0;
		if (ret)
			error = ret;
	}
	while (wait && e->bad && !error && st_state(e) == ST_CONNECTED) {
		error = st_message_header(e, &none, NULL);
		if (!error)
			__atomic_sub_fetch(&e->bad, 1, __ATOMIC_RELAXED);
	}
	return error;
}

/* Begin to write a copy of the bytes; false: the caller has to wait for them. */
static bool begin(struct st_end *e, struct st_import *i, const void *local, size_t len,
		  uint64_t offset)
{
	int64_t n;

	if (e->busy && e->newest - e->oldest >= ST_UNDER_WAY)
		collect(e, true);
	while ((n = dd_put_async(i->mem, local, len, offset, DD_PUT_COPY, 0)) == -EBUSY && e->busy)
		collect(e, true);
	if (n <= 0)
		return false;
	if (!e->busy)
		e->oldest = n;
	e->busy = i;
	e->newest = n;
	e->announced &= ~(1ull << n % 64);
	return true;
}

/* ---- requests ------------------------------------------------------------------ */

int st_remote_put(struct st_end *e, const st_header_t *hdr, const void *local, size_t len)
{
	int ret, attempts = 0;
	struct st_import *i;
	uint64_t offset;

	do {
		ret = place(e, hdr, len, &i, &offset);
		if (ret)
			return remote_errno(ret);
		if (joins(e, hdr, len) && begin(e, i, local, len, offset))
			return EINPROGRESS;
		st_settle(e, true);
		ret = finish(i, dd_put_async(i->mem, local, len, offset, DD_PUT_STABLE, 0), true);
	} while (ended(i, ret, &attempts));
	return remote_errno(ret);
}

int st_remote_get(struct st_end *e, const st_header_t *hdr, void *local, size_t len)
{
	int ret, attempts = 0;
	struct st_import *i;
	uint64_t offset;

	do {
		ret = place(e, hdr, len, &i, &offset);
		if (ret)
			return remote_errno(ret);
		if (!ST_MX_GET(hdr->mx))
			return EACCES;
		ret = finish(i, dd_get_async(i->mem, local, len, offset, 0), true);
	} while (ended(i, ret, &attempts));
	return remote_errno(ret);
}
