// SPDX-License-Identifier: GPL-2.0-only
/*
 * The link between nodes: sockets, and the life of a peer's link.
 *
 * A node has one socket per address family of its peers. The sockets hold no
 * reference to the network namespace and are released before it is.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/netns/generic.h>
#include <net/sock.h>
#include <net/udp.h>

#include "compat/compat.h"
#include "compat/udp.h"
#include "core/ctx.h"
#include "core/node.h"
#include "udp/rx.h"
#include "udp/skb.h"
#include "udp/tx.h"
#include "udp/udp.h"

#define DD_UDP_RCVBUF		(4 << 20)
#define DD_UDP_SNDBUF		(4 << 20)	/* of a peer */
#define DD_UDP_RECORDS		1024
#define DD_UDP_CTL_SLOTS	32

static unsigned int rx_buffer = DD_UDP_RCVBUF;
module_param(rx_buffer, uint, 0644);
MODULE_PARM_DESC(rx_buffer,
		 "receive buffer of a socket in bytes, including overhead");

static unsigned int dd_udp_net_id;

/* Of peers that were not freed: a user of a removed peer keeps it. */
static atomic_t dd_udp_links;

static struct dd_udp_node *dd_udp_node_of(const struct dd_node *node)
{
	return net_generic(node->net, dd_udp_net_id);
}

static int dd_udp_family(const union dd_peer_addr *addr)
{
	return addr->sa.sa_family == AF_INET6;
}

/* dd_udp_sock_put() cancels this work before it releases the socket. */
static void dd_udp_drain4(struct work_struct *work)
{
	dd_udp_drain(container_of(work, struct dd_udp_node, drain[0]), 0);
}

static void dd_udp_drain6(struct work_struct *work)
{
	dd_udp_drain(container_of(work, struct dd_udp_node, drain[1]), 1);
}

static int dd_udp_sock_setup(struct dd_udp_node *un, struct socket *sock)
{
	struct udp_tunnel_sock_cfg tunnel = {
		.sk_user_data = un,
		.encap_type = 1,
	};
	struct sock *sk = sock->sk;
	int one = 1, err;

	/* Receive GSO skbs as they are instead of segmenting them. */
	err = sock->ops->setsockopt(sock, SOL_UDP, UDP_GRO,
				    KERNEL_SOCKPTR(&one), sizeof(one));
	if (err)
		return err;
	/*
	 * Packets follow the path MTU, except for those of the smallest size, which
	 * are sent regardless of ICMP messages, and may be fragmented.
	 */
	if (sk->sk_family == AF_INET)
		ip_sock_set_mtu_discover(sk, IP_PMTUDISC_PROBE);
	lock_sock(sk);
	sk->sk_allocation = GFP_ATOMIC;
	sk->sk_rcvbuf = clamp_t(unsigned int, READ_ONCE(rx_buffer),
				SOCK_MIN_RCVBUF, INT_MAX / 2);
#ifdef CONFIG_NET_RX_BUSY_POLL
	/* The socket is drained in softirq, where busy polling is not allowed. */
	sk->sk_ll_usec = 0;
#endif
	release_sock(sk);
	atomic_set(&un->drops[sk->sk_family == AF_INET6], 0);
	/* Packets are queued until dd_udp_empty() switches to encap_rcv. */
	setup_udp_tunnel_sock(un->node->net, sk, &tunnel);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = dd_udp_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	return 0;
}

/* Get the node's socket for a peer at @addr, creating it for the first user. */
static struct sock *dd_udp_sock_get(struct dd_udp_node *un,
				    const union dd_peer_addr *addr,
				    const char **reason)
{
	static const char in_use[] =
		"the UDP port is in use: 'ss -ulnp'; net.ipv4.ip_local_reserved_ports";
	int family = dd_udp_family(addr), err;
	struct udp_port_cfg cfg = {
		.family = addr->sa.sa_family,
		.local_udp_port = htons(un->node->port),
		.use_udp_checksums = 1,
		.use_udp6_tx_checksums = 1,
		.use_udp6_rx_checksums = 1,
		.ipv6_v6only = 1,
	};
	struct socket **sock = &un->sock[family];

	lockdep_assert_held(&un->node->peer_lock);
	if (!un->users[family]) {
		err = udp_sock_create(un->node->net, &cfg, sock);
		if (err == -EADDRINUSE)
			*reason = in_use;
		else if (err)
			*reason = "no UDP socket of the address' family";
		if (err)
			return ERR_PTR(err);
		err = dd_udp_sock_setup(un, *sock);
		if (err) {
			udp_tunnel_sock_release((*sock)->sk);
			return ERR_PTR(err);
		}
	}
	/* Packets may have been queued before sk_data_ready was set. */
	if (!un->users[family]++)
		queue_work(dd_wq, &un->drain[family]);
	return (*sock)->sk;
}

