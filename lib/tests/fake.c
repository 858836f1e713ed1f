// SPDX-License-Identifier: LGPL-2.1-only
/*
 * fake.c - enough of dd.ko, in user memory, to run the library against
 *
 * Copyright (C) 2026 The dd authors
 *
 * One context, memory never reused; one direct ring for a list, whose windows
 * are mappings of the same memory once more. The linker's --wrap option puts
 * these functions in the place of the C library's.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <linux/dd.h>

#include "fake.h"

#define OBJECTS		64
#define RING_ORDER	3
#define WINDOW_MAX	16

/* What an id names: at most one of these; indexes are shared, as in dd.ko. */
struct object {
	enum { FREE, REGION, LIST, SERVICE, CONN } kind;
	uint32_t id;
	char *addr;			/* region */
	size_t size;
	uint32_t unit;			/* list, connection's cell */
	uint64_t tail;
	uint32_t ring;			/* list: unit of its direct ring */
	int users;
	struct dd_serve serve;		/* service */
	struct object *peer, *list, *service;
	char *recv, *send;
	size_t recv_size, send_size;
	uint64_t cookie, taken_at[WINDOW_MAX], posts;
	uint32_t block, type, window;
	bool withheld, direct, nodirect, any;
	uint64_t end;			/* of its notes, when the ring was taken */
	struct dd_note note;
};

struct fake fake;

static struct object objects[OBJECTS];
static uint32_t next_unit, next_tag;
static char *area;
static int fake_fd = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int __real_open(const char *path, int flags, ...);
int __real_ioctl(int fd, unsigned long request, unsigned long arg);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t offset);
int __real_close(int fd);
int __wrap_open(const char *path, int flags, ...);
int __wrap_ioctl(int fd, unsigned long request, unsigned long arg);
off_t __real_lseek(int fd, off_t offset, int whence);
off_t __wrap_lseek(int fd, off_t offset, int whence);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t offset);
int __wrap_close(int fd);

static void *unit_addr(uint32_t unit)
{
	return area + (size_t)unit * DD_UNIT;
}

static uint32_t units(uint32_t count)
{
	uint32_t unit = next_unit;

	next_unit += count;
	return unit;
}

static struct object *object_new(int kind)
{
	/* Index 0 stays free. */
	for (uint32_t i = 1; i < OBJECTS; i++) {
		struct object *o = &objects[i];

		if (o->kind == FREE) {
			memset(o, 0, sizeof(*o));
			o->kind = kind;
			o->id = ++next_tag % 4096 << DD_ID_INDEX_BITS | i;
			return o;
		}
	}
	return NULL;
}

static struct object *object_get(uint32_t id, int kind)
{
	struct object *o = &objects[DD_ID_INDEX(id) % OBJECTS];

	return id && o->id == id && o->kind == (unsigned int)kind ? o : NULL;
}

static void *wired(size_t size)
{
	void *addr = __real_mmap(NULL, size, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
				 -1, 0);

	/* As the memory of dd.ko: children do not get it. */
	madvise(addr, size, MADV_DONTFORK);
	return addr;
}

/* ---- lists -------------------------------------------------------------- */

static struct dd_list_head *list_head(struct object *l)
{
	return unit_addr(l->unit);
}

static struct object *list_new(void)
{
	struct object *l = object_new(LIST);
	struct dd_list_head *lh;

	l->unit = units(1);
	lh = list_head(l);
	lh->geometry = (uint64_t)units(1 << RING_ORDER) << 32 | RING_ORDER;
	lh->id = l->id;
	return l;
}

static struct object *list_attach(uint32_t id, bool must)
{
	struct object *l = object_get(id, LIST);

	if (!l && !must)
		l = list_new();
	if (l)
		l->users++;
	return l;
}

static void list_detach(struct object *l)
{
	if (--l->users)
		return;
	list_head(l)->id = 0;
	list_head(l)->flags |= DD_LIST_GONE;
	l->kind = FREE;
}

static struct dd_note *list_slot(struct object *l, uint64_t pos)
{
	uint64_t geometry = list_head(l)->geometry;

	return (struct dd_note *)unit_addr(geometry >> 32) +
	       (pos & ((1u << (geometry & 31)) - 1));
}

