// SPDX-License-Identifier: GPL-2.0-only
/*
 * The direct path without the library: permission, the contents of windows,
 * what they do not allow, and that nothing is left of them in the end.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <poll.h>
#include "raw.h"
#include "threads.h"

#define FOREVER		(~0ull)

FIXTURE(direct) {
	struct pair p;
	struct way w;
};

FIXTURE_SETUP(direct)
{
	ASSERT_EQ(0, pair_open(&self->p, 4, PAGE, 1));
}

FIXTURE_TEARDOWN(direct)
{
	pair_close(&self->p);
}

/* The first ring of the server's list; NULL before a sender has one. */
static struct dd_ring_state *ring(const struct pair *p)
{
	return ring_of(&p->srv, p->s.list_unit, 0);
}

/* Its first note, which is consumed. */
static bool take(const struct pair *p, struct dd_ring_note *n)
{
	return ring_take(ring(p), n);
}

static int open_way(FIXTURE_DATA(direct) *self)
{
	return way_open(&self->p.cl, self->p.c.conn, &self->w);
}

/* --- what is granted -------------------------------------------------------*/

TEST_F(direct, a_message)
{
	struct pair *p = &self->p;
	struct way *w = &self->w, again;
	struct dd_ring_note n;

	EXPECT_EQ(NULL, ring(p));
	ASSERT_EQ(0, open_way(self));
	EXPECT_EQ(PAGE, w->d.block_size);
	EXPECT_EQ(DD_SERIAL_ID(pair_server_conn(p)), w->d.peer_conn);
	ASSERT_NE(NULL, ring(p));
	EXPECT_EQ(w->d.slots, ring(p)->slots);
	EXPECT_EQ(w->d.slots, w->state->slots);
	/* Asked again, the answer is the same. */
	ASSERT_EQ(0, way_grant(&p->cl, p->c.conn, &again));
	EXPECT_EQ(0, memcmp(&w->d, &again.d, sizeof(w->d)));

	/* The state of the serving end names the ring. */
	EXPECT_EQ((char *)ring(p) - (char *)p->srv.area,
		  raw_state(&p->srv, p->s.states_unit)->ring * (long)DD_UNIT);
	strcpy(w->block + 100, "straight");
	/*
	 * No thread sleeps, but one that slept before the ring existed did not
	 * arm it.
	 */
	EXPECT_TRUE(way_note(w, 100, 9));
	EXPECT_EQ(0, raw_op(&p->cl, DD_IOC_WAKE, p->c.conn));
	EXPECT_STREQ("straight", p->smem.at + 100);
	EXPECT_EQ(0, raw_list_wait(&p->srv, p->s.list, 0));
	ASSERT_TRUE(take(p, &n));
	EXPECT_EQ(w->d.peer_conn, n.conn);
	EXPECT_EQ(100, n.offset);
	EXPECT_EQ(1, w->state->head);
	EXPECT_ERR(EAGAIN, raw_list_wait(&p->srv, p->s.list, 0));
	/* The failed wait has armed the ring. */
	EXPECT_TRUE(way_note(w, 0, 0));
}

TEST_F(direct, the_kernel_may_deposit)
{
	struct dd_sqe sqe = { .opcode = DD_OP_PUT, .dst = 8, .len = 5 };
	struct pair *p = &self->p;

	ASSERT_EQ(0, open_way(self));
	memcpy(p->cmem.at + p->c.send.offset, "slow", 5);
	EXPECT_EQ(1, raw_submit(&p->cl, p->c.state_unit, p->c.conn, &sqe));
	EXPECT_STREQ("slow", self->w.block + 8);
	/* The deposit has no note; the sender posts one to the ring. */
	EXPECT_ERR(EAGAIN, raw_list_wait(&p->srv, p->s.list, 0));
	way_note(&self->w, 8, 5);
	EXPECT_EQ(0, raw_list_wait(&p->srv, p->s.list, 0));
}

