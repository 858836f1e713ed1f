// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions: how they come up and end.
 *
 *	A -> B  INIT		I want a session; packets to me bear a
 *	A <- B  COOKIE		say that again, with this
 *	A -> B  INIT
 *	A <- B  INIT_ACK	packets to me bear b: now A is up
 *	A -> B  DATA		bears b: now B is up
 *
 * B keeps nothing until the cookie has come back, and its old session until the
 * last step: then nothing that was sent in A's earlier life, or by somebody
 * else, can end it. If both begin, the one with the lower number goes first.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "transport_int.h"

#define DD_TP_INIT_FIRST	(20 * DD_TP_MS)	/* until the second INIT */
#define DD_TP_INIT_LAST		(500 * DD_TP_MS)	/* from then on */
#define DD_TP_YIELD		(300 * DD_TP_MS)	/* to the other's INIT */
#define DD_TP_COOKIE_LIFE	(60000 * DD_TP_MS)	/* of a key */
#define DD_TP_REPLIES		16	/* REFUSE and RESET, at once */
#define DD_TP_REPLY_EVERY	(10 * DD_TP_MS)
#define DD_TP_PACKET_LIMIT	65507	/* of UDP over IPv4 */
#define DD_TP_BYE_FIRST		(5 * DD_TP_MS)	/* until the second BYE */
#define DD_TP_BYE_LAST		(20 * DD_TP_MS)	/* until the last one */

/* ---- life --------------------------------------------------------------- */

static bool dd_tp_cfg_ok(const struct dd_tp_cfg *cfg)
{
	return cfg->records >= DD_TP_RECORDS_MIN &&
	       cfg->records <= DD_TP_RECORDS_MAX &&
	       is_power_of_2(cfg->records) &&
	       cfg->ctl_slots >= DD_TP_CTL_MIN &&
	       cfg->ctl_slots <= DD_TP_CTL_MAX &&
	       is_power_of_2(cfg->ctl_slots) &&
	       cfg->packet_max >= DD_WIRE_PACKET_MIN &&
	       cfg->packet_max <= DD_TP_PACKET_LIMIT &&
	       cfg->dead_ns >= 10 * DD_TP_MS &&
	       cfg->ack_delay_ns <= 50 * DD_TP_MS &&
	       cfg->version_min && cfg->version_min <= cfg->version_max &&
	       cfg->node != cfg->peer;
}

size_t dd_tp_arena_size(const struct dd_tp_cfg *cfg)
{
	if (!dd_tp_cfg_ok(cfg))
		return 0;
	return cfg->records * (2 * sizeof(u16) + sizeof(struct dd_tp_rec)) +
	       cfg->ctl_slots * 2 * sizeof(struct dd_tp_slot);
}

int dd_tp_init(struct dd_tp *tp, const struct dd_tp_cfg *cfg,
	       const struct dd_tp_ops *ops, void *arena)
{
	if (!dd_tp_cfg_ok(cfg))
		return -EINVAL;
	memset(tp, 0, sizeof(*tp));
	tp->cfg = *cfg;
	tp->ops = ops;
	tp->tracing = ops->trace;
	tp->cur.packet_max = cfg->packet_max;
	dd_tp_set_mtu(tp, cfg->mtu);
	dd_tp_tx_init(tp, arena);
	tp->reply_tokens = DD_TP_REPLIES;
	return 0;
}

void dd_tp_exit(struct dd_tp *tp)
{
	dd_tp_chans_end(tp);
	tp->state = DD_TP_IDLE;
	tp->pend.rx_token = 0;
}

void dd_tp_set_mtu(struct dd_tp *tp, u32 bytes)
{
	tp->mtu = clamp_t(u32, bytes, DD_WIRE_PACKET_MIN, DD_TP_PACKET_LIMIT);
}

/* Not 0, which stands for none. */
static u64 dd_tp_random(struct dd_tp *tp)
{
	u64 x;

	do {
		x = tp->ops->random(tp);
	} while (!x);
	return x;
}

/* The session is over, or there will be none. */
void dd_tp_end(struct dd_tp *tp, enum dd_tp_reason reason)
{
	if (tp->state == DD_TP_UP && (reason == DD_TP_STOPPED ||
				      reason == DD_TP_DEAD)) {
		tp->bye = tp->cur.tx_token;
		tp->bye_at = 0;
		tp->bye_wait = DD_TP_BYE_FIRST;
		tp->bye_reason = reason;
		tp->bye_version = tp->cur.version;
	}
	dd_tp_chans_end(tp);
	dd_tp_tx_reset(tp);
	dd_tp_rx_reset(tp);
	tp->state = DD_TP_IDLE;
	tp->ops->down(tp, reason);
}

