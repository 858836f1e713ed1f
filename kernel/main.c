// SPDX-License-Identifier: GPL-2.0-only
/*
 * Direct Deposit: module initialisation and exit.
 */
#include <linux/module.h>
#include <linux/workqueue.h>

#include "admin/netlink.h"
#include "cluster/remote_import.h"
#include "cluster/peer.h"
#include "cluster/remote.h"
#include "core/ctx.h"
#include "core/local_import.h"
#include "core/node.h"
#include "core/notelist.h"
#include "core/page.h"
#include "core/pin_cache.h"
#include "core/region.h"
#include "core/window.h"
#include "ddp/conn.h"
#include "ddp/conn_net.h"
#include "dev/chardev.h"
#include "direct/direct.h"
#include "udp/udp.h"

#define CREATE_TRACE_POINTS
#include "core/trace.h"
#include "ddp/trace.h"
#include "direct/trace.h"
#include "udp/trace.h"

#ifdef CONFIG_PREEMPT_RT
#error "dd does not support PREEMPT_RT: it takes spinlocks with preemption off"
#endif

static int __init dd_init(void)
{
	int err;

	dd_wq = alloc_workqueue("dd", WQ_UNBOUND, 0);
	if (!dd_wq)
		return -ENOMEM;
	err = dd_window_init();
	if (err)
		goto err_wq;
	err = dd_pin_cache_init();
	if (err)
		goto err_window;
	err = dd_local_import_init();
	if (err)
		goto err_pins;
	dd_conn_net_init();
	dd_remote_init();
	err = dd_conn_init();
	if (err)
		goto err_imports;
	err = dd_node_init();
	if (err)
		goto err_conn;
	err = dd_netlink_init();
	if (err)
		goto err_node;
	err = dd_udp_init(&dd_remote_upper);
	if (err)
		goto err_netlink;
	err = dd_peer_init();
	if (err)
		goto err_udp;
	err = dd_chardev_init();
	if (err)
		goto err_peer;
	return 0;

err_peer:
	dd_peer_exit();
	/* Peers may have been added meanwhile; RCU and work free them. */
	rcu_barrier();
	flush_workqueue(dd_wq);
err_udp:
	dd_udp_exit();
err_netlink:
	dd_netlink_exit();
err_node:
	dd_node_exit();
err_conn:
	dd_conn_exit();
err_imports:
	dd_local_import_exit();
err_pins:
	dd_pin_cache_exit();
err_window:
	dd_window_exit();
err_wq:
	destroy_workqueue(dd_wq);
	return err;
}

static void __exit dd_exit(void)
{
	/* User space first: afterwards there are no contexts, only pending work. */
	dd_chardev_exit();
	dd_peer_exit();
	dd_netlink_exit();
	/* Ending contexts drop references to peers, which are freed by RCU and work. */
	flush_workqueue(dd_wq);
	rcu_barrier();
	destroy_workqueue(dd_wq);
	dd_udp_exit();
	dd_node_exit();
	/* Objects were freed by RCU callbacks of this module: see rcu_barrier() above. */
	dd_conn_exit();
	dd_local_import_exit();
	dd_pin_cache_exit();
	dd_window_exit();
	dd_page_exit();
}

module_init(dd_init);
module_exit(dd_exit);

MODULE_DESCRIPTION("Direct Deposit: messages straight into a process' memory");
MODULE_AUTHOR("The dd authors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
