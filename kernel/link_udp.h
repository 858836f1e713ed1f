/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The link between nodes: sessions over UDP. Sockets, packets and timers are
 * here; what packets mean is the business of transport.c, what messages mean
 * that of struct dd_net_upper.
 *
 * A session's lock is taken before a segment's, and nobody enters the IP stack
 * with it.
 */
#ifndef _DD_LINK_UDP_H
#define _DD_LINK_UDP_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <linux/workqueue.h>
#include <net/dst_cache.h>

#include "peer.h"
#include "transport.h"

struct dd_node;
struct dd_udp_peer;
struct sock;

#define DD_UDP_HASH	256	/* buckets of peers */
#define DD_UDP_HDR_PAGES	4	/* for headers: of what is on its way */

/**
 * struct dd_udp_cursor - a place in the data of an skb
 * @next: the next member of the skb's fragment list
 * @frag: the next fragment before that
 * @end: behind the last of these
 * @first: the first fragment of the skb: before it is the linear part
 * @p: where the place is
 * @left: bytes there, in one piece
 */
struct dd_udp_cursor {
	struct sk_buff *next;
	const skb_frag_t *frag;
	const skb_frag_t *end;
	const skb_frag_t *first;
	const u8 *p;
	u32 left;
};

/**
 * struct dd_udp_payload - payload of a packet that has come: what transport.c
 *	passes through as a payload
 * @start: where it starts
 * @at: where the last reader stopped
 * @off: bytes from @start to @at
 *
 * Of a run, only @at counts.
 */
struct dd_udp_payload {
	struct dd_udp_cursor start;
	struct dd_udp_cursor at;
	u32 off;
};

/**
 * struct dd_net_upper - what the link asks of those who have the memory
 * @attach: a peer has been configured; sets @link->priv. May sleep; 0 or -errno
 * @detach: nothing else will be called for this peer; may sleep. Others may
 *	still have a reference to the peer, and lock its session
 * @find: see struct dd_tp_ops
 * @deposit: see struct dd_tp_ops; the bytes are had by dd_udp_copy()
 * @deposit_run: see struct dd_tp_ops; by dd_udp_copy_run()
 * @complete: see struct dd_tp_ops. May leave the note to be shown by @show: then
 *	it sets @link->untold, and holds what nothing else but @credit is called
 *	with meanwhile
 * @show: before the session is unlocked, or another packet taken: if
 *	@link->untold is set
 * @credit: see struct dd_tp_ops; may be NULL
 * @sent: see struct dd_tp_ops
 * @done: see struct dd_tp_ops
 * @ctl: see struct dd_tp_ops
 * @up: see struct dd_tp_ops
 * @down: see struct dd_tp_ops; the link seeks a new session by itself
 * @source: where bytes of a message are that is being sent: their address from
 *	byte @off of @op on, in a page that may be put into an skb (not from
 *	kmalloc()); @left (out): bytes there in one piece, at least 1. Asked
 *	while the transport has the op. The pages are counted by the skb, which
 *	may outlive op, channel and region
 * @progress: something may have been acknowledged: there may be room for control
 *	messages
 * @release: nobody knows the peer any more: free @link->priv. May sleep
 *
 * But for the first two and the last, all are called with the session locked,
 * in softirq or process context, and may call what struct dd_tp_ops permits, and nothing
 * that locks a session.
 */
struct dd_net_upper {
	int (*attach)(struct dd_udp_peer *link);
	void (*detach)(struct dd_udp_peer *link);
	struct dd_tp_chan *(*find)(struct dd_udp_peer *link, u64 id);
	int (*deposit)(struct dd_udp_peer *link, struct dd_tp_chan *chan,
		       u64 dst, struct dd_udp_payload *payload, u32 off,
		       u32 len);
	void (*deposit_run)(struct dd_udp_peer *link, struct dd_tp_chan *chan,
			    u64 dst, struct dd_udp_payload *payload,
			    struct dd_tp_run *run);
	bool (*complete)(struct dd_udp_peer *link, struct dd_tp_chan *chan,
			 const struct dd_tp_msg *msg, const u8 *tail,
			 u32 ntail);
	void (*show)(struct dd_udp_peer *link);
	u32 (*credit)(struct dd_udp_peer *link, struct dd_tp_chan *chan);
	void (*sent)(struct dd_udp_peer *link, struct dd_tp_chan *chan,
		     u64 msgid);
	void (*done)(struct dd_udp_peer *link, struct dd_tp_chan *chan,
		     u64 msgid);
	void (*ctl)(struct dd_udp_peer *link, const void *data, u32 len);
	void (*up)(struct dd_udp_peer *link);
	void (*down)(struct dd_udp_peer *link, enum dd_tp_reason reason);
	const void *(*source)(struct dd_udp_peer *link, struct dd_tp_chan *chan,
			      struct dd_tp_op *op, u32 off, u32 *left);
	void (*progress)(struct dd_udp_peer *link);
	void (*release)(struct dd_udp_peer *link);
};

