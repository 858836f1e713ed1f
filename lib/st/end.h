/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * end.h - the record of a handle: one end of a connection
 *
 * Copyright (C) 2026 The dd authors
 *
 * A record is never freed, so a call may look into one whose handle is being deleted. A call
 * takes @order or @receive, or counts itself in @users, and then looks at the handle and the state
 * again. st_close() and st_delete() change the state, or take the handle away, and wait until no
 * other call is inside: until @users is 1, and @order and @receive have been free.
 *
 * Locks, outermost first: @order, @receive, @lock, that of the tables. @order may be held for as
 * long as the other end's window is full.
 */
#ifndef _ST_END_H
#define _ST_END_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "dd_mem.h"
#include "limits.h"
#include "lock.h"
#include "table.h"
#include "wire.h"

#define ST_API		__attribute__((visibility("default")))
#define ST_HANDLES	4096
#define ST_OPTIONS	(ST_OPT_RX_DROPPED + 1)
#define ST_SOURCES	(4096 / ST_SLOT_SIZE - 1)
#define ST_SLICE_NS	50000000	/* how often a call that waits for another thread looks around */

/**
 * enum st_state - what a handle is; protected by st_end.lock
 * @ST_IDLE: neither of the others
 * @ST_LISTENING: st_listen() has offered the service, and no client was accepted
 * @ST_OPENING: in st_listen(), st_accept() or st_connect()
 * @ST_CONNECTED: also after the other end has closed
 * @ST_CLOSING: in st_close(); other calls leave
 */
enum st_state {
	ST_IDLE,
	ST_LISTENING,
	ST_OPENING,
	ST_CONNECTED,
	ST_CLOSING,
};

struct st_map;
struct st_import;

/**
 * struct st_answer - a header that is read before messages are
 * @hdr: the header, which answers a Get of this end, or is st_end.held
 * @next: the answer after it
 */
struct st_answer {
	st_header_t hdr;
	struct st_answer *next;
};

/**
 * struct st_end - the record of a handle
 * @name: the handle
 * @lock: protects @state, @option, @map and what says so
 * @changed: @state or @submitted has changed, or a map has lost its last reader
 * @users: calls inside, atomic
 * @draining: a call waits until it is the only one inside
 * @state: enum st_state
 * @option: values that were set, by ST_OPT_*
 * @h: handle of libdd of this connection, or listener, from ST_OPENING on; NULL while idle
 * @wake: eventfd, a semaphore: an answer was queued, or the state is ST_CLOSING
 * @service: of libdd, while listening
 * @iana: port of the service, or of the client
 * @port: first ST port of this end, 0 while there is none; protected by the lock of the tables
 * @nonce: names the maps of this end
 * @conn: connection of libdd
 * @list: its note list
 * @node: node of the other end
 * @uid: user of the other end
 * @far: the other end is on another node
 * @swap: its byte order is another one
 * @reset: the other end has closed; atomic
 * @ring: slots of the other end's messages
 * @out: where messages are composed; @order
 * @sources: slots there, after the first one, that no message under way uses; @order
 * @remote: parameters of the other end
 * @window: unread messages that it permits
 * @order: one sender at a time
 * @size: of the slots of the other end that this one uses, in bytes
 * @place: where the next message goes there; @order
 * @submitted: headers and STUs that were accepted; atomic
 * @waiting: calls that wait for it; atomic
 * @counted: the largest result of st_flush(); @lock
 * @import: memory of the other end, by its first buffer; @order
 * @busy: the one that Data is under way to, or NULL: see remote.c; @order
 * @oldest: number of its first request that is under way; @order
 * @newest: and of the last one; @order
 * @announced: bit n % 64: there is a header for request n; @order
 * @under_way: STUs under way, not less; atomic
 * @bad: of those that were, silent requests whose place does not exist, and which the other end is
 *	to count; atomic
 * @map: maps by buffer; @lock
 * @maps: all of them; @lock
 * @sequence: of Mx; @lock
 * @receive: one receiver at a time
 * @answers: unread answers to Gets; @receive
 * @last: where the next one is linked; @receive
 * @held: a header whose Data may not be in place, the first of @answers; @receive
 * @request: of that Data; @receive
 * @dropped: headers that did not match; atomic
 */
