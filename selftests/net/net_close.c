// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of connections between nodes: accepted messages arrive, received ones are
 * read before the close record, and no byte is deposited afterwards. Run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include "dd.h"
#include "dead_time.h"
#include "peer.h"

#define LARGE	(1 << 20)

/*
 * Cut or heal the network, like net.sh. By bash, as the shell of the guest has a builtin
 * ip.
 */
#define PORT_IS(state)							\
	system("bash -c 'ip -n ddnet link set port2 type bridge_slave state "	\
	       state "'")

static int cut(void)
{
	return PORT_IS("1");
}

static int heal(void)
{
	return PORT_IS("3");
}

/* Run a command at the other node, by bash as above. */
#define FAR(command)	system("bash -c 'ip netns exec dd2 " command "' >/dev/null")

static bool peer_is(const char *state)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "ddctl -j peer show %d | jq -e '.state == \"%s\"' >/dev/null",
		 far_node(), state);
	return !system(command);
}

/* Start a server with a block of LARGE bytes, and connect a stream to it. */
FIXTURE(end) {
	struct peer *srv;
	char *name;
	struct slot c, s;
};

FIXTURE_SETUP(end)
{
	ASSERT_TRUE(across_nodes());
	self->srv = peer_start();
	self->name = (char *)own_name("e");
	ASSERT_OK(p_serve_simple(self->srv, self->name, 1, LARGE));
	self->s = peer_slot(self->srv, 0);
	ASSERT_OK(open_conn(&self->c, self->name, TYPE_SSTREAM, LARGE));
}

FIXTURE_TEARDOWN(end)
{
	peer_kill(self->srv);
}

static void fill(address_t p, int seed)
{
	int i;

	for (i = 0; i < LARGE; i++)
		p[i] = (char)(i * 31 + (i >> 8) + seed);
}

/* In the peer: compare the first @len bytes, or all. Returns 0 if they are equal. */
static long is_filled(long at, long seed, long len)
{
	address_t p = (address_t)at;
	int i;

	for (i = 0; i < (len ? len : LARGE); i++)
		if (p[i] != (char)(i * 31 + (i >> 8) + seed))
			return i + 1;
	return 0;
}

/* In the peer: whether the block is unchanged for @ms. */
static long stays(long at, long ms, long c)
{
	static char before[LARGE];

	memcpy(before, (void *)at, LARGE);
	usleep(ms * 1000);
	return memcmp(before, (void *)at, LARGE) ? 1 : 0;
}

TEST_F(end, what_was_accepted_arrives_before_the_close)
{
	int i;

	for (i = 0; i < dd_count(20); i++) {
		fill(self->c.out, i);
		ASSERT_OK(ddsend(self->c.conn, self->c.out, LARGE, 0,
				 SEND_NOOPTS));
		ASSERT_OK(ddclose(self->c.conn));
		/* The source may be reused now. */
		memset(self->c.out, 0xdb, LARGE);
		ASSERT_OK(p_recv(self->srv, 0, RECV_SLEEP, 0));
		EXPECT_EQ(LARGE, self->srv->shm->desc.msgsize);
		EXPECT_EQ(0, peer_call(self->srv, is_filled, (long)self->s.in,
				       i, 0));
		ASSERT_OK(open_conn(&self->c, self->name, TYPE_SSTREAM, LARGE));
	}
}

/* A close gives up messages without credit, not those that are slow to send. */
TEST_F(end, what_is_long_on_its_way_arrives_before_the_close)
{
	int there;

	ASSERT_EQ(0, system("bash -c 'tc -n dd1 qdisc replace dev eth0 root netem rate 2mbit'"));
	EXPECT_EQ(0, dead_time(3000));
	fill(self->c.out, 3);
	EXPECT_EQ(0, ddsend(self->c.conn, self->c.out, LARGE, 0, SEND_NOOPTS));
	EXPECT_EQ(0, ddclose(self->c.conn));
	there = p_recv(self->srv, 0, RECV_TIMEOUT, SBP_HZ);
	EXPECT_EQ(0, dead_time(USUAL));
	EXPECT_EQ(0, system("bash -c 'tc -n dd1 qdisc del dev eth0 root'"));
	ASSERT_EQ(0, there);
	EXPECT_EQ(0, peer_call(self->srv, is_filled, (long)self->s.in, 3, 0));
}

