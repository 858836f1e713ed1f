// SPDX-License-Identifier: GPL-2.0-only
/*
 * remote.c - operations on the caches of a server, by one of three schemes
 *
 * dx reads the entry of a result. hy writes a request that notifies the server, which writes
 * the answer. push finds the entry in the copy that the server writes. With dx and push a
 * result that is not there is requested as with hy.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "rmfs.h"
#include "../common/tool.h"

#define OPERATION_MS	2000	/* for an operation on the segment */
#define ANSWER_NS	10000000000ull	/* and for an answer: the server may read a disk */
#define SPIN_NS		50000
#define PAUSE_NS	50000
#define PROBE_NS	100000000	/* whether the server is there, while it is waited for */
#define BEAT_NS		10000000000ull	/* a copy is used while the server writes */
#define TRIES		3		/* reads of an entry that is being changed */
#define LISTING		1024		/* bytes that are read of the first directory */

/* ---- the segments ---------------------------------------------------------------- */

static void *pages(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static size_t mirror_size(const struct remote *r)
{
	return MIRROR_TABLES +
	       (r->scheme == SCHEME_PUSH ? r->layout.size - r->layout.tables : 0);
}

#define LANDING	12288

void remote_close(struct remote *r)
{
	if (r->rd >= 0)
		rm_unimport(r->rd);
	if (r->answers >= 0)
		rm_revoke(r->answers);
	if (r->landing >= 0)
		rm_revoke(r->landing);
	if (r->mirror)
		munmap(r->mirror, mirror_size(r));
	if (r->landed)
		munmap(r->landed, LANDING);
	r->rd = r->answers = r->landing = -1;
	r->mirror = NULL;
	r->landed = NULL;
	r->open = false;
}

/* Read from the segment of the server into the landing segment: 0 or an errno. */
static uint32_t fetch(struct remote *r, size_t off, size_t len)
{
	if (rm_read(r->rd, off, len, r->landing, 0, 0) || rm_fence(r->rd, OPERATION_MS))
		return errno;
	return 0;
}

/* Take a mailbox. */
static uint32_t box_take(struct remote *r)
{
	uint32_t own = (uint32_t)getpid() << 8 | 1, i;
	const uint32_t *result = (const uint32_t *)r->landed;

	for (i = 0; i < RMFS_MAILBOXES; i++) {
		size_t at = offsetof(struct head, owners) + i * sizeof(uint32_t);

		if (rm_cas(r->rd, at, r->landing, 0, 0, own) || rm_fence(r->rd, OPERATION_MS))
			return errno;
		if (__atomic_load_n(result, __ATOMIC_ACQUIRE) == RM_SUCCESS) {
			r->box = i;
			return 0;
		}
	}
	return EUSERS;
}

static uint32_t ask(struct remote *r, uint32_t op, uint64_t handle, uint64_t offset,
		    const void *payload, uint32_t len);

static uint32_t join(struct remote *r)
{
	static unsigned int number;
	struct hello h = { .node = r->own, .push = r->scheme == SCHEME_PUSH };
	uint32_t err;

	r->landed = pages(LANDING);
	if (!r->landed)
		return errno;
	r->landing = rm_export(NULL, r->landed, LANDING, 0, RM_NEVER);
	if (r->landing < 0 || rm_import(r->name, r->node, RM_ALL, &r->rd))
		return errno;
	if ((size_t)rm_size(r->rd) < sizeof(r->head))
		return EPROTO;
	err = fetch(r, 0, sizeof(r->head));
	if (err)
		return err;
	memcpy(&r->head, r->landed, sizeof(r->head));
	if (!layout_of(&r->head, &r->layout) || r->layout.size > (size_t)rm_size(r->rd))
		return EPROTO;
	r->mirror = pages(mirror_size(r));
	if (!r->mirror)
		return errno;
	snprintf(h.name, sizeof(h.name), "rmfs.%d.%d.%u", r->own, getpid(), number++);
	r->answers = rm_export(h.name, r->mirror, mirror_size(r), RM_WRITE, RM_NEVER);
	if (r->answers < 0)
		return errno;
	err = box_take(r);
	return err ? err : ask(r, OP_HELLO, 0, 0, &h, sizeof(h));
}

static uint32_t remote_open(struct remote *r)
{
	uint32_t err;

	r->rd = r->answers = r->landing = -1;
	r->mirror = NULL;
	r->landed = NULL;
	/* Not the number of a former clerk that had the same mailbox. */
	r->seq = tool_now() >> 8;
	r->beat_ns = tool_now();
	r->listing = LISTING;
	err = join(r);
	if (err)
		remote_close(r);
	else
		r->open = true;
	return err;
}

/* ---- requests ---------------------------------------------------------------------- */

static uint32_t answer_wait(struct remote *r)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	uint64_t begin = tool_now(), probe = begin + PROBE_NS, now;
	uint32_t err;

	while (__atomic_load_n(&r->mirror->answer.seq, __ATOMIC_ACQUIRE) != r->seq) {
		now = tool_now();
		if (now - begin > ANSWER_NS)
			return ETIMEDOUT;
		if (now > probe) {
			err = fetch(r, 0, sizeof(uint64_t));
			if (err)
				return err;
			probe = now + PROBE_NS;
		}
		if (now - begin > SPIN_NS)
			nanosleep(&pause, NULL);
		else
			sched_yield();
	}
	return 0;
}

