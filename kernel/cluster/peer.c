// SPDX-License-Identifier: GPL-2.0-only
/*
 * Peers: the table of other nodes, as configured by the administrator.
 *
 * A change holds dd_node.peer_lock from its first check until its event is sent. A peer
 * can be found once its link has started. Removal has three phases: the peer is unlinked
 * and its link is stopped, which ends all callbacks for it; work that uses the node is
 * cancelled; and the memory is freed when the last reference is dropped.
 */
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "cluster/peer.h"
#include "core/ctx.h"
#include "core/hooks.h"
#include "core/node.h"
#include "core/node_conf.h"
#include "udp/session.h"

/*
 * Not dd_wq: works of that are waited for while peer_lock is held, and tell_work, which waits
 * for peer_lock, could keep them from running.
 */
static struct workqueue_struct *dd_peer_wq;

/**
 * dd_peer_get() - look up a peer by its number
 * @node: this node
 * @number: any number
 *
 * Return: the peer, with a reference for dd_peer_put(), or NULL. The reference does not keep the
 * peer configured.
 */
struct dd_peer *dd_peer_get(const struct dd_node *node, u32 number)
{
	struct dd_peer *peer;

	rcu_read_lock();
	peer = xa_load((struct xarray *)&node->peers, number);
	if (peer && !refcount_inc_not_zero(&peer->ref))
		peer = NULL;
	rcu_read_unlock();
	return peer;
}

static void dd_peer_free_work(struct work_struct *work)
{
	struct dd_peer *peer = container_of(to_rcu_work(work), struct dd_peer, free_work);

	dd_udp_release(peer->link);
	kfree(peer);
}

/* Context: any. */
void dd_peer_put(struct dd_peer *peer)
{
	if (refcount_dec_and_test(&peer->ref))
		queue_rcu_work(dd_wq, &peer->free_work);
}

/* Send events of state changes. Up and down alternate, so events of the last two suffice. */
static void dd_peer_tell(struct dd_peer *peer)
{
	u64 changes;
	bool up;

	lockdep_assert_held(&peer->node->peer_lock);
	spin_lock_bh(&peer->lock);
	changes = peer->changes - peer->notified;
	peer->notified = peer->changes;
	up = peer->state == DD_PEER_STATE_UP;
	spin_unlock_bh(&peer->lock);
	if (!changes)
		return;
	if (changes % 2 == 0)
		dd_events->peer(peer, up ? DD_CMD_PEER_DOWN : DD_CMD_PEER_UP);
	dd_events->peer(peer, up ? DD_CMD_PEER_UP : DD_CMD_PEER_DOWN);
}

static void dd_peer_tell_work(struct work_struct *work)
{
	struct dd_peer *peer = container_of(work, struct dd_peer, tell_work);

	/* The node is valid: dd_peer_del() waits for this work. */
	mutex_lock(&peer->node->peer_lock);
	dd_peer_tell(peer);
	mutex_unlock(&peer->node->peer_lock);
	dd_peer_put(peer);
}

/**
 * dd_peer_set_state() - set the state of the session with a peer
 * @link: the link of the peer, started or being started, and not stopped
 * @state: the new state
 * @reason: why it is not up; 0 keeps the previous reason
 *
 * If the peer came up or went down, a worker notifies listeners.
 *
 * Context: any but hard interrupts; the caller may hold spinlocks.
 */
void dd_peer_set_state(struct dd_udp_peer *link, enum dd_peer_state state,
		       enum dd_peer_reason reason)
{
	struct dd_peer *peer = link->peer;
	bool was_up, up = state == DD_PEER_STATE_UP;

	spin_lock_bh(&peer->lock);
	was_up = peer->state == DD_PEER_STATE_UP;
	peer->state = state;
	if (reason)
		peer->reason = reason;
	if (up != was_up) {
		peer->changes++;
		peer->sessions += up;
	}
	spin_unlock_bh(&peer->lock);
	if (up == was_up)
		return;
	refcount_inc(&peer->ref);
	if (!queue_work(dd_peer_wq, &peer->tell_work))
		dd_peer_put(peer);
}

/**
 * dd_peer_describe() - read the state of a peer's link
 * @peer: the peer; dd_node.peer_lock is held
 * @info: (out) the state
 *
 * Return: true if there is a link.
 */
bool dd_peer_describe(struct dd_peer *peer, struct dd_peer_info *info)
{
	lockdep_assert_held(&peer->node->peer_lock);
	*info = (struct dd_peer_info){};
	if (READ_ONCE(peer->link->dead))
		return false;
	dd_udp_describe(peer->link, info);
	return true;
}

/**
 * dd_peers_packet_size() - largest packet size that all peers accept
 * @node: this node
 * @most: upper bound, and the result if there are no peers
 *
 * Return: bytes.
 */
