// SPDX-License-Identifier: GPL-2.0-only
/*
 * remote.c - operations on the caches of a server, by one of three schemes
 *
 * dx reads the entry of a result. hy writes a request that notifies the server, which writes
 * the answer. push finds the entry in the copy that the server writes. With dx and push a
 * result without an entry is requested as with hy, and a Write is a request without
 * notification or answer, as long as the mailbox has a place for it. The server executes
 * requests in their order, so the next answer has the errors of these Writes. Other processes
 * of the user can write to the mirror at any time, so its contents are copied before they are
 * checked.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "remote.h"
#include "table.h"
#include "../common/tool.h"

#define OPERATION_MS	2000	/* for an operation on a segment */
#define ANSWER_NS	10000000000ull	/* and for an answer: the server may read a disk */
#define SPIN_NS		50000
#define PAUSE_NS	50000
#define PROBE_NS	100000000	/* whether the server is there, while it is waited for */
#define BEAT_NS		10000000000ull	/* a copy is used while the server writes */
#define TRIES		3		/* reads of an entry that is being changed */
#define LISTING		1024		/* bytes that are read of the first directory */
#define ERRNO_MAX	4095

/* ---- transfers -------------------------------------------------------------------- */

/* Write bytes of this process that are not in a segment: 0 or an errno. */
uint32_t segment_write(rm_desc_t rd, size_t off, const void *src, size_t len, int notify)
{
	while (rm_write_block(rd, off, src, len, notify))
		if (errno != EAGAIN || (rm_fence(rd, OPERATION_MS) && errno != EINTR))
			return errno;
	return 0;
}

/* Write a message at an offset: one operation, whose last word is the number. */
uint32_t message_write(rm_desc_t rd, size_t off, struct header h, const void *payload, int notify)
{
	static struct message m __attribute__((aligned(8)));
	size_t start = RMFS_BLOCK - rmfs_pad(h.len);

	m.h = h;
	if (h.len)
		memcpy(m.payload + start, payload, h.len);
	return segment_write(rd, off + start, m.payload + start, sizeof(m) - start, notify);
}

/* Read from the tables of the server: 0 or an errno. */
static uint32_t fetch(struct remote *r, size_t off, size_t len)
{
	if (rm_read(r->tables, off, len, r->landing, 0, 0) || rm_fence(r->tables, OPERATION_MS))
		return errno;
	return 0;
}

/* ---- requests ---------------------------------------------------------------------- */

