// SPDX-License-Identifier: GPL-2.0-only
/*
 * Imports of segments between nodes. The importer looks the segment up by class and key;
 * the node of the owner grants a channel. Requests are in remote_op.c, their execution is
 * in remote_msg.c.
 *
 * Either side may end the access: the importer's end sends a CLOSE, and so does the
 * owner's when the segment is revoked. Its channel is dead before that, so a CLOSE that
 * is lost with its session lets nothing in.
 */
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/slab.h>

#include "cluster/ctl.h"
#include "cluster/far.h"
#include "cluster/peer.h"
#include "cluster/remote.h"
#include "core/access.h"
#include "core/area.h"
#include "core/bounds.h"
#include "core/charge.h"
#include "core/export.h"
#include "core/hooks.h"
#include "core/trace.h"

/* Body of a query for a segment. */
struct dd_far_ask {
	__le32 pid;
	__le32 uid;
	__le16 depth;		/* requests that may be under way */
	u8 rights;		/* DD_RIGHT_* that are needed */
	u8 __reserved[5];
} __packed;

/* Body of its answer. */
struct dd_far_told {
	__le64 length;
	__le64 generation;
	__le32 uid;		/* of the owner */
	__le16 depth;		/* requests that may be under way, at most those asked for */
	__le16 window;		/* unread notes, 0 without a list */
} __packed;

static_assert(sizeof(struct dd_far_ask) <= DD_CTL_BODY);
static_assert(sizeof(struct dd_far_told) <= DD_CTL_BODY);

/* ---- the importer's end --------------------------------------------------- */

static struct dd_far_import *dd_far_import(struct dd_obj *obj)
{
	return container_of(obj, struct dd_far_import, imp.obj);
}

static void dd_far_release(struct dd_obj *obj)
{
	struct dd_far_import *f = dd_far_import(obj);
	struct dd_ctx *ctx = obj->ctx;

	if (f->imp.unit)
		dd_area_free(&ctx->area, f->imp.unit, DD_IMPORT_UNITS);
	if (f->r) {
		dd_uncharge(ctx, dd_remote_ops_size(f->r->nops));
		dd_remote_release(f->r);
	}
	kfree_rcu(f, imp.rcu);
	dd_uncharge(ctx, sizeof(*f) + sizeof(struct dd_remote));
	dd_ctx_put(ctx);
}

/* The importer ends the access. The caller holds a reference; its context is locked. */
static void dd_far_end(struct dd_obj *obj)
{
	if (!dd_obj_remove(obj))
		return;
	dd_event(obj, false);
	dd_remote_break(dd_far_import(obj)->r, 0, true);
	/* Another thread may wait for a request. */
	dd_ctx_wake(obj->ctx);
	dd_obj_put(obj);
}

/* The other node has ended the access: what was not done is not known. */
static void dd_far_lost(struct dd_obj *obj)
{
	struct dd_far_import *f = dd_far_import(obj);
	struct dd_import *imp = &f->imp;
	struct dd_import_cell *cell = container_of(imp->cell, struct dd_import_cell, cell);
	u8 error = f->r->closed ? ESTALE : EHOSTUNREACH;
	u64 n;

	WRITE_ONCE(imp->gone, error);
	dd_remote_break(f->r, 0, false);
	/* The counters do not change any more. */
	for (n = imp->done + 1; n <= imp->submitted; n++)
		WRITE_ONCE(cell->result[n % DD_RESULTS], EIO);
	/* A thread that sees the error sees the results. */
	smp_store_release(&cell->cell.error, error);
	dd_ctx_wake(obj->ctx);
}

/*
 * Wait until all requests are done. The other node may never do them, as its reader may
 * not read: give up when nothing was done for twice its dead time.
 */
static int dd_far_drain(struct dd_obj *obj)
{
	struct dd_far_import *f = dd_far_import(obj);
	struct dd_import *imp = &f->imp;
	u64 done, n = READ_ONCE(imp->submitted), limit;
	int err;

	do {
		done = READ_ONCE(imp->done);
		limit = 2ull * READ_ONCE(f->r->peer->config.dead_ms) * NSEC_PER_MSEC;
		err = dd_import_await(imp, DD_WAIT_DONE, n, limit);
	} while (err == -ETIMEDOUT && READ_ONCE(imp->done) != done);
	return err == -EINTR ? err : 0;
}

const struct dd_obj_ops dd_far_import_ops = {
	.stage = DD_STAGE_ACCESS,
	.import = true,
	.all_ops = true,
	.endable = true,
	.drain = dd_far_drain,
	.end = dd_far_end,
	.lost = dd_far_lost,
	.release = dd_far_release,
};

