// SPDX-License-Identifier: GPL-2.0-only
/* Scenarios of two nodes on a good network, and what all scenarios need. */
#include "sim.h"

void world(int nodes, u64 delay)
{
	memset(&net, 0, sizeof(net));
	net.delay = delay;
	/* Packets are received one by one, or in batches. */
	net.merge = sim_chance(0.5) ? 1 + sim_below(20 * US) : 0;
	node_cfg.records = 256;
	node_cfg.ctl_slots = 8;
	node_cfg.mtu = 1472;
	node_cfg.dead = 5 * SEC;
	node_cfg.crc = false;
	node_cfg.late = 0;
	node_cfg.wrap = sim.seed & 1;
	nodes_init(nodes);
}

void start_all(void)
{
	u32 i;

	for (i = 0; i < nconns; i++)
		end_start(end_get(conns[i].a, conns[i].b));
}

/* @n connections from node 0 to node 1, or with @both every second one back. */
void start_conns(u32 n, bool both, const struct plan *plan)
{
	u32 i;

	conns_init(n);
	for (i = 0; i < n; i++)
		conn_add(both && (i & 1), !(both && (i & 1)), plan);
	start_all();
}

void finish(u64 duration)
{
	sim_run(duration, conns_done);
	ends_each(end_audit);
}

void finish_up(u64 duration)
{
	finish(duration);
	if (end_get(0, 1)->downs)
		sim_fail("the session ended");
}

u64 drops(enum dd_tp_drop reason)
{
	return end_get(0, 1)->tp.stats.drops[reason] +
	       end_get(1, 0)->tp.stats.drops[reason];
}

void need(bool what, const char *text)
{
	if (!what)
		sim_fail("the tested condition did not occur: %s", text);
}

/* ---- a good network ---------------------------------------------------- */

/*
 * One connection on a network that the caller has changed: the messages must be done in
 * @duration, with at most @most packets for each message or answer. Return the part of the
 * link that their bytes have used.
 */
static double steady(const struct plan *plan, u64 duration, double most)
{
	u64 messages = plan->goal * (1 + plan->reply), packets = net_packets, start = sim.now;
	double n, part;

	start_conns(1, false, plan);
	finish(duration);
	n = (double)(net_packets - packets) / messages;
	part = net.rate ? conns[0].bytes[0] * 8.0 * SEC / (sim.now - start) / net.rate : 0;
	sim_say("%.1f us, %.3f packets per message, %.3f of the link",
		(sim.now - start) / 1e3 / messages, n, part);
	if (n > most)
		sim_fail("too many packets per message");
	return part;
}

static void back_and_forth(bool prompt)
{
	const struct plan plan = {
		.min_len = 64, .max_len = 64, .window = 1, .goal = 2000,
		.reply = true, .prompt = prompt, .read_ns = 2 * US,
	};

	world(2, 10 * US);
	steady(&plan, 10 * SEC, 1.05);
}

SCENARIO(pingpong, "64 bytes back and forth: packets per message")
{
	back_and_forth(false);
	/* Each message is to be done at once. */
	back_and_forth(true);
}

static bool every_other(int src, int dst)
{
	static u32 n;

	return !src && n++ & 1;
}

/* More gaps between received pieces than the receiver can record. */
SCENARIO(holes, "too many gaps between pieces")
{
	struct plan plan = {
		.min_len = 1 << 20, .max_len = 1 << 20, .window = 1, .goal = 100,
		.read_ns = 5 * US,
	};

	world(2, 5 * MS);
	node_cfg.records = 1024;
	start_conns(1, false, &plan);
	/* Once the window is large, half of it is lost. */
	sim_run_for(300 * MS);
	net.cut = every_other;
	sim_run_for(20 * MS);
	net.cut = NULL;
	finish(60 * SEC);
	need(drops(DD_TP_DROP_HOLES), "too many gaps between pieces");
}

