// SPDX-License-Identifier: LGPL-2.1-only
/*
 * export.c - receive buffers
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdlib.h>

#include "buffer.h"
#include "common.h"
#include "hosts.h"
#include "peer.h"
#include "shared.h"

#define IMPORTERS_MAX		65536
#define IMPORTERS_NOTIFYING	64	/* each has memory for its unread notifications */

/**
 * struct export - a receive buffer
 * @buffer: its memory, and segment of libdd
 * @range: its memory
 * @number: chosen by the program
 * @next: in the list
 */
struct export {
	struct ddi_buffer buffer;
	struct sbl_range range;
	unsigned int number;
	struct export *next;
};

static struct export *exports;		/* sbl_lock */

/* The records are the parent's. */
static void in_child(void)
{
	struct export *e;

	while ((e = exports)) {
		exports = e->next;
		free(e);
	}
}

/* The link to the export with a number; to NULL if there is none. */
static struct export **export_link(unsigned int number)
{
	struct export **link = &exports;

	while (*link && (*link)->number != number)
		link = &(*link)->next;
	return link;
}

/* Importers of this node write whole pages without system calls if they may read them, too. */
static int export_open(struct export *e)
{
	struct dd_export_attr a = {
		.size = sizeof(a), .rights = DD_CAN_PUT | DD_CAN_GET, .users = DD_FOR_ANY,
		.importers = e->buffer.fn ? IMPORTERS_NOTIFYING : IMPORTERS_MAX,
		.flags = DD_EXPORT_DIRECT_ANY,
	};

	int ret;

	ddi_key(a.key, dd_pid(e->buffer.h), e->number, SBL_KEY);
	ret = ddi_buffer_export(&e->buffer, &a);
	/* The program may have exported the number by libdd. */
	return ret == -EEXIST ? SBL_EBufAlreadyExists : sbl_code(ret, SBL_ENoSuchNode);
}

static int export_new(struct dd *h, Int32 *buf, size_t len, unsigned int number,
		      SBL_MsgHandler handler)
{
	static bool watching;
	struct export *e;
	int code;

	ddi_at_fork(&watching, in_child);
	if (*export_link(number))
		return SBL_EBufAlreadyExists;
	e = malloc(sizeof(*e));
	if (!e)
		return SBL_ENoMem;
	*e = (struct export){ .number = number, .next = exports, .range = { (char *)buf, len } };
	e->buffer = (struct ddi_buffer){ .h = h, .addr = (char *)buf, .len = len, .fn = handler };
	code = sbl_range_add(&e->range);
	if (!code) {
		code = export_open(e);
		if (code)
			sbl_range_del(&e->range);
	}
	if (code)
		free(e);
	else
		exports = e;
	return code;
}

SBL_API int SBL_ExportRecvBuf(Int32 *buf, int nwords, unsigned int rbufid,
			      SBL_MsgHandler handler, int reserved)
{
	struct dd *h;
	int code;

	if (sbl_in_handler())
		return SBL_ENotInHandler;
	if (!buf || reserved)
		return SBL_EBadArg;
	if ((uintptr_t)buf % SBL_WORD)
		return SBL_EBadAlignment;
	if (nwords <= 0)
		return SBL_EBadSize;
	code = sbl_handle(&h);
	if (code)
		return code;
	sbl_enter();
	code = export_new(h, buf, nwords * SBL_WORD, rbufid, handler);
	sbl_leave();
	return code;
}

/* No call finds the buffer any more. */
static int export_take(unsigned int number, struct export **e)
{
	struct export **link = export_link(number);

	*e = *link;
	if (!*e)
		return SBL_EBadRbufState;
	if (ddi_buffer_blocked(&(*e)->buffer))
		return SBL_EBlockedNotifications;
	*link = (*e)->next;
	return SBL_Success;
}

SBL_API int SBL_UnexportRecvBuf(unsigned int rbufid)
{
	struct export *e;
	int code;

	if (sbl_in_handler())
		return SBL_ENotInHandler;
	sbl_enter();
	code = export_take(rbufid, &e);
	sbl_leave();
	if (code)
		return code;
	ddi_buffer_end(&e->buffer);
	sbl_enter();
	sbl_range_del(&e->range);
	sbl_leave();
	free(e);
	return SBL_Success;
}

/* ---- importers ------------------------------------------------------------------ */

/* The importers of a segment: their number or an error; *@all is to be freed. */
static int importers_read(const struct ddi_buffer *b, struct dd_export_importer **all)
{
	struct dd_export_desc desc;
	unsigned int room = 16;
	int n;

	for (;; room = desc.importers + 16) {
		*all = malloc(room * sizeof(**all));
		if (!*all)
			return -ENOMEM;
		n = dd_export_info(b->h, b->segment, &desc, *all, room);
		if (n < 0 || desc.importers <= room)
			break;
		free(*all);
	}
	if (n < 0)
		free(*all);
	return n;
}

static int importers_list(const struct export *e, int *n, SBL_Squid **squids, NodeID **nodes)
{
	struct dd_export_importer *all;
	int count = importers_read(&e->buffer, &all);

	if (count < 0)
		return sbl_code(count, SBL_EBadRbufState);
	*squids = malloc((count + 1) * sizeof(**squids));
	*nodes = malloc((count + 1) * sizeof(**nodes));
	if (!*squids || !*nodes) {
		free(*squids);
		free(*nodes);
		free(all);
		return SBL_ENoMem;
	}
	for (int i = 0; i < count; i++) {
		(*squids)[i] = all[i].pid;
		(*nodes)[i] = sbl_node_id(all[i].node);
	}
	*n = count;
	free(all);
	return SBL_Success;
}

SBL_API int SBL_Importers(unsigned int rbufid, int *n, SBL_Squid **squids, NodeID **nodes)
{
	const struct export *e;
	int code = SBL_EBadRbufState;

	if (sbl_in_handler())
		return SBL_ENotInHandler;
	if (!n || !squids || !nodes)
		return SBL_EBadArg;
	sbl_enter();
	e = *export_link(rbufid);
	if (e)
		code = importers_list(e, n, squids, nodes);
	sbl_leave();
	return code;
}
