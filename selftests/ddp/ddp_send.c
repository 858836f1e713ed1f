// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddsend, ddsend_with_metadata, dddone and ddflush (requirements DDP-36 to
 * DDP-50).
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <pthread.h>
#include <sys/mman.h>
#include "dd.h"
#include "peer.h"

#define BLOCK	4096

/* Messages that a stream accepts at least while none is read. */
#define UNREAD	16

/* Connections of every type to a service with blocks of BLOCK bytes. */
FIXTURE(send) {
	struct peer *srv;
	struct slot s, rpc, split, stream;
	ddrecv_desc_t *there;
};

FIXTURE_SETUP(send)
{
	char *name = (char *)own_name("s");

	self->srv = peer_start();
	self->there = &self->srv->shm->desc;
	ASSERT_OK(p_serve_simple(self->srv, name, 4, 4 * BLOCK));
	self->s = peer_slot(self->srv, 0);
	ASSERT_OK(open_conn(&self->rpc, name, TYPE_RPC, 2 * BLOCK));
	ASSERT_OK(open_conn(&self->split, name, TYPE_SPLIT, 2 * BLOCK));
	ASSERT_OK(open_conn(&self->stream, name, TYPE_SSTREAM, 2 * BLOCK));
}

FIXTURE_TEARDOWN(send)
{
	peer_kill(self->srv);
}

/* The server takes the next message; its data is in shm. */
#define TAKE() ASSERT_OK(p_recv(self->srv, 0, RECV_SLEEP, 0))

TEST_F(send, DDP_36_deposits_len_bytes_at_roffset)
{
	static const size_t cases[][2] = {
		{ 1, 0 }, { 1, 1 }, { 7, 3 }, { 8, 8 }, { 9, 15 }, { 64, 1 },
		{ 1000, 77 }, { BLOCK, 0 }, { BLOCK - 1, 1 }, { 1, BLOCK - 1 },
		{ 0, 0 }, { 0, BLOCK }, { 2049, 2047 },
	};
	unsigned char want[BLOCK] = {}, got[BLOCK];
	conninfo_t *info = &self->srv->shm->info;
	address_t out = self->stream.out;
	size_t i, k, len, at;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		len = cases[i][0];
		at = cases[i][1];
		for (k = 0; k < len; k++)
			want[at + k] = out[k] = (char)(k * 7 + i + 1);
		ASSERT_OK(ddsend(self->stream.conn, out, len, at, SEND_BLOCK));
		TAKE();
		EXPECT_EQ(len, self->there->msgsize);
		ASSERT_OK(p_info(self->srv, self->there->connid));
		EXPECT_EQ((void *)(info->recvbase + at),
			  (void *)self->there->msgaddr);
		ASSERT_OK(p_read(self->srv, info->recvbase, got, BLOCK));
		EXPECT_EQ(0, memcmp(want, got, BLOCK)) {
			TH_LOG("len %zu at %zu", len, at);
		}
	}
}

TEST_F(send, DDP_36_source_may_be_anywhere_in_the_send_buffer)
{
	static const size_t from[] = { 0, 1, 7, 100, BLOCK - 3, 2 * BLOCK - 9 };
	size_t i;

	for (i = 0; i < 6; i++) {
		memcpy(self->stream.out + from[i], "position", 9);
		ASSERT_OK(ddsend(self->stream.conn, self->stream.out + from[i],
				 9, 0, SEND_BLOCK));
		TAKE();
		EXPECT_STREQ("position", (char *)self->srv->shm->data);
	}
}

TEST_F(send, DDP_37_the_buffer_may_be_altered_after_dddone)
{
	EXPECT_EQ(0, SEND_NOOPTS);
	strcpy(self->stream.out, "first");
	ASSERT_OK(ddsend(self->stream.conn, self->stream.out, 6, 0, SEND_NOOPTS));
	ASSERT_EQ(1, dddone(self->stream.conn, SDONE_SLEEP));
	strcpy(self->stream.out, "other");
	TAKE();
	EXPECT_STREQ("first", (char *)self->srv->shm->data);
}

