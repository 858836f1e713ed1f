// SPDX-License-Identifier: LGPL-2.1-only
/*
 * serve.c - dd_serve(), dd_unserve(), dd_conn_list()
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "ddp.h"
#include "error.h"
#include "list.h"
#include "region.h"

/* The id of a service that is being withdrawn. No id is negative. */
#define SERVICE_DYING	0xffffffffu

int ddi_name_copy(unsigned char *to, const char *name)
{
	size_t len = name ? strnlen(name, DD_NAME_MAX + 1) : 0;

	if (!len || len > DD_NAME_MAX)
		return -EINVAL;
	memcpy(to, name, len);
	return 0;
}

static int service_bind(struct dd *h, struct ddi_service *s,
			const struct dd_serve_attr *attr,
			const struct dd_serve *sv)
{
	if (!ddi_list_bind(h, sv->list, sv->list_unit))
		return -ENOMEM;
	s->list = sv->list;
	s->maxconn = attr->maxconn;
	s->window = attr->window;
	s->cells = h->area + (size_t)sv->cells_unit * DD_UNIT;
	s->cell_size = (size_t)sv->cell_units * DD_UNIT;
	s->recv = attr->recv;
	s->recv_block = sv->recv_block;
	s->send = attr->send;
	s->send_block = sv->send_block;
	ddi_store_release(&s->id, sv->service);
	ddi_table_put(h->board.services, sv->service, s);
	return 0;
}

/* The attributes are the kernel's flags. */
_Static_assert(DD_ATTR_LIST == DD_SERVE_LIST && DD_ATTR_ACCEPT == DD_SERVE_ACCEPT &&
	       DD_ATTR_NODIRECT == DD_SERVE_NODIRECT &&
	       DD_ATTR_DIRECT_ANY == DD_SERVE_DIRECT_ANY &&
	       DD_ATTR_CLOSE == DD_SERVE_CLOSE && DD_ATTR_UID == DD_SERVE_UID &&
	       DD_ATTR_SAME_USER == DD_SERVE_SAME_USER &&
	       DD_ATTR_GID == DD_SERVE_GID, "flags");

static int serve_prepare(struct dd *h, const char *name,
			 const struct dd_serve_attr *attr, struct dd_serve *sv)
{
	int ret;

	if (attr->flags & ~DD_SERVE_FLAGS || !attr->maxconn ||
	    attr->maxconn > DD_MAXCONN_MAX || attr->window > DD_WINDOW_MAX ||
	    !attr->recv_size)
		return -EINVAL;
	if (attr->flags & DD_ATTR_LIST && attr->list <= 0)
		return -EBADID;
	sv->flags = attr->flags | (h->direct ? 0 : DD_SERVE_NODIRECT);
	sv->uid = attr->uid;
	sv->gid = attr->gid;
	sv->peruser = attr->peruser;
	sv->maxconn = attr->maxconn;
	sv->window = attr->window;
	sv->list = attr->list;
	ret = ddi_name_copy(sv->name, name);
	if (!ret)
		ret = ddi_region_check(h, "receive", attr->recv,
				       attr->recv_size, &sv->recv);
	if (!ret)
		ret = ddi_region_check(h, "reply", attr->send,
				       attr->send_size, &sv->send);
	return ret;
}

static int serve_locked(struct dd *h, const struct dd_serve_attr *attr,
			struct dd_serve *sv)
{
	struct ddi_service *s = ddi_service_new(h, attr->maxconn);
	int ret;

	if (!s)
		return -ENOMEM;
	ret = ddi_ioctl(h, DD_IOC_SERVE, sv);
	if (ret < 0)
		return ret;
	ret = service_bind(h, s, attr, sv);
	if (ret)
		ddi_ioctl_id(h, DD_IOC_UNSERVE, sv->service);
	return ret;
}

