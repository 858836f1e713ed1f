// SPDX-License-Identifier: GPL-2.0-only
/*
 * Direct rings: more senders than rings, some of which are killed, and rings with
 * anything that a hostile process may write into them, at either end. Traffic of
 * other connections stays correct, and no call hangs.
 * DD_SEED, which is printed, decides what is written, but not when.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <sys/mman.h>
#include "audit.h"
#include "dd.h"
#include "raw.h"

#define BLOCKS		8
#define SLOT		512	/* bytes of a block for one message */
#define WINDOW		4
#define MS		1000000ll
#define SENDERS		(DD_RINGS_MAX + 4)

/* Memory that the processes of a test share beside dd. */
static struct shared {
	char name[2][DD_NAME_MAX + 1];
	unsigned int seed;
	pid_t honest;
	__u64 honest_conn;	/* whose messages enemies forge */
	long attacks;
	pid_t pids[SENDERS];	/* of honest senders */
	__u64 read[SENDERS];	/* how many of their messages were read */
} *shared;

static void setup(struct __test_metadata *_metadata)
{
	shared = shared_memory(sizeof(*shared));
	shared->seed = dd_seed(_metadata);
	for (int i = 0; i < 2; i++)
		snprintf(shared->name[i], sizeof(shared->name[i]),
			 "ring.%d.%d", getpid(), i);
	setenv("DD_DIRECT", "1", 1);
}

/* --- honest processes ------------------------------------------------------*/

static size_t length_of(__u64 i)
{
	return 8 + i * 24 % (SLOT - 8);
}

static void fill(__u64 *w, __u64 i)
{
	for (size_t k = 0; k < length_of(i) / 8; k++)
		w[k] = i << 16 ^ ~k;
}

static bool filled(const __u64 *w, __u64 i)
{
	for (size_t k = 0; k < length_of(i) / 8; k++)
		if (w[k] != (i << 16 ^ ~k))
			return false;
	return true;
}

/* Connects with a page to send from and one to receive in, which are made if there are none. */
static int connect_to(struct dd *h, int which, struct dd_connect_attr *attr, int type, int *list)
{
	attr->size = sizeof(*attr);
	attr->type = type;
	attr->send_size = attr->recv_size = PAGE;
	if (!attr->send && (dd_alloc(h, PAGE, &attr->send) || dd_alloc(h, PAGE, &attr->recv)))
		return -ENOMEM;
	return dd_connect(h, shared->name[which], dd_node(h), attr, list);
}

struct reader {
	struct dd *h;
	int list;
	char *recv;
	__u64 seen;
};

static int reader_open(struct reader *r, int which, unsigned int maxconn)
{
	struct dd_serve_attr attr = { .size = sizeof(attr), .maxconn = maxconn,
				      .window = WINDOW,
				      .recv_size = maxconn * PAGE,
				      .send_size = maxconn * PAGE };
	int ret = dd_open(&r->h);

	if (!ret)
		ret = dd_alloc(r->h, attr.recv_size, &attr.recv);
	if (!ret)
		ret = dd_alloc(r->h, attr.send_size, &attr.send);
	if (!ret)
		ret = dd_serve(r->h, shared->name[which], &attr, &r->list);
	r->recv = attr.recv;
	r->seen = 0;
	return ret < 0 ? ret : 0;
}

/* Numbered messages, forever; the block has room for all unread ones. */
static void honest_sender(int slot)
{
	struct dd_connect_attr attr = { };
	unsigned int meta[4];
	struct dd *h;
	int conn, ret;

	CHILD_CHECK(dd_open(&h) == 0);
	/* The kernel may still have to end the connections of killed senders. */
	while ((conn = connect_to(h, 0, &attr, DD_TYPE_STREAM, NULL)) == -ENORESOURCE)
		usleep(1000);
	CHILD_CHECK(conn > 0);
	for (__u64 i = 1;; i++) {
		/* A ring is granted only when all messages have been read. */
		while (i % 512 >= 496 &&
		       __atomic_load_n(&shared->read[slot], __ATOMIC_RELAXED) != i - 1)
			usleep(100);
		fill(attr.send, i);
		for (int k = 0; k < 4; k++)
			meta[k] = i + k;
		while ((ret = dd_send(h, conn, attr.send, length_of(i),
				      i % BLOCKS * SLOT, 0, meta, i % 5)) ==
		       -ENOTREADY)
			CHILD_CHECK(dd_done(h, conn, DD_DONE_PLACED,
					    DD_FOREVER) == 1);
		CHILD_CHECK(ret == 0);
	}
}

