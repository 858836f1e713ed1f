/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects of dd.ko. Documentation/locking.rst describes references between them, the
 * lock order, and how they end.
 */
#ifndef _DD_H
#define _DD_H

#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/tracepoint-defs.h>
#include <linux/wait.h>
#include <uapi/linux/dd.h>

#include "bounds.h"
#include "compat/compat.h"
#include "credit.h"
#include "ctx.h"
#include "deferred.h"

struct dd_conn;
struct dd_direct_rx;
struct dd_op;
struct dd_remote_call;
struct dd_ring;
struct dd_rings;
struct dd_segment;

/* charge.c, see also ctx.h */

int dd_credit_make(struct dd_ctx *ctx, struct dd_credit *c, u32 window);
void dd_credit_drop(struct dd_ctx *ctx, struct dd_credit *c);

/* notelist.c: note lists */

/*
 * Withheld notes posted by one kick. The reader does this work for its senders, so it
 * is bounded.
 */
#define DD_KICK_MAX	64

/**
 * struct dd_list - a note list
 * @obj: its id
 * @head: first unit in the area
 * @unit: number of that unit
 * @geometry: location of the slots; changed under @lock while they are moved, when no
 *	position is handed out whose note is not posted
 * @tail: number of positions handed out, and %DD_LIST_MOVING while the slots are moved
 * @lock: protects @users, @reserved and @deferred; taken after dd_service.lock
 * @users: services and connections attached; the list ends with the last one
 * @reserved: slots reserved by them
 * @deferred: slots of detached channels whose notes may be unread
 * @published: the id is in the table, which holds a reference
 * @gone: set before sleepers are woken for the last time
 * @hup: belongs to a single connection of a service with DD_SERVE_CLOSE, whose client
 *	is gone
 * @wait: sleeping readers
 * @pend_lock: protects @pending and the flags in @head; innermost. Taken with
 *	interrupts disabled: segments of this node are locked with softirqs enabled, and
 *	spin_unlock_bh() would run pending softirqs with the segment locked
 * @pending: segments with a withheld note, by the position they wait for
 * @rings: direct rings, or NULL; set and changed under @lock
 * @rcu: see struct dd_obj
 */
struct dd_list {
	struct dd_obj obj;
	struct dd_list_head *head;
	u32 unit;
	u64 geometry;
	atomic64_t tail;
	struct mutex lock;	/* protects users and reservations */
	u32 users;
	u32 reserved;
	struct dd_deferred_slots deferred;
	bool published;
	bool gone;
	bool hup;
	wait_queue_head_t wait;
	spinlock_t pend_lock;	/* protects pending */
	struct rb_root_cached pending;
	struct dd_rings *rings;
	struct rcu_head rcu;
};

/**
 * struct dd_rec - contents of a note
 * @conn: as in struct dd_note
 * @cookie: as in struct dd_note
 * @offset: as in struct dd_note
 * @len: as in struct dd_note
 * @word: as in struct dd_note
 * @msgid: as in struct dd_note
 * @tag: as in struct dd_note
 * @type: as in struct dd_note
 * @meta_count: as in struct dd_note
 * @__reserved: as in struct dd_note
 * @meta: as in struct dd_note
 *
 * Equal to struct dd_note without its sequence number and the reserved bytes at its end,
 * so that a note can be written directly to its slot.
 */
struct dd_rec {
	u64 conn;
	u64 cookie;
	u64 offset;
	u64 len;
	u64 word;
	u32 msgid;
	u32 tag;
	u8 type;
	u8 meta_count;
	u8 __reserved[6];
	u32 meta[DD_META_WORDS];
};

#define DD_REC_SAME(member)						\
	static_assert(offsetof(struct dd_note, member) ==		\
		      offsetof(struct dd_rec, member) + sizeof(u64))
DD_REC_SAME(conn);
DD_REC_SAME(type);
DD_REC_SAME(meta_count);
DD_REC_SAME(cookie);
DD_REC_SAME(offset);
DD_REC_SAME(len);
DD_REC_SAME(word);
DD_REC_SAME(msgid);
DD_REC_SAME(tag);
DD_REC_SAME(meta);

struct dd_list *dd_list_create(struct dd_ctx *ctx, u32 slots, u32 room);
struct dd_list *dd_list_attach(struct dd_ctx *ctx, u32 id, bool must,
			       u32 slots, u32 room);
