// SPDX-License-Identifier: LGPL-2.1-only
/*
 * rendezvous.c - serving and connecting
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "dev.h"
#include "error.h"
#include "list.h"
#include "open.h"
#include "region.h"

static int name_copy(struct dd *h, unsigned char *to, const char *name)
{
	size_t len = name ? strnlen(name, DD_NAME_MAX + 1) : 0;

	if (!len || len > DD_NAME_MAX) {
		ddi_reason(h, -EINVAL, "the name of a service has 1 to %d bytes, not %s", DD_NAME_MAX,
			   len ? "more" : "0");
		return -EINVAL;
	}
	memcpy(to, name, len);
	return 0;
}

/* The attributes are the kernel's flags. */
_Static_assert(DD_ATTR_LIST == DD_SERVE_LIST && DD_ATTR_ACCEPT == DD_SERVE_ACCEPT &&
	       DD_ATTR_NODIRECT == DD_SERVE_NODIRECT &&
	       DD_ATTR_DIRECT_ANY == DD_SERVE_DIRECT_ANY &&
	       DD_ATTR_CLOSE == DD_SERVE_CLOSE && DD_ATTR_UID == DD_SERVE_UID &&
	       DD_ATTR_SAME_USER == DD_SERVE_SAME_USER &&
	       DD_ATTR_GID == DD_SERVE_GID && DD_ATTR_SHARED == DD_SERVE_SHARED, "flags");

static int serve_prepare(struct dd *h, const char *name,
			 const struct dd_serve_attr *attr, struct dd_serve *sv)
{
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
	return name_copy(h, sv->name, name) ?:
	       ddi_region_check(h, "receive", attr->recv, attr->recv_size, &sv->recv) ?:
	       ddi_region_check(h, "reply", attr->send, attr->send_size, &sv->send);
}

/* dd.lock is held. */
static int serve_locked(struct dd *h, struct dd_serve *sv)
{
	struct ddi_service *s = calloc(1, sizeof(*s));
	int ret = s ? ddi_ioctl(h, DD_IOC_SERVE, sv) : -ENOMEM;

	if (ret >= 0) {
		s->id = sv->service;
		s->list = ddi_list_bind(h, sv->list, sv->list_unit);
		s->next = h->services;
		if (s->list) {
			ddi_at_shutdown(h, ddi_conn_release);
			h->services = s;
			return 0;
		}
		ddi_ioctl_id(h, DD_IOC_UNSERVE, sv->service);
		ret = -ENOMEM;
	}
	free(s);
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
	ret = serve_locked(h, &sv);
	pthread_mutex_unlock(&h->lock);
	ddi_reason_kernel(h, ret);
	if (ret == -EDQUOT)
		ddi_memlock_reason(h, "this service");
	if (ret == -EEXIST)
		ddi_reason(h, ret, "service name '%.63s' is in use on this node", name);
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
	s = ddi_service_find(h, id);
	if (s && s->dying)
		s = NULL;
	if (s)
		s->dying = true;
	for (struct ddi_conn *c = h->conns; s && c; c = c->next)
		if (c->service == id)
			ddi_conn_end(c);
	pthread_mutex_unlock(&h->lock);
	return s;
}

/*
 * Prepare the connections of a service for its end; no lock is held. The first drain
 * starts all of them, the second one waits. Those that have a list of their own are
 * closed with that list locked.
 */
static void service_close(struct dd *h, const struct ddi_service *s)
{
	for (int step = 0; step < 3; step++) {
		struct ddi_conn *c = ddi_load_acquire(&h->conns);

		for (; c; c = c->next) {
			uint64_t serial = ddi_load(&c->dead);

			if (!serial || ddi_load(&c->service) != s->id)
				continue;
			if (step < 2)
				ddi_conn_drain(h, c, serial, step ? DD_FOREVER : 0);
			else if (ddi_load(&c->list) != s->list)
				ddi_conn_close(h, c, serial);
		}
	}
}

/* The kernel has ended its connections. */
static void service_bury(struct dd *h, struct ddi_service *s)
{
	struct ddi_service **at = &h->services;

	pthread_mutex_lock(&h->lock);
	for (struct ddi_conn *c = h->conns; c; c = c->next)
		if (c->service == s->id)
			ddi_conn_unbind(h, c);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	pthread_mutex_unlock(&h->lock);
	free(s);
}

DD_API int dd_unserve(struct dd *h, int service)
{
	struct ddi_service *s;
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	s = service_kill(h, service);
	if (!s)
		return -EBADID;
	service_close(h, s);
	/* No thread may be reading the list when the kernel frees it. */
	ddi_lock(&s->list->lock);
	do {
		ret = ddi_ioctl_id(h, DD_IOC_UNSERVE, service);
	} while (ret == -EINTR);
	ddi_unlock(&s->list->lock);

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

/* These attributes are the kernel's flags. */
#define CONNECT_FLAGS	(DD_ATTR_LIST | DD_ATTR_NODIRECT | DD_ATTR_DIRECT_ANY | \
			 DD_ATTR_TIMEOUT)
_Static_assert(CONNECT_FLAGS == (DD_CONNECT_FLAGS & ~DD_CONNECT_ANON) &&
	       DD_ATTR_LIST == DD_CONNECT_LIST &&
	       DD_ATTR_NODIRECT == DD_CONNECT_NODIRECT &&
	       DD_ATTR_TIMEOUT == DD_CONNECT_TIMEOUT, "flags");

