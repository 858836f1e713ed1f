/* SPDX-License-Identifier: GPL-2.0-only */
/* Imports, each the importer's half of an access to a segment. */
#ifndef _DD_IMPORT_H
#define _DD_IMPORT_H

#include <linux/rbtree.h>
#include <uapi/linux/dd_mem.h>

#include "core/channel.h"
#include "core/ctx.h"
#include "core/notelist.h"
#include "core/region.h"

struct dd_completion;

/**
 * enum dd_import_state - whether an import was made; changes under dd_ctx.lock, once
 * @DD_IMPORT_UP: yes, as every connection. It stays so after its access has ended
 * @DD_IMPORT_PENDING: not yet; its channel is dead
 * @DD_IMPORT_FAILED: no, or its owner has ended it before; its channel is dead
 */
enum dd_import_state {
	DD_IMPORT_UP,
	DD_IMPORT_PENDING,
	DD_IMPORT_FAILED,
};

/**
 * enum dd_import_path - how messages are sent; changes under the lock of the channel
 * @DD_PATH_KERNEL: through the kernel
 * @DD_PATH_KERNEL_ONLY: the same, as the owner does not want to send directly
 * @DD_PATH_DIRECT: directly; their notes are written to a direct ring
 * @DD_PATH_COUNTED: directly until the channel was dead: @meta of @cs has their number
 */
enum dd_import_path {
	DD_PATH_KERNEL,
	DD_PATH_KERNEL_ONLY,
	DD_PATH_DIRECT,
	DD_PATH_COUNTED,
};

/**
 * struct dd_import - access to the segment of another process; protected by the lock of
 *	@chan, and unused once that is dead
 * @obj: its id; dd_obj_ops.import is set in its type
 * @busy: a submitter works without the lock, as it may sleep; others are refused
 * @path: enum dd_import_path
 * @state: enum dd_import_state
 * @error: errno of requests while @chan is dead, unless the import is pending; 0 for
 *	%ECONNRESET
 * @window: unread notes allowed at the other end
 * @unit: number of the first unit of @cs
 * @refused: requests refused since @chan began to close
 * @arrived: lower half of the position after the last note that was delivered directly;
 *	valid once @chan is dead
 * @uid: user of the owner
 * @cs: counters and send queue, in the area
 * @chan: the channel; of another node's segment, one that stands for it
 * @completions: lists that requests may name, struct dd_completion
 * @due: on this node, where the note of the last request is to be posted when that is done; or
 *	NULL
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
	u8 path;
	u8 state;
	u8 error;
	u16 window;
	u32 unit;
	u32 refused;
	u32 arrived;
	kuid_t uid;
	struct dd_conn_state *cs;
	struct dd_channel *chan;
	struct rb_root completions;
	struct dd_completion *due;
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
 * enum dd_park - whether an import may wait for its segment
 * @DD_PARK_NEVER: no
 * @DD_PARK_MAY: yes
 * @DD_PARK_WOKEN: it has waited, and a segment was exported under the key
 */
enum dd_park {
	DD_PARK_NEVER,
	DD_PARK_MAY,
	DD_PARK_WOKEN,
};

/**
 * struct dd_import_setup - how an import of a segment is made; part of its structure. The id is
 *	published first; the channel is dead until the import was made
 * @list: list for the note that reports whether the import was made, in which one slot is
 *	reserved; or NULL
 * @cookie: of that note
 * @node: node of the segment
 * @rights: DD_RIGHT_* that are needed, or with @may wanted
 * @may: at least one of @rights will do
 * @owner: user that must have exported the segment; invalid if any may
 * @park: whether to wait until there is a segment. Only the calling thread and then the worker
 *	use it
 */
struct dd_import_setup {
	struct dd_list *list;
	u64 cookie;
	u16 node;
	u8 rights;
	bool may;
	kuid_t owner;
	enum dd_park park;
};

/**
 * dd_import_find() - look up an import by its serial
 * @ctx: the context
 * @serial: serial from user space
 *
 * Return: the import, or NULL. Its memory is valid within the caller's RCU read-side
 * section; the caller has to check whether it is still alive.
 */
static inline struct dd_import *dd_import_find(const struct dd_ctx *ctx, u64 serial)
{
	struct dd_obj *obj = dd_ids_find(&ctx->ids, lower_32_bits(serial));

	return likely(obj) && likely(dd_obj_serial(obj) == serial) &&
	       likely(obj->ops->import) ?
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

/* Whether an import was made: then its size and the description of its segment are valid. */
static inline bool dd_import_up(const struct dd_import *imp)
{
	/* Acquire: pairs with dd_import_setup_end(). */
	return smp_load_acquire(&imp->state) == DD_IMPORT_UP;
}

/* The error of requests of an import whose channel was dead when they were refused. */
static inline int dd_import_error(const struct dd_import *imp)
{
	/* Acquire: the error is of the end of the set-up, or later. */
	if (smp_load_acquire(&imp->state) == DD_IMPORT_PENDING)
		return -EAGAIN;
	return -(READ_ONCE(imp->error) ?: ECONNRESET);
}

/* 0 while an import accepts requests; -EAGAIN while it is pending; or the error of its end. */
static inline int dd_import_status(const struct dd_import *imp)
{
	/* Acquire: a channel that is dead after the import was pending has ended. */
	if (smp_load_acquire(&imp->state) == DD_IMPORT_PENDING)
		return -EAGAIN;
	return READ_ONCE(imp->chan->dead) ? dd_import_error(imp) : 0;
}

/* Class of the key of an import. The registrar has replaced a name by a generation. */
static inline u8 dd_import_class(const struct dd_import_make *arg)
{
	return arg->key_class == DD_SEGMENT_REGISTERED ? DD_SEGMENT_ID : arg->key_class;
}

int dd_import_wait(struct dd_ctx *ctx, const struct dd_conn_wait *arg);
int dd_import_await(struct dd_import *imp, u32 what, u64 value, u64 timeout);
int dd_import_check_args(const struct dd_import_make *arg);
int dd_import_setup_begin(struct dd_import_setup *s, struct dd_import *imp,
			  struct dd_import_make *arg);
int dd_import_setup_found(const struct dd_import_setup *s, struct dd_import *imp, u64 generation,
			  kuid_t owner);
int dd_import_finish(struct dd_import *imp, struct dd_import_make *arg, int err);
void dd_import_setup_end(struct dd_import_setup *s, struct dd_import *imp, int err);
void dd_import_setup_stop(struct dd_import_setup *s, struct dd_import *imp);

#endif /* _DD_IMPORT_H */
