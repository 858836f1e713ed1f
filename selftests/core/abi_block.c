// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of a service: which client gets one, and what it finds in it.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include "raw.h"

/* A service of a user with the options of @want, of one block if it does not say. */
static int shop_of(struct server *shop, const char *name, const struct dd_serve *want, uid_t uid)
{
	__u32 blocks = want->maxconn ?: 1;

	if (raw_start(&shop->r, 2 * blocks * PAGE, &shop->m))
		return -1;
	raw_serve_args(&shop->s, name, blocks, &shop->m);
	shop->s.flags = want->flags;
	shop->s.uid = want->uid;
	shop->s.gid = want->gid;
	shop->s.peruser = want->peruser;
	shop->s.window = want->window ?: 1;
	return AS_USER(uid, raw_serve(&shop->r, &shop->s));
}

static int shop_open(struct server *shop, const struct dd_serve *want)
{
	static int number;
	char name[24];

	/* A context that was closed keeps its names until a worker ends it. */
	snprintf(name, sizeof(name), "shop.%d.%d", getpid(), number++);
	return shop_of(shop, name, want, 0);
}

#define SHOP(shop, ...)	shop_open(shop, &(struct dd_serve){ __VA_ARGS__ })

static int client_of(struct client *cl, const struct server *shop)
{
	if (client_prepare(cl, (const char *)shop->s.name))
		return -1;
	cl->c.type = DD_CONN_RPC;
	cl->c.window = shop->s.window;
	cl->c.flags = DD_CONNECT_DIRECT_ANY;
	return 0;
}

static int client_connect(struct client *cl, uid_t uid)
{
	return AS_USER(uid, raw_connect(&cl->r, &cl->c));
}

static struct dd_conn_state *cell_of(const struct server *shop)
{
	return raw_state(&shop->r, shop->s.states_unit);
}

static int reply(const struct server *shop)
{
	return raw_send(&shop->r, shop->s.states_unit, cell_of(shop)->conn, 0, 0,
			8);
}

FIXTURE(block)
{
	struct server shop;
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
	ASSERT_EQ(0, SHOP(&self->shop, .flags = variant->flags, .window = 4));
	ASSERT_EQ(0, client_of(&self->alice, &self->shop));
	ASSERT_EQ(0, client_of(&self->bob, &self->shop));
}

FIXTURE_TEARDOWN(block)
{
	raw_close(&self->alice.r);
	raw_close(&self->bob.r);
	raw_close(&self->shop.r);
}

