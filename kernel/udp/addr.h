/* SPDX-License-Identifier: GPL-2.0-only */
/* Address of a peer. */
#ifndef _DD_UDP_ADDR_H
#define _DD_UDP_ADDR_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/socket.h>

/**
 * union dd_peer_addr - address of a peer
 * @sa: the family
 * @in: for AF_INET
 * @in6: for AF_INET6; never an IPv4-mapped address; with a scope id if and only if it
 *	is link-local, and without a flow label
 */
union dd_peer_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

#endif /* _DD_UDP_ADDR_H */
