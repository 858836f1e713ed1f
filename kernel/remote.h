/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections whose other end is on another node.
 */
#ifndef _DD_REMOTE_H
#define _DD_REMOTE_H

#include "ctl.h"
#include "dd.h"
#include "transport.h"

struct dd_ctl_class_ops;
struct dd_net_upper;
struct dd_peer;

/**
 * struct dd_remote_op - a message that has been accepted and not all arrived
 * @tp: the transport's part of it
 * @region: where its bytes are, counted; or NULL
 * @src: offset there
 * @copy: its bytes, where those were copied; or NULL
 */
struct dd_remote_op {
	struct dd_tp_op tp;
	struct dd_region *region;
	u64 src;
	struct dd_bounce *copy;
};

/**
 * struct dd_drain - how long a wait to close has gone on, see dd_conn_drain()
 * @submitted: messages that had been accepted
 * @since: when it was first seen so, or last that there was room for some that were
 *	not sent yet; in nanoseconds
 * @sent_at: when the last one was sent, likewise
 */
struct dd_drain {
	u64 submitted;
	u64 since;
	u64 sent_at;
};

/**
 * struct dd_remote - what an end has beside struct dd_conn if its peer is on
 *	another node
 * @ref: held by the connection, by each list it is on, by the worker
 * @conn: the end; valid while this is registered with the peer, or held by
 *	the connection
 * @proxy: stands for the segment of the other end: its lock is the import's,
 *	and it is dead when the import is broken. No byte goes there
 * @grant: leads to @proxy, as struct dd_import wants it
 * @peer: the other node, counted
 * @chan: what the transport knows; under the peer's lock
 * @id: of the channel, as the other node names it
 * @id_node: in the peer's table of ids
 * @registered: the peer's table knows @id; under the peer's lock
 * @open: messages may be deposited; under the peer's lock
 * @gone: the peer has ended it; under the peer's lock
 * @told: message whose note was withheld and is posted now
 * @drain: under the peer's lock
 * @wait: for an answer to the client's question
 * @entry: in one of the lists of struct dd_ctl; under the peer's lock
 * @name: of the service, at the connecting end
 * @pid: the other process, as its node numbers it
 * @uid: its user, likewise
 * @rcu: look-ups go on
 * @nops: entries in @op, the window of the other end and one more
 * @op: message n is in entry n % @nops
 * @op_lock: for those who end what @op still holds, once it is not registered
 */
struct dd_remote {
	refcount_t ref;
	struct dd_conn *conn;
	struct dd_segment proxy;
	struct dd_grant grant;
	struct dd_peer *peer;
	struct dd_tp_chan chan;
	u64 id;
	struct rhash_head id_node;
	bool registered;
	bool open;
	bool gone;
	u64 told;
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

/* Ids are random, so that each is its own hash. */
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

/* Of a connection without a peer on this node, that has been opened. */
static inline struct dd_remote *dd_remote_of(const struct dd_conn *conn)
{
	return container_of(conn->imp.grant, struct dd_remote, grant);
}

static inline struct dd_remote *dd_remote_of_chan(struct dd_tp_chan *chan)
{
	return container_of(chan, struct dd_remote, chan);
}

/* Node number of the other end, wherever it is. */
static inline u32 dd_conn_peer_node(const struct dd_conn *conn)
{
	return conn->peer ? READ_ONCE(conn->peer->obj.ctx->node->id) :
			    dd_remote_of(conn)->peer->number;
}

/* Its process, as its node numbers it. */
static inline u32 dd_conn_peer_pid(const struct dd_conn *conn)
{
	return conn->peer ? pid_nr(conn->peer->obj.ctx->pid) :
			    dd_remote_of(conn)->pid;
}

struct dd_remote_call;

int dd_remote_connect(struct dd_conn *conn, const struct dd_connect *arg);
int dd_remote_learn_client(struct dd_remote_call *call, struct dd_conn *conn);
void dd_remote_caller(const struct dd_remote_call *call, struct dd_who *who);
int dd_remote_accept(struct dd_remote_call *call, struct dd_conn *conn);
void dd_remote_uncharge(struct dd_conn *conn);
void dd_remote_go(struct dd_remote *r);
void dd_remote_break(struct dd_remote *r, int error);
void dd_remote_lost(struct dd_peer *peer, u64 id, u64 told);
u32 dd_remote_free_slots(struct dd_segment *seg);
void dd_remote_end_lost(struct dd_peer *peer);
void dd_remote_release(struct dd_remote *r);
void dd_remote_put(struct dd_remote *r);
void dd_remote_op_end(struct dd_remote_op *op);
void dd_remote_told(struct dd_remote *r);
void dd_remote_flush(struct dd_conn *conn);
void dd_remote_await(struct dd_conn *conn);

extern const struct dd_link_ops dd_link_remote;
extern const struct dd_net_upper dd_remote_upper;
extern const struct dd_ctl_class_ops dd_remote_class;

#endif /* _DD_REMOTE_H */
