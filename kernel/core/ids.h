/* SPDX-License-Identifier: GPL-2.0-only */
/* Ids of the objects of a context: ids.c. */
#ifndef _DD_IDS_H
#define _DD_IDS_H

#include <linux/mutex.h>
#include <linux/xarray.h>

/**
 * struct dd_ids - ids of the objects of a context
 * @xa: id to object, from 1 to %S32_MAX; looked up under RCU
 * @lock: serialises allocations: xa_alloc() may drop the lock of @xa to
 *	allocate memory, and meanwhile @next must not change
 * @next: next id to try
 * @epoch: from 1, incremented each time the ids wrap around
 */
struct dd_ids {
	struct xarray xa;
	struct mutex lock;	/* protects allocation */
	u32 next;
	u32 epoch;
};

void dd_ids_init(struct dd_ids *ids);
int dd_ids_reserve(struct dd_ids *ids, u32 *id, u32 *epoch, gfp_t gfp);
bool dd_ids_unused(struct dd_ids *ids);

/**
 * dd_ids_find() - look up an id
 * @ids: the ids
 * @id: any number
 *
 * An inlined xa_load(), as this is called for every message. The caller is in an RCU
 * read-side section of any flavour. Id 0 is never used, so if there is an entry the
 * head is a node; each entry has one index, so objects are only in nodes without a
 * shift. Anything that is not an object is left to xa_load(): a reserved id, or the
 * retry mark of a node that another CPU has just freed.
 *
 * Return: the entry, or NULL.
 */
static inline void *dd_ids_find(const struct dd_ids *ids, u32 id)
{
	const struct xa_node *node;
	u32 shift, index;
	void *entry;

	entry = rcu_dereference_check(ids->xa.xa_head,
				      rcu_read_lock_sched_held());
	if (unlikely(!entry))
		return NULL;
	node = xa_to_node(entry);
	shift = node->shift;
	index = id >> shift;
	if (unlikely(index > XA_CHUNK_MASK))
		return NULL;
	/* Keeps the mask below, which limits speculative execution. */
	OPTIMIZER_HIDE_VAR(index);
	for (;;) {
		entry = rcu_dereference_check(node->slots[index & XA_CHUNK_MASK],
					      rcu_read_lock_sched_held());
		if (likely(!shift) || unlikely(!xa_is_node(entry)))
			break;
		node = xa_to_node(entry);
		shift = node->shift;
		index = id >> shift;
	}
	/* In a pointer to an object these bits are clear. */
	if (unlikely((unsigned long)entry & 3))
		return xa_load((struct xarray *)&ids->xa, id);
	return entry;
}

#endif /* _DD_IDS_H */