/* Replies to each request with its complement. */
static void honest_server(int ready)
{
	struct dd_msg msg;
	struct reader r;

	CHILD_CHECK(reader_open(&r, 1, BLOCKS) == 0);
	child_report(ready);
	for (;;) {
		CHILD_CHECK(dd_recv(r.h, r.list, &msg, 0, DD_FOREVER) == 0);
		for (size_t k = 0; k < msg.len / 8; k++)
			((__u64 *)msg.send)[k] = ~((__u64 *)msg.addr)[k];
		CHILD_CHECK(dd_reply(r.h, &msg, msg.send, msg.len, 0, 0) == 0);
	}
}

/* --- enemies ---------------------------------------------------------------*/

static void attack_note(struct way *w, unsigned int *seed)
{
	const __u64 conns[] = { w->d.peer_conn, w->d.peer_conn, 0,
				shared->honest_conn, raw_random(seed) };
	struct dd_ring_note *n, note = {
		.conn = conns[rand_r(seed) % 5],
		.meta_count = raw_random(seed),
		.offset = rand_r(seed) % 2 ? raw_random(seed) : rand_r(seed) % PAGE,
		.len = rand_r(seed) % 2 ? raw_random(seed) : rand_r(seed) % PAGE,
		.word = raw_random(seed),
		.msgid = raw_random(seed),
		.tag = raw_random(seed),
	};

	for (int i = 0; i < 3; i++)
		note.block[i] = rand_r(seed) % 2 ? raw_random(seed) : 0;
	/* At the reader's position, and as if other threads had left gaps. */
	if (rand_r(seed) % 4 == 0)
		w->pos = w->state->head;
	if (rand_r(seed) % 32 == 0)
		w->pos += rand_r(seed) % w->d.slots;
	n = way_slot(w, w->pos);
	memcpy((char *)n + 8, (char *)&note + 8, sizeof(note) - 8);
	__atomic_store_n(&n->seq, ++w->pos, __ATOMIC_RELEASE);
}

static void attack(const struct raw *r, __u64 conn, __u32 state_unit,
		   struct way *w, unsigned int *seed)
{
	__u64 *notes = (__u64 *)w->notes;
	size_t words = way_notes_size(w) / 8;

	__atomic_fetch_add(&shared->attacks, 1, __ATOMIC_RELAXED);
	switch (rand_r(seed) % 16) {
	default:
		attack_note(w, seed);
		break;
	case 0:
		notes[raw_random(seed) % words] = raw_random(seed);
		break;
	case 1:
		notes[raw_random(seed) % words] += rand_r(seed) % 5 - 2;
		break;
	case 2:
		memset(w->notes, raw_random(seed), way_notes_size(w));
		break;
	case 3:
		memset(w->block, raw_random(seed), w->d.block_size);
		break;
	case 4:
		raw_op(r, DD_IOC_WAKE, conn);
		break;
	case 5:
		((__u64 *)raw_state(r, state_unit))[raw_random(seed) % 16] = raw_random(seed);
		raw_op(r, DD_IOC_DOORBELL, conn);
		break;
	}
}

/* Connects, writes random notes, closes or just exits; forever. */
static void hostile_sender(unsigned int seed)
{
	struct client c;

	for (;;) {
		CHILD_CHECK(client_prepare(&c, shared->name[0]) == 0);
		if (raw_connect(&c.r, &c.c)) {
			CHILD_CHECK(errno == EUSERS);
		} else if (!client_way(&c)) {
			for (int n = rand_r(&seed) % 4000; n; n--)
				attack(&c.r, c.c.conn, c.c.state_unit, &c.w, &seed);
			if (rand_r(&seed) % 2)
				client_close(&c);
			way_unmap(&c.w);
		}
		munmap(c.m.at, c.m.len);
		raw_close(&c.r);
	}
}