/* Alice sends @n messages, which the server reads, and closes. */
static int requests(struct server *shop, struct client *cl, bool direct, int n)
{
	struct dd_ring_note at;
	struct dd_note note;
	int i;

	if (direct && client_way(cl))
		return -1;
	for (i = 0; i < n; i++) {
		if (direct)
			/* It does not say how many it has sent. */
			way_note(&cl->w, 0, 8);
		else if (client_send(cl, 8) != 1)
			return -1;
		if (direct ? !ring_take(ring_of(&shop->r, shop->s.list_unit, 0), &at) :
			     !server_take(shop, &note))
			return -1;
	}
	if (direct)
		way_unmap(&cl->w);
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
	struct way out;

	ASSERT_EQ(0, client_connect(&self->alice, ALICE));
	if (variant->direct) {
		ASSERT_EQ(0, client_way(&self->alice));
		ASSERT_EQ(0, way_open(&self->shop.r, cell_of(&self->shop)->conn,
				      &out));
		way_note(&self->alice.w, 0, 8);
		ASSERT_TRUE(ring_take(ring_of(&self->shop.r,
					      self->shop.s.list_unit, 0), &at));
		/* As the library counts. */
		memcpy(cell_of(&self->shop)->sq[0].meta, &count, sizeof(count));
		way_note(&out, 0, 8);
	} else {
		ASSERT_EQ(1, client_send(&self->alice, 8));
		ASSERT_TRUE(server_take(&self->shop, &note));
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
	struct server shop;
	struct way w2;
	struct mem m;

	ASSERT_EQ(0, SHOP(&shop, .maxconn = 2));
	ASSERT_EQ(0, client_of(&cl, &shop));
	ASSERT_EQ(0, client_of(&other, &shop));
	ASSERT_EQ(0, raw_alloc(&cl.r, 2 * PAGE, &m));
	raw_connect_args(&second, (const char *)shop.s.name, &m);
	second.type = DD_CONN_RPC;
	ASSERT_EQ(0, raw_connect(&cl.r, &cl.c));
	ASSERT_EQ(0, raw_connect(&cl.r, &second));
	ASSERT_EQ(0, client_way(&cl));
	ASSERT_EQ(0, way_open(&cl.r, second.conn, &w2));
	ASSERT_EQ(cl.w.d.notes, w2.d.notes);
	way_note(&cl.w, 0, 8);
	ASSERT_EQ(0, client_close(&cl));
	way_slot(&w2, w2.d.start)->seq = 0;
	/* As long as it has the ring it may say that it has sent nothing. */
	EXPECT_ERR(EUSERS, raw_connect(&other.r, &other.c));
	ASSERT_EQ(0, raw_op(&cl.r, DD_IOC_CLOSE, second.conn));
	EXPECT_EQ(0, raw_connect(&other.r, &other.c));
	other.c.list = 0;
	ASSERT_EQ(0, raw_alloc(&other.r, 2 * PAGE, &other.m));
	raw_connect_args(&other.c, (const char *)shop.s.name, &other.m);
	EXPECT_EQ(0, raw_connect(&other.r, &other.c));
}

/* --- permission to connect ------------------------------------------------*/

/* Whether a client of a user may connect: 1, 0, or -1 for another error. */
static int may(const struct server *shop, uid_t uid)
{
	struct client cl;
	int ret;

	if (client_of(&cl, shop))
		return -1;
	ret = !client_connect(&cl, uid) ? 1 : errno == EACCES ? 0 : -1;
	if (ret == 1 && client_close(&cl))
		return -1;
	raw_close(&cl.r);
	return ret;
}

TEST(a_service_may_be_for_one_user)
{
	struct server shop;

	ASSERT_EQ(0, SHOP(&shop, .flags = DD_SERVE_UID, .uid = BOB));
	EXPECT_EQ(1, may(&shop, BOB));
	EXPECT_EQ(0, may(&shop, ALICE));
	EXPECT_EQ(0, may(&shop, 0));
	raw_close(&shop.r);
	/* One of several is enough. */
	ASSERT_EQ(0, SHOP(&shop, .flags = DD_SERVE_UID | DD_SERVE_SAME_USER, .uid = BOB));
	EXPECT_EQ(1, may(&shop, BOB));
	EXPECT_EQ(1, may(&shop, 0));
	EXPECT_EQ(0, may(&shop, ALICE));
}

TEST(a_service_may_be_for_one_group)
{
	const gid_t group = 54321;
	struct server shop;

	ASSERT_EQ(0, SHOP(&shop, .flags = DD_SERVE_GID, .gid = group));
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
	struct server shop;
	int i;

	ASSERT_EQ(0, SHOP(&shop, .maxconn = 4, .peruser = 2));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, client_of(&a[i], &shop));
	ASSERT_EQ(0, client_of(&b, &shop));
	ASSERT_EQ(0, client_connect(&a[0], ALICE));
	ASSERT_EQ(0, client_connect(&a[1], ALICE));
	EXPECT_ERR(EUSERS, client_connect(&a[2], ALICE));
	EXPECT_EQ(0, client_connect(&b, BOB));
	/* A block whose message is unread is still hers. */
	ASSERT_EQ(1, client_send(&a[0], 8));
	ASSERT_EQ(0, client_close(&a[0]));
	EXPECT_ERR(EUSERS, client_connect(&a[2], ALICE));
	ASSERT_EQ(0, client_close(&a[1]));
	EXPECT_EQ(0, client_connect(&a[2], ALICE));
	for (i = 0; i < 3; i++)
		raw_close(&a[i].r);
}

TEST(bad_limits_of_a_service_are_refused)
{
	struct server shop;

	EXPECT_ERR(EINVAL, SHOP(&shop, .uid = ALICE));
	EXPECT_ERR(EINVAL, SHOP(&shop, .gid = ALICE));
	EXPECT_ERR(EINVAL, SHOP(&shop, .peruser = 2));
}