TEST_F(send, DDP_38_DDP_44_4_ebadtype_on_an_rpc_connection_at_the_client_only)
{
	address_t rep;
	size_t size;

	EXPECT_ERR(EBADTYPE, ddsend(self->rpc.conn, self->rpc.out, 8, 0,
				    SEND_NOOPTS));
	EXPECT_EQ(0, p_ready(self->srv, 0));
	/*
	 * A call without an answer in time gives the server the connection's
	 * id.
	 */
	EXPECT_ERR(ETIMEDOUT, ddcall(self->rpc.conn, self->rpc.out, 8, &rep,
				     &size, RECV_TIMEOUT, 1));
	TAKE();
	EXPECT_EQ(0, p_send(self->srv, self->there->connid, "late", 5, 0, 0));
}

TEST_F(send, DDP_25_DDP_39_DDP_44_3_split_second_send_is_eslotbusy)
{
	ddrecv_desc_t d;

	ASSERT_OK(ddsend(self->split.conn, self->split.out, 8, 0, SEND_NOOPTS));
	EXPECT_ERR(ESLOTBUSY, ddsend(self->split.conn, self->split.out, 8, 0,
				     SEND_NOOPTS));
	TAKE();
	ASSERT_OK(p_send(self->srv, self->there->connid, "r", 2, 0, SEND_BLOCK));
	/* The reply has arrived, but is not consumed. */
	ASSERT_EQ(1, ddready(self->split.note));
	EXPECT_ERR(ESLOTBUSY, ddsend(self->split.conn, self->split.out, 8, 0,
				     SEND_NOOPTS));
	ASSERT_OK(ddrecv(self->split.note, &d, RECV_NOBLOCK, 0));
	ASSERT_SENT(ddsend(self->split.conn, self->split.out, 8, 0,
			   SEND_NOOPTS));
}

TEST_F(send, DDP_39_a_refused_send_takes_no_slot)
{
	conninfo_t info;

	EXPECT_ERR(EBADRANGE, ddsend(self->split.conn, self->split.out, 8,
				     BLOCK, SEND_NOOPTS));
	ASSERT_OK(ddconninfo(self->split.conn, &info));
	EXPECT_EQ(0, info.msgid_send);
	EXPECT_EQ(0, ddsend(self->split.conn, self->split.out, 8, 0,
			    SEND_NOOPTS));
	ASSERT_OK(ddconninfo(self->split.conn, &info));
	EXPECT_EQ(1, info.msgid_send);
}

TEST_F(send, DDP_40_stream_needs_no_replies_but_the_link_ack)
{
	int i, sent;

	for (i = 0; i < dd_count(100); i++) {
		ASSERT_SENT(ddsend(self->stream.conn, self->stream.out, 8, 0,
				   SEND_NOOPTS));
		TAKE();
	}
	/* A sender on another node may not know yet that the last ones were read. */
	for (sent = 0; sent < UNREAD; sent++)
		ASSERT_SENT(ddsend(self->stream.conn, self->stream.out, 8, 0,
				   SEND_NOOPTS));
	for (; sent < 1000; sent++)
		if (ddsend(self->stream.conn, self->stream.out, 8, 0,
			   SEND_NOOPTS))
			break;
	EXPECT_EQ(ENOTREADY, errno);
	EXPECT_LT(sent, 1000);
	/* Accepted messages arrive, refused ones do not. */
	for (i = 0; i < sent; i++)
		TAKE();
	EXPECT_ERR(EWOULDBLOCK, p_recv(self->srv, 0, RECV_NOBLOCK, 0));
	ASSERT_OK(p_info(self->srv, self->there->connid));
	EXPECT_EQ(dd_count(100) + sent, self->srv->shm->info.msgid_recv);
}

TEST_F(send, DDP_40_enotready_binds_the_server_end_too)
{
	struct peer *srv = self->srv;
	connid_t conn;
	int sent;

	ASSERT_OK(ddsend(self->stream.conn, self->stream.out, 8, 0, SEND_NOOPTS));
	TAKE();
	conn = self->there->connid;
	for (sent = 0; sent < 1000; sent++)
		if (p_send(srv, conn, "x", 2, 0, SEND_NOOPTS))
			break;
	EXPECT_EQ(ENOTREADY, errno);
	EXPECT_LE(UNREAD, sent);
	EXPECT_LT(sent, 1000);
}

