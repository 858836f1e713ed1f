// SPDX-License-Identifier: LGPL-2.1-only
/*
 * st_connect.c - ST: handles, options, connections, control headers
 *
 * Each test names the requirements that it shows. Run on one node, or by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include "pair.h"

/* ---- types --------------------------------------------------------------------- */

TEST(ST_1_ST_43_ST_48_17_types)
{
	const st_header_t h = { .t_len = 0x123456789abcdefull };
	uint n = -1;

	check(sizeof(st_chandle_t) == sizeof(void *) && sizeof(st_mhandle_t) == sizeof(void *));
	check(n > 0 && sizeof(n) == sizeof(int) && sizeof(int64_t) == 8);
	check_eq(sizeof(st_header_t), 40);
	check(h.offset == 0x89abcdef && h.opaque == 0x1234567 && h.sync == h.opaque);
	check_eq(ST_OP_PUT, ST_OP_DATA);
}

/* ---- handles ------------------------------------------------------------------ */

TEST(ST_2_ST_3_handles)
{
	st_chandle_t c = NULL, stale, zeros = NULL, *pseudo = NULL;
	int value = 4096;
	st_mhandle_t m;

	other();
	check_eq(st_create(NULL), EINVAL);
	OK(st_create(&c));
	check(c != NULL);
	/* It can be dereferenced, and leads nowhere. */
	check(!*(void **)c);
	OK(st_getopt(c, ST_OPT_BUFSIZE_LOCAL, &value));
	check_eq(value, 4096);
	/* Its address is as good as itself, in each call. */
	OK(st_getopt(&c, ST_OPT_BUFSIZE_LOCAL, &value));
	OK(st_create(&pseudo));
	OK(st_getopt(pseudo, ST_OPT_BUFSIZE_LOCAL, &value));
	check_eq(st_tx(pseudo, NULL, NULL, 0, 0, 0), EINVAL);
	OK(st_delete(pseudo));
	stale = c;
	OK(st_delete(c));
	check_eq(errno = 0, 0);
	check_eq(st_delete(stale), EBADF);
	check_eq(errno, EBADF);
	check_eq(st_delete(&stale), EBADF);
	check_eq(st_delete(NULL), EBADF);
	check_eq(st_delete(&zeros), EBADF);
	check_eq(st_getopt(stale, ST_OPT_BUFSIZE_LOCAL, &value), EBADF);
	check_eq(st_setopt(stale, ST_OPT_BUFSIZE_LOCAL, &value), EBADF);
	check_eq(st_listen(stale, NULL, "1996"), EBADF);
	check_eq(st_accept(stale), EBADF);
	check_eq(st_connect(stale, NULL, "1996"), EBADF);
	check_eq(st_map(&stale, ST_PIN_TX, mem, PAGE, 0, 1, &m, NULL), EBADF);
	check_eq(st_close(stale), EBADF);
	check_eq(st_tx(&stale, NULL, NULL, 0, 0, 0), EBADF);
	check_eq(st_rx(&stale, NULL, NULL, NULL), EBADF);
	check_eq(st_flush(stale, 0, NULL), EBADF);
}

TEST(ST_2_many_handles)
{
	static st_chandle_t c[4096];
	st_chandle_t more = NULL;
	int n = 0;

	while (n < 4096 && !st_create(&c[n]))
		n++;
	check_eq(n, 4096);
	check_eq(st_create(&more), ENOMEM);
	check(!more);
	for (int i = 0; i < n; i++)
		OK(st_delete(c[i]));
	/* No later handle has the value of an earlier one soon. */
	for (int i = 0; i < 10000; i++) {
		OK(st_create(&more));
		OK(st_delete(more));
		check_eq(st_delete(c[i % n]), EBADF);
		if (test_failed)
			break;
	}
}

static void nothing(int sig)
{
}

/* Also of an idle handle. */
TEST(ST_4_ST_5_ST_25_ST_28_negative_error_numbers)
{
	negative();
}

TEST(ST_46_ST_47_time_and_version)
{
	const struct timespec t = { .tv_nsec = 20000000 };
	double before = st_time(), after;

	nanosleep(&t, NULL);
	after = st_time();
	check(after - before >= 0.02 && after - before < 10);
	check(strstr(st_version(), "libst") != NULL);
	check(st_version() == st_version());
}

