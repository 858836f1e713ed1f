// SPDX-License-Identifier: LGPL-2.1-only
/*
 * recv.c - the receive path: the next message of a note list
 *
 * Copyright (C) 2026 The dd authors
 *
 * A list has a ring of its own, which the kernel writes, and direct rings, which other
 * processes write. A message is taken from the ring of the last one; after STREAK of
 * them, and if there is none, all rings are looked at in turn.
 */
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "deposit.h"
#include "dev.h"
#include "error.h"
#include "recv.h"

#define STREAK		32
#define META_MASK	0xff00000000ull	/* @meta_count in the second word of a slot */
#define VOID_MAX	4096	/* as many notes as a direct ring can hold */

/* What the notes of both kinds of rings have in common. */
struct note_body {
	uint64_t offset;
	uint64_t len;
	uint64_t word;
	uint32_t msgid;
	uint32_t tag;
} __attribute__((may_alias));

#define BODY_IN(type)	(offsetof(struct type, len) - offsetof(struct type, offset) == 8 && \
			 offsetof(struct type, word) - offsetof(struct type, offset) == 16 && \
			 offsetof(struct type, msgid) - offsetof(struct type, offset) == 24 && \
			 offsetof(struct type, tag) - offsetof(struct type, offset) == 28)
_Static_assert(BODY_IN(dd_note) && BODY_IN(dd_ring_note), "layout");
_Static_assert(DD_MSG_DATA == (int)DD_NOTE_DATA && DD_MSG_CONN == (int)DD_NOTE_CONN &&
	       DD_MSG_CLOSE == (int)DD_NOTE_CLOSE && DD_LIST_NEED_KICK == 1, "numbers");

/*
 * A note in a ring. Of a direct ring another process may write @body and @meta at any time,
 * so each word of them is loaded once.
 */
struct found {
	struct ddi_conn *c;	/* once it is known */
	uint64_t serial;	/* of @c */
	uint64_t word;		/* direct: second word of the slot */
	uint64_t offset;
	uint64_t len;
	const struct note_body *body;
	const __u32 *meta;
	unsigned int words;	/* valid of @meta; more than DD_META_WORDS count as these */
	int type;		/* enum dd_note_type */
	const struct ddi_direct_rx *rx;	/* direct: the ring */
	uint64_t pos;
	__u64 *head;		/* position of the reader */
	const __u32 *flag;	/* bit 0: the kernel waits for a slot */
};

/* The note at @pos of a direct ring; false if there is none. */
static inline bool direct_look(const struct ddi_direct_rx *rx, uint64_t pos,
				   struct found *f)
{
	const struct dd_ring_note *slot = ddi_direct_slot(rx, pos);

	if (ddi_load_acquire(&slot->seq) != pos + 1)
		return false;
	f->word = ddi_load((const ddi_word *)&slot->conn);
	f->body = (const struct note_body *)&slot->offset;
	f->meta = slot->meta;
	f->words = f->word >> 32 & 0xff;
	f->type = DD_NOTE_DATA;
	f->rx = rx;
	f->pos = pos;
	f->head = &rx->state->head;
	f->flag = &rx->state->need_kick;
	return true;
}

/*
 * Whether a note of a direct ring is one of the connection that its first word names: the
 * connection's state, which the kernel writes, has the serial of the record and refers to this
 * ring, and the message lies in the connection's block.
 */
static inline bool direct_good(struct found *f, uint64_t word)
{
	const struct ddi_conn *c = f->c;
	const struct dd_conn_state *cs = c->cs;

	f->serial = ddi_load_acquire(&c->serial);
	if (ddi_unlikely(ddi_load(&c->note) != word) ||
	    ddi_unlikely(ddi_load_acquire(&cs->conn) != f->serial) ||
	    ddi_unlikely(ddi_load_acquire(&cs->ring) != f->rx->unit))
		return false;
	f->offset = ddi_load(&f->body->offset);
	f->len = ddi_load(&f->body->len);
	return ddi_likely(f->offset <= c->recv_size) &&
	       ddi_likely(f->len <= c->recv_size - f->offset);
}

/* The list has another geometry: locate its slots. False if they are not inside the area. */
static bool list_locate(struct ddi_list *l, uint64_t geometry)
{
	/* Slot 0 is inside if the last one is. */
	if (!ddi_list_slot(l, geometry, ~0ull))
		return false;
	l->ring = ddi_list_slot(l, geometry, 0);
	l->mask = (1u << (geometry & 0xffffffff)) - 1;
	l->geometry = geometry;
	return true;
}

