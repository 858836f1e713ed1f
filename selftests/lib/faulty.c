// SPDX-License-Identifier: LGPL-2.1-only
/*
 * faulty.c - system calls on /dev/dd that fail at will
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <linux/dd_ddp.h>

#include "faulty.h"

struct faulty faulty;

int __real_open(const char *path, int flags, ...);
int __real_ioctl(int fd, unsigned long request, void *arg);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __wrap_open(const char *path, int flags, ...);
int __wrap_ioctl(int fd, unsigned long request, void *arg);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);

static int fails(int error)
{
	errno = error;
	return -1;
}

int __wrap_open(const char *path, int flags, ...)
{
	if (faulty.absent && !strcmp(path, "/dev/dd"))
		return fails(faulty.absent);
	return __real_open(path, flags, 0600);
}

static void other(void)
{
	void (*run)(void) = faulty.other;

	faulty.other = NULL;
	run();
}

/* The requests after faulty.cut stay with the caller. */
static int submit_some(int fd, struct dd_submit *s)
{
	unsigned int count = s->count;
	int ret;

	s->count = s->taken + faulty.cut;
	faulty.cut = 0;
	ret = __real_ioctl(fd, DD_IOC_SUBMIT, s);
	s->count = count;
	s->error = EINTR;
	return ret;
}

int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	int ret;

	faulty.calls++;
	if (faulty.interrupts) {
		faulty.interrupts--;
		return fails(EINTR);
	}
	if (faulty.refuse == request) {
		faulty.refuse = 0;
		return fails(faulty.refusal);
	}
	if (faulty.other && faulty.other_at == request && !faulty.other_after)
		other();
	if (faulty.cut && request == DD_IOC_SUBMIT)
		return submit_some(fd, arg);
	ret = __real_ioctl(fd, request, arg);
	if (faulty.other && faulty.other_at == request && faulty.other_after)
		other();
	if (faulty.received && request == DD_IOC_CONN_INFO)
		((struct dd_conn_info *)arg)->received = faulty.received;
	return ret;
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (fd < 0)
		return __real_mmap(addr, len, prot, flags, fd, offset);
	faulty.calls++;
	if (faulty.unmapped && !--faulty.unmapped) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap(addr, len, prot, flags, fd, offset);
}
