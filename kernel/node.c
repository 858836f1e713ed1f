// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nodes: one in each network namespace.
 */
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/netns/generic.h>

#include "dd.h"

/* An unconfigured node is the one that the papers' programs call. */
#define DD_NODE_DEFAULT_ID	1
#define DD_NODE_DEFAULT_MAX	2
#define DD_NODE_MAX		4096

static unsigned int dd_net_id;

static const struct rhashtable_params dd_service_params = {
	.key_len = DD_NAME_MAX + 1,
	.key_offset = offsetof(struct dd_service, name),
	.head_offset = offsetof(struct dd_service, entry),
	.automatic_shrinking = true,
};

struct dd_node *dd_node_of(const struct net *net)
{
	return net_generic(net, dd_net_id);
}

static int __net_init dd_net_init(struct net *net)
{
	struct dd_node *node = dd_node_of(net);
	int err;

	node->net = net;
	mutex_init(&node->lock);
	INIT_LIST_HEAD(&node->ctxs);
	node->id = DD_NODE_DEFAULT_ID;
	node->max = DD_NODE_DEFAULT_MAX;
	node->up = true;
	node->stats = alloc_percpu(struct dd_stats);
	if (!node->stats)
		return -ENOMEM;
	err = rhashtable_init(&node->services, &dd_service_params);
	if (err)
		free_percpu(node->stats);
	return err;
}

static void __net_exit dd_net_exit(struct net *net)
{
	struct dd_node *node = dd_node_of(net);

	/* Every context holds its namespace, so there is none left. */
	WARN_ON_ONCE(!list_empty(&node->ctxs));
	rhashtable_destroy(&node->services);
	free_percpu(node->stats);
}

static struct pernet_operations dd_net_ops = {
	.init = dd_net_init,
	.exit = dd_net_exit,
	.id = &dd_net_id,
	.size = sizeof(struct dd_node),
};

int dd_node_init(void)
{
	return register_pernet_subsys(&dd_net_ops);
}

void dd_node_exit(void)
{
	unregister_pernet_subsys(&dd_net_ops);
}

/* Show the node's state to those who map it; under its lock. */
static void dd_node_show(struct dd_node *node)
{
	struct dd_ctx *ctx;

	lockdep_assert_held(&node->lock);
	list_for_each_entry(ctx, &node->ctxs, node_entry) {
		struct dd_area_head *head = dd_area_unit(&ctx->area, 0);

		WRITE_ONCE(head->node, node->id);
		WRITE_ONCE(head->maxnodes, node->max);
		WRITE_ONCE(head->node_up, node->up);
	}
}

/**
 * dd_node_set() - change what a node is
 * @node: the node
 * @id: its number, or NULL to leave it
 * @max: number of nodes, or NULL to leave it
 * @up: whether it serves, or NULL to leave it
 * @reason: (out) on error, what was wrong and what to do
 *
 * Return: 0; %-EBUSY for a new @max while the node is up; %-ERANGE for
 * numbers that do not fit each other. Then nothing has changed.
 */
int dd_node_set(struct dd_node *node, const u32 *id, const u32 *max,
		const bool *up, const char **reason)
{
	u32 new_id, new_max;
	int err = 0;

	mutex_lock(&node->lock);
	new_id = id ? *id : node->id;
	new_max = max ? *max : node->max;
	if (!new_max || new_max > DD_NODE_MAX) {
		*reason = "the number of nodes must be 1 to 4096";
		err = -ERANGE;
	} else if (new_id >= new_max) {
		*reason = "the node's number must be below the number of nodes";
		err = -ERANGE;
	} else if (new_max != node->max && node->up && (!up || *up)) {
		*reason = "max can change only while the node is down: ddctl node down";
		err = -EBUSY;
	} else {
		WRITE_ONCE(node->id, new_id);
		WRITE_ONCE(node->max, new_max);
		if (up)
			WRITE_ONCE(node->up, *up);
		dd_node_show(node);
	}
	mutex_unlock(&node->lock);
	return err;
}

/* Add up the counters of all CPUs. */
void dd_node_stats(struct dd_node *node, struct dd_stats *sum)
{
	int cpu, i;

	*sum = (struct dd_stats){};
	for_each_possible_cpu(cpu)
		for (i = 0; i < DD_STAT_MAX; i++)
			sum->v[i] += READ_ONCE(per_cpu_ptr(node->stats,
							   cpu)->v[i]);
}

/* Register a name: 0, or -EEXIST; the caller holds the service's lock. */
int dd_node_service_add(struct dd_node *node, struct dd_service *svc)
{
	return rhashtable_lookup_insert_fast(&node->services, &svc->entry,
					     dd_service_params);
}

void dd_node_service_del(struct dd_node *node, struct dd_service *svc)
{
	rhashtable_remove_fast(&node->services, &svc->entry, dd_service_params);
}

/* Find a service by its padded name; the caller becomes a user of it. */
struct dd_service *dd_node_service_get(struct dd_node *node, const u8 *name)
{
	struct dd_service *svc;

	rcu_read_lock();
	svc = rhashtable_lookup(&node->services, name, dd_service_params);
	if (svc && !refcount_inc_not_zero(&svc->obj.users))
		svc = NULL;
	rcu_read_unlock();
	return svc;
}
