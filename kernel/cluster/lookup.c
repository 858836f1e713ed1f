// SPDX-License-Identifier: GPL-2.0-only
/*
 * Look-ups of this node: a query to a peer and its answer, over the control stream.
 *
 * A query has the peer's dead time. If a caller stops waiting, its query stays on the list, and a
 * channel that is granted later is closed. A query that was answered with DD_CTL_PARKED is sent
 * again after a WAKE.
 */
#include "cluster/ctl.h"
#include "cluster/ctl_msg.h"
#include "cluster/peer.h"
#include "cluster/remote.h"
#include "transport/ctl.h"

/* Convert the status of a negative answer to an errno. */
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
	int __ret = wait_event_interruptible_hrtimeout((ctl)->waiters, cond, \
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

/*
 * Wake all threads and imports that wait for an answer. Of the imports that wait to send a
 * query, wake only as many as may send one. The peer is locked.
 */
void dd_ctl_offer(struct dd_ctl *ctl)
{
	u32 places = DD_CTL_WAITING - ctl->nwaiting;

	__wake_up(&ctl->waiters, TASK_NORMAL, 0, &places);
}

/* Send a query. Returns false if it has to wait for space; otherwise @err is 0 or the error. */
bool dd_ctl_ask(struct dd_peer *peer, u64 session, struct dd_ctl_query *query,
		struct dd_remote *r, int *err)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);

	query->head.kind = DD_CTL_QUERY;
	dd_ctl_lock(peer);
	r->wait.req = ++ctl->next_req;
	query->head.req = cpu_to_le32(r->wait.req);
	if (ctl->downs != session)
		*err = ctl->why;
	/* Queued CLOSE messages are sent first. */
	else if (ctl->nwaiting >= DD_CTL_WAITING || !list_empty(&ctl->closing))
		*err = -EAGAIN;
	else
		*err = dd_tp_ctl(dd_ctl_tp(peer), query,
				 DD_CTL_QUERY_SIZE + le16_to_cpu(query->head.len));
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
 * The caller stops waiting. A query without an answer stays on the list, which then holds a
 * reference to @r. Returns whether the query was complete.
 */
bool dd_ctl_drop_query(struct dd_peer *peer, struct dd_remote *r)
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
 * ended; %-EHOSTUNREACH if the peer has kept the session and not answered for its dead time;
 * %-ETIMEDOUT or %-EINTR. After the last three, a channel that is granted later is closed.
 */
int dd_ctl_lookup(struct dd_peer *peer, u64 session, struct dd_ctl_query *query,
		  struct dd_remote *r, struct dd_ctl_answer *answer, ktime_t expires)
{
	ktime_t limit = ktime_add_ms(ktime_get(), READ_ONCE(peer->config.dead_ms));
	int ret, late = expires <= limit ? -ETIMEDOUT : -EHOSTUNREACH, err = 0;
	struct dd_ctl *ctl = dd_ctl_of(peer);

	limit = min(limit, expires);
	r->wait.answer = answer;
	ret = dd_ctl_wait(ctl, dd_ctl_ask(peer, session, query, r, &err), limit);
	if (ret)
		return ret == -ETIMEDOUT ? late : ret;
	if (err)
		return err == -ENOTCONN ? -EHOSTUNREACH : err;
	ret = dd_ctl_wait(ctl, READ_ONCE(r->wait.over), limit);
	/* dd_ctl_drop_query() decides under the peer's lock: the answer may arrive just now. */
	if (dd_ctl_drop_query(peer, r))
		return r->wait.err;
	return ret == -ETIMEDOUT ? late : ret;
}

/**
 * dd_ctl_woken() - whether a query that was answered with %DD_CTL_PARKED may be sent again
 * @peer: the peer
 * @session: number of the session
 * @r: the connection being made
 * @err: (out) set if the session has ended
 *
 * Return: true if the query may be sent again or @err is set.
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

void dd_ctl_wake(struct dd_peer *peer, const struct dd_ctl_wake_msg *msg, u32 len)
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
	/* This node may have ended the wait before the WAKE arrived. */
	if (!r)
		return;
	WRITE_ONCE(r->wait.woken, true);
	dd_ctl_offer(ctl);
}

/* An abandoned query was answered: close the channel, or end the parked query. */
static void dd_ctl_give_up(struct dd_peer *peer, struct dd_remote *r,
			   const struct dd_ctl_answer *msg)
{
	u64 chan = le64_to_cpu(msg->chan);

	if ((msg->status && le32_to_cpu(msg->status) != DD_CTL_PARKED) || !chan) {
		;
	} else if (r->registered) {
		/* dd_remote_break() has not run yet; it will send the CLOSE. */
		dd_tp_chan_peer(dd_ctl_tp(peer), &r->chan, chan, 1, 0);
	} else {
		r->chan.cfg.peer_id = chan;
		dd_ctl_close(peer, r);
	}
	dd_remote_put(r);
}

void dd_ctl_answered(struct dd_peer *peer, const struct dd_ctl_answer *msg, u32 len)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);
	u32 req = le32_to_cpu(msg->head.req);
	struct dd_remote *r;

	if (len < DD_CTL_ANSWER_SIZE || len > sizeof(*msg)) {
		dd_ctl_malformed(peer);
		return;
	}
	list_for_each_entry(r, &ctl->waiting, wait.entry) {
		struct dd_ctl_answer *answer = r->wait.answer;

		if (r->wait.req != req)
			continue;
		/* Queries are answered in order; a peer that skips one makes no progress. */
		if (list_is_first(&r->wait.entry, &ctl->waiting))
			WRITE_ONCE(ctl->answered_at, jiffies);
		list_del(&r->wait.entry);
		ctl->nwaiting--;
		if (!answer) {
			dd_ctl_give_up(peer, r, msg);
			dd_ctl_offer(ctl);
			return;
		}
		memcpy(answer, msg, len);
		answer->head.len = cpu_to_le16(len - DD_CTL_ANSWER_SIZE);
		WRITE_ONCE(r->wait.over, true);
		dd_ctl_offer(ctl);
		return;
	}
	/* Abandoned queries are on the list too, so no query had this number. */
	dd_ctl_malformed(peer);
}
