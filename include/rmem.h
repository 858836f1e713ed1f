/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * rmem.h - remote memory: segments by name, with the operations WRITE, READ and CAS
 *
 * Copyright (C) 2026 The dd authors
 *
 * The model of Thekkath, Levy and Lazowska, "Separating Data and Control Transfer in
 * Distributed Operating Systems", University of Washington, TR 94-07-04.
 *
 * Calls return -1 and set errno, unless they say otherwise. Names are kept by the name
 * clerk of the node, see rmclerk(8). Any number of threads may use a segment or a descriptor;
 * none while it is revoked or given up. rm_write(), rm_write_block(), rm_read() and rm_cas() may
 * be called in signal handlers. A child of fork() may export and import; its parent's segments
 * and descriptors fail with ESTALE there.
 */
#ifndef _RMEM_H
#define _RMEM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int rm_seg_t;	/* a segment of this process */
typedef int rm_desc_t;	/* descriptor of an imported segment */

#define RM_NAME_MAX	63	/* bytes in a name */
#define RM_REGISTERS	10	/* message registers, of 4 bytes */

/* Rights: of rm_export(), rm_grant() and rm_import() */
#define RM_WRITE	0x1
#define RM_READ		0x2
#define RM_CAS		0x4
#define RM_ALL		0x7

/*
 * With the rights of rm_export(): which users may import; else the exporter's user on every node
 * and those of rm_grant()
 */
#define RM_ANYBODY	0x100
#define RM_GRANTED	0x200	/* those of rm_grant() only */

/* With the rights of rm_import() */
#define RM_LOOKUP	0x1000	/* look the name up on its node again, use no cached one */
#define RM_WAIT		0x2000	/* wait until the name is exported, or a signal comes */

/* Policies: which operations notify the owner of a segment */
#define RM_CONDITIONAL	0	/* those with RM_NOTIFY */
#define RM_ALWAYS	1
#define RM_NEVER	2

/* Flags of operations, the argument @notify */
#define RM_NOTIFY	0x1	/* notify */
#define RM_SWAP		0x2	/* reverse the bytes of each word of 4 bytes on the way */

/* The message registers of the thread. */
extern __thread uint32_t rm_mr[RM_REGISTERS];

/**
 * rm_export() - export a segment
 * @name: 1 to 63 bytes, for rm_import(); or NULL: the segment only takes the data of
 *	rm_read() and results of rm_cas()
 * @base: first byte, a multiple of 4
 * @len: bytes, a multiple of 4, > 0; segments may overlap
 * @rights: RM_WRITE, RM_READ, RM_CAS, and RM_ANYBODY or RM_GRANTED, combined
 * @policy: RM_CONDITIONAL, RM_ALWAYS or RM_NEVER
 *
 * The memory is pinned. It must stay mapped until rm_revoke(). Only whole pages can be
 * accessed by other processes of the node without a system call. While there is no name
 * clerk, the call waits for one, up to three seconds.
 *
 * Return: the segment, >= 0; EINVAL, ENAMETOOLONG, EEXIST (the name is in use on this node),
 * ENOSPC (the registry is full), EHOSTDOWN (there is no name clerk, or it does not answer), EUSERS
 * (too many calls of it), EINTR (signals for three seconds), EDQUOT (RLIMIT_MEMLOCK, or names of
 * the user), EFAULT, EOPNOTSUPP (memory of a file), ENODEV, ENETDOWN, EMFILE (too many segments),
 * ENOMEM.
 */
rm_seg_t rm_export(const char *name, void *base, size_t len, int rights, int policy);

/**
 * rm_revoke() - revoke a segment
 * @seg: the segment
 *
 * When the call returns, nothing reaches the memory any more.
 *
 * Return: 0; EBADF (no segment).
 */
int rm_revoke(rm_seg_t seg);

/**
 * rm_grant() - let a user import a segment
 * @seg: the segment
 * @node: the node on which; -1: every node. A user has the rights of both grants
 * @uid: the user
 * @rights: RM_WRITE, RM_READ and RM_CAS, combined, of those of the segment; 0 withdraws them and
 *	ends imports of the user from the node
 *
 * Return: 0; EBADF, EINVAL, ENOENT (@rights is 0 and nothing was granted), ESTALE (the segment is
 * not pinned), ENOSPC, EDQUOT, ENOMEM.
 */
int rm_grant(rm_seg_t seg, int node, uid_t uid, int rights);

/**
 * rm_policy() - change which operations notify the owner of a segment
 * @seg: the segment
 * @policy: RM_CONDITIONAL, RM_ALWAYS or RM_NEVER
 *
 * WRITE and CAS notify at the segment that they change, READ at the local segment that takes
 * its data, and CAS also at the one that takes its result; CAS has no notify bit there. The policy
 * stays over rm_unpin() and rm_pin(), and may be changed between them.
 *
 * Return: 0; EBADF, EINVAL.
 */
