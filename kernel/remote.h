/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections whose other end is on another node.
 */
#ifndef _DD_REMOTE_H
#define _DD_REMOTE_H

#include "conn.h"
#include "ctl.h"
#include "nic.h"
#include "region.h"
#include "segment.h"
#include "service.h"
#include "transport.h"

struct dd_ctl_class_ops;
struct dd_net_upper;
struct dd_peer;

/**
 * struct dd_remote_op - a message that was accepted and is not sent completely
 * @tp: the transport's part
 * @region: region of the source, counted; or NULL
 * @src: offset in @region
 * @copy: copy of the source if that is not wired memory; or NULL
 */
struct dd_remote_op {
	struct dd_tp_op tp;
	struct dd_region *region;
	u64 src;
	struct dd_bounce *copy;
};

/**
 * struct dd_drain - progress of a drain before close, see dd_conn_drain()
 * @submitted: messages accepted at @since
 * @since: when the drain began, or when the peer last had credit for unsent messages;
 *	in nanoseconds
 * @sent_at: when a message was last acknowledged, in nanoseconds
 */
struct dd_drain {
	u64 submitted;
	u64 since;
	u64 sent_at;
};

/**
 * struct dd_remote - additional state of a connection whose other end is on another
 *	node
 * @ref: held by the connection, by each list, and by the worker
 * @conn: the connection; valid while this is registered with the peer, or held by
 *	the connection
 * @proxy: stands for the channel to the other end: its lock protects the import, and it
 *	is dead once the import is broken. It has no segment
 * @peer: the other node, counted
 * @chan: the transport's channel; under the peer's lock
 * @id: of the channel; the other node uses it to name this end
 * @id_node: in dd_ctl.chans
 * @registered: @id is in dd_ctl.chans; under the peer's lock
 * @open: messages may be deposited; under the peer's lock
 * @gone: the peer has ended the connection; under the peer's lock
 * @posted: last message whose withheld note has been posted
 * @drain: under the peer's lock
 * @wait: query of the connecting end
 * @entry: in one of the lists of struct dd_ctl; under the peer's lock
 * @name: of the service, at the connecting end
 * @pid: process of the other end, in the pid namespace of its node
 * @uid: user of the other end, in the user namespace of its node
 * @rcu: look-ups in dd_ctl.chans may still be running
 * @nops: entries in @op: the window of the other end plus 1
 * @op: message n uses entry n % @nops
 * @op_lock: serialises freeing what @op still holds after the end
 */
struct dd_remote {
	refcount_t ref;
	struct dd_conn *conn;
	struct dd_channel proxy;
	struct dd_peer *peer;
	struct dd_tp_chan chan;
	u64 id;
	struct rhash_head id_node;
	bool registered;
	bool open;
	bool gone;
	u64 posted;
	struct dd_drain drain;
	struct dd_ctl_wait wait;
	struct list_head entry;
	u8 name[DD_NAME_MAX + 1];
	u32 pid;
	u32 uid;
	struct rcu_head rcu;
	u32 nops;
	struct dd_remote_op *op;
	struct mutex op_lock;	/* what is left in @op */
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

/* Of an import of another node's segment. */
static inline struct dd_remote *dd_remote_of_import(const struct dd_import *imp)
{
	return container_of(imp->chan, struct dd_remote, proxy);
}

/* For a connection whose other end is on another node. */
static inline struct dd_remote *dd_remote_of(const struct dd_conn *conn)
{
	return dd_remote_of_import(&conn->imp);
}

static inline struct dd_remote *dd_remote_of_chan(struct dd_tp_chan *chan)
{
	return container_of(chan, struct dd_remote, chan);
}

/* Node number of the other end. */
static inline u32 dd_conn_peer_node(const struct dd_conn *conn)
{
	return conn->other ? READ_ONCE(conn->other->imp.obj.ctx->node->id) :
			    dd_remote_of(conn)->peer->number;
}

/* Process of the other end, as numbered on its node. */
static inline u32 dd_conn_peer_pid(const struct dd_conn *conn)
{
	return conn->other ? pid_nr(conn->other->imp.obj.ctx->pid) :
			    dd_remote_of(conn)->pid;
}

struct dd_remote_call;

int dd_remote_connect(struct dd_conn *conn, const struct dd_connect *arg);
int dd_remote_learn_client(struct dd_remote_call *call, struct dd_conn *conn);
void dd_remote_caller(const struct dd_remote_call *call, struct dd_client_id *cid);
int dd_remote_accept(struct dd_remote_call *call, struct dd_conn *conn);
void dd_remote_uncharge(struct dd_conn *conn);
void dd_remote_go(struct dd_remote *r);
void dd_remote_break(struct dd_remote *r, int error);
void dd_remote_lost(struct dd_peer *peer, u64 id, u64 notified);
u32 dd_remote_free_slots(struct dd_channel *ch);
void dd_remote_end_lost(struct dd_peer *peer);
void dd_remote_release(struct dd_remote *r);
void dd_remote_put(struct dd_remote *r);
void dd_remote_op_end(struct dd_remote_op *op);
void dd_remote_report(struct dd_channel *ch);
void dd_remote_await(struct dd_conn *conn);

extern const struct dd_link_ops dd_link_remote;
extern const struct dd_net_upper dd_remote_upper;
extern const struct dd_ctl_class_ops dd_remote_class;

#endif /* _DD_REMOTE_H */
