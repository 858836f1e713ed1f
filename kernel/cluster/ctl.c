// SPDX-License-Identifier: GPL-2.0-only
/*
 * Look-ups, grants and closes, over the control stream of a session, which delivers
 * each message once and in order.
 *
 * A query names a channel of the asking node; the answer names a channel of the
 * answering node, or gives a reason. Either side ends a channel by a CLOSE message
 * that names it; the end of the session ends all channels. A caller that stops
 * waiting leaves its query on the list, and a grant that still arrives is closed.
 *
 * A query may wait for a name that is not there. It is answered with DD_CTL_PARKED and an id,
 * by which a CLOSE ends the wait. When the name is added, a WAKE names the channel of the
 * asking node, which sends the query again.
 *
 * All queues are bounded: local queries by DD_CTL_WAITING, the peer's queries and
 * refusals by DD_CTL_INBOX, those that wait for a name by DD_PARKED_MAX, and pending CLOSE
 * messages by the number of connections and of waits for a name.
 */
#include <linux/nospec.h>
#include <linux/slab.h>

#include "cluster/ctl.h"
#include "cluster/peer.h"
#include "cluster/remote.h"
#include "transport/ctl.h"
#include "udp/udp.h"

#define DD_CTL_CLOSES		15	/* channels in a CLOSE message */

/* Types of control messages. */
enum dd_ctl_kind {
	DD_CTL_QUERY = 1,
	DD_CTL_ANSWER = 2,
	DD_CTL_CLOSE = 3,
	DD_CTL_WAKE = 4,
};

struct dd_ctl_head {
	u8 kind;
	u8 class;	/* of a query; number of channels in a CLOSE; else zero */
	__le16 len;	/* bytes in the body of a query or an answer */
	__le32 req;	/* number of the query; zero in a CLOSE */
} __packed;

struct dd_ctl_query_msg {
	struct dd_ctl_head head;
	u8 key[DD_KEY_SIZE];
	__le64 chan;
	u8 body[];
} __packed;

struct dd_ctl_answer_msg {
	struct dd_ctl_head head;
	__le32 status;
	__le64 chan;
	u8 body[];
} __packed;

/* A DONE may be lost with its channel, so a CLOSE repeats the count. */
struct dd_ctl_end {
	__le64 chan;
	__le64 notified;
} __packed;

struct dd_ctl_close_msg {
	struct dd_ctl_head head;
	struct dd_ctl_end end[DD_CTL_CLOSES];
} __packed;

struct dd_ctl_wake_msg {
	struct dd_ctl_head head;
	__le64 chan;
} __packed;

static_assert(sizeof(struct dd_ctl_close_msg) <= DD_WIRE_CTL_MAX);
static_assert(sizeof(struct dd_ctl_query_msg) + DD_CTL_BODY <= DD_WIRE_CTL_MAX);

/* A query of the peer. */
struct dd_ctl_asked {
	struct list_head entry;
	u64 session;
	u32 req;
	struct dd_ctl_query query;
};

/**
 * struct dd_ctl_parked - a query of the peer that waits for a name
 * @p: the look-up
 * @entry: in dd_ctl.parked
 * @ctl: the control stream, which outlives the session
 * @id: by which the peer ends the wait
 * @chan: of the query
 * @woken: the name was added
 */
struct dd_ctl_parked {
	struct dd_parked p;
	struct list_head entry;
	struct dd_ctl *ctl;
	u64 id;
	u64 chan;
	bool woken;
};

static const struct dd_ctl_class_ops *dd_ctl_classes[DD_CLASSES];

/* The errno of a negative answer. */
int dd_ctl_error(u32 status)
{
	switch (status) {
	case DD_CTL_FULL:
		return -EUSERS;
	case DD_CTL_DENIED:
		return -EACCES;
	case DD_CTL_NOMEM:
	case DD_CTL_BUSY:
		return -ENOBUFS;
	default:
		return -ECONNREFUSED;
	}
}

