// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state of imports of segments, and waiting for it and for their requests.
 */
#include <linux/wait.h>
#include <uapi/linux/dd_mem.h>

#include "core/bounds.h"
#include "core/hooks.h"
#include "core/import.h"
#include "core/notelist.h"

/* 0 if the counter has reached @value, -EAGAIN if it may still do so, or another error. */
static int import_reached(const struct dd_import *imp, u32 what, u64 value)
{
	int err = dd_import_status(imp);

	if (READ_ONCE(imp->obj.ctx->dead))
		return -ESTALE;
	if (what == DD_WAIT_UP)
		return err;
	if ((what == DD_WAIT_SENT ? READ_ONCE(imp->sent) : READ_ONCE(imp->done)) >= value)
		return 0;
	return err ? err : -EAGAIN;
}

/**
 * dd_import_await() - wait for a counter of an import
 * @imp: the import, of which the caller holds a reference
 * @what: %DD_WAIT_SENT, %DD_WAIT_DONE or %DD_WAIT_UP
 * @value: the wait ends when the counter is at least this
 * @timeout: nanoseconds, 0 not to wait, %U64_MAX without limit
 *
 * Return: 0; the import's error if the access has ended; %-EAGAIN, %-ETIMEDOUT, %-EINTR.
 */
int dd_import_await(struct dd_import *imp, u32 what, u64 value, u64 timeout)
{
	ktime_t left = min_t(u64, timeout, KTIME_MAX);
	int err = import_reached(imp, what, value), ret;

	if (err != -EAGAIN || !timeout)
		return err;
	if (imp->chan->link->await && what != DD_WAIT_UP)
		imp->chan->link->await(imp);
	ret = wait_event_interruptible_hrtimeout(imp->obj.ctx->wait,
						 (err = import_reached(imp, what, value)) !=
						 -EAGAIN, left);
	if (err != -EAGAIN)
		return err;
	return ret == -ETIME ? -ETIMEDOUT : -EINTR;
}

/**
 * dd_import_wait() - wait for a counter of a connection or an import, or while it is made
 * @ctx: the caller
 * @arg: argument of user space
 *
 * Return: 0 or an error documented in the uapi header.
 */
int dd_import_wait(struct dd_ctx *ctx, const struct dd_conn_wait *arg)
{
	struct dd_import *imp;
	int err = -EINVAL;

	imp = dd_import_get(ctx, arg->conn);
	if (!imp)
		return -ENOENT;
	if (arg->what == DD_WAIT_SENT || arg->what == DD_WAIT_DONE ||
	    (arg->what == DD_WAIT_UP && imp->chan->link->op[DD_OP_GET]))
		err = dd_import_await(imp, arg->what, arg->value, arg->timeout);
	dd_obj_put(&imp->obj);
	return err;
}

/* ---- set-up ------------------------------------------------------------- */

/**
 * dd_import_check_args() - check the argument of an import
 * @arg: argument of user space
 *
 * Return: 0 or %-EINVAL.
 */
int dd_import_check_args(const struct dd_import_make *arg)
{
	u32 flags = DD_IMPORT_UID | DD_IMPORT_MAY;

	/* An import by a registered name waits for the registrar. */
	flags |= arg->key_class == DD_SEGMENT_REGISTERED ? DD_IMPORT_FRESH : DD_IMPORT_NOWAIT;
	/* The kernel chooses the numbers: none is known before the export. */
	if (arg->key_class != DD_SEGMENT_REGISTERED && arg->key_class != DD_SEGMENT_ID)
		flags |= DD_IMPORT_PARK;
	if (arg->flags & ~flags || arg->state_unit || arg->__reserved ||
	    (arg->uid && !(arg->flags & DD_IMPORT_UID)) ||
	    arg->import || arg->length || arg->generation ||
	    (arg->list ? !(arg->flags & DD_IMPORT_NOWAIT) : arg->cookie) ||
	    !arg->rights || arg->rights & ~DD_RIGHTS || arg->depth > DD_DEPTH_MAX ||
	    arg->key_class < DD_SEGMENT_NAME || arg->key_class > DD_SEGMENT_REGISTERED)
		return -EINVAL;
	if (arg->key_class == DD_SEGMENT_NAME || arg->key_class == DD_SEGMENT_REGISTERED)
		return dd_name_ok(arg->key, sizeof(arg->key)) ? 0 : -EINVAL;
	return 0;
}

/**
 * dd_import_setup_begin() - give an import its id
 * @s: its set-up, zeroed
 * @imp: the import, with its state; its channel is dead and its context locked
 * @arg: argument of user space, checked; id and state are filled in
 *
 * The table of ids takes over a reference.
 *
 * Return: 0; %-EINVAL (the user); %-ESTALE; %-ENOENT (the list); %-EDQUOT; %-ENOMEM; an error of
 * dd_list_reserve() or dd_obj_reserve().
 */
int dd_import_setup_begin(struct dd_import_setup *s, struct dd_import *imp,
			  struct dd_import_make *arg)
{
	struct dd_ctx *ctx = imp->obj.ctx;
	struct dd_list *list = NULL;
	int err;

