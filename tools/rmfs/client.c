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

#include "dd.h"
#include "rmfs.h"
#include "../common/tool.h"

#define CALL_NS	30000000000ll
#define DEPTH	256	/* components of a path */
#define LINKS	40	/* that are followed */
#define LISTS	10	/* of a directory that changes meanwhile */

static struct dd *dd;
static int conn;
static struct call *call;
static const struct result *result;
static uint64_t write_offset;

/* Connect to the clerk. */
static void begin(const char *name)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr), .type = DD_TYPE_RPC, .send_size = sizeof(struct call),
		.recv_size = sizeof(struct result),
	};
	char service[sizeof(SERVICE) + RM_NAME_MAX];
	int ret = dd_open(&dd);

	if (ret)
		fail("cannot open /dev/dd", -ret);
	tool_raise_memlock();
	if ((size_t)snprintf(service, sizeof(service), SERVICE, name) > RM_NAME_MAX)
		tool_usage("name '%s' is too long", name);
	ret = dd_alloc(dd, attr.send_size, &attr.send);
	if (!ret)
		ret = dd_alloc(dd, attr.recv_size, &attr.recv);
	if (ret)
		fail("cannot allocate memory", -ret);
	call = attr.send;
	conn = dd_connect(dd, service, dd_node(dd), &attr, NULL);
	if (conn == -EACCES) {
		tool_warn("the clerk of '%s' serves another user", name);
		exit(TOOL_UNAVAILABLE);
	}
	if (conn < 0) {
		tool_warn("this node has no clerk of '%s': start 'rmfs clerk'", name);
		exit(TOOL_UNAVAILABLE);
	}
}

/* Call the clerk: 0 or an errno, with the result in @result. */
static int operation(uint32_t op, uint64_t handle, uint64_t offset, const void *payload,
		     uint32_t len)
{
	struct dd_msg msg;
	int ret;

	call->op = op;
	call->handle = handle;
	call->offset = offset;
	call->len = len;
	if (len && payload != call->payload)
		memcpy(call->payload, payload, len);
	ret = dd_call(dd, conn, NULL, offsetof(struct call, payload) + len, &msg, DD_RECV_SPIN,
		      CALL_NS);
	if (ret)
		return -ret;
	result = msg.addr;
	if (msg.len < offsetof(struct result, payload) ||
	    msg.len != offsetof(struct result, payload) + result->len)
		return EPROTO;
	return result->error;
}

static int attributes(uint64_t handle, struct attr *a)
{
	int err = operation(OP_GETATTR, handle, 0, NULL, 0);

	if (!err && result->len != sizeof(*a))
		err = EPROTO;
	if (!err)
		memcpy(a, result->payload, sizeof(*a));
	return err;
}

/* Put the target of a link before the rest of a path. */
static int target_insert(uint64_t link, char *rest)
{
	char tail[PATH_MAX];
	int err = operation(OP_READLINK, link, 0, NULL, 0);

	if (err)
		return err;
	if (result->len + strlen(rest) + 2 > PATH_MAX)
		return ENAMETOOLONG;
	strcpy(tail, rest);
	memcpy(rest, result->payload, result->len);
	rest[result->len] = '/';
	strcpy(rest + result->len + 1, tail);
	return 0;
}

