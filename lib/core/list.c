// SPDX-License-Identifier: LGPL-2.1-only
/*
 * list.c - records of note lists, and waiting for a note
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdlib.h>
#include <string.h>

#include "dev.h"
#include "error.h"
#include "list.h"

/* The list is locked, or new. */
static void list_fill(struct ddi_list *l, uint32_t id)
{
	ddi_store(&l->id, 0);
	l->serial = 0;
	memset(&l->spin, 0, sizeof(l->spin));
	ddi_store(&l->cur, NULL);
	l->turn = 0;
	l->streak = 0;
	l->rest_of = 0;
	ddi_store(&l->nr_rx, 0);
	/* A thread that sees the new id sees none of the old rings. */
	ddi_store_release(&l->id, id);
}

/*
 * Bind the record of a list head to the list that is there; NULL without memory. dd.lock
 * is held. A thread that still reads the list that was there before may wait for it: then
 * the head gets another record.
 */
struct ddi_list *ddi_list_bind(struct dd *h, uint32_t id, uint32_t unit)
{
	struct ddi_list **bucket = &h->board.heads[DDI_UNIT_BUCKET(unit)], *l, *old;
	struct dd_list_head *head = ddi_unit(h, unit);

	for (l = *bucket; l && (l->head != head || l->id != id);)
		l = l->same;
	for (old = *bucket; !l && old; old = old->same)
		if (old->head == head && ddi_trylock(&old->lock))
			l = old;
	if (!l) {
		l = aligned_alloc(DDI_LINE, sizeof(*l));
		if (!l)
			return NULL;
		memset(l, 0, sizeof(*l));
		l->head = head;
		l->area = h->area;
		l->ring = ddi_list_slot(l, 0, 0);	/* of geometry 0 */
		l->same = *bucket;
		*bucket = l;
		l->next = h->all_lists;
		h->all_lists = l;
		list_fill(l, id);
	} else if (l->id != id) {
		list_fill(l, id);
		ddi_unlock(&l->lock);
	}
	ddi_store_release(&h->board.lists[DDI_BUCKET(id)], l);
	return l;
}

/* A list that is not in its bucket, or that only the kernel knows so far. */
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
	struct ddi_list *l;

	while ((l = h->all_lists)) {
		h->all_lists = l->next;
		free(l->rx);
		free(l);
	}
}

/* The slot of the next note in the list's own ring, or NULL. */
static struct dd_note *own_slot(const struct ddi_list *l)
{
	return ddi_list_slot(l, ddi_load_acquire(&l->head->geometry), ddi_load(&l->head->head));
}

/* A reason to stop spinning: a note, a new ring, or the list is gone. */
static bool list_over(const struct ddi_look *look)
{
	const struct ddi_list *l = look->place;
	const struct dd_list_head *lh = l->head;
	uint32_t n = ddi_load_acquire(&l->nr_rx);
	uint64_t pos, geometry = ddi_load(&lh->geometry);
	const struct ddi_direct_rx *rx;
	struct dd_note *slot;

	if (ddi_load(&lh->rings) != n && n < DD_RINGS_MAX)
		return true;
	while (n) {
		rx = &l->rx[--n];
		pos = ddi_load(&rx->state->head);
		if (ddi_load_acquire(&ddi_direct_slot(rx, pos)->seq) == pos + 1)
			return true;
	}
	pos = ddi_load(&lh->head);
	slot = own_slot(l);
	return !slot || ddi_load(&lh->id) != look->id ||
	       ddi_load(&slot->seq) == pos + 1 || ddi_load(&lh->geometry) != geometry;
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

/*
 * Look at a list for a while. Returns true to look for a note; else false, with *@since for
 * ddi_spin_slept(), or 0 if it was not looked at.
 */
static DDI_INLINE bool list_spin(struct dd *h, struct ddi_list *l, uint32_t id,
				 struct ddi_limit *limit, int64_t *since)
{
	struct ddi_look look = { .over = list_over, .place = l, .id = id };
	const struct ddi_direct_rx *rx = ddi_load(&l->cur);
	struct dd_note *slot = own_slot(l);

	*since = 0;
	/* If there is no slot, the kernel finds out why. */
	if (!rx && !slot)
		return false;
	/* The slot of the ring of the last note; list_over() looks at the others. */
	look.value = ddi_load(rx ? &rx->state->head : &l->head->head) + 1;
	look.word = rx ? &ddi_direct_slot(rx, look.value - 1)->seq : &slot->seq;
	return ddi_spin(h, &l->spin, limit, &look, since);
}

/*
 * Wait until the list with this id may have a note. There is no spinning with
 * DD_RECV_INTR, which would miss a signal. Returns 0 to look again; -ETIMEDOUT, -EINTR
 * (DD_RECV_INTR), -EBADID.
 */
int ddi_list_wait(struct dd *h, struct ddi_list *l, uint32_t id,
		  unsigned int options, struct ddi_limit *limit)
{
	int64_t since = 0;
	int ret;

	if (!(options & (DD_RECV_SLEEP | DD_RECV_INTR)) && list_spin(h, l, id, limit, &since))
		return 0;
	do {
		ret = ddi_list_sleep(h, &id, 1, ddi_limit_end(limit));
	} while (ret == -EINTR && !(options & DD_RECV_INTR));
	if (since)
		ddi_spin_slept(&l->spin, since);
	return ret;
}

DD_API bool ddi_list_spin(struct dd *h, int list, int64_t deadline, int64_t *since)
{
	struct ddi_limit limit = { .timeout = DD_FOREVER, .deadline = deadline };
	struct ddi_list *l = ddi_list_find(h, list);

	*since = 0;
	if (!l || !list_spin(h, l, list, &limit, since))
		return false;
	/* Most often the message is in the ring of the last one: ddi_recv() looks there first. */
	if (ddi_trylock(&l->lock)) {
		l->streak += !l->streak;
		ddi_unlock(&l->lock);
	}
	return true;
}

DD_API void ddi_list_slept(struct dd *h, int list, int64_t since)
{
	struct ddi_list *l = ddi_list_find(h, list);

	if (l && since)
		ddi_spin_slept(&l->spin, since);
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
