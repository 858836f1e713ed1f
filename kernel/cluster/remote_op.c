// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests to another node, at the importer. Each request becomes a message of the transport;
 * a reply carries the result of a GET or CAS.
 *
 * The other end has an entry for the reply of each request that an importer may have under
 * way. Lock order: the proxy's lock, the peer's lock.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "cluster/ctl.h"
#include "cluster/peer.h"
#include "cluster/remote.h"
#include "core/charge.h"
#include "core/completion.h"
#include "core/copy.h"
#include "core/deposit.h"
#include "core/hooks.h"
#include "core/page.h"
#include "core/pin.h"
#include "core/pin_cache.h"
#include "core/submit.h"
#include "udp/session.h"

/**
 * struct dd_bounce - copy of a message whose source is not wired memory
 * @later: frees a copy of many pages
 * @ctx: the sender, which is charged. The import holds a reference, or @later does
 * @most: number of pages that are charged
 * @n: number of pages
 * @at: offset of the first byte in the first page: equals its offset in a word of user memory,
 *	so that words remain aligned
 * @page: the pages
 */
struct dd_bounce {
	struct dd_later later;
	struct dd_ctx *ctx;
	u32 most;
	u32 n;
	u32 at;
	struct page *page[];
};

#define DD_BOUNCE_FEW	64	/* pages that are freed at once, in any context */

static size_t dd_bounce_size(u32 pages)
{
	return struct_size((struct dd_bounce *)NULL, page, pages) + ((size_t)pages << PAGE_SHIFT);
}

static void dd_bounce_free(struct dd_bounce *copy)
{
	struct dd_ctx *ctx = copy->ctx;
	u32 most = copy->most;

	while (copy->n) {
		put_page(copy->page[--copy->n]);
		if (copy->n && !(copy->n % DD_BOUNCE_FEW))
			cond_resched();
	}
	kvfree(copy);
	dd_uncharge(ctx, dd_bounce_size(most));
}

static void dd_bounce_free_later(struct dd_later *later)
{
	dd_bounce_free(container_of(later, struct dd_bounce, later));
}

/*
 * Release the source of a message, which the transport does not read any more. A copy may have
 * half a million pages and the peer is locked, so a worker frees large copies.
 */
void dd_remote_op_end(struct dd_remote_op *op)
{
	if (op->region)
		dd_region_put_later(op->region);
	op->region = NULL;
	if (op->copy && op->copy->n <= DD_BOUNCE_FEW)
		dd_bounce_free(op->copy);
	else if (op->copy)
		dd_ctx_later(op->copy->ctx, &op->copy->later);
	op->copy = NULL;
}

static u8 *dd_remote_result(const struct dd_import *imp, u64 n)
{
	return &container_of(imp->cs, struct dd_mem_state, cs)->result[n % DD_RESULTS];
}

/*
 * Prepare a request other than a plain PUT. A GET or CAS is an empty message, and the reply is
 * stored in its local memory. A NOTE is sent like a PUT.
 */
static int dd_remote_ask(struct dd_remote *r, struct dd_remote_op *rop, const struct dd_op *op)
{
	struct dd_tp_msg *msg = &rop->tp.msg;
	struct dd_completion *c = NULL;

	if (op->sqe.flags & DD_SQE_NOTIFY_SELF) {
		c = dd_completion_find(r->imp, op->sqe.list);
		if (!c)
			return -ENOENT;
		if (!dd_completion_space(c))
			return -EAGAIN;
	}
	rop->completion = c;
	rop->len = op->sqe.len;
	if (op->sqe.opcode == DD_OP_PUT)
		return 0;
	if (op->sqe.opcode == DD_OP_NOTE) {
		msg->op = DD_WIRE_NOTE;
		msg->flags = DD_PUT_NOTIFY;
		return 0;
	}
	msg->len = 0;
	rop->status = op->sqe.flags & DD_SQE_STATUS;
	rop->awaited = true;
	if (op->sqe.opcode == DD_OP_GET) {
		msg->op = DD_WIRE_GET;
		msg->meta_count = 2;
		msg->meta[0] = op->sqe.len;
		msg->meta[1] = op->src & 7;
		msg->meta[2] = 0;
		msg->meta[3] = 0;
	} else {
		msg->op = op->sqe.len == sizeof(u32) ? DD_WIRE_CAS4 : DD_WIRE_CAS8;
	}
	return 0;
}

/*
 * Pass a request to the transport; the import is locked and alive. The transport may
 * transmit it at any time, and does so at dd_remote_flush().
 */
