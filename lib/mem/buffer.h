/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * buffer.h - exported buffers whose messages have handlers
 *
 * Copyright (C) 2026 The dd authors
 *
 * A library embeds a buffer in its record of an export, and serialises the calls for it.
 */
#ifndef _DD_BUFFER_H
#define _DD_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "dd_mem.h"

#define DDI_BUFFER_WINDOW	256	/* unread notifications of an importer */

/**
 * struct ddi_buffer - an exported buffer
 * @h: handle of libdd
 * @addr: first byte
 * @len: bytes, whole words
 * @fn: handler of notifications, or NULL
 * @segment: of libdd
 * @cookie: with @fn: of upcall.h
 */
struct ddi_buffer {
	struct dd *h;
	char *addr;
	size_t len;
	void (*fn)(int *address, int value);
	uint64_t segment;
	int cookie;
};

/*
 * Pin the memory of a buffer and export it: 0 or an error of dd_pin() or dd_export(). @a has its
 * key, rights, users, importers and flags. The thread is marked.
 */
int ddi_buffer_export(struct ddi_buffer *b, struct dd_export_attr *a);

/* Whether notifications of the buffer are pending and blocked. The thread is marked. */
bool ddi_buffer_blocked(const struct ddi_buffer *b);

/*
 * End an export. Pending notifications are handled, unless another thread has blocked them
 * meanwhile: these are dropped. When it returns, no handler runs for the buffer. Functions of notes
 * may run.
 */
void ddi_buffer_end(struct ddi_buffer *b);

#endif /* _DD_BUFFER_H */
