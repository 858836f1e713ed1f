// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of segments, imports and sessions between nodes, which wait for each other. Run by
 * across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define SEGMENT_LEN	BULK
#include "exporter.h"
#include "nodes.h"
#include "threads.h"

/* Import again when the session has begun again; places of earlier imports may still be in use. */
static int join_again(FIXTURE_DATA(mem) *self, __u32 rights)
{
	while (import_again(self, rights))
		if (errno != EHOSTUNREACH && errno != EUSERS)
			return -1;
	return 0;
}

/*
 * The segment ends at a random moment: when a random byte of one of the messages has arrived, or
 * at once. Each message has its number in all bytes. The link is so slow that most ends come
 * before the last message, on one processor, too.
 */
TEST_F(mem, nothing_arrives_after_the_end)
{
	static char bytes[MEM_WINDOW][BULK], zeros[BULK];
	int n, i, rounds = dd_count(200), partly = 0;
	unsigned int seed = dd_seed(_metadata);
	volatile char *at;

	for (i = 0; i < MEM_WINDOW; i++)
		memset(bytes[i], i + 1, BULK);
	ASSERT_EQ(0, impair(1, "rate 1gbit"));
	for (n = 0; n < rounds; n++) {
		for (i = 0; i < MEM_WINDOW; i++)
			ASSERT_EQ(1, put(self, bytes[i], 0, BULK, 0));
		at = self->em.at + rand_r(&seed) % BULK;
		i = rand_r(&seed) % (MEM_WINDOW + 1);
		while (*at < i)
			sched_yield();
		ASSERT_OK(mem_end(&self->ex, self->s.segment));
		partly += self->em.at[BULK - 1] != MEM_WINDOW;
		memset(self->em.at, 0, BULK);
		while (!self->cs->error)
			sched_yield();
		EXPECT_EQ(ESTALE, self->cs->error);
		EXPECT_ERR(ESTALE, put(self, zeros, 0, 8, 0));
		EXPECT_ERR(ESTALE, wait_done(&self->im, &self->i, ~0ull));
		ASSERT_EQ(0, memcmp(self->em.at, zeros, BULK));
		ASSERT_OK(mem_end(&self->im, self->i.import));
		ASSERT_OK(export_again(self));
		ASSERT_OK(import_again(self, DD_RIGHTS));
	}
	EXPECT_EQ(0, impair(1, NULL));
	TH_LOG("%d of %d ends before the last message had arrived", partly, rounds);
}

TEST_F(mem, importers_know_of_the_end_when_the_call_returns)
{
	static char ones[BULK];
	int rounds = dd_count(100), k;
	struct dd_import_make i[MEM_WINDOW];

	while (rounds--) {
		for (k = 0; k < MEM_WINDOW; k++)
			ASSERT_OK(import(&self->im, &self->s, DD_RIGHTS, 0, &i[k]));
		for (k = 0; k < MEM_WINDOW; k++)
			ASSERT_EQ(1, mem_put(&self->im, &i[k], ones, 0, k * 1000, 0));
		ASSERT_OK(mem_end(&self->ex, self->s.segment));
		for (k = 0; k < MEM_WINDOW; k++) {
			ASSERT_EQ(ESTALE, state(&self->im, &i[k]));
			ASSERT_OK(mem_end(&self->im, i[k].import));
		}
		ASSERT_OK(export_again(self));
	}
}

static bool segment_has_ended;

/* Import until the segment ends. Not 0: an import accepts requests after the end has returned. */
static long import_until_the_end(void *arg)
{
	FIXTURE_DATA(mem) *self = arg;
	struct dd_import_make i;
	bool over = false;
	__u32 error;

	while (!over) {
		if (import(&self->im, &self->s, DD_RIGHTS, 0, &i)) {
			/* Places of earlier imports may still be in use. */
			if (errno == EUSERS)
				continue;
			return errno != ECONNREFUSED && errno != ESTALE;
		}
		over = __atomic_load_n(&segment_has_ended, __ATOMIC_ACQUIRE);
		error = state(&self->im, &i);
		mem_end(&self->im, i.import);
	}
	return error != ESTALE;
}

