// SPDX-License-Identifier: LGPL-2.1-only
/*
 * fake_conn.c - services and connections of the kernel made of user code
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/dd_ddp.h>

#include "fake_int.h"

static void cell_init(struct object *c)
{
	struct dd_cell *cell = conn_cell(c);

	memset(cell, 0, sizeof(*cell));
	cell->node = 1;
	cell->type = c->type;
	cell->peer_size = c->peer->recv_size;
	cell->window = c->peer->window;
	cell->conn = serial_of(c);
}

static struct object *service_by_name(const unsigned char *name)
{
	for (int i = 1; i < OBJECTS; i++)
		if (objects[i].kind == SERVICE &&
		    !strcmp((char *)objects[i].serve.name, (char *)name))
			return &objects[i];
	return NULL;
}

static uint32_t window(uint32_t asked, uint32_t type)
{
	if (asked)
		return asked;
	return type == DD_CONN_STREAM ? DD_WINDOW_STREAM : 1;
}

static struct object *accept_conn(struct object *s, uint32_t type)
{
	const struct dd_serve *sv = &s->serve;
	struct object *c = fake.id_again ? object_again(CONN) : object_new(CONN);
	struct dd_note note = { .type = DD_NOTE_CONN };

	/* The block after the last one: memory is never reused, blocks are. */
	c->block = s->users++ % sv->maxconn;
	c->nodirect = sv->flags & DD_SERVE_NODIRECT;
	c->service = s;
	c->type = type;
	c->window = window(sv->window, type);
	c->unit = sv->cells_unit + c->block * sv->cell_units;
	c->cookie = s->id | (uint64_t)c->block << 32;
	c->recv = object_get(sv->recv.region, REGION)->addr + sv->recv.offset +
		  c->block * sv->recv_block;
	c->recv_size = sv->recv_block;
	if (sv->send.region)
		c->send = object_get(sv->send.region, REGION)->addr +
			  sv->send.offset + c->block * sv->send_block;
	c->send_size = sv->send_block;
	c->list = s->list;
	if (sv->flags & DD_SERVE_ACCEPT) {
		c->list = list_attach(0, false);
		note.conn = serial_of(c);
		note.cookie = c->cookie;
		list_post(s->list, &note);
	}
	return c;
}

static char *buf_addr(const struct dd_buf *buf)
{
	struct object *r = object_get(buf->region, REGION);

	return r ? r->addr + buf->offset : NULL;
}

int do_connect(struct dd_connect *cn)
{
	struct object *s = service_by_name(cn->name), *c, *l;
	int err = ECONNREFUSED;

	/* The error of a service that is not there may be in its name. */
	sscanf((char *)cn->name, "errno %d", &err);
	if (!s)
		return -err;
	l = list_attach(cn->flags & DD_CONNECT_ANON ? 0 : cn->list,
			cn->flags & DD_CONNECT_LIST);
	if (!l)
		return -ENOENT;
	c = object_new(CONN);
	c->list = l;
	c->type = cn->type;
	c->window = window(cn->window, cn->type);
	c->cookie = cn->cookie;
	c->nodirect = cn->flags & DD_CONNECT_NODIRECT;
	c->unit = units(2);
	c->send = buf_addr(&cn->send);
	c->send_size = cn->send.length;
	c->recv = buf_addr(&cn->recv);
	c->recv_size = cn->recv.length;
	c->peer = accept_conn(s, cn->type);
	c->peer->peer = c;
	cell_init(c);
	cell_init(c->peer);
	cn->conn = serial_of(c);
	cn->cell_unit = c->unit;
	cn->list = l->id;
	cn->list_unit = l->unit;
	return 0;
}

int do_close(uint64_t serial)
{
	struct object *c = conn_get(serial);
	struct dd_note note = { .type = DD_NOTE_CLOSE };

	if (!c)
		return -ENOENT;
	if (c->peer && c->peer->peer == c) {
		conn_cell(c->peer)->error = ECONNRESET;
		c->peer->peer = NULL;
		note.conn = serial_of(c->peer);
		note.cookie = c->peer->cookie;
		if (conn_cell(c->peer)->ring)
			note.word = ring_end(conn_cell(c->peer)->ring);
		if (conn_cell(c)->ring)
			c->peer->arrived = ring_arrived(conn_cell(c)->ring);
		if (!c->peer->service)
			list_post(c->peer->list, &note);
	}
	if (c->list != (c->service ? c->service->list : NULL))
		list_detach(c->list);
	c->kind = FREE;
	return 0;
}

