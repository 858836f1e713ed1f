// SPDX-License-Identifier: GPL-2.0-only
/*
 * Services: a name, memory divided into blocks, and a note list.
 *
 * Blocks and states are allocated when the service is registered; block.c gives them to clients.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "core/area.h"
#include "core/charge.h"
#include "core/ctx.h"
#include "core/node.h"
#include "core/notelist.h"
#include "core/region.h"
#include "core/segment.h"
#include "ddp/conn.h"
#include "ddp/service.h"
#include "direct/direct.h"

static size_t dd_service_blocks_size(const struct dd_service *svc)
{
	return svc->maxconn * sizeof(*svc->blocks);
}

/*
 * Release the resources of a service without live connections. Calls that still hold a
 * reference to the service or a serving end find it and its segment dead; they access
 * only the memory of these structures.
 */
static void dd_service_free_parts(struct dd_service *svc)
{
	u64 last = 0;
	u32 i;

	mutex_lock(&svc->lock);
	for (i = 0; svc->blocks && i < svc->maxconn; i++) {
		const struct dd_block *block = &svc->blocks[i];

		/* An end with references may still be linked to a ring by its state. */
		if (block->conn)
			dd_direct_release(&block->conn->chan);
		last = max3(last, block->conn_note, dd_credit_last(&block->credit));
	}
	if (svc->attached) {
		/* The service keeps a reference to the list until its own release. */
		refcount_inc(&svc->list->obj.users);
		dd_list_detach(svc->list, svc->slots, last);
		svc->slots = 0;
		svc->attached = false;
	}
	dd_area_free(&svc->obj.ctx->area, svc->states_unit, svc->maxconn * DD_CONN_UNITS);
	svc->states_unit = 0;
	dd_slice_put(&svc->recv_use);
	dd_slice_put(&svc->send_use);
	mutex_unlock(&svc->lock);
}

static void dd_service_release(struct dd_obj *obj)
{
	struct dd_service *svc = container_of(obj, struct dd_service, obj);
	struct dd_ctx *ctx = obj->ctx;
	u32 i;

	dd_service_free_parts(svc);
	if (svc->list)
		dd_list_put(svc->list);
	if (svc->blocks) {
		for (i = 0; i < svc->maxconn; i++)
			dd_credit_drop(ctx, &svc->blocks[i].credit);
		kvfree(svc->blocks);
		dd_uncharge(ctx, dd_service_blocks_size(svc));
	}
	kfree_rcu(svc, rcu);
	dd_ctx_put(ctx);
}

static int dd_service_alloc_blocks(struct dd_service *svc)
{
	size_t size = dd_service_blocks_size(svc);
	u32 i;

	if (dd_charge(svc->obj.ctx, size))
		return -EDQUOT;
	/* kmalloc() would round the size up to a power of two. */
	if (size > PAGE_SIZE)
		svc->blocks = __vmalloc(size, DD_GFP | __GFP_ZERO);
	else
		svc->blocks = kzalloc(size, GFP_KERNEL_ACCOUNT);
	if (!svc->blocks) {
		dd_uncharge(svc->obj.ctx, size);
		return -ENOMEM;
	}
	for (i = 0; i < svc->maxconn; i++) {
		/* A window of 1 needs no allocation. */
		dd_credit_init(&svc->blocks[i].credit, 1, 0);
		list_add_tail(&svc->blocks[i].free, &svc->free);
	}
	return 0;
}