TEST_F(mem, importers_know_of_an_end_while_they_import)
{
	unsigned int seed = dd_seed(_metadata);
	int rounds = dd_count(500);
	struct call c;

	while (rounds--) {
		segment_has_ended = false;
		ASSERT_TRUE(call_begin(&c, import_until_the_end, self));
		usleep(rand_r(&seed) % 2000);
		ASSERT_OK(mem_end(&self->ex, self->s.segment));
		__atomic_store_n(&segment_has_ended, true, __ATOMIC_RELEASE);
		ASSERT_EQ(0, call_end(&c));
		ASSERT_OK(export_again(self));
	}
}

/* So many ends that the control stream is full for a while. */
TEST_F(mem, more_ends_than_the_control_stream_holds)
{
	static struct dd_import_make i[1000];
	struct dd_segment_make s = mem_segment(&self->em, "far_many");
	int k;

	s.importers = 1000;
	ASSERT_OK(mem_export(&self->ex, &s));
	for (k = 0; k < 1000; k++)
		ASSERT_OK(import(&self->im, &s, DD_RIGHT_GET, 1, &i[k]));
	ASSERT_OK(mem_end(&self->ex, s.segment));
	for (k = 0; k < 1000; k++)
		ASSERT_EQ(ESTALE, state(&self->im, &i[k]));
}

/*
 * A link in the middle that carries acknowledgments but no query, so the session stays up. 0 stands
 * for a link that carries all packets.
 */
static int small_link(int mtu)
{
	char command[80];

	snprintf(command, sizeof(command), "bash -c 'ip -n ddnet link set port1 mtu %d'",
		 mtu ?: 1500);
	return system(command);
}

TEST_F(mem, a_node_that_does_not_answer_has_its_dead_time)
{
	struct dd_segment_make s = mem_segment(&self->em, "far_parked");
	struct dd_import_make parked, pending[2], i;
	struct dd_connect c;

	raw_connect_args(&c, "far_none", &self->imem);
	c.node = 2;
	c.flags |= DD_CONNECT_TIMEOUT;
	c.timeout = 60 * SECOND;
	ASSERT_EQ(0, dead_time(4000));
	/* The second answer follows the one that says that the first query is parked. */
	ASSERT_OK(import_flags(&self->im, &s, DD_IMPORT_NOWAIT | DD_IMPORT_PARK, 0, &parked));
	EXPECT_ERR(ECONNREFUSED, import(&self->im, &s, DD_RIGHT_GET, 1, &i));
	EXPECT_ERR(ECONNREFUSED, raw_connect(&self->im, &c));
	ASSERT_EQ(0, small_link(120));
	ASSERT_OK(import_flags(&self->im, &self->s, DD_IMPORT_NOWAIT, 0, &pending[0]));
	ASSERT_OK(import_flags(&self->im, &s, DD_IMPORT_NOWAIT | DD_IMPORT_PARK, 0, &pending[1]));
	EXPECT_ERR(EHOSTUNREACH, mem_wait_up(&self->im, &pending[0], 60 * SECOND));
	EXPECT_ERR(EHOSTUNREACH, mem_wait_up(&self->im, &pending[1], 60 * SECOND));
	EXPECT_ERR(EHOSTUNREACH, import(&self->im, &self->s, DD_RIGHT_GET, 1, &i));
	EXPECT_ERR(EHOSTUNREACH, raw_connect(&self->im, &c));
	/* The session has not ended. */
	EXPECT_EQ(0, self->cs->error);
	EXPECT_EQ(EINPROGRESS, state(&self->im, &parked));
	ASSERT_EQ(0, small_link(0));
	ASSERT_OK(mem_export(&self->ex, &s));
	ASSERT_OK(mem_wait_up(&self->im, &parked, 60 * SECOND));
	ASSERT_OK(import(&self->im, &self->s, DD_RIGHT_GET, 1, &i));
	EXPECT_EQ(0, self->cs->error);
	ASSERT_EQ(0, dead_time(USUAL));
}

