// SPDX-License-Identifier: GPL-2.0-only
/* What the simulator and the fuzzer share. */
#include <stdio.h>

#include "packet.h"

void packet_head(void *packet, u8 type, size_t hlen, size_t plen, u64 token)
{
	struct dd_wire_hdr *hdr = packet;

	hdr->magic = cpu_to_le16(DD_WIRE_MAGIC);
	hdr->version = type == DD_WIRE_DATA ? DD_WIRE_VERSION : 0;
	hdr->type = type;
	hdr->hlen = cpu_to_le16(hlen);
	hdr->plen = cpu_to_le16(plen);
	hdr->token = cpu_to_le64(token);
}

void packet_seal(void *packet, size_t hlen, const void *payload, size_t plen)
{
	struct dd_wire_hdr *hdr = packet;
	u32 crc = dd_wire_crc(hdr, hlen);

	if (hdr->flags & DD_WIRE_PAYLOAD_CRC)
		crc = crc32c(crc, payload, plen);
	dd_wire_seal(hdr, crc);
}

const char *session_fault(const struct dd_tp *tp)
{
	u32 nfree = 0, nlost = 0, nout = 0, nheld = 0, bytes = 0;
	const struct dd_tp_chan *c;
	const struct dd_tp_rec *rec;
	static char text[200];
	u64 pn;

	for (rec = tp->free; rec; rec = rec->next)
		nfree++;
	list_for_each_entry(c, &tp->chans, node) {
		list_for_each_entry(rec, &c->lost, node)
			nlost++;
		if (c->done > c->sent || c->sent > c->submitted ||
		    c->notified > c->received)
			return "counters out of order";
	}
	if (tp->next_pn - tp->low_pn > tp->ring_mask + 1)
		return "more packets in flight than the ring holds";
	for (pn = tp->low_pn; pn < tp->next_pn; pn++) {
		u16 slot = tp->ring[pn & tp->ring_mask];

		if (!slot || slot > tp->cfg.records)
			continue;
		rec = &tp->recs[slot - 1];
		if (pn - rec->pn >= rec->count)
			return "record of another packet";
		/* One record may cover many packets; it holds their records. */
		nheld += pn != rec->pn;
		nout++;
		bytes += rec->bytes / rec->count;
	}
	snprintf(text, sizeof(text),
		 "records: %u free (%u said), %u lost, %u in flight of %u; %u bytes in flight (%u said)",
		 nfree - nheld, tp->nfree, nlost, nout, tp->cfg.records, bytes,
		 tp->cc.flight);
	return nfree == tp->nfree + nheld && bytes == tp->cc.flight &&
	       tp->nfree + nlost + nout == tp->cfg.records ? NULL : text;
}
