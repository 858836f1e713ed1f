// SPDX-License-Identifier: LGPL-2.1-only
/*
 * list.c - note lists: finding them, and turning notes into messages
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "internal.h"
#include "ring.h"
#include "take.h"

bool ddi_ring_locate(char *area, struct ddi_list *l, uint64_t geometry)
{
	struct dd_note *ring = ddi_ring_slot(area, geometry, 0);

	/* Slot 0 is in the area if the last one is. */
	if (!ddi_ring_slot(area, geometry, ~0ull))
		return false;
	l->ring = ring;
	l->mask = (1u << (geometry & 0xffffffff)) - 1;
	l->geometry = geometry;
	return true;
}

/* Where to look first the next time: a direct ring, or NULL for the list's own. */
static void list_prefer(struct ddi_list *l, struct ddi_in *in)
{
	ddi_store(&l->cur, in);
	l->state = in ? in->state : NULL;
	l->in_mask = in ? in->mask : 0;
	l->in_unit = in ? in->unit : 0;
}

static void list_bind(struct dd *h, struct ddi_list *l, uint32_t id,
		      uint32_t unit)
{
	ddi_store(&l->id, 0);
	memset(&l->spin, 0, sizeof(l->spin));
	list_prefer(l, NULL);
	l->turn = 0;
	l->stop = 0;
	l->rest_of = 0;
	ddi_store(&l->rings, 0);
	/* Who finds the new one finds nothing of the old one's rings. */
	ddi_store_release(&l->head, (struct dd_list_head *)
			  (h->area + (size_t)unit * DD_UNIT));
	ddi_store_release(&l->id, id);
}

#define LISTS_MIN	64

/*
 * Unbind the records of lists that are gone, many of which went without a call.
 * It is done once for as many new ones, so that each costs the same. A record
 * that a thread has locked stays: the next time will do.
 */
static void lists_sweep(struct dd *h)
{
	for (struct ddi_list *l = h->all_lists; l; l = l->next) {
		if (!l->id || ddi_load(&l->head->id) == l->id ||
		    !ddi_trylock(&l->lock))
			continue;
		ddi_table_del(h->board.lists, l);
		ddi_store(&l->id, 0);
		l->free = h->free_lists;
		h->free_lists = l;
		h->nr_lists--;
		ddi_unlock(&l->lock);
	}
	h->sweep_lists = 2 * h->nr_lists + LISTS_MIN;
}

/* A record that is bound to nothing, and in no bucket. */
static struct ddi_list *list_get(struct dd *h)
{
	struct ddi_list *l;

	if (h->nr_lists >= h->sweep_lists)
		lists_sweep(h);
	l = h->free_lists;
	if (l) {
		h->free_lists = l->free;
		return l;
	}
	l = aligned_alloc(DDI_LINE, sizeof(*l));
	if (!l)
		return NULL;
	memset(l, 0, sizeof(*l));
	/* What geometry 0 says. */
	l->ring = ddi_ring_slot(h->area, 0, 0);
	l->next = h->all_lists;
	h->all_lists = l;
	return l;
}

static struct ddi_list *list_chained(struct dd *h, uint32_t id)
{
	struct ddi_list *l = ddi_table_get(h->board.lists, id);

	while (l && l->id != id)
		l = l->chain;
	return l;
}

/* The record of a list, or NULL; the list may be gone. */
struct ddi_list *ddi_list_bound(struct dd *h, uint32_t id)
{
	struct ddi_list *l = ddi_table_get(h->board.lists, id);

	if (!id || (l && ddi_load_acquire(&l->id) == id))
		return id ? l : NULL;
	pthread_mutex_lock(&h->lock);
	l = list_chained(h, id);
	pthread_mutex_unlock(&h->lock);
	return l;
}

/* dd.lock is held. The record becomes the first one of its bucket. */
struct ddi_list *ddi_list_bind(struct dd *h, uint32_t id, uint32_t unit)
{
	struct ddi_list *l = list_chained(h, id);

