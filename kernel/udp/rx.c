// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receiving: the socket is drained in softirq, on the CPU that received the packets,
 * and payload is copied once, to its destination.
 *
 * An skb holds one packet or, with GSO or GRO, many of the same size. The data may be
 * in the linear part, in fragments and in a fragment list; the code relies only on
 * the order of the bytes.
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

#include "compat/compat.h"
#include "compat/udp.h"
#include "core/copy.h"
#include "core/ctx.h"
#include "core/node.h"
#include "core/page.h"
#include "transport/batch.h"
#include "transport/rx.h"
#include "udp/rx.h"
#include "udp/tx.h"

#define DD_UDP_BUDGET	1024	/* skbs taken from a socket in a row */
#define DD_UDP_BULK	16384	/* bytes in an skb that indicate a stream */
#define DD_UDP_UNACKED	524288	/* bytes after which an acknowledgment is sent */
#define DD_UDP_BURSTS	(HZ / 50)	/* time after a burst to expect more bursts */

static unsigned int rx_budget = DD_UDP_BUDGET;
module_param(rx_budget, uint, 0644);
MODULE_PARM_DESC(rx_budget,
		 "skbs that a softirq takes from a socket before it defers to a worker");

/* Go to the beginning of an skb or of a member of its fragment list. */
static void dd_udp_enter(struct dd_udp_cursor *c, struct sk_buff *skb)
{
	const struct skb_shared_info *shared = skb_shinfo(skb);

	c->frag = shared->frags;
	c->end = shared->frags + shared->nr_frags;
	c->p = skb->data;
	c->left = skb_headlen(skb);
}

/* Go to the next contiguous part; false if there is none. */
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
 * Call @fn for the next @len bytes, for each contiguous part. The caller has checked
 * @len against skb->len; false means that the skb is inconsistent.
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

/* The transport passes payloads through unread; reading one moves its cursor. */
static struct dd_udp_payload *dd_udp_payload_of(const void *data)
{
	return (struct dd_udp_payload *)data;
}

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
 * dd_udp_copy() - copy received bytes to wired memory
 * @link: link of the sender, locked
 * @data: payload passed to deposit()
 * @off: offset in the payload
 * @dst: kernel address of wired memory
 * @len: bytes; @off + @len is within the range passed to deposit()
 *
 * Stores aligned words, in ascending order.
 */
void dd_udp_copy(struct dd_udp_peer *link, const void *data, u32 off, void *dst, u32 len)
{
	struct dd_udp_payload *payload = dd_udp_payload_of(data);
	u8 *to = dst;

	lockdep_assert_held(&link->lock);
	if (unlikely(off != payload->off))
		dd_udp_seek(payload, off);
	dd_udp_walk(&payload->at, len, dd_udp_put_words, &to);
	payload->off += len;
	dd_udp_copied(link, len);
}

/*
 * Like dd_udp_step() for the common case that the current skb has another fragment;
 * the fragment may be empty. @c is copied to call the slow path, so that it can be
 * kept in registers.
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

/* Whether the next packet belongs to the batch; if so, skip its header. */
static __always_inline bool dd_udp_batch_accepts(struct dd_udp_cursor *c,
						 struct dd_tp_rx_batch *batch)
{
	if (!c->left && !dd_udp_step_fast(c))
		return false;
	if (c->left < sizeof(batch->next) ||
	    !dd_tp_rx_batch_accepts(batch, (const void *)c->p))
		return false;
	c->p += sizeof(batch->next);
	c->left -= sizeof(batch->next);
	return true;
}

/**
 * struct dd_udp_sink - destination of the payloads of a batch
 * @to: next byte
 * @space: contiguous bytes at @to
 * @pages: addresses of the following pages
 * @single: these may be parts of compound pages, each of another one
 */
struct dd_udp_sink {
	u8 *to;
	u32 space;
	void **pages;
	bool single;
};

/* Go to byte @at of the next page. */
static void dd_udp_sink_at(struct dd_udp_sink *s, u32 at)
{
	s->to = *s->pages + at;
	s->space = unlikely(s->single) ? PAGE_SIZE - offset_in_page(s->to) :
					dd_page_left(s->to);
	s->pages += (at + s->space) >> PAGE_SHIFT;
}