/* Returns errors of the transfer; the server's is in the answer. */
static uint32_t ask(struct remote *r, uint32_t op, uint64_t handle, uint64_t offset,
		    const void *payload, uint32_t len)
{
	size_t pad = rmfs_pad(len);
	uint32_t err;

	if (++r->seq == 0)
		r->seq++;
	r->stage.request = (struct request){
		.handle = handle, .offset = offset, .op = op, .len = len, .seq = r->seq,
	};
	if (len)
		memcpy(r->stage.payload + RMFS_BLOCK - pad, payload, len);
	while (rm_write_block(r->rd, 4096 + r->box * sizeof(struct mailbox) + RMFS_BLOCK - pad,
			      r->stage.payload + RMFS_BLOCK - pad, pad + sizeof(struct request),
			      RM_NOTIFY))
		if (errno != EAGAIN || rm_fence(r->rd, OPERATION_MS))
			return errno;
	err = answer_wait(r);
	if (err)
		return err;
	r->len = r->mirror->answer.len;
	if (r->len > RMFS_BLOCK)
		return EPROTO;
	r->data = r->mirror->payload + RMFS_BLOCK - rmfs_pad(r->len);
	return 0;
}

/* ---- entries ------------------------------------------------------------------------ */

/* Bytes that are read at first; most names, targets and directories are short. */
static size_t first_read(const struct remote *r, int table, size_t name)
{
	switch (table) {
	case TABLE_DIR:
		return r->listing;
	case TABLE_NAME:
		return sizeof(struct entry) + sizeof(struct found) + rmfs_pad(name);
	case TABLE_LINK:
		return sizeof(struct entry) + 224;
	default:
		return entry_size(table);
	}
}

/* Find an entry: *@found is NULL if the server has to be asked. */
static uint32_t entry_read(struct remote *r, int table, uint64_t handle, uint64_t block,
			   const void *name, size_t len, const struct entry **found)
{
	size_t at = entry_at(&r->layout, table, handle, block), size = first_read(r, table, len);
	enum entry_state state = ENTRY_TORN;
	uint32_t err;
	int i;

	*found = NULL;
	for (i = 0; i < TRIES && state == ENTRY_TORN; i++) {
		err = fetch(r, at, size);
		if (err)
			return err;
		/* An entry with another name may be longer: it is no hit. */
		if (r->landed->flag == ENTRY_VALID && sizeof(*r->landed) + r->landed->len > size) {
			if (table == TABLE_NAME)
				return 0;
			size = entry_size(table);
			continue;
		}
		state = entry_check(r->landed, table, handle, block, name, len);
	}
	if (state != ENTRY_HIT)
		return 0;
	if (table == TABLE_DIR)
		r->listing = sizeof(*r->landed) + r->landed->len;
	*found = r->landed;
	return 0;
}

