/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * dd - Direct Deposit: interface between dd.ko and its users. Services and connections
 * are in <linux/dd_ddp.h>.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _UAPI_LINUX_DD_H
#define _UAPI_LINUX_DD_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * DOC: overview
 *
 * One open of ``/dev/dd`` is a *context*. It belongs to the address space and
 * the network namespace of its opener. It ends when that address space ends,
 * when its shared area is unmapped, or at the last close, whichever is first.
 * Objects are named by ids, which are valid within their context only. An id is
 * a positive int, never 0. Ids are assigned in ascending order and wrap around
 * after %DD_ID_MAX: an id is reused only after all others.
 *
 * A connection is named by its *serial*, a 64-bit number that is never reused
 * within the context: its lower half is the id, its upper half is at least 1.
 * Calls that take a serial return %ENOENT for any other value, including an id
 * alone. Only %DD_IOC_CONN_INFO accepts an id, and returns the serial.
 *
 * A context shares one mapping with the kernel, the *area*: mmap() of at most
 * %DD_AREA_SIZE bytes at offset %DD_AREA_OFFSET, which must exist before
 * anything else is created. A shorter mapping can be extended by mremap(), with
 * %MREMAP_MAYMOVE and another mapping behind it, because newer kernels
 * extend no mapping of a device in its place: then its length does not count
 * against RLIMIT_MEMLOCK of a process that has called mlockall(%MCL_FUTURE). Only
 * pages that are in use take memory. The area
 * consists of 128-byte units; note lists and connection states are in the area
 * and are named by unit number. Both sides treat memory that the other side can
 * write as hostile: the kernel reads a word once, validates the copy and uses
 * the copy.
 *
 * Structures passed to ioctl() start with their own size, so that they can be
 * extended: bytes that the kernel does not know must be zero (else %E2BIG), and
 * bytes that the caller does not know read as zero. Unknown flags and nonzero
 * reserved fields are refused with %EINVAL.
 *
 * Regions, and other kernel memory of a context (pages of its area with lists,
 * states and direct rings; blocks of its services; its ends of connections and
 * their credits; copies of unwired sources on their way to another node) count
 * against RLIMIT_MEMLOCK of its user, unless the caller has CAP_IPC_LOCK, and
 * are charged to the memory cgroup of its owner. This includes memory that a
 * client's call allocates for its server's context; the limit is then that of
 * the server at its last call that was charged. What a call gives up does not
 * count any more when it returns, and what a context has when close() or the
 * exit of its owner has ended it.
 */

/**
 * DOC: errors
 *
 * ======================  ===================================================
 * %EINVAL                 a malformed argument: flags, sizes, alignment, name
 * %E2BIG                  nonzero bytes in a part of a structure that this kernel
 *                         does not know
 * %EFAULT                 an address that cannot be read or written
 * %ENOTTY                 an unknown ioctl
 * %ENOENT                 an id or a serial that names no object of the requested
 *                         type in this context
 * %ESTALE                 the context has ended, or belongs to another process
 * %ENXIO                  the area is not mapped yet
 * %ENETDOWN               this node is administratively down
 * %ECONNREFUSED           no such service on that node
 * %ENONET                 no such node: neither this node nor a peer
 * %ENOTUNIQ               several peers have that address
 * %EHOSTUNREACH           the node does not answer
 * %EPROTO                 the node's answer is invalid, or the node belongs to
 *                         another cluster
 * %EPROTONOSUPPORT        the two nodes have no protocol version in common
 * %ECONNRESET             the connection was closed by its other end
 * %EUSERS                 the service has no free block: each has a connection,
 *                         or messages that its server is still working on
 * %EEXIST                 the service name is in use
 * %EACCES                 the service does not permit this user to connect; the
 *                         other end does not permit this one to send directly; or
 *                         a mapping is read-only
 * %ERANGE                 bytes outside of the source or the target block
 * %EBUSY                  the note of the previous message is not posted yet; or
 *                         the copy of an unwired source for another node would
 *                         exceed RLIMIT_MEMLOCK, and earlier messages of the
 *                         connection are under way; or the region is in use
 * %EDQUOT                 RLIMIT_MEMLOCK of this user would be exceeded
 * %ENOBUFS                RLIMIT_MEMLOCK of the server's user would be exceeded; or
 *                         the server's node, another one, is out of memory
 * %ENOSPC                 the area or an id space is full
 * %ENOMEM                 out of memory
 * %EAGAIN                 a wait with a zero timeout would have to wait
 * %ETIMEDOUT              the timeout has expired
 * %EINTR                  a signal arrived; nothing was done
 * %EOPNOTSUPP             an operation that this kernel does not support
 * ======================  ===================================================
 */

