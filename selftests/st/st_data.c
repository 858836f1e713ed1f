// SPDX-License-Identifier: LGPL-2.1-only
/*
 * st_data.c - ST: maps, Data with and without tiling, Get, and what does not match
 *
 * Each test names the requirements that it shows. Run on one node, or by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pair.h"

static st_header_t data(int mx, uint32_t bufx, uint32_t offset)
{
	st_header_t h = header(ST_OP_DATA);

	h.mx = mx;
	h.bufx = bufx;
	h.offset = offset;
	return h;
}

static bool o_has(long offset, const void *bytes, long len)
{
	return !memcmp(o_mem + offset, bytes, len);
}

static void pattern(unsigned char *at, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		at[i] = (i * 7 + i / 251 + seed) | 1;
}

/* ---- maps ------------------------------------------------------------------------ */

TEST(ST_31_ST_32_ST_33_ST_34_arguments_of_st_map)
{
	st_mhandle_t m = NULL, m2 = NULL, *p = NULL;
	int mx = -1, mx2 = -1;

	PAIR({ ST_OPT_BUFX_BASE, 100 }, { ST_OPT_BUFX_COUNT, 16 });
	check_eq(st_map(&c, 0, mem, PAGE, 100, 1, &m, &mx), EINVAL);
	check_eq(st_map(&c, 4, mem, PAGE, 100, 1, &m, &mx), EINVAL);
	check_eq(st_map(&c, ST_PIN_RX, NULL, PAGE, 100, 1, &m, &mx), EINVAL);
	check_eq(st_map(&c, ST_PIN_RX, mem, PAGE, 100, 1, NULL, &mx), EINVAL);
	check_eq(st_map(&c, ST_PIN_RX, mem, PAGE, 100, 1, &m, NULL), EINVAL);
	check_eq(st_map(&c, ST_PIN_RX, mem, 0, 100, -1, &m, &mx), EINVAL);
	check_eq(st_map(&c, ST_PIN_RX, mem, 0, 100, 0, &m, &mx), EINVAL);
	check_eq(st_map(&c, ST_PIN_RX, mem, PAGE, 100, 0, &m, &mx), EINVAL);
	check_eq(st_map(&c, ST_PIN_RX, mem, PAGE, 100, -2, &m, &mx), EINVAL);
	check_eq(st_map(&c, ST_PIN_RX, mem, -1, 100, -1, &m, &mx), EINVAL);
	check_eq(st_map(&c, ST_PIN_RX, mem, -1, 100, 0, &m, &mx), EINVAL);
	check_eq(st_map(&c, ST_PIN_RX, mem, PAGE, 100, 2, &m, &mx), EINVAL);
	check_eq(st_map(&c, ST_PIN_RX, mem, PAGE + 4, 100, 1, &m, &mx), EINVAL);
	check_eq(st_map(&c, ST_PIN_RX, mem, PAGE + 4, 100, 3, &m, &mx), EINVAL);
	check_eq(st_map(&c, ST_PIN_RX, mem + 2, PAGE, 100, 1, &m, &mx), EINVAL);
	check_eq(st_map(&c, ST_PIN_RX, mem, PAGE - 2, 100, 1, &m, &mx), EINVAL);
	check_eq(st_map(&c, ST_PIN_RX, mem, (size_t)-PAGE, 100, -1, &m, &mx), ERANGE);
	check_eq(st_map(&c, ST_PIN_RX, mem, (size_t)1 << 44, 100, -1, &m, &mx), ERANGE);
	check_eq(st_map(&c, ST_PIN_RX, mem, PAGE, 99, 1, &m, &mx), ERANGE);
	check_eq(st_map(&c, ST_PIN_RX, mem, PAGE, 116, 1, &m, &mx), ERANGE);
	check_eq(st_map(&c, ST_PIN_RX, mem, PAGE, -1, 1, &m, &mx), ERANGE);
	check_eq(st_map(&c, ST_PIN_RX, mem, 2 * PAGE, 115, 2, &m, &mx), ERANGE);
	check_eq(st_map(&c, ST_PIN_RX, mem, -1, 100, INT_MAX, &m, &mx), ERANGE);
	check_eq(st_map(&c, ST_PIN_RX, (void *)PAGE, PAGE, 100, 1, &m, &mx), EFAULT);
	check_eq(st_map(&c, ST_PIN_RX, (void *)-PAGE, PAGE, 100, 1, &m, &mx), EFAULT);
	check_eq(st_map(&c, ST_PIN_RX, (void *)-PAGE, 2 * PAGE, 100, 2, &m, &mx), EFAULT);
	check_eq(st_map(NULL, ST_PIN_RX, mem, PAGE, 100, 1, &m, &mx), EBADF);
	check(!m && mx == -1);
	/* Each of the two, and both. */
	OK(st_map(&c, ST_PIN_RX, mem, 2 * PAGE + 8, 100, -1, &m, &mx));
	check(m && mx != -1);
	check_eq(st_map(&c, ST_PIN_TX, mem, PAGE, 102, 1, &m2, &mx2), EBUSY);
	OK(st_map(&c, ST_PIN_TX, mem, -1, 103, 13, &m2, NULL));
	check_eq(st_map(&c, ST_PIN_TX, mem, PAGE, 103, 1, &mine, NULL), EBUSY);
	OK(st_unmap(&m2));
	check_eq(st_unmap(&m2), EINVAL);
	OK(st_map(&c, ST_PIN_RX | ST_PIN_TX, mem, 3 * PAGE - 4, 103, 3, &m2, &mx2));
	check(mx2 != mx && mx2 != -1);
	/* Either form of the handle. */
	OK(st_map(&c, ST_PIN_TX, mem, PAGE, 115, 1, (st_mhandle_t *)&p, NULL));
	OK(st_unmap(p));
	check_eq(st_unmap(p), EINVAL);
	check_eq(st_unmap(NULL), EINVAL);
	/* The end of the connection unmaps. */
	OK(st_close(c));
	check_eq(st_unmap(&m), EINVAL);
	check_eq(st_unmap(&m2), EINVAL);
	pair_end();
}

