// SPDX-License-Identifier: LGPL-2.1-only
/*
 * access.c - descriptors of imported segments, and the operations on them
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "rmem_int.h"

#define SWAP_FEW	1024	/* bytes that are swapped on the stack */

typedef uint32_t __attribute__((may_alias)) swap_word;

/**
 * struct rm_import - a descriptor
 * @h: the handle; first, for rm_slot_own()
 * @mem: the import
 */
struct rm_import {
	struct dd *h;
	struct dd_mem *mem;
};

__attribute__((visibility("default"))) __thread uint32_t rm_mr[RM_REGISTERS];

static void *imports[RM_MAX];

static struct rm_import *rm_descriptor(rm_desc_t rd)
{
	return rm_slot_get(imports, rd);
}

/* ---- descriptors ---------------------------------------------------------- */

#define WAIT_NS		10000000	/* between looks for a name that is not exported yet */

static int import_open(const struct dd_import_attr *attr, bool again, struct dd_mem **mem)
{
	int64_t end = 0;
	int ret;

	do {
		ret = dd_import_begin(rm_handle(), attr, mem);
	} while ((again || ret != -EINTR) && rm_again(ret, &end));
	/* The clerk is stopped. */
	if (ret)
		return ret == -ETIMEDOUT ? -EHOSTDOWN : ret;
	while (!dd_mem_size(*mem) && (ret = dd_import_wait(*mem, -1)) == -EINTR)
		;
	if (ret)
		dd_unimport(*mem);
	return ret;
}

/* Look a name up and import its segment, or wait until there is one or a signal comes. */
static int import_name(struct dd_import_attr *attr, bool wait, struct dd_mem **mem)
{
	const struct timespec pause = { .tv_nsec = WAIT_NS };
	int ret;

	for (;;) {
		ret = import_open(attr, !wait, mem);
		/* A clerk deletes the name of a segment a little after its end. */
		if (ret == -ECONNREFUSED && attr->flags & DD_IMPORT_FRESH)
			ret = -ENOENT;
		if (ret == -ENOENT && wait)
			ret = nanosleep(&pause, NULL) ? -EINTR : -ECONNREFUSED;
		if (ret != -ECONNREFUSED)
			return ret;
		/* The clerk may have cached the name of a segment that has ended. */
		attr->flags |= DD_IMPORT_FRESH;
	}
}

/* @owner is NULL if any user may have exported the segment. */
static int import_named(const char *name, int hint_node, int flags, const uid_t *owner,
			rm_desc_t *rd)
{
	struct dd_import_attr attr = {
		.size = sizeof(attr), .key_class = DD_KEY_REGISTERED, .depth = RM_DEPTH,
		.rights = flags & RM_ALL ? flags & RM_ALL : RM_ALL,
		.flags = (flags & RM_LOOKUP ? DD_IMPORT_FRESH : 0) | (owner ? DD_IMPORT_UID : 0),
		.uid = owner ? *owner : 0,
	};
	struct dd *h = rm_handle();
	struct rm_import *m;
	int ret;

	if (!h)
		return -1;
	if (!name || !rd || hint_node < -1 || flags & ~(RM_ALL | RM_LOOKUP | RM_WAIT))
		return rm_error(-EINVAL);
	if (rm_name(name, attr.key))
		return -1;
	attr.node = hint_node < 0 ? dd_node(h) : hint_node;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -1;
	m->h = h;
	ret = import_name(&attr, flags & RM_WAIT, &m->mem);
	if (ret) {
		free(m);
		return rm_error(ret);
	}
	ret = rm_slot_new(imports, m);
	if (ret < 0) {
		dd_unimport(m->mem);
		free(m);
		return -1;
	}
	*rd = ret;
	return 0;
}

RM_API int rm_import(const char *name, int hint_node, int flags, rm_desc_t *rd)
{
	return import_named(name, hint_node, flags, NULL, rd);
}

RM_API int rm_import_owner(const char *name, int hint_node, int flags, uid_t owner,
			   rm_desc_t *rd)
{
	return import_named(name, hint_node, flags, &owner, rd);
}

RM_API int rm_owner(rm_desc_t rd, uid_t *owner)
{
	struct rm_import *m = rm_descriptor(rd);

	return m ? rm_error(dd_mem_uid(m->mem, owner)) : -1;
}

RM_API int rm_unimport(rm_desc_t rd)
{
	struct rm_import *m = rm_slot_remove(imports, rd);

	if (!m)
		return -1;
	dd_unimport(m->mem);
	free(m);
	return 0;
}

RM_API ssize_t rm_size(rm_desc_t rd)
{
	struct rm_import *m = rm_slot_own(imports, rd);

	return m ? (ssize_t)dd_mem_size(m->mem) : -1;
}

/* ---- operations ------------------------------------------------------------- */

/* Store each word as a whole, if it is aligned, and the last one after the others. */
static void swap_words(char *to, const char *from, size_t count)
{
	bool aligned = !((uintptr_t)to % sizeof(uint32_t));
	uint32_t word;

	for (; count; to += sizeof(word), from += sizeof(word), count -= sizeof(word)) {
		memcpy(&word, from, sizeof(word));
		word = __builtin_bswap32(word);
		if (aligned)
			__atomic_store_n((swap_word *)to, word, __ATOMIC_RELEASE);
		else
			memcpy(to, &word, sizeof(word));
	}
}

/*
 * Where the words of an operation are swapped: @few, or memory of its own, as long as the bytes
 * are inside the segment. Not from malloc(), which a signal handler may have interrupted. Returns
 * NULL with *@error set.
 */
