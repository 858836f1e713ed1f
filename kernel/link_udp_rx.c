// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receiving: the socket is drained in softirq, on whichever CPU the packets
 * come, and their payload is copied once, to where it belongs.
 *
 * An skb is a packet or, where GSO or GRO were at work, many of the same size
 * one after the other; nothing is known of where their bytes lie but that they
 * come in order.
 */
#include <linux/crc32c.h>
#include <linux/hash.h>
#include <linux/jhash.h>
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/udp.h>

#include "copy.h"
#include "dd.h"
#include "link_udp.h"
#include "transport_run.h"

#define DD_UDP_BUDGET	1024	/* skbs taken from a socket in one go */
#define DD_UDP_BULK	16384	/* bytes at once: more are likely to follow */
#define DD_UDP_UNACKED	524288	/* bytes after which an acknowledgment is sent */
#define DD_UDP_BURSTS	(HZ / 50)	/* while after a burst others may come */

static unsigned int rx_budget = DD_UDP_BUDGET;
module_param(rx_budget, uint, 0644);
MODULE_PARM_DESC(rx_budget,
		 "skbs that a softirq takes from a socket before a worker does");

/* ---- places in an skb ---------------------------------------------------- */

/* The beginning of an skb, or of a member of its fragment list. */
static void dd_udp_enter(struct dd_udp_cursor *c, struct sk_buff *skb)
{
	const struct skb_shared_info *shared = skb_shinfo(skb);

	c->frag = shared->frags;
	c->end = shared->frags + shared->nr_frags;
	c->p = skb->data;
	c->left = skb_headlen(skb);
}

static void dd_udp_first(struct dd_udp_cursor *c, struct sk_buff *skb)
{
	dd_udp_enter(c, skb);
	c->next = skb_shinfo(skb)->frag_list;
	c->first = c->frag;
}

/* The next piece: false if there is none. */
static bool dd_udp_step(struct dd_udp_cursor *c)
{
	struct sk_buff *skb;

	do {
		if (c->frag != c->end) {
			c->p = skb_frag_address(c->frag);
			c->left = skb_frag_size(c->frag);
			c->frag++;
		} else if (c->next) {
			skb = c->next;
			dd_udp_enter(c, skb);
			c->next = skb->next;
		} else {
			return false;
		}
	} while (!c->left);
	return true;
}

/*
 * Call @fn for the next @len bytes, piece by piece. Who asks has compared with
 * the skb's length: if there are fewer, then the skb lies about that.
 */
static __always_inline bool
dd_udp_walk(struct dd_udp_cursor *c, u32 len,
	    void (*fn)(void *arg, const u8 *p, u32 n), void *arg)
{
	while (len) {
		u32 n;

		if (unlikely(!c->left) && !dd_udp_step(c))
			return false;
		n = min(len, c->left);
		fn(arg, c->p, n);
		c->p += n;
		c->left -= n;
		len -= n;
	}
	return true;
}

static void dd_udp_pass(void *arg, const u8 *p, u32 n)
{
}

static void dd_udp_get(void *arg, const u8 *p, u32 n)
{
	u8 **to = arg;

	memcpy(*to, p, n);
	*to += n;
}

static void dd_udp_put_words(void *arg, const u8 *p, u32 n)
{
	u8 **to = arg;

	dd_copy_words(*to, p, n);
	*to += n;
}

static void dd_udp_sum(void *arg, const u8 *p, u32 n)
{
	u32 *crc = arg;

	*crc = crc32c(*crc, p, n);
}

/* ---- payload --------------------------------------------------------------- */

static void dd_udp_seek(struct dd_udp_payload *payload, u32 off)
{
	if (off < payload->off) {
		payload->at = payload->start;
		payload->off = 0;
	}
	dd_udp_walk(&payload->at, off - payload->off, dd_udp_pass, NULL);
	payload->off = off;
}

