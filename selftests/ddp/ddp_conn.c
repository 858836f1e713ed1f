// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddconn and ddclose (requirements DDP-22 to DDP-32).
 *
 * Copyright (C) 2026 The dd authors
 */
#include "ddp.h"
#include <poll.h>
#include "dd.h"

/* A server with room for four connections of 1 KiB blocks, and its name. */
FIXTURE(conn) {
	struct worker *srv;
	char *name;
	address_t mem;
	connid_t c;
	noteid_t note;
};

FIXTURE_SETUP(conn)
{
	self->srv = worker_new(THERE);
	self->name = (char *)own_name("c");
	ASSERT_OK(p_serve_simple(self->srv, self->name, 4, 4096));
	self->mem = ddalloc(4 * 4096);
	ASSERT_NE(NULL, self->mem);
}

FIXTURE_TEARDOWN(conn)
{
	worker_end(self->srv);
}

/* Connect with the first two pages as buffers. */
static int simple(FIXTURE_DATA(conn) *self, int type, int flags)
{
	return ddconn(self->name, far_node(), type, flags, self->mem, 4096,
		      self->mem + 4096, 4096, &self->c, &self->note);
}

TEST_F(conn, DDP_22_DDP_23_1_DDP_23_2_DDP_23_3_DDP_28_each_type_returns_0_and_a_connid)
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
	EXPECT_EQ(0, CONN_NOOPTS);
}

TEST_F(conn, DDP_22_DDP_23_bad_arguments_return_minus_1_and_change_nothing)
{
	address_t in = self->mem + 4096, out = self->mem;
	connid_t c = 77;
	noteid_t note = 0;
	char *name = self->name, longname[200] = "";
	const struct {
		char *name;
		int type, flags;
		address_t out;
		size_t size;
		connid_t *c;
		noteid_t *note;
	} bad[] = {
		{ "", TYPE_SPLIT, 0, out, 4096, &c, &note },
		{ longname, TYPE_SPLIT, 0, out, 4096, &c, &note },
		{ NULL, TYPE_SPLIT, 0, out, 4096, &c, &note },
		{ name, TYPE_SPLIT, 0x4000, out, 4096, &c, &note },
		{ name, TYPE_SPLIT, 0, out, 4096, NULL, &note },
		{ name, TYPE_SPLIT, 0, out, 4096, &c, NULL },
		{ name, TYPE_SSTREAM, 0, out, 4096, &c, NULL },
		{ name, TYPE_SPLIT, 0, out + 8, 1024, &c, &note },
	};

	memset(longname, 'x', sizeof(longname) - 1);
	for (int i = 0; i < 8; i++) {
		TH_LOG("case %d", i);
		EXPECT_ERR(EINVAL, ddconn(bad[i].name, far_node(), bad[i].type, bad[i].flags,
					  bad[i].out, bad[i].size, in, 4096, bad[i].c,
					  bad[i].note));
	}
	for (int type = -1; type < 64; type++)
		if (type != TYPE_RPC && type != TYPE_SPLIT && type != TYPE_SSTREAM)
			EXPECT_ERR(EINVAL, ddconn(name, far_node(), type, 0, out, 4096, in, 4096,
						  &c, &note));
	EXPECT_EQ(77, c);
	EXPECT_EQ(0, note);
	EXPECT_EQ(0, p_connlist(self->srv, peer_slot(self->srv, 0).serv, 8));
	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
}

/* Connect with the other two pages as buffers. */
static int another(FIXTURE_DATA(conn) *self, int type, int flags, connid_t *c, noteid_t *note)
{
	return ddconn(self->name, far_node(), type, flags, self->mem + 8192, 4096,
		      self->mem + 12288, 4096, c, note);
}

TEST_F(conn, DDP_27_DDP_30_1_notelist_attaches_to_the_given_list_or_is_ebadid)
{
	static const int types[] = { TYPE_SPLIT, TYPE_SSTREAM };
	noteid_t first, bad[] = { 0, 0x1234567, -5 };
	connid_t c2;
	int i;

	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
	first = self->note;
	for (i = 0; i < 2; i++) {
		ASSERT_OK(another(self, types[i], CONN_NOTELIST, &c2, &self->note));
		EXPECT_EQ(first, self->note);
		ASSERT_OK(ddclose(c2));
	}
	for (i = 0; i < 3; i++)
		EXPECT_ERR(EBADID, another(self, TYPE_SPLIT, CONN_NOTELIST, &c2, &bad[i]));
}

