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
#include <string.h>
#include <time.h>

#include "deposit.h"
#include "direct_rx.h"
#include "error.h"
#include "recv.h"

#define STREAK		32
#define META_MASK	0xff	/* of the second word of a note */
#define VOID_MAX	4096	/* as many notes as a direct ring can hold */

/* Account for a message that was taken; the list of the connection is locked. */
static inline void consumed(struct ddi_conn *c, uint32_t msgid)
{
	ddi_store(&c->got, msgid & c->got_mask);
	/* SPLIT: the reply is consumed, the next request may be sent. */
	ddi_store_release(&c->outstanding, 0);
}

/* A message without what its note says of it. */
static inline void fill_msg(struct dd_msg *msg, const struct ddi_conn *c,
			    const struct dd_note *note)
{
	msg->type = DD_MSG_DATA;
	msg->conn = DD_SERIAL_ID(note->conn);
	msg->service = c->service_id;
	msg->serial = note->conn;
	msg->addr = c->recv + note->offset;
	msg->len = note->len;
	msg->send = c->send;
	msg->send_size = c->send_size;
}

static inline void fill_brief(struct ddi_brief *brief, const struct ddi_conn *c,
			      const struct dd_note *note)
{
	brief->addr = c->recv + note->offset;
	brief->len = note->len;
	brief->conn = DD_SERIAL_ID(note->conn);
	brief->service = c->service_id;
	brief->meta_count = 0;
}

static inline void fill_meta(struct dd_msg *msg, const __u32 *meta,
			     unsigned int words)
{
	if (words > DD_META_WORDS)
		words = DD_META_WORDS;
	msg->meta_count = words;
	for (unsigned int i = 0; i < words; i++)
		msg->meta[i] = ddi_load(&meta[i]);
}

/*
 * Find the connection of a direct note whose id, or block, is not that of a known
 * connection: a serving end whose first message this is. Returns NULL if no service of
 * this list has such an end.
 */
static DDI_NOINLINE struct ddi_conn *
direct_unknown(struct dd *h, const struct ddi_list *l, uint32_t id, uint32_t block)
{
	struct dd_note note = { .conn = id };
	struct ddi_service *s;

	pthread_mutex_lock(&h->lock);
	for (s = h->all_services; s && !note.cookie; s = s->next) {
		const struct dd_cell *cell = (const struct dd_cell *)
					     (s->cells + block * s->cell_size);
		uint64_t serial;

		if (!s->id || s->list != l->id || block >= s->maxconn)
			continue;
		serial = ddi_load_acquire(&cell->conn);
		if (DD_SERIAL_ID(serial) == id) {
			note.conn = serial;
			note.cookie = s->id | (uint64_t)block << 32;
		}
	}
	pthread_mutex_unlock(&h->lock);
	return ddi_conn_of_note(h, &note);
}

/*
 * Load a note of a direct ring and check it against the connection that it names; the
 * list is locked. The sending process may write the note at any time, so each word is
 * loaded once. The note is good only if the connection's cell, which the kernel writes,
 * has the serial of the record and refers to this ring, and the message lies in the
 * connection's block. @head: @conn and @block of the slot, and no @meta_count.
 */
static DDI_INLINE bool direct_load(const struct ddi_direct_rx *rx,
				   const struct dd_ring_note *slot,
				   const struct ddi_conn *c, uint64_t head,
				   struct dd_note *note)
{
	const struct dd_cell *cell;

	note->conn = ddi_load_acquire(&c->serial);
	cell = c->cell;
	if (ddi_unlikely(!ddi_equals(&c->note, head)) ||
	    ddi_unlikely(!ddi_equals(&cell->conn, note->conn)) ||
	    ddi_unlikely(!ddi_equals(&cell->ring, rx->unit)))
		return false;
	note->offset = ddi_load(&slot->offset);
	note->len = ddi_load(&slot->len);
	if (ddi_unlikely(note->offset > c->recv_size) ||
	    ddi_unlikely(note->len > c->recv_size - note->offset))
		return false;
	return true;
}

/* Returns the number of the message. */
static DDI_INLINE uint32_t direct_fill(struct dd_msg *msg, const struct ddi_conn *c,
				       const struct dd_ring_note *slot,
				       const struct dd_note *note)
{
	fill_msg(msg, c, note);
	msg->word = ddi_load(&slot->word);
	msg->tag = ddi_load(&slot->tag);
	return msg->msgid = ddi_load(&slot->msgid);
}

