// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_mem.c - one-sided memory by the calls of dd_mem.h
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/dd_mem.h>

#include "dd_mem.h"
#include "tap.h"

#define PAGE	4096

static struct dd *ex, *im;
static struct dd_export_attr attr;
static struct dd_mem *mem;
static uint64_t segment;
static char *shared;	/* the segment, a page of private memory */

/* Between nodes, by across.sh, the exporter's handle belongs to the other node. */
static int far;

static int enter(const char *netns)
{
	int fd = open(netns, O_RDONLY | O_CLOEXEC), ret = fd < 0 ? -1 : setns(fd, CLONE_NEWNET);

	close(fd);
	return ret;
}

static int owner(void)
{
	return far ? 2 : dd_node(im);
}

static void begin(int list, unsigned int notify)
{
	far = getenv("DDP_PEER_NODE") != NULL;
	check(!far || !enter("/run/netns/dd2"));
	check_eq(dd_open(&ex), 0);
	check(!far || !enter("/run/netns/dd1"));
	check_eq(dd_open(&im), 0);
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check_eq(dd_pin(ex, shared, PAGE), 0);
	if (list)
		list = dd_list(ex);
	check(list >= 0);
	attr = (struct dd_export_attr){
		.size = sizeof(attr), .addr = shared, .len = PAGE,
		.key_class = DD_KEY_NAME, .rights = DD_CAN_PUT | DD_CAN_GET | DD_CAN_CAS,
		.notify = list ? notify : DD_NOTIFY_NEVER, .users = DD_FOR_USER,
		.importers = 8, .list = list, .window = list ? 4 : 0, .cookie = 77,
	};
	strcpy((char *)attr.key, "lib_mem");
	check_eq(dd_export(ex, &attr, &segment), 0);
	check_eq(dd_import(im, owner(), attr.key_class, attr.key, attr.rights, &mem), 0);
}

static void end(void)
{
	check_eq(dd_unimport(mem), 0);
	check_eq(dd_shutdown(im), 0);
	check_eq(dd_shutdown(ex), 0);
	munmap(shared, PAGE);
}

static void put_get_and_swap(void)
{
	uint64_t word = 5, back = 0, was = 9;
	char text[16] = "";
	void *wired;

	begin(0, 0);
	check_eq(dd_mem_size(mem), PAGE);
	check_eq(dd_put(mem, "hello", 6, 100, 0), 0);
	check(!strcmp(shared + 100, "hello"));
	check_eq(dd_get(mem, text, 6, 100), 0);
	check(!strcmp(text, "hello"));
	check_eq(dd_put(mem, &word, 8, 8, 0), 0);
	check_eq(dd_cas(mem, 8, 8, 5, 6, &was, 0), 0);
	check_eq(was, 5);
	check_eq(dd_cas(mem, 8, 8, 5, 7, &was, 0), 0);
	check_eq(was, 6);
	check_eq(dd_cas(mem, 8, 4, 6, 8, &was, 0), 0);
	check_eq(was, 6);
	check_eq(*(uint64_t *)(shared + 8), 8);
	/* Wired memory on this side, too. */
	check_eq(dd_alloc(im, PAGE, &wired), 0);
	memset(wired, 'w', PAGE);
	check_eq(dd_put(mem, (char *)wired + 16, 32, 200, 0), 0);
	check(!memcmp(shared + 200, wired, 32));
	check_eq(dd_get(mem, (char *)wired + 8, 8, 8), 0);
	memcpy(&back, (char *)wired + 8, 8);
	check_eq(back, 8);
	end();
}

