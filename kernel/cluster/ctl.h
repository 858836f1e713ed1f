/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control stream between two nodes: look-ups by (class, key), grants and closes of channels.
 * It does not know what the keys mean: each class implements its own look-ups.
 */
#ifndef _DD_CTL_H
#define _DD_CTL_H

#include <linux/list.h>
#include <linux/rhashtable.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "cluster/peer.h"
#include "core/channel.h"
#include "core/names.h"
#include "transport/transport.h"
#include "udp/session.h"
#include "udp/tx.h"

struct dd_peer;
struct dd_remote;

#define DD_CTL_BODY		64	/* largest body of a class */
#define DD_CTL_INBOX		256	/* queries of the peer that may wait */
/*
 * Limit of local queries without an answer. The peer can queue or refuse this many. It would
 * drop one more, and the caller would get no answer until the session ends.
 */
#define DD_CTL_WAITING		DD_CTL_INBOX

/**
 * enum dd_ctl_status - result of a look-up
 * @DD_CTL_OK: granted
 * @DD_CTL_NONE: no such key, or the node is down
 * @DD_CTL_FULL: the key exists, but no more channels can be granted
 * @DD_CTL_NOMEM: the answering node is out of memory
 * @DD_CTL_BUSY: the answering node has too many queries in its inbox
 * @DD_CTL_BAD: malformed query
 * @DD_CTL_DENIED: the key exists, but this user has no permission
 * @DD_CTL_PARKED: no such key yet. A WAKE follows when it is added, unless a CLOSE with the
 *	channel of this answer ends the wait
 */
enum dd_ctl_status {
	DD_CTL_OK = 0,
	DD_CTL_NONE = 1,
	DD_CTL_FULL = 2,
	DD_CTL_NOMEM = 3,
	DD_CTL_BUSY = 4,
	DD_CTL_BAD = 5,
	DD_CTL_DENIED = 6,
	DD_CTL_PARKED = 7,
};

/**
 * struct dd_ctl_refusal - a queued negative answer
 * @req: number of the query
 * @status: enum dd_ctl_status
 */
struct dd_ctl_refusal {
	u32 req;
	u32 status;
};

/* Start of each control message. */
struct dd_ctl_head {
	u8 kind;
	u8 class;	/* of a query; number of channels in a CLOSE; else zero */
	__le16 len;	/* bytes in the body of a query or an answer */
	__le32 req;	/* number of the query; zero in a CLOSE */
} __packed;

/* A query. The class fills in @head.class, @head.len and what follows. */
struct dd_ctl_query {
	struct dd_ctl_head head;
	u8 key[DD_KEY_SIZE];
	__le64 chan;	/* channel that the asking node provides */
	u8 body[DD_CTL_BODY];
} __packed;

/* Its answer. The class fills in @head.len, @chan and @body. */
struct dd_ctl_answer {
	struct dd_ctl_head head;
	__le32 status;	/* enum dd_ctl_status */
	__le64 chan;	/* the granted channel */
	u8 body[DD_CTL_BODY];
} __packed;

#define DD_CTL_QUERY_SIZE	offsetof(struct dd_ctl_query, body)
#define DD_CTL_ANSWER_SIZE	offsetof(struct dd_ctl_answer, body)

/**
 * struct dd_ctl - control stream with a peer; protected by the peer's lock
 * @peer: the peer
 * @downs: number of sessions that have ended or were refused
 * @why: error for callers that waited for the last session
 * @chans: struct dd_remote by id
 * @waiting: struct dd_remote with a local query without an answer
 * @nwaiting: number of entries in @waiting
 * @crowded: a caller waits for space in the stream to send a query
 * @answered_at: jiffies of the last answer to the first of @waiting, or of the start of the session
 * @next_req: number of the next local query
 * @inbox: queries of the peer; the worker removes them
 * @ninbox: number of entries in @inbox
 * @answered: @answer did not fit into the stream; set by the worker
 * @answer: answer to the first query in @inbox; used only by the worker
 * @refusals: refusals that did not fit into the stream yet; a ring
 * @refusal: number of the first refusal
 * @nrefusals: number of refusals in the ring
 * @open: open struct dd_remote
 * @lost: struct dd_remote that the peer has ended
 * @closing: struct dd_remote ended here, until a CLOSE is sent
 * @parked: queries of the peer that wait for a name
 * @woken: the name of a query in @parked was added, and the WAKE was not sent yet
 * @waiters: wait queue for space in the stream, answers, and changes of the session
 * @work: answers queries and ends connections in @lost
 * @due: note that dd_remote_post() will post; valid while dd_udp_peer.note_due is set
 */
