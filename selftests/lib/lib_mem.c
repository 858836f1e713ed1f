// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_mem.c - one-sided memory by the calls of dd_mem.h
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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

/* Imports have windows on their segments. */
static bool direct;

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

#define ALL	(DD_CAN_PUT | DD_CAN_GET | DD_CAN_CAS)

static const unsigned char key[DD_KEY_SIZE] = "lib_mem";

static struct dd_export_attr attributes(void)
{
	struct dd_export_attr a = {
		.size = sizeof(a), .len = PAGE, .key_class = DD_KEY_NAME, .rights = ALL,
		.notify = DD_NOTIFY_NEVER, .users = DD_FOR_USER, .importers = 8, .cookie = 77,
	};

	memcpy(a.key, key, sizeof(key));
	return a;
}

static void begin(int list, unsigned int notify)
{
	const char *by_kernel = getenv("DD_DIRECT");

	far = getenv("DDP_PEER_NODE") != NULL;
	direct = !far && (!by_kernel || strcmp(by_kernel, "0"));
	check(!far || !enter("/run/netns/dd2"));
	check_eq(dd_open(&ex), 0);
	check(!far || !enter("/run/netns/dd1"));
	check_eq(dd_open(&im), 0);
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check_eq(dd_pin(ex, shared, PAGE), 0);
	if (list)
		list = dd_list(ex);
	check(list >= 0);
	attr = attributes();
	attr.addr = shared;
	if (list) {
		attr.notify = notify;
		attr.list = list;
		attr.window = 4;
	}
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

static sigjmp_buf back;

static void on_fault(int sig)
{
	siglongjmp(back, sig);
}

/* Whether the calling thread or the kernel finds that an address is bad. */
static int put_from_nowhere(void)
{
	int sig = sigsetjmp(back, 1);

	return sig ? sig : dd_put(mem, NULL, 8, 0, 0);
}

static int get_to_nowhere(void)
{
	int sig = sigsetjmp(back, 1);

	return sig ? sig : dd_get(mem, (void *)8, 8, 0);
}

static void bad_addresses(void)
{
	const struct sigaction sa = { .sa_handler = on_fault };
	struct sigaction old;

	check_eq(sigaction(SIGSEGV, &sa, &old), 0);
	check_eq(put_from_nowhere(), direct ? SIGSEGV : -EFAULT);
	check_eq(get_to_nowhere(), direct ? SIGSEGV : -EFAULT);
	check_eq(sigaction(SIGSEGV, &old, NULL), 0);
}

static void errors(void)
{
	uint64_t was, other;
	struct dd_mem *m;

	begin(0, 0);
	check_eq(dd_put(mem, &was, 8, PAGE - 7, 0), -ERANGE);
	check_eq(dd_put(mem, &was, 8, 0, 2), -EINVAL);
	bad_addresses();
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
	attr.flags = DD_SEGMENT_FLAGS + 1;
	check_eq(dd_export(ex, &attr, &other), -EINVAL);
	attr.flags = 0;
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

static void notes_with_bytes(void)
{
	struct dd_list_record rec;
	char bytes[65] = "";
	int fd;

	begin(1, DD_NOTIFY_IF_ASKED);
	fd = dd_list_fd(ex, attr.list);
	check(fd >= 0);
	check_eq(dd_note(mem, bytes, 65), -ERANGE);
	for (int i = 0; i < 4; i++)
		check_eq(dd_note(mem, bytes, 64 - i), 0);
	check_eq(dd_note(mem, bytes, 1), -EAGAIN);
	for (int i = 0; i < 4; i++) {
		check_eq(read(fd, &rec, sizeof(rec)), sizeof(rec));
		check_eq(rec.op, DD_OP_NOTE);
		check_eq(rec.count, 64 - i);
	}
	check_eq(dd_note(mem, bytes, 0), 0);
	check_eq(read(fd, &rec, sizeof(rec)), sizeof(rec));
	check_eq(rec.count, 0);
	close(fd);
	end();
}

/* Refused at once on one node, and as a rule later by another node. */
static int64_t put_refused(void)
{
	int64_t n = dd_put_async(mem, "x", 1, 0, 0);

	check(far || n < 0);
	return n < 0 ? n : dd_wait(mem, n, -1);
}

static void requests_under_way(void)
{
	static uint64_t words[16];
	uint64_t *wired, sum = 0;
	int64_t n[16];
	int i, k;

	begin(0, 0);
	check_eq(dd_alloc(im, PAGE, (void **)&wired), 0);
	for (k = 0; k < 20; k++) {
		for (i = 0; i < 16; i++) {
			wired[i] = 100 * k + i;
			n[i] = dd_put_async(mem, wired + i, 8, 8 * i, 0);
			check(far ? n[i] > 0 : !n[i]);
		}
		for (i = 0; i < 16; i++)
			check_eq(dd_wait(mem, n[i], -1), 0);
		check(!memcmp(shared, wired, sizeof(words)));
		for (i = 0; i < 16; i++)
			check((n[i] = dd_get_async(mem, words + i, 8, 8 * i)) >= 0);
		check_eq(dd_wait(mem, n[15], -1), 0);
		check(!memcmp(shared, words, sizeof(words)));
	}
	for (i = 0; i < 200; i++) {
		/* Only the last one is waited for when there is no room. */
		while ((n[0] = dd_cas_async(mem, 0, 8, 1900 + i, 1901 + i, words, 0)) == -EBUSY)
			check_eq(dd_fence(mem, -1), 0);
		check(n[0] >= 0);
	}
	check_eq(dd_fence(mem, -1), 0);
	check_eq(words[0], 2099);
	check_eq(*(uint64_t *)shared, 2100);

	check_eq(dd_put_async(mem, "x", 1, PAGE, 0), -ERANGE);
	check_eq(dd_put_async(mem, "x", 1, 0, 2), -EINVAL);
	check_eq(dd_cas_async(mem, 0, 8, 0, 0, NULL, 0), -EINVAL);
	check_eq(dd_export_inhibit(ex, segment, 1), 0);
	check_eq(put_refused(), -EACCES);
	if (far) {
		check_eq(dd_put(mem, "x", 1, 0, 0), -EACCES);
		for (i = 0; i < 3 * 64; i++) {
			while ((n[0] = dd_get_async(mem, words, 8, 0)) == -EBUSY)
				check_eq(dd_wait(mem, sum, -1), 0);
			check(n[0] > 0);
			sum = n[0];
		}
		check_eq(dd_wait(mem, sum - 64, 0), -EINVAL);
		check_eq(dd_fence(mem, -1), -EACCES);
	}
	check_eq(dd_fence(mem, -1), 0);
	check_eq(dd_export_inhibit(ex, segment, 0), 0);
	check_eq(dd_wait(mem, 1 << 30, 0), -EINVAL);
	check_eq(dd_wait(mem, -1, 0), -EINVAL);
	check_eq(dd_wait(mem, 0, 0), 0);
	check_eq(dd_fence(mem, -2), -EINVAL);
	check_eq(dd_unexport(ex, segment), 0);
	check_eq(put_refused(), -ESTALE);
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
		      dd_get(mem, &word, 8, 0) != -ESTALE ||
		      dd_cas(mem, 0, 8, 0, 1, &word, 0) != -ESTALE ||
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

/* ---- windows ------------------------------------------------------------ */

/* Requests of the only import that the kernel has executed. */
static long long by_kernel(void)
{
	struct dd_importer one;
	struct dd_segment_info info = { .size = sizeof(info), .segment = segment,
					.count = 1, .importers = (uintptr_t)&one };

	check_eq(ioctl(dd_fd(ex), DD_IOC_SEGMENT_INFO, &info), 0);
	check_eq(info.total, 1);
	return one.count;
}

static int control(unsigned int what, uint64_t value)
{
	struct dd_segment_ctl c = { .size = sizeof(c), .what = what, .segment = segment,
				    .value = value };

	return ioctl(dd_fd(ex), DD_IOC_SEGMENT_CTL, &c);
}

static bool silent;

/*
 * In strict mode, a thread is killed by any system call but that which ends it. The kernel
 * of User-Mode Linux does not have that mode.
 */
static void *requests(void *arg)
{
	static char bytes[PAGE];
	bool good = true;
	uint64_t was;

	if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) || errno == EINVAL) {
		for (int i = 0; i < 100; i++)
			good = good && !dd_put(mem, bytes, 64, 0, 0) &&
			       !dd_put(mem, bytes, PAGE, 0, 0) &&
			       !dd_get(mem, bytes + 1, 999, 5) &&
			       !dd_cas(mem, 8, 8, 0, 1, &was, 0) && !was &&
			       !dd_cas(mem, 8, 4, 1, 0, &was, 0) && was == 1;
		__atomic_store_n((bool *)arg, good, __ATOMIC_RELAXED);
	}
	syscall(SYS_exit, 0);
	return NULL;
}

static void windows_need_no_system_call(void)
{
	pthread_t t;

	begin(0, 0);
	if (direct) {
		silent = false;
		check_eq(pthread_create(&t, NULL, requests, &silent), 0);
		check_eq(pthread_join(t, NULL), 0);
		check(silent);
		check_eq(by_kernel(), 0);
	}
	end();
}

/* Import again after a change of the segment; which requests need the kernel? */
static void reexport(unsigned int rights, unsigned int flags, size_t len, int put, int get,
		     int cas)
{
	static char bytes[64];
	uint64_t was;
	int ret;

	check_eq(dd_unimport(mem), 0);
	check_eq(dd_unexport(ex, segment), 0);
	attr.flags = flags;
	attr.len = len;
	check_eq(dd_export(ex, &attr, &segment), 0);
	check_eq(dd_import(im, owner(), attr.key_class, attr.key, rights, &mem), 0);
	check_eq(by_kernel(), 0);
	ret = dd_put(mem, bytes, 64, 0, 0);
	check_eq(ret, rights & DD_CAN_PUT ? 0 : -EACCES);
	check_eq(by_kernel(), !direct && !ret ? 1 : put);
	ret = dd_get(mem, bytes, 64, 0);
	check_eq(ret, rights & DD_CAN_GET ? 0 : -EACCES);
	check_eq(by_kernel(), !direct ? by_kernel() : put + get);
	ret = dd_cas(mem, 8, 8, 0, 0, &was, 0);
	check_eq(ret, rights & DD_CAN_CAS ? 0 : -EACCES);
	check_eq(by_kernel(), !direct ? by_kernel() : put + get + cas);
}

static void the_segment_decides_on_windows(void)
{
	begin(0, 0);
	reexport(ALL, 0, PAGE, 0, 0, 0);
	reexport(ALL, DD_EXPORT_NODIRECT, PAGE, 1, 1, 1);
	reexport(ALL, 0, PAGE - 64, 1, 1, 1);
	reexport(ALL, DD_EXPORT_WHOLE_PAGES, PAGE - 64, 0, 0, 0);
	reexport(DD_CAN_GET, 0, PAGE, 0, 0, 0);
	reexport(DD_CAN_PUT, 0, PAGE, 1, 0, 0);
	reexport(DD_CAN_GET | DD_CAN_PUT, 0, PAGE, 0, 0, 0);
	reexport(DD_CAN_GET | DD_CAN_CAS, 0, PAGE, 0, 0, 1);
	end();
}

/*
 * A child that waits for SIGCONT. It is made before the handles of its parent: on User-Mode
 * Linux it sees what the parent has mapped, where it maps its own.
 */
static pid_t child(int (*run)(int), int arg)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		raise(SIGSTOP);
		_exit(run(arg));
	}
	check(pid > 0 && waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	return pid;
}