/* Counters of a connection are those that its sender stores. */
TEST_F(direct, counts_for_reports)
{
	long long before = node_count("direct"), ops = node_count("ops");
	struct dd_conn_info i;
	struct pair *p = &self->p;
	struct dd_conn_state *cs = raw_state(&p->cl, p->c.state_unit);
	const __u64 count = (1ull << 32) + 7;
	__u64 there = pair_server_conn(p);
	int closed;

	ASSERT_EQ(0, open_way(self));
	memcpy(cs->sq[0].meta, &count, sizeof(count));
	ASSERT_EQ(0, raw_conn_info(&p->cl, p->c.conn, &i));
	EXPECT_EQ(count, i.submitted);
	EXPECT_EQ(0, system("ddctl -j conn | jq -e 'any(.[]; .direct and "
			    ".submitted == 4294967303 and .role == \"client\") and "
			    "any(.[]; (.direct | not) and .submitted == 0 and "
			    ".received == 4294967303)' >/dev/null"));
	for (closed = 0; closed < 2; closed++) {
		ASSERT_EQ(0, raw_conn_info(&p->srv, there, &i));
		EXPECT_EQ(count, i.received);
		EXPECT_EQ(0, system("ddctl -j service | jq -e 'any(.[]; "
				    ".received == 4294967303)' >/dev/null"));
		EXPECT_EQ(before + count, node_count("direct"));
		EXPECT_EQ(closed ? -1 : 0, raw_op(&p->cl, DD_IOC_CLOSE, p->c.conn));
	}
	EXPECT_NE(-1, before);
	EXPECT_EQ(ops, node_count("ops"));
}

static int drop(const struct raw *r, __u64 conn)
{
	struct dd_direct d = { .size = sizeof(d), .conn = conn,
			       .flags = DD_DIRECT_DROP };

	return raw_ioctl(r, DD_IOC_DIRECT, &d);
}

/* A sender that cannot map the window gives it back and uses the doorbell. */
TEST_F(direct, given_back)
{
	struct pair *p = &self->p;
	struct way *w = &self->w;
	struct dd_note n;

	EXPECT_EQ(0, drop(&p->cl, p->c.conn));
	ASSERT_EQ(0, open_way(self));
	strcpy(p->smem.at, "before");
	ASSERT_EQ(0, drop(&p->cl, p->c.conn));
	EXPECT_EQ(0, raw_state(&p->srv, p->s.states_unit)->ring);
	strcpy(w->block, "nowhere");
	way_note(w, 0, 8);
	EXPECT_STREQ("before", p->smem.at);
	EXPECT_EQ(MAP_FAILED, raw_map(&p->cl, w->d.block, PAGE, PROT_READ));
	EXPECT_ERR(EINVAL, raw_op(&p->cl, DD_IOC_WAKE, p->c.conn));
	/* A new grant is possible until a message was sent. */
	ASSERT_EQ(0, way_grant(&p->cl, p->c.conn, w));
	ASSERT_EQ(0, drop(&p->cl, p->c.conn));
	ASSERT_EQ(1, pair_request(p, 0, 0, 8));
	EXPECT_ERR(EBUSY, way_grant(&p->cl, p->c.conn, w));
	ASSERT_TRUE(raw_take(&p->srv, p->s.list_unit, &n));
	EXPECT_EQ(1, n.msgid);
	EXPECT_EQ(0, way_grant(&p->cl, p->c.conn, w));
}

TEST_F(direct, not_given_back_once_it_is_used)
{
	struct pair *p = &self->p;
	const __u64 one = 1;

	ASSERT_EQ(0, open_way(self));
	way_note(&self->w, 0, 8);
	memcpy(raw_state(&p->cl, p->c.state_unit)->sq[0].meta, &one, sizeof(one));
	EXPECT_ERR(EBUSY, drop(&p->cl, p->c.conn));
	EXPECT_EQ(0, raw_list_wait(&p->srv, p->s.list, 0));
	EXPECT_ERR(ENOENT, drop(&p->cl, p->s.service));
	ASSERT_EQ(0, raw_op(&p->srv, DD_IOC_CLOSE, pair_server_conn(p)));
	EXPECT_ERR(ECONNRESET, way_grant(&p->cl, p->c.conn, &self->w));
	EXPECT_EQ(0, drop(&p->cl, p->c.conn));
}

/*
 * Messages posted before the close, counted from the sender's first position.
 */
static long arrived(const struct raw *r, const struct way *w, __u64 conn)
{
	struct dd_direct d = { .size = sizeof(d), .conn = conn,
			       .flags = DD_DIRECT_DROP, .start = w->pos };

	return raw_ioctl(r, DD_IOC_DIRECT, &d) ? -errno :
	       (long)(d.start - w->d.start);
}

