// SPDX-License-Identifier: LGPL-2.1-only
/*
 * pair.c - both ends of connections: one in this process, one in another one
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pair.h"

unsigned char *mem, *o_mem;
st_chandle_t o_end[ENDS];
static st_mhandle_t o_mapped[1 << 12];
static struct worker *peer;

/* What a call of the other process gets and returns beside numbers. */
struct args {
	st_header_t hdr;
	unsigned char pay[ST_PAYLOAD];
	bool has_pay;
	uint len, bufx, off;
	int64_t count;
	int number;
	char service[16];
};

static struct args *args(void)
{
	return (struct args *)(peer_shm ? peer_shm->data : peer->shm->data);
}

static unsigned char *memory(int sharing)
{
	unsigned char *p = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS,
				-1, 0);

	if (p == MAP_FAILED)
		abort();
	/* A huge page of which a part is mapped counts as a whole. */
	madvise(p, MEMORY, MADV_NOHUGEPAGE);
	return p;
}

bool ordinary(void)
{
	return getenv("ST_USER");
}

struct worker *peer_new(void)
{
	if (!mem) {
		mem = memory(MAP_PRIVATE);
		o_mem = memory(MAP_SHARED);
	}
	return worker_new_user(THERE, ordinary() ? BOB : 0);
}

struct worker *other(void)
{
	if (!peer) {
		if (across_nodes() && getenv("ST_LOSSY") &&
		    system("bash -c 'for i in 1 2; do tc -n dd$i qdisc replace dev eth0 root "
			   "netem loss 1% ${ST_DELAY:+delay $ST_DELAY}; done'"))
			abort();
		peer = peer_new();
		if (ordinary())
			become(ALICE);
	}
	return peer;
}

const char *there(void)
{
	static char host[16];

	if (!across_nodes())
		return "127.0.0.1";
	snprintf(host, sizeof(host), "10.9.0.%d", far_node());
	return host;
}

/* ---- calls of the other process ---------------------------------------------- */

static long job_call(long call, long end, long x)
{
	st_chandle_t *c = &o_end[end];
	struct args *a = args();

	switch (call) {
	case CREATE:
		return st_create(c);
	case DELETE:
		return st_delete(*c);
	case SET:
		return st_setopt(*c, x, &a->number);
	case GET:
		return st_getopt(*c, x, &a->number);
	case LISTEN:
		return st_listen(*c, NULL, a->service);
	case ACCEPT:
		return st_accept(*c);
	case CLOSE:
		return st_close(*c);
	case MAP:
		return st_map(c, x, o_mem + a->off, a->len, a->bufx, -1, &o_mapped[a->bufx],
			      &a->number);
	case UNMAP:
		return st_unmap(&o_mapped[x]);
	case TX:
		return st_tx(c, &a->hdr, a->has_pay ? a->pay : NULL, a->len, a->bufx, a->off);
	case RX:
		return rx(*c, &a->hdr, a->pay, x);
	default:
		return st_flush(c, x, &a->count);
	}
}

long o_call(enum call call, int end, long x)
{
	return o_job(job_call, call, end, x);
}

long o_job(job_t fn, long a, long b, long c)
{
	return worker_do(other(), fn, a, b, c);
}

long o_set(int end, int option, int value)
{
	args()->number = value;
	return o_call(SET, end, option);
}

int o_get(int end, int option)
{
	OK(o_call(GET, end, option));
	return args()->number;
}

long o_listen(int end, const char *service)
{
	snprintf(args()->service, sizeof(args()->service), "%s", service);
	return o_call(LISTEN, end, 0);
}

long o_map(int end, int flags, long offset, long len, int base, int *mx)
{
	struct args *a = args();
	long ret;

	a->off = offset;
	a->len = len;
	a->bufx = base;
	ret = o_call(MAP, end, flags);
	if (!ret && mx)
		*mx = a->number;
	return ret;
}