static void dd_udp_sock_put(struct dd_udp_node *un, const union dd_peer_addr *addr)
{
	int family = dd_udp_family(addr);
	struct socket *sock = un->sock[family];

	lockdep_assert_held(&un->node->peer_lock);
	if (--un->users[family])
		return;
	/* No peer uses the socket; senders leave within a grace period. */
	rcu_assign_sk_user_data(sock->sk, NULL);
	synchronize_net();
	cancel_work_sync(&un->drain[family]);
	udp_tunnel_sock_release(sock->sk);
}

/*
 * Create the socket that is charged for the packets sent to a peer. The IP stack keeps
 * the charge until it frees a packet, even if it segments it before, so a peer behind
 * a slow link fills its own send buffer only.
 */
static int dd_udp_tx_create(struct dd_udp_node *un,
			    const union dd_peer_addr *addr, struct socket **sock)
{
	int err = sock_create_kern(un->node->net, addr->sa.sa_family,
				   SOCK_DGRAM, IPPROTO_UDP, sock);

	if (!err)
		(*sock)->sk->sk_sndbuf = DD_UDP_SNDBUF;
	return err;
}

static void dd_udp_cfg(const struct dd_udp_node *un, u32 number,
		       const struct dd_peer_config *config,
		       struct dd_tp_cfg *cfg)
{
	*cfg = (struct dd_tp_cfg){
		.node = READ_ONCE(un->node->id),
		.peer = number,
		.maxnodes = READ_ONCE(un->node->max),
		.incarnation = un->incarnation,
		.records = DD_UDP_RECORDS,
		.ctl_slots = DD_UDP_CTL_SLOTS,
		.dead_ns = (u64)config->dead_ms * NSEC_PER_MSEC,
		.payload_crc = config->payload_crc,
		.version_min = DD_WIRE_VERSION_MIN,
		.version_max = DD_WIRE_VERSION,
	};
}

/* A grace period has passed since the peer could last be found: free the link. */
void dd_udp_release(struct dd_udp_peer *link)
{
	if (link->priv)
		dd_udp_upper->release(link);
	dst_cache_destroy(&link->dst);
	dd_udp_hdrs_free(link);
	kvfree(link->arena);
	kfree(link);
	atomic_dec(&dd_udp_links);
}

/* Whether no link exists, not even one that waits to be freed. */
bool dd_udp_unused(void)
{
	return !atomic_read(&dd_udp_links);
}

/* Start receiving from and sending to the peer. */
static void dd_udp_open(struct dd_udp_node *un, struct dd_udp_peer *link)
{
	lockdep_assert_held(&un->node->peer_lock);
	dd_udp_lock(link);
	link->dead = false;
	dd_udp_upper->state(link, DD_PEER_STATE_CONNECTING, 0);
	hlist_add_head_rcu(&link->entry, dd_udp_bucket(un, &link->addr));
	dd_tp_start(&link->tp, ktime_get_ns());
	dd_udp_unlock(link);
}

/**
 * dd_udp_bye() - end the session with a peer that is about to be removed
 * @link: its link
 *
 * dd_udp_stop() waits for the answer: with several peers, they answer at the same time.
 */
void dd_udp_bye(struct dd_udp_peer *link)
{
	dd_udp_lock(link);
	dd_tp_stop(&link->tp);
	dd_udp_unlock(link);
}

/*
 * Stop packets and timers, and notify the peer that the session ended. These contexts
 * may still use the link:
 * 1. a receiver that found it in the hash table: it takes the lock and finds @dead;
 * 2. a sender without the lock: it runs with bottom halves disabled, and link and
 *    socket are freed only after a grace period.
 */
