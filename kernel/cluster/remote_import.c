// SPDX-License-Identifier: GPL-2.0-only
/*
 * Imports of segments between nodes. The importer looks the segment up by class and key;
 * the node of the owner grants a channel. Requests are in remote_op.c, their execution is
 * in remote_msg.c.
 *
 * A work item makes an import in steps. The import's entry in the wait queue of the control
 * stream queues that work when the next step is possible. So the work does not sleep until
 * the other node answers. Only the calling thread sleeps, in dd_import_await(). A node that keeps
 * its session and does not answer has its dead time for each query.
 *
 * Either side may end the access by a CLOSE: the importer, or the owner when the segment is
 * revoked. The owner's channel is dead before the CLOSE is sent, so no request is executed even
 * if the CLOSE is lost with the session. DD_IOC_END of the segment then waits until the other
 * node has processed the CLOSE.
 */
#include <linux/cred.h>
#include <linux/slab.h>

#include "cluster/ctl.h"
#include "cluster/remote_import.h"
#include "cluster/peer.h"
#include "cluster/remote.h"
#include "core/access.h"
#include "core/area.h"
#include "core/bounds.h"
#include "core/charge.h"
#include "core/completion.h"
#include "core/deposit.h"
#include "core/exported.h"
#include "core/hooks.h"
#include "core/trace.h"

/* Body of a query for a segment. */
struct dd_remote_import_ask {
	__le32 pid;
	__le32 uid;
	__le16 depth;		/* requests that may be under way */
	u8 rights;		/* DD_RIGHT_* that are needed */
	u8 park;		/* 1: wait until the segment is exported; else 0 */
	u8 named;		/* 1: a registrar has found the key by a name; else 0 */
	u8 may;			/* 1: at least one of @rights is needed; else 0 */
	u8 __reserved[2];
} __packed;

/* Body of its answer. */
struct dd_remote_granted {
	__le64 length;
	__le64 generation;
	__le32 uid;		/* of the owner */
	__le16 depth;		/* requests that may be under way, at most those asked for */
	__le16 window;		/* unread notes, 0 without a list */
	u8 rights;		/* DD_RIGHT_*, of those asked for */
	u8 __reserved[3];
} __packed;

static_assert(sizeof(struct dd_remote_import_ask) <= DD_CTL_BODY);
static_assert(sizeof(struct dd_remote_granted) <= DD_CTL_BODY);

/* ---- the importer's end --------------------------------------------------- */

static struct dd_remote_import *dd_remote_import(struct dd_obj *obj)
{
	return container_of(obj, struct dd_remote_import, imp.obj);
}

static void dd_remote_release(struct dd_obj *obj)
{
	struct dd_remote_import *f = dd_remote_import(obj);
	struct dd_ctx *ctx = obj->ctx;

	dd_area_free(&ctx->area, f->imp.unit, DD_IMPORT_UNITS);
	if (f->r) {
		if (f->r->op)
			dd_uncharge(ctx, dd_remote_ops_size(f->depth));
		dd_remote_put(f->r);
	}
	dd_completions_free(&f->imp);
	kfree_rcu(f, imp.rcu);
	dd_uncharge(ctx, sizeof(*f) + sizeof(struct dd_remote));
	dd_ctx_put(ctx);
}

/* Queue the work that takes the next step, at once if it waits for its time. */
static void dd_remote_kick(struct dd_remote_import *f)
{
	/* The entry in dd_ctl.waiters holds another reference until dd_remote_finish(). */
	refcount_inc(&f->imp.obj.users);
	if (mod_delayed_work(dd_wq, &f->work, 0))
		refcount_dec(&f->imp.obj.users);
}

/*
 * When the query fails. Others may be before it, here and in the peer: so while the peer answers
 * queries, this one waits for its turn.
 */
static unsigned long dd_remote_expires(const struct dd_remote_import *f)
{
	const struct dd_peer *peer = f->r->peer;
	unsigned long since = READ_ONCE(dd_ctl_of(peer)->answered_at);

	if (time_before(since, f->asked))
		since = f->asked;
	return since + msecs_to_jiffies(READ_ONCE(peer->config.dead_ms));
}