static int dd_remote_queue(struct dd_import *imp, struct dd_op *op,
			   struct dd_bounce *copy)
{
	struct dd_remote *r = dd_remote_of_import(imp);
	u64 n = imp->submitted + 1;
	struct dd_remote_op *rop = &r->op[n % r->nops];
	struct dd_tp_msg *msg = &rop->tp.msg;
	const struct dd_sqe *sqe = &op->sqe;
	int err = -EBUSY;

	dd_ctl_lock(r->peer);
	if (n - imp->done > r->nops)
		goto out;
	/* The peer could execute this request before it sends the bytes of an earlier GET. */
	if (unlikely(r->gets) && sqe->opcode != DD_OP_GET)
		goto out;
	/* Message n - nops is done, so the transport does not use its entry any more. */
	msg->dst = sqe->dst;
	msg->len = sqe->len;
	msg->op = DD_WIRE_PUT;
	msg->flags = sqe->flags & DD_SQE_NOTIFY ? DD_PUT_NOTIFY : 0;
	msg->meta_count = sqe->meta_count;
	msg->tag = sqe->tag;
	memcpy(msg->meta, sqe->meta, sizeof(msg->meta));
	rop->src = op->src;
	if (unlikely(sqe->opcode != DD_OP_PUT || sqe->flags & DD_SQE_NOTIFY_SELF)) {
		err = dd_remote_ask(r, rop, op);
		if (err)
			goto out;
	}
	rop->copy = copy;
	rop->region = copy ? NULL : op->region;
	err = dd_tp_submit(dd_ctl_tp(r->peer), &r->chan, &rop->tp);
	if (err) {
		rop->region = NULL;
		rop->copy = NULL;
		rop->awaited = false;
		rop->completion = NULL;
		err = err == -ENOTCONN ? -ECONNRESET : err;
		goto out;
	}
	/* The message takes over the request's reference, or gets its own. */
	if (rop->region && !op->held)
		refcount_inc(&rop->region->obj.users);
	op->held = NULL;
	if (!r->own) {
		WRITE_ONCE(*dd_remote_result(imp, n), rop->awaited ? DD_RESULT_AWAITED : 0);
		if (rop->completion) {
			rop->completion->pending++;
			r->notes++;
		}
	}
	if (unlikely(rop->awaited)) {
		r->awaited++;
		r->gets += msg->op == DD_WIRE_GET;
	}
	if (copy)
		dd_ctl_link(r->peer)->stats.tx_copied += sqe->len;
	/* Store this before unlocking: afterwards the message may be reported as sent or done. */
	WRITE_ONCE(imp->submitted, n);
	WRITE_ONCE(imp->cs->submitted, n);
out:
	dd_ctl_unlock_quiet(r->peer);
	return err;
}

/* Check rights, and bounds in @size bytes; the other node does so again. */
static int remote_request(struct dd_import *imp, struct dd_op *op, u8 right, u64 size)
{
	if (unlikely(!(imp->chan->rights & right)))
		return -EACCES;
	if (unlikely(!dd_in_bounds(op->sqe.dst, op->sqe.len, size)))
		return -ERANGE;
	if (!op->region && op->sqe.len)
		return -EINPROGRESS;
	return dd_remote_queue(imp, op, NULL);
}

static int remote_put(struct dd_import *imp, struct dd_op *op)
{
	return remote_request(imp, op, DD_RIGHT_PUT, imp->size);
}

static int remote_get(struct dd_import *imp, struct dd_op *op)
{
	return remote_request(imp, op, DD_RIGHT_GET, imp->size);
}

static int remote_cas(struct dd_import *imp, struct dd_op *op)
{
	return remote_request(imp, op, DD_RIGHT_CAS, imp->size);
}

static int remote_note(struct dd_import *imp, struct dd_op *op)
{
	return remote_request(imp, op, DD_RIGHT_PUT, DD_PAYLOAD_MAX);
}

static bool dd_remote_same(const struct dd_import *a, const struct dd_import *b)
{
	return dd_remote_of_import(a)->peer == dd_remote_of_import(b)->peer;
}

static void dd_remote_flush(struct dd_import *imp)
{
	struct dd_remote *r = dd_remote_of_import(imp);

	dd_ctl_lock(r->peer);
	dd_ctl_unlock(r->peer);
}