/*
 * Copy the first unread note of the list's own ring. While the list grows, the notes move:
 * the geometry is compared again after the slot was read, whether or not it held a note.
 * False if there is none.
 */
static DDI_INLINE bool own_look(struct ddi_list *l, struct dd_note *note, struct found *f)
{
	struct dd_list_head *lh = l->head;
	uint64_t pos = ddi_load(&lh->head), geometry;
	const struct dd_note *slot;
	bool there;

	do {
		geometry = ddi_load_acquire(&lh->geometry);
		if (ddi_unlikely(geometry != l->geometry) && !list_locate(l, geometry))
			return false;
		slot = l->ring + (pos & l->mask);
		there = ddi_load_acquire(&slot->seq) == pos + 1;
		if (there) {
			note->seq = pos + 1;
			note->conn = ddi_load(&slot->conn);
			note->offset = ddi_load(&slot->offset);
			note->len = ddi_load(&slot->len);
			note->word = ddi_load(&slot->word);
			note->msgid = ddi_load(&slot->msgid);
			note->tag = ddi_load(&slot->tag);
			note->type = ddi_load(&slot->type);
			note->meta_count = ddi_load(&slot->meta_count);
			for (int i = 0; ddi_unlikely(note->meta_count) && i < DD_META_WORDS; i++)
				note->meta[i] = ddi_load(&slot->meta[i]);
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
		}
	} while (ddi_unlikely(ddi_load(&lh->geometry) != geometry));
	if (!there)
		return false;
	f->serial = note->conn;
	f->offset = note->offset;
	f->len = note->len;
	f->body = (const struct note_body *)&note->offset;
	f->meta = note->meta;
	f->words = note->meta_count;
	f->type = note->type;
	f->pos = pos;
	f->head = &lh->head;
	f->flag = &lh->flags;
	return true;
}

/* Whether the connection of a note is in its bucket, and the note has no metadata. */
static inline bool known(struct dd *h, struct found *f, bool direct)
{
	f->c = ddi_table_get(h->board.conns, direct ? f->word : f->serial);
	/* With metadata, the word of a direct note is no connection's. */
	if (ddi_unlikely(!f->c))
		return false;
	return direct ? direct_good(f, f->word) :
			!f->words && ddi_conn_has(f->c, f->serial);
}

/* Whether a note has a connection, which only the kernel may know so far. */
static bool find_conn(struct dd *h, struct found *f, bool direct)
{
	if (f->type < DD_NOTE_DATA || f->type > DD_NOTE_CLOSE)
		return false;
	f->c = direct ? ddi_conn_find(h, f->word) : ddi_conn_of(h, f->serial);
	return f->c && (!direct || direct_good(f, f->word & ~META_MASK));
}

/* Look for new direct rings of a locked list. Returns the number of rings. */
static uint32_t direct_refresh(struct dd *h, struct ddi_list *l)
{
	uint32_t n = ddi_load_acquire(&l->head->rings);
	const __u32 *table;

	if (n > DD_RINGS_MAX)
		n = DD_RINGS_MAX;
	if (n <= l->nr_rx)
		return l->nr_rx;
	if (!l->rx)
		l->rx = calloc(DD_RINGS_MAX, sizeof(*l->rx));
	if (!l->rx)
		return 0;
	table = ddi_unit(h, ddi_load(&l->head->rings_unit));
	while (l->nr_rx < n) {
		struct ddi_direct_rx *rx = &l->rx[l->nr_rx];

		rx->unit = ddi_load(&table[l->nr_rx]);
		rx->state = ddi_unit(h, rx->unit);
		rx->mask = rx->state->slots - 1;
		/* Pairs with list_over(), which looks without the lock. */
		ddi_store_release(&l->nr_rx, l->nr_rx + 1);
	}
	return n;
}

static inline unsigned int fill_meta(unsigned int *meta, const struct found *f)
{
	unsigned int words = f->words > DD_META_WORDS ? DD_META_WORDS : f->words;

	for (unsigned int i = 0; i < words; i++)
		meta[i] = ddi_load(&f->meta[i]);
	return words;
}

/*
 * Fill in @to, which is a &struct ddi_brief or a &struct dd_msg. Returns the number of the
 * message.
 */
