// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending: packets are made under the session's lock and handed to the IP stack
 * without it. skb.c builds the skbs.
 */
#include <linux/ktime.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/udp.h>
#include <net/xfrm.h>

#include "compat/compat.h"
#include "compat/udp.h"
#include "core/node.h"
#include "udp/skb.h"
#include "udp/tx.h"

#define DD_UDP_BURST		(3 * DD_UDP_BATCH) /* packets made before any is sent */
#define DD_UDP_ROUNDS		32	/* bursts sent before others may run */
#define DD_UDP_WAIT_NS		NSEC_PER_MSEC	/* for queues, or for memory */

#define DD_UDP_STAY_NS		(100 * NSEC_PER_USEC)
#define DD_UDP_STAY_PACKETS	16

/* ---- making packets ------------------------------------------------------- */

/**
 * enum dd_udp_why - why no more packets were made
 * @DD_UDP_WHY_IDLE: nothing is due
 * @DD_UDP_WHY_BURST: the burst is full
 * @DD_UDP_WHY_WAIT: the peer's send buffer is full, or there is no memory
 */
enum dd_udp_why {
	DD_UDP_WHY_IDLE,
	DD_UDP_WHY_BURST,
	DD_UDP_WHY_WAIT,
};

/* Build the packets that are due, up to a burst. */
static enum dd_udp_why dd_udp_make(struct dd_udp_peer *link,
				   struct dd_udp_burst *b, u64 now)
{
	enum dd_udp_why why = DD_UDP_WHY_BURST;
	const struct sock *tx = link->tx->sk;
	struct dd_tp_pkt pkt __uninitialized;	/* dd_tp_poll() fills it in */
	bool answers;

	if (dd_tp_is_idle(&link->tp, now))
		return DD_UDP_WHY_IDLE;
	/*
	 * The queues on the way hold as many bytes of this peer as they may. The last packets
	 * of a session are few, and the removal of the peer waits for them.
	 */
	if (!link->tp.bye && sk_wmem_alloc_get(tx) > READ_ONCE(tx->sk_sndbuf)) {
		link->stats.tx_full++;
		return DD_UDP_WHY_WAIT;
	}
	while (b->packets < DD_UDP_BURST) {
		if (unlikely(!dd_udp_hdrs_ready(link))) {
			why = DD_UDP_WHY_WAIT;
			break;
		}
		pkt.hdr = link->tx_hdrs + link->tx_used;
		pkt.space = min(DD_UDP_BATCH, DD_UDP_BURST - b->packets);
		/* A reply is sent alone: its source address may differ. */
		answers = link->tp.reply_len;
		if (unlikely(answers) && b->packets)
			break;
		if (!dd_tp_poll(&link->tp, now, &pkt)) {
			why = DD_UDP_WHY_IDLE;
			break;
		}
		b->answer = answers && !link->tp.reply_len;
		b->ordered |= !(pkt.hdr->flags & DD_WIRE_UNNUMBERED);
		if (!dd_udp_add(link, b, &pkt)) {
			why = DD_UDP_WHY_WAIT;
			break;
		}
		if (unlikely(b->answer))
			break;
		/* Usually nothing else is due. */
		if (dd_tp_is_idle(&link->tp, now)) {
			why = DD_UDP_WHY_IDLE;
			break;
		}
	}
	if (skb_queue_empty(&b->list))
		return why;
	dd_udp_close(b);
	link->stats.tx_packets += b->packets;
	link->stats.tx_skbs += skb_queue_len(&b->list);
	return why;
}

/* ---- routes -------------------------------------------------------------- */

/**
 * union dd_udp_flow - the addresses of a route
 * @ip4: IPv4; only the source is always set
 * @ip6: IPv6; only the source is always set
 */
union dd_udp_flow {
	struct flowi4 ip4;
	struct flowi6 ip6;
};