/* Queue the work for the time when the query fails, unless it is queued. */
static void dd_remote_alarm(struct dd_remote_import *f)
{
	unsigned long now = jiffies, expires = dd_remote_expires(f);

	refcount_inc(&f->imp.obj.users);
	if (!queue_delayed_work(dd_wq, &f->work,
				time_before(now, expires) ? expires - now : 0))
		refcount_dec(&f->imp.obj.users);
}

/* The importer ends the access. The caller holds a reference; its context is locked. */
static void dd_remote_import_end(struct dd_obj *obj)
{
	struct dd_remote_import *f = dd_remote_import(obj);

	if (!dd_obj_remove(obj))
		return;
	if (f->imp.state == DD_IMPORT_PENDING) {
		dd_import_setup_stop(&f->setup, &f->imp);
		dd_remote_kick(f);
	} else if (f->imp.state == DD_IMPORT_UP) {
		dd_event(obj, false);
		dd_remote_break(f->r, 0, true);
		dd_reap(obj->ctx);
		/* Another thread may wait for a request. */
		dd_ctx_wake(obj->ctx);
	}
	dd_completions_end(&f->imp);
	dd_obj_put(obj);
}

/*
 * Post the notes of a request to the importer. The importer may end the import at the same time,
 * and sets @ended under the list's lock before it stops using the list.
 */
static void dd_remote_import_notify(struct dd_remote_import *f, u64 n)
{
	struct dd_completion *c = f->r->op[n % f->r->nops].completion;
	struct dd_due due;

	if (!c)
		return;
	mutex_lock(&c->list->lock);
	if (!c->ended && dd_remote_completion_claim(f->r, n, &due))
		dd_deposit_notify(&due);
	mutex_unlock(&c->list->lock);
}

/* The other node has ended the access. It may have executed requests that it did not report. */
static void dd_remote_import_lost(struct dd_obj *obj)
{
	struct dd_remote_import *f = dd_remote_import(obj);
	struct dd_import *imp = &f->imp;
	struct dd_mem_state *cs = container_of(imp->cs, struct dd_mem_state, cs);
	u8 error = f->r->closed ? ESTALE : EHOSTUNREACH;
	u64 n;

	WRITE_ONCE(imp->error, error);
	dd_remote_break(f->r, 0, false);
	/* The counters do not change any more. */
	for (n = imp->done + 1; n <= imp->submitted; n++)
		WRITE_ONCE(cs->result[n % DD_RESULTS], EIO);
	/* Release: a thread that reads the error also reads the results above. */
	smp_store_release(&cs->cs.error, error);
	for (n = imp->done + 1; n <= imp->submitted; n++)
		dd_remote_import_notify(f, n);
	dd_ctx_wake(obj->ctx);
}

/*
 * Nanoseconds that a drain still waits for one more request to be done: twice the peer's dead time
 * since the last one, or since the first drain, which a signal may have ended.
 */
static u64 dd_remote_drain_timeout(struct dd_remote_import *f)
{
	struct dd_drain *drain = &f->r->drain;
	u64 now = ktime_get_ns(), end;

	dd_ctl_lock(f->r->peer);
	if (!drain->since || drain->count != f->imp.done) {
		drain->count = f->imp.done;
		drain->since = now;
	}
	end = drain->since + 2ull * READ_ONCE(f->r->peer->config.dead_ms) * NSEC_PER_MSEC;
	dd_ctl_unlock(f->r->peer);
	return end - min(end, now);
}

/* Wait until all requests are done. The reader at the other node may never read. */
static int dd_remote_drain(struct dd_obj *obj)
{
	struct dd_remote_import *f = dd_remote_import(obj);
	u64 left, n = READ_ONCE(f->imp.submitted);
	int err;

	do {
		left = dd_remote_drain_timeout(f);
		err = dd_import_await(&f->imp, DD_WAIT_DONE, n, left);
	} while (err == -ETIMEDOUT && left);
	return err == -EINTR ? err : 0;
}

