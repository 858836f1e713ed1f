// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scenarios of exported segments. The code of the kernel runs: look-ups, grants and
 * revocation (cluster/ctl.c, lookup.c, answer.c, remote_import.c, remote.c; core/access.c, export.c,
 * import.c), requests and replies (cluster/remote_op.c, remote_msg.c; core/deposit.c). The
 * processes are in owner.c and importer.c; this file makes the nodes and their trouble, and
 * audits the end.
 *
 * A segment has two counters for CAS, words that its owner stamps with the time, and slots,
 * each for one import at a time. So what a GET may return and the sum of all CAS are known.
 * A word of a slot states its place in the slot, and by which PUT it was stored.
 */
#include "processes.h"

struct mem mem;
static struct dd_tp_ops mem_ops;

/* ---- the kernel's side ---------------------------------------------------- */

static struct boot *boot_get(int node)
{
	if (!mem.boots[node] || mem.boots[node]->dead)
		mem.boots[node] = boot_new(node, 2 * PAGES);
	return mem.boots[node];
}

/* A channel without a list does not use its record: it has the last request's number. */
void mem_arrival(const struct dd_channel *ch, u64 msgid)
{
	struct dd_note *note = (struct dd_note *)&ch->note;

	if (ch->dead)
		sim_fail("request %llu is executed after the end", msgid);
	if (msgid <= note->msgid)
		sim_fail("request %llu is executed again", msgid);
	note->msgid = msgid;
}

/* A message that is complete has a note. */
void mem_post(struct end *e)
{
	dd_remote_upper.post(&e->link);
}

/* Each look-up that waits is woken once. Begins as the messages of cluster/ctl_msg.h. */
static void on_ctl(struct dd_tp *tp, const void *data, u32 len)
{
	struct end *e = container_of(tp, struct end, tp);
	const struct { u8 kind; u8 pad[7]; __le32 status; } *msg = data;

	if (msg->kind == 2 && le32_to_cpu(msg->status) == DD_CTL_PARKED)
		e->waits++;
	if (msg->kind == 4 && !e->waits--)
		sim_fail("a look-up that has waited is answered again");
	dd_remote_upper.tp.ctl(tp, data, len);
}

static void on_up(struct dd_tp *tp)
{
	container_of(tp, struct end, tp)->waits = 0;
	dd_remote_upper.tp.up(tp);
}

const struct dd_tp_ops *mem_attach(struct end *e)
{
	struct dd_peer *peer = sim_alloc(sizeof(*peer));

	boot_now = boot_get(e->node);
	peer->number = e->peer + 1;
	peer->node = &boot_now->node;
	peer->config.dead_ms = node_cfg.dead / MS;
	refcount_set(&peer->ref, 1);
	e->link.peer = peer;
	e->link.node = peer->node;
	if (dd_remote_upper.attach(&e->link))
		sim_fail("attach");
	return &mem_ops;
}

/* ---- trouble -------------------------------------------------------------- */

void mem_died(int node)
{
	struct boot *b = mem.boots[node];
	u32 i;

	b->dead = true;
	if (b->seg)
		seg_end(b->seg, true);
	for (i = node * mem.per_node; i < (node + 1) * mem.per_node; i++)
		if (mem.apps[i].imp)
			app_over(&mem.apps[i]);
}

static void node_begin(void *arg, u64 node)
{
	u32 i;

	boot_get(node)->begun = true;
	owner_step(mem.boots[node], 0);
	for (i = node * mem.per_node; i < (node + 1) * mem.per_node; i++)
		app_wake(&mem.apps[i], sim_below(20 * MS));
}

static void reboot(void *arg, u64 gen)
{
	int node = sim_below(nnodes);

	if (mem.stopping)
		return;
	if (mem.boots[node]->begun && !mem.boots[node]->dead) {
		node_reboot(node);
		mem.seen.reboots++;
		/* Later than its ends. */
		sim_at(sim.now + 201 * MS, node_begin, NULL, node);
	}
	sim_at(sim.now + sim_below(2 * gen), reboot, NULL, gen);
}

static u64 cut_until;
static int cut_group, cut_groups;

/* Nodes of one group do not reach the others. */
static bool cut(int src, int dst)
{
	return sim.now < cut_until &&
	       (src % cut_groups == cut_group) != (dst % cut_groups == cut_group);
}

static void parting(void *arg, u64 gen)
{
	if (mem.stopping)
		return;
	cut_group = sim_below(cut_groups);
	cut_until = sim.now + (mem.seen.cuts++ ? sim_below(2 * node_cfg.dead) : 2 * node_cfg.dead);
	sim_at(cut_until + sim_below(2 * gen), parting, NULL, gen);
}

