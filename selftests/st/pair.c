// SPDX-License-Identifier: LGPL-2.1-only
/*
 * pair.c - both ends of connections: one in this process, one in another one
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "pair.h"

unsigned char *mem;
st_chandle_t o_end[ENDS];
st_mhandle_t o_mapped[1 << 12];

#define ALICE	1000
#define BOB	1001
#define LIMIT	(8 << 20)

static struct peer *peer;

/* What a call of the other process needs beside three numbers. */
struct args {
	st_header_t hdr;
	unsigned char pay[ST_PAYLOAD];
	bool has_pay;
	uint len, bufx, off;
	int64_t count;
	int number;
	char host[64];
	unsigned char bytes[32768];
};

static struct args *args(void)
{
	return (struct args *)(peer_shm ? peer_shm->data : peer->shm->data);
}

static void memory(void)
{
	mem = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		abort();
	/* A huge page of which a part is mapped counts as a whole. */
	madvise(mem, MEMORY, MADV_NOHUGEPAGE);
}

static long job_memory(long a, long b, long c)
{
	memory();
	return 0;
}

bool ordinary(void)
{
	return getenv("ST_USER");
}

struct peer *peer_new(void)
{
	return ordinary() ? peer_start_user(BOB) : peer_start();
}

/* This process is that of an ordinary user with little memory to lock. */
static void become_ordinary(void)
{
	const gid_t dd = 900;

	if (setgroups(1, &dd) || setresgid(ALICE, ALICE, ALICE) || setresuid(ALICE, ALICE, ALICE))
		abort();
}

struct peer *other(void)
{
	const struct rlimit l = { .rlim_cur = LIMIT, .rlim_max = LIMIT };

	if (!peer) {
		if (ordinary() && setrlimit(RLIMIT_MEMLOCK, &l))
			abort();
		if (across_nodes() && getenv("ST_LOSSY") &&
		    system("bash -c 'for i in 1 2; do tc -n dd$i qdisc replace dev eth0 root "
			   "netem loss 1% ${ST_DELAY:+delay $ST_DELAY}; done'"))
			abort();
		peer = peer_new();
		peer_call(peer, job_memory, 0, 0, 0);
		if (ordinary())
			become_ordinary();
		memory();
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

/* ---- in the other process --------------------------------------------------- */

static long job_create(long end, long b, long c)
{
	return st_create(&o_end[end]);
}

static long job_delete(long end, long b, long c)
{
	return st_delete(o_end[end]);
}

static long job_set(long end, long option, long value)
{
	int n = value;

	return st_setopt(o_end[end], option, &n);
}

static long job_get(long end, long option, long c)
{
	return st_getopt(o_end[end], option, &args()->number);
}

static long job_listen(long end, long port, long c)
{
	char service[16];

	snprintf(service, sizeof(service), "%ld", port);
	return st_listen(o_end[end], NULL, port < 0 ? NULL : service);
}

static long job_accept(long end, long b, long c)
{
	return st_accept(o_end[end]);
}

static long job_connect(long end, long port, long c)
{
	char service[16];

	snprintf(service, sizeof(service), "%ld", port);
	return st_connect(o_end[end], args()->host, service);
}

static long job_close(long end, long b, long c)
{
	return st_close(o_end[end]);
}

static long job_map(long end, long flags, long offset)
{
	struct args *a = args();

	return st_map(&o_end[end], flags, mem + offset, a->len, a->bufx, -1, &o_mapped[a->bufx],
		      &a->number);
}

static long job_unmap(long base, long b, long c)
{
	return st_unmap(&o_mapped[base]);
}

static long job_tx(long end, long b, long c)
{
	struct args *a = args();

	return st_tx(&o_end[end], &a->hdr, a->has_pay ? a->pay : NULL, a->len, a->bufx, a->off);
}

static long job_rx(long end, long ms, long c)
{
	struct args *a = args();

	return rx(o_end[end], &a->hdr, a->pay, ms);
}

static long job_flush(long end, long threshold, long c)
{
	return st_flush(&o_end[end], threshold, &args()->count);
}

static long job_peek(long offset, long len, long c)
{
	memcpy(args()->bytes, mem + offset, len);
	return 0;
}

static long job_fill(long offset, long value, long len)
{
	memset(mem + offset, value, len);
	return 0;
}

/* ---- in this process --------------------------------------------------------- */

long o_job(peer_fn fn, long a, long b, long c)
{
	return peer_call(other(), fn, a, b, c);
}

long o_create(int end)
{
	return o_job(job_create, end, 0, 0);
}

long o_delete(int end)
{
	return o_job(job_delete, end, 0, 0);
}

long o_set(int end, int option, int value)
{
	return o_job(job_set, end, option, value);
}

int o_get(int end, int option)
{
	OK(o_job(job_get, end, option, 0));
	return args()->number;
}

long o_listen(int end, int port)
{
	return o_job(job_listen, end, port, 0);
}

long o_accept(int end)
{
	return o_job(job_accept, end, 0, 0);
}

void o_accept_begin(int end)
{
	peer_begin(other(), job_accept, end, 0, 0);
}

long o_accept_end(void)
{
	return peer_end(peer);
}

long o_connect(int end, const char *host, int port)
{
	other();
	snprintf(args()->host, sizeof(args()->host), "%s", host);
	return o_job(job_connect, end, port, 0);
}

long o_close(int end)
{
	return o_job(job_close, end, 0, 0);
}

long o_map(int end, int flags, long offset, long len, int base, int *mx)
{
	long ret;

	args()->len = len;
	args()->bufx = base;
	ret = o_job(job_map, end, flags, offset);
	if (!ret && mx)
		*mx = args()->number;
	return ret;
}

long o_unmap(int base)
{
	return o_job(job_unmap, base, 0, 0);
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
	return o_job(job_tx, end, 0, 0);
}

long o_rx(int end, st_header_t *hdr, void *pay, long ms)
{
	long ret = o_job(job_rx, end, ms, 0);

	if (!ret)
		*hdr = args()->hdr;
	if (!ret && pay)
		memcpy(pay, args()->pay, ST_PAYLOAD);
	return ret;
}

long o_flush(int end, int64_t threshold, int64_t *count)
{
	long ret = o_job(job_flush, end, threshold, 0);

	if (count)
		*count = args()->count;
	return ret;
}

void o_peek(long offset, void *to, long len)
{
	for (long n; len; len -= n, offset += n, to = (char *)to + n) {
		n = len < (long)sizeof(args()->bytes) ? len : (long)sizeof(args()->bytes);
		o_job(job_peek, offset, n, 0);
		memcpy(to, args()->bytes, n);
	}
}

void o_fill(long offset, int value, long len)
{
	o_job(job_fill, offset, value, len);
}

/* ---- in both ------------------------------------------------------------------ */

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

int own_port(void)
{
	static int port = 2000;

	return ++port;
}

st_chandle_t join(st_chandle_t c, int end)
{
	char service[16];
	int port = own_port();

	snprintf(service, sizeof(service), "%d", port);
	OK(o_listen(end, port));
	o_accept_begin(end);
	OK(st_connect(c, there(), service));
	OK(o_accept_end());
	return c;
}

st_chandle_t joined(int end)
{
	st_chandle_t c;

	OK(o_create(end));
	OK(st_create(&c));
	return join(c, end);
}