const struct dd_obj_ops dd_remote_import_ops = {
	.stage = DD_STAGE_ACCESS,
	.import = true,
	.endable = true,
	.drain = dd_remote_drain,
	.end = dd_remote_import_end,
	.lost = dd_remote_import_lost,
	.release = dd_remote_release,
};

/* Check that the protocol version of the session has segments. */
static int dd_remote_supported(struct dd_peer *peer)
{
	bool ok;

	dd_ctl_lock(peer);
	ok = dd_ctl_tp(peer)->cur.version >= 2;
	dd_ctl_unlock(peer);
	return ok ? 0 : -EPROTONOSUPPORT;
}

/* Add the channel to the session. */
static int dd_remote_import_join(struct dd_remote_import *f)
{
	/* A reply has an offset of 0 to 7, which its request states. */
	struct dd_tp_chan_cfg cfg = {
		.tx_window = f->depth,
		.rx_window = f->depth,
		.rx_size = DD_WIRE_MSG_MAX + 8ull,
		.one_sided = true,
	};

	return dd_remote_supported(f->r->peer) ?:
	       dd_remote_join(f->r, &f->imp, NULL, &cfg, f->session);
}

/* Send the query; returns as dd_ctl_ask(). */
static bool dd_remote_query(struct dd_remote_import *f)
{
	const struct dd_ctx *ctx = f->imp.obj.ctx;
	struct dd_ctl_query query = {
		.head.class = f->class,
		.head.len = cpu_to_le16(sizeof(struct dd_remote_import_ask)),
		.chan = cpu_to_le64(f->r->id),
	};
	const struct dd_remote_import_ask ask = {
		.pid = cpu_to_le32(dd_ctx_pid(ctx, ctx->node->pid_ns)),
		.uid = cpu_to_le32(from_kuid_munged(&init_user_ns, f->imp.uid)),
		.depth = cpu_to_le16(f->depth),
		.rights = f->setup.rights,
		.may = f->setup.may,
		.park = f->setup.park == DD_PARK_MAY,
		.named = f->named,
	};

	memcpy(query.key, f->key, sizeof(query.key));
	memcpy(query.body, &ask, sizeof(ask));
	return dd_ctl_ask(f->r->peer, f->session, &query, f->r, &f->err);
}

/* Open the channel that was granted. */
static int dd_remote_import_found(struct dd_remote_import *f)
{
	struct dd_remote *r = f->r;
	struct dd_remote_granted grant;
	u32 depth;

	memcpy(&grant, f->answer.body, sizeof(grant));
	f->imp.size = le64_to_cpu(grant.length);
	f->imp.window = le16_to_cpu(grant.window);
	depth = le16_to_cpu(grant.depth);
	if (le16_to_cpu(f->answer.head.len) < sizeof(grant) || !f->answer.chan ||
	    !grant.length || !depth || !grant.rights || grant.rights & ~f->setup.rights ||
	    depth > f->depth || f->imp.window > DD_WINDOW_MAX)
		return -EPROTO;
	r->nops = depth;
	r->uid = le32_to_cpu(grant.uid);
	r->proxy.rights = grant.rights;
	r->proxy.generation = le64_to_cpu(grant.generation);
	return dd_import_setup_found(&f->setup, &f->imp, r->proxy.generation,
			       make_kuid(&init_user_ns, r->uid)) ?:
	       dd_remote_found(r, le64_to_cpu(f->answer.chan), depth, 0, r->proxy.generation);
}

/* Whether the import waits for the other node to take a query or to answer it. */
static bool dd_remote_asks(const struct dd_remote_import *f)
{
	return f->step == DD_REMOTE_QUERY || f->step == DD_REMOTE_ANSWER;
}

/* Whether what the import waits for has happened. Sets @f->err if the next step is to fail. */
static bool dd_remote_happened(struct dd_remote_import *f)
{
	struct dd_remote *r = f->r;

	switch (f->step) {
	case DD_REMOTE_SESSION:
		return dd_ctl_settled(r->peer, f->session, &f->err);
	case DD_REMOTE_QUERY:
		if (!dd_remote_query(f))
			return false;
		if (f->err)
			return true;
		f->asked = jiffies;
		/* If the import ends from now on, dd_remote_drop() has to forget the query. */
		WRITE_ONCE(f->step, DD_REMOTE_ANSWER);
		return READ_ONCE(r->wait.over);
	case DD_REMOTE_ANSWER:
		return READ_ONCE(r->wait.over);
	case DD_REMOTE_PARKED:
		return dd_ctl_woken(r->peer, f->session, r, &f->err);
	default:
		return false;
	}
}

