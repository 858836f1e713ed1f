/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects of dd.ko. Who knows whom, in which order locks are taken and what
 * ends what: Documentation/locking.rst.
 */
#ifndef _DD_H
#define _DD_H

#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <uapi/linux/dd.h>

#include "bounds.h"
#include "compat/compat.h"
#include "credit.h"
#include "ctx.h"
#include "linger.h"

struct dd_conn;
struct dd_direct_rx;
struct dd_op;
struct dd_remote_call;
struct dd_ring;
struct dd_rings;
struct dd_segment;

/* ---- charge.c, see also ctx.h ----------------------------------------- */

int dd_credit_make(struct dd_ctx *ctx, struct dd_credit *c, u32 window);
void dd_credit_drop(struct dd_ctx *ctx, struct dd_credit *c);

/* ---- notelist.c: memory that tells ------------------------------------ */

/*
 * Withheld notes that one kick posts at most: the reader does the work of its
 * senders there, and has its own to do.
 */
#define DD_KICK_MAX	64

/**
 * struct dd_list - a note list
 * @obj: its id
 * @head: its first unit, in the area
 * @unit: number of that unit
 * @geometry: where its slots are; changed under @lock while they move, when
 *	no sender has a position whose note is not posted
 * @tail: positions handed out, and %DD_LIST_MOVING while the slots move
 * @lock: protects @users, @reserved, @linger; taken after dd_service.lock
 * @users: services and connections attached; the list goes with the last
 * @reserved: slots promised to them
 * @linger: slots of channels that have gone, whose notes may still be unread
 * @published: its id is in the table, which is a user of @obj
 * @gone: set before sleepers are woken for the last time
 * @hup: it is of one connection of a service with DD_SERVE_CLOSE, whose client has gone
 * @wait: readers asleep
 * @pend_lock: protects @pending and the flags in @head; innermost. Taken with
 *	interrupts disabled: a segment of this node is locked with softirqs enabled,
 *	and they would run when spin_unlock_bh() enables them again
 * @pending: segments with a withheld note, by the position they wait for
 * @rings: direct rings, or NULL; set, and changed, under @lock
 * @rcu: see struct dd_obj
 */
struct dd_list {
	struct dd_obj obj;
	struct dd_list_head *head;
	u32 unit;
	u64 geometry;
	atomic64_t tail;
	struct mutex lock;	/* of who is attached */
	u32 users;
	u32 reserved;
	struct dd_linger linger;
	bool published;
	bool gone;
	bool hup;
	wait_queue_head_t wait;
	spinlock_t pend_lock;	/* of @pending */
	struct rb_root_cached pending;
	struct dd_rings *rings;
	struct rcu_head rcu;
};

/**
 * struct dd_rec - what a note says, wherever it is
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
 * The part of struct dd_note behind its number, without the reserve at the
 * end, so that a note can be made in its slot.
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
/* In dd_list.tail: what is handed out now is no position. */
#define DD_LIST_MOVING	BIT_ULL(63)

/* Positions handed out; while the slots move perhaps some too many. */
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
 * The word is the reader's to write: a value that cannot be is as if nothing
 * had been consumed, which stops those who write to this reader, and nothing
 * else.
 */
static inline u64 dd_list_head_pos(const struct dd_list *list)
{
	/* Pairs with the reader's release: it has done with what it consumed. */
	u64 head = smp_load_acquire(&list->head->head);

	return head <= dd_list_tail(list) ? head : 0;
}

/**
 * dd_list_claim() - take the next position of a list
 * @list: the list
 * @pos: (out) the position
 *
 * The caller has a credit and holds a spinlock until dd_list_commit(): moving
 * the ring waits for that.
 *
 * Return: the slot, whose note the caller fills in; or NULL if the ring is
 * being moved, and nothing can be posted.
 */
static inline struct dd_note *dd_list_claim(struct dd_list *list, u64 *pos)
{
	*pos = atomic64_fetch_inc(&list->tail);
	if (unlikely(*pos & DD_LIST_MOVING))
		return NULL;
	/* Not changed before the note at this position is posted. */
	return dd_area_unit(&list->obj.ctx->area,
			    dd_slot_unit(READ_ONCE(list->geometry), *pos));
}

