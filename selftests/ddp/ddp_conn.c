// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddconn and ddclose (requirements DDP-22 to DDP-32).
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <poll.h>
#include "dd.h"
#include "peer.h"

/* A server with room for four connections of 1 KiB blocks, and its name. */
FIXTURE(conn) {
	struct peer *srv;
	char *name;
	address_t mem;
	connid_t c;
	noteid_t note;
};

FIXTURE_SETUP(conn)
{
	self->srv = peer_start();
	self->name = (char *)own_name("c");
	ASSERT_OK(p_serve_simple(self->srv, self->name, 4, 4096));
	self->mem = ddalloc(4 * 4096);
	ASSERT_NE(NULL, self->mem);
}

FIXTURE_TEARDOWN(conn)
{
	peer_kill(self->srv);
}

/* Connect with the first two pages as buffers. */
static int simple(FIXTURE_DATA(conn) *self, int type, int flags)
{
	return ddconn(self->name, far_node(), type, flags, self->mem, 4096,
		      self->mem + 4096, 4096, &self->c, &self->note);
}

TEST_F(conn, DDP_22_DDP_23_1_DDP_23_2_DDP_23_3_each_type_returns_0_and_a_connid)
{
	static const int types[] = { TYPE_RPC, TYPE_SPLIT, TYPE_SSTREAM };
	int i;

	for (i = 0; i < 3; i++) {
		self->c = -1;
		self->note = 0;
		ASSERT_OK(simple(self, types[i], CONN_NOOPTS));
		EXPECT_LT(0, self->c);
		EXPECT_EQ(0, ddclose(self->c));
	}
	EXPECT_EQ(TYPE_SSTREAM, TYPE_STREAM);
}

TEST_F(conn, DDP_22_bad_arguments_return_minus_1_and_change_nothing)
{
	address_t in = self->mem + 4096, out = self->mem;
	char *name = self->name, longname[200];
	connid_t c = 77;
	noteid_t note = 0;

	memset(longname, 'x', sizeof(longname) - 1);
	longname[sizeof(longname) - 1] = 0;
	EXPECT_ERR(EINVAL, ddconn("", far_node(), TYPE_SPLIT, 0, out, 4096, in, 4096, &c,
				  &note));
	EXPECT_ERR(EINVAL, ddconn(longname, far_node(), TYPE_SPLIT, 0, out, 4096, in,
				  4096, &c, &note));
	EXPECT_ERR(EINVAL, ddconn(NULL, far_node(), TYPE_SPLIT, 0, out, 4096, in, 4096,
				  &c, &note));
	EXPECT_ERR(EINVAL, ddconn(name, far_node(), TYPE_SPLIT, 0x4000, out, 4096, in,
				  4096, &c, &note));
	EXPECT_ERR(EINVAL, ddconn(name, far_node(), TYPE_SPLIT, 0, out, 4096, in, 4096,
				  NULL, &note));
	EXPECT_ERR(EINVAL, ddconn(name, far_node(), TYPE_SPLIT, 0, out, 4096, in, 4096,
				  &c, NULL));
	EXPECT_ERR(EINVAL, ddconn(name, far_node(), TYPE_SSTREAM, 0, out, 4096, in, 4096,
				  &c, NULL));
	EXPECT_ERR(EINVAL, ddconn(name, far_node(), TYPE_SPLIT, 0, out + 8, 1024, in,
				  4096, &c, &note));
	EXPECT_EQ(77, c);
	EXPECT_EQ(0, note);
	EXPECT_EQ(0, p_connlist(self->srv, peer_slot(self->srv, 0).serv, 8));
	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
}

TEST_F(conn, DDP_23_no_other_type)
{
	int type;

	for (type = -1; type < 64; type++) {
		if (type == TYPE_RPC || type == TYPE_SPLIT ||
		    type == TYPE_SSTREAM)
			continue;
		EXPECT_ERR(EINVAL, simple(self, type, CONN_NOOPTS));
	}
	EXPECT_EQ(0, p_connlist(self->srv, peer_slot(self->srv, 0).serv, 8));
}

