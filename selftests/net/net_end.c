// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of segments, imports and sessions between nodes, which wait for each other. Run by
 * across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "net_mem.h"
#include <pthread.h>
#include <sys/wait.h>

/* The thread that waits. */
static volatile pid_t waiter;

/*
 * The segment ends at a random moment: when a random byte of one of the messages has arrived, or
 * at once. Each message has its number in all bytes. The link is so slow that most ends come
 * before the last message, on one processor, too.
 */
TEST_F(far, nothing_arrives_after_the_end)
{
	static char bytes[MEM_WINDOW][BULK], zeros[BULK];
	int n, i, end, rounds = dd_count(200), partly = 0;
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
		while (!(end = *(volatile __u32 *)&self->cs->cs.error))
			sched_yield();
		EXPECT_EQ(ESTALE, end);
		EXPECT_ERR(ESTALE, put(self, zeros, 0, 8, 0));
		EXPECT_ERR(ESTALE, wait_done(&self->im, &self->i, ~0ull));
		ASSERT_EQ(0, memcmp(self->em.at, zeros, BULK));
		ASSERT_OK(mem_end(&self->im, self->i.import));
		self->s.segment = 0;
		self->s.generation = 0;
		ASSERT_OK(mem_export(&self->ex, &self->s));
		ASSERT_OK(import(&self->im, &self->s, DD_RIGHTS, 0, &self->i));
		self->cs = raw_unit(&self->im, self->i.state_unit);
	}
	EXPECT_EQ(0, impair(1, NULL));
	TH_LOG("%d of %d ends before the last message had arrived", partly, rounds);
}

static void *wait_for_more(void *arg)
{
	FIXTURE_DATA(far) *self = arg;

	waiter = gettid();
	return (void *)(long)(wait_done(&self->im, &self->i, 1) ? errno : 0);
}

TEST_F(far, the_end_of_an_import_ends_a_wait)
{
	pthread_t t;
	void *err;

	waiter = 0;
	ASSERT_EQ(0, pthread_create(&t, NULL, wait_for_more, self));
	ASSERT_SOON(waiter && asleep_in(waiter, SYS_ioctl));
	ASSERT_OK(mem_end(&self->im, self->i.import));
	ASSERT_EQ(0, pthread_join(t, &err));
	EXPECT_EQ(ESTALE, (long)err);
}

TEST_F(far, importers_know_of_the_end_when_the_call_returns)
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
			ASSERT_EQ(ESTALE, state(self, &i[k]));
			ASSERT_OK(mem_end(&self->im, i[k].import));
		}
		self->s.segment = 0;
		self->s.generation = 0;
		ASSERT_OK(mem_export(&self->ex, &self->s));
	}
}

/* So many ends that the control stream is full for a while. */
TEST_F(far, more_ends_than_the_control_stream_holds)
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
		ASSERT_EQ(ESTALE, state(self, &i[k]));
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

TEST_F(far, a_node_that_does_not_answer_has_its_dead_time)
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
	EXPECT_EQ(0, self->cs->cs.error);
	EXPECT_EQ(EINPROGRESS, state(self, &parked));
	ASSERT_EQ(0, small_link(0));
	ASSERT_OK(mem_export(&self->ex, &s));
	ASSERT_OK(mem_wait_up(&self->im, &parked, 60 * SECOND));
	ASSERT_OK(import(&self->im, &self->s, DD_RIGHT_GET, 1, &i));
	EXPECT_EQ(0, self->cs->cs.error);
	ASSERT_EQ(0, dead_time(5000));
}

static void on_signal(int sig)
{
}

static void *end_segment(void *arg)
{
	FIXTURE_DATA(far) *self = arg;

	waiter = gettid();
	return (void *)(long)(mem_end(&self->ex, self->s.segment) ? errno : 0);
}

TEST_F(far, a_signal_ends_the_wait_but_the_segment_has_ended)
{
	struct sigaction sa = { .sa_handler = on_signal };
	pthread_t t;
	void *err;

	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	ASSERT_EQ(0, dead_time(600000));
	ASSERT_EQ(0, cut());
	waiter = 0;
	ASSERT_EQ(0, pthread_create(&t, NULL, end_segment, self));
	ASSERT_SOON(waiter && asleep_in(waiter, SYS_ioctl));
	EXPECT_EQ(0, state(self, &self->i));
	ASSERT_EQ(0, pthread_kill(t, SIGUSR1));
	ASSERT_EQ(0, pthread_join(t, &err));
	EXPECT_EQ(EINTR, (long)err);
	EXPECT_ERR(ENOENT, mem_end(&self->ex, self->s.segment));
	EXPECT_EQ(0, state(self, &self->i));
	ASSERT_EQ(0, lose_none());
	ASSERT_SOON(state(self, &self->i) == ESTALE);
	EXPECT_EQ(0, dead_time(5000));
}

