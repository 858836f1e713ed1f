// SPDX-License-Identifier: LGPL-2.1-only
/*
 * rx.c - st_rx()
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "message.h"
#include "rx.h"

#define DROPS_MAX	ST_RX_SLOTS	/* between looks at the time */

/**
 * struct st_answer - a header that answers a Get of this end
 * @hdr: the header
 * @next: the answer after it
 */
struct st_answer {
	st_header_t hdr;
	struct st_answer *next;
};

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
		free(a);
	}
}

static bool answer_take(struct st_end *e, st_header_t *hdr)
{
	struct st_answer *a = e->answers;

	if (!a)
		return false;
	*hdr = a->hdr;
	e->answers = a->next;
	if (!e->answers)
		e->last = &e->answers;
	free(a);
	return true;
}

/* Whether a message is a header for this end. */
static bool accepted(const struct st_end *e, enum st_kind kind, const st_header_t *hdr)
{
	unsigned int port = hdr->d_port;

	return kind == ST_KIND_HEADER && hdr->op >= ST_OP_NOP && hdr->op <= ST_OP_END_ACK &&
	       (hdr->op < ST_OP_REQUEST_CONNECTION || hdr->op > ST_OP_DISCONNECT_COMPLETE) &&
	       hdr->d_key == (uint32_t)e->option[ST_OPT_KEY_LOCAL] &&
	       port - e->port < (unsigned int)e->option[ST_OPT_PORTLEN_LOCAL];
}

/* The next header: 0; EBADMSG: a message was dropped; EWOULDBLOCK: there is none; ECONNRESET. */
static int take(struct st_end *e, st_header_t *hdr, void *pay)
{
	struct st_slot slot;
	enum st_kind kind;
	int conn, ret;

	if (answer_take(e, hdr)) {
		st_rx_payload = 0;
		return 0;
	}
	ret = e->reset ? -ECONNRESET : st_message_receive(e, e->list, &slot, &conn);
	if (ret == -ECONNRESET)
		__atomic_store_n(&e->reset, true, __ATOMIC_RELAXED);
	if (ret < 0)
		return -ret;
	if (!ret || !st_unpack(&slot, ret, hdr, &kind) || !accepted(e, kind, hdr)) {
		__atomic_add_fetch(&e->dropped, 1, __ATOMIC_RELAXED);
		return EBADMSG;
	}
	st_rx_payload = ret == ST_SLOT_SIZE;
	if (st_rx_payload && pay)
		memcpy(pay, slot.pay, ST_PAYLOAD);
	return 0;
}

/* The same, but dropped messages are passed over, as many as may be unread. */
static int next(struct st_end *e, uintptr_t value, st_header_t *hdr, void *pay)
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

/* Wait until there is a header, or another error than that there is none. */
static int receive(struct st_end *e, uintptr_t value, st_header_t *hdr, void *pay,
		   int64_t deadline)
{
	int error;

	do {
		if (deadline >= 0 && (!deadline || st_now() >= deadline))
			return EWOULDBLOCK;
		error = await(e, deadline);
		if (error)
			return error;
		error = next(e, value, hdr, pay);
	} while (error == EWOULDBLOCK || error == EBADMSG);
	if (error == ENOTCONN)
		st_cascade(e);
	return error;
}

/* As receive(), as a call that st_close() waits for. */
static int receive_inside(struct st_end *e, uintptr_t value, st_header_t *hdr, void *pay,
			  int64_t deadline)
{
	int error;

	if (!st_enter_end(e, value))
		return EBADF;
	error = st_connected(e, value);
	return st_leave(e, error ? error : receive(e, value, hdr, pay, deadline));
}

ST_API int st_rx(st_chandle_t *chandle, st_header_t *hdr, void *opt_pay,
		 struct timeval *timeout)
{
	uintptr_t value;
	struct st_end *e = st_find(chandle, &value);
	st_header_t got;
	int error;

	if (!e)
		return EBADF;
	if (!hdr || !time_valid(timeout))
		return st_error(EINVAL);
	error = next(e, value, &got, opt_pay);
	if (error == EWOULDBLOCK || error == EBADMSG)
		error = receive_inside(e, value, &got, opt_pay, deadline_of(timeout));
	if (!error)
		*hdr = got;
	return st_error(error);
}
