/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the processes of net_traffic tell each other beside DDP: a file that all
 * of them have mapped. It outlives any of them, so that after a kill it can be
 * said what had been sent and what had come.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_NET_TRAFFIC_H
#define DD_NET_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRAFFIC_CONNS	65536
#define TRAFFIC_LIVES	4096

/**
 * struct record - a connection; each word has one writer
 * @tried: messages handed to dd_send() by the client, also if it did not return
 * @done: of these, placed at the server, as the client was told
 * @sent_bytes: in the messages that were accepted
 * @received: messages that the server has read and found right
 * @received_bytes: in these
 * @replies: that the client has read and found right
 * @life: index and 1 of the server's life, 0 if it has read nothing
 * @open: the client had connected
 * @broken: the client was told that the connection is closed
 * @finished: the client has closed it, with all of it done
 * @node: the client's
 */
struct record {
	uint64_t tried;
	uint64_t done;
	uint64_t sent_bytes;
	uint64_t received;
	uint64_t received_bytes;
	uint64_t replies;
	uint32_t life;
	uint32_t node;
	uint8_t open;
	uint8_t broken;
	uint8_t finished;
};

/**
 * struct life - a server's
 * @node: its node
 * @drained: it has read all that had come, and ended by itself
 */
struct life {
	uint32_t node;
	uint32_t drained;
};

struct traffic {
	uint64_t seed;
	uint32_t conns;		/* records in use; counted atomically */
	uint32_t lives;
	uint32_t errors;	/* anything that was not as it must be */
	uint32_t refused;	/* attempts to connect that failed */
	uint32_t late;		/* replies that were refused at first */
	struct life life[TRAFFIC_LIVES];
	struct record conn[TRAFFIC_CONNS];
};

/* Both directions of a message that has a number on a connection. */
#define REQUEST		0
#define REPLY		1

/* What message @n of connection @conn consists of. */
void pattern(uint64_t seed, uint32_t conn, uint32_t n, int direction,
	     unsigned char *to, size_t len);
/* What it never does. */
void scribble(unsigned char *to, size_t len);

/* Numbers that a seed determines. */
uint64_t next_random(uint64_t *state);
/* A size up to @max, with a liking for those where something changes. */
size_t random_size(uint64_t *state, size_t max);

struct traffic *traffic_create(const char *path, uint64_t seed);
struct traffic *traffic_open(const char *path);

#endif /* DD_NET_TRAFFIC_H */
