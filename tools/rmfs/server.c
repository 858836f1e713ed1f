// SPDX-License-Identifier: GPL-2.0-only
/*
 * server.c - rmfs serve: caches that clerks read, and answers to their requests
 *
 * One thread serves. For each clerk that joins, another thread imports the segment of the
 * clerk, whose node may not answer. A clerk is identified by its mailbox. Its segment for
 * answers ends with the clerk, so the server writes to all of them every second, and frees the
 * mailbox of a clerk whose segment has ended. Clerks can only read the tables. They can write
 * to the inbox at any time, so a request is copied before it is checked.
 *
 * The server sweeps all mailboxes after each note, and every 10 ms while a clerk may make
 * requests without notification. The requests in a mailbox are executed in the order of their
 * numbers. The number is the last word of a request: when it has arrived, so has the rest.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cache.h"
#include "common.h"
#include "files.h"
#include "remote.h"
#include "server.h"
#include "table.h"
#include "../common/tool.h"

#define BEAT_NS		1000000000
#define CHECKS		4	/* files that are looked at before a request, or in a millisecond */
#define JOIN_BEATS	10	/* a clerk has this time to say its name */
#define SWEEP_MS	10
#define NOTES		64	/* read at once, at most */

enum hold { HOLD_NONE, HOLD_IMPORTS, HOLD_SEGMENT, HOLD_FAILED };

/**
 * struct member - a clerk
 * @hello: its first request
 * @hold: state of its segment; with HOLD_IMPORTS a thread uses @hello and @rd, and sets the next
 *	state
 * @rd: its segment, with HOLD_SEGMENT
 * @joined: it may make requests
 * @gone: the clerk has ended: the next sweep executes its last requests and frees the mailbox
 * @scheme: enum scheme; with push it has a copy of the tables
 * @seq: number of its last request
 * @errors: of requests without an answer, see struct header
 * @waiting: beats since it has taken the mailbox, until it joins
 */
struct member {
	struct hello hello;
	enum hold hold;
	rm_desc_t rd;
	bool joined;
	bool gone;
	enum scheme scheme;
	uint32_t seq;
	uint16_t errors[RMFS_DEPTH];
	unsigned int waiting;
};

static struct head *head;	/* of the segment with the tables */
static struct inbox *inbox;
static struct member members[RMFS_MAILBOXES];
static volatile sig_atomic_t stopping;

/* ---- clerks -------------------------------------------------------------------- */

static void member_leave(uint32_t i)
{
	struct member *m = &members[i];

	if (m->hold == HOLD_SEGMENT)
		rm_unimport(m->rd);
	*m = (struct member){ 0 };
	/* The next clerk must not have these executed for it. */
	memset(inbox->boxes[i], 0, sizeof(inbox->boxes[i]));
	__atomic_store_n(&inbox->owners[i], 0, __ATOMIC_RELEASE);
}

/* Write an entry, or its state only, into copies: of one clerk, or of all (-1). */
static void push(const struct entry *e, size_t len, int only)
{
	/* From the entry itself, which is pinned, the bytes could be sent later. */
	static uint64_t copy[(sizeof(*e) + RMFS_BLOCK) / 8];
	uint32_t i;

	for (i = 0; i < RMFS_MAILBOXES; i++) {
		struct member *m = &members[i];

		if (!m->joined || m->gone || m->scheme != SCHEME_PUSH ||
		    (only >= 0 && i != (uint32_t)only))
			continue;
		memcpy(copy, e, len);
		m->gone = segment_write(m->rd, (const char *)e - (const char *)head, copy, len, 0);
	}
}

static void push_all(const struct entry *e, size_t len)
{
	push(e, len, -1);
}

/* ---- requests ------------------------------------------------------------------- */

static void answer(uint32_t i, uint32_t error, const void *data, uint32_t len)
{
	struct member *m = &members[i];
	struct header h = { .op = error, .len = error ? 0 : len, .seq = m->seq };

	memcpy(h.errors, m->errors, sizeof(h.errors));
	if (!m->gone)
		m->gone = message_write(m->rd, offsetof(struct mirror, answer), h, data, 0);
}

