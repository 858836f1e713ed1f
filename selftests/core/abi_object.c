// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects: ioctl numbers, ids, names, limits, slices of regions.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include "raw.h"

FIXTURE(object) {
	struct pair p;
	struct mem spare;	/* of the server's context, 8 pages */
};

FIXTURE_SETUP(object)
{
	ASSERT_EQ(0, pair_open(&self->p, 4, 4096, 1));
	ASSERT_EQ(0, raw_alloc(&self->p.srv, 8 * PAGE, &self->spare));
}

FIXTURE_TEARDOWN(object)
{
	pair_close(&self->p);
}

/* --- unknown operations ----------------------------------------------------*/

static bool known(unsigned int nr)
{
	return nr <= 0x11 || (nr >= 0x13 && nr <= 0x16) || (nr >= 0x20 && nr <= 0x28);
}

TEST_F(object, unknown_ioctls_are_enotty)
{
	unsigned int nr;

	for (nr = 0; nr < 256; nr++) {
		if (!known(nr))
			EXPECT_ERR(ENOTTY, raw_op(&self->p.srv,
						  _IO(DD_IOC_TYPE, nr), 0));
		EXPECT_ERR(ENOTTY, raw_op(&self->p.srv,
					  _IO(DD_IOC_TYPE + 1, nr), 0));
		EXPECT_ERR(ENOTTY, raw_op(&self->p.srv,
					  _IOWR(DD_IOC_TYPE, nr, long), 0));
	}
}

/* --- ids -------------------------------------------------------------------*/

#define EXPECT_NO_ID(r, kind, name) do {				\
	__u64 __name = (kind) == RAW_CONN ? (name) : (__u32)(name);	\
									\
	for (const unsigned int *__nr = raw_ops[kind]; *__nr; __nr++) {	\
		EXPECT_EQ(-1, raw_on(r, *__nr, __name)) {		\
			TH_LOG("ioctl %#x of %#llx", *__nr, __name);	\
		}							\
		EXPECT_EQ(ENOENT, errno) {				\
			TH_LOG("ioctl %#x of %#llx", *__nr, __name);	\
		}							\
	}								\
} while (0)

TEST_F(object, ids_that_name_nothing)
{
	static const __u64 ids[] = { 0, 0x40000, 0x3ffff, 0x7fffffff,
				     0x80000000, 0xffffffff, 0x12345678,
				     1ull << 32, ~0ull };
	unsigned int seed = getpid(), i;
	enum raw_kind k;

	for (k = 0; k < RAW_KINDS; k++) {
		for (i = 0; i < 9; i++)
			EXPECT_NO_ID(&self->p.srv, k, ids[i]);
		for (i = 0; i < dd_count(1000); i++)
			EXPECT_NO_ID(&self->p.srv, k, rand_r(&seed) | 1u << 31);
	}
}

/* All objects that exist in @r, by kind. */
static void ids_of(struct pair *p, bool server, __u64 *ids)
{
	ids[RAW_REGION] = server ? p->smem.id : p->cmem.id;
	ids[RAW_SERVICE] = p->s.service;
	ids[RAW_CONN] = server ? pair_server_conn(p) : p->c.conn;
	ids[RAW_LIST] = server ? p->s.list : p->c.list;
}

TEST_F(object, ids_of_other_kinds)
{
	enum raw_kind is, as;
	__u64 ids[RAW_KINDS];

	ids_of(&self->p, true, ids);
	for (is = 0; is < RAW_KINDS; is++) {
		EXPECT_NE(0, ids[is]);
		EXPECT_NE(0, DD_SERIAL_ID(ids[is]));
		EXPECT_LE(DD_SERIAL_ID(ids[is]), DD_ID_MAX);
		for (as = 0; as < RAW_KINDS; as++)
			if (is != as)
				EXPECT_NO_ID(&self->p.srv, as, ids[is]);
	}
}

TEST_F(object, ids_of_another_context)
{
	__u64 theirs[RAW_KINDS], own[RAW_KINDS];
	enum raw_kind k;

	ids_of(&self->p, true, theirs);
	ids_of(&self->p, false, own);
	for (k = 0; k < RAW_KINDS; k++) {
		if (theirs[k] == own[k] && k != RAW_SERVICE)
			continue;	/* names another object there */
		EXPECT_NO_ID(&self->p.cl, k, theirs[k]);
	}
	/* Slices of another context's region. */
	struct dd_serve s;
	struct mem m = self->spare;

	raw_serve_args(&s, "other", 1, &m);
	EXPECT_ERR(ENOENT, raw_serve(&self->p.cl, &s));
}

