/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interface of the netlink code to the rest of the module.
 */
#ifndef _DD_NETLINK_H
#define _DD_NETLINK_H

#include <linux/types.h>

struct dd_conn;
struct dd_peer;
struct dd_service;

/* Call dd_netlink_init() after dd_node_init(). */
int dd_netlink_init(void);
void dd_netlink_exit(void);

/*
 * Send an event. May sleep, and takes dd_service.lock for a service; without listeners
 * only a counter is incremented. The caller holds a reference to the object. With @add,
 * a call for a connecting end sends the events of both ends.
 */
void dd_netlink_event_service(struct dd_service *svc, bool add);
void dd_netlink_event_conn(struct dd_conn *conn, bool add);

/* Send event @cmd, one of DD_CMD_PEER_*; dd_node.peer_lock is held. */
void dd_netlink_event_peer(struct dd_peer *peer, u8 cmd);

#endif /* _DD_NETLINK_H */
