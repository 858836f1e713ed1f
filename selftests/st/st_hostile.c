// SPDX-License-Identifier: LGPL-2.1-only
/*
 * st_hostile.c - ST: another process that does not use libst, and does what it wants
 *
 * It uses libdd. Run on one node, or by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "dd_mem.h"
#include "pair.h"
#include "wire.h"

#define PORT	"1700"
#define WINDOW	64

/* ---- the hostile process ---------------------------------------------------------- */

static struct dd *h;
static int conn, list;
static char *out, *in;
static struct st_hello theirs;

static const struct st_hello honest = {
	.version = ST_VERSION, .nonce = { 1, 2, 3, 4 }, .little = ST_LITTLE_ENDIAN,
	.key = 5, .port = 6, .portlen = 1,
	.bufsize = 4096, .maxstu = 65536, .base = 0, .count = 256, .channels = 15, .iana = 7,
};

static long job_start(long a, long b, long c)
{
	void *p[2];

	if (!h && (dd_open(&h) || dd_alloc(h, 65536, &p[0]) || dd_alloc(h, 65536, &p[1])))
		return -1;
	if (!out) {
		out = p[0];
		in = p[1];
	}
	return 0;
}

/* Connect as libst does; with @ring bytes for the other end's messages. */
static long job_dial(long ring, long b, long c)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr), .type = DD_TYPE_STREAM, .flags = DD_ATTR_ANON,
		.window = WINDOW, .recv_size = ring, .send_size = 65536,
	};

	job_start(0, 0, 0);
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
	st_header_t hdr;
	int ret = 0;

	srand(seed);
	for (long i = 0; i < count && !ret; i++) {
		size_t len = rand() % 4 ? (rand() % 2 ? ST_SLOT_SHORT : ST_SLOT_SIZE) :
					  (unsigned int)rand() % 200;
		size_t to = rand() % 3 ? rand() % 127 * ST_SLOT_SIZE : (unsigned int)rand() % 10000;

		for (int j = 0; j < 200; j++)
			out[j] = rand();
		hdr = (st_header_t){ .op = i % 10 ? rand() : ST_OP_NOP,
				     .d_key = rand() % 4 || !(i % 10) ? theirs.key : (uint32_t)rand(),
				     .d_port = theirs.port, .mx = rand(), .bufx = rand() };
		if (i % 10 == 0 || rand() % 3) {
			slot->hdr = hdr;
			len = i % 2 ? ST_SLOT_SIZE : ST_SLOT_SHORT;
		}
		if (i % 10 == 0)
			to = ST_SLOT_SIZE;
		ret = deposit(len, to);
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
	job_start(0, 0, 0);
	return dd_import(h, far_node(), DD_KEY_NAME, key, rights, &got);
}

static long job_put(long offset, long len, long x)
{
	memset(out, 0x66, len);
	return dd_put(got, out, len, offset, 0);
}

/* Send the header of Data for @mx that is said to be request @request; and another one. */
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

static long job_theirs(long a, long b, long c)
{
	memcpy(peer_shm->data, &theirs, sizeof(theirs));
	return 0;
}

static long job_know(long a, long b, long c)
{
	memcpy(&theirs, peer_shm->data, sizeof(theirs));
	return 0;
}

/* Serve @PORT, and answer what a client sends by the @which nonsense. */
static long job_serve(long which, long x, long y)
{
	static int service;
	struct dd_serve_attr attr = {
		.size = sizeof(attr), .maxconn = 1, .window = WINDOW,
		.recv_size = which == 4 ? 1000 : 65536, .send_size = 65536,
		.flags = DD_ATTR_SHARED,
	};
	struct dd_msg msg;
	int ret;

	job_start(0, 0, 0);
	attr.recv = in;
	attr.send = out;
	if (!x) {
		if (service > 0)
			dd_unserve(h, service);
		service = dd_serve(h, "st:" PORT, &attr, &list);
		return service < 0 ? service : 0;
	}
	if (which == 4)
		return 0;
	ret = dd_recv(h, list, &msg, DD_RECV_SLEEP, 20000000000ll);
	if (ret)
		return ret;
	conn = msg.conn;
	if (which == 0) {
		ret = dd_unserve(h, service);
		service = 0;
		return ret;
	}
	if (which == 1) {
		struct st_hello refuse = honest;

		refuse.error = EPROTO;
		return hello(&refuse);
	}
	memset(out, which == 2 ? 0xff : 0, ST_SLOT_SIZE);
	return deposit(which == 2 ? ST_SLOT_SIZE : ST_SLOT_SHORT, 0);
}

/* ---- the process that uses libst ----------------------------------------------------- */

static st_chandle_t l;

static void *thread_accept(void *arg)
{
	return (void *)(long)st_accept(l);
}

static pthread_t accepting;

static void accept_begin(void)
{
	check_eq(pthread_create(&accepting, NULL, thread_accept, NULL), 0);
}

static int accept_end(void)
{
	void *ret;

	pthread_join(accepting, &ret);
	return (long)ret;
}