static void dd_udp_copied(struct dd_udp_peer *link, u32 len)
{
	link->stats.rx_copied += len;
	if (likely(in_serving_softirq()))
		link->stats.rx_softirq++;
	else
		link->stats.rx_process++;
}

/**
 * dd_udp_copy() - deposit bytes that have come
 * @link: the link they came by, locked
 * @payload: what deposit() was given
 * @off: where in it; with @len within what deposit() was told
 * @dst: kernel address of wired memory
 * @len: bytes
 *
 * Aligned words are stored as such, in ascending order.
 */
void dd_udp_copy(struct dd_udp_peer *link, struct dd_udp_payload *payload,
		 u32 off, void *dst, u32 len)
{
	u8 *to = dst;

	lockdep_assert_held(&link->lock);
	if (unlikely(off != payload->off))
		dd_udp_seek(payload, off);
	dd_udp_walk(&payload->at, len, dd_udp_put_words, &to);
	payload->off += len;
	dd_udp_copied(link, len);
}

/*
 * The same as dd_udp_step(), where the next fragment is not the last one; but that
 * may be empty. What is at @c may be in registers.
 */
static __always_inline bool dd_udp_step_fast(struct dd_udp_cursor *c)
{
	struct dd_udp_cursor slow __uninitialized;
	bool ok;

	if (likely(c->frag != c->end)) {
		c->p = skb_frag_address(c->frag);
		c->left = skb_frag_size(c->frag);
		c->frag++;
		return true;
	}
	slow = *c;
	ok = dd_udp_step(&slow);
	*c = slow;
	return ok;
}

/* Whether the next packet belongs to the run; then its payload is next. */
static __always_inline bool dd_udp_run_takes(struct dd_udp_cursor *c,
					     struct dd_tp_run *run)
{
	if (!c->left && !dd_udp_step_fast(c))
		return false;
	if (c->left < sizeof(run->next) ||
	    !dd_tp_run_takes(run, (const void *)c->p))
		return false;
	c->p += sizeof(run->next);
	c->left -= sizeof(run->next);
	return true;
}

/**
 * struct dd_udp_sink - where the payloads of a run go
 * @to: where the next byte goes
 * @room: bytes there, in one piece
 * @pages: addresses of the pages after that
 */
struct dd_udp_sink {
	u8 *to;
	u32 room;
	void **pages;
};

/* Go to byte @at of the next page. */
static void dd_udp_sink_at(struct dd_udp_sink *s, u32 at)
{
	s->to = *s->pages + at;
	s->room = dd_page_left(s->to);
	s->pages += (at + s->room) >> PAGE_SHIFT;
}

/* A payload that is not in one piece there or here; @c is at no header. */
static void dd_udp_store_parts(struct dd_udp_cursor *c, struct dd_udp_sink *s,
			       u32 len)
{
	u32 n;

	for (; len; len -= n) {
		/* If there is none, the skb lies about its length. */
		if (!c->left && !dd_udp_step(c))
			return;
		if (!s->room)
			dd_udp_sink_at(s, 0);
		n = min3(len, c->left, s->room);
		dd_copy_words(s->to, c->p, n);
		c->p += n;
		c->left -= n;
		s->to += n;
		s->room -= n;
	}
}

/* As dd_copy_words() does it, since both are whole words. */
static __always_inline void dd_udp_store(struct dd_udp_cursor *c,
					 struct dd_udp_sink *s, u32 len)
{
	struct dd_udp_cursor slow __uninitialized;
	struct dd_udp_sink to __uninitialized;

	if (likely((c->left || dd_udp_step_fast(c)) && c->left >= len &&
		   s->room >= len && len >= DD_COPY_BULK)) {
		memcpy(s->to, c->p, len);
		c->p += len;
		c->left -= len;
		s->to += len;
		s->room -= len;
		return;
	}
	slow = *c;
	to = *s;
	dd_udp_store_parts(&slow, &to, len);
	*c = slow;
	*s = to;
}

