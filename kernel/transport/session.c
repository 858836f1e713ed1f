// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions: handshake, end, timers.
 *
 *	A -> B  INIT		requests a session; packets to A carry token a
 *	A <- B  COOKIE		repeat the INIT with this cookie
 *	A -> B  INIT
 *	A <- B  INIT_ACK	packets to B carry token b; A is up now
 *	A -> B  DATA		carries token b; B is up now
 *
 * B keeps no state until the cookie has come back, and keeps its old session until
 * the last step. So neither a packet from an earlier incarnation of A nor a forged
 * one can end that session. If both nodes start, the one with the lower number has
 * precedence.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "transport/internal.h"

#define DD_TP_INIT_FIRST	(20 * DD_TP_MS)	/* first interval of INITs */
#define DD_TP_INIT_LAST		(500 * DD_TP_MS)	/* longest interval */
#define DD_TP_YIELD		(300 * DD_TP_MS)	/* wait for the peer's session */
#define DD_TP_COOKIE_LIFE	(60000 * DD_TP_MS)	/* of a key */
#define DD_TP_REPLIES		16	/* burst of REFUSE and RESET */
#define DD_TP_REPLY_EVERY	(10 * DD_TP_MS)
#define DD_TP_PACKET_LIMIT	65507	/* largest UDP payload over IPv4 */
#define DD_TP_BYE_FIRST		(5 * DD_TP_MS)	/* first interval of BYEs */

size_t dd_tp_arena_size(const struct dd_tp_cfg *cfg)
{
	return cfg->records * (2 * sizeof(u16) + sizeof(struct dd_tp_rec)) +
	       cfg->ctl_slots * 2 * sizeof(struct dd_tp_slot);
}

/* Begin without packets; the session has no channels. */
static void dd_tp_reset(struct dd_tp *tp)
{
	u32 i;

	INIT_LIST_HEAD(&tp->chans);
	INIT_LIST_HEAD(&tp->retransmit);
	INIT_LIST_HEAD(&tp->ready);
	INIT_LIST_HEAD(&tp->done_queue);
	tp->free = NULL;
	memset(tp->ring, 0, (tp->ring_mask + 1) * sizeof(*tp->ring));
	for (i = 0; i < tp->cfg.records; i++) {
		INIT_LIST_HEAD(&tp->recs[i].done);
		tp->recs[i].next = tp->free;
		tp->free = &tp->recs[i];
	}
	tp->nfree = tp->cfg.records;
	for (i = 0; i < tp->cfg.ctl_slots; i++) {
		tp->tx_ctl[i].state = DD_TP_SLOT_FREE;
		tp->rx_ctl[i].state = DD_TP_SLOT_FREE;
	}
	memset((u8 *)tp + offsetof(struct dd_tp, next_pn), 0,
	       offsetof(struct dd_tp, rx_range) - offsetof(struct dd_tp, next_pn));
	tp->mark_pn = U64_MAX;
	dd_tp_cc_reset(tp);
}

/* @arena holds the ring, the records, and the slots for sending and receiving. */
static void dd_tp_arena_init(struct dd_tp *tp, void *arena)
{
	tp->ring_mask = 2 * tp->cfg.records - 1;
	tp->ring = arena;
	arena += 2 * tp->cfg.records * sizeof(*tp->ring);
	tp->recs = arena;
	arena += tp->cfg.records * sizeof(*tp->recs);
	tp->tx_ctl = arena;
	arena += tp->cfg.ctl_slots * sizeof(*tp->tx_ctl);
	tp->rx_ctl = arena;
	dd_tp_reset(tp);
}

void dd_tp_init(struct dd_tp *tp, const struct dd_tp_cfg *cfg,
		const struct dd_tp_ops *ops, void *arena)
{
	memset(tp, 0, sizeof(*tp));
	tp->cfg = *cfg;
	tp->ops = ops;
	tp->cur.packet_max = DD_TP_PACKET_LIMIT;
	tp->mtu = DD_WIRE_PACKET_MIN;
	dd_tp_arena_init(tp, arena);
	tp->reply_tokens = DD_TP_REPLIES;
}

void dd_tp_set_mtu(struct dd_tp *tp, u32 bytes)
{
	tp->mtu = clamp_t(u32, bytes, DD_WIRE_PACKET_MIN, DD_TP_PACKET_LIMIT);
	tp->fragments = bytes < DD_WIRE_PACKET_MIN;
}

