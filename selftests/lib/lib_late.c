// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_late.c - replies and requests between nodes that come later than the library looks for them
 *
 * Copyright (C) 2026 The dd authors
 *
 * Run by across.sh. The link of one node drops each packet that is as long as a reply. If that
 * is the exporter's, requests are executed and acknowledged, but not answered.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include <linux/dd_mem.h>

#include "segment.h"

/* Bytes of a packet: longer than an acknowledgment by IPv6, shorter than a reply by IPv4. */
#define ACK	"136"

/* Requests that were begun; waits of the library for a counter that have timed out; ends that a
 * signal has interrupted.
 */
static int begun, timeouts, interrupted;

/* Instead of libc's. */
int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;
	int ret;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	ret = syscall(SYS_ioctl, fd, request, arg);
	if (ret > 0 && request == DD_IOC_DOORBELL)
		__atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
	if (ret < 0 && errno == ETIMEDOUT && request == DD_IOC_CONN_WAIT)
		__atomic_add_fetch(&timeouts, 1, __ATOMIC_RELAXED);
	if (ret < 0 && errno == EINTR && request == DD_IOC_END)
		__atomic_add_fetch(&interrupted, 1, __ATOMIC_RELAXED);
	return ret;
}

enum node { IMPORTER = 1, EXPORTER };

/* Drop what is as long as a reply, or no longer, on its way from @node. */
static void hold(enum node node, int on)
{
	char command[120];

	snprintf(command, sizeof(command), "bash -c 'tc -n dd%d qdisc %s dev eth0 root%s'", node,
		 on ? "replace" : "del",
		 on ? " tbf rate 100mbit burst " ACK " limit 100000" : "");
	check_eq(system(command), 0);
}

/* A request of a thread of its own. */
struct request {
	int (*run)(struct request *r);
	pthread_t thread;
	uint64_t result[PAGE / 8];
	int ret, over;
};

static void *run(void *arg)
{
	struct request *r = arg;

	r->ret = r->run(r);
	__atomic_store_n(&r->over, 1, __ATOMIC_RELEASE);
	return NULL;
}

static int swap(struct request *r)
{
	return dd_cas(mem, 8, 8, 5, 6, r->result, 0);
}

static int swap_half(struct request *r)
{
	return dd_cas(mem, 8, 4, 6, 7, r->result, 0);
}

static int get_word(struct request *r)
{
	return dd_get(mem, r->result, 8, 8);
}

static int get_page(struct request *r)
{
	return dd_get(mem, r->result, PAGE, 0);
}

/* The request is executed, and returns when its reply has come, however late. */
static void wait_for_reply(struct request *r, long long executed)
{
	int before;

	hold(EXPORTER, 1);
	memset(r->result, 0xee, sizeof(r->result));
	r->over = 0;
	check_eq(pthread_create(&r->thread, NULL, run, r), 0);
	while (by_kernel() != executed)
		sched_yield();
	before = __atomic_load_n(&timeouts, __ATOMIC_RELAXED);
	while (__atomic_load_n(&timeouts, __ATOMIC_RELAXED) < before + 2 &&
	       !__atomic_load_n(&r->over, __ATOMIC_ACQUIRE))
		usleep(1000);
	check(!__atomic_load_n(&r->over, __ATOMIC_ACQUIRE));
	hold(EXPORTER, 0);
	check_eq(pthread_join(r->thread, NULL), 0);
	check_eq(r->ret, 0);
}

TEST(a_late_reply_is_waited_for)
{
	static struct request r;

	begin(0, 0);
	*(uint64_t *)(shared + 8) = 5;
	r.run = swap;
	wait_for_reply(&r, 1);
	check_eq(r.result[0], 5);
	check_eq(*(uint64_t *)(shared + 8), 6);
	r.run = swap_half;
	wait_for_reply(&r, 2);
	check_eq(r.result[0], 6);
	r.run = get_word;
	wait_for_reply(&r, 3);
	check_eq(r.result[0], 7);
	memset(shared, 'x', PAGE);
	r.run = get_page;
	wait_for_reply(&r, 4);
	check(!memcmp(r.result, shared, PAGE));
	end();
}

static int signals;

static void on_signal(int sig)
{
	(void)sig;
	__atomic_add_fetch(&signals, 1, __ATOMIC_RELAXED);
}

static int put_page(struct request *r)
{
	return dd_put(mem, r->result, PAGE, 0, 0);
}

