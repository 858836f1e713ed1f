// SPDX-License-Identifier: LGPL-2.1-only
/*
 * open.c - st_listen(), st_accept(), st_connect()
 *
 * Copyright (C) 2026 The dd authors
 *
 * A listening handle offers a service of DDP for one client. The client connects, and sends its
 * parameters; st_accept() answers with those of the serving end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host.h"
#include "map.h"
#include "message.h"
#include "remote.h"

#define PORT_FIRST	49152		/* of those that the library chooses */
#define HELLO_NS	5000000000ll	/* in which a client sends its parameters */
#define ATTEMPTS	64		/* while clients or services of the name come and go */
#define OUT_SIZE	((ST_SOURCES + 1) * ST_SLOT_SIZE)
#define MAP_BYTES	(sizeof(struct st_map *))

static unsigned int port_random(void)
{
	uint16_t n;

	st_random(&n, sizeof(n));
	return PORT_FIRST + n % (UINT16_MAX + 1 - PORT_FIRST);
}

/* ---- both ends ------------------------------------------------------------- */

/* Whole pages, so that a sender on this node needs no system call. */
static size_t ring_size(const struct st_end *e)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (ST_SLOTS(e->option[ST_OPT_RX_WINDOW_LOCAL]) * ST_SLOT_SIZE + page - 1) & -page;
}

static int begin(struct st_end *e)
{
	void *ring, *out;
	int error, ret;

	error = st_end_open(e);
	if (error)
		return error;
	ret = dd_alloc(e->h, ring_size(e), &ring);
	if (!ret)
		ret = dd_alloc(e->h, OUT_SIZE, &out);
	if (ret)
		return st_errno(ret);
	e->ring = ring;
	e->out = out;
	return st_port_take(e);
}

static int hello_send(struct st_end *e, int error)
{
	struct st_hello hello = {
		.version = ST_VERSION, .error = error, .key = e->option[ST_OPT_KEY_LOCAL],
		.port = e->port, .portlen = e->option[ST_OPT_PORTLEN_LOCAL],
		.bufsize = e->option[ST_OPT_BUFSIZE_LOCAL],
		.maxstu = e->option[ST_OPT_MAXSTU_LOCAL], .base = e->option[ST_OPT_BUFX_BASE],
		.count = e->option[ST_OPT_BUFX_COUNT], .channels = e->option[ST_OPT_CHANNELS],
		.iana = e->iana, .little = ST_LITTLE_ENDIAN,
	};

	for (int i = 0; i < ST_NONCE; i++)
		hello.nonce[i] = e->nonce[i];
	return st_message_hello(e, &hello);
}

/* Wait for a message: 0; ECONNRESET, EINTR, EWOULDBLOCK. */
static int message_wait(struct st_end *e, int64_t deadline, struct ddi_brief *msg)
{
	int error, ret;

	for (;;) {
		if (st_state(e) == ST_CLOSING)
			return ECONNRESET;
		ret = st_message_receive(e, msg);
		if (ret != -EWOULDBLOCK)
			return ret ? ECONNRESET : 0;
		error = st_sleep(e, deadline);
		if (error)
			return error;
	}
}

/*
 * Wait for the other end's parameters. 0; ECONNRESET: the other end has closed; EPROTO: it has sent
 * others than parameters; EINTR, EWOULDBLOCK.
 */
static int hello_wait(struct st_end *e, int64_t deadline)
{
	struct ddi_brief msg;
	int error = message_wait(e, deadline, &msg);

	if (error)
		return error;
	return st_unpack_hello(msg.addr, msg.len, &e->remote) ? 0 : EPROTO;
}

/* A connection of libdd has been made: 0 or an error. */
static int joined(struct st_end *e, int conn)
{
	struct dd_conn_desc desc;

	if (dd_conn_info(e->h, conn, &desc))
		return ECONNRESET;
	e->conn = conn;
	e->list = desc.list;
	e->node = desc.node;
	e->uid = desc.uid;
	e->far = desc.node != dd_node(e->h);
	e->window = desc.send_window;
	e->size = ST_SLOTS(e->window) * ST_SLOT_SIZE;
	e->place = 0;
	e->sources = 0;
	return desc.peer_size < e->size ? EPROTO : 0;
}