TEST_F(direct, messages_that_arrived_before_a_close)
{
	struct way *w = &self->w, other;
	struct pair *p = &self->p;
	struct dd_ring_note n;
	struct dd_connect c2;
	struct mem m;

	ASSERT_EQ(0, raw_join(&p->cl, &m, &c2, p->name));
	ASSERT_EQ(0, way_open(&p->cl, c2.conn, &other));
	ASSERT_EQ(0, open_way(self));
	/* Notes of both connections are in one ring, stored messages in two blocks. */
	EXPECT_EQ(w->d.notes, other.d.notes);
	EXPECT_EQ(w->d.state, other.d.state);
	EXPECT_NE(w->d.block, other.d.block);
	EXPECT_EQ(1, raw_list(&p->srv, p->s.list_unit)->rings);
	/*
	 * A note that is read, a hole, an unread note, a note of another
	 * connection.
	 */
	way_note(w, 0, 8);
	w->pos++;
	way_note(w, 0, 8);
	other.pos = w->pos;
	way_note(&other, 0, 8);
	ASSERT_TRUE(take(p, &n));
	ASSERT_EQ(0, raw_op(&p->srv, DD_IOC_CLOSE, pair_server_conn(p)));
	EXPECT_EQ(3, arrived(&p->cl, w, p->c.conn));
	/*
	 * A note stored now is in the ring, which still exists, but too late.
	 */
	w->pos = other.pos;
	way_note(w, 0, 8);
	EXPECT_EQ(3, arrived(&p->cl, w, p->c.conn));
	/* The other connection, with all notes read; the ring ends with it. */
	w->pos = 1;
	way_note(w, 0, 8);
	for (int i = 0; i < 4; i++)
		ASSERT_TRUE(take(p, &n));
	ASSERT_EQ(0, raw_op(&p->srv, DD_IOC_UNSERVE, p->s.service));
	EXPECT_EQ(5, arrived(&p->cl, &other, c2.conn));
	EXPECT_EQ(3, arrived(&p->cl, w, p->c.conn));
	/* The id of a connection that was closed at this end names nothing. */
	ASSERT_EQ(0, raw_op(&p->cl, DD_IOC_CLOSE, p->c.conn));
	EXPECT_EQ(-ENOENT, arrived(&p->cl, w, p->c.conn));
}

#define RINGS	512	/* of the least size: 4 MiB */

/*
 * A server that replies on as many lists. Rings take memory of the lists'
 * owner, which limits them; they are charged like wired memory.
 */
TEST(rings_of_many_lists)
{
	static __u64 ids[RINGS + 2];
	struct dd_connect c[RINGS + 1];
	long long used;
	struct pair p;
	struct way w;
	int i, n;

	ASSERT_EQ(0, pair_open(&p, RINGS + 2, PAGE, 1));
	for (i = 0; i < RINGS + 1; i++)
		ASSERT_EQ(0, raw_join_receiver(&p.cl, p.name, 1, DD_CONNECT_ANON, &c[i]));
	ASSERT_EQ(RINGS + 2, raw_conns(&p.srv, p.s.service, ids, RINGS + 2));
	used = memlock_used(&p.srv);
	/* The first one is the pair's own, with a larger block. */
	for (n = 0; n < RINGS + 1 && !way_grant(&p.srv, ids[n + 1], &w); n++)
		;
	EXPECT_EQ(RINGS, n);
	EXPECT_ERR(ENOSPC, way_grant(&p.srv, ids[n + 1], &w));
	EXPECT_LE(used + RINGS * 2 * (long long)PAGE, memlock_used(&p.srv));
	EXPECT_GE(used + RINGS * 3 * (long long)PAGE, memlock_used(&p.srv));
	/* The rings of a closed list make room for others. */
	ASSERT_EQ(0, raw_op(&p.cl, DD_IOC_CLOSE, c[0].conn));
	EXPECT_EQ(0, way_grant(&p.srv, ids[n + 1], &w));
}

/* --- what is refused -------------------------------------------------------*/

TEST_F(direct, refusals)
{
	struct pair *p = &self->p;
	struct way *w = &self->w;

	EXPECT_ERR(EINVAL, raw_op(&p->cl, DD_IOC_WAKE, p->c.conn));
	EXPECT_ERR(EINVAL, raw_ring_wait(&p->cl, p->c.conn, 0, 0));
	ASSERT_EQ(1, pair_request(p, 0, 0, 8));
	EXPECT_ERR(EBUSY, way_grant(&p->cl, p->c.conn, w));
	EXPECT_EQ(0, raw_state(&p->srv, p->s.states_unit)->ring);
	EXPECT_EQ(0, raw_op(&p->cl, DD_IOC_CLOSE, p->c.conn));
	EXPECT_ERR(ENOENT, way_grant(&p->cl, p->c.conn, w));
	EXPECT_ERR(ENOENT, raw_op(&p->cl, DD_IOC_WAKE, p->c.conn));
}

