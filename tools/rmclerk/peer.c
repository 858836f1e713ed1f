// SPDX-License-Identifier: GPL-2.0-only
/*
 * peer.c - look-ups in the registries of other nodes
 *
 * Copyright (C) 2026 The dd authors
 *
 * By reads of records, without action of the other clerk; or by one write that notifies
 * it, which it answers by a write; or by a few reads and then the write.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clerk.h"

#define DOWN_NS		500000000	/* a node that did not answer is not asked again for */
#define REPLY_NS	2000000000	/* and a clerk has this time to reply */
#define SPIN_NS		100000
#define TRIES		3		/* reads of a record that is being changed */

/**
 * struct peer - the clerk of another node
 * @lock: protects the rest; held while the clerk is asked or answered
 * @mem: its registry, or NULL
 * @head: the beginning of that
 * @down: until then it is not asked; as of CLOCK_MONOTONIC
 * @error: why
 * @seq: of the last request by a write
 */
struct peer {
	pthread_mutex_t lock;
	struct dd_mem *mem;
	struct registry_head head;
	int64_t down;
	int error;
	uint32_t seq;
};

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static struct peer *peers_new(void)
{
	struct peer *peers = calloc(clerk.head->mailboxes, sizeof(*peers));
	uint32_t i;

	for (i = 0; peers && i < clerk.head->mailboxes; i++)
		pthread_mutex_init(&peers[i].lock, NULL);
	return peers;
}

/* A clerk that waits for a reply does not wait with a lock that its own replies need. */
bool peers_init(void)
{
	clerk.peers = peers_new();
	clerk.askers = peers_new();
	return clerk.peers && clerk.askers;
}

static void peer_close(struct peer *p)
{
	if (p->mem)
		dd_unimport(p->mem);
	p->mem = NULL;
}

/* Import the registry of a node. Returns 0 or -errno. */
static int peer_open(struct peer *p, int node)
{
	static const unsigned char key[DD_KEY_SIZE] = { REGISTRY_KEY };
	int ret;

	if (p->mem)
		return 0;
	if (now() < p->down)
		return p->error;
	ret = dd_import(clerk.h, node, DD_KEY_WELL_KNOWN, key, DD_CAN_PUT | DD_CAN_GET, &p->mem);
	if (!ret)
		ret = dd_get(p->mem, &p->head, sizeof(p->head), 0);
	/* Of the other node: nothing of it is trusted. */
	if (!ret && (p->head.magic != REGISTRY_MAGIC || !p->head.slots ||
		     p->head.slots > REGISTRY_SLOTS_MAX || p->head.mailboxes > 65536 ||
		     registry_size(&p->head) > dd_mem_size(p->mem)))
		ret = -EPROTO;
	if (!ret)
		return 0;
	peer_close(p);
	p->error = ret == -ECONNREFUSED ? -EHOSTDOWN : ret;
	p->down = now() + (ret == -ECONNREFUSED ? 0 : DOWN_NS);
	return p->error;
}

static int record_read(struct peer *p, uint32_t slot, struct record *r)
{
	int ret, tries = 0;

	do {
		ret = dd_get(p->mem, r, sizeof(*r), registry_record(&p->head, slot));
	} while (!ret && !record_whole(r) && ++tries < TRIES);
	return ret;
}

/* Whether the record in a slot is that of a name: 1, 0 or -errno. */
static int record_match(struct peer *p, uint32_t slot, const struct record *r, const char *name)
{
	char full[REGISTRY_NAME];
	int ret;

	if (!record_whole(r) || !record_is(r, name))
		return 0;
	if (r->state == RECORD_SHORT)
		return 1;
	ret = dd_get(p->mem, full, sizeof(full), registry_name(&p->head, slot));
	return ret ? ret : !memcmp(full, name, sizeof(full));
}

/* By reads of at most @probes records. -EAGAIN: there are more. */
static int find_by_reads(struct peer *p, const char *name, uint32_t probes,
			 struct record *found)
{
	uint32_t slot = registry_hash(name, p->head.slots), n;
	int ret;

