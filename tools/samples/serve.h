/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loop of both servers.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_SAMPLE_SERVE_H
#define DD_SAMPLE_SERVE_H

#include "sample.h"

/* Composes the reply to a request of @size bytes, of the same size. */
typedef void (*compose_t)(const char *request, address_t reply, size_t size);

struct sample_service {
	char *name;
	compose_t compose;
	servid_t id;
};

void compose_echo(const char *request, address_t reply, size_t size);
void compose_reverse(const char *request, address_t reply, size_t size);

/**
 * sample_serve() - register services on one note list and answer requests
 * @o: command line
 * @services: what to serve
 * @count: how many
 *
 * Returns after @o->count requests. A client that has gone before its reply
 * is no error of the server.
 */
void sample_serve(const struct sample_options *o,
		  struct sample_service *services, int count);

#endif /* DD_SAMPLE_SERVE_H */
