// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench.c - rmfs bench: requests (hy) against reads of the server's caches (dx)
 *
 * The process is a clerk without clients. All results are in the caches of the server, which
 * are warm. A series with Writes of dx ends when the server has executed them. Fractions of the
 * mix are those of NFS calls in Table 1a of Thekkath, Levy and Lazowska.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "common.h"
#include "dd.h"
#include "remote.h"
#include "../common/tool.h"

#define MIX	OP_SYNC		/* row of the mix */
#define TURN	50		/* operations of a scheme, then the other's */

static const char * const names[] = {
	"Null", "GetAttr", "Lookup", "Read", "ReadLink", "ReadDir", "StatFS", "Write", "mix",
};

/* Of 1000 operations. */
static const unsigned int mix[MIX] = {
	[OP_NULL] = 120, [OP_GETATTR] = 310, [OP_LOOKUP] = 310, [OP_READ] = 160,
	[OP_READLINK] = 60, [OP_READDIR] = 31, [OP_STATFS] = 5, [OP_WRITE] = 4,
};

/**
 * struct row - one operation, or the mix
 * @us: mean time of an operation, by scheme
 * @missed: results of dx that took a request, also because their file was just written
 */
struct row {
	double us[2];
	unsigned long missed;
};

static struct remote remotes[2];	/* SCHEME_DX, SCHEME_HY */
static uint64_t file, target;
static char file_name[RMFS_NAME + 1];
static uint8_t block[RMFS_BLOCK];
static int marks = -1;

static uint32_t run(struct remote *r, uint32_t op)
{
	switch (op) {
	case OP_LOOKUP:
		return remote_op(r, op, 0, 0, file_name, strlen(file_name));
	case OP_GETATTR:
	case OP_READ:
		return remote_op(r, op, file, 0, NULL, 0);
	case OP_READLINK:
		return remote_op(r, op, target, 0, NULL, 0);
	case OP_WRITE:
		return remote_op(r, op, file, 0, block, sizeof(block));
	default:
		return remote_op(r, op, 0, 0, NULL, 0);
	}
}

static void must(uint32_t err, uint32_t op)
{
	if (!err)
		err = remotes[SCHEME_DX].late;
	if (err)
		fail(names[op], err);
}

/* Find a file and a link in the root directory. */
static void choose(struct remote *r)
{
	static uint8_t list[RMFS_BLOCK];
	const uint8_t *at = list + sizeof(struct names), *end;
	struct found f;
	struct attr a;

	must(remote_op(r, OP_READDIR, 0, 0, NULL, 0), OP_READDIR);
	memcpy(list, r->data, r->len);
	end = list + r->len;
	for (; at + 2 <= end && at[1] && (!file || !target); at += 2 + at[1]) {
		if (remote_op(r, OP_LOOKUP, 0, 0, at + 2, at[1]) ||
		    r->len < sizeof(f))
			continue;
		memcpy(&f, r->data, sizeof(f));
		if (remote_op(r, OP_GETATTR, f.handle, 0, NULL, 0) || r->len != sizeof(a))
			continue;
		memcpy(&a, r->data, sizeof(a));
		if (S_ISREG(a.mode) && a.size >= RMFS_BLOCK && !file) {
			file = f.handle;
			memcpy(file_name, at + 2, at[1]);
		}
		if (S_ISLNK(a.mode) && !target)
			target = f.handle;
	}
	if (!file || !target) {
		tool_warn("the directory needs a file of %u bytes and a symbolic link", RMFS_BLOCK);
		exit(TOOL_FAILED);
	}
	must(run(r, OP_READ), OP_READ);
	memcpy(block, r->data, sizeof(block));
}

/* The next operation: of the mix by a fixed sequence. */
static uint32_t next(uint32_t row, uint32_t *random)
{
	uint32_t op, n;

	if (row != MIX)
		return row;
	*random = *random * 1664525 + 1013904223;
	n = (*random >> 8) % 1000;
	for (op = 0; op < OP_WRITE && n >= mix[op]; op++)
		n -= mix[op];
	return op;
}

