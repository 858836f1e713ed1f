// SPDX-License-Identifier: GPL-2.0-only
/*
 * dd_pty COMMAND...: runs it on a terminal of its own, and copies what it
 * prints there to standard output. Exit status: the command's.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct winsize size = { .ws_row = 24, .ws_col = 100 };
	char buf[4096];
	int terminal, status;
	ssize_t n;
	pid_t pid;

	if (argc < 2)
		return 126;
	pid = forkpty(&terminal, NULL, NULL, &size);
	if (pid < 0)
		return 126;
	if (!pid) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	/* EIO: the terminal has no writer any more. */
	while ((n = read(terminal, buf, sizeof(buf))) > 0)
		if (write(STDOUT_FILENO, buf, n) != n)
			kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		return 126;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
