// SPDX-License-Identifier: LGPL-2.1-only
/*
 * fake_direct.c - direct rings and windows of the kernel made of user code
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <linux/dd_ddp.h>

#include "fake_int.h"

#define PAGE		4096u
#define PAGE_UNITS	(PAGE / DD_UNIT)
#define RING_SLOTS	(PAGE / sizeof(struct dd_ring_note))

static struct dd_ring_note *ring_slot(uint32_t ring, uint64_t pos)
{
	return (struct dd_ring_note *)unit_addr(ring + PAGE_UNITS) +
	       pos % RING_SLOTS;
}

bool ring_ready(uint32_t ring)
{
	struct dd_ring_state *state = unit_addr(ring);

	return ring && __atomic_load_n(&ring_slot(ring, state->head)->seq,
				       __ATOMIC_ACQUIRE) == state->head + 1;
}

/* Position after the last note that is unread, 0 if there is none. */
uint64_t ring_end(uint32_t ring)
{
	const struct dd_ring_state *state = unit_addr(ring);
	uint64_t end = 0;

	for (uint64_t pos = state->head; pos != state->head + RING_SLOTS; pos++)
		if (ring_slot(ring, pos)->seq == pos + 1)
			end = pos + 1;
	return end;
}

/* Position before which all has come; connections share no ring and close. */
uint64_t ring_arrived(uint32_t ring)
{
	const struct dd_ring_state *state = unit_addr(ring);
	uint64_t end = ring_end(ring);

	return end ? end : state->head;
}

static void ring_new(struct object *l)
{
	struct dd_list_head *lh = list_head(l);

	units_align(PAGE_UNITS);
	l->ring = units(2 * PAGE_UNITS);
	((struct dd_ring_state *)unit_addr(l->ring))->slots = RING_SLOTS;
	lh->rings_unit = units(1);
	*(uint32_t *)unit_addr(lh->rings_unit) = l->ring;
	__atomic_store_n(&lh->rings, 1, __ATOMIC_RELEASE);
}

void fake_ring_need_kick(uint32_t id, bool need)
{
	struct object *l = object_get(id, LIST);

	((struct dd_ring_state *)unit_addr(l->ring))->need_kick = need;
}

static void post_at(uint32_t ring, uint64_t pos, const struct dd_ring_note *note)
{
	struct dd_ring_note *slot = ring_slot(ring, pos);

	memcpy((char *)slot + 8, (const char *)note + 8, sizeof(*note) - 8);
	__atomic_store_n(&slot->seq, pos + 1, __ATOMIC_RELEASE);
}

void fake_ring_post(uint32_t id, const struct dd_ring_note *note)
{
	uint32_t ring = object_get(id, LIST)->ring;
	uint64_t pos = ((struct dd_ring_state *)unit_addr(ring))->head;

	while (ring_slot(ring, pos)->seq == pos + 1)
		pos++;
	post_at(ring, pos, note);
}

void fake_ring_hole(uint32_t id, uint64_t pos)
{
	ring_slot(object_get(id, LIST)->ring, pos)->seq = 0;
}

void fake_ring_fill(uint32_t id, uint64_t pos, const struct dd_ring_note *note)
{
	post_at(object_get(id, LIST)->ring, pos, note);
}

/*
 * Another mapping of shared memory, for the library to unmap. What looks for
 * races by address wants the same one, and closes nothing.
 */
static void *alias(void *addr, size_t len)
{
#ifdef FAKE_ONE_ADDRESS
	return addr;
#else
	return mremap(addr, 0, len, MREMAP_MAYMOVE);
#endif
}

void *window_map(uint64_t offset, size_t len)
{
	struct object *r;

	uint32_t at = offset & (WINDOW - 1);

	if (!(offset >> 32))
		return alias(area + at, len);
	r = object_get(offset >> 32, REGION);
	return r ? alias(r->addr + at, len) : MAP_FAILED;
}

/* The other end closes while a message is being sent. */
void hang_up(struct object *c)
{
	struct dd_ring_note note = { .conn = c->peer->id };

	fake.hang_up = 0;
	if (fake.noted)
		fake_ring_post(c->peer->list->id, &note);
	do_close(serial_of(c->peer));
}

int do_direct(struct dd_direct *d)
{
	struct object *c = conn_get(d->conn), *to, *r = NULL;
	struct dd_ring_state *state;

	if (!c)
		return -ENOENT;
	to = c->peer;
	if (!to && d->flags & DD_DIRECT_DROP) {
		d->start = c->arrived;
		return 0;
	}
	if (!to)
		return -ECONNRESET;
	if (d->flags & DD_DIRECT_DROP) {
		c->direct = false;
		conn_cell(to)->ring = 0;
		return 0;
	}
	if (to->withheld || list_head(to->list)->head != to->list->tail)
		return -EBUSY;
	for (int i = 1; i < OBJECTS && !r; i++)
		if (objects[i].kind == REGION && to->recv >= objects[i].addr &&
		    to->recv < objects[i].addr + objects[i].size)
			r = &objects[i];
	if (!r || (to->recv - r->addr) % PAGE || to->recv_size % PAGE)
		return -EOPNOTSUPP;
	if (c->nodirect || to->nodirect)
		return -EACCES;
	if (!to->list->ring)
		ring_new(to->list);
	c->direct = true;
	conn_cell(to)->ring = to->list->ring;
	d->peer_conn = to->id;
	d->block = (uint64_t)r->id << 32 | WINDOW | (to->recv - r->addr);
	d->block_size = to->recv_size;
	d->state = WINDOW | to->list->ring * DD_UNIT;
	d->notes = d->state + PAGE;
	d->slots = RING_SLOTS;
	d->peer_block = to->block;
	/* An earlier sender has sent from here as well. */
	state = unit_addr(to->list->ring);
	for (d->start = state->head;
	     ring_slot(to->list->ring, d->start)->seq == d->start + 1;)
		d->start++;
	return 0;
}

/* What the owner says it has sent. */
uint64_t conn_sent(struct object *c)
{
	uint64_t n;

	memcpy(&n, conn_cell(c)->sq[0].meta, sizeof(n));
	return c->direct ? n : conn_cell(c)->submitted;
}
