// SPDX-License-Identifier: GPL-2.0-only
/*
 * server.c - rmfs serve: caches that clerks read, and answers to their requests
 *
 * One thread. A clerk is known by its mailbox. Its segment for answers ends with it, so the
 * server writes to each one every second and gives the mailbox of a clerk that is gone to the
 * next one.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rmfs.h"
#include "../common/tool.h"

#define BEAT_NS		1000000000
#define JOIN_BEATS	10	/* a clerk has this time to say its name */
#define FENCE_MS	1000

/**
 * struct member - a clerk
 * @rd: its segment
 * @joined: whether that is imported
 * @push: whether it has a copy of the tables
 * @seq: of its last request
 * @waiting: beats since it has taken the mailbox, until it joins
 */
struct member {
	rm_desc_t rd;
	bool joined;
	bool push;
	uint32_t seq;
	unsigned int waiting;
};

static char *base;
static struct head *head;
static struct layout layout;
static struct member members[RMFS_MAILBOXES];

static struct mailbox *mailbox(uint32_t i)
{
	return (struct mailbox *)(base + 4096) + i;
}

/* ---- clerks -------------------------------------------------------------------- */

static void member_leave(uint32_t i)
{
	struct member *m = &members[i];

	if (m->joined)
		rm_unimport(m->rd);
	*m = (struct member){ 0 };
	__atomic_store_n(&head->owners[i], 0, __ATOMIC_RELEASE);
}

/* Write to the segment of a clerk; bytes of this process that are not in a segment. */
static void member_write(uint32_t i, size_t off, const void *src, size_t len)
{
	struct member *m = &members[i];

	if (!m->joined)
		return;
	while (rm_write_block(m->rd, off, src, len, 0)) {
		if (errno == EAGAIN && (!rm_fence(m->rd, FENCE_MS) || errno == EINTR))
			continue;
		member_leave(i);
		return;
	}
}

/* Write an entry, or its flag only, into copies: of one clerk, or of all (-1). */
static void push(const struct entry *e, size_t len, int only)
{
	/* The entry is in pinned memory, from which the bytes would be taken later. */
	static uint64_t copy[(sizeof(*e) + RMFS_BLOCK) / 8];
	size_t off = MIRROR_TABLES + ((const char *)e - base - layout.tables);
	uint32_t i;

	for (i = 0; i < RMFS_MAILBOXES; i++) {
		if (!members[i].push || (only >= 0 && i != (uint32_t)only))
			continue;
		memcpy(copy, e, len);
		member_write(i, off, copy, len);
	}
}

/* ---- caches -------------------------------------------------------------------- */

