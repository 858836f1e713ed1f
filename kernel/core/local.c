// SPDX-License-Identifier: GPL-2.0-only
/*
 * The local link: one copy, from the sender's pages to the receiver's, in the context of
 * the sender. The channel is locked for a bounded number of bytes at a time, and
 * never while the sender may sleep.
 */
#include <linux/pagemap.h>
#include <linux/sched/signal.h>

#include "core/completion.h"
#include "core/copy.h"
#include "core/deposit.h"
#include "core/hooks.h"
#include "core/local.h"
#include "core/notelist.h"
#include "core/submit.h"
#include "core/trace.h"

#define DD_LOCAL_FEW	32	/* words that are copied twice rather than by the slow path */

/*
 * Copy the last bytes of a message. A page of the source ends after @n of them, within the last
 * word, which is stored at once even so; @rest is in the next page.
 */
static noinline u64 copy_last_apart(void *dst, const void *src, size_t n, const void *rest,
				    size_t len)
{
	size_t at = len - dd_copy_last(dst, len);
	u8 word[8] __aligned(8);

	dd_copy_words(dst, src, at);
	memcpy(word, src + at, n - at);
	memcpy(word + n - at, rest, len - n);
	return dd_copy_final(dst + at, word, len - at);
}

/*
 * Copy bytes of @from at @off to @to at @at. Returns as dd_copy_final() if they are the @last ones
 * of the message, else 0.
 */
static __always_inline u64 local_copy(struct dd_region *to, u64 at,
				      const struct dd_region *from, u64 off, size_t len,
				      bool last)
{
	size_t n, left;
	void *dst, *src;

	if (unlikely(!len))
		return 0;
	for (;; len -= n, at += n, off += n) {
		dst = dd_region_addr(to, at, &n);
		src = dd_region_addr(from, off, &left);
		n = min(n, left);
		if (likely(len <= n))
			break;
		if (unlikely(last && n + dd_copy_last(dst, len) > len))
			return copy_last_apart(dst, src, n, dd_region_addr(from, off + n, &left),
					       len);
		dd_copy_words(dst, src, n);
	}
	if (likely(last))
		return dd_copy_message(dst, src, len);
	dd_copy_words(dst, src, len);
	return 0;
}

/* Copy from wired or user memory. Returns the number of bytes copied. */
static size_t local_piece(struct dd_op *op, const struct dd_place *p)
{
	size_t missing;

	if (!(op->sqe.flags & DD_SQE_UNWIRED)) {
		op->word = local_copy(p->region, p->at, op->region, op->src + op->done, p->len,
				      op->done + p->len == op->sqe.len);
		return p->len;
	}
	missing = dd_deposit_write_user(p->region, p->at, op->user + op->done, p->len,
					op->done + p->len == op->sqe.len, &op->word);
	if (unlikely(p->redir))
		p->redir->count -= missing;
	return p->len - missing;
}

static __always_inline void local_fill(struct dd_note *to, const void *arg)
{
	const struct dd_op *op = arg;

	to->op = op->sqe.opcode;
	to->meta_count = op->sqe.meta_count;
	to->offset = op->sqe.dst;
	to->len = op->sqe.len;
	to->word = op->word;
	to->tag = op->sqe.tag;
	/* The words are in another cache line: write them only if they are valid. */
	if (op->sqe.meta_count)
		memcpy(to->meta, op->sqe.meta, sizeof(to->meta));
}

/*
 * If the last request of an import is done and asked for a note to the importer, post that
 * note. The channel is locked.
 */
static void local_notify(struct dd_import *imp)
{
	struct dd_completion *c = imp->due;
	struct dd_due due;

	if (!c || c->ended || imp->done != imp->submitted || !dd_completion_claim(c, &due))
		return;
	imp->due = NULL;
	dd_deposit_notify(&due);
}

static void local_renotify(struct dd_import *imp)
{
	spin_lock(&imp->chan->lock);
	local_notify(imp);
	spin_unlock(&imp->chan->lock);
}

