// SPDX-License-Identifier: GPL-2.0-only
/* What is tried, between two nodes. */
#include "sim.h"

static void world(int nodes, u64 delay)
{
	memset(&net, 0, sizeof(net));
	net.delay = delay;
	/* Packets come one by one, or many at once. */
	net.merge = sim_chance(0.5) ? 1 + sim_below(20 * US) : 0;
	node_cfg.records = 256;
	node_cfg.ctl_slots = 8;
	node_cfg.mtu = 1472;
	node_cfg.dead = 5 * SEC;
	node_cfg.crc = false;
	nodes_init(nodes);
}

static void start_all(void)
{
	u32 i;

	for (i = 0; i < nconns; i++)
		end_start(end_get(conns[i].a, conns[i].b));
}

static void finish(u64 duration)
{
	sim_run(duration, conns_done);
	ends_each(end_audit);
}

static u64 drops(enum dd_tp_drop reason)
{
	return end_get(0, 1)->tp.stats.drops[reason] +
	       end_get(1, 0)->tp.stats.drops[reason];
}

static void need(bool what, const char *text)
{
	if (!what)
		sim_fail("it did not happen: %s", text);
}

/* ---- without trouble ---------------------------------------------------- */

static void back_and_forth(bool prompt)
{
	struct plan plan = {
		.min_len = 64, .max_len = 64, .window = 1, .goal = 2000,
		.reply = true, .prompt = prompt, .read_ns = 2 * US,
	};
	double per_message;

	world(2, 10 * US);
	conns_init(1);
	conn_add(0, 1, &plan);
	start_all();
	finish(10 * SEC);
	per_message = (double)net_packets / (2 * plan.goal);
	sim_say("%.3f packets per message", per_message);
	if (per_message > 1.05)
		sim_fail("too many packets per message");
}

static void pingpong(void)
{
	back_and_forth(false);
}

static void rpc(void)
{
	back_and_forth(true);
}

static bool every_other(int src, int dst)
{
	static u32 n;

	return !src && n++ & 1;
}

/* So many pieces apart that not all can be remembered. */
static void holes(void)
{
	struct plan plan = {
		.min_len = 1 << 20, .max_len = 1 << 20, .window = 1, .goal = 100,
		.read_ns = 5 * US,
	};

	world(2, 5 * MS);
	node_cfg.records = 1024;
	conns_init(1);
	conn_add(0, 1, &plan);
	start_all();
	/* Once the window is large, half of it is lost. */
	sim_run_for(300 * MS);
	net.cut = every_other;
	sim_run_for(20 * MS);
	net.cut = NULL;
	finish(60 * SEC);
	need(drops(DD_TP_DROP_HOLES), "too many pieces apart");
}

/* As an SSTREAM: each message waits for the one before. */
static void stream(void)
{
	struct plan plan = {
		.min_len = 8, .max_len = 512, .window = 1, .goal = 3000,
		.prompt = true, .read_ns = 2 * US,
	};

	world(2, 10 * US);
	conns_init(1);
	conn_add(0, 1, &plan);
	start_all();
	/* A delayed answer to each would take three seconds. */
	finish(500 * MS);
}

/*
 * Messages whose sender stops at the window, as the library does, and not behind
 * it, in @duration and with @most packets for each. Packets come one by one, unless
 * @merge.
 */
static void windows(u32 len, u64 read_ns, u64 merge, u64 duration, double most)
{
	struct plan plan = {
		.min_len = len, .max_len = len, .window = 8, .ahead = 8,
		.goal = 20000, .prompt = true, .read_ns = read_ns,
	};
	double per_message;
	u64 start;

	world(2, 10 * US);
	net.merge = merge;
	net.rate = merge ? 10 * SEC : SEC;
	net.queue = 1 << 20;
	conns_init(1);
	conn_add(0, 1, &plan);
	start = sim.now;
	start_all();
	finish(duration);
	per_message = (double)net_packets / plan.goal;
	sim_say("%.3f packets per message, %.1f us", per_message,
		(sim.now - start) / 1e3 / plan.goal);
	if (per_message > most)
		sim_fail("too many packets per message");
}