static inline struct dd_rec *dd_note_rec(struct dd_note *note)
{
	return (struct dd_rec *)&note->conn;
}

void dd_list_commit(struct dd_list *list, struct dd_note *note, u64 pos);
bool dd_list_post(struct dd_list *list, const struct dd_rec *rec, u64 *pos);
void dd_list_wake_all(struct dd_list *list);

/**
 * dd_list_wake() - wake readers
 * @list: the list; after dd_list_post(), outside of spinlocks where possible
 */
static inline void dd_list_wake(struct dd_list *list)
{
	const struct dd_ctx *ctx = list->obj.ctx;

	/* One barrier for both queues: the note before, the sleepers after. */
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

/* ---- segment.c: memory that others reach ------------------------------ */

/**
 * enum dd_policy - whether an operation on a segment tells its owner
 * @DD_POLICY_CONDITIONAL: if the request says so
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
 * struct dd_segment - a window [offset, offset + length) of a region that
 *	others may reach
 * @lock: serialises deposits, notes and revocation; held for at most
 *	DD_COPY_CHUNK bytes at a time. Whoever has set @dead under it knows
 *	that no byte and no note arrives any more
 * @dead: revoked
 * @cut: about to be revoked, which whoever sends to it can see
 * @inhibit: refuses writes
 * @withheld: a message is in place whose note, @rec, waits for a slot
 * @policy: enum dd_policy
 * @generation: of the segment, never reused within a context
 * @mem: the window; its region is counted by the owner of the segment until it
 *	is dead
 * @received: messages
 * @list: where notes go; counted by the owner of the segment
 * @credit: slots of this channel in @list; the note that says it was revoked
 *	takes the one beside
 * @rec: the withheld note
 * @pend: in dd_list.pending, while @withheld
 */
struct dd_segment {
	spinlock_t lock;	/* of deposits, notes and revocation */
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
 * struct dd_grant - one importer's permission on a segment
 * @id: random; names the grant on the wire
 * @seg: what it permits to reach
 * @generation: must be the segment's
 * @node: who may use it
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
 * dd_grant_check() - whether a grant permits something now
 * @grant: the grant; its segment is locked
 * @right: DD_RIGHT_*
 *
 * Return: 0; %-ECONNRESET if the segment is revoked; %-EACCES if the right
 * was never granted, or the owner inhibits it.
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
 * dd_segment_wants() - whether a message is to be told
 * @seg: the segment, locked
 * @asked: whether the request wants that
 *
 * The one place where the notify policy is looked at.
 */
static inline bool dd_segment_wants(const struct dd_segment *seg, bool asked)
{
	return seg->list && seg->policy != DD_POLICY_NEVER &&
	       (asked || seg->policy == DD_POLICY_ALWAYS);
}

/**
 * dd_segment_note() - make the note of a message that is in place
 * @seg: the segment, locked, not dead, with nothing withheld, and it wants to
 *	be told
 * @fill: makes the note
 * @arg: for @fill
 * @pos: (out) its position
 *
 * The one place where credits are taken.
 *
 * Return: the note, to be shown by dd_list_commit() before the segment is
 * unlocked; or NULL if it must wait for the reader.
 */
static __always_inline struct dd_note *
dd_segment_note(struct dd_segment *seg,
		void (*fill)(struct dd_rec *rec, const void *arg),
		const void *arg, u64 *pos)
{
	struct dd_note *note;

	if (unlikely(!dd_credit_ok(seg->credit, dd_list_head_pos(seg->list))) &&
	    !dd_credit_ok(seg->credit, READ_ONCE(seg->credit->seen)))
		return NULL;
	note = dd_list_claim(seg->list, pos);
	if (likely(note)) {
		fill(dd_note_rec(note), arg);
		dd_credit_take(seg->credit, *pos);
	}
	return note;
}

/**
 * dd_segment_tell() - a message is in place: tell the owner, or withhold it
 * @seg: as for dd_segment_note()
 * @fill: makes the note
 * @arg: for @fill
 *
 * Return: true if the note is posted; false if it waits for the reader.
 */
static __always_inline bool
dd_segment_tell(struct dd_segment *seg,
		void (*fill)(struct dd_rec *rec, const void *arg),
		const void *arg)
{
	struct dd_note *note;
	u64 pos;

	note = dd_segment_note(seg, fill, arg, &pos);
	if (likely(note)) {
		dd_list_commit(seg->list, note, pos);
		return true;
	}
	fill(&seg->rec, arg);
	return dd_segment_withhold(seg);
}

void dd_segment_revoke(struct dd_segment *seg, const struct dd_rec *rec);

/* ---- conn.c: connections, and their imports --------------------------- */

/**
 * struct dd_import - this end's way to the peer's segment, whose lock protects
 *	it, and when that is dead nothing here is touched any more
 * @busy: a submitter is at work without the lock, since it may sleep; others
 *	are refused
 * @direct: this end posts its notes itself
 * @peer_window: unconsumed messages allowed there
 * @unit: number of the first unit of @cell
 * @cell: counters and queue in the area
 * @link: how bytes travel
 * @grant: what the peer permits
 * @peer_size: bytes in the peer's segment
 * @submitted: accepted requests
 * @sent: requests whose source may be reused
 * @done: requests whose note is in place
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
 * struct dd_conn - one end of a connection: an import of the peer's block and
 *	a segment for the own one
 * @obj: its id
 * @type: enum dd_conn_type
 * @server: this is the serving end; the connecting one is a struct dd_client
 * @released: its block was given back; under dd_service.lock. Of a connecting
 *	end whose peer is on another node: it is over
 * @nodirect: neither end sends directly
 * @direct_any: the other end may, whosever it is
 * @shown: its block was mapped in the other end; under dd_list.lock
 * @mixed: its block may hold messages of an earlier client, another context's
 * @counted: it sent directly until the connection was over: @meta in its cell says
 *	how many messages
 * @remote_ops: struct dd_remote_op that @obj.ctx is charged for
 * @mem: held by @obj.users as one, and by the other end; memory only
 * @block: number of its block at the service, for the serving end
 * @peer: the other end; NULL if it is on another node, see dd_remote_of()
 * @seg: own block; its owner is this end
 * @grant: what the peer holds on @seg
 * @imp: way to the peer's block
 * @send: own send block
 * @rcu: see struct dd_obj; who finds a connection that is over does not look
 *	at @send
 * @svc: the service, counted, at the serving end
 * @cookie: in each note
 * @uid: of the process that has this end, when it connected or served
 * @direct_rx: the path by which the other end sends to it directly, or NULL; set
 *	under the locks of list and segment
 * @closing: close has begun; the first one does it
 * @closed: errno that ended it; set before the peer's segment is dead
 * @refused: messages of a serving end that were refused since the connection is
 *	over; under the lock of the segment they were for
 * @owed: messages, beside those in dd_segment.received, that a serving end has to
 *	reply to before its block goes to another user
 * @arrived: position after the last note that it had posted directly when that
 *	ended, its lower half; valid once the peer's segment is dead
 *
 * Idle connections are what there may be many of: its size counts.
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
 * struct dd_client - a connecting end, and what it has that a serving end has
 *	from its service
 * @conn: the end
 * @send: use of @conn.send, where requests are composed
 * @recv: use of @conn.seg.mem, where replies are deposited
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
void dd_conn_told(struct dd_conn *conn);
void dd_conn_flush(struct dd_conn *conn);
struct dd_conn *dd_conn_alloc(struct dd_ctx *ctx, u8 type, bool server);
void dd_conn_pair(struct dd_conn *a, struct dd_conn *b);

static inline struct dd_conn *dd_conn_of_seg(struct dd_segment *seg)
{
	return container_of(seg, struct dd_conn, seg);
}

/* ---- service.c: names that can be connected to ------------------------ */

/**
 * struct dd_who - a client, as its service distinguishes it from others
 * @uid: its effective user id, or what its node says that is
 * @node: its node; users of two nodes are two
 * @ctx: number of its context on this node; 0 if it is on another one
 */
struct dd_who {
	kuid_t uid;
	u32 node;
	u64 ctx;
};

/**
 * struct dd_block - a possible connection of a service
 * @conn: the end that has it now, or had it last; NULL if none has
 * @ready: its slots are reserved, as it has had a connection that needed them
 * @credit: slots in the service's list, of a connection without its own credit, if
 *	it is ready
 * @conn_note: position after the last note of this block, in the service's list,
 *	that @credit does not know of: of a connection, or of its own credit
 * @ring: what the notes of the last connection came by, if that is over
 * @ring_end: then, position after the last of them
 * @who: the client that has it now, or had it last
 * @bytes: dd_who.ctx of the one client whose messages may be in its memory, %~0 if
 *	there are several, 0 if none
 * @free: in dd_service.free, if it may be given away
 */
struct dd_block {
	struct dd_conn *conn;
	bool ready;
	struct dd_credit credit;
	u64 conn_note;
	struct dd_ring *ring;
	u64 ring_end;
	struct dd_who who;
	u64 bytes;
	struct list_head free;
};

/**
 * struct dd_service - a name, memory and a list
 * @obj: its id
 * @name: padded with zeros
 * @entry: in dd_node.services
 * @lock: protects all below; taken after dd_ctx.lock of whichever context
 * @dead: no longer connectable
 * @flags: DD_SERVE_*
 * @uid: of the server, when it registered
 * @only_uid: with DD_SERVE_UID, the user that may connect
 * @only_gid: with DD_SERVE_GID, the group
 * @peruser: blocks that one user may have, 0 for no limit
 * @maxconn: number of blocks
 * @window: unconsumed messages a client may have here
 * @stream_window: the same for a client of type DD_CONN_STREAM; if it is not
 *	@window, such a connection has a credit and slots of its own
 * @recv: memory for requests
 * @send: memory for replies
 * @recv_use: use of @recv
 * @send_use: use of @send
 * @recv_block: bytes of @recv for each block
 * @send_block: bytes of @send for each block
 * @list: where notes go
 * @attached: to @list
 * @slots: reserved there, for blocks that are ready
 * @cells_unit: first unit of the cells
 * @cell_units: units of a cell
 * @blocks: @maxconn of them
 * @free: blocks that may be given away, longest free first
 * @nconn: connections now
 * @past: messages and connections of connections that have ended
 * @rcu: see struct dd_obj
 */
struct dd_service {
	struct dd_obj obj;
	u8 name[DD_NAME_MAX + 1];
	struct rhash_head entry;
	struct mutex lock;	/* of blocks and their connections */
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

/* ---- nic.c: work requests; link_*.c: how bytes travel ----------------- */

/**
 * struct dd_op - a validated work request
 * @sqe: the kernel's copy of it
 * @raw: the same, as it was read
 * @region: source region, or NULL
 * @counted: whether this request counts @region, and not its connection
 * @src: offset in @region
 * @user: source address, if @region is NULL
 * @word: the last word of the message, once that is in place
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
 * struct dd_link_ops - how bytes travel to a peer
 * @name: for reports
 * @put: carry out a PUT, with the import locked; 0 once it is accepted, or
 *	%-EINPROGRESS if that needs to sleep. Where there is @push, and a PUT is
 *	accepted, it leaves a lock held, and bottom halves disabled
 * @put_slow: carry out a PUT that needs to sleep, with dd_import.busy set
 * @push: after such a @put, the import being unlocked: see what was put on its
 *	way, and release that lock; NULL if it is there
 * @leave: instead of @push, the import still being locked, where more is to come:
 *	release that lock only. Returns whether a connection that was left before,
 *	if there is one, is to the same peer; else @flush is due for this one, too
 * @flush: see what has been put on its way to the peer of a connection that was
 *	left
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

/* ---- chardev.c, netlink.c, main.c ------------------------------------- */

int dd_chardev_init(void);
void dd_chardev_exit(void);

extern struct workqueue_struct *dd_wq;

#endif /* _DD_H */