/* Whether the next step is possible. Sets @f->err if that step is to fail. */
static bool dd_remote_ready(struct dd_remote_import *f)
{
	if (READ_ONCE(f->imp.state) != DD_IMPORT_PENDING || dd_remote_happened(f))
		return true;
	if (!dd_remote_asks(f) || time_before(jiffies, dd_remote_expires(f)))
		return false;
	/* If the answer arrives now, dd_remote_drop() closes its channel. */
	f->err = -EHOSTUNREACH;
	return true;
}

static int dd_remote_goto(struct dd_remote_import *f, enum dd_remote_step step)
{
	if (step == DD_REMOTE_QUERY)
		f->asked = jiffies;
	WRITE_ONCE(f->step, step);
	return -EINPROGRESS;
}

static int dd_remote_answered(struct dd_remote_import *f)
{
	/*
	 * The query is complete, so dd_ctl_drop_query() returns true. It takes the peer's lock,
	 * under which the answer was copied: the reads below see the whole answer.
	 */
	dd_ctl_drop_query(f->r->peer, f->r);
	if (f->r->wait.err)
		return f->r->wait.err;
	switch (le32_to_cpu(f->answer.status)) {
	case DD_CTL_OK:
		return dd_remote_import_found(f);
	case DD_CTL_PARKED:
		return f->setup.park == DD_PARK_MAY ? dd_remote_goto(f, DD_REMOTE_PARKED) : -EPROTO;
	default:
		return dd_ctl_error(le32_to_cpu(f->answer.status));
	}
}

/* Take a step. Returns 0 if the import was made, -EINPROGRESS, or an error. */
static int dd_remote_step(struct dd_remote_import *f)
{
	if (READ_ONCE(f->imp.state) != DD_IMPORT_PENDING)
		return -ESTALE;
	if (f->err)
		return f->err == -ENOTCONN ? -EHOSTUNREACH : f->err;
	switch (f->step) {
	case DD_REMOTE_SESSION:
		return dd_remote_import_join(f) ?: dd_remote_goto(f, DD_REMOTE_QUERY);
	case DD_REMOTE_ANSWER:
		return dd_remote_answered(f);
	case DD_REMOTE_PARKED:
		f->setup.park = DD_PARK_WOKEN;
		return dd_remote_goto(f, DD_REMOTE_QUERY);
	default:
		return dd_remote_goto(f, DD_REMOTE_QUERY);
	}
}

/*
 * The import is made: its channel is open. The context is locked. If the segment has ended, or ends
 * from now on, the importer never sees the import accept requests: this node may have reported to
 * its owner that it knows.
 */
static void dd_remote_up(struct dd_remote_import *f)
{
	struct dd_import *imp = &f->imp;
	struct dd_channel *ch = &f->r->proxy;
	bool gone;

	trace_dd_import(imp, f->setup.node, ch->rights, ch->generation);
	/* Up to here the worker skips the channel, from here on it ends it. */
	dd_remote_go(f->r);
	spin_lock_bh(&ch->lock);
	/* Ended later, it becomes dead under this lock. Acquire: @closed was set before. */
	gone = smp_load_acquire(&f->r->gone);
	ch->dead = gone;
	spin_unlock_bh(&ch->lock);
	if (gone)
		dd_remote_import_lost(&imp->obj);
	dd_import_setup_end(&f->setup, imp, 0);
}

