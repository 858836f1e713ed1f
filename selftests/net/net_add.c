// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes that add to one word by compare and swap.
 *
 *	net_add serve NAME ADDERS	export the word, and print it when ADDERS have ended
 *	net_add NODE NAME N		add 1, N times
 *
 * The server goes on until it is killed: the last adder may wait for a reply.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dd_mem.h"

enum { SUM, ENDED, WORDS };

static int fail(const char *what, int err)
{
	fprintf(stderr, "net_add: %s: %s\n", what, strerror(-err));
	return 1;
}

static int serve(struct dd *h, const char *name, uint64_t adders)
{
	struct dd_export_attr attr = {
		.size = sizeof(attr), .len = 4096, .key_class = DD_KEY_NAME,
		.rights = DD_CAN_CAS | DD_CAN_GET | DD_CAN_PUT, .notify = DD_NOTIFY_NEVER,
		.users = DD_FOR_ANY, .importers = adders,
	};
	volatile uint64_t *words;
	uint64_t segment;
	int ret;

	strncpy((char *)attr.key, name, sizeof(attr.key) - 1);
	ret = dd_alloc(h, attr.len, &attr.addr);
	if (!ret)
		ret = dd_export(h, &attr, &segment);
	if (ret)
		return fail("export", ret);
	words = attr.addr;
	puts("ready");
	fflush(stdout);
	while (words[ENDED] != adders)
		usleep(1000);
	printf("sum %llu\n", (unsigned long long)words[SUM]);
	fflush(stdout);
	for (;;)
		pause();
}

/* Add 1 to a word; *@value is what it may have. */
static int add(struct dd_mem *m, int word, uint64_t *value)
{
	uint64_t expect;
	int ret;

	do {
		expect = *value;
		ret = dd_cas(m, word * sizeof(uint64_t), sizeof(uint64_t), expect, expect + 1,
			     value, 0);
	} while (!ret && *value != expect);
	(*value)++;
	return ret;
}

static int adder(struct dd *h, int node, const char *name, uint64_t n)
{
	unsigned char key[DD_KEY_SIZE] = "";
	uint64_t sum = 0, ended = 0;
	struct dd_mem *m;
	int ret;

	strncpy((char *)key, name, sizeof(key) - 1);
	ret = dd_import(h, node, DD_KEY_NAME, key, DD_CAN_CAS | DD_CAN_GET | DD_CAN_PUT, &m);
	if (ret)
		return fail("import", ret);
	while (n-- && !ret)
		ret = add(m, SUM, &sum);
	if (!ret)
		ret = add(m, ENDED, &ended);
	return ret ? fail("swap", ret) : 0;
}

int main(int argc, char **argv)
{
	bool serves = argc == 4 && !strcmp(argv[1], "serve");
	struct dd *h;
	int ret;

	if (!serves && argc != 4) {
		fprintf(stderr, "usage: net_add serve NAME ADDERS | NODE NAME N\n");
		return 2;
	}
	ret = dd_open(&h);
	if (ret)
		return fail("dd_open", ret);
	if (serves)
		return serve(h, argv[2], strtoull(argv[3], NULL, 0));
	return adder(h, atoi(argv[1]), argv[2], strtoull(argv[3], NULL, 0));
}
