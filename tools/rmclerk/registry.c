// SPDX-License-Identifier: GPL-2.0-only
/*
 * registry.c - an open-addressed hash table with one writer and readers anywhere
 *
 * A reader takes no lock. It fetches a record of 40 bytes in ascending words, so it has the
 * state first: if that is valid, the rest is of the same record, or was changed since, which
 * the sum shows.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "registry.h"

_Static_assert(sizeof(struct record) == 40 && sizeof(struct registry_head) == 64 &&
	       sizeof(struct mailbox) % 8 == 0, "layout of the segment");

uint32_t registry_hash(const char *name, uint32_t slots)
{
	return XXH3_64bits(name, strnlen(name, REGISTRY_NAME)) % slots;
}

static uint32_t record_sum(const struct record *r)
{
	return XXH32(&r->generation, sizeof(*r) - offsetof(struct record, generation), r->state);
}

bool record_whole(const struct record *r)
{
	return r->state <= RECORD_DELETED ||
	       (r->state <= RECORD_LONG && r->sum == record_sum(r));
}

static void record_fill(struct record *r, const char *name)
{
	size_t len = strnlen(name, REGISTRY_NAME);
	XXH128_canonical_t hash;

	memset(r->id, 0, sizeof(r->id));
	if (len < sizeof(r->id)) {
		r->state = RECORD_SHORT;
		memcpy(r->id, name, len);
	} else {
		r->state = RECORD_LONG;
		XXH128_canonicalFromHash(&hash, XXH3_128bits(name, len));
		memcpy(r->id, hash.digest, sizeof(r->id));
	}
}

bool record_is(const struct record *r, const char *name)
{
	struct record other;

	record_fill(&other, name);
	return r->state == other.state && !memcmp(r->id, other.id, sizeof(r->id));
}

static struct record *record_at(const struct registry_head *head, uint32_t slot)
{
	return (struct record *)((char *)head + registry_record(head, slot));
}

static char *name_at(const struct registry_head *head, uint32_t slot)
{
	return (char *)head + registry_name(head, slot);
}

/* The slot of a name, or %ENOENT with the slot for it, or @slots if there is none. */
static int registry_search(const struct registry_head *head, const char *name, uint32_t *slot)
{
	uint32_t i = registry_hash(name, head->slots), n, unused = head->slots;

	for (n = 0; n < head->slots; n++, i = (i + 1) % head->slots) {
		const struct record *r = record_at(head, i);

		if (r->state <= RECORD_DELETED && unused == head->slots)
			unused = i;
		if (r->state == RECORD_EMPTY)
			break;
		if (r->state != RECORD_DELETED && !strncmp(name_at(head, i), name, REGISTRY_NAME)) {
			*slot = i;
			return 0;
		}
	}
	*slot = unused;
	return ENOENT;
}

int registry_add(struct registry_head *head, const char *name, uint64_t generation,
		 uint64_t length)
{
	struct record new = { .generation = generation, .length = length }, *r;
	uint32_t slot;

	if (!registry_search(head, name, &slot))
		return record_at(head, slot)->generation == generation ? 0 : EEXIST;
	if (slot == head->slots)
		return ENOSPC;
	r = record_at(head, slot);
	record_fill(&new, name);
	new.sum = record_sum(&new);
	memcpy(name_at(head, slot), name, REGISTRY_NAME);
	memcpy(&r->sum, &new.sum, sizeof(new) - offsetof(struct record, sum));
	/* One word, last: a reader finds the whole record or none. */
	__atomic_store_n(&r->state, new.state, __ATOMIC_RELEASE);
	return 0;
}

int registry_find(const struct registry_head *head, const char *name, struct record *found)
{
	uint32_t slot;
	int err = registry_search(head, name, &slot);

	if (!err)
		*found = *record_at(head, slot);
	return err;
}

bool registry_delete(struct registry_head *head, const char *name, uint64_t generation)
{
	uint32_t slot, state = RECORD_DELETED;

	/* The name may have been used again since. */
	if (registry_search(head, name, &slot) ||
	    record_at(head, slot)->generation != generation)
		return false;
	/* What ends a search anyway needs no mark, nor do the marks before it. */
	if (record_at(head, (slot + 1) % head->slots)->state == RECORD_EMPTY)
		state = RECORD_EMPTY;
	do {
		__atomic_store_n(&record_at(head, slot)->state, state, __ATOMIC_RELEASE);
		slot = (slot + head->slots - 1) % head->slots;
	} while (state == RECORD_EMPTY && record_at(head, slot)->state == RECORD_DELETED);
	return true;
}
