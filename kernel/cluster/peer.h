/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Peers: the other nodes of the cluster, as configured on this node, and the interface
 * of the link that reaches them.
 */
#ifndef _DD_PEER_H
#define _DD_PEER_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/net.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <uapi/linux/dd_netlink.h>

struct dd_node;
struct dd_node_change;
struct dd_peer;
struct dd_refusal;

#define DD_PEER_DEAD_MS		5000	/* default; 100 to 3600000 */
#define DD_PEER_COUNTERS_MAX	64	/* counters of a link */

/**
 * union dd_peer_addr - address of a peer
 * @sa: the family
 * @in: for AF_INET
 * @in6: for AF_INET6; never an IPv4-mapped address; with a scope id if and only if it
 *	is link-local, and without a flow label
 */
union dd_peer_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/**
 * struct dd_peer_config - configuration of a peer
 * @addr: address, with a port other than 0
 * @dead_ms: silence, in milliseconds, after which the peer counts as dead
 * @payload_crc: checksum payloads, and ask the peer to do so
 */
struct dd_peer_config {
	union dd_peer_addr addr;
	u32 dead_ms;
	bool payload_crc;
};

/**
 * struct dd_peer_info - state of a peer's link
 * @packet_size: size of the largest packet, in bytes
 * @rtt_us: smoothed round-trip time in microseconds, 0 if not known
 * @rttvar_us: its variation in microseconds
 * @cwnd: congestion window in bytes
 * @in_flight: bytes in flight
 * @packets_sent: packets sent
 * @packets_received: valid packets received
 * @packets_lost: packets declared lost
 * @bytes_sent: payload bytes sent, including retransmissions
 * @bytes_received: payload bytes deposited
 * @dropped: received packets, or parts of them, that were dropped for any reason;
 *	each counted once
 */
struct dd_peer_info {
	u32 packet_size;
	u32 rtt_us;
	u32 rttvar_us;
	u64 cwnd;
	u64 in_flight;
	u64 packets_sent;
	u64 packets_received;
	u64 packets_lost;
	u64 bytes_sent;
	u64 bytes_received;
	u64 dropped;
};

/**
 * struct dd_peer_link_ops - operations of a link
 * @start: a peer was configured: open a session with it. dd_peer.config is complete;
 *	dd_peer_find() finds the peer after this has returned 0. The link copies what
 *	it needs of the configuration, as that may change, and stores its own state in
 *	@link. On error nothing is left behind, and @reason, if set, is a constant text
 *	that tells the administrator what to do; %-EADDRINUSE if the UDP port
 *	dd_node.port is in use
 * @stop: the peer was removed. After this the link calls nothing for it. Sessions are
 *	aborted, not drained: may sleep, but does not wait for a peer or a process
 * @update: change the configuration; dd_peer.config still has the old one and is set
 *	to @config if this returns 0. A new address ends the session, as the peer may
 *	be another machine
 * @renumber: the number of nodes has changed: end the session, which was negotiated
 *	with the old number, and request a new one at once
 * @describe: fill in @info, which is zeroed
 * @counter: return name and value of counter @i, from 0; NULL after the last one, at
 *	most %DD_PEER_COUNTERS_MAX. Names are constant, in lower case with '-';
 *	"drop-..." for packets dropped for that reason
 * @release: the last reference is gone, and a grace period has passed since the peer
 *	could last be found: free @link
 *
 * All operations run in process context, and all but @release with dd_node.peer_lock
 * held, after @start and not after @stop. @release is the last one.
 * is last.
 */
struct dd_peer_link_ops {
	int (*start)(struct dd_peer *peer, const char **reason);
	void (*stop)(struct dd_peer *peer);
	int (*update)(struct dd_peer *peer, const struct dd_peer_config *config,
		      const char **reason);
	void (*renumber)(struct dd_peer *peer);
	void (*describe)(struct dd_peer *peer, struct dd_peer_info *info);
	const char *(*counter)(struct dd_peer *peer, unsigned int i,
			       u64 *value);
	void (*release)(struct dd_peer *peer);
};

/**
 * struct dd_peer - another node
 * @number: its number in the cluster, the index in dd_node.peers
 * @node: this node; valid while the peer is configured or a context exists
 * @ref: held by the table and by users of dd_peer_get(); memory only
 * @config: under dd_node.peer_lock
 * @live: the link was started and not stopped; under dd_node.peer_lock
 * @ops: the link, or NULL for none
 * @link: private to the link
 * @lock: protects @state to @sessions; innermost, taken with softirqs disabled
 * @state: enum dd_peer_state
 * @reason: enum dd_peer_reason: why it is not up, or was not the last time; 0 if it
 *	was never down
 * @changes: number of transitions from or to DD_PEER_STATE_UP
 * @notified: value of @changes at the last event
 * @sessions: number of transitions to DD_PEER_STATE_UP
 * @tell_work: sends events; holds a reference while queued
 * @free_work: frees the peer, as dd_peer_put() is called in any context
 */
struct dd_peer {
	u32 number;
	struct dd_node *node;
	refcount_t ref;
	struct dd_peer_config config;
	bool live;
	const struct dd_peer_link_ops *ops;
	void *link;
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
 * dd_peer_link_register() - register the link of a node's peers
 * @node: a node without peers: called by the init of pernet_operations registered
 *	between dd_node_init() and dd_peer_init()
 * @ops: the link
 */
void dd_peer_link_register(struct dd_node *node,
			   const struct dd_peer_link_ops *ops);

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
int dd_peers_set_node(struct dd_node *node, const struct dd_node_change *change,
		      struct dd_refusal *why);
bool dd_peer_describe(struct dd_peer *peer, struct dd_peer_info *info);
u32 dd_peers_packet_size(struct dd_node *node, u32 most);

struct dd_peer *dd_peer_find(const struct dd_node *node, u32 number);
struct dd_peer *dd_peer_get(const struct dd_node *node, u32 number);
void dd_peer_put(struct dd_peer *peer);

void dd_peer_set_state(struct dd_peer *peer, enum dd_peer_state state,
		       enum dd_peer_reason reason);

#endif /* _DD_PEER_H */
