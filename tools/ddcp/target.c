// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copyright (C) 2026 The dd authors
 */
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto.h"
#include "target.h"

#define UNFINISHED_MAX	16
#define SUFFIX		".ddcp.XXXXXX"
#define PIPE_ATOMIC	4096	/* POLLOUT promises a pipe room for this */
#define PIPE_PATIENCE	200	/* ms */

/* Read by the signal handler: an entry is cleared before its memory goes. */
static char *volatile unfinished[UNFINISHED_MAX];

static const int fatal[] = { SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGXCPU, SIGXFSZ };

static void unlink_and_die(int sig)
{
	unsigned int i;

	for (i = 0; i < UNFINISHED_MAX; i++)
		if (unfinished[i])
			unlink(unfinished[i]);
	/* SA_RESETHAND: this time it is fatal. */
	raise(sig);
}

void target_catch_signals(void)
{
	struct sigaction sa = { .sa_handler = unlink_and_die,
				.sa_flags = SA_RESETHAND }, old;
	unsigned int i;

	sigfillset(&sa.sa_mask);
	for (i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
		/* nohup, and shells that start us in the background. */
		sigaction(fatal[i], NULL, &old);
		if (old.sa_handler != SIG_IGN)
			sigaction(fatal[i], &sa, NULL);
	}
}

static void block_signals(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, old);
}

static void forget(struct target *t)
{
	unsigned int i;

	for (i = 0; i < UNFINISHED_MAX; i++)
		if (unfinished[i] == t->temp)
			unfinished[i] = NULL;
	free(t->temp);
	t->temp = NULL;
}

/* Created with no signal in between, so that the handler knows of each. */
static int create_temp(struct target *t)
{
	unsigned int i = 0;
	sigset_t old;
	int fd, error;

	while (i < UNFINISHED_MAX && unfinished[i])
		i++;
	if (i == UNFINISHED_MAX) {
		errno = EMFILE;
		return -1;
	}
	block_signals(&old);
	fd = mkostemp(t->temp, O_CLOEXEC);
	error = errno;
	if (fd >= 0)
		unfinished[i] = t->temp;
	sigprocmask(SIG_SETMASK, &old, NULL);
	errno = error;
	return fd;
}

/* .NAME.ddcp.XXXXXX beside the file, NAME cut where it would be too long. */
static char *temp_name(const char *path)
{
	const char *base = strrchr(path, '/');
	int dir = base ? base + 1 - path : 0;
	char *temp;

	if (asprintf(&temp, "%.*s.%.*s" SUFFIX, dir, path,
		     (int)(NAME_MAX - 1 - strlen(SUFFIX)), path + dir) < 0)
		return NULL;
	return temp;
}

static int open_in_place(struct target *t, const char *path)
{
	struct stat st;

	t->fd = strcmp(path, "-") ? open(path, O_WRONLY | O_CLOEXEC) :
				    fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (t->fd < 0)
		return -1;
	t->regular = !fstat(t->fd, &st) &&
		(S_ISREG(st.st_mode) || S_ISBLK(st.st_mode));
	return 0;
}

static int open_temp(struct target *t)
{
	t->regular = true;
	t->temp = temp_name(t->path);
	if (!t->temp) {
		errno = ENOMEM;
		return -1;
	}
	t->fd = create_temp(t);
	return t->fd < 0 ? -1 : 0;
}

/* Only "no room" counts: many filesystems cannot reserve. */
static bool no_room(int fd, uint64_t size)
{
	if (!size || size == PROTO_UNKNOWN)
		return false;
	if (size > INT64_MAX) {
		errno = EFBIG;
		return true;
	}
	return fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, size) < 0 &&
		(errno == ENOSPC || errno == EFBIG || errno == EDQUOT);
}

static const char *directory(const struct options *o)
{
	return o->dir ? o->dir : ".";
}

/* Files are created in it under a temporary name. */
static int check_directory(const char *path, struct outcome *r)
{
	struct stat st;

	if (!stat(path, &st) && !S_ISDIR(st.st_mode))
		return outcome_fail(r, ENOTDIR, "%s: %s", path, strerror(ENOTDIR));
	if (access(path, W_OK | X_OK))
		return outcome_fail(r, errno, "%s: %s", path, strerror(errno));
	return 0;
}

int target_check(const struct options *o, struct outcome *r)
{
	struct stat st;
	bool exists;
	char *copy;
	int ret;

	if (!o->file)
		return check_directory(directory(o), r);
	exists = !stat(o->file, &st);
	if (exists && S_ISDIR(st.st_mode))
		return outcome_fail(r, EISDIR, "%s: %s", o->file, strerror(EISDIR));
	if (!strcmp(o->file, "-") || (exists && !S_ISREG(st.st_mode)))
		return 0;
	copy = strdup(o->file);
	if (!copy)
		return outcome_fail(r, ENOMEM, "%s", strerror(ENOMEM));
	ret = check_directory(dirname(copy), r);
	free(copy);
	return ret;
}

