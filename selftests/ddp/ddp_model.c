// SPDX-License-Identifier: GPL-2.0-only
/*
 * DDP's model: services, connections, notification lists, buffers, identity
 * (requirements DDP-1 to DDP-13).
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include "peer.h"
#include "reclaim.h"

TEST(DDP_1_bytes_are_in_the_receivers_memory_before_it_makes_a_call)
{
	struct peer *srv = peer_start();
	char got[64] = "";
	struct slot c, s;

	ASSERT_OK(p_serve_simple(srv, own_name("m"), 1, 4096));
	s = peer_slot(srv, 0);
	ASSERT_OK(open_conn(&c, own_name("m"), TYPE_SPLIT, 4096));
	strcpy(c.out, "straight to where it is used");
	ASSERT_OK(ddsend(c.conn, c.out, 29, 128, SEND_BLOCK));
	/* The receiver makes only loads. */
	ASSERT_OK(p_read(srv, s.in + 128, got, 29));
	EXPECT_STREQ("straight to where it is used", got);
	ASSERT_OK(p_recv(srv, 0, RECV_NOBLOCK, 0));
	EXPECT_EQ((void *)(s.in + 128), (void *)srv->shm->desc.msgaddr);
}

TEST(DDP_2_a_connection_is_two_channels)
{
	struct peer *srv = peer_start();
	ddrecv_desc_t d;
	struct slot c;
	connid_t back;

	ASSERT_OK(p_serve_simple(srv, own_name("m"), 1, 4096));
	ASSERT_OK(open_conn(&c, own_name("m"), TYPE_SSTREAM, 4096));
	strcpy(c.out, "there");
	ASSERT_OK(ddsend(c.conn, c.out, 6, 0, SEND_NOOPTS));
	ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
	back = srv->shm->desc.connid;
	EXPECT_STREQ("there", (char *)srv->shm->data);
	/* The other channel works while a message is on the first. */
	strcpy(c.out, "again");
	ASSERT_OK(ddsend(c.conn, c.out, 6, 0, SEND_BLOCK));
	ASSERT_OK(p_send(srv, back, "back", 5, 0, SEND_BLOCK));
	ASSERT_OK(ddrecv(c.note, &d, RECV_SLEEP, 0));
	EXPECT_STREQ("back", d.msgaddr);
	EXPECT_EQ(c.conn, d.connid);
	ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
	EXPECT_STREQ("again", (char *)srv->shm->data);
}

TEST(DDP_3_DDP_30_4_service_has_a_name_and_a_maximum_of_connections)
{
	struct peer *srv = peer_start();
	struct slot c[3];

	ASSERT_OK(p_serve_simple(srv, own_name("m"), 2, 8192));
	ASSERT_OK(open_conn(&c[0], own_name("m"), TYPE_SPLIT, 4096));
	ASSERT_OK(open_conn(&c[1], own_name("m"), TYPE_SPLIT, 4096));
	EXPECT_ERR(ENORESOURCE,
		   open_conn(&c[2], own_name("m"), TYPE_SPLIT, 4096));
	ASSERT_OK(ddclose(c[0].conn));
	EXPECT_EQ(0, open_conn(&c[2], own_name("m"), TYPE_SPLIT, 4096));
}

TEST(DDP_4_services_of_a_process_have_different_servids)
{
	struct slot s[4];
	int i, k;

	for (i = 0; i < 4; i++) {
		char stem[8] = { 'a' + i };

		ASSERT_OK(open_serve(&s[i], own_name(stem), 1, 4096));
		for (k = 0; k < i; k++)
			EXPECT_NE(s[k].serv, s[i].serv);
	}
	ASSERT_OK(ddunserve(s[1].serv));
	EXPECT_ERR(EBADID, ddunserve(s[1].serv));
	EXPECT_EQ(0, ddunserve(s[2].serv));
}

TEST(DDP_5_server_learns_of_a_connection_by_its_first_message)
{
	struct peer *srv = peer_start();
	struct slot c;

	ASSERT_OK(p_serve_simple(srv, own_name("m"), 2, 8192));
	ASSERT_OK(open_conn(&c, own_name("m"), TYPE_SPLIT, 4096));
	EXPECT_EQ(0, p_ready(srv, 0));
	EXPECT_ERR(EWOULDBLOCK, p_recv(srv, 0, RECV_NOBLOCK, 0));
	ASSERT_OK(ddsend(c.conn, c.out, 16, 0, SEND_NOOPTS));
	ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
	EXPECT_EQ(0, p_info(srv, srv->shm->desc.connid));
	EXPECT_EQ(near_node(), srv->shm->info.node);
	EXPECT_EQ(getpid(), srv->shm->info.pid);
}

