/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One-sided memory without the library: segments, imports and their requests.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_TEST_MEM_H
#define DD_TEST_MEM_H

#include <errno.h>
#include <string.h>
#include <linux/dd_mem.h>
#include "raw.h"

#define MEM_LEN		(4 * PAGE)
#define MEM_WINDOW	4

/* Arguments of an export of all of @m for everybody, with every right. */
static inline struct dd_segment_make mem_segment(const struct mem *m, const char *name)
{
	struct dd_segment_make s = {
		.size = sizeof(s), .region = m->id, .key_class = DD_SEGMENT_NAME,
		.length = m->len, .rights = DD_RIGHTS, .policy = DD_POLICY_NEVER,
		.permission = DD_PERMIT_ANY, .importers = 16,
	};

	strncpy((char *)s.key, name, sizeof(s.key) - 1);
	return s;
}

static inline int mem_export(const struct raw *r, struct dd_segment_make *s)
{
	return raw_ioctl(r, DD_IOC_SEGMENT, s);
}

/* Imports of a segment; or -1. */
static inline long mem_importers(const struct raw *r, __u64 segment)
{
	struct dd_segment_info info = { .size = sizeof(info), .segment = segment };

	return raw_ioctl(r, DD_IOC_SEGMENT_INFO, &info) ? -1 : (long)info.total;
}

/* Arguments of an import of a segment of @node; @list, or 0, gets a note with cookie 99. */
static inline struct dd_import_make mem_import_of(const struct dd_segment_make *s, __u32 node,
						  __u32 rights, __u32 flags, __u32 list)
{
	struct dd_import_make i = {
		.size = sizeof(i), .flags = flags, .node = node, .key_class = s->key_class,
		.rights = rights, .list = list, .cookie = list ? 99 : 0,
	};

	memcpy(i.key, s->key, sizeof(i.key));
	return i;
}

static inline __u32 mem_node(const struct raw *r)
{
	return ((const struct dd_area_head *)r->area)->node;
}

static inline int mem_import_flags(const struct raw *r, const struct dd_segment_make *s,
				   __u32 rights, __u32 flags, __u32 list,
				   struct dd_import_make *i)
{
	*i = mem_import_of(s, mem_node(r), rights, flags, list);
	return raw_ioctl(r, DD_IOC_IMPORT, i);
}

static inline int mem_import(const struct raw *r, const struct dd_segment_make *s,
			     __u32 rights, struct dd_import_make *i)
{
	return mem_import_flags(r, s, rights, 0, 0, i);
}

static inline int mem_wait_up(const struct raw *r, const struct dd_import_make *i,
			      __u64 timeout)
{
	return raw_conn_wait(r, i->import, DD_WAIT_UP, 0, timeout);
}

/* Let requests of @i name @list; those of mem_op() do by default. Notes have cookie 99. */
static inline int mem_import_list(const struct raw *r, struct dd_import_make *i, __u32 list)
{
	const struct dd_import_list l = {
		.size = sizeof(l), .import = i->import, .cookie = 99, .list = list,
		.depth = i->depth,
	};

	i->list = list;
	i->cookie = l.cookie;
	return raw_ioctl(r, DD_IOC_IMPORT_LIST, &l);
}

/* The same for an import that was made before, which is ended if that fails. */
static inline int mem_import_list_or_end(const struct raw *r, struct dd_import_make *i,
					 __u32 list)
{
	int error;

	if (!mem_import_list(r, i, list))
		return 0;
	error = errno;
	raw_op(r, DD_IOC_END, i->import);
	errno = error;
	return -1;
}

static inline int mem_op(const struct raw *r, const struct dd_import_make *i,
			 const struct dd_sqe *sqe)
{
	struct dd_sqe named = *sqe;

	if (sqe->flags & DD_SQE_NOTIFY_SELF && !sqe->list)
		named.list = i->list;
	return raw_submit(r, i->state_unit, i->import, &named);
}

/* @src is a pointer with DD_SQE_UNWIRED in @flags. */
static inline int mem_put(const struct raw *r, const struct dd_import_make *i,
			  const void *src, __u64 dst, __u64 len, __u8 flags)
{
	const struct dd_sqe sqe = {
		.opcode = DD_OP_PUT, .flags = flags | DD_SQE_UNWIRED,
		.src = (uintptr_t)src, .dst = dst, .len = len, .tag = 7,
	};

	return mem_op(r, i, &sqe);
}

static inline int mem_get(const struct raw *r, const struct dd_import_make *i,
			  void *to, __u64 dst, __u64 len)
{
	const struct dd_sqe sqe = {
		.opcode = DD_OP_GET, .flags = DD_SQE_UNWIRED,
		.src = (uintptr_t)to, .dst = dst, .len = len,
	};

	return mem_op(r, i, &sqe);
}