/* Store a payload that is not contiguous at its source or destination. */
static void dd_udp_store_parts(struct dd_udp_cursor *c, struct dd_udp_sink *s, u32 len)
{
	u32 n;

	for (; len; len -= n) {
		/* Fewer bytes than skb->len: the skb is inconsistent. */
		if (!c->left && !dd_udp_step(c))
			return;
		if (!s->space)
			dd_udp_sink_at(s, 0);
		n = min3(len, c->left, s->space);
		dd_copy_words(s->to, c->p, n);
		c->p += n;
		c->left -= n;
		s->to += n;
		s->space -= n;
	}
}

/* Store a payload, which is whole words; a segment may begin at an odd multiple of 4. */
static __always_inline void dd_udp_store(struct dd_udp_cursor *c,
					 struct dd_udp_sink *s, u32 len)
{
	struct dd_udp_cursor slow __uninitialized;
	struct dd_udp_sink to __uninitialized;

	if (likely((c->left || dd_udp_step_fast(c)) && c->left >= len &&
		   s->space >= len && IS_ALIGNED((unsigned long)s->to, 8))) {
		dd_copy_bulk((u64 *)s->to, (const u64 *)c->p, len);
		c->p += len;
		c->left -= len;
		s->to += len;
		s->space -= len;
		return;
	}
	slow = *c;
	to = *s;
	dd_udp_store_parts(&slow, &to, len);
	*c = slow;
	*s = to;
}

/**
 * dd_udp_copy_batch() - copy the payloads of a batch to wired memory
 * @link: link of the sender, locked
 * @data: payload passed to deposit_batch()
 * @batch: batch passed to deposit_batch()
 * @pages: kernel addresses of wired pages, enough for the whole batch
 * @at: offset in the first page
 * @single: the pages may be parts of compound pages, each of another one
 *
 * Stores aligned words, in ascending order.
 *
 * Return: bytes stored.
 */
u32 dd_udp_copy_batch(struct dd_udp_peer *link, const void *data,
		      struct dd_tp_rx_batch *batch, void **pages, u32 at, bool single)
{
	struct dd_udp_payload *payload = dd_udp_payload_of(data);
	struct dd_udp_cursor c = payload->at;
	struct dd_udp_sink s = { .pages = pages, .single = single };
	u32 n;

	lockdep_assert_held(&link->lock);
	dd_udp_sink_at(&s, at);
	while (dd_udp_batch_accepts(&c, batch))
		dd_udp_store(&c, &s, batch->plen);
	payload->at = c;
	n = batch->count * batch->plen;
	dd_udp_copied(link, n);
	return n;
}

void dd_udp_tp_peek(struct dd_tp *tp, const void *data, u32 off, void *buf, u32 len)
{
	struct dd_udp_payload *payload = dd_udp_payload_of(data);
	struct dd_udp_cursor *c = &payload->at;
	u8 *to = buf;

	if (unlikely(off != payload->off))
		dd_udp_seek(payload, off);
	payload->off += len;
	/* Common case: the last word of a message. */
	if (likely(len == 8 && c->left >= 8)) {
		memcpy(buf, c->p, 8);
		c->p += 8;
		c->left -= 8;
		return;
	}
	/* In words: the pages of the sender may be stored to meanwhile. */
	dd_udp_walk(c, len, dd_udp_put_words, &to);
}

u32 dd_udp_tp_crc(struct dd_tp *tp, const void *data, u32 len, u32 crc)
{
	struct dd_udp_cursor c = dd_udp_payload_of(data)->start;

	dd_udp_walk(&c, len, dd_udp_sum, &crc);
	return crc;
}

/*
 * Read the header of a datagram of @len bytes and advance @c behind it. Returns its
 * address, in @buf if it is not contiguous in the skb, or NULL if it is malformed.
 */
static const u8 *dd_udp_header(struct dd_udp_cursor *c, u8 *buf, u32 len, u32 *hlen)
{
	u32 avail = min_t(u32, len, sizeof(struct dd_wire_hdr));
	struct dd_udp_cursor rest __uninitialized;
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
 * Process a datagram of @len bytes at @payload->at and advance behind it; false if
 * the skb has fewer bytes.
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
		/* The sender on this node may still write to pages of fragments. */
	if (c->frag != c->first && hdr != link->rx_hdr)
		hdr = memcpy(link->rx_hdr, hdr, hlen);
	dd_tp_rx(&link->tp, now, hdr, hlen, payload, len);
	/* Common case: the payload was read completely and in order. */
	return likely(payload->off == len) ||
	       dd_udp_walk(c, len - payload->off, dd_udp_pass, NULL);
}

