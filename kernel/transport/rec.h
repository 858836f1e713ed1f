/* SPDX-License-Identifier: GPL-2.0-only */
/* Records of packets in flight: rec.c. */
#ifndef _DD_TRANSPORT_REC_H
#define _DD_TRANSPORT_REC_H

#include "transport/session.h"

/**
 * struct dd_tp_rec - an unacknowledged packet or a lost piece; or a batch of
 *	packets with consecutive pieces of equal size and nothing else
 * @node: while lost: entry in dd_tp_chan.lost
 * @flight: while in flight: entry in dd_tp_chan.flight, or unhashed
 * @next: while free: next in dd_tp.free
 * @done: channels whose DONE the packet carries
 * @pn: number of the (first) packet
 * @sent_at: when it was sent
 * @chan: channel of the piece; NULL if there is none, or if it is not needed any
 *	more
 * @op: message of the piece
 * @off: start of the piece
 * @len: bytes of payload, in all packets of a batch together
 * @bytes: contribution to the bytes in flight
 * @count: number of packets; @count - 1 records on the free list are reserved for
 *	splitting the batch, and are not counted in dd_tp.nfree
 * @ctl: number of the first control message in the packet
 * @nctl: number of control messages in the packet
 * @retransmit: the piece has been declared lost before
 */
struct dd_tp_rec {
	union {
		struct list_head node;
		struct hlist_node flight;
		struct dd_tp_rec *next;
	};
	struct list_head done;
	u64 pn;
	u64 sent_at;
	struct dd_tp_chan *chan;
	struct dd_tp_op *op;
	u32 off;
	u32 len;
	u32 bytes;
	u32 count;
	u32 ctl;
	u16 nctl;
	bool retransmit;
};

/* Entries of dd_tp.ring: none, the index of a record plus 1, or a loss mark. */
#define DD_TP_RING_NONE		0
#define DD_TP_RING_PROBED	0xfffe	/* retransmitted after a probe timeout */
#define DD_TP_RING_LOST		0xffff	/* declared lost */

static inline u16 *dd_tp_ring_at(struct dd_tp *tp, u64 pn)
{
	return &tp->ring[pn & tp->ring_mask];
}

static inline struct dd_tp_rec *dd_tp_ring_rec(struct dd_tp *tp, u64 pn)
{
	u16 i = *dd_tp_ring_at(tp, pn);

	return i && i <= tp->cfg.records ? &tp->recs[i - 1] : NULL;
}

struct dd_tp_rec *dd_tp_rec_alloc(struct dd_tp *tp);
void dd_tp_rec_free(struct dd_tp *tp, struct dd_tp_rec *rec);
void dd_tp_rec_sent(struct dd_tp *tp, struct dd_tp_rec *rec, u64 now);
bool dd_tp_rec_space(const struct dd_tp *tp, u32 keep);
struct dd_tp_rec *dd_tp_rec_split(struct dd_tp *tp, struct dd_tp_rec *rec, u32 n);
void dd_tp_rec_ring(struct dd_tp *tp, const struct dd_tp_rec *rec, u16 entry);
void dd_tp_rec_trace(struct dd_tp *tp, enum dd_tp_event event, const struct dd_tp_rec *rec);
void dd_tp_rec_detach(struct dd_tp_rec *rec);
void dd_tp_recs_drop(struct dd_tp *tp, struct dd_tp_chan *chan, const struct dd_tp_op *op);
void dd_tp_rec_sort(struct dd_tp *tp, struct dd_tp_rec *rec);

#endif /* _DD_TRANSPORT_REC_H */
