// SPDX-License-Identifier: GPL-2.0-only
/*
 * One end of a connection. The bytes of a message are computed from the connection,
 * the direction and the message's number, so both ends can check them.
 */
#include "sim.h"

#define DIR(ch)		((ch)->server ? 1 : 0)
#define GARBAGE		0xee	/* fills sources that must not be read */

struct conn *conns;
u32 nconns;
static u32 most_conns;

/* ---- contents ----------------------------------------------------------- */

static u64 block_size(const struct plan *plan)
{
	return ALIGN((u64)plan->max_len, 8) + 64;
}

/* The message that @dir sends as number @msgid on a connection with @key. */
static void msg_make(struct dd_tp_msg *msg, const struct plan *plan, u64 key,
		     int dir, u64 msgid)
{
	u64 h = hash_u64(key ^ hash_u64(msgid * 2 + dir));
	u32 i;

	memset(msg, 0, sizeof(*msg));
	msg->msgid = msgid;
	msg->len = plan->min_len + h % (plan->max_len - plan->min_len + 1);
	h = hash_u64(h);
	msg->dst = h % (block_size(plan) - msg->len + 1);
	if (h >> 60)
		msg->dst &= ~7ull;
	msg->flags = h >> 32 & 7 || plan->reply ? DD_PUT_NOTIFY : 0;
	msg->meta_count = (h >> 40) % (DD_WIRE_META + 1);
	msg->tag = h >> 16;
	for (i = 0; i < msg->meta_count; i++)
		msg->meta[i] = hash_u64(h + i);
}

static u64 word_at(u64 key, u64 n)
{
	u64 x = (key + n) * 0x9e3779b97f4a7c15ull;

	return x ^ x >> 29;
}

static u64 msg_key(u64 key, int dir, u64 msgid)
{
	return hash_u64(key + msgid * 4 + dir);
}

static void fill(u8 *p, u64 key, u32 off, u32 len)
{
	u32 i;

	for (i = 0; i < len;) {
		u64 w = word_at(key, (off + i) / 8) >> (off + i) % 8 * 8;
		u32 n = min(8 - (off + i) % 8, len - i);

		memcpy(p + i, &w, n);
		i += n;
	}
}

static bool same(const u8 *p, u64 key, u32 off, u32 len)
{
	u8 buf[4096];
	u32 n;

	for (; len; p += n, off += n, len -= n) {
		n = min(len, (u32)sizeof(buf));
		fill(buf, key, off, n);
		if (memcmp(p, buf, n))
			return false;
	}
	return true;
}

static struct chan *to_chan(const struct dd_tp_chan *c)
{
	return container_of(c, struct chan, c);
}

/* The channel found goes to the front: most packets follow one of its own. */
struct dd_tp_chan *chan_find(struct dd_tp *tp, u64 id)
{
	struct end *e = container_of(tp, struct end, tp);
	struct chan *ch;

	list_for_each_entry(ch, &e->chans, node) {
		if (ch->c.cfg.id == id) {
			list_move(&ch->node, &e->chans);
			return &ch->c;
		}
	}
	return NULL;
}

/* ---- life --------------------------------------------------------------- */

static struct chan *chan_new(struct conn *conn, struct end *e, bool server,
			     u64 key, u64 peer_id)
{
	const struct plan *plan = &conn->plan;
	struct chan *ch = sim_alloc(sizeof(*ch));
	struct dd_tp_chan_cfg cfg = {
		.id = sim_random() | 1,
		.peer_id = peer_id,
		.rx_size = block_size(plan),
		.rx_window = plan->window,
		.tx_window = plan->window,
		.prompt = plan->prompt,
	};
	size_t size = (plan->window + 1ul) * plan->max_len;

	ch->conn = conn;
	ch->end = e;
	ch->key = key;
	ch->server = server;
	ch->open = true;
	if (server) {
		ch->unread = plan->taken;
		cfg.rx_taken = plan->unsaid ? 0 : plan->taken;
	}
	ch->seen = sim_alloc(plan->max_len);
	ch->ops = sim_alloc((plan->window + 1) * sizeof(*ch->ops));
	ch->sources = sim_alloc(size);
	memset(ch->sources, GARBAGE, size);
	if (dd_tp_chan_init(&e->tp, &ch->c, &cfg))
		sim_fail("dd_tp_chan_init() refuses");
	list_add(&ch->node, &e->chans);
	return ch;
}

