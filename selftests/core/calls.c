// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generated sequences of calls.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"
#include "mem.h"

#define KEPT		4	/* results of each kind that are remembered */
#define WAIT_NS		100000	/* of calls that wait, at most */
#define REGION_MAX	(1 << 18)

unsigned int calls_seed;

enum kind {
	OP_ALLOC, OP_MAP, OP_FREE, OP_SERVE, OP_CONNECT, OP_CLOSE, OP_UNSERVE, OP_SEND,
	OP_SUBMIT, OP_CONN_WAIT, OP_LIST_WAIT, OP_KICK, OP_LIST_FD, OP_TAKE,
	OP_CONN_INFO, OP_LIST_INFO, OP_CONN_LIST, OP_DIRECT, OP_WAKE, OP_STORE,
	OP_FASYNC, OP_RAW, OP_END, OP_PIN, OP_LIST, OP_EXPORT, OP_CONTROL, OP_SEGMENT_INFO,
	OP_IMPORT, OP_GET, OP_CAS, OP_FINISH, OP_KINDS
};

static const char *const names[OP_KINDS] = {
	"alloc", "map", "free", "serve", "connect", "close", "unserve", "send",
	"submit", "conn-wait", "list-wait", "kick", "list-fd", "take",
	"conn-info", "list-info", "conn-list", "direct", "wake", "store",
	"fasync", "raw", "end", "pin", "list", "export", "control", "segment-info",
	"import", "get", "cas", "finish",
};

/* The state of a sequence that runs. */
struct run {
	struct raw r[2];
	struct mem region[KEPT];
	__u32 service[KEPT], list[KEPT], list_unit[KEPT], state_unit[KEPT];
	__u64 conn[KEPT];	/* also imports */
	__u64 segment[KEPT], made[KEPT];	/* serials; those of lists made */
	__u64 channel;		/* of an importer */
	struct way way[KEPT];
	int regions, services, conns, ways, segments, lists;
};

/* --- choices ---------------------------------------------------------------*/

unsigned int calls_pick(unsigned int n)
{
	return rand_r(&calls_seed) % n;
}

static __u64 interesting(void)
{
	static const __u64 values[] = {
		0, 1, 2, 3, 4, 7, 8, 16, 63, 64, 255, 256, 1024, 4095, 4096, 4097,
		8192, 16384, 65536, 0x7fffffff, 0x80000000, 0xffffffff,
		0x100000000, -8ull, -1ull, 1ull << 63,
	};

	/* Calls with valid arguments lead further. */
	if (calls_pick(2))
		return values[calls_pick(11)];
	return calls_pick(8) ? values[calls_pick(sizeof(values) / sizeof(values[0]))] :
	       raw_random(&calls_seed);
}

static struct op random_op(void)
{
	struct op op = { .kind = calls_pick(OP_KINDS), .ctx = calls_pick(2),
			 .ref = { calls_pick(KEPT), calls_pick(KEPT) } };
	int i;

	for (i = 0; i < 4; i++)
		op.v[i] = interesting();
	return op;
}

void calls_mutate(struct sequence *s)
{
	int at = calls_pick(s->n + 1), times = 1 + calls_pick(4);

	while (times--) {
		switch (calls_pick(4)) {
		case 0:
			if (s->n == OPS)
				break;
			at = calls_pick(s->n + 1);
			memmove(&s->op[at + 1], &s->op[at],
				(s->n++ - at) * sizeof(s->op[0]));
			s->op[at] = random_op();
			break;
		case 1:
			if (s->n < 2)
				break;
			at = calls_pick(s->n);
			memmove(&s->op[at], &s->op[at + 1],
				(--s->n - at) * sizeof(s->op[0]));
			break;
		case 2:
			s->op[calls_pick(s->n)].v[calls_pick(4)] = interesting();
			break;
		default:
			at = calls_pick(s->n);
			s->op[at].ref[calls_pick(2)] = calls_pick(KEPT);
			s->op[at].ctx = calls_pick(2);
		}
	}
}

