// SPDX-License-Identifier: LGPL-2.1-only
/*
 * map.c - memory of this end
 *
 * Copyright (C) 2026 The dd authors
 *
 * Memory for receiving is a segment of libdd that only the other end's user on the other end's
 * node can import, once, and whose name contains a random number that only the other end knows.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "map.h"
#include "remote.h"

#define MAPS		65536		/* of a process */

/**
 * struct st_map - a map
 * @name: the handle
 * @end: the connection, whose lock protects the rest; its handle is @owner
 * @owner: see @end
 * @flags: ST_PIN_*
 * @ptr: first byte
 * @len: bytes
 * @first: first buffer, counted from ST_OPT_BUFX_BASE
 * @count: buffers
 * @mx: with ST_PIN_RX
 * @segment: with ST_PIN_RX, of libdd
 * @state: of that, if the other end is on another node; else NULL
 * @readers: transmissions that use the memory
 * @next: of st_end.maps
 * @link: where it is linked
 */
struct st_map {
	struct st_name name;
	struct st_end *end;
	uintptr_t owner;
	int flags;
	char *ptr;
	size_t len;
	unsigned int first;
	unsigned int count;
	uint32_t mx;
	uint64_t segment;
	const struct dd_export_state *state;
	unsigned int readers;
	struct st_map *next;
	struct st_map **link;
};

static struct st_name *records[MAPS];

static struct st_table maps = {
	.size = sizeof(struct st_map), .shift = ST_SHIFT(MAPS), .record = records,
};

static void map_child(struct st_name *name)
{
	(void)name;
}

static void in_child(void)
{
	st_table_child(&maps, map_child);
}