/* The negative answer for an errno. */
enum dd_ctl_status dd_ctl_status(int err)
{
	switch (err) {
	case -EUSERS:
		return DD_CTL_FULL;
	case -EACCES:
		return DD_CTL_DENIED;
	case -EDQUOT:
	case -ENOBUFS:
	case -ENOMEM:
	case -ENOSPC:
		return DD_CTL_NOMEM;
	default:
		return DD_CTL_NONE;
	}
}

/* Register a class, before any peer exists. */
void dd_ctl_register(enum dd_class class, const struct dd_ctl_class_ops *ops)
{
	dd_ctl_classes[class] = ops;
}

static const struct dd_ctl_class_ops *dd_ctl_class(u8 class)
{
	if (class >= DD_CLASSES)
		return NULL;
	return dd_ctl_classes[array_index_nospec(class, DD_CLASSES)];
}

/* Count a malformed control message; the peer is locked. */
static void dd_ctl_malformed(struct dd_peer *peer)
{
	dd_ctl_tp(peer)->stats.drops[DD_TP_DROP_MESSAGE]++;
}

/* Whether a session is up (@err is 0) or will not come up (@err is the reason). */
bool dd_ctl_settled(struct dd_peer *peer, u64 downs, int *err)
{
	struct dd_tp *tp = dd_ctl_tp(peer);
	bool settled = true;

	dd_ctl_lock(peer);
	if (dd_ctl_link(peer)->dead)
		*err = -ECONNREFUSED;
	else if (tp->state == DD_TP_UP)
		*err = 0;
	else if (dd_ctl_of(peer)->downs != downs)
		*err = dd_ctl_of(peer)->why;
	else
		settled = false;
	dd_ctl_unlock(peer);
	return settled;
}

static ktime_t dd_ctl_left(ktime_t expires)
{
	if (expires == KTIME_MAX)
		return expires;
	return max_t(ktime_t, ktime_sub(expires, ktime_get()), 0);
}

/* Wait for a condition. Returns 0, -ETIMEDOUT or -EINTR. */
#define dd_ctl_wait(ctl, cond, expires) ({				\
	int __ret = wait_event_interruptible_hrtimeout((ctl)->room, cond, \
						       dd_ctl_left(expires)); \
									\
	__ret == -ETIME ? -ETIMEDOUT : __ret ? -EINTR : 0;		\
})

/* Start a session unless there is one. Returns its number, for dd_ctl_settled(). */
u64 dd_ctl_start(struct dd_peer *peer)
{
	u64 session;

	dd_ctl_lock(peer);
	session = dd_ctl_of(peer)->downs;
	if (!dd_ctl_link(peer)->dead)
		dd_tp_start(dd_ctl_tp(peer), ktime_get_ns());
	dd_ctl_unlock(peer);
	return session;
}

/**
 * dd_ctl_session() - wait for a session with a peer
 * @peer: the peer
 * @session: (out) number of the session, which counts the sessions that have ended
 * @expires: absolute time limit, KTIME_MAX for none
 *
 * Return: 0; %-EHOSTUNREACH if no session comes up within the peer's dead time;
 * %-EPROTONOSUPPORT or %-EPROTO if the peer refuses; %-ECONNREFUSED if the peer was
 * removed from the configuration; %-ETIMEDOUT; %-EINTR.
 */
int dd_ctl_session(struct dd_peer *peer, u64 *session, ktime_t expires)
{
	int ret, err = 0;

	*session = dd_ctl_start(peer);
	ret = dd_ctl_wait(dd_ctl_of(peer), dd_ctl_settled(peer, *session, &err), expires);
	return ret ? ret : err;
}

/* Send a query. False if it has to wait for space; else @err is 0 or the error. */
bool dd_ctl_ask(struct dd_peer *peer, u64 session, const struct dd_ctl_query *query,
		struct dd_remote *r, int *err)
{
	u8 buf[sizeof(struct dd_ctl_query_msg) + DD_CTL_BODY] = {};
	struct dd_ctl_query_msg *msg = (struct dd_ctl_query_msg *)buf;
	struct dd_ctl *ctl = dd_ctl_of(peer);

	msg->head.kind = DD_CTL_QUERY;
	msg->head.class = query->class;
	msg->head.len = cpu_to_le16(query->len);
	msg->chan = cpu_to_le64(query->chan);
	memcpy(msg->key, query->key, sizeof(msg->key));
	memcpy(msg->body, query->body, query->len);