static uint64_t list_post(struct object *l, const struct dd_note *note)
{
	struct dd_note *slot = list_slot(l, l->tail);

	memcpy((char *)slot + 8, (const char *)note + 8, sizeof(*note) - 8);
	__atomic_store_n(&slot->seq, l->tail + 1, __ATOMIC_RELEASE);
	return ++l->tail;
}

void fake_list_grow(uint32_t id)
{
	struct object *l = object_get(id, LIST);
	struct dd_list_head *lh = list_head(l);
	uint64_t old = lh->geometry, order = (old & 31) + 1;
	uint64_t new = (uint64_t)units(1 << order) << 32 | order;

	for (uint64_t pos = lh->head; pos != l->tail; pos++)
		memcpy((struct dd_note *)unit_addr(new >> 32) +
		       (pos & ((1u << order) - 1)), list_slot(l, pos),
		       sizeof(struct dd_note));
	/* What was there is scribbled on, as if it had been used again. */
	memset(unit_addr(old >> 32), 0xa5, sizeof(struct dd_note) << (old & 31));
	__atomic_store_n(&lh->geometry, new, __ATOMIC_RELEASE);
}

/* ---- the direct path ---------------------------------------------------- */

#define PAGE		4096u
#define PAGE_UNITS	(PAGE / DD_UNIT)
#define RING_SLOTS	(PAGE / sizeof(struct dd_ring_note))
/* In an offset: a window; on the area if there is no region's id above. */
#define WINDOW		(1ull << 31)

static struct dd_ring_note *ring_slot(uint32_t ring, uint64_t pos)
{
	return (struct dd_ring_note *)unit_addr(ring + PAGE_UNITS) +
	       pos % RING_SLOTS;
}

static bool ring_ready(uint32_t ring)
{
	struct dd_ring_state *state = unit_addr(ring);

	return ring && __atomic_load_n(&ring_slot(ring, state->head)->seq,
				       __ATOMIC_ACQUIRE) == state->head + 1;
}

static void ring_new(struct object *l)
{
	struct dd_list_head *lh = list_head(l);

	next_unit = (next_unit + PAGE_UNITS - 1) / PAGE_UNITS * PAGE_UNITS;
	l->ring = units(2 * PAGE_UNITS);
	((struct dd_ring_state *)unit_addr(l->ring))->slots = RING_SLOTS;
	lh->rings_unit = units(1);
	*(uint32_t *)unit_addr(lh->rings_unit) = l->ring;
	__atomic_store_n(&lh->rings, 1, __ATOMIC_RELEASE);
}

void fake_ring_post(uint32_t id, const struct dd_ring_note *note)
{
	uint32_t ring = object_get(id, LIST)->ring;
	struct dd_ring_note *slot;
	uint64_t pos = ((struct dd_ring_state *)unit_addr(ring))->head;

	while (ring_slot(ring, pos)->seq == pos + 1)
		pos++;
	slot = ring_slot(ring, pos);
	memcpy((char *)slot + 8, (const char *)note + 8, sizeof(*note) - 8);
	__atomic_store_n(&slot->seq, pos + 1, __ATOMIC_RELEASE);
}

/*
 * Another mapping of shared memory, for the library to unmap. What looks for
 * races by address wants the same one, and closes nothing.
 */
static void *alias(void *addr, size_t len)
{
#ifdef FAKE_ONE_ADDRESS
	return addr;
#else
	return mremap(addr, 0, len, MREMAP_MAYMOVE);
#endif
}

static void *window_map(uint64_t offset, size_t len)
{
	struct object *r;

	uint32_t at = offset & (WINDOW - 1);

	if (!(offset >> 32))
		return alias(area + at, len);
	r = object_get(offset >> 32, REGION);
	return r ? alias(r->addr + at, len) : MAP_FAILED;
}

static bool list_ready(struct object *l)
{
	return list_head(l)->head != l->tail || ring_ready(l->ring);
}

/* ---- connections -------------------------------------------------------- */

static struct dd_cell *conn_cell(struct object *c)
{
	return unit_addr(c->unit);
}