static void errors(void)
{
	uint64_t was, other;
	struct dd_mem *m;

	begin(0, 0);
	check_eq(dd_put(mem, &was, 8, PAGE - 7, 0), -ERANGE);
	check_eq(dd_put(mem, &was, 8, 0, 2), -EINVAL);
	check_eq(dd_put(mem, NULL, 8, 0, 0), -EFAULT);
	check_eq(dd_get(mem, (void *)8, 8, 0), -EFAULT);
	check_eq(dd_cas(mem, 4, 8, 0, 0, &was, 0), -EINVAL);
	check_eq(dd_cas(mem, 0, 5, 0, 0, &was, 0), -EINVAL);
	check_eq(dd_cas(mem, 0, 8, 0, 0, NULL, 0), -EINVAL);
	check_eq(dd_import(im, owner(), DD_KEY_NAME, attr.key, DD_CAN_PUT, NULL), -EINVAL);
	check_eq(dd_import(im, owner(), DD_KEY_NAME, attr.key, 0, &m), -EINVAL);
	check_eq(dd_import(im, owner(), DD_KEY_BUFFER, attr.key, DD_CAN_PUT, &m),
		 -ECONNREFUSED);
	check_eq(dd_import(im, 4095, DD_KEY_NAME, attr.key, DD_CAN_PUT, &m), -ENONET);
	check_eq(dd_export(ex, &attr, &other), -EEXIST);
	attr.size = 1;
	check_eq(dd_export(ex, &attr, &other), -EINVAL);
	attr.size = sizeof(attr);
	attr.len = PAGE + 4;
	check_eq(dd_export(ex, &attr, &other), -EINVAL);
	check_eq(dd_pin(ex, shared + 8, 8), -EEXIST);
	check_eq(dd_pin(ex, shared - 8, 16), -EEXIST);
	check_eq(dd_unpin(ex, shared + 8), -EINVAL);
	check_eq(dd_free(ex, shared), -EINVAL);
	check_eq(dd_unpin(ex, shared), 0);
	check_eq(dd_unpin(ex, shared), -EINVAL);
	/* The segment keeps its pages. */
	check_eq(dd_put(mem, &was, 8, 0, 0), 0);
	check_eq(dd_unexport(ex, segment), 0);
	check_eq(dd_put(mem, &was, 8, 0, 0), -ESTALE);
	check_eq(dd_unexport(ex, segment), -ENOENT);
	check_eq(dd_export_inhibit(ex, segment, 1), -ENOENT);
	check_eq(dd_unimport(NULL), -EINVAL);
	end();
}

static void the_owner_decides(void)
{
	uint64_t word = 1;
	struct dd_mem *m;

	begin(0, 0);
	check_eq(dd_export_inhibit(ex, segment, 2), -EINVAL);
	check_eq(dd_export_inhibit(ex, segment, 1), 0);
	check_eq(dd_put(mem, &word, 8, 0, 0), -EACCES);
	check_eq(dd_get(mem, &word, 8, 0), 0);
	check_eq(dd_export_inhibit(ex, segment, 0), 0);
	check_eq(dd_put(mem, &word, 8, 0, 0), 0);

	strcpy((char *)attr.key, "lib_mem_listed");
	attr.users = DD_FOR_LISTED;
	check_eq(dd_export(ex, &attr, &segment), 0);
	check_eq(dd_import(im, owner(), DD_KEY_NAME, attr.key, DD_CAN_GET, &m), -EACCES);
	check_eq(dd_export_grant(ex, segment, geteuid(), DD_CAN_GET), 0);
	check_eq(dd_import(im, owner(), DD_KEY_NAME, attr.key, DD_CAN_GET, &m), 0);
	check_eq(dd_put(m, &word, 8, 0, 0), -EACCES);
	check_eq(dd_unimport(m), 0);
	end();
}

