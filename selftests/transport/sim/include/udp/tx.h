/* SPDX-License-Identifier: GPL-2.0-only */
/* Replaces kernel/udp/tx.h. */
#ifndef _DD_UDP_TX_H
#define _DD_UDP_TX_H

#include "udp/session.h"

void dd_udp_unlock(struct dd_udp_peer *link);

#endif /* _DD_UDP_TX_H */
