/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * sbl.h - the SHRIMP Base Library
 *
 * Copyright (C) 2026 The dd authors
 *
 * The interface of "SBL Programming Model", Princeton University, 1995. A process exports a receive
 * buffer; another process, also of another node, imports it. It sends messages to the buffer
 * (deliberate update), or maps memory of its own to it, whose stores appear in the buffer
 * (automatic update).
 *
 * Calls return SBL_Success or a negative code, unless they say otherwise. Any number of threads may
 * use them. A buffer must not be unexported, unimported or unmapped while another call uses it. A
 * child of fork() has no exports, imports and mappings, and may make its own.
 */
#ifndef _SBL_H
#define _SBL_H

#ifdef __cplusplus
extern "C" {
#endif

/* A word */
typedef int Int32;

/*
 * A node: its IPv4 address, in network byte order. A node without one of its own has the address
 * 0.0.x.y, with its number in the cluster.
 */
typedef unsigned int NodeID;

/* A process: its number on its node */
typedef int SBL_Squid;

/**
 * typedef SBL_MsgHandler - a notification handler
 * @address: of the last word of the message, in the exported buffer
 * @value: of that word, as the message has carried it
 *
 * It interrupts the process like the handler of a signal, and must not wait. Notifications are
 * blocked while it runs. It may call only functions that are safe in the handler of a signal, and
 * the calls below that do not list SBL_ENotInHandler.
 */
typedef void (*SBL_MsgHandler)(Int32 *address, Int32 value);

/* When stores to a mapping are sent */
enum SBL_AUWriteType {
	AU_Disable,		/* not implemented */
	AU_SingleWrite,		/* not implemented: a message for each store */
	AU_BlockWrite,		/* the same as AU_TimerWrite */
	AU_TimerWrite		/* within two milliseconds on an idle machine */
};

/* Results. SBL_Error() prints their texts. */
#define SBL_Success			0
#define SBL_EBadAlignment		(-1)
#define SBL_EBufAlreadyExists		(-2)
#define SBL_EBadIbufState		(-3)
#define SBL_EBadRbufState		(-4)
#define SBL_EBadProxyAddr		(-6)
#define SBL_EBadSize			(-7)
#define SBL_EBadArg			(-8)
#define SBL_ENotImplemented		(-9)
#define SBL_EBlockedNotifications	(-11)
#define SBL_ENoPhysDestSpace		(-12)
#define SBL_ENoVirtDestSpace		(-13)
#define SBL_ENoMem			(-14)
#define SBL_ENoSuchNode			(-15)
#define SBL_ENoSuchProcess		(-16)
#define SBL_ENotInHandler		(-17)
#define SBL_EOverlappedBufs		(-18)
#define SBL_EPermission			(-24)

/* ---- receive buffers ------------------------------------------------------ */

/**
 * SBL_ExportRecvBuf() - export a receive buffer
 * @buf: first word, in memory that can be written
 * @nwords: number of words, > 0
 * @rbufid: number of the buffer, unique among those that this process exports
 * @handler: handler of notifications; NULL: notifications have no effect
 * @reserved: 0
 *
 * The memory is pinned until SBL_UnexportRecvBuf(). Processes of all users may import the buffer.
 *
 * Return: SBL_Success; ENotInHandler, EBadAlignment, EBadSize, EBadArg (@reserved, a null pointer,
 * or memory that is missing or read-only), EBufAlreadyExists, EOverlappedBufs (with another buffer
 * or a mapping), ENotImplemented (a shared mapping of a file on disk, or of a device), ENoMem,
 * ENoSuchNode (this node is down or not configured), EPermission (to use /dev/dd).
 */
int SBL_ExportRecvBuf(Int32 *buf, int nwords, unsigned int rbufid, SBL_MsgHandler handler,
		      int reserved);

/**
 * SBL_UnexportRecvBuf() - end an export
 * @rbufid: number of the buffer
 *
 * Pending notifications are delivered before. When the call returns, no importer can access the
 * buffer, and its handler does not run any more. Between nodes the call waits for importers, but
 * not longer than the dead time of a node that does not answer.
 *
 * Return: SBL_Success; ENotInHandler, EBadRbufState (not exported), EBlockedNotifications
 * (notifications of the buffer are pending and blocked).
 */
int SBL_UnexportRecvBuf(unsigned int rbufid);

/**
 * SBL_Importers() - find the processes that import a buffer
 * @rbufid: number of the buffer
 * @n: (out) number of imports
 * @squids: (out) their processes; to be freed by free()
 * @nodes: (out) the nodes of these; to be freed by free()
 *
 * Imports may end, and others may be made, at any time.
 *
 * Return: SBL_Success; ENotInHandler, EBadRbufState (not exported), EBadArg, ENoMem.
 */
int SBL_Importers(unsigned int rbufid, int *n, SBL_Squid **squids, NodeID **nodes);

/* ---- imports ---------------------------------------------------------------- */

/**
 * SBL_ImportRecvBuf() - import a receive buffer
 * @node: node of the exporter
 * @squid: its process
 * @rbufid: number of the buffer
 * @proxyBuf: (out) address in DestSpace that stands for the first word
 * @nwords: (out) words in the buffer
 *
 * The call waits until the buffer is exported.
 *
 * Return: SBL_Success; ENotInHandler, EBadArg, ENoSuchNode, ENoSuchProcess (it uses no SBL, or has
 * ended), ENoPhysDestSpace (the buffer has as many importers as it permits, or too many imports wait
 * for exports on that node), ENoVirtDestSpace (no addresses are left), ENoMem, EBadIbufState (the
 * export has ended), EPermission.
 */
int SBL_ImportRecvBuf(NodeID node, SBL_Squid squid, unsigned int rbufid, Int32 **proxyBuf,
		      int *nwords);

/**
 * SBL_ImportRecvBufReq() - begin to import a receive buffer
 * @node: node of the exporter
 * @squid: its process
 * @rbufid: number of the buffer
 * @proxyBuf: (out) names the request; later the address in DestSpace
 * @nwords: (out) 0; later the words in the buffer, or the negative code with which the import has
 *	failed
 * @reserved: 0
 *
 * The call does not wait. A thread of the library stores both results when the import is made or
 * has failed, *@nwords last: the program loads it with acquire semantics. Both variables stay where
 * they are until then, or until SBL_UnimportRecvBuf().
 *
 * Return: SBL_Success; EBadArg; ENotInHandler; errors that are known at once, as of
 * SBL_ImportRecvBuf().
 */
int SBL_ImportRecvBufReq(NodeID node, SBL_Squid squid, unsigned int rbufid, Int32 **proxyBuf,
			 int *nwords, int reserved);

/**
 * SBL_UnimportRecvBuf() - end an import, or a request for one
 * @proxyBuf: address of the first word, or what names the request
 *
 * Mappings to the buffer end, see SBL_Unmap(). When the call returns, a request stores no results
 * any more.
 *
 * Return: SBL_Success; ENotInHandler, EBadProxyAddr (not imported).
 */
int SBL_UnimportRecvBuf(Int32 *proxyBuf);

/* ---- deliberate update -------------------------------------------------------- */

/**
 * SBL_SendMsg() - send a message to an imported buffer
 * @sendAddr: the words, not in DestSpace
 * @destAddr: where to, in DestSpace
 * @nwords: number of words, > 0
 *
 * Messages of a process to one other process arrive in the order of the calls, whatever buffers
 * they name, and after what this process has stored to mappings before. When the call returns, the
 * source may be used again. After 256 notifications of an importer that were not handled, its
 * messages wait.
 *
 * Return: SBL_Success; EBadAlignment, EBadSize, EBadProxyAddr (not all words are in one import),
 * EBadIbufState (the exporter has ended the export, or has ended), EBadArg (the source is in
 * DestSpace, or cannot be read; such an address may raise SIGSEGV instead), ENoMem;
 * EBlockedNotifications (in a handler: the exporter has handled no notification for a second).
 */
int SBL_SendMsg(const Int32 *sendAddr, Int32 *destAddr, int nwords);

/** SBL_SendMesg() - another name of SBL_SendMsg() */
int SBL_SendMesg(const Int32 *sendAddr, Int32 *destAddr, int nwords);

/**
 * SBL_SendMsgWithNotify() - send a message, and notify the exporter
 * @sendAddr: the words
 * @destAddr: where to, in DestSpace
 * @nwords: number of words
 *
 * Return: as SBL_SendMsg().
 */
int SBL_SendMsgWithNotify(const Int32 *sendAddr, Int32 *destAddr, int nwords);

/* ---- automatic update ----------------------------------------------------------- */

/**
 * SBL_Map() - have stores to memory sent to an imported buffer
 * @sendBuf: first word, at the beginning of a page
 * @proxyBuf: where to, in DestSpace, at the beginning of a page
 * @nwords: number of words, > 0
 * @notify: not 0: each update notifies the exporter
 *
 * Each word that is stored to the memory afterwards, by instructions of any thread or by system
 * calls, is stored to the buffer within two milliseconds on an idle machine, and before a message
 * that this process sends to that process afterwards. A word that changes several times may arrive once. The
 * contents at the time of the call are not sent, nor is a word that is stored with the value that it
 * has. A word arrives as a whole, and not before those at lower addresses of the mapping that were
 * stored earlier. With @notify, there is one notification for each run of words that have changed.
 *
 * No other thread stores to the pages of the memory during the call. The memory stays mapped until
 * SBL_Unmap(), its whole pages are pinned, and a copy of it is kept. I/O with O_DIRECT fails on it.
 *
 * Return: SBL_Success; ENotInHandler, EBadAlignment, EBadSize, EBadProxyAddr (not all words are in
 * one import), EBadArg (memory that is missing or read-only, or in DestSpace), EOverlappedBufs (its
 * pages overlap another mapping, an exported buffer or other pinned memory), ENotImplemented
 * (shared memory, memory of a device, or huge pages), ENoMem.
 */
int SBL_Map(Int32 *sendBuf, Int32 *proxyBuf, int nwords, int notify);

/**
 * SBL_AUMap() - SBL_Map() with a choice when stores are sent
 * @sendBuf: first word, at the beginning of a page
 * @proxyBuf: where to, in DestSpace, at the beginning of a page
 * @nwords: number of words, > 0
 * @notify: not 0: each update notifies the exporter
 * @writeType: AU_TimerWrite or AU_BlockWrite
 *
 * Return: as SBL_Map(); ENotImplemented also for AU_SingleWrite and AU_Disable, EBadArg for what is
 * no type.
 */
int SBL_AUMap(Int32 *sendBuf, Int32 *proxyBuf, int nwords, int notify,
	      enum SBL_AUWriteType writeType);

/**
 * SBL_Unmap() - end a mapping
 * @sendBuf: its first word
 *
 * What was stored before is sent; notifications that the exporter does not handle delay this for
 * ten seconds at most. The memory keeps its contents. No other thread stores to its pages during the
 * call.
 *
 * Return: SBL_Success; ENotInHandler, EBadArg (not mapped); EBadIbufState (ended, but the last stores
 * could not be sent), ENoMem (not ended).
 */
int SBL_Unmap(Int32 *sendBuf);

/* ---- notifications ---------------------------------------------------------- */

/** SBL_BlockNotifications() - block the notifications of all buffers, once more */
void SBL_BlockNotifications(void);

/**
 * SBL_UnblockNotifications() - undo one SBL_BlockNotifications()
 *
 * Return: 1 if notifications are not blocked now; 0 if they are; ENotInHandler (in a handler, for
 * more calls than it has made of SBL_BlockNotifications()).
 */
int SBL_UnblockNotifications(void);

/* ---- nodes, processes, the library ----------------------------------------- */

/**
 * SBL_Hosts() - find all nodes
 * @nhosts: (out) number of nodes
 * @hosts: (out) the nodes; not to be changed or freed
 *
 * The nodes are those of /etc/dd/cluster.conf at the first call; without it, this node.
 *
 * Return: SBL_Success; EBadArg, ENoSuchNode (this node is not configured), EPermission, ENoMem.
 */
int SBL_Hosts(int *nhosts, NodeID **hosts);

/** SBL_MyNode() - the node of this process; 0xffffffff if the module cannot be used */
NodeID SBL_MyNode(void);

/** SBL_MySquid() - this process, for SBL_ImportRecvBuf() of others */
SBL_Squid SBL_MySquid(void);

/**
 * SBL_Spawn() - start a process on a node
 * @execfile: its program
 * @argv: its arguments, from argv[1] on, ended by NULL
 * @node: its node
 * @squid: (out) the process
 *
 * The server vmmcsvr(8) of the node starts it in the session that VMMCSESSION of the environment
 * names, by this user, with this environment and directory.
 *
 * Return: SBL_Success; EBadArg (also: the program cannot be executed), ENoMem, ENoSuchNode (no
 * session, or none with its name there; no server answers), EPermission, ENotInHandler.
 */
int SBL_Spawn(char *execfile, char **argv, NodeID node, SBL_Squid *squid);

/** SBL_PageSize() - bytes in a page: 4096, or those of a page of the machine if that is larger */
int SBL_PageSize(void);

/** SBL_WordSize() - bytes in a word: 4 */
int SBL_WordSize(void);

/**
 * SBL_Error() - print a text and that of a result to the standard error output
 * @status: the result
 * @string: printed before, or NULL
 */
void SBL_Error(int status, const char *string);

#ifdef __cplusplus
}
#endif

#endif /* _SBL_H */