/* The handle of a path below the root of the server. */
static int walk(const char *path, bool follow, uint64_t *handle)
{
	uint64_t stack[DEPTH] = { 0 };
	char rest[PATH_MAX], name[RMFS_NAME + 1];
	int depth = 0, links = 0, err;
	struct found f;

	if (strlen(path) >= PATH_MAX)
		return ENAMETOOLONG;
	strcpy(rest, path);
	for (;;) {
		char *from = rest + strspn(rest, "/");
		size_t len = strcspn(from, "/");
		bool last;

		if (!len)
			break;
		if (len > RMFS_NAME)
			return ENAMETOOLONG;
		memcpy(name, from, len);
		name[len] = 0;
		last = !from[len];
		memmove(rest, from + len, strlen(from + len) + 1);
		if (!strcmp(name, "."))
			continue;
		if (!strcmp(name, "..")) {
			depth -= depth > 0;
			continue;
		}
		err = operation(OP_LOOKUP, stack[depth], 0, name, len);
		if (err)
			return err;
		memcpy(&f, result->payload, sizeof(f));
		if (S_ISLNK(f.mode) && (follow || !last)) {
			if (++links > LINKS)
				return ELOOP;
			err = target_insert(f.handle, rest);
			if (err)
				return err;
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

/* A name that can be shown: as it is in files. */
static const char *shown(const char *name)
{
	static char buf[4 * PATH_MAX];

	return isatty(1) ? tool_print_name(buf, sizeof(buf), name) : name;
}

static int do_stat(const char *path)
{
	uint64_t handle;
	struct attr a;
	char when[32];
	time_t t;
	int err = walk(path, false, &handle);

	if (!err)
		err = attributes(handle, &a);
	if (err)
		return err;
	t = a.mtime_ns / 1000000000;
	strftime(when, sizeof(when), "%F %T", gmtime(&t));
	printf("%06o %u %u %u %llu %s %s\n", a.mode, a.nlink, a.uid, a.gid,
	       (unsigned long long)a.size, when, shown(path));
	return 0;
}

/* Print a block of a directory. */
static void block_print(const struct names *names, uint32_t len, FILE *out)
{
	char name[RMFS_NAME + 1];
	uint32_t at = 0;

	len -= sizeof(*names);
	while (at + 2 <= len && names->list[at + 1]) {
		uint32_t n = names->list[at + 1];

		if (at + 2 + n > len)
			break;
		memcpy(name, names->list + at + 2, n);
		name[n] = 0;
		if (strcmp(name, ".") && strcmp(name, ".."))
			fprintf(out, "%s%s\n", shown(name), names->list[at] == DT_DIR ? "/" : "");
		at += 2 + n;
	}
}

/* EAGAIN: the directory has changed meanwhile. */
static int list(uint64_t handle, FILE *out)
{
	const struct names *names;
	uint32_t blocks = 1, version = 0, b;
	int err;

	for (b = 0; b < blocks; b++) {
		err = operation(OP_READDIR, handle, b, NULL, 0);
		if (err == EINVAL && b)
			return EAGAIN;
		if (err)
			return err;
		names = (const void *)result->payload;
		if (result->len < sizeof(*names))
			return EPROTO;
		if (b && names->version != version)
			return EAGAIN;
		version = names->version;
		blocks = names->blocks;
		block_print(names, result->len, out);
	}
	return 0;
}

static int do_ls(const char *path)
{
	int err, tries = 0;
	uint64_t handle;
	char *text;
	size_t len;
	FILE *out;

	err = walk(path, true, &handle);
	if (err)
		return err;
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

static int do_cat(const char *path)
{
	uint64_t handle, block = 0;
	int err = walk(path, true, &handle);

	while (!err) {
		err = operation(OP_READ, handle, block++, NULL, 0);
		if (err)
			break;
		fwrite(result->payload, 1, result->len, stdout);
		if (result->len < RMFS_BLOCK)
			break;
	}
	return err;
}

static int do_readlink(const char *path)
{
	uint64_t handle;
	char target[RMFS_BLOCK + 1];
	int err = walk(path, false, &handle);

	if (!err)
		err = operation(OP_READLINK, handle, 0, NULL, 0);
	if (err)
		return err;
	memcpy(target, result->payload, result->len);
	target[result->len] = 0;
	printf("%s\n", shown(target));
	return 0;
}

static int do_statfs(const char *path)
{
	uint64_t handle;
	struct fs f;
	int err = walk(path, true, &handle);

	if (!err)
		err = operation(OP_STATFS, handle, 0, NULL, 0);
	if (!err && result->len != sizeof(f))
		err = EPROTO;
	if (err)
		return err;
	memcpy(&f, result->payload, sizeof(f));
	printf("%llu blocks of %u bytes, %llu free, %llu files, %llu free, names of %u bytes\n",
	       (unsigned long long)f.blocks, f.bsize, (unsigned long long)f.bfree,
	       (unsigned long long)f.files, (unsigned long long)f.ffree, f.namemax);
	return 0;
}

static int do_write(const char *path)
{
	uint64_t handle, offset = write_offset;
	int err = walk(path, true, &handle);
	size_t n;

	while (!err && (n = fread(call->payload, 1, RMFS_BLOCK, stdin)) > 0) {
		err = operation(OP_WRITE, handle, offset, call->payload, n);
		offset += n;
	}
	return err ? err : ferror(stdin) ? EIO : 0;
}

int client(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *path);
	} commands[] = {
		{ "stat", do_stat }, { "ls", do_ls }, { "cat", do_cat },
		{ "readlink", do_readlink }, { "statfs", do_statfs }, { "write", do_write },
	};
	const char *name = "rmfs";
	int (*run)(const char *path) = NULL;
	int opt, err, code = TOOL_OK;
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(argv[0], commands[i].name))
			run = commands[i].run;
	if (!run)
		tool_usage("no command '%s'", argv[0]);
	while ((opt = getopt(argc, argv, run == do_write ? "n:o:" : "n:")) != -1) {
		if (opt == 'n')
			name = optarg;
		else if (opt == 'o')
			write_offset = tool_number("-o", optarg, 0, INT64_MAX);
		else
			tool_usage("wrong option");
	}
	if (optind == argc || (run == do_write && optind + 1 != argc))
		tool_usage("%s needs %s", argv[0],
			   run == do_write ? "one path" : "a path");
	begin(name);
	for (; optind < argc; optind++) {
		err = run(argv[optind]);
		if (err == EHOSTDOWN)
			tool_warn("%s: the server is gone", argv[optind]);
		else if (err == ECONNCLOSE)
			tool_warn("%s: the clerk is gone", argv[optind]);
		else if (err)
			tool_warn("%s: %s", argv[optind], dd_strerror(err));
		if (err)
			code = err == EHOSTDOWN || err == ECONNCLOSE ? TOOL_PEER : TOOL_FAILED;
	}
	return code;
}