#define DD_ABI_VERSION		4
#define DD_META_WORDS		4
#define DD_PAYLOAD_MAX		64
#define DD_WINDOW_MAX		256

#define DD_UNIT			128	/* bytes in a unit of the area */
#define DD_AREA_OFFSET		0
#define DD_AREA_SIZE		(256ul << 20)

#define DD_ID_MAX		0x7fffffff	/* highest id */

/* The id of the connection that has this serial. */
#define DD_SERIAL_ID(serial)	((__u32)(serial))

/**
 * struct dd_area_head - unit 0 of the area
 * @magic: %DD_AREA_MAGIC
 * @version: %DD_ABI_VERSION
 * @flags: %DD_AREA_NEED_WAKEUP; written by the kernel
 * @node: this node's number; written by the kernel
 * @maxnodes: number of nodes; written by the kernel
 * @node_up: 1 while the node is up; written by the kernel
 * @stores: changes with each first store to a page of a tracked region since the page was
 *	fetched; written by the kernel
 * @__reserved0: zero
 * @doorbell: reserved for a kernel thread that polls for work: incremented by a
 *	submitter that finds %DD_AREA_NEED_WAKEUP clear
 * @__reserved: zero
 *
 * A submitter calls %DD_IOC_DOORBELL while %DD_AREA_NEED_WAKEUP is set, which is
 * always the case in this version.
 */
struct dd_area_head {
	__u32 magic;
	__u32 version;
	__u32 flags;
	__u32 node;
	__u32 maxnodes;
	__u32 node_up;
	__u32 stores;
	__u32 __reserved0[9];
	__u32 doorbell;
	__u32 __reserved[15];
};

#define DD_AREA_MAGIC		0x44444130	/* "DDA0" */
#define DD_AREA_NEED_WAKEUP	0x1

/**
 * enum dd_opcode - operation of a send-queue entry
 * @DD_OP_NONE: invalid, so that a zeroed entry is refused
 * @DD_OP_PUT: deposit bytes at the other end, and notify it if asked to
 * @DD_OP_GET: fetch bytes from a segment; @src is their destination, with
 *	%DD_SQE_REGION or %DD_SQE_UNWIRED
 * @DD_OP_CAS: if the word of @len (4 or 8) bytes at @dst, aligned, equals the first 8
 *	bytes of @meta, replace it by the next 8 bytes; @src is where its earlier value
 *	is stored, with %DD_SQE_REGION or %DD_SQE_UNWIRED and a multiple of @len. @meta
 *	is in the caller's byte order, @meta_count is 4
 * @DD_OP_NOTE: post a note with @len bytes of @src, up to %DD_PAYLOAD_MAX, as @payload.
 *	Nothing is stored in the segment. @dst and @meta_count are 0, and the source is
 *	given by %DD_SQE_REGION or %DD_SQE_UNWIRED. Needs %DD_RIGHT_PUT
 */
enum dd_opcode {
	DD_OP_NONE = 0,
	DD_OP_PUT = 1,
	DD_OP_GET = 2,
	DD_OP_CAS = 3,
	DD_OP_NOTE = 4,
};

/* Flags of a send-queue entry. */
#define DD_SQE_UNWIRED		0x01	/* @src is an address in the caller */
#define DD_SQE_REGION		0x02	/* @src is an offset in region @region; see below */
#define DD_SQE_NOTIFY		0x04	/* post a note after the deposit; not for GET */
#define DD_SQE_STATUS		0x08	/* CAS: store 1 if it has replaced, else 2 */
#define DD_SQE_NOTIFY_SELF	0x10	/* post a note to the importer when it is done */
#define DD_SQE_FLAGS		0x1f