/*
 * Set @local to the destination address of a packet; true if it changed. A packet that
 * proves knowledge of a secret shows by which address the peer knows this node. For
 * any other packet the address is used only for the reply.
 */
static bool dd_udp_update_local_addr(union dd_udp_local *local, const struct sk_buff *skb)
{
	if (skb->protocol == htons(ETH_P_IP)) {
		__be32 to = ip_hdr(skb)->daddr;

		if (likely(local->ip4 == to) || ipv4_is_multicast(to) ||
		    ipv4_is_lbcast(to))
			return false;
		local->ip4 = to;
	} else {
		const struct in6_addr *to = &ipv6_hdr(skb)->daddr;

		if (likely(ipv6_addr_equal(&local->ip6, to)) ||
		    ipv6_addr_is_multicast(to))
			return false;
		local->ip6 = *to;
	}
	return true;
}

/* Process an skb whose sender is a configured peer. */
static void dd_udp_receive_skb(struct dd_udp_node *un, struct dd_udp_peer *link,
			       struct sk_buff *skb)
{
	u32 seg = skb_shinfo(skb)->gso_size ?: skb->len;
	struct dd_udp_payload payload __uninitialized;
	u32 left, len, taken, n = 0;
	u64 now, packets;

	dd_udp_lock(link);
	now = ktime_get_ns();
	packets = link->tp.stats.rx_packets;
	if (likely(!link->dead)) {
		link->tp.tracing = dd_udp_tracing();
		link->stats.rx_skbs++;
		/* While the node is down it drops messages and keeps its sessions. */
		link->tp.hold = !READ_ONCE(un->node->up);
		dd_udp_enter(&payload.at, skb);
		payload.at.next = skb_shinfo(skb)->frag_list;
		payload.at.first = payload.at.frag;
		if (unlikely(!skb->len)) {
			link->stats.rx_packets++;
			link->tp.stats.drops[DD_TP_DROP_FORMAT]++;
		}
		for (left = skb->len; left; left -= n) {
			dd_udp_post(link);
			/* All packets have @seg bytes, except possibly the last one. */
			len = min(left, seg);
			taken = dd_tp_rx_batch(&link->tp, now, len, left / len, &payload);
			link->stats.rx_packets += taken ?: 1;
			n = taken * len;
			if (taken)
				continue;
			if (!dd_udp_packet(link, now, &payload, len))
				break;
			n = len;
		}
		if (likely(link->tp.stats.rx_packets != packets)) {
			link->moved |= dd_udp_update_local_addr(&link->local_addr, skb);
		} else if (link->tp.proved) {
			link->moved |= dd_udp_update_local_addr(&link->local_addr, skb);
			link->reply_addr = (union dd_udp_local){};
		} else if (link->tp.reply_len) {
			dd_udp_update_local_addr(&link->reply_addr, skb);
		}
		link->tp.proved = false;
	}
	/* Ended with a batch in a stream: defer sending, more is likely to come. */
	if (n > seg && n >= DD_UDP_BULK && link->tp.ack_bytes < DD_UDP_UNACKED)
		dd_udp_unlock_later(link);
	else
		dd_udp_unlock_at(link, now);
}

/* Hash bucket of an address. */
struct hlist_head *dd_udp_bucket(struct dd_udp_node *un, const union dd_peer_addr *addr)
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

/* Whether two addresses are equal; scope ids are compared for IPv6. */
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

static void dd_udp_receive(struct dd_udp_node *un, struct sk_buff *skb)
{
	struct dd_udp_peer *link;
	union dd_peer_addr addr;

	if (skb->protocol == htons(ETH_P_IP)) {
		addr.in.sin_family = AF_INET;
		addr.in.sin_addr.s_addr = ip_hdr(skb)->saddr;
		addr.in.sin_port = udp_hdr(skb)->source;
	} else {
		addr.in6.sin6_family = AF_INET6;
		addr.in6.sin6_addr = ipv6_hdr(skb)->saddr;
		addr.in6.sin6_port = udp_hdr(skb)->source;
		addr.in6.sin6_scope_id =
			ipv6_iface_scope_id(&addr.in6.sin6_addr, inet6_iif(skb));
	}
	hlist_for_each_entry_rcu(link, dd_udp_bucket(un, &addr), entry) {
		if (dd_udp_same(&link->addr, &addr)) {
			dd_udp_receive_skb(un, link, skb);
			return;
		}
	}
	dd_stat_inc(un->node, DD_STAT_UNKNOWN_PEER);
}