enum { LOSS, ORDER, REBOOT, PARTITION, TROUBLES };

static void trouble_begin(u32 which)
{
	/* Many nodes soon reach their goal. */
	bool many = nnodes > 100;
	u64 first = sim.now + (many ? 20 : 200) * MS;

	net.loss = which & 1 << LOSS ? 0.05 : 0.005;
	if (which & 1 << ORDER) {
		net.reorder = 0.2;
		net.reorder_ns = 2 * MS;
		net.dup = 0.1;
		net.dup_ns = 300 * MS;
	}
	if (which & 1 << REBOOT)
		sim_at(first, reboot, NULL, (many ? 20 : 300) * MS);
	if (which & 1 << PARTITION) {
		net.cut = cut;
		sim_at(first, parting, NULL, 200 * MS);
	}
}

/* ---- the end ---------------------------------------------------------------- */

static void audit_counter(const struct seg *s, int i)
{
	u64 v = (i ? (u32)s->counter[i] : s->counter[i]) - counter_base[i];
	u64 least = s->acked[i], most = least + s->unknown[i];

	/* That of 4 bytes wraps. */
	while (i && v < least)
		v += CAS4_STATES;
	if (v < least || v > most)
		sim_fail("%llu CAS have succeeded, not %llu to %llu", v, least, most);
}

/* Nothing is left of imports and exports. */
static void audit_end(struct end *e)
{
	const struct dd_ctl *ctl = e->link.priv;

	end_audit(e);
	if (!list_empty(&ctl->open) || !list_empty(&ctl->lost) || !list_empty(&ctl->closing) ||
	    !list_empty(&ctl->parked) || !list_empty(&ctl->waiting) ||
	    !list_empty(&ctl->inbox) || !list_empty(&ctl->waiters.head))
		sim_fail("%d-%d: an access or a look-up is left", e->node, e->peer);
	if (e->link.peer->ref.n != 1)
		sim_fail("%d-%d: %u references are left", e->node, e->peer, e->link.peer->ref.n);
	kernel_objects--;
}

/* Notes that were accepted have arrived, unless their reader has failed. */
static void audit_notes(const struct app *app)
{
	u64 i;

	for (i = 1; i <= app->notes; i++)
		if (app->note[i].done && !app->note[i].taken && !app->note[i].to->dead)
			sim_fail("NOTE %llu was not delivered", i);
}

static void audit(void)
{
	u32 i;

	for (i = 0; i < mem.nsegs; i++) {
		seg_check(&mem.segs[i]);
		audit_counter(&mem.segs[i], 0);
		audit_counter(&mem.segs[i], 1);
	}
	for (i = 0; i < nnodes; i++)
		take_notes(mem.boots[i]);
	for (i = 0; i < nnodes * mem.per_node; i++)
		audit_notes(&mem.apps[i]);
	for (i = 0; i < nnodes; i++) {
		struct boot *b = mem.boots[i];

		if (b->node.parked.count || b->ctx.charged.counter ||
		    b->ctx.ref.n != 1 || b->region.obj.users.n != 1 ||
		    b->aside.obj.users.n != 1 || b->list.obj.users.n != 1)
			sim_fail("node %u: %u look-ups, %ld bytes, %u references are left", i,
				 b->node.parked.count, b->ctx.charged.counter,
				 b->ctx.ref.n - 1);
	}
	ends_each(audit_end);
	/* What a node had when it failed is not freed. */
	if (kernel_objects && !mem.seen.reboots)
		sim_fail("%ld allocations are left", kernel_objects);
}

static bool goals_reached(void)
{
	static u32 i;

	/* Continue after the last importer that has reached it. */
	for (i = i < nnodes * mem.per_node ? i : 0; i < nnodes * mem.per_node; i++)
		if (mem.apps[i].count < mem.plan.goal)
			return false;
	return true;
}

static void mem_world(int nodes, u32 per, const struct mem_plan *p)
{
	u32 i;

	mem_used = true;
	mem_ops = dd_remote_upper.tp;
	mem_ops.ctl = on_ctl;
	mem_ops.up = on_up;
	dd_remote_init();
	world(nodes, 500 * US);
	node_cfg.dead = 500 * MS;
	if (sim_chance(0.5)) {
		node_cfg.records = 32;
		node_cfg.ctl_slots = 2;
		node_cfg.late = 4 * MS;
	}
	mem.plan = *p;
	mem.per_node = per;
	mem.stopping = false;
	mem.nsegs = 0;
	kernel_objects = 0;
	memset(&mem.seen, 0, sizeof(mem.seen));
	cut_groups = min(nodes, 20);
	mem.boots = sim_alloc(nodes * sizeof(*mem.boots));
	mem.segs = sim_alloc(1000000 * sizeof(*mem.segs));
	mem.apps = sim_alloc(nodes * per * sizeof(*mem.apps));
	for (i = 0; i < nodes * per; i++) {
		mem.apps[i].node = i / per;
		mem.apps[i].rank = i % per;
		mem.apps[i].to = (i / per + 1 + i % per * (nodes - 1) / per) % nodes;
		region_init(&mem.apps[i].memory, boot_get(i / per), DEPTH * PIECE / PAGE_SIZE);
	}
	for (i = 0; i < nodes; i++)
		node_begin(NULL, i);
}

