// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of a service: which client gets one, and what it finds in it.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include "raw.h"

/* A service with one block, and clients of several users. */
struct shop {
	struct raw r;
	struct mem m;
	struct dd_serve s;
	char name[24];
};

struct client {
	struct raw r;
	struct mem m;
	struct dd_connect c;
};

static int shop_open(struct shop *shop, __u32 flags, __u32 window)
{
	static int number;

	memset(shop, 0, sizeof(*shop));
	/* A context that was closed keeps its names until a worker ends it. */
	snprintf(shop->name, sizeof(shop->name), "shop.%d.%d", getpid(),
		 number++);
	if (raw_start(&shop->r, 2 * PAGE, &shop->m))
		return -1;
	raw_serve_args(&shop->s, shop->name, 1, &shop->m);
	shop->s.flags = flags;
	shop->s.window = window;
	return raw_serve(&shop->r, &shop->s);
}

static int client_open(struct client *cl, const struct shop *shop)
{
	if (raw_start(&cl->r, 2 * PAGE, &cl->m))
		return -1;
	raw_connect_args(&cl->c, shop->name, &cl->m);
	cl->c.type = DD_CONN_RPC;
	cl->c.window = shop->s.window;
	cl->c.flags = DD_CONNECT_DIRECT_ANY;
	return 0;
}

static int client_connect(struct client *cl, uid_t uid)
{
	int ret, err;

	if (seteuid(uid))
		return -1;
	ret = raw_connect(&cl->r, &cl->c);
	err = errno;
	if (seteuid(0))
		return -1;
	errno = err;
	return ret;
}

static int client_close(const struct client *cl)
{
	return raw_op(&cl->r, DD_IOC_CLOSE, cl->c.conn);
}

static struct dd_cell *cell_of(const struct shop *shop)
{
	return raw_cell(&shop->r, shop->s.cells_unit);
}

static int reply(const struct shop *shop)
{
	return raw_send(&shop->r, shop->s.cells_unit, cell_of(shop)->conn, 0, 0,
			8);
}

FIXTURE(block)
{
	struct shop shop;
	struct client alice, bob;
};

FIXTURE_VARIANT(block)
{
	__u32 flags;
	bool direct;
};

FIXTURE_VARIANT_ADD(block, kernel) { .flags = 0, .direct = false };
FIXTURE_VARIANT_ADD(block, direct) { .flags = DD_SERVE_DIRECT_ANY,
				     .direct = true };

FIXTURE_SETUP(block)
{
	ASSERT_EQ(0, shop_open(&self->shop, variant->flags, 4));
	ASSERT_EQ(0, client_open(&self->alice, &self->shop));
	ASSERT_EQ(0, client_open(&self->bob, &self->shop));
}

FIXTURE_TEARDOWN(block)
{
	raw_close(&self->alice.r);
	raw_close(&self->bob.r);
	raw_close(&self->shop.r);
}

/* Alice sends @n messages, which the server reads, and closes. */
static int requests(struct shop *shop, struct client *cl, bool direct, int n)
{
	struct dd_ring_note at;
	struct dd_note note;
	struct way w;
	int i;

	if (direct && way_open(&cl->r, cl->c.conn, &w))
		return -1;
	for (i = 0; i < n; i++) {
		if (direct)
			/* It does not say how many it has sent. */
			way_note(&w, 0, 8);
		else if (raw_send(&cl->r, cl->c.cell_unit, cl->c.conn, 0, 0,
				  8) != 1)
			return -1;
		if (direct ? !ring_take(ring_of(&shop->r, shop->s.list_unit, 0),
					&at) :
			     !raw_take(&shop->r, shop->s.list_unit, &note))
			return -1;
	}
	if (direct)
		way_unmap(&w);
	return client_close(cl);
}