/**
 * struct dd_sqe - one work request, in the connection state of its connection
 * @seq: number of this request on its import, from 1; written last,
 *	with release semantics
 * @opcode: enum dd_opcode
 * @flags: DD_SQE_*
 * @meta_count: valid words of @meta, 0..%DD_META_WORDS
 * @__reserved: zero
 * @list: with %DD_SQE_NOTIFY_SELF, id of the list of the note; else 0. See <linux/dd_mem.h>
 * @src: source: by default, offset in the connection's send block; offset in
 *	@region with %DD_SQE_REGION; address with %DD_SQE_UNWIRED, alone or with both
 * @dst: byte offset in the peer's block
 * @len: bytes
 * @region: id of the source region, with %DD_SQE_REGION, else 0
 * @tag: copied to the note, not interpreted
 * @meta: copied to the note
 *
 * With %DD_SQE_UNWIRED and %DD_SQE_REGION the memory is that at an address of the caller, and must
 * not be changed before the request is sent or done. If the pages of @region are mapped there
 * when the request is submitted, they are used. Else, and if there is no such region, for example
 * 0, the kernel copies the memory, or pins it for this request and later ones.
 */
struct dd_sqe {
	__aligned_u64 seq;
	__u8 opcode;
	__u8 flags;
	__u8 meta_count;
	__u8 __reserved;
	__u32 list;
	__aligned_u64 src;
	__aligned_u64 dst;
	__aligned_u64 len;
	__u32 region;
	__u32 tag;
	__u32 meta[DD_META_WORDS];
};

/**
 * struct dd_request - one of several work requests (%DD_IOC_SUBMIT)
 * @conn: serial of the connection
 * @sqe: the request; its @seq is zero, because it is the next request of its
 *	connection
 */
struct dd_request {
	__aligned_u64 conn;
	struct dd_sqe sqe;
};

/**
 * struct dd_conn_state - state of a connection's import, in the area of its owner
 * @submitted: requests accepted
 * @sent: requests whose source may be reused
 * @done: requests whose bytes and note are in place at the other end
 * @received: messages received from the other end; of an import of a segment, its generation
 * @conn: serial of the connection this state belongs to; changes when the
 *	block of a serving connection is given to another client
 * @error: 0, or the errno that ended the connection (%ECONNRESET) or the import
 * @ring: unit number of the struct dd_ring_state of the direct ring that
 *	carries the notes of this connection; 0 if they are in the list's ring. Of an
 *	import: see <linux/dd_mem.h>
 * @peer_size: bytes in the other end's block
 * @node: node number of the other end
 * @window: unread messages allowed at the other end
 * @type: enum dd_conn_type
 * @__reserved: zero
 * @sq: the send queue, with one entry; the only part that the owner writes
 *
 * A connection state is one cache line of state and one of queue.
 *
 * The owner of an end that sends directly (%DD_IOC_DIRECT) counts its messages
 * itself, and stores their number in the first 8 bytes of @meta of @sq[0], for
 * reports; @submitted, @sent and @done count requests to the kernel to deposit.
 */
struct dd_conn_state {
	__aligned_u64 submitted;
	__aligned_u64 sent;
	__aligned_u64 done;
	__aligned_u64 received;
	__aligned_u64 conn;
	__u32 error;
	__u32 ring;
	__aligned_u64 peer_size;
	__u32 node;
	__u16 window;
	__u8 type;
	__u8 __reserved;
	struct dd_sqe sq[1];
};

/**
 * enum dd_note_type - meaning of a note
 * @DD_NOTE_DATA: a message is in place
 * @DD_NOTE_CONN: a client has connected to a service with %DD_SERVE_ACCEPT
 * @DD_NOTE_CLOSE: the other end has closed; follows all its messages. A serving
 *	end gets it with %DD_SERVE_CLOSE only
 * @DD_NOTE_IMPORT: the import of a segment that was pending was made, @offset is 0 and @word
 *	the number of bytes in the segment; or it has failed, @offset is the errno
 * @DD_NOTE_DONE: a request with %DD_SQE_NOTIFY_SELF of an import of a segment is over; see
 *	<linux/dd_mem.h>
 */
enum dd_note_type {
	DD_NOTE_DATA = 1,
	DD_NOTE_CONN = 2,
	DD_NOTE_CLOSE = 3,
	DD_NOTE_IMPORT = 4,
	DD_NOTE_DONE = 5,
};

