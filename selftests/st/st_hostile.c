// SPDX-License-Identifier: LGPL-2.1-only
/*
 * st_hostile.c - ST: another process that does not use libst, and does what it wants
 *
 * It uses libdd. Run on one node, or by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dd_mem.h"
#include "pair.h"
#include "wire.h"

#define PORT	"1700"
#define WINDOW	64

/* ---- the hostile process ---------------------------------------------------------- */

static struct dd *h;
static int conn, list, service;
static char *out, *in;

/* What the process that uses libst has said. All see it. */
#define theirs	(*(struct st_hello *)o_mem)

static const struct st_hello honest = {
	.version = ST_VERSION, .nonce = { 1, 2, 3, 4 }, .little = ST_LITTLE_ENDIAN,
	.key = 5, .port = 6, .portlen = 1,
	.bufsize = 4096, .maxstu = 65536, .base = 0, .count = 256, .channels = 15, .iana = 7,
};

static void start(void)
{
	void *p[2];

	if (h)
		return;
	if (dd_open(&h) || dd_alloc(h, 65536, &p[0]) || dd_alloc(h, 65536, &p[1]))
		abort();
	out = p[0];
	in = p[1];
}

/* Connect as libst does; with @ring bytes for the other end's messages. */
static long job_dial(long ring, long b, long c)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr), .type = DD_TYPE_STREAM, .flags = DD_ATTR_ANON,
		.window = WINDOW, .recv_size = ring, .send_size = 65536,
	};

	start();
	attr.recv = in;
	attr.send = out;
	conn = dd_connect(h, "st:" PORT, far_node(), &attr, &list);
	return conn < 0 ? conn : 0;
}

static long job_hang_up(long a, long b, long c)
{
	return dd_close(h, conn);
}

static int deposit(size_t len, size_t to)
{
	int ret;

	while ((ret = dd_send(h, conn, out, len, to, DD_SEND_BLOCK, NULL, 0)) == -ENOTREADY)
		dd_done(h, conn, DD_DONE_PLACED, 1000000);
	return ret;
}

static int hello(const struct st_hello *mine)
{
	return deposit(st_pack_hello((struct st_slot *)out, mine), 0);
}

/* Say an honest hello and wait for the answer, whose parameters are kept. */
static long job_greet(long swapped, long b, long c)
{
	struct st_hello mine = honest;
	struct dd_msg msg;
	int ret;

	mine.little ^= swapped;
	ret = hello(&mine);
	if (!ret)
		ret = dd_recv(h, list, &msg, DD_RECV_SLEEP, 20000000000ll);
	if (ret)
		return ret;
	return st_unpack_hello(msg.addr, msg.len, &theirs) ? 0 : -EPROTO;
}

/* Words of a hello, and wrong values. */
static const uint32_t wrong[][2] = {
	{ 0, 99 }, { 1, 5000 }, { 6, 2 }, { 8, 0 }, { 8, 70000 }, { 8, -1 }, { 9, 0 }, { 9, 300 },
	{ 10, 5000 }, { 10, 0 }, { 11, 100 }, { 12, 0x80000000 }, { 13, 0 }, { 13, 2 << 20 },
	{ 14, 0 }, { 14, 16 }, { 15, 70000 },
};

#define WRONG	(int)(sizeof(wrong) / sizeof(wrong[0]))
#define OTHERS	5	/* that are no hellos */

/* Say the @which wrong hello. */
static long job_wrong_hello(long which, long b, long c)
{
	struct st_hello x = honest;
	uint32_t *word = (uint32_t *)&x;

	switch (which) {
	case 0:
		return deposit(0, 0);
	case 1:
		return deposit(ST_SLOT_SIZE, 0);
	case 2:
		memset(out, 0xff, ST_SLOT_SHORT);
		return deposit(ST_SLOT_SHORT, 0);
	case 3:
		return deposit(8000, 16);
	case 4:
		return 0;
	default:
		word[wrong[which - OTHERS][0]] = wrong[which - OTHERS][1];
		return hello(&x);
	}
}

