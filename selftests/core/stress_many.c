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
			__u32 *cells)
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
		if (raw_connect(r, &c))
			return -1;
		list = c.list;
		cells[i] = c.cell_unit;
	}
	return 0;
}

static bool all_reset(const struct raw *r, const __u32 *cells, int n)
{
	while (n--)
		if (raw_cell(r, cells[n])->error != ECONNRESET)
			return false;
	return true;
}

FIXTURE(many) {
	char name[32];
	int ready[2], go[2];
	__u32 *cells;
	struct raw r;
	struct mem m;
	struct dd_serve s;
};

FIXTURE_SETUP(many)
{
	snprintf(self->name, sizeof(self->name), "many.%d", getpid());
	ASSERT_EQ(0, pipe2(self->ready, O_CLOEXEC));
	ASSERT_EQ(0, pipe2(self->go, O_CLOEXEC));
	self->cells = calloc(MANY, sizeof(*self->cells));
}

FIXTURE_TEARDOWN(many)
{
}

static void notify(int *pipe)
{
	CHILD_CHECK(write(pipe[1], "x", 1) == 1);
}

static bool wait_for(int *pipe)
{
	char c;

	return read(pipe[0], &c, 1) == 1;
}

/*
 * Kills @pid and waits until all its connections are reset. The hang limit of the
 * wait catches an end whose duration grows with the square of the connections.
 */
#define KILL_AND_RESET(pid) do {					\
	double __start = dd_now();					\
	kill_child(pid);						\
	ASSERT_SOON(all_reset(&self->r, self->cells, many()));		\
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

static int map_many(const struct raw *r, const __u32 *cells)
{
	struct way w;
	int i, n = 0;

	for (i = 0; i < many(); i++) {
		if (way_open(r, raw_cell(r, cells[i])->conn, &w)) {
			CHILD_CHECK(errno == ENOSPC);
			continue;
		}
		w.block[PAGE - 1] = 1;
		way_note(&w, 0, 8);
		n++;
	}
	return n;
}

/* It sends directly on as many connections as its rings have room for. */
TEST_F(many, connections_of_a_killed_client)
{
	pid_t pid = fork_child();
	int i, n = 0;

	if (!pid) {
		CHILD_CHECK(wait_for(self->go));
		CHILD_CHECK(connect_many(&self->r, &self->m, self->name,
					 self->cells) == 0);
		CHILD_CHECK(map_many(&self->r, self->cells) > 0);
		notify(self->ready);
		pause();
	}
	ASSERT_EQ(0, serve_pages(&self->r, &self->s, &self->m, self->name)) {
		TH_LOG("errno %d", errno);
	}
	for (i = 0; i < many(); i++)
		self->cells[i] = self->s.cells_unit + i * self->s.cell_units;
	ASSERT_EQ(1, write(self->go[1], "x", 1));
	ASSERT_TRUE(wait_for(self->ready));
	for (i = 0; i < many(); i++)
		n += self->m.at[(i + 1) * PAGE - 1];
	TH_LOG("%d of them sent to directly", n);
	EXPECT_LE(many() / 10, n);
	KILL_AND_RESET(pid);
	/* The blocks are free again when the messages in them are read. */
	struct dd_ring_state *ring;
	struct dd_ring_note note;
	struct dd_connect c;
	struct raw r;
	struct mem m;

	for (i = 0; (ring = ring_of(&self->r, self->s.list_unit, i)); i++)
		while (ring_take(ring, &note))
			;
	EXPECT_EQ(0, raw_client(&r, &m, &c, self->name));
}

TEST_F(many, connections_of_a_killed_server)
{
	pid_t pid = fork_child();

	if (!pid) {
		CHILD_CHECK(serve_many(&self->r, &self->s, &self->m,
				       self->name) == 0);
		notify(self->ready);
		pause();
	}
	ASSERT_TRUE(wait_for(self->ready));
	ASSERT_EQ(0, connect_many(&self->r, &self->m, self->name, self->cells)) {
		TH_LOG("errno %d", errno);
	}
	KILL_AND_RESET(pid);
	/* The list has a close note for each connection. */
	struct dd_conn_info info;
	struct dd_note n;
	int i = 0;

	ASSERT_EQ(0, raw_conn_info(&self->r, raw_cell(&self->r, self->cells[0])->conn,
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
		struct dd_cell *cell;

		CHILD_CHECK(wait_for(self->go));
		CHILD_CHECK(connect_many(&self->r, &self->m, self->name,
					 self->cells) == 0);
		for (k = 0; k < rounds; k++) {
			for (i = 0; i < many(); i++) {
				cell = raw_cell(&self->r, self->cells[i]);
				CHILD_CHECK(WAIT_FOR(raw_submit(&self->r,
						self->cells[i], cell->conn,
						&sqe) == 1));
			}
		}
		pause();
	}
	ASSERT_EQ(0, serve_many(&self->r, &self->s, &self->m, self->name));
	ASSERT_EQ(1, write(self->go[1], "x", 1));
	while (taken < rounds * many()) {
		ASSERT_SOON(raw_take(&self->r, self->s.list_unit, &n));
		ASSERT_GT(many(), n.cookie >> 32);
		/* Numbers count per connection. */
		ASSERT_EQ(++self->cells[n.cookie >> 32], n.msgid);
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