int dd_list_reserve(struct dd_list *list, u32 slots, u32 users);
void dd_list_unreserve(struct dd_list *list, u32 slots);
void dd_list_publish(struct dd_list *list);
void dd_list_detach(struct dd_list *list, u32 slots, u64 last);
bool dd_list_pend(struct dd_list *list, struct dd_segment *seg);
void dd_list_unpend(struct dd_list *list, struct dd_segment *seg);
void dd_list_put(struct dd_list *list);
/* Flag in dd_list.tail: positions handed out now are not valid. */
#define DD_LIST_MOVING	BIT_ULL(63)

/* Positions handed out; may be too high while the slots are moved. */
static inline u64 dd_list_tail(const struct dd_list *list)
{
	return atomic64_read(&list->tail) & ~DD_LIST_MOVING;
}

static inline bool dd_list_moving(const struct dd_list *list)
{
	return atomic64_read(&list->tail) & DD_LIST_MOVING;
}

/**
 * dd_list_head_pos() - the reader's position
 * @list: the list
 *
 * The reader can write any value. An invalid one counts as 0, as if nothing had been
 * read, which stops only the senders to this reader.
 */
static inline u64 dd_list_head_pos(const struct dd_list *list)
{
	/* Pairs with the reader's release: it does not read the consumed slots any more. */
	u64 head = smp_load_acquire(&list->head->head);

	return head <= dd_list_tail(list) ? head : 0;
}

/**
 * dd_list_claim() - take the next position of a list
 * @list: the list
 * @pos: (out) the position
 *
 * The caller has a credit. Until dd_list_commit() it holds a spinlock, for which moving
 * the slots waits, or dd_list.lock.
 *
 * Return: the slot, to be filled in by the caller; or NULL if the slots are being moved,
 * and nothing can be posted.
 */
static inline struct dd_note *dd_list_claim(struct dd_list *list, u64 *pos)
{
	*pos = atomic64_fetch_inc(&list->tail);
	if (unlikely(*pos & DD_LIST_MOVING))
		return NULL;
	/* Does not change before the note at this position is posted. */
	return dd_area_unit(&list->obj.ctx->area,
			    dd_slot_unit(READ_ONCE(list->geometry), *pos));
}

static inline struct dd_rec *dd_note_rec(struct dd_note *note)
{
	return (struct dd_rec *)&note->conn;
}

void dd_list_trace(const struct dd_list *list, const struct dd_note *note,
		   u64 pos);

DECLARE_TRACEPOINT(dd_note);

/* Post a note: make it visible to the reader. */
static inline void dd_list_commit(struct dd_list *list, struct dd_note *note,
				  u64 pos)
{
	/* Release: a reader that sees the number sees the note and the message. */
	smp_store_release(&note->seq, pos + 1);
	dd_stat_inc(list->obj.ctx->node, DD_STAT_NOTES);
	if (tracepoint_enabled(dd_note))
		dd_list_trace(list, note, pos);
}

bool dd_list_post(struct dd_list *list, const struct dd_rec *rec, u64 *pos);
void dd_list_wake_all(struct dd_list *list);

/**
 * dd_list_wake() - wake readers
 * @list: the list; called after dd_list_post(), outside of spinlocks where possible
 */
static inline void dd_list_wake(struct dd_list *list)
{
	const struct dd_ctx *ctx = list->obj.ctx;

	/* Orders the note before the checks of both queues; pairs with prepare_to_wait(). */
	smp_mb();
	/* Ordered by the barrier above. */
	if (unlikely(waitqueue_active(&list->wait)) ||
	    /* As above. */
	    unlikely(waitqueue_active((wait_queue_head_t *)&ctx->wait)) ||
	    unlikely(READ_ONCE(ctx->fasync)))
		dd_list_wake_all(list);
}

bool dd_list_ready(const struct dd_list *list);
void dd_list_kick(struct dd_list *list);
int dd_list_wait(struct dd_ctx *ctx, struct dd_list_wait *arg);
int dd_list_fd(struct dd_ctx *ctx, u32 id);
int dd_list_info(struct dd_ctx *ctx, struct dd_list_info *arg);

/* segment.c: memory that others write to */

/**
 * enum dd_policy - whether an operation on a segment notifies its owner
 * @DD_POLICY_CONDITIONAL: if the request asks for it
 * @DD_POLICY_ALWAYS: always
 * @DD_POLICY_NEVER: never
 */
