/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A world in which the transport is tried: nodes, a network between them, and
 * virtual time. All that happens follows from one seed.
 *
 *	world.c		time, chance, failure
 *	net.c		packets on their way, what may befall them, captures
 *	end.c		one end of a session, and what it must never do
 *	chan.c		one end of a connection: every byte is looked at
 *	tcp.c		a flow of TCP to compare with
 *	scenario.c	what is tried
 *	fields.c	what else is tried: what peers and callers may get wrong
 */
#ifndef _DD_SIM_H
#define _DD_SIM_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "transport_int.h"

#define US	1000ull
#define MS	1000000ull
#define SEC	1000000000ull

#define SIM_MERGE	64	/* most datagrams that come at once */

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* ---- world.c ------------------------------------------------------------ */

/**
 * struct sim - the world
 * @now: virtual time, ns; does not begin at 0
 * @seed: all chance follows from it
 * @name: of the scenario
 * @verbose: print what happens
 * @done: asked after each event: whether it is over
 * @until: when it must be
 */
struct sim {
	u64 now;
	u64 seed;
	const char *name;
	bool verbose;
	bool (*done)(void);
	u64 until;
};

extern struct sim sim;

typedef void (*sim_fn)(void *arg, u64 gen);

u64 sim_mix(u64 x);
u64 sim_random(void);
u64 sim_below(u64 n);
bool sim_chance(double p);
void sim_at(u64 time, sim_fn fn, void *arg, u64 gen);
void sim_run(u64 duration, bool (*done)(void));
void sim_run_for(u64 duration);
void sim_fail(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), noreturn));
void sim_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void *sim_alloc(size_t n);

/* ---- net.c -------------------------------------------------------------- */

/**
 * struct net - what befalls packets
 * @delay: one way, ns
 * @jitter: up to so much more, without changing the order
 * @reorder: chance of being late by up to @reorder_ns, alone
 * @reorder_ns: see there
 * @loss: chance of being lost
 * @ack_loss: the same, for packets without payload
 * @dup: chance of coming twice, the second time up to @dup_ns later
 * @dup_ns: see there
 * @corrupt: chance of some bits being changed
 * @truncate: chance of being cut short
 * @forge: chance of being joined by a forged one
 * @rate: bits per second into a node, 0 for any
 * @queue: bytes that may wait for that
 * @mtu: largest datagram that gets through, 0 for any
 * @cut: whether nothing passes from @src to @dst now
 * @late: payloads are read from their source at arrival
 * @merge: what comes to a node from another within so much time comes at once,
 *	at its end, ns; 0 for one by one
 */
struct net {
	u64 delay;
	u64 jitter;
	double reorder;
	u64 reorder_ns;
	double loss;
	double ack_loss;
	double dup;
	u64 dup_ns;
	double corrupt;
	double truncate;
	double forge;
	u64 rate;
	u32 queue;
	u32 mtu;
	bool (*cut)(int src, int dst);
	bool late;
	u64 merge;
};

extern struct net net;
extern u64 net_packets, net_dropped;

/**
 * struct datagram - as it comes
 * @p: its bytes
 * @len: how many
 */
struct datagram {
	const u8 *p;
	size_t len;
};

struct end;
struct packet;
void net_send(struct end *from, const struct dd_tp_pkt *pkt);
void net_inject(int src, int dst, const void *bytes, u32 len);
/* Bytes through the queue in front of @dst: when they are out, 0 if dropped. */
u64 net_queue(int dst, u32 bytes);
void net_pcap(const char *path);
void net_reset(int nodes);

/* ---- end.c -------------------------------------------------------------- */

struct conn;

