// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scenarios of exported segments. The code of the kernel runs: look-ups, grants and
 * revocation (cluster/ctl.c, lookup.c, answer.c, far.c, remote.c; core/access.c, export.c,
 * import.c), requests and replies (cluster/remote_op.c, remote_msg.c; core/deposit.c). This
 * file has the processes: each node exports a segment, ends it and exports another one; importers import
 * the segments of other nodes, use them, end the import, and import again.
 *
 * A segment has two counters for CAS, words that its owner stamps with the time, and slots,
 * each for one import at a time. So what a GET may return and the sum of all CAS are known.
 * A word of a slot states its place in the slot, and by which PUT it was stored.
 */
#include "mem.h"

#define PAGES		4			/* of a segment */
#define WORDS		(PAGES * PAGE_SIZE / 8)
#define STAMPED		2			/* first stamped word, after the counters */
#define SLOTS		512			/* first word of the slots */
#define SLOT		192			/* words */
#define NSLOTS		((WORDS - SLOTS) / SLOT)
#define DEPTH		6
#define PIECE		2048			/* bytes of an importer's memory for a request */

/* The counters are marked, so that one is not taken for the other. */
static const u64 counter_base[] = { 0xa5ull << 56, 0xb6000000 };
#define CAS4_STATES	3			/* it wraps: a repeated CAS may find its value */
#define NOTES		100000			/* of an importer, at most */

enum { GET = 1, CAS = 2, PUT = 4, NOTE = 8, KINDS = 4 };

/* A segment that was exported. */
struct seg {
	struct boot *boot;	/* its node */
	struct dd_obj *exp;	/* the segment; NULL once it has ended */
	int half;		/* which half of the node's region it is */
	u64 *inhibited;		/* its contents since PUT and CAS are inhibited, or NULL */
	u32 redir_at, redir_n;	/* words that are redirected, or 0 */
	/* Its contents at the end; NULL before, and once the memory is used again */
	u64 *end;
	u64 counter[2];		/* the counters at the end */
	u64 acked[2];		/* CAS that have succeeded */
	u64 unknown[2];		/* CAS whose outcome is not known */
};

/* A request of an importer. */
struct request {
	int kind;		/* GET, CAS, PUT or NOTE */
	u32 word;		/* first word in the segment */
	u32 n;			/* words */
	u32 shift;		/* of a GET: bytes between a word and the result */
	bool status;		/* of a CAS: the result is a status */
	/*
	 * Of a CAS: expected value; of a GET: oldest stamp that may be returned; of a NOTE:
	 * its number
	 */
	u64 old;
};

/* A process that imports. */
struct app {
	int node;		/* its node */
	int to;			/* node of the segment */
	u32 rank;		/* its number among the importers of that node */
	struct dd_import *imp;	/* the import, or NULL */
	struct seg *seg;	/* its segment, or NULL while it is pending */
	u64 life;		/* number of imports made */
	u64 end_at;		/* when @imp ends */
	u64 noted;		/* the last NOTE that has arrived */
	u64 count;		/* requests completed */
	u64 puts;		/* PUTs sent */
	u64 notes;		/* NOTEs sent */
	/* Of each NOTE, by its number: the node that it was sent to, and what is known. */
	struct {
		struct boot *to;
		bool taken, done, refused;
	} *note;
	u64 mine[SLOT];		/* contents of its slot; 0: not known */
	u64 seen[2];		/* last values of the counters */
	struct dd_region memory;	/* sources and results */
	u64 taken;		/* requests of @imp that are completed */
	struct request req[DEPTH];	/* requests, by number */
	u64 at;			/* time of the next step, 0 for none */
};

/* What the processes do. */
struct mem_plan {
	u32 kinds;		/* requests */
	u64 goal;		/* requests of each importer, 0 for any number */
	u64 import_ns;		/* average life of an import */
	u64 export_ns;		/* average life of a segment */
	u64 gap_ns;		/* average time until the next one */
	u64 tick_ns;		/* time between two stamps */
	u32 park;		/* percentage of imports that wait for the segment */
	bool inhibit;		/* owners inhibit PUT and CAS for a while */
	bool redirect;		/* owners redirect PUTs */
};