TEST_F(direct, of_a_closed_one)
{
	struct pair *p = &self->p;

	ASSERT_EQ(0, way_grant(&p->cl, p->c.conn, &self->w));
	ASSERT_EQ(0, raw_op(&p->srv, DD_IOC_CLOSE, pair_server_conn(p)));
	EXPECT_EQ(ECONNRESET, raw_state(&p->cl, p->c.state_unit)->error);
	EXPECT_ERR(ECONNRESET, way_grant(&p->cl, p->c.conn, &self->w));
	EXPECT_ERR(ECONNRESET, raw_op(&p->cl, DD_IOC_WAKE, p->c.conn));
	EXPECT_ERR(ECONNRESET, raw_ring_wait(&p->cl, p->c.conn, 0, FOREVER));
	/* A window cannot be mapped after the close. */
	EXPECT_EQ(MAP_FAILED, raw_map(&p->cl, self->w.d.block, PAGE, PROT_READ));
}

TEST(blocks_that_are_not_whole_pages)
{
	struct pair p;
	struct way w;

	ASSERT_EQ(0, pair_open(&p, 2, PAGE / 2, 1));
	EXPECT_ERR(EOPNOTSUPP, way_grant(&p.cl, p.c.conn, &w));
	/* The blocks of the other direction are. */
	EXPECT_EQ(0, way_grant(&p.srv, pair_server_conn(&p), &w));
}

/*
 * A pair of contexts with these flags. Bit 0: the client may send directly, bit
 * 1: the server may, bit 2: the client sees old contents.
 */
static int flags_allow(int serve, int connect, uid_t client)
{
	static int calls;
	struct server s;
	struct client c;
	int ret = 0;
	char name[16];

	/* A context that was closed keeps its names until a worker ends it. */
	snprintf(name, sizeof(name), "flags%d", calls++);
	if (server_prepare(&s, name, 1) || client_prepare(&c, name))
		return -1;
	memset(s.m.at, 'x', 2 * PAGE);
	s.s.flags = serve;
	c.c.flags = connect;
	if (raw_serve(&s.r, &s.s) || AS_USER(client, raw_connect(&c.r, &c.c)))
		return -1;
	if (!client_way(&c))
		/* Only the same user may see the old contents. */
		ret |= c.w.block[PAGE - 1] == (client ? 0 : 'x') ? 1 : 4;
	else if (errno != EACCES)
		return -1;
	if (!way_grant(&s.r, server_conn(&s), &c.w))
		ret |= 2;
	else if (errno != EACCES)
		return -1;
	raw_close(&c.r);
	raw_close(&s.r);
	return ret;
}

TEST(permission)
{
	EXPECT_EQ(3, flags_allow(0, 0, 0));
	EXPECT_EQ(0, flags_allow(DD_SERVE_NODIRECT, 0, 0));
	EXPECT_EQ(0, flags_allow(0, DD_CONNECT_NODIRECT, 0));
	EXPECT_EQ(0, flags_allow(0, 0, ALICE));
	EXPECT_EQ(1, flags_allow(DD_SERVE_DIRECT_ANY, 0, ALICE));
	EXPECT_EQ(2, flags_allow(0, DD_CONNECT_DIRECT_ANY, ALICE));
	EXPECT_EQ(0, flags_allow(DD_SERVE_DIRECT_ANY | DD_SERVE_NODIRECT,
				 DD_CONNECT_DIRECT_ANY, ALICE));
}

/* Whether the next note of a ring is that of a sender. */
static bool next_is(const struct pair *p, int ring, const struct client *c, __u64 len)
{
	struct dd_ring_note n;

	return ring_take(ring_of(&p->srv, p->s.list_unit, ring), &n) &&
	       n.conn == c->w.d.peer_conn && n.len == len;
}

