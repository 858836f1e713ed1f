// SPDX-License-Identifier: GPL-2.0-only
/*
 * client.c - commands that look at the files of a server, through the clerk of this node
 *
 * Copyright (C) 2026 The dd authors
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "common.h"
#include "dd.h"
#include "format.h"
#include "../common/tool.h"

#define CALL_NS	30000000000ll
#define DEPTH	256	/* components of a path */
#define LINKS	40	/* that are followed */
#define LISTS	10	/* of a directory that changes meanwhile */

static struct dd *dd;
static int conn;
static struct call *call;	/* to the clerk */
static struct call result;	/* from it: a copy, which the clerk does not change */
static const char *path;
static uint64_t write_offset;
static bool late;		/* the error is that of an earlier write */

/* Connect to the clerk. */
static void begin(const char *name)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr), .type = DD_TYPE_RPC, .send_size = sizeof(*call),
		.recv_size = sizeof(result),
	};
	char service[RM_NAME_MAX + 1];
	int ret;

	name_make(service, SERVICE, name);
	ret = dd_open(&dd);
	if (ret)
		fail("cannot open /dev/dd", -ret);
	tool_raise_memlock();
	ret = dd_alloc(dd, attr.send_size, &attr.send);
	if (!ret)
		ret = dd_alloc(dd, attr.recv_size, &attr.recv);
	if (ret)
		fail("cannot allocate memory", -ret);
	call = attr.send;
	conn = dd_connect(dd, service, dd_node(dd), &attr, NULL);
	if (conn > 0)
		return;
	tool_warn(conn == -EACCES ? "the clerk of '%s' serves another user" :
		  conn == -ENORESOURCE ? "the clerk of '%s' has as many clients as it can serve" :
		  "this node has no clerk of '%s': start 'rmfs clerk'", name);
	exit(TOOL_UNAVAILABLE);
}

/* Call the clerk, which answers at least @min bytes: 0 or an errno. */
static int operation(uint32_t op, uint64_t handle, uint64_t offset, const void *payload,
		     uint32_t len, uint32_t min)
{
	struct dd_msg msg;
	int ret;

	call->h = (struct header){ .op = op, .handle = handle, .offset = offset, .len = len };
	memmove(call->payload, payload, len);
	ret = dd_call(dd, conn, NULL, sizeof(call->h) + len, &msg, DD_RECV_SPIN, CALL_NS);
	if (ret)
		return -ret;
	if (msg.len < sizeof(result.h) || msg.len > sizeof(result))
		return EPROTO;
	copy_once(&result, msg.addr, msg.len);
	late = result.h.late;
	if (late || result.h.op)
		return late ? result.h.late : result.h.op;
	return result.h.len != msg.len - sizeof(result.h) || result.h.len < min ? EPROTO : 0;
}

/* Put the target of a link before what is left of a path: 0 or an errno. */
static int target_insert(uint64_t link, char *rest, const char *left)
{
	char tail[PATH_MAX];
	int err = operation(OP_READLINK, link, 0, "", 0, 1);

	strcpy(tail, left);
	if (!err && snprintf(rest, PATH_MAX, "%.*s/%s", (int)result.h.len, (char *)result.payload,
			     tail) >= PATH_MAX)
		err = ENAMETOOLONG;
	return err;
}

/* The handle of a path below the root of the server. */
static int walk(bool follow, uint64_t *handle)
{
	char rest[PATH_MAX], *at = rest, *name;
	uint64_t stack[DEPTH] = { 0 };
	int depth = 0, links = 0, err;
	struct found f;
	size_t len;

	if (snprintf(rest, sizeof(rest), "%s", path) >= PATH_MAX)
		return ENAMETOOLONG;
	while (name = at + strspn(at, "/"), len = strcspn(name, "/")) {
		at = name + len;
		if (len == 1 && name[0] == '.')
			continue;
		if (len == 2 && name[0] == '.' && name[1] == '.') {
			depth -= depth > 0;
			continue;
		}
		err = len > RMFS_NAME ? ENAMETOOLONG :
		      operation(OP_LOOKUP, stack[depth], 0, name, len, sizeof(f));
		if (err)
			return err;
		memcpy(&f, result.payload, sizeof(f));
		if (S_ISLNK(f.mode) && (follow || *at)) {
			err = ++links > LINKS ? ELOOP : target_insert(f.handle, rest, at);
			if (err)
				return err;
			at = rest;
			if (rest[0] == '/')
				depth = 0;
			continue;
		}
		if (++depth == DEPTH)
			return ENAMETOOLONG;
		stack[depth] = f.handle;
	}
	*handle = stack[depth];
	return 0;
}

/* A name as printed: without control characters on a terminal, unchanged elsewhere. */
static const char *shown(const char *name)
{
	static char buf[4 * PATH_MAX];

	return isatty(1) ? tool_print_name(buf, sizeof(buf), name) : name;
}

/* ---- commands: 0 or an errno -------------------------------------------------------- */

static int do_stat(uint64_t handle)
{
	int err = operation(OP_GETATTR, handle, 0, "", 0, sizeof(struct attr));
	struct attr a;
	char when[32];
	time_t t;

	if (err)
		return err;
	memcpy(&a, result.payload, sizeof(a));
	t = a.mtime_ns / 1000000000;
	strftime(when, sizeof(when), "%F %T", gmtime(&t));
	printf("%06o %u %u %u %llu %s %s\n", a.mode, a.nlink, a.uid, a.gid,
	       (unsigned long long)a.size, when, shown(path));
	return 0;
}