/**
 * struct dd_udp_stats - what a peer's link has done; under its lock
 * @tx_skbs: skbs handed to the IP stack
 * @tx_packets: packets in them
 * @tx_copied: bytes of payload copied before they were sent: of messages that
 *	lie in memory which is not wired, and of packets with a checksum of it;
 *	what is sent again does not count
 * @tx_nomem: packets lost for want of memory
 * @tx_noroute: skbs thrown away for want of a route
 * @tx_full: times that nothing was made since too much was on its way out
 * @rx_skbs: skbs received
 * @rx_packets: packets in them
 * @rx_softirq: deposits made in softirq
 * @rx_process: deposits made elsewhere
 * @rx_copied: bytes copied to where they belong
 * @mtu_changes: times that the path's MTU was another one
 */
struct dd_udp_stats {
	u64 tx_skbs;
	u64 tx_packets;
	u64 tx_copied;
	u64 tx_nomem;
	u64 tx_noroute;
	u64 tx_full;
	u64 rx_skbs;
	u64 rx_packets;
	u64 rx_softirq;
	u64 rx_process;
	u64 rx_copied;
	u64 mtu_changes;
};

/**
 * union dd_udp_home - an address of this node; all zero for none
 * @ip4: of IPv4
 * @ip6: of IPv6
 */
union dd_udp_home {
	__be32 ip4;
	struct in6_addr ip6;
};

/**
 * struct dd_udp_peer - a peer as the link has it: dd_peer.link
 * @lock: protects the session, all of its channels, and what is below; taken
 *	before a segment's lock
 * @tp: the session
 * @arena: its memory
 * @peer: whose link this is
 * @priv: of struct dd_net_upper
 * @addr: the peer's address and port
 * @entry: in dd_udp_node.peers
 * @sk: our socket of that family; there until @dead, and for a grace period
 * @users: how many peers have that socket
 * @dst: route to the peer; used by who is sending
 * @home: our address by which the peer knows us: packets from elsewhere are a
 *	stranger's to it
 * @answer: where a packet was sent to that is answered next, and that proves
 *	nothing of its sender; zero: the answer comes from @home
 * @moved: @dst is not from @home
 * @timer: calls dd_tp_timeout()
 * @rest: sends what dd_udp_unlock_later() has left
 * @armed: when it does, ns
 * @retry_at: when a new session is sought, ns
 * @retry_ns: how long after the last one that is
 * @dead: nothing is sent and no timer armed any more
 * @sending: somebody hands packets to the IP stack, in the order in which they
 *	were made, without the lock; others may hand it mere acknowledgments
 * @cpu: who sent last
 * @sent_at: when, ns
 * @touched: meanwhile the session was locked: he looks for more afterwards
 * @untold: a message has come whose receiver cannot see its note yet
 * @gso: the device takes many packets as one
 * @mtu: bytes in the largest datagram that the route carries, 0 for not known
 * @stats: counters
 * @rx_hdr: a header being read that was not in one piece
 * @tx_pages: pages for headers, in turn; NULL for not yet
 * @tx_turn: whose turn is next
 * @tx_hdrs: where headers are made, in one of them; NULL for not yet
 * @tx_used: bytes there that have been sent, or are in an skb
 * @tx_last: if that is more, there is no room for another run
 */
struct dd_udp_peer {
	spinlock_t lock;	/* of the session */
	struct dd_tp tp;
	void *arena;
	struct dd_peer *peer;
	void *priv;
	union dd_peer_addr addr;
	struct hlist_node entry;
	struct sock *sk;
	const unsigned int *users;
	struct dst_cache dst;
	union dd_udp_home home;
	union dd_udp_home answer;
	struct hrtimer timer;
	struct tasklet_struct rest;
	u64 armed;
	u64 retry_at;
	u64 retry_ns;
	bool dead;
	bool sending;
	bool touched;
	bool untold;
	bool moved;
	bool gso;
	int cpu;
	u64 sent_at;
	u32 mtu;
	struct dd_udp_stats stats;
	u8 rx_hdr[DD_WIRE_HLEN_MAX];
	struct page *tx_pages[DD_UDP_HDR_PAGES];
	u32 tx_turn;
	void *tx_hdrs;
	u32 tx_used;
	u32 tx_last;
};

