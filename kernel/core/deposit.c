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
