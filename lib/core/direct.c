// SPDX-License-Identifier: LGPL-2.1-only
/*
 * direct.c - sending by plain stores: setting it up, and what is not short
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "direct.h"
#include "internal.h"
#include "put.h"

/*
 * Of a handle. Each takes a mapping, of which a process has 65,530 unless the
 * administrator says otherwise; most of them are for others to use.
 */
#define OUTS_MAX	16384

static void *window_map(struct dd *h, uint64_t offset, size_t size, int prot)
{
	void *at = mmap(NULL, size, prot, MAP_SHARED, h->fd, offset);

	return at == MAP_FAILED ? NULL : at;
}

/* ---- lanes --------------------------------------------------------------- */

static size_t lane_size(const struct ddi_lane *lane)
{
	return (lane->mask + 1ul) * sizeof(struct dd_ring_note);
}

static struct ddi_lane *lane_new(struct dd *h, const struct dd_direct *d)
{
	struct ddi_lane *lane = calloc(1, sizeof(*lane));

	if (!lane)
		return NULL;
	lane->offset = d->notes;
	lane->mask = d->slots - 1;
	lane->tail = d->start;
	lane->notes = window_map(h, d->notes, lane_size(lane),
				 PROT_READ | PROT_WRITE);
	lane->state = window_map(h, d->state, DDI_STATE_SIZE, PROT_READ);
	if (lane->notes && lane->state)
		return lane;
	if (lane->notes)
		munmap(lane->notes, lane_size(lane));
	if (lane->state)
		munmap((void *)lane->state, DDI_STATE_SIZE);
	free(lane);
	return NULL;
}

/* With lane_lock held since before the kernel gave the ring: see out_grant(). */
static struct ddi_lane *lane_get(struct dd *h, const struct dd_direct *d)
{
	struct ddi_lane *lane;

	for (lane = h->lanes; lane; lane = lane->next)
		if (lane->offset == d->notes)
			break;
	if (!lane) {
		lane = lane_new(h, d);
		if (lane) {
			lane->next = h->lanes;
			h->lanes = lane;
		}
	}
	if (lane)
		lane->users++;
	return lane;
}

static void lane_free(struct ddi_lane *lane)
{
	munmap(lane->notes, lane_size(lane));
	munmap((void *)lane->state, DDI_STATE_SIZE);
	free(lane);
}

static void lane_put(struct dd *h, struct ddi_lane *lane)
{
	struct ddi_lane **link = &h->lanes;
	bool last;

	pthread_mutex_lock(&h->lane_lock);
	last = !--lane->users;
	if (last) {
		while (*link != lane)
			link = &(*link)->next;
		*link = lane->next;
	}
	pthread_mutex_unlock(&h->lane_lock);
	if (last)
		lane_free(lane);
}

/* ---- ways out ------------------------------------------------------------ */

/* Its cell is that of no connection that goes on. */
static struct dd_cell none_cell = { .error = ECONNRESET };
const struct ddi_out ddi_out_none = {
	.open = DDI_NEVER_OPEN,
	.cell = &none_cell,
};

static struct ddi_out *out_new(struct dd_cell *cell)
{
	uint32_t ends = 1, window = ddi_load(&cell->window);
	struct ddi_out *out;

	if (!window || window > DD_WINDOW_MAX)
		return NULL;
	while (ends < window + 1)
		ends *= 2;
	out = calloc(1, sizeof(*out) + ends * sizeof(*out->ends));
	if (!out)
		return NULL;
	out->mask = ends - 1;
	out->window = window;
	out->submitted = ddi_load(&cell->submitted);
	out->limit = out->submitted;
	out->deposits = out->submitted;
	/* The kernel goes on from there, too. */
	ddi_store((ddi_word *)cell->sq[0].meta, out->submitted);
	return out;
}

