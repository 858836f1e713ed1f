// SPDX-License-Identifier: LGPL-2.1-only
/*
 * owner.c - a process that exports segments, at the other node if there is one
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dd.h"
#include "owner.h"

#define SEGMENTS 64	/* that an owner has at a time, at most */

char *board;
bool far;

static pid_t owners[2], owner;
static int controls[2], control;

enum { END, EXPORT, REVOKE, GRANT, POLICY, INHIBIT, PIN, UNPIN, NOTE, READ };

struct ask {
	int call, seg, arg[4];
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

static int execute(const struct ask *a, struct told *t)
{
	int i;

	switch (a->call) {
	case END:
		for (i = 0; i < SEGMENTS; i++)
			rm_revoke(i);
		return 0;
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
	default:
		return read_note(rm_fd(a->seg), a->call == READ, &t->note);
	}
}

static void __attribute__((noreturn)) work(int fd)
{
	struct ask a;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (far) {
		int ns = open("/run/netns/dd2", O_RDONLY | O_CLOEXEC);

		if (ns < 0 || setns(ns, CLONE_NEWNET))
			_exit(1);
		close(ns);
	}
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
	for (i = 0; i < 2; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
			abort();
		owners[i] = fork();
		if (!owners[i]) {
			close(ends[0]);
			work(ends[1]);
		}
		close(ends[1]);
		controls[i] = ends[0];
	}
	owner = owners[0];
	control = controls[0];
}

void owner_kill(int sig)
{
	check_eq(kill(owner, sig), 0);
	if (sig != SIGKILL)
		return;
	check_eq(waitpid(owner, NULL, 0), owner);
	close(control);
	owner = owners[1];
	control = controls[1];
}

static int answered(struct rm_note *note)
{
	struct told t;

	if (read(control, &t, sizeof(t)) != sizeof(t)) {
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
	check_eq(write(control, a, sizeof(*a)), sizeof(*a));
}

static int call(const struct ask *a)
{
	ask(a);
	return answered(NULL);
}

void owner_end(void)
{
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
