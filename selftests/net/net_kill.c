// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exporters, importers and registrars are killed at any moment. Each is a process of its
 * own, this program with the name of its role, so User-Mode Linux can run it. Within a node,
 * or between two by across.sh. DD_SOAK multiplies the rounds.
 *
 *	net_kill exporter|importer|registrar
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include "node.h"

#define SECOND	1000000000ull
#define LEN	(20 * PAGE)	/* more than a request copies at once */
#define LATER	(DD_IMPORT_NOWAIT | DD_IMPORT_PARK)
#define PARKED	512		/* look-ups of one user that wait on a node, at most */

/* Import @s of the exporters' node; @list, or 0, gets the importer's notes. */
static int import(const struct raw *r, const struct dd_segment_make *s, __u32 flags,
		  __u32 list, struct dd_import_make *i)
{
	*i = mem_import_of(s, mem_far_node(r), DD_RIGHTS,
			   flags, flags & DD_IMPORT_NOWAIT ? list : 0);
	if (raw_ioctl(r, DD_IOC_IMPORT, i))
		return -1;
	return list ? mem_import_list_or_end(r, i, list) : 0;
}

/*
 * Import the first segment under the key of @s that exists long enough. An import that is woken
 * by an export fails with ESTALE if that segment ends before the look-up is repeated.
 */
static int import_next(const struct raw *r, const struct dd_segment_make *s,
		       struct dd_import_make *i)
{
	int ret;

	do
		ret = import(r, s, DD_IMPORT_PARK, 0, i);
	while (ret && errno == ESTALE);
	return ret;
}

/* Segments and imports of both nodes, but for those that the caller has. */
static long long objects(void)
{
	return printed_number("bash -c 'for n in dd1 %s; do for o in segment import; do "
			      "%s ddctl -j $o; done; done' | jq -s 'map(length) | add'",
			      far_netns() ?: "", far_netns() ? "ip netns exec $n" : "");
}

/* ---- roles ---------------------------------------------------------------- */

/* A request of any kind, from or to memory of a region or other memory, that may stay pinned. */
static void request_some(const struct raw *r, const struct dd_import_make *i,
			 const struct mem *m, unsigned int *seed)
{
	static char bytes[LEN];
	struct dd_sqe sqe = mem_self_request(rand_r(seed) % MEM_SELF_REQUESTS, m, bytes, LEN - 16);

	if (!i->list || rand_r(seed) & 1)
		sqe.flags &= ~DD_SQE_NOTIFY_SELF;
	if (sqe.opcode != DD_OP_GET && rand_r(seed) & 1)
		sqe.flags |= DD_SQE_NOTIFY;
	if (sqe.opcode == DD_OP_PUT && rand_r(seed) & 1)
		sqe.flags |= DD_SQE_REGION;
	mem_op(r, i, &sqe);
}

static struct dd_segment_make segment_with(const struct mem *m, const char *name,
					   const struct dd_list_make *list)
{
	struct dd_segment_make s = mem_segment(m, name);

	s.list = list->list;
	s.window = MEM_WINDOW;
	s.policy = DD_POLICY_CONDITIONAL;
	return s;
}

/* Export, change, redirect, read notes, end, forever. Half of the segments end at once. */
static void exporter(unsigned int seed)
{
	struct dd_segment_make s;
	struct dd_list_make list;
	struct dd_note n;
	struct mem m, to;
	struct raw r;
	int k;

	CHILD_CHECK(enter_netns(far_netns()) == 0);
	CHILD_CHECK(raw_start(&r, LEN, &m) == 0 && raw_alloc(&r, LEN, &to) == 0);
	CHILD_CHECK(mem_list(&r, &list) == 0);
	for (;;) {
		s = segment_with(&m, "killed", &list);
		s.flags = rand_r(&seed) & 1 ? DD_SEGMENT_REDIRECT : 0;
		CHILD_CHECK(mem_export(&r, &s) == 0);
		for (k = rand_r(&seed) & 1 ? rand_r(&seed) % 100 : 0; k; k--) {
			if (s.flags)
				mem_redirect(&r, s.segment, 0, &to, 0, LEN);
			mem_ctl(&r, s.segment, DD_SEGMENT_INHIBIT, k & 1, 0, 0);
			raw_list_wait(&r, list.list, rand_r(&seed) % 100000);
			while (raw_take(&r, list.list_unit, &n))
				;
		}
		mem_end(&r, s.segment);
	}
}

