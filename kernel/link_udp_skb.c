// SPDX-License-Identifier: GPL-2.0-only
/*
 * What packets that go out are made of.
 *
 * Payload is not copied, unless it bears a checksum of ours or is sent again:
 * fragments of an skb are the pages of the source, each counted. Packets of the
 * same size (the last may be shorter) travel as one skb as long as possible: the
 * first one's header in its linear part, the others' in fragments between those
 * of the payload, and more fragments than an skb can have in further ones in its
 * fragment list, which have no linear part.
 *
 * References to pages are taken for many fragments at once. Nobody else knows of
 * an skb until all of its burst are made.
 */
#include <linux/crc32c.h>
#include <linux/udp.h>
#include <net/ip.h>

#include "dd.h"
#include "link_udp_skb.h"

#define DD_UDP_SKB_MAX	65000	/* bytes of UDP payload in an skb */
#define DD_UDP_SKB_SEGS	60	/* packets in one, below what GSO takes */
#define DD_UDP_HDRS_ORDER	1	/* of pages for headers, if there are such */
#define DD_UDP_HDRS_GFP							\
	(GFP_ATOMIC | __GFP_COMP | __GFP_NORETRY | __GFP_NOWARN)

#define DD_UDP_COPY_GFP	(GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN)

#define DD_UDP_HEADROOM							\
	(LL_MAX_HEADER + sizeof(struct ipv6hdr) + sizeof(struct udphdr) + 16)

/**
 * dd_udp_close() - no more packets for the skb in hand
 * @b: the burst
 *
 * Tells GSO what is in it.
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
	/* udp_tunnel6_xmit_skb() leaves this to us, and pushes the UDP header. */
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_headroom(skb) - sizeof(struct udphdr);
	skb->csum_offset = offsetof(struct udphdr, check);
}

/* How many packets of @len bytes, of @most, the skb in hand takes. */
static u32 dd_udp_fit(const struct dd_udp_peer *link,
		      const struct dd_udp_burst *b, u32 len, u32 most)
{
	u32 left;

	if (!b->skb || !link->gso || len > b->seg ||
	    b->skb->len != b->segs * b->seg)
		return 0;
	left = DD_UDP_SKB_MAX - min(b->skb->len, DD_UDP_SKB_MAX + 0u);
	/* One that is shorter is the last. */
	most = min3(most, len < b->seg ? 1 : most, left / len);
	return min(most, DD_UDP_SKB_SEGS - min(b->segs, DD_UDP_SKB_SEGS + 0u));
}

/*
 * An skb with room for @len bytes, from caches of this CPU that need no lock:
 * bottom halves are disabled. Who receives it on this CPU puts it back there.
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
	/* A process may write to them: who sums in software copies them first. */
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	return skb;
}

static bool dd_udp_open(struct dd_udp_burst *b, const void *hdr, u32 hlen,
			u32 len)
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

/* ---- fragments ------------------------------------------------------------ */

/**
 * struct dd_udp_frags - fragments being added to the skb in hand
 * @b: the burst
 * @m: the part of the skb that they are added to
 * @n: fragments there
 * @bytes: of these, not counted in it yet
 */
struct dd_udp_frags {
	struct dd_udp_burst *b;
	struct sk_buff *m;
	u32 n;
	u32 bytes;
};

/**
 * struct dd_udp_source - where the bytes of a message are that is being sent
 * @page: in this page
 * @at: the next one's offset there
 * @left: bytes there in one piece
 * @refs: fragments of the page that have no reference yet
 */
struct dd_udp_source {
	struct page *page;
	u32 at;
	u32 left;
	u32 refs;
};

static void dd_udp_frags_begin(struct dd_udp_frags *f, struct dd_udp_burst *b)
{
	f->b = b;
	f->m = b->member;
	f->n = skb_shinfo(f->m)->nr_frags;
	f->bytes = 0;
}

/* The first one of an skb counts the bytes of all: dd_udp_count(). */
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

/* A new member for further ones, since the last is full. */
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

/* A fragment; a reference to the page goes to it, which may come later. */
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
 * The source's pages are counted, since a copy of the skb may be in a queue when
 * our peer has long acknowledged another one, and the region is gone.
 */
static void dd_udp_source_end(struct dd_udp_source *src)
{
	if (src->refs)
		page_ref_add(src->page, src->refs);
	src->refs = 0;
}

