// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks of packets. The input is untrusted; packets that pass need no further
 * checks of their format.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "transport/crc.h"
#include "transport/wire.h"

int dd_wire_hlen(const void *p, size_t avail, size_t len)
{
	const struct dd_wire_hdr *hdr = p;
	size_t hlen;

	if (avail < sizeof(*hdr) || len < sizeof(*hdr) ||
	    le16_to_cpu(hdr->magic) != DD_WIRE_MAGIC)
		return -EBADMSG;
	hlen = le16_to_cpu(hdr->hlen);
	if (hlen < sizeof(*hdr) || hlen > DD_WIRE_HLEN_MAX || hlen % 8 ||
	    hlen + le16_to_cpu(hdr->plen) != len)
		return -EBADMSG;
	return hlen;
}

u32 dd_wire_crc(const struct dd_wire_hdr *hdr, size_t hlen)
{
	struct dd_wire_hdr zeroed = *hdr;

	/* The checksum field counts as 0. */
	zeroed.crc = 0;
	return dd_crc(dd_crc(~0u, &zeroed, sizeof(zeroed)), hdr + 1, hlen - sizeof(zeroed));
}

void dd_wire_seal(struct dd_wire_hdr *hdr, u32 crc)
{
	hdr->crc = cpu_to_le32(~crc);
}

static bool dd_wire_init_ok(const struct dd_wire_init *init)
{
	return init->token && !(init->flags & ~DD_WIRE_WANT_CRC) &&
	       !init->__reserved[0] && !init->__reserved[1] &&
	       !init->__reserved[2] && !init->__reserved2 &&
	       le32_to_cpu(init->packet_max) >= DD_WIRE_PACKET_MIN &&
	       init->ctl_slots && init->version_min &&
	       init->version_min <= init->version_max;
}

bool dd_wire_handshake_ok(const struct dd_wire_hdr *hdr, size_t hlen)
{
	const void *p = hdr;
	const struct dd_wire_refuse *refuse = p;

	if (hdr->flags || hdr->plen || hdr->pn || hdr->__reserved || hdr->__reserved2)
		return false;
	switch (hdr->type) {
	case DD_WIRE_INIT:
		return hlen == sizeof(struct dd_wire_init) && !hdr->token &&
		       dd_wire_init_ok(p);
	case DD_WIRE_INIT_ACK:
		return hlen == sizeof(struct dd_wire_init) &&
		       dd_wire_init_ok(p);
	case DD_WIRE_COOKIE:
		return hlen == sizeof(struct dd_wire_cookie);
	case DD_WIRE_REFUSE:
		return hlen == sizeof(struct dd_wire_refuse) &&
		       !refuse->__reserved && !refuse->__reserved2;
	case DD_WIRE_RESET:
		return hlen == sizeof(struct dd_wire_reset) && !hdr->token;
	default:
		return false;
	}
}

/* Whether fields that version 1 does not have are zero, or consistent. */
static bool dd_wire_op_ok(const struct dd_wire_put *put, u8 version)
{
	bool reply = put->flags & DD_PUT_REPLY;
	u32 len = le32_to_cpu(put->len);

	if (version < 2)
		return !put->op && !reply && !put->generation;
	if (put->op >= DD_WIRE_OPS)
		return false;
	if (put->op == DD_WIRE_NOTE && !reply)
		return len <= DD_WIRE_NOTE_MAX && !put->dst;
	return !len || put->op == (reply ? DD_WIRE_GET : DD_WIRE_PUT);
}

static size_t dd_wire_put_len(const struct dd_wire_put *put, size_t avail, u8 version)
{
	const struct dd_wire_head *head = (const void *)(put + 1);
	u32 i;

	if (avail < sizeof(*put) || put->flags & ~DD_PUT_FLAGS ||
	    !dd_wire_op_ok(put, version) || put->meta_count > DD_WIRE_META || !put->msgid ||
	    le32_to_cpu(put->len) > DD_WIRE_MSG_MAX ||
	    le32_to_cpu(put->off) > le32_to_cpu(put->len) ||
	    le64_to_cpu(put->dst) > U64_MAX - DD_WIRE_MSG_MAX)
		return 0;
	/* A PUT is the last frame. */
	if (put->off)
		return avail == sizeof(*put) ? avail : 0;
	if (avail != sizeof(*put) + sizeof(*head) || head->__reserved)
		return 0;
	/* Metadata words beyond meta_count must be zero. */
	for (i = put->meta_count; i < DD_WIRE_META; i++) {
		if (head->meta[i])
			return 0;
	}
	return avail;
}

/* Length of a frame of which @avail bytes are present; 0 if it is malformed. */
static size_t dd_wire_frame_len(const void *p, size_t avail, u8 version)
{
	const struct dd_wire_done *done = p;
	const struct dd_wire_ping *ping = p;
	const struct dd_wire_ack *ack = p;
	const struct dd_wire_ctl *ctl = p;
	const struct dd_wire_bye *bye = p;
	size_t len;
	u32 i;

	switch (*(const u8 *)p) {
	case DD_FRAME_ACK:
		if (avail < sizeof(*ack) || ack->count >= DD_WIRE_RANGES ||
		    avail < struct_size(ack, range, ack->count))
			return 0;
		for (i = 0; i < ack->count; i++) {
			if (!ack->range[i].gap || !ack->range[i].len)
				return 0;
		}
		return struct_size(ack, range, ack->count);
	case DD_FRAME_DONE:
		return avail < sizeof(*done) || done->__reserved ||
		       done->__reserved2 ? 0 : sizeof(*done);
	case DD_FRAME_CTL:
		if (avail < sizeof(*ctl) || ctl->__reserved)
			return 0;
		len = le16_to_cpu(ctl->len);
		if (!len || len > DD_WIRE_CTL_MAX ||
		    avail - sizeof(*ctl) < ALIGN(len, 8) ||
		    memchr_inv(ctl->data + len, 0, ALIGN(len, 8) - len))
			return 0;
		return sizeof(*ctl) + ALIGN(len, 8);
	case DD_FRAME_PUT:
		return dd_wire_put_len(p, avail, version);
	case DD_FRAME_PING:
		return avail < sizeof(*ping) ||
		       memchr_inv(ping->__reserved, 0, sizeof(ping->__reserved)) ?
		       0 : sizeof(*ping);
	case DD_FRAME_BYE:
		return avail < sizeof(*bye) ||
		       memchr_inv(bye->__reserved, 0, sizeof(bye->__reserved)) ?
		       0 : sizeof(*bye);
	default:
		return 0;
	}
}

bool dd_wire_frames_ok(const struct dd_wire_hdr *hdr, size_t hlen, size_t plen)
{
	const u8 *p = (const u8 *)(hdr + 1), *end = (const u8 *)hdr + hlen;
	const struct dd_wire_put *put = NULL;
	size_t len;

	if (hdr->flags & ~DD_WIRE_FLAGS || hdr->__reserved || hdr->__reserved2)
		return false;
	for (; p != end; p += len) {
		len = dd_wire_frame_len(p, end - p, hdr->version);
		if (!len)
			return false;
		if (*p == DD_FRAME_PUT)
			put = (const void *)p;
	}
	if (!put)
		return !plen;
	/* Only an empty message has an empty piece. */
	return plen ? plen <= le32_to_cpu(put->len) - le32_to_cpu(put->off) : !put->len;
}
