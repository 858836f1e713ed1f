// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ids of the objects of a context, and what makes them unique for all time.
 *
 * An id is a positive int: the interfaces on top pass it as one. So it comes
 * again, after all others have been used. Each time they begin anew is another
 * epoch, and (epoch, id), the *serial*, comes once.
 */
#include <linux/random.h>

#include "dd.h"

void dd_ids_init(struct dd_ids *ids)
{
	/* 0 is no id. */
	xa_init_flags(&ids->xa, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	mutex_init(&ids->lock);
	/*
	 * An id of another context, or one that a program makes up, should not
	 * name an object here. 18 bits keep the xarray shallow.
	 */
	ids->next = 1 + (get_random_u32() & GENMASK(17, 0));
	/* So that no id alone is a serial. */
	ids->epoch = 1;
}

/**
 * dd_ids_reserve() - choose an id
 * @ids: the ids
 * @id: (out) the id, whose entry in @ids is reserved
 * @epoch: (out) with it a number that is never given again
 * @gfp: dd_gfp() of the context: an allocation by another process does not retry, so
 *	that it cannot hold up the owner, which may wait for @ids->lock
 *
 * An epoch ends with the highest id, which is 2 billion calls later at least
 * unless so many are in use.
 *
 * Return: 0, %-ENOMEM, or %-ENOSPC when all ids are in use.
 */
int dd_ids_reserve(struct dd_ids *ids, u32 *id, u32 *epoch, gfp_t gfp)
{
	const struct xa_limit limit = XA_LIMIT(1, S32_MAX);
	int ret;

	mutex_lock(&ids->lock);
	ret = xa_alloc_cyclic(&ids->xa, id, NULL, limit, &ids->next, gfp);
	/* 1: they have begun anew. */
	if (ret > 0)
		ids->epoch++;
	*epoch = ids->epoch;
	mutex_unlock(&ids->lock);
	if (ret < 0)
		return ret == -EBUSY ? -ENOSPC : ret;
	return 0;
}
