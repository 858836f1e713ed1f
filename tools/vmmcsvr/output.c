// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * output.c - directories, logs and control files of a session; in children only
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "config.h"
#include "fields.h"
#include "output.h"

#define LOG_MODE	0644

int output_root(const struct session *s)
{
	int fd = open(s->root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		child_fail("drive '%s'", s->root);
	return fd;
}

int output_below(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* It leads where output_below() has found the file. */
char *output_path(int fd)
{
	char link[40];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return fd < 0 ? NULL : realpath(link, NULL);
}

int output_dir(const struct session *s, int root)
{
	int fd = output_below(root, s->outdir, O_PATH | O_DIRECTORY);

	if (fd < 0)
		child_fail("outDir '%s'", s->outdir);
	return fd;
}

/* The paths of processes begin with that of the drive, without links. */
void output_check(const struct session *s)
{
	char *path = realpath(s->root, NULL);
	int dir;

	if (!path)
		child_fail("drive '%s'", s->root);
	errno = EINVAL;
	if (strcmp(path, s->root))
		child_fail("drive '%s' is '%s'", s->root, path);
	dir = output_dir(s, output_root(s));
	if (faccessat(dir, ".", W_OK | X_OK, 0))
		child_fail("outDir '%s'", s->outdir);
}

/* "VMMC_" and the name of this node as a part of a file name. */
static const char *log_name(char *text, size_t size, int lpid)
{
	snprintf(text, size, "VMMC_%s", node_name);
	for (char *c = text; *c; c++)
		if (*c == '/')
			*c = '_';
	if (lpid)
		snprintf(text + strlen(text), size - strlen(text), ".%d", lpid);
	return text;
}

/* A name that exists may be a link or another user's. */
int output_log(int dir, const struct session *s, int lpid)
{
	char name[320];
	int fd;

	log_name(name, sizeof(name), lpid);
	unlinkat(dir, name, 0);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, LOG_MODE);
	if (fd < 0)
		child_fail("log '%s/%s'", s->outdir, name);
	return fd;
}

static char *control_text(const struct session *s, const struct process *p, bool first)
{
	char begin[1] = "", *head = begin, *text, name[320];
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	if (first && asprintf(&head, "#\n# VMMC Output Control For Session [%s] Run #%d User [%s]\n#\n",
			      escaped(s->name, ""), p->group,
			      escaped(s->user, "")) < 0)
		return NULL;
	if (asprintf(&text, "%s%s %d # HOST=%s REALPID=%d TIME=%4d/%2d/%2d-%2d:%2d\n", head,
		     log_name(name, sizeof(name), 0), p->lpid, node_name, p->pid,
		     tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min) < 0)
		return NULL;
	return text;
}

/* Other nodes may have the same directory: the first one writes the head. */
void output_control(int dir, const struct session *s, const struct process *p)
{
	char name[NAME_MAX + 1], *text;
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "%s_%d", s->file, p->group);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		    LOG_MODE);
	if (fd < 0 || flock(fd, LOCK_EX) || fstat(fd, &st))
		child_fail("control file '%s/%s'", s->outdir, name);
	errno = EPERM;
	if (st.st_uid != geteuid() || !S_ISREG(st.st_mode))
		child_fail("control file '%s/%s'", s->outdir, name);
	errno = ENOMEM;
	text = control_text(s, p, !st.st_size);
	if (!text || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		child_fail("control file '%s/%s'", s->outdir, name);
	close(fd);
}