/* The parameters of both ends are known: prepare for maps. 0, ENOMEM. */
static int established(struct st_end *e)
{
	e->map = calloc(e->option[ST_OPT_BUFX_COUNT], MAP_BYTES);
	e->import = st_remote_table(e->remote.count);
	if (!e->map || !e->import) {
		st_maps_end(e);
		return ENOMEM;
	}
	e->swap = e->remote.little != ST_LITTLE_ENDIAN;
	e->option[ST_OPT_MAXSTU_REMOTE] = e->remote.maxstu;
	return 0;
}

typedef int (*open_fn)(struct st_end *e, const char *hostname, unsigned int port);

/* What st_listen() and st_connect() have in common. */
static int open_idle(st_chandle_t chandle, const char *hostname, const char *service,
		     open_fn open, enum st_state to)
{
	struct st_end *e = st_enter(chandle);
	unsigned int port;
	int error;

	if (!e)
		return EBADF;
	error = st_open_begin(e, ST_IDLE);
	if (error)
		return st_leave(e, error);
	error = st_service_port(service, &port);
	if (!error)
		error = open(e, hostname, port);
	if (error)
		st_end_clear(e);
	return st_leave(e, st_open_end(e, ST_IDLE, to, error));
}

/* ---- the serving end ------------------------------------------------------- */

static int serve(struct st_end *e, unsigned int port, unsigned int flags)
{
	struct dd_serve_attr attr = {
		.size = sizeof(attr), .maxconn = 1,
		.flags = DD_ATTR_ACCEPT | DD_ATTR_CLOSE | DD_ATTR_DIRECT_ANY | flags,
		.window = e->option[ST_OPT_RX_WINDOW_LOCAL], .recv = e->ring,
		.recv_size = ring_size(e), .send = e->out, .send_size = OUT_SIZE,
	};
	char name[16];
	int ret;

	snprintf(name, sizeof(name), ST_PORT_NAME, port);
	ret = dd_serve(e->h, name, &attr, &e->list);
	if (ret < 0)
		return ret == -EEXIST ? EADDRINUSE : st_errno(ret);
	e->service = ret;
	e->iana = port;
	return 0;
}

/* Offer a port that no other handle of the node offers. */
static int serve_free(struct st_end *e)
{
	unsigned int port;
	int error;

	for (int i = 0; i < ATTEMPTS; i++) {
		port = port_random();
		error = serve(e, port, 0);
		if (error == EADDRINUSE)
			continue;
		if (error)
			return error;
		dd_unserve(e->h, e->service);
		return serve(e, port, DD_ATTR_SHARED);
	}
	return EADDRINUSE;
}

static int listen_open(struct st_end *e, const char *hostname, unsigned int port)
{
	int error, node;

	if (!port)
		port = e->option[ST_OPT_IANA_LOCAL];
	error = begin(e);
	if (!error)
		error = st_host_node(e->h, hostname, &node);
	if (error)
		return error;
	if (node != dd_node(e->h))
		return EADDRNOTAVAIL;
	return port ? serve(e, port, DD_ATTR_SHARED) : serve_free(e);
}

ST_API int st_listen(st_chandle_t chandle, const char *hostname, const char *service)
{
	return open_idle(chandle, hostname, service, listen_open, ST_LISTENING);
}

/* Wait for a client, or until a signal comes: 0, with its connection, or an error. */
static int client_wait(struct st_end *e, int *conn)
{
	struct ddi_brief msg;
	int error;

	do {
		error = message_wait(e, -1, &msg);
		if (error)
			return error;
	} while (msg.len != -1);
	*conn = msg.conn;
	return 0;
}

/* 0; EPROTO, of which the client is informed; ENOMEM; ENOTCONN: it is no client of ST. */
static int client_greet(struct st_end *e, int conn)
{
	int64_t deadline = st_now() + HELLO_NS;
	int error;

	error = joined(e, conn);
	if (error)
		return ENOTCONN;
	while ((error = hello_wait(e, deadline)) == EINTR)
		;
	if (error)
		return ENOTCONN;
	if (!(e->remote.channels & e->option[ST_OPT_CHANNELS])) {
		hello_send(e, EPROTO);
		return EPROTO;
	}
	return hello_send(e, 0) ? ENOTCONN : established(e);
}