/* A flag of 0 goes before changes of the entry, and to the copies. */
static void entry_invalidate(struct entry *e)
{
	__atomic_store_n(&e->flag, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	push(e, sizeof(e->flag), -1);
}

struct entry *cache_begin(enum rmfs_table table, uint64_t handle, uint64_t block)
{
	struct entry *e = (struct entry *)(base + entry_at(&layout, table, handle, block));

	if (e->flag)
		entry_invalidate(e);
	e->handle = handle;
	e->block = block;
	return e;
}

void cache_end(struct entry *e, uint32_t len)
{
	entry_end(e, len);
	push(e, sizeof(*e) + len, -1);
}

void cache_drop(bool (*dropped)(uint64_t handle))
{
	struct entry *e;
	uint32_t i;
	int t;

	for (t = 0; t < TABLE_FS; t++) {
		for (i = 0; i < layout.slots[t]; i++) {
			e = (struct entry *)(base + layout.at[t] + i * entry_size(t));
			if (e->flag && dropped(e->handle))
				entry_invalidate(e);
		}
	}
}

/* ---- answers -------------------------------------------------------------------- */

/* One write, whose last word is the number of the request. */
static void answer(uint32_t i, uint32_t error, const void *data, uint32_t len)
{
	static struct {
		uint8_t payload[RMFS_BLOCK];
		struct answer answer;
	} out __attribute__((aligned(8)));
	size_t pad = rmfs_pad(len);

	out.answer = (struct answer){ .error = error, .len = len, .seq = members[i].seq };
	if (len)
		memcpy(out.payload + RMFS_BLOCK - pad, data, len);
	member_write(i, offsetof(struct mirror, answer) - pad, out.payload + RMFS_BLOCK - pad,
		     pad + sizeof(out.answer));
}

static void hello(uint32_t i, const void *payload, uint32_t len)
{
	struct member *m = &members[i];
	struct hello h;
	uint32_t seq = m->seq;

	if (len != sizeof(h))
		return;
	memcpy(&h, payload, sizeof(h));
	h.name[RM_NAME_MAX] = 0;
	if (m->joined)
		rm_unimport(m->rd);
	*m = (struct member){ .seq = seq };
	if (rm_import(h.name, h.node, RM_WRITE, &m->rd)) {
		tool_warn("cannot answer a clerk on node %d: %s", h.node, strerror(errno));
		member_leave(i);
		return;
	}
	if ((size_t)rm_size(m->rd) < MIRROR_TABLES + (h.push ? layout.size - layout.tables : 0)) {
		rm_unimport(m->rd);
		member_leave(i);
		return;
	}
	m->joined = true;
	m->push = h.push;
	answer(i, 0, NULL, 0);
}

static void usage_answer(uint32_t i)
{
	struct rusage u;
	uint64_t ns;

	getrusage(RUSAGE_SELF, &u);
	ns = (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000ull +
	     (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000ull;
	answer(i, 0, &ns, sizeof(ns));
}

/* An operation whose result is in a table, after a load if need be. */
static void table_answer(uint32_t i, int table, const struct request *r, const char *name)
{
	uint64_t handle = r->handle && table != TABLE_FS ? r->handle : head->root;
	uint64_t block = table == TABLE_NAME ? name_hash(name, r->len) : r->offset;
	struct entry *e = (struct entry *)(base + entry_at(&layout, table, handle, block));
	uint32_t err = 0;

	if (entry_check(e, table, handle, block, name, r->len) != ENTRY_HIT)
		err = files_load(table, handle, block, name, r->len);
	else if (members[i].push)
		push(e, sizeof(*e) + e->len, i);
	answer(i, err, e->data, err ? 0 : e->len);
}

static void request(uint32_t i)
{
	struct mailbox *box = mailbox(i);
	struct request r = box->request;
	uint8_t *payload = box->payload + RMFS_BLOCK - rmfs_pad(r.len);
	struct member *m = &members[i];
	char name[RMFS_NAME + 1] = "";
	uint32_t err;
	int table;

	if (r.seq == m->seq || r.len > RMFS_BLOCK)
		return;
	m->seq = r.seq;
	if (r.op == OP_HELLO) {
		hello(i, payload, r.len);
		return;
	}
	if (r.op == OP_USAGE) {
		usage_answer(i);
		return;
	}
	/* A copy, which does not change after the check. */
	if (r.op == OP_LOOKUP && r.len <= RMFS_NAME)
		memcpy(name, payload, r.len);
	err = op_check(r.op, r.offset, r.op == OP_LOOKUP ? (void *)name : payload, r.len);
	table = op_table(r.op);
	if (err)
		answer(i, err, NULL, 0);
	else if (table >= 0)
		table_answer(i, table, &r, name);
	else if (r.op == OP_WRITE)
		answer(i, files_write(r.handle, r.offset, payload, r.len), NULL, 0);
	else
		answer(i, 0, NULL, 0);
}

static void beat(void)
{
	uint64_t beats = __atomic_add_fetch(&head->beat, 1, __ATOMIC_RELEASE);
	uint32_t i;

	files_revalidate();
	for (i = 0; i < RMFS_MAILBOXES; i++) {
		if (members[i].joined)
			member_write(i, offsetof(struct mirror, beat), &beats, sizeof(beats));
		else if (!head->owners[i])
			members[i].waiting = 0;
		else if (++members[i].waiting > JOIN_BEATS)
			member_leave(i);
	}
}

static void __attribute__((noreturn)) loop(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t next = tool_now() + BEAT_NS, now, i;
	struct rm_note note;

	for (;;) {
		now = tool_now();
		if (now >= next) {
			beat();
			next = tool_now() + BEAT_NS;
			continue;
		}
		if (poll(&p, 1, (next - now) / 1000000 + 1) < 1)
			continue;
		if (read(fd, &note, sizeof(note)) != sizeof(note))
			fail("cannot read notes", errno);
		i = (note.offset - 4096) / sizeof(struct mailbox);
		if (note.type == RM_ARRIVED && note.op == RM_OP_WRITE && note.offset >= 4096 &&
		    i < RMFS_MAILBOXES)
			request(i);
	}
}

/* ---- start ---------------------------------------------------------------------- */

static void cache_new(uint64_t size)
{
	uint64_t blocks = size / (sizeof(struct entry) + RMFS_BLOCK);
	struct head first = {
		.magic = RMFS_MAGIC,
		.slots = {
			[TABLE_ATTR] = 4 * blocks, [TABLE_NAME] = 4 * blocks, [TABLE_DATA] = blocks,
			[TABLE_LINK] = blocks / 8, [TABLE_DIR] = blocks / 4, [TABLE_FS] = 1,
		},
	};

	layout_of(&first, &layout);
	base = mmap(NULL, layout.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		fail("cannot allocate the caches", errno);
	head = (struct head *)base;
	*head = first;
}

int serve(int argc, char **argv)
{
	const char *name = "rmfs";
	uint64_t size = 8 << 20;
	uint32_t err;
	int opt, fd;
	rm_seg_t seg;

	while ((opt = getopt(argc, argv, "n:s:")) != -1) {
		switch (opt) {
		case 'n':
			name = optarg;
			break;
		case 's':
			size = tool_number("-s", optarg, 1 << 17,
					   (uint64_t)RMFS_DATA_SLOTS * RMFS_BLOCK);
			break;
		default:
			tool_usage("wrong option");
		}
	}
	if (optind + 1 != argc)
		tool_usage("serve needs one directory");
	tool_raise_memlock();
	stop_quietly();
	cache_new(size);
	err = files_open(argv[optind], &head->root);
	if (err)
		fail(argv[optind], err);
	files_revalidate();
	seg = rm_export(name, base, layout.size, RM_ALL, RM_CONDITIONAL);
	fd = seg < 0 ? -1 : rm_fd(seg);
	if (fd < 0)
		fail(name, errno);
	printf("rmfs: ready\n");
	fflush(stdout);
	loop(fd);
}