	dd_ctl_lock(peer);
	r->wait.req = ++ctl->next_req;
	msg->head.req = cpu_to_le32(r->wait.req);
	if (ctl->downs != session)
		*err = ctl->why;
	/* A query follows the ends that precede it. */
	else if (ctl->nwaiting >= DD_CTL_WAITING || !list_empty(&ctl->closing))
		*err = -EAGAIN;
	else
		*err = dd_tp_ctl(dd_ctl_tp(peer), msg,
				 sizeof(*msg) + query->len);
	if (!*err) {
		r->wait.over = false;
		r->wait.woken = false;
		ctl->nwaiting++;
		list_add_tail(&r->wait.entry, &ctl->waiting);
	} else if (*err == -EAGAIN && ctl->nwaiting < DD_CTL_WAITING) {
		ctl->crowded = true;
	}
	dd_ctl_unlock(peer);
	return *err != -EAGAIN;
}

/*
 * The caller stops waiting. If the query is still unanswered it stays on the list,
 * with a reference. Returns whether it was complete.
 */
bool dd_ctl_forget(struct dd_peer *peer, struct dd_remote *r)
{
	bool over;

	dd_ctl_lock(peer);
	over = r->wait.over;
	if (!over) {
		refcount_inc(&r->ref);
		r->wait.answer = NULL;
	}
	dd_ctl_unlock(peer);
	return over;
}

/**
 * dd_ctl_lookup() - send a query to a peer and wait for the answer
 * @peer: the peer
 * @session: number of the session, from dd_ctl_session()
 * @query: the query
 * @r: the connection being made; @query names its channel
 * @answer: (out) the answer
 * @expires: absolute time limit, KTIME_MAX for none
 *
 * Return: 0 if there is an answer; an error of dd_ctl_session() if the session has
 * ended; %-ETIMEDOUT or %-EINTR, then a grant that still arrives is closed.
 */
int dd_ctl_lookup(struct dd_peer *peer, u64 session,
		  const struct dd_ctl_query *query, struct dd_remote *r,
		  struct dd_ctl_answer *answer, ktime_t expires)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);
	int ret, err = 0;

	r->wait.answer = answer;
	ret = dd_ctl_wait(ctl, dd_ctl_ask(peer, session, query, r, &err),
			  expires);
	if (ret)
		return ret;
	if (err)
		return err == -ENOTCONN ? -EHOSTUNREACH : err;
	err = dd_ctl_wait(ctl, READ_ONCE(r->wait.over), expires);
	/* Decided under the peer's lock, as an answer may arrive right now. */
	return dd_ctl_forget(peer, r) ? r->wait.err : err;
}

/* Send queued refusals, as many as the control stream accepts. */
static void dd_ctl_pump_refusals(struct dd_peer *peer)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);
	struct dd_tp *tp = dd_ctl_tp(peer);

	while (ctl->nrefusals && dd_tp_ctl_room(tp)) {
		const struct dd_ctl_refusal *refusal =
			&ctl->refusals[ctl->refusal++ % DD_CTL_INBOX];
		struct dd_ctl_answer_msg msg = {
			.head.kind = DD_CTL_ANSWER,
			.head.req = cpu_to_le32(refusal->req),
			.status = cpu_to_le32(refusal->status),
		};

		ctl->nrefusals--;
		/* Cannot fail: dd_tp_ctl_room() was not 0. */
		WARN_ON_ONCE(dd_tp_ctl(tp, &msg, sizeof(msg)));
	}
}

/*
 * Refuse a query. The refusal needs no memory and is queued until the control stream
 * accepts it. False if the peer has more queries open than it may have.
 */
static bool dd_ctl_refuse(struct dd_peer *peer, u32 req,
			  enum dd_ctl_status status)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);

	if (ctl->nrefusals == DD_CTL_INBOX)
		return false;
	ctl->refusals[(ctl->refusal + ctl->nrefusals++) % DD_CTL_INBOX] =
		(struct dd_ctl_refusal){ .req = req, .status = status };
	dd_ctl_pump_refusals(peer);
	return true;
}

