// SPDX-License-Identifier: GPL-2.0-only
/* Scenarios of two nodes on a bad network. */
#include "sim.h"

SCENARIO(trouble, "loss, reordering, duplicates, corruption, forgery")
{
	struct plan plan = {
		.max_len = 20000, .goal = 120, .back = 60, .read_ns = 300 * US,
		.again = 0.01,
	};
	int i;

	world(2, 200 * US);
	node_cfg.late = 4 * MS;
	net.jitter = 100 * US;
	net.loss = 0.05;
	net.ack_loss = 0.1;
	net.reorder = 0.1;
	net.reorder_ns = 2 * MS;
	net.dup = 0.05;
	net.dup_ns = 5 * MS;
	net.corrupt = 0.03;
	node_cfg.crc = true;
	net.truncate = 0.02;
	net.forge = 0.05;
	conns_init(8);
	for (i = 0; i < 8; i++) {
		plan.window = 1 + i;
		conn_add(i & 1, !(i & 1), &plan);
	}
	start_all();
	finish(100 * SEC);
	need(drops(DD_TP_DROP_CRC), "a checksum is wrong");
	need(drops(DD_TP_DROP_TOKEN), "a session is unknown");
	need(drops(DD_TP_DROP_AGAIN), "a deposit is not possible");
	need(drops(DD_TP_DROP_DUP), "a duplicate packet");
	need(drops(DD_TP_DROP_BYTES), "duplicate bytes");
}

SCENARIO(ackloss, "most acknowledgments are lost")
{
	struct plan plan = {
		.max_len = 50000, .window = 2, .goal = 100, .read_ns = 50 * US,
	};

	world(2, MS);
	node_cfg.late = 4 * MS;
	net.ack_loss = 0.6;
	start_conns(1, false, &plan);
	finish(60 * SEC);
}

/* No checksums, and sources that change before they are read. */
SCENARIO(reuse, "old packets with new bytes in them")
{
	struct plan plan = {
		.min_len = 1, .max_len = 6000, .window = 2, .goal = 400,
		.back = 400, .read_ns = 100 * US,
	};

	world(2, MS);
	net.late = true;
	net.reorder = 0.2;
	net.reorder_ns = 60 * MS;
	net.dup = 0.2;
	net.dup_ns = 100 * MS;
	net.loss = 0.02;
	start_conns(4, false, &plan);
	finish(200 * SEC);
	need(end_get(0, 1)->tp.stats.spurious, "a packet only seemed lost");
	need(drops(DD_TP_DROP_BYTES), "duplicate bytes");
}

/* Long messages received in batches, some of them lost or reordered. */
SCENARIO(bursts, "packets that come many at once")
{
	struct plan plan = {
		.max_len = 300000, .window = 2, .goal = 150, .read_ns = 100 * US,
		.again = 0.01,
	};
	u32 runs;

	world(2, MS);
	node_cfg.late = 4 * MS;
	net.merge = 1 + sim_below(100 * US);
	net.loss = 0.003;
	net.reorder = 0.003;
	net.reorder_ns = 3 * MS;
	net.dup = 0.003;
	net.dup_ns = 3 * MS;
	net.forge = 0.003;
	start_conns(3, true, &plan);
	finish(100 * SEC);
	runs = end_get(0, 1)->runs + end_get(1, 0)->runs;
	sim_say("%u runs", runs);
	need(runs > 1000, "packets are received in batches");
}

SCENARIO(closing, "connections closed under load")
{
	struct plan plan = {
		.max_len = 30000, .window = 2, .goal = 100, .back = 50,
		.read_ns = 200 * US,
	};
	u32 i;

	world(2, 300 * US);
	node_cfg.late = 4 * MS;
	net.loss = 0.03;
	net.dup = 0.1;
	net.dup_ns = 20 * MS;
	net.reorder = 0.1;
	net.reorder_ns = 3 * MS;
	start_conns(6, false, &plan);
	for (i = 0; i < 150; i++) {
		sim_run_for(sim_below(10 * MS));
		conn_close(&conns[sim_below(nconns)]);
	}
	finish(100 * SEC);
	need(drops(DD_TP_DROP_CHAN), "a packet for a closed channel");
}

static void mtu_tell(void *arg, u64 gen)
{
	node_cfg.mtu = gen;
	dd_tp_set_mtu(&end_get(0, 1)->tp, gen);
	dd_tp_set_mtu(&end_get(1, 0)->tp, gen);
	end_drain(end_get(0, 1));
	end_drain(end_get(1, 0));
}

