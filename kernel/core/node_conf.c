// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settings of a node: what its administrator may change, and when.
 */
#include <uapi/linux/dd_netlink.h>

#include "core/area.h"
#include "core/ctx.h"
#include "core/node.h"
#include "core/node_conf.h"

#define DD_NODE_MAX		4096

/* Check the new or current numbers against each other, and against their users. */
static int check_change(struct dd_node *node, u32 id, u32 max,
			const struct dd_node_change *change, struct dd_refusal *why)
{
	int blame = change->id ? DD_A_NODE_ID : DD_A_NODE_MAXNODES;
	unsigned long number = max;

	if (!max || max > DD_NODE_MAX)
		return dd_refuse(why, -ERANGE, DD_A_NODE_MAXNODES,
				 "the number of nodes must be 1 to 4096");
	if (id >= max)
		return dd_refuse(why, -ERANGE, blame,
				 "the node's number must be below the number of nodes");
	if (max != node->max && node->up && (!change->up || *change->up))
		return dd_refuse(why, -EBUSY, DD_A_NODE_MAXNODES,
				 "max can change only while the node is down: ddctl node down");
	/* Running programs have read both numbers and rely on them. */
	if (id != node->id && !dd_node_unused(&node->ctxs))
		return dd_refuse(why, -EBUSY, DD_A_NODE_ID,
				 "the node's number can change only while no process has /dev/dd open");
	if (max != node->max && !dd_node_unused(&node->ctxs))
		return dd_refuse(why, -EBUSY, DD_A_NODE_MAXNODES,
				 "max can change only while no process has /dev/dd open");
	/* Sessions with peers were negotiated with the current numbers and port. */
	if (dd_node_unused(&node->peers))
		return 0;
	if (id != node->id)
		return dd_refuse(why, -EBUSY, DD_A_NODE_ID,
				 "the node's number can change only while it has no peers: ddctl peer del");
	if (change->port && *change->port != node->port)
		return dd_refuse(why, -EBUSY, DD_A_NODE_PORT,
				 "the port can change only while there are no peers: ddctl peer del");
	if (xa_find(&node->peers, &number, ULONG_MAX, XA_PRESENT))
		return dd_refuse(why, -EBUSY, DD_A_NODE_MAXNODES,
				 "a peer's number is not below that: ddctl peer del");
	return 0;
}

/**
 * dd_node_set() - change the configuration of a node
 * @node: the node; dd_node.peer_lock is held
 * @change: the changes
 * @why: (out) on error, the reason
 *
 * Return: 0; %-EBUSY for a new number of nodes while the node is up, for new numbers
 * while there are contexts, or for a change that its peers do not permit; %-ERANGE for
 * numbers out of range. On error nothing has changed.
 */
int dd_node_set(struct dd_node *node, const struct dd_node_change *change,
		struct dd_refusal *why)
{
	u32 id = change->id ? *change->id : node->id;
	u32 max = change->max ? *change->max : node->max;
	struct dd_area_head *head;
	unsigned long serial;
	struct dd_ctx *ctx;
	int err;

	/* Held for every change of the numbers. */
	lockdep_assert_held(&node->peer_lock);
	mutex_lock(&node->lock);
	err = check_change(node, id, max, change, why);
	if (!err) {
		WRITE_ONCE(node->id, id);
		WRITE_ONCE(node->max, max);
		if (change->port)
			WRITE_ONCE(node->port, *change->port);
		if (change->up)
			WRITE_ONCE(node->up, *change->up);
		xa_for_each(&node->ctxs, serial, ctx) {
			head = dd_area_unit(&ctx->area, 0);
			WRITE_ONCE(head->node, node->id);
			WRITE_ONCE(head->maxnodes, node->max);
			WRITE_ONCE(head->node_up, node->up);
		}
	}
	mutex_unlock(&node->lock);
	return err;
}
