// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs each valid path with its n-th allocation or copy failing, and with all from
 * the n-th on failing, for each n until a run meets no failure. Each run has
 * contexts of its own. A failed run must have failed cleanly: the same call succeeds
 * when repeated, and when the contexts are closed the charge is what it was. Needs a
 * kernel with fault injection.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <poll.h>
#include <pthread.h>
#include "audit.h"
#include "inject.h"
#include "mem.h"

/* The objects that a path works on; a path restores them, failed or not. */
struct stage {
	struct pair p;
	struct raw fresh;
	struct mem spare, client, m;
	struct dd_serve s;
	struct dd_connect c;
	struct dd_region_pin pin;
	struct dd_segment_make seg;
	struct dd_import_make imp;
	struct dd_list_make list;
	struct dd_importer importer;
	void *at;
	int fd, got;
	struct dd_registrar_call call;
	pthread_t thread;
};

/* --- the paths; each returns 0 or -1, and cleans up with faults off --------*/

static int open_device(struct stage *t)
{
	t->fresh.fd = open("/dev/dd", O_RDWR | O_CLOEXEC);
	return t->fresh.fd < 0 ? -1 : 0;
}

static void close_device(struct stage *t)
{
	close(t->fresh.fd);
}

static int map_area(struct stage *t)
{
	t->at = mmap(NULL, DD_AREA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		     t->fresh.fd, 0);
	if (t->at == MAP_FAILED)
		return -1;
	/* A page fault that fails for lack of memory is retried, or kills. */
	return 0;
}

static void unmap_area(struct stage *t)
{
	munmap(t->at, DD_AREA_SIZE);
	close(t->fresh.fd);
}

static int alloc_region(struct stage *t)
{
	struct dd_region_alloc a = { .size = sizeof(a), .length = 8 * PAGE };

	t->m.id = 0;
	if (raw_ioctl(&t->p.srv, DD_IOC_REGION_ALLOC, &a))
		return -1;
	t->m.id = a.region;
	return 0;
}

static void free_region(struct stage *t)
{
	raw_op(&t->p.srv, DD_IOC_REGION_FREE, t->m.id);
}

static int alloc_and_map_region(struct stage *t)
{
	struct dd_region_alloc a = { .size = sizeof(a), .length = 8 * PAGE };

	t->m.id = 0;
	t->m.at = MAP_FAILED;
	if (raw_ioctl(&t->p.srv, DD_IOC_REGION_ALLOC, &a))
		return -1;
	t->m.id = a.region;
	t->m.at = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		       t->p.srv.fd, a.offset);
	return t->m.at == MAP_FAILED ? -1 : 0;
}

static void unmap_region(struct stage *t)
{
	if (t->m.at != MAP_FAILED)
		munmap(t->m.at, 8 * PAGE);
	if (t->m.id)
		raw_op(&t->p.srv, DD_IOC_REGION_FREE, t->m.id);
}

static int serve(struct stage *t)
{
	raw_serve_args(&t->s, "failnth", 40, &t->spare);
	return raw_serve(&t->p.srv, &t->s);
}

static int serve_accepting(struct stage *t)
{
	raw_serve_args(&t->s, "failnth", 40, &t->spare);
	t->s.flags = DD_SERVE_ACCEPT;
	t->s.window = 8;
	return raw_serve(&t->p.srv, &t->s);
}

static void unserve(struct stage *t)
{
	raw_op(&t->p.srv, DD_IOC_UNSERVE, t->s.service);
}

static int connect_it(struct stage *t)
{
	raw_connect_args(&t->c, t->p.name, &t->spare);
	t->c.window = 64;
	return raw_connect(&t->p.srv, &t->c);
}

static int connect_sharing(struct stage *t)
{
	raw_connect_args(&t->c, t->p.name, &t->spare);
	/* The list must grow for this service. */
	t->c.window = DD_WINDOW_MAX;
	t->c.list = t->p.s.list;
	t->c.flags = DD_CONNECT_LIST;
	return raw_connect(&t->p.srv, &t->c);
}

