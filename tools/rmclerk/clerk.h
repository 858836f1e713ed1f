/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * clerk.h - the name clerk of a node
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMCLERK_CLERK_H
#define _RMCLERK_CLERK_H

#include <pthread.h>
#include <linux/dd_mem.h>

#include "dd_mem.h"
#include "registry.h"

/* How names of other nodes are looked up: see rmclerk(8) */
enum clerk_mode { MODE_READ, MODE_WRITE, MODE_MIXED };

/**
 * struct clerk - the clerk
 * @h: handle
 * @head: the registry of this node; other nodes can only read it
 * @lock: protects the registry, users, and which look-ups are under way; held for moments
 * @boxes: a mailbox for each node, which the clerk of that node can write at any time
 * @nodes: number of nodes
 * @uid: user of the clerk
 * @list: note list of @boxes
 * @registrar: descriptor for calls of the kernel, and answers to them
 * @mode: enum clerk_mode
 * @probes: records that MODE_MIXED reads before it asks the other clerk
 */
struct clerk {
	struct dd *h;
	struct registry_head *head;
	pthread_mutex_t lock;
	struct mailbox *boxes;
	uint32_t nodes;
	uint32_t uid;
	int list;
	int registrar;
	enum clerk_mode mode;
	unsigned int probes;
};

extern struct clerk clerk;

/* What one user may use up of the clerk is limited; protected by clerk.lock. */
struct user {
	uint32_t uid;
	uint32_t names;		/* in the registry */
	uint32_t lookups;	/* on other nodes, under way or queued */
};

/* The user with an id; clerk.lock is held. */
struct user *user_of(uint32_t uid);

/* Print a message and exit. */
void __attribute__((noreturn)) fail(const char *what, int error);

void answer(const struct dd_registrar_call *call, int error, int node, uint64_t generation);

#endif /* _RMCLERK_CLERK_H */
