/* SPDX-License-Identifier: GPL-2.0-only */
/* Receiving packets: rx.c. */
#ifndef _DD_UDP_RX_H
#define _DD_UDP_RX_H

#include <linux/skbuff.h>
#include <linux/workqueue.h>

#include "udp/session.h"

struct dd_tp_rx_batch;

#define DD_UDP_HASH	256	/* buckets of peers */

/**
 * struct dd_udp_node - a node's sockets, and its peers by address
 * @node: the node; its peer_lock protects @sock, @users and changes of @peers
 * @sock: sockets for IPv4 and IPv6; each exists while it has users
 * @drain: empties a socket when a softirq has used up its budget
 * @drops: value of sk_drops_read() that has been added to the node's counters
 * @burst: when the last skb with several packets was received, in jiffies
 * @users: number of peers with an address of the family
 * @seed: of the hash
 * @peers: struct dd_udp_peer by address; looked up under RCU
 * @incarnation: random number, new each time the module starts in the namespace
 */
struct dd_udp_node {
	struct dd_node *node;
	struct socket *sock[2];
	struct work_struct drain[2];
	atomic_t drops[2];
	unsigned long burst[2];
	unsigned int users[2];
	u32 seed;
	struct hlist_head peers[DD_UDP_HASH];
	u64 incarnation;
};

/**
 * struct dd_udp_cursor - a position in the data of an skb
 * @next: next member of the skb's fragment list
 * @frag: next fragment of the current skb
 * @end: end of its fragments
 * @first: first fragment of the outer skb; while @frag equals it, @p is in the
 *	linear part
 * @p: current position
 * @left: contiguous bytes at @p
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
 * struct dd_udp_payload - payload of a received packet, as passed through
 *	transport/
 * @start: start of the payload
 * @at: position after the last read
 * @off: bytes from @start to @at
 *
 * In a batch only @at is valid.
 */
struct dd_udp_payload {
	struct dd_udp_cursor start;
	struct dd_udp_cursor at;
	u32 off;
};

void dd_udp_ready(struct sock *sk);
void dd_udp_drain(struct dd_udp_node *un, int family);
struct hlist_head *dd_udp_bucket(struct dd_udp_node *un, const union dd_peer_addr *addr);
bool dd_udp_same(const union dd_peer_addr *a, const union dd_peer_addr *b);
void dd_udp_copy(struct dd_udp_peer *link, const void *payload, u32 off,
		 void *dst, u32 len);
u32 dd_udp_copy_batch(struct dd_udp_peer *link, const void *payload,
		      struct dd_tp_rx_batch *batch, void **pages, u32 at, bool single);

/* Implement callbacks of struct dd_tp_ops. */
void dd_udp_tp_peek(struct dd_tp *tp, const void *payload, u32 off, void *buf, u32 len);
u32 dd_udp_tp_crc(struct dd_tp *tp, const void *payload, u32 len, u32 crc);

#endif /* _DD_UDP_RX_H */
