/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Simulator of the transport: nodes, a network between them, and virtual time.
 * One seed determines everything that happens.
 *
 *	world.c		time, random numbers, failures
 *	packet.c	headers and an audit, which the fuzzer shares
 *	victim.c	an end whose peer is the program, which the fuzzer shares
 *	net.c		packets in flight, their impairments, captures
 *	end.c		one end of a session, and its invariants
 *	chan.c		one end of a connection: checks every byte
 *	kernel.c	what kernel/cluster needs of the rest of the kernel
 *	mem.c		exporters and importers, over kernel/cluster
 *	scenario.c	scenarios
 *	fields.c	scenarios with invalid packets and invalid calls
 */
#ifndef _DD_SIM_H
#define _DD_SIM_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "packet.h"
#include "udp/session.h"

#define US	1000ull
#define MS	1000000ull
#define SEC	1000000000ull

#define SIM_MERGE	64	/* most datagrams received at once */

/* ---- world.c ------------------------------------------------------------ */

/* The simulation. */
struct sim {
	u64 now;		/* virtual time, ns; does not begin at 0 */
	u64 seed;		/* seed of all random numbers */
	const char *name;	/* name of the scenario */
};

extern struct sim sim;

typedef void (*sim_fn)(void *arg, u64 gen);

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

/* The network. */
struct network {
	u64 delay;		/* one way, ns */
	u64 jitter;		/* maximum additional delay that keeps the order, ns */
	double reorder;		/* probability of an additional delay of up to @reorder_ns */
	u64 reorder_ns;		/* maximum additional delay of a reordered packet */
	double loss;		/* probability of loss */
	double ack_loss;	/* additional probability of loss for packets without payload */
	double dup;		/* probability of a duplicate, up to @dup_ns later */
	u64 dup_ns;		/* maximum delay of a duplicate */
	double corrupt;		/* probability of flipped bits */
	double truncate;	/* probability of truncation */
	double forge;		/* probability that a forged packet is added */
	u64 rate;		/* bits per second into a node, 0 for unlimited */
	u32 queue;		/* bytes of the queue in front of that link */
	u32 mtu;		/* largest datagram that is forwarded, 0 for unlimited */
	bool (*cut)(int src, int dst);	/* whether all packets from @src to @dst are dropped now */
	bool late;		/* payloads are read from their source at arrival */
	/*
	 * Packets that arrive from one node within this time, ns, are received at once at its
	 * end; 0 receives them one by one
	 */
	u64 merge;
};

extern struct network net;
extern u64 net_packets, net_dropped;

/* A received datagram. */
struct datagram {
	const u8 *p;		/* bytes */
	size_t len;		/* number of bytes */
};

struct end;
struct packet;
void net_send(struct end *from, const struct dd_tp_pkt *pkt);
void net_inject(int src, int dst, const void *bytes, u32 len);
void net_pcap(const char *path);
void net_reset(int nodes);

/* ---- end.c -------------------------------------------------------------- */

struct conn;

/* Received bytes, as passed through the transport. */
struct payload {
	const u8 *p;		/* payload of one packet */
	u32 len;		/* bytes at @p */
	const struct dd_wire_hdr *hdr;	/* header of that packet */
	struct datagram *at;	/* next packet of a batch */
	u32 n;			/* packets left in the batch */
};

/* One end of a session. */
struct end {
	union {
		struct dd_tp tp;		/* the transport under test */
		struct dd_udp_peer link;	/* the same, for kernel/cluster */
	};
	int node;		/* number of its node, from 0 */
	int peer;		/* number of the other node, from 0 */
	bool alive;		/* the node is running */
	bool wanted;		/* open the session again when it is down */
	void *arena;		/* memory of @tp */
	u64 timer_at;		/* expiry of the current timer */
	u64 timer_gen;		/* its generation; others are ignored */
	struct list_head chans;	/* open channels */
	struct ctl_msg *ctlq;	/* control messages that wait for space */
	u32 nctlq;		/* number of these */
	u32 ctl_tx;		/* number of the next control message to send */
	u32 ctl_rx;		/* number of the next control message expected */
	u32 ups;		/* number of sessions that came up */
	u32 downs;		/* number of sessions or attempts that ended */
	enum dd_tp_reason reason;	/* of the last end */
	u32 steps;		/* events since the last audit */
	u32 runs;		/* number of batches of several packets */
	u32 waits;		/* look-ups of kernel/cluster that wait at the peer */
	u32 nmerged;		/* datagrams in @merged */
	struct packet *merged[SIM_MERGE];	/* to be received at once */
};

struct ctl_msg {
	u16 len;
	u8 data[DD_WIRE_CTL_MAX];
};

/* Configuration of all nodes. */
struct node_cfg {
	u32 records;		/* see struct dd_tp_cfg */
	u32 ctl_slots;		/* see struct dd_tp_cfg */
	u32 mtu;		/* MTU of both ends */
	u64 dead;		/* dead time, ns */
	bool crc;		/* checksum payloads */
	u64 late;		/* timers expire up to this much late, ns */
	bool wrap;		/* numbers of packets and control messages wrap in each session */
};

extern struct node_cfg node_cfg;
extern int nnodes;
/* Sessions are used by kernel/cluster, not by the connections of chan.c. */
extern bool mem_used;

void nodes_init(int n);
struct end *end_get(int node, int peer);
void end_reinit(struct end *e, const struct dd_tp_cfg *change);
void end_start(struct end *e);
void end_drain(struct end *e);
void end_audit(struct end *e);
void end_rx(int src, int dst, struct datagram *d, u32 n);
void end_ctl(struct end *e, u8 type, u64 a, u64 b, u32 pad);
void end_stop(struct end *e);
void node_reboot(int node);
void ends_each(void (*fn)(struct end *e));
const u8 *payload_at(const struct payload *pl, u32 off, u32 len);
const u8 *payload_next(struct payload *pl, struct dd_tp_rx_batch *batch);