TEST_F(block, is_kept_until_each_request_has_a_reply)
{
	ASSERT_EQ(0, client_connect(&self->alice, ALICE));
	ASSERT_EQ(0, requests(&self->shop, &self->alice, variant->direct, 3));
	EXPECT_ERR(ECONNRESET, reply(&self->shop));
	EXPECT_ERR(ECONNRESET, reply(&self->shop));
	EXPECT_ERR(EUSERS, client_connect(&self->bob, BOB));
	EXPECT_ERR(ECONNRESET, reply(&self->shop));
	EXPECT_EQ(0, client_connect(&self->bob, BOB));
}

TEST_F(block, goes_to_the_same_user_and_is_kept_all_the_same)
{
	ASSERT_EQ(0, client_connect(&self->alice, ALICE));
	ASSERT_EQ(0, requests(&self->shop, &self->alice, variant->direct, 1));
	ASSERT_EQ(0, client_connect(&self->alice, ALICE));
	ASSERT_EQ(0, client_close(&self->alice));
	EXPECT_ERR(EUSERS, client_connect(&self->bob, BOB));
	ASSERT_EQ(0, raw_op(&self->shop.r, DD_IOC_CLOSE,
			    cell_of(&self->shop)->conn));
	EXPECT_EQ(0, client_connect(&self->bob, BOB));
}

TEST_F(block, goes_to_another_user_if_nothing_was_sent)
{
	ASSERT_EQ(0, client_connect(&self->alice, ALICE));
	ASSERT_EQ(0, client_close(&self->alice));
	EXPECT_EQ(0, client_connect(&self->bob, BOB));
}

TEST_F(block, goes_to_another_user_after_a_reply)
{
	const __u64 count = 1;
	struct dd_ring_note at;
	struct dd_note note;
	struct way in, out;

	ASSERT_EQ(0, client_connect(&self->alice, ALICE));
	if (variant->direct) {
		ASSERT_EQ(0, way_open(&self->alice.r, self->alice.c.conn, &in));
		ASSERT_EQ(0, way_open(&self->shop.r, cell_of(&self->shop)->conn,
				      &out));
		way_note(&in, 0, 8);
		ASSERT_TRUE(ring_take(ring_of(&self->shop.r,
					      self->shop.s.list_unit, 0), &at));
		/* As the library counts. */
		memcpy(cell_of(&self->shop)->sq[0].meta, &count, sizeof(count));
		way_note(&out, 0, 8);
	} else {
		ASSERT_EQ(1, raw_send(&self->alice.r, self->alice.c.cell_unit,
				      self->alice.c.conn, 0, 0, 8));
		ASSERT_TRUE(raw_take(&self->shop.r, self->shop.s.list_unit,
				     &note));
		ASSERT_EQ(1, reply(&self->shop));
	}
	ASSERT_EQ(0, client_close(&self->alice));
	EXPECT_EQ(0, client_connect(&self->bob, BOB));
}

/* A client that posts to a ring, closes, and takes the note back. */
TEST(is_not_kept_for_a_note_that_was_taken_back)
{
	struct dd_connect second;
	struct client cl, other;
	struct shop shop;
	struct way w, w2;
	struct mem m;

	memset(&shop, 0, sizeof(shop));
	strcpy(shop.name, "takes back");
	ASSERT_EQ(0, raw_start(&shop.r, 4 * PAGE, &shop.m));
	raw_serve_args(&shop.s, shop.name, 2, &shop.m);
	ASSERT_EQ(0, raw_serve(&shop.r, &shop.s));
	ASSERT_EQ(0, client_open(&cl, &shop));
	ASSERT_EQ(0, client_open(&other, &shop));
	ASSERT_EQ(0, raw_alloc(&cl.r, 2 * PAGE, &m));
	raw_connect_args(&second, shop.name, &m);
	second.type = DD_CONN_RPC;
	ASSERT_EQ(0, raw_connect(&cl.r, &cl.c));
	ASSERT_EQ(0, raw_connect(&cl.r, &second));
	ASSERT_EQ(0, way_open(&cl.r, cl.c.conn, &w));
	ASSERT_EQ(0, way_open(&cl.r, second.conn, &w2));
	ASSERT_EQ(w.d.notes, w2.d.notes);
	way_note(&w, 0, 8);
	ASSERT_EQ(0, client_close(&cl));
	way_slot(&w2, w2.d.start)->seq = 0;
	/* As long as it has the ring it may say that it has sent nothing. */
	EXPECT_ERR(EUSERS, raw_connect(&other.r, &other.c));
	ASSERT_EQ(0, raw_op(&cl.r, DD_IOC_CLOSE, second.conn));
	EXPECT_EQ(0, raw_connect(&other.r, &other.c));
	other.c.list = 0;
	ASSERT_EQ(0, raw_alloc(&other.r, 2 * PAGE, &other.m));
	raw_connect_args(&other.c, shop.name, &other.m);
	EXPECT_EQ(0, raw_connect(&other.r, &other.c));
}

