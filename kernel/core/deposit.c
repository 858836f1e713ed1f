// SPDX-License-Identifier: GPL-2.0-only
/*
 * Storing the bytes of a message from this node; see deposit.h.
 */
#include <linux/uaccess.h>

#include "core/copy.h"
#include "core/deposit.h"

/* Count a refused operation, and return @err. At a dead channel nothing is refused. */
int dd_deposit_refuse(const struct dd_channel *ch, u8 right, int err)
{
	const struct dd_segment_ops *ops = ch->seg->ops;

	if (ops && ops->refused && !ch->dead)
		ops->refused(ch, right, err);
	return err;
}

/*
 * Whether this is the redirected message. Members other than @channel are read only if the
 * message came by that channel, which is locked.
 */
static bool redir_is(const struct dd_redir *redir, const struct dd_channel *ch,
		     u64 msgid, u64 dst)
{
	return READ_ONCE(redir->channel) == ch->id && redir->msgid == msgid &&
	       redir->dst == dst;
}

/* Whether the redirection takes bytes at @off, which are inside it. */
static bool redir_accepts(struct dd_redir *redir, const struct dd_channel *ch,
			  const struct dd_place *p)
{
	/* cmpxchg: one channel only takes the redirection. */
	if (cmpxchg(&redir->state, DD_REDIR_FREE, DD_REDIR_USED) == DD_REDIR_FREE) {
		redir->msgid = p->msgid;
		redir->dst = p->dst;
		redir->first = p->off - redir->at;
		WRITE_ONCE(redir->channel, ch->id);
		return true;
	}
	if (READ_ONCE(redir->state) == DD_REDIR_USED &&
	    redir_is(redir, ch, p->msgid, p->dst) &&
	    p->off == redir->at + redir->first + redir->count)
		return true;
	WRITE_ONCE(redir->state, DD_REDIR_OVER);
	return false;
}

/**
 * dd_redir_place() - decide which bytes of a PUT are redirected
 * @redir: the redirection
 * @ch: the channel, locked
 * @p: the bytes, placed in the segment
 *
 * The first bytes inside @redir bind it to their message. Others of the message are
 * redirected as long as each follows the one before.
 */
void dd_redir_place(struct dd_redir *redir, const struct dd_channel *ch,
		    struct dd_place *p)
{
	u64 end = redir->at + redir->mem.length;

	lockdep_assert_held(&ch->lock);
	if (!p->len || p->off >= end || p->off + p->len <= redir->at)
		return;
	if (p->off < redir->at) {
		p->len = redir->at - p->off;
		return;
	}
	p->len = min(p->len, end - p->off);
	if (!redir_accepts(redir, ch, p))
		return;
	redir->count += p->len;
	p->region = redir->mem.region;
	p->at = redir->mem.offset + p->off - redir->at;
	p->redir = redir;
}

/**
 * dd_deposit_ended() - all bytes of a message to a segment with a state are in place
 * @ch: the channel, locked
 * @msgid: number of the message
 * @dst: its byte offset in the segment
 * @len: bytes
 *
 * Called before dd_deposit_done().
 */
void dd_deposit_ended(struct dd_channel *ch, u64 msgid, u64 dst, u64 len)
{
	struct dd_redir *redir;

	lockdep_assert_held(&ch->lock);
	/* Pairs with the release of dd_export_redirect(). */
	redir = smp_load_acquire(&ch->seg->redir);
	if (redir && redir_is(redir, ch, msgid, dst))
		WRITE_ONCE(redir->state, DD_REDIR_OVER);
	if (len) {
		/* Release: a process that sees the word sees the bytes. */
		smp_store_release(&ch->seg->state->data_end, dst + len);
	}
	/* Release, as above. */
	smp_store_release(&ch->seg->state->request, msgid);
}

/* Store the last bytes of a message, at least 1, or of its part in a region. */
static void write_last(struct dd_region *region, u64 at, const void *src, size_t len)
{
	size_t left;
	void *dst;

	for (;; src += left, at += left, len -= left) {
		dst = dd_region_addr(region, at, &left);
		if (len <= left)
			break;
		dd_copy_words(dst, src, left);
	}
	dd_copy_message(dst, src, len);
}