static void deliver(struct object *to, struct object *from)
{
	struct object *l = to->list;
	struct dd_list_head *lh = list_head(l);
	uint64_t *taken_at = &to->taken_at[to->posts % to->window];

	to->withheld = true;
	if (__atomic_load_n(&lh->head, __ATOMIC_ACQUIRE) < *taken_at) {
		__atomic_or_fetch(&lh->flags, DD_LIST_NEED_KICK,
				  __ATOMIC_SEQ_CST);
		/* The reader stores its head, then looks at the flag. */
		if (__atomic_load_n(&lh->head, __ATOMIC_SEQ_CST) < *taken_at)
			return;
	}
	*taken_at = list_post(l, &to->note);
	to->posts++;
	to->withheld = false;
	if (!fake.far)
		conn_cell(from)->done = conn_cell(from)->submitted;
}

void fake_told(uint32_t conn)
{
	struct dd_cell *cell = conn_cell(object_get(conn, CONN));

	cell->done = cell->submitted;
}

static int list_kick(struct object *l)
{
	__atomic_and_fetch(&list_head(l)->flags, ~DD_LIST_NEED_KICK,
			   __ATOMIC_SEQ_CST);
	for (int i = 1; i < OBJECTS; i++)
		if (objects[i].kind == CONN && objects[i].list == l &&
		    objects[i].withheld)
			deliver(&objects[i], objects[i].peer);
	return 0;
}

static const char *sqe_source(struct object *c, const struct dd_sqe *sqe)
{
	if (sqe->flags & DD_SQE_UNWIRED)
		return (const char *)sqe->src;
	if (sqe->flags & DD_SQE_REGION)
		return object_get(sqe->region, REGION)->addr + sqe->src;
	return c->send + sqe->src;
}

void fake_take_back(uint32_t id)
{
	struct object *c = object_get(id, CONN);
	struct dd_ring_state *state = unit_addr(c->peer->list->ring);

	fake.take_back = 0;
	c->end = state->head;
	conn_cell(c)->left = 1;
}

static int execute(struct object *c, const struct dd_sqe *sqe)
{
	struct dd_cell *cell = conn_cell(c);
	struct object *to = c->peer;
	uint32_t id = c->id;

	if (sqe->dst > to->recv_size || sqe->len > to->recv_size - sqe->dst)
		return -ERANGE;
	if (to->withheld)
		return -EBUSY;
	memcpy(to->recv + sqe->dst, sqe_source(c, sqe), sqe->len);
	cell->sent = ++cell->submitted;
	if (!(sqe->flags & DD_SQE_NOTIFY)) {
		cell->done = cell->submitted;
		if (fake.take_back == id)
			fake_take_back(id);
		return 1;
	}
	to->note = (struct dd_note){
		.conn = to->id, .type = DD_NOTE_DATA, .cookie = to->cookie,
		.offset = sqe->dst, .len = sqe->len, .tag = sqe->tag,
		.msgid = ++conn_cell(to)->received,
		.meta_count = sqe->meta_count,
	};
	memcpy(to->note.meta, sqe->meta, sizeof(sqe->meta));
	deliver(to, c);
	return 1;
}

static int doorbell(uint32_t id)
{
	struct object *c = object_get(id, CONN);
	const struct dd_sqe *sqe;

	if (!c)
		return -ENOENT;
	if (conn_cell(c)->error)
		return -conn_cell(c)->error;
	sqe = &conn_cell(c)->sq[0];
	return sqe->seq == conn_cell(c)->submitted + 1 ? execute(c, sqe) : 0;
}

static int do_submit(struct dd_submit *s)
{
	const struct dd_request *rq = (const void *)s->requests;
	int ret = 1;

	if (s->stride != sizeof(*rq) || !s->count || s->taken || s->error)
		return -EINVAL;
	for (; s->taken < s->count; s->taken++, rq++) {
		struct object *c = object_get(rq->conn, CONN);

		ret = !c ? -ENOENT : rq->__reserved || rq->sqe.seq ? -EINVAL :
		      -conn_cell(c)->error;
		if (!ret)
			ret = execute(c, &rq->sqe);
		if (ret < 0)
			break;
		/* A signal comes after so many. */
		ret = -EINTR;
		if (fake.cut && s->taken + 1 == fake.cut) {
			fake.cut = 0;
			s->taken++;
			break;
		}
	}
	s->error = s->taken < s->count ? -ret : 0;
	return s->taken ? 0 : ret;
}

