// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nodes: one per network namespace.
 */
#include <linux/pid_namespace.h>
#include <linux/rhashtable.h>
#include <net/netns/generic.h>
#include <uapi/linux/dd_mem.h>
#include <uapi/linux/dd_netlink.h>

#include "core/area.h"
#include "core/ctx.h"
#include "core/node.h"

/* Without configuration: the node number that the programs in DDP's paper use. */
#define DD_NODE_DEFAULT_ID	1
#define DD_NODE_DEFAULT_MAX	2
#define DD_NODE_MAX		4096
#define DD_NODE_PORT		56797

static unsigned int dd_net_id;

#define DD_NAME_KEY	(offsetofend(struct dd_name, key) -		\
			 offsetof(struct dd_name, class))

static const struct rhashtable_params dd_names = {
	.key_len = DD_NAME_KEY,
	.key_offset = offsetof(struct dd_name, class),
	.head_offset = offsetof(struct dd_name, entry),
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
	spin_lock_init(&node->park_lock);
	dd_quota_init(&node->parked);
	mutex_init(&node->registrar_lock);
	INIT_LIST_HEAD(&node->registered);
	node->stats = alloc_percpu(struct dd_stats);
	if (!node->stats)
		return -ENOMEM;
	err = rhashtable_init(&node->names, &dd_names);
	if (err)
		free_percpu(node->stats);
	else
		get_pid_ns(node->pid_ns);
	return err;
}

/* Not xa_empty(): an insertion that failed may have left nodes without entries. */
static bool dd_unused(struct xarray *xa)
{
	unsigned long index = 0;

	return !xa_find(xa, &index, ULONG_MAX, XA_PRESENT);
}

static void __net_exit dd_net_exit(struct net *net)
{
	struct dd_node *node = dd_node_of(net);

	/* Each context holds a reference to its namespace. */
	WARN_ON_ONCE(!dd_unused(&node->ctxs));
	WARN_ON_ONCE(!dd_unused(&node->peers));
	WARN_ON_ONCE(node->parked.count);
	WARN_ON_ONCE(!list_empty(&node->registered));
	xa_destroy(&node->ctxs);
	xa_destroy(&node->peers);
	rhashtable_destroy(&node->names);
	free_percpu(node->stats);
	put_pid_ns(node->pid_ns);
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

/* Check the new or current numbers against each other, and against their users. */
static int dd_node_check(struct dd_node *node, u32 id, u32 max,
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
	if (id != node->id && !dd_unused(&node->ctxs))
		return dd_refuse(why, -EBUSY, DD_A_NODE_ID,
				 "the node's number can change only while no process has /dev/dd open");
	if (max != node->max && !dd_unused(&node->ctxs))
		return dd_refuse(why, -EBUSY, DD_A_NODE_MAXNODES,
				 "max can change only while no process has /dev/dd open");
	/* Sessions with peers were negotiated with the current numbers and port. */
	if (dd_unused(&node->peers))
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
	err = dd_node_check(node, id, max, change, why);
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

/* A name was added: wake look-ups that wait for it. */
static void dd_name_wake(struct dd_node *node, const struct dd_name *name)
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
static bool dd_name_used(struct dd_node *node, const struct dd_name *name)
{
	struct dd_obj *obj = dd_name_get(node, name->class, name->key);

	if (obj)
		dd_obj_put(obj);
	return obj;
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

	do {
		/* data_race(): KCSAN reports the lockless reads of rhashtable itself. */
		err = data_race(rhashtable_lookup_insert_fast(&node->names, &name->entry,
							      dd_names));
	} while (err == -EEXIST && name->class == DD_SEGMENT_BUFFER &&
		 !dd_name_used(node, name));
	if (!err)
		dd_name_wake(node, name);
	return err;
}

/* Undo dd_name_add(). A second call does nothing. */
void dd_name_del(struct dd_node *node, struct dd_name *name)
{
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

/* In an RCU read-side section. */
static struct dd_name *dd_name_find(struct dd_node *node, u8 class, const u8 *key)
{
	u8 want[DD_NAME_KEY] = { class };

	memcpy(want + 1, key, DD_KEY_SIZE);
	return rhashtable_lookup(&node->names, want, dd_names);
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
	name = dd_name_find(node, class, key);
	if (name && refcount_inc_not_zero(&name->obj->users))
		obj = name->obj;
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
	/* A name that is added later is followed by dd_name_wake(), under this lock. */
	rcu_read_lock();
	added = dd_name_find(node, p->class, p->key);
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