static struct mem_plan plan;
static struct boot **boots;
static struct seg *segs;
static struct app *apps;
static u32 per_node, nsegs;
static bool stopping;
static struct dd_tp_ops mem_ops;
/* What has happened. */
static struct {
	u64 requests, unknown, imports, failed, stale, lost, reboots, cuts;
	u64 refused, redirected, taken;
} seen;

/* ---- memory ------------------------------------------------------------- */

static u64 *seg_word(const struct seg *s, u32 word)
{
	size_t left;

	return dd_region_addr(&s->boot->region, (s->half * WORDS + word) * 8, &left);
}

static u64 seg_stamp(const struct seg *s)
{
	return *seg_word(s, STAMPED) >> 16;
}

static void seg_stamp_now(const struct seg *s)
{
	u32 i;

	for (i = STAMPED; i < SLOTS; i++)
		*seg_word(s, i) = sim.now << 16 | i;
}

/* A word of a slot, at @word of the segment, was stored by a PUT to there, or never. */
static bool slot_word_ok(u64 value, u32 word)
{
	return !value || (value & 1023) == (word - SLOTS) % SLOT;
}

/* The number of the PUT, and its importer. */
static u64 slot_word_put(u64 value)
{
	return value >> 10;
}

/* ---- the kernel's side ---------------------------------------------------- */

static struct boot *boot_get(int node)
{
	if (!boots[node] || boots[node]->dead)
		boots[node] = boot_new(node, 2 * PAGES);
	return boots[node];
}

