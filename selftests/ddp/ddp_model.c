// SPDX-License-Identifier: GPL-2.0-only
/*
 * DDP's model: services, connections, notification lists, buffers, identity
 * (requirements DDP-1 to DDP-13).
 *
 * Copyright (C) 2026 The dd authors
 */
#include "ddp.h"
#include <sys/resource.h>
#include "reclaim.h"

TEST(DDP_1_bytes_are_in_the_receivers_memory_before_it_makes_a_call)
{
	struct worker *srv = worker_new(THERE);
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

TEST_F(ddp, DDP_2_a_connection_is_two_channels)
{
	struct slot *c = &self->stream;
	ddrecv_desc_t d;
	connid_t back;

	ASSERT_OK(ddsend(c->conn, strcpy(c->out, "there"), 6, 0, SEND_NOOPTS));
	TAKE();
	back = self->there->connid;
	EXPECT_STREQ("there", (char *)self->srv->shm->data);
	/* The other channel works while a message is on the first. */
	ASSERT_OK(ddsend(c->conn, strcpy(c->out, "again"), 6, 0, SEND_BLOCK));
	ASSERT_OK(p_send(self->srv, back, "back", 5, 0, SEND_BLOCK));
	ASSERT_OK(ddrecv(c->note, &d, RECV_SLEEP, 0));
	EXPECT_STREQ("back", d.msgaddr);
	EXPECT_EQ(c->conn, d.connid);
	TAKE();
	EXPECT_STREQ("again", (char *)self->srv->shm->data);
}

TEST(DDP_3_DDP_30_4_service_has_a_name_and_a_maximum_of_connections)
{
	struct worker *srv = worker_new(THERE);
	struct slot c[3];

	ASSERT_OK(p_serve_simple(srv, own_name("m"), 2, 8192));
	ASSERT_OK(open_conn(&c[0], own_name("m"), TYPE_SPLIT, 4096));
	ASSERT_OK(open_conn(&c[1], own_name("m"), TYPE_SPLIT, 4096));
	EXPECT_ERR(ENORESOURCE,
		   open_conn(&c[2], own_name("m"), TYPE_SPLIT, 4096));
	ASSERT_OK(ddclose(c[0].conn));
	EXPECT_EQ(0, open_conn(&c[2], own_name("m"), TYPE_SPLIT, 4096));
}

TEST(DDP_4_DDP_35_services_of_a_process_have_different_servids)
{
	const servid_t bad[] = { 0, -1, 0x7fffffff };
	struct slot s[4];
	int i, k;

	for (i = 0; i < 4; i++) {
		char stem[8] = { 'a' + i };

		ASSERT_OK(open_serve(&s[i], own_name(stem), 1, 4096));
		for (k = 0; k < i; k++)
			EXPECT_NE(s[k].serv, s[i].serv);
	}
	for (i = 0; i < 3; i++)
		EXPECT_ERR(EBADID, ddunserve(bad[i]));
	EXPECT_ERR(EBADID, ddunserve(s[1].note));
	ASSERT_OK(ddunserve(s[1].serv));
	EXPECT_ERR(EBADID, ddunserve(s[1].serv));
	EXPECT_EQ(0, ddunserve(s[2].serv));
}

TEST_F(ddp, DDP_5_server_learns_of_a_connection_by_its_first_message)
{
	EXPECT_EQ(0, p_ready(self->srv, 0));
	EXPECT_ERR(EWOULDBLOCK, p_recv(self->srv, 0, RECV_NOBLOCK, 0));
	ASSERT_OK(ddsend(self->split.conn, self->split.out, 16, 0, SEND_NOOPTS));
	TAKE();
	EXPECT_EQ(0, p_info(self->srv, self->there->connid));
}

TEST_F(ddp, DDP_6_current_connections_are_listed)
{
	struct worker *srv = self->srv;
	const servid_t serv = self->s.serv;
	int i;

	ASSERT_EQ(3, p_connlist(srv, serv, 64));
	for (i = 0; i < 3; i++) {
		connid_t id = srv->shm->conns[i];

		EXPECT_EQ(0, p_info(srv, id));
		EXPECT_NE(id, srv->shm->conns[(i + 1) % 3]);
	}
	/* What does not fit is counted, not stored. */
	srv->shm->conns[1] = 12345;
	EXPECT_EQ(3, p_connlist(srv, serv, 1));
	EXPECT_EQ(12345, srv->shm->conns[1]);
	ASSERT_OK(ddclose(self->split.conn));
	EXPECT_TRUE(HEARD(p_connlist(srv, serv, 64) == 2));
	EXPECT_ERR(EBADID, p_connlist(srv, serv + 1, 64));
	EXPECT_ERR(EINVAL, p_connlist(srv, serv, -1));
}

TEST_F(ddp, DDP_7_one_list_for_services_and_connections)
{
	address_t mem = ddalloc(4 * BLOCK);
	struct slot own;
	ddrecv_desc_t d;
	connid_t c[2];
	noteid_t note;
	int i;

	/* Without a list the kernel allocates and returns one. */
	ASSERT_OK(open_serve(&own, own_name("own"), 1, BLOCK));
	EXPECT_NE(0, own.note);
	note = own.note;
	for (i = 0; i < 2; i++) {
		address_t out = mem + 2 * i * BLOCK;

		ASSERT_OK(ddconn(self->name, far_node(), TYPE_SPLIT, CONN_NOTELIST, out, BLOCK,
				 out + BLOCK, BLOCK, &c[i], &note));
		EXPECT_EQ(own.note, note);
		ASSERT_OK(ddsend(c[i], out, 8, 0, SEND_NOOPTS));
		TAKE();
		ASSERT_OK(p_send(self->srv, self->there->connid, "x", 2, 0, 0));
	}
	for (i = 0; i < 2; i++) {
		ASSERT_OK(ddrecv(note, &d, RECV_SLEEP, 0));
		EXPECT_EQ(c[i], d.connid);
	}
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
	struct worker *srv;
	struct slot c, s;

	ASSERT_EQ(0, reclaim_begin(&reclaim)) {
		TH_LOG("errno %d", errno);
	}
	srv = worker_new(THERE);
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
	EXPECT_EQ(16, worker_do(srv, present_there, (long)s.in, 65536, 0));
	/* While an object of the other kind exists. */
	EXPECT_EQ(PLAIN / 4096, pages_present(plain, PLAIN));
	EXPECT_TRUE(WAIT_FOR((reclaim_now(&reclaim),
			      pages_present(plain, PLAIN) == 0)));
	EXPECT_EQ(16, pages_present(c.out, 65536));
	EXPECT_EQ(16, pages_present(c.in, 65536));
	EXPECT_EQ(16, worker_do(srv, present_there, (long)s.in, 65536, 0));
	EXPECT_STREQ("kept", c.out + 40000);
	EXPECT_EQ(0, p_read(srv, s.in + 40000, got, 5));
	EXPECT_STREQ("kept", got);
	worker_end(srv);
	reclaim_end(&reclaim);
}

#define LOCKED_CALLS	1000

/* Lock all present and future memory, of which there may be 64 MiB. */
static long lock_memory(long a, long b, long c)
{
	const struct rlimit l = { 64 << 20, 64 << 20 };

	return setrlimit(RLIMIT_MEMLOCK, &l) || become_user(ALICE) ||
	       mlockall(MCL_CURRENT | MCL_FUTURE);
}

static long call_often(long n, long b, long c)
{
	struct slot s;
	address_t rep;
	size_t size;

	if (open_conn(&s, peer_shm->name, TYPE_RPC, BLOCK))
		return -1;
	for (long i = 0; i < n; i++) {
		memcpy(s.out, &i, sizeof(i));
		if (ddcall(s.conn, s.out, sizeof(i), &rep, &size, RECV_SLEEP, 0) ||
		    size != sizeof(i) || memcmp(rep, &i, sizeof(i)))
			return -1;
	}
	return 0;
}

TEST(DDP_8_a_process_whose_memory_is_locked_opens_serves_and_sends)
{
	struct worker *srv = worker_new(THERE), *cl = worker_new(HERE);

	ASSERT_EQ(0, worker_do(srv, lock_memory, 0, 0, 0));
	ASSERT_EQ(0, worker_do(cl, lock_memory, 0, 0, 0));
	ASSERT_OK(p_serve_simple(srv, own_name("l"), 4, 4 * BLOCK));
	p_echo_begin(srv, LOCKED_CALLS, 0);
	strcpy(cl->shm->name, own_name("l"));
	ASSERT_OK(worker_do(cl, call_often, LOCKED_CALLS, 0, 0));
	EXPECT_EQ(0, worker_result(srv));
}

TEST_F(ddp, DDP_10_rpc_has_an_anonymous_list_split_has_a_noteid)
{
	address_t mem = ddalloc(2 * BLOCK);
	noteid_t untouched = 4711;
	conninfo_t info;
	connid_t c;

	ASSERT_OK(ddconn(self->name, far_node(), TYPE_RPC, CONN_NOOPTS, mem, BLOCK, mem + BLOCK,
			 BLOCK, &c, &untouched));
	EXPECT_EQ(4711, untouched);
	ASSERT_OK(ddclose(c));
	ASSERT_OK(ddconn(self->name, far_node(), TYPE_RPC, CONN_NOOPTS, mem, BLOCK, mem + BLOCK,
			 BLOCK, &c, NULL));
	ASSERT_OK(ddconninfo(c, &info));
	EXPECT_EQ(0, info.noteid);
	ASSERT_OK(ddconninfo(self->rpc.conn, &info));
	EXPECT_EQ(0, info.noteid);
	EXPECT_NE(0, self->split.note);
}

TEST(DDP_13_ids_of_another_process_are_invalid)
{
	struct worker *srv = worker_new(THERE);
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

TEST_F(ddp, DDP_13_a_forked_child_uses_the_calls_for_itself_only)
{
	struct slot *c = &self->split, own;
	ddrecv_desc_t d;
	conninfo_t info;

	IN_CHILD {
		CHILD_ERR(EBADID, ddsend(c->conn, c->out, 8, 0, SEND_NOOPTS));
		CHILD_ERR(EBADID, ddconninfo(c->conn, &info));
		CHILD_ERR(EBADID, ddready(c->note));
		CHILD_ERR(EBADID, ddrecv(c->note, &d, RECV_NOBLOCK, 0));
		CHILD_CHECK(open_conn(&own, self->name, TYPE_SPLIT, BLOCK) == 0);
		strcpy(own.out, "child");
		CHILD_CHECK(ddsend(own.conn, own.out, 6, 0, SEND_NOOPTS) == 0);
		/* Not the parent's, even with a handle of its own. */
		CHILD_CHECK(own.conn == c->conn || (ddclose(c->conn) == -1 && errno == EBADID));
	}
	TAKE();
	EXPECT_STREQ("child", (char *)self->srv->shm->data);
	/* The parent has lost nothing. */
	EXPECT_EQ(0, ddsend(c->conn, c->out, 8, 0, SEND_NOOPTS));
	TAKE();
}

DD_TEST_MAIN
