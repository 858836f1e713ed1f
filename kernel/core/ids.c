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
	const struct xa_limit limit = XA_LIMIT(1, S32_MAX);
	int ret;

	mutex_lock(&ids->lock);
	ret = xa_alloc_cyclic(&ids->xa, id, NULL, limit, &ids->next, gfp);
	/* 1: the ids have wrapped around. */
	if (ret > 0)
		ids->epoch++;
	*epoch = ids->epoch;
	mutex_unlock(&ids->lock);
	if (ret < 0)
		return ret == -EBUSY ? -ENOSPC : ret;
	return 0;
}