TEST_F(object, ids_after_their_object)
{
	__u64 ids[RAW_KINDS];
	enum raw_kind k;

	ids_of(&self->p, true, ids);
	ASSERT_EQ(0, raw_op(&self->p.srv, DD_IOC_CLOSE, ids[RAW_CONN]));
	EXPECT_NO_ID(&self->p.srv, RAW_CONN, ids[RAW_CONN]);
	ASSERT_EQ(0, raw_op(&self->p.srv, DD_IOC_UNSERVE, ids[RAW_SERVICE]));
	ASSERT_EQ(0, raw_free(&self->p.srv, &self->p.smem));
	for (k = 0; k < RAW_KINDS; k++)
		EXPECT_NO_ID(&self->p.srv, k, ids[k]);
}

TEST_F(object, a_region_in_use_is_not_freed)
{
	EXPECT_ERR(EBUSY, raw_op(&self->p.srv, DD_IOC_REGION_FREE,
				 self->p.smem.id));
	EXPECT_ERR(EBUSY, raw_op(&self->p.cl, DD_IOC_REGION_FREE,
				 self->p.cmem.id));
	ASSERT_EQ(0, raw_op(&self->p.cl, DD_IOC_CLOSE, self->p.c.conn));
	EXPECT_EQ(0, raw_free(&self->p.cl, &self->p.cmem));
}

/* A service, or connection, of the server's context with one bad argument. */
#define SERVE_ERR(err, name, ...) do {					\
	struct dd_serve args;						\
	raw_serve_args(&args, name, 1, &self->spare);			\
	__VA_ARGS__;							\
	EXPECT_ERR(err, raw_serve(&self->p.srv, &args));		\
} while (0)
#define CONNECT_ERR(err, name, ...) do {				\
	struct dd_connect args;						\
	raw_connect_args(&args, name, &self->spare);			\
	__VA_ARGS__;							\
	EXPECT_ERR(err, raw_connect(&self->p.srv, &args));		\
} while (0)

/* --- names and limits ------------------------------------------------------*/

TEST_F(object, names)
{
	struct dd_serve s;
	int i;

	SERVE_ERR(EINVAL, "");
	CONNECT_ERR(EINVAL, "");
	/* Without an end. */
	SERVE_ERR(EINVAL, "", memset(args.name, 'x', sizeof(args.name)));
	CONNECT_ERR(EINVAL, "", memset(args.name, 'x', sizeof(args.name)));
	for (i = DD_NAME_MAX; i > 0; i -= 13) {
		raw_serve_args(&s, "", 1, &self->spare);
		memset(s.name, 'y', i);
		EXPECT_EQ(0, raw_serve(&self->p.srv, &s));
		EXPECT_EQ(0, raw_op(&self->p.srv, DD_IOC_UNSERVE, s.service));
	}
}

TEST_F(object, limits_of_a_service)
{
	static const struct { __u32 maxconn, window; } bad[] = {
		{ 0, 1 }, { DD_MAXCONN_MAX + 1, 1 }, { 0x80000000, 1 }, { 0xffffffff, 1 },
		{ 1, DD_WINDOW_MAX + 1 }, { 1, 0x80000000 }, { 1, 0xffffffff },
		/* More than blocks of 8 bytes. */
		{ 4 * PAGE / 8 + 1, 1 },
	};
	struct dd_serve s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		SERVE_ERR(EINVAL, "limits", args.maxconn = bad[i].maxconn;
			  args.window = bad[i].window);
	raw_serve_args(&s, "limits", 4 * PAGE / 8, &self->spare);
	s.window = DD_WINDOW_MAX;
	EXPECT_EQ(0, raw_serve(&self->p.srv, &s));
	EXPECT_EQ(8, s.recv_block);
}

TEST_F(object, blocks_are_whole_words_and_equal)
{
	struct dd_serve s;

	raw_serve_args(&s, "blocks", 3, &self->spare);
	s.recv.length = 10000;
	s.send.length = 12000;
	ASSERT_EQ(0, raw_serve(&self->p.srv, &s));
	EXPECT_EQ(10000 / 3 / 8 * 8, s.recv_block);
	EXPECT_EQ(4000, s.send_block);
}