/* Returns 1 a message, 0 none, -EAGAIN a void note. */
static int take_direct(struct dd *h, struct ddi_list *l, struct ddi_direct_rx *rx,
		       uint64_t pos, bool consume, struct dd_msg *msg)
{
	const struct dd_ring_note *slot = ddi_direct_slot(rx, pos);
	struct ddi_conn *c;
	struct dd_note note;
	unsigned int words;
	uint32_t msgid;
	uint64_t head;

	if (ddi_load_acquire(&slot->seq) != pos + 1)
		return 0;
	head = ddi_load((const ddi_word *)&slot->conn);
	words = head >> 32 & META_MASK;
	head &= ~((uint64_t)META_MASK << 32);
	c = ddi_table_get(h->board.conns, head);
	if (!c || ddi_load(&c->note) != head || !ddi_conn_is(c, head))
		c = direct_unknown(h, l, head, head >> 40);
	if (!c || !direct_load(rx, slot, c, head, &note))
		return -EAGAIN;
	msgid = direct_fill(msg, c, slot, &note);
	fill_meta(msg, slot->meta, words);
	if (consume)
		consumed(c, msgid);
	return 1;
}

/*
 * Release a slot. The full barrier orders the store before the load of the flag: the
 * sender, or the kernel for it, sets the flag and then loads the head.
 */
static inline void release_direct(struct dd *h, struct ddi_list *l,
				  struct ddi_direct_rx *rx, uint64_t pos)
{
	ddi_store_mb(&rx->state->head, pos + 1);
	if (ddi_unlikely(ddi_load(&rx->state->need_kick)))
		ddi_ioctl_id(h, DD_IOC_LIST_KICK, l->id);
}

static inline int next_direct(struct dd *h, struct ddi_list *l,
			      struct ddi_direct_rx *rx, bool consume,
			      struct dd_msg *msg)
{
	uint64_t pos = ddi_load(&rx->state->head);
	int ret = take_direct(h, l, rx, pos, consume, msg);

	if (ret && (consume || ret < 0))
		release_direct(h, l, rx, pos);
	return ret;
}

/* Use another geometry. Returns false if the ring is not inside the area. */
static bool list_locate(char *area, struct ddi_list *l, uint64_t geometry)
{
	struct dd_note *ring = ddi_list_slot(area, geometry, 0);

	/* Slot 0 is inside if the last one is. */
	if (!ddi_list_slot(area, geometry, ~0ull))
		return false;
	l->ring = ring;
	l->mask = (1u << (geometry & 0xffffffff)) - 1;
	l->geometry = geometry;
	return true;
}

/*
 * Copy the first unread note of the list's own ring. While the list grows, the notes
 * move: the geometry is compared again after the slot was read, whether or not it held
 * a note. Returns whether there is one.
 */
static DDI_INLINE bool own_look(char *area, struct ddi_list *l,
				struct dd_list_head *lh, struct dd_note *note)
{
	uint64_t pos = ddi_load(&lh->head);

	for (;;) {
		uint64_t geometry = ddi_load_acquire(&lh->geometry);
		const struct dd_note *slot;

		if (ddi_unlikely(geometry != l->geometry) &&
		    !list_locate(area, l, geometry))
			return false;
		slot = l->ring + (pos & l->mask);
		note->seq = pos + 1;
		if (ddi_load_acquire(&slot->seq) != note->seq) {
			if (ddi_load(&lh->geometry) == geometry)
				return false;
			continue;
		}
		note->conn = ddi_load(&slot->conn);
		note->cookie = ddi_load(&slot->cookie);
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
		if (ddi_likely(ddi_load(&lh->geometry) == geometry))
			return true;
	}
}

/*
 * The connection of a close note has ended. Take the first of its messages that are
 * unread in its direct ring, perhaps behind positions that other connections have
 * reserved but not written. Returns as take_direct().
 */
static int take_rest(struct dd *h, struct ddi_list *l, const struct dd_note *close,
		     bool consume, struct dd_msg *msg)
{
	const struct ddi_conn *c = ddi_conn_of_note(h, close);
	struct ddi_direct_rx *rx;
	uint64_t pos;
	int ret;

	if (l->rest_of != close->seq) {
		l->rest_of = close->seq;
		l->rest = 0;
	}
	rx = c ? ddi_direct_find(l, ddi_load(&c->cell->ring)) : NULL;
	/* None twice: their sender may write them again. */
	if (!rx || !ddi_direct_first(rx, DD_SERIAL_ID(close->conn), l->rest,
				     close->word, &pos))
		return 0;
	ret = take_direct(h, l, rx, pos, consume, msg);
	if (!consume && ret == 1)
		return 1;
	/* Not necessarily the first of the ring: then it becomes a void note. */
	if (pos == ddi_load(&rx->state->head))
		release_direct(h, l, rx, pos);
	else
		ddi_store((__u32 *)&ddi_direct_slot(rx, pos)->conn, 0);
	l->rest = pos + 1;
	return ret;
}