struct st_end {
	struct st_name name;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int users;
	unsigned int draining;
	enum st_state state;
	int option[ST_OPTIONS];
	struct dd *h;
	int wake;
	int service;
	unsigned int iana;
	unsigned int port;
	uint32_t nonce[ST_NONCE];
	int conn;
	int list;
	int node;
	unsigned int uid;
	bool far;
	bool swap;
	bool reset;
	char *ring;
	struct st_slot *out;
	unsigned int sources;
	struct st_hello remote;
	unsigned int window;
	struct ddi_lock order;
	size_t size;
	size_t place;
	int64_t submitted;
	unsigned int waiting;
	int64_t counted;
	struct st_import *import;
	struct st_import *busy;
	int64_t oldest;
	int64_t newest;
	uint64_t announced;
	int64_t under_way;
	unsigned int bad;
	struct st_map **map;
	struct st_map *maps;
	unsigned int sequence;
	struct ddi_lock receive;
	struct st_answer *answers;
	struct st_answer **last;
	struct st_answer held;
	uint64_t request;
	int dropped;
};

extern struct st_table st_ends;

/* The record of a handle or of its address, and the handle; or NULL. */
static inline struct st_end *st_find(const void *chandle, uintptr_t *value)
{
	return (struct st_end *)st_table_find(&st_ends, ST_SHIFT(ST_HANDLES), chandle, value);
}

/* Begin a call. */
struct st_end *st_enter(const void *chandle);
bool st_enter_end(struct st_end *e, uintptr_t value);

/* End a call: sets errno to @error, unless that is 0, and returns it. */
int st_leave(struct st_end *e, int error);

static inline int st_error(int error)
{
	if (error)
		errno = error;
	return error;
}

/* Wait until this call is the only one inside. @lock is held. */
void st_alone(struct st_end *e);

/* Begin to open a handle in the state @from: 0 or an error. */
int st_open_begin(struct st_end *e, enum st_state from);

/*
 * The handle is in state @to, with @error 0, or in the former state. Another thread may be closing
 * it; then that keeps what the caller has made. Returns the error.
 */
int st_open_end(struct st_end *e, enum st_state from, enum st_state to, int error);

static inline enum st_state st_state(const struct st_end *e)
{
	return __atomic_load_n(&e->state, __ATOMIC_SEQ_CST);
}

/* ST_OPT_LITERAL or ST_OPT_MAXSTU_REMOTE, which may change at any time. */
static inline int st_option(const struct st_end *e, int optname)
{
	return __atomic_load_n(&e->option[optname], __ATOMIC_RELAXED);
}

/* With @order or @receive: 0 if the handle is valid and connected, else EBADF or ENOTCONN. */
static inline int st_connected(const struct st_end *e, uintptr_t value)
{
	if (__atomic_load_n(&e->name.value, __ATOMIC_ACQUIRE) != value)
		return EBADF;
	return __atomic_load_n(&e->state, __ATOMIC_ACQUIRE) == ST_CONNECTED ? 0 : ENOTCONN;
}

/* A range of ST ports that no other end of this process has: 0, EADDRNOTAVAIL. */
int st_port_take(struct st_end *e);

/* Make the handle of libdd: 0 or an error. And end all that was made with it. */
int st_end_open(struct st_end *e);
void st_end_clear(struct st_end *e);

/* Change the state; @lock is held. */
void st_state_set(struct st_end *e, enum st_state state);

/*
 * Sleep until there is a message, another thread wakes this one, or the deadline, in nanoseconds of
 * CLOCK_MONOTONIC, has passed; -1: no limit. 0, EWOULDBLOCK or EINTR.
 */
int st_sleep(struct st_end *e, int64_t deadline);

/* The same, but messages do not end it. */
int st_pause(struct st_end *e, int64_t deadline);
int64_t st_now(void);

/* Wake one thread. When an end has closed, each one that was woken wakes the next one. */
void st_wake(struct st_end *e);
void st_cascade(struct st_end *e);

/*
 * For st_delete(): take the handle away, false if another thread has done that; wait until another
 * thread's st_close() is over, @lock is held; and give the record back.
 */
bool st_end_close(struct st_end *e);
void st_close_wait(struct st_end *e);
void st_end_release(struct st_end *e);

/* The errno for an error of libdd. */
int st_errno(int ret);

/* Random bytes. */
void st_random(void *to, size_t len);

#endif /* _ST_END_H */
