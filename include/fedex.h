/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * fedex.h - the calls of the Direct Deposit Protocol
 *
 * Copyright (C) 2026 The dd authors
 *
 * Names, argument order and values of the calls are those of "Direct Deposit:
 * A Basic User-Level Protocol for Carpet Clusters" (UUCS-95-003). They work on
 * one handle of the library's core (dd.h), opened on first use. All of them
 * return -1 and set errno on failure, unless stated otherwise, and may be
 * called from several threads. The ids are valid in the process that got them, and
 * not in its children. See dd(7) and one page per call in section 3.
 *
 * A result pointer that is NULL gives EINVAL. ddconninfo() and ddpoll() return EINVAL
 * for any pointer to memory that cannot be accessed; other calls fault.
 */
#ifndef _FEDEX_H
#define _FEDEX_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/time.h>
#include "dd_errno.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#define _DD_PRINTF(fmt, args)	__attribute__((__format__(__printf__, fmt, args)))
#else
#define _DD_PRINTF(fmt, args)
#endif

typedef int noteid_t;		/* never 0 */
typedef int servid_t;		/* never 0 */
typedef int connid_t;		/* never 0 */

/*
 * Names of the description that a program may want for itself, or that another
 * header has. Define DD_STRICT before including this one to be without them, without
 * the misprints at its end, and without the macros ddrecv and ddcall.
 */
#ifndef DD_STRICT
typedef char *address_t;
typedef address_t addr_t;
typedef long offset_t;
typedef int option_t;
typedef int timeout_t;		/* in units of 1 / SBP_HZ seconds */
typedef struct timeval timeval_t;
typedef servid_t serviceid_t;
#endif

/* Clock rate of the protocol's timeouts: n seconds are n * SBP_HZ. */
#define SBP_HZ		100

/* Flags of ddserve() */
#define SERVE_NOOPTS	0x0
#define SERVE_NOTELIST	0x1	/* attach to the note list *noteid */
#define SERVE_DOACCEPT	0x2	/* a note list and a note per connection */

/* Types of a connection */
#define TYPE_RPC	1	/* request and reply by ddcall() */
#define TYPE_SPLIT	2	/* request by ddsend(), reply by ddrecv() */
#define TYPE_SSTREAM	3	/* acknowledged messages, no replies */
#define TYPE_STREAM	TYPE_SSTREAM

/* Flags of ddconn() */
#define CONN_NOOPTS	0x0
#define CONN_NOTELIST	0x1	/* attach to the note list *noteid */

/* Options of ddsend() */
#define SEND_NOOPTS	0x0	/* from the connection's own send buffer */
#define SEND_BLOCK	0x1	/* return when the buffer may be reused */
#define SEND_UNWIRED	0x2	/* from any memory, copied by the CPU */
#define SEND_DMA	0x4	/* from any memory of ddalloc() */

/* Flags of dddone() */
#define SDONE_NOOPTS	0x0
#define SDONE_SLEEP	0x1

/* Options of ddrecv() and ddcall() */
#define RECV_SPIN	0x0
#define RECV_SLEEP	0x1
#define RECV_NOBLOCK	0x2
#define RECV_TIMEOUT	0x4

/**
 * struct ddrecv_desc - a received message
 * @msgaddr: its first byte; NULL for a connection notification
 * @msgsize: its length in bytes; -1 for a connection notification
 * @connid: its connection
 * @servid: service of that connection; 0 at the connecting end
 * @metad: words of metadata; untouched if there are none
 * @metacount: number of words in @metad, 0 to 4
 */
typedef struct ddrecv_desc {
	char *msgaddr;
	int msgsize;
	connid_t connid;
	servid_t servid;
	unsigned metad[4];
	int metacount;
} ddrecv_desc_t;

/* True for the connection notification of a service with SERVE_DOACCEPT. */
#define DD_ISCONN(desc) \
	((desc)->msgaddr == NULL && (desc)->msgsize == -1)

/**
 * struct conninfo - description of a connection
 * @node: node of the other end
 * @noteid: note list of its messages; 0 at the connecting
 *	end of a TYPE_RPC connection, whose list is anonymous
 * @sendbase: buffer for outgoing messages
 * @sendsize: its size in bytes
 * @recvbase: buffer for incoming messages
 * @recvsize: its size in bytes
 * @msgid_send: number of messages sent, modulo 2^31
 * @msgid_recv: number of messages received, modulo 2^31
 * @remotesize: size of the other end's buffer for incoming messages
 * @pid: process id of the other end, 0 if this process cannot see it or it has ended; for
 *	another node, as that node reports it
 * @uid: effective user id of the other end when it served or connected; for another
 *	node, as that node reports it
 */
typedef struct conninfo {
	int node;
	noteid_t noteid;
	char *sendbase;
	size_t sendsize;
	char *recvbase;
	size_t recvsize;
	int msgid_send;
	int msgid_recv;
	size_t remotesize;
	int pid;
	int uid;
} conninfo_t;

/*
 * Sources are const. The description's address_t, offset_t, option_t and timeout_t are
 * spelled out, so that the prototypes do not need these types.
 */
