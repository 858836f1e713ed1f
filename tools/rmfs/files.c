// SPDX-License-Identifier: GPL-2.0-only
/*
 * files.c - the directory tree of a server: handles, and loads into its caches
 *
 * A file is opened by the path at which it was found last, below the root and through no
 * symbolic link. If another file is there by now, the handle is stale. Handles of files that are
 * gone are freed after a while; a later file has another handle.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/openat2.h>
#include <xxhash.h>

#include "cache.h"
#include "files.h"
#include "table.h"

#define TRIES		3	/* reads of a file that changes meanwhile */
#define RACY_NS		100000000	/* a later change may have the same time */
#define BUCKETS		65536
#define RARELY		8	/* passes of files_check() for a file that is not cached */

/**
 * struct node - a file or directory that has a handle
 * @id: device, inode, and time of creation, which distinguishes files with the same inode
 * @parent: directory where it was found last
 * @next: next node in its bucket, or next unused node; or 0
 * @handle: the lower half is the number of the node
 * @version: a sum of times and size, 0 if it is not known
 * @blocks: only blocks below this number may be cached; for a directory with cached names, the
 *	greatest number
 * @name: its name in @parent; NULL: the node is not used
 */
struct node {
	struct id {
		uint64_t dev, ino, btime;
	} id;
	uint32_t parent;
	uint32_t next;
	uint32_t version;
	uint64_t handle;
	uint64_t blocks;
	char *name;
};

static struct node *nodes;	/* 0 is not used, 1 is the root */
static uint32_t count = 1, limit, unused;
static uint32_t buckets[BUCKETS];
static uint32_t epoch;		/* upper half of the next handle: the time of the start, and on */
static int top;

/* The file that was written last, until files_flush(). No node: none. */
static struct {
	uint32_t node;
	int file;
	uint64_t size;
} written;

static uint64_t ns(const struct statx_timestamp *t)
{
	return t->tv_sec * 1000000000ull + t->tv_nsec;
}

static uint32_t node_of(uint64_t handle)
{
	uint32_t i = handle;

	return !handle ? 1 : i < count && nodes[i].handle == handle ? i : 0;
}

static struct id id_of(const struct statx *st)
{
	return (struct id){ ((uint64_t)st->stx_dev_major << 32) | st->stx_dev_minor, st->stx_ino,
			    st->stx_mask & STATX_BTIME ? ns(&st->stx_btime) : 0 };
}

static uint32_t *bucket_of(const struct id *id)
{
	return &buckets[XXH3_64bits(id, sizeof(*id)) % BUCKETS];
}

/* A node that is not used; 0: no memory. */
static uint32_t node_new(void)
{
	uint32_t i = unused;
	struct node *more;

	if (i) {
		unused = nodes[i].next;
		return i;
	}
	if (count >= limit) {
		more = realloc(nodes, (limit * 2ul + 1024) * sizeof(*nodes));
		if (!more)
			return 0;
		nodes = more;
		limit = limit * 2 + 1024;
	}
	return count++;
}

/* The node of a file, a new one if need be; 0: no memory. */
static uint32_t node_get(const struct statx *st, uint32_t parent, const char *name)
{
	struct id id = id_of(st);
	uint32_t *bucket = bucket_of(&id), i;
	char *copy;

	for (i = *bucket; i && memcmp(&nodes[i].id, &id, sizeof(id)); i = nodes[i].next)
		;
	/* The root stays where it is. */
	if (i == 1 || (i && nodes[i].parent == parent && !strcmp(nodes[i].name, name)))
		return i;
	copy = strdup(name);
	if (!copy)
		return 0;
	if (i) {
		free(nodes[i].name);
	} else {
		i = node_new();
		if (!i) {
			free(copy);
			return 0;
		}
		nodes[i] = (struct node){
			.id = id, .next = *bucket, .handle = (uint64_t)epoch++ << 32 | i,
		};
		*bucket = i;
	}
	nodes[i].parent = parent;
	nodes[i].name = copy;
	return i;
}

/* The file is gone, and nothing is cached of it. */
static void node_free(uint32_t i)
{
	uint32_t *at = bucket_of(&nodes[i].id);

	while (*at != i)
		at = &nodes[*at].next;
	*at = nodes[i].next;
	free(nodes[i].name);
	nodes[i] = (struct node){ .next = unused };
	unused = i;
}

