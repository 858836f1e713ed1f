/* SPDX-License-Identifier: GPL-2.0-only */
/* Names by which processes of any node find objects: names.c. */
#ifndef _DD_NAMES_H
#define _DD_NAMES_H

#include <linux/rhashtable-types.h>
#include <linux/types.h>
#include <linux/uidgid.h>

#include "core/quota.h"

#define DD_KEY_SIZE		64	/* bytes in a key */

struct dd_node;
struct dd_obj;

/**
 * enum dd_class - classes of names that other nodes may look up, with those of enum
 *	dd_segment_class
 * @DD_CLASS_SERVICE: a service of DDP; the key is its name, padded with zeros
 * @DD_CLASSES: highest class plus 1
 *
 * Part of the protocol between nodes.
 */
enum dd_class {
	DD_CLASS_SERVICE = 1,
	DD_CLASSES = 6
};

/**
 * struct dd_name - an object that others find by a key
 * @entry: in dd_node.names
 * @obj: the object
 * @shared: other names of @uid may have the same key. dd_name_get() finds the oldest one
 * @uid: with @shared, the owner
 * @same: with @shared, the names of this key, in the order in which they were added; only the
 *	first one is in dd_node.names. Protected by dd_node.shared_lock
 * @class: enum dd_class or enum dd_segment_class
 * @key: padded with zeros; unique in its class, unless it is shared
 */
struct dd_name {
	struct rhash_head entry;
	struct dd_obj *obj;
	bool shared;
	kuid_t uid;
	struct list_head same;
	u8 class;
	u8 key[DD_KEY_SIZE];
};

#define DD_PARKED_MAX	1024

/**
 * struct dd_parked - a look-up that waits until a name is added
 * @place: in dd_node.parked while it waits
 * @class: enum dd_segment_class
 * @key: padded with zeros
 * @wake: the name was added: look it up again. Called with dd_node.park_lock held, once
 *	@place was given back
 */
struct dd_parked {
	struct dd_quota_place place;
	u8 class;
	u8 key[DD_KEY_SIZE];
	void (*wake)(struct dd_parked *p);
};

int dd_names_init(struct dd_node *node);
void dd_names_exit(struct dd_node *node);
int dd_name_add(struct dd_node *node, struct dd_name *name);
void dd_name_del(struct dd_node *node, struct dd_name *name);
bool dd_name_valid(const struct dd_name *name);
struct dd_obj *dd_name_get(struct dd_node *node, u8 class, const u8 *key);
int dd_name_park(struct dd_node *node, struct dd_parked *p);
bool dd_name_unpark(struct dd_node *node, struct dd_parked *p);

#endif /* _DD_NAMES_H */
