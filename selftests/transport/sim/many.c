// SPDX-License-Identifier: GPL-2.0-only
/* Scenarios of many nodes, many channels, and congestion. */
#include "sim.h"

/* ---- many nodes, many channels ------------------------------------------ */

SCENARIO(incast, "256 nodes send to one")
{
	struct plan plan = {
		.min_len = 65536, .max_len = 65536, .window = 1, .goal = 4,
		.read_ns = 10 * US,
	};
	int i;

	world(257, 20 * US);
	node_cfg.records = 64;
	net.rate = 10 * SEC;
	net.queue = 256 << 10;
	conns_init(256);
	for (i = 0; i < 256; i++)
		conn_add(1 + i, 0, &plan);
	start_all();
	finish(30 * SEC);
	sim_say("256 nodes, 64 MiB into 10 Gbit/s: %.3f s; %.1f %% lost",
		sim.now / 1e9 - 1, 100.0 * net_dropped / net_packets);
}

/* Bytes received in @duration on connections @from and later. */
static u64 goodput(u32 from, u64 duration)
{
	u64 before = 0, after = 0;
	u32 i;

	for (i = from; i < nconns; i++)
		before += conns[i].bytes[0];
	sim_run_for(duration);
	for (i = from; i < nconns; i++)
		after += conns[i].bytes[0];
	return after - before;
}

static u64 notelist_run(bool stuck, double loss)
{
	struct plan plan = {
		.min_len = 4000, .max_len = 4000, .window = 2,
		.read_ns = 50 * US,
	};
	struct plan first = plan;
	u64 bytes;
	int i;

	world(2, 100 * US);
	/* Two runs that differ in one setting. */
	net.merge = 0;
	net.rate = SEC;
	net.queue = 256 << 10;
	net.loss = loss;
	first.stuck = stuck;
	conns_init(100);
	conn_add(0, 1, &first);
	for (i = 1; i < 100; i++)
		conn_add(0, 1, &plan);
	start_all();
	sim_run_for(100 * MS);
	bytes = goodput(1, 400 * MS);
	if (stuck && (!conns[0].cb->withheld ||
		      conns[0].cb->unread != plan.window))
		sim_fail("the list is not full");
	if (drops(DD_TP_DROP_AGAIN))
		sim_fail("messages arrived without a free slot");
	return bytes;
}

/* A reader of one of 100 channels does not read. */
SCENARIO(notelist, "one of 100 channels has a full list")
{
	u64 all = notelist_run(false, 0), some = notelist_run(true, 0);
	double part = (double)some / all;

	sim_say("99 channels have %.3f of their goodput", part);
	if (all < SEC / 8 * 4 / 10 * 8 / 10)
		sim_fail("the link is not used");
	if (part < 0.95)
		sim_fail("a full list slows others down");
	notelist_run(true, 0.02);
}

/* ---- congestion --------------------------------------------------------------- */

static const struct plan stream_plan = {
	.min_len = 1 << 18, .max_len = 1 << 18, .window = 4, .read_ns = 20 * US,
};

/* Two nodes send to one; the second begins when the first has the link. */
SCENARIO(share, "a bottleneck shared by two sessions")
{
	const u64 duration = 60 * SEC;
	u64 both, second;

	world(3, 10 * MS);
	net.rate = 20 * SEC / 1000;
	net.queue = 20000000 / 8 * 20 / 1000;
	conns_init(2);
	conn_add(0, 2, &stream_plan);
	conn_add(1, 2, &stream_plan);
	end_start(end_get(0, 2));
	sim_run_for(2 * SEC + sim_below(2 * SEC));
	end_start(end_get(1, 2));
	second = conns[1].bytes[0];
	both = goodput(0, duration);
	second = conns[1].bytes[0] - second;
	sim_say("20 Mbit/s, 20 ms: the second has %.3f, %.2f %% lost", (double)second / both,
		100.0 * net_dropped / net_packets);
	if (second < both / 3 || second > both * 2 / 3)
		sim_fail("not shared fairly");
	if (both < 0.8 * 20e6 / 8 * (duration / SEC))
		sim_fail("the link is not used");
	if (net_dropped > net_packets / 100)
		sim_fail("a loss does not reduce the window");
}

/* RFC 9438, 4.3: at random losses of p, a window has sqrt(1.5 / p) packets on average. */
SCENARIO(lossy, "1 % loss, and the rate of TCP")
{
	const u64 duration = 240 * SEC;	/* long enough to average out randomness */
	const double tcp = 12.25 * 1408 * (duration / (20 * MS));
	double part;

	world(2, 10 * MS);
	net.rate = SEC;
	net.queue = 4 << 20;
	net.loss = 0.01;
	start_conns(1, false, &stream_plan);
	sim_run_for(duration / 100);
	part = goodput(0, duration) / tcp;
	sim_say("1 %% loss, 20 ms: %.3f of TCP", part);
	if (part < 0.95 || part > 1.15)
		sim_fail("not the rate of TCP");
}

/*
 * A retransmission is lost, too, while later messages are in flight; these can only
 * be retransmitted after it.
 */
static void overdue_run(u32 len, u32 window, double loss)
{
	struct plan plan = {
		.min_len = len, .max_len = len, .window = window,
		.read_ns = 2 * US,
	};
	u64 stall = 0, idle = 0;
	u32 i;

	world(2, 50 * US);
	net.rate = 10 * SEC;
	net.queue = 4 << 20;
	net.loss = loss;
	start_conns(1, false, &plan);
	sim_run_for(10 * MS);
	for (i = 0; i < 500; i++) {
		idle = goodput(0, 2 * MS) ? 0 : idle + 2 * MS;
		stall = max(stall, idle);
	}
	/* Six probe timeouts in a row, each twice as long, take 252 ms. */
	if (stall > 300 * MS)
		sim_fail("a timeout sends nothing: nothing arrives for %.0f ms", stall / 1e6);
}

SCENARIO(overdue, "a lost retransmission on a short path")
{
	overdue_run(8192, 16, 0.001);
	overdue_run(8192, 16, 0.01);
	overdue_run(65536, 4, 0.001);
	overdue_run(65536, 4, 0.01);
}
