/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * session.h - sessions and their records
 *
 * Copyright (C) 2026 The dd authors
 *
 * A session is a directory, which has its name. The file "session" in it is replaced as a whole.
 * Each process has a file, too, named by its pid; see process.h.
 *
 * flock() of the directory: shared while a process is started or registered, exclusive while the
 * session is added or deleted. flock() of the counter, after it and for a short time: for what depends
 * on a number of sessions or processes. Both end with the child that serves the request.
 */
#ifndef VMMCSVR_SESSION_H
#define VMMCSVR_SESSION_H

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#define SESSIONS	"/run/vmmc/sessions"
#define DRIVES		"/run/vmmc/drives"

/**
 * struct session - a session
 * @dir: its directory
 * @state: ADDING: its drive is not checked; ENDING: its processes are killed
 * @uid: user that owns it
 * @name: any bytes but NUL
 * @user: of the share
 * @drive: "-" or a directory
 * @share: "" or what is mounted there
 * @outdir: directory of logs, below the drive
 * @file: its name as that of a file
 * @root: the drive
 * @cgroup: directory of its control group
 * @record: what the texts are in; NULL: they are the caller's
 */
struct session {
	int dir;
	enum { SESSION_ADDING, SESSION_ACTIVE, SESSION_ENDING } state;
	uid_t uid;
	const char *name, *user, *drive, *share, *outdir;
	char *file, *root, *cgroup, *record;
};

/* Directories; an error ends the server. */
void sessions_init(void);

/* Call @found for each session that has a record, also one that is being deleted. */
void sessions_each(void (*found)(struct session *s, void *arg), void *arg);

/* Lock the counter; a descriptor, which close() unlocks, or -1. */
int counter_lock(void);

/* A number that was never used on a node, or -1. */
int counter_next(int counter);

/* Open the session of a name; false if there is none. It is closed by the end of the child. */
bool session_open(struct session *s, const char *name);

/* Read the record again, as after a lock. */
bool session_read(struct session *s);

/* Make the directory of a session with its record, and lock it. False, with errno. */
bool session_create(struct session *s);
bool session_save(struct session *s);

/* After all processes have ended: unmount the share, and remove the control group and the directory. */
void session_remove(struct session *s);

/* Write to a file of its control group. */
bool cgroup_write(const struct session *s, const char *file, const char *text);

/* Wait until it has no process. */
void cgroup_wait(const struct session *s);

#endif