/* A route with a reference, from @from if that is still a local address; or NULL. */
static struct dst_entry *dd_udp_find_dst(struct dd_udp_peer *link, union dd_udp_flow *fl,
					 const union dd_udp_local *from)
{
	struct sock *sk = link->sk;
	__be32 saddr = from->ip4;
	struct dst_entry *dst;
	struct rtable *rt;

	if (link->addr.sa.sa_family == AF_INET6) {
		fl->ip6 = (struct flowi6){
			.saddr = from->ip6,
			.daddr = link->addr.in6.sin6_addr,
			.fl6_dport = link->addr.in6.sin6_port,
			.fl6_sport = inet_sk(sk)->inet_sport,
			.flowi6_oif = link->addr.in6.sin6_scope_id,
			.flowi6_proto = IPPROTO_UDP,
		};
		security_sk_classify_flow(sk, flowi6_to_flowi_common(&fl->ip6));
		dst = ip6_dst_lookup_flow(sock_net(sk), sk, &fl->ip6, NULL);
		return IS_ERR(dst) ? NULL : dst;
	}
	for (;;) {
		fl->ip4 = (struct flowi4){
			.saddr = saddr,
			.daddr = link->addr.in.sin_addr.s_addr,
			.fl4_dport = link->addr.in.sin_port,
			.fl4_sport = inet_sk(sk)->inet_sport,
			.flowi4_proto = IPPROTO_UDP,
		};
		security_sk_classify_flow(sk, flowi4_to_flowi_common(&fl->ip4));
		rt = ip_route_output_flow(sock_net(sk), &fl->ip4, sk);
		if (!IS_ERR(rt))
			return &rt->dst;
		if (!saddr)
			return NULL;
		saddr = 0;
	}
}

/* A route to the peer: the cached one, or, if not NULL, from @from. */
static struct dst_entry *dd_udp_dst(struct dd_udp_peer *link, union dd_udp_flow *fl,
				    const union dd_udp_local *from)
{
	bool ip4 = link->addr.sa.sa_family == AF_INET;
	union dd_udp_local local;
	struct dst_entry *dst;

	if (unlikely(from))
		return dd_udp_find_dst(link, fl, from);
	/* dst is the first member of struct rtable. */
	dst = ip4 ? (void *)dst_cache_get_ip4(&link->dst, &fl->ip4.saddr) :
		    dst_cache_get_ip6(&link->dst, &fl->ip6.saddr);
	if (likely(dst))
		return dst;
	/* Another CPU may change it when a packet arrives. */
	spin_lock(&link->lock);
	local = link->local_addr;
	spin_unlock(&link->lock);
	dst = dd_udp_find_dst(link, fl, &local);
	if (dst && ip4)
		dst_cache_set_ip4(&link->dst, dst, fl->ip4.saddr);
	else if (dst)
		dst_cache_set_ip6(&link->dst, dst, &fl->ip6.saddr);
	return dst;
}

static u32 dd_udp_mtu(const struct dd_udp_peer *link, struct dst_entry *dst)
{
	u32 head = sizeof(struct udphdr);

	head += link->addr.sa.sa_family == AF_INET ? sizeof(struct iphdr) :
						     sizeof(struct ipv6hdr);
	return max(dst_mtu(dst), head) - head;
}

/* As for TCP: without GSO in the device, a burst would be lost or delayed as one. */
static bool dd_udp_may_gso(const struct dst_entry *dst)
{
	return (dst->dev->features & (NETIF_F_GSO | NETIF_F_SG)) ==
	       (NETIF_F_GSO | NETIF_F_SG) && !dst_xfrm(dst);
}

/* Take over the properties of the current route. */
static void dd_udp_set_mtu(struct dd_udp_peer *link, u32 mtu, bool gso)
{
	lockdep_assert_held(&link->lock);
	link->gso = gso;
	if (link->mtu == mtu)
		return;
	if (link->mtu)
		link->stats.mtu_changes++;
	link->mtu = mtu;
	link->touched = true;
	dd_tp_set_mtu(&link->tp, mtu);
}

/* ---- sending -------------------------------------------------------------- */

/*
 * Packets of the smallest size and below may be fragmented: a session needs them on every
 * path, and the IPv4 path may be smaller still. IPv6 has no such path.
 */