TEST(DDP_6_current_connections_are_listed)
{
	struct peer *srv = peer_start();
	struct slot c[3], s;
	connid_t id;
	int i;

	ASSERT_OK(p_serve_simple(srv, own_name("m"), 4, 16384));
	s = peer_slot(srv, 0);
	EXPECT_EQ(0, p_connlist(srv, s.serv, 64));
	for (i = 0; i < 3; i++)
		ASSERT_OK(open_conn(&c[i], own_name("m"), TYPE_SPLIT, 4096));
	ASSERT_EQ(3, p_connlist(srv, s.serv, 64));
	for (i = 0; i < 3; i++) {
		id = srv->shm->conns[i];
		EXPECT_EQ(0, p_info(srv, id));
		EXPECT_NE(id, srv->shm->conns[(i + 1) % 3]);
	}
	/* Metadata that does not fit is counted, not stored. */
	srv->shm->conns[1] = 12345;
	EXPECT_EQ(3, p_connlist(srv, s.serv, 1));
	EXPECT_EQ(12345, srv->shm->conns[1]);
	ASSERT_OK(ddclose(c[1].conn));
	EXPECT_TRUE(HEARD(p_connlist(srv, s.serv, 64) == 2));
	EXPECT_ERR(EBADID, p_connlist(srv, s.serv + 1, 64));
	EXPECT_ERR(EINVAL, p_connlist(srv, s.serv, -1));
}

TEST(DDP_7_one_list_for_services_and_connections)
{
	struct peer *srv = peer_start();
	noteid_t note = 0, first;
	struct slot c[2], s;
	ddrecv_desc_t d;
	servid_t serv;
	address_t mem;
	int i;

	ASSERT_OK(p_serve_simple(srv, own_name("m"), 4, 16384));
	mem = ddalloc(8192);
	ASSERT_NE(NULL, mem);
	/* Without a list the kernel allocates and returns one. */
	ASSERT_OK(ddserve((char *)own_name("own"), SERVE_NOOPTS, 1, mem, 4096,
			  mem + 4096, 4096, &note, &serv));
	EXPECT_NE(0, note);
	first = note;
	for (i = 0; i < 2; i++) {
		c[i].out = ddalloc(4096);
		c[i].in = ddalloc(4096);
		ASSERT_OK(ddconn((char *)own_name("m"), far_node(), TYPE_SPLIT,
				 CONN_NOTELIST, c[i].out, 4096, c[i].in, 4096,
				 &c[i].conn, &note));
		EXPECT_EQ(first, note);
		ASSERT_OK(ddsend(c[i].conn, c[i].out, 8, 0, SEND_NOOPTS));
		ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
		ASSERT_OK(p_send(srv, srv->shm->desc.connid, "x", 2, 0, 0));
	}
	for (i = 0; i < 2; i++) {
		ASSERT_OK(ddrecv(first, &d, RECV_SLEEP, 0));
		EXPECT_EQ(c[i].conn, d.connid);
	}
	s = peer_slot(srv, 0);
	/*
	 * A list belongs to one process: the peer cannot use this one, nor this
	 * process the peer's.
	 */
	EXPECT_ERR(EBADID, ddready(s.note));
}

TEST(DDP_7_unreferenced_list_is_freed)
{
	struct peer *srv = peer_start();
	struct slot c, c2;

	ASSERT_OK(p_serve_simple(srv, own_name("m"), 2, 8192));
	ASSERT_OK(open_conn(&c, own_name("m"), TYPE_SPLIT, 4096));
	c2.out = ddalloc(4096);
	c2.in = ddalloc(4096);
	ASSERT_OK(ddconn((char *)own_name("m"), far_node(), TYPE_SPLIT, CONN_NOOPTS,
			 c2.out, 4096, c2.in, 4096, &c2.conn, &c.note));
	EXPECT_EQ(0, ddready(c.note));
	ASSERT_OK(ddclose(c.conn));
	EXPECT_EQ(0, ddready(c.note));
	ASSERT_OK(ddclose(c2.conn));
	EXPECT_ERR(EBADID, ddready(c.note));
}

TEST(DDP_8_buffers_must_be_big_enough_for_all_connections)
{
	address_t mem = ddalloc(8192);
	noteid_t note = 0;
	servid_t serv;
	char *name = (char *)own_name("m");

	ASSERT_NE(NULL, mem);
	EXPECT_ERR(EINVAL, ddserve(name, SERVE_NOOPTS, 2, mem, 8, mem + 4096, 4096,
				   &note, &serv));
	EXPECT_ERR(EINVAL, ddserve(name, SERVE_NOOPTS, 1, mem, 0, mem + 4096, 4096,
				   &note, &serv));
	EXPECT_ERR(EINVAL, ddserve(name, SERVE_NOOPTS, 1, mem, 4096, mem + 4096,
				   8192, &note, &serv));
	EXPECT_EQ(0, ddserve(name, SERVE_NOOPTS, 2, mem, 16, mem + 4096, 4096,
			     &note, &serv));
}