/*
 * A request with DD_SQE_NOTIFY_SELF was executed. If its note to the exporter is withheld, it
 * is not done: local_posted().
 */
static void local_executed(struct dd_import *imp, const struct dd_op *op)
{
	struct dd_completion *c = dd_completion_find(imp, op->sqe.list);

	c->note.op = op->sqe.opcode;
	c->note.offset = op->sqe.dst;
	c->note.len = op->sqe.len;
	c->note.tag = op->sqe.tag;
	c->note.msgid = imp->submitted;
	imp->due = c;
	local_notify(imp);
}

/* Account request @n, which was executed. @done: its note, if any, is posted. */
static __always_inline void local_account(struct dd_import *imp, const struct dd_op *op,
					  u64 n, bool done)
{
	struct dd_conn_state *cs = imp->cs;

	/* A thread that sees any of the counters sees the bytes. */
	smp_wmb();
	WRITE_ONCE(imp->submitted, n);
	WRITE_ONCE(imp->sent, n);
	if (likely(done)) {
		WRITE_ONCE(imp->done, n);
		WRITE_ONCE(cs->done, n);
	}
	/* state->submitted is last: a thread that sees it relies on the others. */
	WRITE_ONCE(cs->sent, n);
	WRITE_ONCE(cs->submitted, n);
	dd_stat_add(imp->obj.ctx->node, DD_STAT_BYTES, op->sqe.len);
	if (unlikely(op->sqe.flags & DD_SQE_NOTIFY_SELF))
		local_executed(imp, op);
}

/* Notify the receiver of a PUT or CAS, and account it. */
static __always_inline void local_finish(struct dd_import *imp,
					 const struct dd_op *op)
{
	u64 n = imp->submitted + 1;
	struct dd_due due;
	bool done;

	done = dd_deposit_done(imp->chan, n, op->sqe.flags & DD_SQE_NOTIFY, local_fill, op,
			       &due);
	/* The lock keeps the list. */
	if (likely(done) && likely(due.note))
		dd_deposit_notify(&due);
	local_account(imp, op, n, done);
	trace_dd_deposit(imp, op, n);
}

/*
 * Whether a request may be executed. None is while the note of an earlier message is withheld:
 * that message is not done, and requests of an import are done in their order.
 */
static __always_inline int local_ready(struct dd_import *imp, const struct dd_op *op)
{
	struct dd_channel *ch = imp->chan;
	struct dd_completion *c;

	if (unlikely(ch->withheld) && !dd_channel_retry(ch))
		return -EBUSY;
	if (likely(!(op->sqe.flags & DD_SQE_NOTIFY_SELF)))
		return 0;
	c = dd_completion_find(imp, op->sqe.list);
	if (!c)
		return -ENOENT;
	if (imp->due)
		return -EBUSY;
	return dd_completion_space(c) ? 0 : -EAGAIN;
}

/*
 * Copy few whole words of user memory, if it is present. All are loaded before one is stored:
 * after a fault the target is as it was, and the slow path decides.
 */
static bool local_copy_user(struct dd_channel *ch, struct dd_op *op, u64 at)
{
	u64 words[DD_LOCAL_FEW] __uninitialized;
	size_t len = op->sqe.len, left, i;
	void *to = words, *dst;

	dst = dd_region_addr(ch->seg->mem.region, at, &left);
	if (!len || len > min(left, sizeof(words)) || (len | at) % sizeof(u64))
		return false;
	pagefault_disable();
	if (!user_read_access_begin(op->user, len))
		goto err;
	/* By a pointer: a check of an index must not run while user memory is accessible. */
	for (i = 0; i < len; i += sizeof(u64))
		unsafe_get_user(*(u64 *)(to + i), (const u64 __user *)(op->user + i), err_access);
	user_read_access_end();
	pagefault_enable();
	op->word = dd_copy_message(dst, words, len);
	return true;

err_access:
	user_read_access_end();
err:
	pagefault_enable();
	return false;
}