static DDI_INLINE uint32_t fill(void *to, bool brief, const struct found *f)
{
	bool data = f->type == DD_NOTE_DATA;
	const struct ddi_conn *c = f->c;
	struct ddi_brief *b = to;
	struct dd_msg *msg = to;

	if (brief) {
		b->addr = data ? c->recv + f->offset : NULL;
		b->len = data ? (int)f->len : f->type == DD_NOTE_CONN ? -1 : 0;
		b->conn = DD_SERIAL_ID(f->serial);
		b->service = c->service;
		b->meta_count = data ? fill_meta(b->meta, f) : 0;
		return ddi_load(&f->body->msgid);
	}
	msg->type = f->type;
	msg->conn = DD_SERIAL_ID(f->serial);
	msg->service = c->service;
	msg->serial = f->serial;
	msg->addr = data ? c->recv + f->offset : NULL;
	msg->len = data ? f->len : 0;
	msg->send = c->send;
	msg->send_size = c->send_size;
	msg->word = data ? ddi_load(&f->body->word) : 0;
	msg->tag = ddi_load(&f->body->tag);
	msg->meta_count = data ? fill_meta(msg->meta, f) : 0;
	return msg->msgid = ddi_load(&f->body->msgid);
}

/* Account for a note that was taken; its list is locked. */
static inline void consumed(const struct found *f, uint32_t msgid)
{
	struct ddi_conn *c = f->c;

	if (f->type == DD_NOTE_DATA) {
		ddi_store(&c->got, msgid & c->got_mask);
		/* SPLIT: the reply is consumed, the next request may be sent. */
		ddi_store_release(&c->outstanding, 0);
	} else if (f->type == DD_NOTE_CLOSE) {
		/* After the close was read, later notes of the other end are void. */
		ddi_store(&c->cs->ring, 0);
	}
}

/*
 * Release a slot. The full barrier orders the store before the load of the flag: the
 * sender, or the kernel for it, sets the flag and then loads the head.
 */
static inline void release(struct dd *h, const struct ddi_list *l, const struct found *f)
{
	ddi_store_mb(f->head, f->pos + 1);
	if (ddi_unlikely(ddi_load(f->flag) & 1))
		ddi_ioctl_id(h, DD_IOC_LIST_KICK, l->id);
}

/*
 * The connection of a close note has ended. Find the first of its messages that are unread in
 * its direct ring, perhaps behind positions that other connections have reserved but not
 * written.
 */
static bool rest_look(struct dd *h, struct ddi_list *l, const struct dd_note *close,
		      struct found *f)
{
	const struct ddi_conn *c = ddi_conn_of(h, close->conn);
	uint32_t n = direct_refresh(h, l), unit = c ? ddi_load(&c->cs->ring) : 0, i = 0;
	const struct ddi_direct_rx *rx;
	struct found at = { };
	uint64_t pos, head;

	while (i < n && l->rx[i].unit != unit)
		i++;
	if (!unit || i == n)
		return false;
	rx = &l->rx[i];
	if (l->rest_of != close->seq) {
		l->rest_of = close->seq;
		l->rest = 0;
	}
	head = ddi_load(&rx->state->head);
	/* None twice: their sender may write them again. */
	for (pos = head > l->rest ? head : l->rest; pos < close->word && pos - head <= rx->mask;
	     pos++)
		if (direct_look(rx, pos, &at) && (uint32_t)at.word == DD_SERIAL_ID(close->conn)) {
			*f = at;
			return true;
		}
	return false;
}

/* Release the slot of a note that rest_look() has found. */
static void rest_release(struct dd *h, struct ddi_list *l, const struct found *f)
{
	l->rest = f->pos + 1;
	/* Not necessarily the first of the ring: then it becomes a void note. */
	if (f->pos != ddi_load(f->head))
		ddi_store((__u32 *)&ddi_direct_slot(f->rx, f->pos)->conn, 0);
	else
		release(h, l, f);
}

/*
 * From the current ring of a locked list. A close note is read after all messages of the
 * connection's direct ring. Returns the type of the message, 0 if there is none, -EAGAIN for
 * a void note.
 */
DDI_HOT static int recv_ring(struct dd *h, struct ddi_list *l, unsigned int options, void *to)
{
	const struct ddi_direct_rx *rx = l->cur;
	struct dd_note note;
	struct found f;
	int ret = -EAGAIN;
	bool rest;

	if (rx ? !direct_look(rx, ddi_load(&rx->state->head), &f) : !own_look(l, &note, &f))
		return 0;
	rest = ddi_unlikely(f.type == DD_NOTE_CLOSE) && rest_look(h, l, &note, &f);
	if (known(h, &f, rx || rest) || find_conn(h, &f, rx || rest)) {
		uint32_t msgid = fill(to, options & DDI_RECV_BRIEF, &f);

		if (options & DDI_RECV_PEEK)
			return f.type;
		consumed(&f, msgid);
		ret = f.type;
	}
	if (rest)
		rest_release(h, l, &f);
	else
		release(h, l, &f);
	return ret;
}