/* Called with dd_node.park_lock held: without it, the query may be freed. */
static void dd_ctl_parked_wake(struct dd_parked *p)
{
	struct dd_ctl_parked *k = container_of(p, struct dd_ctl_parked, p);

	WRITE_ONCE(k->woken, true);
	WRITE_ONCE(k->ctl->woken, true);
	queue_work(dd_wq, &k->ctl->work);
}

/**
 * dd_ctl_park() - let a query wait for its name
 * @peer: the peer that asks
 * @session: number of the session
 * @query: the query
 * @answer: its answer
 *
 * Called by dd_ctl_class_ops.lookup(), which returns the result.
 *
 * Return: the status.
 */
enum dd_ctl_status dd_ctl_park(struct dd_peer *peer, u64 session,
			       const struct dd_ctl_query *query,
			       struct dd_ctl_answer *answer)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);
	struct dd_ctl_parked *k;
	int err = -ENOTCONN;

	k = kzalloc(sizeof(*k), GFP_KERNEL);
	if (!k)
		return DD_CTL_NOMEM;
	INIT_LIST_HEAD(&k->p.entry);
	k->p.class = query->class;
	memcpy(k->p.key, query->key, sizeof(k->p.key));
	k->p.wake = dd_ctl_parked_wake;
	k->ctl = ctl;
	k->chan = query->chan;
	do {
		k->id = get_random_u64();
	} while (!k->id);
	/* From then on the end of the session may free it. */
	answer->chan = k->id;
	dd_ctl_lock(peer);
	if (ctl->downs == session)
		err = dd_name_park(peer->node, &k->p);
	if (!err)
		list_add_tail(&k->entry, &ctl->parked);
	dd_ctl_unlock(peer);
	if (!err)
		return DD_CTL_PARKED;
	answer->chan = 0;
	kfree(k);
	return dd_ctl_status(err);
}

/* The peer is locked. */
static void dd_ctl_unpark(struct dd_peer *peer, struct dd_ctl_parked *k)
{
	dd_name_unpark(peer->node, &k->p);
	list_del(&k->entry);
	kfree(k);
}

/* Send WAKE messages, as many as the stream accepts; the peer is locked. */
static void dd_ctl_pump_parked(struct dd_peer *peer)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);
	struct dd_tp *tp = dd_ctl_tp(peer);
	struct dd_ctl_parked *k, *next;

	if (!xchg(&ctl->woken, false))
		return;
	list_for_each_entry_safe(k, next, &ctl->parked, entry) {
		struct dd_ctl_wake_msg msg = {
			.head.kind = DD_CTL_WAKE,
			.chan = cpu_to_le64(k->chan),
		};

		if (!READ_ONCE(k->woken))
			continue;
		if (!dd_tp_ctl_room(tp)) {
			WRITE_ONCE(ctl->woken, true);
			return;
		}
		/* Cannot fail: dd_tp_ctl_room() was not 0. */
		WARN_ON_ONCE(dd_tp_ctl(tp, &msg, sizeof(msg)));
		dd_ctl_unpark(peer, k);
	}
}

/* The peer ends a wait; false if there is none of that id. */
static bool dd_ctl_parked_end(struct dd_peer *peer, u64 id)
{
	struct dd_ctl_parked *k;

	list_for_each_entry(k, &dd_ctl_of(peer)->parked, entry)
		if (k->id == id) {
			dd_ctl_unpark(peer, k);
			return true;
		}
	return false;
}

/**
 * dd_ctl_woken() - whether a query that was answered with %DD_CTL_PARKED may be sent again
 * @peer: the peer
 * @session: number of the session
 * @r: the connection being made
 * @err: (out) set if the session has ended
 *
 * Return: whether it may, or @err is set.
 */
bool dd_ctl_woken(struct dd_peer *peer, u64 session, const struct dd_remote *r, int *err)
{
	bool woken;

	dd_ctl_lock(peer);
	woken = r->wait.woken;
	if (dd_ctl_of(peer)->downs != session)
		*err = dd_ctl_of(peer)->why;
	dd_ctl_unlock(peer);
	return woken || *err;
}

