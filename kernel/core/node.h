/* SPDX-License-Identifier: GPL-2.0-only */
/* Nodes, one per network namespace: node.c. */
#ifndef _DD_NODE_H
#define _DD_NODE_H

#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rhashtable-types.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>

#include "core/quota.h"

struct dd_ctx;
struct pid_namespace;
struct dd_registrar;

/**
 * enum dd_stat - counters of a node
 * @DD_STAT_OPS: work requests executed
 * @DD_STAT_BYTES: bytes deposited
 * @DD_STAT_NOTES: notes posted
 * @DD_STAT_WITHHELD: notes that had to wait for a free slot
 * @DD_STAT_WAKEUPS: wake-ups of a sleeping reader
 * @DD_STAT_REFUSED: work requests refused
 * @DD_STAT_CONNECTS: connections made
 * @DD_STAT_CLOSES: connections ended
 * @DD_STAT_UNKNOWN_PEER: skbs from addresses that belong to no peer
 * @DD_STAT_BAD_SUMS: skbs with a wrong UDP checksum
 * @DD_STAT_DIRECT: messages sent without the kernel on connections that have ended,
 *	as counted by their senders
 * @DD_STAT_NO_ROOM: skbs dropped because the receive buffer of a socket was full
 * @DD_STAT_MAX: number of counters
 */
enum dd_stat {
	DD_STAT_OPS,
	DD_STAT_BYTES,
	DD_STAT_NOTES,
	DD_STAT_WITHHELD,
	DD_STAT_WAKEUPS,
	DD_STAT_REFUSED,
	DD_STAT_CONNECTS,
	DD_STAT_CLOSES,
	DD_STAT_UNKNOWN_PEER,
	DD_STAT_BAD_SUMS,
	DD_STAT_DIRECT,
	DD_STAT_NO_ROOM,
	DD_STAT_MAX
};

struct dd_stats {
	u64 v[DD_STAT_MAX];
};

/**
 * struct dd_node - a network namespace as a node of the cluster
 * @net: the namespace, which contains this structure
 * @pid_ns: numbers the processes of this node, with a reference: that of the process that created
 *	the network namespace, or has loaded the module
 * @lock: protects @ctxs, @opened, and changes of @id, @max, @port and @up
 * @id: node number, below @max; changes of this, @max and @port also take
 *	@peer_lock
 * @max: number of nodes
 * @port: UDP port; changes only while there are no peers
 * @up: the node accepts work
 * @names: struct dd_name by class and key (names.c)
 * @shared_lock: protects dd_name.same of all names, and which of them is in @names; innermost
 * @ctxs: all contexts, by dd_ctx.serial
 * @opened: serial of the last context
 * @generation: of the segment that was made last
 * @park_lock: protects @parked; innermost, inside the locks of sessions
 * @parked: struct dd_parked, at most %DD_PARKED_MAX
 * @registrar_lock: protects @registrar, @registered and the calls of a registrar; innermost
 *	of the mutexes
 * @registrar: the descriptor of the process that keeps names of segments, or NULL
 * @registered: struct dd_registered
 * @stats: per-CPU counters
 * @peer_lock: protects changes of @peers and of their configuration; taken before
 *	@lock
 * @peers: other nodes by number; looked up under RCU
 * @peers_open: peers may be added; under @peer_lock
 * @events: number of the last event, sent or not
 */
struct dd_node {
	struct net *net;
	struct pid_namespace *pid_ns;
	struct mutex lock;	/* protects ctxs and changes of the rest */
	u32 id;
	u32 max;
	u16 port;
	bool up;
	struct rhashtable names;
	spinlock_t shared_lock;	/* protects names that share a key */
	struct xarray ctxs;
	unsigned long opened;
	atomic64_t generation;
	spinlock_t park_lock;	/* protects parked */
	struct dd_quota parked;
	struct mutex registrar_lock;	/* protects registrar and registered */
	struct dd_registrar *registrar;
	struct list_head registered;
	struct dd_stats __percpu *stats;
	struct mutex peer_lock;	/* protects changes of peers */
	struct xarray peers;
	bool peers_open;
	atomic64_t events;
};

int dd_node_init(void);
void dd_node_exit(void);
struct dd_node *dd_node_of(const struct net *net);
struct dd_ctx *dd_node_ctx(struct dd_node *node, unsigned long from);
bool dd_node_unused(struct xarray *xa);
void dd_node_stats(struct dd_node *node, struct dd_stats *sum);

#define dd_stat_add(node, stat, n) \
	this_cpu_add((node)->stats->v[stat], n)
#define dd_stat_inc(node, stat)	dd_stat_add(node, stat, 1)

#endif /* _DD_NODE_H */
