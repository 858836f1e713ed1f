// SPDX-License-Identifier: GPL-2.0-only
/* Scenarios of sessions: opening, silence, ends. */
#include "sim.h"

static bool up(int node, int peer)
{
	return end_get(node, peer)->tp.state == DD_TP_UP;
}

static bool all_up(void)
{
	u32 i;

	for (i = 0; i < nconns; i++) {
		if (!up(conns[i].a, conns[i].b) || !up(conns[i].b, conns[i].a))
			return false;
	}
	return true;
}

/* Pairs of nodes open sessions: both ends at the same time, or one up to @apart later. */
static void pairs_open(int n, u64 apart)
{
	const struct plan plan = { .max_len = 100, .window = 1, .goal = 5 };
	int i, first;

	conns_init(n);
	for (i = 0; i < n; i++)
		conn_add(2 * i, 2 * i + 1, &plan);
	for (i = 0; i < n; i++) {
		first = 2 * i + (i >> 1 & 1);
		end_start(end_get(first, first ^ 1));
		if (i & 1)
			sim_run_for(sim_below(apart));
		end_start(end_get(first ^ 1, first));
	}
}

SCENARIO(handshake, "both ends begin, over a bad network")
{
	u64 start = sim.now;

	world(80, 2 * MS);
	net.loss = 0.3;
	net.dup = 0.3;
	net.dup_ns = 300 * MS;
	net.reorder = 0.3;
	net.reorder_ns = 50 * MS;
	net.corrupt = 0.05;
	node_cfg.crc = true;
	pairs_open(40, 4 * MS);
	sim_run(20 * SEC, all_up);
	sim_say("all up after %.3f s", (sim.now - start) / 1e9);
	finish(60 * SEC);
}

/*
 * Both ends open the session before a packet of the other arrives, with any delay, and
 * the first packets of the end that is up first may be lost.
 */
SCENARIO(opening, "both ends begin, over a long way")
{
	u64 delay = (1 + sim_below(600)) * MS;
	int i;

	world(80, delay);
	net.loss = sim_chance(0.5) ? 0.2 : 0;
	node_cfg.dead = 60 * SEC;
	pairs_open(40, delay);
	finish(200 * SEC);
	for (i = 0; i < 80; i++)
		need(end_get(i, i ^ 1)->ups == 1, "one session");
}

/* One end opens a session without messages: one packet confirms it, no more are sent. */
SCENARIO(confirming, "one end begins, and nothing is sent")
{
	struct end *a, *b;

	world(2, MS);
	a = end_get(0, 1);
	b = end_get(1, 0);
	end_start(a);
	sim_run_for(50 * MS);
	need(a->tp.state == DD_TP_UP && b->tp.state == DD_TP_UP, "a session");
	/* INIT, COOKIE, INIT, INIT_ACK, PING, acknowledgment. */
	if (a->tp.stats.tx_packets != 3 || b->tp.stats.tx_packets != 3)
		sim_fail("%llu and %llu packets", a->tp.stats.tx_packets,
			 b->tp.stats.tx_packets);
}

/* Packets that any sender can forge, each of which is answered. */
enum forged { FORGED_INIT, FORGED_COOKIE, FORGED_NODE, FORGED_DATA, FORGED };

static bool flooding;

static u32 forge(u8 *p, enum forged what, int src, int dst)
{
	struct dd_wire_init *init = (void *)p;
	u32 len = what == FORGED_DATA ? sizeof(init->h) + 8 : sizeof(*init);

	memset(p, 0, len);
	packet_head(p, what == FORGED_DATA ? DD_WIRE_DATA : DD_WIRE_INIT, len, 0,
		    what == FORGED_DATA ? sim_random() : 0);
	if (what == FORGED_DATA) {
		p[sizeof(init->h)] = DD_FRAME_PING;
	} else {
		init->node = cpu_to_le32(src + 1 + (what == FORGED_NODE));
		init->peer = cpu_to_le32(dst + 1);
		init->maxnodes = cpu_to_le32(nnodes + 1);
		init->packet_max = cpu_to_le32(1472);
		init->ctl_slots = cpu_to_le16(8);
		init->version_min = DD_WIRE_VERSION;
		init->version_max = DD_WIRE_VERSION;
		init->incarnation = cpu_to_le64(sim_random());
		init->token = cpu_to_le64(sim_random() | 1);
		if (what == FORGED_COOKIE)
			init->cookie = cpu_to_le64(sim_random() | 1);
	}
	packet_seal(p, len, NULL, 0);
	return len;
}

