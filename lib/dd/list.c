// SPDX-License-Identifier: LGPL-2.1-only
/*
 * list.c - note lists: finding them, and turning notes into messages
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "ring.h"

static struct ddi_list *list_new(struct dd *h, uint32_t id)
{
	struct ddi_list *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	if (ddi_table_put(&h->lists, id, l)) {
		free(l);
		return NULL;
	}
	l->next = h->all_lists;
	h->all_lists = l;
	return l;
}

/*
 * dd.lock is held. A record stays in its slot of the table: if it is bound to
 * another id of the same index, then that list is gone.
 */
struct ddi_list *ddi_list_bind(struct dd *h, uint32_t id, uint32_t unit)
{
	struct ddi_list *l = ddi_table_get(&h->lists, id);

	if (!l)
		l = list_new(h, id);
	if (!l)
		return NULL;
	if (l->id != id) {
		ddi_store(&l->id, 0);
		ddi_store_release(&l->head, (struct dd_list_head *)
				  (h->area + (size_t)unit * DD_UNIT));
		memset(&l->spin, 0, sizeof(l->spin));
		ddi_store_release(&l->id, id);
	}
	return l;
}

/* A list that only the kernel told of: one of a service that accepts. */
struct ddi_list *ddi_list_load(struct dd *h, uint32_t id)
{
	struct dd_list_info info = { .size = sizeof(info), .list = id };
	struct ddi_list *l;

	if ((int32_t)id <= 0 || ddi_ioctl(h, DD_IOC_LIST_INFO, &info) < 0)
		return NULL;
	pthread_mutex_lock(&h->lock);
	l = ddi_list_bind(h, id, info.list_unit);
	pthread_mutex_unlock(&h->lock);
	return l;
}

void ddi_list_release(struct dd *h)
{
	while (h->all_lists) {
		struct ddi_list *l = h->all_lists;

		h->all_lists = l->next;
		free(l);
	}
}

static DDI_INLINE void fill_data(const struct ddi_conn *c,
				 const struct dd_note *note,
				 struct dd_msg *msg)
{
	size_t words = note->meta_count;

	if (words > DD_META_WORDS)
		words = DD_META_WORDS;
	msg->addr = c->recv + note->offset;
	msg->len = note->len;
	msg->word = note->word;
	msg->meta_count = words;
	for (size_t i = 0; i < words; i++)
		msg->meta[i] = note->meta[i];
}

static void fill_event(struct dd_msg *msg)
{
	msg->addr = NULL;
	msg->len = 0;
	msg->word = 0;
	msg->meta_count = 0;
}

/* Threads consume in an order of their own: keep the newest. */
static void note_consumed(struct ddi_conn *c, const struct dd_note *note)
{
	uint32_t old = ddi_load(&c->consumed);

	while ((int32_t)(note->msgid - old) > 0)
		if (__atomic_compare_exchange_n(&c->consumed, &old, note->msgid,
						true, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			break;
	/* A split request's reply is consumed: the next one may be sent. */
	if (!c->service && c->type == DD_TYPE_SPLIT)
		ddi_store_release(&c->outstanding, 0);
}

/* False if the note means nothing any more: its connection is gone. */
static DDI_INLINE bool fill_message(struct dd *h, const struct dd_note *note,
				    bool consume, struct dd_msg *msg)
{
	struct ddi_conn *c = ddi_conn_of_note(h, note);

	if (!c)
		return false;
	msg->type = note->type;
	msg->conn = note->conn;
	msg->service = (uint32_t)note->cookie;
	msg->msgid = note->msgid;
	msg->tag = note->tag;
	msg->send = c->send;
	msg->send_size = c->send_size;

	switch (note->type) {
	case DD_NOTE_DATA:
		fill_data(c, note, msg);
		if (consume)
			note_consumed(c, note);
		return true;
	case DD_NOTE_CONN:
	case DD_NOTE_CLOSE:
		fill_event(msg);
		return true;
	}
	return false;
}

/* One note, with the list locked: 1 a message, 0 none, -EAGAIN a dud. */
static DDI_INLINE int list_take(struct dd *h, struct ddi_list *l, uint32_t id,
				bool consume, struct dd_msg *msg, bool *kick)
{
	struct dd_note note;
	bool good;

	if (l->id != id || ddi_load(&l->head->id) != id)
		return -EBADID;
	if (!ddi_ring_look(h->area, l->head, &note))
		return 0;
	good = fill_message(h, &note, consume, msg);
	if (consume || !good)
		*kick = ddi_ring_pop(l->head);
	return good ? 1 : -EAGAIN;
}

/**
 * ddi_list_next() - the next message of a list, without waiting
 * @h: handle
 * @l: list
 * @id: its id
 * @consume: take it, or only look at it
 * @msg: filled in if there is one
 *
 * Notes whose connection is gone are dropped on the way, so that what is
 * looked at can also be received.
 *
 * Return: 1 there was one, 0 there is none; -EBADID.
 */
int ddi_list_next(struct dd *h, struct ddi_list *l, uint32_t id, bool consume,
		  struct dd_msg *msg)
{
	int ret;

	do {
		bool kick = false;

		ddi_lock(&l->lock);
		ret = list_take(h, l, id, consume, msg, &kick);
		ddi_unlock(&l->lock);
		if (kick)
			ddi_ioctl_id(h, DD_IOC_LIST_KICK, id);
	} while (ret == -EAGAIN);
	return ret;
}

DD_API int dd_list_fd(struct dd *h, int list)
{
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	ret = ddi_ioctl_id(h, DD_IOC_LIST_FD, list);
	return ret < 0 ? ddi_error(ret) : ret;
}
