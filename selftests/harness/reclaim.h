/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Takes memory away from a process: a cgroup of its own, from which the kernel
 * is asked to reclaim, and a swap device.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_RECLAIM_H
#define DD_RECLAIM_H

#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/swap.h>

#define SWAP_SIZE	(16 << 20)

struct reclaim {
	char dir[64];		/* a cgroup2 and a ramfs are mounted below it */
	char device[32];	/* the swap device */
	char group[128];
	int loop;
};

static inline int put_string(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (int)strlen(text) ? 0 : -1;
}

/* Writes a swap header, as mkswap(8) does. */
static inline int write_swap_header(int fd)
{
	unsigned int header[4096 / 4] = {
		[1024 / 4] = 1,				/* version */
		[1024 / 4 + 1] = SWAP_SIZE / 4096 - 1,	/* last page */
	};

	memcpy((char *)header + 4096 - 10, "SWAPSPACE2", 10);
	if (pwrite(fd, header, sizeof(header), 0) != sizeof(header))
		return -1;
	return ftruncate(fd, SWAP_SIZE);
}

/* Swaps to a file in a ramfs, which is never swapped out itself. */
static inline int swap_begin(struct reclaim *r)
{
	char path[96];
	int ctl, file, n;

	if (access("/dev/loop-control", F_OK))
		n = system("modprobe -q loop");
	snprintf(path, sizeof(path), "%s/ram", r->dir);
	if (mkdir(path, 0700) || mount("none", path, "ramfs", 0, NULL))
		return -1;
	snprintf(path, sizeof(path), "%s/ram/swap", r->dir);
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ctl = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	n = ctl < 0 ? -1 : ioctl(ctl, LOOP_CTL_GET_FREE);
	if (file < 0 || write_swap_header(file) || n < 0)
		return -1;
	close(ctl);
	snprintf(r->device, sizeof(r->device), "/dev/loop%d", n);
	r->loop = open(r->device, O_RDWR | O_CLOEXEC);
	if (r->loop < 0 || ioctl(r->loop, LOOP_SET_FD, file))
		return -1;
	close(file);
	return swapon(r->device, 0);
}

/* Charges the caller's memory, and its children's, to a cgroup from now on. */
static inline int reclaim_begin(struct reclaim *r)
{
	char path[192];

	strcpy(r->dir, "/tmp/reclaim.XXXXXX");
	if (!mkdtemp(r->dir) || swap_begin(r))
		return -1;
	/* "ip netns exec" hides the cgroups at /sys. */
	snprintf(path, sizeof(path), "%s/cgroup", r->dir);
	if (mkdir(path, 0700) || mount("none", path, "cgroup2", 0, NULL))
		return -1;
	snprintf(r->group, sizeof(r->group), "%s/cgroup/dd.%d", r->dir, getpid());
	snprintf(path, sizeof(path), "%s/cgroup.procs", r->group);
	return mkdir(r->group, 0755) || put_string(path, "0") ? -1 : 0;
}

/*
 * Reclaims what the kernel can get from the cgroup; it may be nothing at once.
 */
static inline void reclaim_now(const struct reclaim *r)
{
	char path[192];

	snprintf(path, sizeof(path), "%s/memory.reclaim", r->group);
	put_string(path, "8M");
}

/* The children must have ended. */
static inline void reclaim_end(struct reclaim *r)
{
	char path[192];

	snprintf(path, sizeof(path), "%s/cgroup/cgroup.procs", r->dir);
	put_string(path, "0");
	swapoff(r->device);
	ioctl(r->loop, LOOP_CLR_FD);
	close(r->loop);
	rmdir(r->group);
	snprintf(path, sizeof(path), "%s/cgroup", r->dir);
	umount2(path, MNT_DETACH);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/ram", r->dir);
	umount2(path, MNT_DETACH);
	rmdir(path);
	rmdir(r->dir);
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
