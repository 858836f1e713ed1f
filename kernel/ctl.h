/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What two nodes agree upon: look-ups by (class, key), grants and their end.
 * Nothing of any interface is in here: a class answers look-ups in its own
 * way, and a channel is what was granted.
 */
#ifndef _DD_CTL_H
#define _DD_CTL_H

#include <linux/list.h>
#include <linux/rhashtable.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "link_udp.h"
#include "peer.h"
#include "transport.h"

struct dd_peer;
struct dd_remote;

#define DD_CTL_KEY		64	/* bytes in a key */
#define DD_CTL_BODY		64	/* bytes that a class adds, at most */
#define DD_CTL_INBOX		256	/* look-ups waiting to be answered */
/*
 * Look-ups waiting for an answer: no more than the peer has room for, in its
 * inbox or among its refusals, since one that it could not even refuse would
 * wait as long as the session.
 */
#define DD_CTL_WAITING		DD_CTL_INBOX

/**
 * enum dd_ctl_class - what a key means
 * @DD_CTL_SERVICE: name of a DDP service
 * @DD_CTL_CLASSES: number of classes, and one
 */
enum dd_ctl_class {
	DD_CTL_SERVICE = 1,
	DD_CTL_CLASSES
};

/**
 * enum dd_ctl_status - how a look-up ended
 * @DD_CTL_OK: granted
 * @DD_CTL_NONE: no such key, or the node is down
 * @DD_CTL_FULL: there is, but no more can be granted
 * @DD_CTL_NOMEM: the other node is out of memory
 * @DD_CTL_BUSY: the other node has too many look-ups to answer
 * @DD_CTL_BAD: the other node does not understand
 * @DD_CTL_DENIED: there is, but not for this user
 */
enum dd_ctl_status {
	DD_CTL_OK = 0,
	DD_CTL_NONE = 1,
	DD_CTL_FULL = 2,
	DD_CTL_NOMEM = 3,
	DD_CTL_BUSY = 4,
	DD_CTL_BAD = 5,
	DD_CTL_DENIED = 6,
};

/**
 * struct dd_ctl_refusal - an answer that needs no memory
 * @req: number of the look-up
 * @status: enum dd_ctl_status
 */
struct dd_ctl_refusal {
	u32 req;
	u32 status;
};

/**
 * struct dd_ctl_answer - what a look-up has brought
 * @status: enum dd_ctl_status
 * @chan: channel granted, as we name it to the peer
 * @len: bytes in @body
 * @body: what the class adds
 */
struct dd_ctl_answer {
	u32 status;
	u64 chan;
	u32 len;
	u8 body[DD_CTL_BODY];
};

struct dd_ctl_asked;

/**
 * struct dd_ctl - a peer's control stream; all of it under the peer's lock
 * @peer: whose
 * @downs: sessions that have ended, or that there could not be
 * @why: what that means to those who want one, an error
 * @chans: struct dd_remote by id
 * @waiting: look-ups of ours without an answer, by dd_remote.wait
 * @nwaiting: their number
 * @crowded: somebody waits to ask until there is room in the stream
 * @next_req: number of the next one
 * @inbox: look-ups of the peer's without an answer
 * @ninbox: their number
 * @unsent: a look-up whose answer had no room; or NULL
 * @answer: that answer; the worker's
 * @refusals: look-ups of the peer's that are refused, and for whose answers there
 *	was no room yet; a ring
 * @refusal: number of the first one
 * @nrefusals: their number
 * @open: struct dd_remote of connections that are open
 * @lost: those that the peer has ended
 * @closing: those that we have ended, and have not yet told the peer of
 * @room: for control messages to be sent, or an end of the session
 * @work: answers look-ups and ends lost connections
 * @told: segment whose note is made, and to be shown before the peer is unlocked;
 *	locked until then. NULL for none
 * @note: the note
 * @pos: its position
 */