TEST_F(send, DDP_26_DDP_44_6_a_stream_accepts_16_unread_messages_at_both_ends)
{
	address_t out = self->stream.out;
	connid_t c = self->stream.conn, there = 0;
	ddrecv_desc_t d;
	int i, sent;

	/* The receiver makes no call. */
	for (i = 0; i < UNREAD; i++) {
		*(int *)(out + 8 * i) = i;
		ASSERT_OK(ddsend(c, out + 8 * i, 8, 8 * i, SEND_NOOPTS));
	}
	for (sent = UNREAD; sent < 1000; sent++)
		if (ddsend(c, out, 8, 0, SEND_NOOPTS))
			break;
	EXPECT_EQ(ENOTREADY, errno);
	EXPECT_LT(sent, 1000);
	/* One more is accepted for each message read. */
	for (i = 0; i < UNREAD; i++) {
		TAKE();
		there = self->there->connid;
		if (i)
			EXPECT_EQ(i, *(int *)self->srv->shm->data);
		ASSERT_SENT(ddsend(c, out, 8, 0, SEND_NOOPTS));
	}
	/* The peer has one buffer to send from, so each call waits. */
	for (i = 0; i < UNREAD; i++)
		ASSERT_OK(p_send(self->srv, there, &i, sizeof(i), 8 * i,
				 SEND_BLOCK));
	for (i = 0; i < UNREAD; i++) {
		ASSERT_OK(ddrecv(self->stream.note, &d, RECV_SLEEP, 0));
		EXPECT_EQ(i, *(int *)d.msgaddr);
	}
}

TEST_F(send, DDP_26_a_list_of_their_own_has_room_for_16_unread_messages)
{
	struct peer *srv = peer_start();
	struct peer_serve serve = {
		.name = own_name("a"), .flags = SERVE_DOACCEPT, .maxconn = 1,
		.recvsize = BLOCK, .sendsize = BLOCK, .share = -1,
	};
	struct slot c;
	int i;

	ASSERT_OK(p_serve(srv, &serve));
	ASSERT_OK(open_conn(&c, serve.name, TYPE_SSTREAM, BLOCK));
	for (i = 0; i < UNREAD; i++)
		ASSERT_OK(ddsend(c.conn, c.out, 8, 0, SEND_NOOPTS));
	peer_kill(srv);
}

/* A block whose connections have different windows, one after the other. */
TEST_F(send, DDP_26_the_type_of_a_connection_says_how_many)
{
	static const int types[] = { TYPE_SSTREAM, TYPE_SPLIT, TYPE_SSTREAM,
				     TYPE_RPC, TYPE_SSTREAM };
	struct peer *srv = peer_start();
	address_t rep;
	struct slot c;
	size_t size;
	int i, k;

	ASSERT_OK(p_serve_simple(srv, (char *)own_name("t"), 1, BLOCK));
	for (i = 0; i < 5; i++) {
		ASSERT_TRUE(HEARD(!open_conn(&c, own_name("t"), types[i],
					     BLOCK)));
		if (types[i] == TYPE_RPC)
			EXPECT_ERR(ETIMEDOUT,
				   ddcall(c.conn, c.out, 8, &rep, &size,
					  RECV_TIMEOUT, 1));
		for (k = 0; k < UNREAD && types[i] == TYPE_SSTREAM; k++)
			ASSERT_OK(ddsend(c.conn, c.out, 8, 0, SEND_BLOCK));
		if (types[i] == TYPE_SPLIT)
			ASSERT_OK(ddsend(c.conn, c.out, 8, 0, SEND_BLOCK));
		k = types[i] == TYPE_SSTREAM ? UNREAD : 1;
		while (k--)
			ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
		ASSERT_OK(ddclose(c.conn));
	}
	peer_kill(srv);
}

#define WINDOW	8

static void number(address_t out, int i)
{
	snprintf(out + 64 * i, 64, "message %d", i);
}

