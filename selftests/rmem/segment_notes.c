// SPDX-License-Identifier: LGPL-2.1-only
/*
 * segment_notes.c - which operations of remote memory notify, and how programs wait
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

#include "asleep.h"
#include "segment.h"

static int ready(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0);
}

/* Wait for the next note of this process. */
static void read_note(int fd)
{
	check_eq(read(fd, &note, sizeof(note)), sizeof(note));
}

TEST(RM_16_RM_22_only_notification_wakes)
{
	int fd;

	begin(RM_ALL, RM_CONDITIONAL);
	fd = rm_fd(own);
	check(fd >= 0);
	check_eq(rm_fd(own), fd);
	strcpy(shared, "data");
	check_eq(fenced(rm_read(rd, 0, 5, own, 40, 0)), 0);
	check(!strcmp(local + 40, "data"));
	check_eq(ready(fd), 0);
	check_eq(fenced(rm_write(rd, 0, 40, 0)), 0);
	check_eq(owner_note(seg, &note), 0);

	strcpy(shared, "more");
	check_eq(rm_read(rd, 0, 5, own, 80, RM_NOTIFY), 0);
	read_note(fd);
	check(!strcmp(local + 80, "more"));
	check_eq(note.segment, own);
	check_eq(note.type, RM_DONE);
	check_eq(note.op, RM_OP_READ);
	check_eq(note.count, 5);
	check_eq(note.generation, 0);
	check_eq(ready(fd), 0);
	/* Operations keep their order, whichever notify. */
	check_eq(fenced(rm_write_block(rd, 0, "last", 5, 0)), 0);
	check_eq(rm_read(rd, 0, 5, own, 80, RM_NOTIFY), 0);
	read_note(fd);
	check(!strcmp(local + 80, "last"));
	end();
}

TEST(RM_21_1_RM_21_3_policies_always_and_conditional)
{
	int fd;

	begin(RM_ALL, RM_CONDITIONAL);
	fd = rm_fd(own);
	check_eq(fenced(rm_write(rd, 8, 4, 0)), 0);
	check_eq(fenced(rm_write(rd, 16, 4, RM_NOTIFY)), 0);
	check_eq(owner_note(seg, &note), 1);
	check_eq(note.offset, 16);
	check_eq(note.count, 4);
	check_eq(note.op, RM_OP_WRITE);
	check_eq(note.type, RM_ARRIVED);
	check_eq(note.segment, seg);
	check_eq(note.node, OWN_NODE);
	check_eq(owner_note(seg, &note), 0);

	check_eq(owner_policy(seg, RM_ALWAYS), 0);
	check_eq(fenced(rm_write(rd, 24, 4, 0)), 0);
	check_eq(fenced(rm_cas(rd, 0, own, 0, 0, 0)), 0);
	/* A read notifies its reader only. */
	check_eq(fenced(rm_read(rd, 0, 4, own, 0, 0)), 0);
	check_eq(owner_note(seg, &note), 1);
	check_eq(note.offset, 24);
	check_eq(owner_note(seg, &note), 1);
	check_eq(note.op, RM_OP_CAS);
	check_eq(owner_note(seg, &note), 0);
	check_errno(owner_policy(seg, 3), EINVAL);

	/* The same at the segment that takes data and results. */
	check_eq(ready(fd), 0);
	check_eq(rm_policy(own, RM_ALWAYS), 0);
	check_eq(rm_cas(rd, 0, own, 0, 1, 2), 0);
	read_note(fd);
	check_eq(note.op, RM_OP_CAS);
	check_eq(rm_read(rd, 0, 4, own, 0, 0), 0);
	read_note(fd);
	check_eq(note.op, RM_OP_READ);
	end();
}

TEST(RM_21_2_policy_never)
{
	begin(RM_ALL, RM_NEVER);
	check_eq(fenced(rm_write(rd, 8, 4, RM_NOTIFY)), 0);
	check_eq(fenced(rm_cas(rd, 0, own, 0, 0, 0)), 0);
	check_eq(owner_note(seg, &note), 0);
	check_eq(rm_policy(own, RM_NEVER), 0);
	check_eq(fenced(rm_read(rd, 0, 4, own, 0, RM_NOTIFY)), 0);
	check_eq(ready(rm_fd(own)), 0);
	end();
}

TEST(RM_23_reading_blocks)
{
	begin(RM_ALL, RM_CONDITIONAL);
	owner_read(seg);
	while (!asleep_in(owner_pid(), SYS_read))
		usleep(1000);
	check_eq(fenced(rm_write(rd, 0, 4, 0)), 0);
	check(asleep_in(owner_pid(), SYS_read));
	rm_mr[0] = 99;
	check_eq(rm_write(rd, 20, 4, RM_NOTIFY), 0);
	check_eq(owner_noted(&note), 1);
	check_eq(note.offset, 20);
	check_eq(*(uint32_t *)(shared + 20), 99);
	end();
}