/* 0 is reserved for "none". */
static u64 dd_tp_random(struct dd_tp *tp)
{
	u64 x;

	do {
		x = tp->ops->random(tp);
	} while (!x);
	return x;
}

/* End the session, or the attempt to open one. */
void dd_tp_end(struct dd_tp *tp, enum dd_tp_reason reason)
{
	if (tp->state == DD_TP_UP && (reason == DD_TP_STOPPED || reason == DD_TP_DEAD)) {
		tp->bye = tp->cur.tx_token;
		tp->bye_at = 0;
		tp->bye_wait = DD_TP_BYE_FIRST;
		tp->bye_reason = reason;
	}
	dd_tp_chans_end(tp);
	dd_tp_reset(tp);
	tp->state = DD_TP_IDLE;
	tp->ops->down(tp, reason);
}

static void dd_tp_up(struct dd_tp *tp, u64 now, const struct dd_tp_id *id)
{
	tp->cur = *id;
	tp->pend.rx_token = 0;
	dd_tp_reset(tp);
	tp->state = DD_TP_UP;
	tp->last_rx = now;
}

void dd_tp_start(struct dd_tp *tp, u64 now)
{
	if (tp->state != DD_TP_IDLE)
		return;
	tp->state = DD_TP_OPENING;
	tp->init_token = dd_tp_random(tp);
	tp->init_cookie = 0;
	tp->init_at = now;
	tp->init_wait = DD_TP_INIT_FIRST;
	tp->init_since = now;
	tp->yielding = false;
}

void dd_tp_stop(struct dd_tp *tp)
{
	tp->pend.rx_token = 0;
	if (tp->state != DD_TP_IDLE)
		dd_tp_end(tp, DD_TP_STOPPED);
}

/* Start a reply of @len bytes; it replaces one that was not sent yet. */
static void *dd_tp_reply(struct dd_tp *tp, u64 now, u8 type, u64 token, size_t len)
{
	struct dd_wire_hdr *hdr = (void *)tp->reply;

	memset(tp->reply, 0, sizeof(tp->reply));
	tp->reply_len = len;
	dd_tp_hdr_fill(hdr, DD_WIRE_HANDSHAKE, type, token, now);
	hdr->hlen = cpu_to_le16(len);
	return hdr;
}

/*
 * Rate limit for REFUSE and RESET. Forged packets can use it up, so the replies
 * that a session needs to come up, COOKIE and INIT_ACK, are not limited. No reply
 * is longer than the INIT it answers, so there is no amplification.
 */
static bool dd_tp_reply_may(struct dd_tp *tp, u64 now)
{
	u64 n = div64_u64(now - tp->reply_at, DD_TP_REPLY_EVERY);

	if (n) {
		tp->reply_tokens = min_t(u64, tp->reply_tokens + n, DD_TP_REPLIES);
		tp->reply_at = now;
	}
	if (!tp->reply_tokens)
		return false;
	tp->reply_tokens--;
	return true;
}

static void dd_tp_reply_seal(struct dd_tp *tp)
{
	struct dd_wire_hdr *hdr = (void *)tp->reply;

	dd_wire_seal(hdr, dd_wire_crc(hdr, tp->reply_len));
}

/* The packet belongs to no session here: notify its sender. */
void dd_tp_reply_reset(struct dd_tp *tp, u64 now, const struct dd_wire_hdr *hdr)
{
	struct dd_wire_reset *reset;

	if (!dd_tp_reply_may(tp, now))
		return;
	reset = dd_tp_reply(tp, now, DD_WIRE_RESET, 0, sizeof(*reset));
	reset->token = hdr->token;
	dd_tp_reply_seal(tp);
}

static void dd_tp_reply_refuse(struct dd_tp *tp, u64 now, u64 token,
			       enum dd_wire_refusal reason)
{
	struct dd_wire_refuse *refuse;

	dd_tp_drop(tp, DD_TP_DROP_CONFIG);
	if (!dd_tp_reply_may(tp, now))
		return;
	refuse = dd_tp_reply(tp, now, DD_WIRE_REFUSE, token, sizeof(*refuse));
	refuse->reason = reason;
	refuse->version_min = tp->cfg.version_min;
	refuse->version_max = tp->cfg.version_max;
	refuse->node = cpu_to_le32(tp->cfg.node);
	refuse->maxnodes = cpu_to_le32(tp->cfg.maxnodes);
	dd_tp_reply_seal(tp);
}

