/* SPDX-License-Identifier: GPL-2.0-only */
/* Sending packets: tx.c. */
#ifndef _DD_UDP_TX_H
#define _DD_UDP_TX_H

#include "udp/session.h"

void dd_udp_unlock(struct dd_udp_peer *link) __releases(&link->lock);
void dd_udp_unlock_at(struct dd_udp_peer *link, u64 now)
	__releases(&link->lock);
void dd_udp_unlock_later(struct dd_udp_peer *link) __releases(&link->lock);
void dd_udp_tx_deferred(struct tasklet_struct *tasklet);
enum hrtimer_restart dd_udp_timer(struct hrtimer *timer);

#endif /* _DD_UDP_TX_H */