static inline void own_data(struct dd_msg *msg, const struct ddi_conn *c,
			    const struct dd_note *note)
{
	fill_msg(msg, c, note);
	msg->msgid = note->msgid;
	msg->word = note->word;
	msg->tag = note->tag;
}

/* A message of a note of the list's own ring. False if its connection is gone. */
static bool own_fill(struct dd *h, const struct dd_note *note, bool consume,
		     struct dd_msg *msg)
{
	struct ddi_conn *c = ddi_table_get(h->board.conns, note->conn);

	if (ddi_unlikely(!c) || ddi_unlikely(!ddi_conn_has(c, note->conn)))
		c = ddi_conn_of_note(h, note);
	if (!c)
		return false;
	own_data(msg, c, note);
	fill_meta(msg, note->meta, note->meta_count);
	if (ddi_likely(note->type == DD_NOTE_DATA)) {
		if (consume)
			consumed(c, note->msgid);
		return true;
	}
	msg->type = note->type;
	msg->addr = NULL;
	msg->len = 0;
	msg->word = 0;
	msg->meta_count = 0;
	/* After the close was read, later notes of the other end are void. */
	if (consume && note->type == DD_NOTE_CLOSE)
		ddi_store(&c->cell->ring, 0);
	return note->type == DD_NOTE_CONN || note->type == DD_NOTE_CLOSE;
}

/*
 * As next_direct(), from the list's own ring. A close note is read after all messages
 * of the connection's direct ring.
 */
static int next_own(struct dd *h, struct ddi_list *l, struct dd_list_head *lh,
		    bool consume, struct dd_msg *msg)
{
	struct dd_note note;
	bool good;
	int ret;

	if (!own_look(h->area, l, lh, &note))
		return 0;
	if (ddi_unlikely(note.type == DD_NOTE_CLOSE) &&
	    ddi_direct_refresh(h, l, lh)) {
		ret = take_rest(h, l, &note, consume, msg);
		if (ret)
			return ret;
	}
	good = own_fill(h, &note, consume, msg);
	if (consume || !good) {
		/* A barrier as in release_direct(). */
		ddi_store_mb(&lh->head, note.seq);
		if (ddi_unlikely(ddi_load(&lh->flags) & DD_LIST_NEED_KICK))
			ddi_ioctl_id(h, DD_IOC_LIST_KICK, l->id);
	}
	return good ? 1 : -EAGAIN;
}

static int next_of(struct dd *h, struct ddi_list *l, struct dd_list_head *lh,
		   bool consume, struct dd_msg *msg)
{
	return l->cur ? next_direct(h, l, l->cur, consume, msg) :
			next_own(h, l, lh, consume, msg);
}

/* Look at all rings, beginning with the one whose turn it is. */
static DDI_NOINLINE int next_scan(struct dd *h, struct ddi_list *l,
				  struct dd_list_head *lh, bool consume,
				  struct dd_msg *msg)
{
	uint32_t n = ddi_direct_refresh(h, l, lh) ? l->nr_rx + 1 : 1;
	int ret = 0;

	/* What was only looked at is the next to be taken: from the same ring. */
	l->streak = STREAK;
	for (uint32_t i = 0; i < n && !ret; i++) {
		uint32_t turn = l->turn < n ? l->turn : 0;

		ddi_store(&l->cur, turn ? &l->rx[turn - 1] : NULL);
		l->turn = turn + 1;
		ret = next_of(h, l, lh, consume, msg);
	}
	return ret;
}

/**
 * ddi_list_next() - the next message of a list, without waiting
 * @h: handle
 * @l: list
 * @id: its id
 * @consume: take it, or only look at it
 * @msg: (out) the message
 *
 * Void notes, whose connection is gone, are dropped, so that a message that was looked
 * at can also be received. At most VOID_MAX of direct rings are dropped in one call:
 * their senders may write them as fast, and the caller has a deadline.
 *
 * Return: 1 there was one, 0 there is none; -EBADID.
 */
int ddi_list_next(struct dd *h, struct ddi_list *l, uint32_t id, bool consume,
		  struct dd_msg *msg)
{
	struct dd_list_head *lh;
	int ret, left = VOID_MAX;