static int connect_prepare(struct dd *h, const char *name, int node,
			   const struct dd_connect_attr *attr,
			   struct dd_connect *cn)
{
	int ret;

	/* The first version of the attributes has no @timeout. */
	if (!attr || (attr->size != sizeof(*attr) &&
		      (attr->size != offsetof(struct dd_connect_attr, timeout) ||
		       attr->flags & DD_ATTR_TIMEOUT)) ||
	    attr->flags & ~(CONNECT_FLAGS | DD_ATTR_ANON | DD_ATTR_ERRNO) || attr->type < DD_TYPE_RPC ||
	    attr->type > DD_TYPE_STREAM || attr->window > DD_WINDOW_MAX)
		return -EINVAL;
	cn->type = attr->type;
	cn->window = attr->window;
	cn->flags = (attr->flags & CONNECT_FLAGS) |
		    (h->direct ? 0 : DD_CONNECT_NODIRECT);
	cn->list = attr->list;
	if (attr->type == DD_TYPE_RPC || attr->flags & DD_ATTR_ANON)
		cn->flags = (cn->flags & ~DD_CONNECT_LIST) | DD_CONNECT_ANON;
	else if (attr->flags & DD_ATTR_LIST && attr->list <= 0)
		return -EBADID;
	ret = name_copy(h, cn->name, name) ?:
	      ddi_region_check(h, "send", attr->send, attr->send_size, &cn->send) ?:
	      ddi_region_check(h, "receive", attr->recv, attr->recv_size, &cn->recv);
	if (!ret && (node < 0 || node >= dd_max_nodes(h))) {
		ret = attr->flags & DD_ATTR_ERRNO ? -ENONET : -EBADSERVER;
		ddi_reason(h, ret, "there is no node %d, only 0 to %d", node,
			   dd_max_nodes(h) - 1);
	}
	cn->node = node;
	return ret;
}

/* Why no connection was made, by errno. %1$d is the node, %2$s the service. */
static const struct {
	int error;
	const char *text;
} reasons[] = {
	{ ECONNREFUSED, "node %1$d has no service '%2$.63s': 'ddctl service' there lists those it has" },
	{ EUSERS, "service '%2$.63s' on node %1$d has no free block for this user: each has a client, unread messages, or another user's requests without an answer; wait until a client closes or the server answers" },
	{ ENOBUFS, "service '%2$.63s' on node %1$d cannot accept: its server has reached its limit of locked memory (RLIMIT_MEMLOCK), or that node is out of memory" },
	{ EACCES, "service '%2$.63s' on node %1$d does not let this user connect" },
	{ EHOSTUNREACH, "node %1$d does not answer: 'ddctl peer show %1$d' may say why" },
	{ ETIMEDOUT, "node %1$d has not answered in time: 'ddctl peer show %1$d' may say why" },
	{ EAGAIN, "node %1$d is another node, and its answer takes time: set a timeout other than 0" },
	{ EPROTONOSUPPORT, "node %1$d and this node have no protocol version in common: install the same release of dd on both" },
	{ EPROTO, "node %1$d has refused the session, or sent an invalid answer: 'ddctl peer show %1$d' may say why" },
};

/* Explain what the error number does not. */
static void connect_reason(struct dd *h, int ret, const char *name, int node)
{
	ddi_reason_kernel(h, ret);
	if (ret == -EDQUOT)
		ddi_memlock_reason(h, "this connection");
	if (ret == -ENONET)
		ddi_reason(h, ret, "node %d is no peer of this one, node %d: see 'ddctl peer'",
			   node, dd_node(h));
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (ret == -reasons[i].error)
			ddi_reason(h, ret, reasons[i].text, node, name);
}

static int connect_wait(struct dd *h, const struct dd_connect_attr *attr,
			struct dd_connect *cn)
{
	int64_t deadline = DD_FOREVER;
	int ret;

	if (attr->flags & DD_ATTR_TIMEOUT)
		deadline = attr->timeout ? ddi_deadline(attr->timeout) : 0;
	if (deadline < 0)
		cn->flags &= ~DD_CONNECT_TIMEOUT;
	do {
		cn->timeout = deadline < 0 ? 0 : ddi_remaining(deadline);
		ret = ddi_ioctl(h, DD_IOC_CONNECT, cn);
	} while (ret == -EINTR);
	/* The first call has waited already. */
	return ret == -EAGAIN && deadline ? -ETIMEDOUT : ret;
}

DD_API int dd_connect(struct dd *h, const char *name, int node,
		      const struct dd_connect_attr *attr, int *list)
{
	struct dd_connect cn = { .size = sizeof(cn) };
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	ddi_reason_clear(h);
	ret = connect_prepare(h, name, node, attr, &cn);
	if (ret)
		return ret;

	ret = connect_wait(h, attr, &cn);
	connect_reason(h, ret, name, node);
	/* A reply may have been consumed already, which has bound it. */
	if (ret >= 0 && !ddi_conn_load(h, cn.conn)) {
		ddi_ioctl_conn(h, DD_IOC_CLOSE, cn.conn);
		ret = -ENOMEM;
	}
	if (ret < 0)
		return attr->flags & DD_ATTR_ERRNO ? ret : ddi_error(ret);
	if (list)
		*list = attr->type == DD_TYPE_RPC ? 0 : cn.list;
	return DD_SERIAL_ID(cn.conn);
}