/*
 * Make the path below the root, at the end of @buf, which has PATH_MAX bytes. Returns NULL if
 * the path is too long, or one of its directories is gone.
 */
static char *node_path(uint32_t i, char *buf)
{
	char *p = buf + PATH_MAX - 1;
	size_t len;

	*p = 0;
	if (i == 1)
		*--p = '.';
	for (; i != 1; i = nodes[i].parent) {
		if (!nodes[i].name)
			return NULL;
		len = strlen(nodes[i].name);
		/* Directories that were moved into each other may form a circle. */
		if ((size_t)(p - buf) < len + 1)
			return NULL;
		if (*p)
			*--p = '/';
		p -= len;
		memcpy(p, nodes[i].name, len);
	}
	return p;
}

static uint32_t stat_fd(int fd, const char *name, struct statx *st)
{
	return statx(fd, name, AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH),
		     STATX_BASIC_STATS | STATX_BTIME, st) ? errno : 0;
}

/* @parts[3]: the file has changed just now, and a later change may have the same time. */
static uint32_t version_of(const struct statx *st)
{
	uint64_t parts[4] = { ns(&st->stx_mtime), ns(&st->stx_ctime), st->stx_size };
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	parts[3] = t.tv_sec * 1000000000ull + t.tv_nsec - parts[1] < RACY_NS;
	return (uint32_t)XXH3_64bits(parts, sizeof(parts)) | 1;
}

static void store(enum rmfs_table table, uint64_t handle, const void *data, size_t len)
{
	struct entry *e = cache_begin(table, handle, 0);

	memcpy(e->data, data, len);
	cache_end(e, len);
}

static void attr_store(uint64_t handle, const struct statx *st)
{
	struct attr a = {
		.size = st->stx_size, .ino = st->stx_ino, .mtime_ns = ns(&st->stx_mtime),
		.ctime_ns = ns(&st->stx_ctime), .mode = st->stx_mode, .nlink = st->stx_nlink,
		.uid = st->stx_uid, .gid = st->stx_gid,
	};

	store(TABLE_ATTR, handle, &a, sizeof(a));
}

/* Drop all that is cached of a file. */
static void node_drop(uint32_t i)
{
	uint64_t handle = nodes[i].handle;

	cache_drop(TABLE_ATTR, handle, 0, 1);
	cache_drop(TABLE_LINK, handle, 0, 1);
	cache_drop(TABLE_NAME, handle, 0, nodes[i].blocks);
	cache_drop(TABLE_DATA, handle, 0, nodes[i].blocks);
	cache_drop(TABLE_DIR, handle, 0, nodes[i].blocks);
	nodes[i].blocks = 0;
	nodes[i].version = 0;
}

static void node_changed(uint32_t i, const struct statx *st)
{
	uint32_t version = version_of(st);

	if (nodes[i].version && nodes[i].version != version)
		node_drop(i);
	nodes[i].version = version;
}

/* Publish an entry with a block of a file, @len bytes. */
static void block_end(struct entry *e, uint32_t i, uint64_t block, uint32_t len)
{
	if (nodes[i].blocks <= block)
		nodes[i].blocks = block + 1;
	cache_end(e, len);
}

static uint32_t node_try(uint32_t i, struct statx *st, int *fd)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	char buf[PATH_MAX], *path = node_path(i, buf);
	uint32_t err;
	struct id id;

	if (!path)
		return ESTALE;
	*fd = syscall(SYS_openat2, top, path, &how, sizeof(how));
	if (*fd < 0) {
		err = errno;
		return err == ENOENT || err == ENOTDIR || err == ELOOP ? ESTALE : err;
	}
	err = stat_fd(*fd, "", st);
	id = id_of(st);
	if (!err && memcmp(&id, &nodes[i].id, sizeof(id)))
		err = ESTALE;
	if (err)
		close(*fd);
	return err;
}

/* Open a file with O_PATH. Node 0 does not exist. */
static uint32_t node_open(uint32_t i, struct statx *st, int *fd)
{
	uint32_t err = i ? node_try(i, st, fd) : ESTALE;

	if (!err)
		node_changed(i, st);
	else if (i)
		/* The next look-up of the name may find the file at its new place. */
		cache_drop_names(nodes[i].handle);
	return err;
}

