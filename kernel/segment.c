// SPDX-License-Identifier: GPL-2.0-only
/*
 * Segments: windows of memory that others may write to, and grants: permissions to do so.
 *
 * All deposits, over any link, end in dd_segment_write() and dd_segment_tell(), under
 * the segment's lock. Permission and notification are decided there.
 */
#include <linux/highmem.h>
#include <linux/random.h>
#include <linux/uaccess.h>

#include "conn.h"
#include "copy.h"
#include "node.h"
#include "notelist.h"
#include "region.h"
#include "segment.h"
#include "trace.h"

void dd_segment_init(struct dd_segment *seg)
{
	spin_lock_init(&seg->lock);
	RB_CLEAR_NODE(&seg->pend);
	seg->policy = DD_POLICY_CONDITIONAL;
	seg->generation = get_random_u32();
}

void dd_grant_init(struct dd_grant *grant, struct dd_segment *seg, u16 node,
		   u8 rights)
{
	grant->id = get_random_u64();
	grant->seg = seg;
	grant->node = node;
	grant->generation = seg->generation;
	grant->rights = rights;
}

/**
 * dd_segment_write() - deposit bytes
 * @seg: the segment, locked and not dead
 * @off: byte offset in the segment, in bounds
 * @src: kernel address
 * @len: bytes, at least 1
 * @last: the bytes end the message
 *
 * Return: with @last, the last aligned word of the message, or its tail, which is
 * stored after all other bytes.
 */
u64 dd_segment_write(struct dd_segment *seg, u64 off, const void *src,
		     size_t len, bool last)
{
	u64 at = seg->mem.offset + off;
	size_t left;
	void *dst;

	lockdep_assert_held(&seg->lock);
	dst = dd_region_addr(seg->mem.region, at, &left);
	while (len > left) {
		dd_copy_words(dst, src, left);
		src += left;
		at += left;
		len -= left;
		dst = dd_region_addr(seg->mem.region, at, &left);
	}
	left = last ? dd_copy_last(dst, len) : 0;
	dd_copy_words(dst, src, len - left);
	if (!last)
		return 0;
	return dd_copy_final(dst + len - left, src + len - left, left);
}

/* dd_segment_write_user() within a page. Returns the number of bytes not copied. */
static size_t dd_copy_user(void *dst, const void __user *src, size_t len,
			   bool last, u64 *word)
{
	size_t tail = last ? dd_copy_last(dst, len) : 0;
	size_t missing;
	u8 end[8];

	pagefault_disable();
	missing = __copy_from_user_inatomic(dst, src, len - tail);
	if (missing)
		missing += tail;
	else if (tail)
		missing = __copy_from_user_inatomic(end, src + len - tail,
						    tail) ? tail : 0;
	pagefault_enable();
	if (!missing && tail)
		*word = dd_copy_final(dst + len - tail, end, tail);
	return missing;
}

/**
 * dd_segment_write_user() - deposit bytes from user memory without sleeping
 * @seg: the segment, locked and not dead
 * @off: byte offset in the segment, in bounds
 * @src: user address, checked by access_ok()
 * @len: bytes, at least 1
 * @last: the bytes end the message
 * @word: (out) see dd_segment_write()
 *
 * Return: number of bytes not copied because a page of the source is not present; the
 * caller unlocks, faults the page in and continues there.
 */
size_t dd_segment_write_user(struct dd_segment *seg, u64 off,
			     const void __user *src, size_t len, bool last,
			     u64 *word)
{
	u64 at = seg->mem.offset + off;

	lockdep_assert_held(&seg->lock);
	while (len) {
		size_t n, missing;
		void *dst = dd_region_addr(seg->mem.region, at, &n);

		n = min(n, len);
		missing = dd_copy_user(dst, src, n, last && n == len, word);
		len -= n - missing;
		if (missing)
			break;
		src += n;
		at += n;
	}
	return len;
}

static bool dd_segment_post(struct dd_segment *seg, const struct dd_rec *rec)
{
	u64 pos;

	if (!dd_credit_ok(seg->credit, dd_list_head_pos(seg->list)) ||
	    !dd_list_post(seg->list, rec, &pos))
		return false;
	dd_credit_take(seg->credit, pos);
	return true;
}

/**
 * dd_segment_withhold() - queue the note of a message until a slot is free
 * @seg: the segment, locked; the note is in @rec
 *
 * Return: true if a slot has become free meanwhile and the note is posted.
 */
bool dd_segment_withhold(struct dd_segment *seg)
{
	lockdep_assert_held(&seg->lock);
	seg->withheld = true;
	dd_stat_inc(seg->list->obj.ctx->node, DD_STAT_WITHHELD);
	return dd_list_pend(seg->list, seg) && dd_segment_retry(seg);
}

/**
 * dd_segment_retry() - post the withheld note if there is a slot now
 * @seg: the segment, locked
 *
 * Return: true if it was posted; the caller wakes the list's readers.
 */
bool dd_segment_retry(struct dd_segment *seg)
{
	lockdep_assert_held(&seg->lock);
	if (seg->dead || !seg->withheld)
		return false;
	dd_list_unpend(seg->list, seg);
	while (!dd_segment_post(seg, &seg->rec))
		if (!dd_list_pend(seg->list, seg))
			return false;
	seg->withheld = false;
	dd_conn_notified(dd_conn_of_seg(seg));
	return true;
}

/**
 * dd_segment_revoke() - revoke a segment: nothing is deposited afterwards
 * @seg: the segment, locked and not dead; its list is locked as well, so that the
 *	ring is not being moved
 * @rec: a last note to post, in the slot that the channel has reserved for it; or NULL
 *
 * If a note is withheld it is posted first, in the slot reserved for that.
 */
void dd_segment_revoke(struct dd_segment *seg, const struct dd_rec *rec)
{
	u64 pos;

	lockdep_assert_held(&seg->list->lock);
	lockdep_assert_held(&seg->lock);
	if (seg->withheld) {
		dd_list_unpend(seg->list, seg);
		if (!WARN_ON_ONCE(!dd_list_post(seg->list, &seg->rec, &pos)))
			seg->credit->extra = pos + 1;
		seg->withheld = false;
		dd_conn_notified(dd_conn_of_seg(seg));
	}
	if (rec && !WARN_ON_ONCE(!dd_list_post(seg->list, rec, &pos)))
		seg->credit->extra = pos + 1;
	seg->dead = true;
}
