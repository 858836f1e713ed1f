/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * dd - Direct Deposit: one-sided memory. A process exports a segment of wired memory;
 * another one imports it, and writes, reads and atomically updates it without action of
 * the exporter.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _UAPI_LINUX_DD_MEM_H
#define _UAPI_LINUX_DD_MEM_H

#include <linux/dd.h>

/**
 * DOC: one-sided memory
 *
 * A *segment* is a part of a region that others may reach. %DD_IOC_SEGMENT exports it under
 * a class and a key. %DD_IOC_IMPORT finds it by these and returns an *import*, which has a
 * state with a send queue like a connection: requests are %DD_OP_PUT, %DD_OP_GET,
 * %DD_OP_CAS and %DD_OP_NOTE, submitted by %DD_IOC_DOORBELL or %DD_IOC_SUBMIT with the
 * import's serial. A request names memory by an offset in the segment, never by an address.
 *
 * **Order.** The requests of one import are executed in their order; requests of different
 * imports are not ordered. The last aligned word of a PUT or GET is stored after the others, but a
 * GET loads the words of the segment in any order. Words of 4 and 8 bytes that are aligned at both
 * ends are loaded and stored as a whole, those of 8 bytes if the segment begins at a multiple of 8
 * of its region; the kernel stores each word once. CAS is atomic against stores, loads and atomic
 * instructions of every process that maps the word.
 *
 * **Protection.** Each request is checked against rights, inhibition, bounds and
 * generation when it is executed. After %DD_IOC_END of a segment has returned, even
 * with %EINTR, not one more byte arrives, no importer gets a byte that is stored later, and its
 * importers get %ESTALE. The same holds for an import that %DD_SEGMENT_DENY has ended.
 *
 * **Notification.** A segment with a note list notifies its owner according to its policy.
 * The note has the serial of the segment as @conn, its @cookie, and @op and @node of the
 * request. A request whose note has no free slot is accepted, and its note is withheld
 * until the reader has consumed notes; the next request is refused with %EBUSY meanwhile.
 * A NOTE, whose contents are nowhere else, is refused with %EAGAIN if it has no free slot,
 * and with %EACCES if the policy is %DD_POLICY_NEVER.
 *
 * **Own notes.** When a request with %DD_SQE_NOTIFY_SELF is over, its importer gets a note of
 * type %DD_NOTE_DONE in the list that @list of the request names. %DD_IOC_IMPORT_LIST has
 * attached that list to the import (else %ENOENT). Of a GET or CAS, the result is in place then.
 * The note has the serial of the import as @conn, the @cookie of the list, and @op, @tag and
 * @node of the request, its number as @msgid, its @dst and @len as @offset and @len, and @error:
 * 0, or the errno in @result of the state, with which another node has refused it, or %EIO if the
 * access has ended before the outcome was known. @word and @meta_count are 0. The notes of an
 * import in one list are posted in the order of its requests, and each after @done of the state
 * has reached the request or @error of the state is set. A request that %DD_IOC_DOORBELL or
 * %DD_IOC_SUBMIT refuses has no note. Notes are never late for want of a slot: of each list,
 * @depth requests at a time are under way or have unread notes, and more are refused with
 * %EAGAIN. While the slots of the list are moved, %EBUSY is possible as well. After %DD_IOC_END
 * of the import, no note is posted any more.
 *
 * **Other nodes.** Requests are executed while the importer goes on, so their results come
 * later: when @done of the state has reached the number of a request, it has been executed,
 * or refused with the errno in @result of struct dd_mem_state; the result of a GET or CAS
 * is in place then. %DD_IOC_CONN_WAIT waits for that. Each request is executed once. If the
 * session ends, or the segment, the outcome of requests that are not done is not known; they
 * are never repeated. While a GET is under way, PUT and CAS are refused with %EBUSY, since
 * they could overtake it. A source with %DD_SQE_UNWIRED is copied, and the copy counts against
 * RLIMIT_MEMLOCK until the other node has the bytes. If it would exceed the limit, the request is
 * refused with %EBUSY while earlier requests of the import are under way, else with %EDQUOT. The
 * same holds for memory that is pinned. From 16 KiB on, the memory of a GET, and a source with
 * %DD_SQE_REGION as well, is pinned rather than copied, and stays so for the next request until
 * it is unmapped, or the user's limit or the kernel's memory is needed for something else.
 * Memory that is read-only, or a private mapping of a file, is copied, as is a shared mapping of a
 * file that is not of tmpfs. The bytes of a GET are those at some time
 * before it is done, and not earlier than the preceding requests of the import, nor later than the
 * end of the segment or of the import. Without %DD_SQE_REGION, the memory for the result of a GET
 * or CAS must be of a kind that %DD_IOC_REGION_PIN accepts. %DD_IOC_END of an import waits
 * until its requests are
 * done, unless the other node does not make progress for twice its dead time. If a signal ends
 * this wait, the error is %EINTR, and the import has not ended; a further call goes on with it.
 */