/* Open the file of an O_PATH descriptor; 0 or an errno. */
static uint32_t reopen(int fd, int flags, int *file)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*file = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return *file < 0 ? errno : 0;
}

/* ---- loads -------------------------------------------------------------------- */

static uint32_t load_data(int fd, uint32_t i, uint64_t block, struct statx *st)
{
	struct entry *e;
	uint32_t err;
	ssize_t n = 0;
	int file, tries;

	if (!S_ISREG(st->stx_mode))
		return S_ISDIR(st->stx_mode) ? EISDIR : EINVAL;
	err = reopen(fd, O_RDONLY, &file);
	if (err)
		return err;
	for (tries = 0; tries < TRIES; tries++) {
		uint32_t version = nodes[i].version;

		e = cache_begin(TABLE_DATA, nodes[i].handle, block);
		n = pread(file, e->data, RMFS_BLOCK, block * RMFS_BLOCK);
		err = n < 0 ? errno : stat_fd(file, "", st);
		if (err)
			break;
		node_changed(i, st);
		if (nodes[i].version == version)
			break;
	}
	close(file);
	if (!err)
		block_end(e, i, block, n);
	return err;
}

static uint32_t load_name(int fd, uint32_t i, uint64_t hash, const char *name, uint32_t len)
{
	struct found f = { 0 };
	struct statx st;
	struct entry *e;
	uint32_t err = stat_fd(fd, name, &st), child;

	if (err)
		return err;
	child = node_get(&st, i, name);
	if (!child)
		return ENOMEM;
	f.handle = nodes[child].handle;
	f.mode = st.stx_mode & S_IFMT;
	nodes[i].blocks = UINT64_MAX;
	e = cache_begin(TABLE_NAME, nodes[i].handle, hash);
	memcpy(e->data, &f, sizeof(f));
	memcpy(e->data + sizeof(f), name, len);
	cache_end(e, sizeof(f) + len);
	return 0;
}

static uint32_t load_link(int fd, uint32_t i)
{
	struct entry *e = cache_begin(TABLE_LINK, nodes[i].handle, 0);
	ssize_t n = readlinkat(fd, "", (char *)e->data, 4096);

	if (n < 0)
		return errno == ENOENT ? EINVAL : errno;
	cache_end(e, n);
	return 0;
}

/* Load one block of the names in a directory; all names are read for that. */
static uint32_t load_directory(int fd, uint32_t i, uint64_t block)
{
	int file = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = file < 0 ? NULL : fdopendir(file);
	uint32_t end = sizeof(struct names), used = end, err;
	struct names *names;
	uint64_t at = 0;
	struct dirent *de;
	struct entry *e;
	uint8_t len;

	if (!dir)
		return errno;
	e = cache_begin(TABLE_DIR, nodes[i].handle, block);
	names = (struct names *)e->data;
	while (errno = 0, de = readdir(dir)) {
		len = strlen(de->d_name);
		if (used + 2 + len > RMFS_BLOCK) {
			used = sizeof(*names);
			at++;
		}
		if (at == block) {
			e->data[used] = de->d_type;
			e->data[used + 1] = len;
			memcpy(e->data + used + 2, de->d_name, len);
			end = used + 2 + len;
		}
		used += 2 + len;
	}
	err = errno;
	closedir(dir);
	if (err || block > at)
		return err ? err : EINVAL;
	names->blocks = at + 1;
	names->version = nodes[i].version;
	block_end(e, i, block, end);
	return 0;
}

static uint32_t load_fs(void)
{
	struct statvfs v;
	struct fs f;

	if (fstatvfs(top, &v))
		return errno;
	f = (struct fs){ v.f_blocks, v.f_bfree, v.f_files, v.f_ffree, v.f_frsize, v.f_namemax };
	store(TABLE_FS, nodes[1].handle, &f, sizeof(f));
	return 0;
}

/* Load an entry into its table: 0 or an errno. @name ends with a zero. */
uint32_t files_load(enum rmfs_table table, uint64_t handle, uint64_t block, const char *name,
		    uint32_t len)
{
	uint32_t i = node_of(handle), err;
	struct statx st;
	int fd;

	if (table == TABLE_FS)
		return load_fs();
	err = node_open(i, &st, &fd);
	if (err)
		return err;
	switch (table) {
	case TABLE_ATTR:
		attr_store(handle, &st);
		break;
	case TABLE_NAME:
		err = load_name(fd, i, block, name, len);
		break;
	case TABLE_DATA:
		err = load_data(fd, i, block, &st);
		break;
	case TABLE_LINK:
		err = load_link(fd, i);
		break;
	default:
		err = load_directory(fd, i, block);
	}
	close(fd);
	return err;
}

