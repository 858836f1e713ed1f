/* SPDX-License-Identifier: GPL-2.0-only */
/* Dumps of objects: netlink_obj.c. */
#ifndef _DD_NETLINK_OBJ_H
#define _DD_NETLINK_OBJ_H

#include <linux/types.h>

struct dd_node;

u64 dd_direct_alive(struct dd_node *node);

#endif /* _DD_NETLINK_OBJ_H */
