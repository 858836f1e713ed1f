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

#define DD_TP_ACK_EVERY	16	/* packets, or more bytes than one packet holds */
#define DD_TP_ACK_BYTES	16384	/* of messages whose acknowledgment may wait */

/* Expand a packet number: the one closest to the next expected number. */
static u64 dd_tp_pn_decode(const struct dd_tp *tp, u32 low)
{
	u64 next = tp->nrx ? tp->rx_range[0].last + 1 : 0;
	s32 diff = low - (u32)next;

	if (diff < 0 && next < (u64)-(s64)diff)
		return next + (u32)diff;
	return next + diff;
}

/* Whether a packet number is new; if not, *@reason says why. */
static bool dd_tp_pn_is_new(const struct dd_tp *tp, u64 pn, enum dd_tp_drop *reason)
{
	u32 i;

	*reason = DD_TP_DROP_DUP;
	for (i = 0; i < tp->nrx; i++) {
		if (pn > tp->rx_range[i].last)
			return true;
		if (pn >= tp->rx_range[i].first)
			return false;
	}
	/* Below all ranges: if ranges were dropped, duplicates cannot be detected. */
	*reason = DD_TP_DROP_OLD;
	return tp->nrx < DD_TP_RX_RANGES;
}

/* Add the number of an accepted packet. */
static void dd_tp_pn_add(struct dd_tp *tp, u64 pn)
{
	struct dd_tp_rx_range *r = tp->rx_range;
	u32 i = 0;

	/* The first range that contains @pn, or ends at @pn - 1 or before. */
	for (; i < tp->nrx && r->first > pn + 1; r++)
		i++;
	if (i < tp->nrx && r->first == pn + 1) {
		r->first = pn;
		if (i + 1 < tp->nrx && r[1].last + 1 == pn) {
			r->first = r[1].first;
			tp->nrx--;
			memmove(r + 1, r + 2, (tp->nrx - i - 1) * sizeof(*r));
		}
		return;
	}
	if (i < tp->nrx && r->last + 1 == pn) {
		r->last = pn;
		return;
	}
	/* Drop the oldest range; it has been acknowledged many times. */
	tp->nrx = min(tp->nrx + 1, (u32)DD_TP_RX_RANGES);
	memmove(r + 1, r, (tp->nrx - i - 1) * sizeof(*r));
	r->first = pn;
	r->last = pn;
}

/* Send ACK and DONEs at @at or before. */
void dd_tp_ack_by(struct dd_tp *tp, u64 at)
{
	/* 0 means that nothing is due. */
	at = max(at, 1ull);
	if (!tp->ack_at || at < tp->ack_at)
		tp->ack_at = at;
}

/* A packet with ACK and DONEs was built; some DONEs may be left over. */
void dd_tp_ack_sent(struct dd_tp *tp)
{
	tp->ack_count = 0;
	tp->ack_bytes = 0;
	tp->ack_hurry = false;
	if (list_empty(&tp->done_queue))
		tp->ack_at = 0;
}

/* Packets were accepted, or a duplicate was received: schedule an ACK. */
void dd_tp_ack_note(struct dd_tp *tp, u64 now, u32 packets, u32 bytes, bool in_order)
{
	tp->ack_count += packets;
	tp->ack_bytes += bytes;
	tp->ack_hurry |= !in_order;
	/* At least every second full-sized packet, as in RFC 9000. */
	if (tp->ack_count >= DD_TP_ACK_EVERY || !in_order ||
	    tp->ack_bytes > dd_tp_packet_size(tp))
		dd_tp_ack_by(tp, now);
	else
		dd_tp_ack_by(tp, now + DD_TP_ACK_DELAY);
}

/*
 * The packet completed a message whose acknowledgment may wait: the sender waits for
 * an answer, which will carry the ACK; or the message is short and the sender will
 * send the next one before it needs a DONE.
 */
static void dd_tp_ack_wait(struct dd_tp *tp, u64 now)
{
	if (tp->wait == DD_TP_WAIT_REST &&
	    (tp->ack_count >= DD_TP_ACK_EVERY || tp->ack_bytes >= DD_TP_ACK_BYTES))
		return;
	if (tp->ack_at <= now && !tp->ack_hurry && list_is_singular(&tp->done_queue))
		tp->ack_at = now + DD_TP_ACK_DELAY;
}

#define DD_TP_ACK_FAR	(4 * DD_TP_RECORDS_MAX)	/* beyond the sender's ring */

/* Add an ACK with as many ranges as fit, leaving @reserve bytes of @buf. */
bool dd_tp_ack_add(struct dd_tp *tp, u64 now, struct dd_wire_buf *buf, u32 reserve)
{
	const struct dd_tp_rx_range *r = tp->rx_range;
	struct dd_wire_ack *ack;
	size_t room = buf->end - buf->p;
	u32 i, n;

	if (!tp->nrx || !tp->ack_count || room < reserve + sizeof(*ack))
		return !tp->ack_count;
	n = (room - reserve - sizeof(*ack)) / sizeof(*ack->range);
	n = min3(n, tp->nrx - 1, DD_WIRE_RANGES - 1u);
	/* The sender has forgotten packets this old. */
	while (n && r[n].last + DD_TP_ACK_FAR < r->last)
		n--;
	/* No zeroing as in dd_wire_add(): every field is written below. */
	ack = (void *)buf->p;
	buf->p += struct_size(ack, range, n);
	ack->type = DD_FRAME_ACK;
	ack->count = n;
	ack->delay = cpu_to_le16(min_t(u64, div_u64(now - tp->rx_at, DD_TP_US), U16_MAX));
	ack->largest = cpu_to_le32(r->last);
	ack->first = cpu_to_le32(min_t(u64, r->last - r->first, U32_MAX));
	ack->ts_echo = cpu_to_le32(tp->rx_ts);
	for (i = 0; i < n; i++, r++) {
		ack->range[i].gap = cpu_to_le32(r[0].first - r[1].last - 1);
		ack->range[i].len = cpu_to_le32(min_t(u64, U32_MAX,
						      r[1].last - r[1].first + 1));
	}
	return true;
}

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