/**
 * DOC: windows
 *
 * %DD_IOC_DIRECT with the serial of an import as @conn, and no flags, makes a *window*: a
 * mapping of the segment in the importer, which then puts and gets by stores and loads.
 * @block and @block_size of struct dd_direct describe it, @start is the offset of the
 * segment in it, less than a page. @notes is the offset for mmap() of a second window of
 * the same size, for CAS by an atomic instruction, or 0. The other members are 0. A second
 * call returns the same. The mappings are whole and shared; they cannot be pinned and are
 * not inherited by a child.
 *
 * A window is given to a user of the exporter, or with %DD_SEGMENT_DIRECT_ANY to any, on
 * the exporter's node, if the import has %DD_RIGHT_GET, since what a process can write it
 * can read. Without %DD_RIGHT_PUT it is read-only. The second window needs all rights. The
 * segment consists of whole pages, or has %DD_SEGMENT_WHOLE_PAGES_OK: then the importer
 * sees, and with %DD_RIGHT_PUT writes, the rest of the first and the last page as well.
 *
 * Windows show the segment unless it is inhibited, or its policy is %DD_POLICY_ALWAYS, or
 * the access has ended. @ring of the import's state is then the number of the window, which
 * is another one each time that the segment is shown again, and else 0. When
 * %DD_SEGMENT_INHIBIT, %DD_SEGMENT_POLICY, %DD_SEGMENT_DENY or %DD_IOC_END returns, no
 * store arrives by the window any more: the first one shows a private page of the
 * importer instead, and the second one a page full of %DD_DIRECT_GONE.
 *
 * So the importer loads @ring with acquire semantics. If it is 0, it uses the kernel. After
 * its stores it executes a full barrier, after its loads one with acquire semantics. If
 * @ring has not changed then, the bytes have been stored, or loaded. Otherwise it repeats
 * the request by the kernel: some of the bytes may have been stored before. A CAS is not
 * repeated that was executed: it was if the word had the expected value, provided that this
 * is never %DD_DIRECT_GONE or half of it, which is left to the kernel.
 *
 * Errors: %EINVAL, %ENOENT, %EAGAIN (the import is pending), the errno with which the import
 * has failed, %ESTALE (the access has ended), %EACCES (the rights, the user, or
 * %DD_SEGMENT_NODIRECT), %EOPNOTSUPP (not whole pages, or the direct path is turned off),
 * %ENETDOWN, %ENOMEM, %ENOSPC.
 */
#define DD_DIRECT_GONE		0xd1edfaded1edfade

/**
 * struct dd_region_pin - make a region of memory that the caller has (%DD_IOC_REGION_PIN)
 * @size: sizeof(struct dd_region_pin)
 * @flags: zero
 * @address: first byte; it need not be aligned
 * @length: bytes
 * @offset: (in) zero; (out) offset of @address in the region, which consists of whole pages
 * @region: (in) zero; (out) id of the region
 * @__reserved: zero
 *
 * The pages are pinned, and charged to RLIMIT_MEMLOCK of the user, until the region is
 * freed and no segment or request uses it. The region keeps its pages after munmap(), mremap() or
 * MADV_DONTNEED, and across fork(), which gives a child copies. It cannot be mapped by the
 * device, nor be memory of services and connections.
 *
 * A pin of part of a huge page keeps, and charges, all of that page: once for a context.
 *
 * Errors: %EINVAL, %EFAULT (an address that is not mapped, or is read-only), %EOPNOTSUPP or
 * %EFAULT (memory that is not anonymous, shared or huge pages), %EDQUOT, %ENOMEM (also if pages
 * have to be faulted in and the memory cgroup has no room for them), %ENOSPC, %EINTR.
 */
struct dd_region_pin {
	__u32 size;
	__u32 flags;
	__aligned_u64 address;
	__aligned_u64 length;
	__aligned_u64 offset;
	__u32 region;
	__u32 __reserved;
};

/**
 * struct dd_region_check - whether an address is memory of a region (%DD_IOC_REGION_CHECK)
 * @size: sizeof(struct dd_region_check)
 * @region: id of the region
 * @address: first byte
 * @length: bytes, at least 1
 *
 * Returns 0 if the pages that are mapped at the address now are those of the region: of a
 * pinned region at the address that was pinned, of another one where it was last mapped.
 *
 * Errors: %EINVAL, %ENOENT, %EFAULT (the pages there are others, or there are none).
 */
