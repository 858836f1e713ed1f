/* SPDX-License-Identifier: GPL-2.0-only */
/* What is acknowledged, and when: ack.c. */
#ifndef _DD_TRANSPORT_ACK_H
#define _DD_TRANSPORT_ACK_H

#include "transport/session.h"

u64 dd_tp_pn_decode(const struct dd_tp *tp, u32 low);
bool dd_tp_pn_is_new(const struct dd_tp *tp, u64 pn, enum dd_tp_drop *reason);
void dd_tp_pn_add(struct dd_tp *tp, u64 pn);
void dd_tp_ack_by(struct dd_tp *tp, u64 at);
void dd_tp_queue_done(struct dd_tp *tp, struct dd_tp_chan *chan, u64 at);
void dd_tp_ack_sent(struct dd_tp *tp);
void dd_tp_ack_note(struct dd_tp *tp, u64 now, u32 packets, u32 bytes, bool in_order);
void dd_tp_ack_wait(struct dd_tp *tp, u64 now);
bool dd_tp_ack_add(struct dd_tp *tp, u64 now, struct dd_wire_buf *buf, u32 reserve);
u64 dd_tp_ack_at(const struct dd_tp *tp);
void dd_tp_done_fill(struct dd_tp *tp, struct dd_tp_chan *chan, struct dd_wire_done *done);
void dd_tp_chan_refresh(struct dd_tp *tp, struct dd_tp_chan *chan, u64 now);
void dd_tp_msg_done(struct dd_tp *tp, u64 now, struct dd_tp_chan *chan, bool alone);

#endif /* _DD_TRANSPORT_ACK_H */