TEST_F(conn, DDP_24_rpc_blocks_until_the_reply_and_needs_no_noteid)
{
	struct peer *cl = self->srv;
	address_t rep;
	size_t size;
	pid_t pid;

	ASSERT_OK(ddconn(self->name, far_node(), TYPE_RPC, CONN_NOOPTS, self->mem, 4096,
			 self->mem + 4096, 4096, &self->c, NULL));
	/* The reply comes only once this process sleeps in its call. */
	strcpy(self->mem, "question");
	p_recv_begin(cl, 0, RECV_SLEEP, 0);
	pid = fork_child();
	if (!pid) {
		CHILD_CHECK(WAIT_FOR(asleep_in_wait(getppid())));
		CHILD_CHECK(peer_end(cl) == 0);
		CHILD_CHECK(p_send(cl, cl->shm->desc.connid, "answer", 7, 0,
				   SEND_BLOCK) == 0);
		_exit(0);
	}
	ASSERT_OK(ddcall(self->c, self->mem, 9, &rep, &size, RECV_SLEEP, 0));
	EXPECT_STREQ("answer", rep);
	EXPECT_EQ(7, size);
	ASSERT_CHILD_OK(pid);
}

/* Sends until the link refuses; returns the number accepted, at most @max. */
static int fill(connid_t c, address_t from, int max)
{
	int n;

	for (n = 0; n < max; n++)
		if (ddsend(c, from, 8, 0, SEND_NOOPTS))
			break;
	return n;
}

TEST_F(conn, DDP_26_sstream_acks_what_is_placed_not_what_is_processed)
{
	int n;

	ASSERT_OK(simple(self, TYPE_SSTREAM, CONN_NOOPTS));
	/* The kernel acknowledges although the receiver has not run. */
	for (n = 0; n < 16; n++) {
		ASSERT_OK(ddsend(self->c, self->mem, 8, 0, SEND_NOOPTS));
		EXPECT_EQ(1, dddone(self->c, SDONE_SLEEP));
	}
	/*
	 * Fill the list until the note of one message is withheld: the next is
	 * refused.
	 */
	n = fill(self->c, self->mem, 1000);
	ASSERT_LT(n, 1000);
	EXPECT_EQ(ENOTREADY, errno);
	/* Between nodes the last acknowledgement may still be in flight. */
	if (!across_nodes())
		EXPECT_ERR(ENOTREADY, ddsend(self->c, self->mem, 8, 0,
					     SEND_NOOPTS));
	ASSERT_OK(p_recv(self->srv, 0, RECV_SLEEP, 0));
	EXPECT_TRUE(WAIT_FOR(!ddsend(self->c, self->mem, 8, 0, SEND_NOOPTS)));
}

TEST_F(conn, DDP_27_notelist_attaches_to_the_given_list)
{
	noteid_t first, bad = 0;
	connid_t c2;

	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
	first = self->note;
	ASSERT_OK(ddconn(self->name, far_node(), TYPE_SPLIT, CONN_NOTELIST,
			 self->mem + 8192, 4096, self->mem + 12288, 4096, &c2,
			 &self->note));
	EXPECT_EQ(first, self->note);
	ASSERT_OK(ddclose(c2));
	EXPECT_ERR(EBADID, ddconn(self->name, far_node(), TYPE_SPLIT, CONN_NOTELIST,
				  self->mem + 8192, 4096, self->mem + 12288,
				  4096, &c2, &bad));
	/* A stream may share a list too. */
	EXPECT_EQ(0, ddconn(self->name, far_node(), TYPE_SSTREAM, CONN_NOTELIST,
			    self->mem + 8192, 4096, self->mem + 12288, 4096,
			    &c2, &self->note));
	EXPECT_EQ(first, self->note);
}

