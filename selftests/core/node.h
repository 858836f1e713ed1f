/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The node of exporters: that of the importers, or another one if across.sh runs the program.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_TEST_NODE_H
#define DD_TEST_NODE_H

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "mem.h"

/* Name of the namespace of the exporters' node, or NULL: there is one node. */
static inline const char *far_netns(void)
{
	return getenv("DDP_PEER_NETNS");
}

static inline int enter_netns(const char *name)
{
	char path[64];
	int fd, ret;

	if (!name)
		return 0;
	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ret = fd < 0 ? -1 : setns(fd, CLONE_NEWNET);
	close(fd);
	return ret;
}

/* A context of the exporters' node. The process stays in that of the importers. */
static inline int raw_open_far(struct raw *r)
{
	int ret = enter_netns(far_netns()) ?: raw_open(r);

	return enter_netns(far_netns() ? "dd1" : NULL) ?: ret;
}

static inline int raw_start_far(struct raw *r, size_t len, struct mem *m)
{
	return raw_open_far(r) ?: raw_alloc(r, len, m);
}

/* Number of the exporters' node; @r is of the importers'. */
static inline __u32 mem_far_node(const struct raw *r)
{
	return far_netns() ? atoi(getenv("DDP_PEER_NODE")) : mem_node(r);
}

#endif /* DD_TEST_NODE_H */
