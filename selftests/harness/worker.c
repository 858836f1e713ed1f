// SPDX-License-Identifier: LGPL-2.1-only
/*
 * worker.c - processes that call functions of a test
 *
 * Copyright (C) 2026 The dd authors
 *
 * Workers are forked by a process that never calls the library: on User-Mode Linux a child that maps
 * memory where its parent has memory may see the parent's. They have the addresses of the test's
 * functions.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "worker.h"

/* Accounts of the guest; see selftests/vm/image.sh. */
#define ALICE		1000
#define GROUP_DD	900
#define LIMIT		(8 << 20)	/* of memory that a user may lock */
#define COMMAND		1024

int *board;
bool far;
static char *command;	/* for root_run() */

struct worker {
	pid_t pid;
	int control;
	bool traced;
};

struct ask {
	job_t job;
	long a, b, c;
};

struct answer {
	long ret;
	int error;
};

static int nursery = -1;

/* Go to node 2. */
void go_far(void)
{
	const char *netns = getenv("DDP_PEER_NETNS");
	char path[64];
	int ns;

	snprintf(path, sizeof(path), "/run/netns/%s", netns ? netns : "dd2");
	ns = open(path, O_RDONLY | O_CLOEXEC);
	if (ns < 0 || setns(ns, CLONE_NEWNET))
		_exit(1);
	close(ns);
}

/*
 * Go on as a user of the device. Alice may kill Bob's processes, and sees the system calls
 * of her own.
 */
static void become(uid_t uid)
{
	const struct rlimit l = { .rlim_cur = LIMIT, .rlim_max = LIMIT };
	const gid_t dd = GROUP_DD;

	if (setrlimit(RLIMIT_MEMLOCK, &l) || setgroups(1, &dd) || setresgid(uid, uid, uid) ||
	    setresuid(uid, uid, ALICE) || prctl(PR_SET_DUMPABLE, 1))
		abort();
}

static bool ordinary(void)
{
	return getenv("WORKER_USER");
}

static void __attribute__((noreturn)) work(int fd, enum where where)
{
	struct answer answer = { 0 };
	struct ask ask;

	if (where == THERE && far)
		go_far();
	if (where == STRANGER)
		become(BOB);
	else if (where != ROOT && ordinary())
		become(ALICE);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The first result says that the process belongs to its user, which may kill it. */
	while (TEMP_FAILURE_RETRY(write(fd, &answer, sizeof(answer))) == sizeof(answer) &&
	       TEMP_FAILURE_RETRY(read(fd, &ask, sizeof(ask))) == sizeof(ask)) {
		answer.ret = ask.job(ask.a, ask.b, ask.c);
		answer.error = errno;
	}
	_exit(0);
}

/* Fork workers, and send the pid and the other end of their sockets. */
static void __attribute__((noreturn)) nurse(int fd)
{
	char space[CMSG_SPACE(sizeof(int))];
	enum where where;
	int ends[2];
	pid_t pid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	while (read(fd, &where, sizeof(where)) == sizeof(where)) {
		struct iovec iov = { &pid, sizeof(pid) };
		struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space,
				    .msg_controllen = sizeof(space) };
		struct cmsghdr *c;

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
			_exit(1);
		pid = fork();
		if (!pid) {
			signal(SIGCHLD, SIG_DFL);
			close(fd);
			close(ends[0]);
			work(ends[1], where);
		}
		close(ends[1]);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &ends[0], sizeof(int));
		if (sendmsg(fd, &m, 0) != sizeof(pid))
			_exit(1);
		close(ends[0]);
	}
	_exit(0);
}

