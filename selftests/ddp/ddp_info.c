// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddconninfo, ddpoll, ddalloc, ddpeek, ddready, the node calls and dderror
 * (requirements DDP-62 to DDP-74).
 *
 * Copyright (C) 2026 The dd authors
 */
#include "ddp.h"
#include <sys/resource.h>

/* What both ends say after the client has sent 2 messages, and the server 1. */
TEST_F(ddp, DDP_11_DDP_62_client_side)
{
	struct slot *c = &self->split;
	conninfo_t info;
	ddrecv_desc_t d;

	memset(&info, 0xff, sizeof(info));
	EXPECT_EQ(0, ddconninfo(c->conn, &info));
	EXPECT_EQ(far_node(), info.node);
	EXPECT_EQ(self->srv->pid, info.pid);
	EXPECT_EQ(0, info.uid);
	EXPECT_EQ(c->note, info.noteid);
	EXPECT_EQ((void *)c->out, (void *)info.sendbase);
	EXPECT_EQ(2 * BLOCK, info.sendsize);
	EXPECT_EQ((void *)c->in, (void *)info.recvbase);
	EXPECT_EQ(2 * BLOCK, info.recvsize);
	EXPECT_EQ(BLOCK, info.remotesize);
	EXPECT_EQ(0, info.msgid_send);
	EXPECT_EQ(0, info.msgid_recv);
	REPLY(c, "reply");
	ASSERT_OK(ddrecv(c->note, &d, RECV_SLEEP, 0));
	ASSERT_SENT(ddsend(c->conn, c->out, 8, 0, SEND_NOOPTS));
	EXPECT_EQ(0, ddconninfo(c->conn, &info));
	EXPECT_EQ(2, info.msgid_send);
	EXPECT_EQ(1, info.msgid_recv);
}

TEST_F(ddp, DDP_11_DDP_62_server_side)
{
	struct slot *c = &self->split, s = self->s;
	conninfo_t *info = &self->srv->shm->info;
	ddrecv_desc_t d;

	REPLY(c, "reply");
	ASSERT_OK(ddrecv(c->note, &d, RECV_SLEEP, 0));
	ASSERT_SENT(ddsend(c->conn, c->out, 8, 0, SEND_NOOPTS));
	TAKE();
	ASSERT_OK(p_info(self->srv, self->there->connid));
	EXPECT_EQ(near_node(), info->node);
	EXPECT_EQ(getpid(), info->pid);
	EXPECT_EQ(getuid(), info->uid);
	EXPECT_EQ(s.note, info->noteid);
	EXPECT_EQ(BLOCK, info->sendsize);
	EXPECT_EQ(BLOCK, info->recvsize);
	EXPECT_EQ(2 * BLOCK, info->remotesize);
	EXPECT_TRUE(info->sendbase >= s.out && info->sendbase <= s.out + 7 * BLOCK);
	EXPECT_TRUE(info->recvbase >= s.in && info->recvbase <= s.in + 7 * BLOCK);
	EXPECT_EQ(1, info->msgid_send);
	EXPECT_EQ(2, info->msgid_recv);
}

TEST(DDP_11_the_user_of_the_other_end)
{
	struct worker *srv = worker_new_user(THERE, ALICE);
	conninfo_t info;
	struct slot c;

	ASSERT_OK(p_serve_simple(srv, own_name("u"), 1, BLOCK));
	ASSERT_OK(open_conn(&c, own_name("u"), TYPE_SPLIT, BLOCK));
	ASSERT_OK(ddconninfo(c.conn, &info));
	EXPECT_EQ(ALICE, info.uid);
}

TEST_F(ddp, DDP_63_2_bad_pointer_is_einval_not_a_fault)
{
	EXPECT_ERR(EINVAL, ddconninfo(self->split.conn, NULL));
	EXPECT_ERR(EINVAL, ddconninfo(self->split.conn, (conninfo_t *)16));
	EXPECT_ERR(EINVAL, ddconninfo(self->split.conn, (conninfo_t *)-4096));
	/* Code is readable, but not writable. */
	EXPECT_ERR(EINVAL, ddconninfo(self->split.conn, (conninfo_t *)dd_filter));
}