/**
 * struct dd_note - one slot of a note list
 * @seq: position of the note plus 1; written last, with release semantics
 * @conn: serial of the connection, segment or import
 * @cookie: chosen by the receiver: @cookie of struct dd_connect, or for a serving
 *	connection the id of the service | block number << 32
 * @offset: byte offset of the message in the receiver's block
 * @len: bytes in the message, less than 2 GiB
 * @generation: lower half of the segment's generation with %DD_NOTE_DATA; 0 for a connection
 * @word: the last n bytes of the message, low byte first, and zeros: with end = @offset + @len,
 *	n is end % 8, or 8 if that is 0, but at most @len. It does not depend on addresses, nor
 *	on where the bytes were stored. So if n is 8, @word is the last word of 8 bytes; if end
 *	is a multiple of 4, and @len is not less, the last word of 4 bytes is
 *	@word >> 8 * (n - 4). Of a CAS: the value that the word had; of a NOTE: 0. In a close
 *	note: position in the connection's direct ring after its last unread note, 0 if there
 *	is none
 * @msgid: number of this message on its connection, from 1
 * @tag: as in struct dd_sqe
 * @type: enum dd_note_type
 * @meta_count: valid words of payload
 * @op: enum dd_opcode of the request; 0 unless @type is %DD_NOTE_DATA or %DD_NOTE_DONE
 * @error: errno of the request, with %DD_NOTE_DONE; else 0
 * @node: node of the sender with %DD_NOTE_DATA, of the segment with %DD_NOTE_IMPORT or
 *	%DD_NOTE_DONE; else 0
 * @__reserved2: zero
 * @meta: metadata words
 * @payload: @len bytes of a %DD_OP_NOTE, instead of metadata; the rest is not defined
 */
struct dd_note {
	__aligned_u64 seq;
	__aligned_u64 conn;
	__aligned_u64 cookie;
	__aligned_u64 offset;
	__u32 len;
	__u32 generation;
	__aligned_u64 word;
	__u32 msgid;
	__u32 tag;
	__u8 type;
	__u8 meta_count;
	__u8 op;
	__u8 error;
	__u16 node;
	__u8 __reserved2[2];
	union {
		__u32 meta[DD_META_WORDS];
		__u8 payload[DD_PAYLOAD_MAX];
	};
};

/**
 * struct dd_list_head - head of a note list, one unit of the area
 * @geometry: unit number of slot 0 << 32 | log2 of the number of slots;
 *	changes when the list grows
 * @flags: DD_LIST_*; written by the kernel
 * @id: id of the list, 0 once it is gone
 * @rings: number of direct rings, 0..%DD_RINGS_MAX; never decreases
 * @rings_unit: unit number of their table, an array of __u32 with the unit
 *	number of each one's struct dd_ring_state
 * @__reserved0: zero
 * @head: position of the first unread note; the only word that the reader
 *	writes
 * @__reserved: zero
 *
 * Note p is in slot p modulo the number of slots and is valid once its @seq is
 * p + 1. A reader loads @geometry, checks the slot, copies the note, loads
 * @geometry again and starts over if it has changed. Then it stores p + 1 to
 * @head with release semantics, executes a full barrier, and calls
 * %DD_IOC_LIST_KICK if %DD_LIST_NEED_KICK is set, because a sender waits for
 * the slot.
 */
struct dd_list_head {
	__aligned_u64 geometry;
	__u32 flags;
	__u32 id;
	__u32 rings;
	__u32 rings_unit;
	__u32 __reserved0[10];
	__aligned_u64 head;
	__u32 __reserved[14];
};

#define DD_LIST_NEED_KICK	0x1
#define DD_LIST_GONE		0x2

/**
 * DOC: the direct path
 *
 * For two processes on one node, the kernel maps the receiver's block and a ring
 * of notes into the sender (%DD_IOC_DIRECT), which then deposits by plain
 * stores. A direct ring belongs to one note list of the receiver and to one
 * sending context at a time, and carries the notes of their connections.
 *
 * The receiver has the ring in its area: a page with struct dd_ring_state, of
 * which the sender has a read-only mapping, followed by whole pages of struct
 * dd_ring_note, which the sender writes. So the receiver treats every word of a
 * note as hostile: it reads each word once, and accepts a note for connection
 * @conn only if the @ring of that connection's state is this ring.
 *
 * A note at position p is in slot p modulo the number of slots and is valid once
 * its @seq is p + 1. Each connection has window + 1 slots reserved: the sender
 * may post message n once message n - window - 1 has been consumed, that is,
 * once @head is beyond its position. Message n is done once message n - window
 * has been consumed. A sender can sleep until then (%DD_WAIT_RING): so after
 * storing @head, the receiver executes a full barrier and calls
 * %DD_IOC_LIST_KICK if @need_kick of the ring is set.
 *
 * The sender stores the message, then the note, then @seq with release
 * semantics, and executes a full barrier. Then it loads two words: @error of its
 * state, which if not zero means that the connection has ended and the message
 * may not have been delivered (%DD_DIRECT_DROP tells); and @need_wake, for which
 * it calls %DD_IOC_WAKE. After a mapping was revoked it shows a private page of
 * the sender, so that late stores do no harm.
 *
 * A list has %DD_RINGS_MAX rings at most, given out first come, first served. A
 * sender that gets none sends through the kernel and may ask again: a ring
 * becomes free when its sender has closed its connections and all notes in it
 * have been consumed.
 */

