// SPDX-License-Identifier: GPL-2.0-only
/*
 * Owners of segments: each node exports one, changes it, ends it, and exports another one.
 */
#include "processes.h"

/* ---- memory ------------------------------------------------------------- */

u64 *seg_word(const struct seg *s, u32 word)
{
	size_t left;

	return dd_region_addr(&s->boot->region, (s->half * WORDS + word) * 8, &left);
}

u64 seg_stamp(const struct seg *s)
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

/* ---- segments ------------------------------------------------------------- */

/* Nothing was stored since the end. */
void seg_check(const struct seg *s)
{
	u32 i;

	for (i = 0; s->end && i < WORDS; i++)
		if (*seg_word(s, i) != s->end[i])
			sim_fail("word %u was stored after the end of the segment", i);
}

void segment_name(int node, u8 *key)
{
	snprintf((char *)key, DD_SEGMENT_KEY, "segment %d", node);
}

static void seg_begin(struct boot *b)
{
	struct dd_segment_make arg = {
		.length = PAGES * PAGE_SIZE, .rights = DD_RIGHTS, .importers = NSLOTS,
		.policy = DD_POLICY_NEVER, .permission = DD_PERMIT_ANY,
		.key_class = DD_SEGMENT_NAME,
		.flags = mem.plan.redirect ? DD_SEGMENT_REDIRECT : 0,
	};
	struct seg *s = &mem.segs[mem.nsegs];
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
	if (mem.plan.kinds & NOTE) {
		arg.list = LIST_ID;
		arg.window = 2;
		arg.policy = DD_POLICY_CONDITIONAL;
	}
	arg.offset = s->half * WORDS * 8;
	segment_name(b->number, arg.key);
	/* The generation is the number of segments that were made before, and this one. */
	b->node.generation.counter = mem.nsegs++;
	boot_now = b;
	err = dd_export_make(&b->ctx, &arg);
	if (err || arg.generation != mem.nsegs)
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
	mem.seen.redirected += !!put;
	s->redir_n = 0;
}

/* What the owner changes while its segment is exported. */
static void seg_change(struct seg *s)
{
	if (mem.plan.inhibit)
		seg_inhibit(s, sim_chance(0.3));
	if (mem.plan.redirect && s->redir_n)
		seg_redirect_end(s);
	else if (mem.plan.redirect)
		seg_redirect(s);
}

/* Each NOTE arrives once, in the order of its importer, unless it was refused. */
void take_notes(struct boot *b)
{
	struct dd_note n;

	while (list_take(b, &n)) {
		u64 what[2];
		struct app *app;

		memcpy(what, n.payload, sizeof(what));
		app = &mem.apps[what[0]];
		if (n.op != DD_OP_NOTE || n.len != sizeof(what) || what[1] > app->notes ||
		    app->note[what[1]].to != b)
			sim_fail("note %llu of importer %llu", what[1], what[0]);
		if (app->note[what[1]].taken || app->note[what[1]].refused)
			sim_fail("a NOTE is delivered twice, or was refused");
		if (what[1] < app->noted)
			sim_fail("a NOTE is delivered after a later one");
		app->note[what[1]].taken = true;
		app->noted = what[1];
		mem.seen.taken++;
	}
}

/* The owner ends a segment, or its node fails. */
void seg_end(struct seg *s, bool fails)
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
	/* No importer may get what is stored from now on: take_get() refuses later stamps. */
	for (i = STAMPED; i < SLOTS; i++)
		*seg_word(s, i) = ~0xffffull | i;
	s->end = sim_alloc(WORDS * 8);
	for (i = 0; i < WORDS; i++)
		s->end[i] = *seg_word(s, i);
	memcpy(s->counter, s->end, sizeof(s->counter));
	for (i = SLOTS; i < SLOTS + NSLOTS * SLOT; i++)
		if (!slot_word_ok(s->end[i], i))
			sim_fail("word %u is %llx", i, s->end[i]);
}

void owner_step(void *arg, u64 gen)
{
	struct boot *b = arg;

	if (b->dead || (mem.stopping && !b->seg))
		return;
	if (b->seg && (mem.stopping || sim.now >= b->next_at)) {
		seg_end(b->seg, false);
		b->next_at = sim.now + sim_below(2 * mem.plan.gap_ns);
	} else if (!b->seg && sim.now >= b->next_at) {
		seg_begin(b);
		b->next_at = sim.now + sim_below(2 * mem.plan.export_ns);
	} else if (b->seg) {
		if (!b->seg->inhibited)
			seg_stamp_now(b->seg);
		seg_change(b->seg);
	}
	take_notes(b);
	sim_at(sim.now + sim_below(2 * mem.plan.tick_ns), owner_step, b, 0);
}