/* The peer's protocol has segments. */
static int dd_far_supported(struct dd_peer *peer)
{
	bool ok;

	dd_ctl_lock(peer);
	ok = dd_ctl_tp(peer)->cur.version >= 2;
	dd_ctl_unlock(peer);
	return ok ? 0 : -EPROTONOSUPPORT;
}

/* Look the segment up, and open the channel to it. */
static int dd_far_ask(struct dd_far_import *f, struct dd_import_make *arg)
{
	struct dd_ctl_query query = {
		.class = arg->key_class,
		.chan = f->r->id,
		.len = sizeof(struct dd_far_ask),
	};
	u32 depth = arg->depth ?: DD_DEPTH_USUAL;
	/* Replies are stored at 0 to 7, as their requests tell. */
	struct dd_tp_chan_cfg cfg = {
		.tx_window = depth,
		.rx_window = depth,
		.rx_size = DD_WIRE_MSG_MAX + 8ull,
		.one_sided = true,
	};
	struct dd_far_ask ask = {
		.pid = cpu_to_le32(pid_nr(f->imp.obj.ctx->pid)),
		.uid = cpu_to_le32(from_kuid_munged(&init_user_ns, f->imp.uid)),
		.depth = cpu_to_le16(depth),
		.rights = arg->rights,
	};
	struct dd_ctl_answer answer = {};
	struct dd_far_told told;
	struct dd_remote *r = f->r;
	u64 session;
	int err;

	err = dd_ctl_session(r->peer, &session, KTIME_MAX) ?: dd_far_supported(r->peer) ?:
	      dd_remote_join(r, &f->imp, NULL, &cfg, session);
	if (err)
		return err;
	memcpy(query.key, arg->key, sizeof(query.key));
	memcpy(query.body, &ask, sizeof(ask));
	err = dd_ctl_lookup(r->peer, session, &query, r, &answer, KTIME_MAX);
	if (err)
		return err;
	if (answer.status != DD_CTL_OK)
		return dd_ctl_error(answer.status);
	memcpy(&told, answer.body, sizeof(told));
	f->imp.size = le64_to_cpu(told.length);
	f->imp.window = le16_to_cpu(told.window);
	arg->generation = le64_to_cpu(told.generation);
	if (answer.len < sizeof(told) || !answer.chan || !told.length || !told.depth ||
	    le16_to_cpu(told.depth) > depth || f->imp.window > DD_WINDOW_MAX)
		return -EPROTO;
	depth = le16_to_cpu(told.depth);
	r->proxy.rights = arg->rights;
	r->proxy.generation = arg->generation;
	r->uid = le32_to_cpu(told.uid);
	err = dd_remote_found(r, answer.chan, depth, 0, arg->generation);
	return err ?: dd_remote_ops_make(r, f->imp.obj.ctx, depth - 1);
}

/* With the context locked: give the import its id. */
static int dd_far_publish(struct dd_far_import *f, struct dd_import_make *arg)
{
	struct dd_import *imp = &f->imp;
	struct dd_cell *cell = imp->cell;
	int err;

	if (imp->obj.ctx->dead)
		return -ESTALE;
	err = dd_obj_reserve(&imp->obj);
	if (err)
		return err;
	memset(cell, 0, sizeof(struct dd_import_cell));
	cell->node = f->r->peer->number;
	cell->peer_size = imp->size;
	cell->window = imp->window;
	cell->conn = dd_obj_serial(&imp->obj);
	arg->import = cell->conn;
	arg->cell_unit = imp->unit;
	arg->length = imp->size;
	spin_lock_bh(&f->r->proxy.lock);
	f->r->proxy.dead = false;
	spin_unlock_bh(&f->r->proxy.lock);
	trace_dd_import(imp, cell->node, arg->rights, arg->generation);
	dd_obj_publish(&imp->obj);
	return 0;
}

static int dd_far_setup(struct dd_far_import *f, struct dd_peer *peer,
			struct dd_import_make *arg)
{
	struct dd_import *imp = &f->imp;
	struct dd_ctx *ctx = imp->obj.ctx;
	int err;

