/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DDP calls of other processes. A peer is a worker with memory that it shares with the test.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_PEER_H
#define DD_PEER_H

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

#include "fedex.h"
#include "worker.h"

#define PEER_DATA	65536
#define PEER_SLOTS	16

/* Memory that the test and one worker share, beside DDP. */
struct peer_shm {
	char name[128];
	ddrecv_desc_t desc;
	conninfo_t info;
	connid_t conns[64];
	unsigned char data[PEER_DATA];
};

/* Whether messages to whole pages go without the kernel. */
bool sends_directly(void);
/* The caller's node, and the other side's: a peer's other side is the test. */
int near_node(void);
int far_node(void);

/*
 * On one node an operation of one end has reached the other end when its call
 * returns; to another node it takes a little longer.
 */
#define HEARD(cond)	(across_nodes() ? WAIT_FOR(cond) : !!(cond))
#define EXPECT_HEARD_ERR(err, call) do {				\
	EXPECT_TRUE(HEARD((errno = 0, (long)(call) == -1) &&		\
			  errno == (err))) {				\
		TH_LOG("%s: errno %d, expected %s", #call, errno, #err);	\
	}								\
} while (0)
/* A message that follows others, which may still be in flight. */
#define ASSERT_SENT(call) ASSERT_TRUE(HEARD((call) == 0)) {		\
	TH_LOG("%s: errno %d", #call, errno);				\
}

/*
 * DDP calls. @slot numbers the peer's services and connections: each has its
 * buffers, its ids and, while share is -1, its notification list.
 */
struct peer_serve {
	const char *name;
	int flags;
	int maxconn;
	size_t recvsize;
	size_t sendsize;
	int slot;
	int share;		/* slot whose noteid is passed in, or -1 */
};

/* State of a slot; peer_slot() returns a copy of the peer's. */
struct slot {
	noteid_t note;
	servid_t serv;
	connid_t conn;
	address_t in, out;
};

struct slot peer_slot(struct worker *p, int slot);
int p_serve(struct worker *p, const struct peer_serve *s);
int p_serve_simple(struct worker *p, const char *name, int maxconn, size_t size);
int p_conn(struct worker *p, const char *name, int type, size_t size, int slot);
/* ddrecv on the list of @slot; the message's bytes are copied to shm->data. */
int p_recv(struct worker *p, int slot, int options, int timeout);
void p_recv_begin(struct worker *p, int slot, int options, int timeout);
/* Answer @n calls of slot 0 with their bytes, at offset @at. */
void p_echo_begin(struct worker *p, int n, int at);
/* Composes in the connection's own send buffer, or where @options requires. */
int p_send(struct worker *p, connid_t conn, const void *bytes, size_t len,
	   size_t roffset, int options);
int p_info(struct worker *p, connid_t conn);
int p_close(struct worker *p, connid_t conn);
int p_unserve(struct worker *p, servid_t serv);
int p_connlist(struct worker *p, servid_t serv, int count);
int p_ready(struct worker *p, int slot);
/* @len bytes of the peer's memory, by its plain loads. */
int p_read(struct worker *p, address_t from, void *to, size_t len);

/* What dderror("call 7") writes to stderr about @err; errno is what it leaves. */
const char *said(int err);

/* A name of this test's own, so that tests cannot collide. */
const char *own_name(const char *stem);

/* The test's own end of a connection. */
int open_conn(struct slot *s, const char *name, int type, size_t size);
int open_conn_at(struct slot *s, const char *name, int node, int type,
		 size_t size);
int open_serve(struct slot *s, const char *name, int maxconn, size_t size);

/* The test's own node. */
int node_down(void);
int node_up(void);

/* The peers' node, if it is another: while it is down, messages to it wait. */
int far_node_down(void);
int far_node_up(void);

#endif /* DD_PEER_H */
