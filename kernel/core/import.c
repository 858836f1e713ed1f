// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for requests of an import.
 */
#include <linux/wait.h>

#include "core/hooks.h"
#include "core/import.h"

/* 0 if the counter has reached @value, -EAGAIN if it may, or another error. */
static int dd_import_reached(const struct dd_import *imp, u32 what, u64 value)
{
	if (READ_ONCE(imp->obj.ctx->dead))
		return -ESTALE;
	if ((what == DD_WAIT_SENT ? READ_ONCE(imp->sent) : READ_ONCE(imp->done)) >= value)
		return 0;
	return READ_ONCE(imp->chan->dead) ? -(int)READ_ONCE(imp->gone) : -EAGAIN;
}

/**
 * dd_import_await() - wait for a counter of an import
 * @imp: the import, of which the caller holds a reference
 * @what: %DD_WAIT_SENT or %DD_WAIT_DONE
 * @value: the wait ends when the counter is at least this
 * @timeout: nanoseconds, 0 not to wait, %U64_MAX without limit
 *
 * Return: 0; the import's error if the access has ended; %-EAGAIN, %-ETIMEDOUT, %-EINTR.
 */
int dd_import_await(struct dd_import *imp, u32 what, u64 value, u64 timeout)
{
	ktime_t left = min_t(u64, timeout, KTIME_MAX);
	int err = dd_import_reached(imp, what, value), ret;

	if (err != -EAGAIN || !timeout)
		return err;
	if (imp->chan->link->await)
		imp->chan->link->await(imp);
	ret = wait_event_interruptible_hrtimeout(imp->obj.ctx->wait,
						 (err = dd_import_reached(imp, what, value)) !=
						 -EAGAIN, left);
	if (err != -EAGAIN)
		return err;
	return ret == -ETIME ? -ETIMEDOUT : -EINTR;
}

/**
 * dd_import_wait() - serve %DD_IOC_CONN_WAIT for an import of a segment
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
	if (arg->what == DD_WAIT_SENT || arg->what == DD_WAIT_DONE)
		err = dd_import_await(imp, arg->what, arg->value, arg->timeout);
	dd_obj_put(&imp->obj);
	return err;
}
