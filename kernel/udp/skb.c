// SPDX-License-Identifier: GPL-2.0-only
/*
 * Building skbs for transmission.
 *
 * Payload is not copied, unless it is covered by a checksum, retransmitted, or a reply: the
 * fragments of an skb are the pages of the source, with a reference each. Packets of
 * the same size (the last may be shorter) share one GSO skb. The first header is in
 * its linear part. The others are in fragments between those of the payload.
 * Fragments that exceed MAX_SKB_FRAGS are in further skbs in the fragment list, which
 * have no linear part.
 *
 * References to a page are taken for many fragments at once, which is safe because no
 * other context sees an skb before its burst is complete.
 */
#include <linux/crc32c.h>
#include <linux/udp.h>
#include <net/ip.h>

#include "core/copy.h"
#include "udp/skb.h"

#define DD_UDP_SKB_MAX	65000	/* bytes of UDP payload in an skb */
#define DD_UDP_SKB_SEGS	60	/* packets in an skb, below the limit of GSO */
#define DD_UDP_HDRS_ORDER	1	/* preferred order of pages for headers */
#define DD_UDP_HDRS_GFP							\
	(GFP_ATOMIC | __GFP_COMP | __GFP_NORETRY | __GFP_NOWARN)

#define DD_UDP_COPY_GFP	(GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN)

/* Bytes of a reply copied at once: two such copies and some linear parts fill 32 KiB of a cache. */
#define DD_UDP_COPY_MAX	15360u

#define DD_UDP_HEADROOM							\
	(LL_MAX_HEADER + sizeof(struct ipv6hdr) + sizeof(struct udphdr) + 16)

/**
 * dd_udp_close() - complete the current skb
 * @b: the burst
 *
 * Sets the GSO fields.
 */
void dd_udp_close(struct dd_udp_burst *b)
{
	struct sk_buff *skb = b->skb;

	b->skb = NULL;
	if (!skb || b->segs == 1)
		return;
	skb_shinfo(skb)->gso_size = b->seg;
	skb_shinfo(skb)->gso_segs = b->segs;
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	/* udp_tunnel6_xmit_skb() leaves this to its caller and pushes the UDP header. */
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_headroom(skb) - sizeof(struct udphdr);
	skb->csum_offset = offsetof(struct udphdr, check);
}

/* How many of @most packets of @len bytes fit into the current skb. */
static u32 dd_udp_fit(const struct dd_udp_peer *link,
		      const struct dd_udp_burst *b, u32 len, u32 most)
{
	u32 left;

	if (!b->skb || !link->gso || len > b->seg || b->skb->len != b->segs * b->seg)
		return 0;
	left = DD_UDP_SKB_MAX - min(b->skb->len, DD_UDP_SKB_MAX + 0u);
	/* A shorter packet must be the last one of an skb. */
	most = min3(most, len < b->seg ? 1 : most, left / len);
	return min(most, DD_UDP_SKB_SEGS - min(b->segs, DD_UDP_SKB_SEGS + 0u));
}

/*
 * Allocate an skb with @len bytes of linear memory from per-CPU caches, which need no
 * lock as bottom halves are disabled. A receiver on the same CPU returns it there.
 */
static struct sk_buff *dd_udp_skb(u32 len)
{
	u32 size = SKB_DATA_ALIGN(len) +
		   SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	void *data = napi_alloc_frag(size);
	struct sk_buff *skb;

	if (!data)
		return NULL;
	skb = napi_build_skb(data, size);
	if (!skb) {
		skb_free_frag(data);
		return NULL;
	}
	/* The payload may be written concurrently: checksum code must copy it first. */
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	return skb;
}

static bool dd_udp_open(struct dd_udp_burst *b, const void *hdr, u32 hlen, u32 len)
{
	struct sk_buff *skb;

	dd_udp_close(b);
	skb = dd_udp_skb(DD_UDP_HEADROOM + hlen);
	if (!skb)
		return false;
	skb_reserve(skb, DD_UDP_HEADROOM);
	skb_put_data(skb, hdr, hlen);
	__skb_queue_tail(&b->list, skb);
	b->skb = skb;
	b->member = skb;
	b->seg = len;
	b->segs = 0;
	return true;
}

/**
 * struct dd_udp_frags - adding fragments to the current skb
 * @b: the burst
 * @m: the skb or the member of its fragment list that is being filled
 * @n: number of fragments in @m
 * @bytes: bytes added to @m and not yet to its length
 */
