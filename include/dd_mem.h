/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * dd_mem.h - one-sided memory: write, read and update the memory of another process
 *
 * Copyright (C) 2026 The dd authors
 *
 * A process exports a segment of its memory; another process, also of another node, imports
 * it, and accesses it without action of the exporter. Calls return >= 0, or the kernel's
 * -errno. On one node the segment may be mapped in the importer: then dd_put(), dd_get() and
 * dd_cas() make no system call, and a bad address of the caller raises SIGSEGV in them.
 *
 * Any number of threads may use one import. dd_put(), dd_get(), dd_cas() and dd_note() may be
 * called in signal handlers. In a child of fork() all calls return -ESTALE.
 */
#ifndef _DD_MEM_H
#define _DD_MEM_H

#include "dd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An import. */
struct dd_mem;

#define DD_KEY_SIZE		64

/* Classes of keys; see dd_mem(3) */
#define DD_KEY_NAME		2	/* a text */
#define DD_KEY_ID		3	/* chosen by the kernel, never repeated */
#define DD_KEY_BUFFER		4	/* dd_pid() in 4 bytes, and 8 bytes of the exporter */
#define DD_KEY_WELL_KNOWN	5	/* a number below 64; privileged */
#define DD_KEY_REGISTERED	6	/* a text that the node's registrar keeps */

/* Rights */
#define DD_CAN_PUT		0x1
#define DD_CAN_GET		0x2
#define DD_CAN_CAS		0x4

/* Which puts and swaps notify the exporter */
#define DD_NOTIFY_IF_ASKED	0	/* those with DD_PUT_NOTIFY */
#define DD_NOTIFY_ALWAYS	1
#define DD_NOTIFY_NEVER		2

/* Which users may import */
#define DD_FOR_USER		0	/* the exporter's, and those of dd_export_grant() */
#define DD_FOR_ANY		1
#define DD_FOR_LISTED		2	/* those of dd_export_grant() only */

/* Whether importers of this node may map the segment; see dd_mem(3) */
#define DD_EXPORT_NODIRECT	0x1	/* none */
#define DD_EXPORT_DIRECT_ANY	0x2	/* also those of other users */
#define DD_EXPORT_WHOLE_PAGES	0x4	/* with the rest of its first and last page */
/* Messages can be redirected; none of the importers may map the segment */
#define DD_EXPORT_REDIRECT	0x8
/* Puts and swaps are refused from the beginning, see dd_export_inhibit() */
#define DD_EXPORT_INHIBITED	0x10

/**
 * dd_pin() - let the caller's memory be exported, or be accessed faster
 * @h: handle
 * @addr: first byte
 * @len: bytes
 *
 * The pages stay in memory, and count against RLIMIT_MEMLOCK, until dd_unpin() and the end of
 * the segments in it. Pinned pieces may overlap; each counts. Memory of dd_alloc() needs no pin.
 * Pages that were never used are allocated now. If the memory cgroup has no room for them, the
 * call fails; the OOM killer acts only if other processes of the cgroup take memory at the same
 * time.
 *
 * Return: 0; -EINVAL, -EFAULT, -EOPNOTSUPP (memory of a file or a device, or of dd_alloc()),
 * -EDQUOT, -ENOMEM, -ENOSPC, -ESTALE.
 */
int dd_pin(struct dd *h, void *addr, size_t len);

/**
 * dd_unpin() - undo the latest dd_pin() of an address
 * @h: handle
 * @addr: as passed to dd_pin()
 *
 * Return: 0; -EINVAL (not pinned), -ESTALE.
 */
int dd_unpin(struct dd *h, void *addr);

/**
 * dd_alloc_tracked() - allocate wired memory whose changed pages are recorded
 * @h: handle
 * @size: bytes, rounded up to whole pages
 * @addr: (out) its address
 *
 * The memory is like that of dd_alloc(), and dd_free() gives it back. System calls with
 * O_DIRECT, and vmsplice(), fail on it with -EFAULT.
 *
 * Return: 0; -EINVAL, -EDQUOT, -ENOMEM, -ENOSPC, -ESTALE.
 */
int dd_alloc_tracked(struct dd *h, size_t size, void **addr);

