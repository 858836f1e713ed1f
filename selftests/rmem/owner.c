// SPDX-License-Identifier: LGPL-2.1-only
/*
 * owner.c - processes that export and import segments, and name clerks, for tests
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dd_mem.h"
#include "owner.h"
#include "registry.h"

#define SEGMENTS 64	/* that an owner has at a time, at most */

char *board;
bool far;

static struct worker {
	pid_t pid;
	int control;
} workers[WORKERS], *owner;

enum {
	END, EXPORT, REVOKE, GRANT, POLICY, INHIBIT, PIN, UNPIN, NOTE, READ, IMPORT, WRITE, LIMIT,
	FORGE,
};

struct ask {
	int call, seg, arg[4];	/* @seg is a descriptor for WRITE */
	size_t offset, len;
	char name[128];
};

struct told {
	int ret, error;
	struct rm_note note;
};

int owner_node(void)
{
	return far ? 2 : -1;
}

int own_node(void)
{
	struct dd *h;
	int node;

	check_eq(dd_open(&h), 0);
	node = dd_node(h);
	dd_shutdown(h);
	return node;
}

static int read_note(int fd, bool wait, struct rm_note *note)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	if (!wait && poll(&p, 1, 0) != 1)
		return 0;
	n = read(fd, note, sizeof(*note));
	return n == sizeof(*note) ? 1 : n ? -1 : 0;
}

static int write_word(rm_desc_t rd, size_t offset, uint32_t value, int notify)
{
	rm_mr[0] = value;
	return rm_write(rd, offset, sizeof(value), notify) ? -1 : rm_fence(rd, -1);
}

static int limit(size_t bytes)
{
	struct rlimit l;

	getrlimit(RLIMIT_MEMLOCK, &l);
	l.rlim_cur = bytes ? bytes : l.rlim_max;
	return setrlimit(RLIMIT_MEMLOCK, &l);
}

/* Export the board as a clerk exports its registry, or end that. */
static int forge(void)
{
	struct dd_export_attr attr = {
		.size = sizeof(attr), .key_class = DD_KEY_WELL_KNOWN, .key = { REGISTRY_KEY },
		.rights = DD_CAN_PUT | DD_CAN_GET, .notify = DD_NOTIFY_NEVER, .importers = 64,
		.addr = board, .len = BOARD,
	};
	static struct dd *h;
	uint64_t segment;

	if (h) {
		dd_shutdown(h);
		h = NULL;
		return 0;
	}
	if (dd_open(&h))
		return -1;
	return dd_pin(h, board, BOARD) || dd_export(h, &attr, &segment) ? -1 : 0;
}

static int execute(const struct ask *a, struct told *t)
{
	rm_desc_t rd;
	int i;

	switch (a->call) {
	case END:
		for (i = 0; i < SEGMENTS; i++) {
			rm_revoke(i);
			rm_unimport(i);
		}
		return limit(0);
	case EXPORT:
		return rm_export(a->name, board + a->offset, a->len, a->arg[0], a->arg[1]);
	case REVOKE:
		return rm_revoke(a->seg);
	case GRANT:
		return rm_grant(a->seg, a->arg[0], a->arg[1], a->arg[2]);
	case POLICY:
		return rm_policy(a->seg, a->arg[0]);
	case INHIBIT:
		return rm_inhibit(a->seg, a->arg[0]);
	case PIN:
		return rm_pin(a->seg);
	case UNPIN:
		return rm_unpin(a->seg);
	case IMPORT:
		return rm_import(a->name, a->arg[0], a->arg[1], &rd) ? -1 : rd;
	case WRITE:
		return write_word(a->seg, a->offset, a->arg[0], a->arg[1]);
	case LIMIT:
		return limit(a->len);
	case FORGE:
		return forge();
	default:
		return read_note(rm_fd(a->seg), a->call == READ, &t->note);
	}
}

/*
 * Another user of this node. The device may be root's, so root opens it; the memory is
 * charged to the real user. No other process has memory that is charged to that one.
 */
static void be_stranger(void)
{
	static char page[PAGE] __attribute__((aligned(PAGE)));
	const struct rlimit l = { .rlim_cur = 16 << 20, .rlim_max = 16 << 20 };

	if (setrlimit(RLIMIT_MEMLOCK, &l) || setresuid(STRANGER_UID, 0, 0) ||
	    rm_export(NULL, page, PAGE, 0, RM_NEVER) < 0 || setuid(STRANGER_UID))
		_exit(1);
}

/* Go to node 2. */
static void go_far(void)
{
	int ns = open("/run/netns/dd2", O_RDONLY | O_CLOEXEC);

	if (ns < 0 || setns(ns, CLONE_NEWNET))
		_exit(1);
	close(ns);
}

static void __attribute__((noreturn)) work(int fd, enum worker_id id)
{
	struct ask a;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (id == STRANGER)
		be_stranger();
	else if (far)
		go_far();
	while (read(fd, &a, sizeof(a)) == sizeof(a)) {
		struct told t = { 0 };

		t.ret = execute(&a, &t);
		t.error = errno;
		if (write(fd, &t, sizeof(t)) != sizeof(t))
			break;
	}
	_exit(0);
}

