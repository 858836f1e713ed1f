/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A segment and its importer, in two contexts of one process.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_TEST_ABI_MEM_H
#define DD_TEST_ABI_MEM_H

#include "dd_harness.h"
#include "mem.h"

/* Two contexts of this process: @ex exports all of @em, @im imports it. */
FIXTURE(mem) {
	struct raw ex, im;
	struct mem em, imem;
	struct dd_list_make list;
	struct dd_segment_make s;
	struct dd_import_make i;
};

FIXTURE_SETUP(mem)
{
	ASSERT_OK(raw_start(&self->ex, MEM_LEN, &self->em));
	ASSERT_OK(raw_start(&self->im, MEM_LEN, &self->imem));
	ASSERT_OK(mem_list(&self->ex, &self->list));
	self->s = mem_segment(&self->em, "abi_mem");
	self->s.list = self->list.list;
	self->s.window = MEM_WINDOW;
	self->s.policy = DD_POLICY_CONDITIONAL;
	self->s.cookie = 0x1122334455667788;
	ASSERT_OK(mem_export(&self->ex, &self->s));
	ASSERT_OK(mem_import(&self->im, &self->s, DD_RIGHTS, &self->i));
}

FIXTURE_TEARDOWN(mem)
{
	raw_close(&self->im);
	raw_close(&self->ex);
}

static inline int put(FIXTURE_DATA(mem) *self, const void *src, __u64 dst, __u64 len,
	       __u8 flags)
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

static inline bool take(FIXTURE_DATA(mem) *self, struct dd_note *n)
{
	return raw_take(&self->ex, self->list.list_unit, n);
}

static inline struct dd_conn_state *cs(FIXTURE_DATA(mem) *self)
{
	return raw_state(&self->im, self->i.state_unit);
}

#endif /* DD_TEST_ABI_MEM_H */
