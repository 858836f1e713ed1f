/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_RBTREE_H
#define _LINUX_RBTREE_H

/* Nobody looks into one here. */
struct rb_root_cached {
	void *root;
};

#endif /* _LINUX_RBTREE_H */
