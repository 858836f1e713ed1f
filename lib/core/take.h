/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * take.h - the short way to the next message
 *
 * Copyright (C) 2026 The dd authors
 *
 * For a message on a connection that is known here already. Whatever else
 * there may be on a list, or not be, ddi_list_next() deals with.
 */
#ifndef _DD_TAKE_H
#define _DD_TAKE_H

#include "direct.h"
#include "internal.h"
#include "ring.h"

/* All of a result but the metadata, of which it says that there is none; @id. */
typedef void ddi_fill_fn(void *to, const struct ddi_conn *c, uint32_t id,
			 const struct dd_note *note);
/* The metadata of @note, which lie at @from; there may be none. */
typedef void ddi_meta_fn(void *to, const struct dd_note *note,
			 const __u32 *from);

static inline unsigned int ddi_copy_meta(unsigned int *to,
					 const struct dd_note *note,
					 const __u32 *from)
{
	unsigned int words = note->meta_count;

	if (words > DD_META_WORDS)
		words = DD_META_WORDS;
	for (unsigned int i = 0; i < words; i++)
		to[i] = ddi_load(&from[i]);
	return words;
}

/* A &struct dd_msg of a data note. */
static DDI_INLINE void ddi_fill_msg(void *to, const struct ddi_conn *c,
				    uint32_t id, const struct dd_note *note)
{
	struct dd_msg *msg = to;

	msg->type = DD_MSG_DATA;
	msg->conn = id;
	msg->service = (uint32_t)note->cookie;
	msg->msgid = note->msgid;
	msg->serial = note->conn;
	msg->addr = c->recv + note->offset;
	msg->len = note->len;
	msg->send = c->send;
	msg->send_size = c->send_size;
	msg->word = note->word;
	msg->tag = note->tag;
	msg->meta_count = 0;
}

static inline void ddi_fill_msg_meta(void *to, const struct dd_note *note,
				     const __u32 *from)
{
	struct dd_msg *msg = to;

	msg->meta_count = ddi_copy_meta(msg->meta, note, from);
}

/**
 * enum ddi_taken - how ddi_take(), or ddi_take_own(), went
 * @DDI_TAKEN: a message was consumed
 * @DDI_TAKEN_MORE: the same, and ddi_take_more() is due
 * @DDI_NOT_DIRECT: nothing was done, and the list is locked; ddi_take_own() is
 *	due
 * @DDI_NOT_BARE: nothing was done, the list is locked, and ddi_take_rest() is due
 * @DDI_NOT_LOCKED: nothing was done, and no lock is held
 * @DDI_NOT_SIMPLE: nothing was done, the list is locked
 *
 * What is due is for the caller to call last, so that the short way need keep
 * nothing over a call, and saves no registers.
 */
enum ddi_taken {
	DDI_TAKEN,
	DDI_TAKEN_MORE,
	DDI_NOT_DIRECT,
	DDI_NOT_BARE,
	DDI_NOT_LOCKED,
	DDI_NOT_SIMPLE,
};

/* The block that a note of a direct ring is for, as a stranger says. */
static inline uint32_t ddi_note_block(const struct dd_ring_note *slot)
{
	return ddi_load(&slot->block[0]) | ddi_load(&slot->block[1]) << 8 |
	       ddi_load(&slot->block[2]) << 16;
}

/*
 * A message of a connection that keeps count. Each has one list, whose lock
 * is held.
 */
static DDI_INLINE void ddi_consumed(struct ddi_conn *c, uint32_t msgid)
{
	if (!(ddi_load(&c->tracked) & DDI_TRACKED))
		return;
	if (c->service_id)
		ddi_store(&c->consumed, msgid);
	else
		/* The reply is consumed: the next request may be sent. */
		ddi_store_release(&c->outstanding, 0);
}

/* Likewise, one that came directly. */
static DDI_INLINE void ddi_consumed_in(struct ddi_conn *c, uint32_t msgid)
{
	if (ddi_load(&c->tracked) & DDI_COUNTED)
		ddi_store(&c->got, msgid);
	ddi_consumed(c, msgid);
}