struct dd_region_check {
	__u32 size;
	__u32 region;
	__aligned_u64 address;
	__aligned_u64 length;
};

/**
 * struct dd_region_dirty - fetch which pages were stored to (%DD_IOC_REGION_DIRTY)
 * @size: sizeof(struct dd_region_dirty)
 * @region: id of a region with %DD_REGION_TRACK
 * @offset: first byte, a multiple of the page size
 * @length: bytes, a multiple of the page size
 * @bitmap: address of an array of __u64. Bit n % 64 of word n / 64 is set if page n of the
 *	range was stored to, and cleared if it was not; bits after the last page are zero
 *
 * Each store by a mapping of the region is reported by one call or more: by that during
 * which it happened or by the next one. When a call returns, the bytes of the stores that it
 * reports are in memory. Loads are not reported, nor is what arrives in segments, services
 * and connections, or is stored by windows of importers.
 *
 * Errors: %EINVAL, %ENOENT, %EOPNOTSUPP (the region is not tracked), %ERANGE (not inside the
 * region), %EFAULT, %ENOMEM. After an error, the next call reports the same pages.
 */
struct dd_region_dirty {
	__u32 size;
	__u32 region;
	__aligned_u64 offset;
	__aligned_u64 length;
	__aligned_u64 bitmap;
};

/**
 * struct dd_region_stored - find a region that was stored to (%DD_IOC_REGION_STORED)
 * @size: sizeof(struct dd_region_stored)
 * @region: (in) 0, or a region; (out) the next tracked region, of those that were made later
 *	than this one, of which %DD_IOC_REGION_DIRTY would report a page
 * @timeout: nanoseconds to wait at most until there is one, 0 not to wait, ~0 without limit
 *
 * A call that waits ends at the first store to a page since it was last fetched. There may be
 * no tracked region yet. @stores of struct dd_area_head tells without a call whether there may be
 * one to find: if it is what it was before all regions were fetched, there was no store since.
 *
 * Errors: %ENOENT, %EAGAIN (timeout 0), %ETIMEDOUT, %EINTR, %ESTALE (also when the context
 * ends meanwhile).
 */
struct dd_region_stored {
	__u32 size;
	__u32 region;
	__aligned_u64 timeout;
};

/**
 * enum dd_segment_class - classes of keys; keys of different classes are independent
 * @DD_SEGMENT_NAME: a text, 1 to 63 bytes and padded with zeros, chosen by the owner
 * @DD_SEGMENT_ID: the generation, 8 bytes low byte first; chosen by the kernel
 * @DD_SEGMENT_BUFFER: a process id of 4 bytes, and 8 bytes chosen by the owner, low bytes
 *	first. The process id is @pid of struct dd_info, that of the process that has opened the
 *	device. The key ends when this process exits or executes another program
 * @DD_SEGMENT_WELL_KNOWN: a number below %DD_WELL_KNOWN_MAX, 1 byte. The owner needs
 *	CAP_NET_ADMIN in the user namespace of its network namespace
 * @DD_SEGMENT_REGISTERED: a text as %DD_SEGMENT_NAME, kept by the registrar; see below
 */
enum dd_segment_class {
	DD_SEGMENT_NAME = 2,
	DD_SEGMENT_ID = 3,
	DD_SEGMENT_BUFFER = 4,
	DD_SEGMENT_WELL_KNOWN = 5,
	DD_SEGMENT_REGISTERED = 6,
};

#define DD_SEGMENT_KEY		64
#define DD_WELL_KNOWN_MAX	64

/* Rights of a segment, an import or a grant. */
#define DD_RIGHT_PUT		0x1
#define DD_RIGHT_GET		0x2
#define DD_RIGHT_CAS		0x4
#define DD_RIGHTS		0x7

/**
 * enum dd_policy - whether a PUT or CAS notifies the owner of a segment
 * @DD_POLICY_CONDITIONAL: with %DD_SQE_NOTIFY
 * @DD_POLICY_ALWAYS: always
 * @DD_POLICY_NEVER: never
 */
enum dd_policy {
	DD_POLICY_CONDITIONAL = 0,
	DD_POLICY_ALWAYS = 1,
	DD_POLICY_NEVER = 2,
};

/**
 * enum dd_permission - which users may import a segment, besides those of %DD_SEGMENT_GRANT
 * @DD_PERMIT_USER: the owner's effective user
 * @DD_PERMIT_ANY: all
 * @DD_PERMIT_LISTED: no other
 */
enum dd_permission {
	DD_PERMIT_USER = 0,
	DD_PERMIT_ANY = 1,
	DD_PERMIT_LISTED = 2,
};