/* First come, first served; senders without a ring use the kernel. */
TEST(more_senders_than_rings)
{
	enum { N = DD_RINGS_MAX + 3, LATE = DD_RINGS_MAX, LAST = N - 1 };
	static struct client c[N];
	struct dd_note note;
	struct pair p;
	int i, k;

	ASSERT_EQ(0, pair_open(&p, N + 1, PAGE, 1));
	for (i = 0; i < N; i++) {
		ASSERT_EQ(0, client_open(&c[i], p.name));
		if (i >= DD_RINGS_MAX) {
			EXPECT_ERR(ENOSPC, client_way(&c[i]));
			continue;
		}
		ASSERT_EQ(0, client_way(&c[i]));
		way_note(&c[i].w, 0, i);
	}
	EXPECT_EQ(DD_RINGS_MAX, raw_list(&p.srv, p.s.list_unit)->rings);
	/* Messages by the kernel arrive in order, any number of times. */
	for (k = 1; k <= 3; k++)
		for (i = LATE; i < LAST; i++) {
			EXPECT_EQ(1, client_send(&c[i], i));
			ASSERT_TRUE(raw_take(&p.srv, p.s.list_unit, &note));
			EXPECT_EQ(i, note.len);
			EXPECT_EQ(k, note.msgid);
			EXPECT_ERR(ENOSPC, client_way(&c[i]));
		}
	/* A ring is free when its sender has closed and its notes are read. */
	ASSERT_EQ(0, client_close(&c[5]));
	EXPECT_ERR(ENOSPC, client_way(&c[LAST]));
	ASSERT_TRUE(next_is(&p, 5, &c[5], 5));
	ASSERT_EQ(0, client_way(&c[LAST]));
	way_note(&c[LAST].w, 0, 77);
	EXPECT_TRUE(next_is(&p, 5, &c[LAST], 77));
	EXPECT_ERR(ENOSPC, client_way(&c[LATE]));
	/*
	 * A sender that has used the kernel gets a ring when its messages are
	 * read.
	 */
	ASSERT_EQ(0, client_close(&c[6]));
	ASSERT_TRUE(next_is(&p, 6, &c[6], 6));
	EXPECT_EQ(1, client_send(&c[LATE], 8));
	EXPECT_ERR(EBUSY, client_way(&c[LATE]));
	ASSERT_TRUE(raw_take(&p.srv, p.s.list_unit, &note));
	EXPECT_EQ(4, note.msgid);
	ASSERT_EQ(0, client_way(&c[LATE]));
	way_note(&c[LATE].w, 0, 78);
	EXPECT_TRUE(next_is(&p, 6, &c[LATE], 78));
	/* The other rings are as they were. */
	for (i = 0; i < DD_RINGS_MAX; i++)
		if (i != 5 && i != 6)
			EXPECT_TRUE(next_is(&p, i, &c[i], i));
	EXPECT_EQ(DD_RINGS_MAX, raw_list(&p.srv, p.s.list_unit)->rings);
	for (i = 0; i < N; i++)
		raw_close(&c[i].r);
}

/* Slots of closed connections are reserved until their notes have been read. */
TEST(slots_of_closed_connections_stay_reserved_until_read)
{
	struct dd_ring_state *state;
	struct dd_ring_note note;
	struct dd_connect c;
	struct way first, w;
	struct pair p;
	struct mem m;
	bool other;
	int i, k;

	ASSERT_EQ(0, pair_open(&p, 66, PAGE, 1));
	ASSERT_EQ(0, raw_alloc(&p.cl, 2 * PAGE, &m));
	ASSERT_EQ(0, way_open(&p.cl, p.c.conn, &first));
	way_note(&first, 0, 8);
	for (i = 1;; i++) {
		raw_connect_args(&c, p.name, &m);
		ASSERT_EQ(0, raw_connect(&p.cl, &c));
		ASSERT_EQ(0, way_grant(&p.cl, c.conn, &w));
		other = w.d.notes != first.d.notes;
		if (!other) {
			ASSERT_GT(first.d.slots, i);
			first.d.peer_conn = w.d.peer_conn;
			way_note(&first, 0, 8);
		}
		ASSERT_EQ(0, raw_op(&p.cl, DD_IOC_CLOSE, c.conn));
		if (other)
			break;
	}
	EXPECT_LT(8, i);
	state = ring_of(&p.srv, p.s.list_unit, 0);
	for (k = 0; k < i; k++) {
		ASSERT_TRUE(ring_take(state, &note));
		EXPECT_EQ(k + 1, note.msgid);
	}
	EXPECT_FALSE(ring_take(state, &note));
	raw_connect_args(&c, p.name, &m);
	ASSERT_EQ(0, raw_connect(&p.cl, &c));
	ASSERT_EQ(0, way_grant(&p.cl, c.conn, &w));
	EXPECT_EQ(first.d.notes, w.d.notes);
}

static bool parameter(const char *value)
{
	int fd = open("/sys/module/dd/parameters/direct", O_WRONLY);
	bool ok = fd >= 0 && write(fd, value, 1) == 1;

	close(fd);
	return ok;
}

