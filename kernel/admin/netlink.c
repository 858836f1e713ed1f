// SPDX-License-Identifier: GPL-2.0-only
/*
 * Administration by generic netlink: Documentation/netlink/specs/dd.yaml.
 *
 * Requests refer to the network namespace of their socket.
 */
#include "admin/netlink.h"
#include "admin/netlink_event.h"
#include "admin/netlink_fill.h"
#include "admin/netlink_gen.h"
#include "core/hooks.h"

int __init dd_netlink_init(void)
{
	dd_events = &dd_netlink_events;
	dd_genl_set_ops(&dd_family, dd_nl_ops, ARRAY_SIZE(dd_nl_ops));
	return genl_register_family(&dd_family);
}

/* Called when no context and no peer exists, so no event can be sent any more. */
void dd_netlink_exit(void)
{
	genl_unregister_family(&dd_family);
}
