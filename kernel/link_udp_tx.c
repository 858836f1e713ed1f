// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending: packets are made under the session's lock and handed to the IP
 * stack without it. What skbs are made of: link_udp_skb.c.
 */
#include <linux/ktime.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/ipv6_stubs.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>
#include <net/xfrm.h>

#include "dd.h"
#include "link_udp.h"
#include "link_udp_skb.h"

#define DD_UDP_BURST		(3 * DD_UDP_BATCH) /* packets made before any is sent */
#define DD_UDP_ROUNDS		32	/* bursts sent before others may run */
#define DD_UDP_LITTLE		(2 * 65536)	/* bytes, the least share of a socket */
#define DD_UDP_WAIT_NS		NSEC_PER_MSEC	/* for queues, or for memory */

#define DD_UDP_STAY_NS		(100 * NSEC_PER_USEC)
#define DD_UDP_STAY_PACKETS	16

/* ---- making packets ------------------------------------------------------- */

/**
 * enum dd_udp_why - why no more packets were made
 * @DD_UDP_WHY_IDLE: there is nothing to be sent now
 * @DD_UDP_WHY_BURST: this is enough at once
 * @DD_UDP_WHY_WAIT: too much is out, or there is no memory
 */
enum dd_udp_why {
	DD_UDP_WHY_IDLE,
	DD_UDP_WHY_BURST,
	DD_UDP_WHY_WAIT,
};

/*
 * Bytes that a peer may have in flight while the socket's buffer is full: other
 * peers, to which the way is slow, may keep it so for long.
 */
static u32 dd_udp_share(const struct dd_udp_peer *link)
{
	u32 bytes = READ_ONCE(link->sk->sk_sndbuf);

	return max(bytes / max(READ_ONCE(*link->users), 1u), DD_UDP_LITTLE + 0u);
}

/* Make packets, as many as are due and make sense at once. */
static enum dd_udp_why dd_udp_make(struct dd_udp_peer *link,
				   struct dd_udp_burst *b, u64 now)
{
	enum dd_udp_why why = DD_UDP_WHY_BURST;
	struct dd_tp_pkt pkt;
	bool answers;