static bool dd_udp_drained(const struct sock *sk)
{
	return skb_queue_empty_lockless(&sk->sk_receive_queue) &&
	       skb_queue_empty_lockless(&udp_sk(sk)->reader_queue);
}

/*
 * Add the packets that the socket dropped to @stat: with queueing, skbs that
 * exceeded the receive buffer; with encap_rcv, skbs with a bad checksum. After a drop
 * for lack of space, some context dequeues skbs and calls this function.
 */
static void dd_udp_count_drops(struct dd_udp_node *un, const struct sock *sk,
			       enum dd_stat stat)
{
	atomic_t *counted = &un->drops[sk->sk_family == AF_INET6];
	int drops = sk_drops_read(sk), was = atomic_read(counted);

	/* cmpxchg: of several CPUs that see an increase, only one accounts it. */
	if (unlikely(drops - was > 0) && atomic_cmpxchg(counted, was, drops) == was)
		dd_stat_add(un->node, stat, drops - was);
}

/*
 * Free an skb to the per-CPU cache from which transmitted skbs are allocated. Requires
 * disabled bottom halves.
 */
static void dd_udp_consume(struct sk_buff *skb)
{
	struct sk_buff *member = NULL, *next;

	/* The data of a clone, including the fragment list, is shared. */
	if (!skb_shared(skb) && !skb_cloned(skb)) {
		/* Copies made by pskb_copy() and its like share the members. */
		for (next = skb_shinfo(skb)->frag_list; next && !skb_shared(next);)
			next = next->next;
		if (!next) {
			member = skb_shinfo(skb)->frag_list;
			skb_frag_list_init(skb);
		}
	}
	napi_consume_skb(skb, 1);
	for (; member; member = next) {
		next = member->next;
		skb_mark_not_on_list(member);
		napi_consume_skb(member, 1);
	}
}

/*
 * encap_rcv() of the socket while packets arrive one by one: it receives them without
 * queueing and memory accounting. GSO skbs would be segmented before this call, so
 * the first segment of one switches back to queueing; nothing else has skb->next.
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

/* Empty the socket; false if it held more than @left skbs. */
static bool dd_udp_empty(struct dd_udp_node *un, struct sock *sk, unsigned int left)
{
	unsigned long *burst = &un->burst[sk->sk_family == AF_INET6];
	struct sk_buff *skb;
	int off, err;

	/* An skb queued after this check causes another sk_data_ready(). */
	while (!dd_udp_drained(sk)) {
		if (!left--)
			return false;
		off = 0;
		skb = __skb_recv_udp(sk, MSG_DONTWAIT, &off, &err);
		/* Another CPU took it, or it was an ICMP error. */
		if (!skb)
			continue;
		/* Switch to encap_rcv if there was no burst for some time. */
		if (skb_is_gso(skb))
			WRITE_ONCE(*burst, jiffies);
		else if (time_after(jiffies, READ_ONCE(*burst) + DD_UDP_BURSTS) &&
			 READ_ONCE(rx_budget))
			WRITE_ONCE(udp_sk(sk)->encap_rcv, dd_udp_tunnel);
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
 * dd_udp_ready() - sk_data_ready() of the sockets
 * @sk: the socket
 *
 * Empties the queue, with the help of a worker if necessary, because the callback is
 * not called any more once the queue is full. sk_rcvbuf bounds the memory. Several
 * CPUs may do this at once; packets may then be reordered.
 */
void dd_udp_ready(struct sock *sk)
{
	struct dd_udp_node *un;

	rcu_read_lock();
	un = rcu_dereference_sk_user_data(sk);
	/* NULL: the socket is being closed. */
	if (likely(un) && unlikely(!dd_udp_empty(un, sk, READ_ONCE(rx_budget))))
		queue_work(dd_wq, &un->drain[sk->sk_family == AF_INET6]);
	rcu_read_unlock();
}

/**
 * dd_udp_drain() - empty a socket in process context
 * @un: the node
 * @family: index of the socket
 *
 * Handles up to DD_UDP_BUDGET skbs and requeues the work for the rest, unless it is
 * being cancelled.
 */
void dd_udp_drain(struct dd_udp_node *un, int family)
{
	bool done;

	local_bh_disable();
	done = dd_udp_empty(un, un->sock[family]->sk, DD_UDP_BUDGET);
	local_bh_enable();
	/* No loop here: cancel_work_sync() must not wait for the end of a flood. */
	if (!done)
		queue_work(dd_wq, &un->drain[family]);
}
