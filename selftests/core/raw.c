// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ioctls on /dev/dd and accesses to the area, without the library.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "raw.h"

int raw_ioctl(const struct raw *r, unsigned int nr, const void *arg)
{
	return ioctl(r->fd, nr, arg);
}

int raw_op(const struct raw *r, unsigned int nr, __u64 name)
{
	return ioctl(r->fd, nr, (unsigned long)name);
}

int raw_open(struct raw *r)
{
	r->area = NULL;
	r->fd = open("/dev/dd", O_RDWR | O_CLOEXEC);
	if (r->fd < 0)
		return -1;
	r->area = mmap(NULL, DD_AREA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		       r->fd, DD_AREA_OFFSET);
	if (r->area != MAP_FAILED)
		return 0;
	close(r->fd);
	return -1;
}

void raw_close(struct raw *r)
{
	if (r->area)
		munmap(r->area, DD_AREA_SIZE);
	close(r->fd);
}

int raw_alloc(const struct raw *r, size_t len, struct mem *m)
{
	struct dd_region_alloc a = { .size = sizeof(a), .length = len };

	if (raw_ioctl(r, DD_IOC_REGION_ALLOC, &a))
		return -1;
	m->id = a.region;
	m->len = a.length;
	m->at = mmap(NULL, a.length, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
		     a.offset);
	return m->at == MAP_FAILED ? -1 : 0;
}

int raw_free(const struct raw *r, struct mem *m)
{
	munmap(m->at, m->len);
	return raw_op(r, DD_IOC_REGION_FREE, m->id);
}

int raw_start(struct raw *r, size_t len, struct mem *m)
{
	return raw_open(r) || raw_alloc(r, len, m) ? -1 : 0;
}

/* Splits a region into two halves of whole pages. */
static void halves(const struct mem *m, struct dd_buf *recv,
		   struct dd_buf *send)
{
	size_t half = m->len / 2 & ~(PAGE - 1);

	*recv = (struct dd_buf){ .region = m->id, .length = half };
	*send = (struct dd_buf){ .region = m->id, .offset = half,
				 .length = half };
}

void raw_serve_args(struct dd_serve *s, const char *name, unsigned int maxconn,
		    const struct mem *m)
{
	memset(s, 0, sizeof(*s));
	s->size = sizeof(*s);
	s->maxconn = maxconn;
	s->window = 1;
	strncpy((char *)s->name, name, DD_NAME_MAX);
	halves(m, &s->recv, &s->send);
}

void raw_connect_args(struct dd_connect *c, const char *name,
		      const struct mem *m)
{
	memset(c, 0, sizeof(*c));
	c->size = sizeof(*c);
	c->node = 1;
	c->type = DD_CONN_STREAM;
	c->window = 1;
	strncpy((char *)c->name, name, DD_NAME_MAX);
	halves(m, &c->recv, &c->send);
}

int raw_serve(const struct raw *r, struct dd_serve *s)
{
	return raw_ioctl(r, DD_IOC_SERVE, s);
}

int raw_serve_unmapped(const struct raw *r, const char *name, unsigned int maxconn,
		       size_t block, __u32 flags, struct dd_serve *s)
{
	struct mem m;

	/* A mapping would keep the context, and with it its area. */
	if (raw_alloc(r, maxconn * block, &m) || munmap(m.at, m.len))
		return -1;
	raw_serve_args(s, name, maxconn, &m);
	s->window = DD_WINDOW_MAX;
	s->flags = flags;
	s->recv.length = m.len;
	s->send = (struct dd_buf){ };
	if (!raw_serve(r, s))
		return 0;
	raw_op(r, DD_IOC_REGION_FREE, m.id);
	return -1;
}

int raw_connect(const struct raw *r, struct dd_connect *c)
{
	return raw_ioctl(r, DD_IOC_CONNECT, c);
}

int raw_join(const struct raw *r, struct mem *m, struct dd_connect *c,
	     const char *name)
{
	if (raw_alloc(r, 2 * PAGE, m))
		return -1;
	raw_connect_args(c, name, m);
	return raw_connect(r, c);
}

int raw_join_receiver(const struct raw *r, const char *name, __u32 window, __u32 flags,
		      struct dd_connect *c)
{
	struct mem m;
	int err;