/* @to has the alignment of @from. Copy each word as a whole: a process may store to it. */
static int dd_bounce_copy(void *to, const void __user *from, size_t len)
{
	size_t lead = dd_copy_lead(to, len), tail = (len - lead) & 7, end = len - tail;

	return dd_load_user(to, from, lead) ||
	       copy_from_user(to + lead, from + lead, end - lead) ||
	       dd_load_user(to + end, from + end, tail) ? -EFAULT : 0;
}

static struct dd_bounce *dd_bounce_alloc(struct dd_ctx *ctx, u32 pages)
{
	struct dd_bounce *copy;
	int err;

	err = dd_charge(ctx, dd_bounce_size(pages));
	if (err)
		return ERR_PTR(err);
	copy = kvzalloc(struct_size(copy, page, pages), DD_GFP);
	if (!copy) {
		dd_uncharge(ctx, dd_bounce_size(pages));
		return ERR_PTR(-ENOMEM);
	}
	copy->later.free = dd_bounce_free_later;
	copy->ctx = ctx;
	copy->most = pages;
	return copy;
}

/* Copy the source of a message. */
static struct dd_bounce *dd_bounce_get(struct dd_ctx *ctx, const struct dd_op *op)
{
	u32 at = (unsigned long)op->user & 7;
	struct dd_bounce *copy = dd_bounce_alloc(ctx, DIV_ROUND_UP(at + op->sqe.len, PAGE_SIZE));
	size_t done = 0, len;
	struct page *page;
	int err = 0;

	if (IS_ERR(copy))
		return copy;
	copy->at = at;
	while (copy->n < copy->most && !err) {
		page = alloc_page(DD_GFP);
		if (!page) {
			err = -ENOMEM;
			break;
		}
		copy->page[copy->n++] = page;
		len = min_t(size_t, op->sqe.len - done, PAGE_SIZE - at);
		err = dd_bounce_copy(page_address(page) + at, op->user + done, len);
		done += len;
		at = 0;
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
		cond_resched();
	}
	if (!err)
		return copy;
	dd_bounce_free(copy);
	return ERR_PTR(err);
}

/* Queue and transmit a request; dd_import.busy is set, the import is not locked. */
static int dd_remote_queue_slow(struct dd_import *imp, struct dd_op *op,
				struct dd_bounce *copy)
{
	struct dd_channel *ch = imp->chan;
	int err;

	local_bh_disable();
	spin_lock(&ch->lock);
	err = ch->dead ? -ECONNRESET : dd_remote_queue(imp, op, copy);
	spin_unlock(&ch->lock);
	if (!err)
		dd_remote_flush(imp);
	local_bh_enable();
	return err;
}

/* Send a copy of a source that is not wired. */
static int dd_remote_send_copy(struct dd_import *imp, struct dd_op *op)
{
	struct dd_bounce *copy = dd_bounce_get(imp->obj.ctx, op);
	int err;

	if (IS_ERR(copy))
		return PTR_ERR(copy);
	err = dd_remote_queue_slow(imp, op, copy);
	if (err)
		dd_bounce_free(copy);
	return err;
}

/* Pin the memory for the result of a GET or CAS until the reply has come. */
static int dd_remote_ask_pinned(struct dd_import *imp, struct dd_op *op)
{
	u64 to = (unsigned long)op->user;

	op->region = dd_region_pin_user(imp->obj.ctx, to, op->sqe.len);
	if (IS_ERR(op->region))
		return PTR_ERR(op->region);
	op->held = op->region;
	op->src = offset_in_page(to);
	return dd_remote_queue_slow(imp, op, NULL);
}

/*
 * Use pages that are pinned, now or for an earlier request, rather than copy them. The caller
 * does not change a source without DD_SQE_REGION only until the call returns.
 */
static bool dd_remote_pinned(struct dd_import *imp, struct dd_op *op)
{
	bool get = op->sqe.opcode == DD_OP_GET;

	if (op->sqe.len < DD_PIN_CACHE_MIN || !(get || op->sqe.flags & DD_SQE_REGION))
		return false;
	op->held = dd_pin_cache_get(imp->obj.ctx, (unsigned long)op->user, op->sqe.len, get,
				    &op->src);
	op->region = op->held;
	return op->held;
}

/*
 * A request whose local memory is not wired. If its user has reached the limit while earlier
 * requests of the import are under way, the caller may wait until those are done.
 */
