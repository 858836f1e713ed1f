/* SPDX-License-Identifier: GPL-2.0-only */
/* Segments: windows of memory that others may reach. */
#ifndef _DD_SEGMENT_H
#define _DD_SEGMENT_H

#include <linux/atomic.h>
#include <uapi/linux/dd_mem.h>

#include "core/node.h"
#include "core/region.h"

struct dd_list;

enum dd_redir_state {
	DD_REDIR_FREE,
	DD_REDIR_USED,
	DD_REDIR_OVER
};

/**
 * struct dd_redir - a second destination of a segment, for one message
 * @mem: where the bytes of the segment from @at on are placed; the region is counted.
 *	NULL if there is none
 * @at: byte offset in the segment
 * @state: enum dd_redir_state: no message is placed here; one is; no more bytes are. It
 *	only grows. The channel that changes it from FREE sets what follows, under its lock
 * @channel: id of that channel, before 0
 * @msgid: number of the message on the channel
 * @dst: first byte of the message in the segment
 * @first: offset in @mem of the first byte placed
 * @count: number of bytes placed
 */
struct dd_redir {
	struct dd_bytes mem;
	u64 at;
	u32 state;
	u64 channel;
	u64 msgid;
	u64 dst;
	u64 first;
	u64 count;
};

/*
 * In dd_segment.flags: a PUT may be stored in places that do not begin with an aligned word of 8
 * bytes, as the segment can be redirected or begins elsewhere. Its last word is then stored apart.
 */
#define DD_SEGMENT_SPLIT	0x80
static_assert(!(DD_SEGMENT_FLAGS & DD_SEGMENT_SPLIT));

/**
 * enum dd_segment_data - what the window of a connection may hold besides the owner's data
 * @DD_DATA_OWN: messages of its importer's context
 * @DD_DATA_MIXED: messages of an earlier importer in another context as well
 * @DD_DATA_SHOWN: what the importer may read, as it has mapped the window
 */
enum dd_segment_data {
	DD_DATA_OWN,
	DD_DATA_MIXED,
	DD_DATA_SHOWN,
};

/**
 * struct dd_segment - a window [offset, offset + length) of a region, which others reach
 *	by channels
 * @rights: DD_RIGHT_* that a channel may have
 * @policy: enum dd_policy; NEVER without @list
 * @flags: DD_SEGMENT_* of struct dd_segment_make, and %DD_SEGMENT_SPLIT. The owner changes
 *	%DD_SEGMENT_INHIBITED
 * @data: enum dd_segment_data; under dd_list.lock
 * @index: number of the segment among those of its owner's service; names it in direct
 *	notes
 * @uid: user of the owner
 * @generation: of the node's segments; counts up from the time when the module was loaded, so
 *	it never recurs. A channel is valid for the generation that it was opened for
 * @owner: serial of the object that the segment belongs to; copied to each note
 * @cookie: copied to each note
 * @ops: calls to the owner, or NULL
 * @mem: the window; the owner counts its region as long as there are channels
 * @list: list for notes, or NULL; counted like the region
 * @state: in the area of the owner, for a segment that can be redirected; else NULL
 * @redir: the redirection that is in place, or NULL
 *
 * %DD_SEGMENT_INHIBITED and @policy may change at any time; then the lock of every channel is
 * taken once, so that no operation goes on that has seen the earlier value, and windows are
 * hidden. The same holds for the end of @redir.
 */
struct dd_segment {
	u8 rights;
	u8 policy;
	u8 flags;
	u8 data;
	u32 index;
	kuid_t uid;
	u64 generation;
	u64 owner;
	u64 cookie;
	const struct dd_segment_ops *ops;
	struct dd_bytes mem;
	struct dd_list *list;
	struct dd_segment_state *state;
	struct dd_redir *redir;
};

static inline void dd_segment_init(struct dd_segment *seg, struct dd_node *node,
				   u8 rights)
{
	seg->rights = rights;
	seg->policy = DD_POLICY_CONDITIONAL;
	seg->generation = atomic64_inc_return(&node->generation);
}

/**
 * dd_segment_wants() - whether a message notifies the owner
 * @seg: the segment
 * @asked: the request asks for a notification
 *
 * The only place that evaluates the notify policy.
 */
static inline bool dd_segment_wants(const struct dd_segment *seg, bool asked)
{
	u8 policy = READ_ONCE(seg->policy);

	if (likely(policy == DD_POLICY_CONDITIONAL))
		return asked;
	return policy == DD_POLICY_ALWAYS;
}

#endif /* _DD_SEGMENT_H */
