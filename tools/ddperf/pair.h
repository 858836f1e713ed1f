/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two sides of a measurement: processes that share a socket for commands, a
 * memory file, and a pair of sockets of each kind to measure.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDPERF_PAIR_H
#define DDPERF_PAIR_H

#include <netinet/in.h>
#include <sys/types.h>

#include "perf.h"

#define CACHE_LINE	128	/* two lines: neighbours are prefetched */

/**
 * struct counter - a word with its cache line to itself
 * @value: messages so far
 * @asleep: somebody waits asleep for @value to change
 */
struct counter {
	uint64_t value;
	uint32_t asleep;
} __attribute__((aligned(CACHE_LINE)));

/**
 * struct shared - memory of both sides
 * @posted: messages sent by each side
 * @taken: messages consumed by each side
 * @payload: follows: payload_room() bytes from each side
 */
struct shared {
	struct counter posted[2];
	struct counter taken[2];
	char payload[];
};

/* A message and the flag behind it, in cache lines of their own. */
static inline size_t payload_room(size_t size)
{
	return (size + 2 * sizeof(uint64_t) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/**
 * struct hello - first thing said by the client, with the descriptors
 * @size: largest message
 * @window: messages that may be unconsumed
 * @sleep: as in struct perf_options
 * @touch: likewise
 * @shared_cpu: both sides run on one CPU
 * @net: they are on different nodes; no descriptors come along
 * @cpu: CPU for the server
 * @pid: the client's process
 * @buffer: address of @size bytes in it, for process_vm_writev()
 */
struct hello {
	uint64_t size;
	uint64_t buffer;
	int64_t pid;
	uint32_t window;
	uint32_t sleep;
	uint32_t touch;
	uint32_t shared_cpu;
	uint32_t net;
	int32_t cpu;
};

/**
 * struct welcome - the server's answer
 * @pid: its process
 * @buffer: address of @size bytes in it, for process_vm_writev()
 * @service: name of its service
 * @tcp: port where its stream socket listens, on another node
 * @udp: port of its datagram socket, likewise
 */
struct welcome {
	int64_t pid;
	uint64_t buffer;
	char service[64];
	in_port_t tcp;
	in_port_t udp;
};

/* Of ours: as the library does it, and by the kernel in any case. */
enum { WAY_DD, WAY_KERNEL, WAYS };

/**
 * struct way - a connection
 * @conn: its id
 * @list: its note list
 * @send: its send buffer
 */
struct way {
	int conn;
	int list;
	char *send;
};

/**
 * struct udp_flow - what keeps datagrams from overflowing the server's socket
 * @ahead: room that may be taken by what is not acknowledged, bytes
 * @sent: room taken by all that was sent
 * @acked: of that, what the server has acknowledged
 * @taken: room of what the server received
 * @told: of that, what was acknowledged
 */
struct udp_flow {
	uint64_t ahead, sent, acked, taken, told;
};

/**
 * struct side - one of the two
 * @me: 0 the client, which measures; 1 the server
 * @control: socket for commands
 * @hello: parameters
 * @shared: common memory
 * @packet: end of a SOCK_SEQPACKET pair
 * @stream: end of a SOCK_STREAM pair
 * @pipe_in: end of a pipe, to read
 * @pipe_out: end of another one, to write
 * @tcp: stream socket to another node
 * @udp: datagram socket to another node
 * @udp_flow: of one-way datagrams
 * @buffer: private memory, source and target of what is copied; behind it there
 *	is as much again
 * @posted: messages sent to the other side, by way of @shared
 * @seen: messages taken from it
 * @flags_set: messages sent by way of the bare flag
 * @flags_seen: messages taken from there
 * @other: its process
 * @other_buffer: its @buffer
 * @node: number of the server's node
 * @h: handle
 * @ways: connections; the first one only if @other is on another node
 */
struct side {
	int me;
	int control;
	struct hello hello;
	struct shared *shared;
	int packet;
	int stream;
	int pipe_in;
	int pipe_out;
	int tcp;
	int udp;
	struct udp_flow udp_flow;
	char *buffer;
	uint64_t posted;
	uint64_t seen;
	uint64_t flags_set;
	uint64_t flags_seen;
	pid_t other;
	char *other_buffer;
	int node;
	struct dd *h;
	struct way ways[WAYS];
};

/**
 * struct command - what the client tells the server to do
 * @test: enum test
 * @method: index of the method
 * @size: bytes in a message
 * @warm: messages before
 * @count: messages that count
 */
struct command {
	uint32_t test;
	uint32_t method;
	uint64_t size;
	uint64_t warm;
	uint64_t count;
};

/**
 * struct usage - what a run has cost a process
 * @cpu: nanoseconds
 * @voluntary: context switches because it slept
 * @involuntary: because somebody else wanted the CPU
 */
struct usage {
	uint64_t cpu;
	uint64_t voluntary;
	uint64_t involuntary;
};

/* The client's side, with a server started or found; exits if that fails. */
void pair_open(struct side *s, const struct perf_options *o, size_t size,
	       unsigned int window);

/* Answer clients by name, one process each; returns only on error. */
int pair_serve(const struct perf_options *o);

/* Exchange of fixed records on the control socket; exits if it is closed. */
void pair_put(const struct side *s, const void *p, size_t size);
void pair_get(const struct side *s, void *p, size_t size);

void usage_now(struct usage *u);
void usage_since(struct usage *u, const struct usage *before);

/* What the server does: commands of flow.c, until the client hangs up. */
void flow_answer(struct side *s);

#endif /* DDPERF_PAIR_H */
