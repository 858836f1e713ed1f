// SPDX-License-Identifier: LGPL-2.1-only
/*
 * sb.c - what the tests of SBL share
 *
 * Copyright (C) 2026 The dd authors
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <time.h>

#include "sb.h"

/* Nodes are named by their numbers where no file has their addresses. */
NodeID node_there(void)
{
	return far ? htonl(atoi(getenv("DDP_PEER_NODE"))) : SBL_MyNode();
}

void fill(Int32 *words, long n, int seed)
{
	for (long i = 0; i < n; i++)
		words[i] = i * 2654435761u + seed;
}

static const Int32 *awaited;
static Int32 expected;

static bool arrived(void)
{
	return __atomic_load_n(awaited, __ATOMIC_ACQUIRE) == expected;
}

bool arrives(const Int32 *word, Int32 value)
{
	awaited = word;
	expected = value;
	return soon(arrived);
}

long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}
