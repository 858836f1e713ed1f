// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of the skbs of outgoing packets: the skbs of a burst hold its
 * packets, byte by byte and in order, and every page is freed with them.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/vmalloc.h>

#include "../udp/skb.c"

#define PIECE_ORDER	1			/* a source is in such pieces */
#define PIECE		(PAGE_SIZE << PIECE_ORDER)
#define PIECES		16
#define BURST_MAX	(512 * 1024)		/* bytes in a burst */
#define EMPTY_HLEN	96			/* a header, and one message */

/**
 * struct burst - packets that were put into a burst
 * @link: peer that the packets are for
 * @b: the burst
 * @op: message of the packets that are added
 * @source: bytes of all messages, in pieces
 * @want: expected bytes of all packets
 * @got: bytes found in the skbs
 * @len: bytes of @want
 * @packets: how many packets
 */
struct burst {
	struct dd_udp_peer link;
	struct dd_udp_burst b;
	struct dd_tp_op op;
	struct page *source[PIECES];
	u8 *want;
	u8 *got;
	u32 len;
	u32 packets;
};

/* ---- the rest of dd.ko -------------------------------------------------- */

static const void *burst_source(struct dd_udp_peer *link, struct dd_tp_op *op,
				u32 off, u32 *left)
{
	struct burst *t = container_of(link, struct burst, link);

	*left = PIECE - off % PIECE;
	return page_address(t->source[off / PIECE]) + off % PIECE;
}

static const struct dd_net_upper burst_upper = {
	.source = burst_source,
};

const struct dd_net_upper *dd_udp_upper = &burst_upper;

/* Payloads have no checksum here. */
void dd_wire_seal(struct dd_wire_hdr *hdr, u32 crc)
{
}

/* ---- a burst ------------------------------------------------------------ */

static void burst_begin(struct burst *t)
{
	memset(&t->b, 0, sizeof(t->b));
	__skb_queue_head_init(&t->b.list);
	t->len = 0;
	t->packets = 0;
}

static void want_source(struct burst *t, u32 off, u32 len)
{
	u32 left, n;

	for (; len; len -= n, off += n) {
		n = min_t(u32, len, PIECE - off % PIECE);
		memcpy(t->want + t->len, burst_source(&t->link, NULL, off,
						      &left), n);
		t->len += n;
	}
}

/* @count packets with pieces of @len bytes, from byte @off of the source on. */
static void burst_add(struct kunit *test, u32 count, u32 hlen, u32 off, u32 len)
{
	struct burst *t = test->priv;
	struct dd_tp_pkt pkt = {
		.count = count,
		.hlen = hlen,
		.off = off,
		.len = len,
		.op = &t->op,
	};
	u32 i;

	/* As on the send path: skbs come from caches of this CPU. */
	local_bh_disable();
	KUNIT_EXPECT_TRUE(test, dd_udp_hdrs_ready(&t->link));
	pkt.hdr = t->link.tx_hdrs + t->link.tx_used;
	get_random_bytes(pkt.hdr, count * hlen);
	for (i = 0; i < count; i++) {
		memcpy(t->want + t->len, (u8 *)pkt.hdr + i * hlen, hlen);
		t->len += hlen;
		want_source(t, off + i * len, len);
	}
	t->packets += count;
	KUNIT_EXPECT_TRUE(test, dd_udp_add(&t->link, &t->b, &pkt));
	local_bh_enable();
}

/* All packets of an skb have gso_size bytes, except possibly the last one. */
static u32 skb_packets(struct kunit *test, const struct sk_buff *skb)
{
	const struct skb_shared_info *shared = skb_shinfo(skb);

	if (!shared->gso_size)
		return 1;
	KUNIT_EXPECT_EQ(test, (u32)shared->gso_segs,
			DIV_ROUND_UP(skb->len, (u32)shared->gso_size));
	KUNIT_EXPECT_LE(test, skb->len, (u32)DD_UDP_SKB_MAX);
	return shared->gso_segs;
}

/* Compare the skbs with the expected bytes and free them; returns their number. */
static u32 burst_end(struct kunit *test)
{
	struct burst *t = test->priv;
	u32 at = 0, packets = 0, n = 0;
	struct sk_buff *skb;

	dd_udp_close(&t->b);
	KUNIT_EXPECT_EQ(test, t->b.packets, t->packets);
	while ((skb = __skb_dequeue(&t->b.list))) {
		KUNIT_EXPECT_LE(test, at + skb->len, t->len);
		if (at + skb->len <= t->len)
			KUNIT_EXPECT_EQ(test, 0, skb_copy_bits(skb, 0, t->got + at,
							       skb->len));
		at += skb->len;
		packets += skb_packets(test, skb);
		n++;
		kfree_skb(skb);
	}
	KUNIT_EXPECT_EQ(test, at, t->len);
	KUNIT_EXPECT_EQ(test, packets, t->packets);
	KUNIT_EXPECT_EQ(test, 0, memcmp(t->want, t->got, t->len));
	return n;
}

static void expect_pages_back(struct kunit *test)
{
	struct burst *t = test->priv;
	int i;

	for (i = 0; i < PIECES; i++)
		KUNIT_EXPECT_EQ(test, 1, page_ref_count(t->source[i]));
	for (i = 0; i < DD_UDP_HDR_PAGES; i++)
		if (t->link.tx_pages[i])
			KUNIT_EXPECT_EQ(test, 1,
					page_ref_count(t->link.tx_pages[i]));
}