/* On to what wants the list locked. */
static DDI_INLINE enum ddi_taken ddi_take_on(struct ddi_list *l, bool alone,
					     enum ddi_taken taken)
{
	if (alone)
		ddi_lock_alone(&l->lock);
	return taken;
}

/* A message was consumed: leave the list, and see what is due. */
static DDI_INLINE enum ddi_taken ddi_taken(struct ddi_list *l,
					   const struct dd_list_head *lh)
{
	bool waited = ddi_unlock_mb(&l->lock);

	return ddi_unlikely(waited) || ddi_ring_wanted(lh) ? DDI_TAKEN_MORE :
							     DDI_TAKEN;
}

/* Likewise from a direct ring. */
static DDI_INLINE enum ddi_taken ddi_taken_in(struct ddi_list *l,
					      const struct dd_ring_state *state)
{
	bool waited = ddi_unlock_mb(&l->lock);

	return ddi_unlikely(waited) || ddi_in_wanted(state) ?
	       DDI_TAKEN_MORE : DDI_TAKEN;
}

/* Messages before all rings have a look; if only the list's own is known. */
#define DDI_STREAK		32
#define DDI_STREAK_ALONE	256

/* The connection that a word of a note names, as its bytes are ordered here. */
static DDI_INLINE uint32_t ddi_note_conn(uint64_t word)
{
	uint32_t conn;

	memcpy(&conn, &word, sizeof(conn));
	return conn;
}

/*
 * What is needed of a note. It is good if this ring is that of the connection
 * that was found by the id, @conn, and where it says can be a message. Where
 * nobody can bind the record to another one, the id need not be compared again.
 */
static DDI_INLINE bool ddi_take_note(const struct ddi_list *l,
				     const struct dd_ring_note *slot,
				     const struct ddi_conn *c, uint32_t conn,
				     bool whole, struct dd_note *note, bool alone)
{
	uint64_t serial = ddi_load(&c->serial);
	const struct dd_cell *cell = c->cell;

	if ((!alone && ddi_unlikely(DD_SERIAL_ID(serial) != conn)) ||
	    ddi_unlikely(!ddi_equals(&cell->conn, serial)) ||
	    !ddi_in_of(l->in_unit, cell))
		return false;
	note->offset = ddi_load(&slot->offset);
	note->len = ddi_load(&slot->len);
	if (!ddi_in_valid(c, note->offset, note->len))
		return false;
	note->cookie = c->service_id;
	/* Where it cannot change, loaded again: it needs no register till then. */
	note->conn = alone ? c->serial : serial;
	if (whole) {
		note->word = ddi_load(&slot->word);
		note->msgid = ddi_load(&slot->msgid);
		note->tag = ddi_load(&slot->tag);
	}
	return true;
}

/*
 * ddi_take() from the direct ring that the last message came by, if there are no
 * metadata and the connection does not keep count. Every word is loaded once,
 * since a stranger writes them.
 */
static DDI_INLINE enum ddi_taken
ddi_take_in(struct dd *h, struct ddi_list *l, struct dd_list_head *lh, bool whole,
	    ddi_fill_fn *fill, void *to, bool alone)
{
	struct dd_ring_state *state = l->state;
	uint64_t pos = ddi_load(&state->head), word;
	const struct dd_ring_note *slot = ddi_in_slot_of(state, l->in_mask, pos);
	struct dd_note note;
	struct ddi_conn *c;
	uint32_t conn;

	if (!ddi_equals(&slot->seq, pos + 1))
		return ddi_take_on(l, alone, DDI_NOT_DIRECT);
	if (ddi_unlikely(!(pos % DDI_STREAK)))
		return ddi_take_on(l, alone, DDI_NOT_SIMPLE);
	word = ddi_load((const ddi_word *)&slot->conn);
	conn = ddi_note_conn(word);
	c = ddi_table_get(h->board.conns, conn);
	if (ddi_unlikely(!c) || ddi_unlikely(!ddi_equals(&c->plain, word)))
		return ddi_take_on(l, alone, DDI_NOT_BARE);
	if (!ddi_take_note(l, slot, c, conn, whole, &note, alone))
		return ddi_take_on(l, alone, DDI_NOT_SIMPLE);
	/* Where it cannot change; with what is next to it a single load. */
	fill(to, c, alone && !whole ? c->id : DD_SERIAL_ID(note.conn), &note);
	if (!alone) {
		ddi_store_release(&state->head, pos + 1);
		return ddi_taken_in(l, state);
	}
	/* The barrier that leaving the lock would have been. */
	ddi_store_mb(&state->head, pos + 1);
	return ddi_in_wanted(state) ? DDI_TAKEN_MORE : DDI_TAKEN;
}