static int dd_remote_slow(struct dd_import *imp, struct dd_op *op)
{
	bool busy = READ_ONCE(imp->submitted) != READ_ONCE(imp->done);
	int err;

	if (dd_nic_wire(imp, op) || dd_remote_pinned(imp, op))
		return dd_remote_queue_slow(imp, op, NULL);
	err = op->sqe.opcode == DD_OP_GET || op->sqe.opcode == DD_OP_CAS ?
	      dd_remote_ask_pinned(imp, op) : dd_remote_send_copy(imp, op);
	return err == -EDQUOT && busy ? -EBUSY : err;
}

/* A withheld note was posted; the own channel is locked. */
static void dd_remote_posted(struct dd_channel *ch)
{
	struct dd_remote *r = ch->importer;

	WRITE_ONCE(r->posted, ch->received);
}

/**
 * dd_remote_report() - report posted notes to the peer
 * @ch: the own channel, not locked; the caller holds a reference or is in an RCU
 *	read-side section
 */
void dd_remote_report(struct dd_channel *ch)
{
	struct dd_remote *r = ch->importer;

	dd_ctl_lock(r->peer);
	if (r->registered && r->chan.up) {
		dd_tp_notified(dd_ctl_tp(r->peer), &r->chan, READ_ONCE(r->posted));
		dd_tp_chan_hurry(dd_ctl_tp(r->peer), &r->chan);
	}
	dd_ctl_unlock(r->peer);
}

/**
 * dd_remote_await() - the caller is about to wait for a counter of the state
 * @imp: the import, not locked; the caller holds a reference
 */
void dd_remote_await(struct dd_import *imp)
{
	struct dd_remote *r = dd_remote_of_import(imp);

	dd_ctl_lock(r->peer);
	if (r->registered)
		dd_tp_chan_await(dd_ctl_tp(r->peer), &r->chan);
	dd_ctl_unlock(r->peer);
}

/* Post the notes that were not posted because their slots were being moved. */
static void dd_remote_renotify(struct dd_import *imp)
{
	struct dd_remote *r = dd_remote_of_import(imp);

	dd_ctl_lock(r->peer);
	if (r->registered)
		dd_remote_advance(r);
	dd_ctl_unlock(r->peer);
}

const struct dd_link_ops dd_link_remote = {
	.op = {
		[DD_OP_PUT] = remote_put,
		[DD_OP_GET] = remote_get,
		[DD_OP_CAS] = remote_cas,
		[DD_OP_NOTE] = remote_note,
	},
	.slow = { [DD_OP_PUT ... DD_OP_NOTE] = dd_remote_slow },
	.flush = dd_remote_flush,
	.same = dd_remote_same,
	.await = dd_remote_await,
	.renotify = dd_remote_renotify,
	.posted = dd_remote_posted,
	.report = dd_remote_report,
};

const struct dd_link_ops dd_link_remote_put = {
	.op[DD_OP_PUT] = remote_put,
	.slow[DD_OP_PUT] = dd_remote_slow,
	.flush = dd_remote_flush,
	.same = dd_remote_same,
	.await = dd_remote_await,
	.posted = dd_remote_posted,
	.report = dd_remote_report,
};

/* ---- callbacks of the transport, with the peer locked ----------------------- */

/*
 * Find the GET that the reply @msg answers: the first request without a reply. Returns NULL if
 * the reply does not match that request.
 */
struct dd_remote_op *dd_remote_asked(struct dd_remote *r, const struct dd_tp_msg *msg)
{
	struct dd_remote_op *op;
	u64 n;

	if (!r->awaited || !(msg->flags & DD_PUT_REPLY))
		return NULL;
	/* The loop ends: at least one submitted request awaits a reply. */
	for (n = r->imp->done + 1; !r->op[n % r->nops].awaited; n++)
		;
	op = &r->op[n % r->nops];
	return msg->op == DD_WIRE_GET && op->tp.msg.op == DD_WIRE_GET &&
	       msg->len == op->len && msg->dst == (op->src & 7) ? op : NULL;
}

static void dd_remote_count(struct dd_import *imp, u64 n)
{
	if (n == imp->done)
		return;
	WRITE_ONCE(imp->done, n);
	/* Release: a thread that reads the counter also reads the results. */
	smp_store_release(&imp->cs->done, n);
	dd_ctx_wake(imp->obj.ctx);
}

/**
 * dd_remote_completion_claim() - prepare the note to the importer of a request that is over
 * @r: the state. Either the peer is locked, or the import is broken and its list is locked
 * @n: number of the request; its dd_remote_op.completion is set
 * @due: (out) the note, for dd_deposit_notify()
 *
 * Return: see dd_completion_claim(); always true if the list is locked.
 */