/**
 * dd_dirty() - find the pages of tracked memory that this process has stored to
 * @h: handle
 * @addr: first byte, at a page boundary in memory of dd_alloc_tracked()
 * @len: bytes, a multiple of the page size, > 0
 * @bitmap: (out) bit n % 64 of word n / 64 is 1 if page n was stored to, else 0; whole words
 *
 * Each store is reported by one call or more: by that during which it happened, or by the
 * next one. What a call reports, it forgets. What importers put is not reported. After an
 * error, the next call reports the same pages.
 *
 * Return: 0; -EINVAL, -EOPNOTSUPP (the memory is not tracked), -EFAULT, -ENOMEM, -ESTALE.
 */
int dd_dirty(struct dd *h, const void *addr, size_t len, uint64_t *bitmap);

/**
 * struct dd_export_state - of a segment with DD_EXPORT_REDIRECT, written by the kernel
 * @data_end: byte of the segment after the last one of the latest put, once all bytes of that
 *	are in place: load it with acquire semantics. 0 if there was none since the exporter
 *	stored 0; an empty put does not change it
 * @first: the first byte that was redirected, counted from the start of the redirection;
 *	stored by dd_redirect_end()
 * @count: bytes that were redirected; stored by dd_redirect_end()
 * @request: number of the latest put, as dd_put_async() has returned it to its importer, once all
 *	bytes of that are in place: load it with acquire semantics
 */
struct dd_export_state {
	uint64_t data_end;
	uint64_t first;
	uint64_t count;
	uint64_t request;
};

/**
 * struct dd_export_attr - a segment
 * @size: sizeof(struct dd_export_attr)
 * @addr: first byte, a multiple of 4, in one piece of dd_alloc() or dd_pin()
 * @len: bytes, a multiple of 4
 * @key_class: DD_KEY_*
 * @key: padded with zeros; with DD_KEY_ID (in) zero, (out) the key
 * @rights: DD_CAN_*
 * @notify: DD_NOTIFY_*; DD_NOTIFY_NEVER without @list
 * @users: DD_FOR_*
 * @importers: imports at a time, 1 to 65536; a user other than the exporter's gets one only
 *	while more are free than it has
 * @list: note list of dd_list(), or 0
 * @window: with @list, unread notes of each importer, 1 to 256; else requests under way of
 *	each importer of another node, up to 64, or 0 for 16
 * @flags: DD_EXPORT_*, combined
 * @cookie: for the records of notes
 * @state: (out) with DD_EXPORT_REDIRECT the state, until dd_unexport() or dd_shutdown(), not
 *	accessible in a child of fork(); else NULL
 */
struct dd_export_attr {
	size_t size;
	void *addr;
	size_t len;
	unsigned int key_class;
	unsigned char key[DD_KEY_SIZE];
	unsigned int rights;
	unsigned int notify;
	unsigned int users;
	unsigned int importers;
	int list;
	unsigned int window;
	unsigned int flags;
	uint64_t cookie;
	struct dd_export_state *state;
};

/**
 * dd_export() - export a segment
 * @h: handle
 * @attr: attributes
 * @segment: (out) its number, for the calls below
 *
 * Return: 0; -EINVAL, -EEXIST (the key is in use), -EPERM, -ESRCH (DD_KEY_BUFFER: dd_pid() is 0),
 * -ENOENT (no such list), -ENETDOWN,
 * -EDQUOT, -ENOMEM, -ENOSPC, -ESTALE; with DD_KEY_REGISTERED also -EHOSTDOWN (there is no
 * registrar), -ETIMEDOUT (it has not answered for three seconds), -EUSERS (too many calls wait
 * for it), -EINTR and what it answers.
 */
int dd_export(struct dd *h, struct dd_export_attr *attr, uint64_t *segment);

/**
 * dd_unexport() - revoke a segment
 * @h: handle
 * @segment: its number
 *
 * When the call returns, nothing reaches the memory any more, and no importer gets what is stored
 * there later. It waits until imports on other nodes have ended, but for a node that does not
 * answer no longer than its dead time. A signal ends this wait, which nothing else depends on,
 * without an error.
 *
 * Return: 0; -ENOENT, -ESTALE.
 */
int dd_unexport(struct dd *h, uint64_t segment);

/**
 * dd_export_inhibit() - refuse puts and swaps for a while
 * @h: handle
 * @segment: its number
 * @on: 1 to refuse, 0 to accept
 *
 * When the call returns, none that began before is still storing.
 *
 * Return: 0; -EINVAL, -ENOENT, -ESTALE.
 */
