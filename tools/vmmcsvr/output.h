/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * output.h - directories, logs and control files of a session; in children only
 *
 * Copyright (C) 2026 The dd authors
 *
 * The child is the session's user: it can do nothing that the user could not do.
 */
#ifndef VMMCSVR_OUTPUT_H
#define VMMCSVR_OUTPUT_H

#include "process.h"

/* The session's drive. */
int output_root(const struct session *s);

/* Open below a drive, which is / for links, too. Sets errno. */
int output_below(int root, const char *path, int flags);

/* The path of an open file, allocated; NULL, with errno, if there is none. */
char *output_path(int fd);

/* The directory for logs. */
int output_dir(const struct session *s, int root);

/* Whether the drive is as it is named and there is a directory for logs. */
void output_check(const struct session *s);

/* An empty log of a process. */
int output_log(int dir, const struct session *s, int lpid);

/* Add a line for a process to the control file of its run group. */
void output_control(int dir, const struct session *s, const struct process *p);

#endif