TEST(ST_48_4_memory)
{
	unsigned char *p = st_malloc(5000);

	check(p && !((uintptr_t)p % 4096));
	p[8191] = 1;
	free(p);
	check(!st_malloc((size_t)-1));
	check_eq(errno, ENOMEM);
}

/* ---- options ------------------------------------------------------------------ */

static const struct {
	int name;
	int first;	/* value of a new handle */
	int good[4];
	int bad[4];
} settable[] = {
	{ ST_OPT_BUFSIZE_LOCAL, 4096, { 8192, 1 << 20, 65536, 4096 }, { 2048, 1 << 21, 5000, -1 } },
	{ ST_OPT_BUFX_BASE, 0, { 1, 1000, INT_MAX, 7 }, { -1, INT_MIN, -2, -100 } },
	{ ST_OPT_BUFX_COUNT, 256, { 1, 1 << 20, 300, 256 }, { 0, -1, (1 << 20) + 1, INT_MAX } },
	{ ST_OPT_CHANNELS, 15, { 1, 8, 5, 15 }, { 0, 16, -1, 31 } },
	{ ST_OPT_IANA_LOCAL, 0, { 1, 65535, 80, 0 }, { -1, 65536, INT_MAX, INT_MIN } },
	{ ST_OPT_MAXSTU_LOCAL, 65536, { 64, 1 << 30, 4096, 65536 }, { 32, 0, 100, INT_MAX / 2 } },
	{ ST_OPT_PORTLEN_LOCAL, 1, { 256, 2, 100, 1 }, { 0, 257, -1, INT_MAX } },
	{ ST_OPT_RX_WINDOW_LOCAL, 64, { 1, 256, 5, 64 }, { 0, 257, -1, INT_MAX } },
	{ ST_OPT_THREAD_SAFETY, 2, { 2, 2, 2, 2 }, { -1, 3, INT_MAX, INT_MIN } },
	{ ST_OPT_LITERAL, 0, { 1, 0, 1, 0 }, { 2, -1, INT_MAX, INT_MIN } },
};

#define SETTABLE	(int)(sizeof(settable) / sizeof(settable[0]))

TEST(ST_5_ST_6_ST_8_ST_9_ST_10_ST_11_ST_13_ST_15_ST_19_ST_24_options_are_set)
{
	st_chandle_t c, other_one;

	OK(st_create(&c));
	OK(st_create(&other_one));
	/* Keys are random. */
	check(get(c, ST_OPT_KEY_LOCAL) && get(other_one, ST_OPT_KEY_LOCAL));
	check(get(c, ST_OPT_KEY_LOCAL) != get(other_one, ST_OPT_KEY_LOCAL));
	OK(st_delete(other_one));
	for (int i = 0; i < SETTABLE; i++) {
		int name = settable[i].name;

		check_eq(get(c, name), settable[i].first);
		for (int j = 0; j < 4; j++) {
			OK(set(c, name, settable[i].good[j]));
			check_eq(get(c, name), settable[i].good[j]);
			check_eq(set(c, name, settable[i].bad[j]), EINVAL);
			check_eq(get(c, name), settable[i].good[j]);
		}
		check_eq(st_setopt(c, name, NULL), EINVAL);
		check_eq(st_getopt(c, name, NULL), EINVAL);
	}
	OK(set(c, ST_OPT_THREAD_SAFETY, ST_THREAD_NONE));
	check_eq(get(c, ST_OPT_THREAD_SAFETY), ST_THREAD_FULL);
	for (int i = -3; i < 4; i++) {
		OK(set(c, ST_OPT_KEY_LOCAL, i * 500000000));
		check_eq(get(c, ST_OPT_KEY_LOCAL), i * 500000000);
	}
	OK(st_delete(c));
}

