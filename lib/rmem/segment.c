// SPDX-License-Identifier: LGPL-2.1-only
/*
 * segment.c - segments of this process
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/dd_mem.h>

#include "rmem_int.h"

#define SAME(note, record)	\
	(offsetof(struct rm_note, note) == offsetof(struct dd_list_record, record))
_Static_assert(RM_WRITE == DD_CAN_PUT && RM_READ == DD_CAN_GET && RM_CAS == DD_CAN_CAS &&
	       RM_CONDITIONAL == DD_NOTIFY_IF_ASKED && RM_ALWAYS == DD_NOTIFY_ALWAYS &&
	       RM_NEVER == DD_NOTIFY_NEVER && RM_OP_WRITE == (int)DD_OP_PUT &&
	       RM_OP_READ == (int)DD_OP_GET && RM_OP_CAS == (int)DD_OP_CAS &&
	       RM_ARRIVED == (int)DD_NOTE_DATA && RM_DONE == (int)DD_NOTE_DONE &&
	       RM_NAME_MAX == DD_KEY_SIZE - 1 &&
	       sizeof(struct rm_note) == sizeof(struct dd_list_record) &&
	       SAME(segment, cookie) && SAME(offset, offset) && SAME(count, count) &&
	       SAME(node, node) && SAME(op, op) && SAME(type, type) &&
	       SAME(generation, generation) && SAME(sequence, seq), "numbers of libdd");

static void *segments[RM_MAX];

struct rm_segment *rm_segment(rm_seg_t seg)
{
	return rm_slot_get(segments, seg);
}

/* Pin the memory of a segment and export it. Returns 0 or -errno. */
static int segment_open(struct rm_segment *s)
{
	int64_t end = 0;
	int ret;

	ret = dd_pin(s->h, s->attr.addr, s->attr.len);
	if (ret)
		return ret;
	if (s->attr.key_class == DD_KEY_ID)
		memset(s->attr.key, 0, sizeof(s->attr.key));
	do {
		ret = dd_export(s->h, &s->attr, &s->number);
	} while (rm_again(ret, &end));
	if (ret)
		dd_unpin(s->h, s->attr.addr);
	/* The clerk is stopped. */
	return ret == -ETIMEDOUT ? -EHOSTDOWN : ret;
}

static int segment_close(struct rm_segment *s)
{
	int ret = dd_unexport(s->h, s->number);

	if (!ret)
		ret = dd_unpin(s->h, s->attr.addr);
	s->number = 0;
	return ret;
}

/* Lock a segment, which must not be the parent process's: that may have left it locked. */
static struct rm_segment *segment_lock(rm_seg_t seg)
{
	struct rm_segment *s = rm_slot_own(segments, seg);

	if (s)
		pthread_mutex_lock(&s->lock);
	return s;
}

static int segment_unlock(struct rm_segment *s, int ret)
{
	pthread_mutex_unlock(&s->lock);
	return rm_error(ret);
}

static void segment_free(struct rm_segment *s)
{
	if (s->fd >= 0)
		close(s->fd);
	if (s->attr.list > 0)
		dd_list_end(s->h, s->attr.list);
	free(s);
}

int rm_name(const char *name, void *key)
{
	size_t len = strlen(name);

	if (!len || len > RM_NAME_MAX) {
		errno = len ? ENAMETOOLONG : EINVAL;
		return -1;
	}
	memset(key, 0, DD_KEY_SIZE);
	memcpy(key, name, len);
	return 0;
}