struct dd_udp_frags {
	struct dd_udp_burst *b;
	struct sk_buff *m;
	u32 n;
	u32 bytes;
};

/**
 * struct dd_udp_source - position in the message being sent
 * @page: page of the next byte
 * @at: offset of the next byte in it
 * @left: contiguous bytes there
 * @refs: references to @page that are still to be taken; -1: one more than needed is held
 */
struct dd_udp_source {
	struct page *page;
	u32 at;
	u32 left;
	int refs;
};

static void dd_udp_frags_begin(struct dd_udp_frags *f, struct dd_udp_burst *b)
{
	f->b = b;
	f->m = b->member;
	f->n = skb_shinfo(f->m)->nr_frags;
	f->bytes = 0;
}

/* The lengths of the outer skb are updated by dd_udp_count(). */
static void dd_udp_frags_end(struct dd_udp_frags *f)
{
	struct sk_buff *m = f->m;

	skb_shinfo(m)->nr_frags = f->n;
	if (m == f->b->skb)
		return;
	m->len += f->bytes;
	m->data_len += f->bytes;
	m->truesize += f->bytes;
}

/* The current skb has no free fragment: add a member to its fragment list. */
static bool dd_udp_frags_more(struct dd_udp_frags *f)
{
	struct dd_udp_burst *b = f->b;
	struct sk_buff *skb = dd_udp_skb(0);

	if (!skb)
		return false;
	dd_udp_frags_end(f);
	if (b->member == b->skb)
		skb_shinfo(b->skb)->frag_list = skb;
	else
		b->member->next = skb;
	b->member = skb;
	b->skb->truesize += skb->truesize;
	dd_udp_frags_begin(f, b);
	return true;
}

/* Add a fragment; the caller takes the reference to the page. */
static __always_inline bool dd_udp_frag(struct dd_udp_frags *f,
					struct page *page, u32 off, u32 len)
{
	if (unlikely(f->n == MAX_SKB_FRAGS) && !dd_udp_frags_more(f))
		return false;
	__skb_fill_page_desc_noacc(skb_shinfo(f->m), f->n++, page, off, len);
	f->bytes += len;
	return true;
}

static void dd_udp_count(struct dd_udp_burst *b, u32 segs, u32 len)
{
	b->skb->len += len;
	b->skb->data_len += len;
	b->skb->truesize += len;
	b->segs += segs;
}

/*
 * Fragments hold references to the pages: a copy of the skb may be in a queue long
 * after the peer has acknowledged a retransmission and the region is gone.
 */
static void dd_udp_source_end(struct dd_udp_source *src)
{
	if (src->refs > 0)
		page_ref_add(src->page, src->refs);
	else if (src->refs < 0)
		put_page(src->page);
	src->refs = 0;
}

/*
 * Copy bytes of a reply, from @p on, at most those of @pkt from byte @off on. The packets may be
 * in a queue long after the access has ended, and must not show what the owner of the segment
 * stores then. dd_remote_break() takes the link's lock, so no packet is built after the end.
 */
static const void *dd_udp_source_copy(struct dd_udp_peer *link, const struct dd_tp_pkt *pkt,
				      u32 off, const void *p, struct dd_udp_source *src)
{
	/* Words of the source are aligned in the copy, too: a process may store to them. */
	u32 at = (unsigned long)p & 7;
	void *to;

	src->left = min3(src->left, pkt->off + pkt->count * pkt->len - off,
			 DD_UDP_COPY_MAX - at);
	to = napi_alloc_frag(at + src->left);
	if (!to && at + src->left > PAGE_SIZE) {
		src->left = PAGE_SIZE - at;
		to = napi_alloc_frag(PAGE_SIZE);
	}
	if (!to) {
		src->left = 0;
		return NULL;
	}
	dd_copy_words(to + at, p, src->left);
	link->stats.tx_copied += src->left;
	/* The allocation is the first reference. */
	src->refs = -1;
	return to + at;
}

/* Go to byte @off of the message. False if there is no memory for a copy. */
static bool dd_udp_source_at(struct dd_udp_peer *link,
			     const struct dd_tp_pkt *pkt, u32 off,
			     struct dd_udp_source *src)
{
	const void *p = dd_udp_upper->source(link, pkt->op, off, &src->left);

	dd_udp_source_end(src);
	if (unlikely(pkt->op->msg.flags & DD_PUT_REPLY)) {
		p = dd_udp_source_copy(link, pkt, off, p, src);
		if (!p)
			return false;
	}
	src->page = virt_to_head_page(p);
	src->at = p - page_address(src->page);
	return true;
}