/* 10,000 packets per second to each end. */
static void forging(void *arg, u64 what)
{
	u8 p[sizeof(struct dd_wire_init)];
	int src;

	for (src = 0; src < 2; src++)
		net_inject(src, !src, p, forge(p, what, src, !src));
	if (flooding)
		sim_at(sim.now + sim_below(200 * US), forging, NULL,
		       what);
}

/* The session comes up despite forged packets. */
SCENARIO(flood, "both ends begin, and others send in their names")
{
	struct plan plan = { .max_len = 100, .window = 1, .goal = 100 };
	struct end *a, *b;
	int what;

	for (what = 0; what < FORGED; what++) {
		world(2, 200 * US);
		conns_init(1);
		conn_add(0, 1, &plan);
		a = end_get(0, 1);
		b = end_get(1, 0);
		flooding = true;
		forging(NULL, what);
		sim_run_for(SEC + sim_below(10 * MS));
		end_start(a);
		if (sim_chance(0.5))
			end_start(b);
		sim_run(SEC, all_up);
		finish(SEC);
		sim_run_for(10 * SEC);
		flooding = false;
		sim_run_for(SEC);
		if (a->ups != 1 || b->ups != 1 || !all_up())
			sim_fail("forged packets end a session");
	}
}

static u32 byes_lost;

/* The first packets of node 0 are lost, and some packets of node 1. */
static bool cut_byes(int src, int dst)
{
	return src ? sim_chance(0.5) : byes_lost && byes_lost--;
}

/* The peer notices the end of a session although most BYEs are lost. */
SCENARIO(goodbye, "a session ends, and the news of it is lost")
{
	struct plan plan = { .max_len = 100, .window = 1, .goal = 5 };
	struct end *a, *b;
	u64 packets;
	int i;

	for (i = 0; i < 4; i++) {
		world(2, MS);
		start_conns(1, false, &plan);
		finish(SEC);
		a = end_get(0, 1);
		b = end_get(1, 0);
		b->wanted = false;
		/* Other packets of this end would be answered, too. */
		sim_run_for(10 * MS);
		byes_lost = i;
		net.cut = cut_byes;
		end_stop(a);
		sim_run_for(50 * MS);
		if (b->reason != DD_TP_BYE)
			sim_fail("the peer does not notice the end after a lost BYE");
		packets = net_packets;
		sim_run_for(SEC);
		if (net_packets != packets)
			sim_fail("BYEs do not end");
		/* A BYE that arrives is answered and not repeated. */
		net.cut = NULL;
		end_start(a);
		sim_run_for(10 * MS);
		packets = net_packets;
		end_stop(a);
		sim_run_for(SEC);
		if (net_packets - packets != 2)
			sim_fail("%llu packets for a BYE that arrives", net_packets - packets);
	}
}

