// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddserve and ddunserve (requirements DDP-14 to DDP-21, DDP-33 to DDP-35).
 *
 * Copyright (C) 2026 The dd authors
 */
#include "ddp.h"

TEST(DDP_14_returns_0_and_stores_the_servid_or_changes_nothing)
{
	address_t mem = ddalloc(8192), out = mem + 4096;
	char *name = (char *)own_name("s"), longname[200] = "";
	servid_t serv = 77;
	noteid_t note = 0;
	const struct {
		char *name;
		int flags, maxconn;
		address_t mem;
		size_t size;
		noteid_t *note;
		servid_t *serv;
	} bad[] = {
		{ "", 0, 1, mem, 4096, &note, &serv },
		{ longname, 0, 1, mem, 4096, &note, &serv },
		{ NULL, 0, 1, mem, 4096, &note, &serv },
		{ name, 0x4000, 1, mem, 4096, &note, &serv },
		{ name, 0, 0, mem, 4096, &note, &serv },
		{ name, 0, -1, mem, 4096, &note, &serv },
		{ name, 0, 1, mem + 8, 2048, &note, &serv },
		{ name, 0, 1, mem, 4096, NULL, &serv },
		{ name, 0, 1, mem, 4096, &note, NULL },
	};

	ASSERT_NE(NULL, mem);
	memset(longname, 'x', sizeof(longname) - 1);
	for (int i = 0; i < 9; i++) {
		TH_LOG("case %d", i);
		EXPECT_ERR(EINVAL, ddserve(bad[i].name, bad[i].flags, bad[i].maxconn, bad[i].mem,
					   bad[i].size, out, 4096, bad[i].note, bad[i].serv));
	}
	EXPECT_EQ(77, serv);
	EXPECT_EQ(0, note);
	/* The failed calls have taken neither the name nor the memory. */
	EXPECT_EQ(0, ddserve(name, SERVE_NOOPTS, 1, mem, 4096, out, 4096, &note, &serv));
	EXPECT_LT(0, serv);
	EXPECT_NE(77, serv);
	EXPECT_EQ(0, ddunserve(serv));
}

TEST(DDP_15_areas_are_divided_into_equal_blocks_and_no_message_reaches_another)
{
	struct worker *srv = worker_new(THERE);
	unsigned char all[4096], want[4096] = {};
	conninfo_t *info = &srv->shm->info;
	bool seen[4] = {};
	struct slot c, s;
	long i, block;

	ASSERT_OK(p_serve_simple(srv, own_name("s"), 4, 4 * 1024));
	s = peer_slot(srv, 0);
	for (i = 0; i < 4; i++) {
		ASSERT_OK(open_conn(&c, own_name("s"), TYPE_SPLIT, 4096));
		memset(c.out, 1 + i, 4096);
		EXPECT_ERR(EBADRANGE, ddsend(c.conn, c.out, 1025, 0, SEND_NOOPTS));
		EXPECT_ERR(EBADRANGE, ddsend(c.conn, c.out, 1, 1024, SEND_NOOPTS));
		ASSERT_OK(ddsend(c.conn, c.out, 1024, 0, SEND_BLOCK));
		ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
		ASSERT_OK(p_info(srv, srv->shm->desc.connid));
		EXPECT_EQ(1024, info->recvsize);
		EXPECT_EQ(1024, info->sendsize);
		EXPECT_EQ((void *)info->recvbase, (void *)srv->shm->desc.msgaddr);
		block = (info->recvbase - s.in) / 1024;
		ASSERT_TRUE(block >= 0 && block < 4);
		EXPECT_EQ((void *)(s.in + block * 1024), (void *)info->recvbase);
		/* No earlier client has it. */
		EXPECT_EQ(0, want[block * 1024]);
		memset(want + block * 1024, 1 + i, 1024);
		ASSERT_OK(p_read(srv, s.in, all, 4096));
		EXPECT_EQ(0, memcmp(all, want, 4096));
		block = (info->sendbase - s.out) / 1024;
		ASSERT_TRUE(block >= 0 && block < 4);
		EXPECT_FALSE(seen[block]);
		seen[block] = true;
	}
}

