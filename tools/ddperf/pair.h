/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two sides of a measurement.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDPERF_PAIR_H
#define DDPERF_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "dd.h"
#include "options.h"

#define CACHE_LINE	128	/* two lines: processors prefetch the neighbour */

/**
 * struct counter - a word with its cache line to itself
 * @value: messages until now
 * @asleep: a process sleeps until @value changes
 */
struct counter {
	uint64_t value;
	uint32_t asleep;
} __attribute__((aligned(CACHE_LINE)));

/**
 * struct shared - memory of both sides
 * @posted: messages sent by each side
 * @taken: messages of each side that the other side has consumed
 * @payload: payload_size() bytes for each side
 */
struct shared {
	struct counter posted[2];
	struct counter taken[2];
	char payload[];
};

/* A message and the flag behind it, in cache lines of their own. */
static inline size_t payload_size(size_t size)
{
	return (size + 2 * sizeof(uint64_t) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/**
 * struct hello - parameters of the server's side
 * @size: largest message
 * @window: messages that may be unconsumed; of one-sided access, the number of segments
 * @sleep: as in struct perf_options
 * @touch: as in struct perf_options
 * @shared_cpu: both sides run on one CPU
 * @cpu: CPU of the server
 */
struct hello {
	uint64_t size;
	uint32_t window;
	uint32_t sleep;
	uint32_t touch;
	uint32_t shared_cpu;
	int32_t cpu;
};

/* Two connections: one whose sender may deposit directly, one by the kernel. */
enum { LINK_DD, LINK_KERNEL, LINKS };

/**
 * struct link - a connection
 * @conn: its id
 * @list: its note list
 * @send: its send buffer
 */
struct link {
	int conn;
	int list;
	char *send;
};

/**
 * struct side - one of the two sides
 * @me: 0 the client, which measures; 1 the server
 * @net: the other side is on another node
 * @node: number of the server's node
 * @hello: parameters
 * @control: socket for commands
 * @packet: what "unix" sends by, within a node
 * @tcp: what "tcp" sends by; between nodes this is @control
 * @shared: memory of both sides, within a node
 * @buffer: private memory for two messages, at one address in both processes
 * @posted: messages sent with the counters of @shared
 * @seen: messages consumed with these
 * @flags_set: messages sent with a bare flag
 * @flags_seen: messages consumed with a bare flag
 * @other: process of the other side, within a node
 * @h: handle
 * @links: connections; between nodes the first one only
 */
struct side {
	int me;
	bool net;
	int node;
	struct hello hello;
	int control;
	int packet;
	int tcp;
	struct shared *shared;
	char *buffer;
	uint64_t posted;
	uint64_t seen;
	uint64_t flags_set;
	uint64_t flags_seen;
	pid_t other;
	struct dd *h;
	struct link links[LINKS];
};

/* What a server does for its client, until that hangs up. */
typedef void pair_answer(struct side *s);

/* The client's side, with a server started, by @answer, or found; exits if that fails. */
void pair_open(struct side *s, const struct perf_options *o, size_t size, pair_answer *answer);

/* The server's side for pair_open(); exits if that fails. */
void pair_accept(struct side *s);

/* Start a server on this node. Returns its process. */
pid_t pair_fork(struct side *s, pair_answer *answer);

/* Fixed records on the control socket; both exit if the other side has ended. */
void pair_put(const struct side *s, const void *p, size_t size);
void pair_get(const struct side *s, void *p, size_t size);

enum net_kind { NET_PAIR, NET_CONNS, NET_ACCESS, NET_KINDS };

/* A socket for commands to the server of o->node; exits if that fails. */
int net_connect(const struct perf_options *o, enum net_kind kind);

/* Serve clients of other nodes, by the answer for their kind. */
void net_serve(unsigned int port, pair_answer *const answers[NET_KINDS]) __attribute__((noreturn));

/**
 * struct peer - what ddctl reports of another node
 * @address: its address, as text
 * @packet: bytes in a packet of the session
 * @sent: packets sent
 * @received: packets received
 * @lost: packets sent that are taken for lost
 */
struct peer {
	char address[64];
	unsigned int packet;
	uint64_t sent, received, lost;
};

/* False if there is no such peer, or no ddctl. */
bool peer_look(struct peer *p, int node);

#endif /* DDPERF_PAIR_H */