static void close_it(struct stage *t)
{
	raw_op(&t->p.srv, DD_IOC_CLOSE, t->c.conn);
}

static int connect_accepted(struct stage *t)
{
	raw_serve_args(&t->s, "failnth", 2, &t->spare);
	t->s.flags = DD_SERVE_ACCEPT;
	t->s.recv.length = t->s.send.length = PAGE;
	if (raw_serve(&t->p.srv, &t->s))
		return -1;
	raw_connect_args(&t->c, "failnth", &t->client);
	return raw_connect(&t->p.cl, &t->c);
}

static void unserve_accepted(struct stage *t)
{
	raw_op(&t->p.cl, DD_IOC_CLOSE, t->c.conn);
	raw_op(&t->p.srv, DD_IOC_UNSERVE, t->s.service);
}

static int send_wired(struct stage *t)
{
	return pair_request(&t->p, 0, 0, 3000) == 1 ? 0 : -1;
}

static int send_unwired(struct stage *t)
{
	static char from[3000];
	struct dd_sqe sqe = { .opcode = DD_OP_PUT, .len = sizeof(from),
			      .flags = DD_SQE_NOTIFY | DD_SQE_UNWIRED,
			      .src = (uintptr_t)from };

	return raw_submit(&t->p.cl, t->p.c.cell_unit, t->p.c.conn, &sqe) == 1 ?
	       0 : -1;
}

static void take(struct stage *t)
{
	struct dd_note n;

	while (raw_take(&t->p.srv, t->p.s.list_unit, &n))
		;
}

/* A message that the kick must let in, between armed calls. */
static int send_two_take_two(struct stage *t)
{
	struct dd_note n;

	if (pair_request(&t->p, 0, 0, 8) != 1 ||
	    pair_request(&t->p, 0, 0, 8) != 1)
		return -1;
	return raw_take(&t->p.srv, t->p.s.list_unit, &n) &&
	       raw_take(&t->p.srv, t->p.s.list_unit, &n) ? 0 : -1;
}

static int wait_lists(struct stage *t)
{
	__u32 lists[64];
	struct dd_list_wait w = { .size = sizeof(w), .count = 64,
				  .lists = (uintptr_t)lists, .timeout = 100000 };
	int i;

	for (i = 0; i < 64; i++)
		lists[i] = t->p.s.list;
	if (!raw_ioctl(&t->p.srv, DD_IOC_LIST_WAIT, &w))
		return 0;
	return errno == ETIMEDOUT ? 0 : -1;
}

static int list_fd(struct stage *t)
{
	t->fd = raw_op(&t->p.srv, DD_IOC_LIST_FD, t->p.s.list);
	return t->fd < 0 ? -1 : 0;
}

static void close_fd(struct stage *t)
{
	if (t->fd >= 0)
		close(t->fd);
}

static int poll_device(struct stage *t)
{
	struct pollfd p = { .fd = t->p.srv.fd, .events = POLLIN };

	return poll(&p, 1, 1) < 0 ? -1 : 0;
}

static int list_conns(struct stage *t)
{
	__u64 ids[64];

	return raw_conns(&t->p.srv, t->p.s.service, ids, 64) < 0 ? -1 : 0;
}

static int set_fasync(struct stage *t)
{
	return fcntl(t->p.srv.fd, F_SETFL, O_RDWR | O_ASYNC);
}

static void clear_fasync(struct stage *t)
{
	fcntl(t->p.srv.fd, F_SETFL, O_RDWR);
}

/* From the serving end to a list without a ring. */
static int grant_direct(struct stage *t)
{
	__u64 ids[2];
	struct dd_direct d = { .size = sizeof(d) };

	if (raw_conns(&t->p.srv, t->p.s.service, ids, 2) < 0)
		return -1;
	d.conn = ids[1];
	return raw_ioctl(&t->p.srv, DD_IOC_DIRECT, &d);
}

/* Calls that end an object must not need memory. */
static int close_once(struct stage *t)
{
	return raw_op(&t->p.srv, DD_IOC_CLOSE, t->c.conn);
}

static int unserve_once(struct stage *t)
{
	return raw_op(&t->p.srv, DD_IOC_UNSERVE, t->s.service);
}

