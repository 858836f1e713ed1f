// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ten thousand connections of one process, and its sudden end.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include "audit.h"
#include "peer.h"
#include "raw.h"

#define MANY	10000

static int many(void)
{
	return dd_scale() > 1 ? MANY / 20 : MANY;
}

/* Of the process: its end of the connections. */
static const char *name;
static __u32 states[MANY];
static struct raw r;
static struct mem m;
static struct dd_serve s;

/* A service with a page for each connection. */
static int serve_pages(void)
{
	if (raw_start(&r, many() * PAGE, &m))
		return -1;
	raw_serve_args(&s, name, many(), &m);
	memset(&s.send, 0, sizeof(s.send));
	s.recv.length = many() * PAGE;
	return raw_serve(&r, &s);
}

/* Connects many() times, with a page to receive in for each. */
static int connect_many(void)
{
	struct dd_connect c;
	__u32 list = 0;
	int i;

	if (raw_start(&r, many() * PAGE, &m))
		return -1;
	for (i = 0; i < many(); i++) {
		raw_connect_args(&c, name, &m);
		memset(&c.send, 0, sizeof(c.send));
		c.recv.offset = i * PAGE;
		c.recv.length = PAGE;
		c.list = list;
		/* The service may not exist yet. */
		if (!WAIT_FOR(raw_connect(&r, &c) == 0))
			return -1;
		list = c.list;
		states[i] = c.state_unit;
	}
	return 0;
}

static bool all_reset(void)
{
	for (int i = 0; i < many(); i++)
		if (raw_state(&r, states[i])->error != ECONNRESET)
			return false;
	return true;
}

/*
 * Kills the other end and waits until all connections are reset. The hang limit of the
 * wait catches an end whose duration grows with the square of the connections.
 */
static void kill_and_reset(struct __test_metadata *_metadata, pid_t pid)
{
	double start = dd_now();

	kill_child(pid);
	ASSERT_SOON(all_reset());
	TH_LOG("%d connections reset %.3f s after the kill", many(), dd_now() - start);
}

/* Only as many blocks can be mapped as rings exist. */
static int map_many(void)
{
	struct way w;
	int i, n = 0;

	for (i = 0; i < many(); i++) {
		if (way_open(&r, raw_state(&r, states[i])->conn, &w)) {
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
TEST(connections_of_a_killed_client)
{
	int *mapped = shared_memory(sizeof(*mapped)), i, n = 0;
	struct dd_ring_state *ring;
	struct dd_ring_note note;
	struct client c;
	pid_t pid;

	name = own_name("many");
	pid = fork_child();
	if (!pid) {
		CHILD_CHECK(connect_many() == 0);
		__atomic_store_n(mapped, map_many(), __ATOMIC_RELEASE);
		pause();
	}
	ASSERT_OK(serve_pages());
	for (i = 0; i < many(); i++)
		states[i] = s.states_unit + i * s.state_units;
	ASSERT_TRUE(WAIT_FOR_MS(__atomic_load_n(mapped, __ATOMIC_ACQUIRE),
				6 * dd_patience()));
	for (i = 0; i < many(); i++)
		n += m.at[(i + 1) * PAGE - 1];
	TH_LOG("%d of them sent to directly", n);
	EXPECT_LE(many() / 10, n);
	kill_and_reset(_metadata, pid);
	/* The blocks are free again when the messages in them are read. */
	for (i = 0; (ring = ring_of(&r, s.list_unit, i)); i++)
		while (ring_take(ring, &note))
			;
	EXPECT_EQ(0, client_open(&c, name));
}

TEST(connections_of_a_killed_server)
{
	struct dd_conn_info info;
	struct dd_note n;
	int ready, i = 0;
	pid_t pid;

	name = own_name("many");
	pid = fork_until_report(&ready);
	if (!pid) {
		CHILD_CHECK(serve_pages() == 0);
		child_report_and_stay(ready);
	}
	ASSERT_LT(0, pid);
	ASSERT_OK(connect_many());
	kill_and_reset(_metadata, pid);
	/* The list has a close note for each connection. */
	ASSERT_EQ(0, raw_conn_info(&r, raw_state(&r, states[0])->conn, &info));
	while (raw_take(&r, info.list_unit, &n)) {
		EXPECT_EQ(DD_NOTE_CLOSE, n.type);
		i++;
	}
	EXPECT_EQ(many(), i);
}

TEST(nothing_is_left_of_it)
{
	EXPECT_CLEAN();
}

DD_TEST_MAIN
