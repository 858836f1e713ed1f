/* SPDX-License-Identifier: GPL-2.0-only */
/* What packets that go out are made of: link_udp_skb.c. */
#ifndef _DD_LINK_UDP_SKB_H
#define _DD_LINK_UDP_SKB_H

#include <linux/skbuff.h>

#include "link_udp.h"

#define DD_UDP_RUN	43	/* packets made at once: an skb full at MTU 1500 */

/**
 * struct dd_udp_burst - skbs being made
 * @list: complete ones, and @skb
 * @skb: the one that packets are added to, or NULL
 * @member: the part of it that fragments are added to
 * @seg: bytes in each of its packets
 * @segs: packets in it
 * @packets: packets in all
 * @answer: it is one packet, an answer outside a session
 * @ordered: there are some whose order matters: those with a number
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
bool dd_udp_add(struct dd_udp_peer *link, struct dd_udp_burst *b,
		struct dd_tp_pkt *pkt);
void dd_udp_close(struct dd_udp_burst *b);

#endif /* _DD_LINK_UDP_SKB_H */