/* Writes random values where a reader reports, and into the notes it reads. */
static void lie(const struct server *s, unsigned int *seed)
{
	struct dd_list_head *lh = raw_list(&s->r, s->s.list_unit);
	struct dd_ring_state *state;
	unsigned int i = rand_r(seed) % DD_RINGS_MAX;

	state = i < lh->rings ? ring_of(&s->r, s->s.list_unit, i) : NULL;
	__atomic_fetch_add(&shared->attacks, 1, __ATOMIC_RELAXED);
	switch (state ? rand_r(seed) % 8 : 8) {
	case 0:
		state->head = raw_random(seed);
		break;
	case 1:
	case 2:
		state->head += rand_r(seed) % 9 - 4;
		break;
	case 3:
		state->need_wake = raw_random(seed);
		break;
	case 4:
		state->slots = raw_random(seed);
		break;
	case 5:
		memset((char *)state + PAGE, raw_random(seed), PAGE);
		break;
	case 6:
		raw_op(&s->r, DD_IOC_LIST_KICK, s->s.list);
		break;
	default:
		raw_list_wait(&s->r, s->s.list, 1000);
	}
}

/* Attacks one connection at a time, and sends to it as well now and then. */
static void lie_to(const struct server *s, __u64 conn, unsigned int *seed)
{
	bool writes = rand_r(seed) % 2;
	struct way w;

	writes = writes && !way_open(&s->r, conn, &w);
	for (int n = rand_r(seed) % 2000; n; n--) {
		lie(s, seed);
		if (writes)
			attack(&s->r, conn, s->s.states_unit, &w, seed);
	}
	raw_op(&s->r, DD_IOC_CLOSE, conn);
	if (writes)
		way_unmap(&w);
}

/* A receiver that reports wrong positions, forever. */
static void hostile_server(int ready)
{
	unsigned int seed = shared->seed;
	struct server s;
	__u64 conn;

	for (;;) {
		CHILD_CHECK(server_prepare(&s, shared->name[0], 1) == 0);
		s.s.window = WINDOW;
		/* The previous service may not have ended yet. */
		if (!raw_serve(&s.r, &s.s)) {
			if (ready >= 0)
				child_report(ready);
			ready = -1;
			for (int n = 0; n < 500; n++) {
				conn = server_conn(&s);
				if (conn)
					lie_to(&s, conn, &seed);
				else
					sched_yield();
			}
		}
		munmap(s.m.at, s.m.len);
		raw_close(&s.r);
	}
}

/* --- a reader among enemies ------------------------------------------------*/

static bool is_honest(struct reader *r, int conn)
{
	struct dd_conn_desc desc;

	if (!shared->honest_conn && !dd_conn_info(r->h, conn, &desc) &&
	    desc.pid == shared->honest)
		shared->honest_conn = conn;
	return shared->honest_conn && (__u32)conn == shared->honest_conn;
}

static void check_honest(struct __test_metadata *_metadata, struct reader *r,
			 const struct dd_msg *msg)
{
	__u64 i = ++r->seen;

	ASSERT_EQ((__u32)i, msg->msgid);
	ASSERT_EQ(length_of(i), msg->len);
	ASSERT_EQ(i % BLOCKS * SLOT,
		  (size_t)((char *)msg->addr - r->recv) % PAGE);
	ASSERT_TRUE(filled(msg->addr, i));
	ASSERT_EQ(i % 5, msg->meta_count);
	for (unsigned int k = 0; k < msg->meta_count; k++)
		ASSERT_EQ((__u32)i + k, msg->meta[k]);
	__atomic_store_n(&shared->read[0], i, __ATOMIC_RELAXED);
}

