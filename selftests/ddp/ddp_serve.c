// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddserve and ddunserve (requirements DDP-14 to DDP-21, DDP-33 to DDP-35).
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include "peer.h"

TEST(DDP_14_returns_0_and_stores_the_servid)
{
	address_t mem = ddalloc(8192);
	servid_t serv = -1;
	noteid_t note = 0;

	ASSERT_NE(NULL, mem);
	EXPECT_EQ(0, ddserve((char *)own_name("s"), SERVE_NOOPTS, 1, mem, 4096,
			     mem + 4096, 4096, &note, &serv));
	EXPECT_LT(0, serv);
	EXPECT_EQ(0, ddunserve(serv));
}

TEST(DDP_14_bad_arguments_return_minus_1_and_change_nothing)
{
	address_t mem = ddalloc(8192), out;
	char *name = (char *)own_name("s");
	char longname[200];
	servid_t serv = 77;
	noteid_t note = 0;

	ASSERT_NE(NULL, mem);
	out = mem + 4096;
	memset(longname, 'x', sizeof(longname) - 1);
	longname[sizeof(longname) - 1] = 0;
	EXPECT_ERR(EINVAL, ddserve("", 0, 1, mem, 4096, out, 4096, &note, &serv));
	EXPECT_ERR(EINVAL, ddserve(longname, 0, 1, mem, 4096, out, 4096, &note,
				   &serv));
	EXPECT_ERR(EINVAL, ddserve(NULL, 0, 1, mem, 4096, out, 4096, &note,
				   &serv));
	EXPECT_ERR(EINVAL, ddserve(name, 0x4000, 1, mem, 4096, out, 4096, &note,
				   &serv));
	EXPECT_ERR(EINVAL, ddserve(name, 0, 0, mem, 4096, out, 4096, &note,
				   &serv));
	EXPECT_ERR(EINVAL, ddserve(name, 0, -1, mem, 4096, out, 4096, &note,
				   &serv));
	EXPECT_ERR(EINVAL, ddserve(name, 0, 1, mem + 8, 2048, out, 4096, &note,
				   &serv));
	EXPECT_ERR(EINVAL, ddserve(name, 0, 1, mem, 4096, out, 4096, NULL,
				   &serv));
	EXPECT_ERR(EINVAL, ddserve(name, 0, 1, mem, 4096, out, 4096, &note,
				   NULL));
	EXPECT_EQ(77, serv);
	EXPECT_EQ(0, note);
	/* The failed calls have taken neither the name nor the memory. */
	EXPECT_EQ(0, ddserve(name, 0, 1, mem, 4096, out, 4096, &note, &serv));
}

TEST(DDP_15_areas_are_divided_into_equal_blocks)
{
	struct peer *srv = peer_start();
	bool seen_in[4] = {}, seen_out[4] = {};
	struct slot c[4], s;
	conninfo_t *info;
	long i, block;

	ASSERT_OK(p_serve_simple(srv, own_name("s"), 4, 4 * 1024));
	s = peer_slot(srv, 0);
	for (i = 0; i < 4; i++) {
		ASSERT_OK(open_conn(&c[i], own_name("s"), TYPE_SPLIT, 4096));
		ASSERT_OK(ddsend(c[i].conn, c[i].out, 8, 0, SEND_NOOPTS));
		ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
		ASSERT_OK(p_info(srv, srv->shm->desc.connid));
		info = &srv->shm->info;
		EXPECT_EQ(1024, info->recvsize);
		EXPECT_EQ(1024, info->sendsize);
		EXPECT_EQ((void *)info->recvbase, (void *)srv->shm->desc.msgaddr);
		block = (info->recvbase - s.in) / 1024;
		ASSERT_TRUE(block >= 0 && block < 4);
		EXPECT_EQ((void *)(s.in + block * 1024), (void *)info->recvbase);
		EXPECT_FALSE(seen_in[block]);
		seen_in[block] = true;
		block = (info->sendbase - s.out) / 1024;
		ASSERT_TRUE(block >= 0 && block < 4);
		EXPECT_FALSE(seen_out[block]);
		seen_out[block] = true;
	}
}

