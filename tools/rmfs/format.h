/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * format.h - segments of a file service in remote memory
 *
 * Copyright (C) 2026 The dd authors
 *
 * The server exports two segments. Clerks read the first one: struct head and the caches, which
 * are hash tables of struct entry. They write requests to the second one, struct inbox. A clerk
 * exports one for answers: struct mirror and, with the scheme push, a copy of the tables.
 */
#ifndef _RMFS_FORMAT_H
#define _RMFS_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "rmem.h"
#include "../common/slot.h"

#define RMFS_MAGIC	0x73666d72	/* "rmfs", and the byte order */
#define RMFS_BLOCK	8192u		/* bytes in a block of a file or directory */
#define RMFS_NAME	255u		/* bytes in a name, at most */
#define RMFS_MAILBOXES	32u
#define RMFS_DEPTH	16u		/* messages in a mailbox */
#define RMFS_BLOCKS	(1ull << 49)	/* in a file, at most */
#define RMFS_DATA_SLOTS	(1u << 20)	/* blocks in the cache, at most */
#define RMFS_TABLES	12288u		/* offset of the tables, and of a copy of them */

/* Operations. An offset is a number of a block, except that of OP_WRITE. */
enum rmfs_op {
	OP_NULL, OP_GETATTR, OP_LOOKUP, OP_READ, OP_READLINK, OP_READDIR, OP_STATFS, OP_WRITE,
	OP_SYNC,		/* when it is answered, earlier Writes have been executed */
	OP_CLIENTS,		/* clients may request the operations below this one */
	OP_HELLO = OP_CLIENTS,	/* the payload is struct hello */
};

/* Results of the operations, in the order of the operations */
enum rmfs_table { TABLE_ATTR, TABLE_NAME, TABLE_DATA, TABLE_LINK, TABLE_DIR, TABLE_FS, TABLES };

#define ENTRY_VALID	1

/**
 * struct entry - entry of a table
 * @slot: its state is %ENTRY_VALID or 0
 * @handle: key: a file or directory
 * @block: key: number of a block, or hash of a name
 * @len: bytes of @data
 * @reserved: 0
 * @data: struct found and the name, struct attr, struct fs, a target, bytes of a file, or
 *	struct names
 */
struct entry {
	struct slot slot;
	uint64_t handle;
	uint64_t block;
	uint32_t len;
	uint32_t reserved;
	uint8_t data[];
};

struct found {
	uint64_t handle;
	uint32_t mode;		/* the type; the rest may change */
	uint32_t reserved;
};

struct attr {
	uint64_t size, ino, mtime_ns, ctime_ns;
	uint32_t mode, nlink, uid, gid;
};

struct fs {
	uint64_t blocks, bfree, files, ffree;
	uint32_t bsize, namemax;
};

/* A block of a directory; then for each name its type (DT_*), its length, and its bytes. */
struct names {
	uint32_t blocks;	/* in the directory */
	uint32_t version;	/* of the directory */
	uint8_t list[];
};

/**
 * struct head - beginning of the segment with the tables
 * @magic: %RMFS_MAGIC
 * @reserved: 0
 * @root: handle of the directory that is served: it differs from those of other servers
 * @beat: counts up each second
 * @slots: entries of each table
 */
struct head {
	uint32_t magic;
	uint32_t reserved;
	uint64_t root;
	uint64_t beat;
	uint32_t slots[TABLES];
};

/**
 * struct header - of a request, or of its answer
 * @handle: request: file or directory; 0 is the root
 * @offset: request: see enum rmfs_op
 * @op: request: enum rmfs_op; answer: 0 or an errno
 * @len: bytes of payload
 * @errors: answer of the server: errnos of the last requests that got no answer of their own,
 *	by number modulo %RMFS_DEPTH
 * @late: request: 1 if it gets no answer; reply of a clerk: 0, or the errno of a Write that
 *	the client has made before
 * @seq: number of the request; stored last
 */
struct header {
	uint64_t handle;
	uint64_t offset;
	uint32_t op;
	uint32_t len;
	uint16_t errors[RMFS_DEPTH];
	uint32_t late;
	uint32_t seq;
};

/* Between a clerk and the server. The payload, padded to words of 8 bytes, ends at the header. */
struct message {
	uint8_t payload[RMFS_BLOCK];
	struct header h;
};

/* Between a client and its clerk, in both directions. */
struct call {
	struct header h;
	uint8_t payload[RMFS_BLOCK];
};

/**
 * struct inbox - segment of the server for requests
 * @owners: by mailbox: 0, or a number of the clerk that has taken it by a CAS
 * @boxes: mailboxes: the place of a message is its number modulo %RMFS_DEPTH. The number of the
 *	first message is a multiple of that. Messages after the last answered one are not
 *	overwritten before the next answer
 */
struct inbox {
	uint32_t owners[RMFS_MAILBOXES];
	struct message boxes[RMFS_MAILBOXES][RMFS_DEPTH];
};

/**
 * struct mirror - beginning of the segment of a clerk
 * @beat: the server writes here, each second
 * @answer: the answer to its last request
 */
struct mirror {
	uint64_t beat;
	struct message answer;
};

/* How a clerk uses the caches of a server: see remote.c */
enum scheme { SCHEME_DX, SCHEME_HY, SCHEME_PUSH };

/**
 * struct hello - the first request of a clerk
 * @root: struct head.root, as the clerk has read it
 * @node: node of the clerk
 * @name: name of the segment of the clerk, see rm_import()
 * @scheme: enum scheme; with push the tables are copied there
 */
struct hello {
	uint64_t root;
	int32_t node;
	uint32_t scheme;
	char name[RM_NAME_MAX + 1];
};

#define rmfs_pad(len)	(((size_t)(len) + 7) & ~(size_t)7)
#define rmfs_pages(len)	(((size_t)(len) + 4095) & ~(size_t)4095)

#endif /* _RMFS_FORMAT_H */