int do_unserve(uint32_t id)
{
	struct object *s = object_get(id, SERVICE);

	if (!s)
		return -ENOENT;
	for (int i = 1; i < OBJECTS; i++)
		if (objects[i].kind == CONN && objects[i].service == s)
			do_close(serial_of(&objects[i]));
	list_detach(s->list);
	s->kind = FREE;
	return 0;
}

int do_serve(struct dd_serve *sv)
{
	struct object *s, *l;

	if (service_by_name(sv->name))
		return -EEXIST;
	l = list_attach(sv->list, sv->flags & DD_SERVE_LIST);
	if (!l)
		return -ENOENT;
	s = object_new(SERVICE);
	s->list = l;
	sv->service = s->id;
	sv->list = l->id;
	sv->list_unit = l->unit;
	sv->cell_units = 2;
	sv->cells_unit = units(2 * sv->maxconn);
	sv->recv_block = sv->recv.length / sv->maxconn & ~7ull;
	sv->send_block = sv->send.length / sv->maxconn & ~7ull;
	s->serve = *sv;
	return 0;
}

int do_conn_info(struct dd_conn_info *info)
{
	struct object *c = info->conn >> 32 ? conn_get(info->conn) :
					      object_get(info->conn, CONN);

	if (!c)
		return -ENOENT;
	info->conn = serial_of(c);
	info->list = c->list->id;
	info->list_unit = c->list->unit;
	info->service = c->service ? c->service->id : 0;
	info->block = c->block;
	info->type = c->type;
	info->node = 1;
	info->pid = getpid();
	info->uid = geteuid();
	info->cell_unit = c->unit;
	info->window = c->window;
	info->send_window = c->peer ? c->peer->window : 1;
	info->received = c->peer ? conn_sent(c->peer) : conn_cell(c)->received;
	for (int i = 1; i < OBJECTS; i++) {
		struct object *r = &objects[i];

		if (r->kind != REGION)
			continue;
		if (c->send >= r->addr && c->send < r->addr + r->size)
			info->send = (struct dd_buf){ .region = r->id,
				.offset = c->send - r->addr,
				.length = c->send_size };
		if (c->recv >= r->addr && c->recv < r->addr + r->size)
			info->recv = (struct dd_buf){ .region = r->id,
				.offset = c->recv - r->addr,
				.length = c->recv_size };
	}
	return 0;
}

int do_conn_list(struct dd_conn_list *cl)
{
	uint64_t *conns = (uint64_t *)cl->conns;
	uint32_t n = 0;

	if (!object_get(cl->service, SERVICE))
		return -ENOENT;
	for (int i = 1; i < OBJECTS; i++)
		if (objects[i].kind == CONN && objects[i].service &&
		    objects[i].service->id == cl->service) {
			if (n < cl->count)
				conns[n] = serial_of(&objects[i]);
			n++;
		}
	cl->count = n;
	return 0;
}

int conn_reached(struct dd_conn_wait *w)
{
	struct object *c = conn_get(w->conn);

	if (!c)
		return -ENOENT;
	if (w->what == DD_WAIT_RING) {
		struct dd_ring_state *state;

		if (!c->peer)
			return -ECONNRESET;
		state = unit_addr(c->peer->list->ring);
		return __atomic_load_n(&state->head, __ATOMIC_ACQUIRE) >=
		       w->value;
	}
	if (w->what == DD_WAIT_CLOSE)
		w->value = conn_cell(c)->submitted;
	if ((w->what != DD_WAIT_DONE ? conn_cell(c)->sent :
				       conn_cell(c)->done) >= w->value)
		return 1;
	return conn_cell(c)->error ? -ECONNRESET : 0;
}