/**
 * dd_ctl_cancel() - end what the peer holds for a query
 * @peer: the peer
 * @session: number of the session
 * @r: the connection, after dd_remote_break()
 * @chan: of the answer
 */
void dd_ctl_cancel(struct dd_peer *peer, u64 session, struct dd_remote *r, u64 chan)
{
	dd_ctl_lock(peer);
	if (dd_ctl_of(peer)->downs == session && list_empty(&r->entry)) {
		r->chan.cfg.peer_id = chan;
		dd_ctl_close(peer, r);
	}
	dd_ctl_unlock(peer);
}

static void dd_ctl_wake(struct dd_peer *peer, const struct dd_ctl_wake_msg *msg, u32 len)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);
	struct dd_remote *r;
	u64 chan;

	if (len != sizeof(*msg)) {
		dd_ctl_malformed(peer);
		return;
	}
	chan = le64_to_cpu(msg->chan);
	r = rhashtable_lookup_fast(&ctl->chans, &chan, dd_remote_ids);
	/* The wait may have ended here. */
	if (!r)
		return;
	WRITE_ONCE(r->wait.woken, true);
	wake_up_all(&ctl->room);
}

static void dd_ctl_queried(struct dd_peer *peer,
			   const struct dd_ctl_query_msg *msg, u32 len)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);
	u32 req = le32_to_cpu(msg->head.req);
	struct dd_ctl_asked *asked;

	if (len < sizeof(*msg) || len - sizeof(*msg) > DD_CTL_BODY ||
	    le16_to_cpu(msg->head.len) != len - sizeof(*msg) ||
	    !dd_ctl_class(msg->head.class)) {
		dd_ctl_malformed(peer);
		dd_ctl_refuse(peer, req, DD_CTL_BAD);
		return;
	}
	asked = ctl->ninbox < DD_CTL_INBOX ?
		kzalloc(sizeof(*asked), GFP_ATOMIC) : NULL;
	if (!asked) {
		if (!dd_ctl_refuse(peer, req, DD_CTL_BUSY))
			dd_ctl_malformed(peer);
		return;
	}
	asked->session = ctl->downs;
	asked->req = req;
	asked->query.class = msg->head.class;
	asked->query.chan = le64_to_cpu(msg->chan);
	asked->query.len = len - sizeof(*msg);
	memcpy(asked->query.key, msg->key, sizeof(msg->key));
	memcpy(asked->query.body, msg->body, asked->query.len);
	ctl->ninbox++;
	list_add_tail(&asked->entry, &ctl->inbox);
	queue_work(dd_wq, &ctl->work);
}

/*
 * Send the answer to a query. False if the control stream is full: then the query is
 * kept as dd_ctl.unsent. The workqueue is shared, so the worker must not wait.
 */
static bool dd_ctl_reply(struct dd_peer *peer, struct dd_ctl_asked *asked)
{
	const struct dd_ctl_answer *answer = &dd_ctl_of(peer)->answer;
	u8 buf[sizeof(struct dd_ctl_answer_msg) + DD_CTL_BODY] = {};
	struct dd_ctl_answer_msg *msg = (struct dd_ctl_answer_msg *)buf;
	int err = -ENOTCONN;

	msg->head.kind = DD_CTL_ANSWER;
	msg->head.req = cpu_to_le32(asked->req);
	msg->head.len = cpu_to_le16(answer->len);
	msg->status = cpu_to_le32(answer->status);
	msg->chan = cpu_to_le64(answer->chan);
	memcpy(msg->body, answer->body, answer->len);
	dd_ctl_lock(peer);
	if (dd_ctl_of(peer)->downs == asked->session)
		err = dd_tp_ctl(dd_ctl_tp(peer), msg,
				sizeof(*msg) + answer->len);
	if (err == -EAGAIN)
		dd_ctl_of(peer)->unsent = asked;
	else if (answer->status == DD_CTL_BAD)
		dd_ctl_malformed(peer);
	dd_ctl_unlock(peer);
	return err != -EAGAIN;
}

/*
 * Take the next query and look up what it asks for, or take the one in dd_ctl.unsent, with its
 * answer in dd_ctl.answer. NULL if there is none. Connections that the peer has closed are ended
 * first, so that a client that closes and connects again finds its block free.
 */
