/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages of the control stream, and functions that its files share. lookup.c has the look-ups
 * of this node, answer.c the look-ups of the peer, and ctl.c the rest.
 */
#ifndef _DD_CTL_MSG_H
#define _DD_CTL_MSG_H

#include "cluster/ctl.h"
#include "transport/wire.h"

#define DD_CTL_CLOSES		15	/* channels in a CLOSE message */

/* Types of control messages. */
enum dd_ctl_kind {
	DD_CTL_QUERY = 1,
	DD_CTL_ANSWER = 2,
	DD_CTL_CLOSE = 3,
	DD_CTL_WAKE = 4,
};

/* The end of a channel may prevent its last DONE, so a CLOSE repeats the count. */
struct dd_ctl_end {
	__le64 chan;
	__le64 notified;
} __packed;

struct dd_ctl_close_msg {
	struct dd_ctl_head head;
	struct dd_ctl_end end[DD_CTL_CLOSES];
} __packed;

struct dd_ctl_wake_msg {
	struct dd_ctl_head head;
	__le64 chan;
} __packed;

static_assert(sizeof(struct dd_ctl_close_msg) <= DD_WIRE_CTL_MAX);
static_assert(sizeof(struct dd_ctl_query) <= DD_WIRE_CTL_MAX);

/* Count a malformed control message; the peer is locked. */
static inline void dd_ctl_malformed(struct dd_peer *peer)
{
	dd_ctl_tp(peer)->stats.drops[DD_TP_DROP_MESSAGE]++;
}

/* Process a message that has arrived; the peer is locked. */
void dd_ctl_queried(struct dd_peer *peer, const struct dd_ctl_query *msg, u32 len);
void dd_ctl_answered(struct dd_peer *peer, const struct dd_ctl_answer *msg, u32 len);
void dd_ctl_wake(struct dd_peer *peer, const struct dd_ctl_wake_msg *msg, u32 len);
bool dd_ctl_parked_end(struct dd_peer *peer, u64 id);

/* The answering side. The peer is locked, except in the worker. */
void dd_ctl_work(struct work_struct *work);
void dd_ctl_pump_refusals(struct dd_peer *peer);
void dd_ctl_unpark_all(struct dd_peer *peer);

#endif /* _DD_CTL_MSG_H */
