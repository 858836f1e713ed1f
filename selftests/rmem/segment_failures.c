// SPDX-License-Identifier: LGPL-2.1-only
/*
 * segment_failures.c - segments of remote memory that end, and what is refused
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "registry.h"
#include "segment.h"

/* Those of names have 64 bits, which never wrap. */
TEST(RM_27_RM_28_RM_29_generations_count_up_slowly)
{
	uint32_t first, growth;
	rm_desc_t old;
	int i;

	begin(RM_ALL, RM_ALWAYS);
	check_eq(sizeof(((struct record *)0)->generation), 8);
	check_eq(fenced(rm_write(rd, 0, 4, 0)), 0);
	check_eq(owner_note(seg, &note), 1);
	first = note.generation;
	for (i = 0; i < 100; i++) {
		check_eq(owner_revoke(seg), 0);
		seg = owner_export("seg", 0, SHARED, RM_ALL, RM_ALWAYS);
		check(seg >= 0);
	}
	/* The descriptor of the first segment is of no use for the last one. */
	old = rd;
	strcpy(shared, "new");
	check_errno(rm_write(old, 0, 4, 0), ESTALE);
	check_errno(rm_read(old, 0, 4, own, 0, 0), ESTALE);
	check(!strcmp(shared, "new"));
	/* Although the clerk has cached the name of the first one. */
	check_eq(rm_import("seg", owner_node(), 0, &rd), 0);
	check_eq(fenced(rm_read(rd, 0, 4, own, 0, 0)), 0);
	check(!strcmp(local, "new"));
	check_eq(fenced(rm_write(rd, 0, 4, 0)), 0);
	check_eq(owner_note(seg, &note), 1);
	/* Other processes export, too. */
	growth = note.generation - first;
	check(growth >= 100 && growth < 100000);
	check_eq(rm_unimport(old), 0);
	end();
}

/* A value that the owner counts up is read from time to time, until it is gone. */
TEST(RM_30_failures_are_detected)
{
	int reads = 0;

	begin(RM_ALL, RM_NEVER);
	for (;;) {
		if (rm_read(rd, 0, 8, own, 0, 0) || rm_fence(rd, 10000))
			break;
		check_eq(*(uint64_t *)local, reads);
		++*(uint64_t *)shared;
		if (++reads == 20)
			owner_kill(SIGKILL);
	}
	check(reads >= 20);
	check(errno == ESTALE || errno == EHOSTUNREACH);
	end();
}

/* In a child: which call is wrong. They open no handle of the child. */
static int use_parents(const void *unused)
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

/* After that, the child uses what is its own. */
static int use_both(const void *unused)
{
	int wrong = use_parents(NULL);
	rm_desc_t mine;

	if (wrong)
		return wrong;
	return rm_import("seg", owner_node(), 0, &mine) || rm_write_block(mine, 8, "child", 6, 0) ||
	       rm_fence(mine, -1) ? 101 : 0;
}

static int revoke_parents(const void *unused)
{
	return rm_revoke(own) != -1 || errno != ESTALE;
}

TEST(children_cannot_use_what_is_their_parents)
{
	int fd;

	begin_reverse(RM_ALWAYS);
	fd = rm_fd(own);
	check_eq(in_child(use_both, NULL), 0);
	check(!strcmp(shared + 8, "child"));
	check_eq(fenced(rm_read(rd, 8, 6, own, 0, 0)), 0);
	check(!strcmp(local, "child"));
	check_eq(read(fd, &note, sizeof(note)), sizeof(note));
	/* Nor while the segment is not pinned. */
	check_eq(rm_unpin(own), 0);
	check_eq(in_child(revoke_parents, NULL), 0);
	check_eq(rm_pin(own), 0);
	end();
}

TEST(bad_exports)
{
	static char memory[4 * PAGE] __attribute__((aligned(PAGE)));

	owner_start();
	check_errno(rm_export("x", memory + 1, 8, RM_ALL, RM_NEVER), EINVAL);
	check_errno(rm_export("x", memory, 6, RM_ALL, RM_NEVER), EINVAL);
	check_errno(rm_export("x", memory, 0, RM_ALL, RM_NEVER), EINVAL);
	check_errno(rm_export("x", memory, 8, 0, RM_NEVER), EINVAL);
	check_errno(rm_export("x", memory, 8, 0x40, RM_NEVER), EINVAL);
	check_errno(rm_export("x", memory, 8, RM_ALL | RM_ANYBODY | RM_GRANTED, RM_NEVER), EINVAL);
	check_errno(rm_export("x", memory, 8, RM_ALL, 3), EINVAL);
	check_errno(rm_export("", memory, 8, RM_ALL, RM_NEVER), EINVAL);
	check_errno(rm_export("x", NULL, 8, RM_ALL, RM_NEVER), EFAULT);
	check_errno(rm_fd(0), EBADF);
	check_errno(rm_pin(-1), EBADF);
	check_errno(rm_inhibit(5, 0), EBADF);
	check_errno(rm_policy(1 << 30, 0), EBADF);
	owner_end();
}
