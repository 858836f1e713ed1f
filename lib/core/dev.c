// SPDX-License-Identifier: LGPL-2.1-only
/*
 * dev.c - calls of the device
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dev.h"

int ddi_ioctl(struct dd *h, unsigned long request, void *arg)
{
	int ret = ioctl(h->fd, request, arg);

	return ret < 0 ? -errno : ret;
}

int ddi_ioctl_id(struct dd *h, unsigned long request, uint32_t id)
{
	return ddi_ioctl(h, request, (void *)(unsigned long)id);
}

int ddi_ioctl_conn(struct dd *h, unsigned long request, uint64_t serial)
{
	/* Where a long has 32 bits, the kernel takes the address of the serial. */
	return ddi_ioctl(h, request, sizeof(long) < sizeof(serial) ?
			 (void *)&serial : (void *)(unsigned long)serial);
}

/* Map memory of the device; NULL and errno if that fails. */
void *ddi_map(struct dd *h, uint64_t offset, size_t size, int prot)
{
	void *at = mmap(NULL, size, prot, MAP_SHARED, h->fd, offset);

	return at == MAP_FAILED ? NULL : at;
}

DD_API int ddi_fd_above(int fd)
{
	int above;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	/* RLIMIT_NOFILE is 3 or less, which fcntl() takes for a wrong argument. */
	if (above < 0)
		errno = EMFILE;
	return above;
}
