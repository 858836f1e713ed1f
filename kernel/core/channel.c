// SPDX-License-Identifier: GPL-2.0-only
/*
 * Channels: how one importer reaches a segment, and the notes that this causes.
 */
#include <linux/random.h>

#include "core/channel.h"
#include "core/hooks.h"
#include "core/node.h"
#include "core/notelist.h"

/* Called by dd_list_kick() in a read section. A revoked channel has no withheld note. */
static void retry(struct dd_pending *p)
{
	struct dd_channel *ch = container_of(p, struct dd_channel, pend);
	bool done;

	spin_lock_bh(&ch->lock);
	done = dd_channel_retry(ch);
	spin_unlock_bh(&ch->lock);
	if (done && ch->link->report)
		ch->link->report(ch);
}

/**
 * dd_channel_init() - initialise a channel, which is dead
 * @ch: the channel, zeroed
 * @seg: its segment; NULL if it stands for one of another node
 */
void dd_channel_init(struct dd_channel *ch, struct dd_segment *seg)
{
	ch->seg = seg;
	spin_lock_init(&ch->lock);
	RB_CLEAR_NODE(&ch->pend.node);
	ch->pend.retry = retry;
	ch->dead = true;
}

/**
 * dd_channel_open() - grant access to a segment
 * @ch: the channel, dead; the caller ends that when list, credit and link are set
 * @rights: DD_RIGHT_*, of those that the segment has
 * @node: node of the importer
 */
void dd_channel_open(struct dd_channel *ch, u8 rights, u16 node)
{
	ch->id = get_random_u64();
	ch->generation = ch->seg->generation;
	ch->rights = rights & ch->seg->rights;
	ch->node = node;
}

/**
 * dd_channel_hold_list() - get a reference to the list that a channel's notes go to
 * @ch: the channel, whose memory is valid
 *
 * Return: the list, or NULL if there is none or the channel is dead.
 */
struct dd_list *dd_channel_hold_list(struct dd_channel *ch)
{
	struct dd_list *list = NULL;

	spin_lock_bh(&ch->lock);
	/* The list is attached, and so referenced, until the channel is dead. */
	if (!ch->dead) {
		list = ch->seg->list;
		if (list)
			refcount_inc(&list->obj.users);
	}
	spin_unlock_bh(&ch->lock);
	return list;
}

/**
 * dd_channel_live() - let a channel carry requests
 * @ch: the channel
 *
 * The id of the importer may be published already.
 */
void dd_channel_live(struct dd_channel *ch)
{
	spin_lock_bh(&ch->lock);
	ch->dead = false;
	spin_unlock_bh(&ch->lock);
}

static bool channel_post(struct dd_channel *ch, const struct dd_note *note)
{
	struct dd_list *list = ch->seg->list;
	u64 pos;

	if (!dd_credit_ok(ch->credit, dd_list_head_pos(list)) ||
	    !dd_list_post(list, note, &pos))
		return false;
	dd_credit_get(ch->credit, pos);
	return true;
}

/* The credit does not change while the note is queued. As dd_list_pend(). */
static bool pend(struct dd_channel *ch)
{
	ch->pend.need = dd_credit_need(ch->credit);
	return dd_list_pend(ch->seg->list, &ch->pend);
}

/**
 * dd_channel_withhold() - queue the note of a message until a slot is free
 * @ch: the channel, locked; the note is in @note
 *
 * Return: true if a slot has become free meanwhile and the note is posted.
 */
bool dd_channel_withhold(struct dd_channel *ch)
{
	lockdep_assert_held(&ch->lock);
	ch->withheld = true;
	dd_stat_inc(ch->seg->list->obj.ctx->node, DD_STAT_WITHHELD);
	return pend(ch) && dd_channel_retry(ch);
}

/**
 * dd_channel_retry() - post the withheld note if there is a slot now
 * @ch: the channel, locked
 *
 * Return: true if it was posted and the list's readers are woken.
 */
bool dd_channel_retry(struct dd_channel *ch)
{
	lockdep_assert_held(&ch->lock);
	if (ch->dead || !ch->withheld)
		return false;
	dd_list_unpend(ch->seg->list, &ch->pend);
	while (!channel_post(ch, &ch->note))
		if (!pend(ch))
			return false;
	ch->withheld = false;
	ch->link->posted(ch);
	dd_list_wake(ch->seg->list);
	return true;
}

/**
 * dd_channel_revoke() - revoke a channel: nothing is deposited afterwards
 * @ch: the channel, locked and not dead; its list is locked as well, so that the ring is
 *	not being moved
 * @note: a last note to post, in the slot that the channel has reserved for it; or NULL
 *
 * If a note is withheld it is posted first, in the slot reserved for that.
 */
void dd_channel_revoke(struct dd_channel *ch, const struct dd_note *note)
{
	struct dd_list *list = ch->seg->list;
	u64 pos;

	lockdep_assert_held(&list->lock);
	lockdep_assert_held(&ch->lock);
	if (ch->withheld) {
		dd_list_unpend(list, &ch->pend);
		if (!WARN_ON_ONCE(!dd_list_post(list, &ch->note, &pos)))
			ch->credit->extra = pos + 1;
		ch->withheld = false;
		ch->link->posted(ch);
	}
	if (note && !WARN_ON_ONCE(!dd_list_post(list, note, &pos)))
		ch->credit->extra = pos + 1;
	ch->dead = true;
}
