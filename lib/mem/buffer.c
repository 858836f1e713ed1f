// SPDX-License-Identifier: LGPL-2.1-only
/*
 * buffer.c - exported buffers whose messages have handlers
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>

#include "buffer.h"
#include "proxy.h"
#include "shared.h"
#include "upcall.h"

#define WORD	sizeof(int)

/*
 * The last word of the message. dd_note has the bytes of the last aligned 8 bytes of the segment.
 * Importers are not trusted: with libdd they may send other notes, and parts of words.
 */
static void buffer_notified(const struct dd_note *note, void *data)
{
	const struct ddi_buffer *b = data;
	uint64_t end = note->offset + note->len;
	uint32_t value = end % 8 || note->len < 8 ? note->word : note->word >> 32;

	if (note->type == DD_NOTE_DATA && note->op == DD_OP_PUT && note->len >= WORD &&
	    !(end % WORD) && end <= b->len)
		b->fn((int *)(b->addr + end - WORD), value);
}

/* No note of the segment is handled before it is known. */
static int export_notifying(struct ddi_buffer *b, struct dd_export_attr *a)
{
	int ret = ddi_shared_list();

	if (ret < 0)
		return ret;
	a->list = ret;
	ddi_upcall_hold();
	b->cookie = ddi_upcall_add(buffer_notified, b);
	a->cookie = b->cookie;
	ret = b->cookie < 0 ? b->cookie : dd_export(b->h, a, &b->segment);
	if (!ret)
		ddi_upcall_set(b->cookie, b->segment);
	else if (b->cookie >= 0)
		ddi_upcall_del(b->cookie);
	ddi_upcall_release();
	return ret;
}

DD_API int ddi_buffer_export(struct ddi_buffer *b, struct dd_export_attr *a)
{
	int ret = dd_pin(b->h, b->addr, b->len);

	if (ret)
		return ret;
	a->addr = b->addr;
	a->len = b->len;
	a->key_class = DD_KEY_BUFFER;
	a->notify = b->fn ? DD_NOTIFY_IF_ASKED : DD_NOTIFY_NEVER;
	a->window = b->fn ? DDI_BUFFER_WINDOW : DDI_PROXY_DEPTH;
	ret = b->fn ? export_notifying(b, a) : dd_export(b->h, a, &b->segment);
	if (ret)
		dd_unpin(b->h, b->addr);
	return ret;
}

DD_API bool ddi_buffer_blocked(const struct ddi_buffer *b)
{
	bool blocked;

	if (!b->fn)
		return false;
	ddi_upcall_hold();
	blocked = ddi_upcall_blocked() && ddi_upcall_waits(b->segment);
	ddi_upcall_release();
	return blocked;
}

static void buffer_drain(struct ddi_buffer *b)
{
	bool waits = b->fn;

	while (waits) {
		ddi_upcall_flush();
		ddi_upcall_enter();
		ddi_upcall_hold();
		waits = !ddi_upcall_blocked() && ddi_upcall_waits(b->segment);
		if (!waits)
			ddi_upcall_del(b->cookie);
		ddi_upcall_release();
		ddi_upcall_leave();
	}
}

DD_API void ddi_buffer_end(struct ddi_buffer *b)
{
	dd_unexport(b->h, b->segment);
	buffer_drain(b);
	dd_unpin(b->h, b->addr);
}
