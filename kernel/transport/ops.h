/* SPDX-License-Identifier: GPL-2.0-only */
/* Packets to be sent, and the callbacks of a session. */
#ifndef _DD_TRANSPORT_OPS_H
#define _DD_TRANSPORT_OPS_H

#include <linux/types.h>

#include "transport/types.h"
#include "transport/wire.h"

struct dd_tp;
struct dd_tp_chan;
struct dd_tp_msg;
struct dd_tp_op;
struct dd_tp_rx_batch;

/**
 * struct dd_tp_pkt - a packet, or a batch of packets, to be transmitted
 * @hdr: (in) memory of %DD_WIRE_HLEN_MAX bytes
 * @space: (in) number of struct dd_wire_piece that fit at @hdr; with 0 or 1, each
 *	call makes one packet
 * @count: (out) packets made: 1, or more if they carry consecutive pieces of one
 *	message. Their headers are adjacent at @hdr and their payloads are adjacent
 *	in the message; @off and @len describe the first one
 * @hlen: (out) bytes of each header
 * @chan: (out) channel of the payload, NULL if there is none
 * @op: (out) message of the payload
 * @off: (out) offset of the payload in the message
 * @len: (out) bytes of payload, after the header
 * @crc: (out) if @need_crc: running checksum, to be continued over the payload
 *	and stored by dd_wire_seal()
 * @need_crc: (out) the caller has to finish the checksum; @count is 1
 * @again: (out) retransmitted payload; its source may be changing, so the caller
 *	should copy it first; @count is 1
 *
 * @chan and @op are valid under the caller's lock. A caller that unlocks before
 * it has taken the payload holds a reference to the memory of the source.
 */
struct dd_tp_pkt {
	struct dd_wire_hdr *hdr;
	u32 space;
	u32 count;
	u32 hlen;
	struct dd_tp_chan *chan;
	struct dd_tp_op *op;
	u32 off;
	u32 len;
	u32 crc;
	bool need_crc;
	bool again;
};

/**
 * struct dd_tp_ops - callbacks of the transport
 * @random: return 64 unpredictable random bits
 * @find: return the channel of this session with this id, or NULL
 * @deposit: store @len bytes of @payload, from its byte @off on, at offset @dst
 *	of the block. Bytes of a message come in any order, each byte once; all
 *	bytes of a message come before those of the next. Return 0; -%ECONNRESET if
 *	the channel is closing (the bytes are dropped, the packet is acknowledged);
 *	-%EAGAIN to drop the packet unacknowledged, so that the peer retransmits it
 * @deposit_batch: store the payloads of consecutive packets, which are adjacent in
 *	the block, from @dst on: as long as dd_tp_rx_batch_accepts() accepts the
 *	header of the next packet, store its @batch->plen bytes. May stop after any
 *	packet; the remaining ones are passed to dd_tp_rx()
 * @peek: copy @len bytes of @payload, from its byte @off on, to @buf
 * @payload_crc: continue the running CRC-32C @crc over @len bytes of @payload
 * @complete: all bytes of a message but the last @ntail (0..8) are deposited: store
 *	these at its end (dd_copy_final()) and notify the receiver if @msg->flags
 *	asks for it. Return true if it is notified or needs no note, false if the
 *	note is withheld; then the caller calls dd_tp_notified() later
 * @credit: return the number of notes that could be posted on this channel now;
 *	called only while no note is withheld. The value must not decrease except
 *	by posting. Called often
 * @sent: all bytes of the messages up to @msgid are acknowledged: their ops and
 *	sources may be reused
 * @done: the messages up to @msgid are in place and notified; follows sent()
 * @ctl: a control message was received; each exactly once, in order
 * @up: a session is up; channels may be made and control messages sent
 * @down: the session ended: no further callback for its messages. Its channels
 *	have @up false and may be dropped at any time
 * @trace: report an event; called only while @tracing of the session is set
 *
 * complete(), sent(), done(), ctl(), up() and down() may call dd_tp_submit(),
 * dd_tp_ctl(), dd_tp_notified(), dd_tp_chan_init(), dd_tp_chan_peer(),
 * dd_tp_chan_await(), dd_tp_chan_over() and dd_tp_chan_drop() for any channel, and
 * down() may call dd_tp_start(). The other callbacks may call no function of the
 * transport. No callback may call dd_tp_stop() or dd_tp_poll().
 */
struct dd_tp_ops {
	u64 (*random)(struct dd_tp *tp);
	struct dd_tp_chan *(*find)(struct dd_tp *tp, u64 id);
	int (*deposit)(struct dd_tp *tp, struct dd_tp_chan *chan, u64 dst,
		       const void *payload, u32 off, u32 len);
	void (*deposit_batch)(struct dd_tp *tp, struct dd_tp_chan *chan, u64 dst,
			      const void *payload,
			      struct dd_tp_rx_batch *batch);
	void (*peek)(struct dd_tp *tp, const void *payload, u32 off, void *buf, u32 len);
	u32 (*payload_crc)(struct dd_tp *tp, const void *payload, u32 len, u32 crc);
	bool (*complete)(struct dd_tp *tp, struct dd_tp_chan *chan,
			 const struct dd_tp_msg *msg, const u8 *tail,
			 u32 ntail);
	u32 (*credit)(struct dd_tp *tp, struct dd_tp_chan *chan);
	void (*sent)(struct dd_tp *tp, struct dd_tp_chan *chan, u64 msgid);
	void (*done)(struct dd_tp *tp, struct dd_tp_chan *chan, u64 msgid);
	void (*ctl)(struct dd_tp *tp, const void *data, u32 len);
	void (*up)(struct dd_tp *tp);
	void (*down)(struct dd_tp *tp, enum dd_tp_reason reason);
	void (*trace)(struct dd_tp *tp, enum dd_tp_event event, u64 pn, u32 bytes);
};

#endif /* _DD_TRANSPORT_OPS_H */