DD_API int dd_serve(struct dd *h, const char *name,
		    const struct dd_serve_attr *attr, int *list)
{
	struct dd_serve sv = { .size = sizeof(sv) };
	struct dd_serve_attr full = { 0 };
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	ddi_reason_clear(h);
	if (!attr || attr->size > sizeof(full) ||
	    attr->size < offsetof(struct dd_serve_attr, uid))
		return -EINVAL;
	/* The program may have been built with an older, shorter version. */
	memcpy(&full, attr, attr->size);
	attr = &full;
	ret = serve_prepare(h, name, attr, &sv);
	if (ret)
		return ret;

	pthread_mutex_lock(&h->lock);
	ret = serve_locked(h, attr, &sv);
	pthread_mutex_unlock(&h->lock);
	ddi_reason_kernel(h, ret);
	if (ret == -EDQUOT)
		ddi_memlock_reason(h, "this service");
	if (ret == -EEXIST)
		ddi_reason(h, ret, "service name '%.63s' is in use on this node",
			   name);
	if (ret < 0)
		return ddi_error(ret);
	if (list)
		*list = sv.list;
	return sv.service;
}

/*
 * Hide a service that is to be withdrawn: from here on its messages and its connections
 * are unknown, also those of clients that connect before the kernel has withdrawn it.
 */
static struct ddi_service *service_kill(struct dd *h, uint32_t id)
{
	struct ddi_service *s;

	pthread_mutex_lock(&h->lock);
	s = ddi_service_lookup(h, id);
	if (s) {
		ddi_store_release(&s->id, SERVICE_DYING);
		for (uint32_t i = 0; i < s->maxconn; i++)
			if (ddi_load(&s->blocks[i].serial))
				ddi_conn_end(&s->blocks[i]);
	}
	pthread_mutex_unlock(&h->lock);
	return s;
}

/* No lock is held: see ddi_conn_drain(). */
static void service_drain(struct dd *h, struct ddi_service *s, int64_t deadline)
{
	for (uint32_t i = 0; i < s->maxconn; i++)
		if (ddi_load(&s->blocks[i].closing))
			ddi_conn_drain(h, &s->blocks[i],
				       ddi_load(&s->blocks[i].dead), deadline);
}

/* Close connections that have a list of their own, with that list locked. */
static void service_close_lists(struct dd *h, struct ddi_service *s)
{
	for (uint32_t i = 0; i < s->maxconn; i++) {
		const struct ddi_conn *c = &s->blocks[i];
		uint32_t list = ddi_load(&c->list);

		if (ddi_load(&c->closing) && list && list != s->list)
			ddi_conn_close(h, c, ddi_load(&c->dead));
	}
}

/* The kernel has ended its connections. */
static void service_bury(struct dd *h, struct ddi_service *s)
{
	pthread_mutex_lock(&h->lock);
	for (uint32_t i = 0; i < s->maxconn; i++)
		if (ddi_load(&s->blocks[i].serial))
			ddi_conn_unbind(h, &s->blocks[i]);
	ddi_store_release(&s->id, 0);
	pthread_mutex_unlock(&h->lock);
}

DD_API int dd_unserve(struct dd *h, int service)
{
	struct ddi_service *s;
	struct ddi_list *l;
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	s = service > 0 ? service_kill(h, service) : NULL;
	if (!s)
		return -EBADID;
	/* The first call starts all of them, the second one waits. */
	service_drain(h, s, 0);
	service_drain(h, s, DD_FOREVER);
	service_close_lists(h, s);

	/* No thread may be reading the list when the kernel frees it. */
	l = ddi_list_bound(h, s->list);
	if (l)
		ddi_lock(&l->lock);
	do {
		ret = ddi_ioctl_id(h, DD_IOC_UNSERVE, service);
	} while (ret == -EINTR);
	if (l)
		ddi_unlock(&l->lock);

	service_bury(h, s);
	return ret < 0 ? ddi_error(ret) : 0;
}

DD_API int dd_conn_list(struct dd *h, int service, int *conns, int count)
{
	struct dd_conn_list cl = { .size = sizeof(cl), .service = service };
	uint64_t *serials;
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	if (count < 0 || (count && !conns))
		return -EINVAL;
	if (service <= 0)
		return -EBADID;
	if (count > DD_MAXCONN_MAX)
		count = DD_MAXCONN_MAX;
	serials = calloc(count + 1, sizeof(*serials));
	if (!serials)
		return -ENORESOURCE;
	cl.conns = (uintptr_t)serials;
	cl.count = count;
	ret = ddi_ioctl(h, DD_IOC_CONN_LIST, &cl);
	for (int i = 0; ret >= 0 && i < count && i < (int)cl.count; i++)
		conns[i] = DD_SERIAL_ID(serials[i]);
	free(serials);
	return ret < 0 ? ddi_error(ret) : (int)cl.count;
}

