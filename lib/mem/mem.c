// SPDX-License-Identifier: LGPL-2.1-only
/*
 * mem.c - one-sided memory: segments, imports and their requests
 *
 * Copyright (C) 2026 The dd authors
 *
 * Requests are submitted as arrays of one, without a queue. On one node they need no lock:
 * threads and signal handlers may use one import at a time. With another node a request is
 * one round trip, under a lock, with signals blocked, so that no handler waits for it.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <linux/dd_mem.h>

#include "dd_mem.h"
#include "handle.h"
#include "region.h"

_Static_assert(DD_KEY_SIZE == DD_SEGMENT_KEY && DD_KEY_NAME == DD_SEGMENT_NAME &&
	       DD_KEY_ID == DD_SEGMENT_ID && DD_KEY_BUFFER == DD_SEGMENT_BUFFER &&
	       DD_KEY_WELL_KNOWN == DD_SEGMENT_WELL_KNOWN &&
	       DD_CAN_PUT == DD_RIGHT_PUT && DD_CAN_GET == DD_RIGHT_GET &&
	       DD_CAN_CAS == DD_RIGHT_CAS &&
	       DD_NOTIFY_IF_ASKED == (int)DD_POLICY_CONDITIONAL &&
	       DD_NOTIFY_ALWAYS == (int)DD_POLICY_ALWAYS &&
	       DD_NOTIFY_NEVER == (int)DD_POLICY_NEVER &&
	       DD_FOR_USER == (int)DD_PERMIT_USER && DD_FOR_ANY == (int)DD_PERMIT_ANY &&
	       DD_FOR_LISTED == (int)DD_PERMIT_LISTED, "numbers of the kernel");

#define MEM_WITHHELD_NS	1000000000ull

struct dd_mem {
	struct dd *h;
	uint64_t serial;
	uint64_t size;
	const struct dd_cell *cell;
	const uint8_t *result;	/* of another node's segment, else NULL */
	pthread_mutex_t lock;	/* one request at a time, with @result */
	void *word;		/* wired, for results of swaps; or NULL */
};

/* ---- exporting ---------------------------------------------------------- */

DD_API int dd_export(struct dd *h, struct dd_export_attr *attr, uint64_t *segment)
{
	struct dd_segment_make s = { .size = sizeof(s) };
	struct dd_buf buf;
	int ret;

	if (!ddi_alive(h))
		return -ESTALE;
	if (!attr || !segment || attr->size != sizeof(*attr) ||
	    !ddi_region_find(h, attr->addr, attr->len, &buf))
		return -EINVAL;
	s.region = buf.region;
	s.offset = buf.offset;
	s.length = attr->len;
	s.key_class = attr->key_class;
	memcpy(s.key, attr->key, sizeof(s.key));
	s.rights = attr->rights;
	s.policy = attr->notify;
	s.permission = attr->users;
	s.importers = attr->importers;
	s.list = attr->list;
	s.window = attr->window;
	s.cookie = attr->cookie;
	ret = ddi_ioctl(h, DD_IOC_SEGMENT, &s);
	if (ret < 0)
		return ret;
	memcpy(attr->key, s.key, sizeof(attr->key));
	*segment = s.segment;
	return 0;
}

DD_API int dd_unexport(struct dd *h, uint64_t segment)
{
	return ddi_alive(h) ? ddi_ioctl_conn(h, DD_IOC_END, segment) : -ESTALE;
}

static int segment_ctl(struct dd *h, struct dd_segment_ctl c)
{
	c.size = sizeof(c);
	return ddi_alive(h) ? ddi_ioctl(h, DD_IOC_SEGMENT_CTL, &c) : -ESTALE;
}

DD_API int dd_export_inhibit(struct dd *h, uint64_t segment, int on)
{
	return segment_ctl(h, (struct dd_segment_ctl){
		.what = DD_SEGMENT_INHIBIT, .segment = segment, .value = on });
}

DD_API int dd_export_grant(struct dd *h, uint64_t segment, unsigned int uid,
			   unsigned int rights)
{
	return segment_ctl(h, (struct dd_segment_ctl){
		.what = DD_SEGMENT_GRANT, .segment = segment, .uid = uid,
		.rights = rights });
}

DD_API int dd_list(struct dd *h)
{
	struct dd_list_make l = { .size = sizeof(l) };
	int ret;

	if (!ddi_alive(h))
		return -ESTALE;
	ret = ddi_ioctl(h, DD_IOC_LIST_MAKE, &l);
	return ret < 0 ? ret : (int)l.list;
}

/* ---- importing ---------------------------------------------------------- */

DD_API int dd_import(struct dd *h, int node, unsigned int key_class, const void *key,
		     unsigned int rights, struct dd_mem **mem)
{
	struct dd_import_make i = { .size = sizeof(i), .node = node, .key_class = key_class,
				    .rights = rights };
	const struct dd_import_cell *cell;
	struct dd_mem *m;
	int ret;

	if (!ddi_alive(h))
		return -ESTALE;
	if (!key || !mem)
		return -EINVAL;
	m = malloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	memcpy(i.key, key, sizeof(i.key));
	ret = ddi_ioctl(h, DD_IOC_IMPORT, &i);
	if (ret < 0) {
		free(m);
		return ret;
	}
	cell = (void *)(h->area + (size_t)i.cell_unit * DD_UNIT);
	*m = (struct dd_mem){ .h = h, .serial = i.import, .size = i.length,
		.cell = &cell->cell, .lock = PTHREAD_MUTEX_INITIALIZER };
	if (node != dd_node(h)) {
		m->result = cell->result;
		/* Without it the kernel pins the memory of each result. */
		if (dd_alloc(h, sizeof(uint64_t), &m->word))
			m->word = NULL;
	}
	*mem = m;
	return 0;
}