static bool out_map(struct dd *h, struct ddi_out *out,
		    const struct dd_direct *d)
{
	if (!out->lane || d->block_size > INT32_MAX)
		return false;
	out->state = out->lane->state;
	out->size = d->block_size;
	out->to[0] = d->peer_conn;
	out->to[1] = d->peer_block << 8;
	out->block = window_map(h, d->block, d->block_size,
				PROT_READ | PROT_WRITE);
	return out->block;
}

/* The offset in @size bytes that is too high for the first time. */
static uint64_t room_of(uint64_t size, uint64_t len)
{
	return len <= size ? size - len + 1 : 0;
}

static void out_fill(struct dd *h, struct ddi_out *out, const struct ddi_conn *c)
{
	out->open = c->open;
	out->cell = c->cell;
	out->head = (void *)h->area;
	out->source = c->send;
	for (size_t i = 0; i < DDI_COPY_SHORT / 8; i++) {
		out->source_room[i] = room_of(c->send ? c->send_size : 0,
					      i * 8 + 8);
		out->room[i] = room_of(out->size, i * 8 + 8);
	}
}

/* Counts it, unless there are as many as there may be. */
static bool out_admit(struct dd *h)
{
	bool room;

	pthread_mutex_lock(&h->lane_lock);
	room = h->outs < OUTS_MAX;
	h->outs += room;
	pthread_mutex_unlock(&h->lane_lock);
	return room;
}

static void out_dismiss(struct dd *h)
{
	pthread_mutex_lock(&h->lane_lock);
	h->outs--;
	pthread_mutex_unlock(&h->lane_lock);
}

static void out_unmap(struct dd *h, struct ddi_out *out)
{
	if (out->block)
		munmap(out->block, out->size);
	if (out->lane)
		lane_put(h, out->lane);
}

/*
 * The kernel has this connection on a ring as long as the ring's lane has a user
 * for it, or longer: so who is given a ring that others use finds their lane, and
 * goes on where they are.
 */
static int out_grant(struct dd *h, struct dd_direct *d, struct ddi_out *out)
{
	int ret;

	pthread_mutex_lock(&h->lane_lock);
	ret = ddi_ioctl(h, DD_IOC_DIRECT, d);
	if (ret >= 0)
		out->lane = lane_get(h, d);
	pthread_mutex_unlock(&h->lane_lock);
	return ret;
}

/* What the kernel has granted is of use only if it can be mapped. */
static int out_get(struct dd *h, uint64_t serial, struct ddi_out *out)
{
	struct dd_direct d = { .size = sizeof(d), .conn = serial };
	int ret = out_grant(h, &d, out);

	if (ret < 0)
		return ret;
	if (out_map(h, out, &d))
		return 0;
	/* First: whoever comes to that ring later goes on from another lane. */
	d = (struct dd_direct){ .size = sizeof(d), .conn = serial,
				.flags = DD_DIRECT_DROP };
	ddi_ioctl(h, DD_IOC_DIRECT, &d);
	out_unmap(h, out);
	return -ENOMEM;
}

/**
 * ddi_out_open() - send directly from now on, if that is possible
 * @h: handle
 * @c: connection, locked, of which it is not known yet, or may have changed
 */
void ddi_out_open(struct dd *h, struct ddi_conn *c)
{
	const struct dd_area_head *head = (void *)h->area;
	struct ddi_out *out;
	int ret = -ENOMEM;

	c->out_known = true;
	c->out_again = false;
	c->open = c->guarded ? DDI_NEVER_OPEN : c->serial;
	c->asked = ddi_load(&c->cell->submitted);
	if (!h->direct ||
	    ddi_load(&c->cell->node) != ddi_load(&head->node) || !out_admit(h))
		return;
	out = out_new(c->cell);
	if (out)
		ret = out_get(h, c->serial, out);
	if (ret) {
		c->out_again = ret == -EBUSY || ret == -ENOSPC;
		if (ret == -ENOSPC)
			c->asked |= DDI_ASK_EVERY - 1;
		out_dismiss(h);
		free(out);
		return;
	}
	out_fill(h, out, c);
	c->out = out;
	c->way = c->guarded ? &ddi_out_none : out;
}