/* The reader keeps up: a delayed answer to each eight would take five times as long. */
static void window(void)
{
	windows(64, 500, 0, 500 * MS, 1.3);
}

/* Three packets each, which come together. */
static void shorts(void)
{
	windows(4096, 500, 5 * US, 500 * MS, 3.7);
}

/* It is the reader who stops the sender. */
static void credit(void)
{
	windows(64, 4 * US, 0, 125 * MS, 1.5);
}

/* One message at a time, and somebody waits for it. */
static void await(void)
{
	struct plan plan = {
		.min_len = 8, .max_len = 8000, .window = 8, .ahead = 1,
		.goal = 3000, .await = true, .read_ns = 2 * US,
	};

	world(2, 10 * US);
	conns_init(1);
	conn_add(0, 1, &plan);
	start_all();
	/* A delayed answer to each would take three seconds. */
	finish(500 * MS);
}

static void bulk(void)
{
	struct plan plan = {
		.min_len = 1 << 20, .max_len = 1 << 20, .window = 1,
		.goal = 100, .read_ns = 5 * US,
	};
	u64 start;
	double part;

	world(2, 50 * US);
	net.rate = SEC;
	net.queue = 1 << 20;
	conns_init(1);
	conn_add(0, 1, &plan);
	start = sim.now;
	start_all();
	finish(10 * SEC);
	part = conns[0].bytes[0] * 8.0 / (sim.now - start);
	sim_say("%.3f of the link", part);
	if (part < 0.93)
		sim_fail("too slow");
}

/* ---- with trouble ------------------------------------------------------- */

static void trouble(void)
{
	struct plan plan = {
		.max_len = 20000, .goal = 120, .back = 60, .read_ns = 300 * US,
		.again = 0.01,
	};
	int i;

	world(2, 200 * US);
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
	need(drops(DD_TP_DROP_DUP), "a packet comes twice");
	need(drops(DD_TP_DROP_BYTES), "bytes come twice");
}

static void ackloss(void)
{
	struct plan plan = {
		.max_len = 50000, .window = 2, .goal = 100, .read_ns = 50 * US,
	};

	world(2, MS);
	net.ack_loss = 0.6;
	conns_init(1);
	conn_add(0, 1, &plan);
	start_all();
	finish(60 * SEC);
}

/* Without checksums, and with sources that change before they are read. */
static void reuse(void)
{
	struct plan plan = {
		.min_len = 1, .max_len = 6000, .window = 2, .goal = 400,
		.back = 400, .read_ns = 100 * US,
	};
	int i;

	world(2, MS);
	net.late = true;
	net.reorder = 0.2;
	net.reorder_ns = 60 * MS;
	net.dup = 0.2;
	net.dup_ns = 100 * MS;
	net.loss = 0.02;
	conns_init(4);
	for (i = 0; i < 4; i++)
		conn_add(0, 1, &plan);
	start_all();
	finish(200 * SEC);
	need(end_get(0, 1)->tp.stats.spurious, "a packet only seemed lost");
	need(drops(DD_TP_DROP_BYTES), "bytes come twice");
}

/* Long messages whose packets come many at once, not all of them as they went. */
static void bursts(void)
{
	struct plan plan = {
		.max_len = 300000, .window = 2, .goal = 150, .read_ns = 100 * US,
		.again = 0.01,
	};
	u32 runs;
	int i;

	world(2, MS);
	net.merge = 1 + sim_below(100 * US);
	net.loss = 0.003;
	net.reorder = 0.003;
	net.reorder_ns = 3 * MS;
	net.dup = 0.003;
	net.dup_ns = 3 * MS;
	net.forge = 0.003;
	conns_init(3);
	for (i = 0; i < 3; i++)
		conn_add(i & 1, !(i & 1), &plan);
	start_all();
	finish(100 * SEC);
	runs = end_get(0, 1)->runs + end_get(1, 0)->runs;
	sim_say("%u runs", runs);
	need(runs > 1000, "many packets are taken at once");
}