static int free_once(struct stage *t)
{
	return raw_op(&t->p.srv, DD_IOC_REGION_FREE, t->m.id);
}

static void prepare_connection(struct stage *t)
{
	CHILD_CHECK(connect_it(t) == 0);
}

static void prepare_service(struct stage *t)
{
	CHILD_CHECK(serve(t) == 0);
}

static void prepare_region(struct stage *t)
{
	CHILD_CHECK(alloc_region(t) == 0);
}

static int alloc_tracked(struct stage *t)
{
	struct dd_region_alloc a = { .size = sizeof(a), .flags = DD_REGION_TRACK,
				     .length = 8 * PAGE };

	t->m.id = 0;
	if (raw_ioctl(&t->p.srv, DD_IOC_REGION_ALLOC, &a))
		return -1;
	t->m.id = a.region;
	return 0;
}

static void prepare_tracked(struct stage *t)
{
	CHILD_CHECK(alloc_tracked(t) == 0);
}

static int fetch_dirty(struct stage *t)
{
	__u64 word;
	const struct dd_region_dirty d = {
		.size = sizeof(d), .region = t->m.id, .length = 8 * PAGE,
		.bitmap = (uintptr_t)&word,
	};

	return raw_ioctl(&t->p.srv, DD_IOC_REGION_DIRTY, &d);
}

static void prepare_device(struct stage *t)
{
	CHILD_CHECK(open_device(t) == 0);
}

/* --- one-sided memory: the serving context exports, the client's imports ---*/

static char plain[4 * PAGE] __attribute__((aligned(PAGE)));

static int pin_region(struct stage *t)
{
	t->pin = (struct dd_region_pin){ .size = sizeof(t->pin), .length = sizeof(plain) - 8,
					 .address = (uintptr_t)plain + 4 };
	/* The call must allocate the pages. */
	if (madvise(plain, sizeof(plain), MADV_DONTNEED))
		return -1;
	return raw_ioctl(&t->p.srv, DD_IOC_REGION_PIN, &t->pin);
}

static void unpin_region(struct stage *t)
{
	raw_op(&t->p.srv, DD_IOC_REGION_FREE, t->pin.region);
}

static int make_list(struct stage *t)
{
	return mem_list(&t->p.srv, &t->list);
}

static void end_list(struct stage *t)
{
	mem_end(&t->p.srv, t->list.serial);
}

static int export_segment(struct stage *t)
{
	t->seg = mem_segment(&t->spare, "failnth");
	t->seg.permission = DD_PERMIT_LISTED;
	return mem_export(&t->p.srv, &t->seg);
}

static int export_notifying(struct stage *t)
{
	t->seg = mem_segment(&t->spare, "failnth");
	t->seg.list = t->list.list;
	/* The list must grow for each importer. */
	t->seg.window = DD_WINDOW_MAX;
	t->seg.policy = DD_POLICY_ALWAYS;
	return mem_export(&t->p.srv, &t->seg);
}

static void end_segment(struct stage *t)
{
	mem_end(&t->p.srv, t->seg.segment);
}

static int import_segment(struct stage *t)
{
	return mem_import(&t->p.cl, &t->seg, DD_RIGHTS, &t->imp);
}

/* Slots for its notes are reserved. */
static int park_import(struct stage *t)
{
	t->seg = mem_segment(&t->spare, "failnth-parked");
	return mem_import_flags(&t->p.cl, &t->seg, DD_RIGHTS,
				DD_IMPORT_NOWAIT | DD_IMPORT_PARK | DD_IMPORT_NOTIFY,
				t->list.list, &t->imp);
}

static void end_import(struct stage *t)
{
	mem_end(&t->p.cl, t->imp.import);
}

