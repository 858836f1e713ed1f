// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses of peers: validation, and search.
 */
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/route.h>

#include "cluster/peer.h"
#include "core/ctx.h"
#include "core/node.h"
#include "core/node_conf.h"

#define DD_ANY_ADDRESS	"the unspecified address cannot be a peer's"
#define DD_MULTICAST	"a multicast address cannot be a peer's"
#define DD_OWN_ADDRESS	"the address and port are those of this node"

/*
 * A namespace without any address has no local routing table, and inet_addr_type()
 * returns RTN_BROADCAST for everything, including the loopback address.
 */
static unsigned int dd_addr_type(struct net *net, __be32 addr)
{
	if (ipv4_is_lbcast(addr))
		return RTN_BROADCAST;
	if (ipv4_is_multicast(addr))
		return RTN_MULTICAST;
	if (inet_addr_type(net, htonl(INADDR_LOOPBACK)) == RTN_BROADCAST)
		return RTN_UNICAST;
	return inet_addr_type(net, addr);
}

/* RTN_LOCAL is not enough: before loopback is up, no address is local. */
static bool dd_addr_own_in(struct net *net, __be32 addr)
{
	return dd_addr_type(net, addr) == RTN_LOCAL || ipv4_is_loopback(addr);
}

/* A link-local address belongs to this node only on the interface that has it. */
static bool dd_addr_own_in6(struct net *net, const struct in6_addr *addr, u32 scope)
{
	struct net_device *dev;
	bool own;

	rcu_read_lock();
	dev = scope ? dev_get_by_index_rcu(net, scope) : NULL;
	own = ipv6_addr_loopback(addr) || ipv6_chk_addr(net, addr, dev, dev ? 1 : 0);
	rcu_read_unlock();
	return own;
}

/* Return the reason why an address cannot be a peer's, or NULL. */
static const char *dd_addr_wrong_in(struct net *net, const struct sockaddr_in *in, u16 own_port)
{
	__be32 addr = in->sin_addr.s_addr;
	unsigned int type = dd_addr_type(net, addr);

	if (ipv4_is_zeronet(addr))
		return DD_ANY_ADDRESS;
	if (type == RTN_MULTICAST)
		return DD_MULTICAST;
	if (type == RTN_BROADCAST)
		return "a broadcast address cannot be a peer's";
	if (ntohs(in->sin_port) == own_port && dd_addr_own_in(net, addr))
		return DD_OWN_ADDRESS;
	return NULL;
}

static const char *dd_addr_wrong_in6(struct net *net, const struct sockaddr_in6 *in6,
				     u16 own_port)
{
	int type = ipv6_addr_type(&in6->sin6_addr);
	bool dev;

	rcu_read_lock();
	dev = in6->sin6_scope_id && dev_get_by_index_rcu(net, in6->sin6_scope_id);
	rcu_read_unlock();
	if (type == IPV6_ADDR_ANY)
		return DD_ANY_ADDRESS;
	if (type & IPV6_ADDR_MULTICAST)
		return DD_MULTICAST;
	if (type & IPV6_ADDR_MAPPED)
		return "IPv4-mapped IPv6 address; use the IPv4 address";
	if (type & IPV6_ADDR_LINKLOCAL && !dev)
		return "a link-local address needs its interface: fe80::1%eth0";
	if (ntohs(in6->sin6_port) == own_port &&
	    dd_addr_own_in6(net, &in6->sin6_addr, in6->sin6_scope_id))
		return DD_OWN_ADDRESS;
	return NULL;
}

/**
 * dd_peer_addr_check() - validate and copy the address of a peer
 * @node: this node; its peer_lock is held
 * @to: (out) the address
 * @from: bytes from user space
 * @len: number of bytes
 * @why: (out) on error, the reason
 *
 * Return: 0; %-EINVAL or %-EAFNOSUPPORT.
 */