TEST(ST_30_ST_35_maps_overlap)
{
	st_mhandle_t m[3];
	int mx[3];
	st_header_t h;

	pair_new(NULL);
	for (int i = 0; i < 2; i++)
		OK(o_map(0, ST_PIN_RX | ST_PIN_TX, i * PAGE, 2 * PAGE, 4 * i, &mx[i]));
	OK(o_map(0, ST_PIN_TX, 0, 4 * PAGE, 8, NULL));
	OK(st_map(&c, ST_PIN_TX, mem, PAGE, 0, 1, &m[0], NULL));
	OK(st_map(&c, ST_PIN_TX | ST_PIN_RX, mem, PAGE, 1, 1, &m[1], &mx[2]));
	pattern(mem, PAGE, 1);
	/* The same page by two maps. */
	h = data(mx[0], 1, 100);
	OK(st_tx(&c, &h, NULL, 100, 0, 0));
	h = data(mx[1], 4, 200);
	OK(st_tx(&c, &h, NULL, 100, 1, 100));
	OK(o_rx(0, &h, NULL, -1));
	OK(o_rx(0, &h, NULL, -1));
	check(o_has(PAGE + 100, mem, 200));
	pair_end();
}

TEST(ST_36_nothing_behind_a_buffer)
{
	st_header_t h;
	int mx;

	pair_new(NULL);
	memset(o_mem, 0xaa, 3 * PAGE);
	OK(o_map(0, ST_PIN_RX, PAGE + 8, 1000, 3, &mx));
	OK(st_map(&c, ST_PIN_TX, mem, 2 * PAGE, 0, -1, &mine, NULL));
	pattern(mem, PAGE, 3);
	h = data(mx, 3, 0);
	OK(st_tx(&c, &h, NULL, 1000, 0, 0));
	OK(o_rx(0, &h, NULL, -1));
	check(o_has(PAGE + 8, mem, 1000));
	/* The buffer has 4096 bytes, the map 1000. */
	for (uint32_t off = 0; off < 4096; off += 1021) {
		h = data(mx, 3, off);
		OK(st_tx(&c, &h, NULL, 1001, 0, 0));
	}
	check_eq(o_rx(0, &h, NULL, 100), EWOULDBLOCK);
	check_eq(o_get(0, ST_OPT_RX_DROPPED), 5);
	memset(mem + PAGE, 0xaa, PAGE);
	check(o_has(PAGE, mem + PAGE, 8));
	check(o_has(PAGE + 1008, mem + PAGE, PAGE - 1008));
	pair_end();
}