/* A first grant, which is changed and withdrawn. */
static int control_segment(struct stage *t)
{
	const struct raw *r = &t->p.srv;
	__u64 seg = t->seg.segment;
	const __u32 uid = getuid() + 1;

	return mem_ctl(r, seg, DD_SEGMENT_INHIBIT, 1, 0, 0) ||
	       mem_ctl(r, seg, DD_SEGMENT_INHIBIT, 0, 0, 0) ||
	       mem_ctl(r, seg, DD_SEGMENT_POLICY, DD_POLICY_NEVER, 0, 0) ||
	       mem_ctl(r, seg, DD_SEGMENT_GRANT, 0, uid, DD_RIGHT_GET) ||
	       mem_ctl(r, seg, DD_SEGMENT_GRANT, 0, uid, DD_RIGHTS) ||
	       mem_ctl(r, seg, DD_SEGMENT_GRANT, 0, uid, 0) ? -1 : 0;
}

static int export_redirectable(struct stage *t)
{
	t->seg = mem_segment(&t->spare, "failnth");
	t->seg.flags = DD_SEGMENT_REDIRECT;
	return mem_export(&t->p.srv, &t->seg);
}

/* Begin and end; the first run may have failed between them. */
static int redirect_segment(struct stage *t)
{
	if (mem_redirect(&t->p.srv, t->seg.segment, 0, &t->spare, 0, PAGE) &&
	    errno != EBUSY)
		return -1;
	return mem_redirect_end(&t->p.srv, t->seg.segment);
}

static int grant_segment(struct stage *t)
{
	return mem_ctl(&t->p.srv, t->seg.segment, DD_SEGMENT_GRANT, 0, getuid(),
		       DD_RIGHTS);
}

static int segment_info(struct stage *t)
{
	struct dd_segment_info i = { .size = sizeof(i), .segment = t->seg.segment,
				     .importers = (uintptr_t)&t->importer, .count = 1 };

	return raw_ioctl(&t->p.srv, DD_IOC_SEGMENT_INFO, &i);
}

static int deny_importer(struct stage *t)
{
	return mem_ctl(&t->p.srv, t->seg.segment, DD_SEGMENT_DENY, t->importer.channel,
		       0, 0);
}

/* Each way to submit, to user memory and to a region. */
static int request_all(struct stage *t)
{
	const struct dd_sqe get = { .opcode = DD_OP_GET, .flags = DD_SQE_REGION,
				    .region = t->client.id, .len = PAGE };
	const struct raw *r = &t->p.cl;

	return mem_put(r, &t->imp, plain, 4, 2 * PAGE, 0) == 1 &&
	       mem_get(r, &t->imp, plain, 4, 2 * PAGE) == 1 &&
	       mem_op(r, &t->imp, &get) == 1 &&
	       mem_cas(r, &t->imp, &t->client, 0, 8, 8, 0, 1, 0) == 1 ? 0 : -1;
}

/* A record that cannot be stored must not be lost. */
static int read_list(struct stage *t)
{
	struct dd_list_record rec[2];
	ssize_t n;

	for (; t->got < 2; t->got += n / sizeof(rec[0])) {
		n = read(t->fd, rec, sizeof(rec));
		if (n < 0)
			return -1;
	}
	return 0;
}

/* As above: the end of an object must not need memory. */
static int end_segment_once(struct stage *t)
{
	return mem_end(&t->p.srv, t->seg.segment);
}

static int end_import_once(struct stage *t)
{
	return mem_end(&t->p.cl, t->imp.import);
}

static int end_list_once(struct stage *t)
{
	return mem_end(&t->p.srv, t->list.serial);
}

static int unpin_once(struct stage *t)
{
	return raw_op(&t->p.srv, DD_IOC_REGION_FREE, t->pin.region);
}

static void prepare_pinned(struct stage *t)
{
	CHILD_CHECK(pin_region(t) == 0);
}

static void prepare_list(struct stage *t)
{
	CHILD_CHECK(make_list(t) == 0);
}

static void prepare_segment(struct stage *t)
{
	CHILD_CHECK(export_segment(t) == 0);
	CHILD_CHECK(grant_segment(t) == 0);
}

static void prepare_redirectable(struct stage *t)
{
	CHILD_CHECK(export_redirectable(t) == 0);
}

static void prepare_ungranted(struct stage *t)
{
	CHILD_CHECK(export_segment(t) == 0);
}

