/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a receiver writes: a temporary file that gets its name last.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDCP_TARGET_H
#define DDCP_TARGET_H

#include "ddcp.h"

/**
 * struct target - a file being received
 * @fd: where to write
 * @path: its name in the end; NULL if it is written in place (a pipe, a device)
 * @temp: its name until then; an entry of the table of files to unlink should
 *	a signal end this process
 * @regular: writing to it does not wait for a reader
 * @replace: @path may exist
 * @mode: permission bits in the end
 */
struct target {
	int fd;
	char *path;
	char *temp;
	bool regular;
	bool replace;
	mode_t mode;
};

/* Unlink what is unfinished if a signal ends this process. */
void target_catch_signals(void);

/**
 * target_check() - whether files can be created where they are to go
 * @o: command line
 * @r: told why not
 *
 * Before a sender comes; target_open() finds what is wrong by then.
 *
 * Return: 0 or -1.
 */
int target_check(const struct options *o, struct outcome *r);

/**
 * target_open() - prepare to write
 * @t: filled in
 * @o: command line
 * @name: sender's name for it, already checked
 * @size: bytes to come, or PROTO_UNKNOWN
 * @mode: sender's permission bits
 * @r: told why not
 *
 * Room for the whole file is reserved, where the filesystem can do that.
 *
 * Return: 0 or -1.
 */
int target_open(struct target *t, const struct options *o, const char *name,
		uint64_t size, mode_t mode, struct outcome *r);

/**
 * target_write() - write all of a buffer
 * @t: target
 * @buf: bytes
 * @len: their number
 * @gone: asked now and then while a pipe is full: true to give up
 * @arg: its argument
 *
 * Return: 0, or an error number; ECONNCLOSE if @gone said so.
 */
int target_write(struct target *t, const void *buf, size_t len,
		 bool (*gone)(void *arg), void *arg);

/* Put it in place under its name, safely on disk. Return 0 or -1. */
int target_commit(struct target *t, struct outcome *r);

/* Forget it, and unlink what is unfinished. */
void target_close(struct target *t);

#endif /* DDCP_TARGET_H */