/**
 * dd_udp_copy_run() - deposit bytes of packets that have come one after the other
 * @link: the link they came by, locked
 * @payload: what deposit_run() was given
 * @run: what deposit_run() was given
 * @pages: kernel addresses of wired pages, enough for all of the run
 * @at: offset in the first of them
 *
 * Stored as by dd_udp_copy().
 *
 * Return: bytes stored.
 */
u32 dd_udp_copy_run(struct dd_udp_peer *link, struct dd_udp_payload *payload,
		    struct dd_tp_run *run, void **pages, u32 at)
{
	struct dd_udp_cursor c = payload->at;
	struct dd_udp_sink s = { .pages = pages };
	u32 n;

	lockdep_assert_held(&link->lock);
	dd_udp_sink_at(&s, at);
	while (dd_udp_run_takes(&c, run))
		dd_udp_store(&c, &s, run->plen);
	payload->at = c;
	n = run->count * run->plen;
	dd_udp_copied(link, n);
	return n;
}

/* As struct dd_tp_ops has it. */
void dd_udp_peek(struct dd_udp_payload *payload, u32 off, void *buf, u32 len)
{
	struct dd_udp_cursor *c = &payload->at;
	u8 *to = buf;

	if (unlikely(off != payload->off))
		dd_udp_seek(payload, off);
	payload->off += len;
	/* The last word of a message, most often. */
	if (likely(len == 8 && c->left >= 8)) {
		memcpy(buf, c->p, 8);
		c->p += 8;
		c->left -= 8;
		return;
	}
	dd_udp_walk(c, len, dd_udp_get, &to);
}

/* As struct dd_tp_ops has it. */
u32 dd_udp_payload_crc(struct dd_udp_payload *payload, u32 len, u32 crc)
{
	struct dd_udp_cursor c = payload->start;

	dd_udp_walk(&c, len, dd_udp_sum, &crc);
	return crc;
}

/* ---- packets --------------------------------------------------------------- */

/*
 * The header of a datagram of @len bytes at @c, in one piece: copied to @buf if
 * it is not. NULL if there is none. @c is behind it then.
 */
static const u8 *dd_udp_header(struct dd_udp_cursor *c, u8 *buf, u32 len,
			       u32 *hlen)
{
	u32 avail = min_t(u32, len, sizeof(struct dd_wire_hdr));
	struct dd_udp_cursor rest;
	const u8 *p = c->p;
	u8 *to = buf;
	int n;

	if (unlikely(c->left < avail)) {
		rest = *c;
		if (!dd_udp_walk(&rest, avail, dd_udp_get, &to))
			return NULL;
		p = buf;
	}
	n = dd_wire_hlen(p, avail, len);
	if (unlikely(n < 0))
		return NULL;
	*hlen = n;
	if (likely(c->left >= n)) {
		c->p += n;
		c->left -= n;
		return p;
	}
	to = buf;
	return dd_udp_walk(c, n, dd_udp_get, &to) ? buf : NULL;
}

/*
 * A datagram of @len bytes at @payload->at, which moves behind it: false if it
 * cannot.
 */
static bool dd_udp_packet(struct dd_udp_peer *link, u64 now,
			  struct dd_udp_payload *payload, u32 len)
{
	struct dd_udp_cursor *c = &payload->at;
	const void *hdr;
	u32 hlen;

	if (!c->left && !dd_udp_step(c))
		return false;
	hdr = dd_udp_header(c, link->rx_hdr, len, &hlen);
	if (unlikely(!hdr)) {
		link->tp.stats.drops[DD_TP_DROP_FORMAT]++;
		return dd_udp_walk(c, len, dd_udp_pass, NULL);
	}
	payload->start = *c;
	payload->off = 0;
	len -= hlen;
	/* Who sent it may still write to pages of fragments. */
	if (c->frag != c->first && hdr != link->rx_hdr)
		hdr = memcpy(link->rx_hdr, hdr, hlen);
	dd_tp_rx(&link->tp, now, hdr, hlen, payload, len);
	/* As a rule all has been read, in order. */
	return likely(payload->off == len) ||
	       dd_udp_walk(c, len - payload->off, dd_udp_pass, NULL);
}