static void dd_tp_init_fill(struct dd_tp *tp, struct dd_wire_init *init)
{
	init->node = cpu_to_le32(tp->cfg.node);
	init->peer = cpu_to_le32(tp->cfg.peer);
	init->maxnodes = cpu_to_le32(tp->cfg.maxnodes);
	init->packet_max = cpu_to_le32(DD_TP_PACKET_LIMIT);
	init->ctl_slots = cpu_to_le16(tp->cfg.ctl_slots);
	init->version_min = tp->cfg.version_min;
	init->version_max = tp->cfg.version_max;
	init->flags = tp->cfg.payload_crc ? DD_WIRE_WANT_CRC : 0;
	init->incarnation = cpu_to_le64(tp->cfg.incarnation);
}

/* Write an INIT and schedule the next one. */
u32 dd_tp_build_init(struct dd_tp *tp, u64 now, struct dd_wire_hdr *hdr)
{
	struct dd_wire_init *init = (void *)hdr;

	memset(init, 0, sizeof(*init));
	dd_tp_hdr_fill(hdr, DD_WIRE_HANDSHAKE, DD_WIRE_INIT, 0, now);
	hdr->hlen = cpu_to_le16(sizeof(*init));
	dd_tp_init_fill(tp, init);
	init->token = cpu_to_le64(tp->init_token);
	init->cookie = cpu_to_le64(tp->init_cookie);
	dd_wire_seal(hdr, dd_wire_crc(hdr, sizeof(*init)));
	tp->init_at = now + tp->init_wait;
	tp->init_wait = min(2 * tp->init_wait, DD_TP_INIT_LAST);
	/* The peer had its time; its pending session may still be confirmed. */
	tp->yielding = false;
	return sizeof(*init);
}

static void dd_tp_id_read(struct dd_tp_id *id, const struct dd_wire_init *init)
{
	id->incarnation = le64_to_cpu(init->incarnation);
	id->tx_token = le64_to_cpu(init->token);
	id->packet_max = le32_to_cpu(init->packet_max);
	id->ctl_slots = le16_to_cpu(init->ctl_slots);
	id->want_crc = init->flags & DD_WIRE_WANT_CRC;
}

/* The highest version supported by both nodes, or 0. */
static u8 dd_tp_version(const struct dd_tp *tp, const struct dd_wire_init *init)
{
	u8 version = min(tp->cfg.version_max, init->version_max);

	return version < max(tp->cfg.version_min, init->version_min) ? 0 :
								      version;
}

/* Whether an INIT matches the local configuration; if not, *@reason says why. */
static bool dd_tp_init_fits(const struct dd_tp *tp,
			    const struct dd_wire_init *init,
			    enum dd_wire_refusal *reason)
{
	*reason = DD_WIRE_REFUSE_NODE;
	if (le32_to_cpu(init->node) != tp->cfg.peer ||
	    le32_to_cpu(init->peer) != tp->cfg.node)
		return false;
	*reason = DD_WIRE_REFUSE_MAXNODES;
	if (le32_to_cpu(init->maxnodes) != tp->cfg.maxnodes)
		return false;
	*reason = DD_WIRE_REFUSE_VERSION;
	return dd_tp_version(tp, init);
}

static u64 dd_tp_cookie(const struct dd_tp *tp, u32 i, const struct dd_wire_init *init)
{
	return siphash_2u64(le64_to_cpu(init->incarnation),
			    le64_to_cpu(init->token), &tp->cookie_key[i]) | 1;
}

/* Whether the sender of an INIT has received a cookie sent to the peer's address. */
static bool dd_tp_cookie_ok(struct dd_tp *tp, u64 now, const struct dd_wire_init *init)
{
	u64 cookie = le64_to_cpu(init->cookie);

	if (!tp->cookie_at || now - tp->cookie_at >= DD_TP_COOKIE_LIFE) {
		tp->cookie_key[1] = tp->cookie_key[0];
		tp->cookie_key[0].key[0] = dd_tp_random(tp);
		tp->cookie_key[0].key[1] = dd_tp_random(tp);
		/* Initially both slots hold the same key: a zero key is predictable. */
		if (!tp->cookie_at)
			tp->cookie_key[1] = tp->cookie_key[0];
		tp->cookie_at = max(now, 1ull);
	}
	if (cookie == dd_tp_cookie(tp, 0, init) || cookie == dd_tp_cookie(tp, 1, init))
		return true;
	if (cookie)
		dd_tp_drop(tp, DD_TP_DROP_COOKIE);
	return false;
}

