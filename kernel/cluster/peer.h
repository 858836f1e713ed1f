/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Peers: the other nodes of the cluster, as configured on this node.
 */
#ifndef _DD_PEER_H
#define _DD_PEER_H

#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <uapi/linux/dd_netlink.h>

#include "udp/udp.h"

struct dd_ctx;
struct dd_node;
struct dd_node_change;
struct dd_node_find;
struct dd_peer;
struct dd_refusal;

#define DD_PEER_DEAD_MS		5000	/* default; 100 to 3600000 */

/**
 * struct dd_peer - another node
 * @number: its number in the cluster, the index in dd_node.peers
 * @node: this node; valid while the peer is configured or a context exists
 * @ref: references of the table and of users of dd_peer_get(); keeps only the memory valid
 * @config: under dd_node.peer_lock
 * @link: its link, valid until @free_work runs; stopped when the peer is removed from the table
 * @lock: protects @state to @sessions; innermost, taken with softirqs disabled
 * @state: enum dd_peer_state
 * @reason: enum dd_peer_reason: why there is no session, or was none the last time; 0 if no
 *	reason was reported yet
 * @changes: number of transitions from or to DD_PEER_STATE_UP
 * @notified: value of @changes at the last event
 * @sessions: number of transitions to DD_PEER_STATE_UP
 * @tell_work: sends events; holds a reference while queued
 * @free_work: frees the peer, because dd_peer_put() may be called in any context
 */
struct dd_peer {
	u32 number;
	struct dd_node *node;
	refcount_t ref;
	struct dd_peer_config config;
	struct dd_udp_peer *link;
	spinlock_t lock;	/* protects state to sessions */
	u8 state;
	u8 reason;
	u64 changes;
	u64 notified;
	u64 sessions;
	struct work_struct tell_work;
	struct rcu_work free_work;
};

/* Call dd_peer_init() after dd_netlink_init(): peers send events. */
int dd_peer_init(void);
void dd_peer_exit(void);

/**
 * struct dd_peer_change - changes of a peer's configuration; NULL keeps a value
 * @addr: address, not validated
 * @addr_len: bytes at @addr
 * @dead_ms: see struct dd_peer_config
 * @payload_crc: see struct dd_peer_config
 */
struct dd_peer_change {
	const union dd_peer_addr *addr;
	size_t addr_len;
	const u32 *dead_ms;
	const bool *payload_crc;
};

int dd_peer_add(struct dd_node *node, u32 number,
		const struct dd_peer_change *change, struct dd_refusal *why);
int dd_peer_set(struct dd_node *node, u32 number,
		const struct dd_peer_change *change, struct dd_refusal *why);
int dd_peer_del(struct dd_node *node, u32 number, struct dd_refusal *why);
int dd_peer_addr_check(struct dd_node *node, union dd_peer_addr *to,
		       const union dd_peer_addr *from, size_t len,
		       struct dd_refusal *why);
int dd_peer_find(struct dd_ctx *ctx, struct dd_node_find *arg);
int dd_peers_set_node(struct dd_node *node, const struct dd_node_change *change,
		      struct dd_refusal *why);
bool dd_peer_describe(struct dd_peer *peer, struct dd_peer_info *info);
u32 dd_peers_packet_size(struct dd_node *node, u32 most);

struct dd_peer *dd_peer_get(const struct dd_node *node, u32 number);
void dd_peer_put(struct dd_peer *peer);

void dd_peer_set_state(struct dd_udp_peer *link, enum dd_peer_state state,
		       enum dd_peer_reason reason);

#endif /* _DD_PEER_H */