/* Equip a service and publish it; its context is locked. */
static int dd_service_make(struct dd_service *svc, const struct dd_serve *arg)
{
	struct dd_ctx *ctx = svc->obj.ctx;
	struct dd_list *list;
	int err;

	err = dd_slice_get(ctx, &arg->recv, false, &svc->recv_use, &svc->recv);
	if (!err)
		err = dd_slice_get(ctx, &arg->send, true, &svc->send_use, &svc->send);
	if (err)
		return err;
	svc->recv_block = dd_block_size(svc->recv.length, svc->maxconn);
	svc->send_block = dd_block_size(svc->send.length, svc->maxconn);
	if (!svc->recv_block || (svc->send.length && !svc->send_block))
		return -EINVAL;
	err = dd_service_alloc_blocks(svc);
	if (!err)
		err = dd_area_alloc(&ctx->area, svc->maxconn * DD_CONN_UNITS,
				    &svc->states_unit);
	if (err)
		return err;
	/* Slots are reserved with the first connection of each block. */
	list = dd_list_attach(ctx, arg->list, arg->flags & DD_SERVE_LIST, 0,
			      svc->maxconn * dd_block_slots(svc));
	if (IS_ERR(list))
		return PTR_ERR(list);
	svc->list = list;
	svc->attached = true;
	err = dd_obj_reserve(&svc->obj);
	if (err)
		return err;
	mutex_lock(&svc->lock);
	/* A client that finds the name now waits for the service's lock. */
	err = dd_name_add(ctx->node, &svc->name);
	if (err) {
		dd_obj_unreserve(&svc->obj);
	} else {
		dd_list_publish(list);
		dd_obj_publish(&svc->obj);
	}
	mutex_unlock(&svc->lock);
	return err;
}

/**
 * dd_service_serve() - register a service
 * @ctx: the caller
 * @arg: argument of user space; the results are filled in
 *
 * Return: 0 or an error documented in the uapi header; on error nothing has changed.
 */
int dd_service_serve(struct dd_ctx *ctx, struct dd_serve *arg)
{
	struct dd_service *svc;
	int err;

	if (arg->flags & ~DD_SERVE_FLAGS || arg->__reserved ||
	    arg->__reserved2 || arg->peruser > arg->maxconn ||
	    (arg->uid && !(arg->flags & DD_SERVE_UID)) ||
	    (arg->gid && !(arg->flags & DD_SERVE_GID)) ||
	    (arg->maxconn != 1 && arg->flags & DD_SERVE_SHARED) ||
	    !dd_name_ok(arg->name, sizeof(arg->name)) ||
	    !arg->maxconn || arg->maxconn > DD_MAXCONN_MAX ||
	    arg->window > DD_WINDOW_MAX)
		return -EINVAL;
	if (!READ_ONCE(ctx->node->up))
		return -ENETDOWN;
	svc = kzalloc(sizeof(*svc), GFP_KERNEL_ACCOUNT);
	if (!svc)
		return -ENOMEM;
	dd_obj_init(&svc->obj, ctx, &dd_service_ops);
	mutex_init(&svc->lock);
	INIT_LIST_HEAD(&svc->free);
	svc->name.obj = &svc->obj;
	svc->name.class = DD_CLASS_SERVICE;
	svc->name.shared = arg->flags & DD_SERVE_SHARED;
	svc->name.uid = current_euid();
	memcpy(svc->name.key, arg->name, sizeof(svc->name.key));
	svc->flags = arg->flags;
	svc->uid = current_euid();
	svc->only_uid = make_kuid(current_user_ns(), arg->uid);
	svc->only_gid = make_kgid(current_user_ns(), arg->gid);
	svc->peruser = arg->peruser;
	svc->maxconn = arg->maxconn;
	svc->window = dd_conn_window(arg->window, DD_CONN_RPC);
	svc->stream_window = dd_conn_window(arg->window, DD_CONN_STREAM);
	mutex_lock(&ctx->lock);
	err = ctx->dead ? -ESTALE : dd_service_make(svc, arg);
	if (!err) {
		arg->list = svc->list->obj.id;
		arg->service = svc->obj.id;
		arg->list_unit = svc->list->unit;
		arg->states_unit = svc->states_unit;
		arg->state_units = DD_CONN_UNITS;
		arg->recv_block = svc->recv_block;
		arg->send_block = svc->send_block;
		dd_event(&svc->obj, true);
	}
	mutex_unlock(&ctx->lock);
	if (err)
		dd_service_put(svc);
	return err;
}

/* Get a reference to the connection that has block @i. */
static struct dd_conn *dd_service_conn(struct dd_service *svc, u32 i)
{
	struct dd_conn *conn;