/* --- permission to connect ------------------------------------------------*/

/* A service of @blocks blocks that lets in some users only, or only so many. */
static int shop_for(struct shop *shop, uid_t server, __u32 flags, __u32 uid,
		    __u32 gid, __u32 blocks, __u32 peruser)
{
	static int number;
	int ret;

	memset(shop, 0, sizeof(*shop));
	snprintf(shop->name, sizeof(shop->name), "for.%d.%d", getpid(),
		 number++);
	if (raw_open(&shop->r) || raw_alloc(&shop->r, 2 * blocks * PAGE,
					    &shop->m))
		return -1;
	raw_serve_args(&shop->s, shop->name, blocks, &shop->m);
	shop->s.flags = flags;
	shop->s.uid = uid;
	shop->s.gid = gid;
	shop->s.peruser = peruser;
	if (seteuid(server))
		return -1;
	ret = raw_serve(&shop->r, &shop->s);
	return seteuid(0) ? -1 : ret;
}

/* Whether a client of a user may connect: 1, 0, or -1 for another error. */
static int may(const struct shop *shop, uid_t uid)
{
	struct client cl;
	int ret;

	if (client_open(&cl, shop))
		return -1;
	ret = !client_connect(&cl, uid) ? 1 : errno == EACCES ? 0 : -1;
	if (ret == 1 && client_close(&cl))
		return -1;
	raw_close(&cl.r);
	return ret;
}

TEST(a_service_may_be_for_one_user)
{
	struct shop shop;

	ASSERT_EQ(0, shop_for(&shop, 0, DD_SERVE_UID, BOB, 0, 1, 0));
	EXPECT_EQ(1, may(&shop, BOB));
	EXPECT_EQ(0, may(&shop, ALICE));
	EXPECT_EQ(0, may(&shop, 0));
	raw_close(&shop.r);
	/* One of several is enough. */
	ASSERT_EQ(0, shop_for(&shop, 0, DD_SERVE_UID | DD_SERVE_SAME_USER, BOB,
			      0, 1, 0));
	EXPECT_EQ(1, may(&shop, BOB));
	EXPECT_EQ(1, may(&shop, 0));
	EXPECT_EQ(0, may(&shop, ALICE));
}

TEST(a_service_may_be_for_one_group)
{
	const gid_t group = 54321;
	struct shop shop;

	ASSERT_EQ(0, shop_for(&shop, 0, DD_SERVE_GID, 0, group, 1, 0));
	EXPECT_EQ(0, may(&shop, ALICE));
	/* A supplementary one, then the effective one. */
	ASSERT_EQ(0, setgroups(1, &group));
	EXPECT_EQ(1, may(&shop, ALICE));
	ASSERT_EQ(0, setgroups(0, NULL));
	EXPECT_EQ(0, may(&shop, ALICE));
	ASSERT_EQ(0, setegid(group));
	EXPECT_EQ(1, may(&shop, ALICE));
	ASSERT_EQ(0, setegid(0));
}

