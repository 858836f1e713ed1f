/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * worker.h - processes that call functions of a test
 *
 * With WORKER_USER in the environment, the test and its workers are processes of an ordinary user
 * with 8 MiB of memory that may be locked.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_TESTS_WORKER_H
#define _DD_TESTS_WORKER_H

#include <stdbool.h>
#include <sys/types.h>

#include "tap.h"

#define PAGE	4096
#define WORDS	(PAGE / 4)		/* of a page */
#define BOARD	(256 * WORDS)		/* words */

/* Memory that all processes share. */
extern int *board;

/* The workers are at node 2, this process is at node 1. */
extern bool far;

enum where {
	THERE,		/* at the other node if there is one */
	HERE,
	STRANGER,	/* another user of this node, with 8 MiB */
	ROOT,		/* of this node */
};

#define BOB	1001	/* the user of STRANGER; see selftests/vm/image.sh */

/* Leave for node 2. */
void go_far(void);

struct worker;

/* A new process. Called before any call of the library in this one. */
struct worker *worker_new(enum where where);

/* Call a function in a worker, and return its result; errno is that of the worker. */
typedef long (*job_t)(long a, long b, long c);
long worker_do(struct worker *w, job_t job, long a, long b, long c);

/* The same in two steps. */
void worker_begin(struct worker *w, job_t job, long a, long b, long c);
long worker_result(struct worker *w);

/* The result, or 1000 if the function has ended the process; then that ends. */
long worker_end_result(struct worker *w);

/*
 * Instructions of a function in a worker, between its raise(SIGUSR1) and its raise(SIGUSR2). The
 * worker is traced from the first call on.
 */
long worker_steps(struct worker *w, job_t job, long a, long b, long c);

pid_t worker_pid(const struct worker *w);
void worker_signal(const struct worker *w, int sig);
void worker_end(struct worker *w);	/* by SIGKILL */
void worker_forget(struct worker *w);	/* that has ended, or ends after its job */

/* Whether a condition becomes true, or a word gets a value, within ten seconds. */
bool soon(bool (*condition)(void));
bool arrives(const int *word, int value);

/* Fill words with others than those of another seed. */
void fill(int *words, long n, int seed);

/* Nanoseconds, of a clock that is never set back. */
long now_ns(void);

/* The status of a shell command, of this process, another one, or root. */
int run(const char *shell);
int run_at(enum where where, const char *shell);
int root_run(const char *shell);

#endif /* _DD_TESTS_WORKER_H */