/*
 * The address that a packet was sent to becomes @home: true if that changes. A
 * packet that its sender cannot have made without a secret shows by what address the
 * peer knows us; of any other one only the answer comes from there.
 */
static bool dd_udp_heard(union dd_udp_home *home, const struct sk_buff *skb)
{
	if (skb->protocol == htons(ETH_P_IP)) {
		__be32 to = ip_hdr(skb)->daddr;

		if (likely(home->ip4 == to) || ipv4_is_multicast(to) ||
		    ipv4_is_lbcast(to))
			return false;
		home->ip4 = to;
	} else {
		const struct in6_addr *to = &ipv6_hdr(skb)->daddr;

		if (likely(ipv6_addr_equal(&home->ip6, to)) ||
		    ipv6_addr_is_multicast(to))
			return false;
		home->ip6 = *to;
	}
	return true;
}

/*
 * Packets at the beginning of the @left bytes at @payload->at, each of @seg
 * bytes but perhaps the last one: how many bytes were taken, 0 if that is over.
 */
static u32 dd_udp_packets(struct dd_udp_peer *link, u64 now,
			  struct dd_udp_payload *payload, u32 left, u32 seg)
{
	u32 n = min(left, seg), taken;

	taken = dd_tp_rx_run(&link->tp, now, n, left / n, payload);
	if (taken) {
		link->stats.rx_packets += taken;
		return taken * n;
	}
	link->stats.rx_packets++;
	return dd_udp_packet(link, now, payload, n) ? n : 0;
}

/* All of an skb, whose sender is known. */
static void dd_udp_take(struct dd_udp_node *un, struct dd_udp_peer *link,
			struct sk_buff *skb)
{
	u32 seg = skb_shinfo(skb)->gso_size ?: skb->len;
	struct dd_udp_payload payload;
	u64 now, packets;
	u32 left, n = 0;

	dd_udp_lock(link);
	now = ktime_get_ns();
	packets = link->tp.stats.rx_packets;
	if (likely(!link->dead)) {
		link->tp.tracing = dd_udp_tracing();
		link->stats.rx_skbs++;
		/* Who is down takes no deposits, and keeps his sessions. */
		link->tp.hold = !READ_ONCE(un->node->up);
		dd_udp_first(&payload.at, skb);
		if (unlikely(!skb->len)) {
			link->stats.rx_packets++;
			link->tp.stats.drops[DD_TP_DROP_FORMAT]++;
		}
		for (left = skb->len; left; left -= n) {
			dd_udp_show(link);
			n = dd_udp_packets(link, now, &payload, left, seg);
			if (!n)
				break;
		}
		if (likely(link->tp.stats.rx_packets != packets)) {
			link->moved |= dd_udp_heard(&link->home, skb);
		} else if (link->tp.proved) {
			link->moved |= dd_udp_heard(&link->home, skb);
			link->answer = (union dd_udp_home){};
		} else if (link->tp.reply_len) {
			dd_udp_heard(&link->answer, skb);
		}
		link->tp.proved = false;
	}
	/* It ended with a run: there is a message in progress. */
	if (n > seg && n >= DD_UDP_BULK &&
	    link->tp.ack_bytes < DD_UDP_UNACKED)
		dd_udp_unlock_later(link);
	else
		dd_udp_unlock_at(link, now);
}

/* ---- who sent it ----------------------------------------------------------- */

/* Where a peer with this address is. */
struct hlist_head *dd_udp_bucket(struct dd_udp_node *un,
				 const union dd_peer_addr *addr)
{
	u32 hash;

	if (addr->sa.sa_family == AF_INET)
		hash = hash_64((u64)(__force u32)addr->in.sin_addr.s_addr << 16 ^
			       (__force u16)addr->in.sin_port ^ un->seed, 32);
	else
		hash = jhash2((const u32 *)addr->in6.sin6_addr.s6_addr32, 4,
			      un->seed ^ (__force u32)addr->in6.sin6_port);
	return &un->peers[hash % DD_UDP_HASH];
}