TEST_F(object, arguments_of_connect)
{
	static const __u32 types[] = { 0, 4, 255, 256, 0x80000001 };
	static const __u32 nodes[] = { 0, 2, 3, 0x7fffffff, 0xffffffff };
	struct dd_connect c;
	int i;

	for (i = 0; i < 5; i++) {
		CONNECT_ERR(EINVAL, self->p.name, args.type = types[i]);
		CONNECT_ERR(ENONET, self->p.name, args.node = nodes[i]);
	}
	CONNECT_ERR(EINVAL, self->p.name, args.window = DD_WINDOW_MAX + 1);
	raw_connect_args(&c, "not served", &self->spare);
	EXPECT_ERR(ECONNREFUSED, raw_connect(&self->p.srv, &c));
	raw_connect_args(&c, self->p.name, &self->spare);
	c.flags = DD_CONNECT_LIST;
	c.list = self->p.c.list;
	if (c.list != self->p.s.list)
		EXPECT_ERR(ENOENT, raw_connect(&self->p.srv, &c));
	c.list = 0;
	EXPECT_ERR(ENOENT, raw_connect(&self->p.srv, &c));
	/* A process may connect to itself. */
	raw_connect_args(&c, self->p.name, &self->spare);
	EXPECT_EQ(0, raw_connect(&self->p.srv, &c));
}

TEST_F(object, conn_list_addresses)
{
	struct dd_conn_list l = { .size = sizeof(l), .count = 1,
				  .service = self->p.s.service };

	EXPECT_ERR(EFAULT, raw_ioctl(&self->p.srv, DD_IOC_CONN_LIST, &l));
	l.conns = 0xffff888000000000;
	l.count = 1;
	EXPECT_ERR(EFAULT, raw_ioctl(&self->p.srv, DD_IOC_CONN_LIST, &l));
	l.conns = 0;
	l.count = 0;
	EXPECT_EQ(0, raw_ioctl(&self->p.srv, DD_IOC_CONN_LIST, &l));
	EXPECT_EQ(1, l.count);
}

/* --- slices ----------------------------------------------------------------*/

/* Each way in which a slice can be wrong; the region has 8 pages. */
static const struct {
	__u64 offset, length;
} bad_slices[] = {
	{ 0, 0 }, { 1, 4096 }, { 8, 4096 }, { 2048, 2048 }, { 4095, 1 },
	{ 0, 8 * PAGE + 1 }, { PAGE, 8 * PAGE }, { 8 * PAGE, 8 },
	{ 8 * PAGE, 0 }, { 9 * PAGE, PAGE }, { 7 * PAGE, PAGE + 1 },
	{ 0, ~0ull }, { PAGE, ~0ull }, { PAGE, -PAGE }, { PAGE, -PAGE + 1 },
	{ -PAGE, PAGE }, { -PAGE, PAGE + 1 }, { -PAGE, 2 * PAGE },
	{ -PAGE, 1 }, { 0, 1ull << 63 }, { 1ull << 63, 1ull << 63 },
	{ 1ull << 63, PAGE }, { 0, 1ull << 32 }, { 1ull << 32, PAGE },
	{ (1ull << 32) - PAGE, PAGE }, { 0, (1ull << 32) + PAGE },
	{ 0x7ffffffffffff000, PAGE }, { 0x7ffffffffffff000, 2 * PAGE },
	{ 0, 0x8000000000000000 + PAGE }, { ~0ull, 1 }, { ~0ull, ~0ull },
};

TEST_F(object, slices_outside_of_their_region)
{
	struct dd_buf bad = { .region = self->spare.id };
	struct dd_serve s;
	unsigned int i;

	for (i = 0; i < sizeof(bad_slices) / sizeof(bad_slices[0]); i++) {
		bad.offset = bad_slices[i].offset;
		bad.length = bad_slices[i].length;
		SERVE_ERR(EINVAL, "slices", args.recv = bad);
		SERVE_ERR(EINVAL, "slices", args.send = bad);
		CONNECT_ERR(EINVAL, self->p.name, args.recv = bad);
		CONNECT_ERR(EINVAL, self->p.name, args.send = bad);
	}
	raw_serve_args(&s, "slices", 1, &self->spare);
	EXPECT_EQ(0, raw_serve(&self->p.srv, &s));
}

TEST_F(object, slices_of_no_region)
{
	struct dd_buf gone = { .region = self->spare.id ^ 0x40000,
			       .length = PAGE };
	struct dd_buf half = { .length = PAGE };
	struct dd_serve s;

	SERVE_ERR(ENOENT, "slices", args.recv = gone);
	SERVE_ERR(ENOENT, "slices", args.send = gone);
	CONNECT_ERR(ENOENT, self->p.name, args.recv = gone);
	/* "None" has no size and no place. */
	SERVE_ERR(EINVAL, "slices", args.send = half);
	half.length = 0;
	half.offset = PAGE;
	SERVE_ERR(EINVAL, "slices", args.send = half);
	/*
	 * The target of requests must exist; the source of replies may be
	 * missing.
	 */
	raw_serve_args(&s, "slices", 1, &self->spare);
	memset(&s.send, 0, sizeof(s.send));
	EXPECT_EQ(0, raw_serve(&self->p.srv, &s));
	EXPECT_EQ(0, s.send_block);
}