static void churn(void *arg, u64 gen)
{
	struct conn *conn = &conns[sim_below(nconns)];

	conn_close(conn);
	if (gen)
		sim_at(sim.now + sim_below(10 * MS), churn, NULL, gen - 1);
}

/* Connections are closed in the middle of everything. */
static void closing(void)
{
	struct plan plan = {
		.max_len = 30000, .window = 2, .goal = 100, .back = 50,
		.read_ns = 200 * US,
	};
	int i;

	world(2, 300 * US);
	net.loss = 0.03;
	net.dup = 0.1;
	net.dup_ns = 20 * MS;
	net.reorder = 0.1;
	net.reorder_ns = 3 * MS;
	conns_init(6);
	for (i = 0; i < 6; i++)
		conn_add(0, 1, &plan);
	start_all();
	sim_at(sim.now + 10 * MS, churn, NULL, 150);
	finish(100 * SEC);
	need(drops(DD_TP_DROP_CHAN), "a packet for a closed channel");
}

static u32 mtu_now;

static void mtu_tell(void *arg, u64 gen)
{
	dd_tp_set_mtu(&end_get(0, 1)->tp, gen);
	dd_tp_set_mtu(&end_get(1, 0)->tp, gen);
	end_drain(end_get(0, 1));
	end_drain(end_get(1, 0));
}

static void mtu_change(void *arg, u64 gen)
{
	mtu_now = gen & 1 ? 1232 : 8972;
	net.mtu = mtu_now;
	/* The news takes a while. */
	sim_at(sim.now + sim_below(20 * MS), mtu_tell, NULL, mtu_now);
	if (gen)
		sim_at(sim.now + 100 * MS, mtu_change, NULL, gen - 1);
}

static void mtu(void)
{
	struct plan plan = {
		.max_len = 200000, .window = 2, .goal = 300, .back = 100,
		.read_ns = 100 * US,
	};
	int i;

	world(2, 500 * US);
	node_cfg.records = 64;
	node_cfg.mtu = 8972;
	net.loss = 0.01;
	conns_init(4);
	for (i = 0; i < 4; i++)
		conn_add(0, 1, &plan);
	start_all();
	sim_at(sim.now, mtu_change, NULL, 30);
	finish(100 * SEC);
}

