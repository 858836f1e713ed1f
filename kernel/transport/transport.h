/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A session between two nodes: turns an unreliable packet service into messages
 * that are deposited once and in order. Pure: events and a clock go in, packets
 * and calls of struct dd_tp_ops come out. No sockets, timers or allocations.
 *
 * The caller serialises all calls for one struct dd_tp with a lock of its own; the
 * callbacks run under the same lock. Time is in nanoseconds and monotonic. After
 * dd_tp_start(), dd_tp_rx(), dd_tp_timeout(), dd_tp_submit(), dd_tp_notified() or
 * dd_tp_ctl() the caller drains dd_tp_poll(), preferably once after a burst of
 * received packets, so that one acknowledgment covers the burst. Then it arranges
 * for dd_tp_timeout() to be called at dd_tp_deadline().
 *
 * Nothing here waits for a peer. Documentation/protocol.rst has the states.
 */
#ifndef _DD_TRANSPORT_H
#define _DD_TRANSPORT_H

#include <linux/types.h>

#include "transport/session.h"

/**
 * dd_tp_arena_size() - size of the memory that a session needs beside struct dd_tp
 * @cfg: configuration
 *
 * Return: bytes.
 */
size_t dd_tp_arena_size(const struct dd_tp_cfg *cfg);

/**
 * dd_tp_init() - initialise the state of a peer, without a session
 * @tp: to be initialised
 * @cfg: configuration, copied
 * @ops: callbacks, not copied
 * @arena: dd_tp_arena_size() bytes, aligned to 8
 *
 * The caller may free @arena and @tp after dd_tp_stop().
 */
void dd_tp_init(struct dd_tp *tp, const struct dd_tp_cfg *cfg,
		const struct dd_tp_ops *ops, void *arena);

/**
 * dd_tp_start() - request a session
 * @tp: the session
 * @now: current time
 *
 * up() or down() follows, after the dead time at the latest. No effect if a
 * session is up or requested already.
 */
void dd_tp_start(struct dd_tp *tp, u64 now);

/**
 * dd_tp_stop() - end the session, if there is one
 * @tp: the session
 *
 * Calls down() with %DD_TP_STOPPED. dd_tp_poll() makes a BYE at once and more at
 * growing intervals until the peer answers, for 35 ms at most; then @bye is 0.
 */
void dd_tp_stop(struct dd_tp *tp);

/**
 * dd_tp_timeout() - handle expired timers
 * @tp: the session
 * @now: current time; nothing happens before the deadline
 */
void dd_tp_timeout(struct dd_tp *tp, u64 now);

/**
 * dd_tp_deadline() - when dd_tp_timeout() has to be called
 * @tp: the session
 *
 * Valid after dd_tp_poll() has returned false.
 *
 * Return: a time, possibly in the past, or %DD_TP_NEVER.
 */
u64 dd_tp_deadline(const struct dd_tp *tp);

/**
 * dd_tp_is_idle() - quick check whether dd_tp_poll() would make no packet
 * @tp: the session
 * @now: current time
 *
 * Return: true if it would make none; then the call replaces dd_tp_poll(). False
 * if dd_tp_poll() has to be called.
 */
static inline bool dd_tp_is_idle(struct dd_tp *tp, u64 now)
{
	if (tp->state != DD_TP_UP || tp->bye || tp->reply_len ||
	    !list_empty(&tp->ready) || !list_empty(&tp->retransmit) ||
	    tp->ctl_queued || tp->ping || (tp->ack_at && tp->ack_at <= now))
		return false;
	tp->cc.limited = false;
	tp->cc.paced = false;
	return true;
}

#define DD_TP_SURE	2000000ull	/* ns: below any probe timeout */

/**
 * dd_tp_deadline_after() - quick check whether dd_tp_deadline() is not before @at
 * @tp: the session
 * @at: a time
 *
 * Return: false if dd_tp_deadline() has to be called to know.
 */
static inline bool dd_tp_deadline_after(const struct dd_tp *tp, u64 at)
{
	return tp->state == DD_TP_UP && (!tp->ack_at || tp->ack_at >= at) &&
	       !tp->loss_at && !tp->bye && !tp->cc.paced &&
	       at <= min(tp->last_rx, tp->last_eliciting ?: tp->last_rx) +
		     DD_TP_SURE;
}

