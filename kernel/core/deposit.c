// SPDX-License-Identifier: GPL-2.0-only
/*
 * Storing the bytes of a message from this node; see deposit.h.
 */
#include <linux/uaccess.h>

#include "core/copy.h"
#include "core/deposit.h"

/* Count a refused operation. Returns @err, which is -ECONNRESET if it was not refused. */
int dd_deposit_refuse(const struct dd_channel *ch, u8 right, int err)
{
	const struct dd_segment_ops *ops = ch->seg->ops;

	if (ops && ops->refused && !ch->dead)
		ops->refused(ch, right, err);
	return err;
}

/**
 * dd_deposit_write() - store bytes in a region
 * @region: the region; if it is that of a segment, the channel is locked
 * @at: byte offset in the region; in a segment, from dd_deposit_at()
 * @src: kernel address
 * @len: bytes, at least 1
 * @last: the bytes end the message
 *
 * Return: with @last, the last aligned word of the message, or its tail, which is
 * stored after all other bytes.
 */
u64 dd_deposit_write(struct dd_region *region, u64 at, const void *src,
		     size_t len, bool last)
{
	size_t left;
	void *dst;

	dst = dd_region_addr(region, at, &left);
	while (len > left) {
		dd_copy_words(dst, src, left);
		src += left;
		at += left;
		len -= left;
		dst = dd_region_addr(region, at, &left);
	}
	left = last ? dd_copy_last(dst, len) : 0;
	dd_copy_words(dst, src, len - left);
	if (!last)
		return 0;
	return dd_copy_final(dst + len - left, src + len - left, left);
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

/* dd_deposit_write_user() within a page. Returns the number of bytes not copied. */
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
 * dd_deposit_write_user() - deposit bytes from user memory without sleeping
 * @ch: the channel, locked
 * @at: byte offset in the region, from dd_deposit_at()
 * @src: user address, checked by access_ok()
 * @len: bytes, at least 1
 * @last: the bytes end the message
 * @word: (out) see dd_deposit_write()
 *
 * Return: number of bytes not copied because a page of the source is not present; the
 * caller unlocks, faults the page in and continues there.
 */
size_t dd_deposit_write_user(struct dd_channel *ch, u64 at,
			     const void __user *src, size_t len, bool last,
			     u64 *word)
{
	lockdep_assert_held(&ch->lock);
	while (len) {
		size_t n, missing;
		void *dst = dd_region_addr(ch->seg->mem.region, at, &n);

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
