// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddsend, ddsend_with_metadata, dddone and ddflush (requirements DDP-36 to
 * DDP-50).
 *
 * Copyright (C) 2026 The dd authors
 */
#include "ddp.h"
#include <pthread.h>
#include <sys/mman.h>

TEST_F(ddp, DDP_36_deposits_len_bytes_at_roffset_from_anywhere_in_the_send_buffer)
{
	static const struct { size_t len, roffset, from; } cases[] = {
		{ 1, 0, 0 }, { 1, 1, 1 }, { 7, 3, 7 }, { 8, 8, 8 }, { 9, 15, 2 * BLOCK - 9 },
		{ 64, 1, BLOCK - 3 }, { 1000, 77, 100 }, { BLOCK, 0, BLOCK }, { BLOCK - 1, 1, 3 },
		{ 1, BLOCK - 1, 0 }, { 0, 0, 0 }, { 0, BLOCK, 2 * BLOCK }, { 2049, 2047, 0 },
	};
	unsigned char want[BLOCK] = {}, got[BLOCK];
	conninfo_t *info = &self->srv->shm->info;
	size_t i, k, len, at;
	address_t out;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		len = cases[i].len;
		at = cases[i].roffset;
		out = self->stream.out + cases[i].from;
		for (k = 0; k < len; k++)
			want[at + k] = out[k] = (char)(k * 7 + i + 1);
		ASSERT_OK(ddsend(self->stream.conn, out, len, at, SEND_BLOCK));
		TAKE();
		EXPECT_EQ(len, self->there->msgsize);
		ASSERT_OK(p_info(self->srv, self->there->connid));
		EXPECT_EQ((void *)(info->recvbase + at), (void *)self->there->msgaddr);
		ASSERT_OK(p_read(self->srv, info->recvbase, got, BLOCK));
		EXPECT_EQ(0, memcmp(want, got, BLOCK)) {
			TH_LOG("len %zu at %zu", len, at);
		}
	}
}

TEST_F(ddp, DDP_37_DDP_41_the_buffer_may_be_altered_after_dddone_or_a_send_with_block)
{
	struct slot *c = &self->stream;

	EXPECT_EQ(0, SEND_NOOPTS);
	ASSERT_OK(ddsend(c->conn, strcpy(c->out, "first"), 6, 0, SEND_NOOPTS));
	ASSERT_EQ(1, dddone(c->conn, SDONE_SLEEP));
	strcpy(c->out, "other");
	TAKE();
	EXPECT_STREQ("first", (char *)self->srv->shm->data);
	ASSERT_SENT(ddsend(c->conn, strcpy(c->out, "second"), 7, 0, SEND_BLOCK));
	EXPECT_EQ(1, dddone(c->conn, 0));
	strcpy(c->out, "other");
	TAKE();
	EXPECT_STREQ("second", (char *)self->srv->shm->data);
}

TEST_F(ddp, DDP_38_DDP_44_4_ebadtype_on_an_rpc_connection_at_the_client_only)
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