/* Large packets vanish, and nobody says so. */
static void blackhole(void)
{
	struct plan plan = {
		.min_len = 100000, .max_len = 100000, .window = 2, .goal = 200,
		.read_ns = 100 * US,
	};

	world(2, 500 * US);
	node_cfg.mtu = 8972;
	net.mtu = 1400;
	conns_init(1);
	conn_add(0, 1, &plan);
	start_all();
	finish(5 * SEC);
	if (end_get(0, 1)->downs)
		sim_fail("the session ended");
	/* The path is as wide as it should be again. */
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

/* Few records, many losses: none may be missing when one is needed. */
static void records(void)
{
	struct plan plan = {
		.max_len = 100000, .window = 4, .goal = 40, .back = 40,
		.read_ns = 50 * US,
	};
	int i;

	world(2, 2 * MS);
	node_cfg.records = DD_TP_RECORDS_MIN;
	node_cfg.ctl_slots = DD_TP_CTL_MIN;
	net.loss = 0.2;
	conns_init(3);
	for (i = 0; i < 3; i++)
		conn_add(0, 1, &plan);
	start_all();
	finish(400 * SEC);
}

/* ---- sessions ----------------------------------------------------------- */

static bool all_up(void)
{
	u32 i;

	for (i = 0; i < nconns; i++) {
		if (end_get(conns[i].a, conns[i].b)->tp.state != DD_TP_UP ||
		    end_get(conns[i].b, conns[i].a)->tp.state != DD_TP_UP)
			return false;
	}
	return true;
}

/* Both ends begin, at about the same time, over a bad network. */
static void handshake(void)
{
	struct plan plan = { .max_len = 100, .window = 1, .goal = 5 };
	u64 start;
	int i, n = 40;

	world(2 * n, 2 * MS);
	net.loss = 0.3;
	net.dup = 0.3;
	net.dup_ns = 300 * MS;
	net.reorder = 0.3;
	net.reorder_ns = 50 * MS;
	net.corrupt = 0.05;
	node_cfg.crc = true;
	conns_init(n);
	for (i = 0; i < n; i++)
		conn_add(2 * i, 2 * i + 1, &plan);
	for (i = 0; i < n; i++) {
		end_start(end_get(2 * i, 2 * i + 1));
		if (i & 1)
			sim_run_for(sim_below(4 * MS));
		end_start(end_get(2 * i + 1, 2 * i));
	}
	start = sim.now;
	sim_run(20 * SEC, all_up);
	sim_say("all up after %.3f s", (sim.now - start) / 1e9);
	finish(60 * SEC);
}

static int reboots;

static void reboot(void *arg, u64 gen)
{
	node_reboot(gen & 1);
	if (gen)
		sim_at(sim.now + 300 * MS + sim_below(700 * MS), reboot, NULL,
		       gen - 1);
	else
		reboots = 1;
}

static bool reboots_done(void)
{
	return reboots && conns_done();
}

/* Packets of earlier lives turn up in later ones. */
static void rebooting(void)
{
	struct plan plan = {
		.max_len = 20000, .window = 2, .goal = 4000, .back = 1000,
		.read_ns = 100 * US,
	};
	int i;

	world(2, MS);
	net.loss = 0.01;
	net.dup = 0.05;
	net.dup_ns = 2 * SEC;
	conns_init(4);
	for (i = 0; i < 4; i++)
		conn_add(i & 1, !(i & 1), &plan);
	start_all();
	sim_at(sim.now + 500 * MS, reboot, NULL, 20);
	sim_run(200 * SEC, reboots_done);
	ends_each(end_audit);
	need(drops(DD_TP_DROP_TOKEN), "a packet of an old session");
}

static u64 cut_from, cut_to;
static int cut_one_way;

static bool cut(int src, int dst)
{
	return sim.now >= cut_from && sim.now < cut_to &&
	       (!cut_one_way || src == 0);
}

static bool cut_over(void)
{
	return sim.now > cut_to && all_up() && conns_done();
}

/* Nothing passes, for times around the dead time. */
static void partition(void)
{
	static const u32 tenths[] = { 2, 5, 8, 9, 10, 11, 12, 15, 20, 30 };
	struct plan plan = {
		.max_len = 4000, .window = 2, .read_ns = 100 * US,
		.idle_ns = 2 * MS,
	};
	struct end *a, *b;
	u32 i, downs;

	world(2, MS);
	node_cfg.dead = SEC;
	net.cut = cut;
	conns_init(2);
	conn_add(0, 1, &plan);
	conn_add(1, 0, &plan);
	start_all();
	a = end_get(0, 1);
	b = end_get(1, 0);
	for (i = 0; i < 2 * ARRAY_SIZE(tenths); i++) {
		u64 length = tenths[i / 2] * 100 * MS;

		sim_run_for(SEC + sim_below(500 * MS));
		need(all_up(), "up before a partition");
		downs = a->downs + b->downs;
		cut_one_way = i & 1;
		cut_from = sim.now;
		cut_to = sim.now + length;
		/* A little more than the dead time after the last packet. */
		sim_run_for(node_cfg.dead + 10 * MS);
		if (length > node_cfg.dead + 10 * MS && a->downs + b->downs <
		    downs + 1 + !cut_one_way)
			sim_fail("%.1f s of silence, and nobody noticed",
				 length / 1e9);
		if (length < node_cfg.dead * 9 / 10 && a->downs + b->downs !=
		    downs)
			sim_fail("%.1f s of silence count as death",
				 length / 1e9);
		sim_run(20 * SEC, cut_over);
	}
}

/* Nothing to say: sessions stay up, and say little. */
static void idle(void)
{
	struct plan plan = { .max_len = 8, .window = 1, .goal = 1 };
	u64 packets;

	world(2, MS);
	node_cfg.dead = SEC;
	net.loss = 0.1;
	net.cut = cut;
	conns_init(1);
	conn_add(0, 1, &plan);
	start_all();
	finish(10 * SEC);
	packets = net_packets;
	sim_run_for(60 * SEC);
	packets = net_packets - packets;
	sim_say("%.1f packets per second", packets / 60.0);
	if (!all_up() || end_get(0, 1)->downs)
		sim_fail("an idle session ended");
	if (packets > 60 * 20)
		sim_fail("an idle session talks too much");
	cut_from = sim.now;
	cut_to = DD_TP_NEVER;
	end_get(0, 1)->wanted = false;
	end_get(1, 0)->wanted = false;
	sim_run_for(node_cfg.dead * 3 / 2);
	if (end_get(0, 1)->reason != DD_TP_DEAD ||
	    end_get(1, 0)->reason != DD_TP_DEAD)
		sim_fail("death is not noticed");
	sim_run_for(10 * SEC);
}

/* A node takes nothing for much longer than the dead time. */
static void holding(void)
{
	struct plan plan = { .window = 2, .goal = 400, .read_ns = 100 * US,
			     .idle_ns = 2 * MS };
	static const u32 lens[] = { 0, 8, 100, 60000 };
	struct end *a, *b;
	u32 i;

	world(2, MS);
	node_cfg.dead = SEC;
	net.loss = 0.01;
	conns_init(2 * ARRAY_SIZE(lens));
	for (i = 0; i < 2 * ARRAY_SIZE(lens); i++) {
		plan.max_len = lens[i / 2];
		conn_add(i & 1, !(i & 1), &plan);
	}
	start_all();
	a = end_get(0, 1);
	b = end_get(1, 0);
	for (i = 0; i < 6; i++) {
		struct end *down = i & 1 ? b : a;
		u64 pending;

		sim_run_for(100 * MS);
		down->tp.hold = true;
		sim_run_for(5 * SEC);
		pending = down->tp.stats.messages;
		sim_run_for(5 * SEC);
		if (down->tp.stats.messages != pending)
			sim_fail("messages are taken");
		down->tp.hold = false;
	}
	finish(60 * SEC);
	need(drops(DD_TP_DROP_AGAIN), "a deposit is not possible");
	if (a->downs || b->downs)
		sim_fail("who takes nothing counts as dead");
}

static void change_version(struct dd_tp_cfg *cfg)
{
	cfg->version_min = 2;
	cfg->version_max = 3;
}

static void change_maxnodes(struct dd_tp_cfg *cfg)
{
	cfg->maxnodes++;
}

static void change_node(struct dd_tp_cfg *cfg)
{
	cfg->node = 17;
}

static void change_both(struct dd_tp_cfg *cfg)
{
	cfg->version_max = 9;
}

static void expect_down(void (*change)(struct dd_tp_cfg *cfg),
			enum dd_tp_reason reason)
{
	struct end *a = end_get(0, 1);

	end_reinit(a, NULL);
	end_reinit(end_get(1, 0), change);
	a->reason = 0;
	end_start(a);
	a->wanted = false;
	sim_run_for(10 * SEC);
	if (a->reason != reason)
		sim_fail("down with %d, not %d", a->reason, reason);
}

static void config(void)
{
	struct end *a, *b;

	world(2, MS);
	net.loss = 0.1;
	conns_init(1);
	expect_down(change_version, DD_TP_VERSION);
	expect_down(change_maxnodes, DD_TP_MAXNODES);
	expect_down(change_node, DD_TP_CONFIG);
	a = end_get(0, 1);
	b = end_get(1, 0);
	end_reinit(a, NULL);
	end_reinit(b, change_both);
	end_start(a);
	sim_run_for(10 * SEC);
	if (a->tp.state != DD_TP_UP || a->tp.cur.version != 1 ||
	    b->tp.cur.version != 1)
		sim_fail("no version agreed upon");
	/* A polite end is noticed at once. */
	net.loss = 0;
	end_stop(b);
	a->wanted = false;
	sim_run_for(5 * MS);
	if (a->reason != DD_TP_BYE)
		sim_fail("down with %d, not BYE", a->reason);
}

/* ---- many nodes, many channels ------------------------------------------ */

static void incast(void)
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

static void cluster(void)
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
	sim_say("%d nodes, %u connections, %llu packets", n, nconns,
		(unsigned long long)net_packets);
}