	if (!l) {
		l = list_get(h);
		if (!l)
			return NULL;
		/* A thread may have come to it by its old id, and look. */
		ddi_lock(&l->lock);
		list_bind(h, l, id, unit);
		ddi_unlock(&l->lock);
		h->nr_lists++;
	}
	ddi_table_put(h->board.lists, id, l);
	return l;
}

/* A list that only the kernel told of: one of a service that accepts. */
static struct ddi_list *list_load(struct dd *h, uint32_t id)
{
	struct dd_list_info info = { .size = sizeof(info), .list = id };
	struct ddi_list *l = NULL;

	if ((int32_t)id <= 0)
		return NULL;
	/* Under the lock, as in ddi_conn_load(). */
	pthread_mutex_lock(&h->lock);
	if (ddi_ioctl(h, DD_IOC_LIST_INFO, &info) >= 0)
		l = ddi_list_bind(h, id, info.list_unit);
	pthread_mutex_unlock(&h->lock);
	return l;
}

/* A list that is there, or NULL. */
struct ddi_list *ddi_list_find(struct dd *h, uint32_t id)
{
	struct ddi_list *l = ddi_table_get(h->board.lists, id);

	if (l && id && ddi_load_acquire(&l->id) == id &&
	    ddi_load(&l->head->id) == id)
		return l;
	return list_load(h, id);
}

void ddi_list_release(struct dd *h)
{
	while (h->all_lists) {
		struct ddi_list *l = h->all_lists;

		h->all_lists = l->next;
		free(l->in);
		free(l);
	}
}

static void fill_event(struct dd_msg *msg, const struct ddi_conn *c,
		       const struct dd_note *note)
{
	msg->type = note->type;
	msg->conn = DD_SERIAL_ID(note->conn);
	msg->service = (uint32_t)note->cookie;
	msg->msgid = note->msgid;
	msg->serial = note->conn;
	msg->addr = NULL;
	msg->len = 0;
	msg->send = c->send;
	msg->send_size = c->send_size;
	msg->word = 0;
	msg->tag = note->tag;
	msg->meta_count = 0;
}

/* False if the note means nothing any more: its connection is gone. */
static bool fill_message(struct dd *h, const struct dd_note *note, bool consume,
			 struct dd_msg *msg)
{
	struct ddi_conn *c = ddi_conn_of_note(h, note);

	if (!c)
		return false;
	switch (note->type) {
	case DD_NOTE_DATA:
		ddi_fill_msg(msg, c, DD_SERIAL_ID(note->conn), note);
		ddi_fill_msg_meta(msg, note, note->meta);
		if (consume)
			ddi_consumed(c, note->msgid);
		return true;
	case DD_NOTE_CONN:
	case DD_NOTE_CLOSE:
		fill_event(msg, c, note);
		return true;
	}
	return false;
}

/*
 * The cookie and the serial of a serving end that was not known yet, as the
 * kernel would have put them in its first note; a cookie of 0 if no service of
 * this list has such an end.
 */
static void identify(struct dd *h, const struct ddi_list *l,
		     struct dd_note *note, uint32_t block)
{
	struct ddi_service *s;

	note->cookie = 0;
	pthread_mutex_lock(&h->lock);
	for (s = h->all_services; s && !note->cookie; s = s->next) {
		const struct dd_cell *cell = (const struct dd_cell *)
					     (s->cells + block * s->cell_size);
		uint64_t serial;

		if (!s->id || s->list != l->id || block >= s->maxconn)
			continue;
		serial = ddi_load_acquire(&cell->conn);
		if (DD_SERIAL_ID(serial) == note->conn) {
			note->conn = serial;
			note->cookie = s->id | (uint64_t)block << 32;
		}
	}
	pthread_mutex_unlock(&h->lock);
}

