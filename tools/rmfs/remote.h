/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * remote.h - the caches of a server, as a clerk uses them
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMFS_REMOTE_H
#define _RMFS_REMOTE_H

#include <stdbool.h>

#include "format.h"

#define RMFS_CLIENTS	32u	/* of a clerk, at most */

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
void remote_drop_client(struct remote *r, int client);
uint32_t segment_write(rm_desc_t rd, size_t off, const void *src, size_t len, int notify);
uint32_t message_write(rm_desc_t rd, size_t off, struct header h, const void *payload,
		       int notify);

#endif /* _RMFS_REMOTE_H */
