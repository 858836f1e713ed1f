// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control stream of a session, which delivers each message once and in order.
 *
 * A query names a channel of the asking node; the answer names a channel of the
 * answering node, or gives a reason. Either side ends a channel by a CLOSE message
 * that names it; the end of the session ends all channels.
 *
 * All queues are bounded: local queries by DD_CTL_WAITING, the peer's queries and
 * refusals by DD_CTL_INBOX, parked queries by DD_PARKED_MAX, and pending CLOSE
 * messages by the number of connections and of waits for a name.
 */
#include <linux/slab.h>

#include "cluster/ctl.h"
#include "cluster/ctl_msg.h"
#include "cluster/peer.h"
#include "cluster/remote.h"
#include "transport/ctl.h"
#include "udp/session.h"

/* Send CLOSE messages for dd_ctl.closing, as many as the stream accepts. */
static void dd_ctl_pump(struct dd_peer *peer)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);
	struct dd_tp *tp = dd_ctl_tp(peer);

	while (!list_empty(&ctl->closing) && dd_tp_ctl_space(tp)) {
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
		/* Cannot fail: dd_tp_ctl_space() was not 0. */
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

	WRITE_ONCE(ctl->answered_at, jiffies);
	wake_up_all(&ctl->waiters);
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
	dd_ctl_unpark_all(peer);
	list_splice_tail_init(&ctl->open, &ctl->lost);
	queue_work(dd_wq, &ctl->work);
	wake_up_all(&ctl->waiters);
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
	if (unlikely(ctl->answered || READ_ONCE(ctl->woken)) &&
	    dd_tp_ctl_space(dd_ctl_tp(peer)))
		queue_work(dd_wq, &ctl->work);
	/* @crowded is false while DD_CTL_WAITING queries are open: no caller could send one. */
	if (unlikely(ctl->crowded) && dd_tp_ctl_space(dd_ctl_tp(peer))) {
		ctl->crowded = false;
		dd_ctl_offer(ctl);
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
	init_waitqueue_head(&ctl->waiters);
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
		     !list_empty(&ctl->parked));
	rhashtable_destroy(&ctl->chans);
	kfree(ctl);
}
