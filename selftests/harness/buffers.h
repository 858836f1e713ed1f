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

#include "common.h"

/* A test of both. Each name begins with the requirements of that interface. */
#ifdef OF_SBL
#include "sbl.h"
#define PROMISE(vmmc, sbl, name)	TEST(sbl##_##name)
#define ERR(name)		SBL_E##name
#define KEY_LETTER		'S'
#define RW(id)			(id)
#define REDIRECTABLE(id)	(id)
typedef SBL_MsgHandler buf_handler_t;
typedef SBL_Squid process_t;
typedef Int32 *import_t;
typedef NodeID node_t;
typedef int words_t;

#define buf_unexport		SBL_UnexportRecvBuf
#define buf_unimport		SBL_UnimportRecvBuf
#define buf_send		SBL_SendMsg
#define buf_send_notify		SBL_SendMsgWithNotify
#define buf_block		SBL_BlockNotifications
#define buf_unblock		SBL_UnblockNotifications
#define buf_error		SBL_Error
#define buf_me			SBL_MySquid
#define buf_here		SBL_MyNode
#define buf_there		node_there
#else
#include "vmmc.h"
#define PROMISE(vmmc, sbl, name)	TEST(vmmc##_##name)
#define ERR(name)		vmmcErr_##name
#define KEY_LETTER		'V'
/* What a buffer is exported as: its number, BUF_* and VMMC_PERM_*. */
#define AS(id, flags, perm)	((long)(unsigned int)(id) | (long)(flags) << 32 | (long)(perm) << 40)
#define RW(id)			AS(id, BUF_READWRITE, VMMC_PERM_ANY)
#define REDIRECTABLE(id)	AS(id, BUF_READWRITE | BUF_REDIRECTABLE, VMMC_PERM_ANY)
#define RO(id)			AS(id, BUF_READ_ONLY, VMMC_PERM_ANY)
#define WO(id)			AS(id, BUF_WRITE_ONLY, VMMC_PERM_ANY)
typedef vmmc_callback_t buf_handler_t;
typedef vmmc_pid_t process_t;
typedef vmmc_imphandle_t import_t;
typedef vmmc_node_t node_t;
typedef uint32 words_t;
extern vmmc_exphandle_t exported[256];	/* by the last 8 bits of its number */

#define buf_unexport(id)	vmmc_UnexportRecvBuf(exported[(id) & 255])
#define buf_unimport		vmmc_UnimportRecvBuf
#define buf_send		vmmc_SendData
#define buf_send_notify		vmmc_SendDataNotify
#define buf_block		vmmc_BlockNotifications
#define buf_unblock		vmmc_UnblockNotifications
#define buf_error		vmmc_Error
#define buf_me			vmmc_MyPid
#define buf_here()		(vmmc_MyNode().number)
#define buf_there()		(node_there().number)

/* Wait for an asynchronous send or fetch. Returns its code. */
vmmc_result_t finished(const vmmc_async_handle_t *h);
#endif

/* Words that other processes or threads use at the same time. */
static inline int load(const volatile int *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void store(volatile int *word, int value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

#define WINDOW	256	/* notifications of an import that wait for their handlers, at most */

/* Calls that differ in more than their names. */
int buf_export(int *at, long words, long as, buf_handler_t handler);
int buf_import(long node, process_t of, unsigned int id, import_t *imp, int **at);
node_t node_there(void);	/* of the workers THERE */

/* An import THERE that is made later. It stays where it is until request_end(), which cancels it. */
struct request {
	import_t imp;
	int *at;
	words_t words;
};

int request_new(struct request *r, process_t of, unsigned int id);
bool request_done(struct request *r, int *code);	/* made, or failed with @code */
int request_wait(struct request *r);
int request_end(struct request *r);

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
long job_block(long block, long b, long c);	/* or undo it: what the call returns */

void owner_start(void);
void owner_end(void);

/* Import a buffer of the owner. */
int import_number(unsigned int id);

/* The owner exports words of the board, and this process imports them. */
void owner_start_with(long at, long words, long as);
void import_end(void);

/* The result of a job of a new process of this node, or 1000 if that has ended. */
long last_words(job_t job, long c);

/* What a function writes to the standard error output: less than a page. */
void said(void (*say)(void), char *to, size_t size);

/* Have the other node send as netem says, "delay 30ms", and lose as many packets as before. */
void link_shape(const char *netem);	/* NULL: end this */

/* Have another configuration of the cluster, of @lines as printf(1) has them, until conf_end(). */
void conf_begin(const char *lines);
void conf_end(void);

/* A page of a file that begins with @constant. */
extern const int constant[3];
int *file_words(int prot, int flags);

#endif /* _DD_TESTS_BUFFERS_H */