	do {
		ddi_lock(&l->lock);
		lh = l->head;
		ret = 0;
		if (ddi_unlikely(l->id != id) || ddi_unlikely(ddi_load(&lh->id) != id))
			ret = -EBADID;
		else if (ddi_likely(l->streak > 0))
			ret = next_of(h, l, lh, consume, msg);
		if (ddi_likely(ret == 1))
			l->streak -= consume;
		else if (!ret)
			ret = next_scan(h, l, lh, consume, msg);
		left -= ret == -EAGAIN && l->cur;
		ddi_unlock(&l->lock);
	} while (ddi_unlikely(ret == -EAGAIN) && left);
	return ret == -EAGAIN ? 0 : ret;
}

static void brief_from(struct ddi_brief *brief, const struct dd_msg *msg)
{
	brief->addr = msg->addr;
	brief->len = msg->type == DD_MSG_CONN ? -1 : (int)msg->len;
	brief->conn = msg->conn;
	brief->service = msg->service;
	brief->meta_count = msg->meta_count;
	memcpy(brief->meta, msg->meta, msg->meta_count * sizeof(*msg->meta));
}

/* Receive whatever it is, or wait. Returns as ddi_recv(). */
static DDI_NOINLINE int recv_general(struct dd *h, int list, void *to,
				     unsigned int options, int64_t timeout)
{
	bool brief = options & DDI_RECV_BRIEF;
	struct dd_msg local, *msg = brief ? &local : to;
	struct ddi_list *l;
	int64_t deadline;
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	l = ddi_list_find(h, list);
	if (!l)
		return -EBADID;
	ret = ddi_list_next(h, l, list, true, msg);
	if (ret > 0 && brief)
		brief_from(to, msg);
	if (ret)
		return ret < 0 ? ret : msg->type == DD_MSG_CLOSE ? -ECONNCLOSE : 0;
	if (!timeout)
		return -EWOULDBLOCK;
	deadline = ddi_deadline(timeout);
	for (;;) {
		ret = ddi_list_wait(h, l, list, options, deadline);
		if (!ret)
			ret = ddi_recv(h, list, to, options, 0);
		if (ret != -EWOULDBLOCK)
			return ret;
		/* The sender of void notes may have ended each wait before. */
		if (ddi_passed(deadline))
			return -ETIMEDOUT;
	}
}

/* The list is locked, if not ddi_alone(). */
static DDI_NOINLINE int recv_other(struct dd *h, struct ddi_list *l, void *to)
{
	unsigned int options = l->options;
	int64_t timeout = l->timeout;
	int list = l->wanted;

	if (!ddi_alone())
		ddi_unlock(&l->lock);
	return recv_general(h, list, to, options, timeout);
}

static DDI_NOINLINE int recv_kick(struct dd *h, struct ddi_list *l)
{
	ddi_ioctl_id(h, DD_IOC_LIST_KICK, l->id);
	if (!ddi_alone())
		ddi_unlock(&l->lock);
	return 0;
}

static DDI_NOINLINE int recv_wake(struct ddi_list *l)
{
	ddi_lock_wake(&l->lock);
	return 0;
}

/* A message was taken, and its slot released; @kick: the kernel waits for that. */
static DDI_INLINE int recv_done(struct dd *h, struct ddi_list *l, bool kick)
{
	if (ddi_unlikely(kick))
		return recv_kick(h, l);
	if (!ddi_alone() && ddi_unlikely(ddi_lock_leave(&l->lock)))
		return recv_wake(l);
	return 0;
}

/* Take a simple message of the list's own ring; the list is locked, if not alone. */
static DDI_NOINLINE int recv_own(struct dd *h, struct ddi_list *l, void *to)
{
	struct dd_list_head *lh = l->head;
	struct dd_note note;
	struct ddi_conn *c;

	if (!own_look(h->area, l, lh, &note) || note.type != DD_NOTE_DATA ||
	    note.meta_count)
		return recv_other(h, l, to);
	c = ddi_table_get(h->board.conns, note.conn);
	if (ddi_unlikely(!c) || ddi_unlikely(!ddi_conn_has(c, note.conn)))
		return recv_other(h, l, to);
	if (l->options & DDI_RECV_BRIEF) {
		fill_brief(to, c, &note);
	} else {
		own_data(to, c, &note);
		((struct dd_msg *)to)->meta_count = 0;
	}
	consumed(c, note.msgid);
	ddi_store_mb(&lh->head, note.seq);
	return recv_done(h, l, ddi_load(&lh->flags) & DD_LIST_NEED_KICK);
}