/* The import has failed: make the peer release the channel or the parked query. */
static void dd_remote_drop(struct dd_remote_import *f)
{
	struct dd_remote *r = f->r;

	/*
	 * dd_remote_break() closes the channel, or ends the parked query, of the last answer. If
	 * the answer arrives later, dd_ctl_give_up() does so.
	 */
	if ((f->step == DD_REMOTE_ANSWER && dd_ctl_drop_query(r->peer, r)) ||
	    f->step == DD_REMOTE_PARKED)
		dd_remote_found(r, le64_to_cpu(f->answer.chan), 1, 0, 0);
	dd_remote_break(r, 0, true);
	/* The wake-up to send a query may have gone to this import: wake another import. */
	if (f->step == DD_REMOTE_QUERY) {
		dd_ctl_lock(r->peer);
		dd_ctl_offer(dd_ctl_of(r->peer));
		dd_ctl_unlock(r->peer);
	}
}

static void dd_remote_finish(struct dd_remote_import *f, int err)
{
	struct dd_ctx *ctx = f->imp.obj.ctx;
	bool ended;

	remove_wait_queue(&dd_ctl_of(f->r->peer)->waiters, &f->entry);
	if (err)
		dd_remote_drop(f);
	mutex_lock(&ctx->lock);
	ended = f->imp.state != DD_IMPORT_PENDING;
	if (!ended && err)
		dd_import_setup_end(&f->setup, &f->imp, err);
	else if (!ended)
		dd_remote_up(f);
	mutex_unlock(&ctx->lock);
	if (ended && !err)
		dd_remote_drop(f);
	f->step = DD_REMOTE_OVER;
	/* Drop the reference of @entry. */
	dd_obj_put(&f->imp.obj);
}

static void dd_remote_work(struct work_struct *work)
{
	struct dd_remote_import *f = container_of(work, struct dd_remote_import, work.work);
	int err = -EINPROGRESS;

	while (f->step != DD_REMOTE_OVER && err == -EINPROGRESS && dd_remote_ready(f))
		err = dd_remote_step(f);
	if (err != -EINPROGRESS)
		dd_remote_finish(f, err);
	else if (dd_remote_asks(f))
		dd_remote_alarm(f);
	dd_obj_put(&f->imp.obj);
}

/*
 * The state of the control stream has changed, see dd_ctl_offer(). Queue the work only if
 * this import can take a step.
 */
static int dd_remote_woken(wait_queue_entry_t *entry, unsigned int mode, int flags, void *key)
{
	struct dd_remote_import *f = container_of(entry, struct dd_remote_import, entry);
	const struct dd_remote *r = f->r;
	u32 *places = key;

	switch (READ_ONCE(f->step)) {
	case DD_REMOTE_QUERY:
		/* The answer may have come before the step was changed. */
		if (!places || READ_ONCE(r->wait.over))
			break;
		if (!*places)
			return 0;
		--*places;
		break;
	case DD_REMOTE_ANSWER:
		if (!READ_ONCE(r->wait.over))
			return 0;
		break;
	case DD_REMOTE_PARKED:
		if (!READ_ONCE(r->wait.woken) &&
		    READ_ONCE(dd_ctl_of(r->peer)->downs) == f->session)
			return 0;
		break;
	default:
		break;
	}
	dd_remote_kick(f);
	return 0;
}

static int dd_remote_setup(struct dd_remote_import *f, struct dd_peer *peer,
			   const struct dd_import_make *arg)
{
	struct dd_import *imp = &f->imp;
	struct dd_ctx *ctx = imp->obj.ctx;
	int err;

	imp->path = DD_PATH_KERNEL_ONLY;
	imp->uid = current_euid();
	INIT_DELAYED_WORK(&f->work, dd_remote_work);
	init_waitqueue_func_entry(&f->entry, dd_remote_woken);
	f->depth = arg->depth ?: DD_DEPTH_USUAL;
	f->class = dd_import_class(arg);
	f->named = arg->key_class == DD_SEGMENT_REGISTERED;
	memcpy(f->key, arg->key, sizeof(f->key));
	err = dd_area_alloc_piece(&ctx->area, DD_IMPORT_UNITS, &imp->unit);
	if (err)
		return err;
	imp->cs = dd_area_unit(&ctx->area, imp->unit);
	f->r = dd_remote_alloc(peer, &dd_link_remote);
	if (!f->r)
		return -ENOMEM;
	f->r->wait.answer = &f->answer;
	imp->chan = &f->r->proxy;
	return dd_remote_ops_make(f->r, ctx, f->depth - 1) ?: dd_remote_register(f->r);
}

