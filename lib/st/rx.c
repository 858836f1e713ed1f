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
	pthread_mutex_lock(&e->receive);
	*e->last = a;
	e->last = &a->next;
	pthread_mutex_unlock(&e->receive);
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
static int next(struct st_end *e, st_header_t *hdr, void *pay)
{
	int drops = 0, error;

	pthread_mutex_lock(&e->receive);
	do {
		error = st_state(e) == ST_CONNECTED ? take(e, hdr, pay) : ENOTCONN;
	} while (error == EBADMSG && ++drops < DROPS_MAX);
	pthread_mutex_unlock(&e->receive);
	return error;
}

/* The time when a call with @timeout ends: -1: no limit, 0: at once. */
static int deadline_of(const struct timeval *timeout, int64_t *deadline)
{
	*deadline = -1;
	if (!timeout)
		return 0;
	if (timeout->tv_sec < 0 || timeout->tv_usec < 0 || timeout->tv_usec >= 1000000)
		return EINVAL;
	*deadline = 0;
	if (timeout->tv_sec > INT32_MAX)
		*deadline = -1;
	else if (timeout->tv_sec || timeout->tv_usec)
		*deadline = st_now() + timeout->tv_sec * 1000000000ll + timeout->tv_usec * 1000ll;
	return 0;
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

static int receive(struct st_end *e, st_header_t *hdr, void *pay, int64_t deadline)
{
	st_header_t got;
	int error;

	for (;;) {
		error = next(e, &got, pay);
		if (!error)
			*hdr = got;
		if (error != EWOULDBLOCK && error != EBADMSG)
			break;
		if (deadline >= 0 && (!deadline || st_now() >= deadline))
			return EWOULDBLOCK;
		error = error == EBADMSG ? 0 : await(e, deadline);
		if (error)
			break;
	}
	if (error == ENOTCONN)
		st_cascade(e);
	return error;
}

ST_API int st_rx(st_chandle_t *chandle, st_header_t *hdr, void *opt_pay,
		 struct timeval *timeout)
{
	struct st_end *e = st_enter(chandle);
	int64_t deadline;
	int error = EINVAL;

	if (!e)
		return EBADF;
	if (hdr)
		error = deadline_of(timeout, &deadline);
	if (!error)
		error = receive(e, hdr, opt_pay, deadline);
	return st_leave(e, error);
}
