/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ddperf's loops for peers whose libraries ddperf does not have.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

#define LOOP_WINDOW	8	/* messages on their way */

/* Of two processes that do the same: 0 measures, 1 answers. */
extern int rank;

/* What the peer supplies: a message to the other process, or from it. */
void put(char *buffer, int size);
void get(char *buffer, int size);

/* And: until the buffers of all that were put may be freed. */
void settle(void);

/* Before the peer's library starts threads. */
void loop_pin(void);

/* Become two, pinned, that a socket joins: the end of this one. */
int loop_fork(void);

/* End them: 0, or 1 if the other one has failed. */
int loop_join(void);

/**
 * loop_run() - measure, and print a line for each size
 * @test: "lat" or "bw"
 * @sizes: bytes in a message, as text; NULL ends them
 *
 * A line of rank 0 is bytes, and microseconds a round trip (the median) or
 * megabytes a second. Nobody reads the payload. COUNT in the environment is the
 * number of messages.
 */
void loop_run(const char *test, char **sizes);

#endif /* BENCH_LOOP_H */