/* Make the import visible and look the segment up. Returns -EINPROGRESS or an error. */
static int dd_remote_begin(struct dd_remote_import *f, struct dd_import_make *arg)
{
	struct dd_ctx *ctx = f->imp.obj.ctx;
	int err;

	f->session = dd_ctl_start(f->r->peer);
	mutex_lock(&ctx->lock);
	err = dd_import_setup_begin(&f->setup, &f->imp, arg);
	if (!err) {
		/* dd_remote_finish() drops this reference. */
		refcount_inc(&f->imp.obj.users);
		/* Behind those that wait already, which get a place first. */
		add_wait_queue_exclusive(&dd_ctl_of(f->r->peer)->waiters, &f->entry);
		dd_remote_kick(f);
		err = -EINPROGRESS;
	}
	mutex_unlock(&ctx->lock);
	return err;
}

/**
 * dd_remote_import_make() - import a segment of another node
 * @ctx: the caller, not locked
 * @arg: argument of user space, checked; the results are filled in
 *
 * Return: 0 or an error documented in the uapi header; on error nothing has changed.
 */
int dd_remote_import_make(struct dd_ctx *ctx, struct dd_import_make *arg)
{
	size_t size = sizeof(struct dd_remote_import) + sizeof(struct dd_remote);
	struct dd_peer *peer = dd_peer_get(ctx->node, arg->node);
	struct dd_remote_import *f;
	int err;

	if (!peer)
		return -ENONET;
	err = dd_charge(ctx, size);
	if (err)
		goto out;
	f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);
	if (!f) {
		dd_uncharge(ctx, size);
		err = -ENOMEM;
		goto out;
	}
	dd_obj_init(&f->imp.obj, ctx, &dd_remote_import_ops);
	/* The id table and this function hold a reference each. */
	refcount_inc(&f->imp.obj.users);
	err = dd_remote_setup(f, peer, arg) ?: dd_remote_begin(f, arg);
	if (err == -EINPROGRESS) {
		err = dd_import_finish(&f->imp, arg, err);
	} else {
		if (f->r)
			dd_remote_break(f->r, 0, false);
		dd_obj_put(&f->imp.obj);
	}
	dd_obj_put(&f->imp.obj);
out:
	dd_peer_put(peer);
	return err;
}

/* ---- the owner's end ------------------------------------------------------ */

/**
 * struct dd_remote_access - access of an importer on another node to an exported segment
 * @a: the access; the context of the exporter is charged
 * @r: the session's part
 * @ref: the channel holds one reference until the access is revoked
 * @rcu: delays freeing for dd_list_kick()
 */
struct dd_remote_access {
	struct dd_access a;
	struct dd_remote *r;
	refcount_t ref;
	struct rcu_head rcu;
};

static struct dd_remote_access *dd_remote_access(struct dd_access *a)
{
	return container_of(a, struct dd_remote_access, a);
}

static bool dd_remote_import_get(struct dd_access *a)
{
	return refcount_inc_not_zero(&dd_remote_access(a)->ref);
}

static void dd_remote_import_put(struct dd_access *a)
{
	struct dd_remote_access *f = dd_remote_access(a);
	size_t size = sizeof(*f) + sizeof(struct dd_remote);

	if (!refcount_dec_and_test(&f->ref))
		return;
	size += dd_remote_ops_size(f->r->nops);
	dd_remote_put(f->r);
	dd_uncharge(a->exp->obj.ctx, size);
	dd_access_exit(a);
	kfree_rcu(f, rcu);
}

/* The channel is dead. @error is 0 if the importer has ended the access. */
static void dd_remote_revoked(struct dd_access *a, int error)
{
	struct dd_remote_access *f = dd_remote_access(a);

	dd_remote_report(&a->chan);
	dd_remote_break(f->r, 0, error);
	/* The caller has another reference. */
	dd_remote_import_put(a);
}

