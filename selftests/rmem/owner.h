/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * owner.h - processes that export and import segments, and name clerks, for tests
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMEM_OWNER_H
#define _RMEM_OWNER_H

#include <errno.h>

#include "rmem.h"
#include "common.h"

/* Memory that this process and the owner share; the owner exports parts of it. */
#define shared	((char *)board)
#define SHARED	(64 * PAGE)

#define OWN_NODE	1
int owner_node(void);	/* as a hint for imports */

#define check_errno(call, error) do {	\
	check_eq(call, -1);		\
	check_eq(errno, error);		\
} while (0)

/* Import a segment and give it up: its size, or a negative errno. */
ssize_t import_size(const char *name, int node, int flags);

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
int owner_grant(rm_seg_t seg, int node, int uid, int rights);
enum owner_call { REVOKE, PIN, UNPIN, POLICY, INHIBIT };
int owner_control(enum owner_call call, rm_seg_t seg, int value);
#define owner_revoke(seg)		owner_control(REVOKE, seg, 0)
#define owner_pin(seg)			owner_control(PIN, seg, 0)
#define owner_unpin(seg)		owner_control(UNPIN, seg, 0)
#define owner_policy(seg, policy)	owner_control(POLICY, seg, policy)
#define owner_inhibit(seg, on)		owner_control(INHIBIT, seg, on)

/* Returns the descriptor. */
rm_desc_t owner_import(const char *name, int node, int flags);

/* Write a word and wait until that is done. */
int owner_write(rm_desc_t rd, size_t offset, uint32_t value, int notify);

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
