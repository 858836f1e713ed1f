// SPDX-License-Identifier: GPL-2.0-only
/*
 * dd-hash - a hash table that processes share, on one node or on several
 *
 * One process exports the memory of the table and does nothing more. The others look up,
 * insert and change entries by dd_get(), dd_cas() and dd_put().
 *
 *	cc dd-hash.c -o dd-hash $(pkg-config --cflags --libs libdd)
 *	dd-hash
 *	dd-hash put KEY VALUE [NODE]
 *	dd-hash get KEY [NODE]
 *
 * Copyright (C) 2026 The dd authors
 */
#include <dd_mem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES	1024
#define TEXT	28

/* The version is 0 in a free entry, odd while a process writes, and else even. */
struct entry {
	uint64_t version;
	char key[TEXT];
	char value[TEXT];
};

static void check(const char *call, int ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "dd-hash: %s: %s\n", call, dd_strerror(ret));
	exit(1);
}

static uint64_t place(uint64_t i)
{
	return i % ENTRIES * sizeof(struct entry);
}

static uint64_t hash(const char *key)
{
	uint64_t h = 14695981039346656037ull;	/* FNV-1a */

	while (*key)
		h = (h ^ (unsigned char)*key++) * 1099511628211ull;
	return h;
}

/* Copy an entry that no process writes meanwhile. */
static struct entry entry_read(struct dd_mem *table, uint64_t at)
{
	struct entry e;
	uint64_t again;

	do {
		check("dd_get", dd_get(table, &e, sizeof(e), at));
		check("dd_get", dd_get(table, &again, sizeof(again), at));
	} while (e.version % 2 || e.version != again);
	return e;
}

/* The place of @key, or of the free entry where it belongs. */
static uint64_t entry_find(struct dd_mem *table, const char *key, struct entry *e)
{
	uint64_t i, h = hash(key);

	for (i = 0; i < ENTRIES; i++) {
		*e = entry_read(table, place(h + i));
		if (!e->version || !strncmp(e->key, key, TEXT))
			return place(h + i);
	}
	fprintf(stderr, "dd-hash: the table is full\n");
	exit(1);
}

static void put(struct dd_mem *table, const char *key, const char *value)
{
	uint64_t at, was, next;
	struct entry e;

	/* The entry belongs to the process whose CAS makes its version odd. */
	do {
		at = entry_find(table, key, &e);
		check("dd_cas", dd_cas(table, at, 8, e.version, e.version + 1, &was, 0));
	} while (was != e.version);
	memset(e.key, 0, sizeof(e.key) + sizeof(e.value));
	strncpy(e.key, key, TEXT - 1);
	strncpy(e.value, value, TEXT - 1);
	next = e.version + 2;
	/* The calls take effect in this order. */
	check("dd_put", dd_put(table, e.key, 2 * TEXT, at + 8, 0));
	check("dd_put", dd_put(table, &next, sizeof(next), at, 0));
}

static int get(struct dd_mem *table, const char *key)
{
	struct entry e;

	entry_find(table, key, &e);
	if (!e.version)
		return 1;
	printf("%.*s\n", TEXT, e.value);
	return 0;
}

static void serve(struct dd *h)
{
	struct dd_export_attr attr = {
		.size = sizeof(attr), .len = ENTRIES * sizeof(struct entry),
		.key_class = DD_KEY_NAME, .key = "dd-hash", .users = DD_FOR_ANY,
		.rights = DD_CAN_PUT | DD_CAN_GET | DD_CAN_CAS, .importers = 64,
		.notify = DD_NOTIFY_NEVER,
	};
	uint64_t segment;

	check("dd_alloc", dd_alloc(h, attr.len, &attr.addr));
	check("dd_export", dd_export(h, &attr, &segment));
	puts("ready");
	fflush(stdout);
	pause();
}

int main(int argc, char **argv)
{
	static const char key[DD_KEY_SIZE] = "dd-hash";
	int serves = argc == 1;
	int gets = argc >= 3 && argc <= 4 && !strcmp(argv[1], "get");
	int sets = argc >= 4 && argc <= 5 && !strcmp(argv[1], "put");
	struct dd_mem *table;
	struct dd *h;
	int ret = 0;

	if ((!serves && !gets && !sets) ||
	    (!serves && (!*argv[2] || strlen(argv[2]) >= TEXT)) ||
	    (sets && strlen(argv[3]) >= TEXT)) {
		fprintf(stderr, "Usage: dd-hash [put KEY VALUE [NODE] | get KEY [NODE]]\n"
				"A key has 1 to %d bytes, a value at most %d.\n", TEXT - 1, TEXT - 1);
		return 2;
	}
	check("dd_open", dd_open(&h));
	if (serves)
		serve(h);
	check("dd_import", dd_import(h, argc > 3 + sets ? atoi(argv[3 + sets]) : dd_node(h),
				     DD_KEY_NAME, key,
				     DD_CAN_GET | (sets ? DD_CAN_PUT | DD_CAN_CAS : 0),
				     &table));
	if (sets)
		put(table, argv[2], argv[3]);
	else
		ret = get(table, argv[2]);
	dd_unimport(table);
	dd_shutdown(h);
	return ret;
}
