// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache.c - names of other nodes that were looked up
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "peer.h"
#include "../common/tool.h"

#define CACHE_MAX	65536
#define REFRESH_NS	2500000000ull	/* for a name */

struct cached {
	int node;
	char name[REGISTRY_NAME];
	struct record record;
	struct cached *next;	/* in the list of all */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *tree;
static struct cached *all;
static unsigned int count;

static int compare(const void *a, const void *b)
{
	const struct cached *x = a, *y = b;

	return x->node != y->node ? (x->node > y->node) - (x->node < y->node) :
				    memcmp(x->name, y->name, sizeof(x->name));
}

static struct cached *cache_get(int node, const char *name)
{
	struct cached key = { .node = node }, **found;

	memcpy(key.name, name, sizeof(key.name));
	found = tfind(&key, &tree, compare);
	return found ? *found : NULL;
}

bool cache_find(int node, const char *name, struct record *found)
{
	struct cached *c;

	pthread_mutex_lock(&lock);
	c = cache_get(node, name);
	if (c)
		*found = c->record;
	pthread_mutex_unlock(&lock);
	return c;
}

/* Without memory or room, the name is looked up again the next time. */
void cache_add(int node, const char *name, const struct record *r)
{
	struct cached *c;

	pthread_mutex_lock(&lock);
	c = cache_get(node, name);
	if (!c && count < CACHE_MAX) {
		c = calloc(1, sizeof(*c));
		if (c) {
			c->node = node;
			memcpy(c->name, name, sizeof(c->name));
			if (tsearch(c, &tree, compare)) {
				c->next = all;
				all = c;
				count++;
			} else {
				free(c);
				c = NULL;
			}
		}
	}
	if (c)
		c->record = *r;
	pthread_mutex_unlock(&lock);
}

/* Look all names up again; those that have ended or changed are purged. */
void cache_refresh(void)
{
	struct cached *old, *c;
	struct record r;

	pthread_mutex_lock(&lock);
	old = all;
	all = NULL;
	count = 0;
	for (c = old; c; c = c->next)
		tdelete(c, &tree, compare);
	pthread_mutex_unlock(&lock);
	while ((c = old)) {
		old = c->next;
		if (!peer_find(c->node, c->name, tool_now() + REFRESH_NS, &r) &&
		    r.generation == c->record.generation)
			cache_add(c->node, c->name, &r);
		free(c);
	}
}
