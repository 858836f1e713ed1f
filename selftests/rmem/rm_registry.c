// SPDX-License-Identifier: GPL-2.0-only
/*
 * rm_registry.c - the hash table of the name clerk
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "registry.h"
#include "tap.h"

static struct registry_head *head;

static void begin(uint32_t slots)
{
	struct registry_head h = { .magic = REGISTRY_MAGIC, .slots = slots };

	head = calloc(1, registry_size(&h));
	*head = h;
}

static void name_of(char *name, int i)
{
	memset(name, 0, REGISTRY_NAME);
	/* Every other name is longer than a record. */
	sprintf(name, i % 2 ? "%d" : "name number %d of this table", i);
}

static struct record *at(uint32_t slot)
{
	return (struct record *)((char *)head + registry_record(head, slot));
}

static int find(int i)
{
	char name[REGISTRY_NAME];
	struct record r;

	name_of(name, i);
	if (registry_find(head, name, &r))
		return -1;
	check(record_whole(&r) && record_is(&r, name));
	return r.generation;
}

static int add(int i, int generation)
{
	char name[REGISTRY_NAME];

	name_of(name, i);
	return registry_add(head, name, generation, 4096);
}

static void delete(int i, int generation)
{
	char name[REGISTRY_NAME];

	name_of(name, i);
	registry_delete(head, name, generation);
}

TEST(RM_37_RM_38_names_fill_the_table)
{
	int i;

	begin(64);
	for (i = 0; i < 64; i++)
		check_eq(add(i, i + 1), 0);
	check_eq(add(64, 65), ENOSPC);
	check_eq(add(5, 70), EEXIST);
	check_eq(add(5, 6), 0);
	for (i = 0; i < 64; i++)
		check_eq(find(i), i + 1);
	check_eq(find(64), -1);
	delete(9, 99);
	check_eq(find(9), 10);
	delete(9, 10);
	check_eq(find(9), -1);
	check_eq(add(64, 65), 0);
	check_eq(find(64), 65);
	free(head);
}

static volatile bool stop;

static void *change(void *unused)
{
	int i;

	for (i = 0; !stop; i++) {
		add(i % 7, i + 1);
		delete(i % 7, i + 1);
	}
	return unused;
}

/* As a remote read does: ascending words, without a lock. */
static void read_record(struct record *to, const struct record *from)
{
	size_t i;

	for (i = 0; i < sizeof(*to) / 4; i++) {
		((uint32_t *)to)[i] = __atomic_load_n((uint32_t *)from + i, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	}
}

TEST(RM_45_readers_find_whole_records)
{
	char name[REGISTRY_NAME];
	pthread_t thread;
	struct record r;
	int i, k, whole = 0;

	begin(3);
	stop = false;
	check_eq(pthread_create(&thread, NULL, change, NULL), 0);
	for (i = 0; i < 300000 || !whole; i++) {
		read_record(&r, at(i % 3));
		if (r.slot.state <= RECORD_DELETED || !record_whole(&r))
			continue;
		whole++;
		/* A record of this table: its generation is that of its name. */
		for (k = 0; k < 7; k++) {
			name_of(name, k);
			if (record_is(&r, name))
				break;
		}
		check(k < 7 && (r.generation - 1) % 7 == (uint64_t)k);
	}
	stop = true;
	pthread_join(thread, NULL);
	free(head);
}

TEST(RM_37_one_hash_function_everywhere)
{
	const struct registry_head one = { .slots = 1u << 20, .seed = 1 };
	const struct registry_head other = { .slots = 1u << 20, .seed = 2 };
	const struct registry_head few = { .slots = 7 };
	const struct record found = { .generation = 1 }, forged = { .generation = 2 };
	char a[REGISTRY_NAME] = "a", b[REGISTRY_NAME] = "b";

	check_eq(registry_hash(&one, a), registry_hash(&one, a));
	check(registry_hash(&one, a) != registry_hash(&one, b));
	/* A user that does not know the seed cannot choose names of one place. */
	check(registry_hash(&one, a) != registry_hash(&other, a));
	check(registry_hash(&few, a) < 7);
	/* Nor can a clerk that does not know the secret of a request change the reply. */
	check_eq(registry_check(&found, 1), registry_check(&found, 1));
	check(registry_check(&found, 1) != registry_check(&found, 2));
	check(registry_check(&found, 1) != registry_check(&forged, 1));
}
