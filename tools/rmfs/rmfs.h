/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rmfs.h - a file service in remote memory: what server, clerks and clients share
 *
 * Copyright (C) 2026 The dd authors
 *
 * The server exports two segments. Clerks read the first one: struct head and the caches, which
 * are hash tables of struct entry. They write requests to the second one, struct inbox. A clerk
 * exports one for answers: struct mirror and, with the scheme push, a copy of the tables.
 */
#ifndef _RMFS_H
#define _RMFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/stat.h>

#include "rmem.h"
#include "../common/slot.h"

#define RMFS_MAGIC	0x73666d72	/* "rmfs", and the byte order */
#define RMFS_BLOCK	8192u		/* bytes in a block of a file or directory */
#define RMFS_NAME	255u		/* bytes in a name, at most */
#define RMFS_MAILBOXES	32u
#define RMFS_DEPTH	16u		/* messages in a mailbox */
#define RMFS_CLIENTS	32u		/* of a clerk, at most */
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

/* ---- table.c: the tables, for both sides ---- */

size_t entry_size(enum rmfs_table table);
size_t table_at(const struct head *head, int table);
size_t tables_size(const struct head *head);
size_t entry_at(const struct head *head, enum rmfs_table table, uint64_t handle, uint64_t block);
uint64_t name_hash(const void *name, size_t len);

enum entry_state { ENTRY_MISS, ENTRY_HIT, ENTRY_TORN };
enum entry_state entry_check(const struct entry *e, enum rmfs_table table, uint64_t handle,
			     uint64_t block, const void *name, size_t len);
int op_table(uint32_t op);
uint32_t op_check(uint32_t op, uint64_t offset, const void *payload, uint32_t len);

/* ---- files.c: files of the server; results are 0 or an errno ---- */

uint32_t files_open(const char *directory, uint64_t *root);
uint32_t files_load(enum rmfs_table table, uint64_t handle, uint64_t block, const char *name,
		    uint32_t len);
uint32_t files_write(uint64_t handle, uint64_t offset, const void *data, uint32_t len);
void files_flush(void);
uint32_t files_check(uint32_t i, uint32_t max);

/* ---- server.c: its caches ---- */

struct entry *cache_begin(enum rmfs_table table, uint64_t handle, uint64_t block);
void cache_end(struct entry *e, uint32_t len);
struct entry *cache_find(enum rmfs_table table, uint64_t handle, uint64_t block);
void cache_drop(enum rmfs_table table, uint64_t handle, uint64_t block, uint64_t end);
void cache_drop_names(uint64_t handle);

/* ---- remote.c: the caches of a server, as a clerk uses them ---- */

enum scheme { SCHEME_DX, SCHEME_HY, SCHEME_PUSH };

/**
 * struct remote - a server
 * @name: name of the segment of the server
 * @node: node of the server, -1 for this one
 * @own: number of this node
 * @scheme: enum scheme
 * @open: whether the members below @len are in use
 * @hits: results that needed no request
 * @client: number of the client, > 0, whose operation is the next one
 * @late: 0, or the first errno of Writes of that client that were accepted before
 * @data: of the last operation
 * @len: bytes
 * @listing: bytes of the last directory; as many are read of the next one at first
 * @tables: segment of the server
 * @inbox: segment of the server
 * @answers: segment with @mirror
 * @landing: segment with @landed
 * @mirror: what the server writes
 * @head: of the server
 * @box: mailbox of this clerk
 * @seq: of the last request
 * @known: the last request whose error is known; all later requests are Writes
 * @writes: these Writes, by number modulo %RMFS_DEPTH
 * @errors: of clients, for their next operations
 * @beat: last value of @mirror->beat
 * @beat_ns: time when that value was seen first
 * @landed: bytes read from the tables
 */
struct remote {
	const char *name;
	int node, own;
	enum scheme scheme;
	bool open;
	unsigned long hits;
	int client;
	uint32_t late;
	const uint8_t *data;
	uint32_t len;
	uint32_t listing;

	rm_desc_t tables, inbox;
	rm_seg_t answers, landing;
	struct mirror *mirror;
	struct head head;
	uint32_t box, seq, known;
	struct late_write {
		uint64_t handle;
		int client;
	} writes[RMFS_DEPTH];
	struct late_error {
		int client;	/* or 0 */
		uint32_t error;
	} errors[RMFS_CLIENTS];
	uint64_t beat;
	uint64_t beat_ns;
	uint8_t landed[12288] __attribute__((aligned(4096)));
};

uint32_t remote_op(struct remote *r, uint32_t op, uint64_t handle, uint64_t offset,
		   const void *payload, uint32_t len);
void remote_close(struct remote *r);
void remote_forget(struct remote *r, int client);
uint32_t segment_write(rm_desc_t rd, size_t off, const void *src, size_t len, int notify);
uint32_t message_write(rm_desc_t rd, size_t off, struct header h, const void *payload,
		       int notify);

/* ---- commands ---- */

/* Names that follow from that of a server: of its inbox, and of the service of a clerk */
#define INBOX	"inbox:%s"
#define SERVICE	"rmfs:%s"

void name_make(char made[RM_NAME_MAX + 1], const char *format, const char *name);
void __attribute__((noreturn)) fail(const char *what, int error);
int serve(int argc, char **argv);
int clerk(int argc, char **argv);
int bench(int argc, char **argv);
int client(int argc, char **argv);

#endif /* _RMFS_H */
