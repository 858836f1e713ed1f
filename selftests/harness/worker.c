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
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"
#include "worker.h"

#define LIMIT	(8 << 20)	/* of memory that a user may lock */
#define HANGS	200		/* seconds; a list gives most programs a little more */

bool is_far;
struct peer_shm *peer_shm;

/* What the process that forks is to make. */
struct birth {
	enum where where;
	uid_t uid;
	struct peer_shm *shm;
};

struct ask {
	job_t job;
	long a, b, c;
};

struct answer {
	long ret;
	int error;
};

#define WORKERS	128	/* at a time */
#define SHM	(96 << 10)	/* bytes of memory for each */

static struct worker workers[WORKERS];
static char *memory;			/* for all */
static int nursery = -1;

static void __attribute__((noreturn)) die(const struct worker *w, const char *what)
{
	fprintf(stderr, "# worker %d: %s\n", w ? w->pid : 0, what);
	abort();
}

bool across_nodes(void)
{
	return getenv("DDP_PEER_NETNS");
}

void go_far(void)
{
	int ns = open("/run/netns/dd2", O_RDONLY | O_CLOEXEC);

	if (ns < 0 || setns(ns, CLONE_NEWNET))
		die(NULL, "there is no network namespace dd2");
	close(ns);
	is_far = true;
}

