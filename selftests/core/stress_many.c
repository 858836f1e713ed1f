// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ten thousand connections of one process, and its sudden end.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include "audit.h"
#include "raw.h"

#define MANY	10000
#define BLOCK	64

static int many(void)
{
	return dd_scale() > 1 ? MANY / 20 : MANY;
}

static int serve_many(struct raw *r, struct dd_serve *s, struct mem *m,
		      const char *name)
{
	if (raw_start(r, MANY * 2 * BLOCK + 2 * PAGE, m))
		return -1;
	raw_serve_args(s, name, many(), m);
	return raw_serve(r, s);
}

/* Connects many() times, with a page to receive in for each. */
static int connect_many(struct raw *r, struct mem *m, const char *name,
			__u32 *states)
{
	struct dd_connect c;
	__u32 list = 0;
	int i;

	if (raw_open(r) || raw_alloc(r, many() * PAGE, m))
		return -1;
	for (i = 0; i < many(); i++) {
		raw_connect_args(&c, name, m);
		memset(&c.send, 0, sizeof(c.send));
		c.recv.offset = i * PAGE;
		c.recv.length = PAGE;
		c.list = list;
		/* The service may not exist yet. */
		if (!WAIT_FOR(raw_connect(r, &c) == 0))
			return -1;
		list = c.list;
		states[i] = c.state_unit;
	}
	return 0;
}

static bool all_reset(const struct raw *r, const __u32 *states, int n)
{
	while (n--)
		if (raw_state(r, states[n])->error != ECONNRESET)
			return false;
	return true;
}

FIXTURE(many) {
	char name[32];
	__u32 *states;
	struct raw r;
	struct mem m;
	struct dd_serve s;
};

FIXTURE_SETUP(many)
{
	snprintf(self->name, sizeof(self->name), "many.%d", getpid());
	self->states = calloc(MANY, sizeof(*self->states));
}

FIXTURE_TEARDOWN(many)
{
}

/*
 * Kills @pid and waits until all its connections are reset. The hang limit of the
 * wait catches an end whose duration grows with the square of the connections.
 */
#define KILL_AND_RESET(pid) do {					\
	double __start = dd_now();					\
	kill_child(pid);						\
	ASSERT_SOON(all_reset(&self->r, self->states, many()));		\
	TH_LOG("%d connections reset %.3f s after the kill", many(),	\
	       dd_now() - __start);					\
} while (0)

/*
 * A service with a page per connection; only as many can be mapped as rings
 * exist.
 */
static int serve_pages(struct raw *r, struct dd_serve *s, struct mem *m,
		       const char *name)
{
	if (raw_open(r) || raw_alloc(r, many() * PAGE, m))
		return -1;
	raw_serve_args(s, name, many(), m);
	memset(&s->send, 0, sizeof(s->send));
	s->recv.length = many() * PAGE;
	return raw_serve(r, s);
}

static int map_many(const struct raw *r, const __u32 *states)
{
	struct way w;
	int i, n = 0;

	for (i = 0; i < many(); i++) {
		if (way_open(r, raw_state(r, states[i])->conn, &w)) {
			CHILD_CHECK(errno == ENOSPC);
			continue;
		}
		w.block[PAGE - 1] = 1;
		way_note(&w, 0, 8);
		/* Connections share a ring, which can be mapped a few times only. */
		munmap(w.notes, way_notes_size(&w));
		munmap((void *)w.state, PAGE);
		n++;
	}
	return n;
}

/* It sends directly on as many connections as its rings have room for. */
TEST_F(many, connections_of_a_killed_client)
{
	int *mapped = shared_memory(sizeof(*mapped)), i, n = 0;
	pid_t pid = fork_child();

	if (!pid) {
		CHILD_CHECK(connect_many(&self->r, &self->m, self->name,
					 self->states) == 0);
		__atomic_store_n(mapped, map_many(&self->r, self->states), __ATOMIC_RELEASE);
		pause();
	}
	ASSERT_EQ(0, serve_pages(&self->r, &self->s, &self->m, self->name)) {
		TH_LOG("errno %d", errno);
	}
	for (i = 0; i < many(); i++)
		self->states[i] = self->s.states_unit + i * self->s.state_units;
	ASSERT_TRUE(WAIT_FOR_MS(__atomic_load_n(mapped, __ATOMIC_ACQUIRE),
				6 * dd_patience()));
	for (i = 0; i < many(); i++)
		n += self->m.at[(i + 1) * PAGE - 1];
	TH_LOG("%d of them sent to directly", n);
	EXPECT_LE(many() / 10, n);
	KILL_AND_RESET(pid);
	/* The blocks are free again when the messages in them are read. */
	struct dd_ring_state *ring;
	struct dd_ring_note note;
	struct client c;

	for (i = 0; (ring = ring_of(&self->r, self->s.list_unit, i)); i++)
		while (ring_take(ring, &note))
			;
	EXPECT_EQ(0, client_open(&c, self->name));
}

TEST_F(many, connections_of_a_killed_server)
{
	int ready;
	pid_t pid = fork_until_report(&ready);

	if (!pid) {
		CHILD_CHECK(serve_many(&self->r, &self->s, &self->m,
				       self->name) == 0);
		child_report(ready);
		pause();
	}
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, connect_many(&self->r, &self->m, self->name, self->states)) {
		TH_LOG("errno %d", errno);
	}
	KILL_AND_RESET(pid);
	/* The list has a close note for each connection. */
	struct dd_conn_info info;
	struct dd_note n;
	int i = 0;

	ASSERT_EQ(0, raw_conn_info(&self->r, raw_state(&self->r, self->states[0])->conn,
				   &info));
	while (raw_take(&self->r, info.list_unit, &n)) {
		EXPECT_EQ(DD_NOTE_CLOSE, n.type);
		i++;
	}
	EXPECT_EQ(many(), i);
}

TEST_F(many, messages_on_many_connections)
{
	static const int rounds = 3;
	struct dd_note n;
	pid_t pid = fork_child();
	int i, k, taken = 0;

	if (!pid) {
		struct dd_sqe sqe = { .opcode = DD_OP_PUT, .len = 8,
				      .flags = DD_SQE_NOTIFY | DD_SQE_UNWIRED,
				      .src = (uintptr_t)&sqe };
		struct dd_conn_state *cs;

		CHILD_CHECK(connect_many(&self->r, &self->m, self->name,
					 self->states) == 0);
		for (k = 0; k < rounds; k++) {
			for (i = 0; i < many(); i++) {
				cs = raw_state(&self->r, self->states[i]);
				CHILD_CHECK(WAIT_FOR(raw_submit(&self->r,
						self->states[i], cs->conn,
						&sqe) == 1));
			}
		}
		pause();
	}
	ASSERT_EQ(0, serve_many(&self->r, &self->s, &self->m, self->name));
	while (taken < rounds * many()) {
		ASSERT_SOON(raw_take(&self->r, self->s.list_unit, &n));
		ASSERT_GT(many(), n.cookie >> 32);
		/* Numbers count per connection. */
		ASSERT_EQ(++self->states[n.cookie >> 32], n.msgid);
		taken++;
	}
	EXPECT_EQ(many(), raw_conns(&self->r, self->s.service, NULL, 0));
	kill_child(pid);
}

TEST(nothing_is_left_of_it)
{
	EXPECT_CLEAN();
}

DD_TEST_MAIN