static void cell_init(struct object *c)
{
	struct dd_cell *cell = conn_cell(c);

	memset(cell, 0, sizeof(*cell));
	cell->depth = 1;
	cell->node = 1;
	cell->type = c->type;
	cell->peer_size = c->peer->recv_size;
	cell->window = c->peer->window;
	cell->id = c->id;
}

static struct object *service_by_name(const unsigned char *name)
{
	for (int i = 1; i < OBJECTS; i++)
		if (objects[i].kind == SERVICE &&
		    !strcmp((char *)objects[i].serve.name, (char *)name))
			return &objects[i];
	return NULL;
}

static struct object *accept_conn(struct object *s, uint32_t type)
{
	const struct dd_serve *sv = &s->serve;
	struct object *c = object_new(CONN);
	struct dd_note note = { .type = DD_NOTE_CONN };

	/* The block after the last one: memory is never reused, blocks are. */
	c->block = s->users++ % sv->maxconn;
	c->nodirect = sv->flags & DD_SERVE_NODIRECT;
	c->any = sv->flags & DD_SERVE_DIRECT_ANY;
	c->service = s;
	c->type = type;
	c->window = sv->window ? sv->window : 1;
	c->unit = sv->cells_unit + c->block * sv->cell_units;
	c->cookie = s->id | (uint64_t)c->block << 32;
	c->recv = object_get(sv->recv.region, REGION)->addr + sv->recv.offset +
		  c->block * sv->recv_block;
	c->recv_size = sv->recv_block;
	if (sv->send.region)
		c->send = object_get(sv->send.region, REGION)->addr +
			  sv->send.offset + c->block * sv->send_block;
	c->send_size = sv->send_block;
	c->list = s->list;
	if (sv->flags & DD_SERVE_ACCEPT) {
		c->list = list_attach(0, false);
		note.conn = c->id;
		note.cookie = c->cookie;
		list_post(s->list, &note);
	}
	return c;
}

static char *buf_addr(const struct dd_buf *buf)
{
	struct object *r = object_get(buf->region, REGION);

	return r ? r->addr + buf->offset : NULL;
}

static int do_connect(struct dd_connect *cn)
{
	struct object *s = service_by_name(cn->name), *c, *l;
	int err = ECONNREFUSED;

	/* The error of a service that is not there may be in its name. */
	sscanf((char *)cn->name, "errno %d", &err);
	if (!s)
		return -err;
	l = list_attach(cn->flags & DD_CONNECT_ANON ? 0 : cn->list,
			cn->flags & DD_CONNECT_LIST);
	if (!l)
		return -ENOENT;
	c = object_new(CONN);
	c->list = l;
	c->type = cn->type;
	c->window = cn->window ? cn->window : 1;
	c->cookie = cn->cookie;
	c->nodirect = cn->flags & DD_CONNECT_NODIRECT;
	c->any = cn->flags & DD_CONNECT_DIRECT_ANY;
	c->unit = units(2);
	c->send = buf_addr(&cn->send);
	c->send_size = cn->send.length;
	c->recv = buf_addr(&cn->recv);
	c->recv_size = cn->recv.length;
	c->peer = accept_conn(s, cn->type);
	c->peer->peer = c;
	cell_init(c);
	cell_init(c->peer);
	cn->conn = c->id;
	cn->cell_unit = c->unit;
	cn->list = l->id;
	cn->list_unit = l->unit;
	return 0;
}

static int do_close(uint32_t id)
{
	struct object *c = object_get(id, CONN);
	struct dd_note note = { .type = DD_NOTE_CLOSE };

	if (!c)
		return -ENOENT;
	if (c->peer && c->peer->peer == c) {
		conn_cell(c->peer)->error = ECONNRESET;
		c->peer->peer = NULL;
		note.conn = c->peer->id;
		note.cookie = c->peer->cookie;
		if (!c->peer->service)
			list_post(c->peer->list, &note);
	}
	if (c->list != (c->service ? c->service->list : NULL))
		list_detach(c->list);
	c->kind = FREE;
	return 0;
}

