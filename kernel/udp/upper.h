/* SPDX-License-Identifier: GPL-2.0-only */
/* The one table through which the link calls the code that owns the memory. */
#ifndef _DD_NET_UPPER_H
#define _DD_NET_UPPER_H

#include <linux/types.h>
#include <uapi/linux/dd_netlink.h>

#include "transport/ops.h"

struct dd_udp_peer;

/**
 * struct dd_net_upper - callbacks into the code that owns the memory
 * @tp: callbacks of the sessions. dd_udp_tp_peek() and its like implement those that
 *	the link serves itself; @tp.up and @tp.down call dd_udp_up() and dd_udp_down()
 * @attach: a peer was configured; set @link->priv. The session, which does not exist
 *	yet, can be locked after this. May sleep. Return 0 or -errno
 * @detach: no other callback but @release follows for this peer. May sleep. Other
 *	contexts may still hold a reference to the peer and lock its session
 * @post: post the note that @tp.complete has prepared, and clear @link->note_due;
 *	called before the session is unlocked or the next packet is processed
 * @source: return the address of byte @off of the message @op, in a page that may be
 *	put into an skb (not from kmalloc()); @left (out): contiguous bytes there, at
 *	least 1. Called while the transport holds the op. The skb takes a reference
 *	to the page and may outlive op, channel and region
 * @state: the session has changed its state; @reason: why it is not up, or 0 to keep
 *	the previous reason. Also called without the session locked
 * @progress: packets may have been acknowledged: control messages that did not fit
 *	may be sent now
 * @release: the last reference to the peer is gone: free @link->priv. May sleep
 *
 * All callbacks other than @attach, @detach, @release and @state are called with the session
 * locked, in softirq or process context. They may call the functions that struct
 * dd_tp_ops permits, and none that locks a session.
 */
struct dd_net_upper {
	struct dd_tp_ops tp;
	int (*attach)(struct dd_udp_peer *link);
	void (*detach)(struct dd_udp_peer *link);
	void (*post)(struct dd_udp_peer *link);
	const void *(*source)(struct dd_udp_peer *link, struct dd_tp_op *op,
			      u32 off, u32 *left);
	void (*state)(struct dd_udp_peer *link, enum dd_peer_state state,
		      enum dd_peer_reason reason);
	void (*progress)(struct dd_udp_peer *link);
	void (*release)(struct dd_udp_peer *link);
};

#endif /* _DD_NET_UPPER_H */