static void prepare_list_of_client(struct stage *t)
{
	CHILD_CHECK(mem_list(&t->p.cl, &t->list) == 0);
}

static void prepare_notifying(struct stage *t)
{
	prepare_list(t);
	CHILD_CHECK(export_notifying(t) == 0);
}

static void prepare_import(struct stage *t)
{
	prepare_notifying(t);
	CHILD_CHECK(import_segment(t) == 0);
	CHILD_CHECK(segment_info(t) == 0);
}

static void prepare_records(struct stage *t)
{
	prepare_import(t);
	CHILD_CHECK(mem_put(&t->p.cl, &t->imp, plain, 0, 8, 0) == 1);
	CHILD_CHECK(mem_put(&t->p.cl, &t->imp, plain, 8, 8, 0) == 1);
	t->fd = raw_op(&t->p.srv, DD_IOC_LIST_FD, t->list.list);
	CHILD_CHECK(t->fd >= 0 && !fcntl(t->fd, F_SETFL, O_NONBLOCK));
}

/* --- the registrar: the client's context is it ----------------------------*/

static int open_registrar(struct stage *t)
{
	t->fd = raw_op(&t->p.cl, DD_IOC_REGISTRAR, 0);
	return t->fd < 0 ? -1 : 0;
}

static int answer_call(struct stage *t)
{
	const struct dd_registrar_answer a = {
		.call = t->call.call, .node = t->call.node, .generation = t->seg.generation,
	};

	return write(t->fd, &a, sizeof(a)) == sizeof(a) ? 0 : -1;
}

/* In a thread, whose calls do not fail. */
static void *answer_calls(void *arg)
{
	struct stage *t = arg;

	while (read(t->fd, &t->call, sizeof(t->call)) == sizeof(t->call))
		CHILD_CHECK(!t->call.call || answer_call(t) == 0);
	return NULL;
}

static void start_registrar(struct stage *t)
{
	CHILD_CHECK(open_registrar(t) == 0);
	CHILD_CHECK(pthread_create(&t->thread, NULL, answer_calls, t) == 0);
}

static void stop_registrar(struct stage *t)
{
	CHILD_CHECK(pthread_cancel(t->thread) == 0);
	CHILD_CHECK(pthread_join(t->thread, NULL) == 0);
	close(t->fd);
}

static int register_segment(struct stage *t)
{
	t->seg = mem_segment(&t->spare, "failnth");
	t->seg.key_class = DD_SEGMENT_REGISTERED;
	return mem_export(&t->p.srv, &t->seg);
}

static void prepare_registered(struct stage *t)
{
	start_registrar(t);
	CHILD_CHECK(register_segment(t) == 0);
}

static void end_registered(struct stage *t)
{
	end_segment(t);
	stop_registrar(t);
}

static void end_import_registered(struct stage *t)
{
	end_import(t);
	end_registered(t);
}

/* A new registrar gets the names of all segments. */
static void prepare_names(struct stage *t)
{
	prepare_registered(t);
	CHILD_CHECK(register_segment(t) == 0);
	stop_registrar(t);
	CHILD_CHECK(open_registrar(t) == 0);
}

/* A call that cannot be stored must not be lost. */
static int read_names(struct stage *t)
{
	struct dd_registrar_call c;

	for (; t->got < 2; t->got++) {
		if (read(t->fd, &c, sizeof(c)) < 0)
			return -1;
		CHILD_CHECK(c.op == DD_REGISTRAR_ADD && !strcmp((char *)c.name, "failnth"));
	}
	return 0;
}

static void *register_it(void *arg)
{
	CHILD_CHECK(register_segment(arg) == 0);
	return NULL;
}

static void prepare_call(struct stage *t)
{
	CHILD_CHECK(open_registrar(t) == 0);
	CHILD_CHECK(pthread_create(&t->thread, NULL, register_it, t) == 0);
	CHILD_CHECK(read(t->fd, &t->call, sizeof(t->call)) == sizeof(t->call));
}

static void end_answered(struct stage *t)
{
	CHILD_CHECK(pthread_join(t->thread, NULL) == 0);
	end_segment(t);
	close_fd(t);
}

