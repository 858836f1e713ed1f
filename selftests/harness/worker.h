/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * worker.h - processes that call functions of a test
 *
 * A worker executes functions of the test program, one at a time, and returns their results and
 * errno. All workers are forked by one process, which the first worker_new() starts, and which
 * never calls a library: the test calls worker_new() before it opens a handle. Workers end with
 * the test. A worker that is gone when it is to answer, or does not answer in time, ends the
 * program.
 *
 * Between nodes (see selftests/net/across.sh) this process is at node 1 and the workers THERE are
 * at node 2. With WORKER_USER in the environment, the test and its workers are processes of an
 * ordinary user with 8 MiB of memory that may be locked.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_TESTS_WORKER_H
#define _DD_TESTS_WORKER_H

#include <stdbool.h>

#include "users.h"

enum where {
	THERE,		/* at the other node if there is one */
	HERE,
	STRANGER,	/* Bob, at this node */
	ROOT,		/* of this node */
};

/* Whether there are two nodes, and whether this process has gone to node 2. */
bool across_nodes(void);
extern bool is_far;

/* Leave for node 2. */
void go_far(void);

/* Go on as user @uid, with a limit of 8 MiB of locked memory. */
void become(uid_t uid);

/* @shm: memory that the worker and the test share, for arguments and results; see peer.h */
struct worker {
	pid_t pid;
	int pidfd, control;
	bool used, traced;
	struct peer_shm *shm;
};

/* In a worker: this memory. */
extern struct peer_shm *peer_shm;

struct worker *worker_new(enum where where);
struct worker *worker_new_user(enum where where, uid_t uid);

/* Call a function in a worker, and return its result; errno is that of the worker. */
typedef long (*job_t)(long a, long b, long c);
long worker_do(struct worker *w, job_t job, long a, long b, long c);

/* The same in two steps. */
void worker_begin(struct worker *w, job_t job, long a, long b, long c);
long worker_result(struct worker *w);

/* There is a result, or the worker has ended. */
bool worker_ready(struct worker *w);

/* The result, or 1000 if the function has ended the process; then that ends. */
long worker_end_result(struct worker *w);

/*
 * Instructions of a function in a worker, between its raise(SIGUSR1) and its raise(SIGUSR2), when
 * it returns 0. The worker is traced from the first call on. After each instruction @between is
 * called, unless it is NULL.
 */
long worker_steps(struct worker *w, job_t job, long a, long b, long c);
long worker_steps_with(struct worker *w, void (*between)(void), job_t job, long a, long b, long c);

/* The same, but entries to system calls and returns from them. */
long worker_syscalls(struct worker *w, job_t job, long a, long b, long c);

/* Whether a condition becomes true within 20 seconds. */
bool soon(bool (*condition)(void));

/* Wait until the worker sleeps in an ioctl: whether it does in time. */
bool worker_sleeps(struct worker *w);

pid_t worker_pid(const struct worker *w);
void worker_signal(const struct worker *w, int sig);
void worker_end(struct worker *w);	/* by SIGKILL */
void worker_forget(struct worker *w);	/* that has ended, or ends after its job */

#endif /* _DD_TESTS_WORKER_H */