TEST_F(send, DDP_40_a_window_lets_more_be_unacknowledged_at_both_ends)
{
	struct peer *srv = peer_start();
	struct peer_serve serve = {
		.name = own_name("w"), .flags = SERVE_WINDOW(2 * WINDOW),
		.maxconn = 2, .recvsize = 2 * BLOCK, .sendsize = 2 * BLOCK,
		.share = -1,
	};
	address_t out = ddalloc(BLOCK), in = ddalloc(BLOCK);
	connid_t conn, there = 0;
	char want[64];
	noteid_t note = 0;
	ddrecv_desc_t d;
	int i, sent;

	ASSERT_OK(p_serve(srv, &serve));
	ASSERT_OK(ddconn((char *)serve.name, far_node(), TYPE_SSTREAM,
			 CONN_WINDOW(WINDOW), out, BLOCK, in, BLOCK, &conn,
			 &note));
	/* These messages need no wait. */
	for (i = 0; i < WINDOW; i++) {
		number(out, i);
		ASSERT_OK(ddsend(conn, out + 64 * i, 64, 64 * i, SEND_NOOPTS));
	}
	/* More messages wait for the reader, and fail when there is no room. */
	for (sent = WINDOW; sent < 1000; sent++)
		if (ddsend(conn, out, 8, BLOCK - 8, SEND_NOOPTS))
			break;
	EXPECT_EQ(ENOTREADY, errno);
	EXPECT_GT(1000, sent);
	for (i = 0; i < sent; i++) {
		ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
		there = srv->shm->desc.connid;
		if (i >= WINDOW)
			continue;
		snprintf(want, sizeof(want), "message %d", i);
		EXPECT_STREQ(want, (char *)srv->shm->data);
	}
	EXPECT_ERR(EWOULDBLOCK, p_recv(srv, 0, RECV_NOBLOCK, 0));
	for (i = 0; i < WINDOW; i++)
		ASSERT_OK(p_send(srv, there, &i, sizeof(i), 8 * i, SEND_BLOCK));
	for (i = 0; i < WINDOW; i++) {
		ASSERT_OK(ddrecv(note, &d, RECV_SLEEP, 0));
		EXPECT_EQ(i, *(int *)d.msgaddr);
	}
	peer_kill(srv);
}

#define CONNS	3

/*
 * Messages of dd_sendv(): alternating connections, each to an offset of its
 * own.
 */
static void compose(struct dd_send_msg *msgs, const int *conns, char *out)
{
	static unsigned int meta[CONNS * WINDOW];
	int i;

	for (i = 0; i < CONNS * WINDOW; i++) {
		snprintf(out + 64 * i, 64, "message %d", i);
		meta[i] = i;
		msgs[i] = (struct dd_send_msg){
			.conn = conns[i % CONNS], .options = DD_SEND_DMA,
			.addr = out + 64 * i, .len = 64,
			.roffset = 64 * (i / CONNS), .meta = &meta[i],
			.metacount = i % 4 == 0,
		};
	}
}

static int connect_core(struct dd *h, const char *name, int *list)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr), .type = DD_TYPE_STREAM, .list = *list,
		.recv_size = BLOCK,
	};

	if (dd_alloc(h, BLOCK, &attr.recv))
		return -1;
	return dd_connect(h, name, far_node(), &attr, list);
}

