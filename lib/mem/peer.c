// SPDX-License-Identifier: LGPL-2.1-only
/*
 * peer.c - processes that know each other by node and pid
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "handle.h"
#include "peer.h"
#include "session.h"
#include "shared.h"
#include "upcall.h"
#include "wait.h"

#define ASK_NS		500000000	/* between questions for a process that is not known yet */
#define FAILURES_MAX	6		/* a server that is started again answers before */

enum { NO_QUESTION = -1, ASKING = -2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of what follows */
static struct dd *present;	/* handle by which this process is known */
static int own_pid;
static struct ddi_peer *peers;

/* The records are the parent's. */
static void in_child(void)
{
	struct ddi_peer *p;

	pthread_mutex_init(&lock, NULL);
	present = NULL;
	while ((p = peers)) {
		peers = p->next;
		if (p->question >= 0)
			close(p->question);
		free(p);
	}
}

DD_API void ddi_key(void *key, int pid, uint32_t number, char kind)
{
	unsigned char *k = key;

	memset(k, 0, DD_KEY_SIZE);
	for (int i = 0; i < 4; i++) {
		k[i] = (uint32_t)pid >> 8 * i;
		k[4 + i] = number >> 8 * i;
	}
	k[8] = kind;
}

/*
 * Export a word that each importer of a buffer imports first: if that is refused, there is no such
 * process, and when it ends, the process has ended.
 */
static int presence_export(struct dd *h)
{
	struct dd_export_attr attr = {
		.size = sizeof(attr), .len = sizeof(uint32_t), .key_class = DD_KEY_BUFFER,
		.rights = DD_CAN_GET, .notify = DD_NOTIFY_NEVER, .users = DD_FOR_ANY,
		.importers = 65536, .flags = DD_EXPORT_NODIRECT,
	};
	uint64_t segment;
	int ret;

	own_pid = dd_pid(h);
	if (own_pid < 0)
		return own_pid;
	ret = dd_alloc(h, attr.len, &attr.addr);
	if (ret)
		return ret;
	ddi_key(attr.key, own_pid, 0, DDI_KEY_PRESENCE);
	ret = dd_export(h, &attr, &segment);
	if (ret)
		dd_free(h, attr.addr);
	return ret;
}

static int present_make(struct dd **h)
{
	static bool watching;
	int ret = ddi_shared(h);

	ddi_at_fork(&watching, in_child);
	if (!ret)
		ret = presence_export(*h);
	if (!ret) {
		ddi_session_enter();
		ddi_store_release(&present, *h);
	}
	return ret;
}

DD_API int ddi_present(struct dd **h, int *pid)
{
	int ret = 0;

	*h = ddi_load_acquire(&present);
	if (!*h) {
		ddi_upcall_enter();
		pthread_mutex_lock(&lock);
		*h = present;
		if (!*h)
			ret = present_make(h);
		pthread_mutex_unlock(&lock);
		ddi_upcall_leave();
	}
	if (pid)
		*pid = own_pid;
	return ret;
}

static int answer(struct ddi_peer *p, int ret)
{
	if (ret == -EAGAIN || ret == -ESRCH)
		return ret;
	p->failures = ret ? p->failures + 1 : 0;
	return p->failures > FAILURES_MAX ? -ESRCH : -EAGAIN;
}

/*
 * A process that was just started is not known to importers. In a session the server knows whether it
 * exists; no call waits for its answer. -EAGAIN: it may exist. -ESRCH: it does not.
 */
static int peer_ask(struct ddi_peer *p)
{
	int fd = __atomic_exchange_n(&p->question, ASKING, __ATOMIC_ACQ_REL), ret = -EAGAIN;

	if (fd == ASKING)
		return -EAGAIN;
	if (fd != NO_QUESTION) {
		ret = ddi_session_answer(fd);
		if (ret != -EAGAIN)
			fd = NO_QUESTION;
		ret = answer(p, ret);
	} else if (ddi_now() - p->asked > ASK_NS) {
		ddi_store(&p->asked, ddi_now());
		fd = ddi_session_ask(p->node, p->pid);
		if (fd < 0)
			ret = answer(p, -EHOSTUNREACH);
	}
	ddi_store_release(&p->question, fd);
	return ret;
}

static int presence_begin(struct ddi_peer *p)
{
	struct dd_import_attr attr = {
		.size = sizeof(attr), .node = p->node, .key_class = DD_KEY_BUFFER,
		.rights = DD_CAN_GET, .depth = 1,
		.flags = p->asked ? DD_IMPORT_WHEN_EXPORTED : 0,
	};

	ddi_key(attr.key, p->pid, 0, DDI_KEY_PRESENCE);
	return dd_import_begin(p->h, &attr, &p->presence);
}

DD_API int ddi_peer_state(struct ddi_peer *p)
{
	int ret = dd_import_wait(p->presence, 0);

	if (ret == -EAGAIN || ret == -ETIMEDOUT || ret == -EINTR)
		return ddi_load(&p->asked) ? peer_ask(p) : -EAGAIN;
	return ret == -ESTALE ? -ESRCH : ret;
}

/* A process that has ended may have given its number to another one. */
static struct ddi_peer *peer_find(int node, int pid)
{
	struct ddi_peer *p = peers;
	int state;

	for (; p; p = p->next) {
		if (p->node != node || p->pid != pid)
			continue;
		state = ddi_peer_state(p);
		if (!state || state == -EAGAIN)
			return p;
	}
	return NULL;
}

static int peer_new(int node, int pid, struct ddi_peer **new)
{
	struct ddi_peer *p = calloc(1, sizeof(*p));
	int ret;

	if (!p)
		return -ENOMEM;
	*p = (struct ddi_peer){ .h = present, .node = node, .pid = pid, .question = NO_QUESTION,
				.lock = PTHREAD_MUTEX_INITIALIZER, .next = peers };
	if (ddi_session())
		peer_ask(p);
	if (p->question == NO_QUESTION)
		p->asked = 0;
	ret = presence_begin(p);
	if (ret) {
		if (p->question >= 0)
			close(p->question);
		free(p);
		return ret;
	}
	peers = p;
	*new = p;
	return 0;
}

DD_API int ddi_peer_get(int node, int pid, struct ddi_peer **peer)
{
	int ret = 0;

	pthread_mutex_lock(&lock);
	*peer = peer_find(node, pid);
	if (!*peer)
		ret = peer_new(node, pid, peer);
	if (!ret)
		(*peer)->users++;
	pthread_mutex_unlock(&lock);
	return ret;
}

DD_API void ddi_peer_put(struct ddi_peer *p)
{
	struct ddi_peer **link = &peers;

	pthread_mutex_lock(&lock);
	if (!--p->users) {
		while (*link != p)
			link = &(*link)->next;
		*link = p->next;
		dd_unimport(p->presence);
		if (p->question >= 0)
			close(p->question);
		free(p);
	}
	pthread_mutex_unlock(&lock);
}

struct ddi_peer *ddi_peer_next(struct ddi_peer *p)
{
	struct ddi_peer *next;

	pthread_mutex_lock(&lock);
	next = p ? p->next : peers;
	if (next)
		next->users++;
	pthread_mutex_unlock(&lock);
	if (p)
		ddi_peer_put(p);
	return next;
}