TEST(ST_4_ST_7_ST_12_ST_14_ST_16_ST_17_ST_18_ST_20_ST_21_ST_23_ST_48_11_options_are_read)
{
	static const int later[] = {
		ST_OPT_BUFSIZE_REMOTE, ST_OPT_IANA_REMOTE, ST_OPT_KEY_REMOTE,
		ST_OPT_MAXSTU_REMOTE, ST_OPT_PORT_LOCAL, ST_OPT_PORT_REMOTE,
		ST_OPT_PORTLEN_REMOTE, ST_OPT_RX_WINDOW_REMOTE,
	}, counts[] = {
		ST_OPT_RX_SLOTS, ST_OPT_RX_PAYLOAD, ST_OPT_RX_DROPPED,
	}, none[] = { 0, 1000, -1 };
	st_chandle_t c;
	int value = 77;

	OK(st_create(&c));
	for (int i = 0; i < 8; i++) {
		check_eq(st_getopt(c, later[i], &value), ENOTCONN);
		check_eq(value, 77);
		check_eq(set(c, later[i], 64),
			 later[i] == ST_OPT_MAXSTU_REMOTE ? ENOTCONN : ENOPROTOOPT);
	}
	for (int i = 0; i < 3; i++) {
		check_eq(get(c, counts[i]), i ? 0 : 256);
		check_eq(set(c, counts[i], i ? 0 : 256), ENOPROTOOPT);
		check_eq(set(c, none[i], 1), ENOPROTOOPT);
		check_eq(st_getopt(c, none[i], &value), ENOPROTOOPT);
	}
	OK(st_delete(c));
}

/* ---- connections --------------------------------------------------------------- */

/* Each end knows the other one's parameters. */
static const struct {
	int local, remote;
	int value[2];		/* of this end and the other one; 0: not set */
} parameters[] = {
	{ ST_OPT_BUFSIZE_LOCAL, ST_OPT_BUFSIZE_REMOTE, { 8192, 0 } },
	{ ST_OPT_MAXSTU_LOCAL, ST_OPT_MAXSTU_REMOTE, { 1024, 0 } },
	{ ST_OPT_KEY_LOCAL, ST_OPT_KEY_REMOTE, { -5, 0 } },
	{ ST_OPT_PORTLEN_LOCAL, ST_OPT_PORTLEN_REMOTE, { 10, 0 } },
	{ ST_OPT_RX_WINDOW_LOCAL, ST_OPT_RX_WINDOW_REMOTE, { 7, 9 } },
	{ ST_OPT_IANA_LOCAL, ST_OPT_IANA_REMOTE, { 4321, 0 } },
	{ ST_OPT_PORT_LOCAL, ST_OPT_PORT_REMOTE, { 0, 0 } },
	{ ST_OPT_CHANNELS, ST_OPT_CHANNELS, { 6, 3 } },
};

#define PARAMETERS	(int)(sizeof(parameters) / sizeof(parameters[0]))

TEST(ST_25_ST_26_ST_27_ST_28_ST_48_12_a_connection)
{
	st_chandle_t c;
	int value = 5;

	c = ends_new(0);
	for (int i = 0; i < PARAMETERS; i++) {
		if (parameters[i].value[0])
			OK(set(c, parameters[i].local, parameters[i].value[0]));
		if (parameters[i].value[1])
			OK(o_set(0, parameters[i].local, parameters[i].value[1]));
	}
	join(c, 0);
	for (int i = 0; i < PARAMETERS; i++) {
		check_eq(get(c, parameters[i].remote), o_get(0, parameters[i].local));
		check_eq(o_get(0, parameters[i].remote), get(c, parameters[i].local));
	}
	check_eq(o_get(0, ST_OPT_KEY_REMOTE), -5);
	check_eq(o_get(0, ST_OPT_IANA_REMOTE), 4321);
	check_eq(get(c, ST_OPT_RX_WINDOW_REMOTE), 9);
	check_eq(get(c, ST_OPT_CHANNELS), 2);
	/* Parameters cannot be changed any more, but the tiling. */
	for (int i = 0; i < SETTABLE - 1; i++)
		check_eq(set(c, settable[i].name, settable[i].good[0]), EISCONN);
	check_eq(set(c, ST_OPT_KEY_LOCAL, 1), EISCONN);
	check_eq(set(c, ST_OPT_KEY_REMOTE, 1), ENOPROTOOPT);
	OK(set(c, ST_OPT_MAXSTU_REMOTE, 64));
	OK(set(c, ST_OPT_MAXSTU_REMOTE, ST_STU_UNLIMITED));
	OK(set(c, ST_OPT_MAXSTU_REMOTE, INT_MAX));
	check_eq(set(c, ST_OPT_MAXSTU_REMOTE, 0), EINVAL);
	check_eq(set(c, ST_OPT_MAXSTU_REMOTE, 100), EINVAL);
	check_eq(get(c, ST_OPT_MAXSTU_REMOTE), INT_MAX);
	OK(st_close(c));
	check_eq(st_close(c), ENOTCONN);
	OK(o_close(0));
	/* The handle is idle, with its options. */
	check_eq(st_getopt(c, ST_OPT_KEY_REMOTE, &value), ENOTCONN);
	check_eq(get(c, ST_OPT_BUFSIZE_LOCAL), 8192);
	check_eq(get(c, ST_OPT_CHANNELS), 6);
	OK(set(c, ST_OPT_BUFSIZE_LOCAL, 4096));
	/* It can connect again. */
	join(c, 0);
	ends_delete(c, 0);
}