TEST_F(conn, DDP_7_DDP_27_without_it_a_live_list_is_shared_else_one_allocated)
{
	noteid_t first, note;
	connid_t c2;

	self->note = 0x5a5a5a5a;
	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
	EXPECT_NE(0x5a5a5a5a, self->note);
	first = note = self->note;
	ASSERT_OK(another(self, TYPE_SPLIT, CONN_NOOPTS, &c2, &note));
	EXPECT_EQ(first, note);
	/* It is freed with the last one that refers to it. */
	ASSERT_OK(ddclose(self->c));
	EXPECT_EQ(0, ddready(first));
	ASSERT_OK(ddclose(c2));
	EXPECT_ERR(EBADID, ddready(first));
	ASSERT_OK(another(self, TYPE_SPLIT, CONN_NOOPTS, &c2, &note));
	EXPECT_NE(first, note);
	/* 0 is no list. */
	self->note = 0;
	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
	EXPECT_NE(0, self->note);
	EXPECT_NE(note, self->note);
}

TEST_F(conn, DDP_9_DDP_29_buffers_must_come_from_ddalloc_and_be_free)
{
	static char plain[4096] __attribute__((aligned(4096)));
	address_t mem = self->mem;
	const struct { address_t out; size_t size; address_t in; } bad[] = {
		{ plain, 4096, mem }, { mem, 4096, plain },
		/* Not even partly outside. */
		{ mem + 12288, 8192, mem }, { mem + 12288, (size_t)-4096, mem },
		/* In use. */
		{ mem + 8192, 4096, mem + 4096 },
	};
	connid_t c;
	int i;

	for (i = 0; i < 5; i++) {
		if (i == 4)
			ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
		EXPECT_ERR(EINVAL, ddconn(self->name, far_node(), TYPE_SPLIT, 0, bad[i].out,
					  bad[i].size, bad[i].in, 4096, &c, &self->note));
	}
	ASSERT_OK(ddclose(self->c));
	ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
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

TEST_F(conn, DDP_21_2_DDP_30_3_node_down_is_enocmp)
{
	struct slot s;

	ASSERT_EQ(0, node_down());
	EXPECT_ERR(ENOCMP, simple(self, TYPE_SPLIT, CONN_NOOPTS));
	EXPECT_ERR(ENOCMP, open_serve(&s, own_name("s"), 1, 4096));
	ASSERT_EQ(0, node_up());
	EXPECT_EQ(0, simple(self, TYPE_SPLIT, CONN_NOOPTS));
	EXPECT_EQ(0, open_serve(&s, own_name("s"), 1, 4096));
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

/* By the end of the connection, and by that of the process. */
TEST_F(conn, DDP_31_server_closes)
{
	ddrecv_desc_t d = {};
	connid_t there;

	for (int ends = 0; ends < 2; ends++) {
		ASSERT_OK(simple(self, TYPE_SPLIT, CONN_NOOPTS));
		ASSERT_OK(ddsend(self->c, self->mem, 8, 0, SEND_NOOPTS));
		ASSERT_OK(p_recv(self->srv, 0, RECV_SLEEP, 0));
		there = self->srv->shm->desc.connid;
		ASSERT_OK(p_send(self->srv, there, "last", 5, 0, SEND_BLOCK));
		if (ends) {
			worker_end(self->srv);
			self->srv = worker_new(THERE);
		} else {
			EXPECT_EQ(0, p_close(self->srv, there));
			EXPECT_ERR(EBADID, p_send(self->srv, there, "x", 2, 0, SEND_UNWIRED));
		}
		/* First the delivered messages, then the close record. */
		ASSERT_OK(ddrecv(self->note, &d, RECV_SLEEP, 0));
		EXPECT_STREQ("last", d.msgaddr);
		d.connid = 0;
		EXPECT_ERR(ECONNCLOSE, ddrecv(self->note, &d, RECV_SLEEP, 0));
		EXPECT_EQ(self->c, d.connid);
		EXPECT_ERR(ECONNCLOSE, ddsend(self->c, self->mem, 8, 0, SEND_NOOPTS));
		EXPECT_EQ(0, ddclose(self->c));
	}
	EXPECT_ERR(EBADSERVER, simple(self, TYPE_SPLIT, CONN_NOOPTS));
}

TEST(DDP_31_death_of_the_client_closes)
{
	char *name = (char *)own_name("s");
	struct worker *cl = worker_new(THERE);
	conninfo_t info;
	ddrecv_desc_t d;
	struct slot s;

	ASSERT_OK(open_serve(&s, name, 1, 4096));
	ASSERT_OK(p_conn(cl, name, TYPE_SPLIT, 4096, 0));
	ASSERT_OK(p_send(cl, peer_slot(cl, 0).conn, "last", 5, 0, SEND_BLOCK));
	worker_end(cl);
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
	struct worker *srv = worker_new(THERE);
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
	struct worker *srv = worker_new(THERE);
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
	struct worker *alice = worker_new_user(THERE, ALICE), *bob = worker_new_user(THERE, BOB);
	struct slot s;
	ddrecv_desc_t d;

	ASSERT_OK(open_serve(&s, name, 1, 4096));
	ASSERT_OK(p_conn(alice, name, TYPE_SPLIT, 4096, 0));
	ASSERT_OK(p_send(alice, peer_slot(alice, 0).conn, "alice", 6, 0,
			 SEND_BLOCK));
	ASSERT_OK(ddrecv(s.note, &d, RECV_SLEEP, 0));
	worker_end(alice);
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
	struct worker *cl = worker_new(THERE);
	struct slot s, c;
	ddrecv_desc_t d;
	connid_t first;

	ASSERT_OK(serve_close(&s, name, 0));
	ASSERT_OK(p_conn(cl, name, TYPE_SPLIT, 4096, 0));
	ASSERT_OK(p_send(cl, peer_slot(cl, 0).conn, "last", 5, 0, SEND_BLOCK));
	ASSERT_SOON(ddready(s.note) == 1);
	worker_end(cl);
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
	struct worker *cl = worker_new(THERE);
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
	worker_end(cl);
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
	struct worker *alice = worker_new_user(THERE, ALICE), *own = worker_new(THERE);
	struct slot s;

	ASSERT_OK(serve_close(&s, name, SERVE_SAMEUSER | SERVE_PERUSER(1)));
	EXPECT_ERR(EACCES, p_conn(alice, name, TYPE_SPLIT, 4096, 0));
	ASSERT_OK(p_conn(own, name, TYPE_SPLIT, 4096, 0));
}

TEST_F(ddp, DDP_32_DDP_44_1_DDP_49_1_DDP_61_1_DDP_63_1_no_connection_is_ebadid)
{
	struct slot *c = &self->split;
	const connid_t bad[] = { 0, -1, 0x7fffffff, 1, 1 << 18, self->stream.note, c->conn };
	unsigned int meta = 1;
	conninfo_t info;
	address_t rep;
	size_t size;
	int i;

	/* The last one was a connection. Nor when its block has a new client. */
	ASSERT_OK(ddclose(c->conn));
	ASSERT_OK(open_conn(c, self->name, TYPE_SPLIT, BLOCK));
	EXPECT_NE(bad[6], c->conn);
	for (i = 0; i < 7; i++) {
		EXPECT_ERR(EBADID, ddclose(bad[i]));
		EXPECT_ERR(EBADID, ddsend(bad[i], c->out, 8, 0, SEND_NOOPTS));
		EXPECT_ERR(EBADID, ddsend_with_metadata(bad[i], c->out, 8, 0, SEND_NOOPTS,
							(address_t)&meta, 1));
		EXPECT_ERR(EBADID, dddone(bad[i], 0));
		EXPECT_ERR(EBADID, dddone(bad[i], SDONE_SLEEP));
		EXPECT_ERR(EBADID, ddcall(bad[i], 0, 8, &rep, &size, 0, 0));
		EXPECT_ERR(EBADID, ddconninfo(bad[i], &info));
	}
	EXPECT_EQ(0, ddclose(c->conn));
}

/* Connect with a limit of time, and memory of its own. */
static int connect_within(struct dd *h, const char *name, int node, int64_t timeout)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr), .flags = DD_ATTR_TIMEOUT, .type = DD_TYPE_SPLIT,
		.recv_size = BLOCK, .timeout = timeout,
	};

	return dd_alloc(h, BLOCK, &attr.recv) ?: dd_connect(h, name, node, &attr, NULL);
}

