/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * proxy.h - imported buffers that have addresses
 *
 * Copyright (C) 2026 The dd authors
 *
 * A library embeds a proxy in its record of an import. It serialises the calls for one proxy, and
 * its thread is marked, except in ddi_proxy_wait() and ddi_proxy_end(), which wait.
 */
#ifndef _DD_PROXY_H
#define _DD_PROXY_H

#include <stdbool.h>

#include "destspace.h"
#include "peer.h"

#define DDI_PROXY_DEPTH	64	/* requests that are under way */

/**
 * struct ddi_proxy - an imported buffer
 * @dest: its addresses; none while the import is pending
 * @peer: the exporter
 * @mem: import of libdd
 * @number: of the buffer
 * @waiting: threads that wait for its requests, of other proxies; the end waits for these
 * @kind: of its key
 * @list: note list for a note when the import is made or has failed, or 0; set before
 *	ddi_proxy_begin()
 * @local: the exporter is on this node
 */
struct ddi_proxy {
	struct ddi_dest dest;
	struct ddi_peer *peer;
	struct dd_mem *mem;
	uint32_t number;
	uint32_t waiting;
	char kind;
	bool local;
	int list;
};

/* Begin an import of a buffer, also before it is exported: 0 or an error of dd_import_begin(). */
int ddi_proxy_begin(struct ddi_proxy *p, int node, int pid, uint32_t number, char kind);

/*
 * Whether the import is made: 0 if it is, and has addresses since this call; -EAGAIN, or why it
 * has failed. -EADDRNOTAVAIL: no addresses are left; -ESRCH: the process has ended.
 */
int ddi_proxy_poll(struct ddi_proxy *p);

/* Wait a little for the next change of ddi_proxy_poll(). */
void ddi_proxy_wait(const struct ddi_proxy *p);

/* No request finds the proxy any more. */
void ddi_proxy_hide(struct ddi_proxy *p);

/* Requests to another node are waited for; functions of notes may run. It was hidden. */
void ddi_proxy_end(struct ddi_proxy *p);

/* In a child of fork(): the record is free. */
void ddi_proxy_forget(struct ddi_proxy *p);

/* The proxy of this kind that has these addresses, or NULL. */
struct ddi_proxy *ddi_proxy_find(const char *at, size_t len, char kind);

#endif /* _DD_PROXY_H */