/**
 * struct dd_segment_make - export a segment (%DD_IOC_SEGMENT)
 * @size: sizeof(struct dd_segment_make)
 * @flags: DD_SEGMENT_* below
 * @region: id of the region
 * @key_class: enum dd_segment_class
 * @offset: first byte in the region, a multiple of 4
 * @length: bytes, a multiple of 4; segments may overlap
 * @key: see enum dd_segment_class; with %DD_SEGMENT_ID (in) zero, (out) the key
 * @rights: DD_RIGHT_*, at least one
 * @policy: enum dd_policy; %DD_POLICY_NEVER without a list
 * @permission: enum dd_permission
 * @importers: number of imports at a time, 1..%DD_IMPORTERS_MAX. A user other than the
 *	owner's gets one only while more are free than it has
 * @list: id of a note list, or 0
 * @window: with @list, unread notes of each importer, 1..%DD_WINDOW_MAX; else requests under
 *	way of each importer of another node, up to %DD_DEPTH_MAX, or 0 for %DD_DEPTH_USUAL
 * @cookie: copied to each note
 * @segment: (in) zero; (out) serial of the segment
 * @generation: (in) zero; (out) number of this export, which counts up on each node
 * @state_unit: (in) zero; (out) with %DD_SEGMENT_REDIRECT, unit number of
 *	struct dd_segment_state; else 0
 * @__reserved: zero
 *
 * Slots of the list are reserved for each importer when it imports, and charged to the
 * owner.
 *
 * Errors: %EINVAL, %ENOENT (region or list), %ERANGE (not inside the region), %EEXIST (the
 * key is in use), %EPERM (%DD_SEGMENT_WELL_KNOWN), %ESRCH (%DD_SEGMENT_BUFFER: the process is not
 * visible in the pid namespace of the node, or has ended), %ENETDOWN, %ENOMEM, %ENOSPC, %EDQUOT,
 * %EINTR. With %DD_SEGMENT_REGISTERED also what the registrar answers; %EHOSTDOWN (there is no
 * registrar, or it has ended), %ETIMEDOUT (it has not answered for three seconds), %EUSERS (1024
 * calls wait for it, or as many of this user as are left).
 */
struct dd_segment_make {
	__u32 size;
	__u32 flags;
	__u32 region;
	__u32 key_class;
	__aligned_u64 offset;
	__aligned_u64 length;
	__u8 key[DD_SEGMENT_KEY];
	__u32 rights;
	__u32 policy;
	__u32 permission;
	__u32 importers;
	__u32 list;
	__u32 window;
	__aligned_u64 cookie;
	__aligned_u64 segment;
	__aligned_u64 generation;
	__u32 state_unit;
	__u32 __reserved;
};

#define DD_IMPORTERS_MAX	65536

#define DD_SEGMENT_NODIRECT		0x1	/* no windows */
#define DD_SEGMENT_DIRECT_ANY		0x2	/* windows for other users */
#define DD_SEGMENT_WHOLE_PAGES_OK	0x4	/* they may show bytes around it */
#define DD_SEGMENT_REDIRECT		0x8	/* has a state; no windows */
#define DD_SEGMENT_INHIBITED		0x10	/* begins as after %DD_SEGMENT_INHIBIT */
#define DD_SEGMENT_FLAGS		0x1f

/**
 * struct dd_segment_state - state of a segment with %DD_SEGMENT_REDIRECT, in the area of
 *	its owner
 * @data_end: byte of the segment after the last one of the PUT that has arrived last, all
 *	of it; 0 if there was none since the owner stored 0. An empty PUT does not change it.
 *	Stored with release semantics after all bytes of the PUT, and before its note
 * @first: first byte redirected, from the beginning of the redirection; stored by
 *	%DD_SEGMENT_REDIRECT_END
 * @count: bytes redirected; stored as @first
 * @request: number of the PUT that has arrived last, all of it, among the requests of its import.
 *	Stored with release semantics after @data_end
 */
struct dd_segment_state {
	__aligned_u64 data_end;
	__aligned_u64 first;
	__aligned_u64 count;
	__aligned_u64 request;
};

/**
 * enum dd_segment_what - changes of a segment
 * @DD_SEGMENT_INHIBIT: @value 1: refuse PUT and CAS from now on; 0: accept them. When the
 *	call returns, no PUT or CAS that began before is still storing
 * @DD_SEGMENT_POLICY: @value: enum dd_policy
 * @DD_SEGMENT_GRANT: user @uid may import with @rights; 0 withdraws a grant. @value 0: on
 *	every node; n + 1: on node n. A user has the rights of both grants. Imports that exist
 *	keep their rights
 * @DD_SEGMENT_DENY: end the import of channel @value, which gets %ESTALE
 * @DD_SEGMENT_REDIRECT_TO: place the bytes of one PUT that are for the @length bytes of the
 *	segment from byte @value on at @offset of @region instead, see below
 * @DD_SEGMENT_REDIRECT_END: end that, and store in struct dd_segment_state what was
 *	placed there. When the call returns, no PUT is storing there any more
 */
