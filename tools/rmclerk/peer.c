// SPDX-License-Identifier: GPL-2.0-only
/*
 * peer.c - look-ups in the registries of other nodes
 *
 * Copyright (C) 2026 The dd authors
 *
 * Three ways: reads of records, without action of the other clerk; one write that notifies the
 * other clerk, which answers by a write; or a few reads and then the write. No call waits for
 * another node longer than a time limit.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/random.h>

#include "clerk.h"
#include "peer.h"
#include "../common/tool.h"

#define DOWN_NS		500000000	/* what did not answer is not asked again for */
#define REPLY_NS	2000000000	/* a clerk has this time to reply */
#define SPIN_NS		100000
#define TRIES		3		/* reads of a record that is being changed */
#define BATCH		8u		/* records in a read: it takes hardly longer than one */

/**
 * struct peer - a segment of the clerk of another node
 * @lock: protects the rest; held during a look-up by the thread that works for the node, see
 *	lookup.c, or the one that refreshes the cache. Replies are of one thread and do not need it
 * @mem: the segment, or NULL
 * @head: the beginning of a registry
 * @down: time of CLOCK_MONOTONIC until which no request is made, because of @error
 * @error: error of the last request
 * @end: time of CLOCK_MONOTONIC at which the look-up under way fails
 * @seq: number of the last request by a write. The first one is random, so that no reply to an
 *	earlier clerk of this node has the number of a request.
 * @io: takes what is read. The kernel may store to it until @mem is closed
 */
struct peer {
	pthread_mutex_t lock;
	struct dd_mem *mem;
	struct registry_head head;
	uint64_t down;
	int error;
	uint64_t end;
	uint32_t seq;
	char io[BATCH * sizeof(struct record)];
};

_Static_assert(sizeof(struct registry_head) <= sizeof(((struct peer *)0)->io) &&
	       REGISTRY_NAME <= sizeof(((struct peer *)0)->io), "all that is read");

/*
 * Indexed by node. Requests and replies have an import of the mailboxes each: a request holds
 * the lock of its import until the reply comes, and must not delay replies to other clerks.
 */
static struct peer *registries, *requests, *replies;

bool peers_init(void)
{
	uint32_t i;

	registries = calloc(3 * (size_t)clerk.nodes, sizeof(*registries));
	for (i = 0; registries && i < 3 * clerk.nodes; i++) {
		pthread_mutex_init(&registries[i].lock, NULL);
		/* Does not wait for entropy after the start of the machine. */
		if (getrandom(&registries[i].seq, sizeof(uint32_t), GRND_INSECURE) < 0)
			return false;
		/* The next number is not 0, as that of an empty mailbox is. */
		registries[i].seq >>= 1;
	}
	requests = registries + clerk.nodes;
	replies = requests + clerk.nodes;
	return registries;
}

static void peer_close(struct peer *p)
{
	if (p->mem)
		dd_unimport(p->mem);
	p->mem = NULL;
}

static int64_t peer_left(const struct peer *p)
{
	int64_t left = p->end - tool_now();

	return left > 0 ? left : 0;
}

/* Read from a segment within the time limit. Returns 0 or -errno. */
static int peer_get(struct peer *p, void *to, size_t len, uint64_t offset)
{
	int64_t ret = dd_get_async(p->mem, p->io, len, offset, 0);

	if (ret > 0)
		ret = dd_wait(p->mem, ret, peer_left(p));
	if (!ret)
		memcpy(to, p->io, len);
	return ret == -ETIMEDOUT || ret == -EAGAIN ? -EHOSTDOWN : ret;
}

static int peer_import(struct peer *p, int node, bool registry, int list)
{
	struct dd_import_attr attr = {
		.size = sizeof(attr), .node = node, .key_class = DD_KEY_WELL_KNOWN,
		.key = { registry ? REGISTRY_KEY : MAILBOXES_KEY },
		.rights = registry ? DD_CAN_GET : DD_CAN_PUT, .list = list,
	};

	return dd_import_begin(clerk.h, &attr, &p->mem);
}