TEST_F(conn, DDP_27_without_it_a_live_list_is_shared_else_one_allocated)
{
	noteid_t first, note;
	connid_t c2;

	self->note = 0x5a5a5a5a;
	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
	EXPECT_NE(0x5a5a5a5a, self->note);
	first = note = self->note;
	ASSERT_OK(ddconn(self->name, far_node(), TYPE_SPLIT, CONN_NOOPTS,
			 self->mem + 8192, 4096, self->mem + 12288, 4096, &c2,
			 &note));
	EXPECT_EQ(first, note);
	ASSERT_OK(ddclose(c2));
	note = 0;
	ASSERT_OK(ddconn(self->name, far_node(), TYPE_SPLIT, CONN_NOOPTS,
			 self->mem + 8192, 4096, self->mem + 12288, 4096, &c2,
			 &note));
	EXPECT_NE(first, note);
}

TEST_F(conn, DDP_28_noopts_exists_and_is_0)
{
	EXPECT_EQ(0, CONN_NOOPTS);
	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
}

TEST_F(conn, DDP_9_DDP_29_buffers_must_come_from_ddalloc)
{
	char *plain = malloc(12288);

	plain = (char *)(((unsigned long)plain + 4095) & ~4095ul);
	EXPECT_ERR(EINVAL, ddconn(self->name, far_node(), TYPE_SPLIT, 0, plain, 4096,
				  self->mem, 4096, &self->c, &self->note));
	EXPECT_ERR(EINVAL, ddconn(self->name, far_node(), TYPE_SPLIT, 0, self->mem, 4096,
				  plain, 4096, &self->c, &self->note));
	/* Not even partly outside. */
	EXPECT_ERR(EINVAL, ddconn(self->name, far_node(), TYPE_SPLIT, 0,
				  self->mem + 12288, 8192, self->mem, 4096,
				  &self->c, &self->note));
	EXPECT_ERR(EINVAL, ddconn(self->name, far_node(), TYPE_SPLIT, 0,
				  self->mem + 12288, (size_t)-4096, self->mem,
				  4096, &self->c, &self->note));
	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
}

TEST_F(conn, DDP_29_memory_in_use_is_not_used_twice)
{
	connid_t c2;

	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
	EXPECT_ERR(EINVAL, ddconn(self->name, far_node(), TYPE_SPLIT, 0,
				  self->mem + 8192, 4096, self->mem + 4096,
				  4096, &c2, &self->note));
	ASSERT_OK(ddclose(self->c));
	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
}

TEST_F(conn, DDP_30_1_bad_noteid_is_ebadid)
{
	self->note = 0x1234567;
	EXPECT_ERR(EBADID, simple(self, TYPE_SPLIT, CONN_NOTELIST));
	self->note = -5;
	EXPECT_ERR(EBADID, simple(self, TYPE_SPLIT, CONN_NOTELIST));
}

TEST_F(conn, DDP_30_2_no_such_service_or_node_is_ebadserver)
{
	static const int nodes[] = { 0, 1, 2, 3, 4, -1, 0x7fffffff, -0x7fffffff };
	int i;

	/* The own node fails too, if the service is on another. */
	for (i = 0; i < 8; i++)
		if (nodes[i] != far_node())
			EXPECT_ERR(EBADSERVER,
				   ddconn(self->name, nodes[i], TYPE_SPLIT, 0,
					  self->mem, 4096, self->mem + 4096,
					  4096, &self->c, &self->note));
	EXPECT_ERR(EBADSERVER,
		   ddconn(self->name + 1, far_node(), TYPE_SPLIT, 0, self->mem, 4096,
			  self->mem + 4096, 4096, &self->c, &self->note));
	ASSERT_OK(p_unserve(self->srv, peer_slot(self->srv, 0).serv));
	EXPECT_ERR(EBADSERVER, simple(self, TYPE_SPLIT, CONN_NOOPTS));
}

TEST_F(conn, DDP_30_3_node_down_is_enocmp)
{
	int ret, err;

	ASSERT_EQ(0, node_down());
	errno = 0;
	ret = simple(self, TYPE_SPLIT, CONN_NOOPTS);
	err = errno;
	ASSERT_EQ(0, node_up());
	EXPECT_EQ(-1, ret);
	EXPECT_EQ(ENOCMP, err);
	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
}