/**
 * struct dd_ring_state - state of a direct ring
 * @head: position of the first unread note; written by the receiver, see @head
 *	of struct dd_list_head
 * @slots: number of slots, a power of two; they start at the next page
 * @need_kick: 1 if a sender sleeps until @head has moved and the receiver has to
 *	call %DD_IOC_LIST_KICK, else 0; written by the kernel
 * @__reserved0: zero
 * @need_wake: 1 if the receiver sleeps or may sleep, and the sender has to call
 *	%DD_IOC_WAKE after a note, else 0; written by the kernel
 * @__reserved: zero
 */
struct dd_ring_state {
	__aligned_u64 head;
	__u32 slots;
	__u32 need_kick;
	__u32 __reserved0[12];
	__u32 need_wake;
	__u32 __reserved[15];
};

/**
 * struct dd_ring_note - slot of a direct ring, for the note of one message
 * @seq: position of the note plus 1; written last, with release semantics
 * @conn: id of the connection at the receiver; 0 for a void note. Not the serial:
 *	the receiver accepts the note only if the connection's state, which the
 *	kernel writes, has the expected serial and refers to this ring
 * @meta_count: valid words of @meta
 * @block: @peer_block of struct dd_direct, low byte first; with it a receiver
 *	that does not know @conn yet finds its state
 * @offset: as in struct dd_note
 * @len: as in struct dd_note
 * @word: as in struct dd_note
 * @msgid: as in struct dd_note
 * @tag: as in struct dd_note
 * @meta: as in struct dd_note
 */
struct dd_ring_note {
	__aligned_u64 seq;
	__u32 conn;
	__u8 meta_count;
	__u8 block[3];
	__aligned_u64 offset;
	__aligned_u64 len;
	__aligned_u64 word;
	__u32 msgid;
	__u32 tag;
	__u32 meta[DD_META_WORDS];
};

#define DD_RINGS_MAX		32	/* direct rings of a list */

/**
 * struct dd_info - properties of the kernel and the node (%DD_IOC_INFO)
 * @size: sizeof(struct dd_info)
 * @abi: (out) %DD_ABI_VERSION
 * @features: (out) DD_FEATURE_*
 * @area_size: (out) %DD_AREA_SIZE
 * @node: (out) this node's number
 * @maxnodes: (out) number of nodes
 * @up: (out) 1 while the node is up
 * @packet_size: (out) bytes in the largest packet: the minimum of all configured
 *	peers, or without peers that of the local link
 * @memlock_limit: (out) RLIMIT_MEMLOCK of the caller, in bytes
 * @memlock_used: (out) bytes charged to the caller's user
 * @pid: (out) the process that has opened the device, as its node numbers it: in the pid
 *	namespace of the process that created the network namespace, or has loaded the module. 0
 *	if the process is not visible there, or has ended
 * @__reserved: (out) zero
 */
struct dd_info {
	__u32 size;
	__u32 abi;
	__aligned_u64 features;
	__aligned_u64 area_size;
	__u32 node;
	__u32 maxnodes;
	__u32 up;
	__u32 packet_size;
	__aligned_u64 memlock_limit;
	__aligned_u64 memlock_used;
	__u32 pid;
	__u32 __reserved;
};

#define DD_FEATURE_DIRECT	0x1	/* %DD_IOC_DIRECT, unless turned off */
#define DD_FEATURE_SUBMIT	0x2	/* %DD_IOC_SUBMIT */
#define DD_FEATURE_MEMORY	0x4	/* the calls of <linux/dd_mem.h>, on this node */

