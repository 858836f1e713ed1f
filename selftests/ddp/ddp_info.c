// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddconninfo, ddpoll, ddalloc, ddpeek, ddready, the node calls and dderror
 * (requirements DDP-62 to DDP-74).
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <sys/resource.h>
#include "peer.h"

#define BLOCK	4096	/* a page: allows direct sends */

FIXTURE(info) {
	struct peer *srv;
	char *name;
	ddrecv_desc_t *there;
	struct slot c;
};

FIXTURE_SETUP(info)
{
	self->srv = peer_start();
	self->name = (char *)own_name("i");
	self->there = &self->srv->shm->desc;
	ASSERT_OK(p_serve_simple(self->srv, self->name, 4, 4 * BLOCK));
	ASSERT_OK(open_conn(&self->c, self->name, TYPE_SPLIT, 2 * BLOCK));
}

FIXTURE_TEARDOWN(info)
{
	peer_kill(self->srv);
}

#define TAKE() ASSERT_OK(p_recv(self->srv, 0, RECV_SLEEP, 0))

/* Has the server send @len bytes to connection @c. */
#define REPLY(c, len) do {						\
	ASSERT_OK(ddsend((c).conn, (c).out, 8, 0, SEND_NOOPTS));	\
	TAKE();								\
	ASSERT_OK(p_send(self->srv, self->there->connid, "reply.......",	\
			 len, 0, SEND_BLOCK));				\
} while (0)

TEST_F(info, DDP_62_client_side)
{
	struct slot *c = &self->c;
	conninfo_t info;
	ddrecv_desc_t d;

	memset(&info, 0xff, sizeof(info));
	EXPECT_EQ(0, ddconninfo(c->conn, &info));
	EXPECT_EQ(far_node(), info.node);
	EXPECT_EQ(c->note, info.noteid);
	EXPECT_EQ((void *)c->out, (void *)info.sendbase);
	EXPECT_EQ(2 * BLOCK, info.sendsize);
	EXPECT_EQ((void *)c->in, (void *)info.recvbase);
	EXPECT_EQ(2 * BLOCK, info.recvsize);
	EXPECT_EQ(0, info.msgid_send);
	EXPECT_EQ(0, info.msgid_recv);
	REPLY(*c, 5);
	ASSERT_OK(ddrecv(c->note, &d, RECV_SLEEP, 0));
	ASSERT_SENT(ddsend(c->conn, c->out, 8, 0, SEND_NOOPTS));
	EXPECT_EQ(0, ddconninfo(c->conn, &info));
	EXPECT_EQ(2, info.msgid_send);
	EXPECT_EQ(1, info.msgid_recv);
}

TEST_F(info, DDP_62_server_side)
{
	struct slot s = peer_slot(self->srv, 0);
	conninfo_t *info = &self->srv->shm->info;
	ddrecv_desc_t d;

	REPLY(self->c, 5);
	ASSERT_OK(ddrecv(self->c.note, &d, RECV_SLEEP, 0));
	ASSERT_SENT(ddsend(self->c.conn, self->c.out, 8, 0, SEND_NOOPTS));
	TAKE();
	ASSERT_OK(p_info(self->srv, self->there->connid));
	EXPECT_EQ(near_node(), info->node);
	EXPECT_EQ(s.note, info->noteid);
	EXPECT_EQ(BLOCK, info->sendsize);
	EXPECT_EQ(BLOCK, info->recvsize);
	EXPECT_TRUE(info->sendbase >= s.out &&
		    info->sendbase <= s.out + 3 * BLOCK);
	EXPECT_TRUE(info->recvbase >= s.in && info->recvbase <= s.in + 3 * BLOCK);
	EXPECT_EQ(1, info->msgid_send);
	EXPECT_EQ(2, info->msgid_recv);
}

TEST_F(info, DDP_63_1_bad_connid_is_ebadid)
{
	conninfo_t info;

	EXPECT_ERR(EBADID, ddconninfo(0, &info));
	EXPECT_ERR(EBADID, ddconninfo(-1, &info));
	EXPECT_ERR(EBADID, ddconninfo(self->c.note, &info));
	ASSERT_OK(ddclose(self->c.conn));
	EXPECT_ERR(EBADID, ddconninfo(self->c.conn, &info));
}

