/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * vmmc.h - virtual memory-mapped communication, version 2.0
 *
 * Copyright (C) 2026 The dd authors
 *
 * The interface of "VMMC Communication Model", Princeton University, February 1999. A process
 * exports a receive buffer; another process, also of another node, imports it, and moves data
 * between its own memory and the buffer, named by addresses in its DestSpace.
 *
 * Calls return vmmc_Success or a negative code, unless they say otherwise. Any number of
 * threads may use them. A buffer must not be unexported or unimported while another call uses
 * it. A child of fork() has no exports and imports, and may make its own.
 */
#ifndef _VMMC_H
#define _VMMC_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int int32;
typedef unsigned int uint32;
#if !defined(__USE_MISC) && !defined(_BSD_SOURCE)
typedef unsigned int uint;
typedef unsigned long ulong;
#endif

typedef int vmmc_result_t;

/* A process, as its node numbers it. */
typedef int32 vmmc_pid_t;

/* Which users may import a buffer: VMMC_PERM_* */
typedef unsigned int vmmc_perm_t;

/* Opaque types: members are for the library only. */
typedef struct vmmc_node {
	int number;
} vmmc_node_t;

typedef struct vmmc_exphandle {
	unsigned int slot, use;
} vmmc_exphandle_t;

typedef struct vmmc_imphandle {
	unsigned int slot, use;
} vmmc_imphandle_t;

/* A value: it may be copied, and passed to vmmc_AsyncStatus() any number of times. */
typedef struct vmmc_async_handle {
	vmmc_imphandle_t import;
	unsigned int low, high;
} vmmc_async_handle_t;

/**
 * typedef vmmc_callback_t - a notification handler
 * @address: of the last word of the message, in the exported buffer
 * @value: of that word, as the message has carried it
 *
 * It interrupts the process like the handler of a signal, and must not wait. Notifications
 * are blocked while it runs. It may call only functions that are safe in the handler of a signal,
 * and the calls below that do not list vmmcErr_NotInHandler.
 */
typedef void (*vmmc_callback_t)(int32 *address, int32 value);

/* Results. The texts of vmmc_ErrorStr() explain them. */
#define vmmc_Success			0
#define vmmcErr_BadAlignment		(-1)
#define vmmcErr_BufAlreadyExists	(-2)
#define vmmcErr_BadIbufState		(-3)
#define vmmcErr_BadRbufState		(-4)
#define vmmcErr_BadProxyExtension	(-5)	/* not used */
#define vmmcErr_BadProxyAddr		(-6)
#define vmmcErr_BadSize			(-7)
#define vmmcErr_BadArg			(-8)
#define vmmcErr_NotImplemented		(-9)
#define vmmcErr_UnblockedNotifications	(-10)	/* not used */
#define vmmcErr_BlockedNotifications	(-11)
#define vmmcErr_NoPhysDestSpace		(-12)
#define vmmcErr_NoVirtDestSpace		(-13)
#define vmmcErr_NoMem			(-14)
#define vmmcErr_NoSuchNode		(-15)
#define vmmcErr_NoSuchProcess		(-16)
#define vmmcErr_NotInHandler		(-17)
#define vmmcErr_OverlappedBufs		(-18)
#define vmmcErr_InProgress		(-19)
#define vmmcErr_NoSuchError		(-20)
#define vmmcErr_BadAsyncHandle		(-21)
#define vmmcErr_StateHandle		(-22)
#define vmmcErr_NoParent		(-23)
#define vmmcErr_Permission		(-24)	/* an extension */

#define vmmcErr_StaleHandle		vmmcErr_StateHandle
#define vmmc_ENotInHandler		vmmcErr_NotInHandler

/* Flags of vmmc_ExportRecvBuf(): one of these, */
#define BUF_WRITE_ONLY		0x1
#define BUF_READ_ONLY		0x2
#define BUF_READWRITE		0x3
/* and at most one of these */
#define BUF_REDIRECTABLE	0x4
#define BUF_GLOBAL_SPACE	0x8	/* no effect */