/* The note, or a void one, at a position of a direct ring: read once. */
static bool in_look(const struct ddi_in *in, uint64_t pos, struct dd_note *note,
		    uint32_t *block)
{
	const struct dd_ring_note *slot = ddi_in_slot(in, pos);

	note->seq = pos + 1;
	if (ddi_load_acquire(&slot->seq) != note->seq)
		return false;
	note->type = DD_NOTE_DATA;
	note->conn = ddi_load(&slot->conn);
	note->meta_count = ddi_load(&slot->meta_count);
	*block = ddi_note_block(slot);
	note->offset = ddi_load(&slot->offset);
	note->len = ddi_load(&slot->len);
	note->word = ddi_load(&slot->word);
	note->msgid = ddi_load(&slot->msgid);
	note->tag = ddi_load(&slot->tag);
	ddi_note_copy_meta(note->meta, slot->meta);
	return true;
}

/* As fill_message(), of what another process says; @note names an id. */
static bool fill_direct(struct dd *h, const struct ddi_list *l,
			const struct ddi_in *in, struct dd_note *note,
			uint32_t block, bool consume, struct dd_msg *msg)
{
	uint32_t id = note->conn;
	struct ddi_conn *c = ddi_table_get(h->board.conns, id);

	if (!c || !ddi_conn_is(c, id) || ddi_conn_block(c) != block) {
		identify(h, l, note, block);
		c = ddi_conn_of_note(h, note);
	}
	if (!c)
		return false;
	note->conn = ddi_load(&c->serial);
	if (DD_SERIAL_ID(note->conn) != id || !ddi_conn_has(c, note->conn) ||
	    ddi_conn_block(c) != block ||
	    !ddi_in_of(in->unit, c->cell) ||
	    !ddi_in_valid(c, note->offset, note->len))
		return false;
	note->cookie = c->service_id;
	ddi_fill_msg(msg, c, DD_SERIAL_ID(note->conn), note);
	ddi_fill_msg_meta(msg, note, note->meta);
	if (consume)
		ddi_consumed_in(c, note->msgid);
	return true;
}

/* From here on messages of its other end, if any come, are void. */
static void close_consumed(struct dd *h, const struct dd_note *note)
{
	struct ddi_conn *c = ddi_conn_of_note(h, note);

	if (c)
		ddi_store(&c->cell->ring, 0);
}

/* From direct ring @i, as list_take(). */
static int take_in(struct dd *h, struct ddi_list *l, uint32_t i, bool consume,
		   struct dd_msg *msg)
{
	struct ddi_in *in = &l->in[i];
	struct dd_note note;
	uint32_t block;
	bool good;

	if (!in_look(in, ddi_load(&in->state->head), &note, &block))
		return 0;
	good = fill_direct(h, l, in, &note, block, consume, msg);
	if (consume || !good)
		ddi_store_release(&in->state->head, note.seq);
	list_prefer(l, in);
	l->turn = i + 1 + (consume || !good);
	return good ? 1 : -EAGAIN;
}

/*
 * Of a connection that is over, the first message that lies unread in its direct
 * ring, perhaps behind positions that others have taken and not filled yet. It is
 * the first one whenever it is looked for, so it can be looked at, then taken.
 */
static int take_rest(struct dd *h, struct ddi_list *l,
		     const struct dd_note *close, bool consume,
		     struct dd_msg *msg)
{
	const struct ddi_conn *c = ddi_conn_of_note(h, close);
	struct ddi_in *in = c ? ddi_in_named(l, ddi_load(&c->cell->ring)) : NULL;
	struct dd_note note;
	uint32_t block;
	uint64_t pos;
	bool good;

	if (l->rest_of != close->seq) {
		l->rest_of = close->seq;
		l->rest = 0;
	}
	/* None twice: their sender may write them again. */
	if (!in || !ddi_in_first(in, DD_SERIAL_ID(close->conn), l->rest, close->word, &pos) ||
	    !in_look(in, pos, &note, &block))
		return 0;
	good = fill_direct(h, l, in, &note, block, consume, msg);
	if (consume || !good) {
		ddi_in_drop(in, pos);
		l->rest = pos + 1;
	}
	/* Duds count as those of a ring: ddi_list_next(). */
	list_prefer(l, consume || !good ? in : NULL);
	l->turn = consume || !good;
	return good ? 1 : -EAGAIN;
}

/*
 * From the list's own ring. That the other end has closed is to be read after
 * all that came by its direct ring.
 */
