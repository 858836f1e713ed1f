// SPDX-License-Identifier: LGPL-2.1-only
/*
 * owner.c - processes that export and import segments, and name clerks, for tests
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dd_mem.h"
#include "owner.h"
#include "registry.h"

#define SEGMENTS 64	/* that an owner has at a time, at most */

/* Behind the memory of the tests: what does not fit into three arguments of a job. */
struct args {
	char name[128];
	int rights;
	struct rm_note note;
};

static struct worker *owners[STRANGER + 1], *owner;

static struct args *args(void)
{
	return (struct args *)(shared + SHARED);
}

int owner_node(void)
{
	return far ? 2 : -1;
}

ssize_t import_size(const char *name, int node, int flags)
{
	ssize_t size;
	rm_desc_t rd;

	if (rm_import(name, node, flags, &rd))
		return -errno;
	size = rm_size(rd);
	check_eq(rm_unimport(rd), 0);
	return size;
}

/* ---- jobs of the owner ----------------------------------------------------------------- */

static long job_end(long a, long b, long c)
{
	for (int i = 0; i < SEGMENTS; i++) {
		rm_revoke(i);
		rm_unimport(i);
	}
	return 0;
}

static long job_export(long offset, long len, long policy)
{
	return rm_export(args()->name, shared + offset, len, args()->rights, policy);
}

static long job_grant(long seg, long node, long uid)
{
	return rm_grant(seg, node, uid, args()->rights);
}

static long job_control(long call, long seg, long value)
{
	switch (call) {
	case REVOKE:
		return rm_revoke(seg);
	case PIN:
		return rm_pin(seg);
	case UNPIN:
		return rm_unpin(seg);
	case POLICY:
		return rm_policy(seg, value);
	default:
		return rm_inhibit(seg, value);
	}
}

static long job_import(long node, long flags, long c)
{
	rm_desc_t rd;

	return rm_import(args()->name, node, flags, &rd) ? -1 : rd;
}

static long job_write(long rd, long offset, long notify)
{
	rm_mr[0] = args()->rights;
	return rm_write(rd, offset, sizeof(uint32_t), notify) ? -1 : rm_fence(rd, -1);
}

static long job_note(long seg, long wait, long c)
{
	struct pollfd p = { .fd = rm_fd(seg), .events = POLLIN };
	ssize_t n;

	if (!wait && poll(&p, 1, 0) != 1)
		return 0;
	n = read(p.fd, &args()->note, sizeof(args()->note));
	return n == sizeof(args()->note) ? 1 : n ? -1 : 0;
}

/* Export the memory as a clerk exports its registry, or end that. */
static long job_forge(long a, long b, long c)
{
	struct dd_export_attr attr = {
		.size = sizeof(attr), .key_class = DD_KEY_WELL_KNOWN, .key = { REGISTRY_KEY },
		.rights = DD_CAN_PUT | DD_CAN_GET, .notify = DD_NOTIFY_NEVER, .importers = 64,
		.addr = shared, .len = SHARED,
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
	return dd_pin(h, shared, SHARED) || dd_export(h, &attr, &segment) ? -1 : 0;
}

/* ---- this process ------------------------------------------------------------------------- */

void owner_start(void)
{
	if (owner)
		return;
	owners[THERE] = worker_new(THERE);
	owners[STRANGER] = worker_new(STRANGER);
	owner = owners[THERE];
}

void owner_be(enum where id)
{
	owner = owners[id];
}

pid_t owner_pid(void)
{
	return worker_pid(owner);
}

void owner_kill(int sig)
{
	if (sig != SIGKILL) {
		worker_signal(owner, sig);
		return;
	}
	worker_end(owner);
	owner = owners[THERE] = worker_new(THERE);
}

void owner_end(void)
{
	owner_be(STRANGER);
	check_eq(worker_do(owner, job_end, 0, 0, 0), 0);
	owner_be(THERE);
	check_eq(worker_do(owner, job_end, 0, 0, 0), 0);
	memset(shared, 0, SHARED);
}

rm_seg_t owner_export(const char *name, size_t offset, size_t len, int rights, int policy)
{
	snprintf(args()->name, sizeof(args()->name), "%s", name);
	args()->rights = rights;
	return worker_do(owner, job_export, offset, len, policy);
}

int owner_control(enum owner_call call, rm_seg_t seg, int value)
{
	return worker_do(owner, job_control, call, seg, value);
}

int owner_grant(rm_seg_t seg, int node, int uid, int rights)
{
	args()->rights = rights;
	return worker_do(owner, job_grant, seg, node, uid);
}

void owner_read(rm_seg_t seg)
{
	worker_begin(owner, job_note, seg, 1, 0);
}

int owner_noted(struct rm_note *note)
{
	int ret = worker_result(owner);

	*note = args()->note;
	return ret;
}

int owner_note(rm_seg_t seg, struct rm_note *note)
{
	worker_begin(owner, job_note, seg, 0, 0);
	return owner_noted(note);
}

rm_desc_t owner_import(const char *name, int node, int flags)
{
	snprintf(args()->name, sizeof(args()->name), "%s", name);
	return worker_do(owner, job_import, node, flags, 0);
}

int owner_write(rm_desc_t rd, size_t offset, uint32_t value, int notify)
{
	args()->rights = value;
	return worker_do(owner, job_write, rd, offset, notify);
}

int owner_forge(void)
{
	return worker_do(owner, job_forge, 0, 0, 0);
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