int rm_policy(rm_seg_t seg, int policy);

/**
 * rm_inhibit() - refuse WRITE and CAS for a while
 * @seg: the segment
 * @on: 1 to refuse, 0 to accept
 *
 * When the call returns, none that began before is still storing. READ goes on. No call waits
 * for the release: an importer whose operations are refused polls, by these or by READ.
 * Inhibition stays over rm_unpin() and rm_pin(). Set between them, it is in effect before
 * an importer can use the segment.
 *
 * Return: 0; EBADF, EINVAL.
 */
int rm_inhibit(rm_seg_t seg, int on);

/**
 * struct rm_refused - operations of importers that a segment has refused
 * @rights: because the importer has not the right
 * @inhibit: because WRITE and CAS were inhibited
 * @bounds: because the bytes were not inside the segment
 */
struct rm_refused {
	uint64_t rights;
	uint64_t inhibit;
	uint64_t bounds;
};

/**
 * rm_refused() - count the operations that a segment has refused
 * @seg: the segment
 * @refused: (out) their numbers since the segment was pinned. What the importer's own node
 *	refuses before it asks the owner's node is not counted
 *
 * Return: 0; EBADF, EINVAL, ESTALE (the segment is not pinned).
 */
int rm_refused(rm_seg_t seg, struct rm_refused *refused);

/**
 * rm_unpin() - release the pages of a segment
 * @seg: the segment
 *
 * The segment ends for its importers, as by rm_revoke(), until rm_pin().
 *
 * Return: 0; EBADF, EALREADY (not pinned).
 */
int rm_unpin(rm_seg_t seg);

/**
 * rm_pin() - pin the pages of a segment again, and export it under its name
 * @seg: the segment
 *
 * Importers import it again: it is another generation. Grants have to be made again.
 *
 * Return: 0; EBADF, EALREADY (pinned); errors as of rm_export().
 */
int rm_pin(rm_seg_t seg);

/**
 * struct rm_note - an operation that has notified, as read(2) of rm_fd() returns it
 * @segment: the segment
 * @offset: the first byte of the exported segment, @segment or another one, that was accessed
 * @count: bytes
 * @node: the node of the other process
 * @op: RM_OP_WRITE, RM_OP_READ or RM_OP_CAS
 * @type: RM_ARRIVED: another process has accessed @segment; RM_DONE: the data of a READ or the
 *	result of a CAS of this process is there
 * @generation: RM_ARRIVED: lower half of the generation of the segment; RM_DONE: 0, or the
 *	error number with which the operation has failed
 * @sequence: number of the operation on its import
 */
struct rm_note {
	uint64_t segment;
	uint64_t offset;
	uint32_t count;
	uint16_t node;
	uint8_t op;
	uint8_t type;
	uint32_t generation;
	uint32_t sequence;
};

#define RM_OP_WRITE	1
#define RM_OP_READ	2
#define RM_OP_CAS	3

#define RM_ARRIVED	1
#define RM_DONE		5

/**
 * rm_fd() - the descriptor of a segment
 * @seg: the segment
 *
 * read(2) blocks until an operation notifies, and then returns a struct rm_note for each,
 * as many as fit; 0 when the segment has been revoked. poll(2), select(2), O_NONBLOCK, and
 * O_ASYNC with F_SETOWN and F_SETSIG for a signal handler, work as for other descriptors. Each
 * importer may have 16 unread notes, and one operation more that notifies is accepted; one of
 * another node may have 32. Further operations fail with EAGAIN until notes are read.
 *
 * Return: the descriptor, the same for each call; rm_revoke() closes it. EBADF, EMFILE.
 */
int rm_fd(rm_seg_t seg);

/**
 * rm_import() - import a segment by name
 * @name: its name
 * @hint_node: the node that has exported it, if the clerk of this node does not know; -1: this
 *	node
 * @flags: RM_WRITE, RM_READ and RM_CAS that are needed, none of them: all three; RM_LOOKUP and
 *	RM_WAIT
 * @rd: (out) its descriptor
 *
 * With RM_WAIT the call looks for the name until it is exported. Other errors end it.
 *
 * Return: 0; EINVAL, ENAMETOOLONG, ENOENT (no such name), EACCES (rights), EHOSTDOWN
 * (no name clerk within three seconds, here or on @hint_node, or it does not answer), EHOSTUNREACH
 * or ENONET (the node), EUSERS (too many importers, or calls of the clerk), EINTR (RM_WAIT, or
 * signals for three seconds), EMFILE, ENOMEM.
 */
int rm_import(const char *name, int hint_node, int flags, rm_desc_t *rd);

/**
 * rm_import_owner() - import a segment by name, if a given user has exported it
 * @name: as of rm_import()
 * @hint_node: as of rm_import()
 * @flags: as of rm_import()
 * @owner: the user; of another node, as that node states it
 * @rd: (out) its descriptor
 *
 * Names are first come: any user of a node may export a segment under a free name.
 *
 * Return: as of rm_import(); EPERM (another user has exported the segment).
 */