TEST(ST_25_ST_28_calls_at_the_wrong_time)
{
	st_header_t hdr = header(ST_OP_NOP);
	st_chandle_t c, l;

	OK(st_create(&c));
	OK(st_create(&l));
	OK(st_listen(l, NULL, "1999"));
	check_eq(get(l, ST_OPT_IANA_LOCAL), 1999);
	check_eq(set(l, ST_OPT_BUFX_COUNT, 3), EISCONN);
	check_eq(st_listen(l, NULL, "1999"), EINVAL);
	check_eq(st_connect(l, NULL, "1999"), EINVAL);
	check_eq(st_tx(&l, &hdr, NULL, 0, 0, 0), ENOTCONN);
	OK(st_close(l));
	check_eq(st_close(l), ENOTCONN);
	/* The listener is gone. */
	check_eq(st_connect(c, NULL, "1999"), ECONNREFUSED);
	OK(st_listen(l, NULL, "1999"));
	OK(st_delete(l));
	check_eq(st_connect(c, NULL, "1999"), ECONNREFUSED);
	OK(o_create(0));
	join(c, 0);
	check_eq(st_listen(c, NULL, "1999"), EISCONN);
	check_eq(st_accept(c), EISCONN);
	check_eq(st_connect(c, NULL, "1999"), EISCONN);
	check_eq(o_listen(0, "1999"), EISCONN);
	ends_delete(c, 0);
}

TEST(ST_25_ST_27_names_that_do_not_exist)
{
	static const char *const bad[] = { "65536", "-1", "12x", "", " 5", "no such service",
					   "99999999999999999999" };
	st_chandle_t c;

	OK(st_create(&c));
	for (int i = 0; i < 7; i++) {
		check_eq(st_connect(c, NULL, bad[i]), EINVAL);
		check_eq(st_listen(c, NULL, bad[i]), EINVAL);
	}
	check_eq(st_connect(c, NULL, NULL), EINVAL);
	check_eq(st_connect(c, NULL, "0"), EINVAL);
	check_eq(st_connect(c, NULL, "1998"), ECONNREFUSED);
	check_eq(st_connect(c, there(), "1998"), ECONNREFUSED);
	check_eq(st_connect(c, "no.such.host.invalid", "1998"), EHOSTUNREACH);
	check_eq(st_connect(c, "203.0.113.7", "1998"), EHOSTUNREACH);
	check_eq(st_listen(c, "203.0.113.7", "1998"), EADDRNOTAVAIL);
	if (across_nodes())
		check_eq(st_listen(c, there(), "1998"), EADDRNOTAVAIL);
	OK(st_listen(c, "127.0.0.1", "1998"));
	OK(st_close(c));
	OK(st_listen(c, "::1", "1998"));
	OK(st_close(c));
	/* It is still idle. */
	OK(st_listen(c, NULL, NULL));
	check(get(c, ST_OPT_IANA_LOCAL) > 0);
	OK(st_close(c));
	OK(st_listen(c, NULL, "0"));
	check(get(c, ST_OPT_IANA_LOCAL) > 0);
	OK(st_close(c));
	check_eq(get(c, ST_OPT_IANA_LOCAL), 0);
	OK(st_delete(c));
}