/* Permissions of vmmc_ExportRecvBuf(), extensions */
#define VMMC_PERM_ANY		0	/* every user may import */
#define VMMC_PERM_SAMEUSER	1	/* the exporter's user only */
#define VMMC_PERM_ONE		2	/* one import at a time, by any user */

/* ---- receive buffers ------------------------------------------------------ */

/**
 * vmmc_ExportRecvBuf() - export a receive buffer
 * @buf: first word, in memory that can be written
 * @nwords: words, 1 to 2^31 - 1
 * @rbufid: number of the buffer, unique among those that this process exports
 * @proc: handler of notifications; NULL: notifications have no effect
 * @flags: BUF_*, combined
 * @perm: which users may import it
 * @bufHandle: (out) handle
 *
 * The memory is pinned until vmmc_UnexportRecvBuf(). Importers of the same node access whole
 * pages of a BUF_READWRITE buffer without system calls.
 *
 * Return: vmmc_Success; NotInHandler, BadAlignment, BadSize, BadArg (flags, a null pointer, or
 * memory that is missing or read-only), BufAlreadyExists, OverlappedBufs, NotImplemented
 * (a shared mapping of a file, or one of a device), NoMem, NoSuchNode (this node is down or not
 * configured), Permission (this user may not open /dev/dd).
 */
vmmc_result_t vmmc_ExportRecvBuf(int32 *buf, uint32 nwords, uint32 rbufid, vmmc_callback_t proc,
				 uint32 flags, vmmc_perm_t perm, vmmc_exphandle_t *bufHandle);

/**
 * vmmc_UnexportRecvBuf() - end an export
 * @handle: handle of the buffer
 *
 * Pending notifications are delivered before. When the call returns, no importer can access the
 * buffer, and its handler does not run any more. Between nodes the call waits for importers, but
 * not longer than the dead time of a node that does not answer.
 *
 * Return: vmmc_Success; NotInHandler, BadRbufState (not exported), BlockedNotifications
 * (notifications of the buffer are pending and blocked).
 */
vmmc_result_t vmmc_UnexportRecvBuf(vmmc_exphandle_t handle);

/**
 * vmmc_DataEnd() - find the end of the latest message in a redirectable buffer
 * @bufHandle: handle of the buffer
 *
 * Return: index of the last word of the last message that has arrived completely, >= 0;
 * NoSuchError if there was none since the export or vmmc_ClearDataEnd(); BadRbufState (not
 * exported, or not redirectable).
 */
int vmmc_DataEnd(vmmc_exphandle_t bufHandle);

/**
 * vmmc_ClearDataEnd() - forget the latest message in a redirectable buffer
 * @bufHandle: handle of the buffer
 */
void vmmc_ClearDataEnd(vmmc_exphandle_t bufHandle);

/**
 * vmmc_PostRedir() - have the next message stored in other memory
 * @bufHandle: handle of a redirectable buffer
 * @redirOffset: first word of the buffer that is redirected
 * @numWords: number of words, > 0
 * @userBuf: where the first of them is stored instead; pinned until the end of the redirection
 *
 * One message is redirected at most: the first one with words in the range, from the word on
 * that arrives next. A redirection that a message has used is replaced.
 *
 * Return: vmmc_Success; NotInHandler, BadRbufState (not exported, not redirectable, or another
 * redirection waits for its message), BadAlignment, BadSize, BadArg (not inside the buffer, or
 * memory that is missing or read-only), NotImplemented (memory of a file or a device), NoMem.
 */
vmmc_result_t vmmc_PostRedir(vmmc_exphandle_t bufHandle, uint32 redirOffset, uint32 numWords,
			     int32 *userBuf);