/* How an exporter takes back what it has exported. */
enum end { DENY, INTERRUPTED_END, EXIT, ENDS };

static __u64 importer_of(FIXTURE_DATA(far) *self, __u64 *count)
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

static int end_access(FIXTURE_DATA(far) *self, enum end how)
{
	struct dd_segment_ctl deny = { .size = sizeof(deny), .what = DD_SEGMENT_DENY,
				       .segment = self->s.segment };
	__u64 count;
	pthread_t t;
	void *err;

	switch (how) {
	case DENY:
		deny.value = importer_of(self, &count);
		return raw_ioctl(&self->ex, DD_IOC_SEGMENT_CTL, &deny);
	case EXIT:
		raw_close(&self->ex);
		self->ex = (struct raw){ .fd = -1 };
		return 0;
	default:
		waiter = 0;
		if (pthread_create(&t, NULL, end_segment, self))
			return -1;
		/* If it is not seen asleep, it has ended by itself, which is as good. */
		(void)WAIT_FOR_MS(waiter && asleep_in(waiter, SYS_ioctl), dd_patience());
		pthread_kill(t, SIGUSR1);
		return pthread_join(t, &err);
	}
}

/*
 * The reply of a get is in a queue of the exporter's node when the access ends. What the exporter
 * stores then, in memory that it has pinned and keeps, does not reach the importer.
 */
TEST_F(far, what_is_stored_after_the_end_is_not_read)
{
	struct sigaction sa = { .sa_handler = on_signal };
	static char got[2 * PAGE];
	const size_t len = sizeof(got);
	char *own = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dd_region_pin pin = { .size = sizeof(pin), .address = (uintptr_t)own,
				     .length = len };
	struct mem m = { .len = len };
	enum end how;
	__u64 count;

	ASSERT_NE(MAP_FAILED, own);
	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	ASSERT_EQ(0, dead_time(60000));
	ASSERT_OK(raw_ioctl(&self->ex, DD_IOC_REGION_PIN, &pin));
	m.id = pin.region;
	for (how = DENY; how < ENDS; how++) {
		memset(own, 'a', len);
		self->s = mem_segment(&m, "far_queued");
		ASSERT_OK(mem_export(&self->ex, &self->s));
		ASSERT_OK(import(&self->im, &self->s, DD_RIGHT_GET, 0, &self->i));
		self->cs = raw_unit(&self->im, self->i.state_unit);
		ASSERT_EQ(0, impair(2, "delay 1s"));
		ASSERT_EQ(1, get(self, got, 0, len));
		do {
			count = 0;
			ASSERT_NE(0, importer_of(self, &count));
		} while (!count);
		ASSERT_EQ(0, end_access(self, how));
		memset(own, 'b', len);
		ASSERT_SOON(state(self, &self->i) == ESTALE);
		EXPECT_EQ(NULL, memchr(got, 'b', len));
		ASSERT_EQ(0, impair(2, NULL));
		ASSERT_OK(mem_end(&self->im, self->i.import));
		if (how == DENY)
			ASSERT_OK(mem_end(&self->ex, self->s.segment));
	}
	EXPECT_EQ(0, dead_time(5000));
}

static void *end_import(void *arg)
{
	FIXTURE_DATA(far) *self = arg;

	waiter = gettid();
	return (void *)(long)(mem_end(&self->im, self->i.import) ? errno : 0);
}

TEST_F(far, the_end_of_an_import_waits_for_its_requests)
{
	struct sigaction sa = { .sa_handler = on_signal };
	static char ones[BULK];
	pthread_t t;
	void *err;

	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	ASSERT_EQ(0, dead_time(600000));
	memset(ones, 1, sizeof(ones));
	ASSERT_EQ(0, cut());
	ASSERT_EQ(1, put(self, ones, 0, sizeof(ones), 0));
	waiter = 0;
	ASSERT_EQ(0, pthread_create(&t, NULL, end_import, self));
	ASSERT_SOON(waiter && asleep_in(waiter, SYS_ioctl));
	ASSERT_EQ(0, pthread_kill(t, SIGUSR1));
	ASSERT_EQ(0, pthread_join(t, &err));
	EXPECT_EQ(EINTR, (long)err);
	/* The import has not ended. */
	ASSERT_EQ(1, put(self, "2", 8, 1, 0));
	ASSERT_EQ(0, lose_none());
	EXPECT_EQ(0, mem_end(&self->im, self->i.import));
	EXPECT_EQ('2', self->em.at[8]);
	self->em.at[8] = 1;
	EXPECT_EQ(0, memcmp(self->em.at, ones, BULK));
	EXPECT_EQ(0, dead_time(5000));
}

