// SPDX-License-Identifier: GPL-2.0-only
/*
 * A TCP flow that always has data, modelled on Linux: CUBIC with the delay check of
 * HyStart, RACK loss detection, proportional rate reduction, an ACK for every second
 * segment. It shares no code with the transport, and so no mistakes.
 */
#include <math.h>

#include "sim.h"

#define SEG		1448	/* bytes of payload */
#define SEG_WIRE	1500
#define RING		65536	/* transmissions in flight at most */
#define RTO_MIN		0.2

/* One transmission of a segment. */
struct tx {
	double sent;		/* time of transmission */
	double got;		/* time of arrival, 0 if it has not arrived */
	bool out;		/* neither acknowledged nor considered lost */
};

/* A flow. Windows in segments, times in seconds. */
struct tcp {
	int dst;			/* node whose queue it uses */
	struct tx tx[RING];		/* transmissions, by number */
	u64 low, next, high;		/* lowest in flight, next one, highest acknowledged plus 1 */
	u64 resend;			/* segments to retransmit */
	u64 out;			/* transmissions in flight */
	u64 delivered;			/* segments acknowledged */
	double cwnd, ssthresh;
	double wmax, west;		/* before the last reduction; that of Reno */
	double epoch, k;		/* start of growth or 0; time until @wmax */
	double srtt, rttvar, min_rtt;
	u64 recover;			/* the reduction's round ends with this transmission */
	/* Sent and acknowledged in that round; in flight when it began. */
	double prr_out, prr_acked, prr_flight;
	u32 unacked;			/* segments received since the last acknowledgment */
	u64 timer;			/* number of the current timer */
	double rto;
};

static double now(void)
{
	return sim.now / 1e9;
}

static void tcp_push(struct tcp *t);

static void on_timer(void *arg, u64 gen)
{
	struct tcp *t = arg;
	u64 i;

	if (gen != t->timer)
		return;
	for (i = t->low; i < t->next; i++) {
		if (t->tx[i % RING].out) {
			t->tx[i % RING].out = false;
			t->resend++;
		}
	}
	t->out = 0;
	t->low = t->next;
	t->ssthresh = fmax(t->cwnd * 0.7, 2);
	t->wmax = t->cwnd;
	t->cwnd = 1;
	t->epoch = 0;
	t->recover = t->next;
	t->rto = fmin(2 * t->rto, 60);
	tcp_push(t);
}

static void arm(struct tcp *t)
{
	t->timer++;
	if (t->out)
		sim_at(sim.now + t->rto * SEC, on_timer, t, t->timer);
}

static void on_ack(void *arg, u64 gen);

static void send_ack(struct tcp *t)
{
	t->unacked = 0;
	if (!sim_chance(net.loss))
		sim_at(sim.now + net.delay, on_ack, t, sim.now);
}

/* The delayed ACK expired without a second segment. */
static void on_delack(void *arg, u64 gen)
{
	struct tcp *t = arg;

	if (t->unacked)
		send_ack(t);
}

static void on_data(void *arg, u64 gen)
{
	struct tcp *t = arg;

	t->tx[gen % RING].got = now();
	if (++t->unacked >= 2)
		send_ack(t);
	else
		sim_at(sim.now + 40 * MS, on_delack, t, 0);
}

static void transmit(struct tcp *t)
{
	struct tx *tx = &t->tx[t->next % RING];
	u64 at;

	tx->sent = now();
	tx->got = 0;
	tx->out = true;
	t->out++;
	if (t->resend)
		t->resend--;
	if (!sim_chance(net.loss)) {
		at = net_queue(t->dst, SEG_WIRE);
		if (at)
			sim_at(at + net.delay, on_data, t, t->next);
	}
	t->next++;
}

static bool recovering(const struct tcp *t)
{
	return t->low < t->recover;
}

static double allowed(struct tcp *t)
{
	double sndcnt;

	if (!recovering(t))
		return t->cwnd - t->out;
	if (t->out > t->ssthresh)
		sndcnt = ceil(t->prr_acked * t->ssthresh / t->prr_flight) -
			 t->prr_out;
	else
		sndcnt = fmin(t->ssthresh - t->out,
			      fmax(t->prr_acked - t->prr_out, 1) + 1);
	return sndcnt;
}

