// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs each valid path with its n-th allocation or copy failing, and with all from
 * the n-th on failing, for each n until a run meets no failure. Each run has
 * contexts of its own. A failed run must have failed cleanly: the same call succeeds
 * when repeated, and when the contexts are closed the charge is what it was. Needs a
 * kernel with fault injection. across.sh runs the calls of a client, whose service and
 * segment are at the other node then.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <pthread.h>
#include "audit.h"
#include "node.h"

#define SIZE	3000
#define LARGE	(4 * PAGE)	/* as much as a request pins, and keeps pinned */
#define PATIENCE	(dd_patience() * 1000000ull)

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
	__u64 offset;
	int fd, got;
	struct dd_registrar_call call;
	pthread_t thread;
};

#include "sweep.h"

/* --- the paths, their preparation and clean-up: 0 or an error ---------------*/

static int open_device(struct stage *t)
{
	t->fresh.fd = open("/dev/dd", O_RDWR | O_CLOEXEC);
	return t->fresh.fd < 0 ? -1 : 0;
}

static int close_device(struct stage *t)
{
	return close(t->fresh.fd);
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

static int unmap_area(struct stage *t)
{
	munmap(t->at, DD_AREA_SIZE);
	return close(t->fresh.fd);
}

static int alloc_region_with(struct stage *t, __u32 flags, const void *address)
{
	struct dd_region_alloc a = { .size = sizeof(a), .flags = flags, .length = 8 * PAGE,
				     .address = (uintptr_t)address };

	t->m.id = 0;
	t->m.at = MAP_FAILED;
	if (raw_ioctl(&t->p.srv, DD_IOC_REGION_ALLOC, &a))
		return -1;
	t->m.id = a.region;
	t->offset = a.offset;
	return 0;
}

static int alloc_region(struct stage *t)
{
	return alloc_region_with(t, 0, NULL);
}

static int alloc_tracked(struct stage *t)
{
	return alloc_region_with(t, DD_REGION_TRACK, NULL);
}

static int alloc_in_place(struct stage *t)
{
	static char own[8 * PAGE] __attribute__((aligned(PAGE)));

	/* The call must allocate the pages that it copies. */
	if (madvise(own, sizeof(own), MADV_DONTNEED))
		return -1;
	return alloc_region_with(t, DD_REGION_TRACK, own);
}

static int free_region(struct stage *t)
{
	return raw_op(&t->p.srv, DD_IOC_REGION_FREE, t->m.id);
}

static int alloc_and_map_region(struct stage *t)
{
	if (alloc_region(t))
		return -1;
	t->m.at = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		       t->p.srv.fd, t->offset);
	return t->m.at == MAP_FAILED ? -1 : 0;
}

static int unmap_region(struct stage *t)
{
	if (t->m.at != MAP_FAILED)
		munmap(t->m.at, 8 * PAGE);
	return t->m.id ? free_region(t) : 0;
}

static int serve(struct stage *t)
{
	raw_serve_args(&t->s, "failnth", 40, &t->spare);
	return raw_serve(&t->p.srv, &t->s);
}

/* A service with the name of others, at a page of its own. */
static int serve_sharing(struct stage *t, int page)
{
	raw_serve_args(&t->s, "failnth", 1, &t->spare);
	t->s.flags = DD_SERVE_SHARED;
	t->s.recv.offset += page * PAGE;
	t->s.send.offset += page * PAGE;
	t->s.send.length = t->s.recv.length = PAGE;
	return raw_serve(&t->p.srv, &t->s);
}

static int serve_first(struct stage *t)
{
	return serve_sharing(t, 0);
}

static int serve_second(struct stage *t)
{
	return serve_sharing(t, 1);
}

static int unserve(struct stage *t)
{
	return raw_op(&t->p.srv, DD_IOC_UNSERVE, t->s.service);
}

static int connect_it(struct stage *t)
{
	raw_connect_args(&t->c, t->p.name, &t->client);
	t->c.node = mem_far_node(&t->p.cl);
	t->c.window = 64;
	t->c.flags = DD_CONNECT_TIMEOUT;
	t->c.timeout = PATIENCE;
	return raw_connect(&t->p.cl, &t->c);
}