enum dd_segment_what {
	DD_SEGMENT_INHIBIT = 1,
	DD_SEGMENT_POLICY = 2,
	DD_SEGMENT_GRANT = 3,
	DD_SEGMENT_DENY = 4,
	DD_SEGMENT_REDIRECT_TO = 5,
	DD_SEGMENT_REDIRECT_END = 6,
};

/**
 * struct dd_segment_ctl - change a segment (%DD_IOC_SEGMENT_CTL)
 * @size: sizeof(struct dd_segment_ctl)
 * @what: enum dd_segment_what
 * @segment: serial of the segment
 * @value: see enum dd_segment_what; else 0
 * @uid: user of a grant, in the caller's user namespace; else 0
 * @rights: DD_RIGHT_* of a grant; else 0
 * @offset: first byte in @region, a multiple of 4; else 0
 * @length: bytes redirected, a multiple of 4; else 0
 * @region: id of the region of a redirection; else 0
 * @__reserved: zero
 *
 * Redirection is decided for each piece of a PUT when it arrives. The first piece that has
 * bytes in the redirected range binds the redirection to its PUT. Bytes of that PUT are
 * redirected as long as they are in the range and each follows the one before. A gap (a
 * packet was lost and is retransmitted later), the end of the PUT or a byte of another PUT
 * in the range ends the redirection: later bytes go to the segment, as do those that arrived
 * before. Rights, bounds and inhibition are those of the segment. GET and CAS are not
 * redirected. Words of 4 bytes, aligned in the segment, are stored as such, and @word of
 * struct dd_note is the last word of the segment, wherever it was stored. What no byte will
 * reach any more is replaced by the next %DD_SEGMENT_REDIRECT_TO, after the same that
 * %DD_SEGMENT_REDIRECT_END does. Until then, or until the end of the segment, the region of the
 * redirection cannot be freed (%EBUSY), nor can that of a segment. If it is pinned memory, it can,
 * and keeps its pages.
 *
 * Errors: %EINVAL, %ENOENT (the segment; no such channel, grant, region or redirection),
 * %EOPNOTSUPP (the segment has not %DD_SEGMENT_REDIRECT), %EBUSY (there is a redirection),
 * %ERANGE (it is not inside the segment or the region), %ENOSPC (more than %DD_GRANTS_MAX
 * grants), %ENOMEM, %EDQUOT.
 */
struct dd_segment_ctl {
	__u32 size;
	__u32 what;
	__aligned_u64 segment;
	__aligned_u64 value;
	__u32 uid;
	__u32 rights;
	__aligned_u64 offset;
	__aligned_u64 length;
	__u32 region;
	__u32 __reserved;
};

#define DD_GRANTS_MAX		1024

/**
 * struct dd_importer - an importer of a segment
 * @channel: names its access, for %DD_SEGMENT_DENY
 * @count: requests executed by the kernel
 * @node: its node
 * @pid: its process, in the caller's namespace, 0 if that has none or the process has ended; of
 *	another node, as that node numbers it
 * @uid: its user, in the caller's namespace
 * @rights: DD_RIGHT_*
 */
struct dd_importer {
	__aligned_u64 channel;
	__aligned_u64 count;
	__u32 node;
	__u32 pid;
	__u32 uid;
	__u32 rights;
};

/**
 * struct dd_segment_info - describe a segment (%DD_IOC_SEGMENT_INFO)
 * @size: sizeof(struct dd_segment_info)
 * @count: (in) entries at @importers; (out) entries written there
 * @segment: serial of the segment
 * @importers: address of an array of struct dd_importer, or 0 if @count is 0
 * @generation: (out) see struct dd_segment_make
 * @length: (out) bytes
 * @total: (out) number of importers
 * @inhibit: (out) 1 while PUT and CAS are refused
 * @policy: (out) enum dd_policy
 * @__reserved: zero
 * @refused_rights: (out) requests refused because the import lacks the right
 * @refused_inhibit: (out) because of inhibition
 * @refused_bounds: (out) because they were not inside the segment
 *
 * Errors: %EINVAL, %ENOENT, %EFAULT, %ENOMEM.
 */