#define PLAIN	(1 << 20)

static long present_there(long at, long len, long c)
{
	return pages_present((void *)at, len);
}

/* All memory of both processes is reclaimed, and swapped out where possible. */
TEST(DDP_8_memory_is_wired)
{
	char got[8] = "", *plain;
	struct reclaim reclaim;
	struct peer *srv;
	struct slot c, s;

	ASSERT_EQ(0, reclaim_begin(&reclaim)) {
		TH_LOG("errno %d", errno);
	}
	srv = peer_start();
	plain = mmap(NULL, PLAIN, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, plain);
	memset(plain, 1, PLAIN);
	EXPECT_EQ(0, p_serve_simple(srv, own_name("m"), 1, 65536));
	s = peer_slot(srv, 0);
	EXPECT_EQ(0, open_conn(&c, own_name("m"), TYPE_SPLIT, 65536));
	memset(c.out, 1, 65536);
	memset(c.in, 1, 65536);
	strcpy(c.out + 40000, "kept");
	EXPECT_EQ(0, ddsend(c.conn, c.out, 65536, 0, SEND_BLOCK));
	EXPECT_EQ(0, p_recv(srv, 0, RECV_SLEEP, 0));
	EXPECT_EQ(16, peer_call(srv, present_there, (long)s.in, 65536, 0));
	/* While an object of the other kind exists. */
	EXPECT_EQ(PLAIN / 4096, pages_present(plain, PLAIN));
	EXPECT_TRUE(WAIT_FOR((reclaim_now(&reclaim),
			      pages_present(plain, PLAIN) == 0)));
	EXPECT_EQ(16, pages_present(c.out, 65536));
	EXPECT_EQ(16, pages_present(c.in, 65536));
	EXPECT_EQ(16, peer_call(srv, present_there, (long)s.in, 65536, 0));
	EXPECT_STREQ("kept", c.out + 40000);
	EXPECT_EQ(0, p_read(srv, s.in + 40000, got, 5));
	EXPECT_STREQ("kept", got);
	peer_kill(srv);
	reclaim_end(&reclaim);
}

TEST(DDP_10_rpc_has_an_anonymous_list_split_has_a_noteid)
{
	struct peer *srv = peer_start();
	noteid_t untouched = 4711, note = 0, given;
	char *name = (char *)own_name("m");
	conninfo_t a, b;
	address_t mem;
	connid_t c[4];

	ASSERT_OK(p_serve_simple(srv, name, 4, 16384));
	mem = ddalloc(8 * 4096);
	ASSERT_NE(NULL, mem);
	ASSERT_OK(ddconn(name, far_node(), TYPE_RPC, CONN_NOOPTS, mem, 4096, mem + 4096,
			 4096, &c[0], &untouched));
	EXPECT_EQ(4711, untouched);
	ASSERT_OK(ddconn(name, far_node(), TYPE_RPC, CONN_NOOPTS, mem + 8192, 4096,
			 mem + 12288, 4096, &c[1], NULL));
	/* An anonymous list. */
	ASSERT_OK(ddconninfo(c[0], &a));
	ASSERT_OK(ddconninfo(c[1], &b));
	EXPECT_EQ(0, a.noteid);
	EXPECT_EQ(0, b.noteid);
	ASSERT_OK(ddconn(name, far_node(), TYPE_SPLIT, CONN_NOOPTS, mem + 16384, 4096,
			 mem + 20480, 4096, &c[2], &note));
	EXPECT_NE(0, note);
	given = note;
	ASSERT_OK(ddconn(name, far_node(), TYPE_SPLIT, CONN_NOOPTS, mem + 24576, 4096,
			 mem + 28672, 4096, &c[3], &given));
	EXPECT_EQ(note, given);
}

