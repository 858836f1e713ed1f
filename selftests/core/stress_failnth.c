// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs each valid path with its first, second, ... n-th allocation or copy
 * failing, until a run meets no failure. A failed run must have failed
 * cleanly: the same call succeeds when repeated, and the charge is back where
 * it was. Needs a kernel with fault injection.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <poll.h>
#include "audit.h"
#include "raw.h"

#define LIMIT	2000		/* more failures than any path has */

/* The objects that a path works on; a path restores them, failed or not. */
struct stage {
	struct pair p;
	struct raw fresh;
	struct mem spare, client, m;
	struct dd_serve s;
	struct dd_connect c;
	void *at;
	int fd;
};

static int fail_nth = -1;

static bool put(const char *file, const char *text)
{
	char path[128];
	int fd;
	bool ok;

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s", file);
	fd = open(path, O_WRONLY);
	ok = fd >= 0 && write(fd, text, strlen(text)) > 0;
	close(fd);
	return ok;
}

/* False where faults cannot be injected. */
static bool injection_ready(void)
{
	fail_nth = open("/proc/self/fail-nth", O_RDWR | O_CLOEXEC);
	return fail_nth >= 0 && put("failslab/ignore-gfp-wait", "N") &&
	       put("fail_page_alloc/ignore-gfp-wait", "N") &&
	       put("fail_page_alloc/ignore-gfp-highmem", "N") &&
	       put("fail_page_alloc/min-order", "0");
}

static void arm(int n)
{
	char buf[16];

	snprintf(buf, sizeof(buf), "%d", n);
	if (pwrite(fail_nth, buf, strlen(buf), 0) < 0)
		abort();
}

/*
 * Whether a failure was injected since arm(). The read itself may fail; then
 * nothing before it did.
 */
static bool disarm(void)
{
	char buf[16] = "";
	bool hit = pread(fail_nth, buf, sizeof(buf) - 1, 0) > 0 && !atoi(buf);

	while (pwrite(fail_nth, "0", 1, 0) < 0)
		;
	return hit;
}

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
	struct dd_conn_list l = { .size = sizeof(l), .count = 64,
				  .service = t->p.s.service,
				  .conns = (uintptr_t)ids };

	return raw_ioctl(&t->p.srv, DD_IOC_CONN_LIST, &l);
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
	struct dd_conn_list l = { .size = sizeof(l), .count = 2,
				  .service = t->p.s.service,
				  .conns = (uintptr_t)ids };
	struct dd_direct d = { .size = sizeof(d) };

	if (raw_ioctl(&t->p.srv, DD_IOC_CONN_LIST, &l))
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

static void prepare_device(struct stage *t)
{
	CHILD_CHECK(open_device(t) == 0);
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

/* Pages that stay with the two contexts, whether the call succeeded or not. */
#define AREA_PAGES	16

static int settle(struct stage *t, long long used)
{
	return WAIT_FOR_MS(memlock_used(&t->p.srv) <= used + AREA_PAGES * PAGE,
			   dd_patience() / 4);
}

/*
 * In a child of a user of its own, whose charge no other test changes. Returns
 * the number of failures.
 */
static int sweep(const struct path *path)
{
	struct stage t;
	long long used;
	int n, err, ret;
	bool hit;

	stage_open(&t);
	used = memlock_used(&t.p.srv);
	/* Once without failures: what is allocated once stays. */
	if (path->before)
		path->before(&t);
	CHILD_CHECK(path->run(&t) == 0);
	if (path->after)
		path->after(&t);
	CHILD_CHECK(settle(&t, used));
	for (n = 1; n < LIMIT; n++) {
		if (path->before)
			path->before(&t);
		errno = 0;
		arm(n);
		ret = path->run(&t);
		err = errno;
		hit = disarm();
		if (ret)
			CHILD_CHECK(hit && expected(err) && !path->never_fails);
		if (ret && path->after != unmap_region &&
		    path->after != unserve_accepted) {
			/* Once more without failures. */
			errno = 0;
			if (path->run(&t)) {
				fprintf(stderr, "# failure %d: errno %d, and then errno %d\n",
					n, err, errno);
				_exit(1);
			}
		}
		if (path->after)
			path->after(&t);
		if (!settle(&t, used)) {
			fprintf(stderr, "# failure %d: returned %d, errno %d, %lld bytes are left\n",
				n, ret, err, memlock_used(&t.p.srv) - used);
			_exit(1);
		}
		if (!hit)
			break;
	}
	CHILD_CHECK(n < LIMIT);
	return n - 1;
}

static void check_path(struct __test_metadata *_metadata,
		       const struct path *path)
{
	int fds[2], n = -1;
	pid_t pid;

	if (!injection_ready())
		DD_SKIP("no fault injection in this kernel");
	ASSERT_EQ(0, pipe(fds));
	pid = fork_child();
	if (!pid) {
		/* The file belongs to the task that opened it. */
		CHILD_CHECK(injection_ready());
		CHILD_CHECK(become_user(20000 + getpid() % 10000) == 0);
		n = sweep(path);
		CHILD_CHECK(write(fds[1], &n, sizeof(n)) == sizeof(n));
		_exit(0);
	}
	ASSERT_CHILD_OK(pid);
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
PATH(close, prepare_connection, close_once, NULL, 0, true)
PATH(unserve, prepare_service, unserve_once, NULL, 0, true)
PATH(region_free, prepare_region, free_once, NULL, 0, true)

DD_TEST_MAIN
