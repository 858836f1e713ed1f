/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The deposit: every message that reaches a segment, by any link, is decided, placed and
 * notified here, under the lock of its channel.
 *
 * A link calls dd_deposit_place() for each piece, copies it to the returned place, and calls
 * dd_deposit_done() after the last one. Then it posts the note that is due.
 */
#ifndef _DD_DEPOSIT_H
#define _DD_DEPOSIT_H

#include "core/bounds.h"
#include "core/channel.h"
#include "core/import.h"

int dd_deposit_refuse(const struct dd_channel *ch, u8 right, int err);

/**
 * dd_deposit_at() - decide whether bytes may be stored, and where
 * @ch: the channel, locked
 * @right: DD_RIGHT_*
 * @off: byte offset in the segment
 * @len: bytes
 * @at: (out) byte offset in the segment's region
 *
 * The answer is valid until the channel is unlocked.
 *
 * Return: 0; an error of dd_channel_check(); %-ERANGE.
 */
static inline int dd_deposit_at(const struct dd_channel *ch, u8 right, u64 off,
				u64 len, u64 *at)
{
	int err = dd_channel_check(ch, right);

	if (unlikely(err))
		return dd_deposit_refuse(ch, right, err);
	if (unlikely(!dd_in_bounds(off, len, ch->seg->mem.length)))
		return dd_deposit_refuse(ch, right, -ERANGE);
	*at = ch->seg->mem.offset + off;
	return 0;
}

/**
 * struct dd_place - where bytes of a PUT are stored
 * @msgid: (in) number of the message on its channel
 * @dst: (in) its byte offset in the segment
 * @off: (in) byte offset of these bytes in the segment
 * @len: (in) bytes; (out) how many of them may be stored at @at
 * @region: (out) the region
 * @at: (out) byte offset in the region
 * @redir: (out) the redirection that has counted them, or NULL
 */
struct dd_place {
	u64 msgid;
	u64 dst;
	u64 off;
	u64 len;
	struct dd_region *region;
	u64 at;
	struct dd_redir *redir;
};

void dd_redir_place(struct dd_redir *redir, const struct dd_channel *ch,
		    struct dd_place *p);

/**
 * dd_deposit_place() - decide whether bytes of a PUT may be stored, and where
 * @ch: the channel, locked
 * @p: the bytes; if @len is less than it was, the caller asks again for the others
 *
 * The answer is valid until the channel is unlocked.
 *
 * Return: as dd_deposit_at().
 */
static inline int dd_deposit_place(const struct dd_channel *ch, struct dd_place *p)
{
	struct dd_redir *redir;
	int err;

	err = dd_deposit_at(ch, DD_RIGHT_PUT, p->off, p->len, &p->at);
	if (unlikely(err))
		return err;
	p->region = ch->seg->mem.region;
	p->redir = NULL;
	/* Pairs with the release of dd_export_redirect(). */
	redir = smp_load_acquire(&ch->seg->redir);
	if (unlikely(redir))
		dd_redir_place(redir, ch, p);
	return 0;
}

int dd_deposit_tail(struct dd_channel *ch, struct dd_place *p, const void *tail,
		    size_t ntail, u64 *word);
void dd_deposit_ended(struct dd_channel *ch, u64 msgid, u64 dst, u64 len);

/* Fills in what the link knows of a message: @op, @meta_count, @offset to @word, @tag, @meta. */
typedef void (*dd_fill_t)(struct dd_note *to, const void *arg);

static __always_inline void dd_deposit_fill(struct dd_note *to,
					    const struct dd_channel *ch, u64 n,
					    dd_fill_t fill, const void *arg)
{
	to->conn = ch->seg->owner;
	to->type = DD_NOTE_DATA;
	to->node = ch->node;
	to->cookie = ch->seg->cookie;
	to->msgid = n;
	to->generation = lower_32_bits(ch->generation);
	/* The slot may have had a note of type DD_NOTE_DONE. */
	to->error = 0;
	fill(to, arg);
}

/*
 * Prepare the note of a message, if there is a slot. The only place that takes credits for
 * messages.
 */
static __always_inline bool dd_deposit_claim(struct dd_channel *ch, u64 n,
					     dd_fill_t fill, const void *arg,
					     struct dd_due *due)
{
	struct dd_list *list = ch->seg->list;
	struct dd_credit *credit = ch->credit;

	if (likely(dd_credit_ok(credit, dd_list_head_pos(list))) ||
	    dd_credit_ok(credit, READ_ONCE(credit->seen))) {
		due->note = dd_list_claim(list, &due->pos);
		if (likely(due->note)) {
			due->list = list;
			dd_deposit_fill(due->note, ch, n, fill, arg);
			dd_credit_get(credit, due->pos);
			return true;
		}
	}
	return false;
}

/*
 * Prepare the note of a message, or withhold it. Returns whether the message is done:
 * false if its note is withheld.
 */
static __always_inline bool dd_deposit_note(struct dd_channel *ch, u64 n,
					    dd_fill_t fill, const void *arg,
					    struct dd_due *due)
{
	if (likely(dd_deposit_claim(ch, n, fill, arg, due)))
		return true;
	dd_deposit_fill(&ch->note, ch, n, fill, arg);
	return dd_channel_withhold(ch);
}

/**
 * dd_deposit_done() - all bytes of a message are in place: count it and notify the owner
 * @ch: the channel, locked and not dead
 * @n: number of the message
 * @asked: the sender asks for a notification
 * @fill: fills in the note
 * @arg: argument of @fill
 * @due: (out) the note that the caller has to post by dd_deposit_notify(), if any. Until
 *	then list and slot must stay: the caller holds a lock that revoking the channel
 *	or leaving the list takes
 *
 * Return: true if the message needs nothing but @due; false if its note is withheld.
 */
static __always_inline bool dd_deposit_done(struct dd_channel *ch, u64 n, bool asked,
					    dd_fill_t fill, const void *arg,
					    struct dd_due *due)
{
	due->note = NULL;
	WRITE_ONCE(ch->received, n);
	if (likely(ch->back))
		WRITE_ONCE(ch->back->cs->received, n);
	if (likely(dd_segment_wants(ch->seg, asked)))
		return dd_deposit_note(ch, n, fill, arg, due);
	return true;
}

/* Post a note, and wake the list's readers. */
static __always_inline void dd_deposit_notify(const struct dd_due *due)
{
	dd_list_commit(due->list, due->note, due->pos);
	dd_list_wake(due->list);
}

/* Two words of metadata as one, low word first. */
static inline u64 dd_meta_word(const u32 *meta)
{
	return (u64)meta[1] << 32 | meta[0];
}

int dd_deposit_payload(struct dd_channel *ch, u64 n, const void *payload, size_t len,
		       dd_fill_t fill, const void *arg, struct dd_due *due);
int dd_deposit_swap(struct dd_channel *ch, u64 off, size_t len, const u32 *meta, u64 *was);
void dd_swap_result(void *to, size_t len, u64 was, const u32 *meta, bool status);
int dd_load_user(void *to, const void __user *from, size_t len);
int dd_store_user(void __user *to, const void *from, size_t len);
size_t dd_deposit_write_user(struct dd_region *region, u64 at,
			     const void __user *src, size_t len, bool last,
			     u64 *word);

#endif /* _DD_DEPOSIT_H */