/**
 * vmmc_EndRedir() - end a redirection
 * @bufHandle: handle of the buffer
 * @numWordsPtr: (out) words that were redirected; the others are in the buffer
 * @firstWordOffsetPtr: (out) index of the first of them at userBuf
 *
 * When the call returns, no message is stored at userBuf any more.
 *
 * Return: vmmc_Success; NotInHandler, BadRbufState (not exported, or no redirection was posted),
 * BadArg.
 */
vmmc_result_t vmmc_EndRedir(vmmc_exphandle_t bufHandle, uint32 *numWordsPtr,
			    uint32 *firstWordOffsetPtr);

/* ---- imports ---------------------------------------------------------------- */

/**
 * vmmc_ImportRecvBuf() - import a receive buffer
 * @node: node of the exporter
 * @pid: its process
 * @rbufid: number of the buffer
 * @handle: (out) handle
 * @proxyBuf: (out) address in DestSpace that stands for the first word
 * @nwords: (out) words in the buffer
 *
 * The call waits until the buffer is exported. The import has the rights that the exporter
 * grants.
 *
 * Return: vmmc_Success; NotInHandler, BadArg, NoSuchNode, NoSuchProcess (it uses no VMMC, or has
 * ended), Permission, NoPhysDestSpace (the buffer has as many importers as it permits),
 * NoVirtDestSpace (no addresses are left), NoMem.
 */
vmmc_result_t vmmc_ImportRecvBuf(vmmc_node_t node, vmmc_pid_t pid, uint32 rbufid,
				 vmmc_imphandle_t *handle, int32 **proxyBuf, uint32 *nwords);

/**
 * vmmc_ImportRecvBufAsync() - begin to import a receive buffer
 * @node: node of the exporter
 * @pid: its process
 * @rbufid: number of the buffer
 * @handle: (out) handle
 *
 * Return: vmmc_Success; errors that are known at once, as of vmmc_ImportRecvBuf().
 */
vmmc_result_t vmmc_ImportRecvBufAsync(vmmc_node_t node, vmmc_pid_t pid, uint32 rbufid,
				      vmmc_imphandle_t *handle);

/**
 * vmmc_ImportRecvBufStatus() - ask whether an import is made
 * @handle: handle of vmmc_ImportRecvBufAsync()
 * @proxyBuf: (out) address in DestSpace that stands for the first word
 * @nwords: (out) words in the buffer
 *
 * Return: vmmc_Success; InProgress, BadAsyncHandle (no such import, or its failure was reported),
 * StateHandle (its success was reported), NotInHandler, BadArg; errors of the import, as of
 * vmmc_ImportRecvBuf(), which end it.
 */
vmmc_result_t vmmc_ImportRecvBufStatus(vmmc_imphandle_t *handle, int32 **proxyBuf,
				       uint32 *nwords);

/**
 * vmmc_UnimportRecvBuf() - end an import, or a request for one
 * @handle: handle of the import
 *
 * Return: vmmc_Success; NotInHandler, BadIbufState (not imported).
 */
vmmc_result_t vmmc_UnimportRecvBuf(vmmc_imphandle_t handle);

/* ---- data --------------------------------------------------------------------- */

/**
 * vmmc_SendData() - write to an imported buffer
 * @localSrcAddr: the words
 * @remoteDestProxyAddr: where to, in DestSpace
 * @nwords: number of words
 *
 * What a process sends to one other process, and fetches from it, is executed in the order of
 * the calls, whatever buffers they name. When the call returns, the source may be used again.
 * After 256 notifications of an importer that were not handled, its requests wait.
 *
 * Return: vmmc_Success; BadAlignment, BadSize, BadProxyAddr (not all words are in one import),
 * BadIbufState (the exporter permits no writes, has ended the export, or has ended; or its node does
 * not answer), BadArg (the source cannot be read; such an address may raise SIGSEGV instead), NoMem,
 * BlockedNotifications (in a handler: the request waited for a second).
 */
vmmc_result_t vmmc_SendData(const int32 *localSrcAddr, int32 *remoteDestProxyAddr, uint32 nwords);

