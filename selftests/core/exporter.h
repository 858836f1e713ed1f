/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A segment and its importer, in two contexts of one process: on one node, or on two if
 * across.sh runs the program.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_TEST_EXPORTER_H
#define DD_TEST_EXPORTER_H

#include "dd_harness.h"
#include "node.h"

#define BULK	(1 << 20)
#define SECOND	1000000000ull

/* What a program may define before it includes this file. */
#ifndef SEGMENT_LEN
#define SEGMENT_LEN	MEM_LEN
#endif
#ifndef SEGMENT_FLAGS
#define SEGMENT_FLAGS	0
#endif
#ifndef EXPORTED
#define EXPORTED	true	/* false: the tests export and import the segment */
#endif
#ifndef NOTED_DEPTH
#define NOTED_DEPTH	0	/* of requests that notify the importer; 0: none do */
#endif

/* @ex exports all of @em with @list, @im imports it. @ilist is of @im. */
FIXTURE(mem) {
	struct raw ex, im;
	struct mem em, imem;
	struct dd_list_make list, ilist;
	struct dd_segment_make s;
	struct dd_import_make i;
	struct dd_mem_state *ms;	/* of the import @i */
	volatile struct dd_conn_state *cs;
};

/* Import @s of the exporters' node with a depth, or 0: the usual one. */
static inline int import(const struct raw *r, const struct dd_segment_make *s, __u32 rights,
			 __u32 depth, struct dd_import_make *i)
{
	*i = mem_import_of(s, mem_far_node(r), rights, 0, 0);
	i->depth = depth;
	return raw_ioctl(r, DD_IOC_IMPORT, i);
}

/* The same with flags, and a list for the note of a pending import, or 0. */
static inline int import_flags(const struct raw *r, const struct dd_segment_make *s, __u32 flags,
			       __u32 list, struct dd_import_make *i)
{
	*i = mem_import_of(s, mem_far_node(r), s->rights, flags, list);
	return raw_ioctl(r, DD_IOC_IMPORT, i);
}

/* Import the segment of the fixture, in the place of an earlier import. */
static inline int import_again(FIXTURE_DATA(mem) *self, __u32 rights)
{
	if (import(&self->im, &self->s, rights, NOTED_DEPTH, &self->i) ||
	    (NOTED_DEPTH && mem_import_list(&self->im, &self->i, self->ilist.list)))
		return -1;
	self->ms = raw_unit(&self->im, self->i.state_unit);
	self->cs = &self->ms->cs;
	return 0;
}

/* Export it again after its end. */
static inline int export_again(FIXTURE_DATA(mem) *self)
{
	self->s.segment = self->s.generation = 0;
	return mem_export(&self->ex, &self->s);
}

FIXTURE_SETUP(mem)
{
	ASSERT_OK(raw_start_far(&self->ex, SEGMENT_LEN, &self->em));
	ASSERT_OK(raw_start(&self->im, SEGMENT_LEN, &self->imem));
	ASSERT_OK(mem_list(&self->ex, &self->list));
	ASSERT_OK(mem_list(&self->im, &self->ilist));
	self->s = mem_segment(&self->em, "shared");
	if (EXPORTED) {
		self->s.flags = SEGMENT_FLAGS;
		self->s.list = self->list.list;
		self->s.window = MEM_WINDOW;
		self->s.policy = DD_POLICY_CONDITIONAL;
		self->s.cookie = 0x1122334455667788;
		ASSERT_OK(mem_export(&self->ex, &self->s));
		ASSERT_OK(import_again(self, DD_RIGHTS));
	}
}

FIXTURE_TEARDOWN(mem)
{
	raw_close(&self->im);
	raw_close(&self->ex);
}

static inline int put(FIXTURE_DATA(mem) *self, const void *src, __u64 dst, __u64 len, __u8 flags)
{
	return mem_put(&self->im, &self->i, src, dst, len, flags);
}

static inline int get(FIXTURE_DATA(mem) *self, void *to, __u64 dst, __u64 len)
{
	return mem_get(&self->im, &self->i, to, dst, len);
}

static inline int cas(FIXTURE_DATA(mem) *self, __u64 dst, __u64 len, __u64 old, __u64 new,
		      __u8 flags)
{
	return mem_cas(&self->im, &self->i, &self->imem, 0, dst, len, old, new, flags);
}

static inline int wait_done(const struct raw *r, const struct dd_import_make *i, __u64 n)
{
	return raw_conn_wait(r, i->import, DD_WAIT_DONE, n, 60 * SECOND);
}

/* Wait for the last request; returns its errno, or -1. */
static inline int result(FIXTURE_DATA(mem) *self)
{
	__u64 n = self->cs->submitted;

	return wait_done(&self->im, &self->i, n) ? -1 : self->ms->result[n % DD_RESULTS];
}

/* The error of an import, as its owner sees it. */
static inline __u32 state(const struct raw *r, const struct dd_import_make *i)
{
	return *(volatile __u32 *)&raw_state(r, i->state_unit)->error;
}

/* The next note of the exporter. */
static inline bool take(FIXTURE_DATA(mem) *self, struct dd_note *n)
{
	return raw_take(&self->ex, self->list.list_unit, n);
}

/* The next note of the importer. */
static inline bool own_note(FIXTURE_DATA(mem) *self, struct dd_note *n)
{
	return raw_take(&self->im, self->ilist.list_unit, n);
}

/* The same: at once within a node, later from another one. */
static inline bool next_note(FIXTURE_DATA(mem) *self, struct dd_note *n)
{
	return own_note(self, n) || (far_netns() && WAIT_FOR(own_note(self, n)));
}

static inline int inhibit(FIXTURE_DATA(mem) *self, bool on)
{
	return mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, on, 0, 0);
}

/* Bytes from 1 to 200, which differ by place and @seed. */
static inline void pattern(char *at, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		at[i] = 1 + (i * 31 + seed * 7 + (i >> 8)) % 200;
}

#endif /* DD_TEST_EXPORTER_H */