/* Deposit @count random messages, every tenth one a header that is right. */
static long job_noise(long seed, long count, long x)
{
	struct st_slot *slot = (struct st_slot *)out;
	int ret = 0;

	srand(seed);
	for (long i = 0; i < count && !ret; i++) {
		const bool right = i % 10 == 0, header = right || rand() % 3;
		size_t len = header ? (rand() % 2 ? ST_SLOT_SHORT : ST_SLOT_SIZE) : rand() % 200,
		       to = rand() % 3 ? rand() % 127 * ST_SLOT_SIZE : rand() % 10000;

		for (int j = 0; j < 200; j++)
			out[j] = rand();
		if (header)
			slot->hdr = (st_header_t){
				.op = right ? ST_OP_NOP : rand(), .mx = rand(), .bufx = rand(),
				.d_key = right || rand() % 4 ? theirs.key : (uint32_t)rand(),
				.d_port = theirs.port,
			};
		ret = deposit(len, right ? ST_SLOT_SIZE : to);
	}
	return ret;
}

static const st_header_t numbers = {
	.op = ST_OP_END, .flags = 0x1122, .param = 0x3344, .cksum = 0x5566, .s_port = 0x7788,
	.d_id = 0x99aa, .s_id = 0xbbcc, .mx = 0x01234567, .t_len = 0x123456789abcdef,
	.bufx = 0x89abcdef, .b_num = 0x76543210,
};

/* Send a header in the other byte order, and its payload. */
static long job_swapped(long a, long b, long c)
{
	struct st_slot *slot = (struct st_slot *)out;

	slot->hdr = numbers;
	slot->hdr.d_key = theirs.key;
	slot->hdr.d_port = theirs.port;
	st_swap(&slot->hdr);
	memset(slot->pay, 0x5a, ST_PAYLOAD);
	return deposit(ST_SLOT_SIZE, ST_SLOT_SIZE);
}

/* Import the map @mx, with @rights, as the honest peer would: 0 or the error. */
static struct dd_mem *got;

static long job_import(long mx, long rights, long x)
{
	char key[DD_KEY_SIZE] = "";

	snprintf(key, sizeof(key), ST_MAP_NAME, theirs.nonce[0], theirs.nonce[1],
		 theirs.nonce[2], theirs.nonce[3], (uint32_t)mx);
	start();
	return dd_import(h, far_node(), DD_KEY_NAME, key, rights, &got);
}

static long job_put(long offset, long len, long x)
{
	memset(out, 0x66, len);
	return dd_put(got, out, len, offset, 0);
}

/* Send the header of Data for @mx that is said to be request @request. */
static long job_announce(long mx, long request, long place)
{
	struct st_slot *slot = (struct st_slot *)out;

	slot->hdr = (st_header_t){ .op = ST_OP_DATA, .d_key = theirs.key, .d_port = theirs.port,
				   .mx = mx };
	slot->request = request;
	return deposit(ST_SLOT_DATA, place * ST_SLOT_SIZE);
}

static long job_nop(long place, long b, long c)
{
	struct st_slot *slot = (struct st_slot *)out;

	slot->hdr = (st_header_t){ .op = ST_OP_NOP, .d_key = theirs.key, .d_port = theirs.port };
	return deposit(ST_SLOT_SHORT, place * ST_SLOT_SIZE);
}

/* What servers do that are none. */
enum { GOES, REFUSES, SAYS_ONES, SAYS_ZEROS, HAS_NO_ROOM, SERVERS };

static long job_serve(long what, long b, long c)
{
	struct dd_serve_attr attr = {
		.size = sizeof(attr), .maxconn = 1, .window = WINDOW,
		.recv_size = what == HAS_NO_ROOM ? 1000 : 65536, .send_size = 65536,
		.flags = DD_ATTR_SHARED,
	};

	start();
	attr.recv = in;
	attr.send = out;
	if (service > 0)
		dd_unserve(h, service);
	service = dd_serve(h, "st:" PORT, &attr, &list);
	return service < 0 ? service : 0;
}