/* A context with a region that records stores. */
static int raw_start_tracked(struct raw *r, struct mem *m)
{
	struct dd_region_alloc a = { .size = sizeof(a), .flags = DD_REGION_TRACK,
				     .length = LEN };

	if (raw_open(r) || raw_ioctl(r, DD_IOC_REGION_ALLOC, &a))
		return -1;
	*m = (struct mem){ a.region, a.length,
			   raw_map(r, a.offset, LEN, PROT_READ | PROT_WRITE) };
	return m->at == MAP_FAILED ? -1 : 0;
}

/* Store to one page after the other of a tracked region, forever. */
static void *store(void *arg)
{
	volatile char *at = arg;
	size_t i;

	for (i = 0;; i = (i + PAGE) % LEN) {
		at[i]++;
		sched_yield();
	}
	return NULL;
}

/*
 * Import, request (on one node by windows, too) and end; and park an import of a segment that
 * rarely exists.
 */
static void importer(unsigned int seed)
{
	struct dd_import_make i, parked;
	struct dd_segment_make s, rare;
	struct dd_region_dirty d = { .size = sizeof(d), .length = LEN };
	char *block = NULL, *cas = NULL;
	struct dd_list_make list;
	struct dd_direct windows;
	struct dd_note n;
	pthread_t thread;
	struct raw r;
	struct mem m;
	__u64 bits;
	int k;

	CHILD_CHECK(raw_start_tracked(&r, &m) == 0 && mem_list(&r, &list) == 0);
	CHILD_CHECK(pthread_create(&thread, NULL, store, m.at) == 0);
	d.region = m.id;
	d.bitmap = (uintptr_t)&bits;
	s = mem_segment(&m, "survivor");
	rare = mem_segment(&m, "rare");
	for (;;) {
		/* The slots of those that were killed may be in use. */
		if (import(&r, &s, 0, list.list, &i))
			continue;
		CHILD_CHECK(far_netns() || mem_windows(&r, &i, &windows, &block, &cas) == 0);
		CHILD_CHECK(import(&r, &rare, LATER, 0, &parked) == 0);
		for (k = rand_r(&seed) % 200; k; k--) {
			request_some(&r, &i, &m, &seed);
			CHILD_CHECK(raw_ioctl(&r, DD_IOC_REGION_DIRTY, &d) == 0);
			if (block) {
				*(volatile __u64 *)block = k;
				__sync_fetch_and_add((__u64 *)cas, 1);
			}
			if (rand_r(&seed) & 1)
				while (raw_take(&r, list.list_unit, &n))
					;
		}
		mem_end(&r, i.import);
		mem_end(&r, parked.import);
		if (block) {
			munmap(block, windows.block_size);
			munmap(cas, windows.block_size);
		}
	}
}

/* Accept all names, and find the last one; or leave a look-up without an answer. */
static void registrar(unsigned int seed)
{
	struct dd_registrar_answer a = { 0 };
	struct dd_registrar_call c;
	struct pollfd p[2];
	struct raw r[2];
	int i, n = far_netns() ? 2 : 1;

	CHILD_CHECK(raw_open_far(&r[0]) == 0 && (n == 1 || raw_open(&r[1]) == 0));
	a.node = mem_node(&r[0]);
	for (i = 0; i < n; i++) {
		p[i] = (struct pollfd){ .events = POLLIN };
		CHILD_CHECK(WAIT_FOR((p[i].fd = raw_op(&r[i], DD_IOC_REGISTRAR, 0)) >= 0));
	}
	for (;;) {
		CHILD_CHECK(poll(p, n, -1) > 0);
		for (i = 0; i < n; i++) {
			if (!(p[i].revents & POLLIN) ||
			    read(p[i].fd, &c, sizeof(c)) != sizeof(c))
				continue;
			if (c.op == DD_REGISTRAR_ADD)
				a.generation = c.generation;
			a.call = c.call;
			a.error = c.op == DD_REGISTRAR_LOOKUP && !a.generation ? ENOENT : 0;
			if (c.op == DD_REGISTRAR_ADD ? c.call : rand_r(&seed) % 8)
				(void)!write(p[i].fd, &a, sizeof(a));
		}
	}
}

static const struct role {
	const char *name;
	void (*run)(unsigned int seed);
} roles[] = {
	{ "exporter", exporter }, { "importer", importer }, { "registrar", registrar },
};

/* ---- the survivor --------------------------------------------------------- */

static int rounds(void)
{
	const char *soak = getenv("DD_SOAK");

	return dd_count(100) * (soak ? atoi(soak) : 1);
}