/* Without the device, and with a service of another name. */
static int in_a_namespace(const void *unused)
{
	st_chandle_t c;
	FILE *f;

	check(!unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	      !mount("none", "/etc", "tmpfs", 0, NULL));
	f = fopen("/etc/services", "w");
	check(f && fprintf(f, "st-test\t4242/udp\n") > 0 && !fclose(f));
	OK(st_create(&c));
	OK(st_listen(c, NULL, "st-test"));
	check_eq(get(c, ST_OPT_IANA_LOCAL), 4242);
	OK(st_close(c));
	check_eq(st_connect(c, NULL, "st-test"), ECONNREFUSED);
	OK(mount("none", "/dev", "tmpfs", 0, NULL));
	check_eq(st_listen(c, NULL, "4242"), ENODEV);
	check_eq(st_connect(c, NULL, "4242"), ENODEV);
	check_eq(st_close(c), ENOTCONN);
	OK(st_delete(c));
	return 0;
}

TEST(ST_2_ST_25_ST_27_no_device_and_names_of_services)
{
	other();
	/* Another user cannot mount. */
	if (!ordinary())
		check_eq(in_child(in_a_namespace, NULL), 0);
}

/* Without standard input, output and error. Returns what is wrong, as bits. */
static int without_standard_files(const void *unused)
{
	st_chandle_t c;
	int bad;

	for (int fd = 0; fd < 3; fd++)
		close(fd);
	bad = st_create(&c) || st_listen(c, NULL, NULL);
	for (int fd = 0; fd < 3; fd++)
		bad |= (fcntl(fd, F_GETFD) != -1) << 1;
	return bad | (st_delete(c) != 0) << 2;
}

TEST(ST_25_a_process_without_standard_files)
{
	other();
	check_eq(in_child(without_standard_files, NULL), 0);
}

TEST(ST_17_ST_19_ST_20_port_vectors)
{
	st_chandle_t c[3];
	int port[3];

	for (int i = 0; i < 3; i++) {
		c[i] = ends_new(i);
		OK(set(c[i], ST_OPT_PORTLEN_LOCAL, 256));
		join(c[i], i);
		port[i] = get(c[i], ST_OPT_PORT_LOCAL);
		check_eq(o_get(i, ST_OPT_PORTLEN_REMOTE), 256);
		check(port[i] > 0 && port[i] + 255 <= 65535);
		for (int j = 0; j < i; j++)
			check(port[i] >= port[j] + 256 || port[j] >= port[i] + 256);
	}
	for (int i = 0; i < 3; i++)
		ends_delete(c[i], i);
}

TEST(ST_10_channels_in_common)
{
	const char *service = own_service();
	st_chandle_t c = ends_new(0);

	OK(o_set(0, ST_OPT_CHANNELS, 12));
	OK(o_listen(0, service));
	OK(set(c, ST_OPT_CHANNELS, 3));
	meet(c, 0, service, EPROTO);
	/* Both can try again. */
	OK(set(c, ST_OPT_CHANNELS, 7));
	meet(c, 0, service, 0);
	check_eq(get(c, ST_OPT_CHANNELS), 4);
	ends_delete(c, 0);
}

TEST(ST_25_several_listeners)
{
	const char *service = own_service();
	st_chandle_t c[4];

	for (int i = 0; i < 4; i++) {
		c[i] = ends_new(i);
		OK(o_set(i, ST_OPT_KEY_LOCAL, 100 + i));
		if (i < 3)
			OK(o_listen(i, service));
	}
	/* The one that has listened longest gets the client, whichever accepts first. */
	for (int i = 0; i < 3; i++) {
		meet(c[i], i, service, 0);
		check_eq(get(c[i], ST_OPT_KEY_REMOTE), 100 + i);
	}
	check_eq(st_connect(c[3], there(), service), ECONNREFUSED);
	/* An end that listens again is the last. */
	OK(o_listen(3, service));
	OK(o_close(0));
	OK(o_listen(0, service));
	meet(c[3], 3, service, 0);
	check_eq(get(c[3], ST_OPT_KEY_REMOTE), 103);
	OK(st_close(c[0]));
	meet(c[0], 0, service, 0);
	check_eq(get(c[0], ST_OPT_KEY_REMOTE), 100);
	for (int i = 0; i < 4; i++)
		ends_delete(c[i], i);
}

static int connect_to_1997(void *c)
{
	return st_connect(c, NULL, "1997");
}

