/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peer.h - the connection that a child of the server serves
 *
 * Copyright (C) 2026 The dd authors
 *
 * The kernel identifies processes of this node, munge all others.
 */
#ifndef VMMCSVR_PEER_H
#define VMMCSVR_PEER_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* User that the request is for, and the process at the other end if that is on this node. */
extern uid_t peer_uid;
extern pid_t peer_pid;

/* The texts of the request, which end with NULL. If there is none, the child ends. */
char **peer_request(int fd, bool local, int *count);

/* A reply begins with an error number and a message; then follow numbers or texts. */
FILE *reply_begin(int err, const char *message);
void reply_send(void);

/* A reply that is an error, or none. The child ends. */
void refuse(int err, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
void done(void) __attribute__((noreturn));

#endif
