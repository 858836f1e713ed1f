// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receiving packets and making acknowledgments. A packet is checked in this order:
 * length, session, checksum, frames, number. The checksum of a payload is computed
 * only for a packet with a valid session token. A packet is acknowledged if all its
 * frames were accepted; each frame has the same effect if it is received twice.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "transport/internal.h"

/*
 * Process frames until one is refused. Return: whether all were accepted. Unnumbered
 * packets have no duplicate detection: only idempotent frames.
 */
static bool dd_tp_frames_rx(struct dd_tp *tp, u64 now,
			    const struct dd_wire_hdr *hdr, size_t hlen,
			    const void *payload, u32 plen)
{
	const void *p = hdr + 1, *end = (const u8 *)hdr + hlen;
	bool numbered = !(hdr->flags & DD_WIRE_UNNUMBERED);

	/* dd_wire_frames_ok() has checked all lengths. */
	for (; p != end; p += dd_wire_len(p, end)) {
		u8 type = *(const u8 *)p;

		if (!numbered && type != DD_FRAME_ACK && type != DD_FRAME_BYE)
			return dd_tp_drop(tp, DD_TP_DROP_FORMAT);
		switch (type) {
		case DD_FRAME_ACK:
			if (!dd_tp_acked(tp, now, p))
				return dd_tp_drop(tp, DD_TP_DROP_ACK);
			break;
		case DD_FRAME_DONE:
			dd_tp_done_rx(tp, p);
			break;
		case DD_FRAME_CTL:
			if (!dd_tp_ctl_rx(tp, p))
				return false;
			break;
		case DD_FRAME_PUT:
			if (!dd_tp_put_rx(tp, now, p, payload, plen))
				return false;
			break;
		case DD_FRAME_PING:
			tp->ack_hurry = true;
			dd_tp_ack_by(tp, now);
			break;
		case DD_FRAME_BYE:
			if (numbered)
				break;
			dd_tp_end(tp, DD_TP_BYE);
			/* Stops the peer from repeating the BYE. */
			dd_tp_reply_reset(tp, now, hdr);
			return false;
		}
	}
	return true;
}

static void dd_tp_rx_numbered(struct dd_tp *tp, u64 now,
			      const struct dd_wire_hdr *hdr, size_t hlen,
			      const void *payload, u32 plen)
{
	u64 pn = dd_tp_pn_decode(tp, le32_to_cpu(hdr->pn));
	enum dd_tp_drop reason;
	bool in_order;

	dd_tp_trace(tp, DD_TP_EV_RECEIVED, pn, hlen + plen);
	if (!dd_tp_pn_is_new(tp, pn, &reason)) {
		dd_tp_drop(tp, reason);
		/* The acknowledgment may have been lost. */
		if (reason == DD_TP_DROP_DUP)
			dd_tp_ack_note(tp, now, 1, 0, true);
		return;
	}
	tp->rx_batch.chan = NULL;
	tp->wait = DD_TP_WAIT_NOT;
	if (!dd_tp_frames_rx(tp, now, hdr, hlen, payload, plen))
		return;
	dd_tp_rx_batch_begin(tp, hdr, hlen);
	in_order = pn == (tp->nrx ? tp->rx_range[0].last + 1 : 0);
	dd_tp_pn_add(tp, pn);
	if (tp->rx_range[0].last == pn) {
		tp->rx_ts = le32_to_cpu(hdr->ts);
		tp->rx_at = now;
	}
	dd_tp_ack_note(tp, now, 1, plen, in_order);
	if (tp->wait >= DD_TP_WAIT_REST)
		dd_tp_ack_wait(tp, now);
}

static bool dd_tp_rx_data(struct dd_tp *tp, u64 now,
			  const struct dd_wire_hdr *hdr, size_t hlen,
			  const void *payload, u32 plen)
{
	u64 token = le64_to_cpu(hdr->token);
	u32 crc;

	if (!dd_tp_knows(tp, token)) {
		dd_tp_reply_reset(tp, now, hdr);
		return dd_tp_drop(tp, DD_TP_DROP_TOKEN);
	}
	crc = dd_wire_crc(hdr, hlen);
	if (hdr->flags & DD_WIRE_PAYLOAD_CRC)
		crc = tp->ops->payload_crc(tp, payload, plen, crc);
	if (le32_to_cpu(hdr->crc) != ~crc)
		return dd_tp_drop(tp, DD_TP_DROP_CRC);
	if (hdr->version == DD_WIRE_HANDSHAKE)
		return dd_tp_drop(tp, DD_TP_DROP_VERSION);
	if (!dd_wire_frames_ok(hdr, hlen, plen))
		return dd_tp_drop(tp, DD_TP_DROP_FORMAT);
	if (tp->pend.rx_token)
		dd_tp_confirm(tp, now, token);
	if (hdr->version != tp->cur.version)
		return dd_tp_drop(tp, DD_TP_DROP_VERSION);
	tp->last_rx = now;
	tp->heard = true;
	tp->unanswered_since = 0;
	tp->stats.rx_packets++;
	if (hdr->flags & DD_WIRE_UNNUMBERED)
		dd_tp_frames_rx(tp, now, hdr, hlen, payload, plen);
	else
		dd_tp_rx_numbered(tp, now, hdr, hlen, payload, plen);
	return true;
}

bool dd_tp_rx(struct dd_tp *tp, u64 now, const void *p, size_t hlen,
	      const void *payload, size_t plen)
{
	const struct dd_wire_hdr *hdr = p;

	if (dd_wire_hlen(hdr, hlen, hlen + plen) != (int)hlen)
		return dd_tp_drop(tp, DD_TP_DROP_FORMAT);
	if (hdr->type == DD_WIRE_DATA)
		return dd_tp_rx_data(tp, now, hdr, hlen, payload, plen);
	/* The checksum covers the header only: handshakes have no payload. */
	if (le32_to_cpu(hdr->crc) != ~dd_wire_crc(hdr, hlen))
		return dd_tp_drop(tp, DD_TP_DROP_CRC);
	if (hdr->version != DD_WIRE_HANDSHAKE)
		return dd_tp_drop(tp, DD_TP_DROP_VERSION);
	if (!dd_wire_handshake_ok(hdr, hlen))
		return dd_tp_drop(tp, DD_TP_DROP_FORMAT);
	dd_tp_handshake(tp, now, hdr, hlen);
	return false;
}