/**
 * dd_deposit_tail() - store the last bytes of a message, with its last word in the segment
 * @ch: the channel, locked
 * @p: @msgid, @dst and @off of the bytes
 * @tail: the bytes
 * @ntail: number of bytes
 * @word: (out) the last word in the segment, as in struct dd_note
 *
 * A redirection, or a page of the region, may begin within them: segments begin at any
 * multiple of 4.
 *
 * Return: as dd_deposit_at().
 */
int dd_deposit_tail(struct dd_channel *ch, struct dd_place *p, const void *tail,
		    size_t ntail, u64 *word)
{
	size_t n;
	int err;

	n = dd_copy_last((void *)(uintptr_t)p->off, ntail);
	*word = 0;
	memcpy(word, tail + ntail - n, n);
	do {
		p->len = ntail;
		err = dd_deposit_place(ch, p);
		if (err || !ntail)
			return err;
		write_last(p->region, p->at, tail, p->len);
		p->off += p->len;
		tail += p->len;
		ntail -= p->len;
	} while (ntail);
	return 0;
}

/**
 * dd_deposit_payload() - notify the owner of a segment, with the bytes of a NOTE
 * @ch: the channel, locked
 * @n: number of the request
 * @payload: the bytes
 * @len: their number, at most %DD_PAYLOAD_MAX
 * @fill: as of dd_deposit_done()
 * @arg: as of dd_deposit_done()
 * @due: (out) as of dd_deposit_done(); a note if the return value is 0
 *
 * Return: 0; an error of dd_deposit_at(); %-EACCES if the owner is not notified; %-EAGAIN if
 * there is no slot.
 */
int dd_deposit_payload(struct dd_channel *ch, u64 n, const void *payload, size_t len,
		       dd_fill_t fill, const void *arg, struct dd_due *due)
{
	u64 at;
	int err;

	due->note = NULL;
	err = dd_deposit_at(ch, DD_RIGHT_PUT, 0, 0, &at);
	if (err)
		return err;
	if (!ch->seg->list || !dd_segment_wants(ch->seg, true))
		return dd_deposit_refuse(ch, DD_RIGHT_PUT, -EACCES);
	if (!dd_deposit_claim(ch, n, fill, arg, due))
		return -EAGAIN;
	memcpy(due->note->payload, payload, len);
	WRITE_ONCE(ch->received, n);
	return 0;
}

/**
 * dd_deposit_swap() - compare and swap a word of a segment
 * @ch: the channel, locked
 * @off: byte offset in the segment
 * @len: 4 or 8
 * @meta: the expected value and the new one, low word first
 * @was: (out) the value that the word had
 *
 * Return: 0; an error of dd_deposit_at(); %-EINVAL if the word is not aligned.
 */
int dd_deposit_swap(struct dd_channel *ch, u64 off, size_t len, const u32 *meta, u64 *was)
{
	size_t left;
	void *word;
	int err;
	u64 at;

	err = dd_deposit_at(ch, DD_RIGHT_CAS, off, len, &at);
	if (err)
		return err;
	/* A segment begins at any multiple of 4 of its region. */
	if (!IS_ALIGNED(at, len))
		return -EINVAL;
	word = dd_region_addr(ch->seg->mem.region, at, &left);
	if (len == sizeof(u32))
		*was = cmpxchg((u32 *)word, meta[0], meta[2]);
	else
		*was = cmpxchg((u64 *)word, dd_meta_word(meta), dd_meta_word(meta + 2));
	return 0;
}

/**
 * dd_swap_result() - store the result of a CAS for the importer
 * @to: where to, aligned
 * @len: 4 or 8
 * @was: the value that the word had
 * @meta: as of dd_deposit_swap()
 * @status: store 1 if the word was replaced, else 2
 */