static int connect_sharing(struct stage *t)
{
	raw_connect_args(&t->c, t->p.name, &t->client);
	/* The list must grow for this connection. */
	t->c.window = DD_WINDOW_MAX;
	t->c.list = t->p.c.list;
	t->c.flags = DD_CONNECT_LIST;
	return raw_connect(&t->p.cl, &t->c);
}

static int close_it(struct stage *t)
{
	return raw_op(&t->p.cl, DD_IOC_CLOSE, t->c.conn);
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

/* The first service of the name is taken, the second one stays. */
static int connect_shared(struct stage *t)
{
	raw_connect_args(&t->c, "failnth", &t->client);
	return raw_connect(&t->p.cl, &t->c);
}

static int serve_two(struct stage *t)
{
	return serve_first(t) ?: serve_second(t);
}

static int unserve_accepted(struct stage *t)
{
	raw_op(&t->p.cl, DD_IOC_CLOSE, t->c.conn);
	return unserve(t);
}

static int send_wired(struct stage *t)
{
	return pair_request(&t->p, 0, 0, SIZE) == 1 ? 0 : -1;
}

static int send_unwired(struct stage *t)
{
	static char from[SIZE];
	struct dd_sqe sqe = { .opcode = DD_OP_PUT, .len = sizeof(from),
			      .flags = DD_SQE_NOTIFY | DD_SQE_UNWIRED,
			      .src = (uintptr_t)from };

	return raw_submit(&t->p.cl, t->p.c.state_unit, t->p.c.conn, &sqe) == 1 ?
	       0 : -1;
}

static bool take(const struct stage *t, struct dd_note *n)
{
	return raw_take(&t->p.srv, t->p.s.list_unit, n);
}

static int expect_one_message(struct stage *t)
{
	struct dd_conn_info info;
	struct dd_note n;

	CHILD_CHECK(WAIT_FOR(take(t, &n)));
	CHILD_CHECK(n.type == DD_NOTE_DATA && n.len == SIZE && n.msgid == 1 && !take(t, &n));
	CHILD_CHECK(raw_conn_info(&t->p.cl, t->p.c.conn, &info) == 0 && info.submitted == 1);
	return 0;
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

static int close_fd(struct stage *t)
{
	return t->fd >= 0 ? close(t->fd) : 0;
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

static int clear_fasync(struct stage *t)
{
	return fcntl(t->p.srv.fd, F_SETFL, O_RDWR);
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

static int fetch_dirty(struct stage *t)
{
	__u64 word;
	const struct dd_region_dirty d = {
		.size = sizeof(d), .region = t->m.id, .length = 8 * PAGE,
		.bitmap = (uintptr_t)&word,
	};

	return raw_ioctl(&t->p.srv, DD_IOC_REGION_DIRTY, &d);
}

static int store_tracked(struct stage *t)
{
	if (alloc_tracked(t))
		return -1;
	t->m.at = raw_map(&t->p.srv, t->offset, 8 * PAGE, PROT_READ | PROT_WRITE);
	if (t->m.at == MAP_FAILED)
		return -1;
	t->m.at[PAGE] = 1;
	return 0;
}

static int find_stored(struct stage *t)
{
	struct dd_region_stored s = { .size = sizeof(s) };

	if (raw_ioctl(&t->p.srv, DD_IOC_REGION_STORED, &s))
		return -1;
	CHILD_CHECK(s.region == t->m.id);
	return 0;
}

static int find_node(struct stage *t)
{
	struct dd_node_find f = { .size = sizeof(f), .address = { [15] = 1 } };

	return raw_ioctl(&t->p.srv, DD_IOC_NODE_FIND, &f);
}

/* --- one-sided memory: the serving context exports, the client's imports ---*/

static char plain[LARGE] __attribute__((aligned(PAGE)));

static int pin_region(struct stage *t)
{
	t->pin = (struct dd_region_pin){ .size = sizeof(t->pin), .length = sizeof(plain) - 8,
					 .address = (uintptr_t)plain + 4 };
	/* The call must allocate the pages. */
	if (madvise(plain, sizeof(plain), MADV_DONTNEED))
		return -1;
	return raw_ioctl(&t->p.srv, DD_IOC_REGION_PIN, &t->pin);
}

static int check_region(struct stage *t)
{
	const struct dd_region_check c = { .size = sizeof(c), .region = t->pin.region,
					   .address = (uintptr_t)plain + 4, .length = 8 };

	/* The pages have to be compared. */
	if (mprotect(plain, PAGE, PROT_READ) || mprotect(plain, PAGE, PROT_READ | PROT_WRITE))
		return -1;
	return raw_ioctl(&t->p.srv, DD_IOC_REGION_CHECK, &c);
}

static int unpin_region(struct stage *t)
{
	return raw_op(&t->p.srv, DD_IOC_REGION_FREE, t->pin.region);
}

static int make_list(struct stage *t)
{
	return mem_list(&t->p.srv, &t->list);
}

static int end_list(struct stage *t)
{
	return mem_end(&t->p.srv, t->list.serial);
}

static int make_list_of_client(struct stage *t)
{
	return mem_list(&t->p.cl, &t->list);
}

static int export_segment(struct stage *t)
{
	t->seg = mem_segment(&t->spare, "failnth");
	return mem_export(&t->p.srv, &t->seg);
}

static int export_to_listed_users(struct stage *t)
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

static int end_segment(struct stage *t)
{
	return mem_end(&t->p.srv, t->seg.segment);
}

static int import_with(struct stage *t, __u32 flags, __u32 list)
{
	t->imp = mem_import_of(&t->seg, mem_far_node(&t->p.cl), DD_RIGHTS, flags, list);
	return raw_ioctl(&t->p.cl, DD_IOC_IMPORT, &t->imp);
}

static int import_segment(struct stage *t)
{
	return import_with(t, 0, 0);
}

/* Slots for its notes are reserved. */
static int import_notified(struct stage *t)
{
	return import_segment(t) ?:
	       mem_import_list_or_end(&t->p.cl, &t->imp, t->list.list);
}

static int park_import(struct stage *t)
{
	t->seg = mem_segment(&t->spare, "failnth-parked");
	return import_with(t, DD_IMPORT_NOWAIT | DD_IMPORT_PARK, t->list.list) ?:
	       mem_import_list_or_end(&t->p.cl, &t->imp, t->list.list);
}

static int end_import(struct stage *t)
{
	return mem_end(&t->p.cl, t->imp.import);
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

/* A second call returns the same windows. */
static int open_windows(struct stage *t)
{
	struct dd_direct d = { .size = sizeof(d), .conn = t->imp.import };

	return raw_ioctl(&t->p.cl, DD_IOC_DIRECT, &d);
}

static int wait_done(struct stage *t)
{
	return raw_conn_wait(&t->p.cl, t->imp.import, DD_WAIT_DONE,
			     raw_state(&t->p.cl, t->imp.state_unit)->submitted, PATIENCE);
}

/* Each way to submit, to user memory and to a region; one at a time. */
static int request_all(struct stage *t)
{
	const struct dd_sqe get = { .opcode = DD_OP_GET, .flags = DD_SQE_REGION,
				    .region = t->client.id, .len = PAGE };
	const struct dd_sqe cas = { .opcode = DD_OP_CAS, .flags = DD_SQE_UNWIRED, .len = 8,
				    .src = (uintptr_t)plain, .meta_count = DD_META_WORDS };
	const struct raw *r = &t->p.cl;

	return mem_put(r, &t->imp, plain, 4, 2 * PAGE, 0) == 1 && !wait_done(t) &&
	       mem_get(r, &t->imp, plain, 4, 2 * PAGE) == 1 && !wait_done(t) &&
	       mem_op(r, &t->imp, &get) == 1 && !wait_done(t) &&
	       mem_cas(r, &t->imp, &t->client, 0, 8, 8, 0, 1, 0) == 1 && !wait_done(t) &&
	       mem_op(r, &t->imp, &cas) == 1 && !wait_done(t) &&
	       mem_note(r, &t->imp, plain, 8) == 1 ? 0 : -1;
}

static int expect_done(struct stage *t)
{
	CHILD_CHECK(wait_done(t) == 0);
	return 0;
}

/* User-Mode Linux does not survive a copy from memory without page table, if that has none left. */
static int put_copied(struct stage *t)
{
	return mem_put(&t->p.cl, &t->imp, t->client.at, 0, PAGE, 0) == 1 ? 0 : -1;
}

/* By address, from a region or from memory that the kernel copies if it cannot pin it. */
static int put_from(struct stage *t, __u32 region, size_t len)
{
	const struct dd_sqe put = { .opcode = DD_OP_PUT, .len = len,
				    .flags = DD_SQE_UNWIRED | DD_SQE_REGION,
				    .region = region, .src = (uintptr_t)plain };

	return mem_op(&t->p.cl, &t->imp, &put) == 1 ? 0 : -1;
}

static int put_pinned(struct stage *t)
{
	return put_from(t, t->pin.region, PAGE);
}

static int put_large(struct stage *t)
{
	return put_from(t, 0, LARGE);
}

static int get_large(struct stage *t)
{
	return mem_get(&t->p.cl, &t->imp, plain, 0, LARGE) == 1 ? 0 : -1;
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

static int prepare_listed(struct stage *t)
{
	return export_to_listed_users(t) ?: grant_segment(t);
}

static int prepare_notified(struct stage *t)
{
	return export_segment(t) ?: make_list_of_client(t);
}

static int prepare_notifying(struct stage *t)
{
	return make_list(t) ?: export_notifying(t);
}

static int prepare_import(struct stage *t)
{
	return prepare_notifying(t) ?: import_segment(t);
}

static int prepare_importer(struct stage *t)
{
	return prepare_import(t) ?: segment_info(t);
}

static int prepare_touched(struct stage *t)
{
	memset(t->client.at, 1, PAGE);
	return prepare_import(t);
}

/* Memory that is pinned; whether it still is what is mapped there is not known. */
static int prepare_pinned(struct stage *t)
{
	t->pin = (struct dd_region_pin){ .size = sizeof(t->pin), .length = sizeof(plain),
					 .address = (uintptr_t)plain };
	return prepare_import(t) ?: raw_ioctl(&t->p.cl, DD_IOC_REGION_PIN, &t->pin) ?:
	       mprotect(plain, PAGE, PROT_READ) ?:
	       mprotect(plain, PAGE, PROT_READ | PROT_WRITE);
}

/* Other pages at the address of memory that is kept pinned. */
static int prepare_other_pages(struct stage *t)
{
	return prepare_import(t) ?: put_large(t) ?: expect_done(t) ?:
	       madvise(plain, sizeof(plain), MADV_DONTNEED);
}

static int prepare_records(struct stage *t)
{
	if (prepare_import(t) || mem_put(&t->p.cl, &t->imp, plain, 0, 8, 0) != 1 ||
	    mem_put(&t->p.cl, &t->imp, plain, 8, 8, 0) != 1)
		return -1;
	t->fd = raw_op(&t->p.srv, DD_IOC_LIST_FD, t->list.list);
	return t->fd < 0 ? -1 : fcntl(t->fd, F_SETFL, O_NONBLOCK);
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

static int start_registrar(struct stage *t)
{
	return open_registrar(t) ?: pthread_create(&t->thread, NULL, answer_calls, t);
}

static int stop_registrar(struct stage *t)
{
	return pthread_cancel(t->thread) ?: pthread_join(t->thread, NULL) ?: close(t->fd);
}

static int register_segment(struct stage *t)
{
	t->seg = mem_segment(&t->spare, "failnth");
	t->seg.key_class = DD_SEGMENT_REGISTERED;
	return mem_export(&t->p.srv, &t->seg);
}

static int prepare_registered(struct stage *t)
{
	return start_registrar(t) ?: register_segment(t);
}

static int end_registered(struct stage *t)
{
	return end_segment(t) ?: stop_registrar(t);
}

static int end_import_registered(struct stage *t)
{
	return end_import(t) ?: end_registered(t);
}

/* A new registrar gets the names of all segments. */
static int prepare_names(struct stage *t)
{
	return prepare_registered(t) ?: register_segment(t) ?: stop_registrar(t) ?:
	       open_registrar(t);
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

static int prepare_call(struct stage *t)
{
	if (open_registrar(t) || pthread_create(&t->thread, NULL, register_it, t))
		return -1;
	return read(t->fd, &t->call, sizeof(t->call)) == sizeof(t->call) ? 0 : -1;
}

static int end_answered(struct stage *t)
{
	return pthread_join(t->thread, NULL) ?: end_segment(t) ?: close_fd(t);
}

/* --- the sweep -------------------------------------------------------------*/

static void stage_open(struct stage *t)
{
	t->fd = -1;
	CHILD_CHECK(raw_open_far(&t->p.srv) == 0 && raw_open(&t->p.cl) == 0);
	CHILD_CHECK(pair_join(&t->p, mem_far_node(&t->p.cl), 2, PAGE, 1) == 0);
	CHILD_CHECK(raw_alloc(&t->p.srv, 40 * PAGE, &t->spare) == 0);
	CHILD_CHECK(raw_alloc(&t->p.cl, 2 * PAGE, &t->client) == 0);
}

static void stage_close(struct stage *t)
{
	munmap(t->spare.at, t->spare.len);
	munmap(t->client.at, t->client.len);
	munmap(t->p.smem.at, t->p.smem.len);
	munmap(t->p.cmem.at, t->p.cmem.len);
	pair_close(&t->p);
}

static bool expected(const struct path *path, int err)
{
	return err == ENOMEM || err == EFAULT || err == ENOSPC ||
	       err == EINTR || err == EAGAIN ||
	       /* The other node lacks memory. */
	       (path->first == INJECT_WORKER &&
		(err == ECONNREFUSED || err == EUSERS || err == ENOBUFS));
}

static bool repeat(const struct path *path, struct stage *t)
{
	/* These depend on each other: part of what failed may be left for @after. */
	if (path->after == unmap_region || path->after == unserve_accepted)
		return true;
	/* The other node may still have to give back what the failed call has used. */
	return !path->run(t) || (far_netns() && WAIT_FOR(!path->run(t)));
}

static void check_path(struct __test_metadata *_metadata, const struct path *path)
{
	if (!inject_ready())
		DD_SKIP("no fault injection in this kernel");
	sweep(_metadata, path, far_netns() ? path->far : path->least, true);
	EXPECT_CLEAN();
	if (far_netns()) {
		ASSERT_EQ(0, enter_netns(far_netns()));
		EXPECT_CLEAN();
	}
}

PATH(in_open, NULL, open_device, close_device, 2)
PATH(in_area_mmap, open_device, map_area, unmap_area, 1)
PATH(in_region_alloc, NULL, alloc_region, free_region, 8)
PATH(in_region_track, NULL, alloc_tracked, free_region, 8)
PATH(in_region_track_in_place, NULL, alloc_in_place, free_region, 8)
PATH(in_region_dirty, alloc_tracked, fetch_dirty, free_region, 3)
PATH(in_region_stored, store_tracked, find_stored, unmap_region, 1)
PATH(in_region_mmap, NULL, alloc_and_map_region, unmap_region, 8)
PATH(in_serve, NULL, serve, unserve, 2)
PATH(in_serve_second, serve_first, serve_second, unserve, 2)
PATH(in_connect_sharing_a_list, NULL, connect_sharing, close_it, 2)
PATH(in_connect_accepted, NULL, connect_accepted, unserve_accepted, 4)
PATH(in_connect_shared, serve_two, connect_shared, unserve_accepted, 2)
PATH(in_list_wait, NULL, wait_lists, NULL, 1)
PATH(in_list_fd, NULL, list_fd, close_fd, 1)
PATH(in_conn_list, NULL, list_conns, NULL, 1)
PATH(in_node_find, NULL, find_node, NULL, 1)
PATH(in_fasync, NULL, set_fasync, clear_fasync, 1)
PATH(in_direct, connect_it, grant_direct, close_it, 6)
PATH(in_region_pin, NULL, pin_region, unpin_region, 4)
PATH(in_region_check, pin_region, check_region, unpin_region, 1)
PATH(in_list_make, NULL, make_list, end_list, 2)
PATH(in_segment, NULL, export_to_listed_users, end_segment, 2)
PATH(in_segment_with_a_list, make_list, export_notifying, end_segment, 2)
PATH(in_segment_ctl, prepare_listed, control_segment, end_segment, 6)
PATH(in_segment_redirect, export_redirectable, redirect_segment, end_segment, 2)
PATH(in_segment_grant, export_to_listed_users, grant_segment, end_segment, 2)
PATH(in_segment_info, prepare_importer, segment_info, end_import, 2)
PATH(in_segment_deny, prepare_importer, deny_importer, end_import, 1)
PATH(in_import_with_a_list, prepare_notifying, import_segment, end_import, 3)
PATH(in_import_direct, prepare_import, open_windows, end_import, 3)
PATH(in_list_read, prepare_records, read_list, close_fd, 2)
PATH(in_registrar, NULL, open_registrar, close_fd, 2)
PATH(in_registrar_add, start_registrar, register_segment, end_registered, 3)
PATH(in_registrar_lookup, prepare_registered, import_segment, end_import_registered, 2)
PATH(in_registrar_read, prepare_names, read_names, close_fd, 2)
PATH(in_registrar_write, prepare_call, answer_call, end_answered, 1)
PATH(in_registrar_delete, prepare_registered, end_segment, stop_registrar, .never_fails = true)
PATH(in_segment_end, prepare_import, end_segment, end_import, .never_fails = true)
PATH(in_list_end, prepare_import, end_list, end_import, .never_fails = true)
PATH(in_region_unpin, pin_region, unpin_region, NULL, .never_fails = true)
PATH(in_unserve, serve, unserve, NULL, .never_fails = true)
PATH(in_region_free, alloc_region, free_region, NULL, .never_fails = true)

PATH(of_a_client_in_connect, NULL, connect_it, close_it, 2, 10)
PATH(of_a_client_in_send, NULL, send_wired, expect_one_message, 0, 2)
PATH(of_a_client_in_send_unwired, NULL, send_unwired, expect_one_message, 0, 4)
PATH(of_a_client_in_close, connect_it, close_it, NULL, .never_fails = true)
PATH(of_a_client_in_import, export_segment, import_segment, end_import, 2, 6)
PATH(of_a_client_in_import_parked, make_list_of_client, park_import, end_import, 4, 6)
PATH(of_a_client_in_import_notified, prepare_notified, import_notified, end_import, 3, 6)
PATH(of_a_client_in_requests, prepare_import, request_all, expect_done, 1, 5)
PATH(of_a_client_in_import_end, prepare_import, end_import, NULL, .never_fails = true)

PATH(between_nodes_in_put_copied, prepare_touched, put_copied, expect_done, .far = 2)
PATH(between_nodes_in_put_of_pinned, prepare_pinned, put_pinned, expect_done, .far = 1)
PATH(between_nodes_in_put_large, prepare_import, put_large, expect_done, .far = 4)
PATH(between_nodes_in_put_of_other_pages, prepare_other_pages, put_large, expect_done, .far = 4)
PATH(between_nodes_in_get_large, prepare_import, get_large, expect_done, .far = 4)
PATH(between_nodes_in_accepting_workers, NULL, connect_it, close_it, .far = 2,
     .first = INJECT_WORKER, .last = INJECT_WORKER)
PATH(between_nodes_in_granting_workers, export_segment, import_segment, end_import, .far = 3,
     .first = INJECT_WORKER, .last = INJECT_WORKER)

/*
 * The first id of a context needs nodes of an xarray, of which the first n bytes exist. The
 * context ends without another attempt: the nodes that are left are no leak.
 */
TEST(an_id_that_lacks_memory_is_not_taken_from_the_next_epoch)
{
	struct dd_list_make list;
	int n, ret, failed = 0;
	bool hit = true;
	struct raw r;

	if (!inject_ready())
		DD_SKIP("no fault injection in this kernel");
	for (n = 1; hit && n < INJECT_LIMIT; n += 64) {
		ASSERT_EQ(0, raw_open(&r));
		inject_arm(INJECT_SLAB, n);
		ret = mem_list(&r, &list);
		hit = inject_disarm(INJECT_SLAB);
		if (ret)
			failed++;
		else
			EXPECT_EQ(1, list.serial >> 32);
		raw_close(&r);
	}
	EXPECT_LE(10, failed);
	EXPECT_CLEAN();
}

DD_TEST_MAIN
