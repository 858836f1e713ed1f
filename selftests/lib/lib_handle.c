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
#include <stddef.h>
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

TEST(version)
{
	check(!strcmp(dd_version(), DD_VERSION));
}

/* Why the last call has failed. */
static const char *reason(struct dd *of)
{
	static char text[256];

	check_eq(dd_last_error(of, text, sizeof(text)), 0);
	return text;
}

TEST(bad_attributes)
{
	struct dd_connect_attr ca = { .size = sizeof(ca), .type = 1, .recv_size = PAGE };
	struct dd_serve_attr good = { .size = sizeof(good), .maxconn = 1, .recv_size = PAGE }, bad[8];
	const size_t n = sizeof(bad) / sizeof(bad[0]);
	char name[65] = "";

	setup(DD_TYPE_STREAM);
	memset(name, 'n', sizeof(name) - 1);
	good.recv = ca.recv = alloc(PAGE);
	check_eq(dd_serve(h, name, &good, NULL), -EINVAL);
	check_eq(dd_serve(h, "", &good, NULL), -EINVAL);
	check_eq(dd_serve(h, NULL, &good, NULL), -EINVAL);
	check(!strcmp(reason(h), "the name of a service has 1 to 63 bytes, not 0"));
	check_eq(dd_connect(h, name, dd_node(h), &ca, NULL), -EINVAL);
	check(!strcmp(reason(h), "the name of a service has 1 to 63 bytes, not more"));
	for (ca.type = 0; ca.type <= 4; ca.type += 4)
		check_eq(dd_connect(h, "echo", dd_node(h), &ca, NULL), -EINVAL);

	check_eq(dd_serve(h, "s", NULL, NULL), -EINVAL);
	for (size_t i = 0; i < n; i++)
		bad[i] = good;
	/* One byte less than the first version of the structure. */
	bad[0].size = offsetof(struct dd_serve_attr, uid) - 1;
	bad[1].maxconn = 0;
	bad[2].maxconn = 65537;
	bad[3].window = 257;
	bad[4].flags = DD_ATTR_ANON;
	bad[5].recv_size = 0;
	bad[6].recv = (char *)good.recv + 8;
	bad[6].recv_size = 8;
	bad[7].recv_size = 2 * PAGE;
	for (size_t i = 0; i < n; i++)
		check_eq(dd_serve(h, "s", &bad[i], NULL), -EINVAL);
	check(strstr(reason(h), "not inside one piece of memory of ddalloc"));
	check_eq(dd_alloc(h, 0, &ca.recv), -EINVAL);
	check_eq(dd_free(h, name), -EINVAL);
	teardown();
}

/* dd_open() fails with @error, for a reason that has the text @part. */
static bool not_opened(int error, const char *part)
{
	struct dd *none;

	return dd_open(&none) == error && strstr(reason(NULL), part);
}

/* In a child, since the name is that of the device again when its mount namespace has ended. */
static int open_in_the_place(const void *path)
{
	return unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	       mount(path, "/dev/dd", NULL, MS_BIND, NULL) ||
	       !not_opened(-ENOCMP, "is not the device of the loaded module dd");
}

TEST(another_file_in_the_place_of_the_device)
{
	char path[] = "/tmp/lib_handle.XXXXXX";
	int fd = mkstemp(path);

	check(fd >= 0);
	check_eq(in_child(open_in_the_place, path), 0);
	check_eq(in_child(open_in_the_place, "/dev/null"), 0);
	check_eq(in_child(open_in_the_place, "/dev/zero"), 0);
	check_eq(in_child(open_in_the_place, "/dev/full"), 0);
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
static int open_without_standard_files(const void *arg)
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
	check_eq(in_child(open_without_standard_files, NULL), 0);
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

TEST(memory_of_a_connection_is_in_use)
{
	setup(DD_TYPE_STREAM);
	check_eq(dd_free(h, csend), -EBUSY);
	check_eq(dd_close(h, conn), 0);
	check_eq(dd_free(h, csend), 0);
	teardown();
}

/* The result says which call is wrong. */
static int calls_of_a_child(const void *arg)
{
	struct dd_serve_attr sa = { .size = sizeof(sa) };
	struct dd_connect_attr ca = { .size = sizeof(ca) };
	struct dd_conn_desc desc;
	struct dd_msg msg;
	void *addr;
	char text[8];
	const int results[] = {
		dd_fd(h), dd_node(h), dd_max_nodes(h), dd_pid(h), dd_packet_size(h),
		dd_alloc(h, 1, &addr), dd_free(h, csend), dd_serve(h, "s", &sa, NULL),
		dd_unserve(h, service), dd_connect(h, "s", 1, &ca, NULL), dd_close(h, conn),
		dd_send(h, conn, csend, 1, 0, 0, NULL, 0), dd_done(h, conn, 0, -1),
		dd_recv(h, list, &msg, 0, -1), dd_reply(h, &msg, csend, 1, 0, 0),
		dd_call(h, conn, NULL, 1, &msg, 0, -1), dd_conn_info(h, conn, &desc),
		dd_conn_list(h, service, NULL, 0), dd_poll(h, &list, 1, -1),
		dd_peek(h, list, &msg), dd_ready(h, list), dd_list_fd(h, list),
		dd_last_error(h, text, sizeof(text)), dd_shutdown(h),
	};

	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
		if (results[i] != -EBADID)
			return i + 1;
	return 0;
}

TEST(forked_child)
{
	struct dd_msg msg;
	int status;
	pid_t pid;

	setup(DD_TYPE_STREAM);
	check_eq(in_child(calls_of_a_child, NULL), 0);
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
