// SPDX-License-Identifier: GPL-2.0-only
/*
 * lookup.c - look-ups on other nodes, which must not delay the calls of this node
 *
 * Copyright (C) 2026 The dd authors
 *
 * A node has one thread at a time that looks names up there: the one that has read the first call
 * for it. Further calls for that node are queued for this thread. So a node that does not answer
 * keeps one thread, and before the last thread goes there, another one is started that reads
 * calls.
 */
#include <errno.h>
#include <stdlib.h>

#include "cache.h"
#include "clerk.h"
#include "lookup.h"
#include "peer.h"
#include "../common/tool.h"

#define LOOKUP_NS	2500000000ull	/* less than the kernel waits for the answer */
#define USER_MAX	64u		/* look-ups of a user other than the clerk's */
#define NODE_MAX	256u		/* look-ups on a node */

/**
 * struct lookup - a call that is under way or queued
 * @call: the call
 * @end: time of CLOCK_MONOTONIC at which it fails
 * @user: the user that it is counted for
 * @next: of the same node
 */
struct lookup {
	struct dd_registrar_call call;
	uint64_t end;
	struct user *user;
	struct lookup *next;
};

/**
 * struct target - a node on which names are looked up
 * @first: the queue, without the look-up under way
 * @last: where the next one is linked
 * @count: look-ups, with that under way
 * @busy: a thread works for it
 *
 * Protected by clerk.lock, as is what follows.
 */
struct target {
	struct lookup *first, **last;
	unsigned int count;
	bool busy;
};

static struct target *targets;
static unsigned int threads;	/* that read calls, or look names up */
static unsigned int away;	/* that look names up */
static int (*start)(void);	/* starts another one that reads calls */

bool lookups_init(int (*serve_start)(void))
{
	start = serve_start;
	targets = calloc(clerk.nodes, sizeof(*targets));
	threads = 1;
	return targets;
}

/* Let a thread work for a node. Another one has to be left that reads calls. */
static int target_claim(struct target *t)
{
	int err;

	if (t->busy)
		return EBUSY;
	if (away + 1 == threads) {
		err = start();
		if (err)
			return err;
		threads++;
	}
	t->busy = true;
	t->last = &t->first;
	away++;
	return 0;
}

/* Queue a call. Returns 0 if the caller is to work for the node, EBUSY if another thread does. */
static int target_add(struct target *t, const struct dd_registrar_call *call)
{
	struct user *u = user_of(call->uid);
	struct lookup *l;
	int err;

	if (t->count >= NODE_MAX || (u->lookups >= USER_MAX && call->uid != clerk.uid))
		return EUSERS;
	l = calloc(1, sizeof(*l));
	if (!l)
		return ENOMEM;
	err = target_claim(t);
	if (err && err != EBUSY) {
		free(l);
		return err;
	}
	l->call = *call;
	l->end = tool_now() + LOOKUP_NS;
	l->user = u;
	u->lookups++;
	t->count++;
	*t->last = l;
	t->last = &l->next;
	return err;
}

/* The next look-up on a node, after @done; NULL: the caller does not work for it any more. */
static struct lookup *target_next(struct target *t, struct lookup *done)
{
	struct lookup *l;

	pthread_mutex_lock(&clerk.lock);
	if (done) {
		done->user->lookups--;
		t->count--;
	}
	l = t->first;
	if (l) {
		t->first = l->next;
		if (!t->first)
			t->last = &t->first;
	} else {
		t->busy = false;
		away--;
	}
	pthread_mutex_unlock(&clerk.lock);
	free(done);
	return l;
}

static void lookup_do(const struct lookup *l)
{
	const char *name = (const char *)l->call.name;
	struct record r = { 0 };
	int err = EHOSTUNREACH;

	/* Those before it have taken too long. */
	if (tool_now() < l->end)
		err = peer_find(l->call.node, name, l->end, &r);
	if (!err)
		cache_add(l->call.node, name, &r);
	answer(&l->call, err, l->call.node, err ? 0 : r.generation);
}

/* Look a name up on the node that the call names, and answer the call. */
void lookup(const struct dd_registrar_call *call)
{
	struct target *t = &targets[call->node];
	struct lookup *l = NULL;
	int err;

	pthread_mutex_lock(&clerk.lock);
	err = target_add(t, call);
	pthread_mutex_unlock(&clerk.lock);
	if (err && err != EBUSY)
		answer(call, err, 0, 0);
	while (!err && (l = target_next(t, l)))
		lookup_do(l);
}
