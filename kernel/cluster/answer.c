// SPDX-License-Identifier: GPL-2.0-only
/*
 * Look-ups of a peer: a worker passes each query to its class and sends the answer.
 *
 * A query may wait for a name that does not exist yet. Its answer is DD_CTL_PARKED with an id;
 * the peer may end the wait by a CLOSE with this id. When the name is added, this node sends a
 * WAKE with the channel of the query, and the peer sends the query again.
 */
#include <linux/nospec.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "cluster/ctl.h"
#include "cluster/ctl_msg.h"
#include "cluster/peer.h"
#include "cluster/remote.h"
#include "transport/ctl.h"

/* A query of the peer. */
struct dd_ctl_asked {
	struct list_head entry;
	u64 session;
	struct dd_ctl_query query;
};

/**
 * struct dd_ctl_parked - a query of the peer that waits for a name
 * @p: the look-up
 * @entry: in dd_ctl.parked
 * @ctl: the control stream, which outlives the session
 * @id: id in the answer; a CLOSE with this id ends the wait
 * @chan: channel of the peer, from the query
 * @woken: the name was added
 */
struct dd_ctl_parked {
	struct dd_parked p;
	struct list_head entry;
	struct dd_ctl *ctl;
	u64 id;
	__le64 chan;
	bool woken;
};

static dd_ctl_lookup_fn *dd_ctl_classes[DD_CLASSES];

/* Convert the result of a class to the status of the answer. */
static enum dd_ctl_status dd_ctl_status(int err)
{
	switch (err) {
	case 0:
		return DD_CTL_OK;
	case -EINPROGRESS:
		return DD_CTL_PARKED;
	case -EBADMSG:
		return DD_CTL_BAD;
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
void dd_ctl_register(enum dd_class class, dd_ctl_lookup_fn *lookup)
{
	dd_ctl_classes[class] = lookup;
}

static dd_ctl_lookup_fn *dd_ctl_class(u8 class)
{
	if (class >= DD_CLASSES)
		return NULL;
	return dd_ctl_classes[array_index_nospec(class, DD_CLASSES)];
}

/* Send queued refusals, as many as the control stream accepts. */
void dd_ctl_pump_refusals(struct dd_peer *peer)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);
	struct dd_tp *tp = dd_ctl_tp(peer);

	while (ctl->nrefusals && dd_tp_ctl_space(tp)) {
		const struct dd_ctl_refusal *refusal =
			&ctl->refusals[ctl->refusal++ % DD_CTL_INBOX];
		struct dd_ctl_answer msg = {
			.head.kind = DD_CTL_ANSWER,
			.head.req = cpu_to_le32(refusal->req),
			.status = cpu_to_le32(refusal->status),
		};

		ctl->nrefusals--;
		/* Cannot fail: dd_tp_ctl_space() was not 0. */
		WARN_ON_ONCE(dd_tp_ctl(tp, &msg, DD_CTL_ANSWER_SIZE));
	}
}

/*
 * Refuse a query: queue a refusal, without allocating memory, until the control stream accepts
 * it. Returns false if the peer has more open queries than it may have.
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

	lockdep_assert_held(&k->ctl->peer->node->park_lock);
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
 * @uid: user that asks
 *
 * Called by the look-up function of a class, which returns this result.
 *
 * Return: %-EINPROGRESS; or an error.
 */
int dd_ctl_park(struct dd_peer *peer, u64 session, const struct dd_ctl_query *query,
		struct dd_ctl_answer *answer, kuid_t uid)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);
	struct dd_ctl_parked *k;
	int err = -ENOTCONN;

	k = kzalloc(sizeof(*k), GFP_KERNEL);
	if (!k)
		return -ENOMEM;
	INIT_LIST_HEAD(&k->p.place.entry);
	k->p.place.uid = uid;
	k->p.place.from = peer->number + 1;
	k->p.class = query->head.class;
	memcpy(k->p.key, query->key, sizeof(k->p.key));
	k->p.wake = dd_ctl_parked_wake;
	k->ctl = ctl;
	k->chan = query->chan;
	do {
		k->id = get_random_u64();
	} while (!k->id);
	/* Once @k is on the list, the end of the session may free it. */
	answer->chan = cpu_to_le64(k->id);
	dd_ctl_lock(peer);
	if (ctl->downs == session)
		err = dd_name_park(peer->node, &k->p);
	if (!err)
		list_add_tail(&k->entry, &ctl->parked);
	dd_ctl_unlock(peer);
	if (!err)
		return -EINPROGRESS;
	answer->chan = 0;
	kfree(k);
	return err;
}

/* The peer is locked. */
static void dd_ctl_unpark(struct dd_peer *peer, struct dd_ctl_parked *k)
{
	dd_name_unpark(peer->node, &k->p);
	list_del(&k->entry);
	kfree(k);
}

