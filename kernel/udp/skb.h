/* SPDX-License-Identifier: GPL-2.0-only */
/* Building skbs for transmission: skb.c. */
#ifndef _DD_UDP_SKB_H
#define _DD_UDP_SKB_H

#include <linux/skbuff.h>

#include "udp/session.h"

#define DD_UDP_BATCH	43	/* packets built at once: a full skb at MTU 1500 */

/**
 * struct dd_udp_burst - skbs being built
 * @list: skbs, including @skb
 * @skb: the one that packets are added to, or NULL
 * @member: the last member of its fragment list, or @skb itself
 * @seg: bytes in each of its packets
 * @segs: number of packets in it
 * @packets: number of packets in the burst
 * @answer: the burst is a reply outside a session, one packet
 * @ordered: the burst has numbered packets, which must be sent in order
 */
struct dd_udp_burst {
	struct sk_buff_head list;
	struct sk_buff *skb;
	struct sk_buff *member;
	u32 seg;
	u32 segs;
	u32 packets;
	bool answer;
	bool ordered;
};

bool dd_udp_hdrs_ready(struct dd_udp_peer *link);
void dd_udp_hdrs_free(struct dd_udp_peer *link);
bool dd_udp_add(struct dd_udp_peer *link, struct dd_udp_burst *b, struct dd_tp_pkt *pkt);
void dd_udp_close(struct dd_udp_burst *b);

#endif /* _DD_UDP_SKB_H */