void dd_swap_result(void *to, size_t len, u64 was, const u32 *meta, bool status)
{
	if (status)
		was = was == (len == sizeof(u32) ? meta[0] : dd_meta_word(meta)) ? 1 : 2;
	if (len == sizeof(u32))
		WRITE_ONCE(*(u32 *)to, was);
	else
		WRITE_ONCE(*(u64 *)to, was);
}

/**
 * dd_load_user() - copy the part of a word, or an aligned word, from user memory
 * @to: kernel address
 * @from: user address, checked by access_ok()
 * @len: at most 8 bytes
 *
 * By the largest aligned loads, as a process may store words there. May sleep unless page
 * faults are disabled.
 *
 * Return: 0 or %-EFAULT.
 */
int dd_load_user(void *to, const void __user *from, size_t len)
{
	union { u64 word; u32 half; u8 byte; } v;
	size_t n;
	int err;

	for (; len; to += n, from += n, len -= n) {
		if (len == 8 && IS_ALIGNED((unsigned long)from, 8)) {
			n = 8;
			err = __get_user(v.word, (const u64 __user *)from);
		} else if (len >= 4 && IS_ALIGNED((unsigned long)from, 4)) {
			n = 4;
			err = __get_user(v.half, (const u32 __user *)from);
		} else {
			n = 1;
			err = __get_user(v.byte, (const u8 __user *)from);
		}
		if (err)
			return -EFAULT;
		memcpy(to, &v, n);
	}
	return 0;
}

/* Like dd_load_user(), in the other direction. */
int dd_store_user(void __user *to, const void *from, size_t len)
{
	size_t n;
	int err;

	for (; len; to += n, from += n, len -= n) {
		if (len == 8 && IS_ALIGNED((unsigned long)to, 8)) {
			n = 8;
			err = __put_user(dd_copy_from((u64 *)from), (u64 __user *)to);
		} else if (len >= 4 && IS_ALIGNED((unsigned long)to, 4)) {
			n = 4;
			err = __put_user(dd_copy_from((u32 *)from), (u32 __user *)to);
		} else {
			n = 1;
			err = __put_user(dd_copy_from((u8 *)from), (u8 __user *)to);
		}
		if (err)
			return -EFAULT;
	}
	return 0;
}

/* dd_deposit_write_user() within a page. Returns the number of bytes not copied. */
static size_t copy_user(void *dst, const void __user *src, size_t len,
			bool last, u64 *word)
{
	size_t tail = dd_copy_rest(dst, len, last);
	size_t lead = dd_copy_lead(dst, len - tail), missing = len;
	u8 part[8];

	pagefault_disable();
	if (!dd_load_user(part, src, lead)) {
		dd_copy_tail(dst, part, lead);
		missing = __copy_from_user_inatomic(dst + lead, src + lead, len - lead - tail);
		if (missing || dd_load_user(part, src + len - tail, tail))
			missing += tail;
	}
	pagefault_enable();
	if (!missing && tail && !last)
		dd_copy_tail(dst + len - tail, part, tail);
	else if (!missing && tail)
		*word = dd_copy_final(dst + len - tail, part, tail);
	return missing;
}

/**
 * dd_deposit_write_user() - deposit bytes from user memory without sleeping
 * @region: the region; the channel is locked
 * @at: byte offset in the region, from dd_deposit_place()
 * @src: user address, checked by access_ok()
 * @len: bytes, at least 1
 * @last: the bytes end the message
 * @word: (out) with @last, as dd_copy_final() returns it
 *
 * Return: number of bytes not copied because a page of the source is not present; the
 * caller unlocks, faults the page in and continues there.
 */
size_t dd_deposit_write_user(struct dd_region *region, u64 at,
			     const void __user *src, size_t len, bool last,
			     u64 *word)
{
	while (len) {
		size_t n, missing;
		void *dst = dd_region_addr(region, at, &n);

		n = min(n, len);
		missing = copy_user(dst, src, n, last && n == len, word);
		len -= n - missing;
		if (missing)
			break;
		src += n;
		at += n;
	}
	return len;
}
