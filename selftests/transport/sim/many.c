// SPDX-License-Identifier: GPL-2.0-only
/* Scenarios of many nodes, many channels, and competition with TCP. */
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

SCENARIO(cluster, "1000 nodes, all to some")
{
	struct plan plan = {
		.max_len = 3000, .window = 1, .goal = 3, .back = 2,
		.read_ns = 100 * US,
	};
	const int n = 1000;
	int i, j;

	world(n, 50 * US);
	node_cfg.records = 32;
	node_cfg.ctl_slots = 2;
	net.loss = 0.01;
	net.reorder = 0.02;
	net.reorder_ns = MS;
	net.dup = 0.01;
	net.dup_ns = 10 * MS;
	conns_init(n * 4);
	for (i = 0; i < n; i++) {
		for (j = 0; j < 4; j++) {
			int other = (i + 1 + sim_below(n - 1)) % n;

			conn_add(i, other, &plan);
		}
	}
	start_all();
	finish(60 * SEC);
	sim_say("%d nodes, %u connections, %llu packets", n, nconns, net_packets);
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

/* ---- competition with TCP --------------------------------------------------------- */

static const struct plan stream_plan = {
	.min_len = 1 << 18, .max_len = 1 << 18, .window = 4, .read_ns = 20 * US,
};

SCENARIO(share, "a bottleneck shared with TCP")
{
	double ours, theirs;
	struct tcp *tcp;

	world(2, 10 * MS);
	net.rate = 20 * SEC / 1000;
	net.queue = 20000000 / 8 * 20 / 1000;
	conns_init(1);
	conn_add(0, 1, &stream_plan);
	/* The order of starts is random. */
	if (sim_chance(0.5)) {
		start_all();
		sim_run_for(sim_below(2 * SEC));
		tcp = tcp_start(1);
	} else {
		tcp = tcp_start(1);
		sim_run_for(sim_below(2 * SEC));
		start_all();
	}
	theirs = tcp_bytes(tcp);
	ours = goodput(0, 60 * SEC);
	theirs = tcp_bytes(tcp) - theirs;
	sim_say("20 Mbit/s, 20 ms: ours %.2f, TCP %.2f Mbit/s: %.3f of both",
		ours * 8 / 60e6, theirs * 8 / 60e6, ours / (ours + theirs));
	if (ours < theirs / 2 || ours > theirs * 2)
		sim_fail("not shared fairly");
	if (ours + theirs < 0.8 * 20e6 / 8 * 60)
		sim_fail("the link is not used");
}

SCENARIO(lossy, "1 % loss, compared with TCP")
{
	const u64 duration = 240 * SEC;	/* long enough to average out randomness */
	double ours, theirs;
	struct tcp *tcp;

	world(2, 10 * MS);
	net.rate = SEC;
	net.queue = 4 << 20;
	net.loss = 0.01;
	conns_init(1);
	conn_add(0, 1, &stream_plan);
	start_all();
	sim_run_for(duration / 100);
	ours = goodput(0, duration);
	ends_each(end_stop);
	tcp = tcp_start(1);
	sim_run_for(duration / 100);
	theirs = tcp_bytes(tcp);
	sim_run_for(duration);
	theirs = tcp_bytes(tcp) - theirs;
	sim_say("1 %% loss, 20 ms: ours %.2f, TCP %.2f Mbit/s: %.3f", ours * 8e3 / duration,
		theirs * 8e3 / duration, ours / theirs);
	if (ours < 0.8 * theirs)
		sim_fail("too slow compared with TCP");
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
	conns_init(1);
	conn_add(0, 1, &plan);
	start_all();
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