struct sequence calls_first(unsigned int i)
{
	static const struct sequence s[CALLS_FIRST] = { { .n = 9, .op = {
		{ OP_ALLOC, 0, {}, { 0x4000 } }, { OP_ALLOC, 1, {}, { 0x4000 } },
		{ OP_SERVE, 0, { 0 }, { 0, 2, 2 } }, { OP_CONNECT, 1, { 1 }, { 0, 0, 2 } },
		{ OP_SEND, 1, { 0 }, { DD_SQE_NOTIFY, 0, 0, 64 } },
		{ OP_TAKE, 0, { 0 }, { 0 } }, { OP_DIRECT, 1, { 0 }, { 0 } },
		{ OP_CLOSE, 1, { 0 }, { 0 } }, { OP_UNSERVE, 0, { 0 }, { 0 } },
	} }, { .n = 13, .op = {
		{ OP_ALLOC, 1, {}, { 0x4000 } }, { OP_PIN, 0, {}, { 0x4000, 4 } },
		{ OP_LIST, 0, {}, {} }, { OP_EXPORT, 0, { 1 }, { 0, 0, 4 } },
		{ OP_IMPORT, 1, {}, { 0, DD_RIGHTS, DD_IMPORT_NOWAIT | DD_IMPORT_PARK } },
		{ OP_SEND, 1, { 0 }, { DD_SQE_NOTIFY | DD_SQE_REGION, 0, 0, 64 } },
		{ OP_LIST_FD, 0, { 0 }, { 64 } },
		{ OP_GET, 1, { 0 }, { DD_SQE_REGION, 0, 0, 64 } },
		{ OP_CAS, 1, { 0 }, { 0, 0, 0, 8 } },
		{ OP_SEGMENT_INFO, 0, {}, { 1 } },
		{ OP_CONTROL, 0, {}, { DD_SEGMENT_GRANT, 0, 0, 1 } },
		{ OP_CONTROL, 0, {}, { DD_SEGMENT_DENY } },
		{ OP_FINISH, 0, {}, { 0 } },
	} } };

	return s[i];
}

/* --- calls -----------------------------------------------------------------*/

static void keep_region(struct run *t, const struct op *op)
{
	struct mem *m = &t->region[t->regions % KEPT];

	if (t->regions >= KEPT || raw_alloc(&t->r[op->ctx], op->v[0] % REGION_MAX, m))
		return;
	t->regions++;
}

static void serve(struct run *t, const struct op *op)
{
	struct dd_serve s;
	int i = t->services % KEPT;

	raw_serve_args(&s, "kcov", op->v[1] % 64, &t->region[op->ref[0]]);
	s.name[4] = 'a' + op->v[0] % 3;
	s.window = op->v[2];
	s.flags = op->v[3];
	s.list = t->list[op->ref[1]];
	s.uid = op->v[0];
	if (raw_serve(&t->r[op->ctx], &s))
		return;
	t->service[i] = s.service;
	t->list[i] = s.list;
	t->list_unit[i] = s.list_unit;
	t->services++;
}

static void connect_it(struct run *t, const struct op *op)
{
	struct dd_connect c;
	int i = t->conns % KEPT;

	raw_connect_args(&c, "kcov", &t->region[op->ref[0]]);
	c.name[4] = 'a' + op->v[0] % 3;
	c.type = DD_CONN_RPC + op->v[1] % 4;
	c.window = op->v[2];
	c.flags = op->v[3];
	c.list = t->list[op->ref[1]];
	if (raw_connect(&t->r[op->ctx], &c))
		return;
	t->conn[i] = c.conn;
	t->state_unit[i] = c.state_unit;
	/* Of odd numbers, so that lists of services are not forgotten. */
	t->list[(i | 1) % KEPT] = c.list;
	t->list_unit[(i | 1) % KEPT] = c.list_unit;
	t->conns++;
}

/* The calls store to these bytes only: no more than a region, at any offset in it. */
static char plain[2 * REGION_MAX];

static struct dd_sqe sqe_of(struct run *t, const struct op *op)
{
	struct dd_sqe sqe = { .opcode = DD_OP_PUT, .flags = op->v[0],
			      .src = op->v[1], .dst = op->v[2], .len = op->v[3] };

	if (op->kind == OP_GET) {
		sqe.opcode = DD_OP_GET;
	} else if (op->kind == OP_CAS) {
		sqe.opcode = DD_OP_CAS;
		sqe.flags |= DD_SQE_REGION;
		sqe.meta_count = DD_META_WORDS;
	}
	/* Refused without the flag. */
	if (sqe.flags & DD_SQE_REGION)
		sqe.region = t->region[op->ref[1]].id;
	/* Mostly an address of this process. */
	if (sqe.flags & DD_SQE_UNWIRED && (sqe.opcode != DD_OP_PUT || sqe.src < 1 << 20))
		sqe.src = (uintptr_t)plain + sqe.src % REGION_MAX;
	return sqe;
}

