/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ioctls on /dev/dd and loads and stores in the area, without the library. All
 * functions return >= 0, or -1 with errno.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_RAW_H
#define DD_RAW_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/dd_ddp.h>

#define PAGE	4096ul

/* A context with its area. */
struct raw {
	int fd;
	void *area;
};

/* A mapped region. */
struct mem {
	__u32 id;
	size_t len;
	char *at;
};

/* A service of @srv and one connection of @cl to it, in one process. */
struct pair {
	struct raw srv, cl;
	struct mem smem, cmem;	/* first half receives, second half sends */
	struct dd_serve s;
	struct dd_connect c;
	char name[DD_NAME_MAX + 1];
};

/* The direct path of one end of a connection, as its sender sees it. */
struct way {
	struct dd_direct d;
	char *block;
	struct dd_ring_note *notes;
	const struct dd_ring_state *state;
	__u64 pos;
};

/* A service, and a connection, each with a context and two pages of its own. */
struct server {
	struct raw r;
	struct mem m;
	struct dd_serve s;
};

struct client {
	struct raw r;
	struct mem m;
	struct dd_connect c;
	struct way w;
};

int raw_open(struct raw *r);
void raw_close(struct raw *r);
int raw_ioctl(const struct raw *r, unsigned int nr, const void *arg);
/* An ioctl with an id, or a connection's serial, by value. */
int raw_op(const struct raw *r, unsigned int nr, __u64 name);
int raw_alloc(const struct raw *r, size_t len, struct mem *m);
int raw_free(const struct raw *r, struct mem *m);
/* A context with one region. */
int raw_start(struct raw *r, size_t len, struct mem *m);

/* Arguments of a plain service or connection in the halves of @m. */
void raw_serve_args(struct dd_serve *s, const char *name, unsigned int maxconn,
		    const struct mem *m);
void raw_connect_args(struct dd_connect *c, const char *name,
		      const struct mem *m);
int raw_serve(const struct raw *r, struct dd_serve *s);
/* A service without send blocks, whose notes cost more than its blocks of @block bytes. */
int raw_serve_unmapped(const struct raw *r, const char *name, unsigned int maxconn,
		       size_t block, __u32 flags, struct dd_serve *s);
int raw_connect(const struct raw *r, struct dd_connect *c);
/* A plain connection of a context, and its two pages. */
int raw_join(const struct raw *r, struct mem *m, struct dd_connect *c,
	     const char *name);
/* A connection that only receives, in a page of its own that is not mapped. */
int raw_join_receiver(const struct raw *r, const char *name, __u32 window, __u32 flags,
		      struct dd_connect *c);

static inline void *raw_unit(const struct raw *r, __u32 unit)
{
	return (char *)r->area + (size_t)unit * DD_UNIT;
}

static inline struct dd_conn_state *raw_state(const struct raw *r, __u32 unit)
{
	return raw_unit(r, unit);
}

static inline struct dd_list_head *raw_list(const struct raw *r, __u32 unit)
{
	return raw_unit(r, unit);
}

/* Evaluates @call, which returns -1 with errno or an int, with the effective user @uid. */
#define AS_USER(uid, call) ({						\
	int __ret = seteuid(uid) ? -1 : (call), __err = errno;		\
	if (seteuid(0))							\
		abort();						\
	errno = __err;							\
	__ret; })

/* Kinds of objects, and the ioctls on an object of each, up to the first 0. */
enum raw_kind { RAW_REGION, RAW_SERVICE, RAW_CONN, RAW_LIST, RAW_KINDS };
extern const unsigned int raw_ops[RAW_KINDS][8];
/* One of these, with an id or the serial of a connection. */
int raw_on(const struct raw *r, unsigned int nr, __u64 name);

/* Puts a request into the queue, with its number; rings no doorbell. */
void raw_queue(const struct raw *r, __u32 state_unit, const struct dd_sqe *sqe);
/* Queues a request and rings the doorbell. */
int raw_submit(const struct raw *r, __u32 state_unit, __u64 conn,
	       const struct dd_sqe *sqe);