/* Handlers run during the round trip, and the call goes on afterwards. */
static void interrupt(int (*call)(struct request *), enum node late)
{
	static struct request r;
	int before = __atomic_load_n(&begun, __ATOMIC_RELAXED), i;

	r.run = call;
	r.over = 0;
	signals = 0;
	hold(late, 1);
	check_eq(pthread_create(&r.thread, NULL, run, &r), 0);
	while (__atomic_load_n(&begun, __ATOMIC_RELAXED) == before)
		sched_yield();
	for (i = 0; i < 10000 && __atomic_load_n(&signals, __ATOMIC_RELAXED) < 3; i++) {
		check_eq(pthread_kill(r.thread, SIGUSR1), 0);
		usleep(1000);
	}
	check(__atomic_load_n(&signals, __ATOMIC_RELAXED) >= 3);
	check(!__atomic_load_n(&r.over, __ATOMIC_ACQUIRE));
	hold(late, 0);
	check_eq(pthread_join(r.thread, NULL), 0);
	check_eq(r.ret, 0);
}

TEST(no_signal_waits_for_the_other_node)
{
	const struct sigaction sa = { .sa_handler = on_signal };

	begin(0, 0);
	check_eq(sigaction(SIGUSR1, &sa, NULL), 0);
	interrupt(put_page, IMPORTER);
	*(uint64_t *)(shared + 8) = 5;
	interrupt(swap, EXPORTER);
	check_eq(*(uint64_t *)(shared + 8), 6);
	interrupt(get_page, EXPORTER);
	interrupt(get_word, EXPORTER);
	end();
}

/* The call does not wait for the refusal, and the next one is refused until it has come. */
TEST(a_late_refusal_is_left_to_the_fence)
{
	const struct itimerval often = { { 0, 20000 }, { 0, 20000 } }, never = { 0 };
	const struct sigaction sa = { .sa_handler = on_signal };

	begin(1, DD_NOTIFY_IF_ASKED);
	check_eq(dd_export_inhibit(ex, segment, 1), 0);
	hold(EXPORTER, 1);
	/* Signals do not prolong the second for which a call waits. */
	check_eq(sigaction(SIGALRM, &sa, NULL), 0);
	check_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
	check_eq(dd_put(mem, "x", 1, 0, DD_PUT_NOTIFY), 0);
	check_eq(dd_put(mem, "x", 1, 0, DD_PUT_NOTIFY), -EBUSY);
	check_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	check_eq(dd_fence(mem, 0), -EAGAIN);
	hold(EXPORTER, 0);
	check_eq(dd_fence(mem, -1), -EACCES);
	check_eq(dd_fence(mem, -1), 0);
	check_eq(shared[0], 0);
	check_eq(dd_put(mem, "x", 1, 0, 0), -EACCES);
	check_eq(dd_export_inhibit(ex, segment, 0), 0);
	check_eq(dd_put(mem, "x", 1, 0, DD_PUT_NOTIFY), 0);
	end();
}

static int unimport(struct request *r)
{
	return dd_unimport(mem);
}

/* Else the kernel would keep the import, and the exporter its place, until dd_shutdown(). */
TEST(the_end_waits_for_requests_also_if_a_signal_comes)
{
	static struct request r = { .run = unimport };
	static char page[PAGE];
	struct sigaction sa = { .sa_handler = on_signal };
	struct dd_export_desc desc;

	begin(0, 0);
	check_eq(sigaction(SIGUSR1, &sa, NULL), 0);
	memset(page, 'x', PAGE);
	hold(IMPORTER, 1);
	check(dd_put_async(mem, page, PAGE, 0, 0, 0) > 0);
	check_eq(pthread_create(&r.thread, NULL, run, &r), 0);
	while (!__atomic_load_n(&interrupted, __ATOMIC_RELAXED)) {
		check_eq(pthread_kill(r.thread, SIGUSR1), 0);
		usleep(1000);
	}
	check_eq(shared[PAGE - 1], 0);
	hold(IMPORTER, 0);
	check_eq(pthread_join(r.thread, NULL), 0);
	check_eq(r.ret, 0);
	check(!memcmp(shared, page, PAGE));
	do {
		check_eq(dd_export_info(ex, segment, &desc, NULL, 0), 0);
	} while (!test_failed && desc.importers && !usleep(1000));
	check_eq(dd_shutdown(im), 0);
	check_eq(dd_shutdown(ex), 0);
}