/* ---- kernel.c, mem.c ---------------------------------------------------------- */

struct dd_tp_ops;
const struct dd_tp_ops *mem_attach(struct end *e);
void mem_post(struct end *e);
void mem_died(int node);
const u8 *mem_source(struct end *e, const struct dd_tp_pkt *pkt);

/* ---- chan.c ------------------------------------------------------------- */

/* Traffic of a connection. */
struct plan {
	u32 min_len;		/* minimum bytes of a message */
	u32 max_len;		/* maximum bytes of a message */
	u32 window;		/* window of both ends */
	/* Maximum number of messages in flight; 0: limited by the window only */
	u32 ahead;
	u64 goal;		/* messages from the client to complete; 0: unlimited */
	u64 back;		/* messages from the server to complete */
	/* The server answers each message, and the client waits for the answer */
	bool reply;
	bool prompt;		/* see struct dd_tp_chan_cfg */
	bool await;		/* the caller waits until each message is done */
	bool stuck;		/* the server never reads its notes */
	u32 taken;		/* unread notes of an earlier client in the server's list */
	bool unsaid;		/* neither end is informed of @taken */
	u64 read_ns;		/* average time until a note is read */
	double again;		/* probability that a deposit has to be repeated */
	u64 idle_ns;		/* average time between DONE and the next message; 0 for none */
	u64 gap_ns;		/* minimum time between two messages */
};

/* One end of a connection in one session. */
struct chan {
	struct dd_tp_chan c;	/* the channel under test */
	struct conn *conn;	/* the connection */
	struct end *end;	/* the session */
	struct list_head node;	/* in the list of the session's channels */
	u64 key;		/* key from which the contents of messages are computed */
	bool server;		/* this is the serving end */
	bool open;		/* not closed; a callback for a closed channel is a failure */
	u64 goal;		/* messages to send */
	u64 goal_done;		/* messages of the goal that are done */
	u8 *sources;		/* of the messages in flight, @max_len bytes each */
	struct dd_tp_op *ops;	/* ops of the messages in flight */
	/* For each byte of the message in progress, whether it was stored */
	u8 *seen;
	u32 unread;		/* notes in the list */
	u64 read;		/* notes read so far */
	u64 withheld;		/* message whose note is withheld; 0 for none */
	bool reading;		/* a read is scheduled */
	bool resumes;		/* a timer will send the next message */
	u64 next_at;		/* earliest time of the next message */
};

/* A connection, which is made again after failures. */
struct conn {
	u32 id;			/* number */
	int a;			/* client's node */
	int b;			/* server's node */
	struct plan plan;	/* its traffic */
	struct chan *ca;	/* client's end, or NULL */
	struct chan *cb;	/* server's end, or NULL */
	u32 life;		/* number of this attempt */
	u64 done[2];		/* messages done by either end, over all attempts */
	u64 bytes[2];		/* bytes received, over all attempts */
};

extern struct conn *conns;
extern u32 nconns;

struct conn *conn_add(int a, int b, const struct plan *plan);
void conns_init(u32 most);
bool conns_done(void);
void conn_up(struct end *e);
void conn_ctl(struct end *e, u8 type, u64 a, u64 b);
void conn_close(struct conn *conn);
void chan_close(struct chan *ch, bool drop);
void chan_resume(void *arg, u64 gen);
const u8 *chan_source(const struct dd_tp_chan *c, const struct dd_tp_op *op);

/* Callbacks of the transport. */
struct dd_tp_chan *chan_find(struct dd_tp *tp, u64 id);
int chan_deposit(struct dd_tp *tp, struct dd_tp_chan *c, u64 dst, const void *payload,
		 u32 off, u32 len);
void chan_deposit_batch(struct dd_tp *tp, struct dd_tp_chan *c, u64 dst,
			const void *payload, struct dd_tp_rx_batch *batch);
bool chan_complete(struct dd_tp *tp, struct dd_tp_chan *c, const struct dd_tp_msg *msg,
		   const u8 *tail, u32 ntail);
u32 chan_credit(struct dd_tp *tp, struct dd_tp_chan *c);
void chan_sent(struct dd_tp *tp, struct dd_tp_chan *c, u64 msgid);
void chan_done(struct dd_tp *tp, struct dd_tp_chan *c, u64 msgid);

/* ---- scenario.c ---------------------------------------------------------- */

void world(int nodes, u64 delay);
void start_all(void);
void start_conns(u32 n, bool both, const struct plan *plan);
void finish(u64 duration);
/* Packets dropped for @reason, of the first two nodes. */
u64 drops(enum dd_tp_drop reason);
/* Fail unless the condition that the scenario tests has occurred. */
void need(bool what, const char *text);
/* finish(), in the session that was up before. */
void finish_up(u64 duration);

/* ---- main.c -------------------------------------------------------------- */

struct scenario {
	const char *name;	/* for the command line */
	const char *what;
	void (*run)(void);	/* sim_fail() reports a failure */
	bool chosen;		/* by the command line */
	struct scenario *next;
};

void scenario_add(struct scenario *s);

/* Define a scenario; its body follows. */
#define SCENARIO(id, text)							\
	static void scenario_##id(void);					\
	static void __attribute__((constructor)) scenario_add_##id(void)	\
	{									\
		static struct scenario s = {					\
			.name = #id, .what = text, .run = scenario_##id		\
		};								\
		scenario_add(&s);						\
	}									\
	static void scenario_##id(void)

#endif /* _DD_SIM_H */