/* Two ends of one process, of which one waits in a thread. */
TEST(ST_27_connect_may_wait_for_accept)
{
	const struct timespec t = { .tv_nsec = 30000000 };
	struct thread *thread;
	st_chandle_t l, c;

	OK(st_create(&l));
	OK(st_create(&c));
	OK(st_listen(l, NULL, "1997"));
	thread = thread_begin(connect_to_1997, c);
	nanosleep(&t, NULL);
	OK(st_accept(l));
	OK(thread_end(thread));
	check_eq(get(c, ST_OPT_PORT_REMOTE), get(l, ST_OPT_PORT_LOCAL));
	/* Ports of the connections of a process differ. */
	check(get(c, ST_OPT_PORT_LOCAL) != get(l, ST_OPT_PORT_LOCAL));
	OK(st_close(l));
	OK(st_close(c));
	/* A listener that closes without accepting refuses the client. */
	OK(st_listen(l, NULL, "1997"));
	thread = thread_begin(connect_to_1997, c);
	nanosleep(&t, NULL);
	OK(st_close(l));
	check_eq(thread_end(thread), ECONNREFUSED);
	OK(st_delete(c));
	OK(st_delete(l));
}

/*
 * The printed program: its handle is declared as a pointer to a handle. Instead of for 3 s it
 * sleeps until the server listens.
 */
static bool listens;

static void wait_for_the_server(void)
{
	while (!__atomic_load_n(&listens, __ATOMIC_ACQUIRE))
		usleep(1000);
}

#define sleep(seconds)	wait_for_the_server()
#define st_listen(...)	\
	(st_listen(__VA_ARGS__), __atomic_store_n(&listens, true, __ATOMIC_RELEASE))

static int printed(int i_am_client)
{
	st_chandle_t *chandle;
	char *hostname, *service;
	int key = 0, base = 10, count = 20, window = 30;
	st_header_t st_header = { .op = ST_OP_NOP };

	// Create an empty handle
	st_create(&chandle);
	// Set various options for the connection
	st_setopt(chandle, ST_OPT_BUFX_BASE, &base);
	st_setopt(chandle, ST_OPT_BUFX_COUNT, &count);
	st_setopt(chandle, ST_OPT_RX_WINDOW_LOCAL, &window);
	// Establish the connection
	if (i_am_client) {
		hostname = "localhost";
		service = "3000";
		sleep(3);
		st_connect(chandle, hostname, service);
	} else {
		hostname = NULL;
		service = "3000";
		st_listen(chandle, hostname, service);
		st_accept(chandle);
	}
	// Get various fields needed for the ST header
	st_getopt(chandle, ST_OPT_KEY_REMOTE, &key);
	st_header.d_key = key;
	// Send a simple ST header to the remote host
	st_tx(chandle, &st_header, NULL, 0, 0, 0);

	return key && !st_rx(chandle, &st_header, NULL, NULL) && !st_delete(chandle);
}

static int printed_server(void *unused)
{
	return printed(0);
}

TEST(ST_29_the_printed_program)
{
	struct thread *server = thread_begin(printed_server, NULL);

	check(printed(1));
	check(thread_end(server));
}

/* ---- control headers ------------------------------------------------------------ */

