// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nodes: one per network namespace.
 */
#include <linux/pid_namespace.h>
#include <net/netns/generic.h>

#include "core/ctx.h"
#include "core/names.h"
#include "core/node.h"

/* Without configuration: the node number that the programs in DDP's paper use. */
#define DD_NODE_DEFAULT_ID	1
#define DD_NODE_DEFAULT_MAX	2
#define DD_NODE_PORT		56797

static unsigned int net_id;

struct dd_node *dd_node_of(const struct net *net)
{
	return net_generic(net, net_id);
}

static int __net_init net_init(struct net *net)
{
	struct dd_node *node = dd_node_of(net);
	int err;

	node->net = net;
	node->pid_ns = task_active_pid_ns(current);
	mutex_init(&node->lock);
	xa_init_flags(&node->ctxs, XA_FLAGS_ACCOUNT);
	node->id = DD_NODE_DEFAULT_ID;
	node->max = DD_NODE_DEFAULT_MAX;
	node->port = DD_NODE_PORT;
	node->up = true;
	/*
	 * Other nodes may know generations of an earlier incarnation of this node. It has made
	 * fewer than one segment a microsecond, so the time exceeds them.
	 */
	atomic64_set(&node->generation, div_u64(ktime_get_real_ns(), NSEC_PER_USEC));
	mutex_init(&node->peer_lock);
	xa_init(&node->peers);
	mutex_init(&node->registrar_lock);
	INIT_LIST_HEAD(&node->registered);
	node->stats = alloc_percpu(struct dd_stats);
	if (!node->stats)
		return -ENOMEM;
	err = dd_names_init(node);
	if (err)
		free_percpu(node->stats);
	else
		get_pid_ns(node->pid_ns);
	return err;
}

/* Not xa_empty(): an insertion that failed may have left nodes without entries. */
bool dd_node_unused(struct xarray *xa)
{
	unsigned long index = 0;

	return !xa_find(xa, &index, ULONG_MAX, XA_PRESENT);
}

static void __net_exit net_exit(struct net *net)
{
	struct dd_node *node = dd_node_of(net);

	/* Each context holds a reference to its namespace. */
	WARN_ON_ONCE(!dd_node_unused(&node->ctxs));
	WARN_ON_ONCE(!dd_node_unused(&node->peers));
	WARN_ON_ONCE(!list_empty(&node->registered));
	xa_destroy(&node->ctxs);
	xa_destroy(&node->peers);
	dd_names_exit(node);
	free_percpu(node->stats);
	put_pid_ns(node->pid_ns);
}

static struct pernet_operations net_ops = {
	.init = net_init,
	.exit = net_exit,
	.id = &net_id,
	.size = sizeof(struct dd_node),
};

int dd_node_init(void)
{
	return register_pernet_subsys(&net_ops);
}

void dd_node_exit(void)
{
	unregister_pernet_subsys(&net_ops);
}

/**
 * dd_node_ctx() - walk the contexts of a node
 * @node: the node
 * @from: serial to start at
 *
 * Return: the context with the lowest serial not below @from, with a reference; or
 * NULL.
 */
struct dd_ctx *dd_node_ctx(struct dd_node *node, unsigned long from)
{
	struct dd_ctx *ctx;

	mutex_lock(&node->lock);
	ctx = xa_find(&node->ctxs, &from, ULONG_MAX, XA_PRESENT);
	/* A context in the table is referenced by its file. */
	if (ctx)
		dd_ctx_get(ctx);
	mutex_unlock(&node->lock);
	return ctx;
}

/* Sum up the counters of all CPUs. */
void dd_node_stats(struct dd_node *node, struct dd_stats *sum)
{
	int cpu, i;

	*sum = (struct dd_stats){};
	for_each_possible_cpu(cpu)
		for (i = 0; i < DD_STAT_MAX; i++)
			sum->v[i] += READ_ONCE(per_cpu_ptr(node->stats, cpu)->v[i]);
}
