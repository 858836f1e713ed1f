// SPDX-License-Identifier: LGPL-2.1-only
/*
 * rm_fork.c - segments and descriptors in a child of fork()
 *
 * Run by clerks.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "owner.h"

/* The exit status of a child says which call is wrong. It opens no handle of its own. */
static int use_parents(rm_seg_t own, rm_desc_t rd)
{
	struct rm_refused refused;
	const int results[] = {
		rm_fd(own), rm_policy(own, RM_NEVER), rm_inhibit(own, 1), rm_grant(own, -1, 1, RM_READ),
		rm_unpin(own), rm_pin(own), rm_refused(own, &refused), rm_revoke(own), rm_revoke(own),
		rm_size(rd), rm_write(rd, 0, 4, 0), rm_read(rd, 0, 4, own, 0, 0),
		rm_cas(rd, 0, own, 0, 0, 1), rm_fence(rd, 0), rm_unimport(rd), rm_unimport(rd),
	};
	size_t i;

	for (i = 0; i < sizeof(results) / sizeof(results[0]); i++)
		if (results[i] != -1)
			return i + 1;
	return errno == ESTALE ? 0 : 100;
}

TEST(children_cannot_use_what_is_their_parents)
{
	static char local[PAGE] __attribute__((aligned(PAGE)));
	struct rm_note note;
	int status = -1, fd;
	rm_seg_t own;
	rm_desc_t rd;
	pid_t pid;

	owner_start();
	own = rm_export("own", local, PAGE, RM_ALL, RM_ALWAYS);
	check(own >= 0);
	fd = rm_fd(own);
	check(fd >= 0);
	check_eq(rm_import("own", -1, 0, &rd), 0);
	pid = fork();
	if (!pid)
		_exit(use_parents(own, rd));
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	/* Nor while the segment is not pinned. */
	check_eq(rm_unpin(own), 0);
	pid = fork();
	if (!pid)
		_exit(rm_revoke(own) != -1 || errno != ESTALE);
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	check_eq(rm_pin(own), 0);
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_import("own", -1, 0, &rd), 0);
	check_eq(rm_write(rd, 0, 4, 0), 0);
	check_eq(read(fd, &note, sizeof(note)), sizeof(note));
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_revoke(own), 0);
}

TEST(children_of_fork)
{
	static char local[PAGE] __attribute__((aligned(PAGE)));
	int status = -1;
	rm_seg_t own;
	rm_desc_t rd;
	pid_t pid;

	owner_start();
	check(owner_export("seg", 0, PAGE, RM_ALL, RM_NEVER) >= 0);
	check_eq(rm_import("seg", owner_node(), 0, &rd), 0);
	own = rm_export(NULL, local, PAGE, 0, RM_NEVER);
	check(own >= 0);
	pid = fork();
	if (!pid)
		_exit(rm_write(rd, 0, 4, 0) != -1 || errno != ESTALE ||
		      rm_revoke(own) != -1 || errno != ESTALE ||
		      rm_import("seg", owner_node(), 0, &rd) ||
		      rm_write_block(rd, 8, "child", 6, 0) || rm_fence(rd, -1));
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	check(!strcmp(shared + 8, "child"));
	check_eq(rm_write(rd, 0, 4, 0), 0);
	check_eq(rm_fence(rd, -1), 0);
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_revoke(own), 0);
	owner_end();
}
