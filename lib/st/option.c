// SPDX-License-Identifier: LGPL-2.1-only
/*
 * option.c - parameters of a connection
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <limits.h>

#include "end.h"
#include "rx.h"

/**
 * struct limits - values of an option
 * @min: the smallest one
 * @max: the largest one
 * @power: powers of two only
 * @when: when it may be set
 */
static const struct limits {
	int min;
	int max;
	bool power;
	enum { NEVER, IDLE, CONNECTED, ALWAYS } when;
} limits[ST_OPTIONS] = {
	[ST_OPT_BUFSIZE_LOCAL] = { ST_BUFSIZE_MIN, ST_BUFSIZE_MAX, true, IDLE },
	[ST_OPT_BUFX_BASE] = { 0, INT_MAX, false, IDLE },
	[ST_OPT_BUFX_COUNT] = { 1, ST_BUFX_MAX, false, IDLE },
	[ST_OPT_CHANNELS] = { 1, ST_CHANNELS_ALL, false, IDLE },
	[ST_OPT_IANA_LOCAL] = { 0, UINT16_MAX, false, IDLE },
	[ST_OPT_KEY_LOCAL] = { INT_MIN, INT_MAX, false, IDLE },
	[ST_OPT_MAXSTU_LOCAL] = { ST_MAXSTU_MIN, ST_STU_UNLIMITED, true, IDLE },
	[ST_OPT_MAXSTU_REMOTE] = { ST_MAXSTU_MIN, INT_MAX, true, CONNECTED },
	[ST_OPT_PORTLEN_LOCAL] = { 1, ST_PORTLEN_MAX, false, IDLE },
	[ST_OPT_RX_WINDOW_LOCAL] = { 1, ST_RX_SLOTS, false, IDLE },
	[ST_OPT_THREAD_SAFETY] = { ST_THREAD_NONE, ST_THREAD_FULL, false, IDLE },
	[ST_OPT_LITERAL] = { 0, 1, false, ALWAYS },
};

static bool known(int optname)
{
	return optname > 0 && optname < ST_OPTIONS;
}

/* Parameters of the other end, and of this one as the other end has them. */
static bool connected_only(int optname)
{
	switch (optname) {
	case ST_OPT_BUFSIZE_REMOTE:
	case ST_OPT_IANA_REMOTE:
	case ST_OPT_KEY_REMOTE:
	case ST_OPT_MAXSTU_REMOTE:
	case ST_OPT_PORT_LOCAL:
	case ST_OPT_PORT_REMOTE:
	case ST_OPT_PORTLEN_REMOTE:
	case ST_OPT_RX_WINDOW_REMOTE:
		return true;
	}
	return false;
}

/* The handle is locked. */
static int option_get(const struct st_end *e, int optname)
{
	switch (optname) {
	case ST_OPT_BUFSIZE_REMOTE:
		return e->remote.bufsize;
	case ST_OPT_CHANNELS:
		return e->option[optname] & (e->state == ST_CONNECTED ? e->remote.channels :
					     ST_CHANNELS_ALL);
	case ST_OPT_IANA_LOCAL:
		return e->state == ST_IDLE ? e->option[optname] : (int)e->iana;
	case ST_OPT_IANA_REMOTE:
		return e->remote.iana;
	case ST_OPT_KEY_REMOTE:
		return e->remote.key;
	case ST_OPT_PORT_LOCAL:
		return e->port;
	case ST_OPT_PORT_REMOTE:
		return e->remote.port;
	case ST_OPT_PORTLEN_REMOTE:
		return e->remote.portlen;
	case ST_OPT_RX_WINDOW_REMOTE:
		return e->window;
	case ST_OPT_THREAD_SAFETY:
		return ST_THREAD_FULL;
	case ST_OPT_RX_PAYLOAD:
		return st_rx_payload;
	case ST_OPT_RX_DROPPED:
		return __atomic_load_n(&e->dropped, __ATOMIC_RELAXED);
	}
	return e->option[optname];
}

ST_API int st_getopt(st_chandle_t chandle, int optname, void *optval)
{
	struct st_end *e = st_enter(chandle);
	int error = 0;

	if (!e)
		return EBADF;
	pthread_mutex_lock(&e->lock);
	if (!known(optname))
		error = ENOPROTOOPT;
	else if (!optval)
		error = EINVAL;
	else if (connected_only(optname) && e->state != ST_CONNECTED)
		error = ENOTCONN;
	else
		*(int *)optval = option_get(e, optname);
	pthread_mutex_unlock(&e->lock);
	return st_leave(e, error);
}

static bool permitted(int optname, int value)
{
	const struct limits *l = &limits[optname];

	if (value < l->min || value > l->max)
		return false;
	return !l->power || value >= ST_STU_UNLIMITED || !(value & (value - 1));
}

/* The handle is locked. */
static int option_set(struct st_end *e, int optname, const int *value)
{
	const struct limits *l = &limits[optname];

	if (l->when == NEVER)
		return ENOPROTOOPT;
	if (!value)
		return EINVAL;
	if (l->when == IDLE && e->state != ST_IDLE)
		return EISCONN;
	if (l->when == CONNECTED && e->state != ST_CONNECTED)
		return ENOTCONN;
	if (!permitted(optname, *value))
		return EINVAL;
	/* Senders load these two without the lock. */
	__atomic_store_n(&e->option[optname], *value, __ATOMIC_RELAXED);
	return 0;
}

ST_API int st_setopt(st_chandle_t chandle, int optname, void *optval)
{
	struct st_end *e = st_enter(chandle);
	int error = ENOPROTOOPT;

	if (!e)
		return EBADF;
	pthread_mutex_lock(&e->lock);
	if (known(optname))
		error = option_set(e, optname, optval);
	pthread_mutex_unlock(&e->lock);
	return st_leave(e, error);
}