	if (dd_tp_is_idle(&link->tp, now))
		return DD_UDP_WHY_IDLE;
	/* A peer may have its share of the socket on its way, even if that is full. */
	if (sk_wmem_alloc_get(link->sk) > READ_ONCE(link->sk->sk_sndbuf) &&
	    link->tp.cc.flight > dd_udp_share(link)) {
		link->stats.tx_full++;
		return DD_UDP_WHY_WAIT;
	}
	while (b->packets < DD_UDP_BURST) {
		if (unlikely(!dd_udp_hdrs_ready(link))) {
			why = DD_UDP_WHY_WAIT;
			break;
		}
		pkt.hdr = link->tx_hdrs + link->tx_used;
		pkt.room = min(DD_UDP_BATCH, DD_UDP_BURST - b->packets);
		/* An answer goes alone, since it may come from another address. */
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
		/* Most often that was all. */
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

/* The address to send from, as it is now: others may be receiving. */
static union dd_udp_local dd_udp_local_addr(struct dd_udp_peer *link)
{
	union dd_udp_local local;

	spin_lock(&link->lock);
	local = link->local_addr;
	spin_unlock(&link->lock);
	return local;
}

static struct rtable *dd_udp_try4(struct dd_udp_peer *link, struct flowi4 *fl,
				  __be32 saddr)
{
	struct sock *sk = link->sk;

	*fl = (struct flowi4){
		.saddr = saddr,
		.daddr = link->addr.in.sin_addr.s_addr,
		.fl4_dport = link->addr.in.sin_port,
		.fl4_sport = inet_sk(sk)->inet_sport,
		.flowi4_proto = IPPROTO_UDP,
	};
	security_sk_classify_flow(sk, flowi4_to_flowi_common(fl));
	return ip_route_output_flow(sock_net(sk), fl, sk);
}

/* An IPv4 route, counted, from our address @saddr if that is ours yet. */
static struct dst_entry *dd_udp_find4(struct dd_udp_peer *link,
				      struct flowi4 *fl, __be32 saddr)
{
	struct rtable *rt = dd_udp_try4(link, fl, saddr);

	if (IS_ERR(rt) && saddr)
		rt = dd_udp_try4(link, fl, 0);
	return IS_ERR(rt) ? NULL : &rt->dst;
}

static struct dst_entry *dd_udp_route4(struct dd_udp_peer *link,
				       struct flowi4 *fl)
{
	struct rtable *rt = dst_cache_get_ip4(&link->dst, &fl->saddr);
	struct dst_entry *dst;

	if (likely(rt))
		return &rt->dst;
	dst = dd_udp_find4(link, fl, dd_udp_local_addr(link).ip4);
	if (dst)
		dst_cache_set_ip4(&link->dst, dst, fl->saddr);
	return dst;
}

static struct dst_entry *dd_udp_find6(struct dd_udp_peer *link,
				      struct flowi6 *fl,
				      const struct in6_addr *saddr)
{
	struct sock *sk = link->sk;
	struct dst_entry *dst;

	*fl = (struct flowi6){
		.saddr = *saddr,
		.daddr = link->addr.in6.sin6_addr,
		.fl6_dport = link->addr.in6.sin6_port,
		.fl6_sport = inet_sk(sk)->inet_sport,
		.flowi6_oif = link->addr.in6.sin6_scope_id,
		.flowi6_proto = IPPROTO_UDP,
	};
	security_sk_classify_flow(sk, flowi6_to_flowi_common(fl));
	dst = ipv6_stub->ipv6_dst_lookup_flow(sock_net(sk), sk, fl, NULL);
	return IS_ERR(dst) ? NULL : dst;
}

static struct dst_entry *dd_udp_route6(struct dd_udp_peer *link,
				       struct flowi6 *fl)
{
	struct dst_entry *dst = dst_cache_get_ip6(&link->dst, &fl->saddr);
	union dd_udp_local local;

	if (likely(dst))
		return dst;
	local = dd_udp_local_addr(link);
	dst = dd_udp_find6(link, fl, &local.ip6);
	if (dst)
		dst_cache_set_ip6(&link->dst, dst, &fl->saddr);
	return dst;
}

/**
 * union dd_udp_flow - a route's addresses
 * @ip4: of IPv4; only the source is sure to be set
 * @ip6: of IPv6; only the source is sure to be set
 */
union dd_udp_flow {
	struct flowi4 ip4;
	struct flowi6 ip6;
};

static struct dst_entry *dd_udp_dst(struct dd_udp_peer *link,
				    union dd_udp_flow *fl)
{
	return link->addr.sa.sa_family == AF_INET ?
	       dd_udp_route4(link, &fl->ip4) : dd_udp_route6(link, &fl->ip6);
}

/* The same from another address of ours, which is not remembered. */
static struct dst_entry *dd_udp_dst_from(struct dd_udp_peer *link,
					 union dd_udp_flow *fl,
					 const union dd_udp_local *from)
{
	return link->addr.sa.sa_family == AF_INET ?
	       dd_udp_find4(link, &fl->ip4, from->ip4) :
	       dd_udp_find6(link, &fl->ip6, &from->ip6);
}

static u32 dd_udp_mtu(const struct dd_udp_peer *link, struct dst_entry *dst)
{
	u32 head = sizeof(struct udphdr);

	head += link->addr.sa.sa_family == AF_INET ? sizeof(struct iphdr) :
						     sizeof(struct ipv6hdr);
	return max(dst_mtu(dst), head) - head;
}

/* Where TCP would not use GSO, a burst is not to be lost or delayed as one. */
static bool dd_udp_may_gso(const struct dst_entry *dst)
{
	return (dst->dev->features & (NETIF_F_GSO | NETIF_F_SG)) ==
	       (NETIF_F_GSO | NETIF_F_SG) && !dst_xfrm(dst);
}

/* What a route is like has changed. */
static void dd_udp_learn(struct dd_udp_peer *link, u32 mtu, bool gso)
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

/**
 * dd_udp_route() - learn what the route to a peer is like
 * @link: its link; nothing has been sent yet
 */
void dd_udp_route(struct dd_udp_peer *link)
{
	union dd_udp_flow fl;
	struct dst_entry *dst;

	local_bh_disable();
	dst = dd_udp_dst(link, &fl);
	if (dst) {
		spin_lock(&link->lock);
		dd_udp_learn(link, dd_udp_mtu(link, dst), dd_udp_may_gso(dst));
		spin_unlock(&link->lock);
		dst_release(dst);
	}
	local_bh_enable();
}

/* ---- sending -------------------------------------------------------------- */

/* The UDP header, whose checksum the device completes. */
static struct udphdr *dd_udp_push(struct dd_udp_peer *link, struct sk_buff *skb,
				  __be16 port)
{
	struct udphdr *uh = __skb_push(skb, sizeof(*uh));

	skb_reset_transport_header(skb);
	uh->source = inet_sk(link->sk)->inet_sport;
	uh->dest = port;
	uh->len = htons(skb->len);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
	return uh;
}

/*
 * As udp_tunnel_xmit_skb() does, for an skb that has never been elsewhere. What
 * may not be fragmented needs no number either (RFC 6864). A path that is too narrow
 * for our smallest packet is not supported: one forged ICMP message could say so of
 * any path, and everything would be fragments for ten minutes.
 */
static void dd_udp_xmit4(struct dd_udp_peer *link, struct sk_buff *skb,
			 struct dst_entry *dst, const struct flowi4 *fl)
{
	const struct sockaddr_in *to = &link->addr.in;
	struct net *net = sock_net(link->sk);
	struct iphdr *iph;
	struct udphdr *uh;

	uh = dd_udp_push(link, skb, to->sin_port);
	uh->check = ~udp_v4_check(skb->len, fl->saddr, to->sin_addr.s_addr, 0);
	iph = __skb_push(skb, sizeof(*iph));
	skb_reset_network_header(skb);
	*iph = (struct iphdr) {
		.version = 4,
		.ihl = sizeof(*iph) >> 2,
		.frag_off = htons(IP_DF),
		.ttl = ip4_dst_hoplimit(dst),
		.protocol = IPPROTO_UDP,
		.saddr = fl->saddr,
		.daddr = to->sin_addr.s_addr,
	};
	skb_dst_set(skb, dst);
	ip_local_out(net, link->sk, skb);
}

static void dd_udp_xmit6(struct dd_udp_peer *link, struct sk_buff *skb,
			 struct dst_entry *dst, struct flowi6 *fl)
{
	struct sockaddr_in6 *to = &link->addr.in6;

	udp_tunnel6_xmit_skb(dst, link->sk, skb, NULL, &fl->saddr,
			     &to->sin6_addr, 0, ip6_dst_hoplimit(dst), 0,
			     inet_sk(link->sk)->inet_sport, to->sin6_port,
			     false);
}

/*
 * Hand skbs to the IP stack, in order: false if there was no route. They come from
 * @from, or, if that is NULL, from where the peer knows us to be. Those for
 * which the path is too narrow it throws away; they count as lost, and what was
 * in them goes out again in smaller ones.
 */
static bool dd_udp_send(struct dd_udp_peer *link, struct sk_buff_head *list,
			const union dd_udp_local *from, u32 *mtu, bool *gso)
{
	union dd_udp_flow fl;
	struct dst_entry *dst;
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(list))) {
		dst = unlikely(from) ? dd_udp_dst_from(link, &fl, from) :
				       dd_udp_dst(link, &fl);
		if (unlikely(!dst)) {
			kfree_skb(skb);
			__skb_queue_purge(list);
			return false;
		}
		*mtu = dd_udp_mtu(link, dst);
		*gso = dd_udp_may_gso(dst);
		skb_set_owner_w(skb, link->sk);
		if (link->addr.sa.sa_family == AF_INET)
			dd_udp_xmit4(link, skb, dst, &fl.ip4);
		else
			dd_udp_xmit6(link, skb, dst, &fl.ip6);
	}
	return true;
}