struct dd_segment_info {
	__u32 size;
	__u32 count;
	__aligned_u64 segment;
	__aligned_u64 importers;
	__aligned_u64 generation;
	__aligned_u64 length;
	__u32 total;
	__u32 inhibit;
	__u32 policy;
	__u32 __reserved;
	__aligned_u64 refused_rights;
	__aligned_u64 refused_inhibit;
	__aligned_u64 refused_bounds;
};

/**
 * struct dd_import_make - import a segment (%DD_IOC_IMPORT)
 * @size: sizeof(struct dd_import_make)
 * @flags: DD_IMPORT_* below
 * @node: number of its node
 * @key_class: enum dd_segment_class
 * @key: see enum dd_segment_class
 * @rights: DD_RIGHT_* that are needed
 * @state_unit: (in) zero; (out) unit number of struct dd_mem_state
 * @depth: with another node, requests that may be under way, 1..%DD_DEPTH_MAX, or 0 for
 *	%DD_DEPTH_USUAL; the owner's window limits it as well
 * @list: with %DD_IMPORT_NOWAIT, id of a note list for its note, or 0; else 0
 * @import: (in) zero; (out) serial of the import
 * @length: (in) zero; (out) bytes in the segment, 0 while the import is pending
 * @generation: (in) zero; (out) see struct dd_segment_make; 0 while the import is pending
 * @cookie: for the note; 0 without @list
 * @uid: with %DD_IMPORT_UID the user that must have exported the segment, in the caller's user
 *	namespace; else 0
 * @__reserved: zero
 *
 * If the segment ends, @error of the state is %ESTALE; if the session with the other node
 * ends, %EHOSTUNREACH. An import fails with %EHOSTUNREACH, too, if the other node keeps the
 * session and answers neither the look-up nor an earlier one for its dead time.
 *
 * With %DD_IMPORT_NOWAIT the call does not wait. @error of the state is %EINPROGRESS while the
 * import is *pending*, and then 0, or the errno with which the import has failed. When it is
 * 0, @peer_size of the state is the length, @received the generation and @uid the exporter.
 * Requests to a pending import get %EAGAIN, and %DD_IOC_CONN_WAIT with %DD_WAIT_UP waits for
 * its end. A note of type %DD_NOTE_IMPORT in @list reports the end; one slot is reserved for
 * it. %DD_IOC_END ends a pending import without a note. An error that is known at once is
 * returned, also without a note.
 *
 * With %DD_IMPORT_PARK, which is not allowed with %DD_SEGMENT_ID, the import waits until a
 * segment is exported under the key, unless there is one. It takes the first one, and fails
 * if that does not grant the access, with %ESTALE if that ends before the import is made. With
 * another node it fails with %EHOSTUNREACH when the session ends; once that node has answered that
 * the look-up waits, there is no other limit. Without %DD_IMPORT_NOWAIT
 * the call waits, until a signal comes.
 *
 * Errors: %EINVAL, %ECONNREFUSED (no segment has that key), %EACCES (the segment does not
 * have these rights, or does not grant them to this user; with %DD_SEGMENT_ID, a user to
 * which the segment grants no right gets %ECONNREFUSED), %EPERM (another user than @uid has
 * exported it), %EUSERS (it has as many importers as it permits, or this user as many as are
 * free, or notes of ended ones are unread; or, with %DD_IMPORT_PARK, 1024 look-ups wait on its
 * node, or as many of this user as are left), %ENONET, %EHOSTUNREACH, %ENOENT (the list),
 * %EPROTONOSUPPORT (the other node does not support segments), %EPROTO, %ENETDOWN, %ENOMEM,
 * %ENOSPC, %EDQUOT, %ENOBUFS, %EINTR.
 *
 * With %DD_SEGMENT_REGISTERED the call waits for the registrar; @node is a hint to it.
 * %DD_IMPORT_NOWAIT and %DD_IMPORT_PARK are not allowed, %DD_IMPORT_FRESH is. (out) @node,
 * @key_class and @key are those by which the segment was found. Further errors: what the
 * registrar answers; %EHOSTDOWN, %ETIMEDOUT, %EUSERS, %EINTR as of an export.
 */
struct dd_import_make {
	__u32 size;
	__u32 flags;
	__u32 node;
	__u32 key_class;
	__u8 key[DD_SEGMENT_KEY];
	__u32 rights;
	__u32 state_unit;
	__u32 depth;
	__u32 list;
	__aligned_u64 import;
	__aligned_u64 length;
	__aligned_u64 generation;
	__aligned_u64 cookie;
	__u32 uid;
	__u32 __reserved;
};

