// SPDX-License-Identifier: GPL-2.0-only
/*
 * Congestion control: round-trip times and timeouts after RFC 9002, a window after
 * CUBIC (RFC 9438), and pacing where the round trip is long enough for timers.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "transport/internal.h"

#define DD_CC_INITIAL		10	/* packets */
#define DD_CC_MIN		2
#define DD_CC_GRANULARITY	DD_TP_MS
#define DD_CC_PTO_MIN		(4 * DD_TP_MS)
#define DD_CC_PTO_FIRST		(100 * DD_TP_MS)	/* before the first sample */
#define DD_CC_PTO_MAX		(1000 * DD_TP_MS)
#define DD_CC_WINDOW_MAX	0x40000000u

/* With a shorter round trip there is no pacing. */
#define DD_CC_PACE_RTT		DD_TP_MS
#define DD_CC_PACE_QUANTUM	(500 * DD_TP_US)	/* timer granularity */

void dd_tp_cc_reset(struct dd_tp *tp)
{
	struct dd_tp_cc *cc = &tp->cc;

	memset(cc, 0, sizeof(*cc));
	cc->cwnd = DD_CC_INITIAL * dd_tp_packet_size(tp);
	cc->ssthresh = DD_CC_WINDOW_MAX;
	cc->reorder = DD_TP_REORDER;
}

/* Add a sample; @delay: how long the peer delayed the acknowledgment. */
void dd_tp_cc_rtt(struct dd_tp *tp, u64 rtt, u64 delay)
{
	struct dd_tp_cc *cc = &tp->cc;
	u64 diff;

	rtt = max_t(u64, rtt, DD_TP_US);
	cc->latest = rtt;
	if (!cc->srtt) {
		cc->min_rtt = rtt;
		cc->srtt = rtt;
		cc->rttvar = rtt / 2;
		return;
	}
	cc->min_rtt = min(cc->min_rtt, rtt);
	if (rtt >= cc->min_rtt + delay)
		rtt -= delay;
	diff = cc->srtt > rtt ? cc->srtt - rtt : rtt - cc->srtt;
	cc->rttvar = (3 * cc->rttvar + diff) / 4;
	cc->srtt = (7 * cc->srtt + rtt) / 8;
}

/* Probe timeout, with exponential backoff. */
u64 dd_tp_cc_pto(const struct dd_tp *tp)
{
	const struct dd_tp_cc *cc = &tp->cc;
	u64 pto = DD_CC_PTO_FIRST, most = DD_CC_PTO_MAX;

	if (cc->srtt)
		pto = max(cc->srtt + max(4 * cc->rttvar, DD_CC_GRANULARITY) +
			  DD_TP_ACK_DELAY, DD_CC_PTO_MIN);
	/* At least eight probes within the dead time. */
	most = max(pto, min(most, tp->cfg.dead_ns / 8));
	return min(pto << min(tp->pto_count, 16u), most);
}

/* Time threshold of loss detection (RFC 9002, 6.1.2). */
u64 dd_tp_cc_loss_delay(const struct dd_tp *tp)
{
	const struct dd_tp_cc *cc = &tp->cc;
	u64 rtt = max(cc->srtt, cc->latest);

	/* With a high variance, packets sent together arrive far apart. */
	return max(rtt + max(rtt / 8, 2 * cc->rttvar), DD_CC_GRANULARITY);
}

/* Integer cube root: the largest x with x * x * x <= @a. */
static u32 dd_cc_cbrt(u64 a)
{
	u64 x = 0;
	int shift;

	for (shift = 63; shift >= 0; shift -= 3) {
		u64 y = 3 * (2 * x) * (2 * x + 1) + 1;

		x *= 2;
		if ((a >> shift) >= y) {
			a -= y << shift;
			x++;
		}
	}
	return x;
}

