/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * owner.h - a process that exports segments, at the other node if there is one
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMEM_OWNER_H
#define _RMEM_OWNER_H

#include <stdbool.h>

#include "rmem.h"
#include "tap.h"

#define PAGE	4096
#define BOARD	(64 * PAGE)

/* Memory that this process and the owner share; the owner exports parts of it. */
extern char *board;

/* The owner is at node 2, this process at node 1. */
extern bool far;

int owner_node(void);

int own_node(void);

/*
 * Make the owner, and another one for the time after SIGKILL, unless that was done. Called
 * before any call of rmem.h: on User-Mode Linux a child sees what its parent has mapped, where
 * it maps its own.
 */
void owner_start(void);
void owner_kill(int sig);

/* The owner revokes all segments. */
void owner_end(void);

/* Calls that the owner makes: results are those of the calls, and errno. */
rm_seg_t owner_export(const char *name, size_t offset, size_t len, int rights, int policy);
int owner_revoke(rm_seg_t seg);
int owner_grant(rm_seg_t seg, int node, int uid, int rights);
int owner_policy(rm_seg_t seg, int policy);
int owner_inhibit(rm_seg_t seg, int on);
int owner_pin(rm_seg_t seg);
int owner_unpin(rm_seg_t seg);

/* The next note of a segment: 1; 0 if there is none. */
int owner_note(rm_seg_t seg, struct rm_note *note);

/* Let the owner read a note and wait for it; owner_noted() returns it. */
void owner_read(rm_seg_t seg);
int owner_noted(struct rm_note *note);

#endif /* _RMEM_OWNER_H */