static void dd_udp_kill(struct dd_udp_node *un, struct dd_udp_peer *link)
{
	lockdep_assert_held(&un->node->peer_lock);
	/*
	 * End the session and wait until the peer has answered a BYE, or all BYEs have
	 * been sent: 35 ms at most, as the timer sends them.
	 */
	dd_udp_bye(link);
	/* Written under the lock; a stale value costs one more iteration. */
	while (data_race(READ_ONCE(link->tp.bye)))
		usleep_range(100, 200);
	hlist_del_rcu(&link->entry);
	dd_udp_lock(link);
	link->dead = true;
	/* Another context may have started a new session since the first stop. */
	dd_tp_stop(&link->tp);
	dd_udp_unlock(link);
	hrtimer_cancel(&link->timer);
	tasklet_kill(&link->tx_tasklet);
	link->armed = DD_TP_NEVER;
	/* Packets on their way keep the memory of the socket. */
	sock_release(link->tx);
}

/**
 * dd_udp_start() - a peer was configured: open a session with it
 * @peer: the peer, dd_udp_peer.peer
 * @node: this node
 * @number: number of the peer
 * @config: its configuration, which is copied
 * @reason: (out) on error, if set, a constant text that tells the administrator what
 *	to do
 *
 * Calls struct dd_net_upper before it returns. On error nothing is left behind.
 *
 * Return: 0; %-EADDRINUSE if the UDP port dd_node.port is in use; -errno.
 */