/* Send Data until it is refused, or the connection ends. */
static long job_pump(long end, long mx, long count)
{
	st_header_t h = data(mx, 0, 0);
	int ret = 0;

	h.flags = ST_FLAG_SILENT;
	for (long i = 0; i < count && !ret; i++) {
		memset(o_mem, i, PAGE);
		ret = st_tx(&o_end[end], &h, NULL, PAGE, 8, 0);
	}
	return ret;
}

TEST(ST_37_nothing_arrives_after_st_unmap)
{
	unsigned char *copy = malloc(PAGE);
	st_header_t h;
	int mx;

	pair_new(NULL);
	OK(o_map(0, ST_PIN_TX, 0, PAGE, 8, NULL));
	for (int i = 0; i < 20; i++) {
		OK(st_map(&c, ST_PIN_RX, mem, PAGE, 0, 1, &mine, &mx));
		memset(mem, 0xff, PAGE);
		worker_begin(other(), job_pump, 0, mx, 100);
		while (mem[0] == 0xff && !worker_ready(other()))
			usleep(100);
		OK(st_unmap(&mine));
		memcpy(copy, mem, PAGE);
		/* What came too late is counted, and takes slots. */
		while (!worker_ready(other()))
			check_eq(rx(c, &h, NULL, 1), EWOULDBLOCK);
		OK(worker_result(other()));
		check(!memcmp(copy, mem, PAGE));
		if (test_failed)
			break;
	}
	free(copy);
	pair_end();
}

TEST(ST_30_many_maps)
{
	static st_mhandle_t m[300];
	int mx, last = -1;

	PAIR({ ST_OPT_BUFX_COUNT, 300 });
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 300; i++) {
			OK(st_map(&c, ST_PIN_RX, mem + i % 16 * PAGE, PAGE, i, 1, &m[i], &mx));
			check(mx != last);
			last = mx;
		}
		for (int i = 0; i < 300; i++)
			OK(st_unmap(&m[i]));
	}
	pair_end();
}

/* ---- Data ------------------------------------------------------------------------- */

/* One STU after the other, as the draft describes them. */
static unsigned int tile(st_header_t *h, uint32_t len, uint32_t bufsize, uint32_t stu)
{
	unsigned int n = 0;
	uint32_t part;

	while (len) {
		part = bufsize - h->offset;
		if (part > stu)
			part = stu;
		if (part > len)
			part = len;
		n++;
		len -= part;
		if (!len)
			break;
		h->offset += part;
		if (h->offset == bufsize) {
			h->offset = 0;
			h->bufx++;
		}
	}
	if (n > 1)
		h->flags |= ST_FLAG_LAST;
	return n;
}

static void send_and_look(int mx, int bufsize, int stu, uint32_t at, uint32_t len, uint32_t from)
{
	st_header_t h = data(mx, 1000 + at / bufsize, at % bufsize), want = h, r = { 0 };
	int64_t before, after;

	OK(st_flush(&c, -1, &before));
	OK(st_tx(&c, &h, NULL, len, 1000 + from / bufsize, from % bufsize));
	OK(st_flush(&c, -1, &after));
	OK(o_rx(0, &r, NULL, -1));
	check_eq(after - before, tile(&want, len, bufsize, stu));
	check_eq(r.bufx, want.bufx);
	check_eq(r.offset, want.offset);
	check_eq(r.flags, want.flags);
	check_eq(r.mx, mx);
	check(o_has(at, mem + from, len));
	if (test_failed)
		printf("# bufsize %d, stu %d, at %u, len %u, from %u\n", bufsize, stu, at, len, from);
}

TEST(ST_40_ST_41_ST_48_18_tiling)
{
	static const int stus[] = { 64, 1024, 4096, 16384, 65536 };
	static const uint32_t sizes[] = { 1, 63, 64, 65, 1024, 4095, 4096, 4097, 8192, 8193, 40000 };
	const int bufsize = 4096, all = 16 * 4096;
	int mx;

	PAIR({ ST_OPT_BUFX_BASE, 1000 });
	OK(o_map(0, ST_PIN_RX, 0, all, 1000, &mx));
	OK(st_map(&c, ST_PIN_TX, mem, all, 1000, -1, &mine, NULL));
	srand(5);
	for (int s = 0; s < 5; s++) {
		OK(set(c, ST_OPT_MAXSTU_REMOTE, stus[s]));
		for (int i = 0; i < 11 && !test_failed; i++) {
			pattern(mem, all, i + s);
			send_and_look(mx, bufsize, stus[s], 0, sizes[i], 0);
			send_and_look(mx, bufsize, stus[s], 4000, sizes[i], 100);
		}
		for (int i = 0; i < 20 && !test_failed; i++) {
			uint32_t len = 1 + rand() % 30000, at = rand() % (all - len),
				 from = rand() % (all - len);

			pattern(mem, all, i * 3 + s);
			send_and_look(mx, bufsize, stus[s], at, len, from);
		}
	}
	pair_end();
}