static int do_unserve(uint32_t id)
{
	struct object *s = object_get(id, SERVICE);

	if (!s)
		return -ENOENT;
	for (int i = 1; i < OBJECTS; i++)
		if (objects[i].kind == CONN && objects[i].service == s)
			do_close(objects[i].id);
	list_detach(s->list);
	s->kind = FREE;
	return 0;
}

static int do_serve(struct dd_serve *sv)
{
	struct object *s, *l;

	if (service_by_name(sv->name))
		return -EEXIST;
	l = list_attach(sv->list, sv->flags & DD_SERVE_LIST);
	if (!l)
		return -ENOENT;
	s = object_new(SERVICE);
	s->list = l;
	sv->service = s->id;
	sv->list = l->id;
	sv->list_unit = l->unit;
	sv->cell_units = 2;
	sv->cells_unit = units(2 * sv->maxconn);
	sv->recv_block = sv->recv.length / sv->maxconn & ~7ull;
	sv->send_block = sv->send.length / sv->maxconn & ~7ull;
	s->serve = *sv;
	return 0;
}

static uint64_t conn_sent(struct object *c);

static int do_conn_info(struct dd_conn_info *info)
{
	struct object *c = object_get(info->conn, CONN);

	if (!c)
		return -ENOENT;
	info->list = c->list->id;
	info->list_unit = c->list->unit;
	info->service = c->service ? c->service->id : 0;
	info->block = c->block;
	info->type = c->type;
	info->node = 1;
	info->pid = getpid();
	info->uid = geteuid();
	info->cell_unit = c->unit;
	info->window = c->window;
	info->send_window = c->peer ? c->peer->window : 1;
	info->received = c->peer ? conn_sent(c->peer) : conn_cell(c)->received;
	for (int i = 1; i < OBJECTS; i++) {
		struct object *r = &objects[i];

		if (r->kind != REGION)
			continue;
		if (c->send >= r->addr && c->send < r->addr + r->size)
			info->send = (struct dd_buf){ .region = r->id,
				.offset = c->send - r->addr,
				.length = c->send_size };
		if (c->recv >= r->addr && c->recv < r->addr + r->size)
			info->recv = (struct dd_buf){ .region = r->id,
				.offset = c->recv - r->addr,
				.length = c->recv_size };
	}
	return 0;
}

/* What was stored since then is in no ring. */
static int depart(struct object *c, struct dd_direct *d)
{
	struct dd_cell *cell = conn_cell(c);

	for (uint64_t pos = c->end; pos != c->end + RING_SLOTS; pos++)
		ring_slot(c->peer->list->ring, pos)->seq = 0;
	memcpy(&cell->submitted, cell->sq[0].meta, sizeof(cell->submitted));
	cell->submitted -= d->start > c->end;
	cell->sent = cell->done = cell->submitted;
	cell->left = 0;
	conn_cell(c->peer)->received = cell->submitted;
	conn_cell(c->peer)->ring = 0;
	c->direct = false;
	d->start = c->end;
	return 0;
}

static int do_direct(struct dd_direct *d)
{
	struct object *c = object_get(d->conn, CONN), *to, *r = NULL;
	struct dd_ring_state *state;

	if (!c)
		return -ENOENT;
	to = c->peer;
	if (!to)
		return -ECONNRESET;
	if (conn_cell(c)->left)
		return d->flags & DD_DIRECT_DROP ? depart(c, d) : -EBUSY;
	if (d->flags & DD_DIRECT_DROP) {
		c->direct = false;
		conn_cell(to)->ring = 0;
		return 0;
	}
	if (to->withheld || list_head(to->list)->head != to->list->tail)
		return -EBUSY;
	if (fake.no_ring)
		return -ENOSPC;
	for (int i = 1; i < OBJECTS && !r; i++)
		if (objects[i].kind == REGION && to->recv >= objects[i].addr &&
		    to->recv < objects[i].addr + objects[i].size)
			r = &objects[i];
	if (fake.far || !r || (to->recv - r->addr) % PAGE || to->recv_size % PAGE)
		return -EOPNOTSUPP;
	if (c->nodirect || to->nodirect || (fake.strangers && !to->any))
		return -EACCES;
	if (!to->list->ring)
		ring_new(to->list);
	c->direct = true;
	conn_cell(to)->ring = to->list->ring;
	d->peer_conn = to->id;
	d->block = (uint64_t)r->id << 32 | WINDOW | (to->recv - r->addr);
	d->block_size = to->recv_size;
	d->state = WINDOW | to->list->ring * DD_UNIT;
	d->notes = d->state + PAGE;
	d->slots = RING_SLOTS;
	d->peer_block = to->block;
	/* Whoever sent before has sent from here as well. */
	state = unit_addr(to->list->ring);
	for (d->start = state->head;
	     ring_slot(to->list->ring, d->start)->seq == d->start + 1;)
		d->start++;
	return 0;
}