	if (raw_alloc(r, PAGE, &m))
		return -1;
	munmap(m.at, m.len);
	raw_connect_args(c, name, &m);
	c->recv.length = PAGE;
	c->send = (struct dd_buf){ };
	c->window = window;
	c->flags = flags;
	if (!raw_connect(r, c))
		return 0;
	err = errno;
	raw_op(r, DD_IOC_REGION_FREE, m.id);
	errno = err;
	return -1;
}

void raw_queue(const struct raw *r, __u32 state_unit, const struct dd_sqe *sqe)
{
	struct dd_conn_state *cs = raw_state(r, state_unit);
	__u64 n = __atomic_load_n(&cs->submitted, __ATOMIC_ACQUIRE) + 1;
	struct dd_sqe *slot = cs->sq;

	memcpy((char *)slot + 8, (const char *)sqe + 8, sizeof(*slot) - 8);
	__atomic_store_n(&slot->seq, n, __ATOMIC_RELEASE);
}

int raw_submit(const struct raw *r, __u32 state_unit, __u64 conn,
	       const struct dd_sqe *sqe)
{
	raw_queue(r, state_unit, sqe);
	return raw_op(r, DD_IOC_DOORBELL, conn);
}

int raw_send(const struct raw *r, __u32 state_unit, __u64 conn, __u64 src,
	     __u64 dst, __u64 len)
{
	struct dd_sqe sqe = {
		.opcode = DD_OP_PUT, .flags = DD_SQE_NOTIFY,
		.src = src, .dst = dst, .len = len,
	};

	return raw_submit(r, state_unit, conn, &sqe);
}

bool raw_peek(const struct raw *r, __u32 list_unit, struct dd_note *n)
{
	struct dd_list_head *h = raw_list(r, list_unit);
	struct dd_note *slot;
	__u64 geo, head, slots;

	do {
		geo = __atomic_load_n(&h->geometry, __ATOMIC_ACQUIRE);
		head = h->head;
		slots = 1ull << (__u32)geo;
		slot = (struct dd_note *)raw_unit(r, geo >> 32) +
		       (head & (slots - 1));
		n->seq = __atomic_load_n(&slot->seq, __ATOMIC_ACQUIRE);
		if (n->seq == head + 1)
			memcpy(n, slot, sizeof(*n));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (geo != __atomic_load_n(&h->geometry, __ATOMIC_RELAXED));
	return n->seq == head + 1;
}

bool raw_take(const struct raw *r, __u32 list_unit, struct dd_note *n)
{
	struct dd_list_head *h = raw_list(r, list_unit);

	if (!raw_peek(r, list_unit, n))
		return false;
	__atomic_store_n(&h->head, h->head + 1, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&h->flags, __ATOMIC_RELAXED) & DD_LIST_NEED_KICK)
		raw_op(r, DD_IOC_LIST_KICK, h->id);
	return true;
}

int raw_list_wait(const struct raw *r, __u32 list, __u64 timeout)
{
	struct dd_list_wait w = { .size = sizeof(w), .count = 1,
				  .lists = (uintptr_t)&list,
				  .timeout = timeout };

	return raw_ioctl(r, DD_IOC_LIST_WAIT, &w);
}

int raw_conn_wait(const struct raw *r, __u64 conn, int what, __u64 value,
		  __u64 timeout)
{
	struct dd_conn_wait w = { .size = sizeof(w), .conn = conn, .what = what,
				  .value = value, .timeout = timeout };

	return raw_ioctl(r, DD_IOC_CONN_WAIT, &w);
}

int raw_conns(const struct raw *r, __u32 service, __u64 *conns, __u32 count)
{
	struct dd_conn_list l = { .size = sizeof(l), .service = service,
				  .conns = (uintptr_t)conns, .count = count };

	return raw_ioctl(r, DD_IOC_CONN_LIST, &l) ? -1 : (int)l.count;
}

int raw_conn_info(const struct raw *r, __u64 conn, struct dd_conn_info *i)
{
	*i = (struct dd_conn_info){ .size = sizeof(*i), .conn = conn };
	return raw_ioctl(r, DD_IOC_CONN_INFO, i);
}