int dd_export_inhibit(struct dd *h, uint64_t segment, int on);

/**
 * dd_export_grant() - let a user import a segment
 * @h: handle
 * @segment: its number
 * @node: the node on which, below dd_max_nodes(); -1: on every node. A user has the rights of both
 *	grants
 * @uid: the user
 * @rights: DD_CAN_*; 0 withdraws the grant, which does not end imports
 *
 * Return: 0; -EINVAL, -ENOENT (the segment, or the grant), -ENOSPC, -EDQUOT, -ENOMEM, -ESTALE.
 */
int dd_export_grant(struct dd *h, uint64_t segment, int node, unsigned int uid,
		    unsigned int rights);

/**
 * dd_export_notify() - change which puts and swaps notify the exporter
 * @h: handle
 * @segment: its number
 * @notify: DD_NOTIFY_*; DD_NOTIFY_NEVER without a list
 *
 * With DD_NOTIFY_ALWAYS no importer of this node stores by a mapping any more when the call
 * returns.
 *
 * Return: 0; -EINVAL, -ENOENT, -ESTALE.
 */
int dd_export_notify(struct dd *h, uint64_t segment, unsigned int notify);

/**
 * struct dd_export_desc - description of a segment
 * @len: bytes
 * @importers: number of imports
 * @inhibited: 1 while puts and swaps are refused, else 0
 * @notify: DD_NOTIFY_*
 * @reserved: 0
 * @refused_rights: requests that were refused because the import has not the right
 * @refused_inhibit: because puts and swaps were inhibited
 * @refused_bounds: because they were not inside the segment
 * @reserved2: 0
 */
struct dd_export_desc {
	size_t len;
	unsigned int importers;
	int inhibited;
	unsigned int notify;
	unsigned int reserved;
	uint64_t refused_rights;
	uint64_t refused_inhibit;
	uint64_t refused_bounds;
	uint64_t reserved2[2];
};

/**
 * struct dd_export_importer - an import of a segment
 * @importer: its number, for dd_export_deny()
 * @count: its requests that the kernel has executed
 * @node: its node
 * @pid: its process, 0 if this process cannot see it or it has ended; of another node, as that
 *	reports it
 * @uid: its user; of another node, as that reports it
 * @rights: DD_CAN_*
 */
struct dd_export_importer {
	uint64_t importer;
	uint64_t count;
	unsigned int node;
	unsigned int pid;
	unsigned int uid;
	unsigned int rights;
};

/**
 * dd_export_info() - describe a segment and its imports
 * @h: handle
 * @segment: its number
 * @desc: (out) the description
 * @importers: (out) up to @count imports
 * @count: entries in @importers, may be 0
 *
 * Return: entries stored in @importers; -EINVAL, -ENOENT, -EFAULT, -ENOMEM, -ESTALE.
 */
int dd_export_info(struct dd *h, uint64_t segment, struct dd_export_desc *desc,
		   struct dd_export_importer *importers, unsigned int count);

/**
 * dd_export_deny() - end one import of a segment
 * @h: handle
 * @segment: its number
 * @importer: number of the import, see dd_export_info()
 *
 * When the call returns, nothing reaches the memory by that import any more, and the importer
 * gets nothing of what is stored there later. Its requests fail with -ESTALE; on another node,
 * when that knows of the end. The same process may import the segment again.
 *
 * Return: 0; -ENOENT (the segment, or the import), -ESTALE.
 */
int dd_export_deny(struct dd *h, uint64_t segment, uint64_t importer);

/**
 * dd_redirect() - have the bytes of one put stored in other memory
 * @h: handle
 * @segment: number of a segment with DD_EXPORT_REDIRECT
 * @offset: first byte of the segment that is redirected, a multiple of 4
 * @addr: where its byte is stored instead, a multiple of 4; in one piece of dd_alloc() or
 *	dd_pin()
 * @len: bytes, a multiple of 4, > 0
 *
 * The first put with bytes among these is redirected, and no other one. Its bytes outside go
 * to the segment. So do those that arrive after a packet between them was lost, and all
 * bytes of swaps: @first and @count of struct dd_export_state describe which bytes were
 * redirected. A redirection whose put is over is replaced by the next one.
 *
 * Return: 0; -EINVAL, -ENOENT, -EOPNOTSUPP (no DD_EXPORT_REDIRECT), -EBUSY (the segment has a
 * redirection), -ERANGE (not inside the segment), -ENOMEM, -EDQUOT, -ESTALE.
 */
