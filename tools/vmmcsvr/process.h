/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process.h - processes of sessions and their records
 *
 * Copyright (C) 2026 The dd authors
 *
 * A record names a process by its pid and its start time: after its end it names none.
 */
#ifndef VMMCSVR_PROCESS_H
#define VMMCSVR_PROCESS_H

#include "child.h"
#include "session.h"

/**
 * struct process - a process
 * @pid: real pid
 * @lpid: logical pid
 * @group: run group
 * @began: its start time
 */
struct process {
	pid_t pid;
	int lpid, group;
	unsigned long long began;
};

/**
 * struct spec - a process to start
 * @session: of it
 * @group: run group; 0: it leads one
 * @parent_node: of the process that spawns it, -1 if none does
 * @parent_pid: that process
 * @dir: its directory, below the drive
 * @program: below the drive, or relative to @dir
 * @name: of the program, as it was given
 * @args: the arguments that follow the program's name; they end with NULL
 * @count: how many
 * @env: its environment, which ends with NULL; NULL: a new one
 * @hosts: VMMCHOSTS of a new environment
 */
struct spec {
	struct session *session;
	int group, parent_node, parent_pid;
	const char *dir, *program, *name;
	char **args;
	int count;
	char **env;
	const char *hosts;
};

/* The processes of a session that have not ended, in an array of *@n, which the caller frees. */
struct process *processes_read(const struct session *s, int *n);

/* Start one; returns when it executes its program, or cannot. */
const struct report *process_start(struct spec *spec, struct process *p);

/* Add one that was started otherwise: @p has its pid, and its group unless it leads one. */
const struct report *process_register(struct session *s, struct process *p);

/* Wait for the end of a process, remove its record, and exit. @child: it is the caller's. */
void process_watch(const char *session, const struct process *p, bool child) __attribute__((noreturn));

/* Remove the records of processes whose watcher was killed. */
void processes_check(struct session *s, void *unused);

void process_kill(const struct process *p);

/* Kill all processes of a session. */
void processes_kill(const struct session *s);

/* Wait for the end of those that have registered. */
void processes_wait(const struct session *s);

#endif