/**
 * struct dd_udp_node - a node's sockets, and its peers by address
 * @node: the node
 * @lock: protects @sock, @users, and changes of @peers
 * @closed: the namespace goes; there are no more sockets
 * @sock: for IPv4 and IPv6; there while it has users
 * @drain: empties them when there is too much for one softirq
 * @drops: skbs that they had no room for, as far as they are counted
 * @burst: when the last skb came that had more than one packet, in jiffies
 * @users: peers with an address of that family
 * @seed: of the hash
 * @peers: struct dd_udp_peer by address; looked up under RCU
 * @incarnation: random number of this life
 */
struct dd_udp_node {
	struct dd_node *node;
	struct mutex lock;	/* of sockets */
	bool closed;
	struct socket *sock[2];
	struct work_struct drain[2];
	atomic_t drops[2];
	unsigned long burst[2];
	unsigned int users[2];
	u32 seed;
	struct hlist_head peers[DD_UDP_HASH];
	u64 incarnation;
};

/* ---- link_udp.c: sockets, and a peer's life ---------------------------- */

int dd_udp_init(const struct dd_net_upper *upper);
void dd_udp_exit(void);

extern const struct dd_net_upper *dd_udp_upper;

bool dd_udp_tracing(void);

/**
 * dd_udp_of() - a peer's link
 * @peer: the peer; the caller has a reference, or is in an RCU read section
 *
 * Return: the link, or NULL if there is none.
 */
static inline struct dd_udp_peer *dd_udp_of(const struct dd_peer *peer)
{
	return READ_ONCE(peer->link);
}

/**
 * dd_udp_lock() - lock a session
 * @link: the peer's link
 *
 * Until dd_udp_unlock(), in process context or softirq, those functions of
 * transport.h may be called for @link->tp that struct dd_tp_ops permits in its
 * callbacks. The caller has no segment locked.
 */
static inline void dd_udp_lock(struct dd_udp_peer *link)
	__acquires(&link->lock)
{
	spin_lock_bh(&link->lock);
}

/* Show the note of a message that has come, if that has been left for last. */
static inline void dd_udp_show(struct dd_udp_peer *link)
{
	if (link->untold)
		dd_udp_upper->show(link);
}

/* ---- link_udp_tx.c ----------------------------------------------------- */

void dd_udp_route(struct dd_udp_peer *link);
void dd_udp_unlock(struct dd_udp_peer *link) __releases(&link->lock);
void dd_udp_unlock_at(struct dd_udp_peer *link, u64 now)
	__releases(&link->lock);
void dd_udp_unlock_later(struct dd_udp_peer *link) __releases(&link->lock);
void dd_udp_rest(struct tasklet_struct *rest);
enum hrtimer_restart dd_udp_timer(struct hrtimer *timer);
int dd_udp_submit(struct dd_udp_peer *link, struct dd_tp_chan *chan,
		  struct dd_tp_op *op);
int dd_udp_ctl(struct dd_udp_peer *link, const void *data, u32 len);
void dd_udp_told(struct dd_udp_peer *link, struct dd_tp_chan *chan, u64 msgid);

/* ---- link_udp_rx.c ----------------------------------------------------- */

void dd_udp_ready(struct sock *sk);
void dd_udp_drain(struct dd_udp_node *un, int family);
struct hlist_head *dd_udp_bucket(struct dd_udp_node *un,
				 const union dd_peer_addr *addr);
bool dd_udp_same(const union dd_peer_addr *a, const union dd_peer_addr *b);
void dd_udp_copy(struct dd_udp_peer *link, struct dd_udp_payload *payload,
		 u32 off, void *dst, u32 len);
u32 dd_udp_copy_run(struct dd_udp_peer *link, struct dd_udp_payload *payload,
		    struct dd_tp_run *run, void **pages, u32 at);
void dd_udp_peek(struct dd_udp_payload *payload, u32 off, void *buf, u32 len);
u32 dd_udp_payload_crc(struct dd_udp_payload *payload, u32 len, u32 crc);

#endif /* _DD_LINK_UDP_H */