/* Bytes of the connections from @from on, in @duration. */
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
	/* Two worlds that differ in one thing. */
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
	return bytes;
}

/* A reader of one of 100 channels does not read. */
static void notelist(void)
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

/* ---- beside TCP --------------------------------------------------------- */

static const struct plan stream_plan = {
	.min_len = 1 << 18, .max_len = 1 << 18, .window = 4, .read_ns = 20 * US,
};

static void share(void)
{
	double ours, theirs;
	struct tcp *tcp;

	world(2, 10 * MS);
	net.rate = 20 * SEC / 1000;
	net.queue = 20000000 / 8 * 20 / 1000;
	conns_init(1);
	conn_add(0, 1, &stream_plan);
	/* Who begins is left to chance. */
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

static void lossy(void)
{
	double ours, theirs;
	struct tcp *tcp;

	world(2, 10 * MS);
	net.rate = SEC;
	net.queue = 4 << 20;
	net.loss = 0.01;
	conns_init(1);
	conn_add(0, 1, &stream_plan);
	start_all();
	sim_run_for(2 * SEC);
	/* So long that chance matters little. */
	ours = goodput(0, 240 * SEC);
	/* Alone. */
	ends_each(end_stop);
	tcp = tcp_start(1);
	sim_run_for(2 * SEC);
	theirs = tcp_bytes(tcp);
	sim_run_for(240 * SEC);
	theirs = tcp_bytes(tcp) - theirs;
	sim_say("1 %% loss, 20 ms: ours %.2f, TCP %.2f Mbit/s: %.3f",
		ours * 8 / 240e6, theirs * 8 / 240e6, ours / theirs);
	if (ours < 0.8 * theirs)
		sim_fail("too slow beside TCP");
}

const struct scenario scenarios[] = {
	{ "pingpong", "64 bytes back and forth: packets per message", pingpong },
	{ "rpc", "the same, where each message is to be done at once", rpc },
	{ "stream", "messages that wait for the one before", stream },
	{ "window", "messages that wait for the eighth before", window },
	{ "shorts", "the same, of 4 KiB", shorts },
	{ "credit", "the same, and a slow reader", credit },
	{ "await", "a window, and somebody who waits for each message", await },
	{ "bulk", "1 MiB messages, window 1: use of the link", bulk },
	{ "trouble", "loss, reordering, duplicates, corruption, forgery",
	  trouble },
	{ "ackloss", "most acknowledgments are lost", ackloss },
	{ "bursts", "packets that come many at once", bursts },
	{ "reuse", "old packets with new bytes in them", reuse },
	{ "holes", "too many pieces apart", holes },
	{ "closing", "connections closed under load", closing },
	{ "mtu", "packet sizes change under load", mtu },
	{ "blackhole", "large packets vanish silently", blackhole },
	{ "records", "many losses, and memory for few", records },
	{ "handshake", "both ends begin, over a bad network", handshake },
	{ "reboot", "nodes restart under load", rebooting },
	{ "partition", "silence around the dead time", partition },
	{ "idle", "keepalive, and death", idle },
	{ "holding", "a node takes nothing for a while", holding },
	{ "config", "versions and configurations that do not fit", config },
	{ "fields", "every byte of a packet changed, every length", fields },
	{ "calls", "what a caller may get wrong", calls },
	{ "incast", "256 nodes send to one", incast },
	{ "cluster", "1000 nodes, all to some", cluster },
	{ "notelist", "one of 100 channels has a full list", notelist },
	{ "share", "a bottleneck shared with TCP", share },
	{ "lossy", "1 % loss, compared with TCP", lossy },
	{ }
};