	imp->nodirect = true;
	imp->gone = ESTALE;
	imp->uid = current_euid();
	err = dd_area_alloc_piece(&ctx->area, DD_IMPORT_UNITS, &imp->unit);
	if (err)
		return err;
	imp->cell = dd_area_unit(&ctx->area, imp->unit);
	f->r = dd_remote_alloc(peer);
	if (!f->r)
		return -ENOMEM;
	err = dd_remote_register(f->r) ?: dd_far_ask(f, arg);
	if (!err) {
		dd_remote_link(f->r);
		mutex_lock(&ctx->lock);
		err = dd_far_publish(f, arg);
		mutex_unlock(&ctx->lock);
	}
	if (err)
		dd_remote_break(f->r, 0, true);
	else
		dd_remote_go(f->r);
	return err;
}

/**
 * dd_far_import_make() - import a segment of another node
 * @ctx: the caller, not locked
 * @arg: argument of user space, checked; the results are filled in
 *
 * Return: 0 or an error documented in the uapi header; on error nothing has changed.
 */
int dd_far_import_make(struct dd_ctx *ctx, struct dd_import_make *arg)
{
	size_t size = sizeof(struct dd_far_import) + sizeof(struct dd_remote);
	struct dd_peer *peer = dd_peer_get(ctx->node, arg->node);
	struct dd_far_import *f;
	int err;

	if (!peer)
		return -ENONET;
	err = dd_charge(ctx, size) ? -EDQUOT : 0;
	if (err)
		goto out;
	f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);
	if (!f) {
		dd_uncharge(ctx, size);
		err = -ENOMEM;
		goto out;
	}
	dd_obj_init(&f->imp.obj, ctx, &dd_far_import_ops);
	/* The id table and this function have a reference each. */
	refcount_inc(&f->imp.obj.users);
	err = dd_far_setup(f, peer, arg);
	if (err)
		dd_obj_put(&f->imp.obj);
	else
		dd_event(&f->imp.obj, true);
	dd_obj_put(&f->imp.obj);
out:
	dd_peer_put(peer);
	return err;
}

/* ---- the owner's end ------------------------------------------------------ */

/**
 * struct dd_far_access - access of an importer on another node to an exported segment
 * @a: the access
 * @r: the session's part
 * @ctx: context of the exporter, which is charged; valid, as the memory of @a.exp holds it
 * @ref: held once until the access is revoked
 */
struct dd_far_access {
	struct dd_access a;
	struct dd_remote *r;
	struct dd_ctx *ctx;
	refcount_t ref;
};

static struct dd_far_access *dd_far_access(struct dd_access *a)
{
	return container_of(a, struct dd_far_access, a);
}

static bool dd_far_get(struct dd_access *a)
{
	return refcount_inc_not_zero(&dd_far_access(a)->ref);
}

static void dd_far_put(struct dd_access *a)
{
	struct dd_far_access *f = dd_far_access(a);
	size_t size = sizeof(*f) + sizeof(struct dd_remote);

	if (!refcount_dec_and_test(&f->ref))
		return;
	size += dd_remote_ops_size(f->r->nops);
	dd_remote_release(f->r);
	dd_uncharge(f->ctx, size);
	dd_access_exit(a);
	kfree(f);
}

/* The channel is dead. @error is 0 if the importer has ended the access. */
static void dd_far_revoked(struct dd_access *a, int error)
{
	struct dd_far_access *f = dd_far_access(a);

	dd_remote_report(&a->chan);
	dd_remote_break(f->r, 0, error);
	/* The caller has another reference. */
	dd_far_put(a);
}

static void dd_far_describe(struct dd_access *a, struct dd_importer *to)
{
	const struct dd_remote *r = dd_far_access(a)->r;

	to->count = READ_ONCE(a->chan.received);
	to->pid = r->pid;
	to->uid = from_kuid_munged(current_user_ns(), make_kuid(&init_user_ns, r->uid));
}

static const struct dd_access_ops dd_far_access_ops = {
	.get = dd_far_get,
	.put = dd_far_put,
	.revoked = dd_far_revoked,
	.describe = dd_far_describe,
};

/* Open the channel; @f is ready to be ended by dd_access_revoke() if this succeeds. */
static int dd_far_open(struct dd_far_access *f, struct dd_export *exp, u64 session,
		       const struct dd_ctl_query *query, const struct dd_far_ask *ask,
		       struct dd_far_told *told)
{
	u32 window = exp->seg.list ? exp->window : 0;
	u32 most = le16_to_cpu(ask->depth);
	u32 depth = window ? min(most, window) : most;
	struct dd_tp_chan_cfg cfg = {
		.peer_id = query->chan,
		.rx_size = max_t(u64, exp->seg.mem.length, DD_WIRE_NOTE_MAX),
		.rx_window = depth,
		.tx_window = most,
		.one_sided = true,
		.generation = lower_32_bits(exp->seg.generation),
	};
	int err;