static void out_drop(struct dd *h, struct ddi_conn *c)
{
	struct ddi_out *out = c->out;

	c->out = NULL;
	c->way = &ddi_out_none;
	if (!out)
		return;
	out_unmap(h, out);
	out_dismiss(h);
	free(out);
}

/* The connection is locked, and bound to nothing any more. */
void ddi_out_close(struct dd *h, struct ddi_conn *c)
{
	c->out_known = false;
	c->open = DDI_NEVER_OPEN;
	out_drop(h, c);
}

void ddi_out_release(struct dd *h)
{
	struct ddi_conn_chunk *chunk;
	struct ddi_service *s;

	for (chunk = h->chunks; chunk; chunk = chunk->next)
		for (int i = 0; i < DDI_POOL_CHUNK; i++)
			ddi_out_close(h, &chunk->client[i].conn);
	for (s = h->all_services; s; s = s->next)
		for (uint32_t i = 0; i < s->capacity; i++)
			if (s->blocks[i].out)
				ddi_out_close(h, &s->blocks[i]);
}

/* ---- sending ------------------------------------------------------------- */

/**
 * ddi_out_look() - look at the reader's position again
 * @out: the way out, of which the next message may have to wait
 *
 * At most as many messages are unread as there are notes before the end of the
 * last one: all of these, if no other connection uses the ring.
 *
 * Return: whether it must.
 */
bool ddi_out_look(struct ddi_out *out)
{
	uint64_t n = out->submitted, window = out->window, head, end;

	if (ddi_out_drained(out, n))
		return false;
	head = ddi_load_acquire(&out->state->head);
	end = out->ends[(n - 1) & out->mask];
	if (end > head && end - head <= window) {
		out->limit = n + 1 + window - (end - head);
		return false;
	}
	while (out->limit <= n + window &&
	       out->ends[(out->limit - window - 1) & out->mask] <= head)
		out->limit++;
	return n == out->limit;
}

/* Bytes that no word holds; kernel/copy.h has the same. */
static void deposit_tail(char *dst, const char *src, size_t len)
{
	while (len) {
		size_t n = 1;

		if (len >= 4 && !((uintptr_t)dst & 3)) {
			uint32_t v;

			memcpy(&v, src, 4);
			__atomic_store_n((uint32_t *)dst, v, __ATOMIC_RELAXED);
			n = 4;
		} else if (len >= 2 && !((uintptr_t)dst & 1)) {
			uint16_t v;

			memcpy(&v, src, 2);
			__atomic_store_n((uint16_t *)dst, v, __ATOMIC_RELAXED);
			n = 2;
		} else {
			__atomic_store_n(dst, *src, __ATOMIC_RELAXED);
		}
		dst += n;
		src += n;
		len -= n;
	}
}

static void deposit_words(char *dst, const char *src, size_t len)
{
	size_t lead = -(uintptr_t)dst & 7, bulk, i;

	if (lead > len)
		lead = len;
	deposit_tail(dst, src, lead);
	dst += lead;
	src += lead;
	len -= lead;
	bulk = len & ~7ul;
	if (bulk >= DDI_COPY_BULK) {
		memcpy(dst, src, bulk);
	} else {
		for (i = 0; i + 32 <= bulk; i += 32) {
			ddi_move_pair(dst + i, src + i);
			ddi_move_pair(dst + i + 16, src + i + 16);
		}
		for (; i < bulk; i += 8)
			ddi_store((ddi_word *)(dst + i),
				  *(const ddi_any_word *)(src + i));
	}
	deposit_tail(dst + bulk, src + bulk, len - bulk);
}

/* The length of a message's last aligned word, or of its unaligned tail. */
static size_t last_len(const char *dst, size_t len)
{
	size_t tail = (uintptr_t)(dst + len) & 7;

	if (!tail)
		tail = 8;
	return tail < len ? tail : len;
}