DD_API int dd_unimport(struct dd_mem *m)
{
	int ret;

	if (!m)
		return -EINVAL;
	ret = ddi_alive(m->h) ? ddi_ioctl_conn(m->h, DD_IOC_END, m->serial) : -ESTALE;
	if (m->word && ret != -ESTALE)
		dd_free(m->h, m->word);
	free(m);
	return ret;
}

DD_API size_t dd_mem_size(const struct dd_mem *m)
{
	return m->size;
}

/*
 * Submit a request with @local as its source or destination. While another thread copies
 * to or from memory that may fault, the kernel refuses requests of its import.
 */
static int mem_local(struct dd_mem *m, struct dd_sqe sqe, const void *local, size_t len)
{
	struct dd_request rq = { .conn = m->serial };
	struct dd_buf buf;
	int ret;

	if (!ddi_alive(m->h))
		return -ESTALE;
	sqe.len = len;
	sqe.src = (uintptr_t)local;
	if (ddi_region_try(m->h, local, len, &buf)) {
		sqe.flags |= DD_SQE_REGION;
		sqe.region = buf.region;
		sqe.src = buf.offset;
	} else {
		sqe.flags |= DD_SQE_UNWIRED;
	}
	rq.sqe = sqe;
	for (;;) {
		struct dd_submit s = {
			.size = sizeof(s), .requests = (uintptr_t)&rq, .count = 1,
			.stride = sizeof(rq),
		};

		ret = ddi_ioctl(m->h, DD_IOC_SUBMIT, &s);
		if (ret != -EBUSY ||
		    ddi_load(&m->cell->done) != ddi_load(&m->cell->sent))
			return ret;
		sched_yield();
	}
}

/*
 * Wait until the last request is done. %-ETIMEDOUT: its bytes are in place, but its note
 * waits for a slot. The caller holds the lock.
 */
static int mem_done(struct dd_mem *m)
{
	struct dd_conn_wait w = {
		.size = sizeof(w), .what = DD_WAIT_DONE, .conn = m->serial,
		.value = ddi_load(&m->cell->submitted), .timeout = MEM_WITHHELD_NS,
	};
	int ret;

	do {
		ret = ddi_ioctl(m->h, DD_IOC_CONN_WAIT, &w);
	} while (ret == -EINTR ||
		 (ret == -ETIMEDOUT && ddi_load(&m->cell->sent) < w.value));
	return ret;
}

/* As on one node: a request whose note waits is executed, and the next one refused. */
static int mem_far(struct dd_mem *m, struct dd_sqe sqe, void *local, size_t len)
{
	bool swap = sqe.opcode == DD_OP_CAS && m->word;
	int ret = mem_done(m);

	if (!ret)
		ret = mem_local(m, sqe, swap ? m->word : local, len);
	else if (ret == -ETIMEDOUT)
		ret = -EBUSY;
	if (ret)
		return ret;
	ret = mem_done(m);
	if (swap && (!ret || ret == -ETIMEDOUT))
		memcpy(local, m->word, len);
	if (ret == -ETIMEDOUT)
		return 0;
	return ret ? ret : -(int)m->result[ddi_load(&m->cell->submitted) % DD_RESULTS];
}

static int mem_submit(struct dd_mem *m, struct dd_sqe sqe, const void *local, size_t len)
{
	sigset_t all, before;
	int ret;

	if (!m->result)
		return mem_local(m, sqe, local, len);
	if (!ddi_alive(m->h))
		return -ESTALE;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_mutex_lock(&m->lock);
	ret = mem_far(m, sqe, (void *)local, len);
	pthread_mutex_unlock(&m->lock);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

DD_API int dd_put(struct dd_mem *m, const void *src, size_t len, uint64_t offset,
		  unsigned int flags)
{
	if (flags & ~DD_PUT_NOTIFY)
		return -EINVAL;
	return mem_submit(m, (struct dd_sqe){
		.opcode = DD_OP_PUT, .flags = flags ? DD_SQE_NOTIFY : 0, .dst = offset },
		src, len);
}

DD_API int dd_get(struct dd_mem *m, void *dst, size_t len, uint64_t offset)
{
	return mem_submit(m, (struct dd_sqe){ .opcode = DD_OP_GET, .dst = offset },
			  dst, len);
}

DD_API int dd_cas(struct dd_mem *m, uint64_t offset, size_t len, uint64_t expect,
		  uint64_t replace, uint64_t *was, unsigned int flags)
{
	struct dd_sqe sqe = {
		.opcode = DD_OP_CAS, .flags = flags ? DD_SQE_NOTIFY : 0, .dst = offset,
		.meta_count = DD_META_WORDS,
	};
	uint64_t result = 0;
	uint32_t half;
	int ret;

	if (flags & ~DD_PUT_NOTIFY || !was)
		return -EINVAL;
	memcpy(sqe.meta, &expect, sizeof(expect));
	memcpy(sqe.meta + 2, &replace, sizeof(replace));
	ret = mem_submit(m, sqe, &result, len);
	if (ret)
		return ret;
	memcpy(&half, &result, sizeof(half));
	*was = len == sizeof(half) ? half : result;
	return 0;
}