/* Answer what a client sends. */
static long job_answer(long what, long b, long c)
{
	struct st_hello refuse = honest;
	struct dd_msg msg;
	int ret;

	if (what == HAS_NO_ROOM)
		return 0;
	ret = dd_recv(h, list, &msg, DD_RECV_SLEEP, 20000000000ll);
	if (ret)
		return ret;
	conn = msg.conn;
	switch (what) {
	case GOES:
		ret = dd_unserve(h, service);
		service = 0;
		return ret;
	case REFUSES:
		refuse.error = EPROTO;
		return hello(&refuse);
	default:
		memset(out, what == SAYS_ONES ? 0xff : 0, ST_SLOT_SIZE);
		return deposit(what == SAYS_ONES ? ST_SLOT_SIZE : ST_SLOT_SHORT, 0);
	}
}

/* ---- the process that uses libst ----------------------------------------------------- */

static st_chandle_t l;

static int accept_one(void *unused)
{
	return st_accept(l);
}

static void listener(void)
{
	other();
	OK(st_create(&l));
	OK(st_listen(l, NULL, PORT));
}

/* A client may come too early: the one before it is not gone yet. */
static void dial(int ring)
{
	long ret;

	while ((ret = o_job(job_dial, ring, 0, 0)) == -EBADSERVER)
		usleep(1000);
	OK(ret);
}

/* An honest client, or one of the other byte order, is accepted. */
static void greeted(struct thread *accepting, bool swapped)
{
	OK(o_job(job_greet, swapped, 0, 0));
	OK(thread_end(accepting));
}

static void connected(bool swapped)
{
	listener();
	dial(65536);
	greeted(thread_begin(accept_one, NULL), swapped);
}

static void disconnect(void)
{
	OK(st_delete(l));
	o_job(job_hang_up, 0, 0, 0);
}

TEST(ST_26_clients_that_are_none)
{
	struct thread *accepting;

	listener();
	accepting = thread_begin(accept_one, NULL);
	/* Each is dropped, and the next one may come. */
	for (int i = 0; i < OTHERS + WRONG && !test_failed; i++) {
		dial(65536);
		OK(o_job(job_wrong_hello, i, 0, 0));
		OK(o_job(job_hang_up, 0, 0, 0));
		if (test_failed)
			printf("# hello %d\n", i);
	}
	/* One whose ring is too small. */
	dial(1000);
	OK(o_job(job_hang_up, 0, 0, 0));
	/* And an honest one. */
	dial(65536);
	greeted(accepting, false);
	check_eq(get(l, ST_OPT_IANA_REMOTE), 7);
	check_eq(get(l, ST_OPT_RX_WINDOW_REMOTE), WINDOW);
	disconnect();
}

TEST(ST_26_a_client_that_says_nothing)
{
	struct worker *silent = peer_new();
	struct thread *accepting;
	double begun;

	listener();
	begun = st_time();
	OK(worker_do(silent, job_dial, 65536, 0, 0));
	accepting = thread_begin(accept_one, NULL);
	/* Five seconds later the next one is served. */
	dial(65536);
	greeted(accepting, false);
	check(st_time() - begun < 20);
	disconnect();
	worker_end(silent);
}