/**
 * struct dd_region_alloc - allocate wired memory (%DD_IOC_REGION_ALLOC)
 * @size: sizeof(struct dd_region_alloc)
 * @flags: %DD_REGION_TRACK or 0
 * @length: bytes, rounded up to whole pages; (out) rounded value
 * @offset: (out) offset for mmap() of the whole region, shared, readable and
 *	writable
 * @region: (out) id of the region
 * @__reserved: zero
 * @address: 0, or with %DD_REGION_TRACK a page of the caller's memory; may be omitted
 *
 * The memory is zeroed, charged to RLIMIT_MEMLOCK of the user and to the
 * memory cgroup of the caller, and not inherited over fork.
 *
 * With %DD_REGION_TRACK the kernel records which pages are stored to by the mappings of
 * the region, for %DD_IOC_REGION_DIRTY. Such a mapping cannot be pinned: O_DIRECT and
 * vmsplice() fail with %EFAULT, as does a futex that is not private. Debuggers can read and
 * write it, but it is not in core dumps. It can take the place of other memory of the
 * process, by MAP_FIXED or mremap(). For that, a region with @address begins with a copy of
 * the memory there, which is refused unless it belongs to the process alone.
 *
 * Errors: %EINVAL (length 0; @address), %EDQUOT, %ENOMEM (also for more than the machine's
 * memory, or than the memory cgroup may have), %ENOSPC; with @address also %EFAULT (not all
 * pages there are mapped, readable and writable), %EOPNOTSUPP (memory that is shared, of a
 * device, or of huge pages that were asked for), %EINTR.
 */
struct dd_region_alloc {
	__u32 size;
	__u32 flags;
	__aligned_u64 length;
	__aligned_u64 offset;
	__u32 region;
	__u32 __reserved;
	__aligned_u64 address;
};

#define DD_REGION_TRACK		0x1

/**
 * struct dd_buf - a page-aligned slice of a region
 * @region: id of the region; 0 for none, then the rest is zero
 * @__reserved: zero
 * @offset: byte offset of the slice, page aligned
 * @length: bytes
 */
struct dd_buf {
	__u32 region;
	__u32 __reserved;
	__aligned_u64 offset;
	__aligned_u64 length;
};

/**
 * struct dd_list_info - describe a note list (%DD_IOC_LIST_INFO)
 * @size: sizeof(struct dd_list_info)
 * @list: (in) id of the list
 * @list_unit: (out) unit number of struct dd_list_head
 * @users: (out) services and connections attached to it
 */
struct dd_list_info {
	__u32 size;
	__u32 list;
	__u32 list_unit;
	__u32 users;
};

/**
 * struct dd_list_wait - wait for notes (%DD_IOC_LIST_WAIT)
 * @size: sizeof(struct dd_list_wait)
 * @flags: zero
 * @lists: address of an array of __u32, ids of note lists
 * @count: entries in that array, 1..%DD_WAIT_MAX
 * @ready: (out) number of lists with an unread note; their ids are moved to the
 *	front of the array, in their order
 * @timeout: nanoseconds to wait at most, 0 not to wait, ~0 without limit
 *
 * Errors: %EINVAL, %ENOENT (any id; also when a list ends meanwhile),
 * %EAGAIN (timeout 0), %ETIMEDOUT, %EINTR.
 */
struct dd_list_wait {
	__u32 size;
	__u32 flags;
	__aligned_u64 lists;
	__u32 count;
	__u32 ready;
	__aligned_u64 timeout;
};

#define DD_WAIT_MAX		1024

/**
 * struct dd_conn_wait - wait for a counter of an import (%DD_IOC_CONN_WAIT)
 * @size: sizeof(struct dd_conn_wait)
 * @what: enum dd_wait_what
 * @conn: serial of the connection, or of an import of a segment (%DD_WAIT_SENT,
 *	%DD_WAIT_DONE and %DD_WAIT_UP)
 * @value: the wait ends when the counter is at least this
 * @timeout: nanoseconds to wait at most, 0 not to wait, ~0 without limit
 *
 * Errors: %EINVAL, %ENOENT, %ECONNRESET (not for %DD_WAIT_CLOSE; of an import its
 * @error), %EAGAIN, %ETIMEDOUT, %EINTR.
 */
struct dd_conn_wait {
	__u32 size;
	__u32 what;
	__aligned_u64 conn;
	__aligned_u64 value;
	__aligned_u64 timeout;
};

