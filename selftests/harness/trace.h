/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts the system calls that a child makes between two marks.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_TRACE_H
#define DD_TRACE_H

#include <sys/ptrace.h>
#include <sys/wait.h>

#define TRACE_MARK	0xdddd

/* In the child, before and after what is counted. Changes errno. */
static inline void trace_mark(void)
{
	syscall(SYS_prctl, TRACE_MARK, 0, 0, 0, 0);
}

/* In the child: stops until the parent's trace_next(). */
static inline void trace_me(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
}

/* In the parent: true when the child is in trace_me(). */
static inline bool trace_begin(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) &&
	       !ptrace(PTRACE_SETOPTIONS, pid, 0,
		       PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
}

/* Lets the child run until it enters a system call; false at its end. */
static inline bool trace_entry(pid_t pid, struct __ptrace_syscall_info *info)
{
	int status, sig = 0;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, 0, sig) ||
		    waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return false;
		sig = WSTOPSIG(status);
		if (sig != (SIGTRAP | 0x80))
			continue;
		sig = 0;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(*info),
			   info) <= 0)
			return false;
		if (info->op == PTRACE_SYSCALL_INFO_ENTRY)
			return true;
	}
}

/*
 * Lets the child run to its second mark, where it stops. Returns the number of
 * system calls between the marks, with the last one in *nr; -1 if the child has
 * exited.
 */
static inline int trace_next(pid_t pid, long *nr)
{
	struct __ptrace_syscall_info info;
	int n = -1;

	while (trace_entry(pid, &info)) {
		if (info.entry.nr == SYS_prctl &&
		    info.entry.args[0] == TRACE_MARK) {
			if (n >= 0)
				return n;
			n = 0;
		} else if (n >= 0) {
			n++;
			*nr = info.entry.nr;
		}
	}
	return -1;
}

/* The number of the next system call of the child, -1 at its end. */
static inline long trace_enter(pid_t pid)
{
	struct __ptrace_syscall_info info;

	return trace_entry(pid, &info) ? (long)info.entry.nr : -1;
}

#endif /* DD_TRACE_H */