	err = dd_remote_register(f->r) ?:
	      dd_remote_ops_make(f->r, exp->obj.ctx, depth - 1) ?:
	      dd_access_grant(&f->a, exp, ask->rights, f->r->peer->number);
	if (err)
		return err;
	err = dd_remote_join(f->r, NULL, &f->a.chan, &cfg, session);
	if (!err) {
		dd_remote_link(f->r);
		err = dd_export_join(exp, &f->a);
	}
	if (err) {
		dd_access_ungrant(&f->a);
		return err;
	}
	*told = (struct dd_far_told){
		.length = cpu_to_le64(exp->seg.mem.length),
		.generation = cpu_to_le64(exp->seg.generation),
		.uid = cpu_to_le32(from_kuid_munged(&init_user_ns, exp->seg.uid)),
		.depth = cpu_to_le16(depth),
		.window = cpu_to_le16(window),
	};
	return 0;
}

/* Grant a channel to @exp. The owner's user and memcg are charged. */
static int dd_far_grant(struct dd_peer *peer, struct dd_export *exp, u64 session,
			const struct dd_ctl_query *query, const struct dd_far_ask *ask,
			struct dd_ctl_answer *answer)
{
	size_t size = sizeof(struct dd_far_access) + sizeof(struct dd_remote);
	struct dd_ctx *ctx = exp->obj.ctx;
	struct dd_far_access *f;
	struct dd_far_told told;
	int err;

	if (dd_charge(ctx, size))
		return -ENOMEM;
	f = kzalloc(sizeof(*f), dd_gfp(ctx));
	if (!f) {
		dd_uncharge(ctx, size);
		return -ENOMEM;
	}
	dd_access_init(&f->a, &dd_far_access_ops);
	f->ctx = ctx;
	f->r = dd_remote_alloc(peer);
	if (!f->r) {
		kfree(f);
		dd_uncharge(ctx, size);
		return -ENOMEM;
	}
	f->r->pid = le32_to_cpu(ask->pid);
	f->r->uid = le32_to_cpu(ask->uid);
	/* Held by the channel until it is revoked, and by this function. */
	refcount_set(&f->ref, 2);
	err = dd_far_open(f, exp, session, query, ask, &told);
	if (err) {
		dd_remote_break(f->r, 0, false);
		dd_far_put(&f->a);
	} else {
		dd_remote_go(f->r);
		answer->chan = f->r->id;
		answer->len = sizeof(told);
		memcpy(answer->body, &told, sizeof(told));
	}
	dd_far_put(&f->a);
	return err;
}

static int dd_far_serve(struct dd_peer *peer, u64 session, const struct dd_ctl_query *query,
			const struct dd_far_ask *ask, struct dd_ctl_answer *answer)
{
	kuid_t uid = make_kuid(&init_user_ns, le32_to_cpu(ask->uid));
	struct mem_cgroup *before;
	struct dd_export *exp;
	int err = -EACCES;

	exp = READ_ONCE(peer->node->up) ?
	      dd_export_get(peer->node, query->class, query->key) : NULL;
	if (!exp)
		return -ECONNREFUSED;
	if (!(ask->rights & ~dd_export_rights(exp, uid))) {
		before = dd_owner_enter(exp->obj.ctx);
		err = dd_far_grant(peer, exp, session, query, ask, answer);
		dd_owner_leave(before);
	}
	dd_export_put(exp);
	return err;
}

static enum dd_ctl_status dd_far_lookup(struct dd_peer *peer, u64 session,
					const struct dd_ctl_query *query,
					struct dd_ctl_answer *answer)
{
	struct dd_far_ask ask;
	int err;

	memcpy(&ask, query->body, sizeof(ask));
	if (query->len < sizeof(ask) || !query->chan || !ask.rights ||
	    ask.rights & ~DD_RIGHTS || !ask.depth || le16_to_cpu(ask.depth) > DD_DEPTH_MAX ||
	    dd_far_supported(peer))
		return DD_CTL_BAD;
	err = dd_far_serve(peer, session, query, &ask, answer);
	return err ? dd_ctl_status(err) : DD_CTL_OK;
}

static const struct dd_ctl_class_ops dd_far_class = {
	.lookup = dd_far_lookup,
};

/* Before any peer exists. */
void dd_far_init(void)
{
	int class;

	for (class = DD_SEGMENT_NAME; class <= DD_SEGMENT_WELL_KNOWN; class++)
		dd_ctl_register(class, &dd_far_class);
}