TEST_F(conn, DDP_31_client_closes)
{
	connid_t there;

	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
	ASSERT_OK(ddsend(self->c, self->mem, 8, 0, SEND_NOOPTS));
	EXPECT_EQ(0, ddclose(self->c));
	/* Delivered messages can be read. */
	ASSERT_OK(p_recv(self->srv, 0, RECV_SLEEP, 0));
	there = self->srv->shm->desc.connid;
	EXPECT_HEARD_ERR(ECONNCLOSE, p_send(self->srv, there, "x", 2, 0,
					    SEND_UNWIRED));
	EXPECT_EQ(0, p_close(self->srv, there));
	EXPECT_ERR(EBADID, p_close(self->srv, there));
	/* Its buffers are free again. */
	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
}

TEST_F(conn, DDP_31_server_closes)
{
	ddrecv_desc_t d = {};
	connid_t there;

	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
	ASSERT_OK(ddsend(self->c, self->mem, 8, 0, SEND_NOOPTS));
	ASSERT_OK(p_recv(self->srv, 0, RECV_SLEEP, 0));
	there = self->srv->shm->desc.connid;
	ASSERT_OK(p_send(self->srv, there, "last", 5, 0, SEND_BLOCK));
	EXPECT_EQ(0, p_close(self->srv, there));
	EXPECT_ERR(EBADID, p_send(self->srv, there, "x", 2, 0, SEND_UNWIRED));
	/* First the delivered messages, then the close record. */
	EXPECT_EQ(1, ddready(self->note));
	ASSERT_OK(ddrecv(self->note, &d, RECV_SLEEP, 0));
	EXPECT_STREQ("last", d.msgaddr);
	d.connid = 0;
	EXPECT_ERR(ECONNCLOSE, ddrecv(self->note, &d, RECV_SLEEP, 0));
	EXPECT_EQ(self->c, d.connid);
	EXPECT_ERR(ECONNCLOSE, ddsend(self->c, self->mem, 8, 0, SEND_NOOPTS));
	EXPECT_EQ(0, ddclose(self->c));
	/* The service continues. */
	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
}

TEST(DDP_31_death_of_the_server_closes)
{
	char *name = (char *)own_name("dies");
	struct peer *srv = peer_start();
	ddrecv_desc_t d = {};
	struct slot c;

	ASSERT_OK(p_serve_simple(srv, name, 4, 4096));
	ASSERT_OK(open_conn(&c, name, TYPE_SPLIT, 4096));
	ASSERT_OK(ddsend(c.conn, c.out, 8, 0, SEND_NOOPTS));
	peer_kill(srv);
	EXPECT_ERR(ECONNCLOSE, ddrecv(c.note, &d, RECV_SLEEP, 0));
	EXPECT_EQ(c.conn, d.connid);
	EXPECT_ERR(ECONNCLOSE, ddsend(c.conn, c.out, 8, 0, SEND_NOOPTS));
	EXPECT_ERR(EBADSERVER, open_conn(&c, name, TYPE_SPLIT, 4096));
}

TEST(DDP_31_death_of_the_client_closes)
{
	char *name = (char *)own_name("s");
	struct peer *cl = peer_start();
	conninfo_t info;
	ddrecv_desc_t d;
	struct slot s;

	ASSERT_OK(open_serve(&s, name, 1, 4096));
	ASSERT_OK(p_conn(cl, name, TYPE_SPLIT, 4096, 0));
	ASSERT_OK(p_send(cl, peer_slot(cl, 0).conn, "last", 5, 0, SEND_BLOCK));
	peer_kill(cl);
	ASSERT_OK(ddrecv(s.note, &d, RECV_SLEEP, 0));
	EXPECT_STREQ("last", d.msgaddr);
	ASSERT_OK(ddconninfo(d.connid, &info));
	ASSERT_SOON(ddsend(d.connid, info.sendbase, 8, 0, SEND_NOOPTS) == -1 &&
		    errno == ECONNCLOSE);
	/* The server's list gets no record of the close. */
	EXPECT_EQ(0, ddready(s.note));
	EXPECT_EQ(0, ddclose(d.connid));
}