/* --- the sweep -------------------------------------------------------------*/

struct path {
	void (*before)(struct stage *t);
	int (*run)(struct stage *t);
	void (*after)(struct stage *t);
	int least;		/* failures that must have been possible */
	bool never_fails;
};

static void stage_open(struct stage *t)
{
	memset(t, 0, sizeof(*t));
	t->fd = -1;
	CHILD_CHECK(pair_open(&t->p, 2, PAGE, 1) == 0);
	CHILD_CHECK(raw_alloc(&t->p.srv, 40 * PAGE, &t->spare) == 0);
	CHILD_CHECK(raw_alloc(&t->p.cl, 2 * PAGE, &t->client) == 0);
}

static bool expected(int err)
{
	return err == ENOMEM || err == EFAULT || err == ENOSPC ||
	       err == EINTR || err == EAGAIN;
}

static void stage_close(struct stage *t)
{
	munmap(t->spare.at, t->spare.len);
	munmap(t->client.at, t->client.len);
	munmap(t->p.smem.at, t->p.smem.len);
	munmap(t->p.cmem.at, t->p.cmem.len);
	pair_close(&t->p);
}

/* These depend on each other: part of what failed may be left for @after. */
static bool repeatable(const struct path *path)
{
	return path->after != unmap_region && path->after != unserve_accepted;
}

/* Pages that stay with the two contexts, whether the call succeeded or not. */
#define AREA_PAGES	32

static void expect_charge(const struct raw *r, long long most, const char *when,
			  enum inject how, int n)
{
	if (WAIT_FOR_MS(memlock_used(r) <= most, dd_patience() / 4))
		return;
	fprintf(stderr, "# %s %d: %lld bytes are left %s\n", inject_name(how), n,
		memlock_used(r) - most, when);
	_exit(1);
}

/* One run with failure @n; returns whether that was met. */
static bool run_once(const struct path *path, const struct raw *audit,
		     enum inject how, int n)
{
	long long before = memlock_used(audit), used;
	struct stage t;
	int err, ret;
	bool hit;

	stage_open(&t);
	used = memlock_used(audit);
	if (path->before)
		path->before(&t);
	errno = 0;
	inject_arm(how, n);
	ret = path->run(&t);
	err = errno;
	hit = inject_disarm(how);
	if (ret && (!hit || !expected(err) || path->never_fails)) {
		fprintf(stderr, "# %s %d: errno %d\n", inject_name(how), n, err);
		_exit(1);
	}
	errno = 0;
	if (ret && repeatable(path) && path->run(&t)) {
		fprintf(stderr, "# %s %d: errno %d, and then errno %d\n",
			inject_name(how), n, err, errno);
		_exit(1);
	}
	if (path->after)
		path->after(&t);
	expect_charge(audit, used + AREA_PAGES * PAGE, "after the call", how, n);
	stage_close(&t);
	expect_charge(audit, before, "after the close", how, n);
	return hit;
}

/*
 * In a child of a user of its own, whose charge no other test changes. Returns the
 * number of failures.
 */
static int sweep(const struct path *path)
{
	struct raw audit;
	enum inject how;
	int n, runs = 0;

	CHILD_CHECK(raw_open(&audit) == 0);
	for (how = 0; how < INJECT_IN_TASK; how++)
		for (n = 1; run_once(path, &audit, how, n);
		     n = inject_next(how, n)) {
			CHILD_CHECK(n < INJECT_LIMIT);
			runs++;
		}
	raw_close(&audit);
	return runs;
}

static void check_path(struct __test_metadata *_metadata,
		       const struct path *path)
{
	int fds[2], n = -1;

	if (!inject_ready())
		DD_SKIP("no fault injection in this kernel");
	ASSERT_EQ(0, pipe(fds));
	IN_CHILD {
		/* The file belongs to the task that opened it. */
		CHILD_CHECK(inject_ready());
		CHILD_CHECK(prctl(PR_SET_KEEPCAPS, 1) == 0);
		CHILD_CHECK(become_user(20000 + getpid() % 10000) == 0);
		CHILD_CHECK(inject_keep());
		n = sweep(path);
		CHILD_CHECK(write(fds[1], &n, sizeof(n)) == sizeof(n));
	}
	ASSERT_EQ(sizeof(n), read(fds[0], &n, sizeof(n)));
	TH_LOG("%d failures", n);
	EXPECT_LE(path->least, n);
	EXPECT_CLEAN();
}