TEST(DDP_11_info_tells_remote_size_counts_and_who_the_peer_is)
{
	struct peer *srv = peer_start_user(ALICE);
	conninfo_t info;
	ddrecv_desc_t d;
	struct slot c;
	int i;

	ASSERT_OK(p_serve_simple(srv, own_name("m"), 3, 3 * 1024));
	ASSERT_OK(open_conn(&c, own_name("m"), TYPE_SPLIT, 4096));
	for (i = 0; i < 3; i++) {
		ASSERT_SENT(ddsend(c.conn, c.out, 8, 0, SEND_NOOPTS));
		ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
		ASSERT_SENT(p_send(srv, srv->shm->desc.connid, "x", 2, 0, 0));
		ASSERT_OK(ddrecv(c.note, &d, RECV_SLEEP, 0));
	}
	ASSERT_SENT(ddsend(c.conn, c.out, 8, 0, SEND_NOOPTS));
	ASSERT_OK(ddconninfo(c.conn, &info));
	EXPECT_EQ(1024, info.remotesize);
	EXPECT_EQ(4, info.msgid_send);
	EXPECT_EQ(3, info.msgid_recv);
	EXPECT_EQ(far_node(), info.node);
	EXPECT_EQ(srv->pid, info.pid);
	EXPECT_EQ(ALICE, info.uid);
	ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
	ASSERT_OK(p_info(srv, srv->shm->desc.connid));
	info = srv->shm->info;
	EXPECT_EQ(4096, info.remotesize);
	EXPECT_EQ(3, info.msgid_send);
	EXPECT_EQ(4, info.msgid_recv);
	EXPECT_EQ(near_node(), info.node);
	EXPECT_EQ(getpid(), info.pid);
	EXPECT_EQ(getuid(), info.uid);
}

TEST(DDP_13_ids_of_another_process_are_invalid)
{
	struct peer *srv = peer_start();
	ddrecv_desc_t d;
	conninfo_t info;
	struct slot c, s;
	connid_t theirs;

	ASSERT_OK(p_serve_simple(srv, own_name("m"), 1, 4096));
	s = peer_slot(srv, 0);
	ASSERT_OK(open_conn(&c, own_name("m"), TYPE_SPLIT, 4096));
	ASSERT_OK(ddsend(c.conn, c.out, 8, 0, SEND_NOOPTS));
	ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
	theirs = srv->shm->desc.connid;
	EXPECT_NE(c.conn, theirs);
	EXPECT_ERR(EBADID, ddconninfo(theirs, &info));
	EXPECT_ERR(EBADID, ddsend(theirs, c.out, 8, 0, SEND_NOOPTS));
	EXPECT_ERR(EBADID, ddclose(theirs));
	EXPECT_ERR(EBADID, dddone(theirs, 0));
	EXPECT_ERR(EBADID, ddunserve(s.serv));
	EXPECT_ERR(EBADID, ddready(s.note));
	EXPECT_ERR(EBADID, ddrecv(s.note, &d, RECV_NOBLOCK, 0));
	EXPECT_ERR(EBADID, p_close(srv, c.conn));
	EXPECT_EQ(0, p_info(srv, theirs));
}

TEST(DDP_13_a_forked_child_has_none_of_its_parents_ids)
{
	struct peer *srv = peer_start();
	ddrecv_desc_t d;
	conninfo_t info;
	struct slot c;

	ASSERT_OK(p_serve_simple(srv, own_name("m"), 1, 4096));
	ASSERT_OK(open_conn(&c, own_name("m"), TYPE_SPLIT, 4096));
	IN_CHILD {
		CHILD_ERR(EBADID, ddsend(c.conn, c.out, 8, 0, SEND_NOOPTS));
		CHILD_ERR(EBADID, ddconninfo(c.conn, &info));
		CHILD_ERR(EBADID, ddready(c.note));
		CHILD_ERR(EBADID, ddrecv(c.note, &d, RECV_NOBLOCK, 0));
		CHILD_ERR(EBADID, ddclose(c.conn));
	}
	/* The parent has lost nothing. */
	EXPECT_EQ(0, ddsend(c.conn, c.out, 8, 0, SEND_NOOPTS));
	EXPECT_EQ(0, p_recv(srv, 0, RECV_SLEEP, 0));
}

TEST(DDP_13_a_forked_child_may_use_the_calls_for_itself)
{
	char *name = (char *)own_name("m");
	struct peer *srv = peer_start();
	struct slot c, own;

	ASSERT_OK(p_serve_simple(srv, name, 2, 8192));
	ASSERT_OK(open_conn(&c, name, TYPE_SPLIT, 4096));
	IN_CHILD {
		CHILD_CHECK(open_conn(&own, name, TYPE_SPLIT, 4096) == 0);
		strcpy(own.out, "child");
		CHILD_CHECK(ddsend(own.conn, own.out, 6, 0, SEND_NOOPTS) == 0);
		/* Not the parent's, even with a handle of its own. */
		CHILD_CHECK(own.conn == c.conn || (ddclose(c.conn) == -1 &&
						   errno == EBADID));
	}
	ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
	EXPECT_STREQ("child", (char *)srv->shm->data);
	EXPECT_EQ(0, ddsend(c.conn, c.out, 8, 0, SEND_NOOPTS));
	EXPECT_EQ(0, p_recv(srv, 0, RECV_SLEEP, 0));
}

DD_TEST_MAIN
