/* SPDX-License-Identifier: GPL-2.0-only */
/* Callbacks of the link into the code that owns the memory. */
#ifndef _DD_NET_UPPER_H
#define _DD_NET_UPPER_H

#include <linux/types.h>

#include "transport_ops.h"

struct dd_udp_payload;
struct dd_udp_peer;

/**
 * struct dd_net_upper - callbacks into the code that owns the memory
 * @attach: a peer was configured; set @link->priv. May sleep. Return 0 or -errno
 * @detach: no other callback but @release follows for this peer. May sleep. Other
 *	contexts may still hold a reference to the peer and lock its session
 * @find: see struct dd_tp_ops
 * @deposit: see struct dd_tp_ops; calls dd_udp_copy()
 * @deposit_batch: see struct dd_tp_ops; calls dd_udp_copy_batch()
 * @complete: see struct dd_tp_ops. May leave posting the note to @show: then it
 *	sets @link->note_pending and returns with a lock held, under which only
 *	@credit and @show are called
 * @show: post the note; called if @link->note_pending is set, before the session is
 *	unlocked or the next packet is processed
 * @credit: see struct dd_tp_ops; may be NULL
 * @sent: see struct dd_tp_ops
 * @done: see struct dd_tp_ops
 * @ctl: see struct dd_tp_ops
 * @up: see struct dd_tp_ops
 * @down: see struct dd_tp_ops; the link tries to open a new session by itself
 * @source: return the address of byte @off of the message @op, in a page that may be
 *	put into an skb (not from kmalloc()); @left (out): contiguous bytes there, at
 *	least 1. Called while the transport holds the op. The skb takes a reference
 *	to the page and may outlive op, channel and region
 * @progress: packets may have been acknowledged: control messages that did not fit
 *	may be sent now
 * @release: the last reference to the peer is gone: free @link->priv. May sleep
 *
 * All callbacks other than @attach, @detach and @release are called with the session
 * locked, in softirq or process context. They may call the functions that struct
 * dd_tp_ops permits, and none that locks a session.
 */
struct dd_net_upper {
	int (*attach)(struct dd_udp_peer *link);
	void (*detach)(struct dd_udp_peer *link);
	struct dd_tp_chan *(*find)(struct dd_udp_peer *link, u64 id);
	int (*deposit)(struct dd_udp_peer *link, struct dd_tp_chan *chan,
		       u64 dst, struct dd_udp_payload *payload, u32 off,
		       u32 len);
	void (*deposit_batch)(struct dd_udp_peer *link, struct dd_tp_chan *chan,
			      u64 dst, struct dd_udp_payload *payload,
			    struct dd_tp_rx_batch *batch);
	bool (*complete)(struct dd_udp_peer *link, struct dd_tp_chan *chan,
			 const struct dd_tp_msg *msg, const u8 *tail,
			 u32 ntail);
	void (*show)(struct dd_udp_peer *link);
	u32 (*credit)(struct dd_udp_peer *link, struct dd_tp_chan *chan);
	void (*sent)(struct dd_udp_peer *link, struct dd_tp_chan *chan,
		     u64 msgid);
	void (*done)(struct dd_udp_peer *link, struct dd_tp_chan *chan,
		     u64 msgid);
	void (*ctl)(struct dd_udp_peer *link, const void *data, u32 len);
	void (*up)(struct dd_udp_peer *link);
	void (*down)(struct dd_udp_peer *link, enum dd_tp_reason reason);
	const void *(*source)(struct dd_udp_peer *link, struct dd_tp_chan *chan,
			      struct dd_tp_op *op, u32 off, u32 *left);
	void (*progress)(struct dd_udp_peer *link);
	void (*release)(struct dd_udp_peer *link);
};

#endif /* _DD_NET_UPPER_H */
