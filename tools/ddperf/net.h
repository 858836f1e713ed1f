/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Both sides of a measurement on different nodes: "ddperf net".
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDPERF_NET_H
#define DDPERF_NET_H

#include "pair.h"

/* --- net.c: the other side ------------------------------------------------ */

/* What a client wants of the server. */
enum net_kind { NET_PAIR, NET_CONNS };

/* A socket for commands to the server of o->node; exits if that fails. */
int net_connect(const struct perf_options *o, enum net_kind kind);

/* What the server does with a socket for commands; neither returns. */
void pair_answer_net(int control);
void conns_answer(int control);

/* --- sock.c: sockets between the two sides -------------------------------- */

/* At the server: listen, and tell the client where. */
void sock_listen(struct side *s, struct welcome *w);

/* Both: until they are connected. */
void sock_accept(struct side *s);
void sock_connect(struct side *s, const struct welcome *w);

void udp_put_spinning(struct side *s, size_t size);
char *udp_get_spinning(struct side *s, size_t size);
void udp_put(struct side *s, size_t size);
char *udp_get(struct side *s, size_t size);
void udp_flow_spinning(struct side *s, size_t size);
char *udp_take_spinning(struct side *s, size_t size);
void udp_flow(struct side *s, size_t size);
char *udp_take(struct side *s, size_t size);
void tcp_put_spinning(struct side *s, size_t size);
char *tcp_get_spinning(struct side *s, size_t size);
void tcp_put(struct side *s, size_t size);
char *tcp_get(struct side *s, size_t size);

/* --- path.c: what is between the two sides -------------------------------- */

/**
 * struct peer - what ddctl knows of the other node
 * @address: where it is, as text
 * @packet: bytes in a packet of the session
 * @sent: packets sent
 * @received: packets received
 * @lost: of those sent, taken for lost
 */
struct peer {
	char address[64];
	unsigned int packet;
	uint64_t sent, received, lost;
};

/* False if there is no such peer, or no ddctl. */
bool peer_look(struct peer *p, int node);

/* For people, or (unless @j is NULL) as its member "path". */
void path_report(const struct side *s, struct json_object *j);

/* Nanoseconds that the processors of this machine had nothing to do. */
uint64_t idle_now(void);

/* --- share.c: flows at the same time -------------------------------------- */

/* The server's part. */
struct command;
void share_answer(struct side *s, const struct command *c);

#endif /* DDPERF_NET_H */
