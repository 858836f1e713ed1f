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

/* ---- what a note says --------------------------------------------------------- */

/* What the notes of both kinds of rings have in common. */
struct body {
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

/*
 * Fill in @to, which is a &struct ddi_brief or a &struct dd_msg, for a message without
 * metadata. @offset and @len are those of @body, and good. Another process may write
 * @body at any time, so each word is loaded once. Returns the number of the message.
 */
static DDI_INLINE uint32_t fill(void *to, bool brief, const struct ddi_conn *c,
				uint64_t serial, uint64_t offset, uint64_t len,
				const struct body *body)
{
	struct ddi_brief *b = to;
	struct dd_msg *msg = to;

	if (brief) {
		b->addr = c->recv + offset;
		b->len = len;
		b->conn = DD_SERIAL_ID(serial);
		b->service = c->service;
		b->meta_count = 0;
		return ddi_load(&body->msgid);
	}
	msg->type = DD_MSG_DATA;
	msg->conn = DD_SERIAL_ID(serial);
	msg->service = c->service;
	msg->serial = serial;
	msg->addr = c->recv + offset;
	msg->len = len;
	msg->send = c->send;
	msg->send_size = c->send_size;
	msg->word = ddi_load(&body->word);
	msg->tag = ddi_load(&body->tag);
	msg->meta_count = 0;
	return msg->msgid = ddi_load(&body->msgid);
}

static void fill_meta(struct dd_msg *msg, const __u32 *meta, unsigned int words)
{
	msg->meta_count = words > DD_META_WORDS ? DD_META_WORDS : words;
	for (unsigned int i = 0; i < msg->meta_count; i++)
		msg->meta[i] = ddi_load(&meta[i]);
}

/* Account for a message that was taken; its list is locked. */
static inline void consumed(struct ddi_conn *c, uint32_t msgid)
{
	ddi_store(&c->got, msgid & c->got_mask);
	/* SPLIT: the reply is consumed, the next request may be sent. */
	ddi_store_release(&c->outstanding, 0);
}

/*
 * Release a slot. The full barrier orders the store before the load of the flag: the
 * sender, or the kernel for it, sets the flag and then loads the head. Returns whether
 * the kernel has to be called.
 */
static DDI_INLINE bool release(uint64_t pos, __u64 *head, const __u32 *flag)
{
	ddi_store_mb(head, pos + 1);
	return ddi_unlikely(ddi_test(flag, 1));
}

/* The words that it needs, of a list's own ring and of a direct one. */
#define OWN(l)		(&(l)->head->head), (&(l)->head->flags)
#define DIRECT(rx)	(&(rx)->state->head), (&(rx)->state->need_kick)
_Static_assert(DD_LIST_NEED_KICK == 1, "flag");

/* ---- direct rings ------------------------------------------------------------- */

/*
 * Fill in @to from the note of a slot, if that is good; the list is locked. @word is the
 * second word of the slot, without @meta_count. The note is good if the connection's cell,
 * which the kernel writes, has the serial of the record and refers to this ring, and the
 * message lies in the connection's block. @peek: the message stays in the list.
 */
static DDI_INLINE bool direct_fill(void *to, bool brief, bool peek, struct ddi_conn *c,
				   const struct ddi_direct_rx *rx, uint64_t word,
				   const struct dd_ring_note *slot)
{
	uint64_t serial = ddi_load_acquire(&c->serial), offset = ddi_load(&slot->offset);
	uint64_t len = ddi_load(&slot->len);
	const struct dd_cell *cell = c->cell;
	uint32_t msgid;

	if (ddi_unlikely(!ddi_equals(&c->note, word)) ||
	    ddi_unlikely(!ddi_equals(&cell->conn, serial)) ||
	    ddi_unlikely(!ddi_equals(&cell->ring, rx->unit)) ||
	    ddi_unlikely(offset > c->recv_size) || ddi_unlikely(len > c->recv_size - offset))
		return false;
	msgid = fill(to, brief, c, serial, offset, len, (const struct body *)&slot->offset);
	if (!peek)
		consumed(c, msgid);
	return true;
}

/* Returns the type of the message, 0 if there is none, -EAGAIN for a void note. */
DDI_HOT static int take_direct(struct dd *h, const struct ddi_direct_rx *rx, uint64_t pos,
			       unsigned int options, struct dd_msg *msg)
{
	const struct dd_ring_note *slot = ddi_direct_slot(rx, pos);
	struct ddi_conn *c;
	uint64_t word;

	if (ddi_load_acquire(&slot->seq) != pos + 1)
		return 0;
	word = ddi_load((const ddi_word *)&slot->conn);
	c = ddi_conn_find(h, word);
	if (!c || !direct_fill(msg, false, options & DDI_RECV_PEEK, c, rx, word & ~META_MASK, slot))
		return -EAGAIN;
	fill_meta(msg, slot->meta, word >> 32 & 0xff);
	return DD_MSG_DATA;
}

/* Look for new rings of a locked list. Returns the number of rings. */
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

/*
 * The connection of a close note has ended. Take the first of its messages that are
 * unread in its direct ring, perhaps behind positions that other connections have
 * reserved but not written. Returns as take_direct().
 */
static int take_rest(struct dd *h, struct ddi_list *l, const struct dd_note *close,
		     unsigned int options, struct dd_msg *msg)
{
	const struct ddi_conn *c = ddi_conn_of_note(h, close);
	uint32_t n = direct_refresh(h, l), unit = c ? ddi_load(&c->cell->ring) : 0, i = 0;
	const struct dd_ring_note *slot;
	struct ddi_direct_rx *rx;
	uint64_t pos, head;
	int ret;

	while (i < n && l->rx[i].unit != unit)
		i++;
	if (!unit || i == n)
		return 0;
	rx = &l->rx[i];
	if (l->rest_of != close->seq) {
		l->rest_of = close->seq;
		l->rest = 0;
	}
	head = ddi_load(&rx->state->head);
	/* None twice: their sender may write them again. */
	for (pos = head > l->rest ? head : l->rest;; pos++) {
		if (pos >= close->word || pos - head > rx->mask)
			return 0;
		slot = ddi_direct_slot(rx, pos);
		if (ddi_load_acquire(&slot->seq) == pos + 1 &&
		    ddi_load(&slot->conn) == DD_SERIAL_ID(close->conn))
			break;
	}
	ret = take_direct(h, rx, pos, options, msg);
	if (options & DDI_RECV_PEEK && ret > 0)
		return ret;
	/* Not necessarily the first of the ring: then it becomes a void note. */
	if (pos != head)
		ddi_store((__u32 *)&slot->conn, 0);
	else if (release(pos, DIRECT(rx)))
		ddi_ioctl_id(h, DD_IOC_LIST_KICK, l->id);
	l->rest = pos + 1;
	return ret;
}

/* ---- the list's own ring ------------------------------------------------------ */

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
 * Copy the first unread note. While the list grows, the notes move: the geometry is
 * compared again after the slot was read, whether or not it held a note. Returns whether
 * there is one.
 */
static DDI_INLINE bool own_look(struct ddi_list *l, struct dd_note *note)
{
	struct dd_list_head *lh = l->head;
	uint64_t pos = ddi_load(&lh->head);

	for (;;) {
		uint64_t geometry = ddi_load_acquire(&lh->geometry);
		const struct dd_note *slot;

		if (ddi_unlikely(geometry != l->geometry) && !list_locate(l, geometry))
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

/* Returns as take_direct(). */
static int take_own(struct dd *h, const struct dd_note *note, unsigned int options,
		    struct dd_msg *msg)
{
	struct ddi_conn *c = ddi_conn_of_note(h, note);

	if (!c || note->type < DD_NOTE_DATA || note->type > DD_NOTE_CLOSE)
		return -EAGAIN;
	fill(msg, false, c, note->conn, note->offset, note->len,
	     (const struct body *)&note->offset);
	fill_meta(msg, note->meta, note->meta_count);
	if (note->type == DD_NOTE_DATA) {
		if (!(options & DDI_RECV_PEEK))
			consumed(c, note->msgid);
		return DD_MSG_DATA;
	}
	msg->type = note->type;
	msg->addr = NULL;
	msg->len = 0;
	msg->word = 0;
	msg->meta_count = 0;
	/* After the close was read, later notes of the other end are void. */
	if (note->type == DD_NOTE_CLOSE && !(options & DDI_RECV_PEEK))
		ddi_store(&c->cell->ring, 0);
	return note->type;
}

/* ---- a list ------------------------------------------------------------------- */

/*
 * From the current ring; returns as take_direct(). A close note is read after all
 * messages of the connection's direct ring.
 */
DDI_HOT static int take(struct dd *h, struct ddi_list *l, unsigned int options, struct dd_msg *msg)
{
	struct ddi_direct_rx *rx = l->cur;
	struct dd_note note;
	uint64_t pos;
	int ret;

	if (rx) {
		pos = ddi_load(&rx->state->head);
		ret = take_direct(h, rx, pos, options, msg);
	} else {
		if (!own_look(l, &note))
			return 0;
		pos = note.seq - 1;
		if (ddi_unlikely(note.type == DD_NOTE_CLOSE)) {
			ret = take_rest(h, l, &note, options, msg);
			if (ret)
				return ret;
		}
		ret = take_own(h, &note, options, msg);
	}
	if (!ret || (ret > 0 && options & DDI_RECV_PEEK))
		return ret;
	if (rx ? release(pos, DIRECT(rx)) : release(pos, OWN(l)))
		ddi_ioctl_id(h, DD_IOC_LIST_KICK, l->id);
	return ret;
}

/* Look at all rings, beginning with the one whose turn it is. */
DDI_HOT static int take_any(struct dd *h, struct ddi_list *l, unsigned int options,
			    struct dd_msg *msg)
{
	uint32_t n = direct_refresh(h, l) + 1;
	int ret = 0;

	/* What was only looked at is the next to be taken: from the same ring. */
	l->streak = STREAK;
	for (uint32_t i = 0; i < n && !ret; i++) {
		uint32_t turn = l->turn < n ? l->turn : 0;

		ddi_store(&l->cur, turn ? &l->rx[turn - 1] : NULL);
		l->turn = turn + 1;
		ret = take(h, l, options, msg);
	}
	return ret;
}

/* As ddi_list_next(), of a locked list, which it unlocks. */
DDI_HOT static int next_locked(struct dd *h, struct ddi_list *l, uint32_t id,
			       unsigned int options, struct dd_msg *msg)
{
	int ret, left = VOID_MAX;

	for (;;) {
		ret = 0;
		if (ddi_unlikely(l->id != id) || ddi_unlikely(ddi_load(&l->head->id) != id))
			ret = -EBADID;
		else if (l->streak > 0)
			ret = take(h, l, options, msg);
		if (ret > 0)
			l->streak -= !(options & DDI_RECV_PEEK);
		else if (!ret)
			ret = take_any(h, l, options, msg);
		left -= ret == -EAGAIN && l->cur;
		ddi_unlock(&l->lock);
		if (ddi_likely(ret != -EAGAIN))
			return ret;
		if (!left)
			return 0;
		ddi_lock(&l->lock);
	}
}

/*
 * The next message of the list with this id, without waiting. Void notes, whose connection
 * is gone, are dropped, so that a message that was looked at can also be received. At most
 * VOID_MAX of direct rings are dropped in one call: their senders may write them as fast,
 * and the caller has a deadline. Returns enum dd_msg_type, 0 for none; -EBADID.
 */
DDI_HOT int ddi_list_next(struct dd *h, struct ddi_list *l, uint32_t id, unsigned int options,
			  struct dd_msg *msg)
{
	ddi_lock(&l->lock);
	return next_locked(h, l, id, options, msg);
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

/*
 * What direct_now() and own_now() did: they take a data message without metadata, of a known
 * connection, from the current ring of a locked list. TAKEN_KICK: the kernel waits for the
 * slot. If the ring is empty, all rings are to be looked at next.
 */
enum { TAKEN, TAKEN_KICK, MISSED };

static DDI_INLINE int direct_now(struct dd *h, struct ddi_list *l, void *to,
				 unsigned int options)
{
	const struct ddi_direct_rx *rx = l->cur;
	uint64_t pos = ddi_load(&rx->state->head), word;
	const struct dd_ring_note *slot = ddi_direct_slot(rx, pos);
	struct ddi_conn *c;

	if (!ddi_equals(&slot->seq, pos + 1)) {
		l->streak = 0;
		return MISSED;
	}
	/* With metadata it is no connection's word. */
	word = ddi_load((const ddi_word *)&slot->conn);
	c = ddi_table_get(h->board.conns, word);
	if (ddi_unlikely(!c) ||
	    !direct_fill(to, options & DDI_RECV_BRIEF, false, c, rx, word, slot))
		return MISSED;
	return release(pos, DIRECT(rx)) ? TAKEN_KICK : TAKEN;
}

static DDI_INLINE int own_now(struct dd *h, struct ddi_list *l, void *to,
			      unsigned int options)
{
	struct ddi_conn *c;
	struct dd_note note;

	if (!own_look(l, &note)) {
		l->streak = 0;
		return MISSED;
	}
	if (ddi_unlikely(note.type != DD_NOTE_DATA) || ddi_unlikely(note.meta_count))
		return MISSED;
	c = ddi_table_get(h->board.conns, note.conn);
	if (ddi_unlikely(!c) || ddi_unlikely(!ddi_conn_has(c, note.conn)))
		return MISSED;
	consumed(c, fill(to, options & DDI_RECV_BRIEF, c, note.conn, note.offset,
			 note.len, (const struct body *)&note.offset));
	return release(note.seq - 1, OWN(l)) ? TAKEN_KICK : TAKEN;
}

/* A message was taken, for whose slot the kernel waits. */
static DDI_NOINLINE int recv_kick(struct dd *h, struct ddi_list *l)
{
	ddi_ioctl_id(h, DD_IOC_LIST_KICK, l->id);
	return ddi_unlock(&l->lock);
}

/* Receive a note of any type, or wait for one. @l: a locked list, or NULL. */
DDI_HOT static DDI_NOINLINE int recv_slow(struct dd *h, int list, void *to,
					  unsigned int options, int64_t timeout,
					  struct ddi_list *l)
{
	struct dd_msg local, *msg = options & DDI_RECV_BRIEF ? &local : to;
	int64_t deadline = 0;
	int ret;

	if (!l || ddi_unlikely(l->id != (uint32_t)list)) {
		if (l)
			ddi_unlock(&l->lock);
		l = ddi_alive(h) ? ddi_list_find(h, list) : NULL;
		if (!l)
			return -EBADID;
		ddi_lock(&l->lock);
	}
	for (bool again = false;; again = true) {
		ret = next_locked(h, l, list, options, msg);
		if (ret > 0 && msg == &local)
			brief_from(to, msg);
		if (ret)
			return ret < 0 ? ret : ret == DD_MSG_CLOSE ? -ECONNCLOSE : 0;
		if (!timeout)
			return -EWOULDBLOCK;
		if (!again)
			deadline = ddi_deadline(timeout);
		else if (ddi_passed(deadline))
			return -ETIMEDOUT;
		ret = ddi_list_wait(h, l, list, options, deadline);
		if (ret)
			return ret;
		/* Most often the message is in the ring of the last one. */
		ddi_lock(&l->lock);
		if (!ddi_equals(&l->head->id, (uint32_t)list))
			continue;
		ret = l->cur ? direct_now(h, l, to, options) : own_now(h, l, to, options);
		if (ret == TAKEN)
			return ddi_unlock(&l->lock);
		if (ret == TAKEN_KICK)
			return recv_kick(h, l);
	}
}

/* As ddi_recv(), from the ring of a locked list that the kernel writes. */
static DDI_NOINLINE int recv_own(struct dd *h, int list, void *to, unsigned int options,
				 int64_t timeout, struct ddi_list *l)
{
	switch (own_now(h, l, to, options)) {
	case TAKEN:
		return ddi_unlock(&l->lock);
	case TAKEN_KICK:
		return recv_kick(h, l);
	default:
		return recv_slow(h, list, to, options, timeout, l);
	}
}

/*
 * dd_recv(), also with DDI_RECV_BRIEF; the handle may be NULL, and a child of fork() finds
 * no list. All functions are called last, so that few registers are saved.
 */
DDI_HOT int ddi_recv(struct dd *h, int list, void *to, unsigned int options, int64_t timeout)
{
	struct ddi_list *l = ddi_likely(h) ? ddi_table_get(h->board.lists, list) : NULL;

	if (ddi_unlikely(!l) || ddi_unlikely(!ddi_trylock(&l->lock)))
		return recv_slow(h, list, to, options, timeout, NULL);
	/* A list that is gone has the id 0, of which there is no record. */
	if (ddi_unlikely(!ddi_equals(&l->head->id, (uint32_t)list)) ||
	    ddi_unlikely(--l->streak < 0))
		return recv_slow(h, list, to, options, timeout, l);
	/* The list is @list: below, reload its id to save a register. */
	if (!ddi_load(&l->cur))
		return recv_own(h, list, to, options, timeout, l);
	switch (direct_now(h, l, to, options)) {
	case TAKEN:
		return ddi_unlock(&l->lock);
	case TAKEN_KICK:
		return recv_kick(h, l);
	default:
		return recv_slow(h, l->id, to, options, timeout, l);
	}
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
