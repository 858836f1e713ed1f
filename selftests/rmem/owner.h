/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * owner.h - processes that export and import segments, and name clerks, for tests
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMEM_OWNER_H
#define _RMEM_OWNER_H

#include "rmem.h"
#include "worker.h"

/* Memory that this process and the owner share; the owner exports parts of it. */
#define shared	((char *)board)
#define SHARED	(64 * PAGE)

int owner_node(void);

int own_node(void);

#define STRANGER_UID	BOB

/* Make the processes, once. Called before any call of rmem.h. */
void owner_start(void);

/* Which of them makes the calls below: the owner, THERE, or STRANGER. */
void owner_be(enum where id);
pid_t owner_pid(void);
void owner_kill(int sig);	/* another one takes its place after SIGKILL */

/* All segments are revoked, and descriptors given up. */
void owner_end(void);

/* Calls that the owner makes: results are those of the calls, and errno. */
rm_seg_t owner_export(const char *name, size_t offset, size_t len, int rights, int policy);
int owner_revoke(rm_seg_t seg);
int owner_grant(rm_seg_t seg, int node, int uid, int rights);
int owner_policy(rm_seg_t seg, int policy);
int owner_inhibit(rm_seg_t seg, int on);
int owner_pin(rm_seg_t seg);
int owner_unpin(rm_seg_t seg);

/* Returns the descriptor. */
rm_desc_t owner_import(const char *name, int node, int flags);

/* Write a word and wait until that is done. */
int owner_write(rm_desc_t rd, size_t offset, uint32_t value, int notify);

/* RLIMIT_MEMLOCK; 0: no limit */
int owner_limit(size_t bytes);

/* The next note of a segment: 1; 0 if there is none. */
int owner_note(rm_seg_t seg, struct rm_note *note);

/* Let the owner read a note and wait for it; owner_noted() returns it. */
void owner_read(rm_seg_t seg);
int owner_noted(struct rm_note *note);

/* Export the memory as a clerk does its registry; the second call ends that. */
int owner_forge(void);

/*
 * Start a name clerk, at the other node if @there, and wait for its first line: clerk_said.
 * Returns 0 if it has ended without being ready.
 */
extern char clerk_said[256];
pid_t clerk_start(const char *options, uid_t uid, bool there);
void clerk_end(pid_t pid, int sig);

/* Stop a clerk with SIGSTOP, and wait until all of its threads have stopped. */
void clerk_stop(pid_t pid);

#endif /* _RMEM_OWNER_H */