/* A message of an enemy lies in one block. */
static void check_bounds(struct __test_metadata *_metadata,
			 const struct reader *r, const struct dd_msg *msg)
{
	size_t at = (char *)msg->addr - r->recv;

	ASSERT_EQ(DD_MSG_DATA, msg->type);
	ASSERT_GE(BLOCKS * PAGE, at);
	ASSERT_GE(4, msg->meta_count);
	/* The byte behind a block is the next block's first. */
	if (msg->len)
		ASSERT_EQ(at / PAGE, (at + msg->len - 1) / PAGE);
}

static int any_recv(struct reader *r, struct dd_msg *msg, unsigned int how)
{
	int ret;

	switch (how % 8) {
	case 0:
		return dd_recv(r->h, r->list, msg, DD_RECV_SLEEP, MS);
	case 1:
		return dd_recv(r->h, r->list, msg, 0, 0);
	case 2:
		ret = dd_poll(r->h, &r->list, 1, MS);
		break;
	case 3:
		ret = dd_peek(r->h, r->list, msg);
		break;
	default:
		return dd_recv(r->h, r->list, msg, 0, MS);
	}
	return ret < 0 ? ret : -EWOULDBLOCK;
}

static pid_t enemy(void (*fn)(unsigned int), unsigned int seed)
{
	pid_t pid = fork_child();

	if (!pid)
		fn(seed);
	return pid;
}

static pid_t server(void (*fn)(int))
{
	int ready;
	pid_t pid = fork_until_report(&ready);

	if (!pid)
		fn(ready);
	return pid;
}

TEST(senders_that_write_anything)
{
	/* Enemies send all the time and get most of the reader's time. */
	const __u64 want = dd_count(500);
	struct reader r;
	struct dd_msg msg;
	pid_t honest, pids[2];
	long others = 0;
	int ret;

	setup(_metadata);
	ASSERT_EQ(0, reader_open(&r, 0, BLOCKS));
	honest = fork_child();
	if (!honest)
		honest_sender(0);
	shared->honest = honest;
	for (int i = 0; i < 2; i++)
		pids[i] = enemy(hostile_sender, shared->seed + i);
	/* Some of what the enemies write must be valid messages. */
	for (unsigned int k = 0; r.seen < want || !others; k++) {
		ret = any_recv(&r, &msg, k);
		if (ret) {
			ASSERT_TRUE(ret == -EWOULDBLOCK || ret == -ETIMEDOUT) {
				TH_LOG("%d", ret);
			}
			ASSERT_EQ(0, waitpid(-1, NULL, WNOHANG));
			continue;
		}
		if (is_honest(&r, msg.conn)) {
			check_honest(_metadata, &r, &msg);
		} else {
			check_bounds(_metadata, &r, &msg);
			others++;
		}
	}
	TH_LOG("%ld attacks, %ld messages of enemies", shared->attacks, others);
	EXPECT_LT(0, shared->attacks);
	ASSERT_EQ(0, waitpid(-1, NULL, WNOHANG));
	for (int i = 0; i < 2; i++)
		kill_child(pids[i]);
	kill_child(honest);
	EXPECT_EQ(0, dd_shutdown(r.h));
	EXPECT_CLEAN();
}

/* Empty notes, as fast as they can be written. */
static void empty_note_sender(unsigned int seed)
{
	struct client c;
	struct way *w = &c.w;

	CHILD_CHECK(client_open(&c, shared->name[0]) == 0);
	CHILD_CHECK(client_way(&c) == 0);
	for (;;) {
		__u64 head = __atomic_load_n(&w->state->head, __ATOMIC_RELAXED);

		if (w->pos < head)
			w->pos = head;
		for (; w->pos < head + w->d.slots; w->pos++)
			__atomic_store_n(&way_slot(w, w->pos)->seq, w->pos + 1,
					 __ATOMIC_RELEASE);
		shared->attacks++;
	}
}