u32 dd_peers_packet_size(struct dd_node *node, u32 most)
{
	struct dd_peer_info info;
	struct dd_peer *peer;
	unsigned long i;

	mutex_lock(&node->peer_lock);
	xa_for_each(&node->peers, i, peer) {
		if (dd_peer_describe(peer, &info))
			most = min(most, info.packet_size);
		cond_resched();
	}
	mutex_unlock(&node->peer_lock);
	return most;
}

/* Apply @change to @config if it is valid for peer @number. */
static int dd_peer_apply(struct dd_node *node, u32 number,
			 const struct dd_peer_change *change,
			 struct dd_peer_config *config, struct dd_refusal *why)
{
	struct dd_peer *peer;
	unsigned long index;
	int err;

	if (change->addr) {
		err = dd_peer_addr_check(node, &config->addr, change->addr,
					 change->addr_len, why);
		if (err)
			return err;
		xa_for_each(&node->peers, index, peer) {
			if (index != number && !memcmp(&peer->config.addr, &config->addr,
						       sizeof(config->addr)))
				return dd_refuse(why, -EEXIST, DD_A_PEER_ADDRESS,
						 "another peer has that address and port");
		}
	}
	if (change->dead_ms)
		config->dead_ms = *change->dead_ms;
	if (change->payload_crc)
		config->payload_crc = *change->payload_crc;
	return 0;
}

static int dd_peer_insert(struct dd_node *node, u32 number,
			  const struct dd_peer_config *config,
			  struct dd_refusal *why)
{
	struct dd_peer *peer;
	int err;

	peer = kzalloc(sizeof(*peer), GFP_KERNEL);
	if (!peer)
		return -ENOMEM;
	peer->number = number;
	peer->node = node;
	refcount_set(&peer->ref, 1);
	peer->config = *config;
	spin_lock_init(&peer->lock);
	peer->state = DD_PEER_STATE_IDLE;
	INIT_WORK(&peer->tell_work, dd_peer_tell_work);
	INIT_RCU_WORK(&peer->free_work, dd_peer_free_work);
	/* Reserve first: a reservation may fail, and a started session cannot be undone. */
	err = xa_reserve(&node->peers, number, GFP_KERNEL);
	if (err)
		goto err_free;
	/* The peer may receive packets before this returns. */
	err = dd_udp_start(peer, node, number, config, &why->text);
	if (err)
		goto err_reserved;
	xa_store(&node->peers, number, peer, GFP_KERNEL);
	dd_events->peer(peer, DD_CMD_PEER_ADD_NTF);
	return 0;

err_reserved:
	xa_release(&node->peers, number);
err_free:
	kfree(peer);
	return err;
}

/**
 * dd_peer_add() - add a peer
 * @node: this node
 * @number: number of the peer
 * @change: its configuration, with an address
 * @why: (out) on error, the reason; its text may be NULL
 *
 * Return: 0; %-ERANGE, %-EINVAL or %-EEXIST for an invalid number or address;
 * %-ENOMEM; or an error of the link. On error nothing has changed.
 */
int dd_peer_add(struct dd_node *node, u32 number,
		const struct dd_peer_change *change, struct dd_refusal *why)
{
	struct dd_peer_config config = { .dead_ms = DD_PEER_DEAD_MS };
	int err;

	mutex_lock(&node->peer_lock);
	if (!node->peers_open)
		err = dd_refuse(why, -ESHUTDOWN, 0,
				"the module is being unloaded");
	else if (number >= node->max)
		err = dd_refuse(why, -ERANGE, DD_A_PEER_NUMBER,
				"a peer's number must be below the number of nodes");
	else if (number == node->id)
		err = dd_refuse(why, -EINVAL, DD_A_PEER_NUMBER,
				"a node cannot be its own peer");
	else if (xa_load(&node->peers, number))
		err = dd_refuse(why, -EEXIST, DD_A_PEER_NUMBER,
				"the peer exists already; change it with 'ddctl peer set'");
	else
		err = dd_peer_apply(node, number, change, &config, why);
	if (!err)
		err = dd_peer_insert(node, number, &config, why);
	mutex_unlock(&node->peer_lock);
	return err;
}

static int dd_peer_missing(struct dd_refusal *why)
{
	return dd_refuse(why, -ENOENT, DD_A_PEER_NUMBER,
			 "no such peer");
}

/**
 * dd_peer_set() - change a peer
 * @node: this node
 * @number: number of the peer
 * @change: the changes
 * @why: (out) on error, the reason; its text may be NULL
 *
 * Return: 0; %-ENOENT; otherwise see dd_peer_add().
 */
