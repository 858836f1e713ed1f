// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_handle.c - handles: arguments, wired memory, children of fork(), and when a message
 * is sent and placed
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/dd_ddp.h>

#include "asleep.h"
#include "dd.h"
#include "dd_mem.h"
#include "echo.h"
#include "tap.h"

TEST(error_texts)
{
	for (int e = EBADID; e <= EMEMLOCK; e++) {
		check(strcmp(dd_strerror(e), "unknown error") != 0);
		check(dd_strerror(e) == dd_strerror(-e));
	}
	check(!strcmp(dd_strerror(EINVAL), strerror(EINVAL)));
	check(!strcmp(dd_strerror(1000), "unknown error"));
	check(!strcmp(dd_strerror(EMEMLOCK + 1), "unknown error"));
	check(dd_strerror(-2147483647 - 1) != NULL);
}

TEST(version)
{
	check(!strcmp(dd_version(), DD_VERSION));
}

TEST(bad_attributes)
{
	struct dd_connect_attr ca = { .size = sizeof(ca), .type = 1 };
	struct dd_serve_attr sa = { .size = sizeof(sa), .maxconn = 1 };
	char name[80], text[256];

	setup(DD_TYPE_STREAM);
	memset(name, 'n', sizeof(name));
	name[64] = 0;
	sa.recv = ca.recv = alloc(PAGE);
	sa.recv_size = ca.recv_size = PAGE;
	check_eq(dd_serve(h, name, &sa, NULL), -EINVAL);
	check_eq(dd_serve(h, "", &sa, NULL), -EINVAL);
	check_eq(dd_serve(h, NULL, &sa, NULL), -EINVAL);
	dd_last_error(h, text, sizeof(text));
	check(!strcmp(text, "the name of a service has 1 to 63 bytes, not 0"));
	check_eq(dd_connect(h, name, dd_node(h), &ca, NULL), -EINVAL);
	dd_last_error(h, text, sizeof(text));
	check(!strcmp(text, "the name of a service has 1 to 63 bytes, not more"));
	check_eq(dd_serve(h, "s", NULL, NULL), -EINVAL);
	sa.maxconn = 0;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	sa.maxconn = 65537;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	sa.maxconn = 1;
	sa.window = 257;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	sa.window = 0;
	sa.flags = DD_ATTR_ANON;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	sa.flags = 0;
	sa.recv_size = 0;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	sa.recv_size = 2 * PAGE;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	dd_last_error(h, text, sizeof(text));
	check(strstr(text, "not inside one piece of memory of ddalloc") != NULL);
	sa.recv_size = 8;
	sa.recv = (char *)sa.recv + 8;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	sa.size--;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);

	check_eq(dd_connect(h, "none", dd_node(h), &ca, NULL), -EBADSERVER);
	check_eq(dd_connect(h, "echo", dd_max_nodes(h), &ca, NULL), -EBADSERVER);
	check_eq(dd_connect(h, "echo", -1, &ca, NULL), -EBADSERVER);
	ca.type = 0;
	check_eq(dd_connect(h, "echo", dd_node(h), &ca, NULL), -EINVAL);
	ca.type = 4;
	check_eq(dd_connect(h, "echo", dd_node(h), &ca, NULL), -EINVAL);
	check_eq(dd_alloc(h, 0, (void **)&text), -EINVAL);
	check_eq(dd_free(h, name), -EINVAL);
	teardown();
}

/* dd_open() fails with @error, for a reason that has the text @part. */
static bool not_opened(int error, const char *part)
{
	char text[256];
	struct dd *none;

	return dd_open(&none) == error && !dd_last_error(NULL, text, sizeof(text)) &&
	       strstr(text, part);
}

/* In a child, since the name is that of the device again when its mount namespace has ended. */
static int open_in_the_place(const char *path)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		      mount(path, "/dev/dd", NULL, MS_BIND, NULL) ||
		      !not_opened(-ENOCMP, "is not the device of the loaded module dd"));
	waitpid(pid, &status, 0);
	return status;
}

TEST(another_file_in_the_place_of_the_device)
{
	char path[] = "/tmp/lib_handle.XXXXXX";
	int fd = mkstemp(path);

	check(fd >= 0);
	check_eq(open_in_the_place(path), 0);
	check_eq(open_in_the_place("/dev/null"), 0);
	check_eq(open_in_the_place("/dev/zero"), 0);
	check_eq(open_in_the_place("/dev/full"), 0);
	unlink(path);
	close(fd);
}

TEST(reasons_without_a_handle)
{
	struct rlimit before, few, space;
	char text[256];

	getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	few.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &few);
	check(not_opened(-ENORESOURCE, "RLIMIT_NOFILE"));
	setrlimit(RLIMIT_NOFILE, &before);
	getrlimit(RLIMIT_AS, &before);
	space = before;
	space.rlim_cur = 128 << 20;
	setrlimit(RLIMIT_AS, &space);
	check(not_opened(-ENORESOURCE, "RLIMIT_AS"));
	setrlimit(RLIMIT_AS, &before);
	check_eq(dd_last_error(NULL, NULL, 1), -EINVAL);
	check_eq(dd_last_error(NULL, text, 0), -EINVAL);
}

/* In a child without standard input, output and error, which does not get them by dd_open(). */
static int open_without_standard_files(void)
{
	struct rlimit few = { .rlim_cur = 3, .rlim_max = 3 };
	struct dd *own;

	for (int fd = 0; fd < 3; fd++)
		close(fd);
	if (dd_open(&own) || dd_fd(own) < 3 || dd_shutdown(own))
		return 1;
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			return 2;
	setrlimit(RLIMIT_NOFILE, &few);
	return not_opened(-ENORESOURCE, "RLIMIT_NOFILE") && fcntl(0, F_GETFD) == -1 ? 0 : 3;
}