const unsigned int raw_ops[RAW_KINDS][8] = {
	[RAW_REGION] = { DD_IOC_REGION_FREE },
	[RAW_SERVICE] = { DD_IOC_UNSERVE, DD_IOC_CONN_LIST },
	[RAW_CONN] = { DD_IOC_CLOSE, DD_IOC_DOORBELL, DD_IOC_SUBMIT, DD_IOC_WAKE,
		       DD_IOC_DIRECT, DD_IOC_CONN_WAIT, DD_IOC_CONN_INFO },
	[RAW_LIST] = { DD_IOC_LIST_KICK, DD_IOC_LIST_FD, DD_IOC_LIST_INFO,
		       DD_IOC_LIST_WAIT },
};

int raw_on(const struct raw *r, unsigned int nr, __u64 name)
{
	struct dd_request rq = { .conn = name, .sqe = { .opcode = DD_OP_PUT, .len = 8 } };
	struct dd_submit submit = { .size = sizeof(submit), .count = 1, .stride = sizeof(rq),
				    .requests = (uintptr_t)&rq };
	struct dd_list_info list = { .size = sizeof(list), .list = name };
	struct dd_conn_info info;
	struct way w;

	switch (nr) {
	case DD_IOC_CONN_LIST: return raw_conns(r, name, NULL, 0);
	case DD_IOC_SUBMIT: return raw_ioctl(r, nr, &submit);
	case DD_IOC_DIRECT: return way_grant(r, name, &w);
	case DD_IOC_CONN_WAIT: return raw_conn_wait(r, name, 0, 0, 0);
	case DD_IOC_CONN_INFO: return raw_conn_info(r, name, &info);
	case DD_IOC_LIST_INFO: return raw_ioctl(r, nr, &list);
	case DD_IOC_LIST_WAIT: return raw_list_wait(r, name, 0);
	}
	return raw_op(r, nr, name);
}

int pair_open(struct pair *p, unsigned int maxconn, size_t block,
	      unsigned int window)
{
	return raw_open(&p->srv) || raw_open(&p->cl) ? -1 :
	       pair_join(p, 1, maxconn, block, window);
}

int pair_join(struct pair *p, __u32 node, unsigned int maxconn, size_t block,
	      unsigned int window)
{
	size_t half = (maxconn * block + PAGE - 1) & ~(PAGE - 1);
	static int number;

	snprintf(p->name, sizeof(p->name), "pair.%d.%d", getpid(), number++);
	if (raw_alloc(&p->srv, 2 * half, &p->smem) || raw_alloc(&p->cl, 2 * half, &p->cmem))
		return -1;
	raw_serve_args(&p->s, p->name, maxconn, &p->smem);
	p->s.recv.length = p->s.send.length = maxconn * block;
	p->s.window = window;
	raw_connect_args(&p->c, p->name, &p->cmem);
	p->c.node = node;
	p->c.window = window;
	p->c.cookie = 0x1122334455667788;
	return raw_serve(&p->srv, &p->s) || raw_connect(&p->cl, &p->c) ? -1 : 0;
}

void pair_close(struct pair *p)
{
	raw_close(&p->cl);
	raw_close(&p->srv);
}

__u64 pair_server_conn(const struct pair *p)
{
	__u64 conn = 0;

	raw_conns(&p->srv, p->s.service, &conn, 1);
	return conn;
}

int pair_request(const struct pair *p, __u64 src, __u64 dst, __u64 len)
{
	return raw_send(&p->cl, p->c.state_unit, p->c.conn, src, dst, len);
}

int pair_more(const struct pair *p, const char *name, __u32 flags,
	      struct dd_serve *s, struct dd_connect *c)
{
	struct mem m;

	if (raw_alloc(&p->srv, 4 * PAGE, &m))
		return -1;
	raw_serve_args(s, name, 2, &m);
	s->flags = flags;
	return raw_serve(&p->srv, s) || raw_join(&p->cl, &m, c, name) ? -1 : 0;
}

void *raw_map(const struct raw *r, __u64 off, size_t len, int prot)
{
	return mmap(NULL, len, prot, MAP_SHARED, r->fd, off);
}

