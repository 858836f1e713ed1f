// SPDX-License-Identifier: LGPL-2.1-only
/*
 * rm_clerk.c - the name clerk: started, absent, killed, full
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dd_mem.h"
#include "owner.h"
#include "registry.h"

#define check_errno(call, error) do {	\
	check_eq(call, -1);		\
	check_eq(errno, error);		\
} while (0)

static char memory[4 * PAGE] __attribute__((aligned(PAGE)));

static sigjmp_buf next_page;

static void on_fault(int sig)
{
	siglongjmp(next_page, sig);
}

/* Overwrite what a process can of all that it has mapped of the device; pages that were. */
static int scribble(void)
{
	char line[256], *from, *to;
	volatile int pages = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	signal(SIGSEGV, on_fault);
	signal(SIGBUS, on_fault);
	while (f && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "/dev/dd") || !strstr(line, " rw") ||
		    sscanf(line, "%p-%p", (void **)&from, (void **)&to) != 2)
			continue;
		for (; from < to; from += PAGE) {
			if (sigsetjmp(next_page, 1))
				continue;
			memset(from, 0xff, PAGE);
			pages++;
		}
	}
	return pages;
}

/* Another user; its exit status. */
static int stranger(const struct dd_export_attr *attr)
{
	struct dd_export_attr own = *attr;
	struct dd_mem *mem;
	uint64_t segment;
	void *memory;
	rm_desc_t rd;
	struct dd *h;

	/* The device may be root's. */
	if (dd_open(&h) || dd_alloc(h, PAGE, &memory) || rm_import("open", -1, RM_WRITE, &rd) ||
	    setuid(STRANGER_UID))
		return 1;
	own.addr = memory;
	if (dd_import(h, dd_node(h), DD_KEY_WELL_KNOWN, own.key, DD_CAN_GET, &mem) != -EACCES)
		return 2;
	own.key[0]++;
	if (dd_export(h, &own, &segment) != -EPERM)
		return 3;
	if (rm_import("open", -1, RM_WRITE, &rd) || rm_write(rd, 0, 4, 0))
		return 4;
	return scribble() < 2 ? 5 : 0;
}

/*
 * Another user has no access to the segment of the clerk, and its calls reach the clerk by the
 * kernel only. First: see owner_start().
 */
TEST(RM_33_RM_47_clients_cannot_harm_the_clerk)
{
	static const struct dd_export_attr attr = {
		.size = sizeof(attr), .key_class = DD_KEY_WELL_KNOWN, .key = { REGISTRY_KEY },
		.rights = DD_CAN_GET, .notify = DD_NOTIFY_NEVER, .importers = 1, .len = PAGE,
	};
	pid_t clerk = clerk_start("", 0, false);
	int status = -1;
	rm_desc_t rd;
	pid_t pid;

	owner_start();
	check(owner_export("open", 0, PAGE, RM_ALL | RM_ANYBODY, RM_NEVER) >= 0);
	pid = fork();
	if (!pid)
		_exit(stranger(&attr));
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(WEXITSTATUS(status), 0);
	check(WIFEXITED(status));
	/* The clerk and its other clients go on. */
	check(owner_export("more", 0, PAGE, RM_ALL, RM_NEVER) >= 0);
	check_eq(rm_import("more", -1, 0, &rd), 0);
	check_eq(rm_unimport(rd), 0);
	owner_end();
	clerk_end(clerk, SIGTERM);
}

TEST(RM_33_a_clerk_is_privileged)
{
	check_eq(clerk_start("", STRANGER_UID, false), 0);
	check(strstr(clerk_said, "rmclerk: "));
	check(strstr(clerk_said, "permitted") || strstr(clerk_said, "denied"));
}

TEST(RM_34_one_clerk_a_node)
{
	pid_t pid = clerk_start("", 0, false);

	check(pid > 0);
	check_eq(clerk_start("", 0, false), 0);
	check(strstr(clerk_said, "this node has a name clerk"));
	check_eq(clerk_start("-m guess", 0, false), 0);
	check(strstr(clerk_said, "'guess'"));
	clerk_end(pid, SIGTERM);
}

TEST(RM_4_names_are_added_found_and_deleted)
{
	pid_t pid = clerk_start("", 0, false);
	rm_seg_t seg;
	rm_desc_t rd;

	seg = rm_export("one", memory, PAGE, RM_ALL, RM_NEVER);
	check(seg >= 0);
	check_errno(rm_export("one", memory, PAGE, RM_ALL, RM_NEVER), EEXIST);
	check_eq(rm_import("one", -1, 0, &rd), 0);
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_import("one", -1, RM_LOOKUP, &rd), 0);
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_revoke(seg), 0);
	check_errno(rm_import("one", -1, 0, &rd), ENOENT);
	/* At once, although the deletion needs no answer. */
	seg = rm_export("one", memory, PAGE, RM_ALL, RM_NEVER);
	check(seg >= 0);
	check_eq(rm_revoke(seg), 0);
	clerk_end(pid, SIGTERM);
}

