// SPDX-License-Identifier: LGPL-2.1-only
/*
 * connect.c - dd_connect()
 *
 * Copyright (C) 2026 The dd authors
 */
#include "conn.h"
#include "ddp.h"
#include "error.h"
#include "list.h"
#include "region.h"

/* These attributes are the kernel's flags. */
#define CONNECT_FLAGS	(DD_ATTR_LIST | DD_ATTR_NODIRECT | DD_ATTR_DIRECT_ANY | \
			 DD_ATTR_TIMEOUT)
_Static_assert(CONNECT_FLAGS == (DD_CONNECT_FLAGS & ~DD_CONNECT_ANON) &&
	       DD_ATTR_LIST == DD_CONNECT_LIST &&
	       DD_ATTR_NODIRECT == DD_CONNECT_NODIRECT &&
	       DD_ATTR_TIMEOUT == DD_CONNECT_TIMEOUT, "flags");

/* Without @timeout. */
#define CONNECT_ATTR_SIZE0	offsetof(struct dd_connect_attr, timeout)

static int connect_prepare(struct dd *h, const char *name, int node,
			   const struct dd_connect_attr *attr,
			   struct dd_connect *cn)
{
	int ret;

	if (!attr || (attr->size != sizeof(*attr) &&
		      (attr->size != CONNECT_ATTR_SIZE0 ||
		       attr->flags & DD_ATTR_TIMEOUT)) ||
	    attr->flags & ~(CONNECT_FLAGS | DD_ATTR_ANON) || attr->type < DD_TYPE_RPC ||
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
	ret = ddi_name_copy(cn->name, name);
	if (!ret)
		ret = ddi_region_check(h, "send", attr->send, attr->send_size,
				       &cn->send);
	if (!ret)
		ret = ddi_region_check(h, "receive", attr->recv,
				       attr->recv_size, &cn->recv);
	if (!ret && (node < 0 || node >= dd_max_nodes(h))) {
		ret = -EBADSERVER;
		ddi_reason(h, ret, "there is no node %d, only 0 to %d", node,
			   dd_max_nodes(h) - 1);
	}
	cn->node = node;
	return ret;
}

/* Explain what the error number does not. */
static void connect_reason(struct dd *h, int ret, const char *name, int node)
{
	ddi_reason_kernel(h, ret);
	switch (-ret) {
	case EUSERS:
		ddi_reason(h, ret, "service '%.63s' on node %d has no block for this user: each has a connection, or messages unread, or another user's requests without a reply; one has to close, or the server to go on",
			   name, node);
		break;
	case ENOBUFS:
		ddi_reason(h, ret, "service '%.63s' on node %d cannot accept: its server has reached its limit of locked memory (RLIMIT_MEMLOCK)%s",
			   name, node, node == dd_node(h) ? "" :
			   ", or that node is out of memory");
		break;
	case EDQUOT:
		ddi_memlock_reason(h, "this connection");
		break;
	case EACCES:
		ddi_reason(h, ret, "service '%.63s' on node %d does not let this user connect",
			   name, node);
		break;
	case ECONNREFUSED:
		ddi_reason(h, ret, "node %d has no service '%.63s': 'ddctl service' there lists those it has",
			   node, name);
		break;
	case ENONET:
		ddi_reason(h, ret, "node %d is no peer of this one, node %d: see 'ddctl peer'",
			   node, dd_node(h));
		break;
	case EHOSTUNREACH:
		ddi_reason(h, ret, "node %d does not answer: 'ddctl peer show %d' may say why",
			   node, node);
		break;
	case ETIMEDOUT:
		ddi_reason(h, ret, "node %d has not answered in time: 'ddctl peer show %d' may say why",
			   node, node);
		break;
	case EAGAIN:
		ddi_reason(h, ret, "node %d is another one, whose answer has to be waited for: give a timeout that is not 0",
			   node);
		break;
	case EPROTONOSUPPORT:
		ddi_reason(h, ret, "node %d speaks no version of the protocol that this one speaks",
			   node);
		break;
	case EPROTO:
		ddi_reason(h, ret, "node %d and this one do not understand each other: 'ddctl peer show %d' may say why",
			   node, node);
		break;
	}
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
		return ddi_error(ret);
	if (list)
		*list = attr->type == DD_TYPE_RPC ? 0 : cn.list;
	return DD_SERIAL_ID(cn.conn);
}

