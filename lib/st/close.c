// SPDX-License-Identifier: LGPL-2.1-only
/*
 * close.c - st_close(), st_delete()
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>

#include "map.h"
#include "remote.h"
#include "rx.h"

#define DRAIN_NS	10000000000ll	/* twice the default dead time of a peer */

/*
 * Wait until the other end has, inside its window, what was sent to it. On another node libdd does
 * that when it closes, as long as the node makes progress; on this node the bytes are there, and
 * it would not wait for the last header.
 */
static void drain(struct st_end *e)
{
	int64_t end = st_now() + DRAIN_NS;

	/* A sender that has the lock has no Data under way while it waits. */
	if (ddi_trylock(&e->order)) {
		st_settle(e, true);
		ddi_unlock(&e->order);
	}
	while (!e->far && st_now() < end &&
	       dd_done(e->h, e->conn, DD_DONE_PLACED, end - st_now()) == -ETIMEDOUT)
		;
}

/* Other calls have been asked to leave. */
static void connection_end(struct st_end *e)
{
	drain(e);
	/* Senders that wait for the window leave. */
	dd_close(e->h, e->conn);
}

/* End the connection or the offer, in a state in which there may be one. The handle is locked. */
static void end(struct st_end *e)
{
	bool connected = e->state == ST_CONNECTED;

	st_state_set(e, ST_CLOSING);
	if (e->h)
		st_wake(e);
	pthread_mutex_unlock(&e->lock);
	if (connected)
		connection_end(e);
	pthread_mutex_lock(&e->lock);
	st_alone(e);
	pthread_mutex_unlock(&e->lock);
	ddi_lock(&e->order);
	st_settle(e, true);
	ddi_unlock(&e->order);
	ddi_lock(&e->receive);
	ddi_unlock(&e->receive);
	st_maps_end(e);
	st_answers_end(e);
	st_end_clear(e);
	pthread_mutex_lock(&e->lock);
	st_state_set(e, ST_IDLE);
}

static bool may_end(const struct st_end *e)
{
	return e->state == ST_LISTENING || e->state == ST_OPENING || e->state == ST_CONNECTED;
}

ST_API int st_close(st_chandle_t chandle)
{
	struct st_end *e = st_enter(chandle);
	int error = ENOTCONN;

	if (!e)
		return EBADF;
	pthread_mutex_lock(&e->lock);
	if (may_end(e)) {
		end(e);
		error = 0;
	}
	pthread_mutex_unlock(&e->lock);
	return st_leave(e, error);
}

ST_API int st_delete(st_chandle_t chandle)
{
	struct st_end *e = st_enter(chandle);

	if (!e)
		return EBADF;
	pthread_mutex_lock(&e->lock);
	if (!st_end_close(e)) {
		pthread_mutex_unlock(&e->lock);
		return st_leave(e, EBADF);
	}
	st_close_wait(e);
	if (may_end(e))
		end(e);
	/* Calls that have failed may be about to leave. */
	st_alone(e);
	pthread_mutex_unlock(&e->lock);
	st_leave(e, 0);
	st_end_release(e);
	return 0;
}