TEST(a_process_without_standard_files)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(open_without_standard_files());
	waitpid(pid, &status, 0);
	check_eq(status, 0);
}

static long futex_wait(void *word, int op)
{
	const struct timespec soon = { 0, MS };

	return syscall(SYS_futex, word, op, 0, &soon) ? errno : 0;
}

/* As dd(7) says: futexes of one process, and those of several in memory of the program only. */
TEST(futexes_in_wired_memory)
{
	char *own = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	setup(DD_TYPE_STREAM);
	check_eq(futex_wait(csend, FUTEX_WAIT_PRIVATE), ETIMEDOUT);
	check_eq(syscall(SYS_futex, csend, FUTEX_WAKE_PRIVATE, 1), 0);
	check_eq(futex_wait(csend, FUTEX_WAIT), EFAULT);
	check_eq(dd_pin(h, own, PAGE), 0);
	check_eq(futex_wait(own, FUTEX_WAIT), ETIMEDOUT);
	check_eq(syscall(SYS_futex, own, FUTEX_WAKE, 1), 0);
	teardown();
	munmap(own, PAGE);
}

static volatile pid_t receiver;

static void *receive_and_end(void *arg)
{
	static struct dd_msg msg;

	(void)arg;
	receiver = gettid();
	if (dd_recv(h, list, &msg, DD_RECV_SLEEP, DD_FOREVER))
		return NULL;
	pthread_testcancel();
	return NULL;
}

TEST(a_cancelled_thread_ends_after_its_call)
{
	struct dd_msg msg;
	pthread_t t;
	void *end;

	setup(DD_TYPE_STREAM);
	check_eq(pthread_create(&t, NULL, receive_and_end, NULL), 0);
	while (!receiver || !asleep_in(receiver, SYS_ioctl))
		sched_yield();
	check_eq(pthread_cancel(t), 0);
	check_eq(request("1"), 0);
	check_eq(pthread_join(t, &end), 0);
	check(end == PTHREAD_CANCELED);
	/* It has consumed the message, and holds no lock. */
	check_eq(request("2"), 0);
	check_eq(take(&msg), 0);
	check_eq(msg.msgid, 2);
	teardown();
}

TEST(regions_by_address)
{
	char *r[20];

	setup(DD_TYPE_STREAM);
	for (int i = 0; i < 20; i++)
		r[i] = alloc(PAGE);
	for (int i = 0; i < 20; i += 2)
		check_eq(dd_free(h, r[i]), 0);
	for (int i = 0; i < 20; i++)
		check_eq(dd_free(h, r[i]), i % 2 ? 0 : -EINVAL);
	/* The connection uses it. */
	check_eq(dd_free(h, csend), -EBUSY);
	check_eq(dd_close(h, conn), 0);
	check_eq(dd_free(h, csend), 0);
	teardown();
}

static int child_calls(void)
{
	struct dd_serve_attr sa = { .size = sizeof(sa) };
	struct dd_connect_attr ca = { .size = sizeof(ca) };
	struct dd_conn_desc desc;
	struct dd_msg msg;
	void *addr;
	char text[8];
	int bad = 0;

	bad += dd_fd(h) != -EBADID;
	bad += dd_alloc(h, 1, &addr) != -EBADID;
	bad += dd_free(h, csend) != -EBADID;
	bad += dd_serve(h, "s", &sa, NULL) != -EBADID;
	bad += dd_unserve(h, service) != -EBADID;
	bad += dd_connect(h, "s", 1, &ca, NULL) != -EBADID;
	bad += dd_close(h, conn) != -EBADID;
	bad += dd_send(h, conn, csend, 1, 0, 0, NULL, 0) != -EBADID;
	bad += dd_done(h, conn, 0, -1) != -EBADID;
	bad += dd_recv(h, list, &msg, 0, -1) != -EBADID;
	bad += dd_reply(h, &msg, csend, 1, 0, 0) != -EBADID;
	bad += dd_call(h, conn, NULL, 1, &msg, 0, -1) != -EBADID;
	bad += dd_conn_info(h, conn, &desc) != -EBADID;
	bad += dd_conn_list(h, service, NULL, 0) != -EBADID;
	bad += dd_poll(h, &list, 1, -1) != -EBADID;
	bad += dd_peek(h, list, &msg) != -EBADID;
	bad += dd_ready(h, list) != -EBADID;
	bad += dd_list_fd(h, list) != -EBADID;
	bad += dd_node(h) != -EBADID;
	bad += dd_max_nodes(h) != -EBADID;
	bad += dd_pid(h) != -EBADID;
	bad += dd_packet_size(h) != -EBADID;
	bad += dd_last_error(h, text, sizeof(text)) != -EBADID;
	bad += dd_shutdown(h) != -EBADID;
	return bad;
}

TEST(forked_child)
{
	struct dd_msg msg;
	int status;
	pid_t pid;

	setup(DD_TYPE_STREAM);
	pid = fork();
	if (!pid)
		_exit(child_calls());
	waitpid(pid, &status, 0);
	check_eq(status, 0);
	pid = vfork();
	if (!pid)
		_exit(0);
	waitpid(pid, &status, 0);
	/* The parent goes on as before. */
	check_eq(system("true"), 0);
	check_eq(request("x"), 0);
	check_eq(take(&msg), 0);
	check_eq(fcntl(dd_fd(h), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	teardown();
}