TEST_F(ddp, DDP_25_DDP_39_DDP_44_3_split_second_send_is_eslotbusy)
{
	ddrecv_desc_t d;

	/* A refused message takes no slot. */
	EXPECT_ERR(EBADRANGE, ddsend(self->split.conn, self->split.out, 8,
				     BLOCK, SEND_NOOPTS));
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

/*
 * Messages wait until they are read, at least @n of each end. More may be accepted, or are refused
 * until there is room; those that were accepted arrive.
 */
static void accept_unread(struct __test_metadata *_metadata, struct worker *srv, int slot,
			  const struct slot *c, int n)
{
	ddrecv_desc_t *there = &srv->shm->desc, d;
	connid_t back = 0;
	int i, sent;

	for (i = 0; i < n; i++) {
		*(int *)(c->out + 8 * i) = i;
		ASSERT_OK(ddsend(c->conn, c->out + 8 * i, 8, 8 * i, SEND_NOOPTS));
	}
	sent = n + FILL(ddsend(c->conn, c->out, 8, 8 * n, SEND_NOOPTS));
	/* One more is accepted for each message read. */
	for (i = 0; i < n; i++) {
		ASSERT_OK(p_recv(srv, slot, RECV_SLEEP, 0));
		EXPECT_EQ(i, *(int *)srv->shm->data);
		ASSERT_SENT(ddsend(c->conn, c->out, 8, 8 * n, SEND_NOOPTS));
	}
	back = there->connid;
	while (sent--)
		ASSERT_OK(p_recv(srv, slot, RECV_SLEEP, 0));
	EXPECT_ERR(EWOULDBLOCK, p_recv(srv, slot, RECV_NOBLOCK, 0));
	/* The peer has one buffer to send from, so each call waits. */
	for (i = 0; i < n; i++)
		ASSERT_OK(p_send(srv, back, &i, sizeof(i), 8 * i, SEND_BLOCK));
	FILL(p_send(srv, back, "x", 2, 8 * n, SEND_NOOPTS));
	for (i = 0; i < n; i++) {
		ASSERT_OK(ddrecv(c->note, &d, RECV_SLEEP, 0));
		EXPECT_EQ(i, *(int *)d.msgaddr);
	}
}

TEST_F(ddp, DDP_26_DDP_40_DDP_44_6_a_stream_accepts_16_unread_messages_at_both_ends)
{
	accept_unread(_metadata, self->srv, 0, &self->stream, UNREAD);
}

#define WINDOW	40

TEST_F(ddp, DDP_40_a_window_lets_more_be_unacknowledged_at_both_ends)
{
	struct peer_serve serve = {
		.name = own_name("w"), .flags = SERVE_WINDOW(WINDOW), .maxconn = 1,
		.recvsize = BLOCK, .sendsize = BLOCK, .slot = 1, .share = -1,
	};
	struct slot c = { .in = ddalloc(BLOCK), .out = ddalloc(BLOCK) };

	ASSERT_OK(p_serve(self->srv, &serve));
	ASSERT_OK(ddconn((char *)serve.name, far_node(), TYPE_SSTREAM, CONN_WINDOW(WINDOW), c.out,
			 BLOCK, c.in, BLOCK, &c.conn, &c.note));
	accept_unread(_metadata, self->srv, 1, &c, WINDOW);
}

TEST_F(ddp, DDP_26_a_list_of_their_own_has_room_for_16_unread_messages)
{
	struct worker *srv = self->srv;
	struct peer_serve serve = {
		.name = own_name("a"), .flags = SERVE_DOACCEPT, .maxconn = 1,
		.recvsize = BLOCK, .sendsize = BLOCK, .slot = 1, .share = -1,
	};
	struct slot c;
	int i;

	ASSERT_OK(p_serve(srv, &serve));
	ASSERT_OK(open_conn(&c, serve.name, TYPE_SSTREAM, BLOCK));
	for (i = 0; i < UNREAD; i++)
		ASSERT_OK(ddsend(c.conn, c.out, 8, 0, SEND_NOOPTS));
}

TEST_F(ddp, DDP_42_unwired_takes_any_readable_memory)
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

TEST_F(ddp, DDP_42_unreadable_source_is_efault_and_not_counted)
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

TEST_F(ddp, DDP_43_dma_takes_any_ddalloc_memory_and_no_other)
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

TEST_F(ddp, DDP_43_both_ways_or_unknown_options_are_einval)
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

TEST_F(ddp, DDP_44_5_outside_of_the_buffers_is_ebadrange)
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

TEST_F(ddp, DDP_12_DDP_45_DDP_46_DDP_56_the_notification_has_up_to_4_words_of_metadata)
{
	static const unsigned int all[] = { 1, 0x80000000, 0, 0xffffffff };
	unsigned int meta[4], *got = self->there->metad;
	connid_t c = self->stream.conn;
	size_t n;
	int i;

	strcpy(self->stream.out, "body");
	for (n = 0; n <= 4; n++) {
		memcpy(meta, all, sizeof(meta));
		memset(got, 0xaa, sizeof(meta));
		ASSERT_SENT(ddsend_with_metadata(c, self->stream.out, 5, 32, 0,
						 (address_t)meta, n));
		memset(meta, 2, sizeof(meta));
		TAKE();
		EXPECT_EQ(n, self->there->metacount);
		/* Without metadata the words stay as they were. */
		for (i = 0; i < (int)(n ?: 4); i++)
			EXPECT_EQ(n ? all[i] : 0xaaaaaaaa, got[i]);
		EXPECT_STREQ("body", (char *)self->srv->shm->data);
	}
	ASSERT_SENT(ddsend_with_metadata(c, self->stream.out, 5, 0, 0, NULL, 0));
	TAKE();
	EXPECT_ERR(EINVAL, ddsend_with_metadata(c, self->stream.out, 5, 0, 0,
						(address_t)meta, 5));
	EXPECT_ERR(EINVAL, ddsend_with_metadata(c, self->stream.out, 5, 0, 0,
						(address_t)meta, -1));
	EXPECT_EQ(-1, ddsend_with_metadata(c, self->stream.out, 5, 0, 0, NULL, 4));
	EXPECT_TRUE(errno == EINVAL || errno == EFAULT);
	/* In other respects it is ddsend(). */
	EXPECT_ERR(EBADRANGE, ddsend_with_metadata(c, self->stream.out, 5, BLOCK,
						   0, (address_t)meta, 4));
	EXPECT_ERR(EBADTYPE, ddsend_with_metadata(self->rpc.conn, self->rpc.out,
						  5, 0, 0, (address_t)meta, 4));
	EXPECT_EQ(0, p_ready(self->srv, 0));
}

struct done {
	connid_t conn;
	pid_t tid;
	int ret;
};

static void *wait_until_done(void *arg)
{
	struct done *d = arg;

	__atomic_store_n(&d->tid, gettid(), __ATOMIC_RELEASE);
	d->ret = dddone(d->conn, SDONE_SLEEP);
	return NULL;
}

TEST_F(ddp, DDP_47_DDP_48_dddone_is_1_when_the_last_message_is_sent)
{
	struct done d = { .conn = self->stream.conn };
	pthread_t thread;

	/* Nothing was sent yet, so nothing is in flight. */
	EXPECT_EQ(1, dddone(d.conn, 0));
	EXPECT_EQ(1, dddone(d.conn, SDONE_SLEEP));
	if (across_nodes())
		ASSERT_EQ(0, far_node_down());
	/* A message within one node is sent when ddsend() returns. */
	ASSERT_OK(ddsend(d.conn, self->stream.out, BLOCK, 0, 0));
	EXPECT_EQ(!across_nodes(), dddone(d.conn, 0));
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

TEST_F(ddp, DDP_49_2_improper_options_are_einval)
{
	int bit;

	for (bit = 0; bit < 31; bit++)
		if ((1 << bit) != SDONE_SLEEP)
			EXPECT_ERR(EINVAL, dddone(self->stream.conn, 1 << bit));
}

TEST_F(ddp, DDP_50_ddflush_always_returns_0)
{
	EXPECT_EQ(0, ddflush(self->stream.in, BLOCK));
	EXPECT_EQ(0, ddflush(NULL, 0));
	EXPECT_EQ(0, ddflush((address_t)-1, (size_t)-1));
	EXPECT_EQ(0, ddflush((address_t)self, 1));
}

DD_TEST_MAIN