/* Open a file for files_write(). Node 0 does not exist. */
static uint32_t written_open(uint32_t i)
{
	struct statx st;
	uint32_t err;
	int fd;

	files_flush();
	err = node_open(i, &st, &fd);
	if (err)
		return err;
	err = S_ISREG(st.stx_mode) ? reopen(fd, O_WRONLY, &written.file) :
	      S_ISDIR(st.stx_mode) ? EISDIR : EINVAL;
	close(fd);
	if (err)
		return err;
	written.node = i;
	written.size = st.stx_size;
	return 0;
}

/* A part of a block has new bytes. */
static void block_write(uint32_t i, uint64_t block, uint32_t at, const void *data, uint32_t len)
{
	struct entry *e = cache_find(TABLE_DATA, nodes[i].handle, block);
	uint32_t old = e ? e->len : 0;

	if (!e && (at || len < RMFS_BLOCK))
		return;		/* nothing has the rest of the block */
	e = cache_begin(TABLE_DATA, nodes[i].handle, block);
	if (old < at)
		memset(e->data + old, 0, at - old);
	memcpy(e->data + at, data, len);
	block_end(e, i, block, old > at + len ? old : at + len);
}

/* Write to a file and its blocks in the cache. */
uint32_t files_write(uint64_t handle, uint64_t offset, const void *data, uint32_t len)
{
	uint32_t i = node_of(handle), err = 0, at, part;
	ssize_t n;

	if (!i || i != written.node)
		err = written_open(i);
	if (err)
		return err;
	n = pwrite(written.file, data, len, offset);
	if (n != (ssize_t)len) {
		err = n < 0 ? errno : ENOSPC;
		/* A part may have been written. */
		node_drop(i);
		return err;
	}
	/* A write beyond the end has added zeros from the former end on. */
	cache_drop(TABLE_DATA, handle, written.size / RMFS_BLOCK, offset / RMFS_BLOCK);
	if (written.size < offset + len)
		written.size = offset + len;
	for (; len; len -= part, offset += part, data = (const char *)data + part) {
		at = offset % RMFS_BLOCK;
		part = len < RMFS_BLOCK - at ? len : RMFS_BLOCK - at;
		block_write(i, offset / RMFS_BLOCK, at, data, part);
	}
	return 0;
}

/* Close the file that was written last, and drop its attributes, which have changed. */
void files_flush(void)
{
	uint32_t i = written.node;
	struct statx st;

	if (!i)
		return;
	written.node = 0;
	if (stat_fd(written.file, "", &st)) {
		node_drop(i);
	} else {
		nodes[i].version = version_of(&st);
		attr_store(nodes[i].handle, &st);
	}
	close(written.file);
}

/*
 * Check @max nodes from @i on: drop cached results of files that have changed on the disk, and
 * free nodes of files that are gone. Returns the next node, or 0 after the last one.
 */
uint32_t files_check(uint32_t i, uint32_t max)
{
	static uint32_t pass;
	struct statx st;
	uint32_t err;
	int fd;

	for (; i < count && max; i++, max--) {
		if (!nodes[i].name || (!nodes[i].version && (i + pass) % RARELY))
			continue;
		err = node_open(i, &st, &fd);
		if (!err) {
			close(fd);
			continue;
		}
		if (nodes[i].version)
			node_drop(i);
		else if (err == ESTALE)
			node_free(i);
	}
	if (i < count)
		return i;
	pass++;
	load_fs();
	return 0;
}

uint32_t files_open(const char *directory, uint64_t *root)
{
	struct timespec t;
	struct statx st;
	uint32_t err;

	clock_gettime(CLOCK_REALTIME, &t);
	epoch = t.tv_sec * 1000ull + t.tv_nsec / 1000000;
	top = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return errno;
	err = stat_fd(top, "", &st);
	if (!err && node_get(&st, 1, ".") != 1)
		err = ENOMEM;
	*root = err ? 0 : nodes[1].handle;
	return err;
}