FIXTURE(refused) {
	struct pair p;
	struct way w;
};

FIXTURE_SETUP(refused)
{
	ASSERT_EQ(0, pair_open(&self->p, 2, PAGE, 2));
}

/* Also after a test that has failed. */
FIXTURE_TEARDOWN(refused)
{
	parameter("Y");
	EXPECT_EQ(0, system("ddctl node up"));
	pair_close(&self->p);
}

TEST_F(refused, turned_off_by_the_administrator)
{
	struct pair *p = &self->p;
	struct dd_ring_note n;
	struct client second;
	struct dd_note note;

	ASSERT_EQ(0, way_open(&p->cl, p->c.conn, &self->w));
	ASSERT_EQ(0, client_open(&second, p->name));
	ASSERT_TRUE(parameter("N"));
	/* A connection that sends directly goes on. */
	strcpy(self->w.block, "late");
	way_note(&self->w, 0, 5);
	EXPECT_STREQ("late", p->smem.at);
	EXPECT_TRUE(ring_take(ring_of(&p->srv, p->s.list_unit, 0), &n));
	EXPECT_ERR(EOPNOTSUPP, client_way(&second));
	EXPECT_EQ(1, client_send(&second, 8));
	EXPECT_TRUE(raw_take(&p->srv, p->s.list_unit, &note));
	ASSERT_TRUE(parameter("Y"));
	EXPECT_EQ(0, client_way(&second));
}

TEST_F(refused, the_node_is_down)
{
	struct pair *p = &self->p;

	ASSERT_EQ(0, system("ddctl node down"));
	EXPECT_EQ(0, ((struct dd_area_head *)p->cl.area)->node_up);
	EXPECT_ERR(ENETDOWN, way_grant(&p->cl, p->c.conn, &self->w));
	EXPECT_ERR(ENETDOWN, pair_request(p, 0, 0, 8));
	ASSERT_EQ(0, system("ddctl node up"));
	/* Services and connections still exist. */
	EXPECT_EQ(1, ((struct dd_area_head *)p->cl.area)->node_up);
	EXPECT_EQ(0, way_grant(&p->cl, p->c.conn, &self->w));
}

/* --- windows ---------------------------------------------------------------*/

TEST_F(direct, mappings_that_are_not_given)
{
	struct raw *r = &self->p.cl;
	const int rw = PROT_READ | PROT_WRITE;
	void *to = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	struct dd_direct *d = &self->w.d;

	ASSERT_EQ(0, open_way(self));
	EXPECT_EQ(MAP_FAILED, raw_map(r, d->block, 2 * PAGE, rw));
	EXPECT_EQ(MAP_FAILED, raw_map(r, d->block + PAGE, PAGE, rw));
	EXPECT_EQ(MAP_FAILED, raw_map(r, d->state, PAGE, rw));
	EXPECT_EQ(MAP_FAILED, raw_map(r, d->block, PAGE, rw | PROT_EXEC));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, rw, MAP_PRIVATE, r->fd,
				   d->block));
	/* The other context of this process has no access either. */
	EXPECT_EQ(MAP_FAILED, raw_map(&self->p.srv, d->block, PAGE, rw));
	EXPECT_ERR(EACCES, mprotect((void *)self->w.state, PAGE, rw));
	EXPECT_ERR(EFAULT, mremap(self->w.block, PAGE, 2 * PAGE,
				  MREMAP_MAYMOVE));
	/* The window cannot be moved either; it still leads to the block. */
	EXPECT_EQ(MAP_FAILED, mremap(self->w.block, PAGE, PAGE,
				     MREMAP_MAYMOVE | MREMAP_FIXED, to));
	self->w.block[0] = 17;
	EXPECT_EQ(17, self->p.smem.at[0]);
	EXPECT_ERR(EINVAL, madvise(self->w.block, PAGE, MADV_DOFORK));
}

/* --- waiting ---------------------------------------------------------------*/

static long wait_for_note(void *arg)
{
	const struct pair *p = arg;

	return raw_list_wait(&p->srv, p->s.list, FOREVER);
}

static void disarm(struct pair *p, const struct way *w)
{
	if (is_armed(w))
		raw_op(&p->cl, DD_IOC_WAKE, p->c.conn);
}