TEST(the_registry_is_full)
{
	pid_t pid = clerk_start("-s 3", 0, false);
	rm_seg_t seg[3];
	char name[8];
	int i;

	for (i = 0; i < 3; i++) {
		sprintf(name, "n%d", i);
		seg[i] = rm_export(name, memory, PAGE, RM_ALL, RM_NEVER);
		check(seg[i] >= 0);
	}
	check_errno(rm_export("n3", memory, PAGE, RM_ALL, RM_NEVER), ENOSPC);
	check_eq(rm_revoke(seg[1]), 0);
	seg[1] = rm_export("n3", memory, PAGE, RM_ALL, RM_NEVER);
	for (i = 0; i < 3; i++)
		check_eq(rm_revoke(seg[i]), 0);
	clerk_end(pid, SIGTERM);
}

/* A user that has many names does not use the places of others. */
TEST(RM_47_users_have_a_share_of_the_registry)
{
	pid_t clerk = clerk_start("-s 8 -u 2", 0, false);
	rm_seg_t seg;

	seg = rm_export("first", memory, PAGE, RM_ALL, RM_NEVER);
	check(seg >= 0);
	/* The user of a call is the effective one. */
	check_eq(seteuid(STRANGER_UID), 0);
	check(rm_export("a", memory, PAGE, RM_ALL, RM_NEVER) >= 0);
	check(rm_export("b", memory, PAGE, RM_ALL, RM_NEVER) >= 0);
	check_errno(rm_export("c", memory, PAGE, RM_ALL, RM_NEVER), EDQUOT);
	check_eq(seteuid(0), 0);
	seg = rm_export("c", memory, PAGE, RM_ALL, RM_NEVER);
	check(seg >= 0);
	for (seg = 0; seg < 4; seg++)
		check_eq(rm_revoke(seg), 0);
	clerk_end(clerk, SIGTERM);
}

TEST(without_a_clerk)
{
	rm_desc_t rd;

	check_errno(rm_export("one", memory, PAGE, RM_ALL, RM_NEVER), EHOSTDOWN);
	check_errno(rm_import("one", -1, 0, &rd), EHOSTDOWN);
}

static void nothing(int sig)
{
}

/* A debugger has stopped it, or its cgroup is frozen. */
TEST(a_clerk_is_stopped)
{
	const struct itimerval often = { { 0, 10000 }, { 0, 10000 } }, never = { 0 };
	const struct sigaction act = { .sa_handler = nothing };
	pid_t pid = clerk_start("", 0, false);
	rm_desc_t rd;
	rm_seg_t seg;

	clerk_stop(pid);
	check_errno(rm_export("one", memory, PAGE, RM_ALL, RM_NEVER), EHOSTDOWN);
	check_errno(rm_import("one", -1, 0, &rd), EHOSTDOWN);
	check_errno(rm_import("one", -1, RM_WAIT, &rd), EHOSTDOWN);
	/* Signals do not make the wait longer. */
	check_eq(sigaction(SIGALRM, &act, NULL), 0);
	check_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
	check_errno(rm_export("one", memory, PAGE, RM_ALL, RM_NEVER), EINTR);
	check_errno(rm_import("one", -1, 0, &rd), EINTR);
	check_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	check_eq(kill(pid, SIGCONT), 0);
	seg = rm_export("one", memory, PAGE, RM_ALL, RM_NEVER);
	check(seg >= 0);
	check_eq(rm_import("one", -1, 0, &rd), 0);
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_revoke(seg), 0);
	clerk_end(pid, SIGTERM);
}

/* The errors of librmem and of the clerk are those of the system. */
TEST(without_the_device)
{
	int status = -1;
	pid_t pid;

	check_eq(rename("/dev/dd", "/dev/dd.away"), 0);
	pid = fork();
	if (!pid)
		_exit(rm_export("one", memory, PAGE, RM_ALL, RM_NEVER) != -1 || errno != ENODEV);
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	check_eq(clerk_start("", 0, false), 0);
	check(strstr(clerk_said, "rmclerk: cannot open /dev/dd: "));
	check(!strcasestr(clerk_said, "unknown"));
	check_eq(rename("/dev/dd.away", "/dev/dd"), 0);
}

TEST(a_new_clerk_gets_all_names)
{
	pid_t pid = clerk_start("", 0, false);
	rm_seg_t a, b;
	rm_desc_t rd;

	a = rm_export("a", memory, PAGE, RM_ALL, RM_NEVER);
	b = rm_export("b", memory, PAGE, RM_ALL, RM_NEVER);
	check_eq(rm_import("a", -1, 0, &rd), 0);
	clerk_end(pid, SIGKILL);
	/* Data is transferred without a clerk. */
	check_eq(rm_write(rd, 0, 4, 0), 0);
	check_eq(rm_fence(rd, -1), 0);
	check_eq(rm_revoke(b), 0);
	pid = clerk_start("", 0, false);
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_import("a", -1, 0, &rd), 0);
	check_eq(rm_unimport(rd), 0);
	check_errno(rm_import("b", -1, 0, &rd), ENOENT);
	check_errno(rm_export("a", memory, PAGE, RM_ALL, RM_NEVER), EEXIST);
	check_eq(rm_revoke(a), 0);
	clerk_end(pid, SIGTERM);
}
