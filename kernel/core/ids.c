// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ids of the objects of a context, and serials, which are never reused.
 *
 * An id is a positive int, as the interfaces above use it, so ids wrap around and are
 * reused. Each wrap starts a new epoch; the serial (epoch, id) is unique.
 */
#include <linux/random.h>

#include "core/ids.h"

void dd_ids_init(struct dd_ids *ids)
{
	/* Id 0 is never used. */
	xa_init_flags(&ids->xa, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	mutex_init(&ids->lock);
	/*
	 * Start at a random id, so that an id of another context is unlikely to be
	 * valid here. 18 bits keep the xarray shallow.
	 */
	ids->next = 1 + (get_random_u32() & GENMASK(17, 0));
	/* Not 0: a serial is always greater than an id. */
	ids->epoch = 1;
}

/**
 * dd_ids_reserve() - allocate an id
 * @ids: the ids
 * @id: (out) the id, whose entry in @ids is reserved
 * @epoch: (out) epoch of the id
 * @gfp: dd_gfp() of the context: an allocation by another process does not retry, so
 *	that it cannot hold up the owner, which may wait for @ids->lock
 *
 * An epoch ends with the highest id, after about 2 billion allocations.
 *
 * Return: 0, %-ENOMEM, or %-ENOSPC if all ids are in use.
 */
int dd_ids_reserve(struct dd_ids *ids, u32 *id, u32 *epoch, gfp_t gfp)
{
	u32 wraps = 0;
	int err;

	mutex_lock(&ids->lock);
	/* Not xa_alloc_cyclic(), which also starts again at 1 if it lacks memory. */
	err = xa_alloc(&ids->xa, id, NULL, XA_LIMIT(ids->next, S32_MAX), gfp);
	if (err == -EBUSY) {
		err = xa_alloc(&ids->xa, id, NULL, XA_LIMIT(1, S32_MAX), gfp);
		wraps = 1;
	}
	if (!err) {
		ids->next = *id + 1;
		ids->epoch += wraps;
		*epoch = ids->epoch;
	}
	mutex_unlock(&ids->lock);
	return err == -EBUSY ? -ENOSPC : err;
}

/**
 * dd_ids_unused() - check that no id is in use or reserved
 * @ids: the ids
 *
 * Not xa_empty(): an allocation that failed may have left nodes without entries. Nothing
 * changes @ids meanwhile.
 *
 * Return: whether that is so.
 */
bool dd_ids_unused(struct dd_ids *ids)
{
	/* Index 0 is reserved by the xarray itself. */
	XA_STATE(xas, &ids->xa, 1);
	void *entry;

	rcu_read_lock();
	entry = xas_find(&xas, S32_MAX);
	rcu_read_unlock();
	return !entry;
}