static void listener(void)
{
	other();
	OK(st_create(&l));
	OK(st_listen(l, NULL, PORT));
}

TEST(ST_26_clients_that_are_none)
{
	listener();
	accept_begin();
	/* Each is dropped, and the next one may come. */
	for (int i = 0; i < OTHERS + WRONG && !test_failed; i++) {
		long ret;

		while ((ret = o_job(job_dial, 65536, 0, 0)) == -EBADSERVER)
			usleep(1000);
		OK(ret);
		OK(o_job(job_wrong_hello, i, 0, 0));
		OK(o_job(job_hang_up, 0, 0, 0));
		if (test_failed)
			printf("# hello %d\n", i);
	}
	/* One whose ring is too small. */
	while (o_job(job_dial, 1000, 0, 0) == -EBADSERVER)
		usleep(1000);
	OK(o_job(job_hang_up, 0, 0, 0));
	/* And an honest one. */
	while (o_job(job_dial, 65536, 0, 0) == -EBADSERVER)
		usleep(1000);
	OK(o_job(job_greet, 0, 0, 0));
	OK(accept_end());
	check_eq(get(l, ST_OPT_IANA_REMOTE), 7);
	check_eq(get(l, ST_OPT_RX_WINDOW_REMOTE), WINDOW);
	OK(st_delete(l));
	OK(o_job(job_hang_up, 0, 0, 0));
}

TEST(ST_26_a_client_that_says_nothing)
{
	struct peer *silent = peer_new();
	double begun;

	listener();
	begun = st_time();
	OK(peer_call(silent, job_dial, 65536, 0, 0));
	accept_begin();
	/* Five seconds later the next one is served. */
	while (o_job(job_dial, 65536, 0, 0) == -EBADSERVER)
		usleep(10000);
	OK(o_job(job_greet, 0, 0, 0));
	OK(accept_end());
	check(st_time() - begun < 20);
	OK(st_delete(l));
	OK(o_job(job_hang_up, 0, 0, 0));
	peer_kill(silent);
}