TEST(ST_38_ST_39_ST_43_ST_44_ST_48_10_ST_48_16_control_headers)
{
	static const int unknown[] = { 0, ST_OP_END_ACK + 1, 65535 };
	unsigned char pay[ST_PAYLOAD], got[ST_PAYLOAD + 1];
	st_header_t h, want, r;
	st_chandle_t c = joined(0);

	for (int i = 0; i < ST_PAYLOAD; i++)
		pay[i] = i + 1;
	for (int op = ST_OP_NOP; op <= ST_OP_END_ACK; op++) {
		if (op >= ST_OP_REQUEST_CONNECTION && op <= ST_OP_DISCONNECT_COMPLETE) {
			h = header(op);
			check_eq(st_tx(&c, &h, NULL, 0, 0, 0), EOPNOTSUPP);
			continue;
		}
		if (op == ST_OP_GET)
			continue;
		h = (st_header_t){ .op = op, .flags = 0xfffd, .param = 1, .cksum = 2, .d_id = 3,
				   .s_id = 4, .mx = 0x87654321, .bufx = 0xfffffffe, .b_num = 7 };
		h.t_len = 0x123456789abcdefull;
		if (op == ST_OP_DATA)
			h.offset = 5;
		want = h;
		OK(st_tx(&c, &h, op % 2 ? pay : NULL, 0, 99, 99));
		check(!memcmp(&h, &want, sizeof(h)));
		memset(got, 0xee, sizeof(got));
		OK(o_rx(0, &r, got, -1));
		want.d_key = get(c, ST_OPT_KEY_REMOTE);
		want.d_port = get(c, ST_OPT_PORT_REMOTE);
		want.s_port = get(c, ST_OPT_PORT_LOCAL);
		check(!memcmp(&r, &want, sizeof(r)));
		check_eq(o_get(0, ST_OPT_RX_PAYLOAD), op % 2 && op != ST_OP_DATA);
		if (op % 2 && op != ST_OP_DATA)
			check(!memcmp(pay, got, ST_PAYLOAD));
		if (test_failed) {
			printf("# operation %d\n", op);
			break;
		}
	}
	/* Unknown operations, and no header. */
	for (int i = 0; i < 3; i++) {
		h = header(unknown[i]);
		check_eq(st_tx(&c, &h, NULL, 0, 0, 0), EINVAL);
	}
	check_eq(st_tx(&c, NULL, NULL, 0, 0, 0), EINVAL);
	check_eq(st_rx(&c, NULL, NULL, NULL), EINVAL);
	/* In the other direction. */
	h = header(ST_OP_END);
	OK(o_tx(0, &h, pay, 0, 0, 0));
	OK(rx(c, &r, got, -1));
	check_eq(r.op, ST_OP_END);
	check(!memcmp(pay, got, ST_PAYLOAD));
	check_eq(get(c, ST_OPT_RX_PAYLOAD), 1);
	OK(o_tx(0, &h, NULL, 0, 0, 0));
	OK(rx(c, &r, NULL, -1));
	check_eq(get(c, ST_OPT_RX_PAYLOAD), 0);
	ends_delete(c, 0);
}

static int payload(void *c)
{
	return get(c, ST_OPT_RX_PAYLOAD);
}

TEST(ST_24_ST_48_10_a_payload_is_of_a_thread)
{
	unsigned char pay[ST_PAYLOAD] = "payload", got[ST_PAYLOAD];
	st_header_t h = header(ST_OP_NOP), r;
	st_chandle_t c = joined(0);

	OK(o_tx(0, &h, pay, 0, 0, 0));
	OK(rx(c, &r, got, -1));
	check_eq(thread_end(thread_begin(payload, c)), 0);
	check_eq(get(c, ST_OPT_RX_PAYLOAD), 1);
	check(!memcmp(pay, got, ST_PAYLOAD));
	ends_delete(c, 0);
}

TEST(ST_44_times)
{
	struct timeval t = { 0, 0 }, before;
	struct sigaction act = { .sa_handler = nothing, .sa_flags = SA_RESTART }, old;
	const struct itimerval soon = { .it_value = { 0, 50000 } };
	st_chandle_t c = joined(0);
	st_header_t h;
	double begun;

	check_eq(st_rx(&c, &h, NULL, &t), EWOULDBLOCK);
	t.tv_usec = 1000000;
	check_eq(st_rx(&c, &h, NULL, &t), EINVAL);
	t.tv_usec = -1;
	check_eq(st_rx(&c, &h, NULL, &t), EINVAL);
	t = (struct timeval){ -1, 0 };
	check_eq(st_rx(&c, &h, NULL, &t), EINVAL);
	t = before = (struct timeval){ 0, 30000 };
	begun = st_time();
	check_eq(st_rx(&c, &h, NULL, &t), EWOULDBLOCK);
	check(st_time() - begun >= 0.03);
	check(!memcmp(&t, &before, sizeof(t)));
	/* A signal that is caught ends the wait, with and without a limit. */
	sigaction(SIGALRM, &act, &old);
	setitimer(ITIMER_REAL, &soon, NULL);
	check_eq(st_rx(&c, &h, NULL, NULL), EINTR);
	t = (struct timeval){ 1000000000, 0 };
	setitimer(ITIMER_REAL, &soon, NULL);
	check_eq(st_rx(&c, &h, NULL, &t), EINTR);
	sigaction(SIGALRM, &old, NULL);
	ends_delete(c, 0);
}
