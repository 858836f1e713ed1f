// SPDX-License-Identifier: GPL-2.0-only
/*
 * Imports and channels over a session with another node: how they begin and end. Messages
 * are in remote_op.c and remote_msg.c.
 *
 * Import and channel are valid while the session's channel is registered with the peer.
 * dd_remote_break() unregisters it under the peer's lock, before the owner releases them.
 * So callbacks of the link, which run under that lock, may use segment, state and list.
 *
 * Lock order: the proxy's lock, the peer's lock, the lock of the own channel.
 */
#include <linux/slab.h>

#include "cluster/ctl.h"
#include "cluster/peer.h"
#include "cluster/remote.h"
#include "core/access.h"
#include "core/charge.h"
#include "core/hooks.h"
#include "udp/session.h"

/* Separate lock classes: unlike the locks of local channels, these are taken in softirq. */
static struct lock_class_key dd_remote_proxy_key, dd_remote_chan_key;

/*
 * Serialises freeing the sources that dd_remote.op still holds after the end, which is rare and
 * short. A lock in each struct dd_remote would move the structure to a larger slab.
 */
static DEFINE_MUTEX(dd_remote_op_lock);

/**
 * dd_remote_alloc() - allocate the state of an access over a session
 * @peer: the other node
 * @link: link of its import
 *
 * Return: the state, with one reference, or NULL.
 */
struct dd_remote *dd_remote_alloc(struct dd_peer *peer, const struct dd_link_ops *link)
{
	struct dd_remote *r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);

	if (!r)
		return NULL;
	refcount_set(&r->ref, 1);
	refcount_inc(&peer->ref);
	r->peer = peer;
	INIT_LIST_HEAD(&r->entry);
	dd_channel_init(&r->proxy, NULL);
	lockdep_set_class(&r->proxy.lock, &dd_remote_proxy_key);
	r->proxy.link = link;
	r->proxy.rights = DD_RIGHT_PUT;
	return r;
}

static void dd_remote_free(struct rcu_head *rcu)
{
	struct dd_remote *r = container_of(rcu, struct dd_remote, rcu);

	kfree(r->op);
	kfree(r);
}

void dd_remote_put(struct dd_remote *r)
{
	if (!refcount_dec_and_test(&r->ref))
		return;
	/* dd_remote_break() was called before. */
	WARN_ON_ONCE(r->registered);
	dd_peer_put(r->peer);
	call_rcu(&r->rcu, dd_remote_free);
}

/**
 * dd_remote_register() - choose the channel's id and add it to the peer's table
 * @r: the state
 *
 * Return: 0; %-ENOSPC or %-ENOMEM.
 */
int dd_remote_register(struct dd_remote *r)
{
	struct dd_ctl *ctl = dd_ctl_of(r->peer);
	int err;

	do {
		/* 0 is reserved for "none". */
		do {
			r->id = get_random_u64();
		} while (!r->id);
		err = rhashtable_lookup_insert_fast(&ctl->chans, &r->id_node,
						    dd_remote_ids);
	} while (err == -EEXIST);
	if (err)
		return err == -E2BIG ? -ENOSPC : err;
	r->registered = true;
	return 0;
}

/* Remove the channel from the transport and the table; the peer is locked. */
static void dd_remote_unregister(struct dd_remote *r)
{
	if (!r->registered)
		return;
	r->registered = false;
	dd_tp_chan_drop(dd_ctl_tp(r->peer), &r->chan);
	rhashtable_remove_fast(&dd_ctl_of(r->peer)->chans, &r->id_node,
			       dd_remote_ids);
	if (!list_empty(&r->entry)) {
		list_del_init(&r->entry);
		/* Drop the reference of the list; the caller holds another one. */
		dd_remote_put(r);
	}
}

/**
 * dd_remote_join() - add the channel to a session
 * @r: the state, registered
 * @imp: the import, whose channel has no user yet; or NULL
 * @own: the channel of the other node to a segment of this one; or NULL
 * @cfg: its parameters; @cfg->id is set here, @cfg->peer_id is 0 if it is not known yet
 * @session: number of the session
 *
 * Nothing is sent or received before dd_remote_go().
 *
 * Return: 0; %-EHOSTUNREACH if the session has ended; %-ENOMEM.
 */
int dd_remote_join(struct dd_remote *r, struct dd_import *imp, struct dd_channel *own,
		   struct dd_tp_chan_cfg *cfg, u64 session)
{
	struct dd_ctl *ctl = dd_ctl_of(r->peer);
	int err = -ENOTCONN;

	cfg->id = r->id;
	dd_ctl_lock(r->peer);
	r->imp = imp;
	r->own = own;
	if (ctl->downs == session)
		err = dd_tp_chan_init(dd_ctl_tp(r->peer), &r->chan, cfg);
	if (!err) {
		r->chan.hold = true;
		refcount_inc(&r->ref);
		list_add_tail(&r->entry, &ctl->open);
	}
	dd_ctl_unlock(r->peer);
	return err == -ENOTCONN ? -EHOSTUNREACH : err;
}

/**
 * dd_remote_found() - set the other node's channel, which a look-up has returned
 * @r: the state, after dd_remote_join()
 * @peer_id: id of that channel
 * @window: unread notes allowed there
 * @taken: unread notes of an earlier importer, which count against @window
 * @generation: of the other segment; 0 for a connection
 *
 * If this or a later step fails, dd_remote_break() sends a CLOSE.
 *
 * Return: 0 or %-EHOSTUNREACH.
 */