/* Let all processes end, and all sessions. */
static void mem_finish(void)
{
	u32 i;

	mem.stopping = true;
	net.cut = NULL;
	net.loss = 0;
	sim_run_for(300 * MS);
	for (i = 0; i < nnodes * mem.per_node; i++)
		app_wake(&mem.apps[i], sim_below(MS));
	sim_run_for(3 * node_cfg.dead);
	for (i = 0; i < nnodes * mem.per_node; i++)
		if (mem.apps[i].imp)
			sim_fail("an import has not ended");
	audit();
	sim_say("%llu requests, %llu unknown; %llu imports, %llu failed, %llu ended by the owner, %llu lost; %u segments",
		mem.seen.requests, mem.seen.unknown, mem.seen.imports, mem.seen.failed,
		mem.seen.stale, mem.seen.lost, mem.nsegs);
}

/* One kind of work with each kind of trouble. What is 0 in @p is as usual. */
static void mem_run(struct mem_plan p)
{
	bool short_lived = p.export_ns;
	u32 i;

	p.import_ns = p.import_ns ?: 50 * MS;
	p.export_ns = p.export_ns ?: SEC;
	p.gap_ns = p.gap_ns ?: 10 * MS;
	p.tick_ns = p.tick_ns ?: MS;
	for (i = 0; i < TROUBLES; i++) {
		mem_world(3, 2, &p);
		trouble_begin(1 << i);
		sim_run_for(1500 * MS);
		mem_finish();
		need(mem.seen.requests > 300 && mem.seen.imports > 3, "requests");
		need(i == REBOOT || !short_lived || mem.seen.stale > 50, "ends of segments");
		need(i < REBOOT || mem.seen.lost, "lost sessions");
		need(!p.inhibit || mem.seen.refused > 50, "refused requests");
		need(!p.redirect || mem.seen.redirected > 50, "redirected requests");
		need(!(p.kinds & NOTE) || mem.seen.taken > 50, "notes");
	}
}

SCENARIO(get, "segments are read, with each kind of trouble")
{
	mem_run((struct mem_plan){ .kinds = GET | PUT, .tick_ns = 100 * US });
}

SCENARIO(cas, "compare and swap, with each kind of trouble")
{
	mem_run((struct mem_plan){ .kinds = CAS });
}

/* Segments end all the time. */
SCENARIO(revoke, "segments end under load")
{
	mem_run((struct mem_plan){ .kinds = GET | CAS | PUT, .import_ns = 20 * MS,
				   .export_ns = 10 * MS, .gap_ns = MS, .tick_ns = 100 * US });
}

/* Segments are there for a moment only, and importers wait for them. */
SCENARIO(park, "importers wait for segments")
{
	mem_run((struct mem_plan){ .kinds = GET | CAS | PUT, .import_ns = 20 * MS,
				   .export_ns = 5 * MS, .gap_ns = 20 * MS, .park = 80 });
}

SCENARIO(inhibit, "owners inhibit PUT and CAS for a while")
{
	mem_run((struct mem_plan){ .kinds = GET | CAS | PUT, .inhibit = true });
}

/* Without GETs, as an importer does not know where its bytes are. */
SCENARIO(redirect, "owners redirect PUTs")
{
	mem_run((struct mem_plan){ .kinds = CAS | PUT, .redirect = true });
}

SCENARIO(note, "NOTEs, also with a full list")
{
	mem_run((struct mem_plan){ .kinds = GET | CAS | PUT | NOTE });
}

SCENARIO(many, "1000 nodes with segments: loss, reboots, partitions")
{
	const struct mem_plan p = { .kinds = GET | CAS | PUT, .goal = 20, .import_ns = 200 * MS,
				    .export_ns = 2 * SEC, .gap_ns = 50 * MS, .tick_ns = 50 * MS,
				    .park = 50 };

	mem_world(1000, 2, &p);
	node_cfg.records = 32;
	trouble_begin(1 << LOSS | 1 << ORDER | 1 << REBOOT | 1 << PARTITION);
	sim_run(60 * SEC, goals_reached);
	mem_finish();
	need(mem.seen.reboots && mem.seen.lost, "a reboot");
}