/* Add the payload of a packet, split at the source's page boundaries. */
static __always_inline bool
dd_udp_add_payload(struct dd_udp_peer *link, struct dd_udp_frags *f,
		   const struct dd_tp_pkt *pkt, u32 off,
		   struct dd_udp_source *src)
{
	u32 left, n;

	for (left = pkt->len; left; left -= n) {
		if (!src->left &&
		    !dd_udp_source_at(link, pkt, off + pkt->len - left, src))
			return false;
		n = min(src->left, left);
		if (!dd_udp_frag(f, src->page, src->at, n))
			return false;
		src->refs++;
		src->at += n;
		src->left -= n;
	}
	return true;
}

/*
 * Copy the payload of a packet and complete its checksum if it has one. @src is the copy, or
 * empty if the allocation failed; then dd_udp_source_at() is used. Words of the source
 * are aligned in the copy, too, and loaded as a whole: a process may store to them.
 */
static void dd_udp_snapshot(struct dd_udp_peer *link, struct dd_tp_pkt *pkt,
			    struct dd_udp_source *src)
{
	struct page *page = alloc_pages(DD_UDP_COPY_GFP, get_order(pkt->len + 7));
	u32 done, n, left, at = 0, crc = pkt->crc;
	const void *p;
	void *to;

	for (done = 0; done < pkt->len; done += n) {
		p = dd_udp_upper->source(link, pkt->op, pkt->off + done, &left);
		n = min(left, pkt->len - done);
		if (!done)
			at = (unsigned long)p & 7;
		if (page) {
			to = page_address(page) + at + done;
			dd_copy_words(to, p, n);
			p = to;
		}
		if (pkt->need_crc)
			crc = crc32c(crc, p, n);
	}
	if (pkt->need_crc)
		dd_wire_seal(pkt->hdr, crc);
	if (!page)
		return;
	*src = (struct dd_udp_source){ .page = page, .at = at, .left = pkt->len };
	if (!pkt->again)
		link->stats.tx_copied += pkt->len;
}

/*
 * Fast path: add up to @n packets whose headers are at byte @at of @page, as long as
 * their payloads are contiguous and there are free fragments. Returns their number.
 */
static u32 dd_udp_add_whole(struct dd_udp_frags *f, const struct dd_tp_pkt *pkt,
			    struct page *page, u32 at, u32 n,
			    struct dd_udp_source *src)
{
	struct skb_shared_info *shared = skb_shinfo(f->m);
	u32 hlen = pkt->hlen, len = pkt->len, from = src->at;
	int i = f->n, end;

	/* A packet without payload has no fragment for it. */
	if (!len || src->left < len || i + 2 > MAX_SKB_FRAGS)
		return 0;
	n = min3(n, (u32)(MAX_SKB_FRAGS - i) / 2, src->left / len);
	for (end = i + 2 * n; i < end; i += 2) {
		__skb_fill_page_desc_noacc(shared, i, page, at, hlen);
		__skb_fill_page_desc_noacc(shared, i + 1, src->page, from, len);
		at += hlen;
		from += len;
	}
	f->n = end;
	f->bytes += n * (hlen + len);
	src->refs += n;
	src->at = from;
	src->left -= n * len;
	return n;
}

/* Add @n packets, from byte @off of their message on, to the current skb. */
static bool dd_udp_add_some(struct dd_udp_peer *link, struct dd_udp_burst *b,
			    const struct dd_tp_pkt *pkt, const void *hdrs,
			    u32 off, u32 n, struct dd_udp_source *src)
{
	struct page *page = virt_to_head_page(hdrs);
	u32 at = hdrs - page_address(page), i, k;
	struct dd_udp_frags f;

	dd_udp_frags_begin(&f, b);
	for (i = 0; i < n; i += k) {
		k = dd_udp_add_whole(&f, pkt, page, at + i * pkt->hlen, n - i, src);
		if (k)
			continue;
		if (!dd_udp_frag(&f, page, at + i * pkt->hlen, pkt->hlen))
			break;
		if (!dd_udp_add_payload(link, &f, pkt, off + i * pkt->len, src)) {
			/* The header is in the skb, which will drop a reference to its page. */
			page_ref_inc(page);
			break;
		}
		k = 1;
	}
	dd_udp_frags_end(&f);
	page_ref_add(page, i);
	dd_udp_count(b, i, i * (pkt->hlen + pkt->len));
	return i == n;
}

