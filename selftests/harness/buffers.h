/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * buffers.h - buffers of VMMC and of SBL, by the same names
 *
 * Copyright (C) 2026 The dd authors
 *
 * What both interfaces promise is tested by the same functions, which are compiled once for each
 * of them, with OF_SBL for SBL. Nodes are numbers, as jobs have them.
 */
#ifndef _DD_TESTS_BUFFERS_H
#define _DD_TESTS_BUFFERS_H

#include "worker.h"

/* A test of both. Each name begins with the requirements of that interface. */
#ifdef OF_SBL
#include "sbl.h"
#define PROMISE(vmmc, sbl, name)	TEST(sbl##_##name)
#define ERR(name)		SBL_E##name
#define KEY_LETTER		'S'
#define RW(id)			(id)
typedef SBL_MsgHandler buf_handler_t;
typedef SBL_Squid process_t;
typedef Int32 *import_t;
typedef NodeID node_t;
typedef int words_t;
#else
#include "vmmc.h"
#define PROMISE(vmmc, sbl, name)	TEST(vmmc##_##name)
#define ERR(name)		vmmcErr_##name
#define KEY_LETTER		'V'
/* What a buffer is exported as: its number, BUF_* and VMMC_PERM_*. */
#define AS(id, flags, perm)	((long)(unsigned int)(id) | (long)(flags) << 32 | (long)(perm) << 40)
#define RW(id)			AS(id, BUF_READWRITE, VMMC_PERM_ANY)
#define RO(id)			AS(id, BUF_READ_ONLY, VMMC_PERM_ANY)
#define WO(id)			AS(id, BUF_WRITE_ONLY, VMMC_PERM_ANY)
typedef vmmc_callback_t buf_handler_t;
typedef vmmc_pid_t process_t;
typedef vmmc_imphandle_t import_t;
typedef vmmc_node_t node_t;
typedef uint32 words_t;
extern vmmc_exphandle_t exported[256];	/* by the last 8 bits of its number */
#endif

#define WINDOW	256	/* notifications of an import that wait for their handlers, at most */

/* The calls of both. */
int buf_export(int *at, long words, long as, buf_handler_t handler);
int buf_unexport(unsigned int id);
int buf_import(long node, process_t of, unsigned int id, import_t *imp, int **at);
int buf_unimport(import_t imp);
int buf_send(const int *from, int *to, long words);
int buf_send_notify(const int *from, int *to, long words);
void buf_block(void);
int buf_unblock(void);

long buf_here(void);
long buf_there(void);		/* of the workers THERE */
node_t node_there(void);
process_t buf_me(void);

/* Whether words arrive at @local; VMMC also fetches them from @proxy. */
bool buf_arrive(const int *words, int *proxy, const int *local, long n);

/* VMMC: wait until what was sent to @proxy is in place. */
int buf_settle(int *proxy);

/* The key of libdd for a buffer, whose number has 8 bits. */
void buf_key(unsigned char *key, process_t of, unsigned char id);

/* The owner of the buffers, a worker THERE; what this process has imported last. */
extern struct worker *owner;
extern process_t pid;
extern import_t imp;
extern int *proxy;
extern words_t nwords;

/* For a worker: export words of the board, end that, and what its number is. */
long job_export(long at, long words, long as);
long job_unexport(long id, long b, long c);
long job_pid(long a, long b, long c);

void owner_start(void);
void owner_end(void);

/* Import a buffer of the owner. */
int import_number(unsigned int id);

/* The owner exports words of the board, and this process imports them. */
void owner_start_with(long at, long words, long as);
void import_end(void);

/* The result of a job of a new process of this node, or 1000 if that has ended. */
long last_words(job_t job, long c);

/* Have the other node send as netem says, "delay 30ms", and lose as many packets as before. */
void link_shape(const char *netem);	/* NULL: end this */

/* A page of a file that begins with @constant. */
extern const int constant[3];
int *file_words(int prot, int flags);

#endif /* _DD_TESTS_BUFFERS_H */
