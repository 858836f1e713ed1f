// SPDX-License-Identifier: LGPL-2.1-only
/*
 * proxy.c - imported buffers that have addresses
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stddef.h>
#include <time.h>

#include "handle.h"
#include "proxy.h"
#include "put.h"
#include "upcall.h"

#define SLICE_NS	50000000	/* how often a call that waits looks around */

static int import_begin(struct ddi_proxy *p)
{
	struct dd_import_attr attr = {
		.size = sizeof(attr), .node = p->peer->node, .key_class = DD_KEY_BUFFER,
		.rights = DD_CAN_PUT | DD_CAN_GET, .depth = DDI_PROXY_DEPTH,
		.flags = DD_IMPORT_WHEN_EXPORTED | DD_IMPORT_MAY, .list = p->list,
	};

	ddi_key(attr.key, p->peer->pid, p->number, p->kind);
	return dd_import_begin(p->peer->h, &attr, &p->mem);
}

DD_API int ddi_proxy_begin(struct ddi_proxy *p, int node, int pid, uint32_t number, char kind)
{
	int ret = ddi_peer_get(node, pid, &p->peer);

	if (ret)
		return ret;
	p->number = number;
	p->kind = kind;
	p->local = node == dd_node(p->peer->h);
	ret = import_begin(p);
	if (ret)
		ddi_peer_put(p->peer);
	return ret;
}

/* The export has ended before its look-up was repeated: the next one is waited for. */
static int import_again(struct ddi_proxy *p)
{
	struct dd_mem *before = p->mem;
	int ret = import_begin(p);

	if (ret)
		return ret;
	dd_unimport(before);
	return -EAGAIN;
}

DD_API int ddi_proxy_poll(struct ddi_proxy *p)
{
	int ret = dd_import_wait(p->mem, 0);

	if (!ret)
		return ddi_dest_add(&p->dest, dd_mem_size(p->mem)) ? -EADDRNOTAVAIL : 0;
	if (ret == -ESTALE)
		return import_again(p);
	if (ret == -EAGAIN || ret == -ETIMEDOUT || ret == -EINTR) {
		ret = ddi_peer_state(p->peer);
		return ret ? ret : -EAGAIN;
	}
	return ret;
}

DD_API void ddi_proxy_wait(const struct ddi_proxy *p)
{
	dd_import_wait(ddi_peer_state(p->peer) ? p->peer->presence : p->mem, SLICE_NS);
}

DD_API void ddi_proxy_hide(struct ddi_proxy *p)
{
	if (p->dest.len)
		ddi_dest_del(&p->dest);
	pthread_mutex_lock(&p->peer->lock);
	if (p->peer->last == p)
		p->peer->last = NULL;
	ddi_near_changed();
	pthread_mutex_unlock(&p->peer->lock);
}

/* Threads that wait for it look around in slices. */
static void waiting_end(struct ddi_proxy *p)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	while (ddi_load_acquire(&p->waiting))
		nanosleep(&pause, NULL);
}

DD_API void ddi_proxy_end(struct ddi_proxy *p)
{
	waiting_end(p);
	dd_unimport(p->mem);
	ddi_upcall_enter();
	ddi_peer_put(p->peer);
	ddi_upcall_leave();
}

DD_API void ddi_proxy_forget(struct ddi_proxy *p)
{
	p->dest.len = 0;
	p->waiting = 0;
	ddi_near_changed();
}

DD_API struct ddi_proxy *ddi_proxy_find(const char *at, size_t len, char kind)
{
	struct ddi_dest *d = ddi_dest_find(at);
	struct ddi_proxy *p;

	if (!d || len > d->len - ((uintptr_t)at - d->base))
		return NULL;
	p = (struct ddi_proxy *)((char *)d - offsetof(struct ddi_proxy, dest));
	return p->kind == kind ? p : NULL;
}