int dd_redirect(struct dd *h, uint64_t segment, uint64_t offset, void *addr, size_t len);

/**
 * dd_redirect_end() - end a redirection
 * @h: handle
 * @segment: number of the segment
 *
 * When the call returns, no put stores in the other memory any more.
 *
 * Return: 0; -ENOENT (the segment, or it has no redirection), -ESTALE.
 */
int dd_redirect_end(struct dd *h, uint64_t segment);

/**
 * dd_list() - make a note list for segments
 * @h: handle
 *
 * dd_list_fd() returns its descriptor, from which read(2) gets a struct dd_list_record of
 * <linux/dd_mem.h> for each note.
 *
 * Return: its id, > 0; -EDQUOT, -ENOMEM, -ENOSPC, -ESTALE.
 */
int dd_list(struct dd *h);

/**
 * dd_list_end() - end a list of dd_list()
 * @h: handle
 * @list: its id
 *
 * It ends with the last segment and import that uses it.
 *
 * Return: 0; -EINVAL (of a service or a connection), -ENOENT (there is none, or it has ended),
 * -ESTALE.
 */
int dd_list_end(struct dd *h, int list);

/**
 * dd_list_arm() - get one signal at the next note of a list
 * @fd: descriptor of dd_list_fd() with O_ASYNC, see fcntl(2)
 *
 * From the first call on, @fd sends its signal once for each call that returns 0, at the next
 * note or at the end of the list, until O_ASYNC is turned off. A handler of the signal reads
 * all notes, and calls this until it returns 0. A child of fork() may call it, too.
 *
 * Return: 0; 1 if there are unread notes: then no signal is sent; -EINVAL (no O_ASYNC), -ENOENT
 * (the list has ended), -EBADF, -ENOTTY (not a descriptor of a list).
 */
int dd_list_arm(int fd);

/**
 * dd_import() - import a segment
 * @h: handle
 * @node: its node
 * @key_class: DD_KEY_*
 * @key: DD_KEY_SIZE bytes, padded with zeros
 * @rights: DD_CAN_* that are needed
 * @mem: (out) the import
 *
 * Return: 0; -EINVAL, -ECONNREFUSED (no segment has that key; or, with DD_KEY_ID, it grants no
 * right to this user), -EACCES (it does not grant these rights to this user), -EUSERS, -ENONET,
 * -EHOSTUNREACH, -EPROTONOSUPPORT (the other node has no segments), -EPROTO, -ENETDOWN,
 * -EDQUOT, -ENOBUFS, -ENOMEM, -ENOSPC, -ESTALE; with DD_KEY_REGISTERED also -EHOSTDOWN (there
 * is no registrar), -ETIMEDOUT (it has not answered for three seconds), -EINTR (a signal handler
 * has run; nothing was imported) and what it answers. Else the call goes on after a handler, and
 * ends when the other node's dead time has passed without an answer.
 */
int dd_import(struct dd *h, int node, unsigned int key_class, const void *key,
	      unsigned int rights, struct dd_mem **mem);

/* Flags of struct dd_import_attr */
#define DD_IMPORT_WHEN_EXPORTED	0x2	/* wait until a segment has that key */
#define DD_IMPORT_FRESH		0x4	/* DD_KEY_REGISTERED: use no cached name */
#define DD_IMPORT_UID		0x10	/* only a segment that user @uid has exported */
#define DD_IMPORT_MAY		0x20	/* those of @rights that are granted, at least one */
#define DD_IMPORT_BLOCK		0x100	/* wait until the import is made; no note reports that */

/**
 * struct dd_import_attr - what to import, and how
 * @size: sizeof(struct dd_import_attr)
 * @node: its node; with DD_KEY_REGISTERED a hint to the registrar
 * @key_class: DD_KEY_*
 * @key: padded with zeros
 * @rights: DD_CAN_* that are needed; with DD_IMPORT_MAY, that are wanted: see dd_mem_rights()
 * @flags: DD_IMPORT_*, combined; DD_IMPORT_WHEN_EXPORTED not with DD_KEY_REGISTERED or DD_KEY_ID
 * @depth: requests to another node that may be under way, 1 to 64; 0 is 16
 * @list: note list of dd_list() for a note when the import is made or has failed; or 0
 * @cookie: for the record of this note; 0 without @list
 * @uid: with DD_IMPORT_UID the user, else 0
 */