struct dd_ctl {
	struct dd_peer *peer;
	u64 downs;
	int why;
	struct rhashtable chans;
	struct list_head waiting;
	u32 nwaiting;
	bool crowded;
	unsigned long answered_at;
	u32 next_req;
	struct list_head inbox;
	u32 ninbox;
	bool answered;
	struct dd_ctl_answer answer;
	struct dd_ctl_refusal refusals[DD_CTL_INBOX];
	u32 refusal;
	u32 nrefusals;
	struct list_head open;
	struct list_head lost;
	struct list_head closing;
	struct list_head parked;
	bool woken;
	wait_queue_head_t waiters;
	struct work_struct work;
	struct dd_due due;
};

/**
 * struct dd_ctl_wait - state of a local query, part of struct dd_remote
 * @entry: in dd_ctl.waiting
 * @req: number of the query
 * @err: error if there will be no answer
 * @over: the query is complete
 * @woken: the peer has reported, after the query was sent, that the name was added
 * @answer: memory for the answer; NULL once the caller has stopped waiting
 */
struct dd_ctl_wait {
	struct list_head entry;
	u32 req;
	int err;
	bool over;
	bool woken;
	struct dd_ctl_answer *answer;
};

/*
 * Look-up function of a class: answers a query of a peer, and may sleep. The caller has zeroed
 * @answer. Returns 0, the errno of a refusal, -EBADMSG for a malformed query, or the result of
 * dd_ctl_park(). Must fail if session number @session, to which the channel belongs, has ended.
 */
typedef int dd_ctl_lookup_fn(struct dd_peer *peer, u64 session,
			     const struct dd_ctl_query *query, struct dd_ctl_answer *answer);

static inline struct dd_udp_peer *dd_ctl_link(const struct dd_peer *peer)
{
	return READ_ONCE(peer->link);
}

static inline struct dd_tp *dd_ctl_tp(const struct dd_peer *peer)
{
	return &dd_ctl_link(peer)->tp;
}

static inline struct dd_ctl *dd_ctl_of(const struct dd_peer *peer)
{
	return dd_ctl_link(peer)->priv;
}

/* Lock the peer's session. dd_ctl_unlock() transmits what is due. */
static inline void dd_ctl_lock(const struct dd_peer *peer)
{
	dd_udp_lock(dd_ctl_link(peer));
}

static inline void dd_ctl_unlock(const struct dd_peer *peer)
{
	dd_udp_unlock(dd_ctl_link(peer));
}

/*
 * Unlock without transmitting, for a caller that holds the lock of an import. The caller has
 * disabled bottom halves twice, so that no softirq runs before the import is unlocked. The
 * caller transmits afterwards, unless a softirq has done so.
 */
static inline void dd_ctl_unlock_quiet(const struct dd_peer *peer)
{
	lockdep_assert(in_serving_softirq() ||
		       softirq_count() > SOFTIRQ_DISABLE_OFFSET);
	spin_unlock_bh(&dd_ctl_link(peer)->lock);
}

int dd_ctl_error(u32 status);
void dd_ctl_register(enum dd_class class, dd_ctl_lookup_fn *lookup);
bool dd_ctl_settled(struct dd_peer *peer, u64 downs, int *err);
u64 dd_ctl_start(struct dd_peer *peer);
int dd_ctl_session(struct dd_peer *peer, u64 *session, ktime_t expires);
bool dd_ctl_ask(struct dd_peer *peer, u64 session, struct dd_ctl_query *query,
		struct dd_remote *r, int *err);
void dd_ctl_offer(struct dd_ctl *ctl);
bool dd_ctl_drop_query(struct dd_peer *peer, struct dd_remote *r);
bool dd_ctl_woken(struct dd_peer *peer, u64 session, const struct dd_remote *r, int *err);
int dd_ctl_park(struct dd_peer *peer, u64 session, const struct dd_ctl_query *query,
		struct dd_ctl_answer *answer, kuid_t uid);
int dd_ctl_lookup(struct dd_peer *peer, u64 session, struct dd_ctl_query *query,
		  struct dd_remote *r, struct dd_ctl_answer *answer, ktime_t expires);
void dd_ctl_close(struct dd_peer *peer, struct dd_remote *r);
void dd_ctl_lose(struct dd_peer *peer, struct dd_remote *r);

/* Callbacks of struct dd_net_upper and struct dd_tp_ops. */
int dd_ctl_attach(struct dd_udp_peer *link);
void dd_ctl_detach(struct dd_udp_peer *link);
void dd_ctl_release(struct dd_udp_peer *link);
void dd_ctl_progress(struct dd_udp_peer *link);
void dd_ctl_receive(struct dd_tp *tp, const void *data, u32 len);
void dd_ctl_up(struct dd_tp *tp);
void dd_ctl_down(struct dd_tp *tp, enum dd_tp_reason reason);

#endif /* _DD_CTL_H */