static void tcp_push(struct tcp *t)
{
	while (allowed(t) >= 1 && t->next - t->low < RING) {
		if (recovering(t))
			t->prr_out++;
		transmit(t);
	}
	arm(t);
}

static void rtt_sample(struct tcp *t, double rtt)
{
	if (!t->srtt) {
		t->srtt = rtt;
		t->rttvar = rtt / 2;
		t->min_rtt = rtt;
	} else {
		t->rttvar = 0.75 * t->rttvar + 0.25 * fabs(t->srtt - rtt);
		t->srtt = 0.875 * t->srtt + 0.125 * rtt;
		t->min_rtt = fmin(t->min_rtt, rtt);
	}
	t->rto = fmax(RTO_MIN, t->srtt + 4 * t->rttvar);
	/* HyStart: the delay grows. */
	if (t->cwnd < t->ssthresh && t->cwnd >= 16 &&
	    rtt > t->min_rtt + fmin(fmax(t->min_rtt / 8, 0.004), 0.016))
		t->ssthresh = t->cwnd;
}

static void grow(struct tcp *t, double acked)
{
	double target, d;

	if (t->cwnd < t->ssthresh) {
		t->cwnd += acked;
		return;
	}
	if (!t->epoch) {
		t->epoch = now();
		t->west = t->cwnd;
		t->wmax = fmax(t->wmax, t->cwnd);
		t->k = cbrt((t->wmax - t->cwnd) / 0.4);
	}
	d = now() - t->epoch + t->srtt - t->k;
	target = t->wmax + 0.4 * d * d * d;
	target = fmin(fmax(target, t->cwnd), 1.5 * t->cwnd);
	t->west += (t->west < t->wmax ? 0.9 / 1.7 : 1) * acked / t->cwnd;
	t->cwnd += (target - t->cwnd) / t->cwnd * acked;
	t->cwnd = fmax(t->cwnd, t->west);
}

static void reduce(struct tcp *t)
{
	if (recovering(t))
		return;
	t->wmax = t->cwnd < t->wmax ? t->cwnd * 0.85 : t->cwnd;
	t->prr_flight = fmax(t->out, 1);
	t->prr_out = 0;
	t->prr_acked = 0;
	t->ssthresh = fmax(t->cwnd * 0.7, 2);
	t->cwnd = t->ssthresh;
	t->epoch = 0;
	t->recover = t->next;
}

/* @gen: when the ACK was sent; it covers all segments that arrived before. */
static void on_ack(void *arg, u64 gen)
{
	double when = gen / 1e9, acked = 0;
	struct tcp *t = arg;
	struct tx *tx;
	u64 i, lost = 0;

	for (i = t->low; i < t->next; i++) {
		tx = &t->tx[i % RING];
		if (!tx->out || !tx->got || tx->got > when)
			continue;
		tx->out = false;
		t->out--;
		acked++;
		t->delivered++;
		if (i + 1 > t->high) {
			t->high = i + 1;
			rtt_sample(t, now() - tx->sent);
		}
	}
	for (i = t->low; i + 3 < t->high; i++) {
		tx = &t->tx[i % RING];
		if (tx->out) {
			tx->out = false;
			t->out--;
			t->resend++;
			lost++;
		}
	}
	if (lost)
		reduce(t);
	while (t->low < t->next && !t->tx[t->low % RING].out)
		t->low++;
	if (recovering(t))
		t->prr_acked += acked + lost;
	else
		grow(t, acked);
	tcp_push(t);
}

struct tcp *tcp_start(int dst)
{
	struct tcp *t = sim_alloc(sizeof(*t));

	t->dst = dst;
	t->cwnd = 10;
	t->ssthresh = 1e9;
	t->rto = 1;
	tcp_push(t);
	return t;
}

/* Bytes acknowledged. */
u64 tcp_bytes(const struct tcp *t)
{
	return t->delivered * SEG;
}
