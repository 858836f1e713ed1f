/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections with other nodes: conn_net.c. */
#ifndef _DD_CONN_NET_H
#define _DD_CONN_NET_H

#include "cluster/peer.h"
#include "cluster/remote.h"
#include "ddp/conn.h"

struct dd_conn_net_call;

/* For a connection whose other end is on another node. */
static inline struct dd_remote *dd_remote_of(const struct dd_conn *conn)
{
	return dd_remote_of_import(&conn->imp);
}

/* Process of the other end, as numbered on its node. */
static inline u32 dd_conn_peer_pid(const struct dd_conn *conn)
{
	return conn->other ? pid_nr(conn->other->imp.obj.ctx->pid) :
			    dd_remote_of(conn)->pid;
}

/* Id of the other end; 0 if that is on another node. */
static inline u32 dd_conn_peer_id(const struct dd_conn *conn)
{
	return conn->other ? conn->other->imp.obj.id : 0;
}

void dd_conn_net_init(void);
int dd_conn_net_connect(struct dd_conn *conn, const struct dd_connect *arg);
int dd_conn_net_fill(const struct dd_conn_net_call *call, struct dd_conn *conn);
int dd_conn_net_accept(struct dd_conn_net_call *call, struct dd_conn *conn);

#endif /* _DD_CONN_NET_H */