struct dd_import_attr {
	size_t size;
	int node;
	unsigned int key_class;
	unsigned char key[DD_KEY_SIZE];
	unsigned int rights;
	unsigned int flags;
	unsigned int depth;
	int list;
	uint64_t cookie;
	unsigned int uid;
};

/**
 * dd_import_begin() - begin to import a segment
 * @h: handle
 * @attr: attributes
 * @mem: (out) the import
 *
 * The call does not wait, but with DD_IMPORT_BLOCK, and for the registrar with
 * DD_KEY_REGISTERED. An import that is not made yet is *pending*: requests fail with -EAGAIN,
 * and dd_mem_size() is 0 until dd_import_wait() has returned 0. dd_unimport() ends it, without
 * a note. With DD_IMPORT_WHEN_EXPORTED, the first segment that is
 * exported under the key is imported. The import fails if that does not grant the access, and with
 * -ESTALE if it ends before the import is made.
 *
 * The note has type DD_NOTE_IMPORT of <linux/dd.h>; its @offset is 0, or the error number.
 *
 * Return: 0, also if the import is pending; errors that are known at once, without a note: as
 * of dd_import(), -EPERM (another user than @uid has exported the segment), -ENOENT (no such
 * list), -EUSERS (also: too many imports wait for exports on that node), -EINTR
 * (DD_KEY_REGISTERED).
 */
int dd_import_begin(struct dd *h, const struct dd_import_attr *attr, struct dd_mem **mem);

/**
 * dd_import_wait() - wait until an import is made
 * @mem: the import
 * @timeout: nanoseconds to wait at most; -1: no limit
 *
 * Until it has returned 0, requests of an import on this node go by the kernel.
 *
 * Return: 0; the error with which the import has failed, as of dd_import(); -EHOSTUNREACH (also:
 * the session with the other node has ended), -ESTALE (also: the segment has ended since, or
 * the import was denied), -ETIMEDOUT, -EAGAIN (@timeout is 0), -EINTR, -EINVAL (also: @mem
 * is null).
 */
int dd_import_wait(struct dd_mem *mem, int64_t timeout);

/**
 * dd_unimport() - end an import
 * @mem: the import, not used by any thread any more; it may be pending, or have failed
 *
 * With another node, the call waits until the requests under way are done, unless that node makes
 * no progress for twice its dead time. dd_shutdown() does not wait; it ends and frees the imports
 * that its handle still has.
 *
 * Return: 0; -EINVAL (null), -ESTALE (in a child of fork(); the record is freed).
 */
int dd_unimport(struct dd_mem *mem);

/**
 * dd_mem_size() - bytes in an imported segment
 * @mem: the import
 *
 * Return: bytes; 0 if it was begun by dd_import_begin(), until dd_import_wait() returns 0.
 */
size_t dd_mem_size(const struct dd_mem *mem);

/**
 * dd_mem_key() - where an imported segment is
 * @mem: the import, not pending
 * @key: (out) its key of class DD_KEY_ID, DD_KEY_SIZE bytes: it names the same segment as long
 *	as that exists
 *
 * Return: the number of its node.
 */
int dd_mem_key(const struct dd_mem *mem, void *key);

/**
 * dd_mem_uid() - the user that has exported an imported segment
 * @mem: the import
 * @uid: (out) effective user id of the exporter when it exported the segment; of another node, as
 *	that node states it
 *
 * Return: 0; -EAGAIN (the import is pending), -EINVAL, -ESTALE.
 */
int dd_mem_uid(const struct dd_mem *mem, unsigned int *uid);

/**
 * dd_mem_rights() - what an import may do
 * @mem: the import, not pending
 *
 * Return: DD_CAN_*; -EAGAIN (the import is pending), -EINVAL (null), -ESTALE.
 */
int dd_mem_rights(const struct dd_mem *mem);

#define DD_PUT_NOTIFY	0x4	/* notify the exporter */

