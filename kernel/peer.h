/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Peers: the other nodes of the cluster, as they are configured here, and the
 * seam between them and the link that reaches them.
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
struct dd_peer;
struct dd_refusal;

#define DD_PEER_PORT		56797	/* UDP, unless configured */
#define DD_PEER_DEAD_MS		5000	/* unless configured; 100 to 3600000 */
#define DD_PEER_COUNTERS_MAX	64	/* that a link may have */

/**
 * union dd_peer_addr - where a peer is
 * @sa: the family
 * @in: for AF_INET
 * @in6: for AF_INET6; no mapped IPv4; with a scope if and only if it is
 *	link-local, and without a flow label
 */
union dd_peer_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/**
 * struct dd_peer_config - what is configured of a peer
 * @addr: where it is; the port is not 0
 * @dead_ms: silence, in milliseconds, after which it counts as dead
 * @payload_crc: ask it to checksum payloads too
 */
struct dd_peer_config {
	union dd_peer_addr addr;
	u32 dead_ms;
	bool payload_crc;
};

/**
 * struct dd_peer_info - what a link tells about a peer
 * @packet_size: bytes of the largest packet to it now
 * @rtt_us: smoothed round trip time in microseconds, 0 while not known
 * @rttvar_us: its variation in microseconds
 * @cwnd: congestion window in bytes
 * @in_flight: bytes on their way
 * @packets_sent: packets sent
 * @packets_received: valid packets received
 * @packets_lost: packets taken for lost
 * @bytes_sent: payload bytes sent, each transmission counted
 * @bytes_received: payload bytes deposited
 * @dropped: packets received, or what they carried, that nothing came of, for
 *	whatever reason; each counted once
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
 * struct dd_peer_link_ops - how a link serves peers
 * @start: a peer has been configured: seek a session with it. Its @config is
 *	complete; dd_peer_find() finds it once this has returned 0. What the
 *	link needs of @config it copies, since that may change; its own state
 *	it puts into @link. On error nothing is left behind, and @reason, if
 *	set, is a constant text that tells the administrator what to do;
 *	%-EADDRINUSE if the UDP port of the node, dd_node.port, is taken
 * @stop: it has been removed. After this returns the link calls neither
 *	dd_peer_set_state() nor anything else about it. Sessions are aborted,
 *	not drained: this may sleep, but waits for no peer and no process
 * @update: it is to have another configuration; dd_peer.config is still the
 *	old one and becomes @config if this returns 0. A peer whose address
 *	changes is another machine for all one knows: its session ends
 * @renumber: the number of nodes has changed: a session was agreed upon with
 *	another one, so it ends, and a new one is sought at once
 * @describe: fill in @info, which is zero
 * @counter: name and value of the counter with index @i, from 0; NULL behind
 *	the last, at most %DD_PEER_COUNTERS_MAX. Names are constant, in lower
 *	case with '-'; "drop-..." for packets dropped for that reason
 * @release: nobody knows the peer any more, and a grace period has passed
 *	since it was last found: free @link. Process context
 *
 * All but @release are called with dd_node.peer_lock held, in process
 * context; every one of them only between @start and @stop but @release, which
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
 * @node: this node; there as long as the peer is configured, and as long as
 *	there is a context
 * @ref: held by the table, and by whoever has got it; memory only
 * @config: under dd_node.peer_lock
 * @live: the link has started and not been stopped; under dd_node.peer_lock
 * @ops: the link, or NULL for none
 * @link: its state
 * @lock: of the state below; innermost, taken with softirqs disabled
 * @state: enum dd_peer_state
 * @reason: enum dd_peer_reason: why it is not up, or was not the last time;
 *	0 if it has always been
 * @changes: how often it has come up or gone down
 * @told: value of @changes that listeners know
 * @sessions: how often it has come up
 * @tell_work: tells listeners; counted in @ref while queued
 * @free_work: the last put may come from anywhere
 */
struct dd_peer {
	u32 number;
	struct dd_node *node;
	refcount_t ref;
	struct dd_peer_config config;
	bool live;
	const struct dd_peer_link_ops *ops;
	void *link;
	spinlock_t lock;	/* of the state */
	u8 state;
	u8 reason;
	u64 changes;
	u64 told;
	u64 sessions;
	struct work_struct tell_work;
	struct rcu_work free_work;
};

/* After dd_netlink_init(), since peers make events; before its exit. */
int dd_peer_init(void);
void dd_peer_exit(void);

/* For dd_node only: before any peer, after all of them. */
void dd_peers_init(struct dd_node *node);
void dd_peers_exit(struct dd_node *node);

/**
 * dd_peer_link_register() - name the link that reaches the peers of a node
 * @node: a node that has no peers yet: in the init of a pernet_operations
 *	registered between dd_node_init() and dd_peer_init()
 * @ops: the link
 */
void dd_peer_link_register(struct dd_node *node,
			   const struct dd_peer_link_ops *ops);

/**
 * struct dd_peer_change - what is to change of a peer; NULL leaves it
 * @addr: where it is; any bytes
 * @addr_len: how many of them
 * @dead_ms: see there
 * @payload_crc: see there
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
void dd_peers_renumber(struct dd_node *node);
bool dd_peer_describe(struct dd_peer *peer, struct dd_peer_info *info);
u32 dd_peers_packet_size(struct dd_node *node, u32 most);

struct dd_peer *dd_peer_find(const struct dd_node *node, u32 number);
struct dd_peer *dd_peer_get(const struct dd_node *node, u32 number);
void dd_peer_put(struct dd_peer *peer);

void dd_peer_set_state(struct dd_peer *peer, enum dd_peer_state state,
		       enum dd_peer_reason reason);

#endif /* _DD_PEER_H */
