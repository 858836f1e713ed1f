/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A service of another process, and a connection of each type to it.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDP_H
#define DDP_H

#include "dd_harness.h"
#include "peer.h"

#define BLOCK	4096	/* a page: allows direct sends */

/* The service has 8 blocks of BLOCK bytes, the buffers of the connections are twice as long. */
FIXTURE(ddp) {
	struct worker *srv;
	char *name;
	struct slot s;		/* of the server */
	struct slot rpc, split, stream;
	ddrecv_desc_t *there;	/* what the server has received last */
};

FIXTURE_SETUP(ddp)
{
	self->srv = worker_new(THERE);
	self->name = (char *)own_name("d");
	self->there = &self->srv->shm->desc;
	ASSERT_OK(p_serve_simple(self->srv, self->name, 8, 8 * BLOCK));
	self->s = peer_slot(self->srv, 0);
	ASSERT_OK(open_conn(&self->rpc, self->name, TYPE_RPC, 2 * BLOCK));
	ASSERT_OK(open_conn(&self->split, self->name, TYPE_SPLIT, 2 * BLOCK));
	ASSERT_OK(open_conn(&self->stream, self->name, TYPE_SSTREAM, 2 * BLOCK));
}

FIXTURE_TEARDOWN(ddp)
{
	worker_end(self->srv);
}

/* The server takes the next message; its data is in shm. */
#define TAKE() ASSERT_OK(p_recv(self->srv, 0, RECV_SLEEP, 0))

/* Has @c send a request that the server answers with @text at @at. */
#define REPLY_AT(c, text, at) do {					\
	ASSERT_OK(ddsend((c)->conn, (c)->out, 8, 0, SEND_NOOPTS));	\
	TAKE();								\
	ASSERT_OK(p_send(self->srv, self->there->connid, text,		\
			 strlen(text) + 1, at, SEND_BLOCK));		\
} while (0)
#define REPLY(c, text)	REPLY_AT(c, text, 0)

/* Messages that a stream accepts at least while none is read. */
#define UNREAD	16

/*
 * Send by @send until the link refuses. Returns how many it has accepted, 1000 if that does not
 * end.
 */
#define FILL(send) ({							\
	int __n = 0;							\
	while (__n < 1000 && !(send))					\
		__n++;							\
	EXPECT_EQ(ENOTREADY, errno);					\
	EXPECT_LT(__n, 1000);						\
	__n; })

#endif /* DDP_H */
