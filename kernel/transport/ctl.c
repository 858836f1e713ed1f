// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control messages: one numbered stream per direction. The sender keeps a message
 * until it is acknowledged, the receiver until all earlier ones are delivered.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "transport/internal.h"

static struct dd_tp_slot *dd_tp_slot(struct dd_tp *tp, struct dd_tp_slot *slots, u32 seq)
{
	return &slots[seq & (tp->cfg.ctl_slots - 1)];
}

u32 dd_tp_ctl_space(const struct dd_tp *tp)
{
	u32 most = min(tp->cfg.ctl_slots, tp->cur.ctl_slots);

	if (tp->state != DD_TP_UP)
		return 0;
	return most - min(most, tp->ctl_next - tp->ctl_una);
}

int dd_tp_ctl(struct dd_tp *tp, const void *data, u32 len)
{
	struct dd_tp_slot *slot;

	if (!len || len > DD_WIRE_CTL_MAX)
		return -EINVAL;
	if (tp->state != DD_TP_UP)
		return -ENOTCONN;
	if (!dd_tp_ctl_space(tp))
		return -EAGAIN;
	slot = dd_tp_slot(tp, tp->tx_ctl, tp->ctl_next++);
	slot->state = DD_TP_SLOT_QUEUED;
	slot->len = len;
	memcpy(slot->data, data, len);
	tp->ctl_queued++;
	return 0;
}

/* Add queued messages with consecutive numbers to a packet, as many as fit. */
void dd_tp_ctl_add(struct dd_tp *tp, struct dd_wire_buf *buf, struct dd_tp_rec *rec)
{
	struct dd_tp_slot *slot;
	struct dd_wire_ctl *ctl;
	u32 seq = tp->ctl_una;

	while (seq != tp->ctl_next &&
	       dd_tp_slot(tp, tp->tx_ctl, seq)->state != DD_TP_SLOT_QUEUED)
		seq++;
	rec->ctl = seq;
	for (; seq != tp->ctl_next; seq++) {
		slot = dd_tp_slot(tp, tp->tx_ctl, seq);
		if (slot->state != DD_TP_SLOT_QUEUED)
			break;
		ctl = dd_wire_add(buf, sizeof(*ctl) + ALIGN(slot->len, 8));
		if (!ctl)
			break;
		ctl->type = DD_FRAME_CTL;
		ctl->len = cpu_to_le16(slot->len);
		ctl->seq = cpu_to_le32(seq);
		memcpy(ctl->data, slot->data, slot->len);
		slot->state = DD_TP_SLOT_FLIGHT;
		tp->ctl_queued--;
		rec->nctl++;
	}
}

void dd_tp_ctl_lost(struct dd_tp *tp, const struct dd_tp_rec *rec)
{
	u32 i;

	for (i = 0; i < rec->nctl; i++) {
		dd_tp_slot(tp, tp->tx_ctl, rec->ctl + i)->state = DD_TP_SLOT_QUEUED;
		tp->ctl_queued++;
	}
}

void dd_tp_ctl_acked(struct dd_tp *tp, const struct dd_tp_rec *rec)
{
	u32 i;

	for (i = 0; i < rec->nctl; i++)
		dd_tp_slot(tp, tp->tx_ctl, rec->ctl + i)->state = DD_TP_SLOT_FREE;
	while (tp->ctl_una != tp->ctl_next &&
	       dd_tp_slot(tp, tp->tx_ctl, tp->ctl_una)->state == DD_TP_SLOT_FREE)
		tp->ctl_una++;
}

/* A CTL frame was received. Return: whether to acknowledge its packet. */
bool dd_tp_ctl_rx(struct dd_tp *tp, const struct dd_wire_ctl *ctl)
{
	u32 seq = le32_to_cpu(ctl->seq), ahead = seq - tp->ctl_rx;
	struct dd_tp_slot *slot;

	if ((s32)ahead < 0)
		return true;
	if (ahead >= tp->cfg.ctl_slots)
		return dd_tp_drop(tp, DD_TP_DROP_CTL);
	slot = dd_tp_slot(tp, tp->rx_ctl, seq);
	slot->state = DD_TP_SLOT_QUEUED;
	slot->len = le16_to_cpu(ctl->len);
	memcpy(slot->data, ctl->data, slot->len);
	/* The callback may read the slot: it is reused ctl_slots messages later. */
	while (slot = dd_tp_slot(tp, tp->rx_ctl, tp->ctl_rx),
	       slot->state == DD_TP_SLOT_QUEUED) {
		slot->state = DD_TP_SLOT_FREE;
		tp->ctl_rx++;
		tp->ops->ctl(tp, slot->data, slot->len);
	}
	return true;
}