/* As rmem(3) says. */
TEST(RM_23_unread_notes_are_limited)
{
	int i, n, most;

	begin(RM_ALL, RM_ALWAYS);
	most = far ? 32 : 17;
	/* Refusals before that: the other node has not acknowledged earlier writes yet. */
	for (n = 0; n < most && !test_failed;) {
		if (!rm_write(rd, 4 * n, 4, 0))
			n++;
		else
			check_eq(errno, far ? EAGAIN : 0);
	}
	check_errno(rm_write(rd, 0, 4, 0), EAGAIN);
	for (i = 0; i < n; i++) {
		while (owner_note(seg, &note) != 1 && !test_failed)
			;
		check_eq(note.offset, 4 * i);
	}
	check_eq(fenced(rm_write(rd, 0, 4, 0)), 0);
	end();
}

TEST(RM_24_1_RM_24_2_RM_24_3_select_and_read)
{
	struct timeval never = { 0 };
	rm_desc_t d;
	fd_set set;
	int fd;

	d = begin_reverse(RM_CONDITIONAL);
	fd = rm_fd(own);
	check_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	check_errno(read(fd, &note, sizeof(note)), EAGAIN);
	FD_ZERO(&set);
	FD_SET(fd, &set);
	check_eq(select(fd + 1, &set, NULL, NULL, &never), 0);
	/* Data alone is no reason. */
	check_eq(owner_write(d, 0, 5, 0), 0);
	FD_SET(fd, &set);
	check_eq(select(fd + 1, &set, NULL, NULL, &never), 0);
	check_eq(owner_write(d, 4, 6, RM_NOTIFY), 0);
	FD_SET(fd, &set);
	check_eq(select(fd + 1, &set, NULL, NULL, NULL), 1);
	read_note(fd);
	check_eq(note.offset, 4);
	check_eq(note.type, RM_ARRIVED);
	check_eq(((uint32_t *)local)[1], 6);
	check_errno(read(fd, &note, sizeof(note)), EAGAIN);
	end();
}

static volatile sig_atomic_t signals;
static volatile int from_fd;

static void on_note(int sig, siginfo_t *info, void *context)
{
	signals++;
	from_fd = info->si_fd;
}

/* The handler is called when an operation notifies, of another process and of this one. */
TEST(RM_24_4_RM_24_5_RM_25_signals)
{
	const struct sigaction sa = { .sa_sigaction = on_note, .sa_flags = SA_SIGINFO | SA_RESTART };
	const int numbers[] = { SIGRTMIN, 0 };	/* 0: SIGIO */
	rm_desc_t d;
	size_t i;
	int fd;

	d = begin_reverse(RM_CONDITIONAL);
	fd = rm_fd(own);
	for (i = 0; i < 2; i++) {
		signals = 0;
		from_fd = -1;
		check_eq(sigaction(numbers[i] ?: SIGIO, &sa, NULL), 0);
		check_eq(fcntl(fd, F_SETSIG, numbers[i]), 0);
		check_eq(fcntl(fd, F_SETOWN, getpid()), 0);
		check_eq(fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC), 0);
		check_eq(owner_write(d, 0, 5, 0), 0);
		check_eq(signals, 0);
		check_eq(owner_write(d, 4, 6, RM_NOTIFY), 0);
		while (!signals)
			usleep(1000);
		read_note(fd);
		check_eq(note.type, RM_ARRIVED);
		check(!numbers[i] || from_fd == fd);

		signals = 0;
		check_eq(rm_read(rd, 0, 8, own, 0, RM_NOTIFY), 0);
		while (!signals)
			usleep(1000);
		read_note(fd);
		check_eq(note.type, RM_DONE);

		/* Without O_ASYNC there is none. */
		signals = 0;
		check_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
		check_eq(owner_write(d, 4, 6, RM_NOTIFY), 0);
		while (read(fd, &note, sizeof(note)) != sizeof(note))
			check_eq(errno, EAGAIN);
		check_eq(signals, 0);
	}
	end();
}

static bool one_thread(pid_t pid)
{
	char line[64];

	snprintf(line, sizeof(line), "grep -q '^Threads:.1$' /proc/%d/status", pid);
	return !run(line);
}

TEST(RM_26_no_thread_for_transfers)
{
	begin(RM_ALL, RM_CONDITIONAL);
	check_eq(fenced(rm_write(rd, 0, 40, RM_NOTIFY)), 0);
	check_eq(fenced(rm_read(rd, 0, 8, own, 0, RM_NOTIFY)), 0);
	check(one_thread(getpid()));
	check(one_thread(owner_pid()));
	end();
}