static void submit(struct run *t, const struct op *op)
{
	struct dd_request req[4];
	struct dd_submit s = { .size = sizeof(s), .requests = (uintptr_t)req,
			       .count = op->v[2] % 8, .stride = sizeof(req[0]) };
	int i;

	for (i = 0; i < 4; i++) {
		req[i].conn = t->conn[(op->ref[0] + i / 2) % KEPT];
		req[i].sqe = sqe_of(t, op);
	}
	raw_ioctl(&t->r[op->ctx], DD_IOC_SUBMIT, &s);
}

static void list_wait(struct run *t, const struct op *op)
{
	__u32 lists[4] = { t->list[op->ref[0]], t->list[op->ref[1]], op->v[2] };
	struct dd_list_wait w = { .size = sizeof(w), .count = op->v[0] % 5,
				  .lists = (uintptr_t)lists,
				  .timeout = op->v[1] % WAIT_NS };

	raw_ioctl(&t->r[op->ctx], DD_IOC_LIST_WAIT, &w);
}

static void conn_wait(struct run *t, const struct op *op)
{
	struct dd_conn_wait w = { .size = sizeof(w), .what = op->v[0] % 5,
				  .conn = t->conn[op->ref[0]], .value = op->v[1],
				  .timeout = op->v[2] % WAIT_NS };

	raw_ioctl(&t->r[op->ctx], DD_IOC_CONN_WAIT, &w);
}

static void list_fd(struct run *t, const struct op *op)
{
	int fd = raw_op(&t->r[op->ctx], DD_IOC_LIST_FD, t->list[op->ref[0]]);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char buf[256];
	ssize_t got;

	if (fd < 0)
		return;
	poll(&p, 1, 0);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	got = read(fd, buf, op->v[0] % sizeof(buf));
	(void)got;
	close(fd);
}

static void infos(struct run *t, const struct op *op)
{
	__u64 ids[4];
	struct dd_conn_list l = { .size = sizeof(l), .conns = (uintptr_t)ids,
				  .service = t->service[op->ref[0]],
				  .count = op->v[0] % 5 };
	struct dd_conn_info c = { .size = sizeof(c), .conn = t->conn[op->ref[0]] };
	struct dd_list_info i = { .size = sizeof(i), .list = t->list[op->ref[0]] };
	const struct raw *r = &t->r[op->ctx];

	if (op->kind == OP_CONN_INFO)
		raw_ioctl(r, DD_IOC_CONN_INFO, &c);
	else if (op->kind == OP_LIST_INFO)
		raw_ioctl(r, DD_IOC_LIST_INFO, &i);
	else if (!raw_ioctl(r, DD_IOC_CONN_LIST, &l) && l.count)
		/* The serving end of a connection. */
		t->conn[op->ref[1]] = ids[0];
}

/* Opens the direct path and stores a message, or gives it back. */
static void direct(struct run *t, const struct op *op)
{
	struct dd_direct d = { .size = sizeof(d), .flags = op->v[0],
			       .conn = t->conn[op->ref[0]] };
	struct way *w = &t->way[t->ways % KEPT];

	if (op->v[0]) {
		raw_ioctl(&t->r[op->ctx], DD_IOC_DIRECT, &d);
		return;
	}
	if (t->ways == KEPT)
		return;
	if (way_open(&t->r[op->ctx], d.conn, w)) {
		/* Some of it may be mapped. */
		way_unmap(w);
		return;
	}
	t->ways++;
	way_note(w, op->v[1], op->v[2]);
}

/* A word of a list's head, of a connection state or of the area's first page. */
static void store(struct run *t, const struct op *op)
{
	const struct raw *r = &t->r[op->ctx];
	__u32 unit = op->v[0] % 3 == 0 ? t->list_unit[op->ref[0]] :
		     op->v[0] % 3 == 1 ? t->state_unit[op->ref[0]] : 0;
	__u64 *word = raw_unit(r, unit);

	if (r->area)
		word[op->v[1] % (DD_UNIT / 8)] = op->v[2];
}

static void end_context(struct run *t, int i)
{
	if (t->r[i].area)
		raw_close(&t->r[i]);
	t->r[i] = (struct raw){ .fd = -1 };
}

static void take(struct run *t, const struct op *op)
{
	struct dd_note n;

	if (t->r[op->ctx].area && t->list_unit[op->ref[0]])
		raw_take(&t->r[op->ctx], t->list_unit[op->ref[0]], &n);
}