TEST_F(end, what_has_come_is_read_before_the_news)
{
	struct peer *srv = self->srv;
	ddrecv_desc_t d;
	connid_t there;

	ASSERT_OK(ddsend(self->c.conn, self->c.out, 8, 0, SEND_NOOPTS));
	ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
	there = srv->shm->desc.connid;
	/* The note of the second message is withheld. */
	ASSERT_OK(p_send(srv, there, "one", 4, 0, SEND_BLOCK));
	ASSERT_OK(p_send(srv, there, "two", 4, 8, SEND_BLOCK));
	ASSERT_OK(p_close(srv, there));
	ASSERT_SOON(ddsend(self->c.conn, self->c.out, 8, 0, SEND_NOOPTS) == -1 &&
		    errno == ECONNCLOSE);
	ASSERT_OK(ddrecv(self->c.note, &d, RECV_SLEEP, 0));
	EXPECT_STREQ("one", d.msgaddr);
	ASSERT_OK(ddrecv(self->c.note, &d, RECV_SLEEP, 0));
	EXPECT_STREQ("two", d.msgaddr);
	EXPECT_ERR(ECONNCLOSE, ddrecv(self->c.note, &d, RECV_SLEEP, 0));
	EXPECT_ERR(EWOULDBLOCK, ddrecv(self->c.note, &d, RECV_NOBLOCK, 0));
}

/* In the peer: wait for the first byte of a message. */
static bool has_begun(long at, long seed)
{
	return WAIT_FOR(*(volatile char *)at == (char)seed);
}

/* In the peer: 0 if the rest of the message does not come, 2 if it has come before. */
static long is_cut_off(long at, long seed)
{
	return is_filled(at, seed, 0) ? stays(at, 300, 0) : 2;
}

/* In the peer: end the connection, or all, in the middle of a message. */
static long close_midway(long conn, long at, long seed)
{
	return !has_begun(at, seed) || ddclose(conn) ? -1 : is_cut_off(at, seed);
}

static long unserve_midway(long serv, long at, long seed)
{
	return !has_begun(at, seed) || ddunserve(serv) ? -1 : is_cut_off(at, seed);
}

/* A slow link, so that most of a large message is in flight for a while. */
static int slow_link(void)
{
	return system("bash -c 'tc -n dd1 qdisc replace dev eth0 root netem rate 10mbit'");
}

static int fast_link(void)
{
	return system("bash -c 'tc -n dd1 qdisc del dev eth0 root'");
}

TEST_F(end, no_byte_comes_after_the_receiver_has_closed)
{
	int i;

	ASSERT_EQ(0, slow_link());
	for (i = 1; i <= dd_count(20); i++) {
		ASSERT_OK(ddsend(self->c.conn, self->c.out, 8, 0, SEND_NOOPTS));
		ASSERT_OK(p_recv(self->srv, 0, RECV_SLEEP, 0));
		fill(self->c.out, i);
		ASSERT_SENT(ddsend(self->c.conn, self->c.out, LARGE, 0,
				   SEND_NOOPTS));
		EXPECT_EQ(0, peer_call(self->srv, close_midway,
				       self->srv->shm->desc.connid,
				       (long)self->s.in, i));
		ASSERT_OK(ddclose(self->c.conn));
		/* Notes of the closed connection keep its block until they are skipped. */
		EXPECT_ERR(EWOULDBLOCK, p_recv(self->srv, 0, RECV_NOBLOCK, 0));
		ASSERT_OK(open_conn(&self->c, self->name, TYPE_SSTREAM, LARGE));
	}
	EXPECT_EQ(0, fast_link());
}

TEST_F(end, no_byte_comes_after_the_service_has_ended)
{
	struct slot s = self->s;

	ASSERT_EQ(0, slow_link());
	fill(self->c.out, 1);
	ASSERT_OK(ddsend(self->c.conn, self->c.out, LARGE, 0, SEND_NOOPTS));
	EXPECT_EQ(0, peer_call(self->srv, unserve_midway, s.serv, (long)s.in,
			       1));
	EXPECT_EQ(0, fast_link());
	EXPECT_HEARD_ERR(ECONNCLOSE, ddsend(self->c.conn, self->c.out, 8, 0, 0));
}