static void dd_tp_up(struct dd_tp *tp, u64 now, const struct dd_tp_id *id)
{
	tp->cur = *id;
	tp->pend.rx_token = 0;
	dd_tp_tx_reset(tp);
	dd_tp_rx_reset(tp);
	tp->state = DD_TP_UP;
	tp->last_rx = now;
	tp->heard = false;
	tp->stats.sessions++;
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

void dd_tp_stop(struct dd_tp *tp, u64 now)
{
	tp->pend.rx_token = 0;
	if (tp->state != DD_TP_IDLE)
		dd_tp_end(tp, DD_TP_STOPPED);
}

/* ---- answers outside a session ------------------------------------------ */

/* Start an answer of @len bytes; the latest one counts. */
static void *dd_tp_reply(struct dd_tp *tp, u64 now, u8 type, u64 token,
			 size_t len)
{
	struct dd_wire_hdr *hdr = (void *)tp->reply;

	memset(tp->reply, 0, sizeof(tp->reply));
	tp->reply_len = len;
	hdr->magic = cpu_to_le16(DD_WIRE_MAGIC);
	hdr->version = DD_WIRE_HANDSHAKE;
	hdr->type = type;
	hdr->hlen = cpu_to_le16(len);
	hdr->token = cpu_to_le64(token);
	hdr->ts = cpu_to_le32(dd_tp_us(now));
	return hdr;
}

/*
 * Whether one more REFUSE or RESET may be sent. Forged packets use these up, so
 * that nothing a session needs to come up is among them: COOKIE and INIT_ACK are
 * not limited. Neither is longer than the INIT that it answers.
 */
static bool dd_tp_reply_may(struct dd_tp *tp, u64 now)
{
	u64 n = div64_u64(now - tp->reply_at, DD_TP_REPLY_EVERY);

	if (n) {
		tp->reply_tokens = min_t(u64, tp->reply_tokens + n,
					 DD_TP_REPLIES);
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

/* The packet belongs to no session of ours: its sender should know. */
void dd_tp_reply_reset(struct dd_tp *tp, u64 now, const struct dd_wire_hdr *hdr)
{
	struct dd_wire_reset *reset;

	if (!dd_tp_reply_may(tp, now))
		return;
	reset = dd_tp_reply(tp, now, DD_WIRE_RESET, 0, sizeof(*reset));
	reset->token = hdr->token;
	dd_tp_reply_seal(tp);
}

static void dd_tp_reply_cookie(struct dd_tp *tp, u64 now,
			       const struct dd_wire_init *init, u64 cookie)
{
	struct dd_wire_cookie *reply;

	reply = dd_tp_reply(tp, now, DD_WIRE_COOKIE, le64_to_cpu(init->token),
			    sizeof(*reply));
	reply->cookie = cpu_to_le64(cookie);
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

/* ---- INIT --------------------------------------------------------------- */

static void dd_tp_init_fill(struct dd_tp *tp, struct dd_wire_init *init)
{
	init->node = cpu_to_le32(tp->cfg.node);
	init->peer = cpu_to_le32(tp->cfg.peer);
	init->maxnodes = cpu_to_le32(tp->cfg.maxnodes);
	init->packet_max = cpu_to_le32(tp->cfg.packet_max);
	init->ctl_slots = cpu_to_le16(tp->cfg.ctl_slots);
	init->version_min = tp->cfg.version_min;
	init->version_max = tp->cfg.version_max;
	init->flags = tp->cfg.payload_crc ? DD_WIRE_WANT_CRC : 0;
	init->incarnation = cpu_to_le64(tp->cfg.incarnation);
}

/* Write an INIT, and see to the next one. */
u32 dd_tp_build_init(struct dd_tp *tp, u64 now, struct dd_wire_hdr *hdr)
{
	struct dd_wire_init *init = (void *)hdr;

	memset(init, 0, sizeof(*init));
	hdr->magic = cpu_to_le16(DD_WIRE_MAGIC);
	hdr->version = DD_WIRE_HANDSHAKE;
	hdr->type = DD_WIRE_INIT;
	hdr->hlen = cpu_to_le16(sizeof(*init));
	hdr->ts = cpu_to_le32(dd_tp_us(now));
	dd_tp_init_fill(tp, init);
	init->token = cpu_to_le64(tp->init_token);
	init->cookie = cpu_to_le64(tp->init_cookie);
	dd_wire_seal(hdr, dd_wire_crc(hdr, sizeof(*init)));
	tp->init_at = now + tp->init_wait;
	tp->init_wait = min(2 * tp->init_wait, DD_TP_INIT_LAST);
	/* The other one has had its time; what it asked for may still come up. */
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

/* The highest version that both speak, or 0. */
static u8 dd_tp_version(const struct dd_tp *tp, const struct dd_wire_init *init)
{
	u8 version = min(tp->cfg.version_max, init->version_max);

	return version < max(tp->cfg.version_min, init->version_min) ? 0 :
								      version;
}

/* Whether an INIT fits our configuration; else why not. */
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

static void dd_tp_cookie_rotate(struct dd_tp *tp, u64 now)
{
	if (tp->cookie_at && now - tp->cookie_at < DD_TP_COOKIE_LIFE)
		return;
	tp->cookie_key[1] = tp->cookie_key[0];
	tp->cookie_key[0].key[0] = dd_tp_random(tp);
	tp->cookie_key[0].key[1] = dd_tp_random(tp);
	/* A key that was never used is known to nobody either. */
	if (!tp->cookie_at)
		tp->cookie_key[1] = tp->cookie_key[0];
	tp->cookie_at = max(now, 1ull);
}

static u64 dd_tp_cookie(const struct dd_tp *tp, u32 i,
			const struct dd_wire_init *init)
{
	return siphash_2u64(le64_to_cpu(init->incarnation),
			    le64_to_cpu(init->token), &tp->cookie_key[i]) | 1;
}

/* Whether an INIT comes from where our cookies go to. */
static bool dd_tp_cookie_ok(struct dd_tp *tp, u64 now,
			    const struct dd_wire_init *init)
{
	u64 cookie = le64_to_cpu(init->cookie);

	dd_tp_cookie_rotate(tp, now);
	if (cookie == dd_tp_cookie(tp, 0, init) ||
	    cookie == dd_tp_cookie(tp, 1, init))
		return true;
	if (cookie)
		dd_tp_drop(tp, DD_TP_DROP_COOKIE);
	return false;
}

/* The session that an INIT asks for; the same one if it asks again. */
static void dd_tp_pend_set(struct dd_tp *tp, const struct dd_wire_init *init)
{
	struct dd_tp_id id = { .version = dd_tp_version(tp, init) };

	dd_tp_id_read(&id, init);
	if (tp->pend.rx_token && tp->pend.tx_token == id.tx_token &&
	    tp->pend.incarnation == id.incarnation)
		return;
	id.rx_token = dd_tp_random(tp);
	tp->pend = id;
}

static void dd_tp_reply_init(struct dd_tp *tp, u64 now,
			     const struct dd_wire_init *init)
{
	struct dd_wire_init *reply;

	reply = dd_tp_reply(tp, now, DD_WIRE_INIT_ACK, tp->pend.tx_token,
			    sizeof(*reply));
	dd_tp_init_fill(tp, reply);
	reply->version_min = tp->pend.version;
	reply->version_max = tp->pend.version;
	reply->token = cpu_to_le64(tp->pend.rx_token);
	reply->cookie = init->cookie;
	reply->ts_echo = init->h.ts;
	dd_tp_reply_seal(tp);
}

/*
 * Whether the peer, when it sent an INIT, did not know yet that our session is up,
 * which goes first. It will, by our first packet; or it answers that by RESET.
 */
static bool dd_tp_init_crossed(const struct dd_tp *tp,
			       const struct dd_wire_init *init)
{
	return tp->state == DD_TP_UP && !tp->heard &&
	       tp->cfg.node < tp->cfg.peer &&
	       le64_to_cpu(init->incarnation) == tp->cur.incarnation;
}

static void dd_tp_init_rx(struct dd_tp *tp, u64 now,
			  const struct dd_wire_init *init)
{
	u64 token = le64_to_cpu(init->token);
	enum dd_wire_refusal reason;

	if (!dd_tp_init_fits(tp, init, &reason)) {
		dd_tp_reply_refuse(tp, now, token, reason);
		return;
	}
	if (!dd_tp_cookie_ok(tp, now, init)) {
		dd_tp_reply_cookie(tp, now, init, dd_tp_cookie(tp, 0, init));
		return;
	}
	tp->proved = true;
	if (tp->state == DD_TP_UP && token == tp->cur.tx_token) {
		/* Late: this session is up. */
		dd_tp_drop(tp, DD_TP_DROP_STATE);
		return;
	}
	if (dd_tp_init_crossed(tp, init)) {
		dd_tp_drop(tp, DD_TP_DROP_STATE);
		tp->ping = true;
		return;
	}
	if (tp->state == DD_TP_OPENING) {
		if (tp->cfg.node < tp->cfg.peer) {
			/* Ours goes first, and at once: the peer is there. */
			tp->init_at = min(tp->init_at, now);
			dd_tp_drop(tp, DD_TP_DROP_STATE);
			return;
		}
		tp->yielding = true;
		tp->init_at = now + DD_TP_YIELD;
	}
	dd_tp_pend_set(tp, init);
	dd_tp_reply_init(tp, now, init);
}

/* ---- answers to INIT ---------------------------------------------------- */

static bool dd_tp_opening(struct dd_tp *tp, const struct dd_wire_hdr *hdr)
{
	if (tp->state == DD_TP_OPENING && !tp->yielding &&
	    le64_to_cpu(hdr->token) == tp->init_token) {
		tp->proved = true;
		return true;
	}
	dd_tp_drop(tp, DD_TP_DROP_STATE);
	return false;
}

static void dd_tp_cookie_rx(struct dd_tp *tp, u64 now,
			    const struct dd_wire_cookie *reply)
{
	u64 cookie = le64_to_cpu(reply->cookie);

	if (!dd_tp_opening(tp, &reply->h))
		return;
	/* One INIT at once for each new cookie. */
	if (cookie != tp->init_cookie)
		tp->init_at = now;
	tp->init_cookie = cookie;
}

static void dd_tp_init_ack_rx(struct dd_tp *tp, u64 now,
			      const struct dd_wire_init *init)
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
	/* The peer is up when it hears from us. */
	tp->ping = true;
	tp->ops->up(tp);
}

static enum dd_tp_reason dd_tp_refused(const struct dd_wire_refuse *refuse)
{
	switch (refuse->reason) {
	case DD_WIRE_REFUSE_VERSION:
		return DD_TP_VERSION;
	case DD_WIRE_REFUSE_MAXNODES:
		return DD_TP_MAXNODES;
	default:
		return DD_TP_CONFIG;
	}
}

static void dd_tp_refuse_rx(struct dd_tp *tp,
			    const struct dd_wire_refuse *refuse)
{
	if (dd_tp_opening(tp, &refuse->h))
		dd_tp_end(tp, dd_tp_refused(refuse));
}

/* Only the peer knows what our packets to it bear. */
static void dd_tp_reset_rx(struct dd_tp *tp, const struct dd_wire_reset *reset)
{
	if (tp->bye && le64_to_cpu(reset->token) == tp->bye) {
		/* The answer to our BYE. */
		tp->bye = 0;
		return;
	}
	if (tp->state != DD_TP_UP ||
	    le64_to_cpu(reset->token) != tp->cur.tx_token) {
		dd_tp_drop(tp, DD_TP_DROP_TOKEN);
		return;
	}
	dd_tp_end(tp, DD_TP_RESET);
}

/* The first packet of a session that the peer has asked for. */
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

/* A packet that is not DATA, of correct form. */
void dd_tp_handshake(struct dd_tp *tp, u64 now, const struct dd_wire_hdr *hdr,
		     size_t hlen)
{
	const void *p = hdr;

	switch (hdr->type) {
	case DD_WIRE_INIT:
		dd_tp_init_rx(tp, now, p);
		break;
	case DD_WIRE_COOKIE:
		dd_tp_cookie_rx(tp, now, p);
		break;
	case DD_WIRE_INIT_ACK:
		dd_tp_init_ack_rx(tp, now, p);
		break;
	case DD_WIRE_REFUSE:
		dd_tp_refuse_rx(tp, p);
		break;
	case DD_WIRE_RESET:
		dd_tp_reset_rx(tp, p);
		break;
	}
}

/* ---- time --------------------------------------------------------------- */

/* Heard nothing for the dead time, half of which we asked for an answer. */
static u64 dd_tp_dead_at(const struct dd_tp *tp)
{
	if (tp->state == DD_TP_OPENING)
		return tp->init_since + tp->cfg.dead_ns;
	if (tp->state != DD_TP_UP || !tp->unheard)
		return DD_TP_NEVER;
	return max(tp->last_rx + tp->cfg.dead_ns,
		   tp->unheard + tp->cfg.dead_ns / 2);
}

static u64 dd_tp_keepalive_at(const struct dd_tp *tp)
{
	if (tp->state != DD_TP_UP || tp->unheard || tp->ping)
		return DD_TP_NEVER;
	/* Not both at once: an answer keeps both alive. */
	return tp->last_rx + tp->cfg.dead_ns / (tp->cfg.node < tp->cfg.peer ?
						4 : 3);
}

/* When a BYE has gone: the next one, or none. */
void dd_tp_bye_sent(struct dd_tp *tp, u64 now)
{
	tp->bye_at = now + tp->bye_wait;
	if (tp->bye_wait > DD_TP_BYE_LAST)
		tp->bye = 0;
	tp->bye_wait *= 2;
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

/* When the next packet may go out, if time alone keeps it. */
static u64 dd_tp_pace_at(const struct dd_tp *tp)
{
	return tp->cc.paced ? tp->cc.pace_at : DD_TP_NEVER;
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
	return min(at, dd_tp_pace_at(tp));
}