TEST_F(ddp, DDP_64_DDP_65_3_poll_replaces_the_vector_by_the_ready_subset)
{
	noteid_t all[4] = { [3] = self->split.note }, v[4];
	struct slot c[3];
	timeval_t zero = {};
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_OK(open_conn(&c[i], self->name, TYPE_SPLIT, BLOCK));
		all[i] = c[i].note;
	}
	EXPECT_EQ(0, ddpoll(4, memcpy(v, all, sizeof(v)), &zero));
	REPLY(&c[1], "reply");
	REPLY(&self->split, "reply");
	EXPECT_EQ(2, ddpoll(4, memcpy(v, all, sizeof(v)), NULL));
	EXPECT_EQ(c[1].note, v[0]);
	EXPECT_EQ(self->split.note, v[1]);
	EXPECT_EQ(2, ddpoll(2, v, &zero));
	/* Nothing was consumed. */
	EXPECT_EQ(1, ddready(c[1].note));
	EXPECT_ERR(EINVAL, ddpoll(-1, v, &zero));
}

TEST_F(ddp, DDP_65_1_timeout_is_the_longest_wait)
{
	timeval_t t = { .tv_usec = 500000 };
	noteid_t v = self->split.note;

	ASSERT_WAITS(500, EXPECT_EQ(0, ddpoll(1, &v, &t)));
	REPLY(&self->split, "reply");
	t.tv_sec = 10000;
	v = self->split.note;
	EXPECT_EQ(1, ddpoll(1, &v, &t));
}

static long poll_forever(long note, long b, long c)
{
	noteid_t v = note;
	int ret = ddpoll(1, &v, NULL);

	return ret == 1 && v == note ? 1 : -1;
}

TEST_F(ddp, DDP_65_2_null_waits_forever)
{
	worker_begin(self->srv, poll_forever, peer_slot(self->srv, 0).note, 0, 0);
	ASSERT_TRUE(worker_sleeps(self->srv));
	EXPECT_FALSE(worker_ready(self->srv));
	ASSERT_OK(ddsend(self->split.conn, self->split.out, 8, 0, SEND_NOOPTS));
	EXPECT_EQ(1, worker_result(self->srv));
}

TEST_F(ddp, DDP_66_1_any_bad_id_is_ebadid)
{
	timeval_t zero = {};
	noteid_t v[3] = { self->split.note, 0, self->split.note };

	REPLY(&self->split, "reply");
	EXPECT_ERR(EBADID, ddpoll(3, v, &zero));
	v[0] = self->split.note;
	v[1] = self->split.conn;
	EXPECT_ERR(EBADID, ddpoll(2, v, NULL));
	v[0] = -1;
	EXPECT_ERR(EBADID, ddpoll(1, v, NULL));
}

TEST_F(ddp, DDP_66_2_bad_pointers_and_times_are_einval)
{
	timeval_t zero = {}, bad[] = { { 0, -1 }, { 0, 1000000 }, { -1, 0 } };
	noteid_t v = self->split.note;
	int i;

	EXPECT_ERR(EINVAL, ddpoll(1, NULL, &zero));
	EXPECT_ERR(EINVAL, ddpoll(1, (noteid_t *)8, &zero));
	EXPECT_ERR(EINVAL, ddpoll(1, &v, (timeval_t *)8));
	for (i = 0; i < 3; i++)
		EXPECT_ERR(EINVAL, ddpoll(1, &v, &bad[i]));
}

TEST(DDP_67_alloc_gives_zeroed_aligned_memory_or_null)
{
	static const size_t sizes[] = { 1, 127, 128, 4095, 4096, 4097, 1 << 20 };
	static const size_t bad[] = { 0, (size_t)-1, (size_t)-4096, 1ul << 62 };
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
	for (i = 0; i < 4; i++)
		EXPECT_EQ(NULL, ddalloc(bad[i]));
}

/* With a limit of 1 MiB. */
static long alloc_too_much(long a, long b, long c)
{
	const struct rlimit l = { 1 << 20, 1 << 20 };

	if (setrlimit(RLIMIT_MEMLOCK, &l) || !ddalloc(512 << 10) || ddalloc(2 << 20) ||
	    errno != EMEMLOCK)
		return -1;
	strcpy((char *)peer_shm->data, said(EMEMLOCK));
	return ddalloc(4096) ? 0 : -1;
}

TEST(DDP_67_more_than_memlock_is_null_and_dderror_explains)
{
	struct worker *bob = worker_new_user(HERE, BOB);
	const char *line = (char *)bob->shm->data;

	ASSERT_EQ(0, worker_do(bob, alloc_too_much, 0, 0, 0));
	TH_LOG("%s", line);
	EXPECT_EQ(0, strncmp(line, "call 7: ", 8));
	EXPECT_NE(NULL, strcasestr(line, "memlock"));
	/* The limit, in some unit. */
	EXPECT_TRUE(strstr(line, "1048576") || strstr(line, "1024") || strstr(line, "1 MiB"));
}