/* Import a segment of a node. Returns 0 or -errno. */
static int peer_open(struct peer *p, int node)
{
	bool registry = p < requests;
	int ret;

	if (p->mem)
		return 0;
	if (tool_now() < p->down)
		return p->error;
	ret = peer_import(p, node, registry, 0);
	if (!ret)
		ret = dd_import_wait(p->mem, peer_left(p));
	if (ret == -ETIMEDOUT || ret == -EAGAIN)
		ret = -EHOSTUNREACH;
	if (!ret && registry)
		ret = peer_get(p, &p->head, sizeof(p->head), 0);
	/* The other node has written it: do not trust it. */
	if (!ret && registry && (p->head.magic != REGISTRY_MAGIC || !p->head.slots ||
				 p->head.slots > REGISTRY_SLOTS_MAX ||
				 registry_size(&p->head) > dd_mem_size(p->mem)))
		ret = -EPROTO;
	if (!ret)
		return 0;
	peer_close(p);
	p->error = ret == -ECONNREFUSED ? -EHOSTDOWN : ret;
	p->down = tool_now() + (ret == -ECONNREFUSED ? 0 : DOWN_NS);
	return p->error;
}

static int record_read(struct peer *p, uint32_t slot, struct record *r)
{
	int ret, tries = 0;

	do {
		ret = peer_get(p, r, sizeof(*r), registry_record(&p->head, slot));
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
	if (r->slot.state == RECORD_SHORT)
		return 1;
	ret = peer_get(p, full, sizeof(full), registry_name(&p->head, slot));
	return ret ? ret : !memcmp(full, name, sizeof(full));
}

/* Records of the next read: at most as many as are left to probe, and up to the last slot. */
static uint32_t batch_size(uint32_t probes, uint32_t slots)
{
	uint32_t count = probes < BATCH ? probes : BATCH;

	return slots < count ? slots : count;
}

/* Find a name by reads. -EAGAIN: the limit of reads was reached before the end. */
static int find_by_reads(struct peer *p, const char *name, struct record *found)
{
	uint32_t slot = registry_hash(&p->head, name), n, i = 0, count = 0;
	uint32_t probes = clerk.mode == MODE_MIXED ? clerk.probes : UINT32_MAX;
	struct record batch[BATCH];
	uint64_t begin = tool_now();
	int ret = 0;

	for (n = 0; n < p->head.slots; n++) {
		/* A time limit, too: the other node may have forged the number of slots. */
		if (n == probes || tool_now() - begin > REPLY_NS)
			return -EAGAIN;
		if (i == count) {
			i = 0;
			count = batch_size(probes - n, p->head.slots - slot);
			ret = peer_get(p, batch, count * sizeof(*batch),
				       registry_record(&p->head, slot));
		}
		*found = batch[i++];
		if (!ret && !record_whole(found))
			ret = record_read(p, slot, found);
		if (ret)
			return ret;
		if (found->slot.state == RECORD_EMPTY)
			return -ENOENT;
		ret = record_match(p, slot, found, name);
		if (ret)
			return ret < 0 ? ret : 0;
		slot = (slot + 1) % p->head.slots;
	}
	return -ENOENT;
}

/*
 * Take the record of a reply. Clerks of third nodes can write here, too, also between the stores
 * of the clerk that was asked, but do not know the secret.
 */
static bool reply_fetch(const struct reply *reply, const struct request *request,
		       struct record *found)
{
	if (__atomic_load_n(&reply->seq, __ATOMIC_ACQUIRE) != request->seq)
		return false;
	copy_once(found, &reply->record, sizeof(*found));
	return __atomic_load_n(&reply->check, __ATOMIC_RELAXED) ==
	       registry_check(found, request->secret);
}

/* Find a name by a write that notifies the other clerk, which writes the reply. */
static int find_by_write(struct peer *p, const char *name, struct record *found)
{
	const struct timespec pause = { .tv_nsec = 50000 };
	struct reply *reply = &clerk.boxes[p - requests].reply;
	struct request request = { .seq = ++p->seq };
	uint64_t begin = tool_now();
	int64_t ret;

	if (getrandom(&request.secret, sizeof(request.secret), GRND_INSECURE) < 0)
		return -errno;
	memcpy(request.name, name, sizeof(request.name));
	/* @request is not wired, so its bytes are copied before this returns. */
	ret = dd_put_async(p->mem, &request, sizeof(request),
			   dd_node(clerk.h) * sizeof(struct mailbox), DD_PUT_NOTIFY, 0);
	if (ret < 0)
		return ret;
	while (!reply_fetch(reply, &request, found)) {
		if (tool_now() - begin > REPLY_NS || !peer_left(p)) {
			/* Threads that wait for @p->lock must not wait as long: they fail at once. */
			p->down = tool_now() + DOWN_NS;
			p->error = -EHOSTDOWN;
			return p->error;
		}
		if (tool_now() - begin > SPIN_NS)
			nanosleep(&pause, NULL);
		else
			sched_yield();
	}
	if (found->slot.state == RECORD_EMPTY)
		return -ENOENT;
	return record_whole(found) && record_is(found, name) ? 0 : -EPROTO;
}

/* Look a name up with a segment of another node. Returns 0 or -errno. */
static int peer_ask(struct peer *p, int node, const char *name, uint64_t end,
		    struct record *found, int (*find)(struct peer *, const char *, struct record *))
{
	int ret, tries;

	pthread_mutex_lock(&p->lock);
	p->end = end;
	for (tries = 0; tries < 2; tries++) {
		ret = peer_open(p, node);
		if (!ret)
			ret = find(p, name, found);
		if (!ret || ret == -ENOENT || ret == -EAGAIN)
			break;
		peer_close(p);
		/* The clerk may have been started again since the last look-up. */
		if (ret != -ESTALE && ret != -EHOSTUNREACH)
			break;
	}
	pthread_mutex_unlock(&p->lock);
	return ret;
}

/* Look a name up on another node. Returns 0 or an errno. */
int peer_find(int node, const char *name, uint64_t end, struct record *found)
{
	int ret = -EAGAIN;

	if (clerk.mode != MODE_WRITE)
		ret = peer_ask(&registries[node], node, name, end, found, find_by_reads);
	if (ret == -EAGAIN)
		ret = peer_ask(&requests[node], node, name, end, found, find_by_write);
	return -ret;
}

/*
 * Import the mailboxes of a node for replies. Returns 0; -EAGAIN if that is under way: its end
 * is a note; or another -errno.
 */
static int reply_open(struct peer *p, int node)
{
	int ret;

	if (!p->mem && tool_now() < p->down)
		return p->error;
	ret = p->mem ? 0 : peer_import(p, node, false, clerk.list);
	if (!ret && !dd_mem_size(p->mem))
		ret = dd_import_wait(p->mem, 0);
	if (ret && ret != -EAGAIN) {
		p->error = ret;
		p->down = tool_now() + DOWN_NS;
	}
	return ret;
}

/*
 * Reply to the request that another node's clerk has written. Replies to other clerks are made by
 * the same thread, so this one does not wait.
 */
void peer_answer(int node)
{
	size_t at = dd_node(clerk.h) * sizeof(struct mailbox) + offsetof(struct mailbox, reply);
	struct peer *p = &replies[node];
	struct request request;
	struct reply reply = { 0 };
	int64_t ret;
	int tries;

	copy_once(&request, &clerk.boxes[node].request, sizeof(request));
	request.name[REGISTRY_NAME - 1] = 0;
	reply.seq = request.seq;
	pthread_mutex_lock(&clerk.lock);
	if (registry_find(clerk.head, request.name, &reply.record))
		reply.record.slot.state = RECORD_EMPTY;
	pthread_mutex_unlock(&clerk.lock);
	reply.check = registry_check(&reply.record, request.secret);
	/* The other clerk may have been started again since the last reply. */
	for (tries = 0; tries < 2; tries++) {
		ret = reply_open(p, node);
		/* @reply is not wired, so its bytes are copied before this returns. */
		if (!ret)
			ret = dd_put_async(p->mem, &reply, sizeof(reply), at, 0, 0);
		if (ret >= 0 || ret == -EAGAIN || ret == -EBUSY)
			return;
		peer_close(p);
	}
}