int way_grant(const struct raw *r, __u64 conn, struct way *w)
{
	memset(w, 0, sizeof(*w));
	w->d.size = sizeof(w->d);
	w->d.conn = conn;
	return raw_ioctl(r, DD_IOC_DIRECT, &w->d);
}

int way_open(const struct raw *r, __u64 conn, struct way *w)
{
	const int rw = PROT_READ | PROT_WRITE;

	if (way_grant(r, conn, w))
		return -1;
	w->pos = w->d.start;
	w->block = raw_map(r, w->d.block, w->d.block_size, rw);
	w->notes = raw_map(r, w->d.notes, way_notes_size(w), rw);
	w->state = raw_map(r, w->d.state, PAGE, PROT_READ);
	return w->block == MAP_FAILED || w->notes == MAP_FAILED ||
	       w->state == MAP_FAILED ? -1 : 0;
}

void way_unmap(const struct way *w)
{
	munmap(w->block, w->d.block_size);
	munmap(w->notes, way_notes_size(w));
	munmap((void *)w->state, PAGE);
}

bool way_note(struct way *w, __u64 offset, __u64 len)
{
	struct dd_ring_note *n = way_slot(w, w->pos);

	n->conn = w->d.peer_conn;
	n->offset = offset;
	n->len = len;
	n->msgid = w->pos + 1;
	__atomic_store_n(&n->seq, ++w->pos, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&w->state->need_wake, __ATOMIC_RELAXED);
}

struct dd_ring_state *ring_of(const struct raw *r, __u32 list_unit,
			      unsigned int i)
{
	struct dd_list_head *h = raw_list(r, list_unit);
	__u32 *table = raw_unit(r, h->rings_unit);

	return h->rings > i ? raw_unit(r, table[i]) : NULL;
}

bool ring_take(struct dd_ring_state *s, struct dd_ring_note *to)
{
	struct dd_ring_note *notes = (void *)((char *)s + PAGE);
	struct dd_ring_note *n = &notes[s->head & (s->slots - 1)];

	if (__atomic_load_n(&n->seq, __ATOMIC_ACQUIRE) != s->head + 1)
		return false;
	*to = *n;
	__atomic_store_n(&s->head, s->head + 1, __ATOMIC_RELEASE);
	return true;
}

int server_prepare(struct server *s, const char *name, unsigned int maxconn)
{
	if (raw_start(&s->r, 2 * PAGE, &s->m))
		return -1;
	raw_serve_args(&s->s, name, maxconn, &s->m);
	return 0;
}

int client_prepare(struct client *c, const char *name)
{
	if (raw_start(&c->r, 2 * PAGE, &c->m))
		return -1;
	raw_connect_args(&c->c, name, &c->m);
	return 0;
}

int server_open(struct server *s, const char *name, unsigned int maxconn)
{
	return server_prepare(s, name, maxconn) ?: raw_serve(&s->r, &s->s);
}

int client_open(struct client *c, const char *name)
{
	return client_prepare(c, name) ?: raw_connect(&c->r, &c->c);
}

__u64 server_conn(const struct server *s)
{
	__u64 conn = 0;

	return raw_conns(&s->r, s->s.service, &conn, 1) == 1 ? conn : 0;
}

bool server_take(const struct server *s, struct dd_note *n)
{
	return raw_take(&s->r, s->s.list_unit, n);
}

int client_send(const struct client *c, __u64 len)
{
	return raw_send(&c->r, c->c.state_unit, c->c.conn, 0, 0, len);
}

int client_way(struct client *c)
{
	return way_open(&c->r, c->c.conn, &c->w);
}

int client_close(const struct client *c)
{
	return raw_op(&c->r, DD_IOC_CLOSE, c->c.conn);
}

long long memlock_used(const struct raw *r)
{
	struct dd_info i = { .size = sizeof(i) };

	return raw_ioctl(r, DD_IOC_INFO, &i) ? -1 : (long long)i.memlock_used;
}

__u64 raw_random(unsigned int *seed)
{
	__u64 r = (__u64)rand_r(seed) << 32 ^ (__u64)rand_r(seed) << 16 ^
		  rand_r(seed);

	switch (rand_r(seed) % 4) {
	case 0:
		return r & 0xff;
	case 1:
		return -(r & 0xfff);
	case 2:
		return 1ull << (r % 64);
	}
	return r;
}