TEST(DDP_31_the_block_of_a_closed_connection_is_reused_at_once)
{
	char *name = (char *)own_name("s");
	struct peer *srv = peer_start();
	connid_t first;
	struct slot c;
	int i;

	ASSERT_OK(p_serve_simple(srv, name, 1, 4096));
	ASSERT_OK(open_conn(&c, name, TYPE_SPLIT, 4096));
	ASSERT_OK(ddsend(c.conn, c.out, 8, 0, SEND_NOOPTS));
	ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
	first = srv->shm->desc.connid;
	for (i = 0; i < dd_count(50); i++) {
		ASSERT_OK(ddclose(c.conn));
		ASSERT_OK(open_conn(&c, name, TYPE_SPLIT, 4096));
	}
	ASSERT_OK(ddsend(c.conn, strcpy(c.out, "new"), 4, 0, SEND_NOOPTS));
	ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
	EXPECT_STREQ("new", (char *)srv->shm->data);
	EXPECT_NE(first, srv->shm->desc.connid);
	EXPECT_EQ(-1, p_send(srv, first, "x", 2, 0, SEND_UNWIRED));
	EXPECT_TRUE(errno == EBADID || errno == ECONNCLOSE);
	EXPECT_EQ(0, p_send(srv, srv->shm->desc.connid, "x", 2, 0, 0));
}

TEST(DDP_31_a_message_outlives_its_sender_until_it_is_read)
{
	char *name = (char *)own_name("s");
	struct peer *srv = peer_start();
	struct slot c;

	ASSERT_OK(p_serve_simple(srv, name, 1, 4096));
	ASSERT_OK(open_conn(&c, name, TYPE_SPLIT, 4096));
	ASSERT_OK(ddsend(c.conn, strcpy(c.out, "old"), 4, 0, SEND_BLOCK));
	/* The notification has arrived too, also from another node. */
	ASSERT_SOON(p_ready(srv, 0) == 1);
	ASSERT_OK(ddclose(c.conn));
	/* The block gets no other client before that. */
	EXPECT_ERR(ENORESOURCE, open_conn(&c, name, TYPE_SPLIT, 4096));
	ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
	EXPECT_STREQ("old", (char *)srv->shm->data);
	ASSERT_SOON(!open_conn(&c, name, TYPE_SPLIT, 4096));
	ASSERT_OK(ddsend(c.conn, strcpy(c.out, "new"), 4, 0, SEND_NOOPTS));
	ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
	EXPECT_STREQ("new", (char *)srv->shm->data);
}

TEST(DDP_31_a_request_in_work_is_not_replaced_by_another_user)
{
	char *name = (char *)own_name("s");
	struct peer *alice = peer_start_user(ALICE), *bob = peer_start_user(BOB);
	struct slot s;
	ddrecv_desc_t d;

	ASSERT_OK(open_serve(&s, name, 1, 4096));
	ASSERT_OK(p_conn(alice, name, TYPE_SPLIT, 4096, 0));
	ASSERT_OK(p_send(alice, peer_slot(alice, 0).conn, "alice", 6, 0,
			 SEND_BLOCK));
	ASSERT_OK(ddrecv(s.note, &d, RECV_SLEEP, 0));
	peer_kill(alice);
	EXPECT_ERR(ENORESOURCE, p_conn(bob, name, TYPE_SPLIT, 4096, 0));
	EXPECT_STREQ("alice", d.msgaddr);
	/*
	 * The reply is refused once the server's node knows that the client is
	 * gone.
	 */
	ASSERT_SOON(ddsend(d.connid, s.out, 8, 0, SEND_NOOPTS) == -1 &&
		    errno == ECONNCLOSE);
	ASSERT_OK(p_conn(bob, name, TYPE_SPLIT, 4096, 0));
	ASSERT_OK(p_send(bob, peer_slot(bob, 0).conn, "bob", 4, 0, SEND_BLOCK));
	ASSERT_OK(ddrecv(s.note, &d, RECV_SLEEP, 0));
	EXPECT_STREQ("bob", d.msgaddr);
}

