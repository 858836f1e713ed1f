// SPDX-License-Identifier: GPL-2.0-only
/*
 * dd_pty COMMAND...: runs it on a terminal of its own, and copies what it
 * prints there to standard output. SIGUSR1 types ^C. Exit status: the
 * command's.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int terminal;

static void type_interrupt(int sig)
{
	if (write(terminal, "\003", 1) != 1)
		_exit(126);
}

int main(int argc, char **argv)
{
	struct winsize size = { .ws_row = 24, .ws_col = 100 };
	char buf[4096];
	ssize_t n;
	int status;
	pid_t pid;

	if (argc < 2)
		return 126;
	pid = forkpty(&terminal, NULL, NULL, &size);
	if (pid < 0)
		return 126;
	if (!pid) {
		/* A shell has background jobs ignore these. */
		signal(SIGINT, SIG_DFL);
		signal(SIGQUIT, SIG_DFL);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	signal(SIGUSR1, type_interrupt);
	/* EIO: the terminal has no writer any more. */
	while ((n = read(terminal, buf, sizeof(buf))) > 0)
		if (write(STDOUT_FILENO, buf, n) != n)
			kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		return 126;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