static struct dd_ctl_asked *dd_ctl_next(struct dd_peer *peer)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);
	const struct dd_ctl_class_ops *class;
	struct dd_ctl_asked *asked;
	bool fresh;

	dd_ctl_lock(peer);
	while (!list_empty(&ctl->lost)) {
		dd_ctl_unlock(peer);
		dd_remote_end_lost(peer);
		dd_ctl_lock(peer);
	}
	asked = ctl->unsent;
	ctl->unsent = NULL;
	fresh = !asked;
	if (fresh) {
		/* Not before the answer that the query waits. */
		dd_ctl_pump_parked(peer);
		asked = list_first_entry_or_null(&ctl->inbox, struct dd_ctl_asked, entry);
	}
	if (fresh && asked) {
		list_del(&asked->entry);
		ctl->ninbox--;
	}
	dd_ctl_unlock(peer);
	if (fresh && asked) {
		/*
		 * If the session ends meanwhile, the answer is not sent and the channel that
		 * was granted ends with the session.
		 */
		class = dd_ctl_class(asked->query.class);
		memset(&ctl->answer, 0, sizeof(ctl->answer));
		ctl->answer.status = class->lookup(peer, asked->session, &asked->query,
						   &ctl->answer);
	}
	return asked;
}

static void dd_ctl_work(struct work_struct *work)
{
	struct dd_ctl *ctl = container_of(work, struct dd_ctl, work);
	struct dd_peer *peer = ctl->peer;
	struct dd_ctl_asked *asked;

	do {
		asked = dd_ctl_next(peer);
		if (asked && !dd_ctl_reply(peer, asked))
			return;
		kfree(asked);
		cond_resched();
	} while (asked);
}

/* Send CLOSE messages for dd_ctl.closing, as many as the stream accepts. */
static void dd_ctl_pump(struct dd_peer *peer)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);
	struct dd_tp *tp = dd_ctl_tp(peer);

	while (!list_empty(&ctl->closing) && dd_tp_ctl_room(tp)) {
		struct dd_ctl_close_msg msg = { .head.kind = DD_CTL_CLOSE };
		struct dd_remote *r, *next;
		u32 n = 0;

		list_for_each_entry_safe(r, next, &ctl->closing, entry) {
			msg.end[n].chan = cpu_to_le64(r->chan.cfg.peer_id);
			msg.end[n++].notified = cpu_to_le64(r->chan.notified);
			list_del_init(&r->entry);
			dd_remote_put(r);
			if (n == DD_CTL_CLOSES)
				break;
		}
		msg.head.class = n;
		/* Cannot fail: dd_tp_ctl_room() was not 0. */
		WARN_ON_ONCE(dd_tp_ctl(tp, &msg, sizeof(msg.head) +
				       n * sizeof(msg.end[0])));
	}
}

/**
 * dd_ctl_close() - notify the peer that a channel has ended
 * @peer: the peer, locked
 * @r: the connection, on no list
 */
void dd_ctl_close(struct dd_peer *peer, struct dd_remote *r)
{
	refcount_inc(&r->ref);
	list_add_tail(&r->entry, &dd_ctl_of(peer)->closing);
	dd_ctl_pump(peer);
}

/**
 * dd_ctl_lose() - the peer has ended a channel: let the worker end its connection
 * @peer: the peer, locked
 * @r: the connection
 */
void dd_ctl_lose(struct dd_peer *peer, struct dd_remote *r)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);

	if (list_empty(&r->entry))
		refcount_inc(&r->ref);
	list_move_tail(&r->entry, &ctl->lost);
	queue_work(dd_wq, &ctl->work);
}

/* An answer to an abandoned query has arrived: close the channel that it grants. */
static void dd_ctl_give_up(struct dd_peer *peer, struct dd_remote *r,
			   const struct dd_ctl_answer_msg *msg)
{
	u64 chan = le64_to_cpu(msg->chan);

	if ((msg->status && le32_to_cpu(msg->status) != DD_CTL_PARKED) || !chan) {
		;
	} else if (r->registered) {
		/* dd_remote_break() is still to come and sends the CLOSE. */
		dd_tp_chan_peer(dd_ctl_tp(peer), &r->chan, chan, 1, 0);
	} else {
		r->chan.cfg.peer_id = chan;
		dd_ctl_close(peer, r);
	}
	dd_remote_put(r);
}