/**
 * dd_put() - write to a segment
 * @mem: the import
 * @src: bytes
 * @len: number of bytes, below 2 GiB
 * @offset: where to, in the segment
 * @flags: 0 or DD_PUT_NOTIFY
 *
 * Words that are aligned at both ends are written as a whole, the last one after the others.
 * A put of 512 bytes or more may store a word twice, so no other process may swap a word of
 * them meanwhile. When the call returns 0, the bytes are in place, with one exception: if another
 * node has not answered after a second, the call returns 0, later requests fail with -EBUSY, and
 * dd_fence() has the result. If the call fails, some of the bytes may be in place.
 *
 * Return: 0; -EACCES (no right, or inhibited), -ERANGE, -EFAULT (or SIGSEGV), -EBUSY (the note
 * of an earlier put waits for a slot), -EAGAIN (the import is pending), -ESTALE (the segment has
 * ended), -EINVAL, -ENETDOWN; with another node also -EHOSTUNREACH (the session has ended; it
 * is not known whether this put was executed, and it is not repeated) and -EDQUOT (memory that
 * is not wired is copied for a put, and pinned for a get, and counts meanwhile). Never -EINTR:
 * the call goes on after a signal handler.
 */
int dd_put(struct dd_mem *mem, const void *src, size_t len, uint64_t offset,
	   unsigned int flags);

/**
 * dd_get() - read from a segment
 * @mem: the import
 * @dst: where to
 * @len: number of bytes, below 2 GiB
 * @offset: where from, in the segment
 *
 * Words that are aligned at both ends are read as a whole, in any order: a flag is read before the
 * data that it announces, by a call of its own.
 *
 * Return: 0; errors as of dd_put().
 */
int dd_get(struct dd_mem *mem, void *dst, size_t len, uint64_t offset);

/**
 * dd_cas() - compare and swap a word of a segment
 * @mem: the import
 * @offset: the word in the segment; its address in memory is aligned
 * @len: 4 or 8
 * @expect: the value to be replaced
 * @replace: the value to replace it by
 * @was: (out) the value that the word had; the word was replaced if that is @expect
 * @flags: 0 or DD_PUT_NOTIFY
 *
 * Atomic against stores and atomic instructions of all processes.
 *
 * Return: 0; errors as of dd_put().
 */
int dd_cas(struct dd_mem *mem, uint64_t offset, size_t len, uint64_t expect,
	   uint64_t replace, uint64_t *was, unsigned int flags);

/**
 * dd_note() - post bytes to the note list of a segment
 * @mem: the import, with DD_CAN_PUT
 * @bytes: the bytes
 * @len: number of bytes, at most 64
 *
 * The exporter finds them in @payload of the note, see struct dd_note of <linux/dd.h>. As of
 * dd_put(), the result may be late.
 *
 * Return: 0; -EAGAIN (no slot is free), -EACCES (also: the exporter wants no notes), -ERANGE, and
 * errors as of dd_put().
 */
int dd_note(struct dd_mem *mem, const void *bytes, size_t len);

/**
 * DOC: requests that the caller does not wait for
 *
 * dd_put_async(), dd_get_async() and dd_cas_async() begin requests. With a @list that
 * dd_import_list() has attached to the import, the caller gets a note of type DD_NOTE_DONE there
 * when the request is over, also on one node: see struct dd_note of <linux/dd.h>. Its @error is 0, the error number
 * with which the other node has refused the request, or EIO if the outcome is not known. A
 * call that returns an error posts no note.
 *
 * dd_put(), dd_get(), dd_cas(), dd_note(), these calls, dd_wait() and dd_fence() are
 * async-signal-safe, also in a handler that has interrupted one of them with the same import. The
 * handler must return: siglongjmp() out of it would leave a request that uses the caller's memory.
 */
#define DD_PUT_COPY	0x20	/* dd_put_async(): @src may change when the call returns */
#define DD_PUT_STABLE	0x40	/* dd_put_async(): @src stays as it is until dd_sent() returns 0 */
#define DD_CAS_STATUS	0x8	/* dd_cas_async(): store 1 if it has replaced the word, else 2 */

/**
 * dd_import_list() - let requests of an import notify the caller in a list
 * @mem: the import, which may be pending
 * @list: note list of dd_list()
 * @depth: notes that may be unread there, of this import, 1 to 64; 0 is 16
 * @cookie: for the records of these notes
 *
 * An import may have several lists, until it ends. Async-signal-safe.
 *
 * Return: 0; -EEXIST (it has this list), -ENOENT (no such list), -EINVAL, -ENOMEM, -ENOSPC,
 * -EDQUOT, -ESTALE.
 */
int dd_import_list(struct dd_mem *mem, int list, unsigned int depth, uint64_t cookie);