/**
 * ddi_deposit() - put the bytes of a message in place
 * @dst: where to, in the peer's block
 * @src: where from
 * @len: bytes
 *
 * Aligned words by single stores, and what ends the message last, as
 * ddi_deposit_short() does it.
 *
 * Return: the last aligned word of the message, or its tail.
 */
uint64_t ddi_deposit(char *dst, const char *src, size_t len)
{
	size_t tail = last_len(dst, len);
	uint64_t word = 0;

	if (!len)
		return 0;
	deposit_words(dst, src, len - tail);
	dst += len - tail;
	memcpy(&word, src + len - tail, tail);
	if (tail == 8 && !((uintptr_t)dst & 7)) {
		ddi_store_release((ddi_word *)dst, word);
		return word;
	}
	__atomic_thread_fence(__ATOMIC_RELEASE);
	deposit_tail(dst, (const char *)&word, tail);
	return word;
}

/* Position after the note that was posted last. */
static uint64_t out_last(const struct ddi_out *out)
{
	return out->ends[(out->submitted - 1) & out->mask];
}

/*
 * The other end has closed, and may have read the last message before. Whatever the
 * kernel found of it then has come; the rest has gone nowhere, and does not count.
 */
static int out_over(struct dd *h, struct ddi_out *out, uint64_t serial)
{
	uint64_t end = out_last(out);
	struct dd_direct d = { .size = sizeof(d), .conn = serial,
			       .flags = DD_DIRECT_DROP, .start = end };

	if (ddi_ioctl(h, DD_IOC_DIRECT, &d) >= 0 && end <= d.start)
		return 0;
	out->submitted--;
	return -ECONNCLOSE;
}

/**
 * ddi_out_after() - finish a message after ddi_out_post()
 * @h: handle
 * @c: connection, locked
 *
 * Return: 0; -ECONNCLOSE if the connection was closed before the message was
 * delivered, or its serial is gone and that is not known. The message then does not
 * count.
 */
int ddi_out_after(struct dd *h, struct ddi_conn *c)
{
	if (ddi_load(&c->cell->conn) != c->serial || ddi_load(&c->cell->error))
		return out_over(h, c->out, c->serial);
	/* If it is closed meanwhile, that has woken the receiver. */
	if (ddi_out_awaited(c->out))
		ddi_ioctl_conn(h, DD_IOC_WAKE, c->serial);
	return 0;
}

/* The kernel copies what this process might fault on. */
static int kernel_deposits(struct dd *h, struct ddi_conn *c,
			   const struct ddi_request *rq, uint64_t *word)
{
	struct ddi_out *out = c->out;
	struct dd_sqe *sqe = &c->cell->sq[0];
	const __u8 head[8] = { DD_OP_PUT, DD_SQE_UNWIRED };
	size_t tail;
	long ret;

	ddi_put_open(sqe);
	memcpy(&sqe->opcode, head, sizeof(head));
	sqe->src = (uintptr_t)rq->addr;
	sqe->region = 0;
	sqe->dst = rq->roffset;
	sqe->len = rq->len;
	sqe->tag = 0;
	ddi_store_release(&sqe->seq, out->deposits + 1);
	do {
		ret = ddi_put_ring(h, c->serial);
	} while (ret < 0 && errno == EINTR);
	if (ret <= 0)
		return ret ? ddi_error(-errno) : -EIO;
	out->deposits++;
	*word = 0;
	if (rq->len) {
		tail = last_len(out->block + rq->roffset, rq->len);
		memcpy(word, out->block + rq->roffset + rq->len - tail, tail);
	}
	return 0;
}

/* What the kernel would have found wrong, in its order. */
static int out_check(struct dd *h, struct ddi_out *out,
		     const struct ddi_request *rq)
{
	const struct dd_area_head *head = (void *)h->area;

	if (!ddi_load(&head->node_up))
		return -ENOCMP;
	if (rq->len > INT32_MAX || rq->roffset > out->size ||
	    rq->len > out->size - rq->roffset)
		return -EBADRANGE;
	return 0;
}

