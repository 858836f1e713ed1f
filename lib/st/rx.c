// SPDX-License-Identifier: LGPL-2.1-only
/*
 * rx.c - st_rx()
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "map.h"
#include "message.h"
#include "rx.h"

#define DROPS_MAX	ST_RX_SLOTS	/* between looks at the time */
#define HELD_SHARE	8		/* of the time that a header was held passes between looks, */
#define HELD_MIN_NS	20000		/* at least, if the call sleeps, */
#define HELD_MAX_NS	20000000	/* and at most */

__thread int st_rx_payload __attribute__((tls_model("initial-exec")));

struct st_answer *st_answer_new(void)
{
	return calloc(1, sizeof(struct st_answer));
}

void st_answer_free(struct st_answer *a)
{
	free(a);
}

void st_answer_post(struct st_end *e, struct st_answer *a, const st_header_t *hdr)
{
	a->hdr = *hdr;
	ddi_lock(&e->receive);
	*e->last = a;
	e->last = &a->next;
	ddi_unlock(&e->receive);
	st_wake(e);
}

void st_answers_end(struct st_end *e)
{
	struct st_answer *a;

	while ((a = e->answers)) {
		e->answers = a->next;
		if (a != &e->held)
			free(a);
	}
}

static void answer_remove(struct st_end *e)
{
	struct st_answer *a = e->answers;

	e->answers = a->next;
	if (!e->answers)
		e->last = &e->answers;
	if (a != &e->held)
		free(a);
}

static bool closed(const struct st_end *e)
{
	struct dd_conn_desc desc;

	return dd_conn_info(e->h, e->conn, &desc) || desc.closed;
}

/*
 * Whether the Data of the header that is held is in place: 0; EINPROGRESS; EBADMSG: there is no such
 * map; ECONNRESET: it will never be. What an end has sent before it closes is in place before that is
 * seen.
 */
static int held_look(struct st_end *e)
{
	int error = st_map_arrived(e, e->held.hdr.mx, e->request);

	if (error == EAGAIN && closed(e))
		error = st_map_arrived(e, e->held.hdr.mx, e->request) ? ECONNRESET : 0;
	return error == EAGAIN ? EINPROGRESS : error;
}

/* The first answer: 0; EINPROGRESS: its Data is not in place; EBADMSG: it was dropped. */
static DDI_NOINLINE int answer_take(struct st_end *e, st_header_t *hdr)
{
	int error = e->answers == &e->held ? held_look(e) : 0;

	if (error == EINPROGRESS)
		return error;
	if (error == EBADMSG)
		__atomic_add_fetch(&e->dropped, 1, __ATOMIC_RELAXED);
	if (!error) {
		*hdr = e->answers->hdr;
		st_rx_payload = 0;
	}
	answer_remove(e);
	/* Of several threads, the one that was woken for the next answer may have taken this one. */
	if (e->answers)
		st_wake(e);
	return error ? EBADMSG : 0;
}

/* Whether a header is for this end. */
static bool accepted(const struct st_end *e, const st_header_t *hdr)
{
	unsigned int port = hdr->d_port;

	return ST_OP_DELIVERED(hdr->op) && hdr->d_key == (uint32_t)e->option[ST_OPT_KEY_LOCAL] &&
	       port - e->port < (unsigned int)e->option[ST_OPT_PORTLEN_LOCAL];
}

/* There is no message: EWOULDBLOCK, or ECONNRESET. */
static DDI_NOINLINE int ended(struct st_end *e, int ret)
{
	if (ret != -EWOULDBLOCK)
		__atomic_store_n(&e->reset, true, __ATOMIC_RELAXED);
	return e->reset ? ECONNRESET : EWOULDBLOCK;
}

static DDI_NOINLINE int dropped(struct st_end *e)
{
	__atomic_add_fetch(&e->dropped, 1, __ATOMIC_RELAXED);
	return EBADMSG;
}

/*
 * A message of another length than a plain header has: that of Data which may be under way from another
 * node. No message is read before it.
 */
static DDI_NOINLINE int data_take(struct st_end *e, const struct ddi_brief *msg, st_header_t *hdr)
{
	const struct st_slot *slot = msg->addr;

	if (msg->len != ST_SLOT_DATA)
		return dropped(e);
	e->held.hdr = slot->hdr;
	e->request = slot->request;
	/* As in take(). */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (e->swap) {
		st_swap(&e->held.hdr);
		e->request = __builtin_bswap64(e->request);
	}
	if (!accepted(e, &e->held.hdr))
		return dropped(e);
	e->held.next = NULL;
	e->answers = &e->held;
	e->last = &e->held.next;
	return answer_take(e, hdr);
}

/*
 * The next header: 0; EBADMSG: a message was dropped; EWOULDBLOCK: there is none; EINPROGRESS: its Data
 * is not in place; ECONNRESET.
 */