/* See to it that we are called by @at; early is no harm. */
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
 * Send what was made; others may lock the session meanwhile. They do not send
 * what is to come after it, unless this is an acknowledgment, which may come at any
 * time.
 */
static void dd_udp_flush(struct dd_udp_peer *link, struct dd_udp_burst *b,
			 u64 now)
{
	union dd_udp_local reply, *from = NULL;
	bool gso, ok;
	u32 mtu;

	link->touched = false;
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
	dd_udp_show(link);
	/* Bottom halves stay disabled: link and socket outlive that. */
	spin_unlock(&link->lock);
	ok = dd_udp_send(link, &b->list, from, &mtu, &gso);
	spin_lock(&link->lock);
	if (b->ordered)
		link->sending = false;
	if (likely(ok))
		dd_udp_learn(link, mtu, gso);
	else
		link->stats.tx_noroute++;
}

/* Send what is due, and see to it that somebody comes for the rest. */
static void dd_udp_work(struct dd_udp_peer *link, u64 now)
{
	unsigned int rounds = DD_UDP_ROUNDS;
	struct dd_udp_burst b;
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
		/* Somebody else began to, and goes on with what is due. */
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

/*
 * Whether another CPU, which has just sent a lot, is to send the rest: it will
 * when that is acknowledged. What two CPUs send is overtaken by each other in
 * queues that each has its own of, and the peer takes it for lost.
 */
static bool dd_udp_elsewhere(const struct dd_udp_peer *link, u64 now)
{
	return link->cpu != smp_processor_id() &&
	       now < link->sent_at + DD_UDP_STAY_NS &&
	       link->tp.cc.flight > DD_UDP_STAY_PACKETS * link->tp.mtu;
}

/**
 * dd_udp_unlock_at() - unlock a session, and send what it has to say
 * @link: the peer's link
 * @now: the time
 *
 * If somebody else is sending, he sends that too.
 */
void dd_udp_unlock_at(struct dd_udp_peer *link, u64 now)
	__releases(&link->lock)
{
	dd_udp_upper->progress(link);
	if (link->sending)
		link->touched = true;
	else if (link->dead)
		;
	else if (dd_udp_elsewhere(link, now))
		dd_udp_arm(link, link->sent_at + DD_UDP_STAY_NS);
	else
		dd_udp_work(link, now);
	dd_udp_show(link);
	spin_unlock_bh(&link->lock);
}

/**
 * dd_udp_unlock() - the same, for those who do not know the time
 * @link: the peer's link
 */
void dd_udp_unlock(struct dd_udp_peer *link) __releases(&link->lock)
{
	dd_udp_unlock_at(link, ktime_get_ns());
}

/**
 * dd_udp_unlock_later() - unlock a session, and send a little later
 * @link: the peer's link
 *
 * When all that has come to this CPU has been taken, in which there may be more
 * of the same: one acknowledgment then does for all of it.
 */
void dd_udp_unlock_later(struct dd_udp_peer *link) __releases(&link->lock)
{
	if (likely(!link->dead))
		tasklet_schedule(&link->tx_tasklet);
	dd_udp_show(link);
	spin_unlock_bh(&link->lock);
}

/* Softirqs of this kind run after those that receive. */
void dd_udp_tx_deferred(struct tasklet_struct *tasklet)
{
	struct dd_udp_peer *link = from_tasklet(link, tasklet, tx_tasklet);

	dd_udp_lock(link);
	/* Or somebody was here before. */
	if (likely(link->tp.ack_count))
		dd_udp_unlock(link);
	else
		spin_unlock_bh(&link->lock);
}

static void dd_udp_expired(struct dd_udp_peer *link, u64 now)
{
	/* May have changed since the session began: good for the next one. */
	link->tp.cfg.maxnodes = READ_ONCE(link->peer->node->max);
	if (now >= link->retry_at) {
		link->retry_at = DD_TP_NEVER;
		/* Nobody may have answered since it is ours no more. */
		link->local_addr = (union dd_udp_local){};
		link->moved = true;
		dd_tp_start(&link->tp, now);
	}
	dd_tp_timeout(&link->tp, now);
}

/* The transport wants to be called, or too much was on its way out. */
enum hrtimer_restart dd_udp_timer(struct hrtimer *timer)
{
	struct dd_udp_peer *link = container_of(timer, struct dd_udp_peer,
						timer);
	u64 now;

	dd_udp_lock(link);
	now = ktime_get_ns();
	link->armed = DD_TP_NEVER;
	if (!link->dead)
		dd_udp_expired(link, now);
	dd_udp_unlock_at(link, now);
	return HRTIMER_NORESTART;
}