TEST_F(info, DDP_63_2_bad_pointer_is_einval_not_a_fault)
{
	EXPECT_ERR(EINVAL, ddconninfo(self->c.conn, NULL));
	EXPECT_ERR(EINVAL, ddconninfo(self->c.conn, (conninfo_t *)16));
	EXPECT_ERR(EINVAL, ddconninfo(self->c.conn, (conninfo_t *)-4096));
	/* Code is readable, but not writable. */
	EXPECT_ERR(EINVAL, ddconninfo(self->c.conn, (conninfo_t *)dd_filter));
}

TEST_F(info, DDP_64_poll_replaces_the_vector_by_the_ready_subset)
{
	noteid_t v[4];
	struct slot c[3];
	timeval_t zero = {};
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_OK(open_conn(&c[i], self->name, TYPE_SPLIT, BLOCK));
	for (i = 0; i < 3; i++)
		v[i] = c[i].note;
	v[3] = self->c.note;
	EXPECT_EQ(0, ddpoll(4, v, &zero));
	REPLY(c[1], 5);
	REPLY(self->c, 5);
	for (i = 0; i < 3; i++)
		v[i] = c[i].note;
	v[3] = self->c.note;
	EXPECT_EQ(2, ddpoll(4, v, NULL));
	EXPECT_EQ(c[1].note, v[0]);
	EXPECT_EQ(self->c.note, v[1]);
	/* Nothing was consumed. */
	EXPECT_EQ(1, ddready(c[1].note));
	EXPECT_ERR(EINVAL, ddpoll(-1, v, &zero));
}

TEST_F(info, DDP_65_1_timeout_is_the_longest_wait)
{
	timeval_t t = { .tv_usec = 500000 };
	noteid_t v = self->c.note;

	ASSERT_WAITS(500, EXPECT_EQ(0, ddpoll(1, &v, &t)));
	REPLY(self->c, 5);
	t.tv_sec = 10000;
	v = self->c.note;
	EXPECT_EQ(1, ddpoll(1, &v, &t));
}

static long poll_forever(long note, long b, long c)
{
	noteid_t v = note;
	int ret = ddpoll(1, &v, NULL);

	return ret == 1 && v == note ? 1 : -1;
}

TEST_F(info, DDP_65_2_null_waits_forever)
{
	peer_begin(self->srv, poll_forever, peer_slot(self->srv, 0).note, 0, 0);
	ASSERT_TRUE(peer_sleeps(self->srv));
	EXPECT_FALSE(peer_ended(self->srv));
	ASSERT_OK(ddsend(self->c.conn, self->c.out, 8, 0, SEND_NOOPTS));
	EXPECT_EQ(1, peer_end(self->srv));
}

TEST_F(info, DDP_65_3_zero_polls)
{
	timeval_t zero = {};
	noteid_t v = self->c.note;

	EXPECT_EQ(0, ddpoll(1, &v, &zero));
	REPLY(self->c, 5);
	v = self->c.note;
	EXPECT_EQ(1, ddpoll(1, &v, &zero));
	EXPECT_EQ(self->c.note, v);
}

TEST_F(info, DDP_66_1_any_bad_id_is_ebadid)
{
	timeval_t zero = {};
	noteid_t v[3] = { self->c.note, 0, self->c.note };

	REPLY(self->c, 5);
	EXPECT_ERR(EBADID, ddpoll(3, v, &zero));
	v[0] = self->c.note;
	v[1] = self->c.conn;
	EXPECT_ERR(EBADID, ddpoll(2, v, NULL));
	v[0] = -1;
	EXPECT_ERR(EBADID, ddpoll(1, v, NULL));
}

