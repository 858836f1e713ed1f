/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that others write to: segment.c. */
#ifndef _DD_SEGMENT_H
#define _DD_SEGMENT_H

#include <linux/rbtree.h>
#include <linux/spinlock.h>

#include "credit.h"
#include "notelist.h"
#include "region.h"

/**
 * enum dd_policy - whether an operation on a segment notifies its owner
 * @DD_POLICY_CONDITIONAL: if the request asks for it
 * @DD_POLICY_ALWAYS: always
 * @DD_POLICY_NEVER: never
 */
enum dd_policy {
	DD_POLICY_CONDITIONAL,
	DD_POLICY_ALWAYS,
	DD_POLICY_NEVER,
};

#define DD_RIGHT_PUT	0x1

/**
 * struct dd_segment - a window [offset, offset + length) of a region that others may
 *	write to
 * @lock: serialises deposits, notes and revocation; held for at most DD_COPY_CHUNK
 *	bytes at a time. After @dead is set under it, no byte and no note arrives
 * @dead: revoked
 * @cut: about to be revoked; the dead word of its sender is set
 * @inhibit: refuses writes
 * @withheld: a message is in place whose note, @rec, waits for a slot
 * @policy: enum dd_policy
 * @generation: compared with that of grants; never reused within a context
 * @mem: the window; the owner of the segment counts its region until it is dead
 * @received: messages received
 * @list: list for notes; counted by the owner of the segment
 * @credit: slots of this channel in @list; the close note uses the additional slot
 * @rec: the withheld note
 * @pend: in dd_list.pending, while @withheld
 */
struct dd_segment {
	spinlock_t lock;	/* protects deposits, notes and revocation */
	bool dead;
	bool cut;
	bool inhibit;
	bool withheld;
	u8 policy;
	u32 generation;
	struct dd_bytes mem;
	u64 received;
	struct dd_list *list;
	struct dd_credit *credit;
	struct dd_rec rec;
	struct rb_node pend;
};

/**
 * struct dd_grant - permission of one importer to use a segment
 * @id: random id, which names the grant on the wire
 * @seg: the segment
 * @generation: valid if equal to that of the segment
 * @node: node of the importer
 * @rights: DD_RIGHT_*
 */
struct dd_grant {
	u64 id;
	struct dd_segment *seg;
	u32 generation;
	u16 node;
	u8 rights;
};

void dd_segment_init(struct dd_segment *seg);
void dd_grant_init(struct dd_grant *grant, struct dd_segment *seg, u16 node,
		   u8 rights);

/**
 * dd_grant_check() - check a grant
 * @grant: the grant; its segment is locked
 * @right: DD_RIGHT_*
 *
 * Return: 0; %-ECONNRESET if the segment is revoked; %-EACCES if the right is not
 * granted, or the owner inhibits it.
 */
static inline int dd_grant_check(const struct dd_grant *grant, u32 right)
{
	const struct dd_segment *seg = grant->seg;

	lockdep_assert_held(&seg->lock);
	if (unlikely(seg->dead || grant->generation != seg->generation))
		return -ECONNRESET;
	if (unlikely(!(grant->rights & right) ||
		     (seg->inhibit && (right & DD_RIGHT_PUT))))
		return -EACCES;
	return 0;
}

u64 dd_segment_write(struct dd_segment *seg, u64 off, const void *src,
		     size_t len, bool last);
size_t dd_segment_write_user(struct dd_segment *seg, u64 off,
			     const void __user *src, size_t len, bool last,
			     u64 *word);
bool dd_segment_retry(struct dd_segment *seg);
bool dd_segment_withhold(struct dd_segment *seg);

/**
 * dd_segment_wants() - whether a message notifies the owner
 * @seg: the segment, locked
 * @asked: the request asks for a notification
 *
 * The only place that evaluates the notify policy.
 */
static inline bool dd_segment_wants(const struct dd_segment *seg, bool asked)
{
	return seg->list && seg->policy != DD_POLICY_NEVER &&
	       (asked || seg->policy == DD_POLICY_ALWAYS);
}

/**
 * dd_segment_note() - write the note of a message that is in place
 * @seg: the segment, locked, not dead, without a withheld note; dd_segment_wants() is
 *	true
 * @fill: fills in the note
 * @arg: argument of @fill
 * @pos: (out) position of the note
 *
 * The only place that takes credits.
 *
 * Return: the note, to be posted by dd_list_commit() before the segment is unlocked; or
 * NULL if there is no free slot.
 */
static __always_inline struct dd_note *
dd_segment_note(struct dd_segment *seg,
		void (*fill)(struct dd_rec *rec, const void *arg),
		const void *arg, u64 *pos)
{
	struct dd_credit *credit = seg->credit;
	struct dd_list *list = seg->list;
	struct dd_note *note;

	if (unlikely(!dd_credit_ok(credit, dd_list_head_pos(list))) &&
	    !dd_credit_ok(credit, READ_ONCE(credit->seen)))
		return NULL;
	note = dd_list_claim(list, pos);
	if (likely(note)) {
		fill(dd_note_rec(note), arg);
		dd_credit_take(credit, *pos);
	}
	return note;
}

/**
 * dd_segment_tell() - post the note of a message that is in place, or withhold it
 * @seg: see dd_segment_note()
 * @fill: fills in the note
 * @arg: argument of @fill
 *
 * Return: true if the note is posted; false if it is withheld.
 */
static __always_inline bool
dd_segment_tell(struct dd_segment *seg,
		void (*fill)(struct dd_rec *rec, const void *arg),
		const void *arg)
{
	struct dd_list *list = seg->list;
	struct dd_note *note;
	u64 pos;

	note = dd_segment_note(seg, fill, arg, &pos);
	if (likely(note)) {
		dd_list_commit(list, note, pos);
		return true;
	}
	fill(&seg->rec, arg);
	return dd_segment_withhold(seg);
}

void dd_segment_revoke(struct dd_segment *seg, const struct dd_rec *rec);

#endif /* _DD_SEGMENT_H */