TEST_F(send, DDP_36_several_at_once_on_several_connections)
{
	struct peer *srv = peer_start();
	struct peer_serve serve = {
		.name = own_name("v"), .flags = SERVE_WINDOW(2 * WINDOW),
		.maxconn = CONNS, .recvsize = CONNS * BLOCK, .share = -1,
	};
	struct dd_send_msg msgs[CONNS * WINDOW];
	int i, k, error = 1, list = 0, conns[CONNS], last[CONNS] = {};
	char want[64], *out;
	struct dd *h;
	void *mem;

	ASSERT_OK(p_serve(srv, &serve));
	ASSERT_EQ(0, dd_open(&h));
	ASSERT_EQ(0, dd_alloc(h, BLOCK, &mem));
	out = mem;
	for (i = 0; i < CONNS; i++) {
		conns[i] = connect_core(h, serve.name, &list);
		ASSERT_LT(0, conns[i]);
	}
	compose(msgs, conns, out);
	ASSERT_EQ(CONNS * WINDOW, dd_sendv(h, msgs, CONNS * WINDOW, &error));
	EXPECT_EQ(0, error);
	for (i = 0; i < CONNS * WINDOW; i++) {
		const ddrecv_desc_t *d = &srv->shm->desc;

		ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
		ASSERT_EQ(1, sscanf((char *)srv->shm->data, "message %d", &k));
		snprintf(want, sizeof(want), "message %d", k);
		EXPECT_STREQ(want, (char *)srv->shm->data);
		EXPECT_EQ(k % 4 == 0, d->metacount);
		EXPECT_EQ(last[k % CONNS]++, k / CONNS);
	}
	/* No message behind a refused one arrives. */
	msgs[4].roffset = BLOCK;
	EXPECT_EQ(4, dd_sendv(h, msgs, CONNS * WINDOW, &error));
	EXPECT_EQ(-EBADRANGE, error);
	for (i = 0; i < 4; i++)
		ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
	EXPECT_ERR(EWOULDBLOCK, p_recv(srv, 0, RECV_NOBLOCK, 0));
	dd_shutdown(h);
	peer_kill(srv);
}

TEST_F(send, DDP_40_several_at_once_stop_at_the_window)
{
	struct dd_send_msg msgs[64];
	int i, n, error, list = 0, conn;
	char *name = (char *)own_name("n");
	struct peer *srv = peer_start();
	struct dd *h;

	ASSERT_OK(p_serve_simple(srv, name, 1, BLOCK));
	ASSERT_EQ(0, dd_open(&h));
	conn = connect_core(h, name, &list);
	ASSERT_LT(0, conn);
	for (i = 0; i < 64; i++)
		msgs[i] = (struct dd_send_msg){
			.conn = conn, .options = DD_SEND_UNWIRED,
			.addr = &msgs[i], .len = 8,
		};
	n = dd_sendv(h, msgs, 64, &error);
	EXPECT_LT(0, n);
	EXPECT_GT(64, n);
	EXPECT_EQ(-ENOTREADY, error);
	for (i = 0; i < n; i++)
		ASSERT_OK(p_recv(srv, 0, RECV_SLEEP, 0));
	EXPECT_ERR(EWOULDBLOCK, p_recv(srv, 0, RECV_NOBLOCK, 0));
	dd_shutdown(h);
	peer_kill(srv);
}

TEST_F(send, DDP_41_block_returns_when_the_buffer_is_reusable)
{
	ASSERT_OK(ddsend(self->stream.conn, strcpy(self->stream.out, "one"), 4,
			 0, SEND_BLOCK));
	EXPECT_EQ(1, dddone(self->stream.conn, 0));
	strcpy(self->stream.out, "two");
	TAKE();
	EXPECT_STREQ("one", (char *)self->srv->shm->data);
}

TEST_F(send, DDP_42_unwired_takes_any_readable_memory)
{
	static const char constant[] = "in a read-only page";
	char stack[] = "on the stack";
	char *big = malloc(BLOCK);
	connid_t c = self->stream.conn;

	ASSERT_SENT(ddsend(c, stack, sizeof(stack), 0, SEND_UNWIRED));
	TAKE();
	EXPECT_STREQ(stack, (char *)self->srv->shm->data);
	ASSERT_SENT(ddsend(c, (char *)constant, sizeof(constant), 5,
			   SEND_UNWIRED));
	TAKE();
	EXPECT_STREQ(constant, (char *)self->srv->shm->data);
	memset(big, 0x3c, BLOCK);
	ASSERT_SENT(ddsend(c, big, BLOCK, 0, SEND_UNWIRED | SEND_BLOCK));
	TAKE();
	EXPECT_EQ(0, memcmp(big, self->srv->shm->data, BLOCK));
	/* Wired memory is readable memory. */
	strcpy(self->stream.out, "wired");
	ASSERT_SENT(ddsend(c, self->stream.out, 6, 0, SEND_UNWIRED));
	TAKE();
	EXPECT_STREQ("wired", (char *)self->srv->shm->data);
}