static void on_tick(int sig)
{
}

/* The note of the last request is withheld, and signals come all the time. */
TEST_F(far, signals_do_not_prolong_the_end_of_an_import)
{
	const struct itimerspec each = { { .tv_nsec = 100000000 }, { .tv_nsec = 100000000 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct sigaction sa = { .sa_handler = on_tick };
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
	EXPECT_EQ(0, dead_time(5000));
}

TEST_F(far, the_end_waits_no_longer_than_the_dead_time)
{
	struct timespec from, to;
	pthread_t t;
	void *err;

	ASSERT_EQ(0, dead_time(3000));
	ASSERT_EQ(0, cut());
	waiter = 0;
	clock_gettime(CLOCK_MONOTONIC, &from);
	ASSERT_EQ(0, pthread_create(&t, NULL, end_segment, self));
	ASSERT_SOON(waiter && asleep_in(waiter, SYS_ioctl));
	EXPECT_EQ(0, pthread_join(t, &err));
	clock_gettime(CLOCK_MONOTONIC, &to);
	EXPECT_EQ(0, (long)err);
	/* Most of it is for a machine with other work. */
	EXPECT_LE(to.tv_sec - from.tv_sec, 60);
	EXPECT_ERR(ENOENT, mem_end(&self->ex, self->s.segment));
	ASSERT_SOON(state(self, &self->i) == EHOSTUNREACH);
	ASSERT_EQ(0, lose_none());
	EXPECT_EQ(0, dead_time(5000));
	self->s.segment = 0;
	self->s.generation = 0;
	ASSERT_OK(mem_export(&self->ex, &self->s));
	while (import(&self->im, &self->s, DD_RIGHT_GET, 0, &self->i))
		ASSERT_EQ(EHOSTUNREACH, errno);
}

/* Import with a list of the importer, in the place of the fixture's import. */
static int import_notify(FIXTURE_DATA(far) *self, struct dd_list_make *list)
{
	if (mem_end(&self->im, self->i.import) || mem_list(&self->im, list) ||
	    import_flags(&self->im, &self->s, 0, 0, &self->i) ||
	    mem_import_list(&self->im, &self->i, list->list))
		return -1;
	self->cs = raw_unit(&self->im, self->i.state_unit);
	return 0;
}

/* The last request is not done, since its note to the exporter is withheld. */
TEST_F(far, the_end_of_the_session_notifies_of_what_was_under_way)
{
	const __u8 flags = DD_SQE_NOTIFY | DD_SQE_NOTIFY_SELF;
	struct dd_list_make list;
	struct dd_note n;
	int k;

	ASSERT_OK(import_notify(self, &list));
	for (k = 0; k <= MEM_WINDOW; k++)
		/* EBUSY, until the other node has reported one as done. */
		ASSERT_SOON(put(self, "note", 0, 4, flags) == 1);
	for (k = 1; k <= MEM_WINDOW; k++) {
		ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
		EXPECT_EQ(k, n.msgid);
		EXPECT_EQ(0, n.error);
	}
	ASSERT_EQ(0, system("ddctl peer del 2"));
	ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
	EXPECT_EQ(DD_NOTE_DONE, n.type);
	EXPECT_EQ(MEM_WINDOW + 1, n.msgid);
	EXPECT_EQ(EIO, n.error);
	EXPECT_EQ(EHOSTUNREACH, self->cs->cs.error);
	EXPECT_EQ(EIO, self->cs->result[(MEM_WINDOW + 1) % DD_RESULTS]);
	EXPECT_ERR(EHOSTUNREACH, put(self, "note", 0, 4, DD_SQE_NOTIFY_SELF));
	EXPECT_ERR(EHOSTUNREACH, wait_done(&self->im, &self->i, MEM_WINDOW + 2));
	EXPECT_FALSE(raw_take(&self->im, list.list_unit, &n));
	EXPECT_EQ(0, mem_end(&self->im, self->i.import));
	ASSERT_EQ(0, system("ddctl peer add 2 10.9.0.2"));
	while (import(&self->im, &self->s, DD_RIGHT_GET, 0, &self->i))
		ASSERT_TRUE(errno == EHOSTUNREACH || errno == EUSERS);
}

/*
 * The other node executes a CAS, and its reply is lost with the session. Its owner then stores
 * the expected value again, so that a second execution would show.
 */
TEST_F(far, a_swap_that_is_cut_off_is_not_known_and_not_repeated)
{
	volatile __u64 *word = (volatile __u64 *)self->em.at;
	__u64 *was = (__u64 *)self->imem.at;
	struct dd_list_make list;
	struct dd_note n;

	ASSERT_OK(import_notify(self, &list));
	*was = 77;
	ASSERT_EQ(0, impair(2, "loss 100%"));
	ASSERT_EQ(1, cas(self, 0, 8, 0, 1, DD_SQE_NOTIFY_SELF));
	ASSERT_SOON(*word == 1);
	*word = 0;
	EXPECT_EQ(0, self->cs->cs.done);
	ASSERT_EQ(0, system("ddctl peer del 2"));
	ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
	EXPECT_EQ(DD_OP_CAS, n.op);
	EXPECT_EQ(EIO, n.error);
	EXPECT_EQ(EIO, self->cs->result[1]);
	EXPECT_EQ(EHOSTUNREACH, self->cs->cs.error);
	EXPECT_EQ(0, self->cs->cs.done);
	EXPECT_EQ(0, mem_end(&self->im, self->i.import));
	ASSERT_EQ(0, impair(2, NULL));
	ASSERT_EQ(0, system("ddctl peer add 2 10.9.0.2"));
	while (import(&self->im, &self->s, DD_RIGHTS, 0, &self->i))
		ASSERT_TRUE(errno == EHOSTUNREACH || errno == EUSERS);
	self->cs = raw_unit(&self->im, self->i.state_unit);
	EXPECT_EQ(0, *word);
	EXPECT_EQ(77, *was);
	/* Its memory is free for the next one. */
	ASSERT_EQ(1, cas(self, 0, 8, 0, 5, 0));
	EXPECT_EQ(0, result(self));
	EXPECT_EQ(0, *was);
	EXPECT_EQ(5, *word);
}

static void *import_parked(void *arg)
{
	const struct raw *im = arg;
	struct dd_segment_make s = mem_segment(&(struct mem){ 0 }, "unborn");
	struct dd_import_make i;

	waiter = gettid();
	return (void *)(long)(import_flags(im, &s, DD_IMPORT_PARK, 0, &i) ? errno : 0);
}

TEST_F(far, the_end_of_the_session_fails_parked_imports)
{
	struct dd_segment_make s = mem_segment(&self->em, "unborn");
	struct dd_list_make list;
	struct dd_import_make i;
	struct dd_note n;
	pthread_t t;
	void *err;

	ASSERT_OK(mem_list(&self->im, &list));
	ASSERT_OK(import_flags(&self->im, &s, DD_IMPORT_NOWAIT | DD_IMPORT_PARK, list.list, &i));
	waiter = 0;
	ASSERT_EQ(0, pthread_create(&t, NULL, import_parked, &self->im));
	ASSERT_SOON(waiter && asleep_in(waiter, SYS_ioctl));
	ASSERT_EQ(0, system("bash -c 'ip netns exec dd2 ddctl peer del 1'"));
	EXPECT_ERR(EHOSTUNREACH, mem_wait_up(&self->im, &i, 60 * SECOND));
	ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
	EXPECT_EQ(EHOSTUNREACH, n.offset);
	ASSERT_EQ(0, pthread_join(t, &err));
	EXPECT_EQ(EHOSTUNREACH, (long)err);
	/* The other node has forgotten them. */
	ASSERT_OK(mem_export(&self->ex, &s));
	ASSERT_EQ(0, system("bash -c 'ip netns exec dd2 ddctl peer add 1 10.9.0.1'"));
	while (import_flags(&self->im, &s, 0, 0, &i))
		ASSERT_EQ(EHOSTUNREACH, errno);
}

/* It waits in the call, and ends at once. */
TEST_F(far, an_exporter_is_killed_while_it_waits)
{
	struct dd_segment_make s;
	int report, go[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, dead_time(600000));
	pid = fork_until_report(&report);
	if (!pid) {
		struct raw r;
		struct mem m;

		CHILD_CHECK(raw_start_far(&r, PAGE, &m) == 0);
		s = mem_segment(&m, "far_killed");
		CHILD_CHECK(mem_export(&r, &s) == 0);
		child_report(report);
		CHILD_CHECK(read(go[0], &c, 1) == 1);
		mem_end(&r, s.segment);
		_exit(1);
	}
	ASSERT_LT(0, pid);
	s = mem_segment(&self->em, "far_killed");
	ASSERT_OK(import(&self->im, &s, DD_RIGHT_GET, 0, &self->i));
	ASSERT_EQ(0, cut());
	ASSERT_EQ(1, write(go[1], "x", 1));
	ASSERT_SOON(asleep_in(pid, SYS_ioctl));
	kill_child(pid);
	EXPECT_EQ(0, state(self, &self->i));
	ASSERT_EQ(0, lose_none());
	ASSERT_SOON(state(self, &self->i) == ESTALE);
	EXPECT_EQ(0, dead_time(5000));
}

DD_TEST_MAIN