/* Alice may kill Bob's processes, and sees the system calls of her own. */
int become_user(uid_t uid)
{
	const pid_t parent = getppid();
	const gid_t dd = DD_GID;

	if (setgroups(1, &dd) || setresgid(uid, uid, uid) || setresuid(uid, uid, ALICE) ||
	    prctl(PR_SET_DUMPABLE, 1) || prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -1;
	if (getppid() != parent)
		_exit(125);
	return 0;
}

void become(uid_t uid)
{
	const struct rlimit l = { .rlim_cur = LIMIT, .rlim_max = LIMIT };

	if (setrlimit(RLIMIT_MEMLOCK, &l) || become_user(uid))
		abort();
}

static bool ordinary(void)
{
	return getenv("WORKER_USER");
}

static void __attribute__((noreturn)) work(int fd, const struct birth *birth)
{
	struct answer answer = { 0 };
	struct ask ask;

	peer_shm = birth->shm;
	if (birth->where == THERE && across_nodes())
		go_far();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (birth->uid)
		become(birth->uid);
	/* The first result says that the process belongs to its user, which may kill it. */
	while (TEMP_FAILURE_RETRY(write(fd, &answer, sizeof(answer))) == sizeof(answer) &&
	       TEMP_FAILURE_RETRY(read(fd, &ask, sizeof(ask))) == sizeof(ask)) {
		errno = 0;
		answer.ret = ask.job(ask.a, ask.b, ask.c);
		answer.error = errno;
		fflush(stdout);
	}
	_exit(0);
}

/* Fork workers, and send the pid and the other end of their sockets. */
static void __attribute__((noreturn)) nurse(int fd)
{
	char space[CMSG_SPACE(sizeof(int))];
	struct birth birth;
	int ends[2];
	pid_t pid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	while (read(fd, &birth, sizeof(birth)) == sizeof(birth)) {
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
			work(ends[1], &birth);
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
	memory = mmap(NULL, WORKERS * SHM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		die(NULL, "no memory or no socket");
	fflush(stdout);
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

struct worker *worker_new_user(enum where where, uid_t uid)
{
	struct birth birth = { where, uid };
	char space[CMSG_SPACE(sizeof(int))];
	struct worker *w = workers;
	struct iovec iov = { .iov_len = sizeof(w->pid) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space,
			    .msg_controllen = sizeof(space) };

	nursery_start();
	while (w->used)
		if (++w == workers + WORKERS)
			die(NULL, "too many");
	birth.shm = (struct peer_shm *)(memory + (w - workers) * SHM);
	*w = (struct worker){ .used = true, .shm = birth.shm };
	iov.iov_base = &w->pid;
	madvise(w->shm, SHM, MADV_REMOVE);
	if (write(nursery, &birth, sizeof(birth)) != sizeof(birth) ||
	    TEMP_FAILURE_RETRY(recvmsg(nursery, &m, MSG_CMSG_CLOEXEC)) != sizeof(w->pid))
		die(w, "cannot be made");
	memcpy(&w->control, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	w->pidfd = pidfd_open(w->pid, 0);
	if (w->pidfd < 0 || worker_result(w))
		die(w, "does not start");
	return w;
}

struct worker *worker_new(enum where where)
{
	return worker_new_user(where, where == STRANGER ? BOB :
				      where != ROOT && ordinary() ? ALICE : 0);
}

void worker_begin(struct worker *w, job_t job, long a, long b, long c)
{
	const struct ask ask = { job, a, b, c };

	if (write(w->control, &ask, sizeof(ask)) != sizeof(ask))
		die(w, "has ended");
}

bool worker_ready(struct worker *w)
{
	struct pollfd p = { .fd = w->control, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static bool answered(struct worker *w, struct answer *a)
{
	struct pollfd p = { .fd = w->control, .events = POLLIN };
	const char *scale = getenv("DD_SCALE");
	int slow = access("/proc/self/fail-nth", F_OK) ? 1 : 3;

	if (scale && atoi(scale) > slow)
		slow = atoi(scale);
	if (!TEMP_FAILURE_RETRY(poll(&p, 1, slow * HANGS * 1000)))
		die(w, "does not answer");
	return TEMP_FAILURE_RETRY(read(w->control, a, sizeof(*a))) == sizeof(*a);
}

long worker_result(struct worker *w)
{
	struct answer a;

	if (!answered(w, &a))
		die(w, "has ended and not answered");
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

/* How often the function stops the worker, which goes on with @request after @between. */
static long stops(struct worker *w, enum __ptrace_request request, void (*between)(void), job_t job,
		  long a, long b, long c)
{
	long n = 0;
	int sig;

	if (!w->traced && ptrace(PTRACE_SEIZE, w->pid, 0, 0))
		die(w, "cannot be traced");
	w->traced = true;
	worker_begin(w, job, a, b, c);
	if (stopped(w) != SIGUSR1)
		die(w, "does not begin");
	do {
		ptrace(request, w->pid, 0, 0);
		sig = stopped(w);
		n += sig == SIGTRAP;
		if (between && sig == SIGTRAP)
			between();
	} while (sig == SIGTRAP);
	ptrace(PTRACE_CONT, w->pid, 0, 0);
	if (sig != SIGUSR2 || worker_result(w))
		die(w, "does not end");
	return n;
}

long worker_steps(struct worker *w, job_t job, long a, long b, long c)
{
	return stops(w, PTRACE_SINGLESTEP, NULL, job, a, b, c);
}

long worker_steps_with(struct worker *w, void (*between)(void), job_t job, long a, long b, long c)
{
	return stops(w, PTRACE_SINGLESTEP, between, job, a, b, c);
}

long worker_syscalls(struct worker *w, job_t job, long a, long b, long c)
{
	return stops(w, PTRACE_SYSCALL, NULL, job, a, b, c);
}

/* The naps become longer, up to 8 ms, to leave the processor to what the caller waits for. */
bool soon(bool (*condition)(void))
{
	time_t end = time(NULL) + 20;
	useconds_t nap = 250;

	while (!condition()) {
		if (time(NULL) > end)
			return false;
		usleep(nap);
		nap = nap < 8000 ? 2 * nap : nap;
	}
	return true;
}

static pid_t watched;

static bool sleeps(void)
{
	return asleep_in(watched, SYS_ioctl);
}

bool worker_sleeps(struct worker *w)
{
	watched = w->pid;
	return soon(sleeps);
}

pid_t worker_pid(const struct worker *w)
{
	return w->pid;
}

void worker_signal(const struct worker *w, int sig)
{
	if (pidfd_send_signal(w->pidfd, sig, NULL, 0))
		die(w, "has ended before its signal");
}

void worker_end(struct worker *w)
{
	struct pollfd end = { .fd = w->pidfd, .events = POLLIN };

	/* It may have ended by itself. */
	pidfd_send_signal(w->pidfd, SIGKILL, NULL, 0);
	TEMP_FAILURE_RETRY(poll(&end, 1, -1));
	worker_forget(w);
}

void worker_forget(struct worker *w)
{
	close(w->control);
	close(w->pidfd);
	w->used = false;
}