TEST(DDP_15_a_message_does_not_reach_the_next_block)
{
	struct peer *srv = peer_start();
	static const char zero[4096];
	unsigned char all[4096];
	conninfo_t *info;
	struct slot c, s;
	size_t at;

	ASSERT_OK(p_serve_simple(srv, own_name("s"), 4, 4096));
	s = peer_slot(srv, 0);
	ASSERT_OK(open_conn(&c, own_name("s"), TYPE_SPLIT, 4096));
	memset(c.out, 0xee, 4096);
	EXPECT_ERR(EBADRANGE, ddsend(c.conn, c.out, 1025, 0, SEND_NOOPTS));
	EXPECT_ERR(EBADRANGE, ddsend(c.conn, c.out, 1, 1024, SEND_NOOPTS));
	ASSERT_OK(ddsend(c.conn, c.out, 1024, 0, SEND_BLOCK));
	ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
	ASSERT_OK(p_info(srv, srv->shm->desc.connid));
	info = &srv->shm->info;
	at = info->recvbase - s.in;
	ASSERT_OK(p_read(srv, s.in, all, 4096));
	EXPECT_EQ(0, memcmp(all, zero, at));
	EXPECT_EQ(0xee, all[at]);
	EXPECT_EQ(0xee, all[at + 1023]);
	EXPECT_EQ(0, memcmp(all + at + 1024, zero, 4096 - at - 1024));
}

TEST(DDP_16_both_areas_must_come_from_ddalloc)
{
	char *plain = malloc(8192), *name = (char *)own_name("s");
	address_t mem = ddalloc(4096);
	noteid_t note = 0;
	servid_t serv;

	ASSERT_NE(NULL, mem);
	plain = (char *)(((unsigned long)plain + 4095) & ~4095ul);
	EXPECT_ERR(EINVAL, ddserve(name, 0, 1, plain, 4096, mem, 4096, &note,
				   &serv));
	EXPECT_ERR(EINVAL, ddserve(name, 0, 1, mem, 4096, plain, 4096, &note,
				   &serv));
}

static int serve_in(address_t recv, size_t recvsize, address_t reply,
		    size_t replysize)
{
	noteid_t note = 0;
	servid_t serv;

	return ddserve((char *)own_name("s"), SERVE_NOOPTS, 1, recv, recvsize,
		       reply, replysize, &note, &serv);
}

TEST(DDP_16_areas_must_be_inside_of_what_ddalloc_gave)
{
	address_t mem = ddalloc(4096), other = ddalloc(4096);

	ASSERT_NE(NULL, mem);
	ASSERT_NE(NULL, other);
	EXPECT_ERR(EINVAL, serve_in(mem, 8192, other, 4096));
	EXPECT_ERR(EINVAL, serve_in(other, 4096, mem, 8192));
	EXPECT_ERR(EINVAL, serve_in(mem, (size_t)-4096, other, 4096));
	EXPECT_EQ(0, serve_in(mem, 4096, other, 4096));
}

TEST(DDP_16_areas_must_not_overlap)
{
	address_t mem = ddalloc(4 * 4096);

	ASSERT_NE(NULL, mem);
	EXPECT_ERR(EINVAL, serve_in(mem, 4096, mem, 4096));
	EXPECT_ERR(EINVAL, serve_in(mem, 8192, mem + 4096, 4096));
	EXPECT_ERR(EINVAL, serve_in(mem + 4096, 4096, mem, 8192));
	ASSERT_OK(serve_in(mem, 8192, mem + 8192, 4096));
	/* Memory of a service is in use. */
	EXPECT_ERR(EINVAL, serve_in(mem + 4096, 4096, mem + 12288, 4096));
}

