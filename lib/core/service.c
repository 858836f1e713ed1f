// SPDX-License-Identifier: LGPL-2.1-only
/*
 * service.c - records of services
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdlib.h>

#include "conn.h"

/* dd.lock is held. */
struct ddi_service *ddi_service_lookup(struct dd *h, uint32_t id)
{
	struct ddi_service *s = ddi_table_get(h->board.services, id);

	while (s && s->id != id)
		s = s->chain;
	return s;
}

/*
 * An unbound record. Capacities are powers of two, so that a program that serves with
 * varying numbers of connections reuses records. Records of zeros are unbound; pages of
 * blocks that never have a connection are not touched.
 */
struct ddi_service *ddi_service_new(struct dd *h, uint32_t maxconn)
{
	struct ddi_service *s;
	uint32_t capacity = 1;

	while (capacity < maxconn)
		capacity *= 2;
	for (s = h->all_services; s; s = s->next)
		if (!s->id && s->capacity == capacity)
			return s;

	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	/* calloc() zeroes but does not align, aligned_alloc() the other way round. */
	s->memory = calloc(1, capacity * sizeof(*s->blocks) + DDI_LINE);
	if (!s->memory) {
		free(s);
		return NULL;
	}
	s->blocks = (struct ddi_conn *)
		(((uintptr_t)s->memory + DDI_LINE - 1) & -(uintptr_t)DDI_LINE);
	s->capacity = capacity;
	s->next = h->all_services;
	h->all_services = s;
	return s;
}

void ddi_service_release(struct dd *h)
{
	while (h->all_services) {
		struct ddi_service *s = h->all_services;

		h->all_services = s->next;
		free(s->memory);
		free(s);
	}
}