/* What the owner says it has sent. */
static uint64_t conn_sent(struct object *c)
{
	uint64_t n;

	memcpy(&n, conn_cell(c)->sq[0].meta, sizeof(n));
	return c->direct ? n : conn_cell(c)->submitted;
}

static int do_conn_list(struct dd_conn_list *cl)
{
	uint32_t *ids = (uint32_t *)cl->conns, n = 0;

	if (!object_get(cl->service, SERVICE))
		return -ENOENT;
	for (int i = 1; i < OBJECTS; i++)
		if (objects[i].kind == CONN && objects[i].service &&
		    objects[i].service->id == cl->service) {
			if (n < cl->count)
				ids[n] = objects[i].id;
			n++;
		}
	cl->count = n;
	return 0;
}

static int do_region_alloc(struct dd_region_alloc *ra)
{
	struct object *r;

	if (ra->length > 1 << 24)
		return -EDQUOT;
	r = object_new(REGION);
	r->size = ra->length = (ra->length + 4095) & ~4095ull;
	r->addr = wired(r->size);
	ra->region = r->id;
	ra->offset = (uint64_t)r->id << 32;
	return 0;
}

/* ---- waiting ------------------------------------------------------------ */

static int lists_ready(struct dd_list_wait *w)
{
	uint32_t *ids = (uint32_t *)w->lists;
	int ready = 0;

	for (uint32_t i = 0; i < w->count; i++) {
		struct object *l = object_get(ids[i], LIST);

		if (!l)
			return -ENOENT;
		ready += list_ready(l);
	}
	return ready;
}

static int conn_reached(struct dd_conn_wait *w)
{
	struct object *c = object_get(w->conn, CONN);

	if (!c)
		return -ENOENT;
	if (w->what == DD_WAIT_RING) {
		struct dd_ring_state *state;

		if (!c->peer)
			return -ECONNRESET;
		state = unit_addr(c->peer->list->ring);
		return __atomic_load_n(&state->head, __ATOMIC_ACQUIRE) >=
		       w->value;
	}
	if ((w->what == DD_WAIT_SENT ? conn_cell(c)->sent :
				       conn_cell(c)->done) >= w->value)
		return 1;
	return conn_cell(c)->error ? -ECONNRESET : 0;
}

static int wait_for(unsigned long request, void *arg, uint64_t timeout)
{
	struct timespec tick = { .tv_nsec = 200000 };

	for (uint64_t waited = 0;; waited += tick.tv_nsec) {
		int ret;

		pthread_mutex_lock(&lock);
		ret = request == DD_IOC_LIST_WAIT ? lists_ready(arg) :
						    conn_reached(arg);
		pthread_mutex_unlock(&lock);
		if (ret)
			return ret < 0 ? ret : 0;
		if (waited >= timeout)
			return timeout ? -ETIMEDOUT : -EAGAIN;
		nanosleep(&tick, NULL);
	}
}

/* ---- the system calls --------------------------------------------------- */

