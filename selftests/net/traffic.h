/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The processes of net_traffic share a state without DDP, in a file that all of them map. It
 * outlives them, so that after a kill the sent messages can be compared with the received ones.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_NET_TRAFFIC_H
#define DD_NET_TRAFFIC_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dd.h"
#include "random.h"

#define MS		1000000ll
#define PATIENCE	(120000 * MS)	/* hang limit */

#define TRAFFIC_CONNS	65536
#define TRAFFIC_LIVES	4096

/**
 * struct record - a connection; each word has one writer
 * @tried: messages passed to dd_send() by the client, also if it did not return
 * @done: number of them that were reported as placed at the server
 * @received: messages that the server has read and found correct
 * @received_bytes: bytes in them
 * @replies: replies that the client has read and found correct
 * @life: index of the server's life plus 1, 0 if it has read nothing
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

struct traffic {
	uint64_t seed;
	uint32_t conns;		/* records in use; counted atomically */
	uint32_t lives;
	uint32_t errors;	/* wrong results */
	bool drained[TRAFFIC_LIVES];	/* this run of a server has read all messages and ended */
	struct record conn[TRAFFIC_CONNS];
};

extern struct traffic *shared;
extern struct dd *dd;
extern volatile sig_atomic_t stopping;

/* Options of the command line. */
extern struct options {
	int conns;
	size_t min;
	size_t max;
	const char *kinds;
} opt;

/* Each server has this service. */
#define SERVICE		"traffic"
#define WINDOW		4	/* messages that may be unread */
/*
 * Parts of a block, one for each message in flight, so that messages are not deposited on one
 * that is being checked.
 */
#define SLOTS		(WINDOW + 2)

size_t slot_size(void);
size_t block_size(void);

/* Exit with a message; @err is an error of libdd, 0 for errno. */
void __attribute__((noreturn)) die(const char *what, int err);
/* Report a wrong result. */
void __attribute__((format(printf, 1, 2))) wrong(const char *fmt, ...);
/* Monotonic time in seconds. */
double now(void);
/* Open dd, and let SIGTERM set stopping. */
void start(void);
void *alloc(size_t size);

/* Both directions of a message that has a number on a connection. */
#define REQUEST		0
#define REPLY		1

/* Fill in message @n of connection @conn. */
void pattern(uint32_t conn, uint32_t n, int direction, unsigned char *to, size_t len);
/* Fill with bytes that no message has. */
void scribble(unsigned char *to, size_t len);
/* A random size up to @max, often near the size of a packet or page. */
size_t random_size(uint64_t *state, size_t max);
/* A random offset in the block for message @n of @len bytes, in a slot of its own. */
size_t place(uint64_t n, size_t len, uint64_t *state);

/**
 * struct shadow - expected contents of a block
 * @conn: number of the connection, 0 before its first message
 * @block: the block
 * @copy: its expected contents
 */
struct shadow {
	uint32_t conn;
	unsigned char *block;
	unsigned char *copy;
};

/*
 * Check bytes and place of message @n of connection @conn. Its metadata are connection, number,
 * length, offset.
 */
bool look(struct shadow *s, uint32_t conn, uint32_t n, int direction,
	  const struct dd_msg *msg);

/* Run a server, or clients, until SIGTERM. */
int serve(void);
int load(const int *nodes, int nnodes);

#endif /* DD_NET_TRAFFIC_H */