/* A service with one block whose server asks for records of closed clients. */
static int serve_close(struct slot *s, char *name, int flags)
{
	s->in = ddalloc(4096);
	s->out = ddalloc(4096);
	s->note = 0;
	return ddserve(name, SERVE_CLOSE | flags, 1, s->in, 4096, s->out, 4096,
		       &s->note, &s->serv);
}

TEST(a_server_that_asks_is_notified_that_a_client_has_gone)
{
	char *name = (char *)own_name("s");
	struct peer *cl = peer_start();
	struct slot s, c;
	ddrecv_desc_t d;
	connid_t first;

	ASSERT_OK(serve_close(&s, name, 0));
	ASSERT_OK(p_conn(cl, name, TYPE_SPLIT, 4096, 0));
	ASSERT_OK(p_send(cl, peer_slot(cl, 0).conn, "last", 5, 0, SEND_BLOCK));
	ASSERT_SOON(ddready(s.note) == 1);
	peer_kill(cl);
	ASSERT_OK(ddrecv(s.note, &d, RECV_SLEEP, 0));
	EXPECT_STREQ("last", d.msgaddr);
	first = d.connid;
	ASSERT_SOON(ddready(s.note) == 1);
	EXPECT_ERR(ENORESOURCE,
		   open_conn_at(&c, name, ddmynode(), TYPE_SPLIT, 4096));
	d.connid = 0;
	EXPECT_ERR(ECONNCLOSE, ddrecv(s.note, &d, RECV_SLEEP, 0));
	EXPECT_EQ(first, d.connid);
	EXPECT_EQ(s.serv, d.servid);
	EXPECT_EQ(0, ddready(s.note));
	EXPECT_ERR(ECONNCLOSE, ddsend(first, s.out, 8, 0, SEND_NOOPTS));
	EXPECT_EQ(0, ddclose(first));
	EXPECT_ERR(EBADID, ddclose(first));
	ASSERT_OK(open_conn_at(&c, name, ddmynode(), TYPE_SPLIT, 4096));
}

/* Closing does not wait for unread messages, and the record comes last. */
TEST(a_close_record_follows_all_messages_of_a_client)
{
	char *name = (char *)own_name("s");
	struct slot s, c;
	ddrecv_desc_t d;
	int i, n = 0;

	ASSERT_OK(serve_close(&s, name, 0));
	for (i = 0; i < 3; i++) {
		ASSERT_OK(open_conn_at(&c, name, ddmynode(), TYPE_STREAM, 4096));
		while (!ddsend(c.conn, c.out, 8, 0, SEND_NOOPTS))
			n++;
		EXPECT_EQ(ENOTREADY, errno);
		ASSERT_OK(ddclose(c.conn));
		while (!ddrecv(s.note, &d, RECV_SLEEP, 0))
			n--;
		EXPECT_EQ(ECONNCLOSE, errno);
		EXPECT_EQ(0, n);
	}
}

TEST(the_list_of_a_connection_hangs_up_with_its_client)
{
	char *name = (char *)own_name("s");
	struct peer *cl = peer_start();
	struct pollfd p = { .events = POLLIN };
	conninfo_t info;
	ddrecv_desc_t d;
	struct slot s;

	ASSERT_OK(serve_close(&s, name, SERVE_DOACCEPT));
	ASSERT_OK(p_conn(cl, name, TYPE_SPLIT, 4096, 0));
	ASSERT_OK(ddrecv(s.note, &d, RECV_SLEEP, 0));
	ASSERT_TRUE(DD_ISCONN(&d));
	ASSERT_OK(ddconninfo(d.connid, &info));
	p.fd = ddfd(info.noteid);
	ASSERT_LE(0, p.fd);
	EXPECT_EQ(0, poll(&p, 1, 0));
	peer_kill(cl);
	EXPECT_EQ(1, poll(&p, 1, -1));
	EXPECT_EQ(POLLIN | POLLHUP, p.revents);
	EXPECT_EQ(0, ddready(s.note));
	EXPECT_ERR(ECONNCLOSE, ddrecv(info.noteid, &d, RECV_SLEEP, 0));
	EXPECT_EQ(0, ddclose(d.connid));
	close(p.fd);
}