/* The end of a session ends all waits; the peer is locked. */
void dd_ctl_unpark_all(struct dd_peer *peer)
{
	struct dd_ctl_parked *k, *next;

	list_for_each_entry_safe(k, next, &dd_ctl_of(peer)->parked, entry)
		dd_ctl_unpark(peer, k);
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
			.chan = k->chan,
		};

		if (!READ_ONCE(k->woken))
			continue;
		if (!dd_tp_ctl_space(tp)) {
			WRITE_ONCE(ctl->woken, true);
			return;
		}
		/* Cannot fail: dd_tp_ctl_space() was not 0. */
		WARN_ON_ONCE(dd_tp_ctl(tp, &msg, sizeof(msg)));
		dd_ctl_unpark(peer, k);
	}
}

/* End the wait of the parked query @id. Returns false if the peer has no such query. */
bool dd_ctl_parked_end(struct dd_peer *peer, u64 id)
{
	struct dd_ctl_parked *k;

	list_for_each_entry(k, &dd_ctl_of(peer)->parked, entry)
		if (k->id == id) {
			dd_ctl_unpark(peer, k);
			return true;
		}
	return false;
}

void dd_ctl_queried(struct dd_peer *peer, const struct dd_ctl_query *msg, u32 len)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);
	u32 req = le32_to_cpu(msg->head.req);
	struct dd_ctl_asked *asked;

	if (len < DD_CTL_QUERY_SIZE || len > sizeof(*msg) ||
	    le16_to_cpu(msg->head.len) != len - DD_CTL_QUERY_SIZE ||
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
	memcpy(&asked->query, msg, len);
	ctl->ninbox++;
	list_add_tail(&asked->entry, &ctl->inbox);
	queue_work(dd_wq, &ctl->work);
}

/* Send the answer to the first query. False if the control stream is full. */
static bool dd_ctl_reply(struct dd_peer *peer, struct dd_ctl_asked *asked)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);
	const struct dd_ctl_answer *answer = &ctl->answer;
	int err = -ENOTCONN;

	dd_ctl_lock(peer);
	if (ctl->downs == asked->session)
		err = dd_tp_ctl(dd_ctl_tp(peer), answer,
				DD_CTL_ANSWER_SIZE + le16_to_cpu(answer->head.len));
	ctl->answered = err == -EAGAIN;
	if (!ctl->answered) {
		list_del(&asked->entry);
		ctl->ninbox--;
		if (answer->status == cpu_to_le32(DD_CTL_BAD))
			dd_ctl_malformed(peer);
	}
	dd_ctl_unlock(peer);
	if (err == -EAGAIN)
		return false;
	kfree(asked);
	return true;
}

/*
 * Return the first query, or NULL. First end the connections that the peer has closed, so that
 * a client that closes and connects again finds its block free.
 */
static struct dd_ctl_asked *dd_ctl_next(struct dd_peer *peer)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);
	struct dd_ctl_asked *asked;

	dd_ctl_lock(peer);
	while (!list_empty(&ctl->lost)) {
		dd_ctl_unlock(peer);
		dd_remote_end_lost(peer);
		dd_ctl_lock(peer);
	}
	/* A WAKE must follow the answer that reports the query as parked. */
	if (!ctl->answered)
		dd_ctl_pump_parked(peer);
	asked = list_first_entry_or_null(&ctl->inbox, struct dd_ctl_asked, entry);
	dd_ctl_unlock(peer);
	return asked;
}

/*
 * Let the class of a query fill in the answer. If the session ends meanwhile, dd_ctl_reply() does
 * not send the answer, and a granted channel ends with the session.
 */
static void dd_ctl_answer(struct dd_peer *peer, const struct dd_ctl_asked *asked)
{
	dd_ctl_lookup_fn *lookup = dd_ctl_class(asked->query.head.class);
	struct dd_ctl_answer *answer = &dd_ctl_of(peer)->answer;
	int err;

	memset(answer, 0, sizeof(*answer));
	err = lookup(peer, asked->session, &asked->query, answer);
	answer->head.kind = DD_CTL_ANSWER;
	answer->head.req = asked->query.head.req;
	answer->status = cpu_to_le32(dd_ctl_status(err));
}

/*
 * The workqueue is shared, so the worker does not wait for space in the control stream:
 * dd_ctl_progress() queues the work again.
 */
void dd_ctl_work(struct work_struct *work)
{
	struct dd_ctl *ctl = container_of(work, struct dd_ctl, work);
	struct dd_ctl_asked *asked;

	while ((asked = dd_ctl_next(ctl->peer))) {
		if (!ctl->answered)
			dd_ctl_answer(ctl->peer, asked);
		if (!dd_ctl_reply(ctl->peer, asked))
			return;
		cond_resched();
	}
}