/**
 * enum dd_wait_what - counters to wait for
 * @DD_WAIT_SENT: @sent of struct dd_conn_state
 * @DD_WAIT_DONE: @done of struct dd_conn_state
 * @DD_WAIT_RING: @head of struct dd_ring_state, for an end that sends directly
 * @DD_WAIT_CLOSE: no counter, @value is zero: wait until %DD_IOC_CLOSE would not
 *	wait. That call waits until all messages accepted for another node are sent,
 *	but gives up messages for which the reader leaves no slots if none was sent
 *	for twice the peer's dead time since a wait to close began
 * @DD_WAIT_UP: of an import of a segment, no counter, @value is zero: wait while it is
 *	pending; 0 if it was made
 */
enum dd_wait_what {
	DD_WAIT_SENT = 0,
	DD_WAIT_DONE = 1,
	DD_WAIT_RING = 2,
	DD_WAIT_CLOSE = 3,
	DD_WAIT_UP = 4,
};

/**
 * struct dd_direct - send directly on a connection (%DD_IOC_DIRECT); for an import see
 *	<linux/dd_mem.h>
 * @size: sizeof(struct dd_direct)
 * @flags: zero, or %DD_DIRECT_DROP: give the direct path back or, if the other end
 *	has closed, query which notes were delivered
 * @conn: (in) serial of the connection
 * @block: (out) offset for mmap() of the receiver's block
 * @block_size: (out) bytes in the block, whole pages
 * @notes: (out) offset for mmap() of the slots of the ring; connections with
 *	the same receiver may share it
 * @state: (out) offset for read-only mmap() of struct dd_ring_state, one page
 * @start: (out) position of the first note of this context in that ring;
 *	with %DD_DIRECT_DROP, see below
 * @slots: (out) number of slots of the ring
 * @peer_conn: (out) id of the connection at the receiver, for the notes
 * @peer_block: (in) zero; (out) block number at the serving end, else 0
 * @__reserved: zero
 *
 * All mappings are whole and shared, at most eight at a time of each offset (%ENOMEM); they
 * cannot be pinned and are not inherited by a child. A second call returns the same result.
 * While an end sends directly, the kernel may still deposit its messages, by requests without
 * %DD_SQE_NOTIFY, before the end posts their notes.
 *
 * The caller has sent nothing, or all that it has sent by the doorbell has been
 * consumed; its count in @meta of the state then includes these messages. No other
 * thread rings the doorbell of the connection meanwhile: the bytes of its message
 * might be zeroed, see below.
 *
 * A caller that cannot map the result, and has sent nothing since, drops it: then the
 * mappings are revoked, the other members are not set, and messages are sent by the
 * doorbell.
 *
 * For a connection closed by the other end, %DD_DIRECT_DROP returns a position only:
 * @start is (in) the position after the last note posted, and (out) the position
 * before which the notes of this end were delivered: all of them if it is not less,
 * else all but the last. If the connection itself is gone (%ENOENT), that is not
 * known.
 *
 * If the two processes have different users, or the block has held messages of other
 * clients, it is zeroed first, even if no ring is available, because its sender can
 * read it. So the direct path is not granted to an end that has sent a message before
 * its first call.
 *
 * Errors: %EINVAL, %ENOENT, %ECONNRESET (the connection has ended, without
 * %DD_DIRECT_DROP), %EBUSY (messages have not been consumed; or with
 * %DD_DIRECT_DROP, messages were sent directly), %EACCES (an end does not permit it
 * to this user), %EOPNOTSUPP (the other end is on another node, its block is not
 * whole pages, or the direct path is turned off), %ENETDOWN (this node is down),
 * %ENOMEM, %EDQUOT, %ENOSPC (the list has %DD_RINGS_MAX rings, or the receiver 4 MiB
 * of them, and all are in use; or its RLIMIT_MEMLOCK would be exceeded).
 */
struct dd_direct {
	__u32 size;
	__u32 flags;
	__aligned_u64 conn;
	__aligned_u64 block;
	__aligned_u64 block_size;
	__aligned_u64 notes;
	__aligned_u64 state;
	__aligned_u64 start;
	__u32 slots;
	__u32 peer_conn;
	__u32 peer_block;
	__u32 __reserved;
};

#define DD_DIRECT_DROP		0x1	/* give back, or query after a close */