/**
 * ddi_recv() - receive a message
 * @h: handle, may be NULL; a child of fork() finds no list
 * @list: as dd_recv()
 * @to: (out) the message: &struct dd_msg or, with DDI_RECV_BRIEF, &struct ddi_brief
 * @options: DD_RECV_*, DDI_RECV_BRIEF
 * @timeout: as dd_recv()
 *
 * The path of a data message without metadata, of a known connection, in the ring of the
 * last message. Everything else is left to functions that are called last, so that this
 * one saves few registers.
 *
 * Return: as dd_recv().
 */
int ddi_recv(struct dd *h, int list, void *to, unsigned int options, int64_t timeout)
{
	struct ddi_list *l = ddi_likely(h) ? ddi_table_get(h->board.lists, list) : NULL;
	const struct dd_ring_note *slot;
	const struct ddi_direct_rx *rx;
	struct dd_ring_state *state;
	struct ddi_conn *c;
	struct dd_note note;
	uint64_t pos, head;
	uint32_t msgid;

	if (ddi_unlikely(!l) || (!ddi_alone() && !ddi_trylock(&l->lock)))
		return recv_general(h, list, to, options, timeout);
	l->wanted = list;
	l->options = options;
	l->timeout = timeout;
	/* A list that is gone has the id 0, of which there is no record. */
	if (ddi_unlikely(!ddi_equals(&l->head->id, (uint32_t)list)) ||
	    ddi_unlikely(--l->streak < 0))
		return recv_other(h, l, to);
	rx = l->cur;
	if (!rx)
		return recv_own(h, l, to);
	state = rx->state;
	pos = ddi_load(&state->head);
	slot = ddi_direct_slot(rx, pos);
	if (!ddi_equals(&slot->seq, pos + 1))
		return recv_other(h, l, to);
	/* With metadata it is no connection's word. */
	head = ddi_load((const ddi_word *)&slot->conn);
	c = ddi_table_get(h->board.conns, head);
	if (ddi_unlikely(!c) || !direct_load(rx, slot, c, head, &note))
		return recv_other(h, l, to);
	if (l->options & DDI_RECV_BRIEF) {
		fill_brief(to, c, &note);
		msgid = ddi_load(&slot->msgid);
	} else {
		msgid = direct_fill(to, c, slot, &note);
		((struct dd_msg *)to)->meta_count = 0;
	}
	consumed(c, msgid);
	ddi_store_mb(&state->head, pos + 1);
	return recv_done(h, l, ddi_test(&state->need_kick, 1));
}

DD_API int dd_recv(struct dd *h, int list, struct dd_msg *msg,
		   unsigned int options, int64_t timeout)
{
	if (ddi_unlikely(!msg) || ddi_unlikely(options & ~DDI_RECV_OPTIONS))
		return ddi_alive(h) ? -EINVAL : -EBADID;
	return ddi_recv(h, list, msg, options, timeout);
}

DD_API int dd_peek(struct dd *h, int list, struct dd_msg *msg)
{
	struct ddi_list *l;

	if (!ddi_alive(h))
		return -EBADID;
	if (!msg)
		return -EINVAL;
	l = ddi_list_find(h, list);
	return l ? ddi_list_next(h, l, list, false, msg) : -EBADID;
}

DD_API int dd_ready(struct dd *h, int list)
{
	struct dd_msg msg;

	return dd_peek(h, list, &msg);
}

/* Replaces @lists by the ready ones; -EBADID before any of them. */
static int poll_ready(struct dd *h, int *lists, int count)
{
	int ready[DD_WAIT_MAX];
	int n = 0;

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

static void pause_until(int64_t deadline)
{
	struct timespec ts = {
		.tv_sec = deadline < 0 ? INT32_MAX : deadline / DDI_NSEC_PER_SEC,
		.tv_nsec = deadline < 0 ? 0 : deadline % DDI_NSEC_PER_SEC,
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) ==
	       EINTR)
		;
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
		pause_until(deadline);
		return 0;
	}
	for (bool again = false;; again = true) {
		ret = poll_ready(h, lists, count);
		if (ret || !timeout)
			return ret;
		if (again && ddi_passed(deadline))
			return 0;
		memcpy(ids, lists, count * sizeof(*ids));
		ret = ddi_list_sleep(h, ids, count, deadline);
		if (ret == -ETIMEDOUT)
			return 0;
		/* The reason of an earlier error does not explain this one. */
		if (ret == -ENORESOURCE)
			ddi_reason_clear(h);
		if (ret && ret != -EINTR)
			return ret;
	}
}