static long end_segment(void *arg)
{
	FIXTURE_DATA(mem) *self = arg;

	return mem_end(&self->ex, self->s.segment);
}

TEST_F(mem, a_signal_ends_the_wait_but_the_segment_has_ended)
{
	struct call c;

	ASSERT_EQ(0, dead_time(600000));
	ASSERT_EQ(0, cut());
	ASSERT_TRUE(call_waits(&c, end_segment, self));
	EXPECT_EQ(0, self->cs->error);
	ASSERT_TRUE(call_interrupt(&c));
	EXPECT_ERR(EINTR, call_end(&c));
	EXPECT_ERR(ENOENT, mem_end(&self->ex, self->s.segment));
	EXPECT_EQ(0, state(&self->im, &self->i));
	ASSERT_EQ(0, heal());
	ASSERT_SOON(state(&self->im, &self->i) == ESTALE);
	EXPECT_EQ(0, dead_time(USUAL));
}

/* How an exporter takes back what it has exported. */
enum end { DENY, INTERRUPTED_END, EXIT, ENDS };

static __u64 importer_of(FIXTURE_DATA(mem) *self, __u64 *count)
{
	struct dd_importer importer = { 0 };
	struct dd_segment_info info = {
		.size = sizeof(info), .segment = self->s.segment,
		.count = 1, .importers = (uintptr_t)&importer,
	};

	if (raw_ioctl(&self->ex, DD_IOC_SEGMENT_INFO, &info))
		return 0;
	*count = importer.count;
	return importer.channel;
}

static int end_access(FIXTURE_DATA(mem) *self, enum end how)
{
	struct dd_segment_ctl deny = { .size = sizeof(deny), .what = DD_SEGMENT_DENY,
				       .segment = self->s.segment };
	struct call c;
	__u64 count;

	switch (how) {
	case DENY:
		deny.value = importer_of(self, &count);
		return raw_ioctl(&self->ex, DD_IOC_SEGMENT_CTL, &deny);
	case EXIT:
		raw_close(&self->ex);
		self->ex = (struct raw){ .fd = -1 };
		return 0;
	default:
		/* If it is not seen asleep, it has ended by itself, which is as good. */
		call_waits(&c, end_segment, self);
		call_interrupt(&c);
		call_end(&c);
		return 0;
	}
}

/*
 * The reply of a get is in a queue of the exporter's node when the access ends. What the exporter
 * stores then, in memory that it has pinned and keeps, does not reach the importer.
 */
TEST_F(mem, what_is_stored_after_the_end_is_not_read)
{
	static char got[2 * PAGE];
	const size_t len = sizeof(got);
	char *own = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dd_region_pin pin = { .size = sizeof(pin), .address = (uintptr_t)own,
				     .length = len };
	struct mem m = { .len = len };
	enum end how;
	__u64 count;

	ASSERT_NE(MAP_FAILED, own);
	ASSERT_EQ(0, dead_time(60000));
	ASSERT_OK(raw_ioctl(&self->ex, DD_IOC_REGION_PIN, &pin));
	m.id = pin.region;
	for (how = DENY; how < ENDS; how++) {
		memset(own, 'a', len);
		self->s = mem_segment(&m, "far_queued");
		ASSERT_OK(mem_export(&self->ex, &self->s));
		ASSERT_OK(import_again(self, DD_RIGHT_GET));
		ASSERT_EQ(0, impair(2, "delay 1s"));
		ASSERT_EQ(1, get(self, got, 0, len));
		do {
			count = 0;
			ASSERT_NE(0, importer_of(self, &count));
		} while (!count);
		ASSERT_EQ(0, end_access(self, how));
		memset(own, 'b', len);
		ASSERT_SOON(state(&self->im, &self->i) == ESTALE);
		EXPECT_EQ(NULL, memchr(got, 'b', len));
		ASSERT_EQ(0, impair(2, NULL));
		ASSERT_OK(mem_end(&self->im, self->i.import));
		if (how == DENY)
			ASSERT_OK(mem_end(&self->ex, self->s.segment));
	}
	EXPECT_EQ(0, dead_time(USUAL));
}