	lockdep_assert_held(&ctx->lock);
	if (ctx->dead)
		return -ESTALE;
	s->owner = INVALID_UID;
	if (arg->flags & DD_IMPORT_UID) {
		s->owner = make_kuid(current_user_ns(), arg->uid);
		if (!uid_valid(s->owner))
			return -EINVAL;
	}
	if (arg->list) {
		list = dd_list_attach(ctx, arg->list, true, 1, 0);
		if (IS_ERR(list))
			return PTR_ERR(list);
	}
	err = dd_obj_reserve(&imp->obj);
	if (err) {
		if (list)
			dd_list_detach(list, 1, 0);
		return err;
	}
	arg->import = dd_obj_serial(&imp->obj);
	arg->state_unit = imp->unit;
	memset(imp->cs, 0, sizeof(struct dd_mem_state));
	imp->cs->node = arg->node;
	imp->cs->conn = arg->import;
	imp->cs->error = EINPROGRESS;
	s->list = list;
	s->cookie = arg->cookie;
	s->node = arg->node;
	s->rights = arg->rights;
	s->may = arg->flags & DD_IMPORT_MAY;
	s->park = arg->flags & DD_IMPORT_PARK ? DD_PARK_MAY : DD_PARK_NEVER;
	imp->state = DD_IMPORT_PENDING;
	dd_obj_publish(&imp->obj);
	return 0;
}

/**
 * dd_import_setup_found() - check and describe the segment of an import
 * @s: its set-up
 * @imp: the import, with its size and window; it has not been made yet
 * @generation: of the segment
 * @owner: user of its exporter
 *
 * Return: 0; %-EPERM if the importer wants a segment of another user.
 */
int dd_import_setup_found(const struct dd_import_setup *s, struct dd_import *imp, u64 generation,
			  kuid_t owner)
{
	struct dd_mem_state *cs = container_of(imp->cs, struct dd_mem_state, cs);

	if (uid_valid(s->owner) && !uid_eq(s->owner, owner))
		return -EPERM;
	cs->cs.peer_size = imp->size;
	cs->cs.window = imp->window;
	cs->cs.received = generation;
	cs->uid = from_kuid_munged(imp->obj.ctx->cred->user_ns, owner);
	return 0;
}

/* The slot is free again when the reader has consumed the note, and @imp was ended. */
static void setup_note(struct dd_import_setup *s, const struct dd_import *imp, int err)
{
	const struct dd_note note = {
		.conn = dd_obj_serial(&imp->obj),
		.cookie = s->cookie,
		.offset = -err,
		.word = imp->size,
		.type = DD_NOTE_IMPORT,
		.node = s->node,
	};
	u64 pos;

	mutex_lock(&s->list->lock);
	/* The slots are not being moved, as the list is locked. */
	WARN_ON_ONCE(!dd_list_post(s->list, &note, &pos));
	mutex_unlock(&s->list->lock);
	dd_list_wake(s->list);
	dd_list_detach(s->list, 1, pos + 1);
}

static void setup_over(struct dd_import *imp, enum dd_import_state state, int err)
{
	lockdep_assert_held(&imp->obj.ctx->lock);
	/* The access of another node may have ended since, with its error. */
	cmpxchg(&imp->error, 0, -err);
	/* Release: orders the error, the live channel and the segment's description before it. */
	smp_store_release(&imp->state, state);
}

/**
 * dd_import_setup_end() - an import was made, or cannot be made
 * @s: its set-up
 * @imp: the import, pending; its context is locked
 * @err: 0 if its channel was made alive, and may have ended since; or the error that requests
 *	get
 */
void dd_import_setup_end(struct dd_import_setup *s, struct dd_import *imp, int err)
{
	/* The first segment under the key has ended: the import does not wait for the next one. */
	if (err == -ECONNREFUSED && s->park == DD_PARK_WOKEN)
		err = -ESTALE;
	if (!err)
		container_of(imp->cs, struct dd_mem_state, cs)->rights = imp->chan->rights;
	setup_over(imp, err ? DD_IMPORT_FAILED : DD_IMPORT_UP, err ?: -ESTALE);
	/* The access may have ended since. Orders the connection state before its state. */
	cmpxchg(&imp->cs->error, EINPROGRESS, -err);
	if (s->list)
		setup_note(s, imp, err);
	dd_ctx_wake(imp->obj.ctx);
	if (!err)
		dd_event(&imp->obj, true);
}

/**
 * dd_import_finish() - the end of %DD_IOC_IMPORT
 * @imp: the import, of which the caller holds a reference
 * @arg: argument of user space; the results are filled in
 * @err: 0 if the import was made; %-EINPROGRESS if it is pending; or an error
 *
 * Return: 0, also if the access has ended since; or an error: then the import was ended.
 */
int dd_import_finish(struct dd_import *imp, struct dd_import_make *arg, int err)
{
	struct dd_ctx *ctx = imp->obj.ctx;
	bool up;

	if (err == -EINPROGRESS)
		err = arg->flags & DD_IMPORT_NOWAIT ?
		      0 : dd_import_await(imp, DD_WAIT_UP, 0, U64_MAX);
	up = dd_import_up(imp);
	/* An import that was made stays, even if its access has ended: its state has the error. */
	if (err && (!up || READ_ONCE(ctx->dead))) {
		mutex_lock(&ctx->lock);
		imp->obj.ops->end(&imp->obj);
		mutex_unlock(&ctx->lock);
		return err;
	}
	if (up) {
		arg->length = imp->size;
		arg->generation = imp->chan->generation;
	}
	return 0;
}

/**
 * dd_import_setup_stop() - the owner ends an import that was not made yet
 * @s: its set-up
 * @imp: the import, pending; its context is locked
 */
void dd_import_setup_stop(struct dd_import_setup *s, struct dd_import *imp)
{
	setup_over(imp, DD_IMPORT_FAILED, -ESTALE);
	if (s->list)
		dd_list_detach(s->list, 1, 0);
	/* Another thread may wait. */
	dd_ctx_wake(imp->obj.ctx);
}