TEST(empty_notes_delay_no_call)
{
	struct reader r;
	struct dd_msg msg;
	pid_t pid;

	setup(_metadata);
	ASSERT_EQ(0, reader_open(&r, 0, BLOCKS));
	pid = enemy(empty_note_sender, 0);
	for (int i = 0; i < dd_count(200); i++) {
		long before = shared->attacks;

		ASSERT_SOON(shared->attacks != before);
		ASSERT_EQ(-EWOULDBLOCK, dd_recv(r.h, r.list, &msg, 0, 0));
		ASSERT_EQ(-ETIMEDOUT, dd_recv(r.h, r.list, &msg,
					      i % 2 ? 0 : DD_RECV_SLEEP, MS));
		ASSERT_EQ(0, dd_peek(r.h, r.list, &msg));
		ASSERT_EQ(0, waitpid(pid, NULL, WNOHANG));
	}
	kill_child(pid);
	EXPECT_EQ(0, dd_shutdown(r.h));
	EXPECT_CLEAN();
}

/* --- more senders than a list has rings -------------------------------------*/

#define PLACES		(SENDERS + 8)	/* the kernel may still release some */
#define MANY		(SENDERS * 16)	/* connections of a test */

/* What one connection has sent. */
struct from {
	int conn, slot;		/* slot: of the process */
	pid_t pid;
	__u64 seen;
};

static struct from *from_of(struct dd *h, struct from *from, int *n, int conn)
{
	struct dd_conn_desc desc;
	int i = 0;

	while (i < *n && from[i].conn != conn)
		i++;
	if (i == MANY || (i == *n && dd_conn_info(h, conn, &desc)))
		return NULL;
	if (i < *n)
		return &from[i];
	from[i] = (struct from){ .conn = conn, .pid = desc.pid };
	while (from[i].slot < SENDERS - 1 && shared->pids[from[i].slot] != desc.pid)
		from[i].slot++;
	*n = i + 1;
	return &from[i];
}

static void receive(struct __test_metadata *_metadata, struct reader *r,
		    struct from *all, int *n)
{
	struct dd_msg msg;
	struct from *from;
	int ret = dd_recv(r->h, r->list, &msg, 0, 1000 * MS);

	if (ret == -ETIMEDOUT)
		return;
	ASSERT_EQ(0, ret);
	from = from_of(r->h, all, n, msg.conn);
	ASSERT_NE(NULL, from);
	ASSERT_EQ((__u32)++from->seen, msg.msgid);
	ASSERT_EQ(length_of(from->seen), msg.len);
	ASSERT_TRUE(filled(msg.addr, from->seen));
	/* Messages of a killed sender may come after its successor has begun. */
	if (shared->pids[from->slot] == from->pid)
		__atomic_store_n(&shared->read[from->slot], from->seen,
				 __ATOMIC_RELAXED);
}

/*
 * Receives until as many clients are there as @count, which the kernel reports, says; and then
 * what killed ones have left, as long as it keeps their rings.
 */
static void receive_until(struct __test_metadata *_metadata, struct reader *r,
			  struct from *all, int *n, const char *which, int count)
{
	bool there = false;

	while (!there) {
		there = printed_number("ddctl -j conn | jq '[.[] | select(%s and "
				       ".role == \"client\")] | length'", which) == count;
		for (int i = 0; i < 1024; i++)
			receive(_metadata, r, all, n);
	}
	ASSERT_EQ(0, waitpid(-1, NULL, WNOHANG));
}

static void start(int slot)
{
	pid_t pid;

	shared->read[slot] = 0;
	pid = fork_child();
	if (!pid)
		honest_sender(slot);
	shared->pids[slot] = pid;
}

/*
 * Messages arrive directly or by the kernel, once and in order on each connection.
 * Rings of senders that were killed go to senders without one.
 */
