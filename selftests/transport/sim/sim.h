/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Simulator of the transport: nodes, a network between them, and virtual time.
 * One seed determines everything that happens.
 *
 *	world.c		time, random numbers, failures
 *	packet.c	headers and an audit, which the fuzzer shares
 *	net.c		packets in flight, their impairments, captures
 *	end.c		one end of a session, and its invariants
 *	chan.c		one end of a connection: checks every byte
 *	kernel.c	what kernel/cluster needs of the rest of the kernel
 *	mem.c		exporters and importers, over kernel/cluster
 *	tcp.c		a TCP flow for comparison
 *	scenario.c	scenarios
 *	fields.c	scenarios with invalid packets and invalid calls
 */
#ifndef _DD_SIM_H
#define _DD_SIM_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "packet.h"
#include "udp/udp.h"

#define US	1000ull
#define MS	1000000ull
#define SEC	1000000000ull

#define SIM_MERGE	64	/* most datagrams received at once */

/* ---- world.c ------------------------------------------------------------ */

/**
 * struct sim - the simulation
 * @now: virtual time, ns; does not begin at 0
 * @seed: seed of all random numbers
 * @name: name of the scenario
 * @verbose: print events
 * @done: called after each event; true ends the run
 * @until: time limit of the run
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
 * struct network - the network
 * @delay: one way, ns
 * @jitter: maximum additional delay that keeps the order, ns
 * @reorder: probability of an additional delay of up to @reorder_ns
 * @reorder_ns: maximum additional delay of a reordered packet
 * @loss: probability of loss
 * @ack_loss: additional probability of loss for packets without payload
 * @dup: probability of a duplicate, up to @dup_ns later
 * @dup_ns: maximum delay of a duplicate
 * @corrupt: probability of flipped bits
 * @truncate: probability of truncation
 * @forge: probability that a forged packet is added
 * @rate: bits per second into a node, 0 for unlimited
 * @queue: bytes of the queue in front of that link
 * @mtu: largest datagram that is forwarded, 0 for unlimited
 * @cut: whether all packets from @src to @dst are dropped now
 * @late: payloads are read from their source at arrival
 * @merge: packets that arrive from one node within this time, ns, are received at
 *	once at its end; 0 receives them one by one
 */
