/* SPDX-License-Identifier: GPL-2.0-only */
/* Imports and channels over a session with another node: remote.c, remote_op.c, remote_msg.c. */
#ifndef _DD_REMOTE_H
#define _DD_REMOTE_H

#include "cluster/ctl.h"
#include "core/channel.h"
#include "core/import.h"
#include "core/names.h"
#include "core/region.h"
#include "transport/transport.h"

struct dd_bounce;
struct dd_net_upper;
struct dd_peer;
struct dd_udp_peer;

/**
 * struct dd_remote_op - a message that was accepted and is not sent completely
 * @tp: the transport's part
 * @region: region of the source, counted; or NULL
 * @src: offset in @region
 * @copy: copy of a source that is not wired memory; or NULL
 * @len: bytes of the request; for a GET or CAS, bytes of the result, which is stored in @region
 *	at @src. Valid if @awaited or @completion is set
 * @status: for a CAS: store a status, not the old value (DD_SQE_STATUS)
 * @awaited: the reply has not arrived yet
 * @completion: where the note to the importer is to be posted; NULL if it was, or if there is none
 */
struct dd_remote_op {
	struct dd_tp_op tp;
	struct dd_region *region;
	u64 src;
	struct dd_bounce *copy;
	u32 len;
	bool status;
	bool awaited;
	struct dd_completion *completion;
};

/**
 * struct dd_drain - progress of a drain before close, see dd_conn_drain() and dd_remote_drain()
 * @count: at @since: messages accepted; of an import, requests done
 * @since: when the drain began, or when the peer last had credit for unsent messages;
 *	in nanoseconds
 * @sent_at: when a message was last acknowledged, in nanoseconds
 */
struct dd_drain {
	u64 count;
	u64 since;
	u64 sent_at;
};

/**
 * struct dd_remote - an access over a channel of the session: an import of another node's
 *	segment, or that node's channel to a segment of this node; a connection has both
 * @ref: held by the owner of the import, by each list, and by the worker
 * @imp: the import, or NULL; valid while this is registered with the peer, or held by its
 *	owner
 * @own: the channel, or NULL; valid like @imp. If @imp is NULL, it is part of a struct dd_access
 * @proxy: stands for the channel to the other segment: its lock protects the import, and
 *	it is dead once the import is broken. It has no segment
 * @peer: the other node, counted
 * @chan: the transport's channel; under the peer's lock
 * @id: of the channel; the other node names @own by it
 * @id_node: in dd_ctl.chans
 * @registered: @id is in dd_ctl.chans; under the peer's lock
 * @gone: the peer has ended the channel; written under the peer's lock, with release semantics
 * @closed: if @gone: the peer sent a CLOSE; otherwise the session has ended. Under the peer's
 *	lock
 * @late: the last message waits for an entry for its reply; under the peer's lock
 * @refused: errno with which the PUT that is being received is refused, or 0; under the peer's
 *	lock
 * @posted: last message whose withheld note has been posted
 * @drain: under the peer's lock
 * @wait: query of the importer
 * @entry: in one of the lists of struct dd_ctl; under the peer's lock
 * @key: name by which a client has looked up its service, zero-terminated
 * @payload: without @imp, bytes of the NOTE that is being received; under the peer's lock
 * @pid: process at the other end, in the pid namespace of its node
 * @uid: user at the other end, in the user namespace of its node
 * @rcu: delays freeing until running look-ups in dd_ctl.chans have ended
 * @nops: entries in @op: messages that may be under way to the peer, plus 1
 * @op: message n uses entry n % @nops
 * @ended: messages whose source is not used any more; under the peer's lock
 * @confirmed: messages that the peer has reported as done; those of @imp that await a
 *	reply are not done yet. Under the peer's lock
 * @awaited: messages that await a reply; under the peer's lock
 * @gets: GETs among them; under the peer's lock
 * @notes: messages with @completion; under the peer's lock
 */
struct dd_remote {
	refcount_t ref;
	struct dd_import *imp;
	struct dd_channel *own;
	struct dd_channel proxy;
	struct dd_peer *peer;
	struct dd_tp_chan chan;
	u64 id;
	struct rhash_head id_node;
	bool registered;
	bool gone;
	bool closed;
	bool late;
	u8 refused;
	u64 posted;
	struct dd_drain drain;
	struct dd_ctl_wait wait;
	struct list_head entry;
	union {
		u8 key[DD_KEY_SIZE];
		u8 payload[DD_WIRE_NOTE_MAX];
	};
	u32 pid;
	u32 uid;
	struct rcu_head rcu;
	u32 nops;
	struct dd_remote_op *op;
	u64 ended;
	u64 confirmed;
	u32 awaited;
	u32 gets;
	u32 notes;
};

/* Ids are random, so an id is its own hash. */
static inline u32 dd_remote_id_hash(const void *id, u32 len, u32 seed)
{
	return *(const u64 *)id;
}

static const struct rhashtable_params dd_remote_ids __maybe_unused = {
	.key_len = sizeof(u64),
	.key_offset = offsetof(struct dd_remote, id),
	.head_offset = offsetof(struct dd_remote, id_node),
	.hashfn = dd_remote_id_hash,
	.automatic_shrinking = true,
};

/* The state of an import of another node's segment. */
static inline struct dd_remote *dd_remote_of_import(const struct dd_import *imp)
{
	return container_of(imp->chan, struct dd_remote, proxy);
}

static inline struct dd_remote *dd_remote_of_chan(struct dd_tp_chan *chan)
{
	return container_of(chan, struct dd_remote, chan);
}

/* Bytes charged for messages that may be under way. */
static inline size_t dd_remote_ops_size(u32 nops)
{
	return nops * sizeof(struct dd_remote_op);
}

struct dd_remote *dd_remote_alloc(struct dd_peer *peer, const struct dd_link_ops *link);
int dd_remote_register(struct dd_remote *r);
int dd_remote_join(struct dd_remote *r, struct dd_import *imp, struct dd_channel *own,
		   struct dd_tp_chan_cfg *cfg, u64 session);
int dd_remote_found(struct dd_remote *r, u64 peer_id, u32 window, u32 taken,
		    u64 generation);
int dd_remote_ops_make(struct dd_remote *r, struct dd_ctx *ctx, u32 window);
void dd_remote_link(struct dd_remote *r);
void dd_remote_go(struct dd_remote *r);
void dd_remote_break(struct dd_remote *r, int error, bool tell);
void dd_remote_lost(struct dd_peer *peer, u64 id, u64 notified);
u32 dd_remote_free_slots(struct dd_channel *ch);
void dd_remote_end_lost(struct dd_peer *peer);
void dd_remote_put(struct dd_remote *r);
void dd_remote_op_end(struct dd_remote_op *op);
void dd_remote_report(struct dd_channel *ch);
void dd_remote_await(struct dd_import *imp);
struct dd_remote_op *dd_remote_asked(struct dd_remote *r, const struct dd_tp_msg *msg);
bool dd_remote_completion_claim(struct dd_remote *r, u64 n, struct dd_due *due);
void dd_remote_advance(struct dd_remote *r);
void dd_remote_replied(struct dd_remote *r, const struct dd_tp_msg *msg,
		       const u8 *tail, u32 ntail);
const void *dd_remote_source(struct dd_udp_peer *link, struct dd_tp_op *op, u32 off,
			     u32 *left);

/* As dd_link_local and dd_link_local_put. */
extern const struct dd_link_ops dd_link_remote;
extern const struct dd_link_ops dd_link_remote_put;
extern const struct dd_net_upper dd_remote_upper;

#endif /* _DD_REMOTE_H */