int ddserve(const char *name, int flags, int maxconn,
	    char *recvbase, size_t recvsize, char *replybase, size_t replysize,
	    noteid_t *noteid, servid_t *servid);
int ddconn(const char *name, int node, int type, int flags,
	   char *sendbase, size_t sendsize, char *replybase, size_t replysize,
	   connid_t *connid, noteid_t *noteid);
int ddclose(connid_t connid);
int ddunserve(servid_t servid);
int ddsend(connid_t connid, const char *addr, size_t len, long roffset,
	   int options);
int ddsend_with_metadata(connid_t connid, const char *addr, size_t size,
			 long roffset, int options, const char *metap,
			 size_t metacount);
int dddone(connid_t connid, int flags);
int ddflush(const char *addr, size_t len);
int ddrecv(noteid_t noteid, ddrecv_desc_t *recvblk, int options, int timeout);
int ddcall(connid_t connid, const char *saddr, size_t ssize,
	   char **repaddr, size_t *repsize, int options, int timeout);
int ddconninfo(connid_t connid, conninfo_t *conninfo);
int ddpoll(int count, noteid_t *notelist, struct timeval *timeout);
char *ddalloc(size_t size);
int ddpeek(noteid_t noteid, size_t *length, connid_t *connid);
int ddready(noteid_t noteid);
int ddmynode(void);
int ddmaxnodes(void);
int ddpacketssize(void);
void dderror(const char *string, ...) _DD_PRINTF(1, 2);

/*
 * Extensions, which are not in the protocol's description. Define _DD_NO_EXTENSIONS to
 * hide them.
 */
#ifndef _DD_NO_EXTENSIONS
#define _DD_EXTENSIONS	1

/*
 * Flags of ddserve() and ddconn(): number of messages, 1 to 256, that may be unread on a
 * connection, in each direction. The default is 16 for TYPE_SSTREAM, and 1 for other
 * types. The lower number of both ends counts.
 */
#define SERVE_WINDOW(n)	((int)((unsigned)(n) << 16))
#define CONN_WINDOW(n)	((int)((unsigned)(n) << 16))

/*
 * Flags of ddserve() and ddconn(): within a node, a sending process deposits messages
 * itself if both processes have the same user. To do so, it can read and write the
 * other end's block.
 */
#define SERVE_NODIRECT		0x4	/* the kernel deposits, in both directions */
#define SERVE_DIRECT_ANY	0x8	/* clients of other users may deposit, too */
#define CONN_NODIRECT		0x4	/* the kernel deposits, in both directions */
#define CONN_DIRECT_ANY		0x8	/* a server of another user may deposit, too */

/*
 * Option of ddrecv() and ddcall(): a signal that the process catches ends the wait
 * with EINTR, even if its handler was installed with SA_RESTART.
 */
#define RECV_INTR	0x8

/* Flag of ddserve(): ddrecv() fails with ECONNCLOSE when a client has closed. */
#define SERVE_CLOSE		0x10

/*
 * Flags of ddserve(): only clients of the server's user may connect, others get
 * EACCES; clients of one user get at most n of the blocks, 1 to 255.
 */
#define SERVE_SAMEUSER		0x20
#define SERVE_PERUSER(n)	((int)((unsigned)(n) << 8))

int ddconnlist(servid_t servid, int count, connid_t *list);
int ddfree(char *addr);
int ddfd(noteid_t noteid);
#endif

#ifndef DD_STRICT
/*
 * The description's programs pass NULL as the timeout, and call ddcall() with
 * five arguments. Strict C89 has no variadic macros: seven arguments there.
 */
#define ddrecv(noteid, recvblk, options, timeout) \
	(ddrecv)((noteid), (recvblk), (options), \
		 (timeout_t)(intptr_t)(timeout))

#if !defined(__STRICT_ANSI__) || defined(__cplusplus) || \
	(defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define _DDCALL5(c, s, n, ra, rs) \
	(ddcall)((c), (s), (n), (ra), (rs), RECV_SPIN, 0)
#define _DDCALL6(c, s, n, ra, rs, o) \
	(ddcall)((c), (s), (n), (ra), (rs), (o), 0)
#define _DDCALL7(c, s, n, ra, rs, o, t) \
	(ddcall)((c), (s), (n), (ra), (rs), (o), (timeout_t)(intptr_t)(t))
#define _DDCALL_PICK(a1, a2, a3, a4, a5, a6, a7, name, ...) name
#define ddcall(...) \
	_DDCALL_PICK(__VA_ARGS__, _DDCALL7, _DDCALL6, _DDCALL5, \
		     _DDCALL4, _DDCALL3, _DDCALL2, _DDCALL1, 0)(__VA_ARGS__)
#endif

/* Other spellings in the description. */
#define ddsends				ddsend
#define ddsnd				ddsend
#define ddsendsend			ddsend
#define ddsend_async			ddsend
#define ddsendsend_with_metadata	ddsend_with_metadata
#define dddonesend			dddone
#define ddpacketsize			ddpacketssize
#define ddererror			dderror
#define ddserv				ddserve
#define ddrrecv_desc_t			ddrecv_desc_t
#endif /* !DD_STRICT */

#ifdef __cplusplus
}
#endif

#endif /* _FEDEX_H */
