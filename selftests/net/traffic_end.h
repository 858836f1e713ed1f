/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What both ends of net_traffic are made of.
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
#define PATIENCE	(120000 * MS)	/* for what must happen */
#define SERVICES	2

extern struct traffic *shared;
extern struct dd *dd;
extern volatile sig_atomic_t stopping;

/* What the command line says. */
extern struct options {
	int conns;
	size_t min;
	size_t max;
	int seconds;
	int active;
	const char *kinds;
} opt;

/**
 * struct service - of a server
 * @name: its name
 * @window: messages that may be unread
 * @slots: a message's place is one of these parts of the block, so that those
 *	on their way do not meet those that are being looked at
 * @max: bytes of a message at most, whatever the command line says
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

/* Seconds, since whenever. */
double now(void);
/* The end of the program; @err is of libdd, 0 is for errno. */
void __attribute__((noreturn)) die(const char *what, int err);
/* Something is not as it must be. */
void __attribute__((format(printf, 1, 2))) wrong(const char *fmt, ...);
void *alloc(size_t size);
/* For SIGTERM: sets stopping. */
void on_term(int sig);

/**
 * struct shadow - what a block should hold
 * @conn: 0 until something has come
 * @block: what counts from then on
 * @copy: what it should be
 * @size: bytes of both
 * @slot: of the service
 */
struct shadow {
	uint32_t conn;
	unsigned char *block;
	unsigned char *copy;
	size_t size;
	size_t slot;
};

/*
 * What a message says of itself: connection, number, length, offset. Calls have
 * no metadata, so there it comes first.
 */
void says(const struct dd_msg *msg, unsigned int meta[4]);
/* Whether message @n of connection @conn is what it should be, where it should. */
bool look(struct shadow *s, uint32_t conn, uint32_t n, int direction,
	  const struct dd_msg *msg);

/* To be a server until SIGTERM; a client, or two, for opt.seconds. */
int serve(void);
int load(const int *nodes, int n);

#endif /* DD_NET_TRAFFIC_END_H */