static DDI_INLINE int take(struct st_end *e, st_header_t *hdr, void *pay)
{
	const struct st_slot *slot;
	struct ddi_brief msg;
	st_header_t got;
	int ret;

	if (e->answers)
		return answer_take(e, hdr);
	ret = st_message_receive(e, &msg);
	if (ret)
		return ended(e, ret);
	if (msg.len != ST_SLOT_SHORT && msg.len != ST_SLOT_SIZE)
		return data_take(e, &msg, hdr);
	slot = msg.addr;
	got = slot->hdr;
	/* From here on the copy: the other end may change the slot. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (e->swap)
		st_swap(&got);
	if (!accepted(e, &got))
		return dropped(e);
	*hdr = got;
	st_rx_payload = msg.len == ST_SLOT_SIZE;
	if (st_rx_payload && pay)
		memcpy(pay, slot->pay, ST_PAYLOAD);
	return 0;
}

/* The same, but dropped messages are passed over, as many as may be unread. */
static DDI_INLINE int next(struct st_end *e, uintptr_t value, st_header_t *hdr, void *pay)
{
	int drops = 0, error;

	ddi_lock(&e->receive);
	do {
		error = st_connected(e, value);
		if (!error)
			error = take(e, hdr, pay);
	} while (error == EBADMSG && ++drops < DROPS_MAX);
	ddi_unlock(&e->receive);
	return error;
}

static bool time_valid(const struct timeval *t)
{
	return !t || (t->tv_sec >= 0 && t->tv_usec >= 0 && t->tv_usec < 1000000);
}

/* The time when a call with a valid timeout ends: -1: no limit, 0: at once. */
static int64_t deadline_of(const struct timeval *t)
{
	if (!t || t->tv_sec > INT32_MAX)
		return -1;
	return t->tv_sec || t->tv_usec ?
	       st_now() + t->tv_sec * 1000000000ll + t->tv_usec * 1000ll : 0;
}

/* Wait for a message: look for a while, as long as that has helped before, and then sleep. */
static int await(struct st_end *e, int64_t deadline)
{
	int64_t since;
	int error;

	if (ddi_list_spin(e->h, e->list, deadline, &since))
		return 0;
	error = st_sleep(e, deadline);
	ddi_list_slept(e->h, e->list, since);
	return error;
}

/*
 * Wait until there may be a header, as a call that st_close() waits for: 0 or an error. *@deadline
 * is 1 until it is known.
 */
static DDI_NOINLINE int wait(struct st_end *e, uintptr_t value, const struct timeval *timeout,
			     int64_t *deadline)
{
	int error;

	if (!st_enter_end(e, value))
		return EBADF;
	error = st_connected(e, value);
	if (*deadline == 1)
		*deadline = deadline_of(timeout);
	if (!error && *deadline >= 0 && (!*deadline || st_now() >= *deadline))
		error = EWOULDBLOCK;
	if (!error)
		error = await(e, *deadline);
	return st_leave(e, error);
}

static bool held(struct st_end *e)
{
	bool ret;

	ddi_lock(&e->receive);
	ret = e->answers == &e->held && st_map_arrived(e, e->held.hdr.mx, e->request) == EAGAIN;
	ddi_unlock(&e->receive);
	return ret;
}

/*
 * Wait a moment for Data that was not in place at @since. It comes without a message: its packets are
 * under way, and some of them may have been lost. 0; ECONNRESET: the other end has closed; EWOULDBLOCK,
 * EINTR.
 */
static int await_data(struct st_end *e, int64_t since, int64_t deadline)
{
	int64_t now = st_now(), moment = (now - since) / HELD_SHARE;
	int error;

	if (deadline >= 0 && now >= deadline)
		return EWOULDBLOCK;
	if (moment < HELD_MIN_NS) {
		sched_yield();
		return 0;
	}
	if (moment > HELD_MAX_NS)
		moment = HELD_MAX_NS;
	if (deadline >= 0 && moment > deadline - now)
		moment = deadline - now;
	error = st_pause(e, now + moment);
	if (error && error != EWOULDBLOCK)
		return error;
	return closed(e) ? ECONNRESET : 0;
}

/* As wait(), until the Data of the header that is held may be in place. */
static DDI_NOINLINE int wait_data(struct st_end *e, uintptr_t value, const struct timeval *timeout,
				  int64_t *deadline)
{
	int64_t since = st_now();
	int error = 0;

	if (!st_enter_end(e, value))
		return EBADF;
	if (*deadline == 1)
		*deadline = deadline_of(timeout);
	while (!error && !st_connected(e, value) && held(e))
		error = await_data(e, since, *deadline);
	/* next() finds that out, too. */
	if (error == ECONNRESET)
		error = 0;
	/* Another thread may sleep until there is a message, and that one was taken. */
	if (error)
		st_wake(e);
	return st_leave(e, error);
}

/* st_close(), st_delete() and the message of a close wake one thread: wake the next one. */
static int leave(struct st_end *e, int error)
{
	if (error == ENOTCONN || error == EBADF || error == ECONNRESET)
		st_cascade(e);
	return st_error(error);
}

ST_API int st_rx(st_chandle_t *chandle, st_header_t *hdr, void *opt_pay,
		 struct timeval *timeout)
{
	uintptr_t value;
	struct st_end *e = st_find(chandle, &value);
	int64_t deadline = 1;
	int error;

	if (!e)
		return st_error(EBADF);
	if (!hdr || !time_valid(timeout))
		return st_error(EINVAL);
	for (;;) {
		error = next(e, value, hdr, opt_pay);
		if (!error)
			return 0;
		if (error == EWOULDBLOCK || error == EBADMSG)
			error = wait(e, value, timeout, &deadline);
		else if (error == EINPROGRESS)
			error = wait_data(e, value, timeout, &deadline);
		else
			return leave(e, error);
		if (error)
			return st_error(error);
	}
}