/* The note of the last request is withheld, and signals come all the time. */
TEST_F(mem, signals_do_not_prolong_the_end_of_an_import)
{
	const struct itimerspec each = { { .tv_nsec = 100000000 }, { .tv_nsec = 100000000 } };
	const struct sigaction sa = { .sa_handler = call_no_handler };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	timer_t timer;
	int k;

	ASSERT_EQ(0, dead_time(1000));
	for (k = 0; k <= MEM_WINDOW; k++)
		/* EBUSY, until the other node has reported one as done. */
		ASSERT_SOON(put(self, "note", 0, 4, DD_SQE_NOTIFY) == 1);
	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	ASSERT_EQ(0, timer_create(CLOCK_MONOTONIC, &event, &timer));
	ASSERT_EQ(0, timer_settime(timer, 0, &each, NULL));
	/* After twice the dead time. */
	for (k = 0; k < 200 && mem_end(&self->im, self->i.import); k++)
		ASSERT_EQ(EINTR, errno);
	EXPECT_EQ(0, timer_delete(timer));
	EXPECT_GT(k, 0);
	EXPECT_LT(k, 200);
	EXPECT_EQ(0, dead_time(USUAL));
}

TEST_F(mem, the_end_waits_no_longer_than_the_dead_time)
{
	struct call c;
	double begun;

	ASSERT_EQ(0, dead_time(3000));
	ASSERT_EQ(0, cut());
	begun = dd_now();
	ASSERT_TRUE(call_waits(&c, end_segment, self));
	EXPECT_EQ(0, call_end(&c));
	/* Most of it is for a machine with other work. */
	EXPECT_LE(dd_now() - begun, 60);
	EXPECT_ERR(ENOENT, mem_end(&self->ex, self->s.segment));
	ASSERT_SOON(state(&self->im, &self->i) == EHOSTUNREACH);
	ASSERT_EQ(0, heal());
	EXPECT_EQ(0, dead_time(USUAL));
	ASSERT_OK(export_again(self));
	while (import(&self->im, &self->s, DD_RIGHT_GET, 0, &self->i))
		ASSERT_EQ(EHOSTUNREACH, errno);
}

/* Let requests of the import notify the importer. */
static int attach(FIXTURE_DATA(mem) *self)
{
	return mem_import_list(&self->im, &self->i, self->ilist.list);
}

/* The last request is not done, since its note to the exporter is withheld. */
TEST_F(mem, the_end_of_the_session_notifies_of_what_was_under_way)
{
	const __u8 flags = DD_SQE_NOTIFY | DD_SQE_NOTIFY_SELF;
	struct dd_note n;
	int k;

	ASSERT_OK(attach(self));
	for (k = 0; k <= MEM_WINDOW; k++)
		/* EBUSY, until the other node has reported one as done. */
		ASSERT_SOON(put(self, "note", 0, 4, flags) == 1);
	for (k = 1; k <= MEM_WINDOW; k++) {
		ASSERT_SOON(own_note(self, &n));
		EXPECT_EQ(k, n.msgid);
		EXPECT_EQ(0, n.error);
	}
	ASSERT_EQ(0, peer_del());
	ASSERT_SOON(own_note(self, &n));
	EXPECT_EQ(DD_NOTE_DONE, n.type);
	EXPECT_EQ(MEM_WINDOW + 1, n.msgid);
	EXPECT_EQ(EIO, n.error);
	EXPECT_EQ(EHOSTUNREACH, self->cs->error);
	EXPECT_EQ(EIO, self->ms->result[(MEM_WINDOW + 1) % DD_RESULTS]);
	EXPECT_ERR(EHOSTUNREACH, put(self, "note", 0, 4, DD_SQE_NOTIFY_SELF));
	EXPECT_ERR(EHOSTUNREACH, wait_done(&self->im, &self->i, MEM_WINDOW + 2));
	EXPECT_FALSE(own_note(self, &n));
	EXPECT_EQ(0, mem_end(&self->im, self->i.import));
	ASSERT_EQ(0, peer_add());
	ASSERT_OK(join_again(self, DD_RIGHT_GET));
}