TEST_F(end, what_was_done_has_come_from_a_sender_that_is_killed)
{
	char *name = (char *)own_name("k");
	struct peer *cl = peer_start();
	conninfo_t info;
	ddrecv_desc_t d;
	struct slot s;

	ASSERT_OK(open_serve(&s, name, 1, 8192));
	ASSERT_OK(p_conn(cl, name, TYPE_SSTREAM, 4096, 0));
	ASSERT_OK(p_send(cl, peer_slot(cl, 0).conn, "one", 4, 0, SEND_BLOCK));
	ASSERT_OK(p_send(cl, peer_slot(cl, 0).conn, "two", 4, 8, SEND_BLOCK));
	peer_kill(cl);
	ASSERT_OK(ddrecv(s.note, &d, RECV_SLEEP, 0));
	EXPECT_STREQ("one", d.msgaddr);
	ASSERT_OK(ddrecv(s.note, &d, RECV_SLEEP, 0));
	EXPECT_STREQ("two", d.msgaddr);
	ASSERT_OK(ddconninfo(d.connid, &info));
	EXPECT_HEARD_ERR(ECONNCLOSE, ddsend(d.connid, info.sendbase, 8, 0, 0));
	EXPECT_EQ(0, ddready(s.note));
}

TEST_F(end, a_call_that_has_less_time_than_the_network_times_out)
{
	struct peer *srv = peer_start();
	char *name = (char *)own_name("t");
	address_t rep;
	double start;
	struct slot c;
	size_t size;
	int ret, err;

	ASSERT_OK(p_serve_simple(srv, name, 1, 4096));
	ASSERT_OK(open_conn(&c, name, TYPE_RPC, 4096));
	/* The dead time is longer than any cut of this test. */
	ASSERT_EQ(0, dead_time(12 * USUAL));
	ASSERT_EQ(0, dead_time_there(12 * USUAL));
	ASSERT_EQ(0, cut());
	start = dd_now();
	errno = 0;
	ret = ddcall(c.conn, strcpy(c.out, "lost"), 5, &rep, &size,
		     RECV_TIMEOUT | RECV_SLEEP, SBP_HZ / 2);
	err = errno;
	ASSERT_EQ(0, heal());
	EXPECT_EQ(-1, ret);
	EXPECT_EQ(ETIMEDOUT, err);
	EXPECT_LE(0.499, dd_now() - start);
	/* The request arrives late. */
	ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
	EXPECT_STREQ("lost", (char *)srv->shm->data);
	ASSERT_EQ(0, dead_time_there(USUAL));
	ASSERT_EQ(0, dead_time(USUAL));
}

TEST_F(end, a_peer_that_is_silent_for_the_dead_time_is_dead)
{
	struct slot s = self->s, c2;
	ddrecv_desc_t d;
	int dead;

	ASSERT_OK(ddsend(self->c.conn, self->c.out, 8, 0, SEND_BLOCK));
	ASSERT_EQ(0, cut());
	fill(self->c.out, 5);
	ASSERT_OK(ddsend(self->c.conn, self->c.out, LARGE, 0, SEND_NOOPTS));
	ASSERT_EQ(0, dead_time(dd_patience() / 8));
	/* Its close waits for accepted messages until the other node is dead. */
	ASSERT_OK(ddclose(self->c.conn));
	dead = peer_is("unreachable");
	/* A client that connects now gets the error. */
	EXPECT_EQ(-1, open_conn(&c2, self->name, TYPE_SSTREAM, 4096));
	ASSERT_EQ(0, heal());
	EXPECT_TRUE(dead);
	ASSERT_SOON(peer_is("up"));
	ASSERT_EQ(0, dead_time(USUAL));
	/* The server has one block: its client is gone. */
	ASSERT_OK(p_recv(self->srv, 0, RECV_SLEEP, 0));
	ASSERT_SOON(!ddconn(self->name, far_node(), TYPE_SSTREAM, CONN_NOOPTS,
			    self->c.out, LARGE, self->c.in, LARGE,
			    &self->c.conn, &self->c.note));
	fill(self->c.out, 6);
	ASSERT_OK(ddsend(self->c.conn, self->c.out, LARGE, 0, SEND_BLOCK));
	ASSERT_OK(p_recv(self->srv, 0, RECV_SLEEP, 0));
	EXPECT_EQ(0, peer_call(self->srv, is_filled, (long)s.in, 6, 0));
	EXPECT_ERR(EWOULDBLOCK, ddrecv(self->c.note, &d, RECV_NOBLOCK, 0));
}