TEST(ST_42_one_stu)
{
	st_header_t h, r;
	int64_t before, after;
	int mx;

	pair_new(NULL);
	OK(o_map(0, ST_PIN_RX, 0, 16 * PAGE, 0, &mx));
	OK(st_map(&c, ST_PIN_TX, mem, 16 * PAGE, 0, -1, &mine, NULL));
	pattern(mem, 16 * PAGE, 9);
	for (int i = 0; i < 2; i++) {
		OK(i ? set(c, ST_OPT_LITERAL, 1) : set(c, ST_OPT_MAXSTU_REMOTE, ST_STU_UNLIMITED));
		h = data(mx, 1, 5);
		h.d_key = get(c, ST_OPT_KEY_REMOTE);
		h.d_port = get(c, ST_OPT_PORT_REMOTE);
		h.s_port = 77;
		OK(st_flush(&c, -1, &before));
		OK(st_tx(&c, &h, NULL, 40000, 0, 123));
		OK(st_flush(&c, -1, &after));
		check_eq(after - before, 1);
		OK(o_rx(0, &r, NULL, -1));
		check_eq(r.bufx, 1);
		check_eq(r.offset, 5);
		check_eq(r.flags, 0);
		check_eq(r.s_port, i ? 77 : get(c, ST_OPT_PORT_LOCAL));
		check(o_has(PAGE + 5, mem + 123, 40000));
		memset(o_mem, 0, 16 * PAGE);
	}
	/* Literally, an offset may be beyond the buffer, but not beyond the map. */
	h.offset = 3 * 4096 + 7;
	OK(st_tx(&c, &h, NULL, 100, 0, 0));
	OK(o_rx(0, &r, NULL, -1));
	check_eq(r.offset, 3 * 4096 + 7);
	check(o_has(4 * PAGE + 7, mem, 100));
	h.offset = 15 * 4096 - 50;
	OK(st_tx(&c, &h, NULL, 100, 0, 0));
	check_eq(o_rx(0, &r, NULL, 50), EWOULDBLOCK);
	check_eq(o_get(0, ST_OPT_RX_DROPPED), 1);
	OK(set(c, ST_OPT_LITERAL, 0));
	OK(set(c, ST_OPT_MAXSTU_REMOTE, 65536));
	h.offset = 4096;
	check_eq(st_tx(&c, &h, NULL, 100, 0, 0), EINVAL);
	pair_end();
}

TEST(ST_38_ST_40_local_memory)
{
	st_header_t h;
	int64_t before, after;
	int mx, rx_only;

	pair_new(NULL);
	OK(o_map(0, ST_PIN_RX, 0, 4 * PAGE, 0, &mx));
	OK(st_map(&c, ST_PIN_TX, mem, 2 * PAGE - 96, 2, -1, &mine, NULL));
	OK(st_map(&c, ST_PIN_RX, mem + 4 * PAGE, PAGE, 5, -1, &mine, &rx_only));
	OK(st_flush(&c, -1, &before));
	h = data(mx, 0, 0);
	check_eq(st_tx(&c, &h, NULL, 4, 0, 0), EFAULT);
	check_eq(st_tx(&c, &h, NULL, 4, 1, 4096), EFAULT);
	check_eq(st_tx(&c, &h, NULL, 4, 4, 0), EFAULT);
	check_eq(st_tx(&c, &h, NULL, 4, 5, 0), EFAULT);
	check_eq(st_tx(&c, &h, NULL, 4, 16, 0), EFAULT);
	check_eq(st_tx(&c, &h, NULL, 4, -1, 0), EFAULT);
	check_eq(st_tx(&c, &h, NULL, 4, 2, -2), EFAULT);
	check_eq(st_tx(&c, &h, NULL, -1, 2, 0), EFAULT);
	check_eq(st_tx(&c, &h, NULL, 2 * PAGE - 95, 2, 0), EFAULT);
	check_eq(st_tx(&c, &h, NULL, 97, 3, 4096 - 192), EFAULT);
	OK(st_flush(&c, -1, &after));
	check_eq(before, after);
	OK(st_tx(&c, &h, NULL, 2 * PAGE - 96, 2, 0));
	OK(st_tx(&c, &h, NULL, 96, 3, 4096 - 192));
	/* Without bytes, no memory is needed. */
	OK(st_tx(&c, &h, NULL, 0, 99, 99));
	for (int i = 0; i < 3; i++)
		OK(o_rx(0, &h, NULL, -1));
	pair_end();
}