/* W_cubic at @t ms after the epoch began. */
static u64 dd_cc_cubic(const struct dd_tp *tp, u64 t)
{
	const struct dd_tp_cc *cc = &tp->cc;
	u64 d = min_t(u64, t > cc->k ? t - cc->k : cc->k - t, 1 << 16);
	/* 0.4 * (d / 1000)^3 packets */
	u64 off = div_u64(div_u64(d * d * d, 100000) * 4 * dd_tp_packet_size(tp), 100000);

	if (t > cc->k)
		return cc->w_max + off;
	return cc->w_max > off ? cc->w_max - off : 0;
}

static void dd_cc_avoid(struct dd_tp *tp, u64 now, u32 bytes)
{
	struct dd_tp_cc *cc = &tp->cc;
	u64 target;

	if (!cc->epoch) {
		cc->epoch = now;
		cc->w_est = cc->cwnd;
		cc->w_max = max(cc->w_max, cc->cwnd);
		/* K = cbrt((W_max - cwnd) / 0.4) seconds */
		cc->k = dd_cc_cbrt(div_u64((cc->w_max - cc->cwnd) * 2500000ull,
					   dd_tp_packet_size(tp)) * 1000);
	} else if (now - cc->avoid_at > max(4 * cc->srtt, DD_CC_GRANULARITY)) {
		/* Exclude the time in which the window was not used: RFC 9438, 5.8. */
		cc->epoch += now - cc->avoid_at;
	}
	cc->avoid_at = now;
	target = dd_cc_cubic(tp, div_u64(now - cc->epoch + cc->srtt, DD_TP_MS));
	target = clamp_t(u64, target, cc->cwnd, cc->cwnd + cc->cwnd / 2);
	/* Reno-friendly region: 3 * (1 - 0.7) / (1 + 0.7) until w_max. */
	cc->w_est += div_u64((u64)dd_tp_packet_size(tp) * bytes *
			     (cc->w_est < cc->w_max ? 9 : 17),
			     17ull * cc->cwnd);
	cc->cwnd += div_u64((target - cc->cwnd) * bytes, cc->cwnd);
	cc->cwnd = clamp(max(cc->cwnd, cc->w_est), 1u, DD_CC_WINDOW_MAX);
}

/* A packet sent at @sent_at was acknowledged. */
void dd_tp_cc_acked(struct dd_tp *tp, u64 now, u64 sent_at, u32 bytes)
{
	struct dd_tp_cc *cc = &tp->cc;

	/* An unused window gives no information about the path. */
	if (sent_at <= cc->recovery || !cc->limited)
		return;
	if (cc->cwnd < cc->ssthresh)
		cc->cwnd = min(cc->cwnd + bytes, DD_CC_WINDOW_MAX);
	else
		dd_cc_avoid(tp, now, bytes);
}

/* Before a reduction: save the state, and start a new round. */
static void dd_cc_remember(struct dd_tp_cc *cc, u64 now)
{
	cc->undo_cwnd = cc->cwnd;
	cc->undo_ssthresh = cc->ssthresh;
	cc->undo_w_max = cc->w_max;
	cc->recovery = now;
}

/* A packet sent at @sent_at was lost: reduce the window once per round trip. */
void dd_tp_cc_lost(struct dd_tp *tp, u64 now, u64 sent_at)
{
	struct dd_tp_cc *cc = &tp->cc;
	u32 least = DD_CC_MIN * dd_tp_packet_size(tp);

	if (sent_at <= cc->recovery) {
		cc->undo_lost++;
		return;
	}
	dd_cc_remember(cc, now);
	cc->undo_lost = 1;
	/* Fast convergence: leave bandwidth for newer flows. */
	cc->w_max = cc->cwnd < cc->w_max ? cc->cwnd / 20 * 17 : cc->cwnd;
	cc->ssthresh = max(cc->cwnd / 10 * 7, least);
	cc->cwnd = cc->ssthresh;
	cc->epoch = 0;
}