int dd_peer_set(struct dd_node *node, u32 number,
		const struct dd_peer_change *change, struct dd_refusal *why)
{
	struct dd_peer_config config;
	struct dd_peer *peer;
	int err;

	mutex_lock(&node->peer_lock);
	peer = xa_load(&node->peers, number);
	if (!peer) {
		err = dd_peer_missing(why);
		goto out;
	}
	config = peer->config;
	err = dd_peer_apply(node, number, change, &config, why);
	if (!err)
		err = dd_udp_update(peer->link, &config, &why->text);
	if (err)
		goto out;
	peer->config = config;
	/* If the change has ended a session, send the event of that first. */
	dd_peer_tell(peer);
	dd_events->peer(peer, DD_CMD_PEER_SET_NTF);
out:
	mutex_unlock(&node->peer_lock);
	return err;
}

/**
 * dd_peers_set_node() - change the configuration of a node, and that of its sessions
 * @node: the node
 * @change: the changes
 * @why: (out) on error, the reason
 *
 * Return: as dd_node_set().
 */
int dd_peers_set_node(struct dd_node *node, const struct dd_node_change *change,
		      struct dd_refusal *why)
{
	struct dd_peer *peer;
	unsigned long index;
	bool was_up;
	u32 max;
	int err;

	mutex_lock(&node->peer_lock);
	max = node->max;
	was_up = node->up;
	err = dd_node_set(node, change, why);
	/* Sessions were negotiated with the old number of nodes. */
	if (node->max != max)
		xa_for_each(&node->peers, index, peer)
			dd_udp_renumber(peer->link);
	if (!err && (change->id || change->max || change->port))
		dd_events->node(node, DD_CMD_NODE_SET_NTF);
	if (node->up != was_up)
		dd_events->node(node, was_up ? DD_CMD_NODE_DOWN : DD_CMD_NODE_UP);
	mutex_unlock(&node->peer_lock);
	return err;
}

/**
 * dd_peer_del() - remove a peer
 * @node: this node
 * @number: number of the peer
 * @why: (out) on error, the reason
 *
 * Aborts its session. Does not wait for a peer or a process.
 *
 * Return: 0, or %-ENOENT.
 */
int dd_peer_del(struct dd_node *node, u32 number, struct dd_refusal *why)
{
	struct dd_peer *peer;

	mutex_lock(&node->peer_lock);
	peer = xa_erase(&node->peers, number);
	if (peer) {
		dd_udp_stop(peer->link);
		dd_peer_tell(peer);
		dd_events->peer(peer, DD_CMD_PEER_DEL_NTF);
	}
	mutex_unlock(&node->peer_lock);
	if (!peer)
		return dd_peer_missing(why);
	/* The work takes peer_lock. Afterwards nothing of the peer refers to the node. */
	if (cancel_work_sync(&peer->tell_work))
		dd_peer_put(peer);
	dd_peer_put(peer);
	return 0;
}

static int __net_init dd_peer_net_init(struct net *net)
{
	struct dd_node *node = dd_node_of(net);

	mutex_lock(&node->peer_lock);
	node->peers_open = true;
	mutex_unlock(&node->peer_lock);
	return 0;
}

/*
 * Links hold routes, and routes hold devices. Devices must be released before the exit
 * functions of pernet subsystems run, so pre_exit removes the peers.
 */
static void __net_exit dd_peer_net_pre_exit(struct net *net)
{
	struct dd_node *node = dd_node_of(net);
	struct dd_refusal why;
	struct dd_peer *peer;
	unsigned long index;

	mutex_lock(&node->peer_lock);
	node->peers_open = false;
	/* End all sessions first, so that their BYEs are repeated in parallel. */
	xa_for_each(&node->peers, index, peer)
		dd_udp_bye(peer->link);
	mutex_unlock(&node->peer_lock);
	xa_for_each(&node->peers, index, peer)
		dd_peer_del(node, index, &why);
}

/* Links that are being freed hold routes, whose subsystems exit after this. */
static void __net_exit dd_peer_net_exit(struct list_head *nets)
{
	if (dd_udp_unused())
		return;
	rcu_barrier();
	flush_workqueue(dd_wq);
}

static struct pernet_operations dd_peer_net_ops = {
	.init = dd_peer_net_init,
	.pre_exit = dd_peer_net_pre_exit,
	.exit_batch = dd_peer_net_exit,
};

int __init dd_peer_init(void)
{
	int err;

	dd_peer_wq = alloc_ordered_workqueue("dd_peer", 0);
	if (!dd_peer_wq)
		return -ENOMEM;
	err = register_pernet_subsys(&dd_peer_net_ops);
	if (err)
		destroy_workqueue(dd_peer_wq);
	return err;
}

/*
 * Remove all peers of all nodes. The work that frees them may be pending, so the caller has to
 * call rcu_barrier() before it destroys dd_wq.
 */
void dd_peer_exit(void)
{
	unregister_pernet_subsys(&dd_peer_net_ops);
	destroy_workqueue(dd_peer_wq);
}