TEST(one_user_has_no_more_than_its_share)
{
	struct client a[3], b;
	struct shop shop;
	int i;

	ASSERT_EQ(0, shop_for(&shop, 0, 0, 0, 0, 4, 2));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, client_open(&a[i], &shop));
	ASSERT_EQ(0, client_open(&b, &shop));
	ASSERT_EQ(0, client_connect(&a[0], ALICE));
	ASSERT_EQ(0, client_connect(&a[1], ALICE));
	EXPECT_ERR(EUSERS, client_connect(&a[2], ALICE));
	EXPECT_EQ(0, client_connect(&b, BOB));
	/* A block whose message is unread is still hers. */
	ASSERT_EQ(1, raw_send(&a[0].r, a[0].c.cell_unit, a[0].c.conn, 0, 0, 8));
	ASSERT_EQ(0, client_close(&a[0]));
	EXPECT_ERR(EUSERS, client_connect(&a[2], ALICE));
	ASSERT_EQ(0, client_close(&a[1]));
	EXPECT_EQ(0, client_connect(&a[2], ALICE));
	for (i = 0; i < 3; i++)
		raw_close(&a[i].r);
}

TEST(bad_limits_of_a_service_are_refused)
{
	struct shop shop;

	EXPECT_ERR(EINVAL, shop_for(&shop, 0, 0, ALICE, 0, 1, 0));
	raw_close(&shop.r);
	EXPECT_ERR(EINVAL, shop_for(&shop, 0, 0, 0, ALICE, 1, 0));
	raw_close(&shop.r);
	EXPECT_ERR(EINVAL, shop_for(&shop, 0, 0, 0, 0, 1, 2));
}

/* --- what is in it ---------------------------------------------------------*/

/*
 * What a context sees that gets a window on a block: its own messages may stay,
 * those of others do not, whether they came before or after its own.
 */
TEST(messages_of_another_client_are_not_shown)
{
	struct client a, b, c;
	struct shop shop;
	struct dd_note n;
	struct way w;

	ASSERT_EQ(0, shop_open(&shop, 0, 1));
	ASSERT_EQ(0, client_open(&a, &shop));
	ASSERT_EQ(0, client_open(&b, &shop));
	ASSERT_EQ(0, client_open(&c, &shop));
	ASSERT_EQ(0, client_connect(&a, 0));
	memset(a.m.at + a.c.send.offset, 's', 8);
	ASSERT_EQ(1, raw_send(&a.r, a.c.cell_unit, a.c.conn, 0, 0, 8));
	ASSERT_TRUE(raw_take(&shop.r, shop.s.list_unit, &n));
	EXPECT_EQ('s', shop.m.at[shop.s.recv.offset]);
	ASSERT_EQ(0, client_close(&a));

	ASSERT_EQ(0, client_connect(&a, 0));
	ASSERT_EQ(0, way_open(&a.r, a.c.conn, &w));
	EXPECT_EQ('s', w.block[0]);
	ASSERT_EQ(0, client_close(&a));

	ASSERT_EQ(0, client_connect(&b, 0));
	ASSERT_EQ(0, way_open(&b.r, b.c.conn, &w));
	EXPECT_EQ(0, w.block[0]);
	ASSERT_EQ(0, client_close(&b));

	/* A window that comes after a message comes too late to zero. */
	ASSERT_EQ(0, client_connect(&c, 0));
	memset(c.m.at + c.c.send.offset, 't', 8);
	ASSERT_EQ(1, raw_send(&c.r, c.c.cell_unit, c.c.conn, 0, 0, 8));
	ASSERT_TRUE(raw_take(&shop.r, shop.s.list_unit, &n));
	EXPECT_ERR(EACCES, way_grant(&c.r, c.c.conn, &w));
	ASSERT_EQ(0, client_close(&c));

	ASSERT_EQ(0, client_connect(&a, 0));
	ASSERT_EQ(0, way_open(&a.r, a.c.conn, &w));
	EXPECT_EQ(0, w.block[0]);
}

DD_TEST_MAIN