/**
 * struct dd_submit - execute several requests (%DD_IOC_SUBMIT)
 * @size: sizeof(struct dd_submit)
 * @flags: zero
 * @requests: address of an array of struct dd_request
 * @count: entries in that array, 1..%DD_SUBMIT_MAX
 * @stride: bytes from one entry to the next: sizeof(struct dd_request)
 * @taken: (in) zero; (out) number of requests accepted, from the first one on
 * @error: (in) zero; (out) 0 if all were accepted, or the errno that refused the
 *	next one; that one and those after it have changed nothing
 *
 * The requests are executed in their order, by the caller, each as if it were in the
 * send queue of its connection and %DD_IOC_DOORBELL were called; the queues are not
 * used. They may be for any connections of the context, and several for
 * one. Intermediate states are visible: each is counted and notified when accepted.
 * A signal ends the call after the current request; then @error is %EINTR.
 *
 * Errors: %EINVAL; the error that refused the first request, as @taken would be 0;
 * %EFAULT also if the results cannot be stored: then the counters in the states show
 * what was accepted.
 */
struct dd_submit {
	__u32 size;
	__u32 flags;
	__aligned_u64 requests;
	__u32 count;
	__u32 stride;
	__u32 taken;
	__u32 error;
};

#define DD_SUBMIT_MAX		1024

/**
 * struct dd_node_find - find a node by its address (%DD_IOC_NODE_FIND)
 * @size: sizeof(struct dd_node_find)
 * @node: (in) zero; (out) this node for a loopback address, and for one of its network
 *	namespace, else the peer with that address
 * @address: (in) IPv6 address, or IPv4-mapped address, as in struct in6_addr
 * @scope: (in) interface of a link-local address; not used for others
 * @__reserved: zero
 *
 * The UDP ports of peers are not compared. Errors: %EINVAL; %ENONET if no peer has the address;
 * %ENOTUNIQ if several have it.
 */
struct dd_node_find {
	__u32 size;
	__u32 node;
	__u8 address[16];
	__u32 scope;
	__u32 __reserved;
};

#define DD_IOC_TYPE		0xDA

/*
 * Numbered without the size of the structures, which is in the structures. From
 * DOORBELL on, the calls take an id by value; DOORBELL and WAKE take the serial of a
 * connection or of another import, or the address of the serial if the caller's long
 * has 32 bits: DOORBELL executes the request in the send queue of an import and returns
 * the number of requests accepted, or the error that refused it; a refused request is
 * neither counted nor consumed.
 * LIST_KICK lets senders proceed that wait for a slot of this list or of a direct
 * ring of it.
 * LIST_FD returns a descriptor to poll for input, close-on-exec. With O_ASYNC, each note of the
 * list causes the signal of F_SETSIG, or SIGIO, to the process of F_SETOWN.
 * LIST_ARM is called with the descriptor of LIST_FD, and 0. It returns 0 if the list has no unread
 * note: then one signal is sent at the next note, or at the end of the list, and no other one
 * before the next call. It returns 1 if there are unread notes, and no signal is sent. A handler
 * of the signal reads all notes and calls LIST_ARM, until that returns 0. That mode of a descriptor
 * ends when O_ASYNC is turned off. EINVAL without O_ASYNC; ENOENT if the list has ended.
 * WAKE wakes the threads that wait for messages of an import that sends directly.
 * The calls of <linux/dd_ddp.h> have numbers between these.
 */
#define DD_IOC_INFO		_IO(DD_IOC_TYPE, 0x00)
#define DD_IOC_REGION_ALLOC	_IO(DD_IOC_TYPE, 0x01)
#define DD_IOC_CONN_WAIT	_IO(DD_IOC_TYPE, 0x06)
#define DD_IOC_LIST_INFO	_IO(DD_IOC_TYPE, 0x07)
#define DD_IOC_LIST_WAIT	_IO(DD_IOC_TYPE, 0x08)
#define DD_IOC_DIRECT		_IO(DD_IOC_TYPE, 0x09)
#define DD_IOC_SUBMIT		_IO(DD_IOC_TYPE, 0x0a)
#define DD_IOC_LIST_ARM		_IO(DD_IOC_TYPE, 0x12)
#define DD_IOC_NODE_FIND	_IO(DD_IOC_TYPE, 0x15)

#define DD_IOC_DOORBELL		_IO(DD_IOC_TYPE, 0x20)
#define DD_IOC_LIST_KICK	_IO(DD_IOC_TYPE, 0x21)
#define DD_IOC_LIST_FD		_IO(DD_IOC_TYPE, 0x22)
#define DD_IOC_REGION_FREE	_IO(DD_IOC_TYPE, 0x23)
#define DD_IOC_WAKE		_IO(DD_IOC_TYPE, 0x26)

#endif /* _UAPI_LINUX_DD_H */
