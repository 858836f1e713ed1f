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

/* All of a result but the metadata, of which it says that there is none. */
typedef void ddi_fill_fn(void *to, const struct ddi_conn *c,
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
				    const struct dd_note *note)
{
	struct dd_msg *msg = to;

	msg->type = DD_MSG_DATA;
	msg->conn = note->conn;
	msg->service = (uint32_t)note->cookie;
	msg->msgid = note->msgid;
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
 * enum ddi_taken - how ddi_take() went
 * @DDI_TAKEN: a message was consumed
 * @DDI_NOT_SIMPLE: nothing was done, and no lock is held
 * @DDI_NOT_SIMPLE_LOCKED: nothing was done, the list is locked
 * @DDI_TAKEN_MORE: a message was consumed, and ddi_take_more() is due
 *
 * What is due is for the caller to call last, so that the short way need keep
 * nothing over a call, and saves no registers.
 */
enum ddi_taken {
	DDI_TAKEN,
	DDI_NOT_SIMPLE,
	DDI_NOT_SIMPLE_LOCKED,
	DDI_TAKEN_MORE,
};

/*
 * A message of a connection that keeps count. Each has one list, whose lock
 * is held.
 */
static DDI_INLINE void ddi_consumed(struct ddi_conn *c, uint32_t msgid)
{
	if (c->service)
		ddi_store(&c->consumed, msgid);
	else
		/* The reply is consumed: the next request may be sent. */
		ddi_store_release(&c->outstanding, 0);
}

/* A message was consumed: leave the list, and see what is due. */
static DDI_INLINE enum ddi_taken ddi_taken(struct ddi_list *l,
					   const struct dd_list_head *lh)
{
	bool waited = ddi_unlock_mb(&l->lock);

	return ddi_unlikely(waited) || ddi_ring_wanted(lh) ? DDI_TAKEN_MORE :
							     DDI_TAKEN;
}

#define DDI_STREAK	32	/* messages before all rings have a look */

/*
 * ddi_take() from the direct ring that the last message came by. Every word is
 * loaded once, since a stranger writes them. DDI_NOT_SIMPLE: there is none, and
 * the list is still locked.
 */
static DDI_INLINE enum ddi_taken
ddi_take_in(struct dd *h, struct ddi_list *l, struct dd_list_head *lh,
	    bool whole, ddi_fill_fn *fill, ddi_meta_fn *fill_meta, void *to)
{
	struct ddi_in *in = l->cur;
	const struct dd_ring_note *slot;
	struct dd_note note;
	struct ddi_conn *c;
	uint64_t pos;

	if (ddi_unlikely(!(++l->streak % DDI_STREAK)))
		return DDI_NOT_SIMPLE_LOCKED;
	if (ddi_unlikely(!in))
		return DDI_NOT_SIMPLE;
	pos = ddi_load(&in->state->head);
	slot = ddi_in_slot(in, pos);
	if (ddi_load_acquire(&slot->seq) != pos + 1)
		return DDI_NOT_SIMPLE;
	note.conn = ddi_load(&slot->conn);
	c = ddi_table_get(h->board->conns, note.conn);
	if (ddi_unlikely(!c) || !ddi_conn_is(c, note.conn))
		return DDI_NOT_SIMPLE_LOCKED;
	note.offset = ddi_load(&slot->offset);
	note.len = ddi_load(&slot->len);
	if (ddi_unlikely(!ddi_in_valid(in, c, note.offset, note.len)))
		return DDI_NOT_SIMPLE_LOCKED;
	note.meta_count = ddi_load(&slot->meta_count);
	note.cookie = ddi_in_cookie(c);
	if (whole) {
		note.word = ddi_load(&slot->word);
		note.msgid = ddi_load(&slot->msgid);
		note.tag = ddi_load(&slot->tag);
	}
	fill(to, c, &note);
	if (ddi_unlikely(note.meta_count | c->tracked)) {
		fill_meta(to, &note, slot->meta);
		if (c->tracked)
			ddi_consumed(c, ddi_load(&slot->msgid));
	}
	ddi_store_release(&in->state->head, pos + 1);
	return ddi_taken(l, lh);
}

/**
 * ddi_take() - consume the next message of a list, if that is simple
 * @h: handle
 * @id: the list's id, of whatever value
 * @whole: @fill wants ddi_note_copy_rest() as well; constant
 * @fill: makes a result of the message; inlined
 * @fill_meta: the rest of it; inlined
 * @to: where to put it
 * @list: the list, if it is locked or more is due
 *
 * @fill runs with the list locked, so that the connection cannot be closed,
 * and its record reused, before the result is complete. Nothing is written
 * before it is certain that the slot was read in the ring that is in use;
 * except metadata, of which there are so many words in the new ring as well.
 *
 * Return: how it went.
 */
static DDI_INLINE enum ddi_taken
ddi_take(struct dd *h, uint32_t id, bool whole, ddi_fill_fn *fill,
	 ddi_meta_fn *fill_meta, void *to, struct ddi_list **list)
{
	struct ddi_list *l = ddi_table_get(h->board->lists, id);
	const struct dd_note *slot;
	struct dd_list_head *lh;
	enum ddi_taken taken;
	struct dd_note note;
	struct ddi_conn *c;
	uint64_t pos;

	*list = l;
	if (ddi_unlikely(!l) || ddi_unlikely(!ddi_trylock(&l->lock)))
		return DDI_NOT_SIMPLE;
	lh = ddi_load(&l->head);
	/* A list that is gone has the id 0. */
	if (ddi_unlikely(ddi_load(&lh->id) != id) || ddi_unlikely(!id))
		return DDI_NOT_SIMPLE_LOCKED;
	if (l->rings) {
		taken = ddi_take_in(h, l, lh, whole, fill, fill_meta, to);
		if (taken != DDI_NOT_SIMPLE)
			return taken;
	}
	pos = ddi_load(&lh->head);
	slot = l->ring + (pos & l->mask);
	if (ddi_unlikely(ddi_load_acquire(&lh->geometry) != l->geometry) ||
	    ddi_unlikely(ddi_load_acquire(&slot->seq) != pos + 1) ||
	    ddi_unlikely(ddi_load(&slot->type) != DD_NOTE_DATA))
		return DDI_NOT_SIMPLE_LOCKED;
	note.conn = ddi_load(&slot->conn);
	c = ddi_table_get(h->board->conns, note.conn);
	if (ddi_unlikely(!c) || !ddi_conn_is(c, note.conn))
		return DDI_NOT_SIMPLE_LOCKED;
	ddi_note_copy(&note, slot);
	if (whole)
		ddi_note_copy_rest(&note, slot);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (ddi_unlikely(ddi_load(&lh->geometry) != l->geometry))
		return DDI_NOT_SIMPLE_LOCKED;
	fill(to, c, &note);
	if (ddi_unlikely(note.meta_count | c->tracked)) {
		uint32_t msgid = ddi_load(&slot->msgid);

		fill_meta(to, &note, slot->meta);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (ddi_load(&lh->geometry) != l->geometry)
			return DDI_NOT_SIMPLE_LOCKED;
		if (c->tracked)
			ddi_consumed(c, msgid);
	}
	ddi_ring_pop(lh, pos);
	return ddi_taken(l, lh);
}

int ddi_take_more(struct dd *h, struct ddi_list *l);

#endif /* _DD_TAKE_H */
