// SPDX-License-Identifier: GPL-2.0-only
/*
 * clerk.c - the state of the clerk, its users, and its answers to the kernel
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <unistd.h>

#include "clerk.h"
#include "../common/tool.h"

struct clerk clerk = { .lock = PTHREAD_MUTEX_INITIALIZER, .probes = 7 };
static void *users;		/* tree of struct user */

void fail(const char *what, int error)
{
	tool_warn("%s: %s", what, dd_strerror(error));
	exit(tool_exit_code(error));
}

void answer(const struct dd_registrar_call *call, int error, int node, uint64_t generation)
{
	struct dd_registrar_answer a = {
		.call = call->call, .error = dd_errno(error), .node = node,
		.generation = generation,
	};

	if (!call->call || write(clerk.registrar, &a, sizeof(a)) > 0)
		return;
	/* The record of another node may have an invalid node or generation. */
	if (errno == EINVAL) {
		a.error = EPROTO;
		if (write(clerk.registrar, &a, sizeof(a)) > 0)
			return;
	}
	/* ENOENT: the caller was killed. */
	if (errno != ENOENT)
		fail("cannot answer the kernel", errno);
}

static int compare_users(const void *a, const void *b)
{
	const struct user *x = a, *y = b;

	return (x->uid > y->uid) - (x->uid < y->uid);
}

struct user *user_of(uint32_t uid)
{
	struct user key = { .uid = uid }, **found = tfind(&key, &users, compare_users), *new;

	if (found)
		return *found;
	new = calloc(1, sizeof(*new));
	if (new)
		new->uid = uid;
	if (!new || !tsearch(new, &users, compare_users))
		fail("users", ENOMEM);
	return new;
}
