// SPDX-License-Identifier: LGPL-2.1-only
/*
 * segment_failures.c - segments of remote memory that end, and what is refused
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "registry.h"
#include "segment.h"

TEST(RM_27_generations_count_up)
{
	uint32_t generation;
	rm_desc_t old;

	begin(RM_ALL, RM_ALWAYS);
	check_eq(fenced(rm_write(rd, 0, 4, 0)), 0);
	check_eq(owner_note(seg, &note), 1);
	generation = note.generation;
	check_eq(owner_revoke(seg), 0);
	seg = owner_export("seg", 0, SHARED, RM_ALL, RM_ALWAYS);
	check(seg >= 0);
	old = rd;
	/* The descriptor of the former segment is of no use for the new one. */
	shared[0] = 'n';
	check_errno(rm_write(old, 0, 4, 0), ESTALE);
	check_eq(shared[0], 'n');
	check_eq(rm_import("seg", owner_node(), RM_LOOKUP, &rd), 0);
	check_eq(fenced(rm_write(rd, 0, 4, 0)), 0);
	check_eq(owner_note(seg, &note), 1);
	check((int32_t)(note.generation - generation) > 0);
	check_eq(rm_unimport(old), 0);
	end();
}

/* 64 bits that grow by a few for an export never wrap. */
TEST(RM_28_generations_grow_slowly)
{
	uint32_t first;
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
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_import("seg", owner_node(), 0, &rd), 0);
	check_eq(fenced(rm_write(rd, 0, 4, 0)), 0);
	check_eq(owner_note(seg, &note), 1);
	/* Other processes export, too. */
	check(note.generation - first >= 100 && note.generation - first < 100000);
	end();
}

TEST(RM_29_a_stale_read_ends_and_the_name_is_imported_again)
{
	begin(RM_ALL, RM_NEVER);
	check_eq(owner_revoke(seg), 0);
	seg = owner_export("seg", PAGE, PAGE, RM_ALL, RM_NEVER);
	check(seg >= 0);
	if (rm_read(rd, 0, 4, own, 0, 0) == 0)
		check_errno(rm_fence(rd, 5000), ESTALE);
	else
		check_eq(errno, ESTALE);
	check_eq(rm_unimport(rd), 0);
	/* Although the clerk has cached the name of the old segment. */
	check_eq(rm_import("seg", owner_node(), 0, &rd), 0);
	strcpy(shared + PAGE, "new");
	check_eq(fenced(rm_read(rd, 0, 4, own, 0, 0)), 0);
	check(!strcmp(local, "new"));
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

#define BLOCK	(16 * PAGE)
#define BYTES	(BLOCK / PAGE)

/* Blocks with one byte value each, as fast as possible, until they are refused. */
static void *write_blocks(void *error)
{
	int i, ret;

	for (i = 0;; i++) {
		ret = rm_write_block(rd, 0, local + i % 4 * BLOCK, BLOCK, 0);
		if (!ret || errno == EAGAIN)
			continue;
		*(int *)error = errno;
		rm_fence(rd, -1);
		return NULL;
	}
}

/* The last block may have been stored in part: whole words of it. */
static bool words_whole(const char *p)
{
	int i;

	for (i = 0; i < BLOCK; i += 4)
		if (p[i] != p[i + 1] || p[i] != p[i + 2] || p[i] != p[i + 3])
			return false;
	return true;
}

/* When the call of the owner has returned, nothing lands any more. */
static void end_in_a_block(int round, int (*how)(void))
{
	static char copy[SHARED];
	int error = 0, i;
	pthread_t thread;

	begin(RM_ALL, RM_NEVER);
	for (i = 0; i < 4; i++)
		memset(local + i * BLOCK, i + 1, BLOCK);
	check_eq(pthread_create(&thread, NULL, write_blocks, &error), 0);
	while (!*(volatile char *)(shared + round % BYTES * PAGE))
		;
	check_eq(how(), 0);
	memcpy(copy, shared, SHARED);
	check(words_whole(copy));
	pthread_join(thread, NULL);
	check_eq(error, ESTALE);
	check(!memcmp(copy, shared, SHARED));
	end();
}

static int end_by_revoke(void)
{
	return owner_revoke(seg);
}

static int end_by_unpin(void)
{
	return owner_unpin(seg);
}

TEST(RM_4_a_segment_is_revoked_in_a_block)
{
	int i;

	for (i = 0; i < 8; i++)
		end_in_a_block(2 * i, i % 4 == 3 ? end_by_unpin : end_by_revoke);
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
