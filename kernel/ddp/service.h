/* SPDX-License-Identifier: GPL-2.0-only */
/* Services: service.c. */
#ifndef _DD_SERVICE_H
#define _DD_SERVICE_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/uidgid.h>
#include <uapi/linux/dd_ddp.h>

#include "core/credit.h"
#include "core/ctx.h"
#include "core/names.h"
#include "core/node.h"
#include "core/region.h"

struct dd_conn;
struct dd_list;
struct dd_conn_net_call;
struct dd_ring;

static_assert(DD_NAME_MAX + 1 == DD_KEY_SIZE);

/**
 * struct dd_client_id - identity of a client
 * @uid: effective user, as reported by its node
 * @node: number of its node; equal users of two nodes are different
 * @ctx: serial of its context plus 1, on this node; 0 on another node
 */
struct dd_client_id {
	kuid_t uid;
	u32 node;
	u64 ctx;
};

/**
 * struct dd_block - a block of a service
 * @conn: current or last serving end; NULL if there is none
 * @ready: slots are reserved, because it has had a connection that needed them
 * @credit: if @ready, slots in the service's list, used by a connection without its own
 *	credit
 * @conn_note: position in the service's list after the last note that @credit does not
 *	cover: a connection note, or a note of a connection with its own credit
 * @ring: direct ring of the last connection, if that has ended
 * @ring_end: position after its last note in @ring
 * @client: identity of the current or last client
 * @bytes: dd_client_id.ctx of the only client whose messages may be in its memory, %~0
 *	if there are several, 0 if there are none
 * @free: in dd_service.free, if it may be given away
 */
struct dd_block {
	struct dd_conn *conn;
	bool ready;
	struct dd_credit credit;
	u64 conn_note;
	struct dd_ring *ring;
	u64 ring_end;
	struct dd_client_id client;
	u64 bytes;
	struct list_head free;
};

/**
 * struct dd_service - a service
 * @obj: its id
 * @name: its name; changed under @lock
 * @lock: protects the members below; taken after dd_ctx.lock of any context
 * @dead: accepts no connections any more
 * @taken: with DD_SERVE_SHARED, it has had its client, and has no name any more
 * @flags: DD_SERVE_*
 * @uid: user of the server, when it registered
 * @only_uid: with DD_SERVE_UID, the user that may connect
 * @only_gid: with DD_SERVE_GID, the group that may connect
 * @peruser: blocks that one user may have, 0 for no limit
 * @maxconn: number of blocks
 * @window: unread messages allowed to a client
 * @stream_window: the same for a client of type DD_CONN_STREAM; if it differs from
 *	@window, such a connection has its own credit and slots
 * @recv: memory for requests
 * @send: memory for replies
 * @recv_use: slice of @recv
 * @send_use: slice of @send
 * @recv_block: bytes of @recv for each block
 * @send_block: bytes of @send for each block
 * @list: list for notes
 * @attached: the service is attached to @list
 * @slots: slots reserved in @list for blocks that are ready
 * @states_unit: first unit of the states
 * @blocks: array of @maxconn blocks
 * @free: blocks that may be given away, in the order in which they became free
 * @nconn: current number of connections
 * @past: messages and connections of connections that have ended
 * @rcu: see struct dd_obj
 */
struct dd_service {
	struct dd_obj obj;
	struct dd_name name;
	struct mutex lock;	/* protects blocks and their connections */
	bool dead;
	bool taken;
	u32 flags;
	kuid_t uid;
	kuid_t only_uid;
	kgid_t only_gid;
	u32 peruser;
	u32 maxconn;
	u32 window;
	u32 stream_window;
	struct dd_bytes recv;
	struct dd_bytes send;
	struct dd_slice recv_use;
	struct dd_slice send_use;
	u64 recv_block;
	u64 send_block;
	struct dd_list *list;
	bool attached;
	u32 slots;
	u32 states_unit;
	struct dd_block *blocks;
	struct list_head free;
	u32 nconn;
	struct {
		u64 received;
		u64 sent;
		u64 conns;
	} past;
	struct rcu_head rcu;
};

int dd_service_serve(struct dd_ctx *ctx, struct dd_serve *arg);
int dd_service_unserve(struct dd_ctx *ctx, u32 id);
int dd_service_conns(struct dd_ctx *ctx, struct dd_conn_list *arg);

/* block.c */
int dd_service_accept(struct dd_service *svc, u8 type, const struct dd_client_id *cid,
		      struct dd_conn *client, struct dd_conn_net_call *call);
void dd_service_released(struct dd_conn *conn);
void dd_service_drop_conn(struct dd_conn *conn);

extern const struct dd_obj_ops dd_service_ops;

/* Get a reference to a service by its name, padded with zeros. */
static inline struct dd_service *dd_service_find(struct dd_node *node, const u8 *name)
{
	struct dd_obj *obj = dd_name_get(node, DD_CLASS_SERVICE, name);

	return obj ? container_of(obj, struct dd_service, obj) : NULL;
}

static inline void dd_service_put(struct dd_service *svc)
{
	dd_obj_put(&svc->obj);
}

/*
 * Slots for the notes of a connection: its window, the one added by dd_credit_slots(),
 * and one for the close note.
 */
static inline u32 dd_service_slots(const struct dd_service *svc, u32 window)
{
	return dd_credit_slots(window) + !!(svc->flags & DD_SERVE_CLOSE);
}

/* With a list per connection, the service's list gets only connection notes. */
static inline u32 dd_block_slots(const struct dd_service *svc)
{
	return svc->flags & DD_SERVE_ACCEPT ? 1 :
	       dd_service_slots(svc, svc->window);
}

#endif /* _DD_SERVICE_H */