/* Keep its memory until the end of the run, to detect late uses, but for its sources. */
void chan_close(struct chan *ch, bool drop)
{
	struct conn *conn = ch->conn;

	if (!ch->open)
		return;
	if (conn->ca == ch)
		conn->ca = NULL;
	if (conn->cb == ch)
		conn->cb = NULL;
	list_del(&ch->node);
	if (drop || ch->c.up)
		dd_tp_chan_drop(&ch->end->tp, &ch->c);
	ch->open = false;
	free(ch->seen);
	ch->seen = NULL;
	memset(ch->ops, GARBAGE, (conn->plan.window + 1) * sizeof(*ch->ops));
	if (!net.late)
		free(ch->sources);
}

void conns_init(u32 most)
{
	conns = sim_alloc(most * sizeof(*conns));
	most_conns = most;
	nconns = 0;
}

static void conn_ask(struct conn *conn, struct end *e)
{
	u64 key;

	if (conn->ca)
		return;
	conn->life++;
	key = hash_u64((u64)conn->id << 32 | conn->life) ^ sim.seed;
	conn->ca = chan_new(conn, e, false, key, 0);
	conn->ca->goal = conn->plan.goal ?
			 conn->plan.goal - min(conn->plan.goal, conn->done[0]) :
			 U64_MAX;
	end_ctl(e, 'C', conn->ca->c.cfg.id, (u64)conn->life << 32 | conn->id,
		sim_below(400));
}

struct conn *conn_add(int a, int b, const struct plan *plan)
{
	struct conn *conn = &conns[nconns];
	struct end *e = end_get(a, b);

	if (nconns == most_conns)
		sim_fail("too many connections");
	conn->id = nconns++;
	conn->a = a;
	conn->b = b;
	conn->plan = *plan;
	end_get(b, a);
	if (e->tp.state == DD_TP_UP) {
		conn_ask(conn, e);
		end_drain(e);
	}
	return conn;
}

static bool conn_is_done(const struct conn *conn)
{
	return conn->done[0] >= conn->plan.goal &&
	       conn->done[1] >= conn->plan.back;
}

bool conns_done(void)
{
	static u32 first;
	u32 i;

	/* Continue after the last message that was done. */
	for (i = 0; i < nconns; i++) {
		first = first < nconns ? first : 0;
		if (!conn_is_done(&conns[first]))
			return false;
		first++;
	}
	return true;
}

/* A client closes and the server is notified. */
void conn_close(struct conn *conn)
{
	struct chan *ch = conn->ca;
	struct end *e;

	if (!ch || !ch->c.cfg.peer_id)
		return;
	e = ch->end;
	end_ctl(e, 'X', ch->c.cfg.peer_id, 0, 0);
	chan_close(ch, true);
	conn_ask(conn, e);
	end_drain(e);
}

/* ---- sending ------------------------------------------------------------ */

/* Where the bytes of a message are while it is in flight. */
static u8 *source(const struct chan *ch, u64 msgid)
{
	const struct plan *plan = &ch->conn->plan;

	return ch->sources + msgid % (plan->window + 1) * plan->max_len;
}

const u8 *chan_source(const struct dd_tp_chan *c, const struct dd_tp_op *op)
{
	const struct chan *ch = to_chan(c);

	if (!ch->open)
		sim_fail("sends from a channel that is closed");
	return source(ch, op - ch->ops);
}