/**
 * struct end - a session as one node sees it
 * @tp: what is tried
 * @node: number, from 0
 * @peer: number, from 0
 * @alive: its node is there
 * @wanted: opened again when it is down
 * @arena: memory of @tp, and a canary behind it
 * @arena_size: without the canary
 * @timer_at: when the timer that counts will fire
 * @timer_gen: which one that is
 * @chans: by id
 * @nchans: how many
 * @chans_size: a power of two
 * @ctlq: control messages that did not fit
 * @nctlq: how many
 * @ctl_tx: number of the next control message
 * @ctl_rx: number of the next one expected
 * @ups: times it came up
 * @downs: times it went down
 * @reason: why, the last time
 * @down_at: when
 * @steps: events since the last audit
 * @runs: times that several packets were taken at once
 * @nmerged: datagrams that are to come at once
 * @merged: these
 */
struct end {
	struct dd_tp tp;
	int node;
	int peer;
	bool alive;
	bool wanted;
	u8 *arena;
	size_t arena_size;
	u64 timer_at;
	u64 timer_gen;
	struct chan **chans;
	u32 nchans;
	u32 chans_size;
	struct ctl_msg *ctlq;
	u32 nctlq;
	u32 ctl_tx;
	u32 ctl_rx;
	u32 ups;
	u32 downs;
	enum dd_tp_reason reason;
	u64 down_at;
	u32 steps;
	u32 runs;
	u32 nmerged;
	struct packet *merged[SIM_MERGE];
};

struct ctl_msg {
	u16 len;
	u8 data[DD_WIRE_CTL_MAX];
};

/**
 * struct node_cfg - how nodes are
 * @records: see struct dd_tp_cfg, as all that follows
 * @ctl_slots: and so on
 * @mtu: of both ends
 * @dead: the dead time
 * @crc: of payloads
 * @late: timers expire up to this much late, ns
 * @wrap: numbers of packets and control messages wrap in each session
 */
struct node_cfg {
	u32 records;
	u32 ctl_slots;
	u32 mtu;
	u64 dead;
	bool crc;
	u64 late;
	bool wrap;
};

extern struct node_cfg node_cfg;
extern int nnodes;

void nodes_init(int n);
struct end *end_get(int node, int peer);
void end_reinit(struct end *e, void (*change)(struct dd_tp_cfg *cfg));
void end_start(struct end *e);
void end_drain(struct end *e);
void end_audit(struct end *e);
void end_rx(int src, int dst, struct datagram *d, u32 n);
void end_ctl(struct end *e, u8 type, u64 a, u64 b, u32 pad);
void end_stop(struct end *e);
void node_reboot(int node);
void ends_each(void (*fn)(struct end *e));

/* ---- chan.c ------------------------------------------------------------- */

/**
 * struct plan - what a connection carries
 * @min_len: bytes in a message
 * @max_len: bytes in a message
 * @window: of both ends
 * @ahead: messages not done that a sender goes on with; 0: as many as it may
 * @goal: messages to be done from the client; 0: any number
 * @back: and from the server
 * @reply: the server answers each with one, and only then comes the next
 * @prompt: see struct dd_tp_chan_cfg
 * @await: the caller waits for each to be done
 * @stuck: the server never reads its notes
 * @taken: unread notes of an earlier client in the server's list
 * @unsaid: neither end knows of @taken
 * @read_ns: until a note is read, on average
 * @again: chance that a deposit is not possible now
 * @idle_ns: until a done message is followed, on average; 0 for at once
 * @gap_ns: between two messages, at least
 */
struct plan {
	u32 min_len;
	u32 max_len;
	u32 window;
	u32 ahead;
	u64 goal;
	u64 back;
	bool reply;
	bool prompt;
	bool await;
	bool stuck;
	u32 taken;
	bool unsaid;
	u64 read_ns;
	double again;
	u64 idle_ns;
	u64 gap_ns;
};

/**
 * struct chan - one end of a connection in one session
 * @c: what is tried
 * @conn: the connection
 * @end: the session
 * @key: contents of messages follow from it, and from their direction
 * @server: which end
 * @open: not closed: whatever is called for it otherwise is a failure
 * @goal: messages to send
 * @goal_done: of these, counted as done
 * @slots: sources, one for each message in flight
 * @ops: their ops
 * @block: where the peer's messages go
 * @block_size: its bytes
 * @seen: by byte of the message in progress
 * @unread: notes in the list
 * @read: notes read so far
 * @withheld: message whose note is not; 0 for none
 * @reading: a reader is on its way
 * @bytes: bytes received in messages
 * @resumes: a timer will send the next message
 * @next_at: when it may be sent
 */
