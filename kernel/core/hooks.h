/* SPDX-License-Identifier: GPL-2.0-only */
/* All calls from the objects and links to the code above them. */
#ifndef _DD_HOOKS_H
#define _DD_HOOKS_H

#include <linux/types.h>
#include <uapi/linux/dd.h>

struct dd_channel;
struct dd_import;
struct dd_node;
struct dd_obj;
struct dd_op;
struct dd_peer;
struct dd_segment;

/**
 * enum dd_stage - order in which the objects of a context end
 * @DD_STAGE_NAMES: names under which others reach the context: before what they made
 * @DD_STAGE_ACCESS: access to memory
 * @DD_STAGE_MEMORY: memory itself
 * @DD_STAGES: number of stages
 */
enum dd_stage {
	DD_STAGE_NAMES,
	DD_STAGE_ACCESS,
	DD_STAGE_MEMORY,
	DD_STAGES
};

/**
 * struct dd_obj_ops - type of an object
 * @stage: when @end is called
 * @import: the object begins with a struct dd_import: it accepts work requests
 * @endable: DD_IOC_END ends it
 * @drain: %DD_IOC_END waits for requests that were accepted; the caller holds a
 *	reference. Return 0, or %-EINTR: the object stays. NULL if there is no need
 * @end: the context ends: remove the id and whatever others reach through the object.
 *	The context is locked, the caller holds a reference
 * @finish: after @end, %DD_IOC_END waits until other nodes know. The context is not locked, the
 *	caller holds a reference. Return 0 or %-EINTR. NULL if there is no need
 * @lost: with @import: another node has ended the access. The caller holds a reference
 * @release: the last reference was dropped
 */
struct dd_obj_ops {
	enum dd_stage stage;
	bool import;
	bool endable;
	int (*drain)(struct dd_obj *obj);
	void (*end)(struct dd_obj *obj);
	int (*finish)(struct dd_obj *obj);
	void (*lost)(struct dd_obj *obj);
	void (*release)(struct dd_obj *obj);
};

/**
 * struct dd_segment_ops - calls to the owner of a segment
 * @zeroed: its memory was zeroed: it holds no messages of earlier importers. While a
 *	channel is open, only this call changes that state; dd_list.lock is held
 * @unsure: the importer may have sent @n messages more than it states; the channel is
 *	locked
 * @refused: an operation that needs @right was refused; the channel is locked. NULL if
 *	the owner does not count them
 */
struct dd_segment_ops {
	void (*zeroed)(struct dd_segment *seg);
	void (*unsure)(struct dd_segment *seg, u64 n);
	void (*refused)(const struct dd_channel *ch, u8 right, int err);
};

#define DD_OPCODES	(DD_OP_NOTE + 1)

/* A request whose opcode is valid. */
typedef int (*dd_op_fn)(struct dd_import *imp, struct dd_op *op);

/**
 * struct dd_link_ops - operations of a link
 * @op: by opcode: check rights and bounds, and execute a request with the channel of the import
 *	locked; 0 if it is accepted, or %-EINPROGRESS if that needs to sleep. NULL if imports by
 *	this link do not have the operation
 * @slow: by opcode: execute a request that needs to sleep, with dd_import.busy set
 * @flush: transmit what @op has queued; called after it with the channel unlocked. NULL
 *	if @op does everything
 * @same: whether one @flush serves two imports; NULL without @flush
 * @await: the caller is about to wait for a counter of the import, of which it holds a
 *	reference; NULL if not needed
 * @renotify: post the notes to the importer that are due, of an import with
 *	dd_import.completions. A list is locked; the caller holds a reference. NULL if no import has
 *	them
 * @posted: a withheld note of a channel was posted: its message is done. The channel is
 *	locked
 * @report: make @posted known to another node. The channel is not locked; the caller is
 *	in an RCU read-side section or holds a reference to it. NULL if not needed
 */
struct dd_link_ops {
	dd_op_fn op[DD_OPCODES];
	dd_op_fn slow[DD_OPCODES];
	void (*flush)(struct dd_import *imp);
	bool (*same)(const struct dd_import *a, const struct dd_import *b);
	void (*await)(struct dd_import *imp);
	void (*renotify)(struct dd_import *imp);
	void (*posted)(struct dd_channel *ch);
	void (*report)(struct dd_channel *ch);
};

/**
 * struct dd_event_ops - reports to user space
 * @object: an object with a name, a connection or an import has begun or ended. Takes
 *	locks of the object's type. The caller holds a reference. One call for a connection
 *	between two ends of this node reports the beginning of both
 * @peer: event @cmd, DD_CMD_PEER_*, of a peer; dd_node.peer_lock is held
 * @node: event @cmd, DD_CMD_NODE_*, of the node. Takes dd_node.lock
 *
 * All may sleep. Without listeners they only count.
 */
struct dd_event_ops {
	void (*object)(struct dd_obj *obj, bool begin);
	void (*peer)(struct dd_peer *peer, u8 cmd);
	void (*node)(struct dd_node *node, u8 cmd);
};

/* Set before the first node, object or peer exists. */
extern const struct dd_event_ops *dd_events;

static inline void dd_event(struct dd_obj *obj, bool begin)
{
	dd_events->object(obj, begin);
}

#endif /* _DD_HOOKS_H */