enum dd_policy {
	DD_POLICY_CONDITIONAL,
	DD_POLICY_ALWAYS,
	DD_POLICY_NEVER,
};

#define DD_RIGHT_PUT	0x1

/**
 * struct dd_segment - a window [offset, offset + length) of a region that others may
 *	write to
 * @lock: serialises deposits, notes and revocation; held for at most DD_COPY_CHUNK
 *	bytes at a time. After @dead is set under it, no byte and no note arrives
 * @dead: revoked
 * @cut: about to be revoked; the dead word of its sender is set
 * @inhibit: refuses writes
 * @withheld: a message is in place whose note, @rec, waits for a slot
 * @policy: enum dd_policy
 * @generation: compared with that of grants; never reused within a context
 * @mem: the window; the owner of the segment counts its region until it is dead
 * @received: messages received
 * @list: list for notes; counted by the owner of the segment
 * @credit: slots of this channel in @list; the close note uses the additional slot
 * @rec: the withheld note
 * @pend: in dd_list.pending, while @withheld
 */
struct dd_segment {
	spinlock_t lock;	/* protects deposits, notes and revocation */
	bool dead;
	bool cut;
	bool inhibit;
	bool withheld;
	u8 policy;
	u32 generation;
	struct dd_bytes mem;
	u64 received;
	struct dd_list *list;
	struct dd_credit *credit;
	struct dd_rec rec;
	struct rb_node pend;
};

/**
 * struct dd_grant - permission of one importer to use a segment
 * @id: random id, which names the grant on the wire
 * @seg: the segment
 * @generation: valid if equal to that of the segment
 * @node: node of the importer
 * @rights: DD_RIGHT_*
 */
struct dd_grant {
	u64 id;
	struct dd_segment *seg;
	u32 generation;
	u16 node;
	u8 rights;
};

void dd_segment_init(struct dd_segment *seg);
void dd_grant_init(struct dd_grant *grant, struct dd_segment *seg, u16 node,
		   u8 rights);

/**
 * dd_grant_check() - check a grant
 * @grant: the grant; its segment is locked
 * @right: DD_RIGHT_*
 *
 * Return: 0; %-ECONNRESET if the segment is revoked; %-EACCES if the right is not
 * granted, or the owner inhibits it.
 */
static inline int dd_grant_check(const struct dd_grant *grant, u32 right)
{
	const struct dd_segment *seg = grant->seg;

	lockdep_assert_held(&seg->lock);
	if (unlikely(seg->dead || grant->generation != seg->generation))
		return -ECONNRESET;
	if (unlikely(!(grant->rights & right) ||
		     (seg->inhibit && (right & DD_RIGHT_PUT))))
		return -EACCES;
	return 0;
}

u64 dd_segment_write(struct dd_segment *seg, u64 off, const void *src,
		     size_t len, bool last);
size_t dd_segment_write_user(struct dd_segment *seg, u64 off,
			     const void __user *src, size_t len, bool last,
			     u64 *word);
bool dd_segment_retry(struct dd_segment *seg);
bool dd_segment_withhold(struct dd_segment *seg);

/**
 * dd_segment_wants() - whether a message notifies the owner
 * @seg: the segment, locked
 * @asked: the request asks for a notification
 *
 * The only place that evaluates the notify policy.
 */
static inline bool dd_segment_wants(const struct dd_segment *seg, bool asked)
{
	return seg->list && seg->policy != DD_POLICY_NEVER &&
	       (asked || seg->policy == DD_POLICY_ALWAYS);
}

/**
 * dd_segment_note() - write the note of a message that is in place
 * @seg: the segment, locked, not dead, without a withheld note; dd_segment_wants() is
 *	true
 * @fill: fills in the note
 * @arg: argument of @fill
 * @pos: (out) position of the note
 *
 * The only place that takes credits.
 *
 * Return: the note, to be posted by dd_list_commit() before the segment is unlocked; or
 * NULL if there is no free slot.
 */
static __always_inline struct dd_note *
dd_segment_note(struct dd_segment *seg,
		void (*fill)(struct dd_rec *rec, const void *arg),
		const void *arg, u64 *pos)
{
	struct dd_credit *credit = seg->credit;
	struct dd_list *list = seg->list;
	struct dd_note *note;

	if (unlikely(!dd_credit_ok(credit, dd_list_head_pos(list))) &&
	    !dd_credit_ok(credit, READ_ONCE(credit->seen)))
		return NULL;
	note = dd_list_claim(list, pos);
	if (likely(note)) {
		fill(dd_note_rec(note), arg);
		dd_credit_take(credit, *pos);
	}
	return note;
}

