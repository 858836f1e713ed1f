/* SPDX-License-Identifier: GPL-2.0-only */
/* Events: netlink_event.c. */
#ifndef _DD_NETLINK_EVENT_H
#define _DD_NETLINK_EVENT_H

struct dd_event_ops;
struct net;

extern const struct dd_event_ops dd_netlink_events;
unsigned int dd_event_seq(struct net *net);

#endif /* _DD_NETLINK_EVENT_H */
