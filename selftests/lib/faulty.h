/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * faulty.h - system calls on /dev/dd that fail at will
 *
 * Copyright (C) 2026 The dd authors
 *
 * The linker's --wrap option puts faulty.c between the library and the C library.
 */
#ifndef _DD_TESTS_FAULTY_H
#define _DD_TESTS_FAULTY_H

/**
 * struct faulty - what happens at the next calls; zeroes change nothing
 * @calls: (out) calls of ioctl() and mmap() on the device
 * @absent: errno of open()
 * @interrupts: the next so many calls of ioctl() fail with EINTR
 * @refuse: request whose next call fails
 * @refusal: with this errno
 * @unmapped: which of the next calls of mmap() fails, from 1
 * @cut: a signal ends the next DD_IOC_SUBMIT after so many requests
 * @other: what another thread does, once, at the next call of @other_at
 * @other_at: request
 * @other_after: @other runs after the kernel has executed the request
 * @received: what DD_IOC_CONN_INFO reports as received
 */
struct faulty {
	int calls;
	int absent;
	int interrupts;
	unsigned long refuse;
	int refusal;
	int unmapped;
	unsigned int cut;
	void (*other)(void);
	unsigned long other_at;
	int other_after;
	unsigned long long received;
};

extern struct faulty faulty;

#endif /* _DD_TESTS_FAULTY_H */