/* In the peer: send on @conn. Returns 0 or errno. */
static long send_error(long conn, long at, long c)
{
	return ddsend(conn, (address_t)at, 8, 0, SEND_NOOPTS) ? errno : 0;
}

/* Messages of up to a word are deposited at once. */
TEST_F(end, a_node_that_is_down_takes_nothing_and_loses_nothing)
{
	static const int lens[] = { 8, 4, 100, LARGE };
	int dead = dd_scale() > 1 ? 3000 : 1000;
	struct slot s = self->s;
	connid_t there;
	size_t i;

	ASSERT_OK(ddsend(self->c.conn, self->c.out, 8, 0, SEND_BLOCK));
	ASSERT_OK(p_recv(self->srv, 0, RECV_SLEEP, 0));
	there = self->srv->shm->desc.connid;
	/* The cut lasts longer than the dead time. */
	ASSERT_EQ(0, dead_time(dead));
	ASSERT_EQ(0, dead_time_there(dead));
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		fill(self->c.out, 11 + i);
		ASSERT_EQ(0, FAR("ddctl node down"));
		ASSERT_OK(ddsend(self->c.conn, self->c.out, lens[i], 0,
				 SEND_NOOPTS));
		EXPECT_EQ(0, peer_call(self->srv, stays, (long)s.in,
				       3 * dead / 2, 0));
		EXPECT_EQ(0, dddone(self->c.conn, SDONE_NOOPTS));
		EXPECT_EQ(0, p_ready(self->srv, 0));
		EXPECT_EQ(ENOCMP, peer_call(self->srv, send_error, there,
					    (long)s.out, 0));
		EXPECT_TRUE(peer_is("up"));
		ASSERT_EQ(0, FAR("ddctl node up"));
		EXPECT_EQ(1, dddone(self->c.conn, SDONE_SLEEP));
		ASSERT_OK(p_recv(self->srv, 0, RECV_SLEEP, 0));
		EXPECT_EQ(lens[i], self->srv->shm->desc.msgsize);
		EXPECT_EQ(0, peer_call(self->srv, is_filled, (long)s.in, 11 + i,
				       lens[i]));
	}
	EXPECT_EQ(0, peer_call(self->srv, send_error, there, (long)s.out, 0));
	ASSERT_EQ(0, dead_time(USUAL));
	ASSERT_EQ(0, dead_time_there(USUAL));
}

/* Send up to @most messages, none of which is acknowledged. Returns how many. */
static int accepted(connid_t conn, address_t out, int most)
{
	int i;

	for (i = 0; i < most; i++) {
		snprintf(out + 64 * i, 64, "message %d", i);
		if (ddsend(conn, out + 64 * i, 64, 64 * i, SEND_NOOPTS))
			break;
	}
	return i;
}

TEST(a_window_is_what_may_be_unacknowledged)
{
	struct peer *srv = peer_start();
	struct peer_serve serve = {
		.name = own_name("w"), .flags = SERVE_WINDOW(16), .maxconn = 2,
		.recvsize = 8192, .sendsize = 8192, .share = -1,
	};
	connid_t conn[2];
	address_t out[2], in[2];
	static const int flags[2] = { CONN_WINDOW(1), CONN_WINDOW(9) };
	int i, at, got[2] = { 0, 0 };
	noteid_t note = 0;
	struct slot there;
	char want[64];

	ASSERT_OK(p_serve(srv, &serve));
	there = peer_slot(srv, 0);
	for (i = 0; i < 2; i++) {
		out[i] = ddalloc(4096);
		in[i] = ddalloc(4096);
		ASSERT_OK(ddconn((char *)serve.name, far_node(), TYPE_SSTREAM,
				 flags[i], out[i], 4096, in[i], 4096, &conn[i],
				 &note));
	}
	ASSERT_EQ(0, FAR("ddctl node down"));
	EXPECT_EQ(1, accepted(conn[0], out[0], 20));
	EXPECT_EQ(ENOTREADY, errno);
	EXPECT_EQ(9, accepted(conn[1], out[1], 20));
	EXPECT_EQ(ENOTREADY, errno);
	ASSERT_EQ(0, FAR("ddctl node up"));
	EXPECT_EQ(1, dddone(conn[0], SDONE_SLEEP));
	EXPECT_EQ(1, dddone(conn[1], SDONE_SLEEP));
	for (i = 0; i < 10; i++) {
		ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
		at = srv->shm->desc.msgaddr - there.in;
		snprintf(want, sizeof(want), "message %d", got[at / 4096]++);
		EXPECT_STREQ(want, (char *)srv->shm->data);
	}
	peer_kill(srv);
}