/* A service for @maxconn connections with areas at @recv and @reply. */
static int serve_in(int maxconn, address_t recv, size_t recvsize, address_t reply,
		    size_t replysize)
{
	noteid_t note = 0;
	servid_t serv;

	return ddserve((char *)own_name("s"), SERVE_NOOPTS, maxconn, recv, recvsize, reply,
		       replysize, &note, &serv);
}

/* Inside, apart from each other, and big enough for all connections. */
TEST(DDP_8_DDP_16_both_areas_must_come_from_ddalloc)
{
	static char plain[2 * 4096] __attribute__((aligned(4096)));
	address_t mem = ddalloc(4 * 4096), other = ddalloc(4096);
	const struct {
		int maxconn;
		address_t recv;
		size_t recvsize;
		address_t reply;
		size_t replysize;
	} bad[] = {
		{ 1, plain, 4096, other, 4096 },
		{ 1, other, 4096, plain, 4096 },
		{ 1, mem, 5 * 4096, other, 4096 },
		{ 1, other, 4096, mem, 5 * 4096 },
		{ 1, mem, (size_t)-4096, other, 4096 },
		{ 1, mem, 4096, mem, 4096 },
		{ 1, mem, 8192, mem + 4096, 4096 },
		{ 1, mem + 4096, 4096, mem, 8192 },
		{ 2, mem, 8, other, 4096 },
		{ 1, mem, 0, other, 4096 },
	};

	ASSERT_NE(NULL, mem);
	ASSERT_NE(NULL, other);
	for (int i = 0; i < 10; i++) {
		TH_LOG("case %d", i);
		EXPECT_ERR(EINVAL, serve_in(bad[i].maxconn, bad[i].recv, bad[i].recvsize,
					    bad[i].reply, bad[i].replysize));
	}
	ASSERT_OK(serve_in(2, mem, 16, mem + 8192, 4096));
	/* Memory of a service is in use. */
	EXPECT_ERR(EINVAL, serve_in(1, mem, 4096, mem + 12288, 4096));
}

TEST(DDP_17_a_name_in_use_is_refused)
{
	struct worker *srv = worker_new(HERE), *far = worker_new(THERE);
	struct slot s;

	ASSERT_OK(p_serve_simple(srv, own_name("s"), 1, 4096));
	EXPECT_ERR(EEXIST, open_serve(&s, own_name("s"), 1, 4096));
	/* Another node has its own names. */
	EXPECT_EQ(across_nodes() ? 0 : -1,
		  p_serve_simple(far, own_name("s"), 1, 4096));
	ASSERT_OK(p_unserve(srv, peer_slot(srv, 0).serv));
	EXPECT_EQ(0, open_serve(&s, own_name("s"), 1, 4096));
	/* A prefix is another name. */
	EXPECT_EQ(0, open_serve(&s, own_name("s") + 1, 1, 4096));
}

TEST(DDP_18_default_shares_a_live_list_of_this_process_or_allocates_one)
{
	address_t mem = ddalloc(8192);
	noteid_t note;
	servid_t serv;
	struct slot a, c;

	ASSERT_NE(NULL, mem);
	EXPECT_EQ(0, SERVE_NOOPTS);
	ASSERT_OK(open_serve(&a, own_name("a"), 1, 4096));
	ASSERT_OK(open_serve(&c, own_name("c"), 1, 4096));
	EXPECT_LT(0, a.note);
	EXPECT_NE(a.note, c.note);
	note = a.note;
	ASSERT_OK(ddserve((char *)own_name("b"), SERVE_NOOPTS, 1, mem, 4096,
			  mem + 4096, 4096, &note, &serv));
	EXPECT_EQ(a.note, note);
	/* A list that is not alive is replaced. */
	ASSERT_OK(ddunserve(a.serv));
	ASSERT_OK(ddunserve(serv));
	ASSERT_OK(ddserve((char *)own_name("b"), SERVE_NOOPTS, 1, mem, 4096,
			  mem + 4096, 4096, &note, &serv));
	EXPECT_NE(a.note, note);
	EXPECT_EQ(0, ddready(note));
}