static void *member_import(void *arg)
{
	struct member *m = arg;
	enum hold hold = HOLD_SEGMENT;

	if (rm_import(m->hello.name, m->hello.node, RM_WRITE, &m->rd)) {
		tool_warn("cannot answer a clerk on node %d: %s", m->hello.node, strerror(errno));
		hold = HOLD_FAILED;
	}
	__atomic_store_n(&m->hold, hold, __ATOMIC_RELEASE);
	return NULL;
}

/* Import the segment of a clerk that has taken a mailbox and has written its name there. */
static void member_hello(uint32_t i)
{
	const struct message *box = inbox->boxes[i];
	struct member *m = &members[i];
	pthread_attr_t attr;
	pthread_t thread;
	struct header h;
	sigset_t all;

	if (!__atomic_load_n(&box->h.seq, __ATOMIC_ACQUIRE))
		return;
	copy_once(&h, &box->h, sizeof(h));
	if (h.op != OP_HELLO || h.len != sizeof(m->hello))
		return;
	copy_once(&m->hello, box->payload + RMFS_BLOCK - rmfs_pad(h.len), h.len);
	m->hello.name[RM_NAME_MAX] = 0;
	m->seq = h.seq;
	m->hold = HOLD_IMPORTS;
	/* Signals interrupt poll(). */
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setsigmask_np(&attr, &all);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	errno = pthread_create(&thread, &attr, member_import, m);
	if (errno) {
		tool_warn("cannot answer a clerk: %s", strerror(errno));
		m->hold = HOLD_FAILED;
	}
	pthread_attr_destroy(&attr);
}

/* Let a clerk join. Returns whether its segment is still being imported. */
static bool member_join(uint32_t i)
{
	struct member *m = &members[i];

	if (m->hold == HOLD_NONE)
		member_hello(i);
	switch (__atomic_load_n(&m->hold, __ATOMIC_ACQUIRE)) {
	case HOLD_IMPORTS:
		return true;
	case HOLD_FAILED:
		m->gone = true;
		break;
	case HOLD_SEGMENT:
		m->joined = true;
		m->scheme = m->hello.scheme;
		m->gone = (size_t)rm_size(m->rd) <
			  (m->scheme == SCHEME_PUSH ? tables_size(head) : RMFS_TABLES);
		/* The clerk may have read the tables of a former server. */
		answer(i, m->hello.root == head->root ? 0 : ESTALE, NULL, 0);
		break;
	case HOLD_NONE:
		break;
	}
	return false;
}

/* An operation whose result is in a table, after a load if need be. */
static void table_answer(uint32_t i, int table, const struct header *h, const char *name)
{
	uint64_t handle = h->handle && table != TABLE_FS ? h->handle : head->root;
	uint64_t block = table == TABLE_NAME ? name_hash(name, h->len) : h->offset;
	struct entry *e = cache_entry(table, handle, block);
	uint32_t err = 0;

	if (entry_check(e, table, handle, block, name, h->len) != ENTRY_HIT)
		err = files_load(table, handle, block, name, h->len);
	else
		push(e, sizeof(*e) + e->len, i);
	answer(i, err, e->data, e->len);
}

/* Execute the next request of a clerk: false if there is none. */
static bool request(uint32_t i)
{
	static char payload[RMFS_BLOCK + 1];
	struct member *m = &members[i];
	const struct message *box = &inbox->boxes[i][(m->seq + 1) % RMFS_DEPTH];
	struct header h;
	uint32_t err;

	if (__atomic_load_n(&box->h.seq, __ATOMIC_ACQUIRE) != m->seq + 1)
		return false;
	m->seq++;
	copy_once(&h, &box->h, sizeof(h));
	if (h.len > RMFS_BLOCK) {
		h.op = OP_CLIENTS;	/* no operation */
		h.len = 0;
	}
	copy_once(payload, box->payload + RMFS_BLOCK - rmfs_pad(h.len), h.len);
	payload[h.len] = 0;
	err = op_check(h.op, h.offset, payload, h.len);
	if (!err && h.op == OP_WRITE)
		err = files_write(h.handle, h.offset, payload, h.len);
	m->errors[m->seq % RMFS_DEPTH] = err;
	if (h.late)
		return true;
	files_flush();
	if (!err && op_table(h.op) >= 0)
		table_answer(i, op_table(h.op), &h, payload);
	else
		answer(i, err, NULL, 0);
	return true;
}