TEST_F(send, DDP_42_unreadable_source_is_efault_and_not_counted)
{
	connid_t c = self->stream.conn;
	conninfo_t info;
	char *p;

	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	/* Not unmapped: another mapping could take its place. */
	ASSERT_OK(mprotect(p + 4096, 4096, PROT_NONE));
	EXPECT_ERR(EFAULT, ddsend(c, NULL, 8, 0, SEND_UNWIRED));
	EXPECT_ERR(EFAULT, ddsend(c, p + 4096, 8, 0, SEND_UNWIRED));
	EXPECT_ERR(EFAULT, ddsend(c, p + 4090, 8, 0, SEND_UNWIRED));
	EXPECT_ERR(EFAULT, ddsend(c, (char *)0xffff888000000000, 8, 0,
				  SEND_UNWIRED));
	ASSERT_OK(mprotect(p, 4096, PROT_NONE));
	SKIP_ON_UM("copies from pages without PROT_READ");
	EXPECT_ERR(EFAULT, ddsend(c, p, 8, 0, SEND_UNWIRED));
	EXPECT_EQ(0, p_ready(self->srv, 0));
	ASSERT_OK(ddconninfo(c, &info));
	EXPECT_EQ(0, info.msgid_send);
	EXPECT_EQ(0, ddsend(c, self->stream.out, 8, 0, SEND_NOOPTS));
}

TEST_F(send, DDP_43_dma_takes_any_ddalloc_memory_and_no_other)
{
	address_t elsewhere = ddalloc(3 * BLOCK);
	connid_t c = self->stream.conn;
	char *plain = malloc(BLOCK);

	ASSERT_NE(NULL, elsewhere);
	strcpy(elsewhere + BLOCK - 3, "across pages");
	ASSERT_OK(ddsend(c, elsewhere + BLOCK - 3, 13, 0, SEND_DMA));
	TAKE();
	EXPECT_STREQ("across pages", (char *)self->srv->shm->data);
	EXPECT_ERR(EBADRANGE, ddsend(c, plain, 8, 0, SEND_DMA));
	EXPECT_ERR(EBADRANGE, ddsend(c, elsewhere + 3 * BLOCK - 4, 8, 0,
				     SEND_DMA));
	EXPECT_ERR(EBADRANGE, ddsend(c, elsewhere - 4, 8, 0, SEND_DMA));
	EXPECT_EQ(0, p_ready(self->srv, 0));
	EXPECT_EQ(0, ddsend(c, self->stream.out, 8, 0, SEND_DMA));
}

TEST_F(send, DDP_43_both_ways_or_unknown_options_are_einval)
{
	connid_t c = self->stream.conn;
	int bit;

	EXPECT_ERR(EINVAL, ddsend(c, self->stream.out, 8, 0,
				  SEND_DMA | SEND_UNWIRED));
	for (bit = 0; bit < 31; bit++) {
		if ((1 << bit) & (SEND_BLOCK | SEND_UNWIRED | SEND_DMA))
			continue;
		EXPECT_ERR(EINVAL, ddsend(c, self->stream.out, 8, 0, 1 << bit));
	}
	EXPECT_EQ(0, p_ready(self->srv, 0));
}

TEST_F(send, DDP_44_1_bad_connid_is_ebadid)
{
	static const connid_t bad[] = { 0, -1, 0x7fffffff, 1, 1 << 18 };
	int i;

	for (i = 0; i < 5; i++)
		EXPECT_ERR(EBADID, ddsend(bad[i], self->split.out, 8, 0, 0));
	EXPECT_ERR(EBADID, ddsend(self->split.note, self->split.out, 8, 0, 0));
	ASSERT_OK(ddclose(self->split.conn));
	EXPECT_ERR(EBADID, ddsend(self->split.conn, self->split.out, 8, 0, 0));
}