int target_open(struct target *t, const struct options *o, const char *name,
		uint64_t size, mode_t mode, struct outcome *r)
{
	const char *path = o->file;
	struct stat st;
	bool in_place;
	int ret;

	memset(t, 0, sizeof(*t));
	t->fd = -1;
	t->mode = mode & 0777;
	t->replace = o->file || o->force;
	in_place = path && (!strcmp(path, "-") ||
			    (!stat(path, &st) && !S_ISREG(st.st_mode)));
	if (!in_place) {
		ret = path ? asprintf(&t->path, "%s", path) :
			     asprintf(&t->path, "%s/%s", directory(o), name);
		if (ret < 0) {
			t->path = NULL;
			return outcome_fail(r, ENOMEM, "%s", strerror(ENOMEM));
		}
		path = t->path;
		/* Asked early for the sender's sake; decided by the commit. */
		if (!t->replace && !lstat(path, &st))
			return outcome_fail(r, EEXIST, "%s: %s", path,
					    strerror(EEXIST));
	}
	if ((in_place ? open_in_place(t, path) : open_temp(t)) < 0 ||
	    (t->temp && no_room(t->fd, size)))
		return outcome_fail(r, errno, "%s: %s", path, strerror(errno));
	return 0;
}

/* A pipe can stay full for ever, and its sender be dead by then. */
static int wait_for_room(int fd, bool (*gone)(void *arg), void *arg)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int ret;

	for (;;) {
		ret = poll(&p, 1, PIPE_PATIENCE);
		if (ret > 0)
			return 0;
		if (ret < 0 && errno != EINTR)
			return errno;
		if (gone(arg))
			return ECONNCLOSE;
	}
}

int target_write(struct target *t, const void *buf, size_t len,
		 bool (*gone)(void *arg), void *arg)
{
	const char *p = buf;
	ssize_t n;
	int error;

	while (len) {
		n = len;
		if (!t->regular) {
			error = wait_for_room(t->fd, gone, arg);
			if (error)
				return error;
			if (n > PIPE_ATOMIC)
				n = PIPE_ATOMIC;
		}
		n = write(t->fd, p, n);
		if (n < 0) {
			if (errno == EINTR || errno == EAGAIN)
				continue;
			return errno;
		}
		p += n;
		len -= n;
	}
	return 0;
}

static mode_t current_umask(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return mask;
}

static int sync_directory(const char *path)
{
	char *copy = strdup(path);
	int fd, ret = -1;

	fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		/* Some filesystems cannot sync a directory. */
		ret = fsync(fd) < 0 && errno != EINVAL ? -1 : 0;
		close(fd);
	} else if (errno == EACCES) {
		ret = 0;	/* may be written, not read: nothing to be done */
	}
	free(copy);
	return ret;
}

static int give_name(const struct target *t)
{
	if (t->replace)
		return rename(t->temp, t->path);
	if (!renameat2(AT_FDCWD, t->temp, AT_FDCWD, t->path, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	/* A filesystem without that flag: link() does not replace either. */
	if (link(t->temp, t->path) < 0)
		return -1;
	unlink(t->temp);
	return 0;
}

int target_commit(struct target *t, struct outcome *r)
{
	const char *what = t->path ? t->path : "output";
	sigset_t old;
	int ret;

	if (!t->temp) {
		if (fsync(t->fd) < 0 && errno != EINVAL && errno != EROFS &&
		    errno != ENOTSUP)
			return outcome_fail(r, errno, "%s: %s", what, strerror(errno));
		return 0;
	}
	if (fchmod(t->fd, t->mode & ~current_umask()) < 0 || fsync(t->fd) < 0)
		return outcome_fail(r, errno, "%s: %s", what, strerror(errno));
	/* From here on the temporary name may be somebody else's. */
	block_signals(&old);
	ret = give_name(t);
	if (!ret)
		forget(t);
	else
		outcome_fail(r, errno, "%s: %s", what, strerror(errno));
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (!ret && sync_directory(t->path) < 0)
		ret = outcome_fail(r, errno, "%s: in place, but not safely: %s",
				   what, strerror(errno));
	return ret;
}

void target_close(struct target *t)
{
	if (t->temp) {
		if (t->fd >= 0)
			unlink(t->temp);
		forget(t);
	}
	if (t->fd >= 0)
		close(t->fd);
	free(t->path);
	memset(t, 0, sizeof(*t));
	t->fd = -1;
}