TEST(DDP_19_services_share_the_given_list)
{
	struct worker *srv = worker_new(THERE);
	struct peer_serve s = {
		.flags = SERVE_NOOPTS, .maxconn = 1, .recvsize = 4096,
		.sendsize = 4096, .slot = 0, .share = -1,
	};
	struct slot c[2], ss[2];
	int i;

	s.name = own_name("a");
	ASSERT_OK(p_serve(srv, &s));
	s.name = own_name("b");
	s.flags = SERVE_NOTELIST;
	s.slot = 1;
	s.share = 0;
	ASSERT_OK(p_serve(srv, &s));
	ss[0] = peer_slot(srv, 0);
	ss[1] = peer_slot(srv, 1);
	EXPECT_EQ(ss[0].note, ss[1].note);
	ASSERT_OK(open_conn(&c[0], own_name("a"), TYPE_SPLIT, 4096));
	ASSERT_OK(open_conn(&c[1], own_name("b"), TYPE_SPLIT, 4096));
	for (i = 1; i >= 0; i--) {
		ASSERT_OK(ddsend(c[i].conn, c[i].out, 8, 0, SEND_NOOPTS));
		ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
		EXPECT_EQ(ss[i].serv, srv->shm->desc.servid);
	}
}

static long ready_on(long note, long b, long c)
{
	return ddready(note);
}

static long recv_on(long note, long b, long c)
{
	return ddrecv(note, &peer_shm->desc, RECV_SLEEP, 0);
}

TEST(DDP_20_doaccept_reports_connections_and_gives_each_a_list)
{
	struct worker *srv = worker_new(THERE);
	struct peer_serve s = {
		.name = own_name("s"), .flags = SERVE_DOACCEPT, .maxconn = 2,
		.recvsize = 8192, .sendsize = 8192, .slot = 0, .share = -1,
	};
	ddrecv_desc_t *d = &srv->shm->desc;
	noteid_t lists[2];
	struct slot c[2], ss;
	int i;

	ASSERT_OK(p_serve(srv, &s));
	ss = peer_slot(srv, 0);
	for (i = 0; i < 2; i++) {
		ASSERT_OK(open_conn(&c[i], own_name("s"), TYPE_SPLIT, 4096));
		ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
		EXPECT_TRUE(DD_ISCONN(d));
		EXPECT_EQ(NULL, d->msgaddr);
		EXPECT_EQ(-1, d->msgsize);
		EXPECT_EQ(ss.serv, d->servid);
		ASSERT_OK(p_info(srv, d->connid));
		lists[i] = srv->shm->info.noteid;
		EXPECT_NE(ss.note, lists[i]);
	}
	EXPECT_NE(lists[0], lists[1]);
	/* Messages come on the connection's own list only, and are no connections. */
	ASSERT_OK(ddsend(c[1].conn, c[1].out, 24, 8, SEND_BLOCK));
	EXPECT_EQ(0, p_ready(srv, 0));
	EXPECT_EQ(0, worker_do(srv, ready_on, lists[0], 0, 0));
	EXPECT_EQ(1, worker_do(srv, ready_on, lists[1], 0, 0));
	ASSERT_OK(worker_do(srv, recv_on, lists[1], 0, 0));
	EXPECT_FALSE(DD_ISCONN(d));
	EXPECT_EQ(24, d->msgsize);
	EXPECT_EQ((void *)(srv->shm->info.recvbase + 8), (void *)d->msgaddr);
}

TEST(DDP_21_1_notelist_that_is_none_is_ebadid)
{
	address_t mem = ddalloc(8192);
	noteid_t bad[4] = { 0 };
	servid_t serv;
	struct slot s;

	ASSERT_NE(NULL, mem);
	ASSERT_OK(open_serve(&s, own_name("a"), 1, 4096));
	bad[1] = s.note + 1;
	/* An id of another kind, and one that was valid before. */
	bad[2] = s.serv;
	bad[3] = s.note;
	for (int i = 0; i < 4; i++) {
		if (i == 3)
			ASSERT_OK(ddunserve(s.serv));
		EXPECT_ERR(EBADID, ddserve((char *)own_name("b"), SERVE_NOTELIST, 1, mem, 4096,
					   mem + 4096, 4096, &bad[i], &serv));
	}
}