/* Listen with memory of its own: the kernel may still use that of the former client. */
static int listen_again(struct st_end *e)
{
	int error;

	st_end_clear(e);
	error = begin(e);
	if (!error)
		error = serve(e, e->iana, DD_ATTR_SHARED);
	if (error)
		st_end_clear(e);
	return error;
}

/* On error the handle still listens, or, if that was not possible, is clear. */
static int accept_client(struct st_end *e)
{
	int conn, error, again;

	do {
		error = client_wait(e, &conn);
		if (error)
			return error;
		error = client_greet(e, conn);
		if (!error)
			return 0;
		if (st_state(e) == ST_CLOSING)
			return ECONNRESET;
		again = listen_again(e);
		if (again)
			return again;
	} while (error != EPROTO && error != ENOMEM);
	return error;
}

ST_API int st_accept(st_chandle_t chandle)
{
	struct st_end *e = st_enter(chandle);
	int error;

	if (!e)
		return EBADF;
	error = st_open_begin(e, ST_LISTENING);
	if (error)
		return st_leave(e, error);
	error = accept_client(e);
	return st_leave(e, st_open_end(e, e->h ? ST_LISTENING : ST_IDLE, ST_CONNECTED, error));
}

/* ---- the connecting end ---------------------------------------------------- */

static int connect_errno(int ret)
{
	switch (-ret) {
	case EUSERS:
		return ECONNREFUSED;
	case ENONET:
	case EHOSTUNREACH:
	case ETIMEDOUT:
	case ENETDOWN:
		return EHOSTUNREACH;
	case EPROTONOSUPPORT:
		return EPROTO;
	}
	return st_errno(ret);
}

/* Connect, and exchange parameters. EAGAIN: the listener has ended, there may be another one. */
static int connect_once(struct st_end *e, int node, unsigned int port)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr), .type = DD_TYPE_STREAM,
		.flags = DD_ATTR_ANON | DD_ATTR_DIRECT_ANY | DD_ATTR_ERRNO,
		.window = e->option[ST_OPT_RX_WINDOW_LOCAL], .recv = e->ring,
		.recv_size = ring_size(e), .send = e->out, .send_size = OUT_SIZE,
	};
	char name[16];
	int error, ret;

	snprintf(name, sizeof(name), ST_PORT_NAME, port);
	ret = dd_connect(e->h, name, node, &attr, NULL);
	if (ret < 0)
		return connect_errno(ret);
	error = joined(e, ret);
	if (!error)
		error = hello_send(e, 0);
	if (!error)
		error = hello_wait(e, -1);
	if (!error)
		return e->remote.error ? (int)e->remote.error : established(e);
	return error == ECONNRESET && st_state(e) != ST_CLOSING ? EAGAIN : error;
}

static int connect_open(struct st_end *e, const char *hostname, unsigned int port)
{
	int error, node;

	error = begin(e);
	if (!error)
		error = st_host_node(e->h, hostname, &node);
	e->iana = e->option[ST_OPT_IANA_LOCAL] ? (unsigned int)e->option[ST_OPT_IANA_LOCAL] :
		  port_random();
	if (error)
		return error;
	return node < 0 ? EHOSTUNREACH : connect_once(e, node, port);
}

/* Each attempt has memory of its own: the kernel may still use that of the former one. */
static int connect_try(struct st_end *e, const char *hostname, unsigned int port)
{
	int error;

	if (!port)
		return EINVAL;
	for (int i = 0; i < ATTEMPTS; i++) {
		error = connect_open(e, hostname, port);
		if (error != EAGAIN)
			return error;
		st_end_clear(e);
	}
	return ECONNREFUSED;
}

ST_API int st_connect(st_chandle_t chandle, const char *hostname, const char *service)
{
	return open_idle(chandle, hostname, service, connect_try, ST_CONNECTED);
}