TEST_F(direct, a_sleeping_receiver)
{
	struct pair *p = &self->p;
	struct way *w = &self->w;
	struct dd_ring_note n;
	struct call c;
	int i;

	ASSERT_EQ(0, open_way(self));
	for (i = 0; i < dd_count(2000); i++) {
		disarm(p, w);
		ASSERT_FALSE(is_armed(w));
		ASSERT_TRUE(call_begin(&c, wait_for_note, p));
		if (i % 2)
			sched_yield();
		if (way_note(w, 0, 8))
			ASSERT_EQ(0, raw_op(&p->cl, DD_IOC_WAKE, p->c.conn));
		EXPECT_EQ(0, call_end(&c));
		ASSERT_TRUE(take(p, &n));
	}
}

TEST_F(direct, descriptors_and_signals)
{
	struct pair *p = &self->p;
	struct pollfd fds[2] = {
		{ .fd = p->srv.fd, .events = POLLIN },
		{ .fd = raw_op(&p->srv, DD_IOC_LIST_FD, p->s.list), .events = POLLIN },
	};
	struct way *w = &self->w;
	struct dd_ring_note n;
	sigset_t set;

	ASSERT_EQ(0, open_way(self));
	for (int i = 0; i < 2; i++) {
		disarm(p, w);
		EXPECT_EQ(0, poll(&fds[i], 1, 0));
		EXPECT_TRUE(is_armed(w));
	}
	way_note(w, 0, 8);
	EXPECT_EQ(2, poll(fds, 2, 0));
	ASSERT_TRUE(take(p, &n));

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	sigprocmask(SIG_BLOCK, &set, NULL);
	disarm(p, w);
	ASSERT_EQ(0, fcntl(p->srv.fd, F_SETOWN, getpid()));
	ASSERT_EQ(0, fcntl(p->srv.fd, F_SETFL, O_RDWR | O_ASYNC));
	/* Each note sends a signal, not only the first. */
	for (int i = 0; i < 3; i++) {
		struct timespec soon = { .tv_sec = dd_patience() / 1000 };

		EXPECT_TRUE(way_note(w, 0, 8));
		EXPECT_EQ(0, raw_op(&p->cl, DD_IOC_WAKE, p->c.conn));
		EXPECT_EQ(SIGIO, sigtimedwait(&set, NULL, &soon));
	}
}

/* --- ends ------------------------------------------------------------------*/

/* Notes posted before the close can be read, and the close note follows. */
TEST_F(direct, a_close_loses_no_note)
{
	__u64 srv = pair_server_conn(&self->p);
	struct pair *p = &self->p;
	struct dd_ring_note n;
	struct dd_note close;

	ASSERT_EQ(0, way_open(&p->srv, srv, &self->w));
	strcpy(self->w.block, "last words");
	way_note(&self->w, 0, 11);
	ASSERT_EQ(0, raw_op(&p->srv, DD_IOC_CLOSE, srv));
	/* Stores after the close reach nothing. */
	strcpy(self->w.block, "more words");
	way_note(&self->w, 0, 11);
	EXPECT_EQ(ECONNRESET, raw_state(&p->srv, p->s.states_unit)->error);

	ASSERT_TRUE(ring_take(ring_of(&p->cl, p->c.list_unit, 0), &n));
	EXPECT_FALSE(ring_take(ring_of(&p->cl, p->c.list_unit, 0), &n));
	EXPECT_STREQ("last words", p->cmem.at + p->c.recv.offset);
	ASSERT_TRUE(raw_take(&p->cl, p->c.list_unit, &close));
	EXPECT_EQ(DD_NOTE_CLOSE, close.type);
	EXPECT_EQ(self->w.pos - 1, close.word);
}

/*
 * Other connections of the ring may have left holes: the close note has the
 * position behind the last note.
 */
TEST_F(direct, a_close_after_a_hole)
{
	struct pair *p = &self->p;
	struct dd_connect c2;
	struct dd_note close;
	struct way w2;
	struct mem m;
	__u64 srv2;

	ASSERT_EQ(0, raw_alloc(&p->cl, 2 * PAGE, &m));
	raw_connect_args(&c2, p->name, &m);
	c2.list = p->c.list;
	c2.flags |= DD_CONNECT_LIST;
	ASSERT_EQ(0, raw_connect(&p->cl, &c2));
	srv2 = raw_state(&p->srv, p->s.states_unit + p->s.state_units)->conn;
	ASSERT_EQ(0, way_open(&p->srv, pair_server_conn(p), &self->w));
	ASSERT_EQ(0, way_open(&p->srv, srv2, &w2));
	w2.pos += 5;
	way_note(&w2, 0, 8);
	ASSERT_EQ(0, raw_op(&p->srv, DD_IOC_CLOSE, srv2));
	ASSERT_TRUE(raw_take(&p->cl, p->c.list_unit, &close));
	EXPECT_EQ(DD_NOTE_CLOSE, close.type);
	EXPECT_EQ(c2.conn, close.conn);
	EXPECT_EQ(w2.pos, close.word);
}