struct network {
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

extern struct network net;
extern u64 net_packets, net_dropped;

/**
 * struct datagram - a received datagram
 * @p: bytes
 * @len: number of bytes
 */
struct datagram {
	const u8 *p;
	size_t len;
};

struct end;
struct packet;
void net_send(struct end *from, const struct dd_tp_pkt *pkt);
void net_inject(int src, int dst, const void *bytes, u32 len);
/* Enqueue bytes for @dst: the time when they leave the queue, 0 if dropped. */
u64 net_queue(int dst, u32 bytes);
void net_pcap(const char *path);
void net_reset(int nodes);

/* ---- end.c -------------------------------------------------------------- */

struct conn;

/**
 * struct payload - received bytes, as passed through the transport
 * @p: payload of one packet
 * @len: bytes at @p
 * @hdr: header of that packet
 * @at: next packet of a batch
 * @n: packets left in the batch
 */
struct payload {
	const u8 *p;
	u32 len;
	const struct dd_wire_hdr *hdr;
	struct datagram *at;
	u32 n;
};

/**
 * struct end - one end of a session
 * @tp: the transport under test
 * @link: the same, for kernel/cluster
 * @node: number of its node, from 0
 * @peer: number of the other node, from 0
 * @alive: the node is running
 * @wanted: open the session again when it is down
 * @arena: memory of @tp, followed by a canary
 * @arena_size: bytes without the canary
 * @timer_at: expiry of the current timer
 * @timer_gen: generation of the current timer; others are ignored
 * @chans: open channels
 * @ctlq: control messages that wait for space
 * @nctlq: number of these
 * @ctl_tx: number of the next control message to send
 * @ctl_rx: number of the next control message expected
 * @ups: number of sessions that came up
 * @downs: number of sessions or attempts that ended
 * @reason: reason of the last end
 * @down_at: time of the last end
 * @steps: events since the last audit
 * @runs: number of batches of several packets
 * @waits: look-ups of kernel/cluster that wait at the peer
 * @nmerged: number of datagrams in @merged
 * @merged: datagrams to be received at once
 */
struct end {
	union {
		struct dd_tp tp;
		struct dd_udp_peer link;
	};
	int node;
	int peer;
	bool alive;
	bool wanted;
	u8 *arena;
	size_t arena_size;
	u64 timer_at;
	u64 timer_gen;
	struct list_head chans;
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
	u32 waits;
	u32 nmerged;
	struct packet *merged[SIM_MERGE];
};

struct ctl_msg {
	u16 len;
	u8 data[DD_WIRE_CTL_MAX];
};

/**
 * struct node_cfg - configuration of all nodes
 * @records: see struct dd_tp_cfg
 * @ctl_slots: see struct dd_tp_cfg
 * @mtu: MTU of both ends
 * @dead: dead time, ns
 * @crc: checksum payloads
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
/* Sessions are used by kernel/cluster, not by the connections of chan.c. */
extern bool mem_used;

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
const u8 *payload_next(struct payload *pl, struct dd_tp_rx_batch *batch);

/* ---- kernel.c, mem.c ---------------------------------------------------------- */

struct dd_tp_ops;
const struct dd_tp_ops *mem_attach(struct end *e);
void mem_died(int node);
const u8 *mem_source(struct end *e, const struct dd_tp_pkt *pkt);

/* ---- chan.c ------------------------------------------------------------- */

/**
 * struct plan - traffic of a connection
 * @min_len: minimum bytes of a message
 * @max_len: maximum bytes of a message
 * @window: window of both ends
 * @ahead: maximum number of messages in flight; 0: limited by the window only
 * @goal: messages from the client to complete; 0: unlimited
 * @back: messages from the server to complete
 * @reply: the server answers each message, and the client waits for the answer
 * @prompt: see struct dd_tp_chan_cfg
 * @await: the caller waits until each message is done
 * @stuck: the server never reads its notes
 * @taken: unread notes of an earlier client in the server's list
 * @unsaid: neither end is informed of @taken
 * @read_ns: average time until a note is read
 * @again: probability that a deposit has to be repeated
 * @idle_ns: average time between DONE and the next message; 0 for none
 * @gap_ns: minimum time between two messages
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
 * @c: the channel under test
 * @conn: the connection
 * @end: the session
 * @node: in the list of the session's channels
 * @key: key from which the contents of messages are computed
 * @server: this is the serving end
 * @open: not closed; a callback for a closed channel is a failure
 * @goal: messages to send
 * @goal_done: messages of the goal that are done
 * @slots: sources, one for each message in flight
 * @ops: ops of the messages in flight
 * @block: destination of the peer's messages
 * @block_size: bytes of @block
 * @seen: for each byte of the message in progress, whether it was stored
 * @unread: notes in the list
 * @read: notes read so far
 * @withheld: message whose note is withheld; 0 for none
 * @reading: a read is scheduled
 * @bytes: bytes received in messages
 * @resumes: a timer will send the next message
 * @next_at: earliest time of the next message
 */
struct chan {
	struct dd_tp_chan c;
	struct conn *conn;
	struct end *end;
	struct list_head node;
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
 * struct conn - a connection, which is made again after failures
 * @id: number
 * @a: client's node
 * @b: server's node
 * @plan: its traffic
 * @ca: client's end, or NULL
 * @cb: server's end, or NULL
 * @life: number of this attempt
 * @done: messages done by either end, over all attempts
 * @lost: messages reported as not done
 * @bytes: bytes received, over all attempts
 * @asked: a connect request is in flight
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

/* ---- scenario.c ---------------------------------------------------------- */

void world(int nodes, u64 delay);
void start_all(void);
void start_conns(u32 n, bool both, const struct plan *plan);
void finish(u64 duration);
/* Packets dropped for @reason, of the first two nodes. */
u64 drops(enum dd_tp_drop reason);
/* Fail unless the condition that the scenario tests has occurred. */
void need(bool what, const char *text);

/* ---- scenarios ---------------------------------------------------------- */

/**
 * struct scenario - a test
 * @name: name for the command line
 * @what: description
 * @run: runs it; sim_fail() reports a failure
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
void confirming(void);
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
void mem_get(void);
void mem_cas(void);
void mem_revoke(void);
void mem_park(void);
void mem_many(void);

#endif /* _DD_SIM_H */
