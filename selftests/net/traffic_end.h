/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code of both ends of net_traffic.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_NET_TRAFFIC_END_H
#define DD_NET_TRAFFIC_END_H

#include <signal.h>
#include <stdint.h>

#include "dd.h"
#include "traffic.h"

#define MS		1000000ll
#define PATIENCE	(120000 * MS)	/* hang limit */
#define SERVICES	2

extern struct traffic *shared;
extern struct dd *dd;
extern volatile sig_atomic_t stopping;

/* Options of the command line. */
extern struct options {
	int conns;
	size_t min;
	size_t max;
	int seconds;
	int active;
	const char *kinds;
} opt;

/**
 * struct service - a service of a server
 * @name: its name
 * @window: messages that may be unread
 * @slots: parts of the block, one for each message in flight, so that messages are not
 *	deposited on one that is being checked
 * @max: upper bound of the bytes in a message
 */
struct service {
	const char *name;
	unsigned int window;
	unsigned int slots;
	size_t max;
};

extern const struct service services[SERVICES];

size_t slot_size(const struct service *s);
size_t block_size(const struct service *s);

/* Monotonic time in seconds. */
double now(void);
/* Exit with a message; @err is an error of libdd, 0 for errno. */
void __attribute__((noreturn)) die(const char *what, int err);
/* Report a wrong result. */
void __attribute__((format(printf, 1, 2))) wrong(const char *fmt, ...);
void *alloc(size_t size);
/* Handler of SIGTERM: sets stopping. */
void on_term(int sig);

/**
 * struct shadow - expected contents of a block
 * @conn: number of the connection, 0 before its first message
 * @block: the block
 * @copy: its expected contents
 * @size: bytes in each of them
 * @slot: bytes in a slot of the service
 */
struct shadow {
	uint32_t conn;
	unsigned char *block;
	unsigned char *copy;
	size_t size;
	size_t slot;
};

/*
 * Description of a message in its metadata: connection, number, length, offset. Calls have
 * no metadata, so there it is the beginning of the message.
 */
void says(const struct dd_msg *msg, unsigned int meta[4]);
/* Check bytes and place of message @n of connection @conn. */
bool look(struct shadow *s, uint32_t conn, uint32_t n, int direction,
	  const struct dd_msg *msg);

/* Run a server until SIGTERM, or one or two clients for opt.seconds. */
int serve(void);
int load(const int *nodes, int n);

#endif /* DD_NET_TRAFFIC_END_H */
