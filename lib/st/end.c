// SPDX-License-Identifier: LGPL-2.1-only
/*
 * end.c - handles, and calls inside them
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "dev.h"
#include "end.h"

static struct st_name *records[ST_HANDLES];

struct st_table st_ends = {
	.size = sizeof(struct st_end), .shift = ST_SHIFT(ST_HANDLES), .record = records,
};

static struct st_end *end_of(struct st_name *name)
{
	return (struct st_end *)name;
}

static void end_locks(struct st_end *e)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&e->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&e->changed, &attr);
	pthread_condattr_destroy(&attr);
	e->order = (struct ddi_lock){ 0 };
	e->receive = (struct ddi_lock){ 0 };
}

/* Memory of the parent is not freed: another thread may have been changing it. */
static void end_child(struct st_name *name)
{
	struct st_end *e = end_of(name);

	if (e->h)
		close(e->wake);
	e->h = NULL;
	e->map = NULL;
	e->maps = NULL;
	e->import = NULL;
	e->answers = NULL;
	e->users = 0;
	e->draining = 0;
	e->port = 0;
	e->state = ST_IDLE;
	end_locks(e);
}

static void in_child(void)
{
	st_table_child(&st_ends, end_child);
}

static const int defaults[ST_OPTIONS] = {
	[ST_OPT_BUFSIZE_LOCAL] = ST_BUFSIZE_MIN,
	[ST_OPT_BUFX_COUNT] = 256,
	[ST_OPT_CHANNELS] = ST_CHANNELS_ALL,
	[ST_OPT_MAXSTU_LOCAL] = 65536,
	[ST_OPT_PORTLEN_LOCAL] = 1,
	[ST_OPT_RX_SLOTS] = ST_RX_SLOTS,
	[ST_OPT_RX_WINDOW_LOCAL] = 64,
	[ST_OPT_THREAD_SAFETY] = ST_THREAD_FULL,
};

static void watch_fork(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

static int create(st_chandle_t *chandle)
{
	static pthread_once_t watching = PTHREAD_ONCE_INIT;
	struct st_end *e;

	if (!chandle)
		return EINVAL;
	pthread_once(&watching, watch_fork);
	e = end_of(st_table_take(&st_ends));
	if (!e)
		return ENOMEM;
	if (!e->name.use)
		end_locks(e);
	memcpy(e->option, defaults, sizeof(defaults));
	do {
		st_random(&e->option[ST_OPT_KEY_LOCAL], sizeof(int));
	} while (!e->option[ST_OPT_KEY_LOCAL]);
	*chandle = (st_chandle_t)st_table_open(&st_ends, &e->name);
	return 0;
}

ST_API int st_create(st_chandle_t *chandle)
{
	return st_error(create(chandle));
}

struct st_end *st_enter(const void *chandle)
{
	uintptr_t value;
	struct st_end *e = st_find(chandle, &value);

	if (e && st_enter_end(e, value))
		return e;
	errno = EBADF;
	return NULL;
}

bool st_enter_end(struct st_end *e, uintptr_t value)
{
	__atomic_add_fetch(&e->users, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&e->name.value, __ATOMIC_SEQ_CST) == value)
		return true;
	st_leave(e, 0);
	return false;
}

int st_leave(struct st_end *e, int error)
{
	__atomic_sub_fetch(&e->users, 1, __ATOMIC_SEQ_CST);
	/* Pairs with st_alone(): that sees @users, or this sees @draining. */
	if (__atomic_load_n(&e->draining, __ATOMIC_SEQ_CST)) {
		pthread_mutex_lock(&e->lock);
		pthread_cond_broadcast(&e->changed);
		pthread_mutex_unlock(&e->lock);
	}
	return st_error(error);
}

void st_alone(struct st_end *e)
{
	__atomic_store_n(&e->draining, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&e->users, __ATOMIC_SEQ_CST) > 1)
		pthread_cond_wait(&e->changed, &e->lock);
	__atomic_store_n(&e->draining, 0, __ATOMIC_SEQ_CST);
}

void st_state_set(struct st_end *e, enum st_state state)
{
	__atomic_store_n(&e->state, state, __ATOMIC_SEQ_CST);
	pthread_cond_broadcast(&e->changed);
}

int st_open_begin(struct st_end *e, enum st_state from)
{
	int error = 0;

	pthread_mutex_lock(&e->lock);
	if (e->state == from)
		st_state_set(e, ST_OPENING);
	else
		error = e->state == ST_IDLE || e->state == ST_LISTENING ? EINVAL : EISCONN;
	pthread_mutex_unlock(&e->lock);
	return error;
}

int st_open_end(struct st_end *e, enum st_state from, enum st_state to, int error)
{
	pthread_mutex_lock(&e->lock);
	if (e->state == ST_CLOSING)
		error = error ? error : ECONNRESET;
	else
		st_state_set(e, error ? from : to);
	pthread_mutex_unlock(&e->lock);
	return error;
}

