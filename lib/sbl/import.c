// SPDX-License-Identifier: LGPL-2.1-only
/*
 * import.c - imported buffers
 *
 * Copyright (C) 2026 The dd authors
 *
 * A thread of the library completes requests. It runs while there are some; a note of the list
 * wakes it when one of them may be complete, and it looks whether the exporters exist now and
 * then.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>
#include <linux/dd_mem.h>

#include "hosts.h"
#include "import.h"
#include "map.h"
#include "shared.h"

#define LOOK_MS		50	/* how often exporters of requests are looked for */

static struct sbl_import *records;	/* sbl_lock, as what follows */
static struct sbl_import *unused;
static struct sbl_import *requests;
static bool completing;			/* the thread runs */
static int list, list_fd = -1;		/* with a note for each request that is complete */

static struct sbl_import *record_new(void)
{
	struct sbl_import *i = unused;

	if (i) {
		unused = i->next;
		return i;
	}
	i = calloc(1, sizeof(*i));
	if (i) {
		i->older = records;
		records = i;
	}
	return i;
}

static void record_free(struct sbl_import *i)
{
	i->next = unused;
	unused = i;
}

static void in_child(void)
{
	unused = NULL;
	for (struct sbl_import *i = records; i; i = i->older) {
		ddi_proxy_forget(&i->proxy);
		record_free(i);
	}
	requests = NULL;
	completing = false;
	list = 0;
	if (list_fd >= 0)
		close(list_fd);
	list_fd = -1;
}

static int import_new(struct dd *h, NodeID node, SBL_Squid squid, unsigned int number,
		      int notes, struct sbl_import **new)
{
	static bool watching;
	struct sbl_import *i;
	int to = sbl_node_number(h, node), ret;

	ddi_at_fork(&watching, in_child);
	if (to < 0)
		return SBL_ENoSuchNode;
	if (squid <= 0)
		return SBL_ENoSuchProcess;
	i = record_new();
	if (!i)
		return SBL_ENoMem;
	i->proxy.list = notes;
	ret = ddi_proxy_begin(&i->proxy, to, squid, number, SBL_KEY);
	if (ret) {
		record_free(i);
		return sbl_import_code(ret);
	}
	i->state = SBL_PENDING;
	*new = i;
	return SBL_Success;
}

/* No call uses it. Requests to another node are waited for; handlers may run. */
static void import_end(struct sbl_import *i)
{
	ddi_proxy_hide(&i->proxy);
	sbl_leave();
	ddi_proxy_end(&i->proxy);
	sbl_enter();
	record_free(i);
}

/* ---- imports that are waited for ------------------------------------------------ */

static int import_now(struct sbl_import *i, Int32 **address, int *nwords)
{
	int ret;

	while ((ret = ddi_proxy_poll(&i->proxy)) == -EAGAIN) {
		sbl_leave();
		ddi_proxy_wait(&i->proxy);
		sbl_enter();
	}
	if (ret) {
		import_end(i);
		return sbl_import_code(ret);
	}
	i->state = SBL_MADE;
	*address = (Int32 *)i->proxy.dest.base;
	*nwords = i->proxy.dest.len / SBL_WORD;
	return SBL_Success;
}

SBL_API int SBL_ImportRecvBuf(NodeID node, SBL_Squid squid, unsigned int rbufid,
			      Int32 **proxyBuf, int *nwords)
{
	struct sbl_import *i;
	struct dd *h;
	int code;

	if (sbl_in_handler())
		return SBL_ENotInHandler;
	if (!proxyBuf || !nwords)
		return SBL_EBadArg;
	code = sbl_handle(&h);
	if (code)
		return code;
	sbl_enter();
	code = import_new(h, node, squid, rbufid, 0, &i);
	if (!code)
		code = import_now(i, proxyBuf, nwords);
	sbl_leave();
	return code;
}

/* ---- requests ------------------------------------------------------------------- */

static void request_unlink(struct sbl_import *i)
{
	struct sbl_import **link = &requests;

	while (*link != i)
		link = &(*link)->next;
	*link = i->next;
}