TEST(a_service_for_its_own_user_refuses_others)
{
	char *name = (char *)own_name("s");
	struct peer *alice = peer_start_user(ALICE), *own = peer_start();
	struct slot s;

	ASSERT_OK(serve_close(&s, name, SERVE_SAMEUSER | SERVE_PERUSER(1)));
	EXPECT_ERR(EACCES, p_conn(alice, name, TYPE_SPLIT, 4096, 0));
	ASSERT_OK(p_conn(own, name, TYPE_SPLIT, 4096, 0));
}

TEST_F(conn, DDP_32_close_of_no_connection_is_ebadid)
{
	connid_t old;

	EXPECT_ERR(EBADID, ddclose(0));
	EXPECT_ERR(EBADID, ddclose(-1));
	EXPECT_ERR(EBADID, ddclose(0x7fffffff));
	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
	EXPECT_ERR(EBADID, ddclose(self->note));
	EXPECT_EQ(0, ddclose(self->c));
	EXPECT_ERR(EBADID, ddclose(self->c));
	/* Not even when its block has a new client. */
	old = self->c;
	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
	EXPECT_NE(old, self->c);
	EXPECT_ERR(EBADID, ddclose(old));
	EXPECT_EQ(0, ddclose(self->c));
}

static int connect_within(struct dd *h, const char *name, int node,
			  int64_t timeout)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr), .flags = DD_ATTR_TIMEOUT,
		.type = DD_TYPE_SPLIT, .recv_size = 4096, .timeout = timeout,
	};

	if (dd_alloc(h, 4096, &attr.recv))
		return -1;
	return dd_connect(h, name, node, &attr, NULL);
}

TEST(connecting_takes_no_longer_than_asked)
{
	const char *family = getenv("DDP_FAMILY"), *name = own_name("t");
	struct peer *srv = peer_start();
	char text[256];
	struct dd *h;
	int ret;

	ASSERT_OK(p_serve_simple(srv, (char *)name, 3, 3 * 4096));
	ASSERT_EQ(0, dd_open(&h));
	/* Only on one node the call does not wait. */
	ret = connect_within(h, name, far_node(), 0);
	if (across_nodes()) {
		EXPECT_EQ(-EAGAIN, ret);
	} else {
		EXPECT_LT(0, ret);
	}
	EXPECT_LT(0, connect_within(h, name, far_node(), DD_FOREVER));
	EXPECT_LT(0, connect_within(h, name, far_node(), 3600000000000));
	EXPECT_EQ(-EBADSERVER, connect_within(h, "not served", far_node(),
					      3600000000000));
	if (!across_nodes())
		return;
	/* A peer that never answers, with a dead time of an hour. */
	ASSERT_EQ(0, system(family && *family == '6' ?
			    "ddctl peer add 0 fd09::c8 dead-time 3600000" :
			    "ddctl peer add 0 10.9.0.200 dead-time 3600000"));
	EXPECT_EQ(-EAGAIN, connect_within(h, name, 0, 0));
	EXPECT_EQ(-ETIMEDOUT, connect_within(h, name, 0, 1000000));
	ASSERT_EQ(0, dd_last_error(h, text, sizeof(text)));
	EXPECT_NE(NULL, strstr(text, "node 0 has not answered in time"));
	EXPECT_EQ(0, system("ddctl peer del 0"));
	EXPECT_EQ(-EBADSERVER, connect_within(h, name, 0, 1000000));
}

DD_TEST_MAIN