static void send_it(struct run *t, const struct op *op)
{
	struct dd_sqe sqe = sqe_of(t, op);
	__u32 cs = t->state_unit[op->ref[0]];

	if (t->r[op->ctx].area && cs)
		raw_submit(&t->r[op->ctx], cs, t->conn[op->ref[0]], &sqe);
}

/* --- one-sided memory ------------------------------------------------------*/

/* The region keeps the pages, and the sequence their addresses, as of any region. */
static void pin(struct run *t, const struct op *op)
{
	struct mem *m = &t->region[t->regions % KEPT];
	size_t len = op->v[0] % REGION_MAX, skip = op->v[1] % PAGE;
	struct dd_region_pin p = { .size = sizeof(p), .length = len - skip };
	char *at;

	if (t->regions >= KEPT || len <= skip)
		return;
	at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return;
	p.address = (uintptr_t)at + skip;
	if (raw_ioctl(&t->r[op->ctx], DD_IOC_REGION_PIN, &p)) {
		munmap(at, len);
		return;
	}
	*m = (struct mem){ .id = p.region, .len = len, .at = at };
	t->regions++;
}

static void make_list(struct run *t, const struct op *op)
{
	struct dd_list_make l;
	int i = t->lists % KEPT;

	if (mem_list(&t->r[op->ctx], &l))
		return;
	t->list[i] = l.list;
	t->list_unit[i] = l.list_unit;
	t->made[i] = l.serial;
	t->lists++;
}

static struct dd_segment_make segment_of(struct run *t, const struct op *op)
{
	struct dd_segment_make s = mem_segment(&t->region[op->ref[0]], "kcov");

	s.key[4] = 'a' + op->v[0] % 3;
	return s;
}

static void export_it(struct run *t, const struct op *op)
{
	struct dd_segment_make s = segment_of(t, op);

	s.length = s.length / 4 * 4 - op->v[1] % 64 / 4 * 4;
	s.offset = op->v[1] % 64 / 4 * 4;
	s.window = op->v[2];
	if (s.window) {
		s.list = t->list[op->ref[1]];
		s.policy = op->v[3] % 4;
	}
	s.permission = op->v[3] / 4 % 4;
	s.importers = op->v[3] == 7 ? 1 : 16;
	if (op->v[3] == 63) {
		s.key_class = DD_SEGMENT_ID;
		memset(s.key, 0, sizeof(s.key));
	}
	if (!mem_export(&t->r[op->ctx], &s))
		t->segment[t->segments++ % KEPT] = s.segment;
}

static void import_it(struct run *t, const struct op *op)
{
	struct dd_segment_make s = segment_of(t, op);
	struct dd_import_make m;
	int i = t->conns % KEPT;

	/* A call that waits for a segment would not return. */
	if (mem_import_flags(&t->r[op->ctx], &s, op->v[1],
			     op->v[2] & DD_IMPORT_NOWAIT ? op->v[2] & 3 : 0, 0, &m))
		return;
	t->conn[i] = m.import;
	t->state_unit[i] = m.state_unit;
	t->conns++;
}

static void control(struct run *t, const struct op *op)
{
	__u64 segment = t->segment[op->ref[0]];
	const struct raw *r = &t->r[op->ctx];

	switch (op->v[0]) {
	case DD_SEGMENT_GRANT:
		mem_ctl(r, segment, op->v[0], 0, op->v[2], op->v[3]);
		break;
	case DD_SEGMENT_DENY:
		mem_ctl(r, segment, op->v[0], t->channel + op->v[1], 0, 0);
		break;
	default:
		mem_ctl(r, segment, op->v[0] % 4, op->v[1], 0, 0);
	}
}

static void segment_info(struct run *t, const struct op *op)
{
	struct dd_importer imp[4] = {};
	struct dd_segment_info i = { .size = sizeof(i), .count = op->v[0] % 5,
				     .segment = t->segment[op->ref[0]],
				     .importers = i.count ? (uintptr_t)imp : 0 };

	if (!raw_ioctl(&t->r[op->ctx], DD_IOC_SEGMENT_INFO, &i) && i.count)
		t->channel = imp[0].channel;
}

static void finish(struct run *t, const struct op *op)
{
	const __u64 serial[] = { t->segment[op->ref[0]], t->conn[op->ref[0]],
				 t->made[op->ref[0]] };

	mem_end(&t->r[op->ctx], serial[op->v[0] % 3]);
}