static void nursery_start(void)
{
	int ends[2];
	pid_t pid;

	if (nursery >= 0)
		return;
	far = getenv("DDP_PEER_NODE") != NULL;
	board = mmap(NULL, BOARD * sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	command = mmap(NULL, COMMAND, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED || command == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		abort();
	pid = fork();
	if (!pid) {
		close(ends[0]);
		nurse(ends[1]);
	}
	close(ends[1]);
	nursery = ends[0];
	if (ordinary())
		become(ALICE);
}

struct worker *worker_new(enum where where)
{
	struct worker *w = calloc(1, sizeof(*w));
	char space[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &w->pid, sizeof(w->pid) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space,
			    .msg_controllen = sizeof(space) };

	nursery_start();
	if (write(nursery, &where, sizeof(where)) != sizeof(where) ||
	    TEMP_FAILURE_RETRY(recvmsg(nursery, &m, MSG_CMSG_CLOEXEC)) != sizeof(w->pid))
		abort();
	memcpy(&w->control, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	check_eq(worker_result(w), 0);
	return w;
}

void worker_begin(struct worker *w, job_t job, long a, long b, long c)
{
	const struct ask ask = { job, a, b, c };

	check_eq(write(w->control, &ask, sizeof(ask)), sizeof(ask));
}

static bool answered(struct worker *w, struct answer *a)
{
	return TEMP_FAILURE_RETRY(read(w->control, a, sizeof(*a))) == sizeof(*a);
}

long worker_result(struct worker *w)
{
	struct answer a = { .ret = -1 };

	if (!answered(w, &a))
		check(!"the worker answers");
	errno = a.error;
	return a.ret;
}

long worker_do(struct worker *w, job_t job, long a, long b, long c)
{
	worker_begin(w, job, a, b, c);
	return worker_result(w);
}

long worker_end_result(struct worker *w)
{
	struct answer a;

	if (answered(w, &a)) {
		worker_end(w);
		return a.ret;
	}
	worker_forget(w);
	return 1000;
}

/* The signal with which the worker has stopped. */
static int stopped(const struct worker *w)
{
	int status;

	return waitpid(w->pid, &status, __WALL) == w->pid && WIFSTOPPED(status) ?
	       WSTOPSIG(status) : 0;
}

long worker_steps(struct worker *w, job_t job, long a, long b, long c)
{
	long n = 0;
	int sig;

	if (!w->traced)
		check_eq(ptrace(PTRACE_SEIZE, w->pid, 0, 0), 0);
	w->traced = true;
	worker_begin(w, job, a, b, c);
	check_eq(stopped(w), SIGUSR1);
	do {
		ptrace(PTRACE_SINGLESTEP, w->pid, 0, 0);
		sig = stopped(w);
		n += sig == SIGTRAP;
	} while (sig == SIGTRAP);
	check_eq(sig, SIGUSR2);
	ptrace(PTRACE_CONT, w->pid, 0, 0);
	check_eq(worker_result(w), 0);
	return n;
}

void worker_forget(struct worker *w)
{
	close(w->control);
	free(w);
}

pid_t worker_pid(const struct worker *w)
{
	return w->pid;
}

void worker_signal(const struct worker *w, int sig)
{
	check_eq(kill(w->pid, sig), 0);
}

/* Its end of the socket is closed when it has ended. */
void worker_end(struct worker *w)
{
	char byte;

	worker_signal(w, SIGKILL);
	while (TEMP_FAILURE_RETRY(read(w->control, &byte, 1)) > 0)
		;
	worker_forget(w);
}

bool soon(bool (*condition)(void))
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; i < 10000; i++) {
		if (condition())
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static const int *awaited;
static int expected;

static bool arrived(void)
{
	return __atomic_load_n(awaited, __ATOMIC_ACQUIRE) == expected;
}

bool arrives(const int *word, int value)
{
	awaited = word;
	expected = value;
	return soon(arrived);
}

void fill(int *words, long n, int seed)
{
	for (long i = 0; i < n; i++)
		words[i] = i * 2654435761u + seed;
}

long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

int run(const char *shell)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		/* The sh of a guest has an ip and a tc of its own. */
		execlp("bash", "bash", "-c", shell, NULL);
		_exit(1);
	}
	check_eq(TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)), pid);
	return status;
}

static long job_run(long a, long b, long c)
{
	return run(command);
}

int run_at(enum where where, const char *shell)
{
	struct worker *w = worker_new(where);
	int status;

	snprintf(command, COMMAND, "%s", shell);
	status = worker_do(w, job_run, 0, 0, 0);
	worker_forget(w);
	return status;
}

int root_run(const char *shell)
{
	return run_at(ROOT, shell);
}