#define DD_IMPORT_NOWAIT	0x1	/* do not wait for the other node or the segment */
#define DD_IMPORT_PARK		0x2	/* wait for the export of the segment */
#define DD_IMPORT_FRESH		0x4	/* ask that no cached name be used */
#define DD_IMPORT_UID		0x10	/* only a segment of user @uid */
#define DD_IMPORT_MAY		0x20	/* those of @rights that are granted, at least one */

#define DD_DEPTH_USUAL		16
#define DD_DEPTH_MAX		64
#define DD_RESULTS		64

#define DD_RESULT_AWAITED	255	/* the reply to a GET or CAS has not come */

/**
 * struct dd_mem_state - state of an import, in the area of its owner
 * @cs: counters and send queue. @conn is the serial of the import
 * @result: errno of request n at n % %DD_RESULTS, once @cs.done is at least n: 0, or why
 *	the other node has refused it. %EIO: its outcome is not known, since the access
 *	has ended. Before that, %DD_RESULT_AWAITED for a GET or CAS without a reply
 * @uid: effective user of the exporter when it exported the segment, in the user namespace of
 *	the process that has opened the device (the overflow id if it has none there); of another
 *	node, as that node states it
 * @rights: DD_RIGHT_* of the import, once it is made
 */
struct dd_mem_state {
	struct dd_conn_state cs;
	__u8 result[DD_RESULTS];
	__u32 uid;
	__u32 rights;
};

/**
 * struct dd_import_list - attach a note list to an import (%DD_IOC_IMPORT_LIST)
 * @size: sizeof(struct dd_import_list)
 * @flags: zero
 * @import: serial of the import, which may be pending
 * @cookie: for the notes
 * @list: id of the list
 * @depth: slots for notes of type %DD_NOTE_DONE, 1..%DD_DEPTH_MAX, or 0 for %DD_DEPTH_USUAL
 *
 * Requests of the import may name the list then, until the import ends.
 *
 * Errors: %EINVAL, %ENOENT (the import, or the list), %EEXIST (it is attached), %ENOMEM, %ENOSPC,
 * %EDQUOT, %EINTR.
 */
struct dd_import_list {
	__u32 size;
	__u32 flags;
	__aligned_u64 import;
	__aligned_u64 cookie;
	__u32 list;
	__u32 depth;
};

/**
 * struct dd_list_make - make a note list (%DD_IOC_LIST_MAKE)
 * @size: sizeof(struct dd_list_make)
 * @flags: zero
 * @list: (in) zero; (out) id of the list
 * @list_unit: (in) zero; (out) unit number of struct dd_list_head
 * @serial: (in) zero; (out) serial of the list, for %DD_IOC_END
 *
 * It exists until %DD_IOC_END, and then until the last service, connection, segment or
 * import that uses it has ended. Services and connections may attach to it.
 *
 * Errors: %EINVAL, %ENOMEM, %ENOSPC, %EDQUOT.
 */
struct dd_list_make {
	__u32 size;
	__u32 flags;
	__u32 list;
	__u32 list_unit;
	__aligned_u64 serial;
};

/**
 * struct dd_list_record - what read() of a descriptor of %DD_IOC_LIST_FD returns
 * @cookie: as in struct dd_note
 * @offset: as in struct dd_note
 * @count: bytes, as @len of struct dd_note
 * @node: as in struct dd_note
 * @op: as in struct dd_note
 * @type: enum dd_note_type
 * @generation: as in struct dd_note
 * @error: as in struct dd_note, instead of @generation, if @type is %DD_NOTE_DONE
 * @seq: number of the message on its import or connection
 *
 * A read consumes as many whole records as fit the buffer, which holds at least one; it
 * blocks while there is none, unless the descriptor has O_NONBLOCK (%EAGAIN). At the end of
 * the list it returns 0. A program reads a list either by its descriptor or in the area.
 * Direct notes are not returned: a list that is read has no senders that send directly.
 */
struct dd_list_record {
	__aligned_u64 cookie;
	__aligned_u64 offset;
	__u32 count;
	__u16 node;
	__u8 op;
	__u8 type;
	union {
		__u32 generation;
		__u32 error;
	};
	__u32 seq;
};

