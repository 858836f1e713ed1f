/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * fake_int.h - what the files of the kernel made of user code know of each other
 *
 * Copyright (C) 2026 The dd authors
 *
 * All is called under the lock of fake.c. What does not return a thing returns
 * 0 or more, or a negative error number.
 */
#ifndef _DD_TESTS_FAKE_INT_H
#define _DD_TESTS_FAKE_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/dd_ddp.h>

#include "fake.h"

#define OBJECTS		128
#define WINDOW_MAX	32
/* In an offset: a window; on the area if there is no region's id above. */
#define WINDOW		(1ull << 31)

/* What an id names: at most one of these; ids are shared, as in dd.ko. */
struct object {
	enum { FREE, REGION, LIST, SERVICE, CONN } kind;
	uint32_t id;
	uint32_t epoch;			/* the upper half of its serial */
	char *addr;			/* region */
	size_t size;
	uint32_t unit;			/* list, connection's cell */
	uint64_t tail;
	uint32_t ring;			/* list: unit of its direct ring */
	int users;
	struct dd_serve serve;		/* service */
	struct object *peer, *list, *service;
	char *recv, *send;
	size_t recv_size, send_size;
	uint64_t cookie, taken_at[WINDOW_MAX], posts;
	uint32_t block, type, window;
	bool withheld, direct, nodirect;
	uint64_t arrived;		/* end of its notes, when it was closed */
	struct dd_note note;
};

extern struct object objects[OBJECTS];
extern char *area;

static inline void *unit_addr(uint32_t unit)
{
	return area + (size_t)unit * DD_UNIT;
}

static inline struct dd_list_head *list_head(struct object *l)
{
	return unit_addr(l->unit);
}

static inline struct dd_cell *conn_cell(struct object *c)
{
	return unit_addr(c->unit);
}

/* fake.c */
uint32_t units(uint32_t count);
void units_align(uint32_t count);
struct object *object_new(int kind);
struct object *object_again(int kind);
struct object *object_get(uint32_t id, int kind);
struct object *conn_get(uint64_t serial);

static inline uint64_t serial_of(const struct object *o)
{
	return (uint64_t)o->epoch << 32 | o->id;
}

/* fake_list.c */
void lists_reset(void);
struct object *list_attach(uint32_t id, bool must);
void list_detach(struct object *l);
uint64_t list_post(struct object *l, const struct dd_note *note);
int list_kick(struct object *l);
int lists_ready(struct dd_list_wait *w);

/* fake_direct.c */
bool ring_ready(uint32_t ring);
uint64_t ring_end(uint32_t ring);
uint64_t ring_arrived(uint32_t ring);
void hang_up(struct object *c);
void *window_map(uint64_t offset, size_t len);
int do_direct(struct dd_direct *d);
uint64_t conn_sent(struct object *c);

/* fake_send.c */
void deliver(struct object *to, struct object *from);
int doorbell(uint64_t serial);
int do_submit(struct dd_submit *s);

/* fake_conn.c */
int do_connect(struct dd_connect *cn);
int do_close(uint64_t serial);
int do_unserve(uint32_t id);
int do_serve(struct dd_serve *sv);
int do_conn_info(struct dd_conn_info *info);
int do_conn_list(struct dd_conn_list *cl);
int conn_reached(struct dd_conn_wait *w);

#endif /* _DD_TESTS_FAKE_INT_H */