/* A channel without a list does not use its record: it has the last request's number. */
void mem_arrival(const struct dd_channel *ch, u64 msgid)
{
	struct dd_rec *rec = (struct dd_rec *)&ch->rec;

	if (ch->dead)
		sim_fail("request %llu is executed after the end", msgid);
	if (msgid <= rec->msgid)
		sim_fail("request %llu is executed again", msgid);
	rec->msgid = msgid;
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

/* ---- exporters ---------------------------------------------------------- */

/* Nothing was stored since the end. */
static void seg_check(const struct seg *s)
{
	u32 i;

	for (i = 0; s->end && i < WORDS; i++)
		if (*seg_word(s, i) != s->end[i])
			sim_fail("word %u was stored after the end of the segment", i);
}

static void name_of(int node, u8 *key)
{
	snprintf((char *)key, DD_SEGMENT_KEY, "segment %d", node);
}

static void seg_begin(struct boot *b)
{
	struct dd_segment_make arg = {
		.length = PAGES * PAGE_SIZE, .rights = DD_RIGHTS, .importers = NSLOTS,
		.policy = DD_POLICY_NEVER, .permission = DD_PERMIT_ANY,
		.key_class = DD_SEGMENT_NAME,
		.flags = plan.redirect ? DD_SEGMENT_REDIRECT : 0,
	};
	struct seg *s = &segs[nsegs];
	u32 i;
	int err;

	s->boot = b;
	/* The half that was not used last. */
	s->half = b->half[0] > b->half[1];
	if (b->half[s->half]) {
		seg_check(b->half[s->half]);
		free(b->half[s->half]->end);
		b->half[s->half]->end = NULL;
	}
	b->half[s->half] = s;
	for (i = 0; i < WORDS; i++)
		*seg_word(s, i) = i < 2 ? counter_base[i] : 0;
	seg_stamp_now(s);
	if (plan.kinds & NOTE) {
		arg.list = LIST_ID;
		arg.window = 2;
		arg.policy = DD_POLICY_CONDITIONAL;
	}
	arg.offset = s->half * WORDS * 8;
	name_of(b->number, arg.key);
	/* The generation is the number of segments that were made before, and this one. */
	b->node.generation.counter = nsegs++;
	boot_now = b;
	err = dd_export_make(&b->ctx, &arg);
	if (err || arg.generation != nsegs)
		sim_fail("export: %d", err);
	s->exp = b->objs[lower_32_bits(arg.segment)];
	b->seg = s;
}

static void seg_ctl(struct seg *s, struct dd_segment_ctl arg)
{
	int err;

	arg.segment = dd_obj_serial(s->exp);
	err = dd_export_ctl(&s->boot->ctx, &arg);
	if (err)
		sim_fail("change %u of a segment: %d", arg.what, err);
}

/* Nothing was stored since PUT and CAS are inhibited. */
static void seg_check_inhibited(const struct seg *s)
{
	u32 i;

	for (i = 0; i < WORDS; i++)
		if (*seg_word(s, i) != s->inhibited[i])
			sim_fail("word %u was stored under inhibition", i);
}

static void seg_inhibit(struct seg *s, bool on)
{
	u32 i;

	if (s->inhibited)
		seg_check_inhibited(s);
	if (on == !!s->inhibited)
		return;
	seg_ctl(s, (struct dd_segment_ctl){ .what = DD_SEGMENT_INHIBIT, .value = on });
	if (!on) {
		free(s->inhibited);
		s->inhibited = NULL;
		return;
	}
	s->inhibited = sim_alloc(WORDS * 8);
	for (i = 0; i < WORDS; i++)
		s->inhibited[i] = *seg_word(s, i);
}

static u64 *aside_word(const struct seg *s, u32 word)
{
	size_t left;

	return dd_region_addr(&s->boot->aside, word * 8, &left);
}

static void seg_redirect(struct seg *s)
{
	u32 i;

	s->redir_at = SLOTS + sim_below(NSLOTS * SLOT - 1);
	s->redir_n = 1 + sim_below(min(2 * SLOT, WORDS - s->redir_at));
	/* Nothing was stored since the last one has ended. */
	for (i = 0; i < WORDS; i++)
		if (*aside_word(s, i))
			sim_fail("word %u was redirected after the end", i);
	seg_ctl(s, (struct dd_segment_ctl){ .what = DD_SEGMENT_REDIRECT_TO,
					    .region = REGION_ASIDE, .value = s->redir_at * 8,
					    .length = s->redir_n * 8 });
}

/* Words of one PUT are in the place that the state says, and not in the segment, too. */
static void seg_redirect_end(struct seg *s)
{
	const struct dd_segment_state *state = container_of(s->exp, struct dd_export,
							    obj)->seg.state;
	u64 put = 0;
	u32 i;

	seg_ctl(s, (struct dd_segment_ctl){ .what = DD_SEGMENT_REDIRECT_END });
	if ((state->first | state->count) & 7)
		sim_fail("%llu bytes at %llu are redirected", state->count, state->first);
	for (i = 0; i < WORDS; i++) {
		u64 w = *aside_word(s, i);

		*aside_word(s, i) = 0;
		if (i - state->first / 8 >= state->count / 8) {
			if (w)
				sim_fail("redirected word %u is not in the state", i);
			continue;
		}
		if (!w || !slot_word_ok(w, s->redir_at + i) ||
		    w == *seg_word(s, s->redir_at + i))
			sim_fail("redirected word %u is %llx", i, w);
		if (put && slot_word_put(w) != put)
			sim_fail("word %u of another message is redirected", i);
		put = slot_word_put(w);
	}
	seen.redirected += !!put;
	s->redir_n = 0;
}

/* What the owner changes while its segment is exported. */
static void seg_change(struct seg *s)
{
	if (plan.inhibit)
		seg_inhibit(s, sim_chance(0.3));
	if (plan.redirect && s->redir_n)
		seg_redirect_end(s);
	else if (plan.redirect)
		seg_redirect(s);
}

/* Each NOTE arrives once, in the order of its importer, unless it was refused. */
static void take_notes(struct boot *b)
{
	struct dd_note n;

	while (list_take(b, &n)) {
		u64 what[2];
		struct app *app;

		memcpy(what, n.payload, sizeof(what));
		app = &apps[what[0]];
		if (n.op != DD_OP_NOTE || n.len != sizeof(what) || what[1] > app->notes ||
		    app->note[what[1]].to != b)
			sim_fail("note %llu of importer %llu", what[1], what[0]);
		if (app->note[what[1]].taken || app->note[what[1]].refused)
			sim_fail("a NOTE is delivered twice, or was refused");
		if (what[1] < app->noted)
			sim_fail("a NOTE is delivered after a later one");
		app->note[what[1]].taken = true;
		app->noted = what[1];
		seen.taken++;
	}
}

/* The owner ends a segment, or its node fails. */
static void seg_end(struct seg *s, bool fails)
{
	u32 i;

	if (s->inhibited)
		seg_check_inhibited(s);
	free(s->inhibited);
	s->inhibited = NULL;
	if (!fails) {
		if (s->redir_n)
			seg_redirect_end(s);
		mutex_lock(&s->boot->ctx.lock);
		s->exp->ops->end(s->exp);
		mutex_unlock(&s->boot->ctx.lock);
	}
	s->exp = NULL;
	s->boot->seg = NULL;
	s->end = sim_alloc(WORDS * 8);
	for (i = 0; i < WORDS; i++)
		s->end[i] = *seg_word(s, i);
	memcpy(s->counter, s->end, sizeof(s->counter));
	for (i = SLOTS; i < SLOTS + NSLOTS * SLOT; i++)
		if (!slot_word_ok(s->end[i], i))
			sim_fail("word %u is %llx", i, s->end[i]);
}

static void tick(void *arg, u64 gen)
{
	struct boot *b = arg;

	if (b->dead || (stopping && !b->seg))
		return;
	if (b->seg && (stopping || sim.now >= b->next_at)) {
		seg_end(b->seg, false);
		b->next_at = sim.now + sim_below(2 * plan.gap_ns);
	} else if (!b->seg && sim.now >= b->next_at) {
		seg_begin(b);
		b->next_at = sim.now + sim_below(2 * plan.export_ns);
	} else if (b->seg) {
		if (!b->seg->inhibited)
			seg_stamp_now(b->seg);
		seg_change(b->seg);
	}
	take_notes(b);
	sim_at(sim.now + sim_below(2 * plan.tick_ns), tick, b, 0);
}

/* ---- importers ---------------------------------------------------------- */

static void step(void *arg, u64 gen);

static void app_wake(struct app *app, u64 delay)
{
	u64 at = sim.now + delay;

	if (app->at && app->at <= at)
		return;
	app->at = at;
	sim_at(at, step, app, at);
}

void mem_wake(struct boot *b)
{
	u32 i;

	for (i = 0; i < per_node; i++)
		app_wake(&apps[b->number * per_node + i], sim_below(5 * US));
}

static struct dd_import_cell *cell_of(const struct app *app)
{
	return container_of(app->imp->cell, struct dd_import_cell, cell);
}

static struct request *request_of(struct app *app, u64 n)
{
	return &app->req[n % DEPTH];
}

/* The importer's memory for a request. */
static u8 *memory_of(struct app *app, u64 n)
{
	size_t left;

	return dd_region_addr(&app->memory, n % DEPTH * PIECE, &left);
}

/* First word of the slot of the present import: not that of the one before. */
static u32 slot_of(const struct app *app)
{
	return SLOTS + (app->rank * 2 + app->life % 2) % NSLOTS * SLOT;
}

static void app_import(struct app *app)
{
	struct dd_import_make arg = {
		.flags = DD_IMPORT_NOWAIT, .node = app->to + 1, .rights = DD_RIGHTS,
		.key_class = DD_SEGMENT_NAME,
	};
	int err;

	/* With 1, the reply to a request often waits for that of the one before. */
	arg.depth = sim_chance(0.4) ? 1 : 1 + sim_below(2 * DEPTH);
	if (sim_below(100) < plan.park)
		arg.flags |= DD_IMPORT_PARK;
	name_of(app->to, arg.key);
	boot_now = boots[app->node];
	app->life++;
	app->taken = 0;
	memset(app->mine, 0, sizeof(app->mine));
	memcpy(app->seen, counter_base, sizeof(app->seen));
	err = dd_far_import_make(&boot_now->ctx, &arg);
	if (err)
		sim_fail("import: %d", err);
	app->imp = container_of(boot_now->objs[lower_32_bits(arg.import)], struct dd_import, obj);
	/* Half of the imports end with the segment or the session. */
	app->end_at = sim_chance(0.5) ? sim.now + sim_below(2 * plan.import_ns) : U64_MAX;
	app_wake(app, plan.import_ns / 50);
}

static void take_cas(struct app *app, const struct request *r, const u8 *result)
{
	u64 was = r->n ? *(u64 *)result : *(u32 *)result;
	int i = !r->n;

	if (r->status && (was < 1 || was > 2))
		sim_fail("CAS: status %llu", was);
	if (!r->status && was - counter_base[i] > (i ? CAS4_STATES - 1 : nsegs * 1000000ull))
		sim_fail("CAS: the reply of another request: %llx", was);
	if (r->status ? was == 1 : was == r->old) {
		app->seg->acked[i]++;
	} else if (!r->status) {
		app->seen[i] = was;
	}
}

static void take_get(struct app *app, const struct request *r, const u8 *result)
{
	u32 i, slot = slot_of(app);
	u64 w;

	for (i = 0; i < r->n; i++) {
		memcpy(&w, result + r->shift + i * 8, sizeof(w));
		if (r->word >= SLOTS) {
			if (app->mine[r->word + i - slot] && w != app->mine[r->word + i - slot])
				sim_fail("GET: %llx in word %u instead of what was put there: %llx",
					 w, r->word + i, app->mine[r->word + i - slot]);
			continue;
		}
		if ((u16)w != r->word + i)
			sim_fail("GET: word %u is %llx", r->word + i, w);
		if (w >> 16 < r->old || w >> 16 > sim.now)
			sim_fail("GET: word %u of %u..%u is from %llu, not %llu to %llu",
				 r->word + i, r->word, r->word + r->n, w >> 16, r->old,
				 sim.now);
	}
}

/* A request was refused. Bytes of a PUT before the refusal may be in place. */
static void take_refusal(struct app *app, const struct request *r, u64 n, u8 error)
{
	if (error == EAGAIN ? r->kind != NOTE :
	    error != EACCES || r->kind == GET || !plan.inhibit)
		sim_fail("request %llu: %u", n, error);
	if (r->kind == PUT)
		memset(&app->mine[r->word - slot_of(app)], 0, r->n * 8);
	if (r->kind == NOTE) {
		if (app->note[r->old].taken)
			sim_fail("NOTE %llu is delivered and refused", r->old);
		app->note[r->old].refused = true;
	}
	seen.refused++;
}

/* Check the results of requests that are done. */
static void app_take(struct app *app)
{
	const struct dd_import_cell *cell = cell_of(app);
	const struct request *r;

	while (app->taken < cell->cell.done) {
		u64 n = ++app->taken;

		if (n > cell->cell.submitted)
			sim_fail("request %llu is done before it began", n);
		r = request_of(app, n);
		if (cell->result[n % DD_RESULTS])
			take_refusal(app, r, n, cell->result[n % DD_RESULTS]);
		else if (r->kind == NOTE)
			app->note[r->old].done = true;
		else if (r->kind == CAS)
			take_cas(app, r, memory_of(app, n));
		else if (r->kind == GET)
			take_get(app, r, memory_of(app, n));
		app->count++;
		seen.requests++;
	}
}

/* The import is over: what is not done is not known, and is not repeated. */
static void app_over(struct app *app)
{
	const struct dd_import_cell *cell = cell_of(app);
	u64 n;

	for (n = app->taken + 1; n <= cell->cell.submitted; n++) {
		const struct request *r = request_of(app, n);

		if (cell->cell.error && cell->result[n % DD_RESULTS] != EIO)
			sim_fail("request %llu is not done: %d", n,
				 cell->result[n % DD_RESULTS]);
		if (r->kind == CAS)
			app->seg->unknown[!r->n]++;
		seen.unknown++;
	}
	app->imp = NULL;
	app->seg = NULL;
}

static void app_end(struct app *app)
{
	struct dd_obj *obj = &app->imp->obj;

	app_over(app);
	mutex_lock(&obj->ctx->lock);
	obj->ops->end(obj);
	mutex_unlock(&obj->ctx->lock);
	app_wake(app, sim_below(20 * MS));
}

static void make_get(struct app *app, struct request *r)
{
	bool own = plan.kinds & PUT && sim_chance(0.5);

	r->n = sim_below(4) ? 1 + sim_below(4) : 1 + sim_below(SLOT);
	r->word = own ? slot_of(app) + sim_below(SLOT - r->n + 1) :
		  STAMPED + sim_below(SLOTS - STAMPED - r->n + 1);
	/* The words of a long one that is not aligned may be torn between two packets. */
	r->shift = r->n <= 4 ? sim_below(8) : 0;
	r->old = seg_stamp(app->seg);
}

static void make_put(struct app *app, struct request *r, u64 *from)
{
	u32 i;

	r->n = sim_below(4) ? 1 + sim_below(4) : 1 + sim_below(SLOT);
	r->word = slot_of(app) + sim_below(SLOT - r->n + 1);
	app->puts++;
	for (i = 0; i < r->n; i++)
		from[i] = app->puts << 24 | (app - apps) << 10 | (r->word + i - slot_of(app)) |
			  1ull << 60;
}

/* A note with its importer and its number. */
static void make_note(struct app *app, struct request *r, u64 *from)
{
	if (!app->note)
		app->note = sim_alloc(NOTES * sizeof(*app->note));
	r->word = 0;
	r->n = 2;
	r->old = app->notes + 1;
	if (r->old == NOTES)
		sim_fail("too many notes");
	from[0] = app - apps;
	from[1] = r->old;
}

static void make_cas(struct app *app, struct request *r, u32 *meta)
{
	int i = sim_below(2);
	u64 new;

	r->word = i;
	r->n = !i;
	r->status = sim_chance(0.3);
	r->old = app->seen[i];
	new = i ? counter_base[i] + (r->old - counter_base[i] + 1) % CAS4_STATES : r->old + 1;
	memcpy(meta, &r->old, 8);
	memcpy(meta + 2, &new, 8);
}

/* As core/submit.c does. False if the request has to wait. */
static bool app_submit(struct app *app)
{
	struct dd_import *imp = app->imp;
	struct dd_channel *ch = imp->chan;
	u64 n = imp->submitted + 1;
	struct request *r = request_of(app, n), was = *r;
	struct dd_op op = { .region = &app->memory };
	int err;

	do {
		r->kind = 1 << sim_below(KINDS);
	} while (!(r->kind & plan.kinds));
	r->shift = 0;
	if (r->kind == GET)
		make_get(app, r);
	else if (r->kind == PUT)
		make_put(app, r, (u64 *)memory_of(app, n));
	else if (r->kind == NOTE)
		make_note(app, r, (u64 *)memory_of(app, n));
	else
		make_cas(app, r, op.sqe.meta);
	op.sqe.opcode = r->kind == GET ? DD_OP_GET : r->kind == PUT ? DD_OP_PUT :
			r->kind == NOTE ? DD_OP_NOTE : DD_OP_CAS;
	op.sqe.flags = r->kind == CAS && r->status ? DD_SQE_STATUS : 0;
	op.sqe.meta_count = r->kind == CAS ? DD_META_WORDS : 0;
	op.sqe.dst = r->word * 8;
	op.sqe.len = r->kind == CAS && !r->n ? 4 : r->n * 8;
	op.src = n % DEPTH * PIECE + r->shift;
	spin_lock(&ch->lock);
	if (ch->dead)
		err = -ECONNRESET;
	else
		err = r->kind == PUT ? ch->link->put(imp, &op) : ch->link->other(imp, &op);
	spin_unlock(&ch->lock);
	if (err) {
		*r = was;
		if (err != -EBUSY && err != -ECONNRESET)
			sim_fail("request: %d", err);
		return false;
	}
	if (r->kind == PUT)
		memcpy(&app->mine[r->word - slot_of(app)], memory_of(app, n), r->n * 8);
	if (r->kind == NOTE)
		app->note[++app->notes].to = app->seg->boot;
	ch->link->flush(imp);
	return true;
}

/* The import is up, as its owner sees for the first time. */
static void app_up(struct app *app)
{
	u64 generation = cell_of(app)->cell.received;

	if (!generation || generation > nsegs || segs[generation - 1].boot->number != app->to)
		sim_fail("import: generation %llu", generation);
	app->seg = &segs[generation - 1];
	seen.imports++;
}

static void app_failed(struct app *app, u32 error)
{
	if (app->seg ? error != ESTALE && error != EHOSTUNREACH :
	    error != ESTALE && error != EHOSTUNREACH && error != ECONNREFUSED &&
	    error != EUSERS && error != EAGAIN)
		sim_fail("the import has ended with %u", error);
	seen.failed += !app->seg;
	seen.stale += app->seg && error == ESTALE;
	seen.lost += error == EHOSTUNREACH;
	app_end(app);
}

static void step(void *arg, u64 gen)
{
	struct app *app = arg;
	struct boot *b = boots[app->node];
	bool over;
	u32 error;

	if (gen != app->at)
		return;
	app->at = 0;
	if (!b->begun || b->dead)
		return;
	over = stopping || (plan.goal && app->count >= plan.goal);
	if (!app->imp) {
		if (!over)
			app_import(app);
		return;
	}
	error = cell_of(app)->cell.error;
	if (error == EINPROGRESS) {
		/* Perhaps the importer does not wait any more. */
		if (stopping || sim.now >= app->end_at)
			app_end(app);
		else
			app_wake(app, plan.import_ns / 50);
		return;
	}
	if (!app->seg && !error)
		app_up(app);
	if (app->seg)
		app_take(app);
	if (error) {
		app_failed(app, error);
		return;
	}
	if (over || sim.now >= app->end_at) {
		app_end(app);
		return;
	}
	while (app->imp->submitted - app->taken < DEPTH && sim_chance(0.8) && app_submit(app))
		;
	app_wake(app, sim_below(plan.import_ns / 10));
}

/* ---- trouble -------------------------------------------------------------- */

void mem_died(int node)
{
	struct boot *b = boots[node];
	u32 i;

	b->dead = true;
	if (b->seg)
		seg_end(b->seg, true);
	for (i = node * per_node; i < (node + 1) * per_node; i++)
		if (apps[i].imp)
			app_over(&apps[i]);
}

static void node_begin(void *arg, u64 node)
{
	u32 i;

	boot_get(node)->begun = true;
	tick(boots[node], 0);
	for (i = node * per_node; i < (node + 1) * per_node; i++)
		app_wake(&apps[i], sim_below(20 * MS));
}

static void reboot(void *arg, u64 gen)
{
	int node = sim_below(nnodes);

	if (stopping)
		return;
	if (boots[node]->begun && !boots[node]->dead) {
		node_reboot(node);
		seen.reboots++;
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
	if (stopping)
		return;
	cut_group = sim_below(cut_groups);
	cut_until = sim.now + (seen.cuts++ ? sim_below(2 * node_cfg.dead) : 2 * node_cfg.dead);
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
	    !list_empty(&ctl->inbox) || !list_empty(&ctl->room.head) || ctl->unsent)
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

	for (i = 0; i < nsegs; i++) {
		seg_check(&segs[i]);
		audit_counter(&segs[i], 0);
		audit_counter(&segs[i], 1);
	}
	for (i = 0; i < nnodes; i++)
		take_notes(boots[i]);
	for (i = 0; i < nnodes * per_node; i++)
		audit_notes(&apps[i]);
	for (i = 0; i < nnodes; i++) {
		struct boot *b = boots[i];

		if (b->node.nparked || b->ctx.charged.counter ||
		    b->ctx.ref.refcount.n != 1 || b->region.obj.users.n != 1 ||
		    b->aside.obj.users.n != 1 || b->list.obj.users.n != 1)
			sim_fail("node %u: %u look-ups, %ld bytes, %u references are left", i,
				 b->node.nparked, b->ctx.charged.counter,
				 b->ctx.ref.refcount.n - 1);
	}
	ends_each(audit_end);
	/* What a node had when it failed is not freed. */
	if (kernel_objects && !seen.reboots)
		sim_fail("%ld allocations are left", kernel_objects);
}

static bool goals_reached(void)
{
	static u32 i;

	/* Continue after the last importer that has reached it. */
	for (i = i < nnodes * per_node ? i : 0; i < nnodes * per_node; i++)
		if (apps[i].count < plan.goal)
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
	mem_ops.trace = NULL;
	dd_far_init();
	world(nodes, 500 * US);
	node_cfg.dead = 500 * MS;
	if (sim_chance(0.5)) {
		node_cfg.records = 32;
		node_cfg.ctl_slots = 2;
		node_cfg.late = 4 * MS;
	}
	plan = *p;
	per_node = per;
	stopping = false;
	nsegs = 0;
	kernel_objects = 0;
	memset(&seen, 0, sizeof(seen));
	cut_groups = min(nodes, 20);
	boots = sim_alloc(nodes * sizeof(*boots));
	segs = sim_alloc(1000000 * sizeof(*segs));
	apps = sim_alloc(nodes * per * sizeof(*apps));
	for (i = 0; i < nodes * per; i++) {
		apps[i].node = i / per;
		apps[i].rank = i % per;
		apps[i].to = (i / per + 1 + i % per * (nodes - 1) / per) % nodes;
		region_init(&apps[i].memory, boot_get(i / per), DEPTH * PIECE / PAGE_SIZE);
	}
	for (i = 0; i < nodes; i++)
		node_begin(NULL, i);
}

/* Let all processes end, and all sessions. */
static void mem_finish(void)
{
	u32 i;

	stopping = true;
	net.cut = NULL;
	net.loss = 0;
	sim_run_for(300 * MS);
	for (i = 0; i < nnodes * per_node; i++)
		app_wake(&apps[i], sim_below(MS));
	sim_run_for(3 * node_cfg.dead);
	for (i = 0; i < nnodes * per_node; i++)
		if (apps[i].imp)
			sim_fail("an import has not ended");
	audit();
	sim_say("%llu requests, %llu unknown; %llu imports, %llu failed, %llu ended by the owner, %llu lost; %u segments",
		seen.requests, seen.unknown, seen.imports, seen.failed, seen.stale,
		seen.lost, nsegs);
}

/* One kind of work with each kind of trouble. */
static void mem_run(const struct mem_plan *p)
{
	u32 i;

	for (i = 0; i < TROUBLES; i++) {
		mem_world(3, 2, p);
		trouble_begin(1 << i);
		sim_run_for(1500 * MS);
		mem_finish();
		need(seen.requests > 300 && seen.imports > 3, "requests");
		need(i == REBOOT || p->gap_ns == 10 * MS || seen.stale > 50, "ends of segments");
		need(i < REBOOT || seen.lost, "lost sessions");
		need(!p->inhibit || seen.refused > 50, "refused requests");
		need(!p->redirect || seen.redirected > 50, "redirected requests");
		need(!(p->kinds & NOTE) || seen.taken > 50, "notes");
	}
}

SCENARIO(get, "segments are read, with each kind of trouble")
{
	mem_run(&(struct mem_plan){ .kinds = GET | PUT, .import_ns = 50 * MS,
				    .export_ns = SEC, .gap_ns = 10 * MS, .tick_ns = 100 * US });
}

SCENARIO(cas, "compare and swap, with each kind of trouble")
{
	mem_run(&(struct mem_plan){ .kinds = CAS, .import_ns = 50 * MS,
				    .export_ns = SEC, .gap_ns = 10 * MS, .tick_ns = MS });
}

/* Segments end all the time. */
SCENARIO(revoke, "segments end under load")
{
	mem_run(&(struct mem_plan){ .kinds = GET | CAS | PUT, .import_ns = 20 * MS,
				    .export_ns = 10 * MS, .gap_ns = MS, .tick_ns = 100 * US });
}

/* Segments are there for a moment only, and importers wait for them. */
SCENARIO(park, "importers wait for segments")
{
	mem_run(&(struct mem_plan){ .kinds = GET | CAS | PUT, .import_ns = 20 * MS,
				    .export_ns = 5 * MS, .gap_ns = 20 * MS, .tick_ns = MS,
				    .park = 80 });
}

SCENARIO(inhibit, "owners inhibit PUT and CAS for a while")
{
	mem_run(&(struct mem_plan){ .kinds = GET | CAS | PUT, .import_ns = 50 * MS,
				    .export_ns = SEC, .gap_ns = 10 * MS, .tick_ns = MS,
				    .inhibit = true });
}

/* Without GETs, as an importer does not know where its bytes are. */
SCENARIO(redirect, "owners redirect PUTs")
{
	mem_run(&(struct mem_plan){ .kinds = CAS | PUT, .import_ns = 50 * MS,
				    .export_ns = SEC, .gap_ns = 10 * MS, .tick_ns = MS,
				    .redirect = true });
}

SCENARIO(note, "NOTEs, also with a full list")
{
	mem_run(&(struct mem_plan){ .kinds = GET | CAS | PUT | NOTE, .import_ns = 50 * MS,
				    .export_ns = SEC, .gap_ns = 10 * MS, .tick_ns = MS });
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
	need(seen.reboots && seen.lost, "a reboot");
}