SCENARIO(mtu, "packet sizes change under load")
{
	struct plan plan = {
		.max_len = 200000, .window = 2, .goal = 300, .back = 100,
		.read_ns = 100 * US,
	};
	static const u32 sizes[] = { 572, 1232, 8972 };
	u32 i;

	world(2, 500 * US);
	node_cfg.records = 64;
	node_cfg.mtu = 8972;
	net.loss = 0.01;
	start_conns(4, false, &plan);
	for (i = 0; i < 30; i++) {
		u32 mtu = sizes[i % ARRAY_SIZE(sizes)];

		/* IP fragments packets of the smallest size. */
		net.mtu = max(mtu, DD_WIRE_PACKET_MIN + 0u);
		/* The change is noticed with a delay. */
		sim_at(sim.now + sim_below(20 * MS), mtu_tell, NULL, mtu);
		sim_run_for(100 * MS);
	}
	finish(100 * SEC);
}

/* A path that drops large packets without an ICMP error. */
static void narrow_path(const struct plan *large, const struct plan *small)
{
	world(2, 500 * US);
	node_cfg.mtu = 8972;
	net.mtu = 1400;
	conns_init(2);
	conn_add(0, 1, large);
	if (small)
		conn_add(0, 1, small);
	start_all();
}

SCENARIO(blackhole, "large packets vanish silently")
{
	struct plan plan = {
		.min_len = 100000, .max_len = 100000, .window = 2, .goal = 200,
		.read_ns = 100 * US,
	};
	struct plan small = {
		.min_len = 64, .max_len = 64, .window = 1, .goal = 20000,
		.reply = true, .prompt = true, .read_ns = 10 * US,
	};

	/* Small packets arrive all the time. */
	narrow_path(&plan, &small);
	sim_run_for(5 * SEC);
	if (conns[0].ca->c.done < plan.goal)
		sim_fail("the loss of large packets is not noticed beside small ones");
	narrow_path(&plan, NULL);
	finish_up(5 * SEC);
	/* The path forwards large packets again. */
	net.mtu = 0;
	sim_run_for(70 * SEC);
	conns[0].plan.goal += 1000;
	conns[0].ca->goal += 1000;
	chan_resume(conns[0].ca, 0);
	net_packets = 0;
	finish(5 * SEC);
	if (net_packets > 1000 * 100000 / 5000)
		sim_fail("packets are still small");
}

/* All records are in flight, and then nothing is received for many timeouts. */
static void outage(u32 len, u32 window, u32 goal, u32 records)
{
	struct plan plan = {
		.min_len = len, .max_len = len, .window = window, .goal = goal,
		.read_ns = 50 * US,
	};

	int i;

	world(2, 2 * MS);
	node_cfg.records = records;
	start_conns(1, false, &plan);
	for (i = 0; i < 1000 && end_get(0, 1)->tp.nfree > 8; i++)
		sim_run_for(MS);
	need(end_get(0, 1)->tp.nfree <= 8, "no record left");
	net.loss = 1;
	sim_run_for(SEC + sim_below(3 * SEC));
	net.loss = 0;
	finish_up(60 * SEC);
}

/*
 * All records are in flight and most are lost. Then the MTU shrinks, the smaller
 * pieces are lost again, and the MTU shrinks once more.
 */
static void narrower(void)
{
	static const int mtus[] = { 8972, 5000, 1400 };
	struct plan plan = {
		.min_len = 1 << 20, .max_len = 1 << 20, .window = 4, .goal = 50,
		.read_ns = 50 * US,
	};
	int i;

	world(2, 2 * MS);
	node_cfg.records = DD_TP_RECORDS_MIN;
	node_cfg.mtu = mtus[0];
	start_conns(1, false, &plan);
	sim_run_for(100 * MS);
	for (i = 1; i < 3; i++) {
		net.mtu = mtus[i];
		sim_run_for(5 * MS + sim_below(5 * MS));
		mtu_tell(NULL, mtus[i]);
		sim_run_for(sim_below(10 * MS));
	}
	/* Lost pieces that are not adjacent. */
	net.loss = 0.5;
	sim_run_for(sim_below(100 * MS));
	net.loss = 1;
	sim_run_for(SEC);
	net.loss = 0;
	finish_up(60 * SEC);
}

/* Few records, many losses: a record must be free when one is needed. */
SCENARIO(records, "many losses, and memory for few")
{
	struct plan plan = {
		.max_len = 100000, .window = 4, .goal = 40, .back = 40,
		.read_ns = 50 * US,
	};

	world(2, 2 * MS);
	node_cfg.records = DD_TP_RECORDS_MIN;
	node_cfg.ctl_slots = 2;
	net.loss = 0.2;
	start_conns(3, false, &plan);
	finish(400 * SEC);
	/* Adjacent pieces, which are merged, and others. */
	outage(1 << 20, 4, 100, 256);
	outage(1300, 256, 4000, DD_TP_RECORDS_MIN);
	narrower();
}