/*
 * The other node executes a CAS, and its reply is lost with the session. Its owner then stores
 * the expected value again, so that a second execution would show.
 */
TEST_F(mem, a_swap_that_is_cut_off_is_not_known_and_not_repeated)
{
	volatile __u64 *word = (volatile __u64 *)self->em.at;
	__u64 *was = (__u64 *)self->imem.at;
	struct dd_note n;

	ASSERT_OK(attach(self));
	*was = 77;
	ASSERT_EQ(0, impair(2, "loss 100%"));
	ASSERT_EQ(1, cas(self, 0, 8, 0, 1, DD_SQE_NOTIFY_SELF));
	ASSERT_SOON(*word == 1);
	*word = 0;
	EXPECT_EQ(0, self->cs->done);
	ASSERT_EQ(0, peer_del());
	ASSERT_SOON(own_note(self, &n));
	EXPECT_EQ(DD_OP_CAS, n.op);
	EXPECT_EQ(EIO, n.error);
	EXPECT_EQ(EIO, self->ms->result[1]);
	EXPECT_EQ(EHOSTUNREACH, self->cs->error);
	EXPECT_EQ(0, self->cs->done);
	EXPECT_EQ(0, mem_end(&self->im, self->i.import));
	ASSERT_EQ(0, impair(2, NULL));
	ASSERT_EQ(0, peer_add());
	ASSERT_OK(join_again(self, DD_RIGHTS));
	EXPECT_EQ(0, *word);
	EXPECT_EQ(77, *was);
	/* Its memory is free for the next one. */
	ASSERT_EQ(1, cas(self, 0, 8, 0, 5, 0));
	EXPECT_EQ(0, result(self));
	EXPECT_EQ(0, *was);
	EXPECT_EQ(5, *word);
}

static long import_parked(void *arg)
{
	struct dd_segment_make s = mem_segment(&(struct mem){ 0 }, "unborn");
	struct dd_import_make i;

	return import_flags(arg, &s, DD_IMPORT_PARK, 0, &i);
}

TEST_F(mem, the_end_of_the_session_fails_parked_imports)
{
	struct dd_segment_make s = mem_segment(&self->em, "unborn");
	struct dd_import_make i;
	struct dd_note n;
	struct call c;

	ASSERT_OK(import_flags(&self->im, &s, DD_IMPORT_NOWAIT | DD_IMPORT_PARK,
			       self->ilist.list, &i));
	ASSERT_TRUE(call_waits(&c, import_parked, &self->im));
	ASSERT_EQ(0, at_node(2, "ddctl peer del 1"));
	EXPECT_ERR(EHOSTUNREACH, mem_wait_up(&self->im, &i, 60 * SECOND));
	ASSERT_SOON(own_note(self, &n));
	EXPECT_EQ(EHOSTUNREACH, n.offset);
	EXPECT_ERR(EHOSTUNREACH, call_end(&c));
	/* The other node has forgotten them. */
	ASSERT_OK(mem_export(&self->ex, &s));
	ASSERT_EQ(0, at_node(2, "ddctl peer add 1 10.9.0.1"));
	while (import_flags(&self->im, &s, 0, 0, &i))
		ASSERT_EQ(EHOSTUNREACH, errno);
}

DD_TEST_MAIN
