/* SPDX-License-Identifier: GPL-2.0-only */
/* Settings of a node, which its administrator changes: node_conf.c. */
#ifndef _DD_NODE_CONF_H
#define _DD_NODE_CONF_H

#include <linux/types.h>

struct dd_node;

/**
 * struct dd_node_change - changes of a node's configuration; NULL keeps a value
 * @id: see struct dd_node
 * @max: see struct dd_node
 * @port: see struct dd_node
 * @up: see struct dd_node
 */
struct dd_node_change {
	const u32 *id;
	const u32 *max;
	const u16 *port;
	const bool *up;
};

/**
 * struct dd_refusal - why a configuration is invalid
 * @text: constant text: what is wrong, and what to do
 * @attr: the invalid attribute, DD_A_*, or 0
 */
struct dd_refusal {
	const char *text;
	int attr;
};

/* Fill in @why and return @err. */
static inline int dd_refuse(struct dd_refusal *why, int err, int attr, const char *text)
{
	why->text = text;
	why->attr = attr;
	return err;
}

int dd_node_set(struct dd_node *node, const struct dd_node_change *change,
		struct dd_refusal *why);

#endif /* _DD_NODE_CONF_H */
