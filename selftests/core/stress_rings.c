// SPDX-License-Identifier: GPL-2.0-only
/*
 * More sending processes than a list has rings, some of which are killed: rings
 * that become free go to senders without one, and every message is received once,
 * in order and with its contents.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <sys/mman.h>
#include "audit.h"
#include "dd.h"
#include "raw.h"

#define KILLED		4	/* senders in a turn */
#define SENDERS		(DD_RINGS_MAX + KILLED)
#define PLACES		(SENDERS + 8)	/* the kernel may still release some */
#define MANY		(SENDERS * 16)	/* connections of a test */
#define BLOCKS		8
#define SLOT		512	/* bytes of a block for one message */
#define BLOCK		(8 * PAGE)
#define WINDOW		4

/* Shared by the processes of a test. */
static struct shared {
	char name[DD_NAME_MAX + 1];
} *shared;

/* One in 64 is long. */
static size_t length_of(__u64 i)
{
	return i % 64 ? 8 + i * 24 % (SLOT - 8) : BLOCK - BLOCKS * SLOT;
}

static size_t offset_of(__u64 i)
{
	return i % 64 ? i % BLOCKS * SLOT : BLOCKS * SLOT;
}

static __u64 word_of(int who, __u64 i, size_t k)
{
	return (__u64)who << 56 ^ i << 24 ^ k;
}

static void send_one(struct dd *h, int conn, int who, __u64 *w, __u64 i)
{
	unsigned int meta = i;
	int ret;

	for (size_t k = 0; k < length_of(i) / 8; k++)
		w[k] = word_of(who, i, k);
	while ((ret = dd_send(h, conn, w, length_of(i), offset_of(i), 0, &meta,
			      i % 3 == 0)) == -ENOTREADY)
		CHILD_CHECK(dd_done(h, conn, DD_DONE_PLACED, DD_FOREVER) == 1);
	CHILD_CHECK(ret == 0);
}

/* Senders with even numbers wait for a reply to each message. */
static bool calls(int who)
{
	return who % 2 == 0;
}

/* Like send_one(), but waits for the reply. */
static void call_one(struct dd *h, int conn, int who, __u64 *w, __u64 i)
{
	struct dd_msg reply;

	for (size_t k = 0; k < length_of(i) / 8; k++)
		w[k] = word_of(who, i, k);
	CHILD_CHECK(dd_call(h, conn, w, length_of(i), &reply, 0,
			    DD_FOREVER) == 0);
	CHILD_CHECK(reply.len == 8 && *(__u64 *)reply.addr == ~i);
}

/* Sends numbered messages until killed. */
static void sender(int who)
{
	struct dd_connect_attr attr = { .size = sizeof(attr),
					.type = calls(who) ? DD_TYPE_RPC :
							     DD_TYPE_STREAM,
					.send_size = BLOCK,
					.recv_size = PAGE };
	struct dd_conn_desc desc;
	struct dd *h;
	int conn;

	CHILD_CHECK(dd_open(&h) == 0);
	CHILD_CHECK(dd_alloc(h, BLOCK, &attr.send) == 0);
	CHILD_CHECK(dd_alloc(h, PAGE, &attr.recv) == 0);
	while ((conn = dd_connect(h, shared->name, dd_node(h), &attr, NULL)) ==
	       -ENORESOURCE)
		usleep(1000);
	CHILD_CHECK(conn > 0);
	for (__u64 i = 1;; i++) {
		if (calls(who)) {
			call_one(h, conn, who, attr.send, i);
			continue;
		}
		/* A ring is granted only when all messages have been read. */
		if (i % 512 >= 496)
			usleep(3000);
		send_one(h, conn, who, attr.send, i);
		if (i % 256 == 0)
			CHILD_CHECK(dd_conn_info(h, conn, &desc) == 0 &&
				    desc.submitted == i);
	}
}

/* --- the receiver ----------------------------------------------------------*/

struct from {
	int conn;
	int who;
	__u64 seen;
};

struct reader {
	struct dd *h;
	int list;
	struct from from[MANY];
	int n;
	long got[SENDERS];
};

static void reader_open(struct __test_metadata *_metadata, struct reader *r)
{
	struct dd_serve_attr attr = { .size = sizeof(attr),
				      .maxconn = PLACES, .window = WINDOW,
				      .recv_size = PLACES * BLOCK,
				      .send_size = PLACES * PAGE };

	memset(r, 0, sizeof(*r));
	setenv("DD_DIRECT", "1", 1);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
	snprintf(shared->name, sizeof(shared->name), "rings.%d", getpid());
	ASSERT_EQ(0, dd_open(&r->h));
	ASSERT_EQ(0, dd_alloc(r->h, attr.recv_size, &attr.recv));
	ASSERT_EQ(0, dd_alloc(r->h, attr.send_size, &attr.send));
	ASSERT_LT(0, dd_serve(r->h, shared->name, &attr, &r->list));
}

