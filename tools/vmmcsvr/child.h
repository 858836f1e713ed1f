/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child.h - children that become users
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef VMMCSVR_CHILD_H
#define VMMCSVR_CHILD_H

#include <pwd.h>
#include <sys/types.h>

/**
 * struct report - what a child says, in memory that it shares with its parent
 * @err: error number; 0 once the child has succeeded
 * @what: has failed
 * @pid: the child
 * @lpid: logical pid
 * @group: run group
 */
struct report {
	int err;
	char what[256];
	pid_t pid;
	int lpid, group;
};

/*
 * Fork; the child calls @run, and succeeds if that returns or executes a program. Returns when one of
 * these has happened, at the latest after half a minute: the child is killed then.
 */
const struct report *child_run(void (*run)(void *arg), void *arg);

/* ---- in the child ---- */

/* Report errno and what failed, and exit. */
void child_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Report what was made. */
void child_made(int lpid, int group);

/* By PAM: check that a user's account may be used, and take the limits of the user. */
void child_limits(uid_t uid);

/* Become a user, with its groups. */
struct passwd *child_become(uid_t uid);

/* Execute a program; the child has succeeded unless this fails. */
void child_execute(const char *path, char **argv) __attribute__((noreturn));

#endif