static void dd_tp_init_rx(struct dd_tp *tp, u64 now, const struct dd_wire_init *init)
{
	struct dd_tp_id id = { .version = dd_tp_version(tp, init) };
	bool first = tp->cfg.node < tp->cfg.peer;
	enum dd_wire_refusal reason;
	struct dd_wire_cookie *cookie;
	struct dd_wire_init *reply;

	dd_tp_id_read(&id, init);
	if (!dd_tp_init_fits(tp, init, &reason)) {
		dd_tp_reply_refuse(tp, now, id.tx_token, reason);
		return;
	}
	if (!dd_tp_cookie_ok(tp, now, init)) {
		cookie = dd_tp_reply(tp, now, DD_WIRE_COOKIE, id.tx_token, sizeof(*cookie));
		cookie->cookie = cpu_to_le64(dd_tp_cookie(tp, 0, init));
		dd_tp_reply_seal(tp);
		return;
	}
	tp->proved = true;
	if (tp->state == DD_TP_UP && id.tx_token == tp->cur.tx_token) {
		/* A late INIT of the session that is up. */
		dd_tp_drop(tp, DD_TP_DROP_STATE);
		return;
	}
	/*
	 * Both nodes have sent an INIT, the session requested here has precedence and
	 * is up, and the peer did not know that yet when it sent its INIT. The first
	 * packet of the session tells it, or the peer answers that packet with RESET.
	 */
	if (tp->state == DD_TP_UP && !tp->heard && first &&
	    id.incarnation == tp->cur.incarnation) {
		dd_tp_drop(tp, DD_TP_DROP_STATE);
		tp->ping = true;
		return;
	}
	if (tp->state == DD_TP_OPENING) {
		if (first) {
			/* The local INIT has precedence: send it at once. */
			tp->init_at = min(tp->init_at, now);
			dd_tp_drop(tp, DD_TP_DROP_STATE);
			return;
		}
		tp->yielding = true;
		tp->init_at = now + DD_TP_YIELD;
	}
	/* Remember the requested session; a repeated INIT changes nothing. */
	if (!tp->pend.rx_token || tp->pend.tx_token != id.tx_token ||
	    tp->pend.incarnation != id.incarnation) {
		id.rx_token = dd_tp_random(tp);
		tp->pend = id;
	}
	reply = dd_tp_reply(tp, now, DD_WIRE_INIT_ACK, id.tx_token, sizeof(*reply));
	dd_tp_init_fill(tp, reply);
	reply->version_min = tp->pend.version;
	reply->version_max = tp->pend.version;
	reply->token = cpu_to_le64(tp->pend.rx_token);
	reply->cookie = init->cookie;
	reply->ts_echo = init->h.ts;
	dd_tp_reply_seal(tp);
}

static bool dd_tp_opening(struct dd_tp *tp, const struct dd_wire_hdr *hdr)
{
	if (tp->state == DD_TP_OPENING && !tp->yielding &&
	    le64_to_cpu(hdr->token) == tp->init_token) {
		tp->proved = true;
		return true;
	}
	return dd_tp_drop(tp, DD_TP_DROP_STATE);
}

static void dd_tp_init_ack_rx(struct dd_tp *tp, u64 now, const struct dd_wire_init *init)
{
	struct dd_tp_id id = { .rx_token = tp->init_token };
	enum dd_wire_refusal reason;
	u32 rtt = dd_tp_us(now) - le32_to_cpu(init->ts_echo);

	if (!dd_tp_opening(tp, &init->h))
		return;
	if (!dd_tp_init_fits(tp, init, &reason)) {
		dd_tp_drop(tp, DD_TP_DROP_CONFIG);
		return;
	}
	dd_tp_id_read(&id, init);
	id.version = dd_tp_version(tp, init);
	dd_tp_up(tp, now, &id);
	if ((s32)rtt >= 0)
		dd_tp_cc_rtt(tp, rtt * DD_TP_US, 0);
	/* The first packet confirms the session at the peer. */
	tp->ping = true;
	tp->ops->up(tp);
}

