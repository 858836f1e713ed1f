// SPDX-License-Identifier: LGPL-2.1-only
/*
 * remote.c - memory that the other end has mapped
 *
 * Copyright (C) 2026 The dd authors
 *
 * A map is a segment of libdd, imported when it is first used. Since two live maps have no
 * buffer in common, an import is replaced when another map begins at its first buffer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote.h"

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

static int import_open(struct st_end *e, struct st_import *i, uint32_t mx)
{
	struct dd_import_attr attr = {
		.size = sizeof(attr), .node = e->node, .key_class = DD_KEY_NAME,
		.rights = DD_CAN_PUT | DD_CAN_GET, .flags = DD_IMPORT_MAY,
	};
	int ret;

	st_map_key(attr.key, e->remote.nonce, mx);
	ret = dd_import_begin(e->h, &attr, &i->mem);
	if (ret) {
		i->mem = NULL;
		return ret;
	}
	while ((ret = dd_import_wait(i->mem, -1)) == -EINTR)
		;
	if (ret)
		import_drop(i);
	i->mx = mx;
	return ret;
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
	if (i->mem && i->mx != hdr->mx)
		import_drop(i);
	if (!i->mem)
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

int st_remote_put(struct st_end *e, const st_header_t *hdr, const void *local, size_t len)
{
	int ret, attempts = 0;
	struct st_import *i;
	uint64_t offset;

	do {
		ret = place(e, hdr, len, &i, &offset);
		if (ret)
			return remote_errno(ret);
		ret = dd_put(i->mem, local, len, offset, 0);
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
		ret = dd_get(i->mem, local, len, offset);
	} while (ended(i, ret, &attempts));
	return remote_errno(ret);
}
