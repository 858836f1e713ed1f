// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of receiving: how much of a socket the worker empties at a time.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "../udp/rx.c"

/**
 * struct drained - a socket with queued packets of an unknown sender
 * @un: the node of the socket
 * @node: its counters
 * @runs: how often the worker was queued and has run
 */
struct drained {
	struct dd_udp_node un;
	struct dd_node node;
	atomic_t runs;
};

/* ---- the rest of dd.ko: not reached without a peer ----------------------- */

int dd_wire_hlen(const void *p, size_t avail, size_t len)
{
	return -EBADMSG;
}

bool dd_tp_rx(struct dd_tp *tp, u64 now, const void *hdr, size_t hlen,
	      const void *payload, size_t plen)
{
	return false;
}

u32 dd_tp_rx_batch(struct dd_tp *tp, u64 now, u32 size, u32 most, const void *payload)
{
	return 0;
}

void dd_udp_unlock_at(struct dd_udp_peer *link, u64 now)
	__releases(&link->lock)
{
	spin_unlock_bh(&link->lock);
}

void dd_udp_unlock_later(struct dd_udp_peer *link)
	__releases(&link->lock)
{
	spin_unlock_bh(&link->lock);
}

bool dd_udp_tracing(void)
{
	return false;
}

/* ---- a socket ------------------------------------------------------------ */

static void drained_again(struct work_struct *work)
{
	struct drained *t = container_of(work, struct drained, un.drain[0]);

	atomic_inc(&t->runs);
}

static int drained_init(struct kunit *test)
{
	struct drained *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	test->priv = t;
	t->un.node = &t->node;
	INIT_WORK(&t->un.drain[0], drained_again);
	dd_wq = system_wq;
	t->node.stats = alloc_percpu(struct dd_stats);
	if (!t->node.stats)
		return -ENOMEM;
	return sock_create_kern(&init_net, AF_INET, SOCK_DGRAM, IPPROTO_UDP,
				&t->un.sock[0]);
}

static void drained_exit(struct kunit *test)
{
	struct drained *t = test->priv;

	if (!t)
		return;
	cancel_work_sync(&t->un.drain[0]);
	if (t->un.sock[0])
		sock_release(t->un.sock[0]);
	free_percpu(t->node.stats);
	dd_wq = NULL;
}

/* Queue @n packets, as the IP stack does. */
static void fill(struct kunit *test, u32 n)
{
	struct drained *t = test->priv;
	struct sock *sk = t->un.sock[0]->sk;
	struct sk_buff *skb;

	sk->sk_rcvbuf = INT_MAX / 2;
	while (n--) {
		skb = alloc_skb(sizeof(struct iphdr) + sizeof(struct udphdr),
				GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		skb_reset_network_header(skb);
		skb_put_zero(skb, sizeof(struct iphdr));
		skb_set_transport_header(skb, sizeof(struct iphdr));
		skb_put_zero(skb, sizeof(struct udphdr));
		skb->protocol = htons(ETH_P_IP);
		skb->ip_summed = CHECKSUM_UNNECESSARY;
		local_bh_disable();
		KUNIT_ASSERT_EQ(test, 0, __udp_enqueue_schedule_skb(sk, skb));
		local_bh_enable();
	}
}

/* Packets that were taken from the socket. */
static u64 taken(struct drained *t)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(t->node.stats, cpu)->v[DD_STAT_UNKNOWN_PEER];
	return sum;
}

/* The worker must end during a flood, so that the socket can be closed. */
static void drain__is_bounded(struct kunit *test)
{
	struct drained *t = test->priv;

	fill(test, 2 * DD_UDP_BUDGET + 1);
	dd_udp_drain(&t->un, 0);
	/* Asserted: results keep 512 bytes of a test's messages, then its name is lost. */
	KUNIT_ASSERT_EQ(test, taken(t), (u64)DD_UDP_BUDGET);
	KUNIT_ASSERT_FALSE(test, dd_udp_drained(t->un.sock[0]->sk));
	flush_work(&t->un.drain[0]);
	KUNIT_ASSERT_EQ(test, 1, atomic_read(&t->runs));

	dd_udp_drain(&t->un, 0);
	dd_udp_drain(&t->un, 0);
	flush_work(&t->un.drain[0]);
	KUNIT_ASSERT_EQ(test, taken(t), 2ull * DD_UDP_BUDGET + 1);
	KUNIT_ASSERT_TRUE(test, dd_udp_drained(t->un.sock[0]->sk));
	KUNIT_ASSERT_EQ(test, 2, atomic_read(&t->runs));
}

static struct kunit_case rx_cases[] = {
	KUNIT_CASE(drain__is_bounded),
	{}
};

static struct kunit_suite rx_suite = {
	.name = "dd_rx",
	.init = drained_init,
	.exit = drained_exit,
	.test_cases = rx_cases,
};

kunit_test_suites(&rx_suite);