/* A message from the connection's own send block, with a note. */
int raw_send(const struct raw *r, __u32 state_unit, __u64 conn, __u64 src,
	     __u64 dst, __u64 len);
/* Copies the next note out without consuming it; false if there is none. */
bool raw_peek(const struct raw *r, __u32 list_unit, struct dd_note *n);
/* Copies the next note out, consumes it, and kicks the list if it must. */
bool raw_take(const struct raw *r, __u32 list_unit, struct dd_note *n);

/* Waits until a list has a note, for @timeout nanoseconds. */
int raw_list_wait(const struct raw *r, __u32 list, __u64 timeout);
/* Waits until @what of a connection is @value. */
int raw_conn_wait(const struct raw *r, __u64 conn, int what, __u64 value,
		  __u64 timeout);

/* Waits until the direct ring of a connection was read up to @pos. */
static inline int raw_ring_wait(const struct raw *r, __u64 conn, __u64 pos, __u64 timeout)
{
	return raw_conn_wait(r, conn, DD_WAIT_RING, pos, timeout);
}

/* Ids of a service's connections; returns their number, which may exceed @count. */
int raw_conns(const struct raw *r, __u32 service, __u64 *conns, __u32 count);
int raw_conn_info(const struct raw *r, __u64 conn, struct dd_conn_info *i);

/* @maxconn blocks of @block bytes each way; one connection, to block 0. */
int pair_open(struct pair *p, unsigned int maxconn, size_t block,
	      unsigned int window);
/* The same with contexts that are open, that of the service at @node. */
int pair_join(struct pair *p, __u32 node, unsigned int maxconn, size_t block,
	      unsigned int window);
void pair_close(struct pair *p);
/* The serving end of the pair's connection. */
__u64 pair_server_conn(const struct pair *p);
int pair_request(const struct pair *p, __u64 src, __u64 dst, __u64 len);
/* Another service and a connection to it, of the pair's contexts. */
int pair_more(const struct pair *p, const char *name, __u32 flags,
	      struct dd_serve *s, struct dd_connect *c);

/* The context, its pages and the arguments, which the caller may change. */
int server_prepare(struct server *s, const char *name, unsigned int maxconn);
int client_prepare(struct client *c, const char *name);
/* The same, and the service or the connection. */
int server_open(struct server *s, const char *name, unsigned int maxconn);
int client_open(struct client *c, const char *name);
/* The serial of the service's only connection, or 0. */
__u64 server_conn(const struct server *s);
bool server_take(const struct server *s, struct dd_note *n);
int client_send(const struct client *c, __u64 len);
int client_way(struct client *c);
/* Ends the connection; the context stays. */
int client_close(const struct client *c);

/* mmap() of the device. */
void *raw_map(const struct raw *r, __u64 off, size_t len, int prot);
int way_grant(const struct raw *r, __u64 conn, struct way *w);
/* Asks for the direct path, and maps all of it. */
int way_open(const struct raw *r, __u64 conn, struct way *w);
void way_unmap(const struct way *w);
/* Stores a note; returns whether the receiver wants to be woken. */
bool way_note(struct way *w, __u64 offset, __u64 len);
/* A direct ring of a list, or NULL; ring_take() consumes its first note. */
struct dd_ring_state *ring_of(const struct raw *r, __u32 list_unit,
			      unsigned int i);
bool ring_take(struct dd_ring_state *s, struct dd_ring_note *to);

/* Whether the receiver wants to be woken. */
static inline bool is_armed(const struct way *w)
{
	return __atomic_load_n(&w->state->need_wake, __ATOMIC_ACQUIRE);
}

static inline size_t way_notes_size(const struct way *w)
{
	return w->d.slots * sizeof(struct dd_ring_note);
}

static inline struct dd_ring_note *way_slot(const struct way *w, __u64 pos)
{
	return &w->notes[pos & (w->d.slots - 1)];
}

/* Any number; often a small one, or one near an edge. */
__u64 raw_random(unsigned int *seed);
/* Bytes charged to the caller's user. */
long long memlock_used(const struct raw *r);

#endif /* DD_RAW_H */