/* Look at all rings, beginning with the one whose turn it is. */
DDI_HOT static int recv_any(struct dd *h, struct ddi_list *l, unsigned int options, void *to)
{
	uint32_t n = direct_refresh(h, l) + 1;
	int ret = 0;

	/* What was only looked at is the next to be taken: from the same ring. */
	l->streak = STREAK;
	for (uint32_t i = 0; i < n && !ret; i++) {
		uint32_t turn = l->turn < n ? l->turn : 0;

		ddi_store(&l->cur, turn ? &l->rx[turn - 1] : NULL);
		l->turn = turn + 1;
		ret = recv_ring(h, l, options, to);
	}
	return ret;
}

/* As ddi_list_next(), of a locked list; -EAGAIN for a void note. */
DDI_HOT static int recv_locked(struct dd *h, struct ddi_list *l, uint32_t id,
			       unsigned int options, void *to)
{
	int ret = 0;

	if (ddi_unlikely(l->id != id) || ddi_unlikely(ddi_load(&l->head->id) != id))
		return -EBADID;
	if (l->streak > 0)
		ret = recv_ring(h, l, options, to);
	if (ret > 0)
		l->streak -= !(options & DDI_RECV_PEEK);
	return ret ? ret : recv_any(h, l, options, to);
}

/*
 * The next message of the list with this id, without waiting. Void notes, whose connection
 * is gone, are dropped, so that a message that was looked at can also be received. At most
 * VOID_MAX of direct rings are dropped in one call: their senders may write them as fast,
 * and the caller has a deadline. Returns enum dd_msg_type, 0 for none; -EBADID.
 */
DDI_HOT int ddi_list_next(struct dd *h, struct ddi_list *l, uint32_t id, unsigned int options,
			  void *to)
{
	int ret, left = VOID_MAX;

	do {
		ddi_lock(&l->lock);
		ret = recv_locked(h, l, id, options, to);
		left -= ret == -EAGAIN && l->cur;
		ddi_unlock(&l->lock);
	} while (ret == -EAGAIN && left);
	return ret == -EAGAIN ? 0 : ret;
}

/*
 * Receive a message without metadata, of a known connection, from the current ring of a
 * locked list. recv_slow() does the rest.
 */
static DDI_INLINE bool recv_fast(struct dd *h, struct ddi_list *l, void *to,
				 unsigned int options, bool direct)
{
	const struct ddi_direct_rx *rx = l->cur;
	struct dd_note note;
	struct found f;

	if (direct ? !direct_look(rx, ddi_load(&rx->state->head), &f) :
		     !own_look(l, &note, &f)) {
		/* All rings are to be looked at next. */
		l->streak = 0;
		return false;
	}
	if (ddi_unlikely(f.type != DD_NOTE_DATA) || ddi_unlikely(!known(h, &f, direct)))
		return false;
	f.words = 0;
	consumed(&f, fill(to, options & DDI_RECV_BRIEF, &f));
	release(h, l, &f);
	return true;
}

/* The same, of either kind of ring. */
DDI_HOT static DDI_NOINLINE bool recv_found(struct dd *h, struct ddi_list *l, void *to,
					    unsigned int options)
{
	return l->cur ? recv_fast(h, l, to, options, true) : recv_fast(h, l, to, options, false);
}

/* Receive a note of any type, or wait for one; @locked is NULL or a list to unlock first. */
DDI_HOT static DDI_NOINLINE int recv_slow(struct dd *h, int list, void *to,
					  unsigned int options, int64_t timeout,
					  struct ddi_list *locked)
{
	struct ddi_limit limit = { .timeout = timeout };
	struct ddi_list *l;
	int ret;

