/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The session of a peer's link, its lock, and the code above it: session.c.
 *
 * The lock of a session is taken before that of a segment. The IP stack is never
 * entered with the lock of a session held.
 */
#ifndef _DD_UDP_SESSION_H
#define _DD_UDP_SESSION_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/spinlock.h>
#include <net/dst_cache.h>

#include "transport/transport.h"
#include "udp/addr.h"
#include "udp/upper.h"

struct dd_node;
struct dd_peer;
struct page;
struct sock;
struct socket;

#define DD_UDP_HDR_PAGES	4	/* pages for headers of packets in transit */

/**
 * struct dd_udp_stats - counters of a peer's link; protected by its lock
 * @tx_skbs: skbs passed to the IP stack
 * @tx_packets: packets in them
 * @tx_copied: bytes of payload copied before transmission, because the source is not
 *	wired memory, the packet has a checksum of its payload or is a reply; without
 *	retransmissions
 * @tx_nomem: packets lost because an allocation failed
 * @tx_noroute: skbs dropped because there was no route
 * @tx_full: times that transmission paused because too many packets were queued
 * @rx_skbs: skbs received
 * @rx_packets: packets in them
 * @rx_softirq: deposits made in softirq
 * @rx_process: deposits made in process context
 * @rx_copied: bytes copied to their destination
 * @mtu_changes: changes of the path MTU
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
 * union dd_udp_local - an address of this node; all zero for none
 * @ip4: of IPv4
 * @ip6: of IPv6
 */
union dd_udp_local {
	__be32 ip4;
	struct in6_addr ip6;
};

/**
 * struct dd_udp_peer - the link to a peer
 * @lock: protects the session, all its channels, and the members below; taken
 *	before the lock of a segment
 * @tp: the session
 * @arena: memory of the session
 * @node: this node; valid until the link is stopped
 * @peer: of the user of the link, like @priv
 * @priv: private to struct dd_net_upper
 * @addr: address and port of the peer
 * @entry: in dd_udp_node.peers
 * @sk: socket of the address' family; valid until a grace period after @dead is set
 * @tx: socket of the same family that is charged for the packets sent to this peer,
 *	and neither sends nor receives; valid until @dead is set
 * @dst: route to the peer; used only by the context that has set @sending
 * @local_addr: local address that the peer knows; it ignores packets from any other
 * @reply_addr: local address that the last unauthenticated packet was sent to, for
 *	the reply to it; zero: reply from @local_addr
 * @moved: @dst was looked up with another source address than @local_addr
 * @timer: calls dd_tp_timeout()
 * @tx_tasklet: sends what dd_udp_unlock_later() has deferred
 * @armed: when @timer expires, ns
 * @retry_at: when to request a new session, ns
 * @dead: nothing is sent and no timer is armed any more
 * @sending: a context is passing packets to the IP stack without the lock, in the
 *	order of their numbers; other contexts may send only unnumbered packets
 * @cpu: CPU that sent last
 * @sent_at: when it did, ns
 * @touched: the session was locked since @sending was set: the sending context has
 *	to look for more packets
 * @note_due: a message is complete and its note is to be posted by
 *	dd_net_upper.post()
 * @gso: the device accepts GSO skbs
 * @mtu: largest datagram that the route carries, in bytes; 0 if not known
 * @stats: counters
 * @rx_hdr: copy of a received header that was not contiguous
 * @tx_pages: pages for headers, used in turn; NULL before their first use
 * @tx_turn: index of the next page
 * @tx_hdrs: address of the current page; NULL for none
 * @tx_used: bytes of it in use
 * @tx_last: largest value of @tx_used that leaves space for another batch
 */
struct dd_udp_peer {
	spinlock_t lock;	/* of the session */
	struct dd_tp tp;
	void *arena;
	struct dd_node *node;
	struct dd_peer *peer;
	void *priv;
	union dd_peer_addr addr;
	struct hlist_node entry;
	struct sock *sk;
	struct socket *tx;
	struct dst_cache dst;
	union dd_udp_local local_addr;
	union dd_udp_local reply_addr;
	struct hrtimer timer;
	struct tasklet_struct tx_tasklet;
	u64 armed;
	u64 retry_at;
	bool dead;
	bool sending;
	bool touched;
	bool note_due;
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

extern const struct dd_net_upper *dd_udp_upper;

void dd_udp_up(struct dd_tp *tp);
void dd_udp_down(struct dd_tp *tp, enum dd_tp_reason reason);
bool dd_udp_tracing(void);

/* Implement callbacks of struct dd_tp_ops. */
u64 dd_udp_tp_random(struct dd_tp *tp);
void dd_udp_tp_trace(struct dd_tp *tp, enum dd_tp_event event, u64 pn, u32 bytes);

static inline struct dd_udp_peer *dd_udp_of_tp(struct dd_tp *tp)
{
	return container_of(tp, struct dd_udp_peer, tp);
}

/**
 * dd_udp_lock() - lock a session
 * @link: the peer's link
 *
 * Until dd_udp_unlock() the caller, in process context or softirq, may call the
 * functions of transport.h on @link->tp that struct dd_tp_ops permits in callbacks.
 * The caller must not hold the lock of a segment.
 */
static inline void dd_udp_lock(struct dd_udp_peer *link)
	__acquires(&link->lock)
{
	spin_lock_bh(&link->lock);
}

/* Post the note that complete() has prepared, if there is one. */
static inline void dd_udp_post(struct dd_udp_peer *link)
{
	if (link->note_due)
		dd_udp_upper->post(link);
}

#endif /* _DD_UDP_SESSION_H */
