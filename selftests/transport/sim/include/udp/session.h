/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replaces kernel/udp/session.h, rx.h and tx.h: the link to a peer, which end.c, kernel.c and
 * mem.c implement.
 */
#ifndef _DD_UDP_SESSION_H
#define _DD_UDP_SESSION_H

#include "kernel_user.h"
#include "transport/batch.h"
#include "transport/transport.h"
#include "udp/addr.h"
#include "udp/upper.h"

struct dd_node;

/* See the original; what kernel/cluster uses. @tp is the first member, as of struct end. */
struct dd_udp_peer {
	struct dd_tp tp;
	spinlock_t lock;
	struct dd_node *node;
	struct dd_peer *peer;
	void *priv;
	bool dead;
	bool note_due;
	struct {
		u64 tx_copied;
	} stats;
};

static inline struct dd_udp_peer *dd_udp_of_tp(struct dd_tp *tp)
{
	return container_of(tp, struct dd_udp_peer, tp);
}

static inline void dd_udp_lock(struct dd_udp_peer *link)
{
	spin_lock(&link->lock);
}

void dd_udp_unlock(struct dd_udp_peer *link);
void dd_udp_copy(struct dd_udp_peer *link, const void *payload, u32 off, void *dst, u32 len);
u32 dd_udp_copy_batch(struct dd_udp_peer *link, const void *payload,
		      struct dd_tp_rx_batch *batch, void **pages, u32 at, bool single);
void dd_udp_tp_peek(struct dd_tp *tp, const void *payload, u32 off, void *buf, u32 len);
u32 dd_udp_tp_crc(struct dd_tp *tp, const void *payload, u32 len, u32 crc);
void dd_udp_up(struct dd_tp *tp);
void dd_udp_down(struct dd_tp *tp, enum dd_tp_reason reason);
u64 dd_udp_tp_random(struct dd_tp *tp);
void dd_udp_tp_trace(struct dd_tp *tp, enum dd_tp_event event, u64 pn, u32 bytes);

#endif /* _DD_UDP_SESSION_H */