/**
 * ddi_take() - consume the next message of a list, if that is simple
 * @h: handle; without ddi_alive(), for a child of fork() finds no list
 * @id: the list's id, of whatever value
 * @options: kept in the list's @wish when it is locked
 * @timeout: likewise
 * @whole: @fill wants all of a note, and @timeout is no number of ticks;
 *	constant
 * @fill: makes a result of the message; inlined
 * @to: where to put it
 * @list: the list, if it is locked or more is due
 * @alone: as ddi_alone(); constant
 *
 * @fill runs with the list locked, so that the connection cannot be closed,
 * and its record reused, before the result is complete.
 *
 * Return: how it went.
 */
static DDI_INLINE enum ddi_taken
ddi_take(struct dd *h, uint32_t id, uint32_t options, int64_t timeout,
	 bool whole, ddi_fill_fn *fill, void *to, struct ddi_list **list,
	 bool alone)
{
	struct ddi_list *l = ddi_table_get(h->board.lists, id);
	struct dd_list_head *lh;

	*list = l;
	if (ddi_unlikely(!l) ||
	    (!alone && ddi_unlikely(!ddi_trylock(&l->lock))))
		return DDI_NOT_LOCKED;
	if (whole)
		l->wish.timeout = timeout;
	else
		l->wish.ticks = timeout;
	l->wish.options = options;
	l->wish.id = id;
	/* A list that is gone has the id 0, of which there is no record. */
	lh = ddi_load_acquire(&l->head);
	if (ddi_unlikely(!ddi_equals(&lh->id, id)))
		return ddi_take_on(l, alone, DDI_NOT_SIMPLE);
	if (!l->state)
		return ddi_take_on(l, alone, DDI_NOT_DIRECT);
	return ddi_take_in(h, l, lh, whole, fill, to, alone);
}

/**
 * ddi_take_rest() - the same from the direct ring, with all that there may be
 * @h: handle
 * @l: list, that ddi_take() has left locked with DDI_NOT_BARE
 * @whole: as there, and so on
 * @fill: likewise
 * @fill_meta: the metadata; inlined
 * @to: as there
 *
 * Return: how it went.
 */
static DDI_INLINE enum ddi_taken
ddi_take_rest(struct dd *h, struct ddi_list *l, bool whole, ddi_fill_fn *fill,
	      ddi_meta_fn *fill_meta, void *to)
{
	uint64_t pos = ddi_load(&l->state->head);
	const struct dd_ring_note *slot = ddi_in_slot_of(l->state, l->in_mask,
							 pos);
	struct dd_note note;
	struct ddi_conn *c;
	uint32_t conn;

	if (!ddi_equals(&slot->seq, pos + 1))
		return DDI_NOT_SIMPLE;
	conn = ddi_load(&slot->conn);
	c = ddi_table_get(h->board.conns, conn);
	if (ddi_unlikely(!c) || ddi_conn_block(c) != ddi_note_block(slot) ||
	    !ddi_take_note(l, slot, c, conn, whole, &note, false))
		return DDI_NOT_SIMPLE;
	note.meta_count = ddi_load(&slot->meta_count);
	fill(to, c, DD_SERIAL_ID(note.conn), &note);
	fill_meta(to, &note, slot->meta);
	if (ddi_load(&c->tracked))
		ddi_consumed_in(c, ddi_load(&slot->msgid));
	ddi_store_release(&l->state->head, pos + 1);
	return ddi_taken_in(l, l->state);
}

