/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * group.h - the processes of a sample
 *
 * Copyright (C) 2026 The dd authors
 *
 * The master spawns the others on the nodes that follow its own in the order of
 * vmmc_SessionHosts(), or is given them on its command line, each as HOST:PID. Such a peer is started
 * as "PROGRAM worker", prints what the master needs, and gets the parameters from the master.
 */
#ifndef VMMC_GROUP_H
#define VMMC_GROUP_H

#include <vmmc.h>

#define GROUP_MAX	64	/* processes */
#define GROUP_PARAMS	8

struct group {
	int rank, count;		/* the master has rank 0 */
	int32 param[GROUP_PARAMS];	/* the same in all processes */
	int32 *data;			/* own buffer: one part for each process */
	uint32 nwords;			/* of a part */
	int32 *proxy[GROUP_MAX];	/* buffers of the others */
};

/* The index of the program's name in an array, which NULL ends; ends the process if it is not there. */
int group_pattern(const char *const *names, const char *name);

/* Whether the command line is that of a peer. */
int group_is_worker(int argc, char **argv);

/*
 * The master's: send the parameters to the @count - 1 others, which are @peers, or processes of
 * @program that it spawns if there are none.
 */
void group_make(struct group *g, const int32 *param, int params, int count, char *program,
		char **peers);

/* Whether a command line has no peers, or those of @count processes, from @first on. */
int group_peers(int argc, int first, int count);

/* A peer's: wait for the parameters. */
void group_join(struct group *g);

/* Export a buffer with @nwords for each process, and import those of the others. */
void group_buffers(struct group *g, uint32 nwords);

/* Wait for all. */
void group_barrier(struct group *g);

/* Send the part of this process, filled with @value, to that in the buffer of another. */
void group_send(struct group *g, int to, uint32 nwords, int32 value);

/* Wait until the part of another process is filled with @value. */
void group_wait(struct group *g, int from, uint32 nwords, int32 value);

/* A number that must be positive. */
int32 group_number(const char *text);

void group_check(vmmc_result_t code, const char *what);
double group_seconds(void);

/* The same numbers in all processes. */
unsigned int group_random(unsigned int *state, unsigned int below);

#endif
