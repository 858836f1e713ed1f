/* SPDX-License-Identifier: GPL-2.0-only */
/* Receiving packets: rx.c. */
#ifndef _DD_LINK_UDP_RX_H
#define _DD_LINK_UDP_RX_H

#include <linux/skbuff.h>
#include <linux/types.h>

struct dd_tp_rx_batch;
struct dd_udp_node;
struct dd_udp_peer;
struct hlist_head;
struct sock;

union dd_peer_addr;

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

#endif /* _DD_LINK_UDP_RX_H */