/**
 * vmmc_SendDataNotify() - write to an imported buffer, and notify its exporter
 * @localSrcAddr: the words
 * @remoteDestProxyAddr: where to, in DestSpace
 * @nwords: number of words
 *
 * Return: as vmmc_SendData().
 */
vmmc_result_t vmmc_SendDataNotify(const int32 *localSrcAddr, int32 *remoteDestProxyAddr,
				  uint32 nwords);

/**
 * vmmc_SendDataAsync() - begin to write to an imported buffer
 * @localSrcAddr: the words; they must not change until the request is done
 * @remoteDestProxyAddr: where to, in DestSpace
 * @nwords: number of words
 * @handle: (out) handle for vmmc_AsyncStatus()
 *
 * The call waits only if requests to another buffer of that process, or 64 to this one, are
 * under way, or a notification waits for its exporter.
 *
 * Return: as vmmc_SendData().
 */
vmmc_result_t vmmc_SendDataAsync(const int32 *localSrcAddr, int32 *remoteDestProxyAddr,
				 uint32 nwords, vmmc_async_handle_t *handle);

/**
 * vmmc_SendDataAsyncNotify() - begin to write to an imported buffer, and notify its exporter
 * @localSrcAddr: the words; they must not change until the request is done
 * @remoteDestProxyAddr: where to, in DestSpace
 * @nwords: number of words
 * @handle: (out) handle for vmmc_AsyncStatus()
 *
 * Return: as vmmc_SendDataNotify().
 */
vmmc_result_t vmmc_SendDataAsyncNotify(const int32 *localSrcAddr, int32 *remoteDestProxyAddr,
				       uint32 nwords, vmmc_async_handle_t *handle);

/**
 * vmmc_GetData() - read from an imported buffer
 * @localDstBuf: where to
 * @remoteSrcProxyAddr: where from, in DestSpace
 * @nwords: number of words
 *
 * Return: as vmmc_SendData(), when the words are in place; BadIbufState also if the exporter
 * permits no reads.
 */
vmmc_result_t vmmc_GetData(int32 *localDstBuf, int32 *remoteSrcProxyAddr, uint32 nwords);

/**
 * vmmc_GetDataAsync() - begin to read from an imported buffer
 * @localDstBuf: where to; not defined until the request is done
 * @remoteSrcProxyAddr: where from, in DestSpace
 * @nwords: number of words
 * @handle: (out) handle for vmmc_AsyncStatus()
 *
 * Return: as vmmc_GetData(), when the request has begun.
 */
vmmc_result_t vmmc_GetDataAsync(int32 *localDstBuf, int32 *remoteSrcProxyAddr, uint32 nwords,
				vmmc_async_handle_t *handle);

/**
 * vmmc_AsyncStatus() - ask whether a request is done
 * @handle: handle of a request
 *
 * Return: vmmc_Success (the source may be used again, or the words are in place); InProgress;
 * BadIbufState (the request has failed), BadAsyncHandle (it was of an import that has ended),
 * BadArg.
 */
vmmc_result_t vmmc_AsyncStatus(const vmmc_async_handle_t *handle);

/* ---- notifications ---------------------------------------------------------- */

/** vmmc_BlockNotifications() - block the notifications of all buffers, once more */
void vmmc_BlockNotifications(void);

/**
 * vmmc_UnblockNotifications() - undo one vmmc_BlockNotifications()
 *
 * Return: 1 if notifications are not blocked now; 0 if they are; NotInHandler (in a handler, for
 * more calls than it has made of vmmc_BlockNotifications()).
 */
int vmmc_UnblockNotifications(void);

/* ---- nodes and processes ----------------------------------------------------- */

/**
 * vmmc_AllHosts() - find all nodes of the cluster
 * @nhosts: (out) number of nodes
 * @hosts: (out) the nodes; not to be changed or freed
 *
 * The nodes are those of /etc/dd/cluster.conf at the first call; without it, this node.
 *
 * Return: vmmc_Success; BadArg, NoMem, NoSuchNode (this node is not configured), Permission.
 */