/* Go to where byte @off of the message is. */
static void dd_udp_source_at(struct dd_udp_peer *link,
			     const struct dd_tp_pkt *pkt, u32 off,
			     struct dd_udp_source *src)
{
	const void *p = dd_udp_upper->source(link, pkt->chan, pkt->op, off,
					     &src->left);

	dd_udp_source_end(src);
	src->page = virt_to_head_page(p);
	src->at = p - page_address(src->page);
}

/* The payload of a packet: the source's pages, up to the end of each. */
static __always_inline bool
dd_udp_add_payload(struct dd_udp_peer *link, struct dd_udp_frags *f,
		   const struct dd_tp_pkt *pkt, u32 off,
		   struct dd_udp_source *src)
{
	u32 left, n;

	for (left = pkt->len; left; left -= n) {
		if (!src->left)
			dd_udp_source_at(link, pkt, off + pkt->len - left, src);
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
 * Whether a packet's payload is to be copied. Whoever writes to the source meanwhile
 * would have it thrown away for a wrong checksum: ours, or that of UDP where neither
 * the stack (SKBFL_SHARED_FRAG) nor the network card sees to that; and each time that
 * it is sent again, so that all connections to that node would stop.
 */
static bool dd_udp_unsteady(const struct dd_tp_pkt *pkt)
{
	return pkt->need_crc || (pkt->again && pkt->len);
}

/*
 * Copy the payload of a packet, and make its checksum if it bears one. Returns the
 * copy; or NULL for want of memory, then it goes from its source after all.
 */
static struct page *dd_udp_snapshot(struct dd_udp_peer *link, struct dd_tp_pkt *pkt)
{
	struct page *page = alloc_pages(DD_UDP_COPY_GFP, get_order(pkt->len));
	u32 at, n, left, crc = pkt->crc;

	for (at = 0; at < pkt->len; at += n) {
		const void *p = dd_udp_upper->source(link, pkt->chan, pkt->op,
						     pkt->off + at, &left);

		n = min(left, pkt->len - at);
		if (page)
			p = memcpy(page_address(page) + at, p, n);
		if (pkt->need_crc)
			crc = crc32c(crc, p, n);
	}
	if (pkt->need_crc)
		dd_wire_seal(pkt->hdr, crc);
	if (page && !pkt->again)
		link->stats.tx_copied += pkt->len;
	return page;
}

/*
 * Of @n packets with headers from byte @at of @page on, those next ones whose
 * payload is in one piece, and which the part of the skb in hand has room for:
 * how many.
 */
static u32 dd_udp_add_whole(struct dd_udp_frags *f, const struct dd_tp_pkt *pkt,
			    struct page *page, u32 at, u32 n,
			    struct dd_udp_source *src)
{
	struct skb_shared_info *shared = skb_shinfo(f->m);
	u32 hlen = pkt->hlen, len = pkt->len, from = src->at;
	int i = f->n, end;

	/* One without payload has no fragment for it either. */
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

/* One packet, whose header is at byte @at of @page. */
static bool dd_udp_add_one(struct dd_udp_peer *link, struct dd_udp_frags *f,
			   const struct dd_tp_pkt *pkt, struct page *page,
			   u32 at, u32 off, struct dd_udp_source *src)
{
	if (!dd_udp_frag(f, page, at, pkt->hlen))
		return false;
	if (dd_udp_add_payload(link, f, pkt, off, src))
		return true;
	/* What is in the skb has its reference, whatever happens. */
	page_ref_inc(page);
	return false;
}

/* Put @n packets, from byte @off of their message on, into the skb in hand. */
static bool dd_udp_add_some(struct dd_udp_peer *link, struct dd_udp_burst *b,
			    const struct dd_tp_pkt *pkt, const void *hdrs,
			    u32 off, u32 n, struct dd_udp_source *src)
{
	struct page *page = virt_to_head_page(hdrs);
	u32 at = hdrs - page_address(page), i, k;
	struct dd_udp_frags f;

	dd_udp_frags_begin(&f, b);
	for (i = 0; i < n; i += k) {
		k = dd_udp_add_whole(&f, pkt, page, at + i * pkt->hlen, n - i,
				     src);
		if (k)
			continue;
		if (!dd_udp_add_one(link, &f, pkt, page, at + i * pkt->hlen,
				    off + i * pkt->len, src))
			break;
		k = 1;
	}
	dd_udp_frags_end(&f);
	page_ref_add(page, i);
	dd_udp_count(b, i, i * (pkt->hlen + pkt->len));
	return i == n;
}

/* A packet that an skb begins with, its header in the linear part. */
static bool dd_udp_add_first(struct dd_udp_peer *link, struct dd_udp_burst *b,
			     const struct dd_tp_pkt *pkt, const void *hdr,
			     u32 off, struct dd_udp_source *src)
{
	struct dd_udp_frags f;
	bool ok;

	if (!dd_udp_open(b, hdr, pkt->hlen, pkt->hlen + pkt->len))
		return false;
	dd_udp_frags_begin(&f, b);
	ok = dd_udp_add_payload(link, &f, pkt, off, src);
	dd_udp_frags_end(&f);
	dd_udp_count(b, 1, pkt->len);
	return ok;
}

/* Put packets into the burst, with payload from @src on. */
static bool dd_udp_add_all(struct dd_udp_peer *link, struct dd_udp_burst *b,
			   const struct dd_tp_pkt *pkt,
			   struct dd_udp_source *src)
{
	u32 off = pkt->off, left, n;
	bool ok = true, used = false;
	const void *hdrs = pkt->hdr;

	for (left = pkt->count; ok && left; left -= n) {
		n = dd_udp_fit(link, b, pkt->hlen + pkt->len, left);
		if (n) {
			ok = dd_udp_add_some(link, b, pkt, hdrs, off, n, src);
			used = true;
		} else {
			n = 1;
			ok = dd_udp_add_first(link, b, pkt, hdrs, off, src);
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
 * dd_udp_add() - put packets into a burst
 * @link: the link, locked
 * @b: the burst
 * @pkt: the packets, their headers where dd_udp_hdrs_ready() wants them
 *
 * Return: false if some, or all, are lost for want of memory.
 */
bool dd_udp_add(struct dd_udp_peer *link, struct dd_udp_burst *b,
		struct dd_tp_pkt *pkt)
{
	struct dd_udp_source src = { .left = 0 };
	struct page *copy = NULL;
	bool ok;

	if (unlikely(dd_udp_unsteady(pkt)))
		copy = dd_udp_snapshot(link, pkt);
	if (copy)
		src = (struct dd_udp_source){ .page = copy, .left = pkt->len };
	b->packets += pkt->count;
	ok = dd_udp_add_all(link, b, pkt, &src);
	if (copy && ok)
		b->skb->truesize += page_size(copy) - pkt->len;
	/* Its fragments have references of their own. */
	if (copy)
		put_page(copy);
	if (likely(ok))
		return true;
	/* What is in the skb in hand ends amid a packet. */
	if (b->skb) {
		__skb_unlink(b->skb, &b->list);
		kfree_skb(b->skb);
		b->skb = NULL;
	}
	link->stats.tx_nomem++;
	return false;
}

/**
 * dd_udp_hdrs_free() - give back the memory for headers
 * @link: a link that sends no more
 */
void dd_udp_hdrs_free(struct dd_udp_peer *link)
{
	int i;

	for (i = 0; i < DD_UDP_HDR_PAGES; i++) {
		if (link->tx_pages[i])
			put_page(link->tx_pages[i]);
		link->tx_pages[i] = NULL;
	}
	link->tx_hdrs = NULL;
}

/* Pages that are no part of any skb any more, or new ones. */
static struct page *dd_udp_hdrs_page(struct dd_udp_peer *link)
{
	struct page **page = &link->tx_pages[link->tx_turn];

	link->tx_turn = (link->tx_turn + 1) % DD_UDP_HDR_PAGES;
	if (*page && page_ref_count(*page) == 1)
		return *page;
	if (*page)
		put_page(*page);
	*page = alloc_pages(DD_UDP_HDRS_GFP, DD_UDP_HDRS_ORDER);
	if (!*page)
		*page = alloc_page(GFP_ATOMIC | __GFP_NOWARN);
	return *page;
}

/**
 * dd_udp_hdrs_ready() - see to it that headers can be made
 * @link: the link, locked
 *
 * In a page, from @link->tx_used on: so those of all packets of an skb but the
 * first become fragments as they are.
 *
 * Return: whether there is room for %DD_UDP_RUN of them; false if no memory is.
 */
bool dd_udp_hdrs_ready(struct dd_udp_peer *link)
{
	struct page *page;

	if (likely(link->tx_hdrs && link->tx_used <= link->tx_last))
		return true;
	page = dd_udp_hdrs_page(link);
	link->tx_hdrs = page ? page_address(page) : NULL;
	if (!page)
		return false;
	link->tx_used = 0;
	link->tx_last = page_size(page) -
			DD_UDP_RUN * sizeof(struct dd_wire_piece);
	return true;
}