/**
 * ddi_out_send() - send directly, whatever it is
 * @h: handle
 * @c: connection, locked, that sends directly
 * @rq: request, as for ddi_send_locked()
 *
 * Return: as dd_send(), with the same errors in the same order as if the
 * kernel had sent it.
 */
int ddi_out_send(struct dd *h, struct ddi_conn *c, const struct ddi_request *rq)
{
	struct ddi_out *out = c->out;
	bool full = ddi_out_full(out);
	struct dd_sqe unused;
	struct dd_buf buf;
	uint64_t word;
	int ret;

	if (ddi_load(&c->cell->error))
		return ddi_send_closed(h, c);
	if (full && (out->window == 1 || c->most == 1))
		return -ENOTREADY;
	if (rq->options & DD_SEND_DMA) {
		if (!ddi_region_find(h, rq->addr, rq->len, &buf))
			return -EBADRANGE;
	} else if (!(rq->options & DD_SEND_UNWIRED)) {
		ret = ddi_put_source(c, rq->addr, rq->len, &unused);
		if (ret)
			return ret;
	}
	ret = out_check(h, out, rq);
	if (ret || full)
		return ret ? ret : -ENOTREADY;
	if (rq->options & DD_SEND_UNWIRED) {
		ret = kernel_deposits(h, c, rq, &word);
		if (ret)
			return ret;
	} else {
		word = ddi_deposit(out->block + rq->roffset, rq->addr, rq->len);
	}
	ddi_out_post(out, rq, &rq->tag, word, false);
	return ddi_out_after(h, c);
}

/**
 * ddi_out_wait() - wait until messages are done
 * @h: handle
 * @c: connection, locked, that sends directly; unlocked by this function
 * @serial: its serial
 * @n: number of the last of them, at most that of the last one sent
 * @deadline: when to give up
 *
 * Return: 0; -ETIMEDOUT, -ECONNCLOSE, -EBADID.
 */
int ddi_out_wait(struct dd *h, struct ddi_conn *c, uint64_t serial, uint64_t n,
		 int64_t deadline)
{
	struct ddi_out *out = c->out;
	uint64_t end = 0;
	int ret = 0;

	/* All but the last one are within the window. */
	if (n == out->submitted && ddi_out_full(out))
		end = ddi_out_awaits(out);
	/* A close puts in place what was waiting. */
	if (ddi_load(&c->cell->error))
		end = 0;
	/* The reader is at it: that takes him less than going to sleep takes. */
	if (end && ddi_glance(h, &c->spin, &out->state->head, end))
		end = 0;
	ddi_unlock(&c->lock);
	if (!end)
		return 0;
	ret = ddi_conn_wait(h, serial, DD_WAIT_RING, end, deadline);
	return ret == -ECONNCLOSE ? 0 : ret;
}

/* ---- receiving ----------------------------------------------------------- */

static void in_set(struct dd *h, struct ddi_in *in, uint32_t unit)
{
	in->unit = unit;
	in->state = (void *)(h->area + (size_t)unit * DD_UNIT);
	in->mask = in->state->slots - 1;
}

/**
 * ddi_in_refresh() - learn of new rings
 * @h: handle
 * @l: list, locked
 * @lh: its head
 *
 * Return: whether there are any rings.
 */