TEST(DDP_17_a_name_in_use_is_refused)
{
	struct peer *srv = peer_start_near(), *far = peer_start();
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

TEST(DDP_18_default_allocates_a_notification_list)
{
	struct slot a, b;

	ASSERT_OK(open_serve(&a, own_name("a"), 1, 4096));
	ASSERT_OK(open_serve(&b, own_name("b"), 1, 4096));
	EXPECT_LT(0, a.note);
	EXPECT_NE(a.note, b.note);
	EXPECT_EQ(0, ddready(a.note));
	EXPECT_EQ(0, SERVE_NOOPTS);
}

TEST(DDP_18_default_shares_a_live_list_of_this_process)
{
	address_t mem = ddalloc(8192);
	noteid_t note;
	servid_t serv;
	struct slot a;

	ASSERT_NE(NULL, mem);
	ASSERT_OK(open_serve(&a, own_name("a"), 1, 4096));
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
	struct peer *srv = peer_start();
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

TEST(DDP_20_doaccept_reports_connections_and_gives_each_a_list)
{
	struct peer *srv = peer_start();
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
	/* Messages come on the connection's own list only. */
	ASSERT_OK(ddsend(c[1].conn, c[1].out, 8, 0, SEND_BLOCK));
	EXPECT_EQ(0, p_ready(srv, 0));
	EXPECT_EQ(0, peer_call(srv, ready_on, lists[0], 0, 0));
	EXPECT_EQ(1, peer_call(srv, ready_on, lists[1], 0, 0));
}

static long recv_on(long note, long options, long timeout)
{
	return ddrecv(note, &peer_shm->desc, options, timeout);
}

TEST(DDP_20_messages_on_an_accepted_connection_are_not_connections)
{
	struct peer *srv = peer_start();
	struct peer_serve s = {
		.name = own_name("s"), .flags = SERVE_DOACCEPT, .maxconn = 2,
		.recvsize = 8192, .sendsize = 8192, .slot = 0, .share = -1,
	};
	ddrecv_desc_t *d = &srv->shm->desc;
	struct slot c;

	ASSERT_OK(p_serve(srv, &s));
	ASSERT_OK(open_conn(&c, own_name("s"), TYPE_SPLIT, 4096));
	ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
	ASSERT_OK(p_info(srv, d->connid));
	ASSERT_OK(ddsend(c.conn, c.out, 24, 8, SEND_NOOPTS));
	ASSERT_OK(peer_call(srv, recv_on, srv->shm->info.noteid, RECV_SLEEP, 0));
	EXPECT_FALSE(DD_ISCONN(d));
	EXPECT_EQ(24, d->msgsize);
	EXPECT_EQ((void *)(srv->shm->info.recvbase + 8), (void *)d->msgaddr);
}

TEST(DDP_21_1_notelist_that_is_none_is_ebadid)
{
	address_t mem = ddalloc(8192);
	noteid_t note;
	servid_t serv;
	struct slot s;

	ASSERT_NE(NULL, mem);
	ASSERT_OK(open_serve(&s, own_name("a"), 1, 4096));
	note = 0;
	EXPECT_ERR(EBADID, ddserve((char *)own_name("b"), SERVE_NOTELIST, 1, mem,
				   4096, mem + 4096, 4096, &note, &serv));
	note = s.note + 1;
	EXPECT_ERR(EBADID, ddserve((char *)own_name("b"), SERVE_NOTELIST, 1, mem,
				   4096, mem + 4096, 4096, &note, &serv));
	/* An id of another kind, and one that was valid before. */
	note = s.serv;
	EXPECT_ERR(EBADID, ddserve((char *)own_name("b"), SERVE_NOTELIST, 1, mem,
				   4096, mem + 4096, 4096, &note, &serv));
	note = s.note;
	ASSERT_OK(ddunserve(s.serv));
	EXPECT_ERR(EBADID, ddserve((char *)own_name("b"), SERVE_NOTELIST, 1, mem,
				   4096, mem + 4096, 4096, &note, &serv));
}

TEST(DDP_21_2_node_down_is_enocmp)
{
	struct slot s;
	int ret, err;

	ASSERT_EQ(0, node_down());
	errno = 0;
	ret = open_serve(&s, own_name("s"), 1, 4096);
	err = errno;
	ASSERT_EQ(0, node_up());
	EXPECT_EQ(-1, ret);
	EXPECT_EQ(ENOCMP, err);
	EXPECT_EQ(0, open_serve(&s, own_name("s"), 1, 4096));
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
	struct peer *cl = peer_start();
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

TEST(DDP_34_client_ends_are_marked_closed)
{
	struct peer *srv = peer_start();
	struct slot c, rpc, c2;
	address_t reply;
	ddrecv_desc_t d;
	size_t size;

	ASSERT_OK(p_serve_simple(srv, own_name("s"), 3, 3 * 1024));
	ASSERT_OK(open_conn(&c, own_name("s"), TYPE_SPLIT, 4096));
	ASSERT_OK(open_conn(&rpc, own_name("s"), TYPE_RPC, 4096));
	ASSERT_OK(p_unserve(srv, peer_slot(srv, 0).serv));
	EXPECT_HEARD_ERR(ECONNCLOSE, ddsend(c.conn, c.out, 8, 0, SEND_NOOPTS));
	EXPECT_ERR(ECONNCLOSE, ddcall(rpc.conn, rpc.out, 8, &reply, &size,
				      RECV_SLEEP, 0));
	d.connid = 0;
	EXPECT_ERR(ECONNCLOSE, ddrecv(c.note, &d, RECV_SLEEP, 0));
	EXPECT_EQ(c.conn, d.connid);
	EXPECT_ERR(EBADSERVER, open_conn(&c2, own_name("s"), TYPE_SPLIT, 4096));
	EXPECT_EQ(0, ddclose(c.conn));
	EXPECT_ERR(EBADID, ddclose(c.conn));
}

TEST(DDP_35_unserve_of_no_service_is_ebadid)
{
	struct slot s;

	EXPECT_ERR(EBADID, ddunserve(0));
	EXPECT_ERR(EBADID, ddunserve(-1));
	EXPECT_ERR(EBADID, ddunserve(0x7fffffff));
	ASSERT_OK(open_serve(&s, own_name("s"), 1, 4096));
	EXPECT_ERR(EBADID, ddunserve(s.note));
	EXPECT_EQ(0, ddunserve(s.serv));
	EXPECT_ERR(EBADID, ddunserve(s.serv));
}

DD_TEST_MAIN