static int dispatch(unsigned long request, unsigned long arg)
{
	struct object *o;

	switch (request) {
	case DD_IOC_INFO: {
		struct dd_info *info = (void *)arg;

		info->packet_size = 65536;
		info->memlock_limit = 1 << 24;
		return 0;
	}
	case DD_IOC_REGION_ALLOC:
		return do_region_alloc((void *)arg);
	case DD_IOC_SERVE:
		return do_serve((void *)arg);
	case DD_IOC_CONNECT:
		return do_connect((void *)arg);
	case DD_IOC_CONN_INFO:
		return do_conn_info((void *)arg);
	case DD_IOC_CONN_LIST:
		return do_conn_list((void *)arg);
	case DD_IOC_DIRECT:
		return do_direct((void *)arg);
	case DD_IOC_SUBMIT:
		return do_submit((void *)arg);
	case DD_IOC_WAKE:
		return 0;
	case DD_IOC_LIST_INFO: {
		struct dd_list_info *info = (void *)arg;

		o = object_get(info->list, LIST);
		if (!o)
			return -ENOENT;
		info->list_unit = o->unit;
		return 0;
	}
	case DD_IOC_DOORBELL:
		return doorbell(arg);
	case DD_IOC_LIST_KICK:
		o = object_get(arg, LIST);
		return o ? list_kick(o) : -ENOENT;
	case DD_IOC_REGION_FREE:
		o = object_get(arg, REGION);
		if (!o)
			return -ENOENT;
		o->kind = FREE;
		return 0;
	case DD_IOC_CLOSE:
		return do_close(arg);
	case DD_IOC_UNSERVE:
		return do_unserve(arg);
	}
	return -ENOTTY;
}

/* The kernel takes a seek for a doorbell, a wake-up, or a wait. */
off_t __wrap_lseek(int fd, off_t offset, int whence)
{
	uint32_t id = offset;
	struct dd_list_wait w = {
		.size = sizeof(w),
		.lists = (uintptr_t)&id,
		.count = 1,
		.timeout = UINT64_MAX,
	};

	if (fd != fake_fd)
		return __real_lseek(fd, offset, whence);
	if (whence == SEEK_END)
		return __wrap_ioctl(fd, DD_IOC_LIST_WAIT, (uintptr_t)&w);
	if (whence == SEEK_DATA)
		return __wrap_ioctl(fd, DD_IOC_SUBMIT, offset) ? -1 :
		       (off_t)((struct dd_submit *)offset)->taken;
	return __wrap_ioctl(fd, whence == SEEK_SET ? DD_IOC_DOORBELL :
						     DD_IOC_WAKE, offset);
}

int __wrap_ioctl(int fd, unsigned long request, unsigned long arg)
{
	int ret;

	if (fd != fake_fd)
		return __real_ioctl(fd, request, arg);
	__atomic_fetch_add(&fake.calls, 1, __ATOMIC_RELAXED);
	if (fake.interrupts) {
		fake.interrupts--;
		errno = EINTR;
		return -1;
	}
	if (fake.refuse == request) {
		fake.refuse = 0;
		errno = fake.refusal;
		return -1;
	}
	if (request == DD_IOC_LIST_WAIT) {
		ret = wait_for(request, (void *)arg,
			       ((struct dd_list_wait *)arg)->timeout);
	} else if (request == DD_IOC_CONN_WAIT) {
		ret = wait_for(request, (void *)arg,
			       ((struct dd_conn_wait *)arg)->timeout);
	} else {
		pthread_mutex_lock(&lock);
		ret = dispatch(request, arg);
		pthread_mutex_unlock(&lock);
	}
	if (ret >= 0)
		return ret;
	errno = -ret;
	return -1;
}

int __wrap_open(const char *path, int flags, ...)
{
	struct dd_area_head *head;

	if (strcmp(path, "/dev/dd"))
		return __real_open(path, flags);
	if (fake.absent) {
		errno = fake.absent;
		return -1;
	}
	area = wired(DD_AREA_SIZE);
	head = (void *)area;
	*head = (struct dd_area_head){ .magic = DD_AREA_MAGIC,
				       .version = DD_ABI_VERSION, .node = 1,
				       .maxnodes = 2, .node_up = 1 };
	next_unit = 1;
	fake_fd = __real_open("/dev/null", O_RDWR | O_CLOEXEC);
	return fake_fd;
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t offset)
{
	struct object *r;

	if (fd < 0 || fd != fake_fd)
		return __real_mmap(addr, len, prot, flags, fd, offset);
	if (offset == DD_AREA_OFFSET)
		return area;
	if (offset & WINDOW && fake.unmapped && !--fake.unmapped) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (offset & WINDOW)
		return window_map(offset, len);
	r = object_get((uint64_t)offset >> 32, REGION);
	return r ? r->addr : MAP_FAILED;
}

int __wrap_close(int fd)
{
	if (fd == fake_fd) {
		memset(objects, 0, sizeof(objects));
		fake_fd = -1;
	}
	return __real_close(fd);
}

void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
}