/* Kill @pid, which has found no error until then. */
static bool killed(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
}

static pid_t start(const char *role)
{
	pid_t parent = getpid(), pid = vfork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			execl("/proc/self/exe", "net_kill", role, NULL);
		_exit(125);
	}
	return pid;
}

/* @ex is on the exporters' node, @im on the importers'. */
FIXTURE(kill) {
	struct raw ex, im;
	struct mem em, imem;
	struct dd_list_make list;
	unsigned int seed;
	long long objects, memlock;
};

FIXTURE_SETUP(kill)
{
	self->seed = dd_seed(_metadata);
	ASSERT_OK(raw_open_far(&self->ex));
	self->memlock = memlock_used(&self->ex);
	ASSERT_OK(raw_alloc(&self->ex, LEN, &self->em));
	ASSERT_OK(raw_start(&self->im, LEN, &self->imem));
	ASSERT_OK(mem_list(&self->ex, &self->list));
	self->objects = objects();
	ASSERT_EQ(0, self->objects);
}

/* Nothing is left of those that were killed, and no memory is charged for it. */
FIXTURE_TEARDOWN(kill)
{
	struct raw r;

	EXPECT_TRUE(WAIT_FOR(objects() == 0)) {
		TH_LOG("%lld segments and imports are left", objects());
	}
	munmap(self->imem.at, LEN);
	munmap(self->em.at, LEN);
	raw_close(&self->im);
	raw_close(&self->ex);
	ASSERT_OK(raw_open(&r));
	EXPECT_TRUE(WAIT_FOR(memlock_used(&r) <= self->memlock)) {
		TH_LOG("%lld bytes more are charged", memlock_used(&r) - self->memlock);
	}
	raw_close(&r);
}

static void a_moment(FIXTURE_DATA(kill) *self)
{
	usleep(rand_r(&self->seed) % (1000 * dd_scale()));
}

static __u32 state(FIXTURE_DATA(kill) *self, const struct dd_import_make *i)
{
	return *(volatile __u32 *)&raw_state(&self->im, i->state_unit)->error;
}

TEST_F_TIMEOUT(kill, exporters, 3600)
{
	const struct dd_segment_make s = mem_segment(&self->em, "killed");
	static char seen[LEN];
	struct dd_import_make i;
	int n = rounds(), used = 0, k;
	pid_t pid;

	while (n--) {
		pid = start("exporter");
		ASSERT_LT(0, pid);
		/* Its access may have ended when the call returns. */
		ASSERT_OK(import_next(&self->im, &s, &i));
		for (k = rand_r(&self->seed) % 100; k && !state(self, &i); k--)
			request_some(&self->im, &i, &self->imem, &self->seed);
		a_moment(self);
		used += raw_state(&self->im, i.state_unit)->submitted > 0;
		ASSERT_TRUE(killed(pid));
		ASSERT_SOON(state(self, &i) == ESTALE);
		/* No reply arrives later. */
		memcpy(seen, self->imem.at, LEN);
		EXPECT_ERR(ESTALE, mem_put(&self->im, &i, "x", 0, 1, 0));
		EXPECT_EQ(0, memcmp(seen, self->imem.at, LEN));
		ASSERT_OK(mem_end(&self->im, i.import));
	}
	TH_LOG("%d of %d segments were used", used, rounds());
	EXPECT_LT(0, used);
}

static int take_all(FIXTURE_DATA(kill) *self)
{
	struct dd_note n;
	int k = 0;

	while (raw_take(&self->ex, self->list.list_unit, &n))
		k++;
	return k;
}