static struct from *from_of(struct reader *r, const struct dd_msg *msg)
{
	int i = 0;

	while (i < r->n && r->from[i].conn != msg->conn)
		i++;
	if (i == MANY)
		return NULL;
	if (i == r->n)
		r->from[r->n++] = (struct from){ .conn = msg->conn, .who = -1 };
	return &r->from[i];
}

/* @mortal: the sender may have been killed. */
static void check(struct __test_metadata *_metadata, struct reader *r,
		  const struct dd_msg *msg, bool mortal)
{
	struct from *from = from_of(r, msg);
	const __u64 *w = msg->addr;
	__u64 i;
	int ret;

	ASSERT_NE(NULL, from);
	ASSERT_EQ(DD_MSG_DATA, msg->type);
	i = ++from->seen;
	ASSERT_EQ((__u32)i, msg->msgid);
	ASSERT_EQ(length_of(i), msg->len);
	if (from->who < 0)
		from->who = *w >> 56;
	ASSERT_GT(SENDERS, from->who);
	for (size_t k = 0; k < msg->len / 8; k++)
		ASSERT_EQ(word_of(from->who, i, k), w[k]);
	r->got[from->who]++;
	if (calls(from->who)) {
		*(__u64 *)msg->send = ~i;
		ret = dd_reply(r->h, msg, msg->send, 8, 0, 0);
		ASSERT_TRUE(!ret || (mortal && ret == -ECONNCLOSE));
		return;
	}
	ASSERT_EQ(i % 3 == 0, msg->meta_count);
	if (msg->meta_count)
		ASSERT_EQ((__u32)i, msg->meta[0]);
}

static void receive(struct __test_metadata *_metadata, struct reader *r,
		    bool mortal)
{
	struct dd_msg msg;
	int ret = dd_recv(r->h, r->list, &msg, 0, 1000000);

	if (ret == -ETIMEDOUT)
		return;
	ASSERT_EQ(0, ret);
	check(_metadata, r, &msg, mortal);
}

/* Clients that send directly, as the kernel reports. */
static int direct(void)
{
	FILE *f = popen("ddctl -j conn | jq '[.[] | select(.direct and .role == \"client\")] | length'",
			"r");
	int found = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &found) != 1)
		found = -1;
	return pclose(f) ? -1 : found;
}

static pid_t start(int who)
{
	pid_t pid = fork_child();

	if (!pid)
		sender(who);
	return pid;
}

/* Receives until all rings have a sender. */
static void until_all_are_taken(struct __test_metadata *_metadata,
				struct reader *r, bool mortal)
{
	double end = dd_now() + 12 * dd_patience() / 1e3;
	int found = 0;

	for (long k = 1; found < DD_RINGS_MAX; k++) {
		receive(_metadata, r, mortal);
		if (k % 4096)
			continue;
		found = direct();
		ASSERT_LE(0, found);
		ASSERT_GT(end, dd_now()) {
			TH_LOG("%d send directly", found);
		}
		ASSERT_EQ(0, waitpid(-1, NULL, WNOHANG));
	}
	EXPECT_EQ(DD_RINGS_MAX, found);
}

FIXTURE(rings) {
};

FIXTURE_SETUP(rings)
{
}

FIXTURE_TEARDOWN(rings)
{
}

TEST_F_TIMEOUT(rings, of_killed_senders_go_to_others, 300)
{
	static struct reader r;
	pid_t pids[SENDERS];
	int i;

	reader_open(_metadata, &r);
	for (i = 0; i < SENDERS; i++)
		pids[i] = start(i);
	while (r.n < SENDERS)
		receive(_metadata, &r, false);
	until_all_are_taken(_metadata, &r, false);
	for (int turn = 0; turn < dd_count(6); turn++) {
		for (int k = 0; k < KILLED; k++) {
			i = random() % SENDERS;
			kill_child(pids[i]);
			pids[i] = start(i);
		}
		until_all_are_taken(_metadata, &r, true);
	}
	for (i = 0; i < SENDERS; i++) {
		EXPECT_LT(0, r.got[i]);
		kill_child(pids[i]);
	}
	EXPECT_EQ(0, dd_shutdown(r.h));
	EXPECT_CLEAN();
}

DD_TEST_MAIN