/**
 * dd_segment_tell() - post the note of a message that is in place, or withhold it
 * @seg: see dd_segment_note()
 * @fill: fills in the note
 * @arg: argument of @fill
 *
 * Return: true if the note is posted; false if it is withheld.
 */
static __always_inline bool
dd_segment_tell(struct dd_segment *seg,
		void (*fill)(struct dd_rec *rec, const void *arg),
		const void *arg)
{
	struct dd_list *list = seg->list;
	struct dd_note *note;
	u64 pos;

	note = dd_segment_note(seg, fill, arg, &pos);
	if (likely(note)) {
		dd_list_commit(list, note, pos);
		return true;
	}
	fill(&seg->rec, arg);
	return dd_segment_withhold(seg);
}

void dd_segment_revoke(struct dd_segment *seg, const struct dd_rec *rec);

/* conn.c: connections and their imports */

/**
 * struct dd_import - access of this end to the segment of the other end; protected by
 *	that segment's lock, and unused once that segment is dead
 * @busy: a submitter works without the lock, as it may sleep; others are refused
 * @direct: this end writes its notes to a direct ring
 * @peer_window: unread messages allowed at the other end
 * @unit: number of the first unit of @cell
 * @cell: counters and send queue, in the area
 * @link: link to the other end
 * @grant: permission granted by the other end
 * @peer_size: bytes in the segment of the other end
 * @submitted: requests accepted
 * @sent: requests whose source may be reused
 * @done: requests whose note is posted
 */
struct dd_import {
	bool busy;
	bool direct;
	u16 peer_window;
	u32 unit;
	struct dd_cell *cell;
	const struct dd_link_ops *link;
	const struct dd_grant *grant;
	u64 peer_size;
	u64 submitted;
	u64 sent;
	u64 done;
};

/**
 * struct dd_conn - one end of a connection: an import of the block of the other end, and
 *	a segment for its own block
 * @obj: its id
 * @type: enum dd_conn_type
 * @server: this is the serving end; a connecting end is a struct dd_client
 * @released: the block was given back; under dd_service.lock. At a connecting end whose
 *	other end is on another node: the connection has ended
 * @nodirect: neither end may send directly
 * @direct_any: the other end may send directly, even if it belongs to another user
 * @shown: the other end's process has mapped the block; under dd_list.lock
 * @mixed: the block may hold messages of an earlier client in another context
 * @counted: sent directly until the connection ended: @meta in its cell has the number
 *	of messages
 * @remote_ops: number of struct dd_remote_op charged to @obj.ctx
 * @mem: held by the other end and, once, by all of @obj.users; memory only
 * @block: at the serving end, number of its block
 * @peer: the other end; NULL if it is on another node, see dd_remote_of()
 * @seg: segment of its own block
 * @grant: permission of the other end on @seg
 * @imp: import of the other end's block
 * @send: its send block
 * @rcu: see struct dd_obj; shares memory with @send, which is not read after the end
 * @svc: at the serving end, the service, counted
 * @cookie: copied to each note
 * @uid: user of the process that connected or served
 * @direct_rx: direct path from the other end, or NULL; set under the locks of list and
 *	segment
 * @closing: a close has begun; it is done by the context that sets this
 * @closed: errno that ended it; set before the segment of the other end is dead
 * @refused: at a serving end, messages refused since the connection ended; under the
 *	lock of the segment they were sent to
 * @owed: at a serving end, messages in addition to dd_segment.received that have to be
 *	replied to before its block may be given to another user
 * @arrived: lower half of the position after the last note that this end had posted
 *	directly at the end; valid once the segment of the other end is dead
 *
 * There may be many idle connections, so its size matters.
 */
struct dd_conn {
	struct dd_obj obj;
	u8 type;
	bool server;
	bool released;
	bool nodirect;
	bool direct_any;
	bool shown;
	bool mixed;
	bool counted;
	u16 remote_ops;
	refcount_t mem;
	u32 block;
	struct dd_conn *peer;
	struct dd_segment seg;
	struct dd_grant grant;
	struct dd_import imp;
	union {
		struct dd_bytes send;
		struct rcu_head rcu;
	};
	struct dd_service *svc;
	u64 cookie;
	struct dd_direct_rx *direct_rx;
	kuid_t uid;
	int closing;
	int closed;
	u32 arrived;
	u32 refused;
	u64 owed;
};

