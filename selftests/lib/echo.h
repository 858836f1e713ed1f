/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * echo.h - a service, and a client of it in the same process
 *
 * Copyright (C) 2026 The dd authors
 *
 * setup() creates them for a test, teardown() ends them.
 */
#ifndef _DD_TESTS_ECHO_H
#define _DD_TESTS_ECHO_H

#include <stdbool.h>
#include <stddef.h>

#include "dd.h"

#define MS	1000000ll
#define PAGE	0x1000

extern struct dd *h;
/* Ids, of the service "echo" and of the last client. */
extern int service, list, conn, clist;
/* Of the service made last: two blocks of a page, and two of half a page. */
extern char *srecv, *ssend;
/* Of the client made last, a page each. */
extern char *crecv, *csend;

/* Wired memory. */
void *alloc(size_t size);
/* A service for two clients, in memory of its own; as dd_serve(). */
int serve(const char *name, unsigned int flags, int *l);
/* A client of it; as dd_connect(). */
int client(const char *name, unsigned int type, int *l);

/* The service, and a client of @type. */
void setup(unsigned int type);
/* The same, whatever the environment says. */
void setup_direct(unsigned int type, bool direct);
void teardown(void);

/* The client sends @text. */
int request(const char *text);
/* The client sends @count messages of 8 bytes, at most 4, by dd_sendv(). */
int send_some(int count, int *error);
/* Receive the next message of the service. */
int take(struct dd_msg *msg);

#endif /* _DD_TESTS_ECHO_H */