TEST(ST_44_ST_48_9_random_headers)
{
	int good = 0, ret, handed = 0;
	st_header_t r;

	listener();
	OK(o_job(job_dial, 65536, 0, 0));
	accept_begin();
	OK(o_job(job_greet, 0, 0, 0));
	OK(accept_end());
	peer_begin(other(), job_noise, 3, 3000, 0);
	while (!(ret = rx(l, &r, NULL, 100)) || !peer_ended(other())) {
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
	OK(peer_end(other()));
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

	listener();
	OK(o_job(job_dial, 65536, 0, 0));
	accept_begin();
	OK(o_job(job_greet, 1, 0, 0));
	OK(accept_end());
	OK(o_job(job_swapped, 0, 0, 0));
	OK(rx(l, &r, pay, -1));
	expected.d_key = get(l, ST_OPT_KEY_LOCAL);
	expected.d_port = get(l, ST_OPT_PORT_LOCAL);
	check(!memcmp(&r, &expected, sizeof(r)));
	memset(same, 0x5a, sizeof(same));
	check(!memcmp(pay, same, sizeof(pay)));
	OK(st_delete(l));
	OK(o_job(job_hang_up, 0, 0, 0));
}

TEST(ST_36_memory_without_libst)
{
	struct peer *third = peer_new();
	int mx, both_mx, other_mx;
	st_mhandle_t m, both;
	long ret;

	listener();
	OK(o_job(job_dial, 65536, 0, 0));
	accept_begin();
	OK(o_job(job_greet, 0, 0, 0));
	OK(accept_end());
	memset(mem, 0x11, 4 * PAGE);
	OK(st_map(&l, ST_PIN_RX, mem + PAGE, PAGE, 0, 1, &m, &mx));
	OK(st_map(&l, ST_PIN_RX | ST_PIN_TX, mem + 2 * PAGE, PAGE, 1, 1, &both, &both_mx));
	other_mx = mx ^ 1 << 21;
	/* A third process, though it knows the name: only one is admitted. */
	OK(o_job(job_import, mx, DD_CAN_PUT, 0));
	OK(o_job(job_theirs, 0, 0, 0));
	memcpy(third->shm->data, other()->shm->data, sizeof(theirs));
	OK(peer_call(third, job_know, 0, 0, 0));
	ret = peer_call(third, job_import, mx, DD_CAN_PUT, 0);
	check(ret == -EUSERS || ret == -EACCES);
	check_eq(o_job(job_import, other_mx, DD_CAN_PUT, 0), -ECONNREFUSED);
	/* Not beyond the map, nor with another right. */
	check(o_job(job_put, PAGE - 8, 16, 0) < 0);
	check(o_job(job_put, 1ul << 40, 16, 0) < 0);
	OK(o_job(job_put, 0, 16, 0));
	check(mem[PAGE] == 0x66 && mem[PAGE + 15] == 0x66 && mem[PAGE + 16] == 0x11);
	check(mem[PAGE - 1] == 0x11 && mem[2 * PAGE] == 0x11);
	check_eq(o_job(job_import, both_mx, DD_CAN_PUT | DD_CAN_CAS, 0), -EACCES);
	/* Only a process that could read this one's memory anyway may read what it may write. */
	if (across_nodes()) {
		OK(st_unmap(&m));
		OK(st_map(&l, ST_PIN_RX, mem + PAGE, PAGE, 0, 1, &m, &mx));
		check_eq(o_job(job_import, mx, DD_CAN_GET, 0), -EACCES);
		OK(o_job(job_import, mx, DD_CAN_PUT, 0));
	}
	OK(st_unmap(&m));
	check(o_job(job_put, 0, 16, 0) < 0);
	OK(st_close(l));
	check(o_job(job_import, both_mx, DD_CAN_PUT, 0) < 0);
	OK(st_delete(l));
	OK(o_job(job_hang_up, 0, 0, 0));
	peer_kill(third);
}

/* ---- headers whose Data does not come ------------------------------------------------- */

static st_mhandle_t promised;

static void on_alarm(int sig)
{
}

static void *thread_rx(void *arg)
{
	st_header_t *hdr = arg;

	return (void *)(long)st_rx(&l, hdr, NULL, NULL);
}

/* Connect, and map a page for the other process, which imports it and promises request @request. */
static int promise(long request)
{
	int mx;

	listener();
	OK(o_job(job_dial, 65536, 0, 0));
	accept_begin();
	OK(o_job(job_greet, 0, 0, 0));
	OK(accept_end());
	memset(mem, 0x11, PAGE);
	OK(st_map(&l, ST_PIN_RX, mem, PAGE, 0, 1, &promised, &mx));
	OK(o_job(job_import, mx, DD_CAN_PUT, 0));
	OK(o_job(job_announce, mx, request, 1));
	OK(o_job(job_nop, 2, 0, 0));
	return mx;
}

static void promise_end(void)
{
	OK(st_delete(l));
	o_job(job_hang_up, 0, 0, 0);
}

TEST(ST_38_a_header_waits_for_its_bytes)
{
	const struct itimerval soon = { .it_value = { .tv_usec = 200000 } };
	const struct sigaction sa = { .sa_handler = on_alarm };
	st_header_t r;
	int mx = promise(2);

	/* Between processes of a node there is no such header. */
	if (!across_nodes()) {
		OK(rx(l, &r, NULL, 5000));
		check_eq(r.op, ST_OP_NOP);
		check_eq(get(l, ST_OPT_RX_DROPPED), 1);
		promise_end();
		return;
	}
	check_eq(rx(l, &r, NULL, 0), EWOULDBLOCK);
	check_eq(rx(l, &r, NULL, 50), EWOULDBLOCK);
	OK(o_job(job_put, 0, 16, 0));
	check_eq(rx(l, &r, NULL, 50), EWOULDBLOCK);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	check_eq(st_rx(&l, &r, NULL, NULL), EINTR);
	OK(o_job(job_put, 16, 16, 0));
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
	promise_end();
}

TEST(ST_37_a_map_ends_while_a_header_waits_for_its_bytes)
{
	pthread_t reading;
	st_header_t r;
	void *ret;

	promise(1);
	check_eq(pthread_create(&reading, NULL, thread_rx, &r), 0);
	usleep(50000);
	OK(st_unmap(&promised));
	pthread_join(reading, &ret);
	OK((long)ret);
	check_eq(r.op, ST_OP_NOP);
	check_eq(get(l, ST_OPT_RX_DROPPED), 1);
	promise_end();
}

TEST(ST_28_a_promise_that_is_not_kept)
{
	pthread_t reading;
	st_chandle_t c;
	st_header_t r;
	void *ret;
	int mx = promise(~0u);

	check_eq(pthread_create(&reading, NULL, thread_rx, &r), 0);
	if (!across_nodes()) {
		pthread_join(reading, &ret);
		OK((long)ret);
		promise_end();
		return;
	}
	/* Other connections go on. */
	OK(o_create(0));
	c = joined(0);
	for (int i = 0; i < 100; i++) {
		st_header_t h = header(ST_OP_NOP), other;

		OK(o_tx(0, &h, NULL, 0, 0, 0));
		OK(rx(c, &other, NULL, -1));
	}
	OK(st_delete(c));
	OK(o_delete(0));
	OK(st_close(l));
	pthread_join(reading, &ret);
	check((long)ret);
	promise_end();
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
	promise_end();
}

TEST(ST_27_servers_that_are_none)
{
	static const int errors[] = { ECONNREFUSED, EPROTO, EPROTO, EPROTO, EPROTO };
	st_chandle_t c;

	other();
	OK(st_create(&c));
	for (int i = 0; i < 5; i++) {
		OK(o_job(job_serve, i, 0, 0));
		peer_begin(other(), job_serve, i, 1, 0);
		check_eq(st_connect(c, there(), PORT), errors[i]);
		OK(peer_end(other()));
		check_eq(st_close(c), ENOTCONN);
	}
	OK(st_delete(c));
}
