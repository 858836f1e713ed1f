/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The link between nodes: transport sessions over UDP. transport/ implements the protocol;
 * struct dd_net_upper implements the memory and the objects behind channels. Sockets, the
 * life of a link, and what a user may ask of it: udp.c.
 */
#ifndef _DD_UDP_H
#define _DD_UDP_H

#include <linux/types.h>

#include "udp/addr.h"

struct dd_net_upper;
struct dd_node;
struct dd_peer;
struct dd_udp_peer;

#define DD_UDP_COUNTERS_MAX	64	/* counters of a link */

/**
 * struct dd_peer_config - configuration of a peer
 * @addr: address, with a port other than 0
 * @dead_ms: silence, in milliseconds, after which the peer counts as dead
 * @payload_crc: checksum payloads, and ask the peer to do so
 */
struct dd_peer_config {
	union dd_peer_addr addr;
	u32 dead_ms;
	bool payload_crc;
};

/**
 * struct dd_peer_info - state of a peer's link
 * @packet_size: size of the largest packet, in bytes
 * @rtt_us: smoothed round-trip time in microseconds, 0 if not known
 * @rttvar_us: its variation in microseconds
 * @cwnd: congestion window in bytes
 * @in_flight: bytes in flight
 * @packets_sent: packets sent
 * @packets_received: valid packets received
 * @packets_lost: packets declared lost
 * @bytes_sent: payload bytes sent, including retransmissions
 * @bytes_received: payload bytes deposited
 * @dropped: received packets, or parts of them, that were dropped for any reason;
 *	each counted once
 */
struct dd_peer_info {
	u32 packet_size;
	u32 rtt_us;
	u32 rttvar_us;
	u64 cwnd;
	u64 in_flight;
	u64 packets_sent;
	u64 packets_received;
	u64 packets_lost;
	u64 bytes_sent;
	u64 bytes_received;
	u64 dropped;
};

/*
 * All functions run in process context and, but for dd_udp_release(), with
 * dd_node.peer_lock held; those with a link after dd_udp_start() and not after
 * dd_udp_stop(). dd_udp_release() is the last one: no context can find the link.
 */
int dd_udp_start(struct dd_peer *peer, struct dd_node *node, u32 number,
		 const struct dd_peer_config *config, const char **reason);
void dd_udp_bye(struct dd_udp_peer *link);
void dd_udp_stop(struct dd_udp_peer *link);
int dd_udp_update(struct dd_udp_peer *link, const struct dd_peer_config *config,
		  const char **reason);
void dd_udp_renumber(struct dd_udp_peer *link);
void dd_udp_describe(struct dd_udp_peer *link, struct dd_peer_info *info);
const char *dd_udp_counter(struct dd_udp_peer *link, unsigned int i, u64 *value);
void dd_udp_release(struct dd_udp_peer *link);

int dd_udp_init(const struct dd_net_upper *upper);
void dd_udp_exit(void);
bool dd_udp_unused(void);

#endif /* _DD_UDP_H */