TEST(DDP_21_3_too_much_for_the_kernel_is_enoresource)
{
	address_t in;
	noteid_t note;
	servid_t serv;
	int i, ret = 0;

	/* Each needs an eighth or more of the area for its states. */
	for (i = 0; i < 64 && !ret; i++) {
		char stem[8] = { 'a' + i / 26, 'a' + i % 26 };

		in = ddalloc(65536 * 8);
		ASSERT_NE(NULL, in);
		note = 0;
		errno = 0;
		ret = ddserve((char *)own_name(stem), SERVE_NOOPTS, 65536, in,
			      65536 * 8, NULL, 0, &note, &serv);
	}
	ASSERT_EQ(-1, ret);
	EXPECT_EQ(ENORESOURCE, errno);
	/* Only the call fails: other calls still work. */
	struct slot s;

	EXPECT_EQ(0, ddunserve(serv));
	EXPECT_EQ(0, open_serve(&s, own_name("s"), 1, 4096));
}

TEST(DDP_33_unserve_ends_all_connections_and_keeps_the_buffers)
{
	struct worker *cl = worker_new(THERE);
	struct slot s, c;
	ddrecv_desc_t d;
	servid_t serv;
	noteid_t note = 0;
	int i;

	ASSERT_OK(open_serve(&s, own_name("s"), 3, 3 * 1024));
	for (i = 0; i < 3; i++) {
		ASSERT_OK(p_conn(cl, own_name("s"), TYPE_SPLIT, 4096, i));
		c = peer_slot(cl, i);
		ASSERT_OK(p_send(cl, c.conn, "hello", 6, 0, SEND_BLOCK));
	}
	ASSERT_OK(ddrecv(s.note, &d, RECV_SLEEP, 0));
	EXPECT_EQ(0, ddunserve(s.serv));
	EXPECT_STREQ("hello", d.msgaddr);
	s.in[0] = s.out[0] = 'x';
	EXPECT_EQ('x', s.in[0]);
	EXPECT_EQ(-1, ddsend(d.connid, s.out, 8, 0, SEND_NOOPTS));
	EXPECT_TRUE(errno == EBADID || errno == ECONNCLOSE);
	for (i = 0; i < 3; i++)
		EXPECT_HEARD_ERR(ECONNCLOSE, p_send(cl, peer_slot(cl, i).conn,
						    "x", 2, 0, 0));
	/* The memory is free for another service, and so is the name. */
	EXPECT_EQ(0, ddserve((char *)own_name("s"), SERVE_NOOPTS, 1, s.in, 1024,
			     s.out, 1024, &note, &serv));
}

TEST_F(ddp, DDP_34_DDP_44_2_client_ends_are_marked_closed)
{
	struct slot *split = &self->split, *stream = &self->stream, *rpc = &self->rpc, c;
	address_t reply;
	ddrecv_desc_t d;
	size_t size;

	ASSERT_OK(p_unserve(self->srv, self->s.serv));
	EXPECT_HEARD_ERR(ECONNCLOSE, ddsend(split->conn, split->out, 8, 0, SEND_NOOPTS));
	EXPECT_HEARD_ERR(ECONNCLOSE, ddsend(stream->conn, stream->out, 8, 0, SEND_BLOCK));
	EXPECT_ERR(ECONNCLOSE, ddsend(stream->conn, stream->out, 8, 0, SEND_UNWIRED));
	EXPECT_ERR(ECONNCLOSE, ddcall(rpc->conn, rpc->out, 8, &reply, &size, RECV_SLEEP, 0));
	d.connid = 0;
	EXPECT_ERR(ECONNCLOSE, ddrecv(split->note, &d, RECV_SLEEP, 0));
	EXPECT_EQ(split->conn, d.connid);
	EXPECT_ERR(EBADSERVER, open_conn(&c, self->name, TYPE_SPLIT, 4096));
	EXPECT_EQ(0, ddclose(split->conn));
	EXPECT_ERR(EBADID, ddclose(split->conn));
}

DD_TEST_MAIN