static const struct entry *entry_copy(struct remote *r, int table, uint64_t handle,
				      uint64_t block, const void *name, size_t len)
{
	size_t at = entry_at(&r->layout, table, handle, block) - r->layout.tables;
	const struct entry *e = (void *)((char *)r->mirror + MIRROR_TABLES + at);
	uint64_t beat = __atomic_load_n(&r->mirror->beat, __ATOMIC_ACQUIRE);
	uint32_t size = e->len;

	if (beat != r->beat) {
		r->beat = beat;
		r->beat_ns = tool_now();
	} else if (tool_now() - r->beat_ns > BEAT_NS) {
		return NULL;
	}
	if (size > entry_size(table) - sizeof(*e))
		return NULL;
	/* The server may be writing: the sum is of the bytes that are used. */
	memcpy(r->copy, e, sizeof(*e) + size);
	e = (const struct entry *)r->copy;
	if (e->len != size || entry_check(e, table, handle, block, name, len) != ENTRY_HIT)
		return NULL;
	return e;
}

static uint32_t find(struct remote *r, int table, uint64_t handle, uint64_t offset,
		     const void *name, uint32_t len, const struct entry **found)
{
	uint64_t block = table == TABLE_NAME ? name_hash(name, len) : offset;

	if (!handle || table == TABLE_FS)
		handle = r->head.root;
	*found = NULL;
	if (r->scheme == SCHEME_DX)
		return entry_read(r, table, handle, block, name, len, found);
	if (r->scheme == SCHEME_PUSH)
		*found = entry_copy(r, table, handle, block, name, len);
	return 0;
}

/* Returns errors of the transfer; *@error is that of the operation. */
static uint32_t operate(struct remote *r, uint32_t op, uint64_t handle, uint64_t offset,
			const void *payload, uint32_t len, uint32_t *error)
{
	int table = op_table(op);
	const struct entry *e = NULL;
	uint32_t err = 0;

	*error = 0;
	r->len = 0;
	if (op == OP_NULL && r->scheme == SCHEME_DX) {
		r->hits++;
		return fetch(r, offsetof(struct head, beat), sizeof(uint64_t));
	}
	if (table >= 0)
		err = find(r, table, handle, offset, payload, len, &e);
	if (err)
		return err;
	if (e) {
		r->hits++;
		r->data = e->data;
		r->len = e->len;
		return 0;
	}
	err = ask(r, op, handle, offset, payload, len);
	if (!err)
		*error = r->mirror->answer.error;
	return err;
}

/* Perform an operation that op_check() admits: 0 or an errno, with the result in @r. */
uint32_t remote_op(struct remote *r, uint32_t op, uint64_t handle, uint64_t offset,
		   const void *payload, uint32_t len)
{
	uint32_t error = 0, err = EHOSTDOWN;
	int tries;

	/* A server that was started again is another one: its segment is imported anew. */
	for (tries = 0; tries < 2; tries++) {
		err = r->open ? 0 : remote_open(r);
		if (err == EACCES || err == EUSERS || err == EDQUOT || err == EPROTO)
			return err;
		if (err)
			return EHOSTDOWN;
		err = operate(r, op, handle, offset, payload, len, &error);
		if (!err)
			return error;
		remote_close(r);
		/* It may have been executed. */
		if (op == OP_WRITE)
			break;
	}
	return err == ETIMEDOUT ? err : EHOSTDOWN;
}