int dd_udp_start(struct dd_peer *peer, struct dd_node *node, u32 number,
		 const struct dd_peer_config *config, const char **reason)
{
	struct dd_udp_node *un = dd_udp_node_of(node);
	struct dd_udp_peer *link;
	struct dd_tp_cfg cfg;
	struct sock *sk;
	int err;

	link = kzalloc(sizeof(*link), GFP_KERNEL_ACCOUNT);
	if (!link)
		return -ENOMEM;
	atomic_inc(&dd_udp_links);
	spin_lock_init(&link->lock);
	link->node = node;
	link->peer = peer;
	link->dead = true;
	link->armed = DD_TP_NEVER;
	link->retry_at = DD_TP_NEVER;
	hrtimer_setup(&link->timer, dd_udp_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	tasklet_setup(&link->tx_tasklet, dd_udp_tx_deferred);
	link->addr = config->addr;
	dd_udp_cfg(un, number, config, &cfg);
	err = dst_cache_init(&link->dst, GFP_KERNEL_ACCOUNT);
	if (err)
		goto err_free;
	err = -ENOMEM;
	link->arena = kvmalloc(dd_tp_arena_size(&cfg), GFP_KERNEL_ACCOUNT);
	if (!link->arena)
		goto err_free;
	dd_tp_init(&link->tp, &cfg, &dd_udp_upper->tp, link->arena);
	err = dd_udp_upper->attach(link);
	if (err)
		goto err_free;
	sk = dd_udp_sock_get(un, &link->addr, reason);
	if (IS_ERR(sk)) {
		err = PTR_ERR(sk);
		goto err_detach;
	}
	err = dd_udp_tx_create(un, &link->addr, &link->tx);
	if (err)
		goto err_sock;
	link->sk = sk;
	dd_udp_open(un, link);
	return 0;

err_sock:
	dd_udp_sock_put(un, &link->addr);
err_detach:
	dd_udp_upper->detach(link);
err_free:
	dd_udp_release(link);
	return err;
}

/**
 * dd_udp_stop() - the peer was removed
 * @link: its link
 *
 * Aborts the session. May sleep, but does not wait for a peer or a process. Afterwards
 * the link calls only dd_net_upper.release().
 */
void dd_udp_stop(struct dd_udp_peer *link)
{
	struct dd_udp_node *un = dd_udp_node_of(link->node);

	dd_udp_kill(un, link);
	dd_udp_sock_put(un, &link->addr);
	dd_udp_upper->detach(link);
}

/* Change the peer's address. This ends its session. */
static int dd_udp_move(struct dd_udp_node *un, struct dd_udp_peer *link,
		       const struct dd_peer_config *config, const char **reason)
{
	const union dd_peer_addr old = link->addr;
	struct dd_tp_cfg cfg;
	struct socket *tx;
	struct sock *sk;
	int err;

	sk = dd_udp_sock_get(un, &config->addr, reason);
	if (IS_ERR(sk))
		return PTR_ERR(sk);
	err = dd_udp_tx_create(un, &config->addr, &tx);
	if (err) {
		dd_udp_sock_put(un, &config->addr);
		return err;
	}
	dd_udp_kill(un, link);
	/* Wait for senders and receivers that use the old address. */
	synchronize_net();
	dd_udp_cfg(un, link->tp.cfg.peer, config, &cfg);
	dd_udp_lock(link);
	dd_tp_init(&link->tp, &cfg, &dd_udp_upper->tp, link->arena);
	link->addr = config->addr;
	link->sk = sk;
	link->tx = tx;
	link->mtu = 0;
	link->local_addr = (union dd_udp_local){};
	link->reply_addr = (union dd_udp_local){};
	dst_cache_reset_now(&link->dst);
	dd_udp_unlock(link);
	dd_udp_sock_put(un, &old);
	dd_udp_upper->state(link, DD_PEER_STATE_IDLE, DD_PEER_REASON_ADDRESS);
	dd_udp_open(un, link);
	return 0;
}

/**
 * dd_udp_update() - change the configuration of a link
 * @link: the link
 * @config: the new configuration, which is copied
 * @reason: as for dd_udp_start()
 *
 * A new address ends the session, as the peer may be another machine.
 *
 * Return: 0 or -errno; then nothing has changed.
 */
int dd_udp_update(struct dd_udp_peer *link, const struct dd_peer_config *config,
		  const char **reason)
{
	struct dd_udp_node *un = dd_udp_node_of(link->node);

	if (!dd_udp_same(&link->addr, &config->addr))
		return dd_udp_move(un, link, config, reason);
	dd_udp_lock(link);
	link->tp.cfg.dead_ns = (u64)config->dead_ms * NSEC_PER_MSEC;
	/* Takes effect with the next session. */
	link->tp.cfg.payload_crc = config->payload_crc;
	dd_udp_unlock(link);
	return 0;
}

/* The number of nodes changed: reopen, as the peer accepts only its own number. */
void dd_udp_renumber(struct dd_udp_peer *link)
{
	u64 now;

	lockdep_assert_held(&link->node->peer_lock);
	dd_udp_lock(link);
	now = ktime_get_ns();
	dd_tp_stop(&link->tp);
	link->tp.cfg.maxnodes = READ_ONCE(link->node->max);
	link->retry_at = DD_TP_NEVER;
	dd_udp_upper->state(link, DD_PEER_STATE_CONNECTING, 0);
	dd_tp_start(&link->tp, now);
	dd_udp_unlock_at(link, now);
}

#define DD_UDP_OF_LINK(name, member) \
	{ name, offsetof(struct dd_udp_peer, stats.member) }
#define DD_UDP_OF_TP(name, member) \
	{ name, offsetof(struct dd_udp_peer, tp.stats.member) }
#define DD_UDP_OF_DROP(name, reason) \
	{ "drop-" name, offsetof(struct dd_udp_peer, \
				 tp.stats.drops[DD_TP_DROP_##reason]) }

/* Counters of a peer; each is a u64 in struct dd_udp_peer. */
static const struct {
	const char *name;
	size_t offset;
} dd_udp_counters[] = {
	DD_UDP_OF_LINK("tx-skbs", tx_skbs),
	DD_UDP_OF_LINK("tx-packets", tx_packets),
	DD_UDP_OF_LINK("tx-copied", tx_copied),
	DD_UDP_OF_LINK("tx-nomem", tx_nomem),
	DD_UDP_OF_LINK("tx-noroute", tx_noroute),
	DD_UDP_OF_LINK("tx-full", tx_full),
	DD_UDP_OF_LINK("rx-skbs", rx_skbs),
	DD_UDP_OF_LINK("rx-packets", rx_packets),
	DD_UDP_OF_LINK("rx-softirq", rx_softirq),
	DD_UDP_OF_LINK("rx-process", rx_process),
	DD_UDP_OF_LINK("rx-copied", rx_copied),
	DD_UDP_OF_LINK("mtu-changes", mtu_changes),
	DD_UDP_OF_TP("messages", messages),
	DD_UDP_OF_TP("spurious", spurious),
	DD_UDP_OF_TP("probes", probes),
	DD_UDP_OF_TP("acks", acks),
	DD_UDP_OF_DROP("format", FORMAT),
	DD_UDP_OF_DROP("version", VERSION),
	DD_UDP_OF_DROP("crc", CRC),
	DD_UDP_OF_DROP("token", TOKEN),
	DD_UDP_OF_DROP("state", STATE),
	DD_UDP_OF_DROP("cookie", COOKIE),
	DD_UDP_OF_DROP("config", CONFIG),
	DD_UDP_OF_DROP("dup", DUP),
	DD_UDP_OF_DROP("old", OLD),
	DD_UDP_OF_DROP("ack", ACK),
	DD_UDP_OF_DROP("ctl", CTL),
	DD_UDP_OF_DROP("chan", CHAN),
	DD_UDP_OF_DROP("closed", CLOSED),
	DD_UDP_OF_DROP("again", AGAIN),
	DD_UDP_OF_DROP("order", ORDER),
	DD_UDP_OF_DROP("credit", CREDIT),
	DD_UDP_OF_DROP("bounds", BOUNDS),
	DD_UDP_OF_DROP("holes", HOLES),
	DD_UDP_OF_DROP("bytes", BYTES),
	DD_UDP_OF_DROP("message", MESSAGE),
};

static_assert(ARRAY_SIZE(dd_udp_counters) <= DD_UDP_COUNTERS_MAX);

/**
 * dd_udp_counter() - read a counter of a link
 * @link: the link
 * @i: index, from 0
 * @value: (out) value
 *
 * Return: the name, constant, in lower case with '-', "drop-..." for packets dropped
 * for that reason; NULL after the last one, at most %DD_UDP_COUNTERS_MAX.
 */
const char *dd_udp_counter(struct dd_udp_peer *link, unsigned int i, u64 *value)
{
	if (i >= ARRAY_SIZE(dd_udp_counters))
		return NULL;
	/* Read without the lock: the value may be slightly out of date. */
	*value = data_race(READ_ONCE(*(u64 *)((u8 *)link +
					      dd_udp_counters[i].offset)));
	return dd_udp_counters[i].name;
}

/**
 * dd_udp_describe() - read the state of a link
 * @link: the link
 * @info: (out) the state; the caller has zeroed it
 */
void dd_udp_describe(struct dd_udp_peer *link, struct dd_peer_info *info)
{
	const struct dd_tp_stats *stats = &link->tp.stats;
	const struct dd_tp_cc *cc = &link->tp.cc;
	unsigned int i;

	dd_udp_lock(link);
	info->packet_size = link->tp.mtu;
	info->rtt_us = min_t(u64, div_u64(cc->srtt, NSEC_PER_USEC), U32_MAX);
	info->rttvar_us = min_t(u64, div_u64(cc->rttvar, NSEC_PER_USEC), U32_MAX);
	info->cwnd = cc->cwnd;
	info->in_flight = cc->flight;
	info->packets_sent = stats->tx_packets;
	info->packets_received = stats->rx_packets;
	info->packets_lost = stats->lost;
	info->bytes_sent = stats->tx_bytes;
	info->bytes_received = stats->rx_bytes;
	for (i = 0; i < DD_TP_DROPS; i++)
		info->dropped += stats->drops[i];
	dd_udp_unlock(link);
}

static int __net_init dd_udp_net_init(struct net *net)
{
	struct dd_udp_node *un = net_generic(net, dd_udp_net_id);

	un->node = dd_node_of(net);
	INIT_WORK(&un->drain[0], dd_udp_drain4);
	INIT_WORK(&un->drain[1], dd_udp_drain6);
	un->seed = get_random_u32();
	un->incarnation = get_random_u64();
	return 0;
}

static struct pernet_operations dd_udp_net_ops = {
	.init = dd_udp_net_init,
	.id = &dd_udp_net_id,
	.size = sizeof(struct dd_udp_node),
};

/**
 * dd_udp_init() - register the link with all nodes
 * @upper: callbacks; the caller has called dd_node_init() and not yet dd_peer_init()
 *
 * Return: 0 or -errno.
 */
int dd_udp_init(const struct dd_net_upper *upper)
{
	dd_udp_upper = upper;
	return register_pernet_subsys(&dd_udp_net_ops);
}

/* Called after dd_peer_exit() and the RCU callbacks and works that free peers. */
void dd_udp_exit(void)
{
	int left = atomic_read(&dd_udp_links);

	unregister_pernet_subsys(&dd_udp_net_ops);
	WARN(left, "dd: %d peers are lost\n", left);
}
