// SPDX-License-Identifier: LGPL-2.1-only
/*
 * rm_clerk.c - the name clerk: started, absent, killed, full
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "dd_mem.h"
#include "owner.h"
#include "registry.h"

static char memory[4 * PAGE] __attribute__((aligned(PAGE)));

/* As another user: which call is wrong. */
static int stranger(const void *unused)
{
	struct dd_export_attr attr = {
		.size = sizeof(attr), .key_class = DD_KEY_WELL_KNOWN, .key = { REGISTRY_KEY },
		.rights = DD_CAN_GET, .notify = DD_NOTIFY_NEVER, .importers = 1, .len = PAGE,
	};
	struct dd_mem *mem;
	uint64_t segment;
	rm_desc_t rd;
	struct dd *h;

	/* The device may be root's. */
	if (dd_open(&h) || dd_alloc(h, PAGE, &attr.addr) || rm_import("open", -1, RM_WRITE, &rd) ||
	    setuid(STRANGER_UID))
		return 1;
	if (dd_import(h, dd_node(h), DD_KEY_WELL_KNOWN, attr.key, DD_CAN_GET, &mem) != -EACCES)
		return 2;
	attr.key[0]++;
	if (dd_export(h, &attr, &segment) != -EPERM)
		return 3;
	return rm_import("open", -1, RM_WRITE, &rd) || rm_write(rd, 0, 4, 0) ? 4 : 0;
}

/*
 * Another user has no access to the segment of the clerk, and its calls reach the clerk by the
 * kernel only. First: see owner_start().
 */
TEST(RM_33_RM_47_clients_cannot_harm_the_clerk)
{
	pid_t clerk = clerk_start("", 0, false);

	owner_start();
	check(owner_export("open", 0, PAGE, RM_ALL | RM_ANYBODY, RM_NEVER) >= 0);
	check_eq(in_child(stranger, NULL), 0);
	/* The clerk and its other clients go on. */
	check(owner_export("more", 0, PAGE, RM_ALL, RM_NEVER) >= 0);
	check_eq(import_size("more", -1, 0), PAGE);
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

TEST(the_registry_is_full)
{
	pid_t pid = clerk_start("-s 2", 0, false);
	rm_seg_t a, b;

	a = rm_export("a", memory, PAGE, RM_ALL, RM_NEVER);
	b = rm_export("b", memory, PAGE, RM_ALL, RM_NEVER);
	check(a >= 0 && b >= 0);
	check_errno(rm_export("c", memory, PAGE, RM_ALL, RM_NEVER), ENOSPC);
	check_eq(rm_revoke(a), 0);
	a = rm_export("c", memory, PAGE, RM_ALL, RM_NEVER);
	check_eq(rm_revoke(a), 0);
	check_eq(rm_revoke(b), 0);
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

static void nothing(int sig)
{
}

/* A debugger has stopped it, or its cgroup is frozen. */
TEST(a_clerk_is_stopped)
{
	const struct itimerval often = { { 0, 10000 }, { 0, 10000 } }, never = { 0 };
	const struct sigaction act = { .sa_handler = nothing };
	pid_t pid = clerk_start("", 0, false);
	rm_seg_t seg;

	clerk_stop(pid);
	check_errno(rm_export("one", memory, PAGE, RM_ALL, RM_NEVER), EHOSTDOWN);
	check_eq(import_size("one", -1, 0), -EHOSTDOWN);
	check_eq(import_size("one", -1, RM_WAIT), -EHOSTDOWN);
	/* Signals do not make the wait longer. */
	check_eq(sigaction(SIGALRM, &act, NULL), 0);
	check_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
	check_errno(rm_export("one", memory, PAGE, RM_ALL, RM_NEVER), EINTR);
	check_eq(import_size("one", -1, 0), -EINTR);
	check_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	check_eq(kill(pid, SIGCONT), 0);
	seg = rm_export("one", memory, PAGE, RM_ALL, RM_NEVER);
	check(seg >= 0);
	check_eq(import_size("one", -1, 0), PAGE);
	check_eq(rm_revoke(seg), 0);
	clerk_end(pid, SIGTERM);
}

static int export_fails(const void *unused)
{
	check_errno(rm_export("one", memory, PAGE, RM_ALL, RM_NEVER), ENODEV);
	return 0;
}

/* The errors of librmem and of the clerk are those of the system. */
TEST(without_the_device)
{
	check_eq(rename("/dev/dd", "/dev/dd.away"), 0);
	check_eq(in_child(export_fails, NULL), 0);
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
	check_errno(rm_export("b", memory, PAGE, RM_ALL, RM_NEVER), EHOSTDOWN);
	pid = clerk_start("", 0, false);
	check_eq(rm_unimport(rd), 0);
	check_eq(import_size("a", -1, 0), PAGE);
	check_eq(import_size("b", -1, 0), -ENOENT);
	check_errno(rm_export("a", memory, PAGE, RM_ALL, RM_NEVER), EEXIST);
	check_eq(rm_revoke(a), 0);
	clerk_end(pid, SIGTERM);
}
