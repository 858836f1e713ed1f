/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * owner.h - a process that exports buffers, and the import of one of them
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _VMMC_OWNER_H
#define _VMMC_OWNER_H

#include <stddef.h>

#include "vm.h"

/* What a buffer is exported with: its number, BUF_* and VMMC_PERM_*. */
#define AS(id, flags, perm)	((id) | (flags) << 8 | (perm) << 16)
#define RW(id)	AS(id, BUF_READWRITE, VMMC_PERM_ANY)
#define RO(id)	AS(id, BUF_READ_ONLY, VMMC_PERM_ANY)
#define WO(id)	AS(id, BUF_WRITE_ONLY, VMMC_PERM_ANY)

/* The owner of the buffers, at the other node if there is one. */
extern struct worker *owner;
extern vmmc_pid_t pid;

/* What this process has imported. */
extern vmmc_imphandle_t imp;
extern int32 *proxy;
extern uint32 nwords;

/* For a worker: export words of the board, end that, and what its pid is. */
long job_export(long at, long words, long as);
long job_unexport(long id, long b, long c);
long job_pid(long a, long b, long c);

void owner_start(void);
void owner_end(void);

/* Import a buffer of the owner. */
vmmc_result_t import_number(uint32 id);

/* The owner exports words of the board, and this process imports them. */
void owner_start_with(long at, long words, long as);
void import_end(void);

/* The result of a job of a new process of this node, or 1000 if that has ended. */
long last_words(job_t job, long c);

/* A send returns before the data arrives: a fetch comes after it. */
void arrived(int32 *at);

void fill(int32 *words, size_t n, int seed);

extern const int32 constant[3];

#endif /* _VMMC_OWNER_H */
