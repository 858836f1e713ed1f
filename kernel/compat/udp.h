/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions of UDP and IPv6 as the newest kernel has them, for older ones.
 */
#ifndef _DD_COMPAT_UDP_H
#define _DD_COMPAT_UDP_H

#include <linux/version.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/udp_tunnel.h>

/* IPv6 may be a module. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
#include <net/ipv6_stubs.h>
#define ip6_dst_lookup_flow	(ipv6_stub->ipv6_dst_lookup_flow)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define setup_udp_tunnel_sock(net, sk, cfg)	\
	setup_udp_tunnel_sock(net, (sk)->sk_socket, cfg)
#define udp_tunnel_sock_release(sk)		\
	udp_tunnel_sock_release((sk)->sk_socket)
#endif

/* The last argument has flags of the IP control block. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define udp_tunnel_xmit_skb(rt, sk, skb, src, dst, tos, ttl, df, sport, dport, xnet,	\
			    nocheck, flags)						\
	udp_tunnel_xmit_skb(rt, sk, skb, src, dst, tos, ttl, df, sport, dport, xnet,	\
			    nocheck)
#define udp_tunnel6_xmit_skb(dst, sk, skb, dev, saddr, daddr, prio, ttl, label,		\
			     sport, dport, nocheck, flags)				\
	udp_tunnel6_xmit_skb(dst, sk, skb, dev, saddr, daddr, prio, ttl, label,		\
			     sport, dport, nocheck)
#endif

/* Since 6.18, UDP counts drops per NUMA node, and sk_drops stays 0. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
static inline int sk_drops_read(const struct sock *sk)
{
	return atomic_read(&sk->sk_drops);
}
#endif

#endif /* _DD_COMPAT_UDP_H */
