/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * registry.h - names of segments, in a segment that the clerks of other nodes read
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMCLERK_REGISTRY_H
#define _RMCLERK_REGISTRY_H

#include "../common/slot.h"

/* Segments of a clerk, of class DD_KEY_WELL_KNOWN: clerks of other nodes read names, write mail. */
#define REGISTRY_KEY	1
#define MAILBOXES_KEY	2

#define REGISTRY_MAGIC	0x6b6c6372	/* "rclk", and the byte order */
#define REGISTRY_NAME	64		/* bytes of a name with its zeros */
#define REGISTRY_SLOTS_MAX	(1u << 20)

enum record_state {
	RECORD_EMPTY = 0,	/* ends the search for a name */
	RECORD_DELETED = 1,
	RECORD_SHORT = 2,	/* @id is the name, padded with zeros */
	RECORD_LONG = 3,	/* @id is a hash of the name, which is in the table of names */
};

/**
 * struct record - a name, 40 bytes
 * @slot: its state is enum record_state
 * @generation: of the segment
 * @length: of the segment, in bytes
 * @id: see enum record_state
 */
struct record {
	struct slot slot;
	uint64_t generation;
	uint64_t length;
	uint8_t id[16];
};

/**
 * struct request - a look-up, written with notification by the clerk of another node
 * @name: the name
 * @secret: for @check of the reply, random: only the clerk that was asked knows it
 * @seq: for the reply; stored last
 */
struct request {
	char name[REGISTRY_NAME];
	uint32_t secret;
	uint32_t seq;
};

/**
 * struct reply - its reply
 * @record: the record that was found; RECORD_EMPTY if there is none
 * @check: registry_check() of the record and the secret of the request
 * @seq: of the request; stored last
 */
struct reply {
	struct record record;
	uint32_t check;
	uint32_t seq;
};

/* Mailbox of one node, in the segment of another one: its last request, and its last reply. */
struct mailbox {
	struct request request;
	struct reply reply;
};

/**
 * struct registry_head - beginning of the registry
 * @magic: %REGISTRY_MAGIC
 * @slots: number of records
 * @beat: counts up while the clerk works
 * @seed: of the places of names. It is random and readable by clerks only, so that a user cannot
 *	choose names that have the same place
 * @reserved: zero
 *
 * Records and the table of names follow, in that order.
 */
struct registry_head {
	uint32_t magic;
	uint32_t slots;
	uint64_t beat;
	uint64_t seed;
	uint64_t reserved[5];
};

static inline size_t registry_record(const struct registry_head *head, uint32_t slot)
{
	return sizeof(*head) + (size_t)slot * sizeof(struct record);
}

static inline size_t registry_name(const struct registry_head *head, uint32_t slot)
{
	return registry_record(head, head->slots) + (size_t)slot * REGISTRY_NAME;
}

static inline size_t registry_size(const struct registry_head *head)
{
	return registry_name(head, head->slots);
}

/*
 * Names are REGISTRY_NAME bytes, padded with zeros.
 */

/* First slot of the search for a name, which continues up to an empty slot. */
uint32_t registry_hash(const struct registry_head *head, const char *name);

/* What only the clerk that has read the request can state about the record of its reply. */
uint32_t registry_check(const struct record *r, uint32_t secret);

/* Whether a record of another node is complete and valid. */
bool record_whole(const struct record *r);
bool record_is(const struct record *r, const char *name);

/* Calls that change the registry, or look a name up: 0 or an errno. One at a time. */
int registry_add(struct registry_head *head, const char *name,
		 uint64_t generation, uint64_t length);
int registry_find(const struct registry_head *head, const char *name,
		  struct record *found);
bool registry_delete(struct registry_head *head, const char *name,
		     uint64_t generation);	/* whether it was there */

#endif /* _RMCLERK_REGISTRY_H */
