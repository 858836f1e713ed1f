/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Takes memory away from a process: a cgroup of its own, from which the kernel
 * is asked to reclaim, and a swap device.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_RECLAIM_H
#define DD_RECLAIM_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct reclaim {
	char dir[32];		/* a cgroup2 and a ramfs are mounted below it */
};

/* Has a shell execute @commands, with the directory $d and the cgroup $g. */
static inline int reclaim_shell(const struct reclaim *r, const char *commands)
{
	char line[640];

	snprintf(line, sizeof(line), "set -e; d=%s p=%d; g=$d/cgroup/dd.$p; %s", r->dir, getpid(),
		 commands);
	return system(line);
}

/*
 * Charges the caller's memory, and its children's, to a cgroup from now on. The swap device is
 * a file in a ramfs, which is never swapped out itself.
 */
static inline int reclaim_begin(struct reclaim *r)
{
	strcpy(r->dir, "/tmp/reclaim.XXXXXX");
	/* "ip netns exec" hides the cgroups at /sys. */
	return !mkdtemp(r->dir) ||
	       reclaim_shell(r, "[ -e /dev/loop-control ] || modprobe loop;"
				"mkdir $d/ram $d/cgroup; mount -t ramfs none $d/ram;"
				"truncate -s 16M $d/ram/swap; mkswap $d/ram/swap >/dev/null;"
				"l=$(losetup -f); losetup $l $d/ram/swap; echo $l >$d/loop;"
				"swapon $l; mount -t cgroup2 none $d/cgroup; mkdir $g;"
				"echo $p >$g/cgroup.procs") ? -1 : 0;
}

/* Reclaims what the kernel can get from the cgroup; it may be nothing at once. */
static inline void reclaim_now(const struct reclaim *r)
{
	reclaim_shell(r, "echo 8M 2>/dev/null >$g/memory.reclaim || true");
}

/* The children must have ended. */
static inline void reclaim_end(const struct reclaim *r)
{
	reclaim_shell(r, "echo $p >$d/cgroup/cgroup.procs; l=$(cat $d/loop); swapoff $l;"
			 "losetup -d $l; rmdir $g; umount -l $d/cgroup; umount -l $d/ram; rm -r $d");
}

/* Pages in memory of @len bytes at @at; -1 on failure. */
static inline long pages_present(const void *at, size_t len)
{
	uint64_t page = (uintptr_t)at / 4096, last = page + len / 4096, entry;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	long n = 0;

	for (; page < last && n >= 0; page++)
		if (pread(fd, &entry, 8, page * 8) == 8)
			n += entry >> 63;
		else
			n = -1;
	close(fd);
	return n;
}

#endif /* DD_RECLAIM_H */