vmmc_result_t vmmc_AllHosts(uint32 *nhosts, vmmc_node_t **hosts);

/**
 * vmmc_SessionHosts() - find the nodes of the session
 * @nhosts: (out) number of nodes
 * @hostIds: (out) the nodes; not to be changed or freed
 *
 * The nodes are those that VMMCHOSTS of the environment names, separated by blanks; without it,
 * those of the Slurm job; without that, this node.
 *
 * Return: vmmc_Success; BadArg, NoMem, NoSuchNode (a name is unknown), Permission.
 */
vmmc_result_t vmmc_SessionHosts(uint32 *nhosts, vmmc_node_t **hostIds);

/** vmmc_EqualNodes() - compare nodes; 1 if they are the same, else 0 */
int vmmc_EqualNodes(vmmc_node_t node1, vmmc_node_t node2);

/** vmmc_MyNode() - the node of this process */
vmmc_node_t vmmc_MyNode(void);

/** vmmc_MyPid() - this process, for vmmc_ImportRecvBuf() of others */
vmmc_pid_t vmmc_MyPid(void);

/** vmmc_MyHostName() - the name of this node */
char *vmmc_MyHostName(void);

/**
 * vmmc_NameToNode() - the node of a host
 * @hostname: a name of /etc/dd/cluster.conf, or one that getaddrinfo() resolves (not in a handler)
 *
 * Return: its node; for an unknown name, a node that no host has.
 */
vmmc_node_t vmmc_NameToNode(const char *hostname);

/** vmmc_NodeToName() - the host of a node; NULL if it is unknown */
char *vmmc_NodeToName(vmmc_node_t node);

/**
 * vmmc_Spawn() - start a process
 * @execfile: the program; a relative path begins at the directory of this process. No suffix is
 *            added, and PATH is not searched
 * @argv: its arguments, from argv[1] on; the last pointer is NULL
 * @node: where
 * @pid: (out) the process
 *
 * The server of the node, vmmcsvr(8), starts it in the session that VMMCSESSION of the environment
 * names, by the user of this process, with its environment, and in its directory on the session's
 * drive. Its output is appended to a file of the session. The process may not have made its first
 * call when this one returns; an import from it waits.
 *
 * Return: vmmc_Success; BadArg (also: the program cannot be executed, this process is not in a
 * directory of the drive, the arguments and the environment are larger than 128 KiB), NoMem (also: a
 * limit of the server), NoSuchNode (no session, or none with its name there; no server answers),
 * Permission (the session belongs to another user), NotInHandler.
 */
vmmc_result_t vmmc_Spawn(const char *execfile, char **argv, vmmc_node_t node, vmmc_pid_t *pid);

/**
 * vmmc_Parent() - the process that has started this one by vmmc_Spawn()
 * @parentNode: (out) its node
 * @parentPid: (out) the process
 *
 * Return: vmmc_Success; BadArg, NoParent (also in a child of fork()).
 */
vmmc_result_t vmmc_Parent(vmmc_node_t *parentNode, vmmc_pid_t *parentPid);

/* ---- others -------------------------------------------------------------------- */

/** vmmc_ErrorStr() - the text of a code; a fixed text for other numbers, never NULL */
char *vmmc_ErrorStr(int errCode);

/** vmmc_Error() - print a text and that of a code to the standard error output */
void vmmc_Error(int errCode, const char *text);

/** vmmc_PageSize() - bytes in a page: 4096 */
int vmmc_PageSize(void);

/** vmmc_WordSize() - bytes in a word: 4 */
int vmmc_WordSize(void);

/** vmmc_Version() - 2 and 0 */
void vmmc_Version(uint32 *major, uint32 *minor);

/** vmmc_SetDebugLevel() - print calls that fail, and their reasons, from level 1 on */
void vmmc_SetDebugLevel(int level);

#ifdef __cplusplus
}
#endif

#endif /* _VMMC_H */
