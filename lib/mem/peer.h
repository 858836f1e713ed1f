/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * peer.h - processes that know each other by node and pid
 *
 * Copyright (C) 2026 The dd authors
 *
 * Libraries that name a buffer by its process and a number share these records. The process is
 * known to importers from its first call of one of them.
 */
#ifndef _DD_PEER_H
#define _DD_PEER_H

#include <pthread.h>
#include <stdint.h>

#include "dd_mem.h"

/* Kinds of keys. Each library has one for its buffers. */
#define DDI_KEY_PRESENCE	'P'

struct ddi_proxy;

/**
 * struct ddi_peer - a process that exports buffers
 * @h: handle of libdd
 * @node: its node
 * @pid: the process
 * @presence: import of its presence
 * @question: connection to the server that was asked whether it exists; or NO_QUESTION, or
 *            ASKING while a thread has it, whose are the next two, too
 * @asked: when, in ns; 0: there is no server to ask
 * @failures: answers in succession that say neither
 * @lock: protects @last, and orders requests to another node
 * @last: the import of the last request, or NULL: those of the others are done
 * @users: imports of this process
 * @next: in the list of peers
 */
struct ddi_peer {
	struct dd *h;
	int node;
	int pid;
	struct dd_mem *presence;
	int question;
	int64_t asked;
	int failures;
	pthread_mutex_t lock;
	struct ddi_proxy *last;
	unsigned int users;
	struct ddi_peer *next;
};

void ddi_key(void *key, int pid, uint32_t number, char kind);

/*
 * The handle of the process, and its pid, which may be NULL. The first call makes the process
 * known. 0 or an error.
 */
int ddi_present(struct dd **h, int *pid);

/* The process, with one more user: 0 or an error of dd_import_begin(). The thread is marked. */
int ddi_peer_get(int node, int pid, struct ddi_peer **peer);
void ddi_peer_put(struct ddi_peer *p);

/*
 * The peer after @p, or the first one after NULL, with one more user; @p has one less. The thread is
 * marked.
 */
struct ddi_peer *ddi_peer_next(struct ddi_peer *p);

/* Whether the process exists: 0, -EAGAIN if that is not known yet, or an error; -ESRCH: ended. */
int ddi_peer_state(struct ddi_peer *p);

#endif /* _DD_PEER_H */