static __be16 dd_udp_df(const struct sk_buff *skb)
{
	u32 size = skb_is_gso(skb) ? skb_shinfo(skb)->gso_size : skb->len;

	return size > DD_WIRE_PACKET_MIN ? htons(IP_DF) : 0;
}

/*
 * Hand skbs to the IP stack in order; false if there is no route. The source address
 * is @from, or, if that is NULL, the one that the peer knows. The stack drops skbs that
 * are larger than the path MTU and may not be fragmented; they count as lost, and their
 * payload is retransmitted in smaller packets.
 */
static bool dd_udp_send(struct dd_udp_peer *link, struct sk_buff_head *list,
			const union dd_udp_local *from, u32 *mtu, bool *gso)
{
	union dd_peer_addr *to = &link->addr;
	__be16 port = inet_sk(link->sk)->inet_sport;
	union dd_udp_flow fl __uninitialized;
	struct dst_entry *dst;
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(list))) {
		dst = dd_udp_dst(link, &fl, from);
		if (unlikely(!dst)) {
			kfree_skb(skb);
			__skb_queue_purge(list);
			return false;
		}
		*mtu = dd_udp_mtu(link, dst);
		*gso = dd_udp_may_gso(dst);
		if (to->sa.sa_family == AF_INET)
			udp_tunnel_xmit_skb(container_of(dst, struct rtable, dst), link->sk,
					    skb, fl.ip4.saddr, to->in.sin_addr.s_addr, 0,
					    ip4_dst_hoplimit(dst), dd_udp_df(skb), port,
					    to->in.sin_port, false, false, 0);
		else
			udp_tunnel6_xmit_skb(dst, link->sk, skb, NULL, &fl.ip6.saddr,
					     &to->in6.sin6_addr, 0, ip6_dst_hoplimit(dst),
					     0, port, to->in6.sin6_port, false, 0);
	}
	return true;
}

/* Have the timer expire at @at or earlier. */
static void dd_udp_arm(struct dd_udp_peer *link, u64 at)
{
	lockdep_assert_held(&link->lock);
	at = min(at, link->retry_at);
	if (at >= link->armed)
		return;
	link->armed = at;
	hrtimer_start(&link->timer, ns_to_ktime(at), HRTIMER_MODE_ABS_SOFT);
}

/*
 * Send a burst with the session unlocked. While @sending is set, other CPUs send no
 * packets whose order matters; acknowledgments have no order.
 */
static void dd_udp_flush(struct dd_udp_peer *link, struct dd_udp_burst *b, u64 now)
{
	union dd_udp_local reply, *from = NULL;
	struct sk_buff *skb;
	bool gso, ok;
	u32 mtu;

	link->touched = false;
	/* With the lock held: without it another context may release the socket. */
	skb_queue_walk(&b->list, skb)
		skb_set_owner_w(skb, link->tx->sk);
	if (unlikely(b->answer)) {
		if (memchr_inv(&link->reply_addr, 0, sizeof(reply))) {
			reply = link->reply_addr;
			from = &reply;
		}
		link->reply_addr = (union dd_udp_local){};
	}
	if (unlikely(link->moved)) {
		link->moved = false;
		dst_cache_reset(&link->dst);
	}
	if (b->ordered) {
		link->sending = true;
		link->cpu = smp_processor_id();
		link->sent_at = now;
	}
	dd_udp_post(link);
	/* Bottom halves stay disabled: link and socket outlive that. */
	spin_unlock(&link->lock);
	ok = dd_udp_send(link, &b->list, from, &mtu, &gso);
	spin_lock(&link->lock);
	if (b->ordered)
		link->sending = false;
	if (likely(ok))
		dd_udp_set_mtu(link, mtu, gso);
	else
		link->stats.tx_noroute++;
}