void owner_start(void)
{
	int ends[2], i;

	if (board)
		return;
	far = getenv("DDP_PEER_NODE") != NULL;
	board = mmap(NULL, BOARD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED)
		abort();
	for (i = 0; i < WORKERS; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
			abort();
		workers[i].pid = fork();
		if (!workers[i].pid) {
			close(ends[0]);
			work(ends[1], i);
		}
		close(ends[1]);
		workers[i].control = ends[0];
	}
	owner = &workers[OWNER];
}

void owner_be(enum worker_id id)
{
	owner = &workers[id];
}

pid_t owner_pid(void)
{
	return owner->pid;
}

void owner_kill(int sig)
{
	check_eq(kill(owner->pid, sig), 0);
	if (sig != SIGKILL)
		return;
	check_eq(waitpid(owner->pid, NULL, 0), owner->pid);
	close(owner->control);
	*owner = workers[SPARE];
}

static int answered(struct rm_note *note)
{
	struct told t;

	if (read(owner->control, &t, sizeof(t)) != sizeof(t)) {
		check(!"the owner answers");
		return -1;
	}
	if (note)
		*note = t.note;
	errno = t.error;
	return t.ret;
}

static void ask(const struct ask *a)
{
	check_eq(write(owner->control, a, sizeof(*a)), sizeof(*a));
}

static int call(const struct ask *a)
{
	ask(a);
	return answered(NULL);
}

void owner_end(void)
{
	owner_be(STRANGER);
	check_eq(call(&(struct ask){ .call = END }), 0);
	owner_be(OWNER);
	check_eq(call(&(struct ask){ .call = END }), 0);
	memset(board, 0, BOARD);
}

rm_seg_t owner_export(const char *name, size_t offset, size_t len, int rights, int policy)
{
	struct ask a = { .call = EXPORT, .offset = offset, .len = len, .arg = { rights, policy } };

	strncpy(a.name, name, sizeof(a.name) - 1);
	return call(&a);
}

int owner_revoke(rm_seg_t seg)
{
	return call(&(struct ask){ .call = REVOKE, .seg = seg });
}

int owner_grant(rm_seg_t seg, int node, int uid, int rights)
{
	return call(&(struct ask){ .call = GRANT, .seg = seg, .arg = { node, uid, rights } });
}

int owner_policy(rm_seg_t seg, int policy)
{
	return call(&(struct ask){ .call = POLICY, .seg = seg, .arg = { policy } });
}

int owner_inhibit(rm_seg_t seg, int on)
{
	return call(&(struct ask){ .call = INHIBIT, .seg = seg, .arg = { on } });
}

int owner_pin(rm_seg_t seg)
{
	return call(&(struct ask){ .call = PIN, .seg = seg });
}

int owner_unpin(rm_seg_t seg)
{
	return call(&(struct ask){ .call = UNPIN, .seg = seg });
}

int owner_note(rm_seg_t seg, struct rm_note *note)
{
	ask(&(struct ask){ .call = NOTE, .seg = seg });
	return answered(note);
}

void owner_read(rm_seg_t seg)
{
	ask(&(struct ask){ .call = READ, .seg = seg });
}

int owner_noted(struct rm_note *note)
{
	return answered(note);
}

rm_desc_t owner_import(const char *name, int node, int flags)
{
	struct ask a = { .call = IMPORT, .arg = { node, flags } };

	strncpy(a.name, name, sizeof(a.name) - 1);
	return call(&a);
}

int owner_write(rm_desc_t rd, size_t offset, uint32_t value, int notify)
{
	return call(&(struct ask){ .call = WRITE, .seg = rd, .offset = offset,
				   .arg = { value, notify } });
}

int owner_limit(size_t bytes)
{
	return call(&(struct ask){ .call = LIMIT, .len = bytes });
}

int owner_forge(void)
{
	return call(&(struct ask){ .call = FORGE });
}

int run(const char *command, bool there)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		if (there)
			go_far();
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(1);
	}
	check_eq(waitpid(pid, &status, 0), pid);
	return status;
}

/* ---- name clerks ------------------------------------------------------------------- */

char clerk_said[256];

pid_t clerk_start(const char *options, uid_t uid, bool there)
{
	char line[128];
	int out[2];
	ssize_t n;
	pid_t pid;

	check_eq(pipe(out), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		dup2(out[1], 2);
		if (there)
			go_far();
		if (uid && setuid(uid))
			_exit(1);
		snprintf(line, sizeof(line), "exec rmclerk %s", options);
		execl("/bin/sh", "sh", "-c", line, NULL);
		_exit(1);
	}
	close(out[1]);
	n = read(out[0], clerk_said, sizeof(clerk_said) - 1);
	clerk_said[n > 0 ? n : 0] = 0;
	close(out[0]);
	if (strstr(clerk_said, "ready"))
		return pid;
	check_eq(waitpid(pid, NULL, 0), pid);
	return 0;
}

void clerk_end(pid_t pid, int sig)
{
	check_eq(kill(pid, sig), 0);
	check_eq(waitpid(pid, NULL, 0), pid);
}

void clerk_stop(pid_t pid)
{
	int status;

	check_eq(kill(pid, SIGSTOP), 0);
	check_eq(waitpid(pid, &status, WUNTRACED), pid);
	check(WIFSTOPPED(status));
}
