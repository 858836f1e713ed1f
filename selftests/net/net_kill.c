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
#include "mem.h"

#define SECOND	1000000000ull

/* ---- nodes ---------------------------------------------------------------- */

/* Name of the namespace of the exporters' node, or NULL: there is one node. */
static const char *far_netns(void)
{
	return getenv("DDP_PEER_NETNS");
}

static int enter(const char *name)
{
	char path[64];
	int fd, ret;

	if (!name)
		return 0;
	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ret = fd < 0 ? -1 : setns(fd, CLONE_NEWNET);
	close(fd);
	return ret;
}

/* The importers' node is that in which the program was started. */
static int enter_near(void)
{
	return enter(far_netns() ? "dd1" : NULL);
}

static int open_far(struct raw *r)
{
	int ret = enter(far_netns()) ?: raw_open(r);

	return enter_near() ?: ret;
}

/* Import @s of the exporters' node. */
static int import(const struct raw *r, const struct dd_segment_make *s, __u32 flags,
		  struct dd_import_make *i)
{
	__u32 node = far_netns() ? atoi(getenv("DDP_PEER_NODE")) : mem_node(r);

	*i = mem_import_of(s, node, DD_RIGHTS, flags, 0);
	return raw_ioctl(r, DD_IOC_IMPORT, i);
}

/* Segments and imports of both nodes, but for those that the caller has. */
static long long objects(void)
{
	return printed_number("bash -c 'for n in dd1 %s; do for o in segment import; do "
			      "%s ddctl -j $o; done; done' | jq -s 'map(length) | add'",
			      far_netns() ?: "", far_netns() ? "ip netns exec $n" : "");
}

/* ---- roles ---------------------------------------------------------------- */

/* Some of each request, with memory of a region and with other memory. */
static void request_some(const struct raw *r, const struct dd_import_make *i,
			 const struct mem *m, unsigned int *seed)
{
	const struct dd_sqe get = { .opcode = DD_OP_GET, .flags = DD_SQE_REGION,
				    .region = m->id, .len = MEM_LEN };
	static char bytes[MEM_LEN];
	__u64 at = rand_r(seed) % 64 * 8;

	switch (rand_r(seed) % 6) {
	case 0:
		mem_put(r, i, bytes, at, 8, DD_SQE_NOTIFY);
		break;
	case 1:
		mem_put(r, i, bytes, 0, MEM_LEN, 0);
		break;
	case 2:
		mem_op(r, i, &get);
		break;
	case 3:
		mem_get(r, i, bytes, at, PAGE);
		break;
	case 4:
		mem_cas(r, i, m, 0, at, 8, 0, 1, rand_r(seed) & 1 ? DD_SQE_NOTIFY : 0);
		break;
	default:
		mem_note(r, i, bytes, 64);
	}
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

/* Export, change, read notes, end, forever. */
static void exporter(unsigned int seed)
{
	struct dd_segment_make s;
	struct dd_list_make list;
	struct dd_note n;
	struct raw r;
	struct mem m;
	int k;

	CHILD_CHECK(enter(far_netns()) == 0);
	CHILD_CHECK(raw_start(&r, MEM_LEN, &m) == 0);
	CHILD_CHECK(mem_list(&r, &list) == 0);
	for (;;) {
		s = segment_with(&m, "killed", &list);
		CHILD_CHECK(mem_export(&r, &s) == 0);
		for (k = rand_r(&seed) % 100; k; k--) {
			mem_ctl(&r, s.segment, DD_SEGMENT_INHIBIT, k & 1, 0, 0);
			raw_list_wait(&r, list.list, rand_r(&seed) % 100000);
			while (raw_take(&r, list.list_unit, &n))
				;
		}
		mem_end(&r, s.segment);
	}
}

/* Import, request, end; and park an import of a segment that does not exist. */
static void importer(unsigned int seed)
{
	struct dd_import_make i, parked;
	struct dd_segment_make s, never;
	struct raw r;
	struct mem m;
	int k;

	CHILD_CHECK(raw_start(&r, MEM_LEN, &m) == 0);
	s = mem_segment(&m, "survivor");
	never = mem_segment(&m, "never");
	for (;;) {
		/* The slots of those that were killed may be in use. */
		if (import(&r, &s, 0, &i))
			continue;
		CHILD_CHECK(import(&r, &never, DD_IMPORT_NOWAIT | DD_IMPORT_PARK,
				   &parked) == 0);
		for (k = rand_r(&seed) % 200; k; k--)
			request_some(&r, &i, &m, &seed);
		mem_end(&r, i.import);
		mem_end(&r, parked.import);
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

	CHILD_CHECK(open_far(&r[0]) == 0 && (n == 1 || raw_open(&r[1]) == 0));
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
	long long objects;
};

FIXTURE_SETUP(kill)
{
	self->seed = dd_seed(_metadata);
	ASSERT_OK(open_far(&self->ex));
	ASSERT_OK(raw_alloc(&self->ex, MEM_LEN, &self->em));
	ASSERT_OK(raw_start(&self->im, MEM_LEN, &self->imem));
	ASSERT_OK(mem_list(&self->ex, &self->list));
	self->objects = objects();
	ASSERT_EQ(0, self->objects);
}

/* Nothing is left of those that were killed. */
FIXTURE_TEARDOWN(kill)
{
	EXPECT_TRUE(WAIT_FOR(objects() == 0)) {
		TH_LOG("%lld segments and imports are left", objects());
	}
	raw_close(&self->im);
	raw_close(&self->ex);
}

static void a_moment(FIXTURE_DATA(kill) *self)
{
	usleep(rand_r(&self->seed) % (1000 * dd_scale()));
}

static __u32 state(FIXTURE_DATA(kill) *self, const struct dd_import_make *i)
{
	return *(volatile __u32 *)&raw_cell(&self->im, i->cell_unit)->error;
}

TEST_F_TIMEOUT(kill, exporters, 3600)
{
	const struct dd_segment_make s = mem_segment(&self->em, "killed");
	static char seen[MEM_LEN];
	struct dd_import_make i;
	int n = rounds(), used = 0, k;
	pid_t pid;

	while (n--) {
		pid = start("exporter");
		ASSERT_LT(0, pid);
		/* Made by the export; it may have ended when the call returns. */
		ASSERT_OK(import(&self->im, &s, DD_IMPORT_PARK, &i));
		for (k = rand_r(&self->seed) % 100; k && !state(self, &i); k--)
			request_some(&self->im, &i, &self->imem, &self->seed);
		a_moment(self);
		used += raw_cell(&self->im, i.cell_unit)->submitted > 0;
		kill_child(pid);
		ASSERT_SOON(state(self, &i) == ESTALE);
		/* No reply arrives later. */
		memcpy(seen, self->imem.at, MEM_LEN);
		EXPECT_ERR(ESTALE, mem_put(&self->im, &i, "x", 0, 1, 0));
		EXPECT_EQ(0, memcmp(seen, self->imem.at, MEM_LEN));
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
	struct dd_import_make i;
	int n = rounds(), k;
	pid_t pid;

	ASSERT_OK(mem_export(&self->ex, &s));
	while (n--) {
		pid = start("importer");
		ASSERT_LT(0, pid);
		ASSERT_SOON(take_all(self));
		a_moment(self);
		kill_child(pid);
		ASSERT_SOON(mem_importers(&self->ex, s.segment) == 0);
	}
	/* The slots of all of them are free again. */
	take_all(self);
	ASSERT_OK(import(&self->im, &s, 0, &i));
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
	err = c->import ? import(&self->im, &s, 0, &i) : mem_export(&self->ex, &s);
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
		kill_child(pid);
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