static void chan_submit(struct chan *ch)
{
	u64 msgid = ch->c.submitted + 1;
	struct dd_tp_op *op = &ch->ops[msgid % (ch->conn->plan.window + 1)];
	int err;

	/* The source of a message that is not done must not change. */
	if (ch->c.submitted - ch->c.done > ch->conn->plan.window) {
		err = dd_tp_submit(&ch->end->tp, &ch->c, op);
		if (err != -EBUSY)
			sim_fail("submit: %d instead of EBUSY", err);
		return;
	}
	msg_make(&op->msg, &ch->conn->plan, ch->key, DIR(ch), msgid);
	fill(source(ch, msgid), msg_key(ch->key, DIR(ch), msgid), 0, op->msg.len);
	err = dd_tp_submit(&ch->end->tp, &ch->c, op);
	if (err)
		sim_fail("submit: %d", err);
	if (op->msg.msgid != msgid)
		sim_fail("message %llu has number %llu", msgid, op->msg.msgid);
}

/* It is too early for the next message: a timer will send it. */
static bool chan_rests(struct chan *ch)
{
	if (ch->next_at <= sim.now)
		return false;
	if (!ch->resumes) {
		ch->resumes = true;
		sim_at(ch->next_at, chan_resume, ch, 0);
	}
	return true;
}

/* Send as many messages as the window permits. */
static void chan_pump(struct chan *ch)
{
	const struct plan *plan = &ch->conn->plan;
	u32 ahead = plan->ahead ? plan->ahead : plan->window + 1;

	if (!ch->c.cfg.peer_id || (ch->server && plan->reply))
		return;
	if (plan->reply && ch->c.submitted != ch->read)
		return;
	while (ch->c.submitted < ch->goal &&
	       ch->c.submitted - ch->c.done < ahead) {
		if (chan_rests(ch))
			return;
		chan_submit(ch);
		ch->next_at = sim.now + plan->gap_ns;
		if (plan->idle_ns || plan->reply)
			return;
	}
	if (plan->await)
		dd_tp_chan_await(&ch->end->tp, &ch->c);
	if (ch->c.submitted < ch->goal && sim_chance(0.01))
		chan_submit(ch);	/* refused */
}

/* Go on sending. */
void chan_resume(void *arg, u64 gen)
{
	struct chan *ch = arg;

	ch->resumes = false;
	if (!ch->open)
		return;
	chan_pump(ch);
	end_drain(ch->end);
}

static struct chan *chan_peer(const struct chan *ch)
{
	struct chan *peer = ch->server ? ch->conn->ca : ch->conn->cb;

	return peer && peer->key == ch->key ? peer : NULL;
}

void chan_sent(struct dd_tp *tp, struct dd_tp_chan *c, u64 msgid)
{
	struct chan *ch = to_chan(c);
	const struct chan *peer = chan_peer(ch);
	u32 window = ch->conn->plan.window, i;
	u64 n;

	if (!ch->open)
		sim_fail("sent: the channel is closed");
	if (msgid != ch->c.sent || msgid > ch->c.submitted)
		sim_fail("sent: wrong number");
	if (peer && peer->c.received < msgid)
		sim_fail("sent: message %llu has not been received", msgid);
	/* The sources may be reused: overwrite them. */
	for (n = msgid, i = 0; n && i <= window &&
	     n + window + 1 > ch->c.submitted; n--, i++)
		memset(source(ch, n), GARBAGE, ch->conn->plan.max_len);
}

void chan_done(struct dd_tp *tp, struct dd_tp_chan *c, u64 msgid)
{
	struct chan *ch = to_chan(c);
	const struct chan *peer = chan_peer(ch);
	struct conn *conn = ch->conn;

	if (!ch->open)
		sim_fail("done: the channel is closed");
	if (msgid > ch->c.sent)
		sim_fail("done: message %llu was not sent", msgid);
	if (peer && peer->c.notified < msgid)
		sim_fail("done: message %llu is not notified", msgid);
	conn->done[DIR(ch)] += ch->c.done - ch->goal_done;
	ch->goal_done = ch->c.done;
	if (conn->plan.idle_ns)
		ch->next_at = sim.now + sim_below(2 * conn->plan.idle_ns);
	chan_pump(ch);
}

