// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * process.c - processes of sessions and their records
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "output.h"
#include "process.h"

#define PROCESSES	1024	/* of a user, unless the file says otherwise */

/* ---- records ----------------------------------------------------------------------------- */

/* The 22nd field of /proc/PID/stat; the second one ends with the last ')'. 0: there is none. */
static unsigned long long process_began(pid_t pid)
{
	char path[40], text[1024] = "", *at;
	unsigned long long began = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	at = strrchr(text, ')');
	for (int i = 0; at && i < 20; i++)
		at = strchr(at + 1, ' ');
	if (at)
		began = strtoull(at, NULL, 10);
	return began;
}

static bool record_read(const struct session *s, const char *name, struct process *p)
{
	int fd = openat(s->dir, name, O_RDONLY | O_CLOEXEC);
	char text[80] = "";

	if (fd < 0)
		return false;
	p->pid = atoi(name);
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return sscanf(text, "%d %d %llu", &p->lpid, &p->group, &p->began) == 3;
}

static bool record_write(const struct session *s, const struct process *p)
{
	char name[16], text[80];
	int fd, len;
	bool done;

	snprintf(name, sizeof(name), "%d", p->pid);
	len = snprintf(text, sizeof(text), "%d %d %llu", p->lpid, p->group, p->began);
	fd = openat(s->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	done = write(fd, text, len) == len;
	close(fd);
	return done;
}

/* Not that of a process that has got the pid since. The counter's lock orders it after such a one. */
static void record_remove(const struct session *s, const struct process *p)
{
	int counter = counter_lock();
	struct process found;
	char name[16];

	snprintf(name, sizeof(name), "%d", p->pid);
	if (record_read(s, name, &found) && found.lpid == p->lpid)
		unlinkat(s->dir, name, 0);
	close(counter);
}

/* Without memory the caller does not see it. */
static void list_add(struct process **all, int *n, const struct process *p)
{
	struct process *more = realloc(*all, (*n + 1) * sizeof(*more));

	if (!more)
		return;
	more[(*n)++] = *p;
	*all = more;
}

struct process *processes_read(const struct session *s, int *n)
{
	DIR *dir = fdopendir(openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct process p, *all = NULL;
	struct dirent *entry;

	*n = 0;
	while (dir && (entry = readdir(dir))) {
		if (*entry->d_name < '1' || *entry->d_name > '9' || !record_read(s, entry->d_name, &p))
			continue;
		if (process_began(p.pid) == p.began)
			list_add(&all, n, &p);
	}
	if (dir)
		closedir(dir);
	return all;
}

/* ---- ends ---------------------------------------------------------------------------------- */

/* A descriptor of the process, and not of another one that has its number; or -1. */
static int process_open(const struct process *p)
{
	int fd = syscall(SYS_pidfd_open, p->pid, 0);

	if (fd < 0 || process_began(p->pid) == p->began)
		return fd;
	close(fd);
	return -1;
}

void process_kill(const struct process *p)
{
	int fd = process_open(p);

	if (fd < 0)
		return;
	syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
	close(fd);
}

void processes_kill(const struct session *s)
{
	int n;
	struct process *all = processes_read(s, &n);

	if (!cgroup_write(s, "cgroup.kill", "1"))
		logs("session '%s': cannot kill its control group: %s", s->name, strerror(errno));
	for (int i = 0; i < n; i++)
		process_kill(&all[i]);
	free(all);
}

void processes_wait(const struct session *s)
{
	int n;
	struct process *all = processes_read(s, &n);
	struct pollfd end = { .events = POLLIN };

	for (int i = 0; i < n; i++) {
		end.fd = process_open(&all[i]);
		if (end.fd < 0)
			continue;
		poll(&end, 1, -1);
		close(end.fd);
	}
	free(all);
}

static void how_ended(const struct process *p, bool child, char *text, size_t size)
{
	struct pollfd end = { .fd = child ? -1 : process_open(p), .events = POLLIN };
	siginfo_t i;

	if (end.fd >= 0)
		poll(&end, 1, -1);
	if (child && !waitid(P_PID, p->pid, &i, WEXITED | WNOWAIT))
		snprintf(text, size, i.si_code == CLD_EXITED ? "has ended with status %d" :
			 "was ended by signal %d", i.si_status);
}

/* Without the locks and the connection of the request. */
void process_watch(const char *session, const struct process *p, bool child)
{
	char text[64] = "has ended";
	struct session s;

	close_range(STDERR_FILENO + 1, ~0u, 0);
	how_ended(p, child, text, sizeof(text));
	logs("session '%s': process %d (pid %d) %s", session, p->lpid, p->pid, text);
	if (session_open(&s, session))
		record_remove(&s, p);
	_exit(0);
}

void processes_check(struct session *s, void *unused)
{
	DIR *dir = fdopendir(dup(s->dir));
	struct process p;
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (record_read(s, entry->d_name, &p) && process_began(p.pid) != p.began)
			record_remove(s, &p);
	if (dir)
		closedir(dir);
}

/* ---- beginnings ------------------------------------------------------------------------------- */

struct count {
	uid_t uid;
	int n;
};

static void count(struct session *s, void *arg)
{
	struct count *c = arg;
	int n;

	if (s->uid != c->uid)
		return;
	free(processes_read(s, &n));
	c->n += n;
}

/* In a child: give the process its numbers and write its record. */
static void process_add(const struct session *s, struct process *p)
{
	struct count c = { s->uid, 0 };
	int counter = counter_lock();

	if (counter < 0)
		child_fail("number of the process");
	sessions_each(count, &c);
	errno = EAGAIN;
	if (c.n >= config_number("processes", PROCESSES))
		child_fail("user %u has %d processes on node %s", s->uid, c.n, node_name);
	p->lpid = counter_next(counter);
	if (p->lpid < 0)
		child_fail("number of the process");
	if (!p->group)
		p->group = p->lpid;
	errno = ESRCH;
	if (!p->began || p->began != process_began(p->pid) || !record_write(s, p))
		child_fail("record of the process");
	close(counter);
	child_made(p->lpid, p->group);
}

static void put_env(const char *name, const char *value)
{
	if (setenv(name, value, 1))
		child_fail("environment");
}

static void environment(const struct process *p, const struct spec *spec, const struct passwd *pw)
{
	char text[64];
	int n;

	clearenv();
	if (spec->env) {
		for (char **e = spec->env; *e; e++)
			if (strchr(*e, '=') && putenv(*e))
				child_fail("environment");
	} else {
		put_env("HOME", pw->pw_dir);
		put_env("LOGNAME", pw->pw_name);
		put_env("USER", pw->pw_name);
		put_env("SHELL", *pw->pw_shell ? pw->pw_shell : "/bin/sh");
		put_env("PATH", "/usr/local/bin:/usr/bin:/bin");
		if (*spec->hosts)
			put_env("VMMCHOSTS", spec->hosts);
	}
	put_env("VMMCSESSION", spec->session->name);
	n = snprintf(text, sizeof(text), "%d %d %d", p->pid, p->lpid, p->group);
	if (spec->parent_node >= 0)
		snprintf(text + n, sizeof(text) - n, " %d %d", spec->parent_node, spec->parent_pid);
	put_env("VMMCPROCESS", text);
}

static void files(int log)
{
	int null = open("/dev/null", O_RDONLY);

	if (null < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
		child_fail("standard files");
	if (null > 2)
		close(null);
}

static char **arguments(const struct spec *spec)
{
	char **argv = calloc(spec->count + 2, sizeof(*argv));

	if (!argv)
		child_fail("arguments");
	argv[0] = (char *)spec->name;
	memcpy(argv + 1, spec->args, spec->count * sizeof(*argv));
	return argv;
}

/* The directory and the program, as the user; its path. */
static const char *program(const struct spec *spec, int root)
{
	int dir = output_below(root, spec->dir, O_PATH | O_DIRECTORY);
	char *path;

	if (dir < 0 || fchdir(dir))
		child_fail("workingDir '%s'", spec->dir);
	if (asprintf(&path, "%s/%s", *spec->program == '/' ? "" : spec->dir, spec->program) < 0)
		child_fail("program '%s'", spec->program);
	path = output_path(output_below(root, path, O_PATH));
	if (!path || access(path, X_OK))
		child_fail("program '%s'", spec->program);
	return path;
}

/* The control group is entered by root, whose it is, and first: it is killed with what is in it. */
static void start(void *arg)
{
	const struct spec *spec = arg;
	const struct session *s = spec->session;
	struct process p = {
		.pid = getpid(), .group = spec->group, .began = process_began(getpid()),
	};
	struct passwd *pw;
	const char *path;
	int root, out;

	setsid();
	if (!cgroup_write(s, "cgroup.procs", "0"))
		child_fail("control group of the session");
	process_add(s, &p);
	child_limits(s->uid);
	pw = child_become(s->uid);
	root = output_root(s);
	path = program(spec, root);
	out = output_dir(s, root);
	environment(&p, spec, pw);
	files(output_log(out, s, p.lpid));
	output_control(out, s, &p);
	child_execute(path, arguments(spec));
}

const struct report *process_start(struct spec *spec, struct process *p)
{
	const struct report *r = child_run(start, spec);
	const struct session *s = spec->session;

	*p = (struct process){ .pid = r->pid, .lpid = r->lpid, .group = r->group };
	if (!r->err)
		logs("session '%s': process %d (pid %d) of run %d has started", s->name, p->lpid,
		     p->pid, p->group);
	else
		logs("session '%s': %s: %s", s->name, r->what, strerror(r->err));
	if (r->err && p->lpid)
		record_remove(s, p);
	return r;
}

struct registration {
	struct session *session;
	struct process process;
};

static void enroll(void *arg)
{
	struct registration *r = arg;
	const struct session *s = r->session;
	struct stat st;
	char path[32];
	int root;

	/* Another process may have the number since the connection was made. */
	snprintf(path, sizeof(path), "/proc/%d", r->process.pid);
	r->process.began = process_began(r->process.pid);
	errno = EPERM;
	if (stat(path, &st) || st.st_uid != s->uid)
		child_fail("process %d", r->process.pid);

	process_add(s, &r->process);
	child_become(s->uid);
	root = output_root(s);
	output_control(output_dir(s, root), s, &r->process);
}

const struct report *process_register(struct session *s, struct process *p)
{
	struct registration r = { s, *p };
	const struct report *made = child_run(enroll, &r);

	p->lpid = made->lpid;
	p->group = made->group;
	p->began = process_began(p->pid);
	if (made->lpid)
		logs("session '%s': process %d (pid %d) of run %d has registered", s->name, p->lpid,
		     p->pid, p->group);
	if (made->err)
		logs("session '%s': process %d: %s: %s", s->name, p->lpid, made->what,
		     strerror(made->err));
	return made;
}