/*
 * A packet declared lost was acknowledged, @distance packets late: raise the
 * reordering threshold. If all losses of the last reduction were spurious, undo it.
 */
void dd_tp_cc_spurious(struct dd_tp *tp, u64 distance)
{
	struct dd_tp_cc *cc = &tp->cc;

	cc->reorder = clamp_t(u64, max(distance + 1, 2ull * cc->reorder),
			      cc->reorder, DD_TP_REORDER_MAX);
	if (!cc->undo_lost || --cc->undo_lost)
		return;
	cc->cwnd = max(cc->cwnd, cc->undo_cwnd);
	cc->ssthresh = max(cc->ssthresh, cc->undo_ssthresh);
	cc->w_max = max(cc->w_max, cc->undo_w_max);
	cc->epoch = 0;
}

/* Several timeouts in a row: persistent congestion. */
void dd_tp_cc_collapse(struct dd_tp *tp, u64 now)
{
	struct dd_tp_cc *cc = &tp->cc;
	u32 least = DD_CC_MIN * dd_tp_packet_size(tp);

	if (cc->cwnd > least) {
		dd_cc_remember(cc, now);
		cc->ssthresh = max(cc->cwnd / 10 * 7, least);
		cc->w_max = cc->cwnd;
	}
	cc->cwnd = least;
	cc->epoch = 0;
	cc->undo_lost = 0;
}

/* Time between packets of @bytes: 1.25 windows per round trip, 2 in slow start. */
static u64 dd_cc_interval(const struct dd_tp *tp, u32 bytes)
{
	const struct dd_tp_cc *cc = &tp->cc;
	u64 gain = cc->cwnd < cc->ssthresh ? 8 : 5;

	return div64_u64(cc->srtt * bytes, (u64)cc->cwnd * gain / 4);
}

/* Unused time permits a burst of DD_CC_INITIAL packets at most. */
static u64 dd_cc_pace_from(const struct dd_tp *tp, u64 now)
{
	u64 burst = dd_cc_interval(tp, DD_CC_INITIAL * dd_tp_packet_size(tp));

	return max(tp->cc.pace_at, now > burst ? now - burst : 0);
}

void dd_tp_cc_sent(struct dd_tp *tp, u64 now, u32 bytes)
{
	struct dd_tp_cc *cc = &tp->cc;

	/* min_rtt is that of the path, without the queues this sender fills. */
	if (cc->min_rtt < DD_CC_PACE_RTT)
		cc->pace_at = 0;
	else
		cc->pace_at = dd_cc_pace_from(tp, now) +
			      dd_cc_interval(tp, bytes);
}

/* Whether a packet of @bytes may be sent now. */
bool dd_tp_cc_space(struct dd_tp *tp, u64 now, u32 bytes)
{
	struct dd_tp_cc *cc = &tp->cc;

	/* The MTU may have grown since the window was set. */
	u32 window = max(cc->cwnd, DD_CC_MIN * dd_tp_packet_size(tp));
	bool fits = cc->flight + bytes <= window;

	cc->paced = fits && cc->pace_at > now + DD_CC_PACE_QUANTUM;
	if (fits && !cc->paced)
		return true;
	cc->limited = true;
	return false;
}

/* How many packets of @bytes may be sent now, at least 1. */
u32 dd_tp_cc_spaces(const struct dd_tp *tp, u64 now, u32 bytes)
{
	const struct dd_tp_cc *cc = &tp->cc;
	u32 left = cc->cwnd > cc->flight ? cc->cwnd - cc->flight : 0;
	u64 n = left / bytes;

	if (cc->pace_at)
		n = min(n, div64_u64(now + DD_CC_PACE_QUANTUM -
				     dd_cc_pace_from(tp, now),
				     dd_cc_interval(tp, bytes) + 1) + 1);
	return clamp_t(u64, n, 1, U16_MAX);
}