bool dd_remote_completion_claim(struct dd_remote *r, u64 n, struct dd_due *due)
{
	struct dd_remote_op *op = &r->op[n % r->nops];
	const struct dd_tp_msg *msg = &op->tp.msg;
	struct dd_completion *c = op->completion;

	c->note.op = msg->op == DD_WIRE_PUT ? DD_OP_PUT :
		    msg->op == DD_WIRE_NOTE ? DD_OP_NOTE :
		    msg->op == DD_WIRE_GET ? DD_OP_GET : DD_OP_CAS;
	c->note.offset = msg->dst;
	c->note.len = op->len;
	c->note.tag = msg->tag;
	c->note.msgid = n;
	c->note.error = READ_ONCE(*dd_remote_result(r->imp, n));
	if (!dd_completion_claim(c, due))
		return false;
	op->completion = NULL;
	c->pending--;
	r->notes--;
	return true;
}

/* Post the notes to the importer that are due. Returns the number of the last done request. */
static u64 dd_remote_done_until(struct dd_remote *r)
{
	struct dd_import *imp = r->imp;
	u64 n = imp->done;
	struct dd_due due;

	while (n < r->confirmed && !r->op[(n + 1) % r->nops].awaited) {
		if (r->op[++n % r->nops].completion) {
			/* While @n is not done, its entry is not used again. */
			if (!dd_remote_completion_claim(r, n, &due))
				return n - 1;
			dd_remote_count(imp, n);
			dd_deposit_notify(&due);
		}
	}
	return n;
}

/* Count the requests that are done: in order, and none before its reply has arrived. */
void dd_remote_advance(struct dd_remote *r)
{
	u64 n = r->confirmed;

	if (unlikely(r->awaited | r->notes))
		n = dd_remote_done_until(r);
	dd_remote_count(r->imp, n);
}

/* Store the result of a GET or CAS; returns its errno. */
static u8 dd_remote_store_result(struct dd_remote *r, struct dd_remote_op *op,
				 const struct dd_tp_msg *msg, const u8 *tail, u32 ntail)
{
	u8 err = min_t(u32, msg->meta[1], DD_RESULT_AWAITED - 1);
	size_t left;

	if (err)
		return err;
	if (msg->op != DD_WIRE_GET)
		dd_swap_result(dd_region_addr(op->region, op->src, &left), op->len,
			       dd_meta_word(msg->meta + 2), op->tp.msg.meta, op->status);
	else if (dd_remote_asked(r, msg) != op)
		err = EIO;
	else if (ntail)
		dd_copy_final(dd_region_addr(op->region, op->src + op->len - ntail, &left),
			      tail, ntail);
	return err;
}

/* A reply is complete. Ignore a reply that answers no request. */
void dd_remote_replied(struct dd_remote *r, const struct dd_tp_msg *msg,
		       const u8 *tail, u32 ntail)
{
	struct dd_import *imp = r->imp;
	bool only_refused = msg->op == DD_WIRE_PUT || msg->op == DD_WIRE_NOTE;
	struct dd_remote_op *op;
	u64 n;

	n = imp->done + (u32)(msg->meta[0] - lower_32_bits(imp->done));
	op = &r->op[n % r->nops];
	if (n == imp->done || n > imp->submitted || op->tp.msg.op != msg->op ||
	    op->awaited == only_refused)
		return;
	if (!op->awaited) {
		WRITE_ONCE(*dd_remote_result(imp, n),
			   min_t(u32, msg->meta[1], DD_RESULT_AWAITED - 1));
		return;
	}
	/* Release: a thread that reads the result also reads the bytes of the reply. */
	smp_store_release(dd_remote_result(imp, n),
			  dd_remote_store_result(r, op, msg, tail, ntail));
	op->awaited = false;
	r->awaited--;
	r->gets -= msg->op == DD_WIRE_GET;
	dd_remote_op_end(op);
	dd_remote_advance(r);
}

const void *dd_remote_source(struct dd_udp_peer *link, struct dd_tp_op *op, u32 off,
			     u32 *left)
{
	struct dd_remote_op *rop = container_of(op, struct dd_remote_op, tp);
	const void *from;
	size_t n;

	if (rop->copy) {
		off += rop->copy->at;
		*left = PAGE_SIZE - offset_in_page(off);
		return page_address(rop->copy->page[off >> PAGE_SHIFT]) +
		       offset_in_page(off);
	}
	from = dd_region_addr(rop->region, rop->src + off, &n);
	*left = dd_region_pinned(rop->region) ? n : dd_page_left(from);
	return from;
}