TEST_F(object, slices_in_use)
{
	struct dd_buf pages = { .region = self->spare.id };
	struct dd_serve s, s2;
	struct dd_connect c;
	int from, to;

	/* Pages 2 to 4 receive. */
	raw_serve_args(&s, "first", 1, &self->spare);
	memset(&s.send, 0, sizeof(s.send));
	s.recv.offset = 2 * PAGE;
	s.recv.length = 3 * PAGE;
	ASSERT_EQ(0, raw_serve(&self->p.srv, &s));
	for (from = 0; from < 8; from++)
		for (to = from + 1; to <= 8; to++) {
			if (to <= 2 || from >= 5)
				continue;
			pages.offset = from * PAGE;
			pages.length = (to - from) * PAGE;
			SERVE_ERR(EINVAL, "second",
				    args.send = (struct dd_buf){}; args.recv = pages);
			CONNECT_ERR(EINVAL, self->p.name,
				    args.send = (struct dd_buf){}; args.recv = pages);
		}
	/* The neighbouring pages are free. */
	pages.offset = 0;
	pages.length = 2 * PAGE;
	raw_serve_args(&s2, "second", 1, &self->spare);
	s2.send = (struct dd_buf){};
	s2.recv = pages;
	EXPECT_EQ(0, raw_serve(&self->p.srv, &s2));
	pages.offset = 5 * PAGE;
	pages.length = 3 * PAGE;
	raw_connect_args(&c, self->p.name, &self->spare);
	c.send = (struct dd_buf){};
	c.recv = pages;
	EXPECT_EQ(0, raw_connect(&self->p.srv, &c));
	/* The pages are free again after the connection. */
	ASSERT_EQ(0, raw_op(&self->p.srv, DD_IOC_UNSERVE, s.service));
	EXPECT_EQ(0, raw_serve(&self->p.srv, &s));
}

/* --- without an area -------------------------------------------------------*/

TEST(nothing_is_created_before_the_area_is_mapped)
{
	struct dd_region_alloc a = { .size = sizeof(a), .length = PAGE };
	struct mem none = { .id = 1, .len = 2 * PAGE };
	struct dd_info i = { .size = sizeof(i) };
	struct dd_connect c;
	struct dd_serve s;
	struct raw r;

	r.fd = open("/dev/dd", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, r.fd);
	raw_serve_args(&s, "early", 1, &none);
	raw_connect_args(&c, "early", &none);
	EXPECT_ERR(ENXIO, raw_ioctl(&r, DD_IOC_REGION_ALLOC, &a));
	EXPECT_ERR(ENXIO, raw_serve(&r, &s));
	EXPECT_ERR(ENXIO, raw_connect(&r, &c));
	EXPECT_EQ(0, raw_ioctl(&r, DD_IOC_INFO, &i));
}

TEST(info_returns_the_constants_of_the_header)
{
	struct dd_info i;
	struct dd_area_head *h;
	struct raw r;

	ASSERT_EQ(0, raw_open(&r));
	memset(&i, 0xff, sizeof(i));
	i.size = sizeof(i);
	ASSERT_EQ(0, raw_ioctl(&r, DD_IOC_INFO, &i));
	EXPECT_EQ(DD_ABI_VERSION, i.abi);
	EXPECT_EQ(DD_FEATURE_DIRECT | DD_FEATURE_SUBMIT | DD_FEATURE_MEMORY,
		  i.features);
	EXPECT_EQ(DD_AREA_SIZE, i.area_size);
	EXPECT_EQ(1, i.node);
	EXPECT_EQ(2, i.maxnodes);
	EXPECT_EQ(1, i.up);
	EXPECT_LT(0, i.packet_size);
	h = r.area;
	EXPECT_EQ(DD_AREA_MAGIC, h->magic);
	EXPECT_EQ(DD_ABI_VERSION, h->version);
	EXPECT_EQ(DD_AREA_NEED_WAKEUP, h->flags);
	EXPECT_EQ(1, h->node);
	EXPECT_EQ(2, h->maxnodes);
	EXPECT_EQ(1, h->node_up);
}

DD_TEST_MAIN
