// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions of links: the code above them, their state as it reports it, and their tracepoints.
 */
#include <linux/ktime.h>
#include <linux/random.h>

#include "udp/session.h"
#include "udp/trace.h"

#define DD_UDP_RETRY_NS		(100 * NSEC_PER_MSEC)
#define DD_UDP_REFUSED_NS	(2ull * NSEC_PER_SEC)

const struct dd_net_upper *dd_udp_upper;

u64 dd_udp_tp_random(struct dd_tp *tp)
{
	return get_random_u64();
}

/**
 * dd_udp_up() - a session is up
 * @tp: the session
 */
void dd_udp_up(struct dd_tp *tp)
{
	struct dd_udp_peer *link = dd_udp_of_tp(tp);

	link->retry_at = DD_TP_NEVER;
	dd_udp_upper->state(link, DD_PEER_STATE_UP, 0);
}

/* How a session ended: what is reported, and the delay before the next attempt. */
static const struct {
	u8 state;
	u8 reason;
	u64 retry_ns;
} dd_udp_ends[] = {
	[DD_TP_STOPPED] = { DD_PEER_STATE_IDLE, DD_PEER_REASON_STOPPED },
	[DD_TP_DEAD] = { DD_PEER_STATE_UNREACHABLE, DD_PEER_REASON_DEAD, DD_UDP_RETRY_NS },
	[DD_TP_REBOOT] = { DD_PEER_STATE_CONNECTING, DD_PEER_REASON_REBOOT, DD_UDP_RETRY_NS },
	[DD_TP_RESET] = { DD_PEER_STATE_CONNECTING, DD_PEER_REASON_RESET, DD_UDP_RETRY_NS },
	[DD_TP_BYE] = { DD_PEER_STATE_CONNECTING, DD_PEER_REASON_STOPPED, DD_UDP_RETRY_NS },
	/* A longer delay, so that two disagreeing nodes do not keep trying. */
	[DD_TP_VERSION] = { DD_PEER_STATE_REFUSED, DD_PEER_REASON_VERSION, DD_UDP_REFUSED_NS },
	[DD_TP_MAXNODES] = { DD_PEER_STATE_REFUSED, DD_PEER_REASON_MAXNODES, DD_UDP_REFUSED_NS },
	[DD_TP_CONFIG] = { DD_PEER_STATE_REFUSED, DD_PEER_REASON_NODE, DD_UDP_REFUSED_NS },
};

/**
 * dd_udp_down() - a session has ended, or was refused
 * @tp: the session
 * @reason: the reason
 */
void dd_udp_down(struct dd_tp *tp, enum dd_tp_reason reason)
{
	struct dd_udp_peer *link = dd_udp_of_tp(tp);
	u64 wait = dd_udp_ends[reason].retry_ns;

	dd_udp_upper->state(link, dd_udp_ends[reason].state, dd_udp_ends[reason].reason);
	link->retry_at = wait ? ktime_get_ns() + wait : DD_TP_NEVER;
}

/* Whether a packet tracepoint is enabled; evaluated once per burst. */
bool dd_udp_tracing(void)
{
	return trace_dd_packet_sent_enabled() ||
	       trace_dd_packet_received_enabled() ||
	       trace_dd_packet_acked_enabled() ||
	       trace_dd_packet_lost_enabled() ||
	       trace_dd_packet_spurious_enabled();
}

void dd_udp_tp_trace(struct dd_tp *tp, enum dd_tp_event event, u64 pn, u32 bytes)
{
	u32 peer = tp->cfg.peer;

	switch (event) {
	case DD_TP_EV_SENT:
		trace_dd_packet_sent(peer, pn, bytes);
		break;
	case DD_TP_EV_RECEIVED:
		trace_dd_packet_received(peer, pn, bytes);
		break;
	case DD_TP_EV_ACKED:
		trace_dd_packet_acked(peer, pn, bytes);
		break;
	case DD_TP_EV_LOST:
		trace_dd_packet_lost(peer, pn, bytes);
		break;
	case DD_TP_EV_SPURIOUS:
		trace_dd_packet_spurious(peer, pn, bytes);
		break;
	}
}
