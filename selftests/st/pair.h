/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * pair.h - both ends of connections: one in this process, one in another one
 *
 * Copyright (C) 2026 The dd authors
 *
 * The other process is at node 2 if the program is run by across.sh. It has ends that a number
 * names, and the calls with o_ are made there.
 */
#ifndef _ST_PAIR_H
#define _ST_PAIR_H

#include <stdbool.h>

#include "peer.h"
#include "st.h"
#include "tap.h"

#define PAGE	4096
#define MEMORY	(4 << 20)
#define ENDS	128

#define OK(call)	check_eq(call, 0)

/* Memory of the process, for maps. */
extern unsigned char *mem;

/* The other process. Starts it if there is none, before this one calls libst. */
struct peer *other(void);

/*
 * With ST_USER in the environment the processes are those of two ordinary users with limits of 8 MiB.
 * peer_new() starts another one.
 */
bool ordinary(void);
struct peer *peer_new(void);

/* The address of the other process' node. */
const char *there(void);

long o_create(int end);
long o_delete(int end);
long o_set(int end, int option, int value);
int o_get(int end, int option);
long o_listen(int end, int port);
long o_accept(int end);
void o_accept_begin(int end);
long o_accept_end(void);
long o_connect(int end, const char *host, int port);
long o_close(int end);
long o_map(int end, int flags, long offset, long len, int base, int *mx);
long o_unmap(int base);
long o_tx(int end, const st_header_t *hdr, const void *pay, uint len, uint bufx, uint off);
long o_rx(int end, st_header_t *hdr, void *pay, long ms);	/* @ms < 0: no limit */
long o_flush(int end, int64_t threshold, int64_t *count);
void o_peek(long offset, void *to, long len);
void o_fill(long offset, int value, long len);
long o_job(peer_fn fn, long a, long b, long c);

/* In the other process. */
extern st_chandle_t o_end[ENDS];
extern st_mhandle_t o_mapped[1 << 12];

/* A header of this end by the option of the connection, and st_rx() with a limit. */
st_header_t header(int op);
int rx(st_chandle_t c, st_header_t *hdr, void *pay, long ms);
int get(st_chandle_t c, int option);
int set(st_chandle_t c, int option, int value);

/* Calls of a program that defines ST_API_NEGATIVE. */
void negative(void);

/* A port that no other test has. */
int own_port(void);

/* Connect a new handle to end @end of the other process, whose options are set. */
st_chandle_t joined(int end);
st_chandle_t join(st_chandle_t c, int end);

#endif /* _ST_PAIR_H */
