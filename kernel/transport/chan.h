/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages and channels of a session. */
#ifndef _DD_TRANSPORT_CHAN_H
#define _DD_TRANSPORT_CHAN_H

#include <linux/list.h>
#include <linux/types.h>

#include "transport/wire.h"

#define DD_TP_WINDOW_MAX	65534		/* messages per channel */
#define DD_TP_HOLES		32		/* received ranges kept per message */

/**
 * struct dd_tp_msg - a message, as passed to complete() of the receiver
 * @msgid: number of the message on its channel, from 1
 * @dst: offset in the destination block
 * @len: bytes
 * @op: enum dd_wire_op
 * @flags: DD_PUT_*
 * @meta_count: number of valid words in @meta
 * @tag: tag word of the note
 * @meta: metadata words of the note
 */
struct dd_tp_msg {
	u64 msgid;
	u64 dst;
	u32 len;
	u8 op;
	u8 flags;
	u8 meta_count;
	u32 tag;
	u32 meta[DD_WIRE_META];
};

/**
 * struct dd_tp_op - a message to be sent; memory owned by the caller
 * @msg: the message; dd_tp_submit() sets @msg.msgid, the caller sets the rest and
 *	does not change it while the transport holds the op
 * @node: entry in dd_tp_chan.ops (private, as all that follows)
 * @next: bytes that have been sent at least once; 1 of an empty message
 * @acked: bytes that have been acknowledged; 1 of an empty message
 * @retransmit: pieces that were declared lost and are not acknowledged since
 *
 * The transport holds the op from dd_tp_submit() until it calls sent() for it, or
 * until dd_tp_chan_drop().
 */
struct dd_tp_op {
	struct dd_tp_msg msg;

	struct list_head node;
	u32 next;
	u32 acked;
	u32 retransmit;
};

/**
 * struct dd_tp_range - bytes of a message, the end exclusive
 * @start: first byte
 * @end: byte after the last one
 */
struct dd_tp_range {
	u32 start;
	u32 end;
};

/**
 * struct dd_tp_chan_cfg - parameters of a channel
 * @id: name that the peer uses for this end, not 0. From random(), so that only the
 *	peer can name it
 * @peer_id: name that this node uses for the peer's end; 0 if not known yet
 * @rx_size: bytes in the block that the peer writes to
 * @rx_window: unread notes that the peer may have here, 1..DD_TP_WINDOW_MAX
 * @rx_taken: places of @rx_window not available at first, 0..@rx_window; the peer
 *	may send so many messages less until a DONE raises its limit
 * @tx_window: unread notes that this node may have at the peer, like @rx_window;
 *	not used while @peer_id is 0
 * @tx_taken: places of @tx_window not available at first, 0..@tx_window
 * @prompt: with @tx_window 1: the local sender waits for DONE after each message,
 *	so each message asks for an immediate DONE
 * @one_sided: no process answers; replies are those of enum dd_wire_op
 * @generation: in each frame of the channel; 0 for a connection. May be set until
 *	dd_tp_chan_peer()
 */
struct dd_tp_chan_cfg {
	u64 id;
	u64 peer_id;
	u64 rx_size;
	u32 rx_window;
	u32 rx_taken;
	u32 tx_window;
	u32 tx_taken;
	bool prompt;
	bool one_sided;
	u32 generation;
};

/**
 * struct dd_tp_chan - one end of a connection; embedded by the caller
 * @cfg: parameters, copied by dd_tp_chan_init()
 * @up: belongs to the session that is up; false after the session ended (read only)
 * @hold: like dd_tp.hold, for this channel; set by the caller, false at first
 * @submitted: messages accepted by dd_tp_submit() (read only)
 * @sent: messages of which all bytes are acknowledged (read only)
 * @done: messages that are in place at the peer and notified (read only)
 * @limit: number of the last message that may be sent now (read only)
 * @received: messages received completely (read only)
 * @notified: received messages whose note is posted, or that need none (read only)
 * @node: entry in dd_tp.chans (private, as all that follows)
 * @ready: entry in dd_tp.retransmit or in dd_tp.ready
 * @done_node: entry in dd_tp.done_queue, or in dd_tp_rec.done of the packet that
 *	carries the DONE
 * @ops: messages that are not acknowledged completely, by number
 * @flight: packets in flight that carry pieces of them
 * @lost: pieces to be retransmitted, as records
 * @granted: number of the last message that the peer may send, as last announced
 * @burst: bytes this channel may still send before the next channel's turn
 * @unanswered: no message was sent since the last one was received
 * @answers: a message was sent between the last two that were received
 * @awaited: the caller waits for messages that did not ask for DONE, or did so
 *	recently
 * @in_progress: @msg and @range describe message number @received + 1
 * @ntail: bytes in @tail
 * @tail: last bytes of the message, stored after all others
 * @lead: how many messages before the last permitted one a message asks for DONE
 * @asked: number of the last message that asked for DONE, 0 for none
 * @asked_at: when that message was sent; 0 if not known
 * @gap: smoothed time between two messages, ns; see dd_tp_chan_ask()
 * @nranges: entries in @range
 * @msg: the message in progress
 * @range: bytes received of it, ascending, disjoint and not adjacent
 */
struct dd_tp_chan {
	struct dd_tp_chan_cfg cfg;
	bool up;
	bool hold;
	u64 submitted;
	u64 sent;
	u64 done;
	u64 limit;
	u64 received;
	u64 notified;

	struct list_head node;
	struct list_head ready;
	struct list_head done_node;
	struct list_head ops;
	struct hlist_head flight;
	struct list_head lost;
	u64 granted;
	u8 tail[8];	/* after a u64: aligned, so that its words are whole */
	s32 burst;
	bool unanswered;
	bool answers;
	bool awaited;
	bool in_progress;
	u8 ntail;
	u16 lead;
	u32 nranges;
	u64 asked;
	u64 asked_at;
	u64 gap;
	struct dd_tp_msg msg;
	struct dd_tp_range range[DD_TP_HOLES];
};

#endif /* _DD_TRANSPORT_CHAN_H */
