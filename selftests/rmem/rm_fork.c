// SPDX-License-Identifier: LGPL-2.1-only
/*
 * rm_fork.c - segments and descriptors in a child of fork()
 *
 * Run by clerks.sh. Not on User-Mode Linux: a child that maps memory where its parent has
 * memory may see the parent's.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "owner.h"

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
	check(!strcmp(board + 8, "child"));
	check_eq(rm_write(rd, 0, 4, 0), 0);
	check_eq(rm_fence(rd, -1), 0);
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_revoke(own), 0);
	owner_end();
}