/**
 * ddi_take_own() - the same from the list's own ring
 * @h: handle
 * @l: list, that ddi_take() has left locked with DDI_NOT_DIRECT
 * @whole: as there, and so on
 * @fill: likewise
 * @fill_meta: as in ddi_take_rest()
 * @to: likewise
 *
 * Nothing is written before it is certain that the slot was read in the ring
 * that is in use; except metadata, of which there are so many words in the new
 * ring as well.
 *
 * Return: how it went.
 */
static DDI_INLINE enum ddi_taken
ddi_take_own(struct dd *h, struct ddi_list *l, bool whole, ddi_fill_fn *fill,
	     ddi_meta_fn *fill_meta, void *to)
{
	struct dd_list_head *lh = ddi_load(&l->head);
	uint64_t pos = ddi_load(&lh->head);
	const struct dd_note *slot = l->ring + (pos & l->mask);
	struct dd_note note;
	struct ddi_conn *c;
	uint32_t words;

	if (ddi_unlikely(!ddi_equals(&lh->geometry, l->geometry)) ||
	    ddi_unlikely(!ddi_equals(&slot->seq, pos + 1)) ||
	    ddi_unlikely(!ddi_equals(&slot->type, DD_NOTE_DATA)) ||
	    ddi_unlikely(l->stop == pos))
		return DDI_NOT_SIMPLE;
	note.conn = ddi_load(&slot->conn);
	c = ddi_table_get(h->board.conns, note.conn);
	if (ddi_unlikely(!c) || !ddi_conn_has(c, note.conn))
		return DDI_NOT_SIMPLE;
	words = ddi_load(&slot->meta_count);
	ddi_note_copy(&note, slot);
	if (whole)
		ddi_note_copy_rest(&note, slot);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (ddi_unlikely(!ddi_equals(&lh->geometry, l->geometry)))
		return DDI_NOT_SIMPLE;
	note.meta_count = words;
	fill(to, c, DD_SERIAL_ID(note.conn), &note);
	if (ddi_unlikely(words | c->tracked)) {
		uint32_t msgid = ddi_load(&slot->msgid);

		fill_meta(to, &note, slot->meta);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (ddi_load(&lh->geometry) != l->geometry)
			return DDI_NOT_SIMPLE;
		if (c->tracked)
			ddi_consumed(c, msgid);
	}
	ddi_ring_pop(lh, pos);
	return ddi_taken(l, lh);
}

int ddi_take_more(struct dd *h, struct ddi_list *l);

/**
 * ddi_take_any() - consume the next message of a list, whatever it came by
 * @h: handle
 * @id: as in ddi_take()
 * @whole: likewise, and so on
 * @fill: likewise
 * @fill_meta: as in ddi_take_rest()
 * @to: likewise
 *
 * For those who have waited, and come back if it is not simple.
 *
 * Return: whether there was one, and it was simple; no lock is held.
 */
static DDI_INLINE bool
ddi_take_any(struct dd *h, uint32_t id, bool whole, ddi_fill_fn *fill,
	     ddi_meta_fn *fill_meta, void *to)
{
	struct ddi_list *l;
	enum ddi_taken ret;

	ret = ddi_take(h, id, 0, 0, whole, fill, to, &l, false);
	if (ret == DDI_NOT_BARE)
		ret = ddi_take_rest(h, l, whole, fill, fill_meta, to);
	if (ret == DDI_NOT_DIRECT)
		ret = ddi_take_own(h, l, whole, fill, fill_meta, to);
	if (ret == DDI_TAKEN_MORE)
		ddi_take_more(h, l);
	if (ret == DDI_NOT_SIMPLE)
		ddi_unlock(&l->lock);
	return ret == DDI_TAKEN || ret == DDI_TAKEN_MORE;
}

#endif /* _DD_TAKE_H */