/**
 * dd_put_async() - begin to write to a segment
 * @mem: the import
 * @src: bytes; if they are of dd_alloc() or dd_pin(), they stay as they are until the request is
 *	done. With DD_PUT_STABLE other bytes do so, too, and the kernel need not copy them
 * @len: number of bytes, below 2 GiB
 * @offset: where to, in the segment
 * @flags: DD_PUT_NOTIFY, and one of DD_PUT_COPY and DD_PUT_STABLE, combined
 * @list: of dd_import_list(), for a note when the request is over; or 0
 *
 * Requests of an import are executed in the order of the calls. On one node the call is the
 * same as dd_put(), unless there is a @list.
 *
 * Return: a number > 0 for dd_wait(); 0 if the request is done; -EBUSY if 16 requests (see
 * @depth of struct dd_import_attr) are under way, or a dd_get_async() of this import is, or any is
 * while another thread waits in dd_put(), dd_get(), dd_cas() or dd_note() to begin one, or the
 * memory for one more would exceed RLIMIT_MEMLOCK until those under way are done; -EAGAIN
 * (as many notes in @list are unread as may be); -ENOENT (the import does not have @list); other
 * errors as of dd_put().
 */
int64_t dd_put_async(struct dd_mem *mem, const void *src, size_t len, uint64_t offset,
		     unsigned int flags, int list);

/**
 * dd_get_async() - begin to read from a segment
 * @mem: the import
 * @dst: where to; not defined until the request is done
 * @len: number of bytes, below 2 GiB
 * @offset: where from, in the segment
 * @list: as of dd_put_async()
 *
 * Return: as dd_put_async(), but for -EBUSY: as many requests are under way as may be.
 */
int64_t dd_get_async(struct dd_mem *mem, void *dst, size_t len, uint64_t offset, int list);

/**
 * dd_cas_async() - begin to compare and swap a word of a segment
 * @mem: the import
 * @offset: the word in the segment; its address in memory is aligned
 * @len: 4 or 8
 * @expect: the value to be replaced
 * @replace: the value to replace it by
 * @was: @len aligned bytes for the value that the word had, or with DD_CAS_STATUS for 1 or 2;
 *	not defined until the request is done
 * @flags: DD_PUT_NOTIFY and DD_CAS_STATUS, combined
 * @list: as of dd_put_async()
 *
 * Return: as dd_put_async().
 */
int64_t dd_cas_async(struct dd_mem *mem, uint64_t offset, size_t len, uint64_t expect,
		     uint64_t replace, void *was, unsigned int flags, int list);

/**
 * dd_wait() - wait until a request is done
 * @mem: the import
 * @request: its number, of the last 64 requests
 * @timeout: nanoseconds to wait at most; -1: no limit
 *
 * Return: 0; the error with which the request was refused, see dd_put(); -ESTALE, -EHOSTUNREACH
 * (the access has ended, and it is not known whether the request was executed); -ETIMEDOUT,
 * -EAGAIN (@timeout is 0), -EINTR (a signal handler has run; the request is still under way),
 * -EINVAL (also: @mem is null).
 */
int dd_wait(struct dd_mem *mem, int64_t request, int64_t timeout);

/**
 * dd_sent() - wait until the source of a put may be used again
 * @mem: the import
 * @request: its number
 * @timeout: nanoseconds to wait at most; -1: no limit
 *
 * The other node has the bytes then, but may not have stored them, nor notified the exporter.
 * Async-signal-safe.
 *
 * Return: 0; -ESTALE, -EHOSTUNREACH (the access has ended), -ETIMEDOUT, -EAGAIN (@timeout is 0),
 * -EINTR (a signal handler has run), -EINVAL (also: @mem is null).
 */
int dd_sent(struct dd_mem *mem, int64_t request, int64_t timeout);

/**
 * dd_fence() - wait until all requests are done
 * @mem: the import
 * @timeout: nanoseconds to wait at most; -1: no limit
 *
 * Return: 0, or the first error since the last call of a request begun by dd_put_async(),
 * dd_get_async() or dd_cas_async(); -EINVAL (@mem is null). Errors of the wait itself as of
 * dd_wait(); the former error is returned by a later call then.
 */
int dd_fence(struct dd_mem *mem, int64_t timeout);

#ifdef __cplusplus
}
#endif

#endif /* _DD_MEM_H */