/* A note with @len bytes of @payload. */
static inline int mem_note(const struct raw *r, const struct dd_import_make *i,
			   const void *payload, __u64 len)
{
	const struct dd_sqe sqe = {
		.opcode = DD_OP_NOTE, .flags = DD_SQE_UNWIRED,
		.src = (uintptr_t)payload, .len = len, .tag = 9,
	};

	return mem_op(r, i, &sqe);
}

/* The result is stored at offset @at of region @m. */
static inline int mem_cas(const struct raw *r, const struct dd_import_make *i,
			  const struct mem *m, __u64 at, __u64 dst, __u64 len,
			  __u64 old, __u64 new, __u8 flags)
{
	struct dd_sqe sqe = {
		.opcode = DD_OP_CAS, .flags = flags | DD_SQE_REGION, .region = m->id,
		.src = at, .dst = dst, .len = len, .meta_count = DD_META_WORDS,
	};

	memcpy(sqe.meta, &old, 8);
	memcpy(sqe.meta + 2, &new, 8);
	return mem_op(r, i, &sqe);
}

static inline int mem_ctl(const struct raw *r, __u64 segment, __u32 what, __u64 value,
			  __u32 uid, __u32 rights)
{
	const struct dd_segment_ctl c = {
		.size = sizeof(c), .what = what, .segment = segment, .value = value,
		.uid = uid, .rights = rights,
	};

	return raw_ioctl(r, DD_IOC_SEGMENT_CTL, &c);
}

static inline int mem_redirect(const struct raw *r, __u64 segment, __u64 at,
			       const struct mem *m, __u64 offset, __u64 length)
{
	const struct dd_segment_ctl c = {
		.size = sizeof(c), .what = DD_SEGMENT_REDIRECT_TO, .segment = segment,
		.value = at, .region = m->id, .offset = offset, .length = length,
	};

	return raw_ioctl(r, DD_IOC_SEGMENT_CTL, &c);
}

static inline int mem_redirect_end(const struct raw *r, __u64 segment)
{
	return mem_ctl(r, segment, DD_SEGMENT_REDIRECT_END, 0, 0, 0);
}

static inline int mem_list(const struct raw *r, struct dd_list_make *l)
{
	*l = (struct dd_list_make){ .size = sizeof(*l) };
	return raw_ioctl(r, DD_IOC_LIST_MAKE, l);
}

/*
 * Request @k of 16 with DD_SQE_NOTIFY_SELF: each kind, from or to memory at @bytes and @m,
 * short and, where that is possible, of @large bytes.
 */
#define MEM_SELF_REQUESTS	16

static inline struct dd_sqe mem_self_request(__u32 k, const struct mem *m, void *bytes,
					     __u64 large)
{
	bool wired = k / 2 % 2;
	struct dd_sqe sqe = {
		.opcode = DD_OP_PUT + k / 4, .tag = 5 + k, .dst = 16, .len = k % 2 ? large : 8,
		.flags = DD_SQE_NOTIFY_SELF | (wired ? DD_SQE_REGION : DD_SQE_UNWIRED),
		.src = wired ? 8 : (uintptr_t)bytes, .region = wired ? m->id : 0,
	};

	if (sqe.opcode == DD_OP_CAS) {
		sqe.len = k % 2 ? 4 : 8;
		sqe.meta_count = DD_META_WORDS;
	} else if (sqe.opcode == DD_OP_NOTE) {
		sqe.len = k % 2 ? DD_PAYLOAD_MAX : 8;
		sqe.dst = 0;
	}
	return sqe;
}

/* Whether @n says that @sqe, request @number of @i, was executed. */
static inline bool mem_self_done(const struct dd_note *n, const struct dd_import_make *i,
				 const struct dd_sqe *sqe, __u32 number)
{
	return n->type == DD_NOTE_DONE && n->conn == i->import && n->cookie == i->cookie &&
	       n->op == sqe->opcode && n->node == i->node && n->offset == sqe->dst &&
	       n->len == sqe->len && n->tag == sqe->tag && n->msgid == number &&
	       !n->error && !n->word && !n->meta_count;
}

static inline int mem_end(const struct raw *r, __u64 serial)
{
	return raw_op(r, DD_IOC_END, serial);
}

/* Ask for the windows of an import, and map them; -1 with errno. */
static inline int mem_windows(const struct raw *r, const struct dd_import_make *i,
			      struct dd_direct *d, char **block, char **cas)
{
	*d = (struct dd_direct){ .size = sizeof(*d), .conn = i->import };
	if (raw_ioctl(r, DD_IOC_DIRECT, d))
		return -1;
	*block = raw_map(r, d->block, d->block_size, PROT_READ |
			 (i->rights & DD_RIGHT_PUT ? PROT_WRITE : 0));
	*cas = d->notes ? raw_map(r, d->notes, d->block_size, PROT_READ | PROT_WRITE) : NULL;
	return *block == MAP_FAILED || *cas == MAP_FAILED ? -1 : 0;
}

#endif /* DD_TEST_MEM_H */