static uint32_t answer_wait(struct remote *r, uint32_t seq)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	uint64_t begin = tool_now(), probe = begin + PROBE_NS, now;
	uint32_t err;

	while (__atomic_load_n(&r->mirror->answer.h.seq, __ATOMIC_ACQUIRE) != seq) {
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

/* Keep the error of a Write for the next operation of its client, unless that gets another one. */
static void late_add(struct remote *r, int client, uint32_t error)
{
	struct late_error *e = r->errors, *end = e + RMFS_CLIENTS, *unused = NULL;

	for (; e < end && e->client != client; e++)
		if (!e->client)
			unused = e;
	if (e == end && unused && error)
		*unused = (struct late_error){ client, error };
}

static uint32_t late_pop(struct remote *r, int client)
{
	uint32_t i, error;

	for (i = 0; i < RMFS_CLIENTS; i++) {
		if (r->errors[i].client != client)
			continue;
		error = r->errors[i].error;
		r->errors[i].client = 0;
		return error;
	}
	return 0;
}

/* A client has left: drop the errors and Writes that are kept for it. */
void remote_drop_client(struct remote *r, int client)
{
	uint32_t i;

	late_pop(r, client);
	for (i = 0; i < RMFS_DEPTH; i++)
		if (r->writes[i].client == client)
			r->writes[i].client = 0;
}

/* Keep the errors of all Writes: those in @answer or, without an answer, @error for each. */
static void late_known(struct remote *r, const struct header *answer, uint32_t error)
{
	const struct late_write *w;

	while (r->known != r->seq) {
		w = &r->writes[++r->known % RMFS_DEPTH];
		if (w->client)
			late_add(r, w->client, answer ? answer->errors[r->known % RMFS_DEPTH] : error);
	}
}

/* Whether there are Writes to a file that the server may not have executed. */
static bool late_writes(const struct remote *r, uint64_t handle)
{
	uint32_t seq;

	for (seq = r->known; seq != r->seq; )
		if (r->writes[++seq % RMFS_DEPTH].handle == handle)
			return true;
	return false;
}

/* Write the next request: 0 or an errno. */
static uint32_t request_write(struct remote *r, struct header h, const void *payload)
{
	size_t at = offsetof(struct inbox, boxes[r->box][h.seq % RMFS_DEPTH]);

	return message_write(r->inbox, at, h, payload, h.late ? 0 : RM_NOTIFY);
}

/* Returns errors of the transfer; *@error is the server's. */
static uint32_t ask(struct remote *r, uint32_t op, uint64_t handle, uint64_t offset,
		    const void *payload, uint32_t len, uint32_t *error)
{
	struct header h = {
		.handle = handle, .offset = offset, .op = op, .len = len, .seq = r->seq + 1,
	};
	uint32_t err = request_write(r, h, payload);

	if (!err)
		err = answer_wait(r, h.seq);
	if (err)
		return err;
	copy_once(&h, &r->mirror->answer.h, sizeof(h));
	if (h.len > RMFS_BLOCK || h.op > ERRNO_MAX)
		return EPROTO;
	late_known(r, &h, 0);
	r->known = ++r->seq;
	*error = h.op;
	r->len = h.len;
	r->data = r->mirror->answer.payload + RMFS_BLOCK - rmfs_pad(h.len);
	return 0;
}

/* ---- the segments ------------------------------------------------------------------ */

/* Write to a file without an answer. The caller leaves a place for the next request. */
static uint32_t write_late(struct remote *r, uint64_t handle, uint64_t offset,
			   const void *payload, uint32_t len)
{
	struct header h = {
		.handle = handle, .offset = offset, .op = OP_WRITE, .len = len, .late = 1,
		.seq = r->seq + 1,
	};
	uint32_t err = request_write(r, h, payload);

	if (err)
		return err;
	r->writes[++r->seq % RMFS_DEPTH] = (struct late_write){ handle, r->client };
	return 0;
}

static size_t mirror_size(const struct remote *r)
{
	return r->scheme == SCHEME_PUSH ? tables_size(&r->head) : RMFS_TABLES;
}

void remote_close(struct remote *r)
{
	rm_unimport(r->tables);
	rm_unimport(r->inbox);
	rm_revoke(r->answers);
	rm_revoke(r->landing);
	if (r->mirror)
		munmap(r->mirror, mirror_size(r));
	r->open = false;
}

/* Take a mailbox. */
static uint32_t box_claim(struct remote *r)
{
	const uint32_t *result = (const uint32_t *)r->landed;
	uint32_t own = (uint32_t)getpid() << 8 | 1;

	for (r->box = 0; r->box < RMFS_MAILBOXES; r->box++) {
		if (rm_cas(r->inbox, offsetof(struct inbox, owners[r->box]), r->landing, 0, 0, own) ||
		    rm_fence(r->inbox, OPERATION_MS))
			return errno;
		if (__atomic_load_n(result, __ATOMIC_ACQUIRE) == RM_SUCCESS)
			return 0;
	}
	return EUSERS;
}

static uint32_t join(struct remote *r)
{
	struct hello h = { .node = r->own, .scheme = r->scheme };
	char inbox[RM_NAME_MAX + 1];
	uint64_t secret[2];
	uint32_t err, error;

	name_make(inbox, INBOX, r->name);
	r->landing = rm_export(NULL, r->landed, sizeof(r->landed), 0, RM_NEVER);
	if (r->landing < 0 || rm_import(r->name, r->node, RM_READ, &r->tables) ||
	    rm_import(inbox, r->node, RM_WRITE | RM_CAS, &r->inbox))
		return errno;
	if ((size_t)rm_size(r->tables) < sizeof(r->head) ||
	    (size_t)rm_size(r->inbox) < sizeof(struct inbox))
		return EPROTO;
	err = fetch(r, 0, sizeof(r->head));
	if (err)
		return err;
	memcpy(&r->head, r->landed, sizeof(r->head));
	if (!tables_size(&r->head) || tables_size(&r->head) > (size_t)rm_size(r->tables))
		return EPROTO;
	r->mirror = mmap(NULL, mirror_size(r), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (r->mirror == MAP_FAILED) {
		r->mirror = NULL;
		return errno;
	}
	/*
	 * Other clerks cannot read the inbox, so they do not know the name and the numbers. Do
	 * not wait for entropy after the start of the machine.
	 */
	if (getrandom(secret, sizeof(secret), GRND_INSECURE) != sizeof(secret))
		return errno;
	/* The first request has the first place. Its number is not 0, as that of unused places. */
	r->seq = r->known = secret[1] % (1u << 27) * RMFS_DEPTH + RMFS_DEPTH - 1;
	snprintf(h.name, sizeof(h.name), "rmfs.%016llx", (unsigned long long)secret[0]);
	r->answers = rm_export(h.name, r->mirror, mirror_size(r), RM_WRITE, RM_NEVER);
	if (r->answers < 0)
		return errno;
	h.root = r->head.root;
	r->beat_ns = tool_now();
	err = box_claim(r);
	if (!err)
		err = ask(r, OP_HELLO, 0, 0, &h, sizeof(h), &error);
	return err ? err : error;
}

static uint32_t remote_open(struct remote *r)
{
	uint32_t err;

	r->tables = r->inbox = r->answers = r->landing = -1;
	r->listing = LISTING;
	r->mirror = NULL;
	err = join(r);
	if (err)
		remote_close(r);
	else
		r->open = true;
	return err;
}

/* ---- entries ------------------------------------------------------------------------ */

/* Read an entry: *@found is NULL if the server has to be asked. */
static uint32_t entry_read(struct remote *r, int table, uint64_t handle, uint64_t block,
			   const void *name, size_t len, const struct entry **found)
{
	const struct entry *e = (const void *)r->landed;
	size_t at = entry_at(&r->head, table, handle, block), size = entry_size(table);
	enum entry_state state = ENTRY_TORN;
	uint32_t err;
	int i;

	/* Most names, targets and directories are short. */
	if (table == TABLE_DIR)
		size = r->listing;
	else if (table == TABLE_NAME)
		size = sizeof(*e) + sizeof(struct found) + rmfs_pad(len);
	else if (table == TABLE_LINK)
		size = sizeof(*e) + 224;
	for (i = 0; i < TRIES && state == ENTRY_TORN; i++) {
		err = fetch(r, at, size);
		if (err)
			return err;
		if (e->slot.state != ENTRY_VALID || sizeof(*e) + e->len <= size)
			state = entry_check(e, table, handle, block, name, len);
		else if (table == TABLE_NAME)	/* another one */
			state = ENTRY_MISS;
		else
			size = entry_size(table);
	}
	if (state != ENTRY_HIT)
		return 0;
	if (table == TABLE_DIR)
		r->listing = sizeof(*e) + e->len;
	*found = e;
	return 0;
}

/* Find an entry in the copy of the tables: NULL if the server has to be asked. */
static const struct entry *entry_copy(struct remote *r, int table, uint64_t handle,
				      uint64_t block, const void *name, size_t len)
{
	const char *at = (const char *)r->mirror + entry_at(&r->head, table, handle, block);
	uint64_t beat = __atomic_load_n(&r->mirror->beat, __ATOMIC_RELAXED);
	struct entry *e = (void *)r->landed;

	if (beat != r->beat) {
		r->beat = beat;
		r->beat_ns = tool_now();
	} else if (tool_now() - r->beat_ns > BEAT_NS) {
		return NULL;
	}
	copy_once(e, at, sizeof(*e));
	if (e->len > entry_size(table) - sizeof(*e))
		return NULL;
	copy_once(e->data, at + sizeof(*e), e->len);
	return entry_check(e, table, handle, block, name, len) == ENTRY_HIT ? e : NULL;
}

/* Returns errors of the transfer; *@error is that of the operation. */
static uint32_t operate(struct remote *r, uint32_t op, uint64_t handle, uint64_t offset,
			const void *payload, uint32_t len, uint32_t *error)
{
	int table = op_table(op);
	uint64_t block = table == TABLE_NAME ? name_hash(payload, len) : offset;
	uint64_t key = handle && table != TABLE_FS ? handle : r->head.root;
	const struct entry *e = NULL;
	uint32_t err = 0;

	*error = 0;
	r->len = 0;
	if (op == OP_NULL && r->scheme == SCHEME_DX) {
		r->hits++;
		return fetch(r, offsetof(struct head, beat), sizeof(uint64_t));
	}
	if (op == OP_WRITE && r->scheme != SCHEME_HY && r->seq - r->known < RMFS_DEPTH - 1)
		return write_late(r, handle, offset, payload, len);
	if (late_writes(r, handle))
		table = -1;
	if (table >= 0 && r->scheme == SCHEME_DX)
		err = entry_read(r, table, key, block, payload, len, &e);
	else if (table >= 0 && r->scheme == SCHEME_PUSH)
		e = entry_copy(r, table, key, block, payload, len);
	if (err || !e)
		return err ? err : ask(r, op, handle, offset, payload, len, error);
	r->hits++;
	r->data = e->data;
	r->len = e->len;
	return 0;
}

/* Convert the error of a transfer for clients. */
static uint32_t known_error(uint32_t err)
{
	switch (err) {
	case EACCES:
	case EDQUOT:
	case EPROTO:
	case ETIMEDOUT:
	case EUSERS:
		return err;
	default:
		return EHOSTDOWN;
	}
}

/* Perform an operation that op_check() admits: 0 or an errno, with the result in @r. */
uint32_t remote_op(struct remote *r, uint32_t op, uint64_t handle, uint64_t offset,
		   const void *payload, uint32_t len)
{
	uint32_t error = 0, err = 0;
	int tries;

	/* If the server was started again, import its new segments. */
	for (tries = 0; tries < 2; tries++) {
		err = r->open ? 0 : remote_open(r);
		if (err)
			break;
		err = operate(r, op, handle, offset, payload, len, &error);
		if (!err)
			break;
		late_known(r, NULL, known_error(err));
		remote_close(r);
		/* It may have been executed. */
		if (op == OP_WRITE)
			break;
	}
	r->late = late_pop(r, r->client);
	return err ? known_error(err) : error;
}