/* Execute all requests. Returns whether there may be further ones without notification. */
static bool sweep(void)
{
	bool late = false;
	uint32_t i, n;

	for (i = 0; i < RMFS_MAILBOXES; i++) {
		struct member *m = &members[i];

		if (!m->joined && __atomic_load_n(&inbox->owners[i], __ATOMIC_RELAXED))
			late |= member_join(i);
		for (n = 0; m->joined && n < RMFS_DEPTH && request(i); n++)
			;
		if (m->gone)
			member_leave(i);
		late |= m->joined && m->scheme != SCHEME_HY;
	}
	files_flush();
	return late;
}

static void beat(void)
{
	uint64_t beats = __atomic_add_fetch(&head->beat, 1, __ATOMIC_RELEASE);
	uint32_t i;

	for (i = 0; i < RMFS_MAILBOXES; i++) {
		struct member *m = &members[i];

		/* A clerk that missed a push stays gone, even if it can be reached again. */
		if (m->joined && !m->gone)
			m->gone = segment_write(m->rd, offsetof(struct mirror, beat), &beats,
						sizeof(beats), 0);
		else if (!m->joined && m->hold == HOLD_NONE)
			m->gone = __atomic_load_n(&inbox->owners[i], __ATOMIC_RELAXED) &&
				  ++m->waiting > JOIN_BEATS;
	}
}

static void stop(int sig)
{
	stopping = sig;
}

/* Serve until a signal, and execute all requests that were written before it. */
static void loop(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t next = tool_now() + BEAT_NS, now;
	struct rm_note notes[NOTES];
	uint32_t check = 0;	/* file that is looked at next, if any */
	bool late;

	for (;;) {
		now = tool_now();
		if (now >= next) {
			beat();
			now = tool_now();
			next = now + BEAT_NS;
			check = check ? check : 1;
		}
		late = sweep();
		if (stopping) {
			/* A request that came before the signal may have missed that sweep. */
			sweep();
			return;
		}
		if (check)
			check = files_check(check, CHECKS);
		if (poll(&p, 1, check ? 1 : late ? SWEEP_MS : (next - now) / 1000000 + 1) == 1 &&
		    read(fd, notes, sizeof(notes)) < (ssize_t)sizeof(*notes))
			fail("cannot read notes", errno);
	}
}

/* ---- start ---------------------------------------------------------------------- */

int serve(int argc, char **argv)
{
	const char *name = "rmfs";
	char requests[RM_NAME_MAX + 1];
	uint64_t size = 8 << 20;
	rm_seg_t seg, tables;
	uint32_t err;
	int opt, fd;

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
			tool_bad_option(argv);
		}
	}
	if (optind + 1 != argc)
		tool_usage("serve needs one directory");
	name_make(requests, INBOX, name);
	tool_raise_memlock();
	/* A client cannot end the server by a write beyond the limit of its files. */
	signal(SIGXFSZ, SIG_IGN);
	head = cache_new(size, push_all);
	inbox = memory(rmfs_pages(sizeof(*inbox)));
	err = files_open(argv[optind], &head->root);
	if (err)
		fail(argv[optind], err);
	files_check(1, UINT32_MAX);
	/* The tables last: a clerk that finds them finds the inbox. */
	seg = rm_export(requests, inbox, rmfs_pages(sizeof(*inbox)), RM_WRITE | RM_CAS,
			RM_CONDITIONAL);
	fd = seg < 0 ? -1 : rm_fd(seg);
	tables = fd < 0 ? -1 : rm_export(name, head, tables_size(head), RM_READ, RM_NEVER);
	if (tables < 0)
		fail(name, errno);
	signal(SIGTERM, stop);
	signal(SIGINT, stop);
	printf("rmfs: ready\n");
	fflush(stdout);
	loop(fd);
	return TOOL_OK;
}