static void dd_ctl_answered(struct dd_peer *peer,
			    const struct dd_ctl_answer_msg *msg, u32 len)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);
	u32 req = le32_to_cpu(msg->head.req);
	struct dd_remote *r;

	if (len < sizeof(*msg) || len - sizeof(*msg) > DD_CTL_BODY) {
		dd_ctl_malformed(peer);
		return;
	}
	list_for_each_entry(r, &ctl->waiting, wait.entry) {
		struct dd_ctl_answer *answer = r->wait.answer;

		if (r->wait.req != req)
			continue;
		list_del(&r->wait.entry);
		ctl->nwaiting--;
		if (!answer) {
			dd_ctl_give_up(peer, r, msg);
			wake_up_all(&ctl->room);
			return;
		}
		answer->status = le32_to_cpu(msg->status);
		answer->chan = le64_to_cpu(msg->chan);
		answer->len = len - sizeof(*msg);
		memcpy(answer->body, msg->body, answer->len);
		WRITE_ONCE(r->wait.over, true);
		wake_up_all(&ctl->room);
		return;
	}
	/* Abandoned queries are on the list, too: the peer has invented this one. */
	dd_ctl_malformed(peer);
}

static void dd_ctl_closed(struct dd_peer *peer,
			  const struct dd_ctl_close_msg *msg, u32 len)
{
	u32 i, n = msg->head.class;

	if (!n || n > DD_CTL_CLOSES ||
	    len != sizeof(msg->head) + n * sizeof(msg->end[0])) {
		dd_ctl_malformed(peer);
		return;
	}
	for (i = 0; i < n; i++) {
		u64 chan = le64_to_cpu(msg->end[i].chan);

		if (!dd_ctl_parked_end(peer, chan))
			dd_remote_lost(peer, chan, le64_to_cpu(msg->end[i].notified));
	}
}

/* ---- callbacks of the link, with the peer locked --------------------------- */

/**
 * dd_ctl_receive() - process a control message
 * @tp: the session, locked
 * @data: the message
 * @len: bytes
 *
 * Malformed messages are counted and ignored; a malformed query is also refused.
 */
void dd_ctl_receive(struct dd_tp *tp, const void *data, u32 len)
{
	struct dd_peer *peer = dd_udp_of_tp(tp)->peer;
	const struct dd_ctl_head *head = data;

	if (len < sizeof(*head)) {
		dd_ctl_malformed(peer);
		return;
	}
	switch (head->kind) {
	case DD_CTL_QUERY:
		dd_ctl_queried(peer, data, len);
		break;
	case DD_CTL_ANSWER:
		dd_ctl_answered(peer, data, len);
		break;
	case DD_CTL_CLOSE:
		dd_ctl_closed(peer, data, len);
		break;
	case DD_CTL_WAKE:
		dd_ctl_wake(peer, data, len);
		break;
	default:
		dd_ctl_malformed(peer);
	}
}

/**
 * dd_ctl_up() - the session began
 * @tp: the session, locked
 */
void dd_ctl_up(struct dd_tp *tp)
{
	struct dd_ctl *ctl = dd_udp_of_tp(tp)->priv;

	wake_up_all(&ctl->room);
	dd_udp_up(tp);
}

/* Error for callers that wait for a session. */
static int dd_ctl_why(enum dd_tp_reason reason)
{
	switch (reason) {
	case DD_TP_VERSION:
		return -EPROTONOSUPPORT;
	case DD_TP_MAXNODES:
	case DD_TP_CONFIG:
		return -EPROTO;
	default:
		return -EHOSTUNREACH;
	}
}

/**
 * dd_ctl_down() - the session ended, or was refused
 * @tp: the session, locked
 * @reason: why
 */