TEST_F_TIMEOUT(kill, importers, 3600)
{
	struct dd_segment_make s = segment_with(&self->em, "survivor", &self->list);
	struct dd_segment_make rare = mem_segment(&self->em, "rare");
	static struct dd_import_make parked[PARKED];
	struct dd_import_make i;
	int n = rounds(), k;
	pid_t pid;

	ASSERT_OK(mem_export(&self->ex, &s));
	while (n--) {
		ASSERT_OK(import(&self->im, &rare, LATER, 0, &i));
		pid = start("importer");
		ASSERT_LT(0, pid);
		ASSERT_SOON(take_all(self));
		a_moment(self);
		/* It may have parked an import, as the survivor has. */
		ASSERT_OK(mem_export(&self->ex, &rare));
		ASSERT_TRUE(killed(pid));
		ASSERT_OK(mem_wait_up(&self->im, &i, 60 * SECOND));
		ASSERT_OK(mem_end(&self->ex, rare.segment));
		rare.segment = rare.generation = 0;
		ASSERT_OK(mem_end(&self->im, i.import));
		ASSERT_SOON(mem_importers(&self->ex, s.segment) == 0);
	}
	/* None of their look-ups is parked any more: all that one user may have are accepted. */
	for (k = 0; k < PARKED; k++)
		ASSERT_SOON(!mem_import_flags(&self->ex, &rare, DD_RIGHTS, LATER, 0,
					      &parked[k]));
	while (k--)
		ASSERT_OK(mem_end(&self->ex, parked[k].import));
	/* The slots of all of them are free again. */
	take_all(self);
	ASSERT_OK(import(&self->im, &s, 0, 0, &i));
	for (k = 0; k < MEM_WINDOW; k++)
		ASSERT_EQ(1, mem_put(&self->im, &i, "x", k, 1, DD_SQE_NOTIFY));
	ASSERT_OK(raw_conn_wait(&self->im, i.import, DD_WAIT_DONE, k, 60 * SECOND));
	EXPECT_EQ(MEM_WINDOW, take_all(self));
	ASSERT_OK(mem_end(&self->im, i.import));
	ASSERT_OK(mem_end(&self->ex, s.segment));
}

/* Exports and imports by name, until it is stopped. */
struct caller {
	FIXTURE_DATA(kill) *self;
	bool import, stop;
	long good, bad;
	int err;		/* one that is not permitted */
	pthread_t thread;
};

static int call_once(struct caller *c)
{
	FIXTURE_DATA(kill) *self = c->self;
	struct dd_segment_make s = mem_segment(&self->em, "named");
	struct dd_import_make i;
	int err;

	s.key_class = DD_SEGMENT_REGISTERED;
	err = c->import ? import(&self->im, &s, 0, 0, &i) : mem_export(&self->ex, &s);
	if (err)
		return errno;
	/* Let the other thread find it. */
	if (!c->import)
		usleep(1000);
	return c->import ? mem_end(&self->im, i.import) : mem_end(&self->ex, s.segment);
}

static void *call(void *arg)
{
	struct caller *c = arg;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED) && !c->err) {
		int err = call_once(c);

		if (!err)
			__atomic_add_fetch(&c->good, 1, __ATOMIC_RELAXED);
		else if (err == EHOSTDOWN || err == ENOENT || err == ECONNREFUSED ||
			 err == ESTALE)
			__atomic_add_fetch(&c->bad, 1, __ATOMIC_RELAXED);
		else
			c->err = err;
		/* Let a registrar begin. */
		if (err)
			usleep(500);
	}
	return NULL;
}

TEST_F_TIMEOUT(kill, registrars, 3600)
{
	struct caller c[2] = { { .self = self }, { .self = self, .import = true } };
	int n = rounds(), k;
	pid_t pid;

	for (k = 0; k < 2; k++)
		ASSERT_EQ(0, pthread_create(&c[k].thread, NULL, call, &c[k]));
	while (n--) {
		long before = __atomic_load_n(&c[0].good, __ATOMIC_RELAXED);

		pid = start("registrar");
		ASSERT_LT(0, pid);
		/* Others may not even have begun. */
		if (n % 2)
			ASSERT_SOON(__atomic_load_n(&c[0].good, __ATOMIC_RELAXED) > before);
		a_moment(self);
		ASSERT_TRUE(killed(pid));
	}
	for (k = 0; k < 2; k++)
		__atomic_store_n(&c[k].stop, true, __ATOMIC_RELAXED);
	for (k = 0; k < 2; k++) {
		ASSERT_EQ(0, pthread_join(c[k].thread, NULL));
		TH_LOG("%s: %ld done, %ld refused", c[k].import ? "imports" : "exports",
		       c[k].good, c[k].bad);
		EXPECT_EQ(0, c[k].err);
		EXPECT_LT(0, c[k].bad);
	}
	EXPECT_LT(0, c[0].good);
	/* No name is left. */
	ASSERT_LE(0, k = raw_op(&self->ex, DD_IOC_REGISTRAR, 0));
	ASSERT_OK(fcntl(k, F_SETFL, O_NONBLOCK));
	EXPECT_ERR(EAGAIN, read(k, &(struct dd_registrar_call){ 0 },
				sizeof(struct dd_registrar_call)));
	close(k);
}

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(roles) / sizeof(*roles); i++)
		if (!strcmp(argv[1], roles[i].name))
			roles[i].run(getpid());
	dd_filter(argv + 1);
	dd_set_timeouts();
	return test_harness_run(argc, argv);
}