TEST_F(send, DDP_44_2_closed_by_the_other_side_is_econnclose)
{
	ASSERT_OK(p_unserve(self->srv, self->s.serv));
	EXPECT_HEARD_ERR(ECONNCLOSE, ddsend(self->split.conn, self->split.out,
					    8, 0, SEND_NOOPTS));
	EXPECT_HEARD_ERR(ECONNCLOSE, ddsend(self->stream.conn, self->stream.out,
					    8, 0, SEND_BLOCK));
	EXPECT_ERR(ECONNCLOSE, ddsend(self->stream.conn, self->stream.out, 8, 0,
				      SEND_UNWIRED));
}

TEST_F(send, DDP_44_5_outside_of_the_buffers_is_ebadrange)
{
	static const struct { size_t len; long roffset; } bad[] = {
		{ BLOCK + 1, 0 }, { BLOCK, 1 }, { 1, BLOCK }, { 0, BLOCK + 1 },
		{ 8, BLOCK - 7 }, { 8, -8 }, { 8, -1 }, { 8, -0x7fffffffffffffff - 1 },
		{ 8, 0x7fffffffffffffff }, { (size_t)-1, 1 }, { (size_t)-8, 8 },
		{ (size_t)-8, 16 }, { 1ul << 63, 0 }, { 1ul << 32, 0 },
		{ (1ul << 32) + 8, 0 }, { 8, 1l << 32 },
	};
	address_t out = self->stream.out;
	connid_t c = self->stream.conn;
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		TH_LOG("case %d", i);
		EXPECT_ERR(EBADRANGE, ddsend(c, out, bad[i].len, bad[i].roffset,
					     SEND_NOOPTS));
	}
	/* The source is outside. */
	EXPECT_ERR(EBADRANGE, ddsend(c, out - 1, 8, 0, SEND_NOOPTS));
	EXPECT_ERR(EBADRANGE, ddsend(c, out + 2 * BLOCK - 7, 8, 0, SEND_NOOPTS));
	EXPECT_ERR(EBADRANGE, ddsend(c, self->stream.in, 8, 0, SEND_NOOPTS));
	EXPECT_ERR(EBADRANGE, ddsend(c, self->split.out, 8, 0, SEND_NOOPTS));
	EXPECT_ERR(EBADRANGE, ddsend(c, (char *)bad, 8, 0, SEND_NOOPTS));
	EXPECT_EQ(0, p_ready(self->srv, 0));
	EXPECT_EQ(0, ddsend(c, out, BLOCK, 0, SEND_NOOPTS));
}

TEST_F(send, DDP_12_DDP_45_metadata_appears_in_the_notification)
{
	unsigned int meta[4] = { 1, 0x80000000, 0, 0xffffffff };
	connid_t c = self->stream.conn;

	strcpy(self->stream.out, "body");
	ASSERT_OK(ddsend_with_metadata(c, self->stream.out, 5, 32, SEND_NOOPTS,
				       (address_t)meta, 4));
	meta[0] = 2;
	TAKE();
	EXPECT_EQ(4, self->there->metacount);
	EXPECT_EQ(1, self->there->metad[0]);
	EXPECT_EQ(0x80000000, self->there->metad[1]);
	EXPECT_EQ(0, self->there->metad[2]);
	EXPECT_EQ(0xffffffff, self->there->metad[3]);
	EXPECT_STREQ("body", (char *)self->srv->shm->data);
	/* In other respects it is ddsend(). */
	EXPECT_ERR(EBADRANGE, ddsend_with_metadata(c, self->stream.out, 5, BLOCK,
						   0, (address_t)meta, 4));
	EXPECT_ERR(EBADTYPE, ddsend_with_metadata(self->rpc.conn, self->rpc.out,
						  5, 0, 0, (address_t)meta, 4));
	EXPECT_ERR(EBADID, ddsend_with_metadata(0, self->stream.out, 5, 0, 0,
						(address_t)meta, 4));
	EXPECT_EQ(0, p_ready(self->srv, 0));
}