TEST_F(ddp, DDP_68_DDP_70_peek_and_ready_show_a_message_and_do_not_consume_it)
{
	const noteid_t note = self->split.note;
	size_t len = 99;
	connid_t c = 99;
	ddrecv_desc_t d;
	int i;

	EXPECT_EQ(0, ddready(note));
	EXPECT_EQ(0, ddpeek(note, &len, &c));
	EXPECT_EQ(-1, c);
	EXPECT_EQ(0, len);
	REPLY(&self->split, "reply.");
	for (i = 0; i < 2; i++) {
		len = 0;
		EXPECT_EQ(1, ddready(note));
		EXPECT_EQ(0, ddpeek(note, &len, &c));
		EXPECT_EQ(self->split.conn, c);
		EXPECT_EQ(7, len);
	}
	EXPECT_EQ(0, ddrecv(note, &d, RECV_NOBLOCK, 0));
	EXPECT_EQ(0, ddready(note));
	EXPECT_EQ(0, ddpeek(note, &len, &c));
	EXPECT_EQ(-1, c);
}

TEST_F(ddp, DDP_68_peek_at_a_connection_record)
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
TEST_F(ddp, DDP_70_a_close_record_alone_is_pending)
{
	noteid_t v = self->split.note;
	ddrecv_desc_t d = {};
	timeval_t zero = {};
	size_t len = 99;
	connid_t c = 99;

	ASSERT_OK(p_unserve(self->srv, peer_slot(self->srv, 0).serv));
	EXPECT_TRUE(HEARD(ddready(v) == 1));
	ASSERT_EQ(1, ddpoll(1, &v, &zero));
	EXPECT_EQ(self->split.note, v);
	EXPECT_EQ(1, ddpoll(1, &v, NULL));
	EXPECT_EQ(0, ddpeek(v, &len, &c));
	EXPECT_EQ(0, len);
	EXPECT_EQ(self->split.conn, c);
	EXPECT_ERR(ECONNCLOSE, ddrecv(v, &d, RECV_NOBLOCK, 0));
	EXPECT_EQ(self->split.conn, d.connid);
	EXPECT_EQ(0, ddready(v));
	EXPECT_EQ(0, ddpoll(1, &v, &zero));
}

TEST_F(ddp, DDP_57_1_DDP_69_no_notification_list_is_ebadid)
{
	const noteid_t bad[] = { 0, -1, 0x7fffffff, self->stream.conn, self->split.note };
	ddrecv_desc_t d;
	connid_t c;
	size_t len;
	int i;

	EXPECT_ERR(EINVAL, ddpeek(self->split.note, NULL, &c));
	EXPECT_ERR(EINVAL, ddpeek(self->split.note, &len, NULL));
	/* The last one has been a list. */
	ASSERT_OK(ddclose(self->split.conn));
	for (i = 0; i < 5; i++) {
		EXPECT_ERR(EBADID, ddrecv(bad[i], &d, RECV_NOBLOCK, 0));
		EXPECT_ERR(EBADID, ddrecv(bad[i], &d, RECV_SLEEP, 0));
		EXPECT_ERR(EBADID, ddrecv(bad[i], &d, RECV_SPIN, 0));
		EXPECT_ERR(EBADID, ddpeek(bad[i], &len, &c));
		EXPECT_ERR(EBADID, ddready(bad[i]));
	}
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

TEST(DDP_74_dderror_formats_and_knows_both_vocabularies)
{
	static const int codes[] = { EBADID, EBADSERVER, ENOCMP, ENORESOURCE,
				     ECONNCLOSE, ESLOTBUSY, EBADTYPE, EBADRANGE,
				     ENOTREADY, EMEMLOCK, EINVAL };
	char texts[11][1024];
	unsigned int i, k;

	for (i = 0; i < 11; i++) {
		strcpy(texts[i], said(codes[i]));
		/* errno stays as it was. */
		EXPECT_EQ(codes[i], errno);
		EXPECT_EQ(0, strncmp(texts[i], "call 7: ", 8));
		EXPECT_EQ('\n', texts[i][strlen(texts[i]) - 1]);
		EXPECT_EQ(NULL, strstr(texts[i], "Unknown"));
		EXPECT_LT(16, strlen(texts[i]));
		for (k = 0; k < i; k++)
			EXPECT_NE(0, strcmp(texts[k], texts[i]));
	}
	EXPECT_NE(NULL, strstr(texts[10], strerror(EINVAL)));
}

DD_TEST_MAIN