long o_tx(int end, const st_header_t *hdr, const void *pay, uint len, uint bufx, uint off)
{
	struct args *a = args();

	a->hdr = *hdr;
	a->has_pay = pay;
	if (pay)
		memcpy(a->pay, pay, ST_PAYLOAD);
	a->len = len;
	a->bufx = bufx;
	a->off = off;
	return o_call(TX, end, 0);
}

long o_rx(int end, st_header_t *hdr, void *pay, long ms)
{
	long ret = o_call(RX, end, ms);

	if (!ret)
		*hdr = args()->hdr;
	if (!ret && pay)
		memcpy(pay, args()->pay, ST_PAYLOAD);
	return ret;
}

int64_t o_flush(int end)
{
	OK(o_call(FLUSH, end, -1));
	return args()->count;
}

/* ---- calls of this process, or of either -------------------------------------- */

st_header_t header(int op)
{
	st_header_t hdr = { .op = op };

	return hdr;
}

int rx(st_chandle_t c, st_header_t *hdr, void *pay, long ms)
{
	struct timeval t = { ms / 1000, ms % 1000 * 1000 };

	return st_rx(&c, hdr, pay, ms < 0 ? NULL : &t);
}

int get(st_chandle_t c, int option)
{
	int value = -12345;

	OK(st_getopt(c, option, &value));
	return value;
}

int set(st_chandle_t c, int option, int value)
{
	return st_setopt(c, option, &value);
}

static void *thread_run(void *arg)
{
	struct thread *t = arg;

	__atomic_store_n(&t->tid, gettid(), __ATOMIC_SEQ_CST);
	t->ret = t->fn(t->arg);
	return NULL;
}

struct thread *thread_begin(thread_fn fn, void *arg)
{
	struct thread *t = calloc(1, sizeof(*t));

	t->fn = fn;
	t->arg = arg;
	check_eq(pthread_create(&t->thread, NULL, thread_run, t), 0);
	while (!__atomic_load_n(&t->tid, __ATOMIC_SEQ_CST))
		usleep(100);
	return t;
}

int thread_end(struct thread *t)
{
	int ret;

	pthread_join(t->thread, NULL);
	ret = t->ret;
	free(t);
	return ret;
}

/* ---- connections --------------------------------------------------------------- */

const char *own_service(void)
{
	static char service[16];
	static int port = 2000;

	snprintf(service, sizeof(service), "%d", ++port);
	return service;
}

st_chandle_t ends_new(int end)
{
	st_chandle_t c = NULL;

	OK(o_create(end));
	OK(st_create(&c));
	return c;
}

void ends_delete(st_chandle_t c, int end)
{
	OK(st_delete(c));
	OK(o_delete(end));
}

void meet(st_chandle_t c, int end, const char *service, int error)
{
	worker_begin(other(), job_call, ACCEPT, end, 0);
	check_eq(st_connect(c, there(), service), error);
	check_eq(worker_result(peer), error);
}

st_chandle_t join(st_chandle_t c, int end)
{
	const char *service = own_service();

	OK(o_listen(end, service));
	meet(c, end, service, 0);
	return c;
}

st_chandle_t joined(int end)
{
	return join(ends_new(end), end);
}

st_chandle_t c;
st_mhandle_t mine;

void pair_new(const int (*options)[2])
{
	c = ends_new(0);
	for (; options && (*options)[0]; options++) {
		OK(set(c, (*options)[0], (*options)[1]));
		OK(o_set(0, (*options)[0], (*options)[1]));
	}
	join(c, 0);
}

void pair_end(void)
{
	ends_delete(c, 0);
}

void nop_arrives(void)
{
	st_header_t h = header(ST_OP_NOP), r;

	OK(st_tx(&c, &h, NULL, 0, 0, 0));
	OK(o_rx(0, &r, NULL, -1));
	check_eq(r.op, ST_OP_NOP);
}