/* ---- receiving ---------------------------------------------------------- */

static void chan_check_open(const struct chan *ch, const char *what)
{
	if (ch->end->tp.hold || ch->c.hold)
		sim_fail("%s: nothing is to be taken now", what);
	if (!ch->open || !ch->c.up)
		sim_fail("%s: the channel is closed", what);
}

static void chan_store(struct chan *ch, u64 dst, const u8 *p, u32 len)
{
	struct dd_tp_msg msg;
	u64 msgid = ch->c.received + 1, key;
	u32 off, i;

	chan_check_open(ch, "deposit");
	msg_make(&msg, &ch->conn->plan, ch->key, !DIR(ch), msgid);
	if (ch->withheld)
		sim_fail("deposit: message %llu while a note is withheld", msgid);
	if (dst < msg.dst || dst + len > msg.dst + msg.len)
		sim_fail("deposit: outside of message %llu", msgid);
	off = dst - msg.dst;
	if (dst + len > max(msg.dst, (msg.dst + msg.len - 1) / 8 * 8))
		sim_fail("deposit: the last word before its time");
	for (i = 0; i < len; i++) {
		if (ch->seen[off + i])
			sim_fail("deposit: byte %u of message %llu again", off + i, msgid);
	}
	key = msg_key(ch->key, !DIR(ch), msgid);
	if (!same(p, key, off, len))
		sim_fail("deposit: bytes %u..%u of message %llu are wrong", off, off + len,
			 msgid);
	memset(ch->seen + off, 1, len);
}

int chan_deposit(struct dd_tp *tp, struct dd_tp_chan *c, u64 dst, const void *payload,
		 u32 off, u32 len)
{
	struct chan *ch = to_chan(c);

	chan_check_open(ch, "deposit");
	if (sim_chance(ch->conn->plan.again))
		return -EAGAIN;
	chan_store(ch, dst, payload_at(payload, off, len), len);
	return 0;
}

void chan_deposit_batch(struct dd_tp *tp, struct dd_tp_chan *c, u64 dst,
			const void *payload, struct dd_tp_rx_batch *batch)
{
	struct payload pl = *(const struct payload *)payload;
	const u8 *p;

	for (; (p = payload_next(&pl, batch)); dst += batch->plen)
		chan_store(to_chan(c), dst, p, batch->plen);
}

static void chan_read(void *arg, u64 gen);

static void chan_read_soon(struct chan *ch)
{
	if (ch->reading || (ch->server && ch->conn->plan.stuck))
		return;
	ch->reading = true;
	sim_at(sim.now + 1 + sim_below(2 * ch->conn->plan.read_ns), chan_read,
	       ch, 0);
}

/* A reader consumes a note, which frees a slot for a withheld one. */
static void chan_read(void *arg, u64 gen)
{
	struct chan *ch = arg;

	ch->reading = false;
	if (!ch->open || !ch->unread)
		return;
	ch->unread--;
	ch->read++;
	if (ch->withheld) {
		u64 msgid = ch->withheld;

		ch->withheld = 0;
		ch->unread++;
		dd_tp_notified(&ch->end->tp, &ch->c, msgid);
	}
	if (ch->unread)
		chan_read_soon(ch);
	if (ch->conn->plan.reply && ch->server)
		chan_submit(ch);
	else if (ch->conn->plan.reply)
		chan_pump(ch);
	end_drain(ch->end);
}

static void chan_check_message(struct chan *ch, const struct dd_tp_msg *msg,
			       u64 msgid)
{
	struct dd_tp_msg want;

	msg_make(&want, &ch->conn->plan, ch->key, !DIR(ch), msgid);
	if (msg->msgid != want.msgid || msg->dst != want.dst ||
	    msg->len != want.len || msg->tag != want.tag ||
	    msg->meta_count != want.meta_count ||
	    (msg->flags & DD_PUT_NOTIFY) != want.flags ||
	    memcmp(msg->meta, want.meta, sizeof(want.meta)))
		sim_fail("complete: message %llu is described wrongly", msgid);
}