#define PATH(name, ...)							\
TEST(failures_in_##name)						\
{									\
	static const struct path path = { __VA_ARGS__ };		\
									\
	check_path(_metadata, &path);					\
}

PATH(open, NULL, open_device, close_device, 2)
PATH(area_mmap, prepare_device, map_area, unmap_area, 1)
PATH(region_alloc, NULL, alloc_region, free_region, 8)
PATH(region_track, NULL, alloc_tracked, free_region, 8)
PATH(region_dirty, prepare_tracked, fetch_dirty, free_region, 3)
PATH(region_mmap, NULL, alloc_and_map_region, unmap_region, 8)
PATH(serve, NULL, serve, unserve, 2)
PATH(serve_accepting, NULL, serve_accepting, unserve, 2)
PATH(connect, NULL, connect_it, close_it, 2)
PATH(connect_sharing_a_list, NULL, connect_sharing, close_it, 2)
PATH(connect_accepted, NULL, connect_accepted, unserve_accepted, 4)
PATH(send, NULL, send_wired, take, 0)
PATH(send_unwired, NULL, send_unwired, take, 0)
PATH(receive, NULL, send_two_take_two, take, 0)
PATH(list_wait, NULL, wait_lists, NULL, 1)
PATH(list_fd, NULL, list_fd, close_fd, 1)
PATH(poll, NULL, poll_device, NULL, 0)
PATH(conn_list, NULL, list_conns, NULL, 1)
PATH(fasync, NULL, set_fasync, clear_fasync, 1)
PATH(direct, prepare_connection, grant_direct, close_it, 6)
PATH(region_pin, NULL, pin_region, unpin_region, 4)
PATH(list_make, NULL, make_list, end_list, 2)
PATH(segment, NULL, export_segment, end_segment, 2)
PATH(segment_with_a_list, prepare_list, export_notifying, end_segment, 2)
PATH(segment_ctl, prepare_segment, control_segment, end_segment, 6)
PATH(segment_redirectable, NULL, export_redirectable, end_segment, 2)
PATH(segment_redirect, prepare_redirectable, redirect_segment, end_segment, 2)
PATH(segment_grant, prepare_ungranted, grant_segment, end_segment, 2)
PATH(segment_info, prepare_import, segment_info, end_import, 2)
PATH(segment_deny, prepare_import, deny_importer, end_import, 1)
PATH(import, prepare_segment, import_segment, end_import, 2)
PATH(import_parked, prepare_list_of_client, park_import, end_import, 4)
PATH(import_with_a_list, prepare_notifying, import_segment, end_import, 3)
PATH(requests, prepare_import, request_all, end_import, 1)
PATH(list_read, prepare_records, read_list, close_fd, 2)
PATH(registrar, NULL, open_registrar, close_fd, 2)
PATH(registrar_add, start_registrar, register_segment, end_registered, 3)
PATH(registrar_lookup, prepare_registered, import_segment, end_import_registered, 2)
PATH(registrar_read, prepare_names, read_names, close_fd, 2)
PATH(registrar_write, prepare_call, answer_call, end_answered, 1)
PATH(registrar_delete, prepare_registered, end_segment_once, stop_registrar, 0, true)
PATH(segment_end, prepare_import, end_segment_once, end_import, 0, true)
PATH(import_end, prepare_import, end_import_once, NULL, 0, true)
PATH(list_end, prepare_import, end_list_once, end_import, 0, true)
PATH(region_unpin, prepare_pinned, unpin_once, NULL, 0, true)
PATH(close, prepare_connection, close_once, NULL, 0, true)
PATH(unserve, prepare_service, unserve_once, NULL, 0, true)
PATH(region_free, prepare_region, free_once, NULL, 0, true)

DD_TEST_MAIN