/* Store the results of a request that is complete. The size comes last. */
static void request_complete(struct sbl_import *i, int ret)
{
	request_unlink(i);
	if (ret) {
		ddi_store_release(i->nwords, sbl_import_code(ret));
		import_end(i);
	} else {
		i->state = SBL_MADE;
		ddi_store(i->address, (Int32 *)i->proxy.dest.base);
		ddi_store_release(i->nwords, (int)(i->proxy.dest.len / SBL_WORD));
	}
}

/* Complete one request: false if none is complete. */
static bool requests_look(void)
{
	int ret;

	for (struct sbl_import *i = requests; i; i = i->next) {
		ret = ddi_proxy_poll(&i->proxy);
		if (ret != -EAGAIN) {
			request_complete(i, ret);
			return true;
		}
	}
	return false;
}

/* Notes only wake the thread. */
static void list_wait(void)
{
	struct pollfd p = { .fd = list_fd, .events = POLLIN };
	struct dd_list_record notes[16];

	if (poll(&p, 1, LOOK_MS) > 0 && read(list_fd, notes, sizeof(notes)) < 0)
		usleep(1000 * LOOK_MS);
}

static void *requests_thread(void *arg)
{
	(void)arg;
	sbl_enter();
	for (;;) {
		while (requests_look())
			;
		if (!requests)
			break;
		sbl_leave();
		list_wait();
		sbl_enter();
	}
	completing = false;
	sbl_leave();
	return NULL;
}

/* Prepare for the first request, and for one after the thread has ended. */
static int requests_start(struct dd *h)
{
	int ret = 0;

	if (!list) {
		ret = dd_list(h);
		if (ret < 0)
			return sbl_code(ret, SBL_ENoMem);
		list_fd = dd_list_fd(h, ret);
		if (list_fd < 0) {
			dd_list_end(h, ret);
			return SBL_ENoMem;
		}
		list = ret;
	}
	if (!completing)
		completing = !sbl_thread(requests_thread, NULL);
	return completing ? SBL_Success : SBL_ENoMem;
}

static int request_begin(struct dd *h, NodeID node, SBL_Squid squid, unsigned int number,
			 Int32 **address, int *nwords)
{
	struct sbl_import *i;
	int code = requests_start(h);

	if (!code)
		code = import_new(h, node, squid, number, list, &i);
	if (code)
		return code;
	*nwords = 0;
	/* Nothing else has this address, and no import has it in DestSpace. */
	*address = (Int32 *)i;
	i->address = address;
	i->nwords = nwords;
	i->next = requests;
	requests = i;
	return SBL_Success;
}

SBL_API int SBL_ImportRecvBufReq(NodeID node, SBL_Squid squid, unsigned int rbufid,
				 Int32 **proxyBuf, int *nwords, int reserved)
{
	struct dd *h;
	int code;

	if (sbl_in_handler())
		return SBL_ENotInHandler;
	if (!proxyBuf || !nwords || reserved)
		return SBL_EBadArg;
	code = sbl_handle(&h);
	if (code)
		return code;
	sbl_enter();
	code = request_begin(h, node, squid, rbufid, proxyBuf, nwords);
	sbl_leave();
	return code;
}

/* ---- the end ---------------------------------------------------------------------- */

/* The import that a program names by its address, or by that of a request; else NULL. */
static struct sbl_import *import_find(const Int32 *address)
{
	struct ddi_proxy *p = ddi_proxy_find((const char *)address, 1, SBL_KEY);
	struct sbl_import *i = requests;

	if (p)
		return p->dest.base == (uintptr_t)address ? (struct sbl_import *)p : NULL;
	while (i && i != (const struct sbl_import *)address)
		i = i->next;
	return i;
}

SBL_API int SBL_UnimportRecvBuf(Int32 *proxyBuf)
{
	struct sbl_import *i;
	int code = SBL_Success;

	if (sbl_in_handler())
		return SBL_ENotInHandler;
	sbl_enter();
	while ((i = import_find(proxyBuf)) && !code && sbl_mapped_to(&i->proxy)) {
		sbl_leave();
		code = sbl_unmap_from(&i->proxy);
		sbl_enter();
	}
	if (!i)
		code = SBL_EBadProxyAddr;
	if (!code && i->state == SBL_PENDING)
		request_unlink(i);
	if (!code)
		import_end(i);
	sbl_leave();
	return code;
}