int rm_import_owner(const char *name, int hint_node, int flags, uid_t owner, rm_desc_t *rd);

/**
 * rm_owner() - the user that has exported an imported segment
 * @rd: the descriptor
 * @owner: (out) its effective user id when it exported the segment; of another node, as that node
 *	states it
 *
 * Return: 0; EBADF, EINVAL.
 */
int rm_owner(rm_desc_t rd, uid_t *owner);

/**
 * rm_unimport() - give a descriptor up
 * @rd: the descriptor
 *
 * Operations that are under way are completed.
 *
 * Return: 0; EBADF.
 */
int rm_unimport(rm_desc_t rd);

/**
 * rm_size() - bytes in an imported segment
 * @rd: the descriptor
 *
 * Return: bytes; -1: EBADF.
 */
ssize_t rm_size(rm_desc_t rd);

/**
 * rm_write() - write message registers to a segment
 * @rd: its descriptor
 * @off: first byte in the segment
 * @count: bytes of rm_mr, at most 40
 * @notify: RM_NOTIFY and RM_SWAP, combined
 *
 * The call does not wait. Success means that the operation was accepted, not that it has
 * arrived; operations of a descriptor are executed in their order. Aligned words are
 * written as a whole, the last one after the others.
 *
 * Return: 0; EBADF, ERANGE (the segment ends before), EINVAL, EACCES (no right, or inhibited),
 * EAGAIN (as many operations as possible are under way: 64; or a READ is; or the owner has not
 * read its notes), ESTALE (the segment was revoked), EHOSTUNREACH (the node), ENETDOWN. What the
 * other node refuses later is returned by rm_fence().
 */
int rm_write(rm_desc_t rd, size_t off, size_t count, int notify);

/**
 * rm_write_block() - write memory to a segment
 * @rd: its descriptor
 * @off: first byte in the segment
 * @src: bytes. In pinned memory, such as a segment of this process, they must not be changed
 *	until rm_fence() has returned 0
 * @count: number of bytes, below 2 GiB
 * @notify: RM_NOTIFY and RM_SWAP, combined; with RM_SWAP @count is a multiple of 4
 *
 * Return: as of rm_write(); EFAULT; ENOMEM (RM_SWAP: the bytes are swapped in a copy). On the node
 * of the segment a bad address may raise SIGSEGV.
 */
int rm_write_block(rm_desc_t rd, size_t off, const void *src, size_t count, int notify);

/**
 * rm_read() - read from a segment into one of this process
 * @rs: descriptor of the segment to read from
 * @soff: first byte there
 * @count: number of bytes, below 2 GiB
 * @rd: segment of this process
 * @doff: first byte in @rd
 * @notify: RM_NOTIFY: notify at @rd when the data has arrived; or RM_SWAP, with which the call
 *	waits for the data, and @count is a multiple of 4
 *
 * The call does not wait. In @rd the last word is stored after the others. The words of the other
 * segment are loaded in any order: a flag there is read before the data that it announces, by a
 * call of its own.
 *
 * Return: as of rm_write(); ERANGE also if @rd ends before; ENOMEM, EDQUOT (RM_SWAP: the bytes are
 * swapped in a copy, which is pinned for a while).
 */
int rm_read(rm_desc_t rs, size_t soff, size_t count, rm_seg_t rd, size_t doff, int notify);

#define RM_SUCCESS	1	/* result of a CAS: the word had the old value and was replaced */
#define RM_FAILURE	2	/* it had another value */

/**
 * rm_cas() - compare and swap a word of a segment
 * @rd: its descriptor
 * @doff: the word of 4 bytes; its address is aligned
 * @rs: segment of this process
 * @soff: word in @rs for the result, RM_SUCCESS or RM_FAILURE
 * @old_value: the value that is replaced
 * @new_value: the value that replaces it
 *
 * The call does not wait. The operation is executed once; if that is not certain, because the
 * other node is gone, rm_fence() fails.
 *
 * Return: as of rm_write(); ERANGE also if @rs ends before.
 */
int rm_cas(rm_desc_t rd, size_t doff, rm_seg_t rs, size_t soff, uint32_t old_value,
	   uint32_t new_value);

/**
 * rm_fence() - wait until all operations of a descriptor are done
 * @rd: the descriptor
 * @ms: milliseconds to wait at most; -1: no limit
 *
 * Return: 0; the first error of an operation since the last call: EACCES (no right, or inhibited
 * at the segment), ERANGE; ETIMEDOUT, EAGAIN (@ms is 0), EINTR: the former error is
 * returned by a later call then; ESTALE, EHOSTUNREACH: the segment or the node is gone, and it
 * is not known which operations were executed; EBADF.
 */
int rm_fence(rm_desc_t rd, int ms);

#ifdef __cplusplus
}
#endif

#endif /* _RMEM_H */