TEST_F(ddp, connecting_takes_no_longer_than_asked)
{
	const char *family = getenv("DDP_FAMILY");
	char text[256];
	struct dd *h;

	ASSERT_EQ(0, dd_open(&h));
	/* Only on one node the call does not wait. */
	EXPECT_EQ(across_nodes(), connect_within(h, self->name, far_node(), 0) == -EAGAIN);
	EXPECT_LT(0, connect_within(h, self->name, far_node(), DD_FOREVER));
	EXPECT_EQ(-EBADSERVER, connect_within(h, "not served", far_node(), 3600000000000));
	if (!across_nodes())
		return;
	/* A peer that never answers, with a dead time of an hour. */
	ASSERT_EQ(0, system(family && *family == '6' ?
			    "ddctl peer add 0 fd09::c8 dead-time 3600000" :
			    "ddctl peer add 0 10.9.0.200 dead-time 3600000"));
	EXPECT_EQ(-ETIMEDOUT, connect_within(h, self->name, 0, 1000000));
	ASSERT_EQ(0, dd_last_error(h, text, sizeof(text)));
	EXPECT_NE(NULL, strstr(text, "node 0 has not answered in time"));
	EXPECT_EQ(0, system("ddctl peer del 0"));
	EXPECT_EQ(-EBADSERVER, connect_within(h, self->name, 0, 1000000));
}

DD_TEST_MAIN