struct dd_ctl {
	struct dd_peer *peer;
	u64 downs;
	int why;
	struct rhashtable chans;
	struct list_head waiting;
	u32 nwaiting;
	bool crowded;
	u32 next_req;
	struct list_head inbox;
	u32 ninbox;
	struct dd_ctl_asked *unsent;
	struct dd_ctl_answer answer;
	struct dd_ctl_refusal refusals[DD_CTL_INBOX];
	u32 refusal;
	u32 nrefusals;
	struct list_head open;
	struct list_head lost;
	struct list_head closing;
	wait_queue_head_t room;
	struct work_struct work;
	struct dd_segment *told;
	struct dd_note *note;
	u64 pos;
};

/**
 * struct dd_ctl_wait - a look-up of ours, part of struct dd_remote
 * @entry: in dd_ctl.waiting
 * @req: its number
 * @err: why there is no answer
 * @over: there is one, or there will be none
 * @answer: where it goes; NULL when nobody waits for it any more
 */
struct dd_ctl_wait {
	struct list_head entry;
	u32 req;
	int err;
	bool over;
	struct dd_ctl_answer *answer;
};

/**
 * struct dd_ctl_query - a look-up of a peer's
 * @class: enum dd_ctl_class
 * @key: padded with zeros
 * @chan: channel that the peer grants to whom it asks
 * @len: bytes in @body
 * @body: what the class adds
 */
struct dd_ctl_query {
	u8 class;
	u8 key[DD_CTL_KEY];
	u64 chan;
	u32 len;
	u8 body[DD_CTL_BODY];
};

/**
 * struct dd_ctl_class_ops - how a class answers
 * @lookup: answer a query of a peer's; may sleep; fills in everything but
 *	@answer->status if it returns %DD_CTL_OK. What is granted belongs to
 *	the session in which @session sessions have ended: if there is another
 *	one, or none, it must fail
 */
struct dd_ctl_class_ops {
	enum dd_ctl_status (*lookup)(struct dd_peer *peer, u64 session,
				     const struct dd_ctl_query *query,
				     struct dd_ctl_answer *answer);
};

static inline struct dd_udp_peer *dd_ctl_link(const struct dd_peer *peer)
{
	return dd_udp_of(peer);
}

static inline struct dd_tp *dd_ctl_tp(const struct dd_peer *peer)
{
	return &dd_udp_of(peer)->tp;
}

static inline struct dd_ctl *dd_ctl_of(const struct dd_peer *peer)
{
	return dd_udp_of(peer)->priv;
}

/* Of the peer's session; dd_ctl_unlock() transmits what is due. */
static inline void dd_ctl_lock(const struct dd_peer *peer)
{
	dd_udp_lock(dd_udp_of(peer));
}

static inline void dd_ctl_unlock(const struct dd_peer *peer)
{
	dd_udp_unlock(dd_udp_of(peer));
}

/*
 * For a caller that has an import locked; it, or a softirq, transmits later. It
 * has softirqs disabled twice: none may run before the import is unlocked.
 */
static inline void dd_ctl_unlock_quiet(const struct dd_peer *peer)
{
	lockdep_assert(in_serving_softirq() ||
		       softirq_count() > SOFTIRQ_DISABLE_OFFSET);
	spin_unlock_bh(&dd_udp_of(peer)->lock);
}

int dd_ctl_init(struct dd_ctl *ctl, struct dd_peer *peer);
void dd_ctl_stop(struct dd_ctl *ctl);
void dd_ctl_exit(struct dd_ctl *ctl);
int dd_ctl_session(struct dd_peer *peer, u64 *session, ktime_t expires);
int dd_ctl_lookup(struct dd_peer *peer, u64 session,
		  const struct dd_ctl_query *query, struct dd_remote *r,
		  struct dd_ctl_answer *answer, ktime_t expires);
void dd_ctl_close(struct dd_peer *peer, struct dd_remote *r);
void dd_ctl_lose(struct dd_peer *peer, struct dd_remote *r);

/* By the link, with the peer locked. */
void dd_ctl_receive(struct dd_peer *peer, const void *data, u32 len);
void dd_ctl_up(struct dd_peer *peer);
void dd_ctl_down(struct dd_peer *peer, int why);
void dd_ctl_progress(struct dd_peer *peer);

#endif /* _DD_CTL_H */
