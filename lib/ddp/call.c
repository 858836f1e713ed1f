// SPDX-License-Identifier: LGPL-2.1-only
/*
 * call.c - remote procedure calls
 *
 * Copyright (C) 2026 The dd authors
 */
#include "recv.h"
#include "send.h"

/*
 * Send the request, tagged with its number. Waits for the request of an earlier call
 * that has timed out.
 */
static int call_send(struct dd *h, int conn, struct ddi_request *rq,
		     struct ddi_limit *limit)
{
	for (;;) {
		struct ddi_conn *c = ddi_conn_lock(h, conn);
		uint64_t n;
		int ret;

		if (!c)
			return -EBADID;
		n = ddi_submitted(c);
		rq->tag = n + 1;
		if (!rq->addr)
			rq->addr = c->send;
		ret = ddi_send_locked(h, c, rq);
		if (ret != -ENOTREADY) {
			ddi_unlock(&c->lock);
			return ret;
		}
		ret = ddi_send_wait(h, c, DD_DONE_PLACED, n,
				    ddi_remaining(ddi_limit_end(limit)));
		if (ret <= 0)
			return ret ? ret : -ETIMEDOUT;
	}
}

/* Wait for the reply to @tag; other messages are replies to calls that timed out. */
static int call_wait(struct dd *h, struct ddi_list *l, uint32_t list,
		     uint32_t tag, struct dd_msg *reply, unsigned int options,
		     struct ddi_limit *limit)
{
	for (bool again = false;; again = true) {
		int ret = ddi_list_next(h, l, list, 0, reply);

		if (ret < 0)
			return ret;
		if (ret == DD_MSG_CLOSE)
			return -ECONNCLOSE;
		if (ret && reply->tag == tag)
			return 0;
		/* The server may send other messages without end. */
		if (again && ddi_passed(ddi_limit_end(limit)))
			return -ETIMEDOUT;
		if (ret)
			continue;
		ret = ddi_list_wait(h, l, list, options, limit);
		if (ret)
			return ret;
	}
}

static int call_locked(struct dd *h, struct ddi_conn *c, int conn,
		       struct ddi_request *rq, struct dd_msg *reply,
		       unsigned int options, struct ddi_limit *limit)
{
	struct ddi_list *l = ddi_load(&c->list);
	uint32_t list = ddi_load(&c->list_id);
	struct dd_msg late;
	int ret;

	/* It may have been closed meanwhile, and the record reused. */
	if (!ddi_conn_is(c, conn))
		return -EBADID;
	/* Drop replies to calls that timed out. A close shows in the connection state as well. */
	while (ddi_list_next(h, l, list, 0, &late) > 0 && !ddi_passed(ddi_limit_end(limit)))
		;
	ret = call_send(h, conn, rq, limit);
	if (!ret)
		ret = call_wait(h, l, list, rq->tag, reply, options, limit);
	return ret;
}

DD_API int dd_call(struct dd *h, int conn, const void *addr, size_t len,
		   struct dd_msg *reply, unsigned int options, int64_t timeout)
{
	struct ddi_request rq = { .addr = addr, .len = len };
	struct ddi_limit limit = { .timeout = timeout };
	struct ddi_conn *c;
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	if (!reply || options & ~DDI_RECV_OPTIONS)
		return -EINVAL;
	c = ddi_conn_find(h, conn);
	if (!c)
		return -EBADID;
	if (c->service || c->type != DD_TYPE_RPC)
		return -EBADTYPE;
	if (!ddi_trylock(&c->call_lock)) {
		ret = ddi_lock_wait(&c->call_lock, ddi_limit_end(&limit));
		if (ret)
			return ret;
	}
	ret = call_locked(h, c, conn, &rq, reply, options, &limit);
	ddi_unlock(&c->call_lock);
	return ret;
}
