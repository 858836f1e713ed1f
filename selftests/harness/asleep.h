/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether another process sleeps in a system call. */
#ifndef DDP_ASLEEP_H
#define DDP_ASLEEP_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>

/* The beginning of /proc/@pid/@file; empty if it cannot be read. */
static inline void read_proc(pid_t pid, const char *file, char *buf, size_t size)
{
	char path[64];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	f = fopen(path, "r");
	if (f) {
		n = fread(buf, 1, size - 1, f);
		fclose(f);
	}
	buf[n] = 0;
}

/*
 * Whether @pid sleeps in system call @nr: SYS_ioctl of /dev/dd, SYS_read of a list,
 * SYS_clock_nanosleep, or SYS_poll. User-Mode Linux has no /proc/PID/syscall; there the stack has the function of
 * the system call.
 */
static inline bool asleep_in(pid_t pid, long nr)
{
	char buf[4096], *p;
	long in;

	read_proc(pid, "stat", buf, sizeof(buf));
	p = strrchr(buf, ')');
	if (!p || (p[2] != 'S' && p[2] != 'D'))
		return false;
	read_proc(pid, "syscall", buf, sizeof(buf));
	if (buf[0])
		return sscanf(buf, "%ld", &in) == 1 && in == nr;
	read_proc(pid, "stack", buf, sizeof(buf));
	/* That is for root: other users see only that the process sleeps. */
	return !buf[0] ||
	       strstr(buf, nr == SYS_ioctl ? " dd_ioctl+" :
			   nr == SYS_read ? " list_fd_read+" :
			   nr == SYS_clock_nanosleep ? " do_nanosleep+" : " do_sys_poll+");
}

#endif