/**
 * struct dd_client - a connecting end, with resources that a serving end gets from its
 *	service
 * @conn: the end
 * @send: slice of @conn.send, the memory of requests
 * @recv: slice of @conn.seg.mem, the memory of replies
 * @credit: slots in its list
 */
struct dd_client {
	struct dd_conn conn;
	struct dd_slice send;
	struct dd_slice recv;
	struct dd_credit credit;
};

static inline struct dd_client *dd_client_of(struct dd_conn *conn)
{
	return container_of(conn, struct dd_client, conn);
}

int dd_conn_init(void);
void dd_conn_exit(void);
int dd_conn_connect(struct dd_ctx *ctx, struct dd_connect *arg);
int dd_conn_close(struct dd_ctx *ctx, u64 serial);
void dd_conn_end(struct dd_conn *conn);
void dd_conn_sever(struct dd_conn *conn);
void dd_conn_lost(struct dd_conn *conn);
int dd_conn_drain(struct dd_conn *conn, u64 timeout);
void dd_conn_open_cell(struct dd_conn *conn, u32 node);
void dd_conn_put(struct dd_conn *conn);
struct dd_list *dd_conn_hold_list(struct dd_conn *conn);
int dd_conn_info(struct dd_ctx *ctx, struct dd_conn_info *arg);
void dd_conn_describe(struct dd_conn *conn, struct dd_conn_info *info);
int dd_conn_wait(struct dd_ctx *ctx, const struct dd_conn_wait *arg);
void dd_conn_notified(struct dd_conn *conn);
void dd_conn_flush(struct dd_conn *conn);
struct dd_conn *dd_conn_alloc(struct dd_ctx *ctx, u8 type, bool server);
void dd_conn_pair(struct dd_conn *a, struct dd_conn *b);

static inline struct dd_conn *dd_conn_of_seg(struct dd_segment *seg)
{
	return container_of(seg, struct dd_conn, seg);
}

/* service.c: services */

/**
 * struct dd_client_id - identity of a client
 * @uid: effective user, as reported by its node
 * @node: number of its node; equal users of two nodes are different
 * @ctx: serial of its context plus 1, on this node; 0 on another node
 */
struct dd_client_id {
	kuid_t uid;
	u32 node;
	u64 ctx;
};

/**
 * struct dd_block - a block of a service
 * @conn: current or last serving end; NULL if there is none
 * @ready: slots are reserved, because it has had a connection that needed them
 * @credit: if @ready, slots in the service's list, used by a connection without its own
 *	credit
 * @conn_note: position in the service's list after the last note that @credit does not
 *	cover: a connection note, or a note of a connection with its own credit
 * @ring: direct ring of the last connection, if that has ended
 * @ring_end: position after its last note in @ring
 * @client: identity of the current or last client
 * @bytes: dd_client_id.ctx of the only client whose messages may be in its memory, %~0
 *	if there are several, 0 if there are none
 * @free: in dd_service.free, if it may be given away
 */
struct dd_block {
	struct dd_conn *conn;
	bool ready;
	struct dd_credit credit;
	u64 conn_note;
	struct dd_ring *ring;
	u64 ring_end;
	struct dd_client_id client;
	u64 bytes;
	struct list_head free;
};

/**
 * struct dd_service - a service
 * @obj: its id
 * @name: padded with zeros
 * @entry: in dd_node.services
 * @lock: protects the members below; taken after dd_ctx.lock of any context
 * @dead: accepts no connections any more
 * @flags: DD_SERVE_*
 * @uid: user of the server, when it registered
 * @only_uid: with DD_SERVE_UID, the user that may connect
 * @only_gid: with DD_SERVE_GID, the group that may connect
 * @peruser: blocks that one user may have, 0 for no limit
 * @maxconn: number of blocks
 * @window: unread messages allowed to a client
 * @stream_window: the same for a client of type DD_CONN_STREAM; if it differs from
 *	@window, such a connection has its own credit and slots
 * @recv: memory for requests
 * @send: memory for replies
 * @recv_use: slice of @recv
 * @send_use: slice of @send
 * @recv_block: bytes of @recv for each block
 * @send_block: bytes of @send for each block
 * @list: list for notes
 * @attached: the service is attached to @list
 * @slots: slots reserved in @list for blocks that are ready
 * @cells_unit: first unit of the cells
 * @cell_units: units of a cell
 * @blocks: array of @maxconn blocks
 * @free: blocks that may be given away, in the order in which they became free
 * @nconn: current number of connections
 * @past: messages and connections of connections that have ended
 * @rcu: see struct dd_obj
 */
