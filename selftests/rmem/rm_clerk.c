// SPDX-License-Identifier: LGPL-2.1-only
/*
 * rm_clerk.c - the name clerk: started, absent, killed, full
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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
static char said[256];

/* Start a clerk, and wait for its first line; 0 if it has ended without one. */
static pid_t clerk_start(const char *options, uid_t uid)
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
		if (uid && setuid(uid))
			_exit(1);
		snprintf(line, sizeof(line), "exec rmclerk %s", options);
		execl("/bin/sh", "sh", "-c", line, NULL);
		_exit(1);
	}
	close(out[1]);
	n = read(out[0], said, sizeof(said) - 1);
	said[n > 0 ? n : 0] = 0;
	close(out[0]);
	if (strstr(said, "ready"))
		return pid;
	check_eq(waitpid(pid, NULL, 0), pid);
	return 0;
}

static void clerk_end(pid_t pid, int sig)
{
	check_eq(kill(pid, sig), 0);
	check_eq(waitpid(pid, NULL, 0), pid);
}

/* Another user has no access to the segment of the clerk. First: see owner_start(). */
TEST(RM_47_clients_cannot_harm_the_clerk)
{
	static const unsigned char key[DD_KEY_SIZE] = { REGISTRY_KEY };
	pid_t clerk = clerk_start("", 0), pid;
	int status = -1;

	pid = fork();
	if (!pid) {
		struct dd_mem *mem;
		struct dd *h;

		if (dd_open(&h) || setuid(12345))
			_exit(1);
		_exit(dd_import(h, dd_node(h), DD_KEY_WELL_KNOWN, key, DD_CAN_GET, &mem) !=
		      -EACCES);
	}
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	clerk_end(clerk, SIGTERM);
}

TEST(RM_33_a_clerk_is_privileged)
{
	check_eq(clerk_start("", 12345), 0);
	check(strstr(said, "rmclerk: ") && (strstr(said, "permitted") || strstr(said, "denied")));
}

TEST(RM_34_RM_36_one_clerk_a_node)
{
	pid_t pid = clerk_start("", 0);

	check(pid > 0);
	check_eq(clerk_start("", 0), 0);
	check(strstr(said, "this node has a name clerk"));
	check_eq(clerk_start("-m guess", 0), 0);
	check(strstr(said, "'guess'"));
	clerk_end(pid, SIGTERM);
}

TEST(RM_35_RM_44_names_are_added_found_and_deleted)
{
	pid_t pid = clerk_start("", 0);
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
	pid_t pid = clerk_start("-s 3", 0);
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
	pid_t clerk = clerk_start("-s 8 -u 2", 0);
	rm_seg_t seg;

	seg = rm_export("first", memory, PAGE, RM_ALL, RM_NEVER);
	check(seg >= 0);
	/* The user of a call is the effective one. */
	check_eq(seteuid(12345), 0);
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

TEST(RM_43_a_new_clerk_gets_all_names)
{
	pid_t pid = clerk_start("", 0);
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
	pid = clerk_start("", 0);
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_import("a", -1, 0, &rd), 0);
	check_eq(rm_unimport(rd), 0);
	check_errno(rm_import("b", -1, 0, &rd), ENOENT);
	check_errno(rm_export("a", memory, PAGE, RM_ALL, RM_NEVER), EEXIST);
	check_eq(rm_revoke(a), 0);
	clerk_end(pid, SIGTERM);
}

static volatile bool stop;
static volatile int rounds;
static int errors;

static void *use_names(void *unused)
{
	rm_seg_t seg;
	rm_desc_t rd;

	while (!stop) {
		seg = rm_export("busy", memory, PAGE, RM_ALL, RM_NEVER);
		if (seg < 0 || rm_import("busy", -1, 0, &rd) || rm_unimport(rd) ||
		    rm_revoke(seg)) {
			errors = errno;
			break;
		}
		rounds++;
	}
	return unused;
}

/* Killed and started again while a program exports and imports: it sees a delay only. */
TEST(a_clerk_is_killed_under_load)
{
	pid_t pid = clerk_start("", 0);
	pthread_t thread;
	int i, before;

	stop = false;
	check_eq(pthread_create(&thread, NULL, use_names, NULL), 0);
	for (i = 0; i < 10 && !errors; i++) {
		before = rounds;
		while (rounds < before + 3 && !errors)
			usleep(1000);
		clerk_end(pid, SIGKILL);
		pid = clerk_start("", 0);
	}
	stop = true;
	pthread_join(thread, NULL);
	check_eq(errors, 0);
	clerk_end(pid, SIGTERM);
}