/*
 * A stream of transfers: transfer @i has a place of its own among PLACES, and is Data, silent Data,
 * or a control header without bytes. No more than half of the places are unread at a time.
 */
#define PLACE	32768
#define PLACES	32
#define STREAM	300

enum what { DATA, SILENT, CONTROL };

static enum what stream_what(long i)
{
	return i % 7 == 3 ? CONTROL : i % 5 == 1 ? SILENT : DATA;
}

static uint32_t stream_len(long i)
{
	return i % 16 == 15 ? PLACE - 8 * i % 4096 : 1 + i * 2654435761u % 12000;
}

/* The bytes of transfer @i in its place, which are then removed. */
static bool stream_has(long i)
{
	static unsigned char expected[PLACE];
	unsigned char *place = o_mem + i % PLACES * PLACE;
	uint32_t len = stream_len(i);
	bool same;

	pattern(expected, len, i);
	same = !memcmp(place, expected, len);
	memset(place, 0, len);
	return same;
}

/* Read headers, and check the bytes of all transfers up to each. Returns the first wrong one. */
static long job_stream(long end, long count, long x)
{
	long seen = 0, i;
	st_header_t h;

	while (seen < count) {
		if (rx(o_end[end], &h, NULL, -1))
			return count + 1;
		i = h.b_num;
		if (i < seen || h.op != (stream_what(i) == DATA ? ST_OP_DATA : ST_OP_NOP))
			return seen + 1;
		for (; seen <= i; seen++)
			if (seen < i ? stream_what(seen) == DATA : stream_what(seen) == SILENT)
				return seen + 1;
			else if (stream_what(seen) != CONTROL && !stream_has(seen))
				return seen + 1;
	}
	return 0;
}

TEST(ST_38_ST_40_the_bytes_of_each_header)
{
	st_header_t h;
	int mx[2];

	c = ends_new(0);
	OK(o_set(0, ST_OPT_RX_WINDOW_LOCAL, 6));
	join(c, 0);
	/* Two maps: with an odd number of the place, the other one. */
	OK(o_map(0, ST_PIN_RX, 0, PLACES / 2 * PLACE, 0, &mx[0]));
	OK(o_map(0, ST_PIN_RX, PLACES / 2 * PLACE, PLACES / 2 * PLACE, PLACES / 2 * PLACE / PAGE,
		 &mx[1]));
	OK(st_map(&c, ST_PIN_TX, mem, PLACE, 0, -1, &mine, NULL));
	worker_begin(other(), job_stream, 0, STREAM, 0);
	for (long i = 0; i < STREAM && !test_failed; i++) {
		long place = i % PLACES;

		h = data(mx[place >= PLACES / 2], place * (PLACE / PAGE), 0);
		h.op = stream_what(i) == CONTROL ? ST_OP_NOP : ST_OP_DATA;
		h.flags = stream_what(i) == SILENT ? ST_FLAG_SILENT : 0;
		h.b_num = i;
		/* The bytes have left this memory when the call returns. */
		pattern(mem, stream_len(i), i);
		OK(st_tx(&c, &h, NULL, stream_len(i), 0, 0));
	}
	OK(worker_result(other()));
	check_eq(o_get(0, ST_OPT_RX_DROPPED), 0);
	pair_end();
}

/* ---- what does not match ------------------------------------------------------------ */