struct chan {
	struct dd_tp_chan c;
	struct conn *conn;
	struct end *end;
	u64 key;
	bool server;
	bool open;
	u64 goal;
	u64 goal_done;
	u8 **slots;
	struct dd_tp_op *ops;
	u8 *block;
	u64 block_size;
	u8 *seen;
	u32 unread;
	u64 read;
	u64 withheld;
	bool reading;
	u64 bytes;
	bool resumes;
	u64 next_at;
};

/**
 * struct conn - a connection, and those that follow it after failures
 * @id: number
 * @a: client's node
 * @b: server's node
 * @plan: what it carries
 * @ca: client's end, or NULL
 * @cb: server's end, or NULL
 * @life: number of this attempt
 * @done: messages done, by either end, in all lives
 * @lost: messages reported as not done
 * @bytes: bytes received, in all lives
 * @asked: a request is on its way
 */
struct conn {
	u32 id;
	int a;
	int b;
	struct plan plan;
	struct chan *ca;
	struct chan *cb;
	u32 life;
	u64 done[2];
	u64 lost[2];
	u64 bytes[2];
	bool asked;
};

extern struct conn *conns;
extern u32 nconns;
extern u64 deposits;

struct conn *conn_add(int a, int b, const struct plan *plan);
void conns_init(u32 most);
bool conns_done(void);
void conn_up(struct end *e);
void conn_ctl(struct end *e, u8 type, u64 a, u64 b);
void conn_close(struct conn *conn);
void chan_close(struct chan *ch, bool drop);
void chan_resume(void *arg, u64 gen);
const u8 *chan_source(const struct dd_tp_chan *c, const struct dd_tp_op *op);
struct chan *chan_find(struct end *e, u64 id);

int chan_deposit(struct chan *ch, u64 dst, const u8 *p, u32 len);
void chan_deposit_batch(struct chan *ch, u64 dst, const u8 *p, u32 len);
bool chan_complete(struct chan *ch, const struct dd_tp_msg *msg,
		   const u8 *tail, u32 ntail);
u32 chan_credit(struct chan *ch);
void chan_sent(struct chan *ch, u64 msgid);
void chan_done(struct chan *ch, u64 msgid);

/* ---- tcp.c -------------------------------------------------------------- */

struct tcp;
struct tcp *tcp_start(int dst);
u64 tcp_bytes(const struct tcp *t);
void tcp_stop(struct tcp *t);

/* ---- scenario.c ---------------------------------------------------------- */

void world(int nodes, u64 delay);
void start_all(void);
void finish(u64 duration);
/* Packets dropped for @reason, of the first two nodes. */
u64 drops(enum dd_tp_drop reason);
/* What a scenario is about has happened. */
void need(bool what, const char *text);

/* ---- scenarios ---------------------------------------------------------- */

/**
 * struct scenario - something to try
 * @name: for the command line
 * @what: for people
 * @run: does it; fails by sim_fail()
 */
struct scenario {
	const char *name;
	const char *what;
	void (*run)(void);
};

extern const struct scenario scenarios[];

void trouble(void);
void ackloss(void);
void bursts(void);
void reuse(void);
void closing(void);
void mtu(void);
void blackhole(void);
void records(void);
void handshake(void);
void opening(void);
void flood(void);
void goodbye(void);
void rebooting(void);
void partition(void);
void idle(void);
void holding(void);
void config(void);
void fields(void);
void calls(void);
void scarce(void);
void incast(void);
void cluster(void);
void notelist(void);
void share(void);
void lossy(void);
void overdue(void);

#endif /* _DD_SIM_H */
