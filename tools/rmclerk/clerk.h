/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * clerk.h - the name clerk of a node
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMCLERK_CLERK_H
#define _RMCLERK_CLERK_H

#include <pthread.h>

#include "dd_mem.h"
#include "registry.h"

/* How names of other nodes are looked up: see rmclerk(8) */
enum clerk_mode { MODE_READ, MODE_WRITE, MODE_MIXED };

/**
 * struct clerk - the clerk
 * @h: handle
 * @head: the registry of this node; other nodes can only read it
 * @lock: protects the registry
 * @boxes: a mailbox for each node, which the clerk of that node can write at any time
 * @nodes: number of nodes
 * @mode: enum clerk_mode
 * @probes: records that MODE_MIXED reads before it asks the other clerk
 */
struct clerk {
	struct dd *h;
	struct registry_head *head;
	pthread_mutex_t lock;
	struct mailbox *boxes;
	uint32_t nodes;
	enum clerk_mode mode;
	unsigned int probes;
};

extern struct clerk clerk;

bool peers_init(void);
int peer_find(int node, const char *name, struct record *found);
void peer_answer(int node);

bool cache_find(int node, const char *name, struct record *found);
void cache_add(int node, const char *name, const struct record *r);
void cache_refresh(void);

#endif /* _RMCLERK_CLERK_H */
