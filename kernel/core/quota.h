/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Places, of which there is a limited number for all users: no user holds them all, nor does
 * another node.
 */
#ifndef _DD_QUOTA_H
#define _DD_QUOTA_H

#include <linux/errno.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/uidgid.h>

/**
 * struct dd_quota - the places that are held; protected by a lock of the owner
 * @held: struct dd_quota_place
 * @count: number of entries
 */
struct dd_quota {
	struct list_head held;
	u32 count;
};

/**
 * struct dd_quota_place - a place
 * @entry: in dd_quota.held; else empty
 * @uid: user that holds it
 * @from: 0: a user of this node; n + 1: of node n
 */
struct dd_quota_place {
	struct list_head entry;
	kuid_t uid;
	u32 from;
};

/* Users of another node together may hold this many times as many places as are free. */
#define DD_QUOTA_NODE	4

static inline void dd_quota_init(struct dd_quota *p)
{
	INIT_LIST_HEAD(&p->held);
	p->count = 0;
}

/**
 * dd_quota_get() - take a place
 * @p: the places; the caller holds their lock
 * @place: the place, with @uid and @from
 * @max: number of places
 * @owner: user that may hold all; INVALID_UID if there is none
 *
 * A user gets a place if more are free than it holds. So there is a free one for each user
 * that holds none, whatever the others do. Another node may claim that @place->uid is no user.
 *
 * Return: 0; %-EUSERS.
 */
static inline int dd_quota_get(struct dd_quota *p, struct dd_quota_place *place, u32 max,
			       kuid_t owner)
{
	u32 free = max - min(max, p->count), user = 0, node = 0;
	const struct dd_quota_place *other;

	if (!free)
		return -EUSERS;
	/* While most places are free, no user holds too many. */
	if (p->count >= free && (!uid_valid(owner) || !uid_eq(place->uid, owner))) {
		list_for_each_entry(other, &p->held, entry) {
			if (other->from != place->from)
				continue;
			node++;
			user += uid_eq(other->uid, place->uid);
		}
		if (user >= free || (place->from && node / DD_QUOTA_NODE >= free))
			return -EUSERS;
	}
	list_add_tail(&place->entry, &p->held);
	WRITE_ONCE(p->count, p->count + 1);
	return 0;
}

static inline void dd_quota_put(struct dd_quota *p, struct dd_quota_place *place)
{
	list_del_init(&place->entry);
	WRITE_ONCE(p->count, p->count - 1);
}

#endif /* _DD_QUOTA_H */
