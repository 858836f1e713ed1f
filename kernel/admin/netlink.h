/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interface of the netlink code to the rest of the module.
 */
#ifndef _DD_NETLINK_H
#define _DD_NETLINK_H

/* Call dd_netlink_init() after dd_node_init(). */
int dd_netlink_init(void);
void dd_netlink_exit(void);

#endif /* _DD_NETLINK_H */