/* --- services of one name ---------------------------------------------------*/

TEST(services_of_one_name_take_turns)
{
	struct dd_serve want = { .flags = DD_SERVE_SHARED };
	struct server shop[5], other[3];
	struct client c[4];
	int i;

	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, shop_of(&shop[i], "turns", &want, 0));
	want.maxconn = 2;
	EXPECT_ERR(EINVAL, shop_of(&other[0], "turns", &want, 0));
	want.maxconn = 1;
	EXPECT_ERR(EEXIST, shop_of(&other[2], "turns", &want, ALICE));
	want.flags = 0;
	EXPECT_ERR(EEXIST, shop_of(&other[1], "turns", &want, 0));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, client_of(&c[i], &shop[0]));
	/* The oldest one that still waits, whatever became of others. */
	ASSERT_EQ(0, raw_op(&shop[0].r, DD_IOC_UNSERVE, shop[0].s.service));
	ASSERT_EQ(0, client_connect(&c[0], 0));
	EXPECT_TRUE(server_conn(&shop[1]) && !server_conn(&shop[2]));
	ASSERT_EQ(0, raw_op(&shop[3].r, DD_IOC_UNSERVE, shop[3].s.service));
	ASSERT_EQ(0, client_connect(&c[1], BOB));
	EXPECT_TRUE(server_conn(&shop[2]) && !server_conn(&shop[4]));
	raw_close(&shop[2].r);
	ASSERT_EQ(0, client_connect(&c[2], 0));
	EXPECT_TRUE(server_conn(&shop[4]));
	/* Each of them takes one client, also when that has closed. */
	EXPECT_ERR(ECONNREFUSED, client_connect(&c[3], 0));
	ASSERT_EQ(0, client_close(&c[0]));
	EXPECT_ERR(ECONNREFUSED, client_connect(&c[3], 0));
	/* The name is free. */
	EXPECT_EQ(0, raw_serve(&other[2].r, &other[2].s));
	EXPECT_EQ(0, client_connect(&c[3], 0));
}

/* --- what is in it ---------------------------------------------------------*/

/*
 * What a context sees that gets a window on a block: its own messages may stay,
 * those of others do not, whether they came before or after its own.
 */
TEST(messages_of_another_client_are_not_shown)
{
	struct client a, b, c;
	struct server shop;
	struct dd_note n;

	ASSERT_EQ(0, SHOP(&shop));
	ASSERT_EQ(0, client_of(&a, &shop));
	ASSERT_EQ(0, client_of(&b, &shop));
	ASSERT_EQ(0, client_of(&c, &shop));
	ASSERT_EQ(0, client_connect(&a, 0));
	memset(a.m.at + a.c.send.offset, 's', 8);
	ASSERT_EQ(1, client_send(&a, 8));
	ASSERT_TRUE(server_take(&shop, &n));
	EXPECT_EQ('s', shop.m.at[shop.s.recv.offset]);
	ASSERT_EQ(0, client_close(&a));

	ASSERT_EQ(0, client_connect(&a, 0));
	ASSERT_EQ(0, client_way(&a));
	EXPECT_EQ('s', a.w.block[0]);
	ASSERT_EQ(0, client_close(&a));

	ASSERT_EQ(0, client_connect(&b, 0));
	ASSERT_EQ(0, client_way(&b));
	EXPECT_EQ(0, b.w.block[0]);
	ASSERT_EQ(0, client_close(&b));

	/* A window that comes after a message comes too late to zero. */
	ASSERT_EQ(0, client_connect(&c, 0));
	memset(c.m.at + c.c.send.offset, 't', 8);
	ASSERT_EQ(1, client_send(&c, 8));
	ASSERT_TRUE(server_take(&shop, &n));
	EXPECT_ERR(EACCES, way_grant(&c.r, c.c.conn, &c.w));
	ASSERT_EQ(0, client_close(&c));

	ASSERT_EQ(0, client_connect(&a, 0));
	ASSERT_EQ(0, client_way(&a));
	EXPECT_EQ(0, a.w.block[0]);
}

DD_TEST_MAIN
