/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state that the processes of net_traffic share without DDP, in a file that all of
 * them map. It outlives them, so that after a kill the sent messages can be compared with
 * the received ones.
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
 * @tried: messages passed to dd_send() by the client, also if it did not return
 * @done: number of them that were reported as placed at the server
 * @received: messages that the server has read and found correct
 * @received_bytes: bytes in them
 * @replies: replies that the client has read and found correct
 * @life: index of the server's struct life plus 1, 0 if it has read nothing
 * @broken: the client has received ECONNCLOSE
 * @finished: the client has closed the connection, with all messages done
 * @node: node of the client
 */
struct record {
	uint64_t tried;
	uint64_t done;
	uint64_t received;
	uint64_t received_bytes;
	uint64_t replies;
	uint32_t life;
	uint32_t node;
	uint8_t broken;
	uint8_t finished;
};

/**
 * struct life - one run of a server
 * @drained: it has read all received messages, and ended by itself
 */
struct life {
	uint32_t drained;
};

struct traffic {
	uint64_t seed;
	uint32_t conns;		/* records in use; counted atomically */
	uint32_t lives;
	uint32_t errors;	/* wrong results */
	uint32_t refused;	/* attempts to connect that failed */
	uint32_t late;		/* replies that were refused at first */
	struct life life[TRAFFIC_LIVES];
	struct record conn[TRAFFIC_CONNS];
};

/* Both directions of a message that has a number on a connection. */
#define REQUEST		0
#define REPLY		1

/* Fill in message @n of connection @conn. */
void pattern(uint64_t seed, uint32_t conn, uint32_t n, int direction,
	     unsigned char *to, size_t len);
/* Fill with bytes that no message has. */
void scribble(unsigned char *to, size_t len);

/* Pseudo-random numbers. */
uint64_t next_random(uint64_t *state);
/* A random size up to @max, often near the size of a packet or page. */
size_t random_size(uint64_t *state, size_t max);

/* The checksum of IP: a sum of bytes, and the field of a header for a sum. */
uint32_t sum16(const void *data, size_t len);
uint16_t fold(uint32_t sum);

struct traffic *traffic_create(const char *path, uint64_t seed);
struct traffic *traffic_open(const char *path);

#endif /* DD_NET_TRAFFIC_H */
