/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * pair.h - both ends of connections: one in this process, one in another one
 *
 * Copyright (C) 2026 The dd authors
 *
 * The other process is at node 2 if the program is run by across.sh. It has ends that a number
 * names, and the calls with o_ are made there.
 */
#ifndef _ST_PAIR_H
#define _ST_PAIR_H

#include <pthread.h>
#include <stdbool.h>

#include "peer.h"
#include "st.h"
#include "tap.h"

#define PAGE	4096
#define MEMORY	(4 << 20)
#define ENDS	128

#define OK(call)	check_eq(call, 0)

/* Memory of this process, and of the other one, for maps. This process sees both. */
extern unsigned char *mem, *o_mem;

/* The other process. Starts it if there is none, before this one calls libst. */
struct worker *other(void);

/*
 * With ST_USER in the environment the processes are those of two ordinary users with limits of
 * 8 MiB. peer_new() starts another one.
 */
bool ordinary(void);
struct worker *peer_new(void);

/* The address of the other process' node. */
const char *there(void);

enum call { CREATE, DELETE, SET, GET, LISTEN, ACCEPT, CLOSE, MAP, UNMAP, TX, RX, FLUSH };
long o_call(enum call call, int end, long x);
#define o_create(end)	o_call(CREATE, end, 0)
#define o_delete(end)	o_call(DELETE, end, 0)
#define o_close(end)	o_call(CLOSE, end, 0)
#define o_unmap(base)	o_call(UNMAP, 0, base)
long o_set(int end, int option, int value);
int o_get(int end, int option);
long o_listen(int end, const char *service);
long o_map(int end, int flags, long offset, long len, int base, int *mx);	/* of o_mem */
long o_tx(int end, const st_header_t *hdr, const void *pay, uint len, uint bufx, uint off);
long o_rx(int end, st_header_t *hdr, void *pay, long ms);	/* @ms < 0: no limit */
int64_t o_flush(int end);	/* all; returns the count */
long o_job(job_t fn, long a, long b, long c);

/* In the other process. */
extern st_chandle_t o_end[ENDS];

/* A header of this end by the option of the connection, and st_rx() with a limit. */
st_header_t header(int op);
int rx(st_chandle_t c, st_header_t *hdr, void *pay, long ms);
int get(st_chandle_t c, int option);
int set(st_chandle_t c, int option, int value);

/* Calls of a program that defines ST_API_NEGATIVE. */
void negative(void);

/* A function in a thread. thread_end() waits for it, and returns its result. */
typedef int (*thread_fn)(void *arg);
struct thread {
	pthread_t thread;
	pid_t tid;
	thread_fn fn;
	void *arg;
	int ret;
};
struct thread *thread_begin(thread_fn fn, void *arg);
int thread_end(struct thread *t);

/* The name of a port that no other test has; valid until the next one. */
const char *own_service(void);

/* Create a handle here, and end @end of the other process. */
st_chandle_t ends_new(int end);
void ends_delete(st_chandle_t c, int end);

/* Connect a handle to end @end of the other process, which listens; both calls return @error. */
void meet(st_chandle_t c, int end, const char *service, int error);

/* Have that end listen and connect it, with handles whose options are set, or new ones. */
st_chandle_t join(st_chandle_t c, int end);
st_chandle_t joined(int end);

/*
 * The connection of most tests, to end 0. Both ends have these options; NULL: those of new handles.
 */
extern st_chandle_t c;
extern st_mhandle_t mine;
void pair_new(const int (*options)[2]);
#define PAIR(...)	pair_new((const int[][2]){ __VA_ARGS__, { 0, 0 } })
void pair_end(void);

/* A control header gets to the other end, which has nothing else to read. */
void nop_arrives(void);

#endif /* _ST_PAIR_H */
