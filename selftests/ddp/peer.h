/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Other processes that make DDP calls for a test. A peer is a forked process.
 * It executes functions of the test program, one at a time, and returns their
 * results and errno. It is forked before the first dd call, so that it has a
 * handle of its own. It exits with the test. A peer that does not answer in
 * time fails the test.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_PEER_H
#define DD_PEER_H

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

#include "fedex.h"

#define PEER_DATA	65536
#define PEER_SLOTS	16

/* Memory that the test and one peer share, beside DDP. */
struct peer_shm {
	char name[128];
	ddrecv_desc_t desc;
	conninfo_t info;
	connid_t conns[64];
	unsigned char data[PEER_DATA];
};

struct peer {
	pid_t pid;
	int fd;
	struct peer_shm *shm;
};

typedef long (*peer_fn)(long a, long b, long c);

/*
 * Test and peers are on one node, unless DDP_PEER_NETNS names the network
 * namespace of the peers. Then DDP_OWN_NODE is the test's node and
 * DDP_PEER_NODE the peers'.
 */
bool across_nodes(void);
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

/* In the peer: the memory it shares with the test. */
extern struct peer_shm *peer_shm;

struct peer *peer_start(void);
/* On the test's node, whatever node other peers are on. */
struct peer *peer_start_near(void);
/* Its effective user is @uid, a member of the device's group. */
struct peer *peer_start_user(uid_t uid);
void peer_kill(struct peer *p);

/* fn(a, b, c) in the peer; sets errno if that returned -1. */
long peer_call(struct peer *p, peer_fn fn, long a, long b, long c);
/* The same in two halves, for a call that blocks. */
void peer_begin(struct peer *p, peer_fn fn, long a, long b, long c);
long peer_end(struct peer *p);
bool peer_ended(struct peer *p);
/* Waits until the peer sleeps in an ioctl. */
bool peer_sleeps(struct peer *p);

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

struct slot peer_slot(struct peer *p, int slot);
int p_serve(struct peer *p, const struct peer_serve *s);
int p_serve_simple(struct peer *p, const char *name, int maxconn, size_t size);
int p_conn(struct peer *p, const char *name, int type, size_t size, int slot);
/* ddrecv on the list of @slot; the message's bytes are copied to shm->data. */
int p_recv(struct peer *p, int slot, int options, int timeout);
void p_recv_begin(struct peer *p, int slot, int options, int timeout);
/* Composes in the connection's own send buffer, or where @options requires. */
int p_send(struct peer *p, connid_t conn, const void *bytes, size_t len,
	   size_t roffset, int options);
int p_info(struct peer *p, connid_t conn);
int p_close(struct peer *p, connid_t conn);
int p_unserve(struct peer *p, servid_t serv);
int p_connlist(struct peer *p, servid_t serv, int count);
int p_ready(struct peer *p, int slot);
/* @len bytes of the peer's memory, by its plain loads. */
int p_read(struct peer *p, address_t from, void *to, size_t len);

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