TEST(ST_44_ST_48_9_random_headers)
{
	int good = 0, ret, handed = 0;
	st_header_t r;

	connected(false);
	worker_begin(other(), job_noise, 3, 3000, 0);
	while (!(ret = rx(l, &r, NULL, 100)) || !worker_ready(other())) {
		if (ret == EWOULDBLOCK)
			continue;
		OK(ret);
		if (ret)
			break;
		handed++;
		good += r.op == ST_OP_NOP;
		/* What is delivered is for this end, and an operation that may be sent. */
		check(r.op >= ST_OP_NOP && r.op <= ST_OP_END_ACK &&
		      (r.op < ST_OP_REQUEST_CONNECTION || r.op > ST_OP_DISCONNECT_COMPLETE));
		check_eq((int)r.d_key, get(l, ST_OPT_KEY_LOCAL));
		check_eq(r.d_port, get(l, ST_OPT_PORT_LOCAL));
	}
	OK(worker_result(other()));
	/* It overwrites its own messages as well: some of the right ones are gone. */
	check(good > 0);
	check_eq(get(l, ST_OPT_RX_DROPPED) + handed, 3000);
	OK(o_job(job_hang_up, 0, 0, 0));
	check_eq(rx(l, &r, NULL, 5000), ECONNRESET);
	OK(st_delete(l));
}

TEST(ST_48_headers_of_the_other_byte_order)
{
	char pay[ST_PAYLOAD], same[ST_PAYLOAD];
	st_header_t r, expected = numbers;

	connected(true);
	OK(o_job(job_swapped, 0, 0, 0));
	OK(rx(l, &r, pay, -1));
	expected.d_key = get(l, ST_OPT_KEY_LOCAL);
	expected.d_port = get(l, ST_OPT_PORT_LOCAL);
	check(!memcmp(&r, &expected, sizeof(r)));
	memset(same, 0x5a, sizeof(same));
	check(!memcmp(pay, same, sizeof(pay)));
	disconnect();
}

TEST(ST_36_memory_without_libst)
{
	struct worker *third = peer_new();
	int mx, both_mx;
	st_mhandle_t both;
	long ret;

	connected(false);
	memset(mem, 0x11, 4 * PAGE);
	OK(st_map(&l, ST_PIN_RX, mem + PAGE, PAGE, 0, 1, &mine, &mx));
	OK(st_map(&l, ST_PIN_RX | ST_PIN_TX, mem + 2 * PAGE, PAGE, 1, 1, &both, &both_mx));
	/* A third process, though it knows the name: only one is admitted. */
	OK(o_job(job_import, mx, DD_CAN_PUT, 0));
	ret = worker_do(third, job_import, mx, DD_CAN_PUT, 0);
	check(ret == -EUSERS || ret == -EACCES);
	check_eq(o_job(job_import, mx ^ 1 << 21, DD_CAN_PUT, 0), -ECONNREFUSED);
	/* Not beyond the map, nor with another right. */
	check(o_job(job_put, PAGE - 8, 16, 0) < 0);
	check(o_job(job_put, 1ul << 40, 16, 0) < 0);
	OK(o_job(job_put, 0, 16, 0));
	check(mem[PAGE] == 0x66 && mem[PAGE + 15] == 0x66 && mem[PAGE + 16] == 0x11);
	check(mem[PAGE - 1] == 0x11 && mem[2 * PAGE] == 0x11);
	check_eq(o_job(job_import, both_mx, DD_CAN_PUT | DD_CAN_CAS, 0), -EACCES);
	/* Only a process that could read this one's memory anyway may read what it may write. */
	if (across_nodes()) {
		OK(st_unmap(&mine));
		OK(st_map(&l, ST_PIN_RX, mem + PAGE, PAGE, 0, 1, &mine, &mx));
		check_eq(o_job(job_import, mx, DD_CAN_GET, 0), -EACCES);
		OK(o_job(job_import, mx, DD_CAN_PUT, 0));
	}
	OK(st_unmap(&mine));
	check(o_job(job_put, 0, 16, 0) < 0);
	OK(st_close(l));
	check(o_job(job_import, both_mx, DD_CAN_PUT, 0) < 0);
	disconnect();
	worker_end(third);
}

/* ---- headers whose Data does not come ------------------------------------------------- */

static int read_one(void *hdr)
{
	return st_rx(&l, hdr, NULL, NULL);
}