/**
 * dd_tp_poll() - make the next packet, or a batch of packets
 * @tp: the session
 * @now: current time
 * @pkt: (in, out) the packet
 *
 * Return: true if there is a packet to send now.
 */
bool dd_tp_poll(struct dd_tp *tp, u64 now, struct dd_tp_pkt *pkt);

/**
 * dd_tp_set_mtu() - set the largest datagram that the path carries
 * @tp: the session
 * @bytes: UDP payload; raised to %DD_WIRE_PACKET_MIN, which is then fragmented
 *
 * Applies to retransmissions, too. If the path silently drops packets of this
 * size, smaller ones are tried.
 */
void dd_tp_set_mtu(struct dd_tp *tp, u32 bytes);

/**
 * dd_tp_chan_init() - make a channel in the session that is up
 * @tp: the session
 * @chan: to be initialised
 * @cfg: parameters, copied
 *
 * find() must return the channel before the peer learns @cfg->id.
 *
 * Return: 0, or -%ENOTCONN if no session is up.
 */
int dd_tp_chan_init(struct dd_tp *tp, struct dd_tp_chan *chan,
		    const struct dd_tp_chan_cfg *cfg);

/**
 * dd_tp_chan_peer() - set the peer's end of a channel
 * @tp: the session
 * @chan: a channel made with @peer_id 0
 * @peer_id: name of the peer's end, not 0
 * @tx_window: unread notes that this node may have at the peer, 1..DD_TP_WINDOW_MAX
 * @tx_taken: places of @tx_window not available at first, 0..@tx_window
 *
 * Return: 0, or -%ENOTCONN if the session ended.
 */
int dd_tp_chan_peer(struct dd_tp *tp, struct dd_tp_chan *chan, u64 peer_id,
		    u32 tx_window, u32 tx_taken);

/**
 * dd_tp_chan_drop() - remove a channel from its session at once
 * @tp: the session
 * @chan: the channel; may have been dropped before
 *
 * The transport forgets @chan and its ops without sent() or done(). Packets in
 * flight may still be delivered to the peer.
 */
void dd_tp_chan_drop(struct dd_tp *tp, struct dd_tp_chan *chan);

/**
 * dd_tp_submit() - send a message
 * @tp: the session
 * @chan: a channel whose peer's end is known
 * @op: the message
 *
 * Return: 0, with the number of the message in op->msg.msgid; -%EBUSY if
 * tx_window + 1 messages are not done; -%EINVAL; -%ENOTCONN if the session ended
 * or the peer's end is not known. An error changes nothing.
 */
int dd_tp_submit(struct dd_tp *tp, struct dd_tp_chan *chan, struct dd_tp_op *op);

/**
 * dd_tp_chan_await() - the caller is about to wait for sent() or done()
 * @tp: the session
 * @chan: the channel
 *
 * Makes the last message, or a PING, ask the peer for an immediate DONE, unless
 * one in flight asks already. The next message asks as well if it is then the
 * only one.
 */
void dd_tp_chan_await(struct dd_tp *tp, struct dd_tp_chan *chan);

/**
 * dd_tp_chan_hurry() - send a queued DONE of a channel now, as the channel will end
 * @tp: the session
 * @chan: the channel
 */
void dd_tp_chan_hurry(struct dd_tp *tp, struct dd_tp_chan *chan);

/**
 * dd_tp_chan_over() - the peer's end of a channel has ended
 * @tp: the session
 * @chan: the channel
 * @count: final number of messages notified there; ignored if more than were sent
 */
void dd_tp_chan_over(struct dd_tp *tp, struct dd_tp_chan *chan, u64 count);

/**
 * dd_tp_notified() - withheld notes have been posted
 * @tp: the session
 * @chan: the channel
 * @msgid: last message posted; those before it are posted, too
 */
void dd_tp_notified(struct dd_tp *tp, struct dd_tp_chan *chan, u64 msgid);

#endif /* _DD_TRANSPORT_H */