/* Switch to the pending session if a packet carries its token. */
bool dd_tp_confirm(struct dd_tp *tp, u64 now, u64 token)
{
	struct dd_tp_id id = tp->pend;

	if (!id.rx_token || token != id.rx_token)
		return false;
	if (tp->state == DD_TP_UP)
		dd_tp_end(tp, id.incarnation == tp->cur.incarnation ?
			      DD_TP_RESET : DD_TP_REBOOT);
	dd_tp_up(tp, now, &id);
	tp->ops->up(tp);
	return true;
}

/* A packet of a type other than DATA; its format has been checked. */
void dd_tp_handshake(struct dd_tp *tp, u64 now, const struct dd_wire_hdr *hdr,
		     size_t hlen)
{
	const void *p = hdr;
	const struct dd_wire_cookie *cookie = p;
	const struct dd_wire_refuse *refuse = p;
	const struct dd_wire_reset *reset = p;
	u64 token;

	switch (hdr->type) {
	case DD_WIRE_INIT:
		dd_tp_init_rx(tp, now, p);
		break;
	case DD_WIRE_COOKIE:
		if (!dd_tp_opening(tp, hdr))
			break;
		/* Answer each new cookie with an INIT at once. */
		if (le64_to_cpu(cookie->cookie) != tp->init_cookie)
			tp->init_at = now;
		tp->init_cookie = le64_to_cpu(cookie->cookie);
		break;
	case DD_WIRE_INIT_ACK:
		dd_tp_init_ack_rx(tp, now, p);
		break;
	case DD_WIRE_REFUSE:
		if (!dd_tp_opening(tp, hdr))
			break;
		dd_tp_end(tp, refuse->reason == DD_WIRE_REFUSE_VERSION ? DD_TP_VERSION :
			      refuse->reason == DD_WIRE_REFUSE_MAXNODES ? DD_TP_MAXNODES :
									  DD_TP_CONFIG);
		break;
	case DD_WIRE_RESET:
		/* Only the peer knows the token of packets to it. */
		token = le64_to_cpu(reset->token);
		if (tp->bye && token == tp->bye)
			/* The peer's answer to a BYE. */
			tp->bye = 0;
		else if (tp->state == DD_TP_UP && token == tp->cur.tx_token)
			dd_tp_end(tp, DD_TP_RESET);
		else
			dd_tp_drop(tp, DD_TP_DROP_TOKEN);
		break;
	}
}

/*
 * The peer is dead after the dead time without a packet, if for at least half of
 * that time there was a packet to answer.
 */
static u64 dd_tp_dead_at(const struct dd_tp *tp)
{
	if (tp->state == DD_TP_OPENING)
		return tp->init_since + tp->cfg.dead_ns;
	if (tp->state != DD_TP_UP || !tp->unanswered_since)
		return DD_TP_NEVER;
	return max(tp->last_rx + tp->cfg.dead_ns,
		   tp->unanswered_since + tp->cfg.dead_ns / 2);
}

static u64 dd_tp_keepalive_at(const struct dd_tp *tp)
{
	if (tp->state != DD_TP_UP || tp->unanswered_since || tp->ping)
		return DD_TP_NEVER;
	/* Different times, so that one node's PING makes the other's unnecessary. */
	return tp->last_rx + tp->cfg.dead_ns / (tp->cfg.node < tp->cfg.peer ? 4 : 3);
}

void dd_tp_timeout(struct dd_tp *tp, u64 now)
{
	if (dd_tp_dead_at(tp) <= now) {
		dd_tp_end(tp, DD_TP_DEAD);
		return;
	}
	if (tp->state != DD_TP_UP)
		return;
	if (dd_tp_keepalive_at(tp) <= now)
		tp->ping = true;
	if (tp->loss_at && tp->loss_at <= now)
		dd_tp_detect(tp, now);
	else if (!tp->loss_at && dd_tp_pto_at(tp) <= now)
		dd_tp_probe(tp, now);
}

u64 dd_tp_deadline(const struct dd_tp *tp)
{
	u64 at = min(dd_tp_dead_at(tp), dd_tp_keepalive_at(tp));

	if (tp->bye)
		at = min(at, tp->bye_at);
	if (tp->state == DD_TP_OPENING)
		at = min(at, tp->init_at);
	if (tp->state != DD_TP_UP)
		return at;
	at = min(at, dd_tp_ack_at(tp));
	at = min(at, tp->loss_at ? tp->loss_at : dd_tp_pto_at(tp));
	/* The next packet, if only pacing stopped it. */
	return min(at, tp->cc.paced ? tp->cc.pace_at : DD_TP_NEVER);
}