/* Let the child go on until it stops again or ends. */
static void child_run(pid_t pid)
{
	int status = -1;

	check_eq(kill(pid, SIGCONT), 0);
	check_eq(waitpid(pid, &status, WUNTRACED), pid);
	check(WIFSTOPPED(status) || !status);
}

static void child_kill(pid_t pid)
{
	check_eq(kill(pid, SIGKILL), 0);
	check_eq(waitpid(pid, NULL, 0), pid);
}

static int put_as_another_user(int arg)
{
	struct dd_mem *m;
	struct dd *h;

	(void)arg;
	if (dd_open(&h) || setresuid(1234, 1234, 1234) ||
	    dd_import(h, dd_node(h), DD_KEY_NAME, key, DD_CAN_PUT | DD_CAN_GET, &m) ||
	    dd_put(m, "x", 1, 0, 0))
		return 1;
	/* While the import exists, the exporter can count its requests. */
	raise(SIGSTOP);
	return 0;
}

static void another_user_needs_permission(void)
{
	for (unsigned int flags = 0; flags <= DD_EXPORT_DIRECT_ANY;
	     flags += DD_EXPORT_DIRECT_ANY) {
		pid_t pid = child(put_as_another_user, 0);

		begin(0, 0);
		if (!far) {
			check_eq(dd_unimport(mem), 0);
			check_eq(dd_unexport(ex, segment), 0);
			attr.users = DD_FOR_ANY;
			attr.flags = flags;
			check_eq(dd_export(ex, &attr, &segment), 0);
			child_run(pid);
			check_eq(by_kernel(), !direct || !flags);
			check_eq(dd_import(im, owner(), attr.key_class, attr.key,
					   attr.rights, &mem), 0);
		}
		child_kill(pid);
		end();
	}
}