/* Send a header, which the other end drops, and counts as the @n th one. */
static void drops(const st_header_t *h, int n, const char *change)
{
	st_header_t r;

	OK(st_tx(&c, (st_header_t *)h, NULL, 64, 0, 0));
	for (int i = 0; i < 3000 && o_get(0, ST_OPT_RX_DROPPED) < n && !test_failed; i++)
		check_eq(o_rx(0, &r, NULL, 1), EWOULDBLOCK);
	check_eq(o_get(0, ST_OPT_RX_DROPPED), n);
	if (test_failed)
		printf("# operation %d, %s\n", h->op, change);
}

#define DROPS(change)							\
do {									\
	h = good;							\
	h.change;							\
	drops(&h, ++dropped, #change);					\
} while (0)

TEST(ST_13_ST_14_ST_17_ST_19_ST_48_3_ST_48_6_what_does_not_match_is_counted)
{
	st_header_t h, good, r;
	int mx, dropped = 0;

	c = ends_new(0);
	OK(o_set(0, ST_OPT_PORTLEN_LOCAL, 3));
	join(c, 0);
	OK(o_map(0, ST_PIN_RX, 0, 2 * PAGE, 4, &mx));
	memset(o_mem, 0x55, 2 * PAGE);
	OK(st_map(&c, ST_PIN_TX | ST_PIN_RX, mem, PAGE, 0, -1, &mine, &(int){ 0 }));
	memset(mem, 0x77, PAGE);
	OK(set(c, ST_OPT_LITERAL, 1));
	good = data(mx, 4, 0);
	good.d_key = get(c, ST_OPT_KEY_REMOTE);
	good.d_port = get(c, ST_OPT_PORT_REMOTE);
	for (int op = 0; op < 3; op++) {
		good.op = op == 0 ? ST_OP_DATA : op == 1 ? ST_OP_GET : ST_OP_NOP;
		DROPS(d_key++);
		DROPS(d_port += 3);
		DROPS(d_port--);
		if (op == 2)
			break;
		DROPS(mx ^= 1 << 22);
		DROPS(mx = -1);
		DROPS(bufx = 3);
		DROPS(bufx = 6);
		DROPS(bufx = -1);
		DROPS(offset = 2 * PAGE - 63);
		DROPS(offset = -64);
	}
	memset(mem + PAGE, 0x55, 2 * PAGE);
	check(o_has(0, mem + PAGE, 2 * PAGE));
	/* Any port of the vector is delivered as it is; another one is the first, if not literal. */
	good.op = ST_OP_NOP;
	for (int i = 0; i < 3; i++) {
		h = good;
		h.d_port += i < 2 ? 2 : 9;
		OK(set(c, ST_OPT_LITERAL, !i));
		OK(st_tx(&c, &h, NULL, 0, 0, 0));
		OK(o_rx(0, &r, NULL, -1));
		check_eq(r.d_port, i < 2 ? h.d_port : get(c, ST_OPT_PORT_REMOTE));
	}
	check_eq(o_get(0, ST_OPT_RX_DROPPED), dropped);
	pair_end();
}

#define SILENT_ONES	1000	/* more than there are slots */
#define LATE		30

TEST(ST_48_6_silent_data_takes_no_slot_and_may_come_too_late)
{
	st_header_t h;
	int64_t count;
	int mx[2];

	pair_new(NULL);
	OK(o_map(0, ST_PIN_RX, 0, PAGE, 3, &mx[0]));
	OK(o_map(0, ST_PIN_RX, PAGE, PAGE, 4, &mx[1]));
	OK(st_map(&c, ST_PIN_TX, mem, 4 * PAGE, 0, -1, &mine, NULL));
	pattern(mem, PAGE, 4);
	for (int i = 0; i < SILENT_ONES; i++) {
		bool late = i >= SILENT_ONES - 2 * LATE;

		if (i == SILENT_ONES - 2 * LATE) {
			OK(st_flush(&c, -1, NULL));
			OK(o_unmap(3));
			memset(o_mem, 0, 2 * PAGE);
		}
		h = data(mx[i % 2], 3 + i % 2, 0);
		h.flags = ST_FLAG_SILENT;
		OK(st_tx(&c, &h, NULL, late || i % 20 ? 64 : 0, 0, 0));
	}
	OK(st_flush(&c, -1, &count));
	check_eq(count, SILENT_ONES);
	nop_arrives();
	check_eq(o_get(0, ST_OPT_RX_DROPPED), LATE);
	check(o_has(PAGE, mem, 64));
	memset(mem, 0, PAGE);
	check(o_has(0, mem, PAGE));
	pair_end();
}

/* ---- Get ----------------------------------------------------------------------------- */

static void get_of(int mx, uint32_t bufx, uint32_t offset, uint32_t len, int id, int flags)
{
	st_header_t h = header(ST_OP_GET);

	h.mx = mx;
	h.bufx = bufx;
	h.offset = offset;
	h.s_id = id;
	h.flags = flags;
	OK(st_tx(&c, &h, NULL, len, 2, 10));
}

TEST(ST_48_get)
{
	unsigned char pay[ST_PAYLOAD] = "payload of a Get", got[ST_PAYLOAD];
	int mx, rx_mx;
	st_header_t h, r;
	int64_t before, after;

	pair_new(NULL);
	OK(o_map(0, ST_PIN_RX | ST_PIN_TX, 0, 4 * PAGE, 0, &mx));
	OK(o_map(0, ST_PIN_RX, 4 * PAGE, PAGE, 4, &rx_mx));
	OK(st_map(&c, ST_PIN_RX, mem + PAGE, 4 * PAGE, 2, -1, &mine, &(int){ 0 }));
	OK(st_map(&c, ST_PIN_TX, mem, PAGE, 7, -1, &mine, &(int){ 0 }));
	memset(o_mem + PAGE + 5, 0x3c, 9000);
	memset(mem, 0, 8 * PAGE);
	OK(st_flush(&c, -1, &before));
	get_of(mx, 1, 5, 9000, 4242, 0);
	OK(rx(c, &r, NULL, -1));
	check_eq(r.op, ST_OP_DATA);
	check_eq(r.d_id, 4242);
	check_eq(r.d_port, get(c, ST_OPT_PORT_LOCAL));
	check(mem[PAGE + 9] == 0 && mem[PAGE + 10] == 0x3c && mem[PAGE + 9009] == 0x3c &&
	      mem[PAGE + 9010] == 0);
	/* Without a report. */
	memset(mem, 0, 8 * PAGE);
	get_of(mx, 1, 5, 100, 1, ST_FLAG_SILENT);
	OK(st_flush(&c, -1, &after));
	check_eq(after - before, 2);
	check_eq(mem[PAGE + 10], 0x3c);
	check_eq(rx(c, &r, NULL, 0), EWOULDBLOCK);
	/* The other end's program knows nothing of these. */
	check_eq(o_rx(0, &r, NULL, 0), EWOULDBLOCK);
	check_eq(o_get(0, ST_OPT_RX_DROPPED), 0);
	/* Memory that is mapped for receiving only: it is to answer. */
	h = header(ST_OP_GET);
	h.mx = rx_mx;
	h.bufx = 4;
	h.s_id = 99;
	OK(st_tx(&c, &h, pay, 16, 2, 0));
	OK(o_rx(0, &r, got, -1));
	check_eq(r.op, ST_OP_GET);
	check_eq(r.s_id, 99);
	check(!memcmp(got, pay, ST_PAYLOAD));
	/* The destination is mapped for receiving. */
	h.mx = mx;
	h.bufx = 0;
	check_eq(st_tx(&c, &h, NULL, 16, 7, 0), EFAULT);
	check_eq(st_tx(&c, &h, NULL, 16, 9, 0), EFAULT);
	h.offset = 5000;
	check_eq(st_tx(&c, &h, NULL, 16, 2, 0), EINVAL);
	/* Many reports may be unread. */
	for (int i = 0; i < 500; i++)
		get_of(mx, 1, 5, 4, i, 0);
	for (int i = 0; i < 500; i++) {
		OK(rx(c, &r, NULL, -1));
		check_eq(r.d_id, i);
	}
	pair_end();
}

TEST(ST_48_1_fetchop_is_the_programs)
{
	st_header_t h = header(ST_OP_FETCHOP), r;
	int mx;

	pair_new(NULL);
	OK(o_map(0, ST_PIN_RX | ST_PIN_TX, 0, PAGE, 0, &mx));
	memset(o_mem, 7, PAGE);
	h.mx = mx;
	h.opaque = 5;
	OK(st_tx(&c, &h, NULL, 8, 0, 0));
	OK(o_rx(0, &r, NULL, -1));
	check_eq(r.op, ST_OP_FETCHOP);
	check_eq(r.opaque, 5);
	memset(mem, 7, PAGE);
	check(o_has(0, mem, PAGE));
	pair_end();
}