/**
 * DOC: registrar
 *
 * A *registrar* is a process that keeps names of segments, for example together with those
 * of other nodes. %DD_IOC_REGISTRAR, with 0 as its argument, makes the caller that of its
 * node, and returns a descriptor. The caller needs CAP_NET_ADMIN in the user namespace of its
 * network namespace. A node has one registrar at a time (%EBUSY). It ends when the descriptor,
 * which a child of fork() inherits, is closed.
 *
 * read() returns a struct dd_registrar_call for each export (ADD), import (LOOKUP) and end
 * (DELETE) of class %DD_SEGMENT_REGISTERED, as many as fit the buffer. It blocks while there is
 * none, unless the descriptor has O_NONBLOCK (%EAGAIN); poll() waits as well. Calls are in order.
 *
 * write() takes a struct dd_registrar_answer, or several, for calls with a number, in any order.
 * The export or import waits until then, at most three seconds (%ETIMEDOUT). Errors: %EINVAL
 * (size or contents; after a good answer the number of bytes of those is returned), %ENOENT (the
 * call is over), %EFAULT.
 *
 * The kernel exports such a segment by its generation (%DD_SEGMENT_ID) and remembers its name. An
 * export that is refused, that is not answered in time, or that a signal interrupts, ends. A new
 * registrar gets an ADD without a number of each segment that its predecessors knew. A DELETE
 * follows each ADD that was read, also one that was refused. The DELETEs are kept, in the memory
 * of the names, until the registrar reads them or ends.
 */

/**
 * enum dd_registrar_op - calls of a registrar
 * @DD_REGISTRAR_ADD: a segment was exported; the answer accepts or refuses its name
 * @DD_REGISTRAR_LOOKUP: an import; the answer has node and generation of the segment
 * @DD_REGISTRAR_DELETE: a segment has ended
 */
enum dd_registrar_op {
	DD_REGISTRAR_ADD = 1,
	DD_REGISTRAR_LOOKUP = 2,
	DD_REGISTRAR_DELETE = 3,
};

/**
 * struct dd_registrar_call - what read() of the descriptor of a registrar returns
 * @call: number for the answer; 0: none is expected
 * @generation: generation of the segment; 0 in a LOOKUP
 * @length: its length in bytes; 0 in a LOOKUP
 * @op: enum dd_registrar_op
 * @flags: %DD_IMPORT_FRESH or 0
 * @node: its node; in a LOOKUP the node that the importer has named
 * @uid: user of the caller, as the registrar's user namespace names it
 * @rights: DD_RIGHT_* of the segment, or that the importer needs
 * @__reserved: zero
 * @name: 1 to 63 bytes, padded with zeros
 */
struct dd_registrar_call {
	__aligned_u64 call;
	__aligned_u64 generation;
	__aligned_u64 length;
	__u32 op;
	__u32 flags;
	__u32 node;
	__u32 uid;
	__u32 rights;
	__u32 __reserved;
	__u8 name[DD_SEGMENT_KEY];
};

/**
 * struct dd_registrar_answer - what write() to the descriptor of a registrar takes
 * @call: number of the call
 * @generation: of the segment that was looked up; else ignored
 * @node: its node; else ignored
 * @error: 0, or the errno for the caller, at most %DD_REGISTRAR_ERROR_MAX
 */
struct dd_registrar_answer {
	__aligned_u64 call;
	__aligned_u64 generation;
	__u32 node;
	__u32 error;
};

#define DD_REGISTRAR_ERROR_MAX	255

/*
 * END takes a serial as DOORBELL does: of a segment, which is revoked; of an import; or of
 * a list of LIST_MAKE. After it has revoked a segment it waits until the other nodes with
 * imports of it have processed that: the states of these imports then show ESTALE. A node that
 * does not answer is waited for no longer than its dead time. If a signal ends this wait, the
 * error is EINTR, and the segment has ended all the same: a further call returns ENOENT. The
 * wait of an import for its requests is before its end: after EINTR the import goes on, and END
 * has to be called again.
 */
#define DD_IOC_REGION_PIN	_IO(DD_IOC_TYPE, 0x0b)
#define DD_IOC_SEGMENT		_IO(DD_IOC_TYPE, 0x0c)
#define DD_IOC_SEGMENT_CTL	_IO(DD_IOC_TYPE, 0x0d)
#define DD_IOC_SEGMENT_INFO	_IO(DD_IOC_TYPE, 0x0e)
#define DD_IOC_IMPORT		_IO(DD_IOC_TYPE, 0x0f)
#define DD_IOC_LIST_MAKE	_IO(DD_IOC_TYPE, 0x10)
#define DD_IOC_REGION_DIRTY	_IO(DD_IOC_TYPE, 0x11)
#define DD_IOC_REGION_CHECK	_IO(DD_IOC_TYPE, 0x13)
#define DD_IOC_IMPORT_LIST	_IO(DD_IOC_TYPE, 0x14)
#define DD_IOC_REGION_STORED	_IO(DD_IOC_TYPE, 0x16)

#define DD_IOC_END		_IO(DD_IOC_TYPE, 0x27)
#define DD_IOC_REGISTRAR	_IO(DD_IOC_TYPE, 0x28)

#endif /* _UAPI_LINUX_DD_MEM_H */
