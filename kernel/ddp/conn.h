/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections: conn.c. */
#ifndef _DD_CONN_H
#define _DD_CONN_H

#include <linux/refcount.h>
#include <linux/uidgid.h>
#include <uapi/linux/dd_ddp.h>

#include "core/channel.h"
#include "core/credit.h"
#include "core/ctx.h"
#include "core/import.h"
#include "core/region.h"
#include "core/segment.h"

struct dd_service;

/**
 * struct dd_conn - one end of a connection: an import of the block of the other end, and
 *	a segment for its own block with the channel of the other end
 * @imp: import of the other end's block; its id is that of the connection
 * @seg: its own block
 * @chan: access of the other end to @seg
 * @type: enum dd_conn_type
 * @server: this is the serving end, a struct dd_server; else it is a struct dd_client
 * @released: the block was given back; under dd_service.lock. At a connecting end whose
 *	other end is on another node: the connection has ended
 * @closing: a close has begun; it is done by the context that sets this
 * @mem: references to the memory: one of the other end, and one for all of @imp.obj.users
 * @closed: errno that ended it; set before the channel of the other end is dead
 * @other: the other end; NULL if it is on another node, see dd_remote_of()
 * @svc: at the serving end, the service, counted
 *
 * There may be many idle connections, so its size matters.
 */
struct dd_conn {
	struct dd_import imp;
	struct dd_segment seg;
	struct dd_channel chan;
	/* Constant, so these two may share a byte. */
	u8 type : 4;
	bool server : 1;
	bool released;
	u8 closing;
	u8 closed;
	refcount_t mem;
	struct dd_conn *other;
	struct dd_service *svc;
};

/**
 * struct dd_server - a serving end
 * @conn: the end
 * @unanswered: messages in addition to dd_channel.received that have to be replied to before
 *	its block may be given to another user
 */
struct dd_server {
	struct dd_conn conn;
	u64 unanswered;
};

/**
 * struct dd_client - a connecting end, with resources that a serving end gets from its
 *	service
 * @conn: the end
 * @send: slice of @conn.imp.send, the memory of requests
 * @recv: slice of @conn.seg.mem, the memory of replies
 * @credit: slots in its list
 */
struct dd_client {
	struct dd_conn conn;
	struct dd_slice send;
	struct dd_slice recv;
	struct dd_credit credit;
};

static inline struct dd_server *dd_server_of(struct dd_conn *conn)
{
	return container_of(conn, struct dd_server, conn);
}

static inline struct dd_client *dd_client_of(struct dd_conn *conn)
{
	return container_of(conn, struct dd_client, conn);
}

/* The requested window, or the default of the type if that is 0. */
static inline u32 dd_conn_window(u32 window, u32 type)
{
	if (window)
		return window;
	return type == DD_CONN_STREAM ? DD_WINDOW_STREAM : 1;
}

int dd_conn_init(void);
void dd_conn_exit(void);
int dd_conn_connect(struct dd_ctx *ctx, struct dd_connect *arg);
int dd_conn_close(struct dd_ctx *ctx, u64 serial);
void dd_conn_end(struct dd_obj *obj);
void dd_conn_disconnect(struct dd_conn *conn);
int dd_conn_drain(struct dd_conn *conn, u64 timeout);
void dd_conn_owner(struct dd_conn *conn, kuid_t uid, bool nodirect, bool any);
void dd_conn_open(struct dd_conn *conn, u16 node);
int dd_conn_info(struct dd_ctx *ctx, struct dd_conn_info *arg);
void dd_conn_report(struct dd_conn *conn);
int dd_conn_wait(struct dd_ctx *ctx, const struct dd_conn_wait *arg);
struct dd_conn *dd_conn_alloc(struct dd_ctx *ctx, u8 type, bool server);
void dd_conn_pair(struct dd_conn *a, struct dd_conn *b);

extern const struct dd_obj_ops dd_conn_ops;

static inline void dd_conn_put(struct dd_conn *conn)
{
	dd_obj_put(&conn->imp.obj);
}

#endif /* _DD_CONN_H */