/* Print a block of a directory: @len bytes of names. */
static void block_print(const uint8_t *list, uint32_t len, FILE *out)
{
	char name[RMFS_NAME + 1];
	uint32_t at, n;

	for (at = 0; at + 2 <= len; at += 2 + n) {
		n = list[at + 1];
		if (!n || at + 2 + n > len)
			break;
		memcpy(name, list + at + 2, n);
		name[n] = 0;
		if (strcmp(name, ".") && strcmp(name, ".."))
			fprintf(out, "%s%s\n", shown(name), list[at] == DT_DIR ? "/" : "");
	}
}

/* EAGAIN: the directory has changed meanwhile. */
static int list(uint64_t handle, FILE *out)
{
	uint32_t version = 0, b = 0;
	struct names names;
	int err;

	do {
		err = operation(OP_READDIR, handle, b, "", 0, sizeof(names));
		if (err)
			return err == EINVAL && b ? EAGAIN : err;
		memcpy(&names, result.payload, sizeof(names));
		if (b && names.version != version)
			return EAGAIN;
		version = names.version;
		block_print(result.payload + sizeof(names), result.h.len - sizeof(names), out);
	} while (++b < names.blocks);
	return 0;
}

static int do_ls(uint64_t handle)
{
	int err, tries = 0;
	char *text;
	size_t len;
	FILE *out;

	do {
		out = open_memstream(&text, &len);
		if (!out)
			return ENOMEM;
		err = list(handle, out);
		fclose(out);
		if (!err)
			fwrite(text, 1, len, stdout);
		free(text);
	} while (err == EAGAIN && ++tries < LISTS);
	return err;
}

static int do_cat(uint64_t handle)
{
	uint64_t block = 0;
	int err;

	do {
		err = operation(OP_READ, handle, block++, "", 0, 0);
		if (!err)
			fwrite(result.payload, 1, result.h.len, stdout);
	} while (!err && result.h.len == RMFS_BLOCK);
	return err;
}

static int do_readlink(uint64_t handle)
{
	char target[RMFS_BLOCK + 1];
	int err = operation(OP_READLINK, handle, 0, "", 0, 0);

	if (err)
		return err;
	memcpy(target, result.payload, result.h.len);
	target[result.h.len] = 0;
	printf("%s\n", shown(target));
	return 0;
}

static int do_statfs(uint64_t handle)
{
	int err = operation(OP_STATFS, handle, 0, "", 0, sizeof(struct fs));
	struct fs f;

	if (err)
		return err;
	memcpy(&f, result.payload, sizeof(f));
	printf("%llu blocks of %u bytes, %llu free, %llu files, %llu free, names of %u bytes\n",
	       (unsigned long long)f.blocks, f.bsize, (unsigned long long)f.bfree,
	       (unsigned long long)f.files, (unsigned long long)f.ffree, f.namemax);
	return 0;
}

static int do_write(uint64_t handle)
{
	uint64_t offset = write_offset;
	int err = 0;
	size_t n;

	while (!err && (n = fread(call->payload, 1, RMFS_BLOCK, stdin)) > 0) {
		err = operation(OP_WRITE, handle, offset, call->payload, n, 0);
		offset += n;
	}
	if (!err)
		err = operation(OP_SYNC, handle, 0, "", 0, 0);
	return err ? err : ferror(stdin) ? EIO : 0;
}

static const struct command {
	const char *name;
	int (*run)(uint64_t handle);
	bool follow;	/* a link at the end of the path */
} commands[] = {
	{ "stat", do_stat, false }, { "ls", do_ls, true }, { "cat", do_cat, true },
	{ "readlink", do_readlink, false }, { "statfs", do_statfs, true },
	{ "write", do_write, true },
};

int client(int argc, char **argv)
{
	const struct command *c = commands;
	const char *name = "rmfs";
	int opt, err, code = TOOL_OK;
	uint64_t handle;

	while (c < commands + sizeof(commands) / sizeof(*c) && strcmp(argv[0], c->name))
		c++;
	if (c == commands + sizeof(commands) / sizeof(*c))
		tool_usage("no command '%s'", argv[0]);
	while ((opt = getopt(argc, argv, c->run == do_write ? "n:o:" : "n:")) != -1) {
		if (opt == 'n')
			name = optarg;
		else if (opt == 'o')
			write_offset = tool_number("-o", optarg, 0, INT64_MAX);
		else
			tool_bad_option(argv);
	}
	if (optind == argc || (c->run == do_write && optind + 1 != argc))
		tool_usage("%s needs %s", argv[0], c->run == do_write ? "one path" : "a path");
	begin(name);
	for (; optind < argc; optind++) {
		path = argv[optind];
		err = walk(c->follow, &handle);
		if (!err)
			err = c->run(handle);
		if (!err)
			continue;
		tool_warn("%s: %s%s", path, late ? "a write that was accepted has failed: " : "",
			  err == EHOSTDOWN ? "the server is gone" :
			  err == ECONNCLOSE ? "the clerk is gone" : dd_strerror(err));
		code = err == EHOSTDOWN || err == ECONNCLOSE ? TOOL_PEER : TOOL_FAILED;
	}
	return code;
}