/*
 * Wait until the importer's node has ended the import. That node processes the control stream in
 * order, and its worker ends imports before it answers a query. So the answer to any query that
 * follows the CLOSE shows that the import has ended. Query a name that no segment has.
 */
static int dd_remote_access_finish(struct dd_access *a, ktime_t since)
{
	struct dd_remote *r = dd_remote_access(a)->r;
	s64 limit = (s64)READ_ONCE(r->peer->config.dead_ms) * NSEC_PER_MSEC;
	struct dd_ctl_query query = {
		.head.class = DD_SEGMENT_NAME,
		.head.len = cpu_to_le16(sizeof(struct dd_remote_import_ask)),
		.chan = cpu_to_le64(r->id),
	};
	const struct dd_remote_import_ask ask = { .depth = cpu_to_le16(1), .rights = DD_RIGHT_GET };
	struct dd_ctl_answer answer;
	u64 session;
	bool up;
	int err;

	memcpy(query.body, &ask, sizeof(ask));
	dd_ctl_lock(r->peer);
	up = dd_ctl_tp(r->peer)->state == DD_TP_UP;
	session = dd_ctl_of(r->peer)->downs;
	dd_ctl_unlock(r->peer);
	if (!up)
		return 0;
	do {
		err = dd_ctl_lookup(r->peer, session, &query, r, &answer, since + limit);
	} while (!err && answer.status == cpu_to_le32(DD_CTL_BUSY));
	return err == -EINTR ? err : 0;
}

static void dd_remote_describe(struct dd_access *a, struct dd_importer *to)
{
	const struct dd_remote *r = dd_remote_access(a)->r;

	to->count = READ_ONCE(a->chan.received);
	to->pid = r->pid;
	to->uid = from_kuid_munged(current_user_ns(), make_kuid(&init_user_ns, r->uid));
}

static const struct dd_access_ops dd_remote_access_ops = {
	.get = dd_remote_import_get,
	.put = dd_remote_import_put,
	.revoked = dd_remote_revoked,
	.finish = dd_remote_access_finish,
	.describe = dd_remote_describe,
};

/* Open the channel. After success, dd_access_revoke() may end @f at any time. */
static int dd_remote_open(struct dd_remote_access *f, struct dd_export *exp, u64 session,
			  const struct dd_ctl_query *query, const struct dd_remote_import_ask *ask,
			  struct dd_remote_granted *grant)
{
	u32 window = exp->seg.list ? exp->window : 0;
	u32 most = le16_to_cpu(ask->depth);
	/* The owner pays for this many, so the owner decides, not the importer. */
	u32 depth = min(most, exp->window ?: DD_DEPTH_USUAL);
	struct dd_tp_chan_cfg cfg = {
		.peer_id = le64_to_cpu(query->chan),
		.rx_size = max_t(u64, exp->seg.mem.length, DD_WIRE_NOTE_MAX),
		.rx_window = depth,
		.tx_window = most,
		.one_sided = true,
		.generation = lower_32_bits(exp->seg.generation),
	};
	int err;

	f->a.member.place.uid = f->a.member.id.uid;
	f->a.member.place.from = f->a.member.id.node + 1;
	err = dd_access_grant(&f->a, exp);
	if (err)
		return err;
	err = dd_remote_register(f->r) ?:
	      dd_remote_ops_make(f->r, exp->obj.ctx, depth - 1) ?:
	      dd_remote_join(f->r, NULL, &f->a.chan, &cfg, session);
	if (!err) {
		dd_remote_link(f->r);
		err = dd_export_join(exp, &f->a.member, &f->a.chan);
	}
	if (err) {
		dd_access_ungrant(&f->a);
		return err;
	}
	*grant = (struct dd_remote_granted){
		.length = cpu_to_le64(exp->seg.mem.length),
		.generation = cpu_to_le64(exp->seg.generation),
		.uid = cpu_to_le32(from_kuid_munged(&init_user_ns, exp->seg.uid)),
		.depth = cpu_to_le16(depth),
		.window = cpu_to_le16(window),
		.rights = f->a.member.id.rights,
	};
	return 0;
}

