// SPDX-License-Identifier: GPL-2.0-only
/*
 * The names of a node, by class and key, and look-ups that wait for one.
 */
#include <linux/rhashtable.h>
#include <uapi/linux/dd_mem.h>

#include "core/ctx.h"
#include "core/names.h"
#include "core/node.h"

#define DD_NAME_KEY	(offsetofend(struct dd_name, key) -		\
			 offsetof(struct dd_name, class))

static const struct rhashtable_params dd_names = {
	.key_len = DD_NAME_KEY,
	.key_offset = offsetof(struct dd_name, class),
	.head_offset = offsetof(struct dd_name, entry),
	.automatic_shrinking = true,
};

int dd_names_init(struct dd_node *node)
{
	spin_lock_init(&node->park_lock);
	spin_lock_init(&node->shared_lock);
	dd_quota_init(&node->parked);
	return rhashtable_init(&node->names, &dd_names);
}

void dd_names_exit(struct dd_node *node)
{
	WARN_ON_ONCE(node->parked.count);
	rhashtable_destroy(&node->names);
}

/* A name was added: wake look-ups that wait for it. */
static void wake_lookups(struct dd_node *node, const struct dd_name *name)
{
	struct dd_parked *p, *next;

	spin_lock_bh(&node->park_lock);
	list_for_each_entry_safe(p, next, &node->parked.held, place.entry)
		if (p->class == name->class && !memcmp(p->key, name->key, DD_KEY_SIZE)) {
			dd_quota_put(&node->parked, &p->place);
			p->wake(p);
		}
	spin_unlock_bh(&node->park_lock);
}

/* Whether the key of a name is in use. The look-up removes the name of an ended process. */
static bool name_used(struct dd_node *node, const struct dd_name *name)
{
	struct dd_obj *obj = dd_name_get(node, name->class, name->key);

	if (obj)
		dd_obj_put(obj);
	return obj;
}

/* In an RCU read-side section. */
static struct dd_name *name_find(struct dd_node *node, u8 class, const u8 *key)
{
	u8 want[DD_NAME_KEY] = { class };

	memcpy(want + 1, key, DD_KEY_SIZE);
	return rhashtable_lookup(&node->names, want, dd_names);
}

/* Add a name behind those that it shares its key with; 0, or why that is not permitted. */
static int shared_add(struct dd_node *node, struct dd_name *name)
{
	struct dd_name *first;
	int err;

	spin_lock(&node->shared_lock);
	INIT_LIST_HEAD(&name->same);
	/* data_race(): as in dd_name_add(). */
	err = data_race(rhashtable_lookup_insert_fast(&node->names, &name->entry, dd_names));
	if (err == -EEXIST) {
		rcu_read_lock();
		first = name_find(node, name->class, name->key);
		/* Under the lock, a shared name that is found stays. */
		if (first && first->shared && uid_eq(first->uid, name->uid)) {
			list_add_tail(&name->same, &first->same);
			err = 0;
		}
		rcu_read_unlock();
	}
	spin_unlock(&node->shared_lock);
	return err;
}

/* The oldest of the others is found from now on. */
static void shared_del(struct dd_node *node, struct dd_name *name)
{
	struct dd_name *next;

	spin_lock(&node->shared_lock);
	next = list_next_entry(name, same);
	/*
	 * Only the first one is in the table; the others are not found there. data_race(): as in
	 * dd_name_add().
	 */
	if (list_empty(&name->same)) {
		/* data_race(): see above */
		data_race(rhashtable_remove_fast(&node->names, &name->entry, dd_names));
	} else {
		/* data_race(): see above */
		data_race(rhashtable_replace_fast(&node->names, &name->entry, &next->entry,
						  dd_names));
	}
	list_del_init(&name->same);
	spin_unlock(&node->shared_lock);
}

/**
 * dd_name_add() - let others find an object
 * @node: the node
 * @name: the name, complete. Freed by RCU, after dd_name_del()
 *
 * Return: 0; %-EEXIST if the key is in use; %-ENOMEM.
 */
int dd_name_add(struct dd_node *node, struct dd_name *name)
{
	int err;

	if (name->shared)
		return shared_add(node, name);
	do {
		/* data_race(): KCSAN reports the lockless reads of rhashtable itself. */
		err = data_race(rhashtable_lookup_insert_fast(&node->names, &name->entry,
							      dd_names));
	} while (err == -EEXIST && name->class == DD_SEGMENT_BUFFER &&
		 !name_used(node, name));
	if (!err)
		wake_lookups(node, name);
	return err;
}

/* Undo dd_name_add(). A second call does nothing. */
void dd_name_del(struct dd_node *node, struct dd_name *name)
{
	if (name->shared) {
		shared_del(node, name);
		return;
	}
	/* data_race(): as in dd_name_add(). */
	data_race(rhashtable_remove_fast(&node->names, &name->entry, dd_names));
}

/**
 * dd_name_valid() - whether a name still names its object
 * @name: the name, of whose object the caller holds a reference
 *
 * A key of class BUFFER contains the id of its process, which another process may get.
 */
bool dd_name_valid(const struct dd_name *name)
{
	return name->class != DD_SEGMENT_BUFFER || dd_ctx_owned(name->obj->ctx);
}

/**
 * dd_name_get() - find an object by its name
 * @node: the node
 * @class: enum dd_class or enum dd_segment_class
 * @key: %DD_KEY_SIZE bytes
 *
 * Return: the object, with a reference, or NULL.
 */
struct dd_obj *dd_name_get(struct dd_node *node, u8 class, const u8 *key)
{
	struct dd_obj *obj = NULL;
	struct dd_name *name;

	rcu_read_lock();
	do {
		name = name_find(node, class, key);
		if (name && refcount_inc_not_zero(&name->obj->users))
			obj = name->obj;
		/* An ended object has no shared name any more, but another one may have it. */
	} while (name && !obj && name->shared);
	rcu_read_unlock();
	if (!obj || dd_name_valid(name))
		return obj;
	/* Remove the name, so that nothing waits for it and its key can be used again. */
	dd_name_del(node, name);
	dd_obj_put(obj);
	return NULL;
}

/**
 * dd_name_park() - wait for a name
 * @node: the node
 * @p: the look-up, on no list; @p->wake() is called when the name is added, or at once if
 *	it has been
 *
 * Does not sleep.
 *
 * Return: 0; %-EUSERS if too many look-ups of all or of this user wait.
 */
int dd_name_park(struct dd_node *node, struct dd_parked *p)
{
	bool added;
	int err = 0;

	spin_lock_bh(&node->park_lock);
	/* A name that is added later is followed by wake_lookups(), under this lock. */
	rcu_read_lock();
	added = name_find(node, p->class, p->key);
	rcu_read_unlock();
	if (added)
		p->wake(p);
	else
		err = dd_quota_get(&node->parked, &p->place, DD_PARKED_MAX, INVALID_UID);
	spin_unlock_bh(&node->park_lock);
	return err;
}

/**
 * dd_name_unpark() - stop waiting for a name
 * @node: the node
 * @p: the look-up
 *
 * Return: true if it waited; else dd_parked.wake() was called, and has returned.
 */
bool dd_name_unpark(struct dd_node *node, struct dd_parked *p)
{
	bool waits;

	spin_lock_bh(&node->park_lock);
	waits = !list_empty(&p->place.entry);
	if (waits)
		dd_quota_put(&node->parked, &p->place);
	spin_unlock_bh(&node->park_lock);
	return waits;
}