/* A word that swaps count, and bytes that a writer stores, until the segment ends. */
#define COUNT	64
#define BYTES	1024

struct worker {
	pthread_t thread;
	uint64_t done;		/* requests that have succeeded */
	int error;
};

static void *write_on(void *arg)
{
	struct worker *w = arg;
	char bytes[PAGE - BYTES];

	for (unsigned int n = 0; !w->error; n++) {
		int ret;

		memset(bytes, 1 + n % 255, sizeof(bytes));
		ret = dd_put(mem, bytes, n & 1 ? 64 : sizeof(bytes), BYTES, 0);
		if (!ret)
			__atomic_add_fetch(&w->done, 1, __ATOMIC_RELAXED);
		else if (ret != -EACCES)
			__atomic_store_n(&w->error, ret, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *count_on(void *arg)
{
	struct worker *w = arg;
	uint64_t guess = 0, was;

	while (!w->error) {
		int ret = dd_cas(mem, COUNT, 8, guess, guess + 1, &was, 0);

		if (!ret && was == guess)
			__atomic_add_fetch(&w->done, 1, __ATOMIC_RELAXED);
		if (!ret)
			guess = was == guess ? guess + 1 : was;
		else if (ret != -EACCES)
			__atomic_store_n(&w->error, ret, __ATOMIC_RELAXED);
	}
	return NULL;
}

static struct worker writer, counter;

static void start(void)
{
	memset(&writer, 0, sizeof(writer));
	memset(&counter, 0, sizeof(counter));
	check_eq(pthread_create(&writer.thread, NULL, write_on, &writer), 0);
	check_eq(pthread_create(&counter.thread, NULL, count_on, &counter), 0);
}

static uint64_t done(const struct worker *w)
{
	return __atomic_load_n(&w->done, __ATOMIC_RELAXED);
}

static void progress(void)
{
	uint64_t puts = done(&writer), swaps = done(&counter);

	while ((done(&writer) < puts + 10 || done(&counter) < swaps + 10) &&
	       !__atomic_load_n(&writer.error, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&counter.error, __ATOMIC_RELAXED))
		sched_yield();
	check(done(&writer) >= puts + 10 && done(&counter) >= swaps + 10);
}

/* Neither a byte nor a swap arrives. */
static void still(void)
{
	uint64_t count = *(volatile uint64_t *)(shared + COUNT);

	memset(shared + BYTES, 0, PAGE - BYTES);
	for (int n = 0; n < 50; n++) {
		sched_yield();
		for (int i = BYTES; i < PAGE; i++)
			if (((volatile char *)shared)[i]) {
				check(!"a byte arrived");
				return;
			}
	}
	check_eq(*(volatile uint64_t *)(shared + COUNT), count);
}

static void finish(void)
{
	check_eq(pthread_join(writer.thread, NULL), 0);
	check_eq(pthread_join(counter.thread, NULL), 0);
	check_eq(writer.error, -ESTALE);
	check_eq(counter.error, -ESTALE);
	check_eq(*(volatile uint64_t *)(shared + COUNT), counter.done);
}

static void nothing_arrives_while_inhibited(void)
{
	begin(0, 0);
	start();
	for (int i = 0; i < 50; i++) {
		progress();
		check_eq(dd_export_inhibit(ex, segment, 1), 0);
		still();
		check_eq(dd_export_inhibit(ex, segment, 0), 0);
	}
	progress();
	check_eq(dd_unexport(ex, segment), 0);
	still();
	finish();
	end();
}

/* While the policy is that every request notifies, the kernel executes them. */
static void a_policy_takes_the_window_away(void)
{
	begin(1, DD_NOTIFY_IF_ASKED);
	check_eq(control(DD_SEGMENT_POLICY, DD_POLICY_ALWAYS), 0);
	check_eq(dd_put(mem, "x", 1, 0, 0), 0);
	check_eq(by_kernel(), 1);
	check_eq(control(DD_SEGMENT_POLICY, DD_POLICY_NEVER), 0);
	start();
	for (int i = 0; i < 50; i++) {
		progress();
		check_eq(control(DD_SEGMENT_POLICY, i & 1 ? DD_POLICY_NEVER :
				 DD_POLICY_CONDITIONAL), 0);
		check_eq(dd_export_inhibit(ex, segment, i & 1), 0);
		check_eq(dd_export_inhibit(ex, segment, 0), 0);
	}
	check_eq(dd_unexport(ex, segment), 0);
	still();
	finish();
	end();
}

static void a_denied_importer_stores_no_more(void)
{
	struct dd_importer one = { 0 };
	struct dd_segment_info info = { .size = sizeof(info), .count = 1,
					.importers = (uintptr_t)&one };

	begin(0, 0);
	start();
	progress();
	info.segment = segment;
	check_eq(ioctl(dd_fd(ex), DD_IOC_SEGMENT_INFO, &info), 0);
	check_eq(control(DD_SEGMENT_DENY, one.channel), 0);
	still();
	finish();
	end();
}

static int export_shared(int arg)
{
	uint64_t s;

	(void)arg;
	attr = attributes();
	attr.addr = shared;
	if (dd_open(&ex) || dd_pin(ex, shared, PAGE) || dd_export(ex, &attr, &s))
		return 1;
	raise(SIGSTOP);
	return 0;
}

static void the_exporter_is_killed(void)
{
	char *both = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	shared = both;
	pid = child(export_shared, 0);
	begin(0, 0);
	if (!far) {
		check_eq(dd_unimport(mem), 0);
		check_eq(dd_unexport(ex, segment), 0);
		munmap(shared, PAGE);
		shared = both;
		child_run(pid);
		check_eq(dd_import(im, owner(), attr.key_class, attr.key, attr.rights, &mem), 0);
		start();
		progress();
		child_kill(pid);
		finish();
		still();
	} else {
		child_kill(pid);
	}
	end();
}

#define PROCESSES	4

/* Every second process goes by the kernel. */
static int count_in_process(int number)
{
	uint64_t guess = 0, was, n = 0;
	struct dd_mem *m;
	struct dd *h;

	if ((number & 1 && setenv("DD_DIRECT", "0", 1)) || dd_open(&h) ||
	    dd_import(h, far ? 2 : dd_node(h), DD_KEY_NAME, key, ALL, &m))
		return 1;
	while (n < ROUNDS) {
		if (dd_cas(m, COUNT, 8, guess, guess + 1, &was, 0))
			return 1;
		n += was == guess;
		guess = was == guess ? guess + 1 : was;
	}
	return dd_unimport(m) || dd_shutdown(h);
}

static void windows_and_kernel_swap_one_word(void)
{
	pid_t pids[PROCESSES];
	int status;

	far = getenv("DDP_PEER_NODE") != NULL;
	for (int i = 0; i < PROCESSES; i++)
		pids[i] = child(count_in_process, i);
	begin(0, 0);
	for (int i = 0; i < PROCESSES; i++)
		check_eq(kill(pids[i], SIGCONT), 0);
	for (int i = 0; i < PROCESSES; i++) {
		check_eq(waitpid(pids[i], &status, 0), pids[i]);
		check_eq(status, 0);
	}
	check_eq(*(volatile uint64_t *)(shared + COUNT), PROCESSES * ROUNDS);
	end();
}

static bool stop;

static void *flip(void *arg)
{
	static const uint64_t values[] = { 0, UINT64_MAX };

	for (unsigned int n = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); n++)
		if (dd_put(arg, &values[n & 1], 8, COUNT, 0))
			return "error";
	return NULL;
}

/* Wherever the importer wants a word, it gets an old one or a new one, not a mix. */
static void words_are_read_whole(void)
{
	char bytes[16], word[8];
	void *result;
	pthread_t t;
	int torn = 0;

	begin(0, 0);
	if (direct) {
		stop = false;
		check_eq(pthread_create(&t, NULL, flip, mem), 0);
		for (int i = 0; i < 80000; i++) {
			check_eq(dd_get(mem, bytes + i % 8, 8, COUNT), 0);
			memset(word, bytes[i % 8], 8);
			torn += memcmp(bytes + i % 8, word, 8) != 0;
		}
		__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
		check_eq(pthread_join(t, &result), 0);
		check(!result);
		check_eq(torn, 0);
	}
	end();
}

/* All lengths and alignments arrive, and nothing beside them. */
static void bytes_of_any_length(void)
{
	static char from[PAGE], to[PAGE], want[PAGE];

	begin(0, 0);
	for (int i = 0; i < PAGE; i++)
		from[i] = 1 + i % 251;
	for (int len = 0, step = far ? 37 : 1; len < 700; len += step) {
		int src = len % 11, dst = len % 13;

		memset(shared, 0, PAGE);
		memset(want, 0, PAGE);
		memset(to, 0, PAGE);
		memcpy(want + dst, from + src, len);
		check_eq(dd_put(mem, from + src, len, dst, 0), 0);
		check(!memcmp(shared, want, PAGE));
		memset(want, 0, PAGE);
		memcpy(want + src, from + src, len);
		check_eq(dd_get(mem, to + src, len, dst), 0);
		check(!memcmp(to, want, PAGE));
	}
	end();
}

/* A window would keep the handle's context, and its segments. */
static void a_shutdown_ends_imports(void)
{
	struct dd_mem *own;
	uint64_t word = 0;

	begin(0, 0);
	if (!far) {
		check_eq(dd_import(ex, owner(), attr.key_class, attr.key, attr.rights, &own), 0);
		check_eq(dd_put(own, &word, 8, 0, 0), 0);
		check_eq(dd_shutdown(ex), 0);
		check_eq(dd_put(mem, &word, 8, 0, 0), -ESTALE);
		check_eq(dd_open(&ex), 0);
	}
	end();
}

int main(void)
{
	static const struct test tests[] = {
		TEST(put_get_and_swap),
		TEST(errors),
		TEST(the_owner_decides),
		TEST(notes_are_read),
		TEST(notes_with_bytes),
		TEST(requests_under_way),
		TEST(forked_child),
		TEST(threads_share_an_import),
		TEST(a_handler_may_put),
		TEST(windows_need_no_system_call),
		TEST(the_segment_decides_on_windows),
		TEST(another_user_needs_permission),
		TEST(nothing_arrives_while_inhibited),
		TEST(a_policy_takes_the_window_away),
		TEST(a_denied_importer_stores_no_more),
		TEST(the_exporter_is_killed),
		TEST(windows_and_kernel_swap_one_word),
		TEST(words_are_read_whole),
		TEST(bytes_of_any_length),
		TEST(a_shutdown_ends_imports),
	};

	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