TEST_F(send, DDP_46_metacount_counts_words_up_to_4)
{
	unsigned int meta[8] = { 11, 22, 33, 44, 55, 66, 77, 88 };
	connid_t c = self->stream.conn;
	size_t n;
	int i;

	for (n = 0; n <= 4; n++) {
		memset(self->there->metad, 0xaa, sizeof(self->there->metad));
		ASSERT_SENT(ddsend_with_metadata(c, self->stream.out, 5, 0, 0,
						 (address_t)meta, n));
		TAKE();
		EXPECT_EQ(n, self->there->metacount);
		for (i = 0; i < (int)n; i++)
			EXPECT_EQ(meta[i], self->there->metad[i]);
	}
	EXPECT_ERR(EINVAL, ddsend_with_metadata(c, self->stream.out, 5, 0, 0,
						(address_t)meta, 5));
	EXPECT_ERR(EINVAL, ddsend_with_metadata(c, self->stream.out, 5, 0, 0,
						(address_t)meta, -1));
	EXPECT_EQ(-1, ddsend_with_metadata(c, self->stream.out, 5, 0, 0, NULL,
					   4));
	EXPECT_TRUE(errno == EINVAL || errno == EFAULT);
	ASSERT_SENT(ddsend_with_metadata(c, self->stream.out, 5, 0, 0, NULL, 0));
}

TEST_F(send, DDP_47_dddone_is_1_when_the_last_message_is_sent)
{
	connid_t c = self->stream.conn;

	/* Nothing was sent yet, so nothing is in flight. */
	EXPECT_EQ(1, dddone(c, 0));
	/* A message within one node is sent when ddsend() returns. */
	if (across_nodes())
		ASSERT_EQ(0, far_node_down());
	ASSERT_OK(ddsend(c, self->stream.out, BLOCK, 0, 0));
	EXPECT_EQ(!across_nodes(), dddone(c, 0));
	if (across_nodes())
		ASSERT_EQ(0, far_node_up());
	EXPECT_TRUE(HEARD(dddone(c, 0) == 1));
	EXPECT_ERR(EBADID, dddone(0, 0));
}

struct done {
	connid_t conn;
	pid_t tid;
	int ret;
};

static void *wait_until_done(void *arg)
{
	struct done *d = arg;

	__atomic_store_n(&d->tid, thread_id(), __ATOMIC_RELEASE);
	d->ret = dddone(d->conn, SDONE_SLEEP);
	return NULL;
}

TEST_F(send, DDP_48_sdone_sleep_blocks_until_sent)
{
	struct done d = { .conn = self->stream.conn };
	pthread_t thread;

	EXPECT_EQ(1, dddone(d.conn, SDONE_SLEEP));
	if (across_nodes())
		ASSERT_EQ(0, far_node_down());
	ASSERT_OK(ddsend(d.conn, self->stream.out, BLOCK, 0, 0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_until_done, &d));
	if (across_nodes()) {
		EXPECT_TRUE(WAIT_FOR(__atomic_load_n(&d.tid, __ATOMIC_ACQUIRE) &&
				     asleep_in(d.tid, SYS_ioctl)));
		EXPECT_EQ(0, dddone(d.conn, 0));
		ASSERT_EQ(0, far_node_up());
	}
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(1, d.ret);
	EXPECT_EQ(1, dddone(d.conn, 0));
}

TEST_F(send, DDP_49_1_dddone_of_no_connection_is_ebadid)
{
	EXPECT_ERR(EBADID, dddone(-1, 0));
	EXPECT_ERR(EBADID, dddone(self->stream.note, SDONE_SLEEP));
	ASSERT_OK(ddclose(self->stream.conn));
	EXPECT_ERR(EBADID, dddone(self->stream.conn, 0));
}

TEST_F(send, DDP_49_2_improper_options_are_einval)
{
	int bit;

	for (bit = 0; bit < 31; bit++)
		if ((1 << bit) != SDONE_SLEEP)
			EXPECT_ERR(EINVAL, dddone(self->stream.conn, 1 << bit));
}

TEST_F(send, DDP_50_ddflush_always_returns_0)
{
	EXPECT_EQ(0, ddflush(self->stream.in, BLOCK));
	EXPECT_EQ(0, ddflush(NULL, 0));
	EXPECT_EQ(0, ddflush((address_t)-1, (size_t)-1));
	EXPECT_EQ(0, ddflush((address_t)self, 1));
}

DD_TEST_MAIN