/* SSTREAM. With a delayed ACK for each message this takes three seconds. */
SCENARIO(stream, "messages that wait for the one before")
{
	const struct plan plan = {
		.min_len = 8, .max_len = 512, .window = 1, .goal = 3000,
		.prompt = true, .read_ns = 2 * US,
	};

	world(2, 10 * US);
	steady(&plan, 500 * MS, 2.1);
}

/*
 * The sender stops at the window, as the library does. Packets are received one by one
 * unless @merge is set.
 */
static void windows(u32 len, u64 read_ns, u64 merge, u64 duration, double most)
{
	const struct plan plan = {
		.min_len = len, .max_len = len, .window = 8, .ahead = 8,
		.goal = 20000, .prompt = true, .read_ns = read_ns,
	};

	world(2, 10 * US);
	net.merge = merge;
	net.rate = merge ? 10 * SEC : SEC;
	net.queue = 1 << 20;
	steady(&plan, duration, most);
}

/* The reader keeps up. One delayed ACK per eight messages takes five times as long. */
SCENARIO(window, "messages that wait for the eighth before")
{
	windows(64, 500, 0, 500 * MS, 1.3);
}

/* Messages of three packets, received at once. */
SCENARIO(shorts, "the same, of 4 KiB")
{
	windows(4096, 500, 5 * US, 500 * MS, 3.7);
}

/* The reader limits the sender. */
SCENARIO(credit, "the same, and a slow reader")
{
	windows(64, 4 * US, 0, 125 * MS, 1.5);
}

static void taken_run(bool unsaid)
{
	struct plan plan = {
		.min_len = 64, .max_len = 64, .window = 8, .taken = 8,
		.unsaid = unsaid, .goal = 100, .read_ns = 2 * MS,
	};

	world(2, 10 * US);
	start_conns(1, false, &plan);
	finish(5 * SEC);
}

/*
 * The list is full of notes of other senders. A sender that knows this sends only as
 * many messages as there are slots; one that does not is refused, and no note replaces
 * another one.
 */
SCENARIO(taken, "the same, and unread notes of others at first")
{
	taken_run(false);
	if (drops(DD_TP_DROP_AGAIN))
		sim_fail("messages arrived without a free slot");
	taken_run(true);
	need(drops(DD_TP_DROP_AGAIN), "a message without a free slot");
}

/*
 * A sender with a message every @gap never has to wait for credit, and with at most
 * @most packets per message it has not asked for DONE too often.
 */
static void asks(u64 gap, double most)
{
	const struct plan plan = {
		.min_len = 64, .max_len = 64, .window = 8, .ahead = 8,
		.goal = 20000, .prompt = true, .read_ns = 500, .gap_ns = gap,
	};

	world(2, 10 * US);
	net.merge = 0;
	steady(&plan, gap * plan.goal / 100 * 102 + 10 * MS, most);
}

/* The answer takes more than 20 us. */
SCENARIO(asking, "messages at intervals: DONE when it is needed")
{
	asks(100 * US, 1.15);
	asks(6 * US, 1.3);
}

/* With a delayed ACK for each message this takes three seconds. */
SCENARIO(await, "a window, and a caller that waits for each message")
{
	const struct plan plan = {
		.min_len = 8, .max_len = 8000, .window = 8, .ahead = 1,
		.goal = 3000, .await = true, .read_ns = 2 * US,
	};

	world(2, 10 * US);
	steady(&plan, 500 * MS, 8);
}

SCENARIO(bulk, "1 MiB messages, window 1: use of the link")
{
	const struct plan plan = {
		.min_len = 1 << 20, .max_len = 1 << 20, .window = 1,
		.goal = 100, .read_ns = 5 * US,
	};

	world(2, 50 * US);
	net.rate = SEC;
	net.queue = 1 << 20;
	if (steady(&plan, 10 * SEC, 1200) < 0.93)
		sim_fail("too slow");
}