void dd_ctl_down(struct dd_tp *tp, enum dd_tp_reason reason)
{
	struct dd_peer *peer = dd_udp_of_tp(tp)->peer;
	struct dd_ctl *ctl = dd_ctl_of(peer);
	struct dd_remote *r, *next;

	ctl->downs++;
	ctl->why = dd_ctl_why(reason);
	list_for_each_entry_safe(r, next, &ctl->waiting, wait.entry) {
		bool forgotten = !r->wait.answer;

		list_del(&r->wait.entry);
		r->wait.err = ctl->why;
		WRITE_ONCE(r->wait.over, true);
		if (forgotten)
			dd_remote_put(r);
	}
	ctl->nwaiting = 0;
	ctl->nrefusals = 0;
	list_for_each_entry_safe(r, next, &ctl->closing, entry) {
		list_del_init(&r->entry);
		dd_remote_put(r);
	}
	while (!list_empty(&ctl->parked))
		dd_ctl_unpark(peer, list_first_entry(&ctl->parked, struct dd_ctl_parked,
						     entry));
	list_splice_tail_init(&ctl->open, &ctl->lost);
	queue_work(dd_wq, &ctl->work);
	wake_up_all(&ctl->room);
	dd_udp_down(tp, reason);
}

/**
 * dd_ctl_progress() - packets may have been acknowledged: use the space in the stream
 * @link: the link of the peer, locked
 */
void dd_ctl_progress(struct dd_udp_peer *link)
{
	struct dd_peer *peer = link->peer;
	struct dd_ctl *ctl = link->priv;

	if (unlikely(ctl->nrefusals))
		dd_ctl_pump_refusals(peer);
	if (!list_empty(&ctl->closing))
		dd_ctl_pump(peer);
	if (unlikely(ctl->unsent || READ_ONCE(ctl->woken)) &&
	    dd_tp_ctl_room(dd_ctl_tp(peer)))
		queue_work(dd_wq, &ctl->work);
	/* Not while DD_CTL_WAITING queries are open: callers then could not send. */
	if (unlikely(ctl->crowded) && dd_tp_ctl_room(dd_ctl_tp(peer))) {
		ctl->crowded = false;
		wake_up_all(&ctl->room);
	}
}

/**
 * dd_ctl_attach() - make the control stream of a peer
 * @link: the link of the peer, which is being started
 *
 * Return: 0 or %-ENOMEM.
 */
int dd_ctl_attach(struct dd_udp_peer *link)
{
	struct dd_ctl *ctl = kzalloc(sizeof(*ctl), GFP_KERNEL_ACCOUNT);
	int err;

	if (!ctl)
		return -ENOMEM;
	err = rhashtable_init(&ctl->chans, &dd_remote_ids);
	if (err) {
		kfree(ctl);
		return err;
	}
	ctl->peer = link->peer;
	INIT_LIST_HEAD(&ctl->waiting);
	INIT_LIST_HEAD(&ctl->inbox);
	INIT_LIST_HEAD(&ctl->open);
	INIT_LIST_HEAD(&ctl->lost);
	INIT_LIST_HEAD(&ctl->closing);
	INIT_LIST_HEAD(&ctl->parked);
	init_waitqueue_head(&ctl->room);
	INIT_WORK(&ctl->work, dd_ctl_work);
	link->priv = ctl;
	WRITE_ONCE(link->peer->link, link);
	return 0;
}

/**
 * dd_ctl_detach() - wait until the connections of a removed peer are ended
 * @link: the link of the peer, whose session has ended
 */
void dd_ctl_detach(struct dd_udp_peer *link)
{
	flush_work(&dd_ctl_of(link->peer)->work);
}

/**
 * dd_ctl_release() - free what dd_ctl_attach() allocated
 * @link: the link of the peer
 *
 * The work may still be queued.
 */
void dd_ctl_release(struct dd_udp_peer *link)
{
	struct dd_ctl *ctl = link->priv;

	cancel_work_sync(&ctl->work);
	WARN_ON_ONCE(!list_empty(&ctl->open) || !list_empty(&ctl->lost) ||
		     !list_empty(&ctl->closing) || !list_empty(&ctl->inbox) ||
		     !list_empty(&ctl->parked) || ctl->unsent);
	rhashtable_destroy(&ctl->chans);
	kfree(ctl);
}