/* Whether two addresses are the same; the scope counts where there is one. */
bool dd_udp_same(const union dd_peer_addr *a, const union dd_peer_addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr &&
		       a->in.sin_port == b->in.sin_port;
	return ipv6_addr_equal(&a->in6.sin6_addr, &b->in6.sin6_addr) &&
	       a->in6.sin6_port == b->in6.sin6_port &&
	       a->in6.sin6_scope_id == b->in6.sin6_scope_id;
}

static void dd_udp_sender(const struct sk_buff *skb, union dd_peer_addr *addr)
{
	if (skb->protocol == htons(ETH_P_IP)) {
		addr->in.sin_family = AF_INET;
		addr->in.sin_addr.s_addr = ip_hdr(skb)->saddr;
		addr->in.sin_port = udp_hdr(skb)->source;
		return;
	}
	addr->in6.sin6_family = AF_INET6;
	addr->in6.sin6_addr = ipv6_hdr(skb)->saddr;
	addr->in6.sin6_port = udp_hdr(skb)->source;
	addr->in6.sin6_scope_id =
		ipv6_iface_scope_id(&addr->in6.sin6_addr, inet6_iif(skb));
}

static struct dd_udp_peer *dd_udp_find(struct dd_udp_node *un,
				       const struct sk_buff *skb)
{
	struct dd_udp_peer *link;
	union dd_peer_addr addr;

	dd_udp_sender(skb, &addr);
	hlist_for_each_entry_rcu(link, dd_udp_bucket(un, &addr), entry)
		if (dd_udp_same(&link->addr, &addr))
			return link;
	return NULL;
}

static void dd_udp_receive(struct dd_udp_node *un, struct sk_buff *skb)
{
	struct dd_udp_peer *link = dd_udp_find(un, skb);

	if (likely(link))
		dd_udp_take(un, link, skb);
	else
		dd_stat_inc(un->node, DD_STAT_STRANGERS);
}

static bool dd_udp_drained(const struct sock *sk)
{
	return skb_queue_empty_lockless(&sk->sk_receive_queue) &&
	       skb_queue_empty_lockless(&udp_sk(sk)->reader_queue);
}

/*
 * Count what the socket has dropped, as @stat: what it had no room for, or, where it
 * does not queue, what was damaged. The former was when it was full, so somebody takes
 * something out after it, and ends here.
 */
static void dd_udp_count_drops(struct dd_udp_node *un, const struct sock *sk,
			       enum dd_stat stat)
{
	atomic_t *counted = &un->drops[sk->sk_family == AF_INET6];
	int drops = atomic_read(&sk->sk_drops), was = atomic_read(counted);

	/* Of several who see it, one counts; who has looked earlier does not. */
	if (unlikely(drops - was > 0) &&
	    atomic_cmpxchg(counted, was, drops) == was)
		dd_stat_add(un->node, stat, drops - was);
}

/* Copies of an skb that are no clones of it have its list's members in common. */
static bool dd_udp_list_is_ours(const struct sk_buff *skb)
{
	const struct sk_buff *member = skb_shinfo(skb)->frag_list;

	while (member && !skb_shared(member))
		member = member->next;
	return !member;
}

/*
 * Give back an skb to where senders take theirs from, which is to be had by its
 * processor only: bottom halves are disabled.
 */
static void dd_udp_consume(struct sk_buff *skb)
{
	struct sk_buff *member = NULL, *next;

	/* Of a clone the data, of which the list is a part, are another's, too. */
	if (!skb_shared(skb) && !skb_cloned(skb) && dd_udp_list_is_ours(skb)) {
		member = skb_shinfo(skb)->frag_list;
		skb_frag_list_init(skb);
	}
	napi_consume_skb(skb, 1);
	for (; member; member = next) {
		next = member->next;
		skb_mark_not_on_list(member);
		napi_consume_skb(member, 1);
	}
}