/* If the pieces may have places of their own, the slow path finds them. */
static int local_put(struct dd_import *imp, struct dd_op *op)
{
	struct dd_channel *ch = imp->chan;
	u64 len = op->sqe.len, at;
	int err;

	err = dd_deposit_at(ch, DD_RIGHT_PUT, op->sqe.dst, len, &at);
	if (likely(!err))
		err = local_ready(imp, op);
	if (unlikely(err))
		return err;
	if (unlikely(ch->seg->flags & DD_SEGMENT_SPLIT || len > DD_COPY_CHUNK))
		return -EINPROGRESS;
	if (likely(!(op->sqe.flags & DD_SQE_UNWIRED)))
		op->word = local_copy(ch->seg->mem.region, at, op->region, op->src, len, true);
	else if (!local_copy_user(ch, op, at))
		return -EINPROGRESS;
	local_finish(imp, op);
	return 0;
}

/*
 * Between two pieces, with nothing locked: fault in the next bytes of user memory,
 * reschedule, and check for a fatal signal. The last bytes of a PUT are copied at once, so
 * as many must be readable.
 */
static int local_pause(const struct dd_op *op)
{
	size_t want = min_t(u64, op->sqe.len - op->done, DD_COPY_CHUNK);
	void __user *at = (void __user *)op->user + op->done;

	if (op->sqe.flags & DD_SQE_UNWIRED &&
	    (op->sqe.opcode == DD_OP_GET ? fault_in_safe_writeable(at, want) == want :
	     fault_in_readable(at, want) == want ||
	     fault_in_readable(at, min_t(size_t, want, 16))))
		return -EFAULT;
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/*
 * Deposit the last @ntail bytes of a message; a redirection or a page may begin within them.
 * Returns -EAGAIN if a page of the source is not present.
 */
static int local_tail(struct dd_channel *ch, struct dd_op *op, struct dd_place *p,
		      size_t ntail)
{
	u64 off = op->sqe.len - ntail;
	u8 tail[16] __aligned(8);
	size_t left, n;
	int err = 0;
	void *src;

	if (op->sqe.flags & DD_SQE_UNWIRED) {
		pagefault_disable();
		err = dd_load_user(tail, op->user + off, ntail);
		pagefault_enable();
	} else {
		src = dd_region_addr(op->region, op->src + off, &left);
		n = min(left, ntail);
		dd_copy_words(tail, src, n);
		if (n < ntail) {
			src = dd_region_addr(op->region, op->src + off + n, &left);
			dd_copy_words(tail + n, src, ntail - n);
		}
	}
	if (err)
		return -EAGAIN;
	p->off = op->sqe.dst + off;
	return dd_deposit_tail(ch, p, tail, ntail, &op->word);
}

/* Most bytes at @off that are copied at a time: up to an aligned place. */
static size_t local_chunk(const struct dd_segment *seg, u64 off)
{
	return DD_COPY_CHUNK - ((seg->mem.offset + off) & 7);
}

/*
 * Bytes at the end of a message with its last word in the segment, and with the aligned word of
 * memory that this begins in, which is stored as a whole unless it is redirected.
 */
static size_t local_last(const struct dd_segment *seg, u64 dst, u64 len)
{
	size_t n = dd_copy_last((void *)(uintptr_t)(seg->mem.offset + dst), len);

	if (n < dd_copy_last((void *)(uintptr_t)dst, len))
		n += 8;
	return min_t(u64, n, len);
}

/*
 * Deposit all bytes of @op. Called with the channel locked; unlocks it between pieces,
 * and decides anew after each.
 */
static int local_deposit(struct dd_import *imp, struct dd_op *op)
{
	struct dd_place p = { .msgid = imp->submitted + 1, .dst = op->sqe.dst };
	struct dd_channel *ch = imp->chan;
	u64 len = op->sqe.len;
	size_t ntail = 0;
	int err;

	/* As between nodes, the last word is the one of the segment. */
	if (ch->seg->flags & DD_SEGMENT_SPLIT)
		ntail = local_last(ch->seg, p.dst, len);
	for (;;) {
		p.off = p.dst + op->done;
		p.len = min_t(u64, len - ntail - op->done, local_chunk(ch->seg, p.off));
		err = dd_deposit_place(ch, &p);
		if (err)
			return err;
		op->done += local_piece(op, &p);
		if (op->done == len - ntail) {
			err = ntail ? local_tail(ch, op, &p, ntail) : 0;
			if (err != -EAGAIN)
				return err;
		}
		spin_unlock(&ch->lock);
		err = local_pause(op);
		spin_lock(&ch->lock);
		if (err)
			return err;
	}
}

static int local_put_slow(struct dd_import *imp, struct dd_op *op)
{
	struct dd_channel *ch = imp->chan;
	int err;

	/* Refuse an unreadable source before the target is written. */
	if (op->sqe.flags & DD_SQE_UNWIRED && op->sqe.len &&
	    fault_in_readable(op->user, op->sqe.len))
		return -EFAULT;
	op->word = 0;
	op->done = 0;
	spin_lock(&ch->lock);
	err = local_deposit(imp, op);
	if (!err) {
		if (ch->seg->state)
			dd_deposit_ended(ch, imp->submitted + 1, op->sqe.dst,
					 op->sqe.len);
		local_finish(imp, op);
	}
	spin_unlock(&ch->lock);
	return err;
}

/* ---- GET, CAS and NOTE ---------------------------------------------------- */

/* Copy bytes of a page to user memory, the last word last. Returns the number not copied. */
static size_t local_store(void __user *to, const void *src, size_t len, bool last)
{
	size_t tail = dd_copy_rest((const void __force *)to, len, last);
	size_t lead = dd_copy_lead((const void __force *)to, len - tail), missing = len;

	pagefault_disable();
	if (!dd_store_user(to, src, lead)) {
		missing = __copy_to_user_inatomic(to + lead, src + lead, len - lead - tail);
		/* The last word is stored after the others. */
		smp_wmb();
		if (missing || dd_store_user(to + len - tail, src + len - tail, tail))
			missing += tail;
	}
	pagefault_enable();
	return missing;
}

/* Fetch @len bytes at @at of the segment's region. Returns whether all were copied. */
static bool local_fetch(struct dd_channel *ch, struct dd_op *op, u64 at, size_t len)
{
	size_t n, missing = 0;
	void *src;

	lockdep_assert_held(&ch->lock);
	if (op->region) {
		local_copy(op->region, op->src + op->done, ch->seg->mem.region, at, len,
			   op->done + len == op->sqe.len);
		op->done += len;
		return true;
	}
	for (; len && !missing; len -= n, at += n) {
		src = dd_region_addr(ch->seg->mem.region, at, &n);
		n = min(n, len);
		missing = local_store((void __user *)op->user + op->done, src, n,
				      op->done + n == op->sqe.len);
		op->done += n - missing;
	}
	return !missing;
}

static int local_get(struct dd_import *imp, struct dd_op *op)
{
	struct dd_channel *ch = imp->chan;
	u64 at;
	int err;

	err = local_ready(imp, op);
	if (!err)
		err = dd_deposit_at(ch, DD_RIGHT_GET, op->sqe.dst, op->sqe.len, &at);
	if (err)
		return err;
	op->done = 0;
	if (op->sqe.len > DD_COPY_CHUNK || !local_fetch(ch, op, at, op->sqe.len))
		return -EINPROGRESS;
	local_account(imp, op, imp->submitted + 1, true);
	return 0;
}

/* Like local_put_slow(), in the other direction. */
static int local_get_slow(struct dd_import *imp, struct dd_op *op)
{
	struct dd_channel *ch = imp->chan;
	u64 len = op->sqe.len, at;
	size_t n;
	int err;

	spin_lock(&ch->lock);
	for (;;) {
		n = min_t(u64, len - op->done, local_chunk(ch->seg, op->sqe.dst + op->done));
		err = dd_deposit_at(ch, DD_RIGHT_GET, op->sqe.dst + op->done, n, &at);
		if (err)
			break;
		local_fetch(ch, op, at, n);
		if (op->done == len) {
			local_account(imp, op, imp->submitted + 1, true);
			break;
		}
		spin_unlock(&ch->lock);
		err = local_pause(op);
		spin_lock(&ch->lock);
		if (err)
			break;
	}
	spin_unlock(&ch->lock);
	return err;
}

/* Store the result of a CAS at @to. */
static int local_swap(struct dd_import *imp, struct dd_op *op, void *to)
{
	size_t len = op->sqe.len;
	int err;

	err = dd_deposit_swap(imp->chan, op->sqe.dst, len, op->sqe.meta, &op->word);
	if (err)
		return err;
	dd_swap_result(to, len, op->word, op->sqe.meta, op->sqe.flags & DD_SQE_STATUS);
	/* As in local_account(). */
	smp_wmb();
	local_finish(imp, op);
	return 0;
}

static int local_cas(struct dd_import *imp, struct dd_op *op)
{
	int err = local_ready(imp, op);
	size_t left;

	if (err)
		return err;
	if (!op->region)
		return -EINPROGRESS;
	return local_swap(imp, op, dd_region_addr(op->region, op->src, &left));
}

/* Pin the page of the result first: if that fails, the word is not replaced. */
static int local_cas_slow(struct dd_import *imp, struct dd_op *op)
{
	unsigned long to = (unsigned long)op->user;
	struct dd_channel *ch = imp->chan;
	struct page *page;
	int err;

	err = pin_user_pages_fast(untagged_addr(to) & PAGE_MASK, 1, FOLL_WRITE, &page);
	if (err != 1)
		return -EFAULT;
	spin_lock(&ch->lock);
	err = local_swap(imp, op, page_address(page) + offset_in_page(to));
	spin_unlock(&ch->lock);
	unpin_user_pages_dirty_lock(&page, 1, true);
	return err;
}

static int local_note(struct dd_import *imp, struct dd_op *op)
{
	int err = local_ready(imp, op);

	return err ? err : -EINPROGRESS;
}

static int local_note_slow(struct dd_import *imp, struct dd_op *op)
{
	struct dd_channel *ch = imp->chan;
	size_t n, left, len = op->sqe.len;
	u8 payload[DD_PAYLOAD_MAX];
	struct dd_due due;
	void *from;
	int err;

	if (!op->region && copy_from_user(payload, op->user, len))
		return -EFAULT;
	for (n = 0; op->region && n < len; n += left) {
		from = dd_region_addr(op->region, op->src + n, &left);
		left = min_t(size_t, left, len - n);
		memcpy(payload + n, from, left);
	}
	op->word = 0;
	spin_lock(&ch->lock);
	err = dd_deposit_payload(ch, imp->submitted + 1, payload, len, local_fill, op, &due);
	if (!err) {
		/* The lock keeps the list. */
		dd_deposit_notify(&due);
		local_account(imp, op, imp->submitted + 1, true);
	}
	spin_unlock(&ch->lock);
	return err;
}

/* A withheld note of the import is posted. */
static void local_posted(struct dd_channel *ch)
{
	struct dd_import *imp = ch->importer;

	imp->done = imp->submitted;
	WRITE_ONCE(imp->cs->done, imp->done);
	local_notify(imp);
	dd_ctx_wake(imp->obj.ctx);
}

const struct dd_link_ops dd_link_local = {
	.op = {
		[DD_OP_PUT] = local_put,
		[DD_OP_GET] = local_get,
		[DD_OP_CAS] = local_cas,
		[DD_OP_NOTE] = local_note,
	},
	.slow = {
		[DD_OP_PUT] = local_put_slow,
		[DD_OP_GET] = local_get_slow,
		[DD_OP_CAS] = local_cas_slow,
		[DD_OP_NOTE] = local_note_slow,
	},
	.renotify = local_renotify,
	.posted = local_posted,
};

const struct dd_link_ops dd_link_local_put = {
	.op[DD_OP_PUT] = local_put,
	.slow[DD_OP_PUT] = local_put_slow,
	.posted = local_posted,
};