TEST_F(info, DDP_66_2_bad_pointers_are_einval)
{
	timeval_t zero = {}, bad = { .tv_usec = -1 };
	noteid_t v = self->c.note;

	EXPECT_ERR(EINVAL, ddpoll(1, NULL, &zero));
	EXPECT_ERR(EINVAL, ddpoll(1, (noteid_t *)8, &zero));
	EXPECT_ERR(EINVAL, ddpoll(1, &v, (timeval_t *)8));
	EXPECT_ERR(EINVAL, ddpoll(1, &v, &bad));
	bad.tv_usec = 1000000;
	EXPECT_ERR(EINVAL, ddpoll(1, &v, &bad));
	bad.tv_usec = 0;
	bad.tv_sec = -1;
	EXPECT_ERR(EINVAL, ddpoll(1, &v, &bad));
}

TEST(DDP_67_alloc_gives_zeroed_aligned_memory)
{
	static const size_t sizes[] = { 1, 127, 128, 4095, 4096, 4097, 1 << 20 };
	address_t p[7];
	size_t i, k;

	for (i = 0; i < 7; i++) {
		p[i] = ddalloc(sizes[i]);
		ASSERT_NE(NULL, p[i]);
		EXPECT_EQ(0, (unsigned long)p[i] % 128);
		for (k = 0; k < sizes[i]; k++)
			if (p[i][k])
				break;
		EXPECT_EQ(sizes[i], k);
		memset(p[i], i + 1, sizes[i]);
	}
	for (i = 0; i < 7; i++)
		EXPECT_EQ(i + 1, p[i][sizes[i] - 1]);
	for (i = 0; i < 7; i++)
		EXPECT_EQ(0, ddfree(p[i]));
	EXPECT_ERR(EINVAL, ddfree(p[0]));
	EXPECT_ERR(EINVAL, ddfree((address_t)&i));
}

TEST(DDP_67_failure_is_null)
{
	EXPECT_EQ(NULL, ddalloc(0));
	EXPECT_EQ(NULL, ddalloc((size_t)-1));
	EXPECT_EQ(NULL, ddalloc((size_t)-4096));
	EXPECT_EQ(NULL, ddalloc(1ul << 62));
	EXPECT_NE(NULL, ddalloc(4096));
}

TEST(DDP_67_more_than_memlock_is_null_and_dderror_explains)
{
	struct rlimit lim = { 1 << 20, 1 << 20 };
	char line[512] = "";
	int fds[2], n;
	pid_t pid;

	ASSERT_EQ(0, pipe(fds));
	pid = fork_child();
	if (!pid) {
		setrlimit(RLIMIT_MEMLOCK, &lim);
		CHILD_CHECK(become_user(BOB) == 0);
		CHILD_CHECK(ddalloc(512 << 10));
		CHILD_CHECK(!ddalloc(2 << 20));
		CHILD_CHECK(errno == EMEMLOCK);
		dup2(fds[1], 2);
		dderror("ddalloc of %d MiB", 2);
		CHILD_CHECK(ddalloc(4096));
		_exit(0);
	}
	close(fds[1]);
	for (n = 0; n < 511; n++)
		if (read(fds[0], line + n, 1) != 1)
			break;
	ASSERT_CHILD_OK(pid);
	EXPECT_EQ(0, strncmp(line, "ddalloc of 2 MiB", 16));
	EXPECT_NE(NULL, strcasestr(line, "memlock")) {
		TH_LOG("%s", line);
	}
	/* The limit, in some unit. */
	EXPECT_TRUE(strstr(line, "1048576") || strstr(line, "1024") ||
		    strstr(line, "1 MiB"));
}

TEST_F(info, DDP_68_peek_describes_and_does_not_consume)
{
	size_t len = 99;
	connid_t c = 99;
	ddrecv_desc_t d;

	EXPECT_EQ(0, ddpeek(self->c.note, &len, &c));
	EXPECT_EQ(-1, c);
	EXPECT_EQ(0, len);
	REPLY(self->c, 7);
	EXPECT_EQ(0, ddpeek(self->c.note, &len, &c));
	EXPECT_EQ(self->c.conn, c);
	EXPECT_EQ(7, len);
	len = 0;
	EXPECT_EQ(0, ddpeek(self->c.note, &len, &c));
	EXPECT_EQ(7, len);
	EXPECT_EQ(0, ddrecv(self->c.note, &d, RECV_NOBLOCK, 0));
	EXPECT_EQ(0, ddpeek(self->c.note, &len, &c));
	EXPECT_EQ(-1, c);
}