/* Grant a channel to @exp. The owner's user and memcg are charged. */
static int dd_remote_grant(struct dd_peer *peer, struct dd_export *exp, u64 session,
			   const struct dd_importer_id *id, const struct dd_ctl_query *query,
			   const struct dd_remote_import_ask *ask, struct dd_ctl_answer *answer)
{
	size_t size = sizeof(struct dd_remote_access) + sizeof(struct dd_remote);
	struct dd_ctx *ctx = exp->obj.ctx;
	struct dd_remote_access *f;
	struct dd_remote_granted grant;
	struct dd_remote *r;
	int err;

	if (dd_charge(ctx, size))
		return -ENOMEM;
	f = kzalloc(sizeof(*f), dd_gfp(ctx));
	r = f ? dd_remote_alloc(peer, &dd_link_remote) : NULL;
	if (!r) {
		kfree(f);
		dd_uncharge(ctx, size);
		return -ENOMEM;
	}
	dd_access_init(&f->a, &dd_remote_access_ops);
	f->a.member.id = *id;
	f->r = r;
	r->pid = le32_to_cpu(ask->pid);
	r->uid = le32_to_cpu(ask->uid);
	/* The channel, until it is revoked, and this function hold a reference each. */
	refcount_set(&f->ref, 2);
	err = dd_remote_open(f, exp, session, query, ask, &grant);
	if (err) {
		dd_remote_break(f->r, 0, false);
		dd_remote_import_put(&f->a);
	} else {
		dd_remote_go(f->r);
		answer->chan = cpu_to_le64(f->r->id);
		answer->head.len = cpu_to_le16(sizeof(grant));
		memcpy(answer->body, &grant, sizeof(grant));
	}
	dd_remote_import_put(&f->a);
	return err;
}

static int dd_remote_serve(struct dd_peer *peer, u64 session, const struct dd_ctl_query *query,
			   const struct dd_remote_import_ask *ask, struct dd_ctl_answer *answer)
{
	const struct dd_importer_id id = {
		.uid = make_kuid(&init_user_ns, le32_to_cpu(ask->uid)),
		.node = peer->number, .rights = ask->rights, .may = ask->may,
		.guessed = query->head.class == DD_SEGMENT_ID && !ask->named,
	};
	struct mem_cgroup *before;
	struct dd_export *exp;
	int err;

	exp = READ_ONCE(peer->node->up) ?
	      dd_export_get(peer->node, query->head.class, query->key) : NULL;
	if (!exp)
		return -ECONNREFUSED;
	err = dd_export_permit(exp, &id);
	if (!err) {
		before = dd_owner_enter(exp->obj.ctx);
		err = dd_remote_grant(peer, exp, session, &id, query, ask, answer);
		dd_owner_leave(before);
	}
	dd_export_put(exp);
	return err;
}

static int dd_remote_lookup(struct dd_peer *peer, u64 session, const struct dd_ctl_query *query,
			    struct dd_ctl_answer *answer)
{
	struct dd_remote_import_ask ask;
	int err;

	memcpy(&ask, query->body, sizeof(ask));
	if (le16_to_cpu(query->head.len) < sizeof(ask) || !query->chan || !ask.rights ||
	    ask.park > 1 || (ask.park && query->head.class == DD_SEGMENT_ID) || ask.named > 1 ||
	    ask.may > 1 || ask.rights & ~DD_RIGHTS || !ask.depth ||
	    le16_to_cpu(ask.depth) > DD_DEPTH_MAX || dd_remote_supported(peer))
		return -EBADMSG;
	err = dd_remote_serve(peer, session, query, &ask, answer);
	/* A node that is down refuses the query: it exports no segments. */
	if (err == -ECONNREFUSED && ask.park && READ_ONCE(peer->node->up))
		return dd_ctl_park(peer, session, query, answer,
				   make_kuid(&init_user_ns, le32_to_cpu(ask.uid)));
	return err;
}

/* Call this before any peer exists. */
void dd_remote_init(void)
{
	int class;

	for (class = DD_SEGMENT_NAME; class <= DD_SEGMENT_WELL_KNOWN; class++)
		dd_ctl_register(class, dd_remote_lookup);
}