/* All bytes but the last have been stored, and were correct. */
static void chan_check_bytes(struct chan *ch, const struct dd_tp_msg *msg,
			     const u8 *tail, u32 ntail)
{
	u32 end = msg->dst + msg->len, i;
	u32 want = min(end % 8 ? end % 8 : 8u, msg->len);

	if (ntail != want)
		sim_fail("complete: %u bytes kept, not %u", ntail, want);
	for (i = 0; i < msg->len; i++) {
		if (ch->seen[i] != (i < msg->len - ntail))
			sim_fail("complete: byte %u of message %llu is missing", i,
				 msg->msgid);
	}
	if (!same(tail, msg_key(ch->key, !DIR(ch), msg->msgid), msg->len - ntail, ntail))
		sim_fail("complete: message %llu ends with wrong bytes", msg->msgid);
	memset(ch->seen, 0, msg->len);
}

bool chan_complete(struct dd_tp *tp, struct dd_tp_chan *c, const struct dd_tp_msg *msg,
		   const u8 *tail, u32 ntail)
{
	struct chan *ch = to_chan(c);

	chan_check_open(ch, "complete");
	if (msg->msgid != ch->c.received)
		sim_fail("complete: message %llu out of order", msg->msgid);
	if (ch->withheld)
		sim_fail("complete: message %llu while a note is withheld", msg->msgid);
	chan_check_message(ch, msg, msg->msgid);
	chan_check_bytes(ch, msg, tail, ntail);
	ch->conn->bytes[!DIR(ch)] += msg->len;
	if (!(msg->flags & DD_PUT_NOTIFY))
		return true;
	chan_read_soon(ch);
	if (ch->unread == ch->conn->plan.window) {
		ch->withheld = msg->msgid;
		return false;
	}
	ch->unread++;
	return true;
}

u32 chan_credit(struct dd_tp *tp, struct dd_tp_chan *c)
{
	struct chan *ch = to_chan(c);

	if (ch->withheld)
		sim_fail("credit: asked while a note is withheld");
	return ch->conn->plan.window - ch->unread;
}

/* ---- connecting --------------------------------------------------------- */

void conn_up(struct end *e)
{
	u32 i;

	for (i = 0; i < nconns; i++) {
		if (conns[i].a == e->node && conns[i].b == e->peer)
			conn_ask(&conns[i], e);
	}
}

static void conn_asked(struct end *e, u64 peer_id, u64 what)
{
	struct conn *conn = &conns[(u32)what];
	u64 life = what >> 32;
	struct chan *ch;

	if ((u32)what >= nconns || conn->cb)
		sim_fail("a request for connection %u", (u32)what);
	ch = chan_new(conn, e, true,
		      hash_u64((u64)conn->id << 32 | life) ^ sim.seed, peer_id);
	conn->cb = ch;
	ch->goal = conn->plan.back - min(conn->plan.back, conn->done[1]);
	end_ctl(e, 'A', peer_id, ch->c.cfg.id, sim_below(100));
	chan_pump(ch);
}

static void conn_answered(struct end *e, u64 id, u64 peer_id)
{
	struct dd_tp_chan *c = chan_find(&e->tp, id);
	const struct plan *plan;

	/* It may have been closed meanwhile. */
	if (!c)
		return;
	plan = &to_chan(c)->conn->plan;
	if (dd_tp_chan_peer(&e->tp, c, peer_id, plan->window,
			    plan->unsaid ? 0 : plan->taken))
		sim_fail("dd_tp_chan_peer() refuses");
	chan_pump(to_chan(c));
}

void conn_ctl(struct end *e, u8 type, u64 a, u64 b)
{
	struct dd_tp_chan *c;

	switch (type) {
	case 'C':
		conn_asked(e, a, b);
		break;
	case 'A':
		conn_answered(e, a, b);
		break;
	case 'X':
		c = chan_find(&e->tp, a);
		if (c)
			chan_close(to_chan(c), true);
		break;
	}
}
