// SPDX-License-Identifier: GPL-2.0-only
/*
 * Importers: each imports the segments of another node, uses them, ends the import, and
 * imports again.
 */
#include "processes.h"

static void step(void *arg, u64 gen);

void app_wake(struct app *app, u64 delay)
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

	for (i = 0; i < mem.per_node; i++)
		app_wake(&mem.apps[b->number * mem.per_node + i], sim_below(5 * US));
}

static struct dd_mem_state *cell_of(const struct app *app)
{
	return container_of(app->imp->cs, struct dd_mem_state, cs);
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
	if (sim_below(100) < mem.plan.park)
		arg.flags |= DD_IMPORT_PARK;
	segment_name(app->to, arg.key);
	boot_now = mem.boots[app->node];
	app->life++;
	app->taken = 0;
	memset(app->mine, 0, sizeof(app->mine));
	memcpy(app->seen, counter_base, sizeof(app->seen));
	err = dd_remote_import_make(&boot_now->ctx, &arg);
	if (err)
		sim_fail("import: %d", err);
	app->imp = container_of(boot_now->objs[lower_32_bits(arg.import)], struct dd_import, obj);
	/* Half of the imports end with the segment or the session. */
	app->end_at = sim_chance(0.5) ? sim.now + sim_below(2 * mem.plan.import_ns) : U64_MAX;
	app_wake(app, mem.plan.import_ns / 50);
}

static void take_cas(struct app *app, const struct request *r, const u8 *result)
{
	u64 was = r->n ? *(u64 *)result : *(u32 *)result;
	int i = !r->n;

	if (r->status && (was < 1 || was > 2))
		sim_fail("CAS: status %llu", was);
	if (!r->status && was - counter_base[i] > (i ? CAS4_STATES - 1 : mem.nsegs * 1000000ull))
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
	    error != EACCES || r->kind == GET || !mem.plan.inhibit)
		sim_fail("request %llu: %u", n, error);
	if (r->kind == PUT)
		memset(&app->mine[r->word - slot_of(app)], 0, r->n * 8);
	if (r->kind == NOTE) {
		if (app->note[r->old].taken)
			sim_fail("NOTE %llu is delivered and refused", r->old);
		app->note[r->old].refused = true;
	}
	mem.seen.refused++;
}

/* Check the results of requests that are done. */
static void app_take(struct app *app)
{
	const struct dd_mem_state *cs = cell_of(app);
	const struct request *r;

	while (app->taken < cs->cs.done) {
		u64 n = ++app->taken;

		if (n > cs->cs.submitted)
			sim_fail("request %llu is done before it began", n);
		r = request_of(app, n);
		if (cs->result[n % DD_RESULTS])
			take_refusal(app, r, n, cs->result[n % DD_RESULTS]);
		else if (r->kind == NOTE)
			app->note[r->old].done = true;
		else if (r->kind == CAS)
			take_cas(app, r, memory_of(app, n));
		else if (r->kind == GET)
			take_get(app, r, memory_of(app, n));
		app->count++;
		mem.seen.requests++;
	}
}

/* The import is over: what is not done is not known, and is not repeated. */
void app_over(struct app *app)
{
	const struct dd_mem_state *cs = cell_of(app);
	u64 n;

	for (n = app->taken + 1; n <= cs->cs.submitted; n++) {
		const struct request *r = request_of(app, n);

		if (cs->cs.error && cs->result[n % DD_RESULTS] != EIO)
			sim_fail("request %llu is not done: %d", n,
				 cs->result[n % DD_RESULTS]);
		if (r->kind == CAS)
			app->seg->unknown[!r->n]++;
		mem.seen.unknown++;
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
	bool own = mem.plan.kinds & PUT && sim_chance(0.5);

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
		from[i] = app->puts << 24 | (app - mem.apps) << 10 | (r->word + i - slot_of(app)) |
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
	from[0] = app - mem.apps;
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
	} while (!(r->kind & mem.plan.kinds));
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
		err = ch->link->op[op.sqe.opcode](imp, &op);
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
	u64 generation = cell_of(app)->cs.received;

	if (!generation || generation > mem.nsegs || mem.segs[generation - 1].boot->number != app->to)
		sim_fail("import: generation %llu", generation);
	app->seg = &mem.segs[generation - 1];
	mem.seen.imports++;
}

static void app_failed(struct app *app, u32 error)
{
	if (app->seg ? error != ESTALE && error != EHOSTUNREACH :
	    error != ESTALE && error != EHOSTUNREACH && error != ECONNREFUSED &&
	    error != EUSERS && error != EAGAIN)
		sim_fail("the import has ended with %u", error);
	mem.seen.failed += !app->seg;
	mem.seen.stale += app->seg && error == ESTALE;
	mem.seen.lost += error == EHOSTUNREACH;
	app_end(app);
}

static void step(void *arg, u64 gen)
{
	struct app *app = arg;
	struct boot *b = mem.boots[app->node];
	bool over;
	u32 error;

	if (gen != app->at)
		return;
	app->at = 0;
	if (!b->begun || b->dead)
		return;
	over = mem.stopping || (mem.plan.goal && app->count >= mem.plan.goal);
	if (!app->imp) {
		if (!over)
			app_import(app);
		return;
	}
	error = cell_of(app)->cs.error;
	if (error == EINPROGRESS) {
		/* Perhaps the importer does not wait any more. */
		if (mem.stopping || sim.now >= app->end_at)
			app_end(app);
		else
			app_wake(app, mem.plan.import_ns / 50);
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
	app_wake(app, sim_below(mem.plan.import_ns / 10));
}