int dd_remote_found(struct dd_remote *r, u64 peer_id, u32 window, u32 taken,
		    u64 generation)
{
	int err;

	dd_ctl_lock(r->peer);
	r->chan.cfg.generation = lower_32_bits(generation);
	err = dd_tp_chan_peer(dd_ctl_tp(r->peer), &r->chan, peer_id, window, taken);
	dd_ctl_unlock(r->peer);
	return err ? -EHOSTUNREACH : 0;
}

/**
 * dd_remote_ops_make() - allocate the messages that may be under way
 * @r: the state
 * @ctx: the context that is charged, for dd_remote_ops_size()
 * @window: messages that may be under way, less 1
 *
 * Return: 0; %-EDQUOT; %-ENOMEM.
 */
int dd_remote_ops_make(struct dd_remote *r, struct dd_ctx *ctx, u32 window)
{
	struct dd_remote_op *op = dd_zalloc(ctx, dd_remote_ops_size(window + 1));

	if (IS_ERR(op))
		return PTR_ERR(op);
	r->op = op;
	r->nops = window + 1;
	return 0;
}

/**
 * dd_remote_link() - let channel and import use the session
 * @r: the state, after dd_remote_join() with a channel that is open, but still marked dead
 */
void dd_remote_link(struct dd_remote *r)
{
	lockdep_set_class(&r->own->lock, &dd_remote_chan_key);
	r->own->link = &dd_link_remote;
	r->own->importer = r;
	/* Replace the id that dd_channel_open() has chosen. */
	r->own->id = r->id;
	if (r->imp)
		r->imp->chan = &r->proxy;
}

/**
 * dd_remote_go() - start sending and receiving, after the id was published
 * @r: the state
 *
 * The peer retransmits messages that it sent before. If it has already ended the
 * channel, the owner is notified now.
 */
void dd_remote_go(struct dd_remote *r)
{
	dd_ctl_lock(r->peer);
	/* Not registered: the owner has already closed it. */
	if (r->registered) {
		r->chan.hold = false;
		if (r->gone)
			dd_ctl_lose(r->peer, r);
	}
	dd_ctl_unlock(r->peer);
}

/**
 * dd_remote_break() - end the channel: neither end reaches the other any more
 * @r: the state
 * @error: errno to be stored in the connection state of the import; 0 for none
 * @tell: whether to send a CLOSE, because this end has closed
 */
void dd_remote_break(struct dd_remote *r, int error, bool tell)
{
	struct dd_peer *peer = r->peer;
	u32 i;

	spin_lock(&r->proxy.lock);
	if (!r->proxy.dead && error)
		WRITE_ONCE(r->imp->cs->error, error);
	r->proxy.dead = true;
	spin_unlock(&r->proxy.lock);

	dd_ctl_lock(peer);
	if (r->registered) {
		tell = tell && r->chan.up && r->chan.cfg.peer_id;
		dd_remote_unregister(r);
		if (tell)
			dd_ctl_close(peer, r);
	}
	dd_ctl_unlock(peer);
	/*
	 * The transport and new requests do not use the ops any more. Only a concurrent
	 * dd_remote_break() may use them: because of the lock, each of the two calls
	 * returns only after all sources were given up. The owner then calls dd_reap().
	 */
	mutex_lock(&dd_remote_op_lock);
	for (i = 0; i < r->nops; i++)
		dd_remote_op_end(&r->op[i]);
	mutex_unlock(&dd_remote_op_lock);
}

/* Get a reference to the owner of @r, if the owner still exists; the peer is locked. */
static bool dd_remote_get_owner(struct dd_remote *r)
{
	struct dd_access *a = container_of(r->own, struct dd_access, chan);

	return r->imp ? refcount_inc_not_zero(&r->imp->obj.users) : a->ops->get(a);
}

/* Notify the owner that its access is lost, and drop the reference of dd_remote_get_owner(). */
static void dd_remote_tell_owner(struct dd_remote *r)
{
	struct dd_access *a = container_of(r->own, struct dd_access, chan);

	if (r->imp) {
		r->imp->obj.ops->lost(&r->imp->obj);
		dd_obj_put(&r->imp->obj);
	} else {
		dd_access_revoke(a, 0);
		a->ops->put(a);
	}
}

/**
 * dd_remote_end_lost() - end the accesses whose channels the peer has ended or lost
 * @peer: the peer
 */
void dd_remote_end_lost(struct dd_peer *peer)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);
	struct dd_remote *r;

	do {
		bool owned = false;

		dd_ctl_lock(peer);
		r = list_first_entry_or_null(&ctl->lost, struct dd_remote,
					     entry);
		if (r) {
			list_del_init(&r->entry);
			/* Release: dd_remote_up() then reads @closed. */
			smp_store_release(&r->gone, true);
			/* Entries of the list are registered, so @imp or @own is valid. */
			owned = !r->chan.hold && dd_remote_get_owner(r);
		}
		dd_ctl_unlock(peer);
		if (owned)
			dd_remote_tell_owner(r);
		if (r)
			dd_remote_put(r);
		cond_resched();
	} while (r);
}