/* Packets of earlier sessions arrive in later ones. */
SCENARIO(reboot, "nodes restart under load")
{
	struct plan plan = {
		.max_len = 20000, .window = 2, .goal = 4000, .back = 1000,
		.read_ns = 100 * US,
	};
	int i;

	world(2, MS);
	node_cfg.late = 4 * MS;
	net.loss = 0.01;
	net.dup = 0.05;
	net.dup_ns = 2 * SEC;
	start_conns(4, true, &plan);
	sim_run_for(500 * MS);
	for (i = 0; i < 20; i++) {
		node_reboot(i & 1);
		sim_run_for(300 * MS + sim_below(700 * MS));
	}
	finish(180 * SEC);
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

/* All packets are dropped, for periods around the dead time. */
SCENARIO(partition, "silence around the dead time")
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
	start_conns(2, true, &plan);
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
			sim_fail("%.1f s of silence were not noticed",
				 length / 1e9);
		if (length < node_cfg.dead * 9 / 10 && a->downs + b->downs !=
		    downs)
			sim_fail("%.1f s of silence count as death",
				 length / 1e9);
		sim_run(20 * SEC, cut_over);
	}
}

/* No messages: sessions stay up and send few packets. */
SCENARIO(idle, "keepalive, and death")
{
	struct plan plan = { .max_len = 8, .window = 1, .goal = 1 };
	u64 packets;
	u32 downs;

	world(2, MS);
	node_cfg.dead = SEC;
	net.loss = 0.1;
	start_conns(1, false, &plan);
	finish(10 * SEC);
	/* An attempt to open one may fail: all its INITs may be lost. */
	downs = end_get(0, 1)->downs;
	packets = net_packets;
	sim_run_for(60 * SEC);
	packets = net_packets - packets;
	sim_say("%.1f packets per second", packets / 60.0);
	if (!all_up() || end_get(0, 1)->downs != downs)
		sim_fail("an idle session ended");
	if (packets > 60 * 20)
		sim_fail("an idle session sends too many packets");
	net.loss = 1;
	end_get(0, 1)->wanted = false;
	end_get(1, 0)->wanted = false;
	sim_run_for(node_cfg.dead * 3 / 2);
	if (end_get(0, 1)->reason != DD_TP_DEAD ||
	    end_get(1, 0)->reason != DD_TP_DEAD)
		sim_fail("death is not noticed");
	sim_run_for(10 * SEC);
}

/* A node on hold drops messages for much longer than the dead time. */
SCENARIO(holding, "a node takes nothing for a while")
{
	struct plan plan = { .window = 2, .goal = 400, .read_ns = 100 * US,
			     .idle_ns = 2 * MS };
	static const u32 lens[] = { 0, 8, 100, 60000 };
	struct end *a, *b;
	u32 i;

	world(2, MS);
	node_cfg.late = 4 * MS;
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
		sim_fail("a node on hold counts as dead");
}

SCENARIO(config, "versions and configurations that do not fit")
{
	static const struct {
		struct dd_tp_cfg other;		/* what the other node has */
		enum dd_tp_reason reason;	/* why there is no session */
		u8 version;			/* or its version */
	} cases[] = {
		{ { .version_min = DD_WIRE_VERSION + 1, .version_max = DD_WIRE_VERSION + 2 },
		  .reason = DD_TP_VERSION },
		{ { .maxnodes = 4 }, .reason = DD_TP_MAXNODES },
		{ { .node = 17 }, .reason = DD_TP_CONFIG },
		{ { .version_max = DD_WIRE_VERSION_MIN }, .version = DD_WIRE_VERSION_MIN },
		{ { .version_max = 9 }, .version = DD_WIRE_VERSION },
	};
	struct end *a, *b;
	u32 i;

	world(2, MS);
	net.loss = 0.1;
	conns_init(1);
	a = end_get(0, 1);
	b = end_get(1, 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		u8 version = cases[i].version;

		end_reinit(a, NULL);
		end_reinit(b, &cases[i].other);
		end_start(a);
		a->wanted = version;
		sim_run_for(10 * SEC);
		if (!version && a->reason != cases[i].reason)
			sim_fail("down with %d, not %d", a->reason, cases[i].reason);
		if (version && (a->tp.state != DD_TP_UP || a->tp.cur.version != version ||
				b->tp.cur.version != version))
			sim_fail("version %d was not agreed upon", version);
	}
}