struct dd_service {
	struct dd_obj obj;
	u8 name[DD_NAME_MAX + 1];
	struct rhash_head entry;
	struct mutex lock;	/* protects blocks and their connections */
	bool dead;
	u32 flags;
	kuid_t uid;
	kuid_t only_uid;
	kgid_t only_gid;
	u32 peruser;
	u32 maxconn;
	u32 window;
	u32 stream_window;
	struct dd_bytes recv;
	struct dd_bytes send;
	struct dd_slice recv_use;
	struct dd_slice send_use;
	u64 recv_block;
	u64 send_block;
	struct dd_list *list;
	bool attached;
	u32 slots;
	u32 cells_unit;
	u32 cell_units;
	struct dd_block *blocks;
	struct list_head free;
	u32 nconn;
	struct {
		u64 received;
		u64 sent;
		u64 conns;
	} past;
	struct rcu_head rcu;
};

int dd_service_serve(struct dd_ctx *ctx, struct dd_serve *arg);
int dd_service_unserve(struct dd_ctx *ctx, u32 id);
void dd_service_end(struct dd_service *svc);
void dd_service_put(struct dd_service *svc);
int dd_service_conns(struct dd_ctx *ctx, struct dd_conn_list *arg);
void dd_service_blocks(const struct dd_conn *conn, struct dd_buf *send,
		       struct dd_buf *recv);
int dd_service_accept(struct dd_service *svc, u8 type, struct dd_conn *client,
		      struct dd_remote_call *call);
void dd_service_released(struct dd_conn *conn);
void dd_service_zeroed(struct dd_conn *conn);
void dd_service_forget(struct dd_conn *conn);

/* nic.c: work requests; link_*.c: links */

/**
 * struct dd_op - a validated work request
 * @sqe: copy of the request
 * @raw: the same, as words
 * @region: source region, or NULL
 * @counted: this request, not its connection, holds the reference to @region
 * @src: offset in @region
 * @user: source address, if @region is NULL
 * @word: last word of the message, after the deposit
 */
struct dd_op {
	union {
		struct dd_sqe sqe;
		u64 raw[sizeof(struct dd_sqe) / 8];
	};
	struct dd_region *region;
	bool counted;
	u64 src;
	const void __user *user;
	u64 word;
};

/**
 * struct dd_link_ops - operations of a link
 * @name: for reports
 * @put: execute a PUT with the import locked; 0 if it is accepted, or %-EINPROGRESS if
 *	that needs to sleep. With @push, an accepted PUT leaves a lock held and bottom
 *	halves disabled
 * @put_slow: execute a PUT that needs to sleep, with dd_import.busy set
 * @push: after @put and with the import unlocked: transmit, and release the lock; NULL
 *	if @put does everything
 * @leave: instead of @push, with the import still locked, if more requests follow: only
 *	release the lock. Returns whether @before is not NULL and goes to the same
 *	peer; otherwise the caller calls @flush for this connection later
 * @flush: transmit to the peer of a connection after @leave
 */
struct dd_link_ops {
	const char *name;
	int (*put)(struct dd_conn *conn, struct dd_op *op);
	int (*put_slow)(struct dd_conn *conn, struct dd_op *op);
	void (*push)(struct dd_conn *conn);
	bool (*leave)(struct dd_conn *conn, struct dd_conn *before);
	void (*flush)(struct dd_conn *conn);
};

extern const struct dd_link_ops dd_link_local;

long dd_nic_doorbell(struct dd_ctx *ctx, u64 serial);
int dd_nic_submit(struct dd_ctx *ctx, struct dd_submit *arg);

/* chardev.c, netlink.c, main.c */

int dd_chardev_init(void);
void dd_chardev_exit(void);

extern struct workqueue_struct *dd_wq;

#endif /* _DD_H */