	mutex_lock(&svc->lock);
	conn = svc->blocks[i].conn;
	if (conn && !refcount_inc_not_zero(&conn->imp.obj.users))
		conn = NULL;
	mutex_unlock(&svc->lock);
	return conn;
}

/*
 * Remove the name and the id of a service, and end its connections. The caller holds a
 * reference; its context is locked.
 */
static void dd_service_end(struct dd_obj *obj)
{
	struct dd_service *svc = container_of(obj, struct dd_service, obj);
	bool was_dead;
	u32 i;

	mutex_lock(&svc->lock);
	was_dead = svc->dead;
	if (!was_dead) {
		svc->dead = true;
		dd_name_del(svc->obj.ctx->node, &svc->name);
	}
	mutex_unlock(&svc->lock);
	if (was_dead)
		return;
	/* No client is accepted any more, so one pass finds every connection. */
	for (i = 0; i < svc->maxconn; i++) {
		struct dd_conn *conn = dd_service_conn(svc, i);

		if (!conn)
			continue;
		dd_conn_end(&conn->imp.obj);
		dd_conn_put(conn);
		cond_resched();
	}
	dd_service_free_parts(svc);
	dd_event(obj, false);
	if (!WARN_ON_ONCE(!dd_obj_remove(obj)))
		dd_obj_put(obj);
}

const struct dd_obj_ops dd_service_ops = {
	.stage = DD_STAGE_NAMES,
	.end = dd_service_end,
	.release = dd_service_release,
};

/*
 * Send the messages accepted for other nodes first, like dd_conn_close(). A pass with a
 * @timeout of 0 starts the time limits of all connections; the second pass waits.
 */
static int dd_service_drain(struct dd_service *svc, u64 timeout)
{
	int err = 0;
	u32 i;

	for (i = 0; i < svc->maxconn && err != -EINTR; i++) {
		struct dd_conn *conn = dd_service_conn(svc, i);

		if (conn) {
			err = dd_conn_drain(conn, timeout);
			dd_conn_put(conn);
		}
		cond_resched();
	}
	return err == -EINTR ? err : 0;
}

int dd_service_unserve(struct dd_ctx *ctx, u32 id)
{
	struct dd_service *svc = dd_obj_get(ctx, id, &dd_service_ops);
	int err;

	if (!svc)
		return -ENOENT;
	err = dd_service_drain(svc, 0);
	if (!err)
		err = dd_service_drain(svc, U64_MAX);
	if (!err) {
		mutex_lock(&ctx->lock);
		dd_service_end(&svc->obj);
		mutex_unlock(&ctx->lock);
	}
	dd_service_put(svc);
	return err;
}

/* Return the serials of a service's connections, as many as fit, and their number. */
int dd_service_conns(struct dd_ctx *ctx, struct dd_conn_list *arg)
{
	const struct dd_conn *conn;
	struct dd_service *svc;
	u32 i, max, n = 0;
	u64 *conns;
	int err = 0;

	if (arg->__reserved)
		return -EINVAL;
	svc = dd_obj_get(ctx, arg->service, &dd_service_ops);
	if (!svc)
		return -ENOENT;
	max = min(arg->count, svc->maxconn);
	conns = kvcalloc(max + 1, sizeof(*conns), GFP_KERNEL);
	if (!conns) {
		err = -ENOMEM;
		goto out;
	}
	mutex_lock(&svc->lock);
	for (i = 0; i < svc->maxconn; i++) {
		conn = svc->blocks[i].conn;
		if (!conn || conn->released)
			continue;
		if (n < max)
			conns[n] = dd_obj_serial(&conn->imp.obj);
		n++;
	}
	mutex_unlock(&svc->lock);
	arg->count = n;
	if (copy_to_user(u64_to_user_ptr(arg->conns), conns,
			 min(max, arg->count) * sizeof(*conns)))
		err = -EFAULT;
	kvfree(conns);
out:
	dd_service_put(svc);
	return err;
}