/* Add all packets of @pkt to the burst, with payload from @src on. */
static bool dd_udp_add_all(struct dd_udp_peer *link, struct dd_udp_burst *b,
			   const struct dd_tp_pkt *pkt,
			   struct dd_udp_source *src)
{
	u32 off = pkt->off, left, n;
	bool ok = true, used = false;
	const void *hdrs = pkt->hdr;
	struct dd_udp_frags f;

	for (left = pkt->count; ok && left; left -= n) {
		n = dd_udp_fit(link, b, pkt->hlen + pkt->len, left);
		if (n) {
			ok = dd_udp_add_some(link, b, pkt, hdrs, off, n, src);
			used = true;
		} else {
			/* Start an skb: the packet's header is in its linear part. */
			n = 1;
			ok = dd_udp_open(b, hdrs, pkt->hlen, pkt->hlen + pkt->len);
			if (!ok)
				break;
			dd_udp_frags_begin(&f, b);
			ok = dd_udp_add_payload(link, &f, pkt, off, src);
			dd_udp_frags_end(&f);
			dd_udp_count(b, 1, pkt->len);
		}
		hdrs += n * pkt->hlen;
		off += n * pkt->len;
	}
	dd_udp_source_end(src);
	if (used)
		link->tx_used += pkt->count * pkt->hlen;
	return ok;
}

/**
 * dd_udp_add() - add packets to a burst
 * @link: the link, locked
 * @b: the burst
 * @pkt: the packets, with headers in the memory of dd_udp_hdrs_ready()
 *
 * Return: false if an allocation failed and some or all of them are lost.
 */
bool dd_udp_add(struct dd_udp_peer *link, struct dd_udp_burst *b, struct dd_tp_pkt *pkt)
{
	struct dd_udp_source src = { .left = 0 };
	struct page *copy;
	bool ok;

	/*
	 * If the source were written concurrently, the packet would be dropped for a
	 * wrong checksum: that of dd, or that of UDP where neither the stack
	 * (SKBFL_SHARED_FRAG) nor the network card prevents it. With every
	 * retransmission dropped, all connections to the node would stall.
	 */
	if (unlikely(pkt->need_crc || (pkt->again && pkt->len)))
		dd_udp_snapshot(link, pkt, &src);
	copy = src.page;
	b->packets += pkt->count;
	ok = dd_udp_add_all(link, b, pkt, &src);
	if (copy && ok)
		b->skb->truesize += page_size(copy) - pkt->len;
	/* The fragments hold their own references. */
	if (copy)
		put_page(copy);
	if (likely(ok))
		return true;
	/* The current skb ends with an incomplete packet: free it. */
	if (b->skb) {
		__skb_unlink(b->skb, &b->list);
		kfree_skb(b->skb);
		b->skb = NULL;
	}
	link->stats.tx_nomem++;
	return false;
}

/**
 * dd_udp_hdrs_free() - free the pages for headers
 * @link: a link that does not send any more
 */
void dd_udp_hdrs_free(struct dd_udp_peer *link)
{
	int i;

	for (i = 0; i < DD_UDP_HDR_PAGES; i++) {
		if (link->tx_pages[i])
			put_page(link->tx_pages[i]);
	}
}

/**
 * dd_udp_hdrs_ready() - provide memory for the headers of a batch
 * @link: the link, locked
 *
 * The headers are built in a page, from @link->tx_used on, so that all but the first
 * one of an skb can become fragments in place.
 *
 * Return: true if %DD_UDP_BATCH headers fit; false if the allocation failed.
 */
bool dd_udp_hdrs_ready(struct dd_udp_peer *link)
{
	struct page **page = &link->tx_pages[link->tx_turn];

	if (likely(link->tx_hdrs && link->tx_used <= link->tx_last))
		return true;
	link->tx_turn = (link->tx_turn + 1) % DD_UDP_HDR_PAGES;
	/* Reuse the next page if no skb refers to it any more. */
	if (!*page || page_ref_count(*page) != 1) {
		if (*page)
			put_page(*page);
		*page = alloc_pages(DD_UDP_HDRS_GFP, DD_UDP_HDRS_ORDER);
		if (!*page)
			*page = alloc_page(GFP_ATOMIC | __GFP_NOWARN);
	}
	link->tx_hdrs = *page ? page_address(*page) : NULL;
	if (!*page)
		return false;
	link->tx_used = 0;
	link->tx_last = page_size(*page) -
			DD_UDP_BATCH * sizeof(struct dd_wire_piece);
	return true;
}