	for (n = 0; n < p->head.slots; n++) {
		if (n == probes)
			return -EAGAIN;
		ret = record_read(p, slot, found);
		if (ret)
			return ret;
		if (found->state == RECORD_EMPTY)
			return -ENOENT;
		ret = record_match(p, slot, found, name);
		if (ret)
			return ret < 0 ? ret : 0;
		slot = (slot + 1) % p->head.slots;
	}
	return -ENOENT;
}

static struct mailbox *mailbox(int node)
{
	return (struct mailbox *)((char *)clerk.head + registry_mailbox(clerk.head, node));
}

/* By a write that notifies the other clerk, which writes the reply. */
static int find_by_write(struct peer *p, int node, const char *name, struct record *found)
{
	const struct timespec pause = { .tv_nsec = 50000 };
	struct request request = { .seq = ++p->seq };
	struct reply *reply = &mailbox(node)->reply;
	int64_t begin = now();
	int ret;

	if ((uint32_t)dd_node(clerk.h) >= p->head.mailboxes)
		return -EPROTO;
	memcpy(request.name, name, sizeof(request.name));
	ret = dd_put(p->mem, &request, sizeof(request),
		     registry_mailbox(&p->head, dd_node(clerk.h)), DD_PUT_NOTIFY);
	if (ret)
		return ret;
	while (__atomic_load_n(&reply->seq, __ATOMIC_ACQUIRE) != request.seq) {
		if (now() - begin > REPLY_NS)
			return -EHOSTDOWN;
		if (now() - begin > SPIN_NS)
			nanosleep(&pause, NULL);
	}
	*found = reply->record;
	if (found->state == RECORD_EMPTY)
		return -ENOENT;
	return record_whole(found) && record_is(found, name) ? 0 : -EPROTO;
}

static int peer_ask(struct peer *p, int node, const char *name, struct record *found)
{
	int ret = peer_open(p, node);

	if (ret)
		return ret;
	if (clerk.mode != MODE_WRITE)
		ret = find_by_reads(p, name, clerk.mode == MODE_MIXED ? clerk.probes : UINT32_MAX,
				    found);
	else
		ret = -EAGAIN;
	if (ret == -EAGAIN)
		ret = find_by_write(p, node, name, found);
	return ret;
}

/* Look a name up on another node. Returns 0 or an errno. */
int peer_find(int node, const char *name, struct record *found)
{
	struct peer *p = &clerk.peers[node];
	int ret;

	pthread_mutex_lock(&p->lock);
	ret = peer_ask(p, node, name, found);
	if (ret && ret != -ENOENT)
		peer_close(p);
	/* The clerk has been started again since the last look-up. */
	if (ret == -ESTALE || ret == -EHOSTUNREACH) {
		ret = peer_ask(p, node, name, found);
		if (ret && ret != -ENOENT)
			peer_close(p);
	}
	pthread_mutex_unlock(&p->lock);
	return -ret;
}

/* Reply to the request that another node's clerk has written. */
void peer_answer(int node)
{
	struct peer *p = &clerk.askers[node];
	struct request request = mailbox(node)->request;
	struct reply reply = { .seq = request.seq };

	request.name[REGISTRY_NAME - 1] = 0;
	pthread_mutex_lock(&clerk.lock);
	if (registry_find(clerk.head, request.name, &reply.record))
		reply.record.state = RECORD_EMPTY;
	pthread_mutex_unlock(&clerk.lock);
	pthread_mutex_lock(&p->lock);
	/* The bytes are copied: they are not wired. */
	if (!peer_open(p, node) && (uint32_t)dd_node(clerk.h) < p->head.mailboxes &&
	    dd_put_async(p->mem, &reply, sizeof(reply),
			 registry_mailbox(&p->head, dd_node(clerk.h)) +
			 offsetof(struct mailbox, reply), 0) < 0)
		peer_close(p);
	pthread_mutex_unlock(&p->lock);
}