static int take_own(struct dd *h, struct ddi_list *l, struct dd_list_head *lh,
		    bool consume, struct dd_msg *msg)
{
	struct dd_note note;
	bool good;
	int ret;

	if (!ddi_ring_look(h->area, l, lh, &note))
		return 0;
	if (note.type == DD_NOTE_CLOSE && ddi_in_refresh(h, l, lh)) {
		ret = take_rest(h, l, &note, consume, msg);
		if (ret)
			return ret;
	}
	good = fill_message(h, &note, consume, msg);
	if (consume && note.type == DD_NOTE_CLOSE)
		close_consumed(h, &note);
	if (consume || !good) {
		ddi_ring_pop(lh, note.seq - 1);
		/* There may be new rings, too. */
		l->stop = note.seq + (l->rings ? DDI_STREAK : DDI_STREAK_ALONE);
	}
	list_prefer(l, NULL);
	l->turn = consume;
	return good ? 1 : -EAGAIN;
}

/*
 * One note, with the list locked: 1 a message, 0 none, -EAGAIN a dud. All rings
 * have their turn; what was only looked at is the first to be taken.
 */
static int list_take(struct dd *h, struct ddi_list *l, uint32_t id,
		     bool consume, struct dd_msg *msg)
{
	struct dd_list_head *lh = ddi_load(&l->head);
	uint32_t turn, n;
	int ret = 0;

	if (l->id != id || ddi_load(&lh->id) != id)
		return -EBADID;
	if (!ddi_in_refresh(h, l, lh))
		return take_own(h, l, lh, consume, msg);
	n = l->rings + 1;
	turn = l->turn;
	for (uint32_t i = 0; i < n && !ret; i++, turn++) {
		turn = turn < n ? turn : 0;
		ret = turn ? take_in(h, l, turn - 1, consume, msg) :
			     take_own(h, l, lh, consume, msg);
	}
	return ret;
}

#define DUDS_MAX	4096	/* as many as a direct ring can hold */

/**
 * ddi_list_next() - the next message of a list, without waiting
 * @h: handle
 * @l: list
 * @id: its id
 * @consume: take it, or only look at it
 * @msg: filled in if there is one
 *
 * Notes whose connection is gone are dropped on the way, so that what is
 * looked at can also be received. Of those in direct rings, not more than so
 * many at a time: strangers may write them as fast as they are dropped, and the
 * caller has a deadline to keep.
 *
 * Return: 1 there was one, 0 there is none; -EBADID.
 */
int ddi_list_next(struct dd *h, struct ddi_list *l, uint32_t id, bool consume,
		  struct dd_msg *msg)
{
	int ret, duds = DUDS_MAX;
	struct dd_ring_state *state;
	struct dd_list_head *lh;

	do {
		ddi_lock(&l->lock);
		lh = ddi_load(&l->head);
		ret = list_take(h, l, id, consume, msg);
		state = l->state;
		duds -= ret == -EAGAIN && state;
		if (ddi_unlock_mb(&l->lock))
			ddi_lock_wake(&l->lock);
		if ((ret == -EAGAIN || (ret == 1 && consume)) &&
		    (state ? ddi_in_wanted(state) : ddi_ring_wanted(lh)))
			ddi_ioctl_id(h, DD_IOC_LIST_KICK, id);
	} while (ret == -EAGAIN && duds);
	return ret == -EAGAIN ? 0 : ret;
}

/*
 * What ddi_take() found to be due: those are woken who wait for the list, or
 * for room in it. One call too many does no harm, nor does one for a list that
 * this record is bound to by now. Returns 0.
 */
int ddi_take_more(struct dd *h, struct ddi_list *l)
{
	ddi_lock_wake(&l->lock);
	ddi_ioctl_id(h, DD_IOC_LIST_KICK, ddi_load(&l->id));
	return 0;
}

DD_API int dd_list_fd(struct dd *h, int list)
{
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	ddi_reason_clear(h);
	ret = ddi_ioctl_id(h, DD_IOC_LIST_FD, list);
	ddi_reason_kernel(h, ret);
	return ret < 0 ? ddi_error(ret) : ret;
}
