/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * UNIX sockets in the place of connections, for "ddperf conns".
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDPERF_MANY_H
#define DDPERF_MANY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before the processes are started, which inherit them; exits on failure. */
void many_open(unsigned int one, unsigned int many);
void many_close(void);

/* The end of socket @index that a client sends to. */
int many_sending(bool many, unsigned int index);

/* The server: a set of the other ends. */
int many_serve(bool many);

/* Spins until @count messages of @size bytes have come, to whichever of @set. */
void many_consume(int set, char *buffer, size_t size, uint32_t count);

/* Blocks while the socket is full. */
void many_send(int fd, const char *buffer, size_t size);

#endif /* DDPERF_MANY_H */