static void watch_fork(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

/* ---- arguments ------------------------------------------------------------- */

/* Compute the number of bytes from that of buffers, or the other way round: 0 or an error. */
static int extent(int bufsize, size_t *len, int *count)
{
	size_t buffers;

	if (*len == (size_t)-1) {
		if (*count < 1)
			return EINVAL;
		*len = (size_t)*count * bufsize;
		return 0;
	}
	buffers = *len / bufsize + !!(*len % bufsize);
	if (!buffers || (*count != -1 && (size_t)*count != buffers))
		return EINVAL;
	if (buffers > ST_BUFX_MAX)
		return ERANGE;
	*count = buffers;
	return 0;
}

static int arguments(const struct st_end *e, int flags, const void *ptr, size_t *len, int base,
		     int *count, const st_mhandle_t *mhandle, const int *mx)
{
	int64_t first = e->option[ST_OPT_BUFX_BASE], all = e->option[ST_OPT_BUFX_COUNT];
	int error;

	if (!flags || flags & ~(ST_PIN_TX | ST_PIN_RX) || !ptr || !mhandle ||
	    (flags & ST_PIN_RX && !mx))
		return EINVAL;
	error = extent(e->option[ST_OPT_BUFSIZE_LOCAL], len, count);
	if (error)
		return error;
	if (flags & ST_PIN_RX && ((uintptr_t)ptr | *len) % sizeof(uint32_t))
		return EINVAL;
	if (*len > UINTPTR_MAX - (uintptr_t)ptr)
		return EFAULT;
	return base < first || (int64_t)base + *count > first + all ? ERANGE : 0;
}

/* ---- st_map() -------------------------------------------------------------- */

/* Occupy buffers for a map: 0 or EBUSY. It is not found while its @len is 0. */
static int occupy(struct st_end *e, struct st_map *m)
{
	unsigned int i, end = m->first + m->count;
	int error = 0;

	pthread_mutex_lock(&e->lock);
	for (i = m->first; i < end && !error; i++)
		if (e->map[i])
			error = EBUSY;
	for (i = m->first; i < end && !error; i++)
		e->map[i] = m;
	if (!error) {
		e->sequence = e->sequence % (ST_MX_SEQUENCES - 1) + 1;
		m->mx = ST_MX(e->sequence, m->flags & ST_PIN_TX, m->first);
	}
	pthread_mutex_unlock(&e->lock);
	return error;
}

static void vacate(struct st_end *e, struct st_map *m)
{
	pthread_mutex_lock(&e->lock);
	for (unsigned int i = m->first; i < m->first + m->count; i++)
		e->map[i] = NULL;
	pthread_mutex_unlock(&e->lock);
}

/*
 * A process of the same user on this node may write by a window, and so could read as well: it
 * could read the memory of this process anyway. Others read only what is mapped for both.
 */
static unsigned int rights(const struct st_end *e, const struct st_map *m)
{
	bool same = !e->far && e->uid == geteuid();

	return DD_CAN_PUT | (m->flags & ST_PIN_TX || same ? DD_CAN_GET : 0);
}

static int publish(struct st_end *e, struct st_map *m, size_t len)
{
	struct dd_export_attr attr = {
		.size = sizeof(attr), .addr = m->ptr, .len = len, .key_class = DD_KEY_NAME,
		.rights = rights(e, m), .notify = DD_NOTIFY_NEVER, .users = DD_FOR_LISTED,
		.importers = 1, .window = ST_UNDER_WAY,
		.flags = e->far ? DD_EXPORT_REDIRECT : DD_EXPORT_DIRECT_ANY,
	};
	int ret;

	st_map_key(attr.key, e->nonce, m->mx);
	ret = dd_export(e->h, &attr, &m->segment);
	if (ret)
		return ret;
	m->state = attr.state;
	ret = dd_export_grant(e->h, m->segment, e->node, e->uid, attr.rights);
	if (ret)
		dd_unexport(e->h, m->segment);
	return ret;
}

static int pin(struct st_end *e, struct st_map *m, size_t len)
{
	int ret = dd_pin(e->h, m->ptr, len);

	if (ret || !(m->flags & ST_PIN_RX))
		return ret;
	ret = publish(e, m, len);
	if (ret)
		dd_unpin(e->h, m->ptr);
	return ret;
}

static void map_link(struct st_end *e, struct st_map *m, size_t len)
{
	pthread_mutex_lock(&e->lock);
	m->len = len;
	m->next = e->maps;
	m->link = &e->maps;
	if (m->next)
		m->next->link = &m->next;
	e->maps = m;
	pthread_mutex_unlock(&e->lock);
}

static int map(struct st_end *e, struct st_map *m, size_t len)
{
	int error, ret;

	error = occupy(e, m);
	if (error)
		return error;
	ret = pin(e, m, len);
	if (ret) {
		vacate(e, m);
		return st_errno(ret);
	}
	map_link(e, m, len);
	return 0;
}

static int map_new(struct st_end *e, int flags, void *ptr, size_t len, int base, int count,
		   struct st_map **new)
{
	static pthread_once_t watching = PTHREAD_ONCE_INIT;
	struct st_map *m;
	int error;

	pthread_once(&watching, watch_fork);
	m = (struct st_map *)st_table_take(&maps);
	if (!m)
		return ENOMEM;
	m->end = e;
	m->owner = e->name.value;
	m->flags = flags;
	m->ptr = ptr;
	m->len = 0;
	m->first = base - e->option[ST_OPT_BUFX_BASE];
	m->count = count;
	m->readers = 0;
	m->state = NULL;
	error = map(e, m, len);
	if (error)
		st_table_release(&maps, &m->name);
	*new = m;
	return error;
}

ST_API int st_map(st_chandle_t *chandle, int flags, void *ptr, size_t len, int bufx_base,
		  int bufx_count, st_mhandle_t *mhandle, int *Mx)
{
	struct st_end *e = st_enter(chandle);
	struct st_map *m;
	int error;

	if (!e)
		return EBADF;
	error = st_state(e) == ST_CONNECTED ? 0 : ENOTCONN;
	if (!error)
		error = arguments(e, flags, ptr, &len, bufx_base, &bufx_count, mhandle, Mx);
	if (!error)
		error = map_new(e, flags, ptr, len, bufx_base, bufx_count, &m);
	if (!error) {
		if (flags & ST_PIN_RX)
			*Mx = m->mx;
		*mhandle = (st_mhandle_t)st_table_open(&maps, &m->name);
	}
	return st_leave(e, error);
}

/* ---- its use --------------------------------------------------------------- */

void *st_map_get(struct st_end *e, int flags, uint32_t bufx, uint32_t off, uint32_t len,
		 struct st_map **map)
{
	uint64_t i = bufx - (uint64_t)e->option[ST_OPT_BUFX_BASE], at;
	struct st_map *m = NULL;
	void *ptr = NULL;

	pthread_mutex_lock(&e->lock);
	if (i < (uint64_t)e->option[ST_OPT_BUFX_COUNT])
		m = e->map[i];
	at = m ? (i - m->first) * e->option[ST_OPT_BUFSIZE_LOCAL] + off : 0;
	if (m && m->flags & flags && at <= m->len && len <= m->len - at) {
		m->readers++;
		ptr = m->ptr + at;
	}
	pthread_mutex_unlock(&e->lock);
	*map = m;
	return ptr;
}

void st_map_put(struct st_map *m)
{
	struct st_end *e = m->end;

	pthread_mutex_lock(&e->lock);
	if (!--m->readers)
		pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

uint32_t st_map_mx(const struct st_map *m)
{
	return m->mx;
}

int st_map_arrived(struct st_end *e, uint32_t mx, uint64_t request)
{
	uint32_t first = ST_MX_FIRST(mx);
	const struct st_map *m = NULL;
	int error = EBADMSG;

	pthread_mutex_lock(&e->lock);
	if (first < (uint32_t)e->option[ST_OPT_BUFX_COUNT])
		m = e->map[first];
	/* The state is there as long as the map has its length. */
	if (m && m->len && m->mx == mx && m->state)
		error = __atomic_load_n(&m->state->request, __ATOMIC_ACQUIRE) < request ? EAGAIN : 0;
	pthread_mutex_unlock(&e->lock);
	return error;
}

/* ---- st_unmap() ------------------------------------------------------------ */

/* No transmission begins to use the memory any more; wait for those that do. */
static void map_unlink(struct st_end *e, struct st_map *m)
{
	pthread_mutex_lock(&e->lock);
	m->len = 0;
	while (m->readers)
		pthread_cond_wait(&e->changed, &e->lock);
	*m->link = m->next;
	if (m->next)
		m->next->link = m->link;
	pthread_mutex_unlock(&e->lock);
}

static void unmap(struct st_end *e, struct st_map *m)
{
	map_unlink(e, m);
	if (m->flags & ST_PIN_RX)
		dd_unexport(e->h, m->segment);
	dd_unpin(e->h, m->ptr);
	vacate(e, m);
	st_table_release(&maps, &m->name);
}

ST_API int st_unmap(st_mhandle_t *mhandle)
{
	uintptr_t value;
	struct st_map *m = (struct st_map *)st_table_find(&maps, ST_SHIFT(MAPS), mhandle, &value);
	struct st_end *e;
	int error = EINVAL;

	/* The record may be another map's by now, of another connection. */
	if (!m || !st_enter_end(e = m->end, m->owner)) {
		errno = EINVAL;
		return EINVAL;
	}
	if (st_state(e) == ST_CONNECTED && st_table_close(&m->name, value)) {
		unmap(e, m);
		error = 0;
	}
	return st_leave(e, error);
}

void st_maps_end(struct st_end *e)
{
	struct st_map *m, *next;

	for (m = e->maps; m; m = next) {
		next = m->next;
		st_table_close(&m->name, m->name.value);
		st_table_release(&maps, &m->name);
	}
	e->maps = NULL;
	free(e->map);
	e->map = NULL;
	free(e->import);
	e->import = NULL;
}