TEST_F(info, DDP_68_peek_at_a_connection_record)
{
	char *name = (char *)own_name("a");
	address_t mem = ddalloc(2 * BLOCK);
	noteid_t note = 0, v;
	timeval_t zero = {};
	ddrecv_desc_t d;
	size_t len = 99;
	connid_t c = 99;
	servid_t serv;

	ASSERT_NE(NULL, mem);
	ASSERT_OK(ddserve(name, SERVE_DOACCEPT, 1, mem, BLOCK, mem + BLOCK,
			  BLOCK, &note, &serv));
	ASSERT_OK(p_conn(self->srv, name, TYPE_SPLIT, BLOCK, 1));
	ASSERT_EQ(1, ddready(note));
	v = note;
	EXPECT_EQ(1, ddpoll(1, &v, &zero));
	EXPECT_EQ(0, ddpeek(note, &len, &c));
	EXPECT_EQ(0, len);
	ASSERT_OK(ddrecv(note, &d, RECV_NOBLOCK, 0));
	EXPECT_TRUE(DD_ISCONN(&d));
	EXPECT_EQ(d.connid, c);
}

/* The other end closes, and nothing else has arrived. */
TEST_F(info, DDP_70_a_close_record_alone_is_pending)
{
	noteid_t v = self->c.note;
	ddrecv_desc_t d = {};
	timeval_t zero = {};
	size_t len = 99;
	connid_t c = 99;

	ASSERT_OK(p_unserve(self->srv, peer_slot(self->srv, 0).serv));
	EXPECT_TRUE(HEARD(ddready(v) == 1));
	ASSERT_EQ(1, ddpoll(1, &v, &zero));
	EXPECT_EQ(self->c.note, v);
	EXPECT_EQ(1, ddpoll(1, &v, NULL));
	EXPECT_EQ(0, ddpeek(v, &len, &c));
	EXPECT_EQ(0, len);
	EXPECT_EQ(self->c.conn, c);
	EXPECT_ERR(ECONNCLOSE, ddrecv(v, &d, RECV_NOBLOCK, 0));
	EXPECT_EQ(self->c.conn, d.connid);
	EXPECT_EQ(0, ddready(v));
	EXPECT_EQ(0, ddpoll(1, &v, &zero));
}

TEST_F(info, DDP_69_peek_of_no_list_is_ebadid)
{
	size_t len;
	connid_t c;

	EXPECT_ERR(EBADID, ddpeek(0, &len, &c));
	EXPECT_ERR(EBADID, ddpeek(self->c.conn, &len, &c));
	EXPECT_ERR(EINVAL, ddpeek(self->c.note, NULL, &c));
	EXPECT_ERR(EINVAL, ddpeek(self->c.note, &len, NULL));
	ASSERT_OK(ddclose(self->c.conn));
	EXPECT_ERR(EBADID, ddpeek(self->c.note, &len, &c));
}

TEST_F(info, DDP_70_ready_is_1_pending_0_none)
{
	ddrecv_desc_t d;

	EXPECT_EQ(0, ddready(self->c.note));
	REPLY(self->c, 5);
	EXPECT_EQ(1, ddready(self->c.note));
	EXPECT_EQ(1, ddready(self->c.note));
	ASSERT_OK(ddrecv(self->c.note, &d, RECV_NOBLOCK, 0));
	EXPECT_EQ(0, ddready(self->c.note));
	EXPECT_ERR(EBADID, ddready(0));
	EXPECT_ERR(EBADID, ddready(-1));
	EXPECT_ERR(EBADID, ddready(self->c.conn));
}

TEST(DDP_71_mynode_is_below_maxnodes)
{
	EXPECT_LE(0, ddmynode());
	EXPECT_LT(ddmynode(), ddmaxnodes());
	EXPECT_EQ(near_node(), ddmynode());
}

TEST(DDP_72_maxnodes_is_fixed)
{
	int n = ddmaxnodes();

	EXPECT_EQ(across_nodes() ? 3 : 2, n);
	ASSERT_EQ(0, node_down());
	EXPECT_EQ(n, ddmaxnodes());
	ASSERT_EQ(0, node_up());
	EXPECT_EQ(n, ddmaxnodes());
}