/* A thread may be killed between taking a position and filling it. */
TEST_F(direct, holes_are_filled)
{
	struct pair *p = &self->p;
	struct way *w = &self->w;
	struct dd_ring_note n;

	ASSERT_EQ(0, open_way(self));
	w->pos += 2;
	way_note(w, 0, 1);
	w->pos++;
	way_note(w, 0, 2);
	EXPECT_FALSE(take(p, &n));
	ASSERT_EQ(0, raw_op(&p->cl, DD_IOC_CLOSE, p->c.conn));
	for (int i = 0; i < 5; i++) {
		ASSERT_TRUE(take(p, &n));
		EXPECT_EQ(i == 2 || i == 4 ? w->d.peer_conn : 0, n.conn);
	}
	EXPECT_FALSE(take(p, &n));
}

/* Successive senders of a ring find it empty. */
TEST_F(direct, rings_are_used_again)
{
	struct pair *p = &self->p;
	struct dd_list_head *h = raw_list(&p->srv, p->s.list_unit);
	struct way *w = &self->w;
	struct dd_ring_note n;
	int i;

	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, open_way(self));
		EXPECT_EQ(1, h->rings);
		EXPECT_EQ(ring(p)->head, w->d.start);
		EXPECT_FALSE(take(p, &n));
		/* Stored sequence numbers must not outlive the sender. */
		for (unsigned int k = 1; k < w->d.slots; k++)
			*way_slot(w, w->pos + k) = (struct dd_ring_note){
				.seq = w->pos + k + 1, .conn = 12345 };
		way_note(w, 0, 8);
		ASSERT_EQ(0, raw_op(&p->cl, DD_IOC_CLOSE, p->c.conn));
		while (take(p, &n))
			;
		ASSERT_EQ(0, raw_connect(&p->cl, &p->c));
	}
	/* A ring with unread notes is not used again. */
	ASSERT_EQ(0, open_way(self));
	way_note(w, 0, 8);
	ASSERT_EQ(0, raw_op(&p->cl, DD_IOC_CLOSE, p->c.conn));
	ASSERT_EQ(0, raw_connect(&p->cl, &p->c));
	ASSERT_EQ(0, open_way(self));
	EXPECT_EQ(2, h->rings);
	EXPECT_TRUE(take(p, &n));
	EXPECT_FALSE(take(p, &n));
}

/*
 * Nor can a new sender pose as the previous one, whose connection the server
 * may still have open: its state no longer names the ring.
 */
TEST_F(direct, a_ring_speaks_for_its_sender_only)
{
	struct pair *p = &self->p;
	struct dd_conn_state *first = raw_state(&p->srv, p->s.states_unit);
	struct dd_conn_state *second = raw_state(&p->srv, p->s.states_unit +
						 p->s.state_units);
	struct client other;
	__u32 unit;

	ASSERT_EQ(0, open_way(self));
	unit = first->ring;
	ASSERT_NE(0, unit);
	ASSERT_EQ(0, raw_op(&p->cl, DD_IOC_CLOSE, p->c.conn));
	/* Until then the notes that it posted can be read. */
	EXPECT_EQ(unit, first->ring);
	ASSERT_EQ(0, client_open(&other, p->name));
	ASSERT_EQ(0, way_grant(&other.r, other.c.conn, &other.w));
	ASSERT_EQ(1, raw_list(&p->srv, p->s.list_unit)->rings);
	EXPECT_EQ(unit, second->ring);
	EXPECT_EQ(self->w.d.peer_conn, DD_SERIAL_ID(first->conn));
	EXPECT_EQ(0, first->ring);

	/*
	 * A block with a new connection: the connection state names the ring of that one.
	 */
	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(0, client_close(&other));
		ASSERT_EQ(0, raw_connect(&other.r, &other.c));
		ASSERT_EQ(0, way_grant(&other.r, other.c.conn, &other.w));
	}
	EXPECT_EQ(1, raw_list(&p->srv, p->s.list_unit)->rings);
	EXPECT_EQ(unit, second->ring);
}

DD_TEST_MAIN