	if (locked)
		ddi_unlock(&locked->lock);
	l = ddi_alive(h) ? ddi_list_find(h, list) : NULL;
	if (!l)
		return -EBADID;
	for (bool again = false;; again = true) {
		ret = ddi_list_next(h, l, list, options, to);
		if (ret)
			return ret < 0 ? ret : ret == DD_MSG_CLOSE ? -ECONNCLOSE : 0;
		if (!timeout)
			return -EWOULDBLOCK;
		if (again && ddi_passed(ddi_limit_end(&limit)))
			return -ETIMEDOUT;
		ret = ddi_list_wait(h, l, list, options, &limit);
		if (ret)
			return ret;
		/* Most often the message is in the ring of the last one. */
		ddi_lock(&l->lock);
		ret = ddi_load_acquire(&l->head->id) == (uint32_t)list &&
		      recv_found(h, l, to, options);
		ddi_unlock(&l->lock);
		if (ret)
			return 0;
	}
}

/* As ddi_recv(), from the ring of a locked list that the kernel writes. */
static DDI_NOINLINE int recv_own(struct dd *h, int list, void *to, unsigned int options,
				 int64_t timeout, struct ddi_list *l)
{
	if (recv_fast(h, l, to, options, false))
		return ddi_unlock(&l->lock);
	return recv_slow(h, list, to, options, timeout, l);
}

/*
 * dd_recv(), also with DDI_RECV_BRIEF; the handle may be NULL, and a child of fork() finds
 * no list. All functions are called last, so that few registers are saved.
 */
DDI_HOT DD_API int ddi_recv(struct dd *h, int list, void *to, unsigned int options, int64_t timeout)
{
	struct ddi_list *l = ddi_likely(h) ? ddi_table_get(h->board.lists, list) : NULL;

	if (ddi_unlikely(!l) || ddi_unlikely(!ddi_trylock(&l->lock)))
		return recv_slow(h, list, to, options, timeout, NULL);
	/* A list that is gone has the id 0, of which there is no record. */
	if (ddi_unlikely(ddi_load_acquire(&l->head->id) != (uint32_t)list) ||
	    ddi_unlikely(--l->streak < 0))
		return recv_slow(h, list, to, options, timeout, l);
	if (!ddi_load(&l->cur))
		return recv_own(h, list, to, options, timeout, l);
	if (recv_fast(h, l, to, options, true))
		return ddi_unlock(&l->lock);
	return recv_slow(h, list, to, options, timeout, l);
}

DDI_HOT DD_API int dd_recv(struct dd *h, int list, struct dd_msg *msg,
			   unsigned int options, int64_t timeout)
{
	if (ddi_unlikely(!msg) || ddi_unlikely(options & ~DDI_RECV_OPTIONS))
		return ddi_alive(h) ? -EINVAL : -EBADID;
	return ddi_recv(h, list, msg, options, timeout);
}

DD_API int dd_peek(struct dd *h, int list, struct dd_msg *msg)
{
	struct ddi_list *l;
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	if (!msg)
		return -EINVAL;
	l = ddi_list_find(h, list);
	ret = l ? ddi_list_next(h, l, list, DDI_RECV_PEEK, msg) : -EBADID;
	return ret > 0 ? 1 : ret;
}

DD_API int dd_ready(struct dd *h, int list)
{
	struct dd_msg msg;

	return dd_peek(h, list, &msg);
}

/* Replaces @lists by the ready ones; -EBADID before any of them. */
static int poll_ready(struct dd *h, int *lists, int count)
{
	int ready[DD_WAIT_MAX], n = 0;

	for (int i = 0; i < count; i++) {
		int ret = dd_ready(h, lists[i]);

		if (ret < 0)
			return ret;
		if (ret)
			ready[n++] = lists[i];
	}
	memcpy(lists, ready, n * sizeof(*lists));
	return n;
}

DD_API int dd_poll(struct dd *h, int *lists, int count, int64_t timeout)
{
	uint32_t ids[DD_WAIT_MAX];
	int64_t deadline;
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	if (count < 0 || count > DD_WAIT_MAX || (count && !lists))
		return -EINVAL;
	deadline = timeout ? ddi_deadline(timeout) : 0;
	if (!count) {
		struct timespec until = ddi_timespec(deadline);

		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
			;
		return 0;
	}
	ret = poll_ready(h, lists, count);
	while (!ret && timeout) {
		memcpy(ids, lists, count * sizeof(*ids));
		ret = ddi_list_sleep(h, ids, count, deadline);
		/* The reason of an earlier error does not explain this one. */
		if (ret == -ENORESOURCE)
			ddi_reason_clear(h);
		if (ret == -ETIMEDOUT)
			return 0;
		if (ret && ret != -EINTR)
			return ret;
		ret = poll_ready(h, lists, count);
		if (ddi_passed(deadline))
			break;
	}
	return ret;
}
