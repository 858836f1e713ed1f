/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * dev.h - calls of the device
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_DEV_H
#define _DD_DEV_H

#include "handle.h"

/* These return what the kernel returned, or the kernel's -errno. */
int ddi_ioctl(struct dd *h, unsigned long request, void *arg);
int ddi_ioctl_id(struct dd *h, unsigned long request, uint32_t id);
int ddi_ioctl_conn(struct dd *h, unsigned long request, uint64_t serial);
void *ddi_map(struct dd *h, uint64_t offset, size_t size, int prot);

/*
 * Returns a descriptor from 3 on in the place of @fd, or -1 and errno: a program without standard
 * input, output or error may use their numbers. @fd may be -1, with errno.
 */
int ddi_fd_above(int fd);

#endif /* _DD_DEV_H */