/* --- callers that do not wait for the answer ---------------------------------*/

/* In a peer: connect to shm->name at @node, within @ms. */
static long connect_within(long node, long ms, long c)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr), .flags = DD_ATTR_TIMEOUT,
		.type = DD_TYPE_STREAM, .recv_size = 4096,
		.timeout = ms * 1000000ll,
	};
	struct dd *h;
	int ret = dd_open(&h);

	if (!ret)
		ret = dd_alloc(h, attr.recv_size, &attr.recv);
	return ret ? ret : dd_connect(h, peer_shm->name, node, &attr, NULL);
}

/* A counter of the other node. */
static long far_stat(const char *name)
{
	return printed_number("bash -c 'ip netns exec dd2 ddctl -j stat' | jq .%s", name);
}

/* A server with one place, a client, and no network between them. */
FIXTURE(cut) {
	struct peer *srv, *cl;
	long closes, connects;	/* of the server's node */
};

FIXTURE_SETUP(cut)
{
	const char *name = own_name("cut");

	ASSERT_TRUE(across_nodes());
	self->srv = peer_start();
	self->cl = peer_start_near();
	snprintf(self->cl->shm->name, sizeof(self->cl->shm->name), "%s", name);
	ASSERT_OK(p_serve_simple(self->srv, name, 1, 4096));
	/* A host that stops the guest for some seconds must not end the session. */
	ASSERT_EQ(0, dead_time(12 * USUAL));
	ASSERT_EQ(0, dead_time_there(12 * USUAL));
	ASSERT_SOON(peer_is("up"));
	self->closes = far_stat("closes");
	self->connects = far_stat("connects");
	ASSERT_EQ(0, cut());
}

FIXTURE_TEARDOWN(cut)
{
	heal();
	dead_time(USUAL);
	dead_time_there(USUAL);
	peer_kill(self->cl);
	peer_kill(self->srv);
}

TEST_F(cut, what_is_granted_after_the_caller_has_left_ends)
{
	ASSERT_EQ(-ETIMEDOUT, peer_call(self->cl, connect_within, far_node(), 200, 0));
	ASSERT_EQ(self->connects, far_stat("connects"));
	ASSERT_EQ(0, heal());
	ASSERT_SOON(far_stat("closes") == self->closes + 1);
	EXPECT_EQ(self->connects + 1, far_stat("connects"));
	/* The server's only place is free. */
	EXPECT_LT(0, peer_call(self->cl, connect_within, far_node(), dd_patience(), 0));
}

TEST_F(cut, a_caller_is_woken_when_the_node_is_removed)
{
	char command[64];

	ASSERT_EQ(-ETIMEDOUT, peer_call(self->cl, connect_within, far_node(), 200, 0));
	peer_begin(self->cl, connect_within, far_node(), 10 * dd_patience(), 0);
	ASSERT_TRUE(peer_sleeps(self->cl));
	snprintf(command, sizeof(command), "ddctl peer del %d", far_node());
	ASSERT_EQ(0, system(command));
	EXPECT_EQ(-EBADSERVER, peer_end(self->cl));
	ASSERT_EQ(0, heal());
	snprintf(command, sizeof(command), "ddctl peer add %d 10.9.0.%d", far_node(),
		 far_node());
	ASSERT_EQ(0, system(command));
	ASSERT_SOON(peer_is("up"));
	EXPECT_LT(0, peer_call(self->cl, connect_within, far_node(), dd_patience(), 0));
}

DD_TEST_MAIN