static void notes_are_read(void)
{
	struct dd_list_record rec;
	uint64_t was;
	int fd;

	begin(1, DD_NOTIFY_IF_ASKED);
	fd = dd_list_fd(ex, attr.list);
	check(fd >= 0);
	check_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	check_eq(dd_put(mem, "x", 1, 33, 0), 0);
	check_eq(read(fd, &rec, sizeof(rec)), -1);
	check_eq(errno, EAGAIN);
	check_eq(dd_put(mem, "x", 1, 33, DD_PUT_NOTIFY), 0);
	check_eq(dd_cas(mem, 8, 8, 0, 1, &was, DD_PUT_NOTIFY), 0);
	check_eq(read(fd, &rec, sizeof(rec)), sizeof(rec));
	check_eq(rec.cookie, 77);
	check_eq(rec.offset, 33);
	check_eq(rec.op, DD_OP_PUT);
	check_eq(read(fd, &rec, sizeof(rec)), sizeof(rec));
	check_eq(rec.op, DD_OP_CAS);
	/* A window of notes, one that is withheld, and then a refusal. */
	for (int i = 0; i < 5; i++)
		check_eq(dd_put(mem, "x", 1, 0, DD_PUT_NOTIFY), 0);
	check_eq(dd_put(mem, "x", 1, 0, 0), -EBUSY);
	check_eq(read(fd, &rec, sizeof(rec)), sizeof(rec));
	check_eq(dd_put(mem, "x", 1, 0, 0), 0);
	close(fd);
	end();
}

static void forked_child(void)
{
	int status = -1;
	uint64_t word;
	pid_t pid;

	begin(0, 0);
	pid = fork();
	if (!pid) {
		struct dd_mem *m = mem;
		uint64_t s;

		_exit(dd_put(mem, "x", 1, 0, 0) != -ESTALE ||
		      dd_export(ex, &attr, &s) != -ESTALE ||
		      dd_pin(ex, &s, 8) != -ESTALE || dd_list(ex) != -ESTALE ||
		      dd_unexport(ex, segment) != -ESTALE ||
		      dd_unimport(m) != -ESTALE);
	}
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	check_eq(dd_get(mem, &word, 8, 0), 0);
	end();
}

#define THREADS	4
#define ROUNDS	2000

/* Adds 1 to a word by CAS, between large requests of memory that may fault. */
static void *add(void *arg)
{
	char *large = arg;
	uint64_t guess = 0, was;

	for (int i = 0; i < ROUNDS;) {
		if (dd_cas(mem, 64, 8, guess, guess + 1, &was, 0) ||
		    (i % 64 == 0 && dd_get(mem, large, 2048, 1024)))
			return "error";
		i += was == guess;
		guess = was == guess ? guess + 1 : was;
	}
	return NULL;
}

static void threads_share_an_import(void)
{
	static char large[THREADS][2048];
	pthread_t t[THREADS];
	void *result;

	begin(0, 0);
	for (int i = 0; i < THREADS; i++)
		check_eq(pthread_create(&t[i], NULL, add, large[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		check_eq(pthread_join(t[i], &result), 0);
		check(!result);
	}
	check_eq(*(volatile uint64_t *)(shared + 64), THREADS * ROUNDS);
	end();
}

static volatile sig_atomic_t handled, failed;

static void on_signal(int sig)
{
	(void)sig;
	if (dd_put(mem, (const void *)&handled, sizeof(handled), 128, 0))
		failed = 1;
	handled++;
}

/* Signals arrive at any instruction of the calls. */
static void a_handler_may_put(void)
{
	const struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 200 }, { 0, 200 } };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };
	uint64_t n = 0, was;

	begin(0, 0);
	/* Between nodes a handler takes longer than that. */
	if (far)
		often.it_interval.tv_usec = 20000;
	handled = failed = 0;
	check_eq(sigaction(SIGALRM, &sa, NULL), 0);
	check_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
	while (handled < 200 && !failed) {
		if (dd_cas(mem, 8, 8, n, n + 1, &was, 0) || was != n)
			failed = 1;
		n++;
	}
	check_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	check_eq(failed, 0);
	check_eq(*(volatile uint64_t *)(shared + 8), n);
	end();
}

int main(void)
{
	static const struct test tests[] = {
		TEST(put_get_and_swap),
		TEST(errors),
		TEST(the_owner_decides),
		TEST(notes_are_read),
		TEST(forked_child),
		TEST(threads_share_an_import),
		TEST(a_handler_may_put),
	};

	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
