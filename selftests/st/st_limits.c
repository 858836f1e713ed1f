// SPDX-License-Identifier: LGPL-2.1-only
/*
 * st_limits.c - ST: memory that connections and maps take
 *
 * Run on one node, or by across.sh. Both nodes are in one machine, so both ends count, unless they
 * are those of two users.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/dd.h>

#include "pair.h"

#define KIB	1024

static int ends_counted(void)
{
	return ordinary() ? 1 : 2;
}

/* Locked memory of this user. */
static long long used(void)
{
	static int device = -1;
	struct dd_info i = { .size = sizeof(i) };

	other();
	if (device < 0)
		device = open("/dev/dd", O_RDWR | O_CLOEXEC);
	check_eq(ioctl(device, DD_IOC_INFO, &i), 0);
	return i.memlock_used;
}

/* Between nodes a copy of a header counts until it has arrived. */
static bool falls_to(long long limit)
{
	for (int i = 0; i < 10000 && used() > limit; i++)
		usleep(1000);
	return used() <= limit;
}

static void exchange(st_chandle_t c, int end, int headers)
{
	st_header_t h = header(ST_OP_NOP), r;

	for (int i = 0; i < headers; i++) {
		OK(st_tx(&c, &h, NULL, 0, 0, 0));
		OK(o_rx(end, &r, NULL, -1));
		OK(o_tx(end, &h, NULL, 0, 0, 0));
		OK(rx(c, &r, NULL, -1));
	}
}

#define CONNECTIONS	100

TEST(ST_21_memory_of_connections)
{
	static st_chandle_t ends[CONNECTIONS];
	long long before = used(), one;

	pair_new(NULL);
	exchange(c, 0, 3);
	check(falls_to(before + ends_counted() * 64 * KIB));
	one = used() - before;
	printf("# %lld bytes for each end of a connection\n", one / ends_counted());
	/* It does not grow, and is given back. */
	exchange(c, 0, 300);
	check(falls_to(before + one));
	OK(st_close(c));
	OK(o_close(0));
	check(falls_to(before));
	join(c, 0);
	exchange(c, 0, 3);
	check(falls_to(before + one));
	pair_end();
	check(falls_to(before));
	for (int i = 0; i < CONNECTIONS && !test_failed; i++) {
		ends[i] = joined(i);
		exchange(ends[i], i, 1);
	}
	check(falls_to(before + ends_counted() * (8 << 20)));
	for (int i = 0; i < CONNECTIONS; i++)
		ends_delete(ends[i], i);
	check(falls_to(before));
}

/* Map @pages here and one page there, and have Data come @times times. */
static void map_and_use(int pages, int times)
{
	st_header_t h = header(ST_OP_DATA);
	int mx;

	OK(o_map(0, ST_PIN_TX, 0, PAGE, 0, NULL));
	OK(st_map(&c, ST_PIN_RX, mem, pages * PAGE, 0, -1, &mine, &mx));
	h.mx = mx;
	for (int i = 0; i < times; i++) {
		OK(o_tx(0, &h, NULL, PAGE, 0, 0));
		OK(rx(c, &h, NULL, -1));
	}
}

static void unmap(void)
{
	OK(st_unmap(&mine));
	OK(o_unmap(0));
}

TEST(ST_36_memory_of_a_map)
{
	long long before, one;

	pair_new(NULL);
	exchange(c, 0, 3);
	before = used();
	map_and_use(16, 0);
	check(used() - before <= 16 * PAGE + PAGE + 16 * KIB);
	unmap();
	map_and_use(16, 2);
	one = used() - before;
	printf("# %lld bytes for a map of 64 KiB, and one of 4 KiB of the sender\n", one);
	unmap();
	map_and_use(16, 20);
	check(falls_to(before + one));
	unmap();
	/* The same buffers again and again. */
	for (int i = 0; i < 50; i++) {
		map_and_use(1, 1);
		unmap();
		if (i == 1)
			one = used();
	}
	check(falls_to(one));
	pair_end();
}

/* What cannot be had is refused, and nothing is left of it. */
TEST(ST_31_ST_25_no_memory_left)
{
	static st_chandle_t more[512];
	int n = 0, mx, ret = 0;
	long long before;
	st_mhandle_t m = NULL;

	pair_new(NULL);
	before = used();
	while (ordinary() && !ret && n < 512) {
		OK(st_create(&more[n]));
		ret = st_listen(more[n++], NULL, NULL);
	}
	if (ordinary()) {
		check_eq(ret, ENOMEM);
		check_eq(st_map(&c, ST_PIN_RX, mem, 64 * PAGE, 0, 64, &m, &mx), ENOMEM);
		check(!m);
	}
	while (n)
		OK(st_delete(more[--n]));
	check(falls_to(before));
	OK(st_map(&c, ST_PIN_RX, mem, 64 * PAGE, 0, 64, &m, &mx));
	pair_end();
}