static void call(struct run *t, const struct op *op)
{
	static const unsigned char raws[] = {
		0x02, 0x03, 0x04, 0x05, 0x06, 0x22, 0x23, 0x24, 0x25, 0x26,
		0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x27,
	};
	const struct raw *r = &t->r[op->ctx];
	/* A call may store to all of its structure. */
	union {
		struct dd_conn_wait wait;
		char space[PAGE];
	} any = { .wait = { .size = op->v[0], .what = op->v[1],
			    .conn = op->v[2], .value = op->v[3] } };

	switch (op->kind) {
	case OP_ALLOC: keep_region(t, op); break;
	case OP_MAP:
		munmap(raw_map(r, op->v[0] & -PAGE, op->v[1] % (1 << 16), op->v[2] % 4),
		       op->v[1] % (1 << 16));
		break;
	case OP_FREE: raw_op(r, DD_IOC_REGION_FREE, t->region[op->ref[0]].id); break;
	case OP_SERVE: serve(t, op); break;
	case OP_CONNECT: connect_it(t, op); break;
	case OP_CLOSE: raw_op(r, DD_IOC_CLOSE, t->conn[op->ref[0]]); break;
	case OP_UNSERVE: raw_op(r, DD_IOC_UNSERVE, t->service[op->ref[0]]); break;
	case OP_SEND: send_it(t, op); break;
	case OP_SUBMIT: submit(t, op); break;
	case OP_CONN_WAIT: conn_wait(t, op); break;
	case OP_LIST_WAIT: list_wait(t, op); break;
	case OP_KICK: raw_op(r, DD_IOC_LIST_KICK, t->list[op->ref[0]]); break;
	case OP_LIST_FD: list_fd(t, op); break;
	case OP_TAKE: take(t, op); break;
	case OP_CONN_INFO:
	case OP_LIST_INFO:
	case OP_CONN_LIST: infos(t, op); break;
	case OP_DIRECT: direct(t, op); break;
	case OP_WAKE: raw_op(r, DD_IOC_WAKE, t->conn[op->ref[0]]); break;
	case OP_STORE: store(t, op); break;
	case OP_FASYNC: fcntl(r->fd, F_SETFL, op->v[0] % 2 ? O_ASYNC | O_RDWR : O_RDWR); break;
	case OP_RAW:
		/* A struct of another call, whose timeout is 0. */
		raw_ioctl(r, _IO(DD_IOC_TYPE, raws[(op->v[0] + 5 * op->v[1]) % sizeof(raws)]),
			  &any);
		break;
	case OP_END: end_context(t, op->ctx); break;
	case OP_PIN: pin(t, op); break;
	case OP_LIST: make_list(t, op); break;
	case OP_EXPORT: export_it(t, op); break;
	case OP_CONTROL: control(t, op); break;
	case OP_SEGMENT_INFO: segment_info(t, op); break;
	case OP_IMPORT: import_it(t, op); break;
	case OP_GET:
	case OP_CAS: send_it(t, op); break;
	case OP_FINISH: finish(t, op); break;
	}
}

static sigjmp_buf bad_access;

static void on_bad_access(int sig)
{
	siglongjmp(bad_access, 1);
}

bool calls_run(const struct sequence *s, void (*begin)(void))
{
	static struct run t;
	volatile int i;

	t = (struct run){ .r = { { .fd = -1 }, { .fd = -1 } } };
	if (raw_open(&t.r[0]))
		return false;
	if (raw_open(&t.r[1])) {
		end_context(&t, 0);
		return false;
	}
	signal(SIGIO, SIG_IGN);
	signal(SIGSEGV, on_bad_access);
	signal(SIGBUS, on_bad_access);
	if (begin)
		begin();
	/* What was stored to the area may lead a later call astray. */
	for (i = 0; i < s->n; i++)
		if (!sigsetjmp(bad_access, 1))
			call(&t, &s->op[i]);
	for (i = 0; i < t.ways; i++)
		way_unmap(&t.way[i]);
	for (i = 0; i < t.regions; i++)
		munmap(t.region[i].at, t.region[i].len);
	end_context(&t, 0);
	end_context(&t, 1);
	return true;
}

void calls_print(const struct sequence *s)
{
	int i;

	for (i = 0; i < s->n; i++) {
		const struct op *op = &s->op[i];

		fprintf(stderr, "# %s: context %d, results %d %d, values %#llx %#llx %#llx %#llx\n",
			names[op->kind], op->ctx, op->ref[0], op->ref[1],
			op->v[0], op->v[1], op->v[2], op->v[3]);
	}
}
