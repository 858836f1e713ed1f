/* SPDX-License-Identifier: GPL-2.0-only */
/* Channels, each the access of one importer to one segment: channel.c. */
#ifndef _DD_CHANNEL_H
#define _DD_CHANNEL_H

#include <linux/spinlock.h>

#include "core/credit.h"
#include "core/notelist.h"
#include "core/segment.h"

struct dd_direct_rx;
struct dd_import;
struct dd_link_ops;

/**
 * struct dd_channel - access of one importer to a segment
 * @lock: serialises deposits, notes and revocation; held for at most DD_COPY_CHUNK
 *	bytes at a time. After @dead is set under it, no byte arrives and no note is
 *	claimed
 * @dead: revoked
 * @closing: about to be revoked; the dead word of the importer is set
 * @withheld: a message is in place whose note, @note, waits for a slot
 * @rights: DD_RIGHT_*
 * @node: number of the importer's node
 * @id: random, names the channel on the wire
 * @generation: of the segment when the channel was opened
 * @seg: the segment; NULL if the channel stands for one of another node
 * @link: link by which the importer reaches the segment
 * @importer: the struct dd_import, if it is on this node; else private to @link
 * @back: import of the owner in the other direction, whose state counts the messages
 *	received; or NULL
 * @received: messages received
 * @credit: slots of this channel in the list; the last note uses the additional slot
 * @note: the withheld note
 * @pend: in dd_list.pending while @withheld
 * @direct_rx: windows of the importer, or NULL; set under the locks of list and channel. Once
 *	the channel is dead, freed under the lock of the list alone
 */
struct dd_channel {
	spinlock_t lock;	/* protects deposits, notes and revocation */
	bool dead;
	bool closing;
	bool withheld;
	u8 rights;
	u16 node;
	u64 id;
	u64 generation;
	struct dd_segment *seg;
	const struct dd_link_ops *link;
	void *importer;
	struct dd_import *back;
	u64 received;
	struct dd_credit *credit;
	struct dd_note note;
	struct dd_pending pend;
	struct dd_direct_rx *direct_rx;
};

/**
 * struct dd_due - what a deposit leaves to its caller: a note to be posted
 * @list: its list
 * @note: the note, filled in; NULL if there is none
 * @pos: its position
 */
struct dd_due {
	struct dd_list *list;
	struct dd_note *note;
	u64 pos;
};

void dd_channel_init(struct dd_channel *ch, struct dd_segment *seg);
void dd_channel_open(struct dd_channel *ch, u8 rights, u16 node);
void dd_channel_live(struct dd_channel *ch);
struct dd_list *dd_channel_hold_list(struct dd_channel *ch);
bool dd_channel_retry(struct dd_channel *ch);
bool dd_channel_withhold(struct dd_channel *ch);
void dd_channel_revoke(struct dd_channel *ch, const struct dd_note *note);

/**
 * dd_channel_check() - decide whether an operation may proceed
 * @ch: the channel, locked
 * @right: DD_RIGHT_*
 *
 * Return: 0; %-ECONNRESET if the channel or its segment is revoked; %-EACCES if the
 * right is not granted, or the owner inhibits it.
 */
static inline int dd_channel_check(const struct dd_channel *ch, u8 right)
{
	lockdep_assert_held(&ch->lock);
	if (unlikely(ch->dead || ch->generation != ch->seg->generation))
		return -ECONNRESET;
	if (unlikely(!(ch->rights & right) ||
		     (READ_ONCE(ch->seg->flags) & DD_SEGMENT_INHIBITED &&
		      (right & (DD_RIGHT_PUT | DD_RIGHT_CAS)))))
		return -EACCES;
	return 0;
}

#endif /* _DD_CHANNEL_H */
