// SPDX-License-Identifier: LGPL-2.1-only
/*
 * fake_send.c - what the kernel made of user code does with a request
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <string.h>
#include <linux/dd_ddp.h>

#include "fake_int.h"

void deliver(struct object *to, struct object *from)
{
	struct object *l = to->list;
	struct dd_list_head *lh = list_head(l);
	uint64_t *taken_at = &to->taken_at[to->posts % to->window];

	to->withheld = true;
	if (__atomic_load_n(&lh->head, __ATOMIC_ACQUIRE) < *taken_at) {
		__atomic_or_fetch(&lh->flags, DD_LIST_NEED_KICK,
				  __ATOMIC_SEQ_CST);
		/* The reader stores its head, then looks at the flag. */
		if (__atomic_load_n(&lh->head, __ATOMIC_SEQ_CST) < *taken_at)
			return;
	}
	*taken_at = list_post(l, &to->note);
	to->posts++;
	to->withheld = false;
	conn_cell(from)->done = conn_cell(from)->submitted;
}

void fake_counted(uint32_t conn, uint64_t n)
{
	struct object *c = object_get(conn, CONN);
	struct dd_cell *cell = conn_cell(c);

	cell->submitted = cell->sent = cell->done = n;
	conn_cell(c->peer)->received = n;
}

static const char *sqe_source(struct object *c, const struct dd_sqe *sqe)
{
	if (sqe->flags & DD_SQE_UNWIRED)
		return (const char *)sqe->src;
	if (sqe->flags & DD_SQE_REGION)
		return object_get(sqe->region, REGION)->addr + sqe->src;
	return c->send + sqe->src;
}

static int execute(struct object *c, const struct dd_sqe *sqe)
{
	struct dd_cell *cell = conn_cell(c);
	struct object *to = c->peer;
	uint32_t id = c->id;

	if (!(sqe->flags & (DD_SQE_UNWIRED | DD_SQE_REGION)) &&
	    (sqe->src > c->send_size || sqe->len > c->send_size - sqe->src))
		return -ERANGE;
	if (sqe->dst > to->recv_size || sqe->len > to->recv_size - sqe->dst)
		return -ERANGE;
	if (to->withheld)
		return -EBUSY;
	memcpy(to->recv + sqe->dst, sqe_source(c, sqe), sqe->len);
	cell->sent = ++cell->submitted;
	if (!(sqe->flags & DD_SQE_NOTIFY)) {
		cell->done = cell->submitted;
		if (fake.hang_up == id)
			hang_up(c);
		return 1;
	}
	to->note = (struct dd_note){
		.conn = serial_of(to), .type = DD_NOTE_DATA, .cookie = to->cookie,
		.offset = sqe->dst, .len = sqe->len, .tag = sqe->tag,
		.msgid = ++conn_cell(to)->received,
		.meta_count = sqe->meta_count,
	};
	memcpy(to->note.meta, sqe->meta, sizeof(sqe->meta));
	deliver(to, c);
	return 1;
}

int doorbell(uint64_t serial)
{
	struct object *c = conn_get(serial);
	const struct dd_sqe *sqe;

	if (!c)
		return -ENOENT;
	if (conn_cell(c)->error)
		return -conn_cell(c)->error;
	sqe = &conn_cell(c)->sq[0];
	return sqe->seq == conn_cell(c)->submitted + 1 ? execute(c, sqe) : 0;
}

int do_submit(struct dd_submit *s)
{
	const struct dd_request *rq = (const void *)s->requests;
	int ret = 1;

	if (s->stride != sizeof(*rq) || !s->count || s->taken || s->error)
		return -EINVAL;
	for (; s->taken < s->count; s->taken++, rq++) {
		struct object *c = conn_get(rq->conn);

		ret = !c ? -ENOENT : rq->sqe.seq ? -EINVAL :
		      -(int)conn_cell(c)->error;
		if (!ret)
			ret = execute(c, &rq->sqe);
		if (ret < 0)
			break;
		/* A signal comes after so many. */
		ret = -EINTR;
		if (fake.cut && s->taken + 1 == fake.cut) {
			fake.cut = 0;
			s->taken++;
			break;
		}
	}
	s->error = s->taken < s->count ? -ret : 0;
	return s->taken ? 0 : ret;
}
