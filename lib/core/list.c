// SPDX-License-Identifier: LGPL-2.1-only
/*
 * list.c - records of note lists, and waiting for a note
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "list.h"

#define LISTS_MIN	64

static void list_bind(struct dd *h, struct ddi_list *l, uint32_t id,
		      uint32_t unit)
{
	ddi_store(&l->id, 0);
	memset(&l->spin, 0, sizeof(l->spin));
	ddi_store(&l->cur, NULL);
	l->turn = 0;
	l->streak = 0;
	l->rest_of = 0;
	ddi_store(&l->nr_rx, 0);
	/* A thread that sees the new head sees none of the old rings. */
	ddi_store_release(&l->head, (struct dd_list_head *)
			  (h->area + (size_t)unit * DD_UNIT));
	ddi_store_release(&l->id, id);
}

/*
 * Unbind the records of lists that are gone, many of which ended without a call. Done
 * once for as many new ones, so that the cost of each is constant. A record that a
 * thread has locked stays until the next time.
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

/* An unbound record, in no bucket. */
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
	l->ring = ddi_list_slot(h->area, 0, 0);	/* of geometry 0 */
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
	struct ddi_list *l;

	if (!id)
		return NULL;
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
		/* A thread may have found it by its old id, and be reading. */
		ddi_lock(&l->lock);
		list_bind(h, l, id, unit);
		ddi_unlock(&l->lock);
		h->nr_lists++;
	}
	ddi_table_put(h->board.lists, id, l);
	return l;
}

/* One that is not the first of its bucket, or that only the kernel knows so far. */
struct ddi_list *ddi_list_find_slow(struct dd *h, uint32_t id)
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

void ddi_list_release(struct dd *h)
{
	while (h->all_lists) {
		struct ddi_list *l = h->all_lists;

		h->all_lists = l->next;
		free(l->rx);
		free(l);
	}
}

static bool direct_ready(const struct ddi_direct_rx *rx)
{
	uint64_t pos = ddi_load(&rx->state->head);

	return ddi_load_acquire(&ddi_direct_slot(rx, pos)->seq) == pos + 1;
}

/* A reason to stop spinning: a note, a new ring, or the list is gone. */
static bool list_over(const struct ddi_look *look)
{
	const struct dd_list_head *lh = look->place;
	const struct ddi_list *l = look->list;
	uint32_t n = ddi_load_acquire(&l->nr_rx);
	uint64_t pos = ddi_load(&lh->head), geometry;
	struct dd_note *slot;

	if (ddi_load(&lh->rings) != n && n < DD_RINGS_MAX)
		return true;
	while (n)
		if (direct_ready(&l->rx[--n]))
			return true;
	geometry = ddi_load_acquire(&lh->geometry);
	slot = ddi_list_slot(look->area, geometry, pos);
	return !slot || ddi_load(&lh->id) != look->id ||
	       ddi_load(&slot->seq) == pos + 1 ||
	       ddi_load(&lh->geometry) != geometry;
}

/*
 * Look at the slot of the next note, in the ring of the last one: list_over() looks at
 * the others. Returns whether there is such a slot.
 */
static bool list_look(struct dd *h, struct ddi_list *l, uint32_t id,
		      struct ddi_look *look)
{
	struct dd_list_head *lh = ddi_load_acquire(&l->head);
	const struct ddi_direct_rx *rx = ddi_load(&l->cur);
	uint64_t pos = ddi_load(rx ? &rx->state->head : &lh->head);
	struct dd_note *slot = ddi_list_slot(h->area, ddi_load(&lh->geometry),
					     pos);

	*look = (struct ddi_look){
		.word = rx ? &ddi_direct_slot(rx, pos)->seq : &slot->seq,
		.value = pos + 1,
		.over = list_over,
		.area = h->area,
		.place = lh,
		.list = l,
		.id = id,
	};
	return rx || slot;
}

/*
 * Sleep until one of some lists may have a note; the kernel sorts @ids. Returns 0,
 * -EINTR, -ETIMEDOUT or another error.
 */
int ddi_list_sleep(struct dd *h, uint32_t *ids, uint32_t count, int64_t deadline)
{
	struct dd_list_wait w = {
		.size = sizeof(w),
		.lists = (uintptr_t)ids,
		.count = count,
		.timeout = ddi_remaining(deadline),
	};
	int ret = ddi_ioctl(h, DD_IOC_LIST_WAIT, &w);

	if (ret == -EAGAIN)
		return -ETIMEDOUT;
	return ret < 0 ? ddi_error(ret) : 0;
}

/**
 * ddi_list_wait() - wait until a list may have a note
 * @h: handle
 * @l: list
 * @id: its id
 * @options: DD_RECV_*; no spinning with DD_RECV_INTR, which would miss a signal
 * @deadline: when to give up
 *
 * Return: 0 look again; -ETIMEDOUT, -EINTR (DD_RECV_INTR), -EBADID.
 */
int ddi_list_wait(struct dd *h, struct ddi_list *l, uint32_t id,
		  unsigned int options, int64_t deadline)
{
	bool look_first = !(options & (DD_RECV_SLEEP | DD_RECV_INTR));
	struct ddi_look look;
	int64_t start;
	int ret;

	/* If there is no slot to look at, the kernel finds out why. */
	look_first = look_first && list_look(h, l, id, &look);
	if (look_first && ddi_spin(h, &l->spin, deadline, &look, &start))
		return 0;
	do {
		ret = ddi_list_sleep(h, &id, 1, deadline);
	} while (ret == -EINTR && !(options & DD_RECV_INTR));
	if (look_first)
		ddi_spin_slept(&l->spin, start);
	return ret;
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