static int burst_init(struct kunit *test)
{
	struct burst *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	int i;

	if (!t)
		return -ENOMEM;
	test->priv = t;
	t->link.gso = true;
	t->want = vmalloc(BURST_MAX);
	t->got = vmalloc(BURST_MAX);
	for (i = 0; i < PIECES; i++) {
		t->source[i] = alloc_pages(GFP_KERNEL | __GFP_COMP, PIECE_ORDER);
		if (!t->source[i])
			return -ENOMEM;
		get_random_bytes(page_address(t->source[i]), PIECE);
	}
	return t->want && t->got ? 0 : -ENOMEM;
}

static void burst_exit(struct kunit *test)
{
	struct burst *t = test->priv;
	int i;

	if (!t)
		return;
	dd_udp_hdrs_free(&t->link);
	for (i = 0; i < PIECES; i++)
		if (t->source[i])
			put_page(t->source[i]);
	vfree(t->want);
	vfree(t->got);
}

/* ---- tests -------------------------------------------------------------- */

/* Messages without bytes, or acknowledgments: headers without payload. */
static void skb__empty_packets_share_one(struct kunit *test)
{
	struct burst *t = test->priv;
	u32 i, n;

	/* More packets than an skb has fragments: the rest go to members of its list. */
	for (n = 2; n <= DD_UDP_SKB_SEGS; n++) {
		burst_begin(t);
		for (i = 0; i < n; i++)
			burst_add(test, 1, EMPTY_HLEN, 0, 0);
		KUNIT_EXPECT_EQ(test, burst_end(test), 1u);
	}
	expect_pages_back(test);
}

/* A packet that is shorter than the previous one is the last of its skb. */
static void skb__empty_packet_follows_payload(struct kunit *test)
{
	struct burst *t = test->priv;
	u32 n;

	for (n = 1; n <= DD_UDP_BATCH; n++) {
		burst_begin(t);
		burst_add(test, n, sizeof(struct dd_wire_piece), 1000, 1000);
		burst_add(test, 1, EMPTY_HLEN, 0, 0);
		KUNIT_EXPECT_EQ(test, burst_end(test), 1u);
		burst_begin(t);
		burst_add(test, n, sizeof(struct dd_wire_piece), 1000, 1000);
		burst_add(test, 1, EMPTY_HLEN, 0, 0);
		burst_add(test, 1, EMPTY_HLEN, 0, 0);
		burst_add(test, 1, EMPTY_HLEN, 0, 0);
		KUNIT_EXPECT_EQ(test, burst_end(test), 2u);
	}
	expect_pages_back(test);
}

/* And the other way round: payload that fits behind headers alone. */
static void skb__payload_follows_empty_packet(struct kunit *test)
{
	struct burst *t = test->priv;

	burst_begin(t);
	burst_add(test, 1, 200, 0, 0);
	burst_add(test, 1, 104, 0, 96);
	burst_add(test, 1, 200, 0, 0);
	burst_add(test, 1, 104, 7, 40);
	KUNIT_EXPECT_EQ(test, burst_end(test), 1u);
	expect_pages_back(test);
}

/* What is stored in the source after the packets of a reply are built is not in them. */
static void skb__replies_are_copies(struct kunit *test)
{
	struct burst *t = test->priv;
	int i;

	t->op.msg.flags = DD_PUT_REPLY;
	burst_begin(t);
	burst_add(test, DD_UDP_BATCH, sizeof(struct dd_wire_piece), 7, 1400);
	burst_add(test, 1, 104, PIECE - 20, 40);
	for (i = 0; i < PIECES; i++)
		get_random_bytes(page_address(t->source[i]), PIECE);
	burst_end(test);
	expect_pages_back(test);
}

/* Any packets: as they are, in their order. */
static void skb__random_bursts(struct kunit *test)
{
	struct burst *t = test->priv;
	u32 i, k;

	for (i = 0; i < 300; i++) {
		burst_begin(t);
		t->link.gso = i % 8;
		t->op.msg.flags = i % 3 ? 0 : DD_PUT_REPLY;
		for (k = 0; k < 30; k++) {
			u32 r = get_random_u32();
			u32 count = r % 4 ? 1 : 1 + (r >> 8) % DD_UDP_BATCH;
			u32 hlen = count == 1 ? 24 + 8 * ((r >> 16) % 4) :
						sizeof(struct dd_wire_piece);
			u32 len = (r >> 20) % 3 ? 8 * ((r >> 24) % 4) :
						  1000 + (r >> 24);

			len = min_t(u32, len, (PIECES - 1) * PIECE / count);
			if (t->len + count * (hlen + len) > BURST_MAX)
				break;
			burst_add(test, count, hlen, (r >> 12) % PIECE, len);
		}
		burst_end(test);
	}
	t->link.gso = true;
	expect_pages_back(test);
}

static struct kunit_case skb_cases[] = {
	KUNIT_CASE(skb__empty_packets_share_one),
	KUNIT_CASE(skb__empty_packet_follows_payload),
	KUNIT_CASE(skb__payload_follows_empty_packet),
	KUNIT_CASE(skb__replies_are_copies),
	KUNIT_CASE(skb__random_bursts),
	{}
};

static struct kunit_suite skb_suite = {
	.name = "dd_skb",
	.init = burst_init,
	.exit = burst_exit,
	.test_cases = skb_cases,
};

kunit_test_suites(&skb_suite);
