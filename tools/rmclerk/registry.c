// SPDX-License-Identifier: GPL-2.0-only
/*
 * registry.c - an open-addressed hash table with one writer and readers anywhere
 *
 * A name is in the first slot that was free, from the slot of its hash on. slot.h describes how
 * a slot is changed.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>

#include "registry.h"

_Static_assert(sizeof(struct record) == 40 && sizeof(struct registry_head) == 64 &&
	       sizeof(struct mailbox) % 8 == 0, "layout of the segment");

uint32_t registry_hash(const struct registry_head *head, const char *name)
{
	return XXH3_64bits_withSeed(name, strnlen(name, REGISTRY_NAME), head->seed) % head->slots;
}

uint32_t registry_check(const struct record *r, uint32_t secret)
{
	return XXH3_64bits_withSeed(r, sizeof(*r), secret);
}

#define VALUE	(sizeof(struct record) - sizeof(struct slot))

bool record_whole(const struct record *r)
{
	return r->slot.state <= RECORD_DELETED ||
	       (r->slot.state <= RECORD_LONG && slot_whole(&r->slot, VALUE));
}

/* Make the id of a name. Returns the state of its record. */
static uint32_t id_make(uint8_t *id, const char *name)
{
	size_t len = strnlen(name, REGISTRY_NAME), size = sizeof(((struct record *)0)->id);
	XXH128_canonical_t hash;

	if (len < size) {
		memset(id, 0, size);
		memcpy(id, name, len);
		return RECORD_SHORT;
	}
	XXH128_canonicalFromHash(&hash, XXH3_128bits(name, len));
	memcpy(id, hash.digest, size);
	return RECORD_LONG;
}

bool record_is(const struct record *r, const char *name)
{
	uint8_t id[sizeof(r->id)];

	return id_make(id, name) == r->slot.state && !memcmp(r->id, id, sizeof(id));
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
	uint32_t i = registry_hash(head, name), n, unused = head->slots;

	for (n = 0; n < head->slots; n++, i = (i + 1) % head->slots) {
		uint32_t state = record_at(head, i)->slot.state;

		if (state <= RECORD_DELETED && unused == head->slots)
			unused = i;
		if (state == RECORD_EMPTY)
			break;
		if (state != RECORD_DELETED && !strncmp(name_at(head, i), name, REGISTRY_NAME)) {
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
	struct record *r;
	uint32_t slot;

	if (!registry_search(head, name, &slot))
		return record_at(head, slot)->generation == generation ? 0 : EEXIST;
	if (slot == head->slots)
		return ENOSPC;
	r = record_at(head, slot);
	r->generation = generation;
	r->length = length;
	memcpy(name_at(head, slot), name, REGISTRY_NAME);
	slot_publish(&r->slot, id_make(r->id, name), VALUE);
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
	/* Before an empty slot no mark is needed: clear this one and the marks before it. */
	if (record_at(head, (slot + 1) % head->slots)->slot.state == RECORD_EMPTY)
		state = RECORD_EMPTY;
	do {
		slot_clear(&record_at(head, slot)->slot, state);
		slot = (slot + head->slots - 1) % head->slots;
	} while (state == RECORD_EMPTY && record_at(head, slot)->slot.state == RECORD_DELETED);
	return true;
}
