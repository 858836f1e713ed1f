// SPDX-License-Identifier: LGPL-2.1-only
/*
 * cost_test.c - instructions of the calls that every message takes
 *
 * Copyright (C) 2026 The dd authors
 *
 * A child makes the calls over a kernel made of user code, between two
 * breakpoints each; this process executes it instruction by instruction. What
 * the doorbell does is not counted. The limits leave room for another
 * compiler, and none for another lock or a copy. Unless DD_DIRECT=0 there is no
 * doorbell, and the message is copied.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dd.h"
#include "fake.h"
#include "fedex.h"
#include "tap.h"

#if defined(__x86_64__) && defined(__OPTIMIZE__)
#include <sys/user.h>

#define PAGE	0x1000
#define INT3	0xcc

int __wrap_ioctl(int fd, unsigned long request, unsigned long arg);

enum { DD_SEND, DD_RECV, DDSEND, DDRECV, COSTS };

static const int limits[2][COSTS] = {
	{ [DD_SEND] = 115, [DD_RECV] = 170, [DDSEND] = 115, [DDRECV] = 160 },
	{ [DD_SEND] = 140, [DD_RECV] = 140, [DDSEND] = 140, [DDRECV] = 120 },
};

static int costs[COSTS];

/* Evaluates @call with nothing else of note between the breakpoints. */
#define COUNTED(call)					\
	do {						\
		__asm__ volatile("int3" ::: "memory");	\
		bad |= (call);				\
		__asm__ volatile("int3" ::: "memory");	\
	} while (0)

static int core_calls(void)
{
	struct dd_serve_attr sa = { .size = sizeof(sa), .maxconn = 1,
				    .recv_size = PAGE };
	struct dd_connect_attr ca = { .size = sizeof(ca), .recv_size = PAGE,
				      .send_size = PAGE,
				      .type = DD_TYPE_STREAM };
	int list = 0, conn, bad;
	struct dd_msg msg;
	struct dd *h;

	bad = dd_open(&h) || dd_alloc(h, PAGE, &sa.recv) ||
	      dd_alloc(h, PAGE, &ca.recv) || dd_alloc(h, PAGE, &ca.send) ||
	      dd_serve(h, "core", &sa, &list) < 0;
	conn = bad ? -1 : dd_connect(h, "core", 1, &ca, NULL);
	if (conn < 0)
		return 1;
	for (int i = 0; i < 2; i++)
		bad |= dd_send(h, conn, ca.send, 64, 0, 0, NULL, 0) ||
		       dd_recv(h, list, &msg, 0, 0);
	COUNTED(dd_send(h, conn, ca.send, 64, 0, 0, NULL, 0));
	COUNTED(dd_recv(h, list, &msg, 0, 0));
	return bad || msg.msgid != 3 || dd_shutdown(h);
}

static int documented_calls(void)
{
	address_t in = ddalloc(PAGE), out = ddalloc(PAGE), back = ddalloc(PAGE);
	noteid_t list = 0, other = 0;
	ddrecv_desc_t desc;
	servid_t service;
	connid_t conn;
	int bad;

	bad = ddserve("ddp", 0, 1, in, PAGE, NULL, 0, &list, &service) ||
	      ddconn("ddp", 1, TYPE_SSTREAM, 0, out, PAGE, back, PAGE, &conn,
		     &other);
	for (int i = 0; i < 2; i++)
		bad |= ddsend(conn, out, 64, 0, 0) ||
		       ddrecv(list, &desc, RECV_SPIN, 0);
	COUNTED(ddsend(conn, out, 64, 0, 0));
	COUNTED(ddrecv(list, &desc, RECV_SPIN, 0));
	return bad || desc.msgaddr != in || desc.msgsize != 64;
}

static void child(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(2);
	fake_reset();
	_exit(core_calls() || documented_calls());
}

/* The signal that stopped the child, or 0 if it is gone: @status says how. */
static int go_on(pid_t pid, int request, int *status)
{
	if (ptrace(request, pid, NULL, NULL) ||
	    waitpid(pid, status, 0) != pid || !WIFSTOPPED(*status))
		return 0;
	return WSTOPSIG(*status);
}

/* Instructions up to the next breakpoint. */
static int count_steps(pid_t pid, int *status)
{
	unsigned long doorbell = 0;
	int n = 0;

	for (;;) {
		struct user_regs_struct regs;

		if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
			return -1;
		/* In the doorbell until what called it is on top again. */
		if (regs.rip == (uintptr_t)__wrap_ioctl)
			doorbell = regs.rsp;
		else if (doorbell && regs.rsp > doorbell)
			doorbell = 0;
		if (!doorbell) {
			errno = 0;
			if ((ptrace(PTRACE_PEEKTEXT, pid, regs.rip, NULL) &
			     0xff) == INT3 && !errno)
				break;
			n++;
		}
		if (go_on(pid, PTRACE_SINGLESTEP, status) != SIGTRAP)
			return -1;
	}
	/* Over the breakpoint. */
	return go_on(pid, PTRACE_CONT, status) == SIGTRAP ? n : -1;
}

static void counted(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		child();
	waitpid(pid, &status, 0);
	for (int i = 0; i < COSTS && WIFSTOPPED(status); i++) {
		costs[i] = count_steps(pid, &status);
		if (i + 1 < COSTS)
			go_on(pid, PTRACE_CONT, &status);
	}
	if (WIFSTOPPED(status))
		go_on(pid, PTRACE_CONT, &status);
	check(WIFEXITED(status) && !WEXITSTATUS(status));
}

static void within(int which)
{
	const char *direct = getenv("DD_DIRECT");
	int limit = limits[!direct || strcmp(direct, "0")][which];

	printf("# %d instructions, at most %d\n", costs[which], limit);
	check(costs[which] > 20 && costs[which] <= limit);
}

static void dd_send_cost(void) { within(DD_SEND); }
static void dd_recv_cost(void) { within(DD_RECV); }
static void ddsend_cost(void) { within(DDSEND); }
static void ddrecv_cost(void) { within(DDRECV); }

/* A container may forbid it. */
static bool tracing_works(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? 1 : 0);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(counted),
		TEST(dd_send_cost),
		TEST(dd_recv_cost),
		TEST(ddsend_cost),
		TEST(ddrecv_cost),
	};

	if (!tracing_works()) {
		printf("TAP version 13\n1..1\nok 1 cost # SKIP no ptrace()\n");
		return 0;
	}
	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
#else
int main(void)
{
	printf("TAP version 13\n1..1\nok 1 cost # SKIP built otherwise\n");
	return 0;
}
#endif