/* Send what is due, and arm the timer for the rest. */
static void dd_udp_work(struct dd_udp_peer *link, u64 now)
{
	unsigned int rounds = DD_UDP_ROUNDS;
	struct dd_udp_burst b __uninitialized;
	enum dd_udp_why why;

	link->tp.tracing = dd_udp_tracing();
	do {
		__skb_queue_head_init(&b.list);
		b.skb = NULL;
		b.packets = 0;
		b.answer = false;
		b.ordered = false;
		why = dd_udp_make(link, &b, now);
		if (!skb_queue_empty(&b.list))
			dd_udp_flush(link, &b, now);
		if (link->dead)
			return;
		/* Another CPU has begun to send and continues. */
		if (unlikely(link->sending)) {
			link->touched = true;
			return;
		}
		if (why == DD_UDP_WHY_IDLE && !(b.packets && link->touched)) {
			if (!dd_tp_deadline_after(&link->tp, link->armed))
				dd_udp_arm(link, dd_tp_deadline(&link->tp));
			return;
		}
		now = ktime_get_ns();
	} while (why != DD_UDP_WHY_WAIT && --rounds);
	dd_udp_arm(link, why == DD_UDP_WHY_WAIT ? now + DD_UDP_WAIT_NS : now);
}

/**
 * dd_udp_unlock_at() - send what is due and unlock a session
 * @link: the peer's link
 * @now: current time, ns
 *
 * If another CPU is sending, that CPU sends this as well.
 */
void dd_udp_unlock_at(struct dd_udp_peer *link, u64 now)
	__releases(&link->lock)
{
	dd_udp_upper->progress(link);
	/*
	 * If an acknowledgment arrives on another CPU than the one that has just sent a
	 * lot, that one sends the rest: packets from two CPUs pass through different
	 * queues and overtake each other, which the peer takes for loss.
	 */
	if (link->sending)
		link->touched = true;
	else if (link->dead)
		;
	else if (link->cpu != smp_processor_id() && now < link->sent_at + DD_UDP_STAY_NS &&
		 link->tp.cc.flight > DD_UDP_STAY_PACKETS * link->tp.mtu)
		dd_udp_arm(link, link->sent_at + DD_UDP_STAY_NS);
	else
		dd_udp_work(link, now);
	dd_udp_post(link);
	spin_unlock_bh(&link->lock);
}

/**
 * dd_udp_unlock() - as dd_udp_unlock_at(), for callers without a time stamp
 * @link: the peer's link
 */
void dd_udp_unlock(struct dd_udp_peer *link) __releases(&link->lock)
{
	dd_udp_unlock_at(link, ktime_get_ns());
}

/**
 * dd_udp_unlock_later() - unlock a session, and send from a tasklet
 * @link: the peer's link
 *
 * The tasklet runs when this CPU has processed all received packets, so that one
 * acknowledgment covers all of them.
 */
void dd_udp_unlock_later(struct dd_udp_peer *link) __releases(&link->lock)
{
	if (likely(!link->dead))
		tasklet_schedule(&link->tx_tasklet);
	dd_udp_post(link);
	spin_unlock_bh(&link->lock);
}

/* Tasklets run after NET_RX_SOFTIRQ. */
void dd_udp_tx_deferred(struct tasklet_struct *tasklet)
{
	struct dd_udp_peer *link = from_tasklet(link, tasklet, tx_tasklet);

	dd_udp_lock(link);
	/* Another CPU may have sent the acknowledgment already. */
	if (likely(link->tp.ack_count))
		dd_udp_unlock(link);
	else
		spin_unlock_bh(&link->lock);
}

/* A deadline of the transport, or a wait for the send buffer. */
enum hrtimer_restart dd_udp_timer(struct hrtimer *timer)
{
	struct dd_udp_peer *link = container_of(timer, struct dd_udp_peer, timer);
	u64 now;

	dd_udp_lock(link);
	now = ktime_get_ns();
	link->armed = DD_TP_NEVER;
	if (!link->dead) {
		if (now >= link->retry_at) {
			link->retry_at = DD_TP_NEVER;
			/* The address may not be local any more, and replies lost. */
			link->local_addr = (union dd_udp_local){};
			link->moved = true;
			dd_tp_start(&link->tp, now);
		}
		dd_tp_timeout(&link->tp, now);
	}
	dd_udp_unlock_at(link, now);
	return HRTIMER_NORESTART;
}