RM_API rm_seg_t rm_export(const char *name, void *base, size_t len, int rights, int policy)
{
	struct dd *h = rm_handle();
	struct rm_segment *s;
	rm_seg_t seg = -1;

	if (!h)
		return -1;
	if (rights & ~(RM_ALL | RM_ANYBODY | RM_GRANTED) ||
	    (rights & RM_ANYBODY && rights & RM_GRANTED)) {
		errno = EINVAL;
		return -1;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return -1;
	s->h = h;
	s->fd = -1;
	pthread_mutex_init(&s->lock, NULL);
	s->attr = (struct dd_export_attr){
		.size = sizeof(s->attr), .addr = base, .len = len,
		.key_class = name ? DD_KEY_REGISTERED : DD_KEY_ID,
		/* No other process knows its key. */
		.rights = name ? rights & RM_ALL : RM_ALL, .notify = policy,
		.users = rights & RM_ANYBODY ? DD_FOR_ANY :
			 rights & RM_GRANTED || !name ? DD_FOR_LISTED : DD_FOR_USER,
		.importers = RM_IMPORTERS, .window = RM_WINDOW,
	};
	if (name && rm_name(name, s->attr.key))
		goto fail;
	s->attr.list = rm_error(dd_list(h));
	if (s->attr.list < 0)
		goto fail;
	seg = rm_slot_new(segments, s);
	if (seg < 0)
		goto fail;
	s->attr.cookie = seg;
	if (!rm_error(segment_open(s)))
		return seg;
	rm_slot_remove(segments, seg);
fail:
	segment_free(s);
	return -1;
}

RM_API int rm_revoke(rm_seg_t seg)
{
	struct rm_segment *s = rm_slot_remove(segments, seg);
	int ret;

	if (!s)
		return -1;
	ret = s->number ? segment_close(s) : 0;
	segment_free(s);
	return rm_error(ret);
}

RM_API int rm_unpin(rm_seg_t seg)
{
	struct rm_segment *s = segment_lock(seg);

	if (!s)
		return -1;
	return segment_unlock(s, s->number ? segment_close(s) : -EALREADY);
}

RM_API int rm_pin(rm_seg_t seg)
{
	struct rm_segment *s = segment_lock(seg);

	if (!s)
		return -1;
	return segment_unlock(s, s->number ? -EALREADY : segment_open(s));
}

/* End the imports of a user from a node, or from all nodes. */
static int segment_deny(const struct rm_segment *s, int node, uid_t uid)
{
	struct dd_export_importer *list = calloc(RM_IMPORTERS, sizeof(*list));
	struct dd_export_desc desc;
	int i, n, ret = 0;

	if (!list)
		return -ENOMEM;
	n = dd_export_info(s->h, s->number, &desc, list, RM_IMPORTERS);
	for (i = 0; i < n && !ret; i++) {
		if (list[i].uid != uid || (node >= 0 && list[i].node != (unsigned int)node))
			continue;
		ret = dd_export_deny(s->h, s->number, list[i].importer);
		if (ret == -ENOENT)
			ret = 0;
	}
	free(list);
	return n < 0 ? n : ret;
}

RM_API int rm_grant(rm_seg_t seg, int node, uid_t uid, int rights)
{
	struct rm_segment *s = segment_lock(seg);
	int ret = -ESTALE;

	if (!s)
		return -1;
	if (s->number)
		ret = dd_export_grant(s->h, s->number, node, uid, rights);
	if (!ret && !rights)
		ret = segment_deny(s, node, uid);
	return segment_unlock(s, ret);
}

RM_API int rm_policy(rm_seg_t seg, int policy)
{
	struct rm_segment *s = segment_lock(seg);
	int ret;

	if (!s)
		return -1;
	ret = policy < RM_CONDITIONAL || policy > RM_NEVER ? -EINVAL : 0;
	if (!ret && s->number)
		ret = dd_export_notify(s->h, s->number, policy);
	if (!ret)
		s->attr.notify = policy;
	return segment_unlock(s, ret);
}

RM_API int rm_inhibit(rm_seg_t seg, int on)
{
	struct rm_segment *s = segment_lock(seg);
	int ret;

	if (!s)
		return -1;
	ret = on != 0 && on != 1 ? -EINVAL : 0;
	if (!ret && s->number)
		ret = dd_export_inhibit(s->h, s->number, on);
	if (!ret)
		s->attr.flags = on ? DD_EXPORT_INHIBITED : 0;
	return segment_unlock(s, ret);
}

RM_API int rm_refused(rm_seg_t seg, struct rm_refused *refused)
{
	struct rm_segment *s = segment_lock(seg);
	struct dd_export_desc desc;
	int ret = -EINVAL;

	if (!s)
		return -1;
	if (refused)
		ret = s->number ? dd_export_info(s->h, s->number, &desc, NULL, 0) : -ESTALE;
	if (!ret)
		*refused = (struct rm_refused){ desc.refused_rights, desc.refused_inhibit,
						desc.refused_bounds };
	return segment_unlock(s, ret);
}

RM_API int rm_fd(rm_seg_t seg)
{
	struct rm_segment *s = rm_slot_own(segments, seg);
	int fd, none = -1;

	if (!s)
		return -1;
	if (__atomic_load_n(&s->fd, __ATOMIC_ACQUIRE) < 0) {
		fd = dd_list_fd(s->h, s->attr.list);
		if (fd < 0)
			return rm_error(fd);
		/* Another thread may have been faster. */
		if (!__atomic_compare_exchange_n(&s->fd, &none, fd, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE))
			close(fd);
	}
	return s->fd;
}