bool ddi_in_refresh(struct dd *h, struct ddi_list *l, struct dd_list_head *lh)
{
	uint32_t n = ddi_load_acquire(&lh->rings);
	const __u32 *table;

	if (n > DD_RINGS_MAX)
		n = DD_RINGS_MAX;
	if (n <= l->rings)
		return l->rings;
	if (!l->in)
		l->in = calloc(DD_RINGS_MAX, sizeof(*l->in));
	if (!l->in)
		return false;
	table = (void *)(h->area + (size_t)ddi_load(&lh->rings_unit) * DD_UNIT);
	while (l->rings < n) {
		in_set(h, &l->in[l->rings], ddi_load(&table[l->rings]));
		ddi_store_release(&l->rings, l->rings + 1);
	}
	return true;
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/**
 * ddi_in_first() - the first unread message of a connection in a ring
 * @in: the ring, whose list is locked
 * @id: of the connection
 * @start: no position before this
 * @end: position after its last one
 * @pos: (out) position of the first one
 *
 * Return: whether there is one.
 */
bool ddi_in_first(const struct ddi_in *in, uint32_t id, uint64_t start,
		  uint64_t end, uint64_t *pos)
{
	uint64_t head = ddi_load(&in->state->head);

	for (*pos = max_of(head, start);
	     *pos < end && *pos - head <= in->mask; ++*pos) {
		const struct dd_ring_note *slot = ddi_in_slot(in, *pos);

		if (ddi_load_acquire(&slot->seq) == *pos + 1 &&
		    ddi_load(&slot->conn) == id)
			return true;
	}
	return false;
}

/*
 * Number of the last message of a connection that lies unread in a ring, 0 if
 * there is none. What is unread is not written again; false if some of it has
 * been read meanwhile.
 */
static bool in_last(const struct ddi_in *in, uint64_t head, uint32_t id,
		    uint32_t *msgid)
{
	uint64_t pos;

	*msgid = 0;
	for (pos = head; pos - head <= in->mask; pos++) {
		const struct dd_ring_note *slot = ddi_in_slot(in, pos);

		if (ddi_load_acquire(&slot->seq) == pos + 1 &&
		    ddi_load(&slot->conn) == id)
			*msgid = ddi_load(&slot->msgid);
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return ddi_load(&in->state->head) == head;
}

static struct ddi_in *in_find(struct dd *h, const struct ddi_conn *c)
{
	struct ddi_list *l = ddi_table_get(h->board.lists, c->list);
	uint32_t unit = ddi_load(&c->cell->ring), n;

	/* If it is put elsewhere meanwhile, the kernel is asked. */
	while (l && ddi_load_acquire(&l->id) != c->list)
		l = ddi_load_acquire(&l->chain);
	if (!l)
		return NULL;
	n = ddi_load_acquire(&l->rings);
	for (uint32_t i = 0; i < n; i++)
		if (l->in[i].unit == unit)
			return &l->in[i];
	return NULL;
}

/**
 * ddi_in_count() - messages that have come to an end
 * @h: handle
 * @c: the end, locked and described
 * @n: what the kernel has counted; changed if they come directly
 *
 * A message's number has 32 bits: as long as the ring has had fewer notes, and
 * the kernel has brought fewer, that is all of it.
 *
 * Return: whether @n is right; if not, the kernel has to be asked.
 */
bool ddi_in_count(struct dd *h, const struct ddi_conn *c, uint64_t *n)
{
	uint32_t last = 0, got, in_use;
	struct ddi_in *in;
	uint64_t head;

	/* What came by a ring that was given back was counted before. */
	in_use = ddi_load_acquire(&c->cell->ring);
	*n = ddi_load(&c->cell->received);
	if (!in_use && !ddi_load(&c->cell->error))
		return true;
	if (!(c->tracked & DDI_COUNTED) || *n >= UINT32_MAX)
		return false;
	*n = max_of(*n, max_of(c->base, ddi_load(&c->got)));
	/* Over, and all has been read. */
	if (!in_use)
		return true;
	in = in_find(h, c);
	for (int i = 0; in && i < 8; i++) {
		/* Pairs with the reader, who has noted what it has read. */
		head = ddi_load_acquire(&in->state->head);
		got = ddi_load(&c->got);
		if (head + in->mask >= UINT32_MAX)
			return false;
		if (!in_last(in, head, DD_SERIAL_ID(c->serial), &last))
			continue;
		*n = max_of(*n, max_of(got, last));
		return true;
	}
	return false;
}