/*
 * While packets come one by one, the socket is a tunnel's: they are handed to it
 * without being queued and charged for. But bursts would be cut up before: the first
 * part of one ends that, and nothing else follows another skb.
 */
static int dd_udp_tunnel(struct sock *sk, struct sk_buff *skb)
{
	struct dd_udp_node *un = rcu_dereference_sk_user_data(sk);

	if (unlikely(!un))
		return 1;
	dd_udp_count_drops(un, sk, DD_STAT_BAD_SUMS);
	if (unlikely(skb->next || !READ_ONCE(rx_budget))) {
		WRITE_ONCE(un->burst[sk->sk_family == AF_INET6], jiffies);
		WRITE_ONCE(udp_sk(sk)->encap_rcv, NULL);
		return 1;
	}
	__skb_pull(skb, sizeof(struct udphdr));
	dd_udp_receive(un, skb);
	dd_udp_consume(skb);
	return 0;
}

/* @skb was queued: whether those after it need to be. */
static void dd_udp_tell(struct dd_udp_node *un, struct sock *sk,
			const struct sk_buff *skb)
{
	unsigned long *burst = &un->burst[sk->sk_family == AF_INET6];

	if (skb_is_gso(skb))
		WRITE_ONCE(*burst, jiffies);
	else if (time_after(jiffies, READ_ONCE(*burst) + DD_UDP_BURSTS) &&
		 READ_ONCE(rx_budget))
		WRITE_ONCE(udp_sk(sk)->encap_rcv, dd_udp_tunnel);
}

/* Take out what is there: false if that is more than @left skbs. */
static bool dd_udp_empty(struct dd_udp_node *un, struct sock *sk,
			 unsigned int left)
{
	struct sk_buff *skb;
	int off, err;

	/* Who adds something after this has looked comes here himself. */
	while (!dd_udp_drained(sk)) {
		if (!left--)
			return false;
		off = 0;
		skb = __skb_recv_udp(sk, MSG_DONTWAIT, &off, &err);
		/* None: others have it, or ICMP told of what the route knows. */
		if (!skb)
			continue;
		dd_udp_tell(un, sk, skb);
		if (likely(!udp_lib_checksum_complete(skb)))
			dd_udp_receive(un, skb);
		else
			dd_stat_inc(un->node, DD_STAT_BAD_SUMS);
		dd_udp_consume(skb);
	}
	dd_udp_count_drops(un, sk, DD_STAT_NO_ROOM);
	return true;
}

/**
 * dd_udp_ready() - sk_data_ready() of our sockets: there is something
 * @sk: the socket
 *
 * Everything is taken out, if need be by a worker: once the queue is full we
 * are not called any more. What it holds on the way is bounded by sk_rcvbuf.
 * Others may be at work on other CPUs; the order between theirs and ours is not
 * kept.
 */
void dd_udp_ready(struct sock *sk)
{
	struct dd_udp_node *un;

	rcu_read_lock();
	un = rcu_dereference_sk_user_data(sk);
	/* None: it is being closed. */
	if (likely(un) &&
	    unlikely(!dd_udp_empty(un, sk, READ_ONCE(rx_budget))))
		queue_work(dd_wq, &un->drain[sk->sk_family == AF_INET6]);
	rcu_read_unlock();
}

/**
 * dd_udp_drain() - take from a socket what is there, in process context
 * @un: the node
 * @family: which of its sockets
 *
 * So much at a time; for the rest the worker runs again, unless it is cancelled.
 */
void dd_udp_drain(struct dd_udp_node *un, int family)
{
	bool done;

	local_bh_disable();
	done = dd_udp_empty(un, un->sock[family]->sk, DD_UDP_BUDGET);
	local_bh_enable();
	/* Not here: under a flood there is no end, and somebody may wait for ours. */
	if (!done)
		queue_work(dd_wq, &un->drain[family]);
}