TEST(rings_of_killed_senders_go_to_others)
{
	static struct from from[MANY];
	struct reader r;
	int n = 0, i;

	setup(_metadata);
	ASSERT_EQ(0, reader_open(&r, 0, PLACES));
	for (i = 0; i < SENDERS; i++)
		start(i);
	while (n < SENDERS)
		receive(_metadata, &r, from, &n);
	for (int turn = 0; turn < dd_count(4); turn++) {
		for (i = turn; i < SENDERS; i += 5)
			kill_child(shared->pids[i]);
		receive_until(_metadata, &r, from, &n, "true", SENDERS - (SENDERS - turn + 4) / 5);
		for (i = turn; i < SENDERS; i += 5)
			start(i);
		receive_until(_metadata, &r, from, &n, ".direct", DD_RINGS_MAX);
	}
	/* A sender without a ring asks again after 512 messages: minutes on a slow kernel. */
	for (i = 0; i < SENDERS - DD_RINGS_MAX && dd_scale() == 1; i++)
		kill_child(shared->pids[i]);
	receive_until(_metadata, &r, from, &n, ".direct", DD_RINGS_MAX);
	while (i < SENDERS)
		kill_child(shared->pids[i++]);
	EXPECT_EQ(0, dd_shutdown(r.h));
	EXPECT_CLEAN();
}

/* --- a sender among enemies ------------------------------------------------*/

struct sender {
	struct dd *h;
	int good, bad;		/* connections */
	int list;		/* of the bad connection */
	struct dd_connect_attr to_good, to_bad;
};

/* Whatever a liar does, a call returns a documented error. */
static void send_to_liar(struct __test_metadata *_metadata, struct sender *s,
			 unsigned int *seed)
{
	struct dd_msg msg;
	int ret;

	if (s->bad <= 0) {
		s->bad = connect_to(s->h, 0, &s->to_bad, DD_TYPE_STREAM, &s->list);
		ASSERT_TRUE(s->bad > 0 || s->bad == -EBADSERVER ||
			    s->bad == -ENORESOURCE) {
			TH_LOG("connect: %d", s->bad);
		}
		return;
	}
	ret = dd_send(s->h, s->bad, s->to_bad.send, rand_r(seed) % SLOT,
		      rand_r(seed) % SLOT, 0, NULL, 0);
	ASSERT_TRUE(!ret || ret == -ENOTREADY || ret == -ECONNCLOSE) {
		TH_LOG("send: %d", ret);
	}
	if (ret == -ENOTREADY)
		dd_done(s->h, s->bad, DD_DONE_PLACED, MS / 10);
	if (!dd_recv(s->h, s->list, &msg, 0, 0)) {
		size_t at = (char *)msg.addr - (char *)s->to_bad.recv;

		ASSERT_EQ(s->bad, msg.conn);
		ASSERT_GE(PAGE, at);
		ASSERT_GE(PAGE - at, msg.len);
	}
	if (ret == -ECONNCLOSE) {
		ASSERT_EQ(0, dd_close(s->h, s->bad));
		s->bad = 0;
	}
}

TEST(receivers_that_write_anything)
{
	unsigned int seed;
	struct sender s = { };
	struct dd_msg reply;
	pid_t good, bad;
	__u64 *request;

	setup(_metadata);
	seed = shared->seed;
	good = server(honest_server);
	bad = server(hostile_server);
	ASSERT_LT(0, good);
	ASSERT_LT(0, bad);
	ASSERT_EQ(0, dd_open(&s.h));
	s.good = connect_to(s.h, 1, &s.to_good, DD_TYPE_RPC, NULL);
	ASSERT_LT(0, s.good);
	request = s.to_good.send;
	for (__u64 i = 1; i <= dd_count(5000); i++) {
		fill(request, i);
		ASSERT_EQ(0, dd_call(s.h, s.good, request, length_of(i), &reply,
				     i % 16 ? 0 : DD_RECV_SLEEP, DD_FOREVER));
		ASSERT_EQ(length_of(i), reply.len);
		for (size_t k = 0; k < reply.len / 8; k++)
			request[k] = ~((__u64 *)reply.addr)[k];
		ASSERT_TRUE(filled(request, i));
		send_to_liar(_metadata, &s, &seed);
		ASSERT_EQ(0, waitpid(-1, NULL, WNOHANG));
	}
	TH_LOG("%ld lies", shared->attacks);
	EXPECT_LT(0, shared->attacks);
	kill_child(good);
	kill_child(bad);
	EXPECT_EQ(0, dd_shutdown(s.h));
	EXPECT_CLEAN();
}

DD_TEST_MAIN
