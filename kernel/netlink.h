/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the rest of the module knows of its administration.
 */
#ifndef _DD_NETLINK_H
#define _DD_NETLINK_H

#include <linux/types.h>

struct dd_conn;
struct dd_peer;
struct dd_service;

/* After dd_node_init(), before dd_node_exit(). */
int dd_netlink_init(void);
void dd_netlink_exit(void);

/*
 * Tell whoever listens. May sleep, and takes dd_service.lock for services; a
 * counter and a bit test when nobody listens. The caller is a user of the
 * object. With @add a connecting end stands for both ends.
 */
void dd_netlink_event_service(struct dd_service *svc, bool add);
void dd_netlink_event_conn(struct dd_conn *conn, bool add);

/* Tell that @cmd, one of DD_CMD_PEER_*, has happened, under dd_node.peer_lock. */
void dd_netlink_event_peer(struct dd_peer *peer, u8 cmd);

#endif /* _DD_NETLINK_H */
