// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code of both ends of net_traffic: checking received messages.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "traffic_end.h"

struct traffic *shared;
struct dd *dd;
volatile sig_atomic_t stopping;

struct options opt = { .conns = 4, .max = 65536, .kinds = "rswW" };

const struct service services[SERVICES] = {
	{ "traffic-1", 1, 3, 4 << 20 },
	{ "traffic-8", 8, 10, 65536 },
};

size_t slot_size(const struct service *s)
{
	size_t max = opt.max < s->max ? opt.max : s->max;

	return (max + 4096 + 63) & ~63ul;
}

size_t block_size(const struct service *s)
{
	return (s->slots * slot_size(s) + 4095) & ~4095ul;
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

void die(const char *what, int err)
{
	fprintf(stderr, "# net_traffic: %s: %s\n", what,
		err ? dd_strerror(err) : strerror(errno));
	exit(1);
}

void wrong(const char *fmt, ...)
{
	va_list ap;

	/* The first errors are enough. */
	if (__atomic_fetch_add(&shared->errors, 1, __ATOMIC_RELAXED) >= 20)
		return;
	va_start(ap, fmt);
	fprintf(stderr, "# WRONG: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
}

void *alloc(size_t size)
{
	void *p;
	int err = dd_alloc(dd, size, &p);

	if (err)
		die("dd_alloc", err);
	return p;
}

void on_term(int sig)
{
	stopping = 1;
}

static size_t differs_at(const unsigned char *a, const unsigned char *b,
			 size_t len)
{
	size_t i = 0;

	while (i < len && a[i] == b[i])
		i++;
	return i;
}

/* Only its slot: comparing 3 MiB for each small message would take too long. */
static void compare(const struct shadow *s, size_t from, size_t to, uint32_t n)
{
	size_t lo = from / s->slot * s->slot, hi = lo + s->slot, at;

	if (lo + 4096 < from)
		lo = from - 4096;
	if (to + 4096 < hi)
		hi = to + 4096;
	at = differs_at(s->block + lo, s->copy + lo, hi - lo);
	if (at == hi - lo)
		return;
	at += lo;
	wrong("connection %u, message %u [%zu, %zu): byte %zu is %02x, not %02x",
	      s->conn, n, from, to, at, s->block[at], s->copy[at]);
	memcpy(s->copy + lo, s->block + lo, hi - lo);
}

void says(const struct dd_msg *msg, unsigned int meta[4])
{
	memset(meta, 0, 16);
	if (msg->meta_count == 4)
		memcpy(meta, msg->meta, 16);
	else if (!msg->meta_count && msg->len >= 16)
		memcpy(meta, msg->addr, 16);
}

bool look(struct shadow *s, uint32_t conn, uint32_t n, int direction,
	  const struct dd_msg *msg)
{
	size_t at = (unsigned char *)msg->addr - s->block;
	unsigned int meta[4];

	says(msg, meta);
	if (meta[0] != conn || meta[1] != n ||
	    msg->msgid != n || meta[2] != msg->len || meta[3] != at ||
	    at + msg->len > s->size) {
		wrong("connection %u, message %u: it is %u, says %u:%u, %zu bytes at %zu, not %u at %u",
		      conn, n, msg->msgid, meta[0], meta[1], msg->len, at,
		      meta[2], meta[3]);
		return false;
	}
	/* The previous connection may have deposited a part of a message. */
	if (s->conn != conn)
		memcpy(s->copy, s->block, s->size);
	s->conn = conn;
	pattern(shared->seed, conn, n, direction, s->copy + at, msg->len);
	if (!msg->meta_count)
		memcpy(s->copy + at, meta, 16);
	compare(s, at, at + msg->len, n);
	return true;
}