/* An end that has one of these ports, or NULL. The tables are locked. */
static const struct st_end *port_user(unsigned int first, unsigned int len)
{
	for (unsigned int i = 0; i < st_ends.count; i++) {
		const struct st_end *e = end_of(st_ends.record[i]);

		if (e->port && e->port < first + len &&
		    first < e->port + e->option[ST_OPT_PORTLEN_LOCAL])
			return e;
	}
	return NULL;
}

int st_port_take(struct st_end *e)
{
	static unsigned int next = 1;
	unsigned int len = e->option[ST_OPT_PORTLEN_LOCAL];
	const struct st_end *user = NULL;

	st_table_lock();
	/* Twice round: each step passes the ports of one end. */
	for (int i = 0; i < 2 * ST_HANDLES && !e->port; i++) {
		if (next + len - 1 > UINT16_MAX)
			next = 1;
		user = port_user(next, len);
		if (!user)
			e->port = next;
		next = user ? user->port + user->option[ST_OPT_PORTLEN_LOCAL] : next + len;
	}
	st_table_unlock();
	return e->port ? 0 : EADDRNOTAVAIL;
}

static void port_release(struct st_end *e)
{
	st_table_lock();
	e->port = 0;
	st_table_unlock();
}

int st_end_open(struct st_end *e)
{
	struct dd *h;
	int fd, ret;

	ret = dd_open(&h);
	if (ret)
		return st_errno(ret);
	fd = ddi_fd_above(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
	if (fd < 0) {
		ret = errno;
		dd_shutdown(h);
		return ret;
	}
	st_random(e->nonce, sizeof(e->nonce));
	e->service = 0;
	e->conn = 0;
	e->reset = false;
	e->place = 0;
	e->sources = 0;
	e->submitted = 0;
	e->counted = 0;
	e->busy = NULL;
	e->under_way = 0;
	e->bad = 0;
	e->last = &e->answers;
	e->dropped = 0;
	pthread_mutex_lock(&e->lock);
	e->wake = fd;
	e->h = h;
	pthread_mutex_unlock(&e->lock);
	return 0;
}

void st_end_clear(struct st_end *e)
{
	struct dd *h;

	pthread_mutex_lock(&e->lock);
	h = e->h;
	e->h = NULL;
	if (h)
		close(e->wake);
	pthread_mutex_unlock(&e->lock);
	if (h)
		dd_shutdown(h);
	port_release(e);
}

void st_wake(struct st_end *e)
{
	eventfd_write(e->wake, 1);
}

void st_cascade(struct st_end *e)
{
	pthread_mutex_lock(&e->lock);
	if (e->h && (e->state == ST_CLOSING || __atomic_load_n(&e->reset, __ATOMIC_RELAXED)))
		st_wake(e);
	pthread_mutex_unlock(&e->lock);
}

int64_t st_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int sleep_until(struct st_end *e, int fd, int64_t deadline)
{
	struct pollfd fds[] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = e->wake, .events = POLLIN },
	};
	int64_t left = deadline < 0 ? 0 : deadline - st_now();
	struct timespec t;
	eventfd_t n;
	int ret;

	if (left < 0)
		left = 0;
	t = (struct timespec){ left / 1000000000, left % 1000000000 };
	ret = ppoll(fds, 2, deadline < 0 ? NULL : &t, NULL);
	if (ret < 0)
		return errno;
	if (fds[1].revents)
		eventfd_read(e->wake, &n);
	return ret ? 0 : EWOULDBLOCK;
}

int st_sleep(struct st_end *e, int64_t deadline)
{
	return sleep_until(e, dd_fd(e->h), deadline);
}

int st_pause(struct st_end *e, int64_t deadline)
{
	/* A negative descriptor is passed over. */
	return sleep_until(e, -1, deadline);
}

int st_errno(int ret)
{
	switch (-ret) {
	case EMEMLOCK:
	case ENORESOURCE:
	case EDQUOT:
	case ENOSPC:
	case ENOBUFS:
		return ENOMEM;
	case EBADID:
	case ECONNCLOSE:
	case ESTALE:
	case EHOSTUNREACH:
	case ENETDOWN:
		return ECONNRESET;
	}
	return dd_errno(ret);
}

void st_random(void *to, size_t len)
{
	/*
	 * Without waiting for entropy after boot, for which some machines wait without end: what
	 * protects memory is that the kernel admits only the other end's user, and only once.
	 */
	while (getrandom(to, len, GRND_INSECURE) != (ssize_t)len)
		;
}

bool st_end_close(struct st_end *e)
{
	uintptr_t value = __atomic_load_n(&e->name.value, __ATOMIC_SEQ_CST);

	return value && st_table_close(&e->name, value);
}

void st_close_wait(struct st_end *e)
{
	/* That waits until it is the only call inside. The record stays, without a handle. */
	__atomic_sub_fetch(&e->users, 1, __ATOMIC_SEQ_CST);
	pthread_cond_broadcast(&e->changed);
	while (e->state == ST_CLOSING)
		pthread_cond_wait(&e->changed, &e->lock);
	__atomic_add_fetch(&e->users, 1, __ATOMIC_SEQ_CST);
}

void st_end_release(struct st_end *e)
{
	st_table_release(&st_ends, &e->name);
}
