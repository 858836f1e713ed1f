// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * child.c - children that become users
 *
 * Copyright (C) 2026 The dd authors
 *
 * They do what may take long or what a user may do: a file server that does not answer holds up one
 * child, which is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <security/pam_appl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

#define CHILD_MS	30000
#define PAM_SERVICE_NAME	"vmmcsvr"

static struct report *report;

static void child(void (*run)(void *arg), void *arg)
{
	report->pid = getpid();
	signal(SIGPIPE, SIG_DFL);
	run(arg);
	report->err = 0;
	_exit(0);
}

/* Execution closes the pipe, and so does the end of the child. */
static void child_wait(int end, pid_t pid)
{
	struct pollfd p = { .fd = end, .events = POLLIN };

	if (poll(&p, 1, CHILD_MS) != 1) {
		kill(pid, SIGKILL);
		snprintf(report->what, sizeof(report->what), "the start of a process");
		report->err = ETIMEDOUT;
	}
	/* One that executes a program is waited for later. */
	if (report->err)
		waitpid(pid, NULL, report->err == ETIMEDOUT ? WNOHANG : 0);
}

const struct report *child_run(void (*run)(void *arg), void *arg)
{
	static struct report failed = { .what = "a process" };
	int end[2];
	pid_t pid;

	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	failed.err = errno;
	if (report == MAP_FAILED)
		return &failed;
	*report = (struct report){ .err = ECANCELED, .what = "killed" };
	if (pipe2(end, O_CLOEXEC)) {
		report->err = errno;
		return report;
	}
	pid = fork();
	if (!pid)
		child(run, arg);
	if (pid < 0)
		report->err = errno;
	close(end[1]);
	if (pid > 0)
		child_wait(end[0], pid);
	close(end[0]);
	return report;
}

void child_fail(const char *format, ...)
{
	int err = errno;
	va_list args;

	va_start(args, format);
	vsnprintf(report->what, sizeof(report->what), format, args);
	va_end(args);
	report->err = err ? err : EIO;
	_exit(1);
}

void child_made(int lpid, int group)
{
	report->lpid = lpid;
	report->group = group;
}

static struct passwd *account(uid_t uid)
{
	struct passwd *p = getpwuid(uid);

	errno = EPERM;
	if (!p)
		child_fail("user %u is unknown on this node", uid);
	return p;
}

/* There is no terminal: a module that asks fails. */
static int ask_nobody(int n, const struct pam_message **m, struct pam_response **r, void *arg)
{
	return PAM_CONV_ERR;
}

/*
 * The child becomes the user's program: no process of root is left to close the session. The handle
 * is not freed, since modules would undo what they have done.
 */
void child_limits(uid_t uid)
{
	const struct pam_conv conv = { .conv = ask_nobody };
	pam_handle_t *pam = NULL;
	int code = pam_start(PAM_SERVICE_NAME, account(uid)->pw_name, &conv, &pam);

	if (!code)
		code = pam_acct_mgmt(pam, PAM_SILENT);
	if (!code)
		code = pam_open_session(pam, PAM_SILENT);
	errno = EPERM;
	if (code)
		child_fail("user %u: PAM service " PAM_SERVICE_NAME ": %s", uid, pam_strerror(pam, code));
}

struct passwd *child_become(uid_t uid)
{
	struct passwd *p = account(uid);

	umask(022);
	if (initgroups(p->pw_name, p->pw_gid) || setresgid(p->pw_gid, p->pw_gid, p->pw_gid) ||
	    setresuid(uid, uid, uid))
		child_fail("user %s", p->pw_name);
	return p;
}

void child_execute(const char *path, char **argv)
{
	report->err = 0;
	execv(path, argv);
	child_fail("program '%s'", argv[0]);
}