#define NODE_PACKET	"ddctl -j node show | jq '.. | .packet_size? // empty'"
#define PEER_PACKET	"ddctl -j peer show | jq '[.. | .packet_size? // empty] | min'"

static int link_unit(void)
{
	const char *mtu = getenv("DDP_MTU");

	return mtu ? atoi(mtu) : 1500;
}

/*
 * The node with the smallest maximum; with two nodes it is the smaller of both.
 */
static void another_peer(struct __test_metadata *_metadata, int before)
{
	const int narrow = 1300;

	/* The guest's sh has a builtin ip. */
	ASSERT_EQ(0, system("bash -c 'ip route add 10.9.0.9 dev eth0 mtu lock 1300'"));
	EXPECT_EQ(0, system("ddctl peer add 0 10.9.0.9"));
	EXPECT_TRUE(WAIT_FOR(ddpacketssize() <= narrow - 28));
	EXPECT_LE(narrow - 128, ddpacketssize());
	EXPECT_EQ(0, system("ddctl peer del 0"));
	EXPECT_EQ(0, system("bash -c 'ip route del 10.9.0.9'"));
	EXPECT_TRUE(WAIT_FOR(ddpacketssize() == before));
}

TEST(DDP_73_packet_size_is_that_of_the_interface)
{
	int n = printed_number(NODE_PACKET);

	ASSERT_LT(0, n);
	if (across_nodes()) {
		/* The path's maximum is known after the first packet. */
		ASSERT_SOON(ddpacketssize() == printed_number(PEER_PACKET));
		EXPECT_GT(n, ddpacketssize());
		/* The link's MTU, less headers and a margin. */
		EXPECT_GE(link_unit() - 28, ddpacketssize());
		EXPECT_LE(link_unit() - 128, ddpacketssize());
		another_peer(_metadata, ddpacketssize());
	} else {
		EXPECT_EQ(n, ddpacketssize());
	}
	EXPECT_LT(0, ddpacketssize());
	EXPECT_EQ(ddpacketssize(), ddpacketsize());
}

/* What dderror(...) writes to stderr, as a string. */
#define DDERROR_TEXT(err, ...) ({					\
	static char __text[1024];					\
	int __fds[2], __saved = dup(2);					\
	ssize_t __n;							\
	ASSERT_EQ(0, pipe(__fds));					\
	dup2(__fds[1], 2);						\
	errno = (err);							\
	dderror(__VA_ARGS__);						\
	dup2(__saved, 2);						\
	close(__fds[1]);						\
	__n = read(__fds[0], __text, sizeof(__text) - 1);		\
	close(__fds[0]);						\
	close(__saved);							\
	__text[__n > 0 ? __n : 0] = 0;					\
	__text; })

TEST(DDP_74_dderror_formats_and_knows_both_vocabularies)
{
	static const int codes[] = { EBADID, EBADSERVER, ENOCMP, ENORESOURCE,
				     ECONNCLOSE, ESLOTBUSY, EBADTYPE, EBADRANGE,
				     ENOTREADY, EMEMLOCK };
	char texts[10][1024], *t;
	unsigned int i, k;

	for (i = 0; i < 10; i++) {
		strcpy(texts[i], DDERROR_TEXT(codes[i], "call %d of %s", 7, "x"));
		EXPECT_EQ(0, strncmp(texts[i], "call 7 of x", 11));
		EXPECT_EQ('\n', texts[i][strlen(texts[i]) - 1]);
		EXPECT_EQ(NULL, strstr(texts[i], "Unknown"));
		EXPECT_LT(16, strlen(texts[i]));
		for (k = 0; k < i; k++)
			EXPECT_NE(0, strcmp(texts[k], texts[i]));
	}
	t = DDERROR_TEXT(EINVAL, "plain");
	EXPECT_EQ(0, strncmp(t, "plain", 5));
	EXPECT_NE(NULL, strstr(t, strerror(EINVAL)));
	/* errno stays as it was. */
	errno = EBADID;
	dderror("still");
	EXPECT_EQ(EBADID, errno);
}

DD_TEST_MAIN