static char *swap_begin(struct dd_mem *mem, size_t off, size_t count, char few[SWAP_FEW],
			int64_t *error)
{
	size_t size = dd_mem_size(mem);
	char *buf = few;

	*error = 0;
	if (count % sizeof(uint32_t) || count > INT32_MAX)
		*error = -EINVAL;
	else if (off > size || count > size - off)
		*error = -ERANGE;
	else if (count > SWAP_FEW &&
		 (buf = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0)) == MAP_FAILED)
		*error = -errno;
	return *error ? NULL : buf;
}

static void swap_end(char *buf, const char *few, size_t count)
{
	if (buf != few)
		munmap(buf, count);
}

/* One request. The kernel copies @buf, which is not pinned, before the call returns. */
static int64_t write_swapped(struct dd_mem *mem, size_t off, const char *src, size_t count,
			     unsigned int notify)
{
	char few[SWAP_FEW], *buf;
	int64_t ret;

	buf = swap_begin(mem, off, count, few, &ret);
	if (!buf)
		return ret;
	swap_words(buf, src, count);
	ret = dd_put_async(mem, buf, count, off, notify, 0);
	swap_end(buf, few, count);
	return ret;
}

RM_API int rm_write_block(rm_desc_t rd, size_t off, const void *src, size_t count, int notify)
{
	struct rm_import *m = rm_descriptor(rd);
	unsigned int flags = notify & RM_NOTIFY ? DD_PUT_NOTIFY : 0;
	int64_t ret;

	if (!m)
		return -1;
	if (notify & ~(RM_NOTIFY | RM_SWAP))
		return rm_error(-EINVAL);
	ret = notify & RM_SWAP ? write_swapped(m->mem, off, src, count, flags) :
				 dd_put_async(m->mem, src, count, off, flags, 0);
	return ret < 0 ? rm_error(ret) : 0;
}

RM_API int rm_write(rm_desc_t rd, size_t off, size_t count, int notify)
{
	if (count > sizeof(rm_mr))
		return rm_error(-EINVAL);
	return rm_write_block(rd, off, rm_mr, count, notify);
}

/*
 * Bytes of a segment of this process; NULL, with errno set, if they are outside, or if a child of
 * fork() uses a segment of its parent.
 */
static char *segment_bytes(const struct rm_import *m, const struct rm_segment *s, size_t offset,
			   size_t count)
{
	if (s->h != m->h) {
		errno = ESTALE;
		return NULL;
	}
	if (offset > s->attr.len || count > s->attr.len - offset) {
		errno = ERANGE;
		return NULL;
	}
	return (char *)s->attr.addr + offset;
}

/* Let operations notify @s when they are done: the first one has found that they may not. */
static int import_notify(const struct rm_import *m, const struct rm_segment *s)
{
	int ret = dd_import_list(m->mem, s->attr.list, RM_WINDOW, s->attr.cookie);

	return ret == -EEXIST ? 0 : ret;
}

/* One request. The words are swapped before they are stored at @to. */
static int64_t read_swapped(struct dd_mem *mem, size_t soff, size_t count, char *to)
{
	char few[SWAP_FEW], *buf;
	int64_t ret;

	buf = swap_begin(mem, soff, count, few, &ret);
	if (!buf)
		return ret;
	ret = dd_get(mem, buf, count, soff);
	if (!ret)
		swap_words(to, buf, count);
	swap_end(buf, few, count);
	return ret;
}

RM_API int rm_read(rm_desc_t rs, size_t soff, size_t count, rm_seg_t rd, size_t doff,
		   int notify)
{
	struct rm_import *m = rm_descriptor(rs);
	struct rm_segment *s = rm_segment(rd);
	int list = 0;
	int64_t ret;
	char *to;

	if (!m || !s)
		return -1;
	if ((unsigned int)notify > RM_SWAP)
		return rm_error(-EINVAL);
	to = segment_bytes(m, s, doff, count);
	if (!to)
		return -1;
	if (s->attr.notify == RM_ALWAYS ||
	    (s->attr.notify == RM_CONDITIONAL && notify & RM_NOTIFY))
		list = s->attr.list;
	do {
		ret = notify & RM_SWAP ? read_swapped(m->mem, soff, count, to) :
					 dd_get_async(m->mem, to, count, soff, list);
	} while (ret == -ENOENT && !(ret = import_notify(m, s)));
	return ret < 0 ? rm_error(ret) : 0;
}

RM_API int rm_cas(rm_desc_t rd, size_t doff, rm_seg_t rs, size_t soff, uint32_t old_value,
		  uint32_t new_value)
{
	struct rm_import *m = rm_descriptor(rd);
	struct rm_segment *s = rm_segment(rs);
	int64_t ret;
	int list;
	char *to;

	if (!m || !s)
		return -1;
	/* Segments begin at words. */
	if ((doff | soff) % sizeof(uint32_t))
		return rm_error(-EINVAL);
	to = segment_bytes(m, s, soff, sizeof(uint32_t));
	if (!to)
		return -1;
	list = s->attr.notify == RM_ALWAYS ? s->attr.list : 0;
	do {
		ret = dd_cas_async(m->mem, doff, sizeof(uint32_t), old_value, new_value, to,
				   DD_CAS_STATUS, list);
	} while (ret == -ENOENT && !(ret = import_notify(m, s)));
	return ret < 0 ? rm_error(ret) : 0;
}

RM_API int rm_fence(rm_desc_t rd, int ms)
{
	struct rm_import *m = rm_descriptor(rd);

	if (!m)
		return -1;
	if (ms < -1)
		return rm_error(-EINVAL);
	return rm_error(dd_fence(m->mem, ms < 0 ? -1 : ms * 1000000ll));
}
