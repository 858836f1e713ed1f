// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * session.c - sessions and their records
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "fields.h"
#include "session.h"

#define COUNTER		"/var/lib/vmmc/counter"
#define FIELDS		7
#define FILE_MAX	230	/* with a group, or the name of a node's group, within NAME_MAX */

static char cgroups[PATH_MAX];

/* ---- beginning of the server ------------------------------------------------------------ */

static void directory(const char *path, mode_t mode)
{
	if ((mkdir(path, mode) && errno != EEXIST) || chmod(path, mode))
		die("%s: %s", path, strerror(errno));
}

/* The server's own group, which systemd delegates. */
static void cgroups_find(void)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[2048];

	while (file && !*cgroups && fgets(line, sizeof(line), file))
		if (!strncmp(line, "0::/", 4))
			snprintf(cgroups, sizeof(cgroups), "/sys/fs/cgroup%.*s",
				 (int)strcspn(line + 3, "\n"), line + 3);
	if (file)
		fclose(file);
	if (!*cgroups)
		die("control groups of version 2 are needed: /proc/self/cgroup has none");
}

void sessions_init(void)
{
	cgroups_find();
	directory("/var/lib/vmmc", 0700);
	directory("/run/vmmc", 0755);
	directory(SESSIONS, 0700);
	directory(DRIVES, 0711);
}

/* ---- numbers ------------------------------------------------------------------------------- */

int counter_lock(void)
{
	int fd = open(COUNTER, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || !flock(fd, LOCK_EX))
		return fd;
	close(fd);
	return -1;
}

/* In place, so that a full disk does no harm. Numbers of all nodes differ. */
int counter_next(int counter)
{
	char text[16] = "";
	int n;

	if (pread(counter, text, sizeof(text) - 1, 0) < 0)
		return -1;
	n = atoi(text) + 1;
	errno = EOVERFLOW;
	if (n < 1 || n > INT_MAX / node_count - 1)
		return -1;
	snprintf(text, sizeof(text), "%010d\n", n);
	return pwrite(counter, text, 11, 0) == 11 && !fdatasync(counter) ? n * node_count + node_number : -1;
}

/* ---- records --------------------------------------------------------------------------------- */

static bool paths(struct session *s)
{
	if (asprintf(&s->cgroup, "%s/vmmc-%d-%s", cgroups, node_number, s->file) < 0)
		return false;
	if (strcmp(s->drive, "-"))
		s->root = strdup(s->drive);
	else if (!*s->share)
		s->root = strdup("/");
	else if (asprintf(&s->root, "%s/%s", DRIVES, s->file) < 0)
		return false;
	return s->root;
}

bool session_save(struct session *s)
{
	int fd = openat(s->dir, "new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	bool bad;

	if (!out)
		return false;
	put_number(out, s->state);
	put_number(out, s->uid);
	put(out, s->name);
	put(out, s->user);
	put(out, s->drive);
	put(out, s->share);
	put(out, s->outdir);
	bad = ferror(out);
	return !fclose(out) && !bad && !renameat(s->dir, "new", s->dir, "session");
}

bool session_read(struct session *s)
{
	int fd = openat(s->dir, "session", O_RDONLY | O_CLOEXEC), n;
	struct stat st;
	char *data = fd < 0 || fstat(fd, &st) ? NULL : malloc(st.st_size), **field = NULL;

	if (data && read(fd, data, st.st_size) == st.st_size)
		field = fields_split(data, st.st_size, &n);
	if (fd >= 0)
		close(fd);
	if (!field || n != FIELDS) {
		free(data);
		return false;
	}
	s->record = data;
	s->state = atoi(field[0]);
	s->uid = strtoul(field[1], NULL, 10);
	s->name = field[2];
	s->user = field[3];
	s->drive = field[4];
	s->share = field[5];
	s->outdir = field[6];
	free(field);
	return paths(s);
}

static bool file_open(struct session *s, const char *file)
{
	char path[PATH_MAX];

	*s = (struct session){ .dir = -1, .file = strdup(file) };
	snprintf(path, sizeof(path), "%s/%s", SESSIONS, file);
	s->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return s->dir >= 0 && session_read(s);
}

bool session_open(struct session *s, const char *name)
{
	char *file = escaped(name, "./");

	return file && file_open(s, file);
}

static void session_free(struct session *s)
{
	if (s->dir >= 0)
		close(s->dir);
	free(s->file);
	free(s->root);
	free(s->cgroup);
	free(s->record);
}

void sessions_each(void (*found)(struct session *s, void *arg), void *arg)
{
	DIR *all = opendir(SESSIONS);
	struct dirent *entry;
	struct session s;

	/* A name that begins with a dot is of one that is being made. */
	while (all && (entry = readdir(all))) {
		if (*entry->d_name == '.')
			continue;
		if (file_open(&s, entry->d_name))
			found(&s, arg);
		session_free(&s);
	}
	if (all)
		closedir(all);
}

bool session_create(struct session *s)
{
	char new[64], path[PATH_MAX];
	int err;

	s->file = escaped(s->name, "./");
	errno = ENAMETOOLONG;
	if (!s->file || strlen(s->file) > FILE_MAX || !paths(s))
		return false;
	snprintf(new, sizeof(new), "%s/.%d", SESSIONS, getpid());
	snprintf(path, sizeof(path), "%s/%s", SESSIONS, s->file);
	if (mkdir(new, 0700) && errno != EEXIST)
		return false;
	s->dir = open(new, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir < 0)
		return false;
	if (!flock(s->dir, LOCK_EX) && session_save(s) && !rename(new, path))
		return true;
	err = errno;
	unlinkat(s->dir, "new", 0);
	unlinkat(s->dir, "session", 0);
	rmdir(new);
	errno = err;
	return false;
}

static void files_remove(int dir)
{
	DIR *all = fdopendir(dup(dir));
	struct dirent *entry;

	while (all && (entry = readdir(all)))
		if (*entry->d_name != '.')
			unlinkat(dir, entry->d_name, 0);
	if (all)
		closedir(all);
}

void session_remove(struct session *s)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", SESSIONS, s->file);
	/* EINVAL: the share was not mounted. */
	if (*s->share && umount2(s->root, MNT_DETACH | UMOUNT_NOFOLLOW) && errno != EINVAL)
		logs("session '%s': cannot unmount '%s': %s", s->name, s->root, strerror(errno));
	if (*s->share && !strcmp(s->drive, "-"))
		rmdir(s->root);
	if (rmdir(s->cgroup) && errno != ENOENT)
		logs("%s: %s", s->cgroup, strerror(errno));
	files_remove(s->dir);
	rmdir(path);
}

/* ---- control groups -------------------------------------------------------------------------- */

bool cgroup_write(const struct session *s, const char *file, const char *text)
{
	char path[PATH_MAX];
	bool done;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", s->cgroup, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
}

void cgroup_wait(const struct session *s)
{
	struct pollfd events = { .events = POLLPRI };
	char path[PATH_MAX], text[256];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/cgroup.events", s->cgroup);
	events.fd = open(path, O_RDONLY | O_CLOEXEC);
	/* The file notifies of what has changed since it was read. */
	while (events.fd >= 0 && (n = pread(events.fd, text, sizeof(text) - 1, 0)) > 0) {
		text[n] = 0;
		if (strstr(text, "populated 0"))
			break;
		poll(&events, 1, -1);
	}
	close(events.fd);
}