/* Before and after a series of operations, for a trace. */
static void mark(int scheme, const char *what)
{
	if (marks >= 0 && dprintf(marks, "%s %s\n", scheme == SCHEME_DX ? "dx" : "hy", what) < 0)
		fail("-m", errno);
}

/* Operations with one scheme, added to the row. */
static void batch(struct row *row, int s, uint32_t which, unsigned long count, uint32_t *random)
{
	struct remote *r = &remotes[s];
	unsigned long i, expected = 0, hits = r->hits;
	uint64_t begin;
	uint32_t op;

	mark(s, names[which]);
	begin = tool_now();
	for (i = 0; i < count; i++) {
		op = next(which, random);
		must(run(r, op), op);
		expected += op != OP_WRITE;
	}
	if (s == SCHEME_DX && which >= OP_WRITE)
		must(remote_op(r, OP_SYNC, 0, 0, NULL, 0), OP_WRITE);
	row->us[s] += (tool_now() - begin) / 1e3;
	mark(s, "end");
	if (s == SCHEME_DX)
		row->missed += expected - (r->hits - hits);
}

/* Schemes take turns, so that both have their share of a disturbance. */
static void measure(struct row *row, uint32_t which, unsigned long operations)
{
	uint32_t random[2] = { 1, 1 }, op;
	unsigned long done = 0, count;
	int s;

	for (op = 0; op < OP_WRITE; op++)
		for (s = SCHEME_DX; s <= SCHEME_HY; s++)
			must(run(&remotes[s], op), op);
	for (; done < operations; done += count) {
		count = operations - done < TURN ? operations - done : TURN;
		for (s = SCHEME_DX; s <= SCHEME_HY; s++)
			batch(row, s, which, count, &random[s]);
	}
	for (s = SCHEME_DX; s <= SCHEME_HY; s++)
		row->us[s] /= operations;
}

static const char text[] = "%s%-9s %8.2f %8.2f %6.2f %7lu\n";
static const char object[] =
	"%s{\"operation\": \"%s\", \"hy_us\": %.3f, \"dx_us\": %.3f, \"ratio\": %.3f, "
	"\"missed\": %lu}";

static void print(const struct row *rows, bool json)
{
	uint32_t i;

	if (json)
		printf("{\"operations\": [");
	else
		printf("operation    HY us    DX us  DX/HY  missed\n");
	for (i = 0; i <= MIX; i++) {
		const struct row *r = &rows[i];

		printf(json ? object : text,
		       json && i ? ", " : "", names[i], r->us[SCHEME_HY], r->us[SCHEME_DX],
		       r->us[SCHEME_DX] / r->us[SCHEME_HY], r->missed);
	}
	if (json)
		printf("]}\n");
}

int bench(int argc, char **argv)
{
	struct row rows[MIX + 1] = { 0 };
	unsigned long operations = 1000;
	bool json = false;
	struct dd *h;
	uint32_t i;
	int opt, ret;

	while ((opt = getopt(argc, argv, "c:jm:")) != -1) {
		switch (opt) {
		case 'c':
			operations = tool_number("-c", optarg, 1, 1 << 30);
			break;
		case 'j':
			json = true;
			break;
		case 'm':
			marks = open(optarg, O_WRONLY | O_APPEND | O_CLOEXEC);
			if (marks < 0)
				fail(optarg, errno);
			break;
		default:
			tool_bad_option(argv);
		}
	}
	if (optind == argc || optind + 2 < argc)
		tool_usage("bench needs a name and a node");
	tool_raise_memlock();
	ret = dd_open(&h);
	if (ret)
		fail("cannot open /dev/dd", -ret);
	for (i = 0; i < 2; i++) {
		remotes[i].name = argv[optind];
		remotes[i].node = optind + 1 < argc ?
				  (int)tool_number("NODE", argv[optind + 1], 0, 65535) : -1;
		remotes[i].own = dd_node(h);
		remotes[i].scheme = i;
		remotes[i].client = 1;
	}
	choose(&remotes[SCHEME_HY]);
	for (i = 0; i <= MIX; i++)
		measure(&rows[i], i, operations);
	print(rows, json);
	return TOOL_OK;
}