int dd_peer_addr_check(struct dd_node *node, union dd_peer_addr *to,
		       const union dd_peer_addr *from, size_t len,
		       struct dd_refusal *why)
{
	const char *wrong;
	int err = -EINVAL;

	lockdep_assert_held(&node->peer_lock);
	/* Copy only significant fields, so that equal addresses have equal bytes. */
	memset(to, 0, sizeof(*to));
	if (len == sizeof(from->in) && from->sa.sa_family == AF_INET) {
		to->in.sin_family = AF_INET;
		to->in.sin_port = from->in.sin_port;
		to->in.sin_addr = from->in.sin_addr;
	} else if (len == sizeof(from->in6) && from->sa.sa_family == AF_INET6) {
		to->in6.sin6_family = AF_INET6;
		to->in6.sin6_port = from->in6.sin6_port;
		to->in6.sin6_addr = from->in6.sin6_addr;
		if (ipv6_addr_type(&to->in6.sin6_addr) & IPV6_ADDR_LINKLOCAL)
			to->in6.sin6_scope_id = from->in6.sin6_scope_id;
	} else {
		return dd_refuse(why, err, DD_A_PEER_ADDRESS,
				 "neither a struct sockaddr_in nor a struct sockaddr_in6");
	}
	/* The port is at the same offset in both families. */
	if (!to->in.sin_port) {
		wrong = "the port must be 1 to 65535";
	} else if (to->sa.sa_family == AF_INET) {
		wrong = dd_addr_wrong_in(node->net, &to->in, node->port);
	/* False without CONFIG_IPV6, and with ipv6.disable=1: then the checks would oops. */
	} else if (ipv6_mod_enabled()) {
		wrong = dd_addr_wrong_in6(node->net, &to->in6, node->port);
	} else {
		wrong = "this kernel has no IPv6 (ipv6.disable=1?); use an IPv4 address";
		err = -EAFNOSUPPORT;
	}
	return wrong ? dd_refuse(why, err, DD_A_PEER_ADDRESS, wrong) : 0;
}

static bool dd_addr_own(struct net *net, const struct in6_addr *addr, u32 scope)
{
	if (ipv6_addr_v4mapped(addr))
		return dd_addr_own_in(net, addr->s6_addr32[3]);
	return ipv6_mod_enabled() && dd_addr_own_in6(net, addr, scope);
}

static bool dd_addr_is(const union dd_peer_addr *peer, const struct in6_addr *addr, u32 scope)
{
	if (peer->sa.sa_family == AF_INET)
		return ipv6_addr_v4mapped(addr) &&
		       peer->in.sin_addr.s_addr == addr->s6_addr32[3];
	return ipv6_addr_equal(&peer->in6.sin6_addr, addr) &&
	       (!peer->in6.sin6_scope_id || peer->in6.sin6_scope_id == scope);
}

/**
 * dd_peer_find() - find a node by its address
 * @ctx: the caller's context
 * @arg: see struct dd_node_find
 *
 * Return: 0; %-EINVAL, %-ENONET or %-ENOTUNIQ.
 */
int dd_peer_find(struct dd_ctx *ctx, struct dd_node_find *arg)
{
	struct dd_node *node = ctx->node;
	struct dd_peer *peer;
	struct in6_addr addr;
	unsigned long index;
	int err = -ENONET;

	if (arg->node || arg->__reserved)
		return -EINVAL;
	memcpy(&addr, arg->address, sizeof(addr));
	if (dd_addr_own(node->net, &addr, arg->scope)) {
		arg->node = READ_ONCE(node->id);
		return 0;
	}
	mutex_lock(&node->peer_lock);
	xa_for_each(&node->peers, index, peer) {
		if (!dd_addr_is(&peer->config.addr, &addr, arg->scope))
			continue;
		arg->node = peer->number;
		err = err ? 0 : -ENOTUNIQ;
		if (err)
			break;
	}
	mutex_unlock(&node->peer_lock);
	return err;
}
