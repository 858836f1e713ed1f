/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A segment of another node and its importer, in one process that has a context on each
 * node; run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_TEST_NET_MEM_H
#define DD_TEST_NET_MEM_H

#include "dd_harness.h"
#include "node.h"

#define BULK	(1 << 20)
#define SECOND	1000000000ull

/* @ex exports all of @em on the other node, @im imports it. */
FIXTURE(far) {
	struct raw ex, im;
	struct mem em, imem;
	struct dd_list_make list;
	struct dd_segment_make s;
	struct dd_import_make i;
	struct dd_mem_state *cs;
};

static inline int import_flags(const struct raw *r, const struct dd_segment_make *s, __u32 flags,
			__u32 list, struct dd_import_make *i)
{
	*i = mem_import_of(s, 2, DD_RIGHTS, flags, list);
	return raw_ioctl(r, DD_IOC_IMPORT, i);
}

static inline int import(const struct raw *r, const struct dd_segment_make *s, __u32 rights,
		  __u32 depth, struct dd_import_make *i)
{
	*i = mem_import_of(s, 2, rights, 0, 0);
	i->depth = depth;
	return raw_ioctl(r, DD_IOC_IMPORT, i);
}

FIXTURE_SETUP(far)
{
	ASSERT_OK(raw_start_far(&self->ex, BULK, &self->em));
	ASSERT_OK(raw_start(&self->im, BULK, &self->imem));
	ASSERT_OK(mem_list(&self->ex, &self->list));
	self->s = mem_segment(&self->em, "far");
	self->s.list = self->list.list;
	self->s.window = MEM_WINDOW;
	self->s.policy = DD_POLICY_CONDITIONAL;
	self->s.cookie = 0x1122334455667788;
	ASSERT_OK(mem_export(&self->ex, &self->s));
	ASSERT_OK(import(&self->im, &self->s, DD_RIGHTS, 0, &self->i));
	self->cs = raw_unit(&self->im, self->i.state_unit);
}

FIXTURE_TEARDOWN(far)
{
	raw_close(&self->im);
	raw_close(&self->ex);
}

static inline int wait_done(const struct raw *r, const struct dd_import_make *i, __u64 n)
{
	return raw_conn_wait(r, i->import, DD_WAIT_DONE, n, 60 * SECOND);
}

/* Wait for the last request; returns its errno, or -1. */
static inline int result(FIXTURE_DATA(far) *self)
{
	__u64 n = self->cs->cs.submitted;

	return wait_done(&self->im, &self->i, n) ? -1 : self->cs->result[n % DD_RESULTS];
}

static inline int put(FIXTURE_DATA(far) *self, const void *src, __u64 dst, __u64 len, __u8 flags)
{
	return mem_put(&self->im, &self->i, src, dst, len, flags);
}

static inline int get(FIXTURE_DATA(far) *self, void *to, __u64 dst, __u64 len)
{
	return mem_get(&self->im, &self->i, to, dst, len);
}

static inline int cas(FIXTURE_DATA(far) *self, __u64 dst, __u64 len, __u64 old, __u64 new,
	       __u8 flags)
{
	return mem_cas(&self->im, &self->i, &self->imem, 0, dst, len, old, new, flags);
}

static inline bool take(FIXTURE_DATA(far) *self, struct dd_note *n)
{
	return raw_take(&self->ex, self->list.list_unit, n);
}

static inline void pattern(char *at, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		at[i] = (i * 31 + seed * 7 + (i >> 8)) & 0xff;
}

/* A number that ddctl reports, of the node whose namespace is @netns. */
static inline long long reported(const char *netns, const char *object, const char *filter)
{
	/* The builtin ip of the guest's shell has no namespaces. */
	return printed_number("bash -c 'ip netns exec %s ddctl -j %s' | jq '%s'", netns, object,
			      filter);
}

/* Change what node @node sends, by an option of netem; NULL: no more. */
static inline int impair(int node, const char *option)
{
	char command[200];

	snprintf(command, sizeof(command), option ?
		 "bash -c 'tc -n dd%d qdisc replace dev eth0 root netem %s'" :
		 "bash -c 'tc -n dd%d qdisc del dev eth0 root'", node, option);
	return system(command);
}

static inline int lose_packets(void)
{
	return system("bash -c 'for i in 1 2; do "
		      "tc -n dd$i qdisc replace dev eth0 root netem loss 2%; done'");
}

static inline int lose_none(void)
{
	return system("bash -c 'for i in 1 2; do "
		      "tc -n dd$i qdisc del dev eth0 root; done'");
}

static inline int cut(void)
{
	return system("bash -c 'for i in 1 2; do "
		      "tc -n dd$i qdisc replace dev eth0 root netem loss 100%; done'");
}

/* Of both nodes, in milliseconds. */
static inline int dead_time(int ms)
{
	char command[200];

	snprintf(command, sizeof(command), "ddctl peer set 2 dead-time %d && "
		 "bash -c 'ip netns exec dd2 ddctl peer set 1 dead-time %d'", ms, ms);
	return system(command);
}

static inline __u32 state(FIXTURE_DATA(far) *self, const struct dd_import_make *i)
{
	return *(volatile __u32 *)&raw_state(&self->im, i->state_unit)->error;
}

#endif /* DD_TEST_NET_MEM_H */
