// SPDX-License-Identifier: GPL-2.0-only
/*
 * dd-hash - a hash table that processes share, on one node or on several
 *
 *	cc dd-hash.c -o dd-hash $(pkg-config --cflags --libs libdd)
 *	dd-hash				export an empty table
 *	dd-hash NODE KEY [VALUE]	insert or change a value; print it. -1: this node
 *
 * Copyright (C) 2026 The dd authors
 */
#include <dd_mem.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES	1024
#define TEXT	27	/* the rest of a key or value is ignored */

/* The version is 0 in a free entry, odd while a process writes, and else even. */
struct entry {
	uint64_t version;
	char key[TEXT + 1], value[TEXT + 1];
};

static struct dd_mem *table;

static void check(const char *call, int ret)
{
	if (ret < 0)
		errx(1, "%s: %s", call, dd_strerror(ret));
}

/* Read the entry of @key, or the free one where it belongs. Return: its place. */
static uint64_t find(const char *key, struct entry *e)
{
	uint64_t i, at, again, hash = 0;

	for (i = 0; key[i] && i < TEXT; i++)
		hash = hash * 31 + key[i];
	for (i = 0; i < ENTRIES; i++) {
		at = (hash + i) % ENTRIES * sizeof(*e);
		do {
			check("dd_get", dd_get(table, e, sizeof(*e), at));
			check("dd_get", dd_get(table, &again, 8, at));
		} while (e->version % 2 || e->version != again);
		if (!e->version || !strncmp(e->key, key, TEXT))
			return at;
	}
	errx(1, "the table is full");
}

static void put(const char *key, const char *value, struct entry *e)
{
	uint64_t at, was;

	do {
		at = find(key, e);
		check("dd_cas", dd_cas(table, at, 8, e->version, e->version + 1, &was, 0));
	} while (was != e->version);
	strncpy(e->key, key, TEXT);
	strncpy(e->value, value, TEXT);
	e->version += 2;
	check("dd_put", dd_put(table, e->key, sizeof(*e) - 8, at + 8, 0));
	check("dd_put", dd_put(table, &e->version, 8, at, 0));
}

int main(int argc, char **argv)
{
	struct dd_export_attr attr = {
		.size = sizeof(attr), .len = ENTRIES * sizeof(struct entry), .importers = 64,
		.key_class = DD_KEY_NAME, .key = "dd-hash", .users = DD_FOR_ANY,
		.rights = DD_CAN_PUT | DD_CAN_GET | DD_CAN_CAS, .notify = DD_NOTIFY_NEVER,
	};
	uint64_t segment;
	struct entry e;
	struct dd *h;
	int node;

	if (argc == 2 || argc > 4)
		errx(2, "usage: dd-hash [NODE KEY [VALUE]]");
	check("dd_open", dd_open(&h));
	if (argc == 1) {	/* the owner */
		check("dd_alloc", dd_alloc(h, attr.len, &attr.addr));
		check("dd_export", dd_export(h, &attr, &segment));
		return pause();
	}
	node = atoi(argv[1]) < 0 ? dd_node(h) : atoi(argv[1]);
	check("dd_import", dd_import(h, node, DD_KEY_NAME, attr.key, attr.rights, &table));
	if (argc == 4)
		put(argv[2], argv[3], &e);
	find(argv[2], &e);
	if (!e.version)
		errx(1, "no such key");
	puts(e.value);
	return dd_unimport(table) < 0;
}