/* Connect, and map a page for the other process, which imports it and promises request @request. */
static int promise(long request)
{
	int mx;

	connected(false);
	memset(mem, 0x11, PAGE);
	OK(st_map(&l, ST_PIN_RX, mem, PAGE, 0, 1, &mine, &mx));
	OK(o_job(job_import, mx, DD_CAN_PUT, 0));
	OK(o_job(job_announce, mx, request, 1));
	OK(o_job(job_nop, 2, 0, 0));
	return mx;
}

TEST(ST_38_a_header_waits_for_its_bytes)
{
	st_header_t r;
	int mx = promise(2);

	/* Between processes of a node there is no such header. */
	if (!across_nodes()) {
		OK(rx(l, &r, NULL, -1));
		check_eq(r.op, ST_OP_NOP);
		check_eq(get(l, ST_OPT_RX_DROPPED), 1);
		disconnect();
		return;
	}
	for (int i = 0; i < 2; i++) {
		check_eq(rx(l, &r, NULL, 0), EWOULDBLOCK);
		check_eq(rx(l, &r, NULL, 50), EWOULDBLOCK);
		OK(o_job(job_put, 16 * i, 16, 0));
	}
	OK(rx(l, &r, NULL, -1));
	check_eq(r.op, ST_OP_DATA);
	check_eq((int)r.mx, mx);
	check(mem[16] == 0x66 && mem[31] == 0x66 && mem[32] == 0x11);
	OK(rx(l, &r, NULL, -1));
	check_eq(r.op, ST_OP_NOP);
	/* What was in place before is so now. */
	OK(o_job(job_announce, mx, 1, 3));
	OK(rx(l, &r, NULL, -1));
	check_eq(r.op, ST_OP_DATA);
	check_eq(get(l, ST_OPT_RX_DROPPED), 0);
	disconnect();
}

TEST(ST_37_a_map_ends_while_a_header_waits_for_its_bytes)
{
	struct thread *reading;
	st_header_t r;

	promise(1);
	reading = thread_begin(read_one, &r);
	usleep(50000);
	OK(st_unmap(&mine));
	OK(thread_end(reading));
	check_eq(r.op, ST_OP_NOP);
	check_eq(get(l, ST_OPT_RX_DROPPED), 1);
	disconnect();
}

TEST(ST_28_a_promise_that_is_not_kept)
{
	struct thread *reading;
	st_header_t h = header(ST_OP_NOP), r;
	int mx;

	other();
	if (!across_nodes())
		return;
	promise(~0u);
	reading = thread_begin(read_one, &r);
	/* Other connections go on. */
	pair_new(NULL);
	for (int i = 0; i < 100; i++) {
		nop_arrives();
		OK(o_tx(0, &h, NULL, 0, 0, 0));
		OK(rx(c, &h, NULL, -1));
	}
	pair_end();
	OK(st_close(l));
	check(thread_end(reading));
	disconnect();
	/* The other end closes: what it has not put never comes. */
	mx = promise(~0u);
	/* A map that never was, and one beyond all buffers. */
	OK(o_job(job_announce, mx ^ 1 << 21, 1, 3));
	OK(o_job(job_announce, ~0u, 1, 4));
	check_eq(rx(l, &r, NULL, 0), EWOULDBLOCK);
	OK(o_job(job_hang_up, 0, 0, 0));
	OK(rx(l, &r, NULL, -1));
	check_eq(r.op, ST_OP_NOP);
	check_eq(rx(l, &r, NULL, -1), ECONNRESET);
	check_eq(get(l, ST_OPT_RX_DROPPED), 2);
	disconnect();
}

TEST(ST_27_servers_that_are_none)
{
	other();
	OK(st_create(&l));
	for (int what = 0; what < SERVERS; what++) {
		OK(o_job(job_serve, what, 0, 0));
		worker_begin(other(), job_answer, what, 0, 0);
		check_eq(st_connect(l, there(), PORT), what == GOES ? ECONNREFUSED : EPROTO);
		OK(worker_result(other()));
		check_eq(st_close(l), ENOTCONN);
	}
	OK(st_delete(l));
}
