/* SPDX-License-Identifier: GPL-2.0-only */
/* Imports, each the importer's half of an access to a segment. */
#ifndef _DD_IMPORT_H
#define _DD_IMPORT_H

#include "core/channel.h"
#include "core/ctx.h"
#include "core/region.h"

struct dd_cell;

/**
 * struct dd_import - access to the segment of another process; protected by the lock of
 *	@chan, and unused once that is dead
 * @obj: its id; dd_obj_ops.import is set in its type
 * @busy: a submitter works without the lock, as it may sleep; others are refused
 * @direct: notes are written to a direct ring
 * @nodirect: the owner does not want to send directly
 * @counted: sent directly until @chan was dead: @meta in the cell has the number of
 *	messages
 * @gone: errno of requests after the access has ended; 0 for %ECONNRESET
 * @window: unread notes allowed at the other end
 * @unit: number of the first unit of @cell
 * @refused: requests refused since @chan was cut
 * @arrived: lower half of the position after the last note that was delivered directly;
 *	valid once @chan is dead
 * @uid: user of the owner
 * @cell: counters and send queue, in the area
 * @chan: the channel; of another node's segment, one that stands for it
 * @size: bytes in the segment
 * @submitted: requests accepted
 * @sent: requests whose source may be reused
 * @done: requests whose note is posted
 * @send: default source of requests
 * @rcu: see struct dd_obj; shares memory with @send, which is not read after the end
 */
struct dd_import {
	struct dd_obj obj;
	bool busy;
	bool direct;
	bool nodirect;
	bool counted;
	u8 gone;
	u16 window;
	u32 unit;
	u32 refused;
	u32 arrived;
	kuid_t uid;
	struct dd_cell *cell;
	struct dd_channel *chan;
	u64 size;
	u64 submitted;
	u64 sent;
	u64 done;
	union {
		struct dd_bytes send;
		struct rcu_head rcu;
	};
};

/**
 * dd_import_find() - look up an import by its serial
 * @ctx: the context
 * @serial: serial from user space
 *
 * Return: as dd_obj_find().
 */
static inline struct dd_import *dd_import_find(const struct dd_ctx *ctx, u64 serial)
{
	struct dd_obj *obj = dd_ids_find(&ctx->ids, lower_32_bits(serial));

	return likely(obj) && likely(dd_obj_serial(obj) == serial) &&
	       likely(obj->import) ?
	       container_of(obj, struct dd_import, obj) : NULL;
}

/* The same with a reference, which dd_obj_put() drops. */
static inline struct dd_import *dd_import_get(const struct dd_ctx *ctx, u64 serial)
{
	struct dd_import *imp;

	rcu_read_lock();
	imp = dd_import_find(ctx, serial);
	if (imp && !refcount_inc_not_zero(&imp->obj.users))
		imp = NULL;
	rcu_read_unlock();
	return imp;
}

int dd_import_wait(struct dd_ctx *ctx, const struct dd_conn_wait *arg);
int dd_import_await(struct dd_import *imp, u32 what, u64 value, u64 timeout);

#endif /* _DD_IMPORT_H */
