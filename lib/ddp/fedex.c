// SPDX-License-Identifier: LGPL-2.1-only
/*
 * ddp.c - the documented calls, over a handle opened on first use
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "fedex.h"
#include "internal.h"
#include "probe.h"
#include "put.h"
#include "take.h"

/* The calls themselves, not what makes the document's programs compile. */
#undef ddrecv
#undef ddcall

/* SERVE_WINDOW() and CONN_WINDOW() in flags. */
#define WINDOW_FLAGS	(0xfff << 16)
/* SERVE_PERUSER() likewise. */
#define PERUSER_FLAGS	(0xff << 8)
#define WINDOW_GET(f)	(((f) & WINDOW_FLAGS) >> 16)

/* They have the same values for both calls. */
#define DIRECT_FLAGS	(SERVE_NODIRECT | SERVE_DIRECT_ANY)

#define RECV_OPTIONS	(RECV_SLEEP | RECV_NOBLOCK | RECV_TIMEOUT | RECV_INTR)

#define NSEC_PER_SEC	1000000000ll
#define NSEC_PER_TICK	(NSEC_PER_SEC / SBP_HZ)

/*
 * The default handle. A child of fork() finds its parent's here, which is
 * dead for it: every call gives EBADID, until the child calls ddalloc() and
 * so becomes a user of its own. The parent's handle is then left alone.
 */
static struct dd *default_handle;

/* What says whether this is the only thread; false as long as there is no handle. */
static const char handle_none;
static const char *handle_alone = &handle_none;

static __attribute__((noinline, cold)) int fail(int error)
{
	errno = -error;
	return -1;
}

/* Turns the core's result into the protocol's: -1 and errno. */
static int result(int ret)
{
	return ddi_unlikely(ret < 0) ? fail(ret) : ret;
}

static int handle_open(struct dd *old, struct dd **handle)
{
	struct dd *h;
	int ret = dd_open(&h);

	if (ret)
		return ret;
	h->mutual = true;
	if (!__atomic_compare_exchange_n(&default_handle, &old, h, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		/* Another thread was first. */
		dd_shutdown(h);
		h = old;
	}
	ddi_store(&handle_alone, ddi_alone_at() ? : &handle_none);
	*handle = h;
	return 0;
}

/* For calls that need the device, whatever their arguments. */
static int handle_get(struct dd **handle)
{
	*handle = ddi_load_acquire(&default_handle);
	return *handle ? 0 : handle_open(NULL, handle);
}

/* For ddalloc(), the first call of any program. */
static int handle_get_fresh(struct dd **handle)
{
	*handle = ddi_load_acquire(&default_handle);
	return ddi_alive(*handle) ? 0 : handle_open(*handle, handle);
}

/* For calls that take an id: without a handle there is none, NULL is EBADID. */
static struct dd *handle_have(void)
{
	return ddi_load_acquire(&default_handle);
}

/* Of the core's attributes, those of DIRECT_FLAGS. */
static unsigned int direct_attr(int flags)
{
	unsigned int attr = 0;

	if (flags & SERVE_NODIRECT)
		attr |= DD_ATTR_NODIRECT;
	if (flags & SERVE_DIRECT_ANY)
		attr |= DD_ATTR_DIRECT_ANY;
	return attr;
}

int DD_API ddserve(const char *name, int flags, int maxconn,
		   address_t recvbase, size_t recvsize,
		   address_t replybase, size_t replysize,
		   noteid_t *noteid, servid_t *servid)
{
	struct dd_serve_attr attr = {
		.size = sizeof(attr),
		.flags = direct_attr(flags),
		.maxconn = maxconn,
		.window = WINDOW_GET(flags),
		.recv = recvbase,
		.recv_size = recvsize,
		.send = replybase,
		.send_size = replysize,
	};
	struct dd *h;
	int list, ret;

	if (flags & ~(SERVE_NOTELIST | SERVE_DOACCEPT | SERVE_CLOSE |
		      SERVE_SAMEUSER | PERUSER_FLAGS | DIRECT_FLAGS | WINDOW_FLAGS) ||
	    maxconn <= 0 || !noteid || !servid)
		return fail(-EINVAL);
	attr.list = *noteid;
	if (flags & SERVE_NOTELIST)
		attr.flags |= DD_ATTR_LIST;
	if (flags & SERVE_DOACCEPT)
		attr.flags |= DD_ATTR_ACCEPT;
	if (flags & SERVE_SAMEUSER)
		attr.flags |= DD_ATTR_SAME_USER;
	attr.peruser = (flags & PERUSER_FLAGS) >> 8;
	if (flags & SERVE_CLOSE)
		attr.flags |= DD_ATTR_CLOSE;

	ret = handle_get(&h);
	if (!ret)
		ret = dd_serve(h, name, &attr, &list);
	if (ret < 0)
		return fail(ret);
	*noteid = list;
	*servid = ret;
	return 0;
}

int DD_API ddconn(const char *name, int node, int type, int flags,
		  address_t sendbase, size_t sendsize,
		  address_t replybase, size_t replysize,
		  connid_t *connid, noteid_t *noteid)
{
	bool listed = type != TYPE_RPC;
	struct dd_connect_attr attr = {
		.size = sizeof(attr),
		.flags = direct_attr(flags),
		.type = type,
		.window = WINDOW_GET(flags),
		.send = sendbase,
		.send_size = sendsize,
		.recv = replybase,
		.recv_size = replysize,
	};
	struct dd *h;
	int list, ret;

	if (flags & ~(CONN_NOTELIST | DIRECT_FLAGS | WINDOW_FLAGS) ||
	    type < TYPE_RPC ||
	    type > TYPE_SSTREAM || !connid || (listed && !noteid))
		return fail(-EINVAL);
	if (listed)
		attr.list = *noteid;
	if (listed && flags & CONN_NOTELIST)
		attr.flags |= DD_ATTR_LIST;

	ret = handle_get(&h);
	if (!ret)
		ret = dd_connect(h, name, node, &attr, &list);
	/* DDP-30 has one error for all that a node may lack. */
	if (ret < 0)
		return fail(ret == -EPROTO ? -EBADSERVER : ret);
	if (listed)
		*noteid = list;
	*connid = ret;
	return 0;
}

int DD_API ddclose(connid_t connid)
{
	return result(dd_close(handle_have(), connid));
}

int DD_API ddunserve(servid_t servid)
{
	return result(dd_unserve(handle_have(), servid));
}

/* A message's size is an int for its receiver. */
static inline bool send_reaches(size_t len, offset_t roffset)
{
	return ddi_likely(len <= INT_MAX) && ddi_likely(roffset >= 0);
}

static __attribute__((noinline, cold)) int send_too_far(struct dd *h, connid_t connid)
{
	struct dd_conn_desc desc;
	int ret = dd_conn_info(h, connid, &desc);

	return fail(ret < 0 ? ret : -EBADRANGE);
}

static int send_general(connid_t connid, const char *addr, size_t len,
			offset_t roffset, option_t options,
			const unsigned int *meta, size_t metacount)
{
	struct dd *h = handle_have();

	if (!send_reaches(len, roffset))
		return send_too_far(h, connid);
	return result(ddi_send_general(h, connid, addr, len, roffset, options,
				       meta, metacount));
}

static __attribute__((noinline)) int
send_slow(connid_t connid, const char *addr, size_t len, offset_t roffset,
	  option_t options)
{
	return send_general(connid, addr, len, roffset, options, NULL, 0);
}

/* The arguments where they are, so that the short way need not move them. */
static __attribute__((noinline)) int
send_after(struct ddi_conn *c, const char *addr, size_t len, offset_t roffset)
{
	return result(ddi_put_after(handle_have(), c, addr, len, roffset));
}

/* As ddi_put_end(), of what needs no more than this. */
static __attribute__((noinline)) int send_due(enum ddi_sent sent,
					      struct ddi_conn *c)
{
	return result(ddi_put_end(sent, handle_have(), 0, NULL, 0, 0, c));
}

static __attribute__((noinline)) int
send_not(connid_t connid, const char *addr, size_t len, offset_t roffset,
	 struct ddi_conn *c)
{
	if (c)
		ddi_unlock(&c->lock);
	return send_slow(connid, addr, len, roffset, SEND_NOOPTS);
}

/* What ddi_put() has left to others has gone so. */
static DDI_INLINE int send_rest(enum ddi_sent sent, connid_t connid,
				const char *addr, size_t len, offset_t roffset,
				struct ddi_conn *c)
{
	if (sent == DDI_SENT)
		return 0;
	if (sent == DDI_SENT_AFTER)
		return send_after(c, addr, len, roffset);
	if (sent == DDI_NOT_PLAIN)
		return send_not(connid, addr, len, roffset, c);
	return send_due(sent, c);
}

/* The arguments in an order in which most need not move. */
static __attribute__((noinline)) int
send_long(connid_t connid, const char *addr, size_t len, offset_t roffset,
	  struct ddi_conn *c, struct dd *h)
{
	return send_rest(send_reaches(len, roffset) ?
			 ddi_put_long(c, addr, len, roffset) : DDI_NOT_PLAIN,
			 connid, addr, len, roffset, c);
}

static DDI_INLINE int send_kernel_as(connid_t connid, const char *addr, size_t len,
				     offset_t roffset, struct ddi_conn *c,
				     struct dd *h, bool alone)
{
	return send_rest(send_reaches(len, roffset) ?
			 ddi_put_kernel(h, c, addr, len, roffset, alone) :
			 ddi_put_on(c, alone, DDI_NOT_PLAIN),
			 connid, addr, len, roffset, c);
}

static __attribute__((noinline)) int
send_kernel(connid_t connid, const char *addr, size_t len, offset_t roffset,
	    struct ddi_conn *c, struct dd *h)
{
	return send_kernel_as(connid, addr, len, roffset, c, h, true);
}

/* By one of several threads. */
static __attribute__((noinline)) int
send_kernel_shared(connid_t connid, const char *addr, size_t len,
		   offset_t roffset, struct ddi_conn *c, struct dd *h)
{
	return send_kernel_as(connid, addr, len, roffset, c, h, false);
}

static DDI_INLINE int send_as(connid_t connid, const char *addr, size_t len,
			      offset_t roffset, struct dd *h, bool alone)
{
	struct ddi_conn *c;
	enum ddi_sent sent = ddi_put(h, connid, addr, len, roffset, &c, alone);

	if (sent == DDI_SENT_KERNEL)
		return alone ?
		       send_kernel(connid, addr, len, roffset, c, h) :
		       send_kernel_shared(connid, addr, len, roffset, c, h);
	if (sent == DDI_SENT_LONG)
		return send_long(connid, addr, len, roffset, c, h);
	return send_rest(sent, connid, addr, len, roffset, c);
}

/* By one of several threads, or of nothing that ddi_put() sends. */
static __attribute__((noinline)) int
send_other(connid_t connid, const char *addr, size_t len, offset_t roffset,
	   option_t options)
{
	struct dd *h = handle_have();

	if (ddi_unlikely(!h) || ddi_unlikely(options))
		return send_slow(connid, addr, len, roffset, options);
	return send_as(connid, addr, len, roffset, h, false);
}

int DD_API ddsend(connid_t connid, const char *addr, size_t len,
		  offset_t roffset, option_t options)
{
	/* Both at once: the one is 0 or 1, the other must be 0. */
	if ((unsigned int)options >= (unsigned char)*ddi_load(&handle_alone))
		return send_other(connid, addr, len, roffset, options);
	return send_as(connid, addr, len, roffset, handle_have(), true);
}

int DD_API ddsend_with_metadata(connid_t connid, const char *addr, size_t size,
				offset_t roffset, option_t options,
				const char *metap, size_t metacount)
{
	unsigned int meta[DD_META_WORDS];

	if (!metacount)
		return ddsend(connid, addr, size, roffset, options);
	if (metacount > DD_META_WORDS || !metap)
		return fail(-EINVAL);
	/* The caller's words need not be aligned. */
	memcpy(meta, metap, metacount * sizeof(*meta));
	return send_general(connid, addr, size, roffset, options, meta,
			    metacount);
}

int DD_API dddone(connid_t connid, int flags)
{
	if (flags & ~SDONE_SLEEP)
		return fail(-EINVAL);
	return result(dd_done(handle_have(), connid, DD_DONE_SENT,
			      flags & SDONE_SLEEP ? DD_FOREVER : 0));
}

/* Caches are coherent with deposits here: the CPU makes them. */
int DD_API ddflush(const char *addr, size_t len)
{
	(void)addr;
	(void)len;
	return 0;
}

static inline bool recv_options_good(option_t options, timeout_t ticks)
{
	return ddi_likely(!(options & ~(RECV_OPTIONS & ~RECV_TIMEOUT))) ||
	       (!(options & ~RECV_OPTIONS) && ticks >= 0);
}

/* The core's timeout, or -EINVAL, from options and ticks. */
static int timeout_get(option_t options, timeout_t ticks, int64_t *timeout)
{
	if (!recv_options_good(options, ticks))
		return -EINVAL;
	*timeout = DD_FOREVER;
	if (options & RECV_NOBLOCK)
		*timeout = 0;
	else if (options & RECV_TIMEOUT)
		*timeout = ticks * NSEC_PER_TICK;
	return 0;
}

/* Of the core's options, those that say how to wait. */
static unsigned int wait_options(option_t options)
{
	return (options & RECV_SLEEP ? DD_RECV_SLEEP : DD_RECV_SPIN) |
	       (options & RECV_INTR ? DD_RECV_INTR : 0);
}

static void desc_fill(ddrecv_desc_t *desc, const struct dd_msg *msg)
{
	desc->connid = msg->conn;
	desc->servid = msg->service;
	desc->msgaddr = msg->addr;
	desc->msgsize = msg->type == DD_MSG_CONN ? -1 : (int)msg->len;
	desc->metacount = msg->meta_count;
	for (unsigned int i = 0; i < msg->meta_count; i++)
		desc->metad[i] = msg->meta[i];
}

/* The same of a data note. */
static DDI_INLINE void desc_take(void *to, const struct ddi_conn *c,
				 uint32_t id, const struct dd_note *note)
{
	ddrecv_desc_t *desc = to;

	desc->connid = id;
	desc->servid = (uint32_t)note->cookie;
	desc->msgaddr = c->recv + note->offset;
	desc->msgsize = note->len;
	desc->metacount = 0;
}

static inline void desc_take_meta(void *to, const struct dd_note *note,
				  const __u32 *from)
{
	ddrecv_desc_t *desc = to;

	desc->metacount = ddi_copy_meta(desc->metad, note, from);
}

/* As dd_recv(). */
static int recv_wait(struct dd *h, noteid_t noteid, ddrecv_desc_t *recvblk,
		     unsigned int options, int64_t timeout)
{
	int64_t deadline = 0;
	struct dd_msg msg;
	int ret;

	do {
		ret = ddi_recv_round(h, noteid, &msg, options, timeout,
				     &deadline);
		/* What was waited for is probably simple. */
		if (!ret && ddi_take_any(h, noteid, false, desc_take,
					 desc_take_meta, recvblk))
			return 0;
	} while (!ret);
	if (ret > 0) {
		desc_fill(recvblk, &msg);
		ret = msg.type == DD_MSG_CLOSE ? -ECONNCLOSE : 0;
	}
	return ret;
}

/* The message is not there yet, or it is no simple one. */
static __attribute__((noinline)) int
recv_slow(noteid_t noteid, ddrecv_desc_t *recvblk, option_t options,
	  timeout_t timeout)
{
	struct dd *h = handle_have();
	int64_t limit;
	int ret;

	ret = timeout_get(options, timeout, &limit);
	if (ret || !recvblk)
		return fail(-EINVAL);
	if (!ddi_alive(h))
		return fail(-EBADID);
	ret = recv_wait(h, noteid, recvblk, wait_options(options), limit);
	/* A timeout of no ticks is one that has expired. */
	if (ret == -EWOULDBLOCK && !(options & RECV_NOBLOCK))
		ret = -ETIMEDOUT;
	return result(ret);
}

/* The same, of a list that is locked still. */
static __attribute__((noinline)) int
recv_not_simple(struct ddi_list *l, ddrecv_desc_t *recvblk)
{
	const struct ddi_wish wish = l->wish;

	ddi_unlock(&l->lock);
	return recv_slow(wish.id, recvblk, wish.options, wish.ticks);
}

static __attribute__((noinline)) int recv_more(struct ddi_list *l)
{
	return ddi_take_more(handle_have(), l);
}

/* What is due after the last attempt. */
static DDI_INLINE int recv_end(enum ddi_taken taken, struct ddi_list *l,
			       ddrecv_desc_t *recvblk)
{
	switch (taken) {
	case DDI_TAKEN:
		return 0;
	case DDI_TAKEN_MORE:
		return recv_more(l);
	default:
		return recv_not_simple(l, recvblk);
	}
}

/* The same again, if it did not come directly. */
static __attribute__((noinline)) int
recv_own(struct ddi_list *l, ddrecv_desc_t *recvblk, struct dd *h)
{
	return recv_end(ddi_take_own(h, l, false, desc_take, desc_take_meta,
				     recvblk), l, recvblk);
}

/* Likewise if there is more to it than a message. */
static __attribute__((noinline)) int
recv_rest(struct ddi_list *l, ddrecv_desc_t *recvblk, struct dd *h)
{
	return recv_end(ddi_take_rest(h, l, false, desc_take, desc_take_meta,
				      recvblk), l, recvblk);
}

static DDI_INLINE int recv_as(noteid_t noteid, ddrecv_desc_t *recvblk,
			      option_t options, timeout_t timeout, struct dd *h,
			      bool alone)
{
	struct ddi_list *l;

	switch (ddi_take(h, noteid, options, timeout, false, desc_take, recvblk,
			 &l, alone)) {
	case DDI_TAKEN:
		return 0;
	case DDI_TAKEN_MORE:
		return recv_more(l);
	case DDI_NOT_DIRECT:
		return recv_own(l, recvblk, h);
	case DDI_NOT_BARE:
		return recv_rest(l, recvblk, h);
	case DDI_NOT_SIMPLE:
		return recv_not_simple(l, recvblk);
	default:
		return recv_slow(noteid, recvblk, options, timeout);
	}
}

/* One of several threads. */
static __attribute__((noinline)) int
recv_shared(noteid_t noteid, ddrecv_desc_t *recvblk, option_t options,
	    timeout_t timeout)
{
	struct dd *h = handle_have();

	if (!h || !recvblk)
		return recv_slow(noteid, recvblk, options, timeout);
	return recv_as(noteid, recvblk, options, timeout, h, false);
}

int DD_API ddrecv(noteid_t noteid, ddrecv_desc_t *recvblk, option_t options,
		  timeout_t timeout)
{
	struct dd *h = handle_have();

	/* What to wait for, and how, matters only where there is nothing. */
	if (!recv_options_good(options, timeout))
		return recv_slow(noteid, recvblk, options, timeout);
	if (!ddi_alone())
		return recv_shared(noteid, recvblk, options, timeout);
	if (ddi_unlikely(!h) || ddi_unlikely(!recvblk))
		return recv_slow(noteid, recvblk, options, timeout);
	return recv_as(noteid, recvblk, options, timeout, h, true);
}

int DD_API ddcall(connid_t connid, const char *saddr, size_t ssize,
		  address_t *repaddr, size_t *repsize,
		  option_t options, timeout_t timeout)
{
	int64_t limit;
	struct dd_msg msg;
	int ret;

	ret = timeout_get(options, timeout, &limit);
	if (ret || options & RECV_NOBLOCK || !repaddr || !repsize)
		return fail(-EINVAL);
	ret = dd_call(handle_have(), connid, saddr, ssize, &msg,
		      wait_options(options), limit);
	if (ret)
		return fail(ret);
	*repaddr = msg.addr;
	*repsize = msg.len;
	return 0;
}

int DD_API ddconninfo(connid_t connid, conninfo_t *conninfo)
{
	struct dd_conn_desc desc;
	int ret;

	if (!ddi_writable(conninfo, sizeof(*conninfo)))
		return fail(-EINVAL);
	ret = dd_conn_info(handle_have(), connid, &desc);
	if (ret)
		return fail(ret);
	*conninfo = (conninfo_t){
		.node = desc.node,
		.noteid = desc.list,
		.sendbase = desc.send,
		.sendsize = desc.send_size,
		.recvbase = desc.recv,
		.recvsize = desc.recv_size,
		.msgid_send = desc.submitted & INT_MAX,
		.msgid_recv = desc.received & INT_MAX,
		.remotesize = desc.peer_size,
		.pid = desc.pid,
		.uid = desc.uid,
	};
	return 0;
}

static int timeval_get(const timeval_t *tv, int64_t *timeout)
{
	int64_t ns;

	if (!tv) {
		*timeout = DD_FOREVER;
		return 0;
	}
	if (!ddi_readable(tv, sizeof(*tv)) || tv->tv_sec < 0 ||
	    tv->tv_usec < 0 || tv->tv_usec >= 1000000)
		return -EINVAL;
	if (__builtin_mul_overflow(tv->tv_sec, NSEC_PER_SEC, &ns) ||
	    __builtin_add_overflow(ns, tv->tv_usec * 1000, &ns))
		ns = DD_FOREVER;
	*timeout = ns;
	return 0;
}

int DD_API ddpoll(int count, noteid_t *notelist, timeval_t *timeout)
{
	int64_t limit;
	struct dd *h;
	int ret;

	if (count < 0 || count > DD_WAIT_MAX || timeval_get(timeout, &limit) ||
	    (count &&
	     !ddi_writable(notelist, count * sizeof(*notelist))))
		return fail(-EINVAL);
	ret = count ? 0 : handle_get(&h);
	if (!ret)
		ret = dd_poll(handle_have(), notelist, count, limit);
	return result(ret);
}

address_t DD_API ddalloc(size_t size)
{
	struct dd *h;
	void *addr;
	int ret = size ? handle_get_fresh(&h) : -EINVAL;

	if (!ret)
		ret = dd_alloc(h, size, &addr);
	if (ret) {
		errno = -ret;
		return NULL;
	}
	return addr;
}

int DD_API ddpeek(noteid_t noteid, size_t *length, connid_t *connid)
{
	struct dd_msg msg;
	int ret;

	if (!length || !connid)
		return fail(-EINVAL);
	ret = dd_peek(handle_have(), noteid, &msg);
	if (ret < 0)
		return fail(ret);
	*connid = ret ? msg.conn : -1;
	*length = ret ? msg.len : 0;
	return 0;
}

int DD_API ddready(noteid_t noteid)
{
	return result(dd_ready(handle_have(), noteid));
}

int DD_API ddmynode(void)
{
	struct dd *h;
	int ret = handle_get(&h);

	return result(ret ? ret : dd_node(h));
}

int DD_API ddmaxnodes(void)
{
	struct dd *h;
	int ret = handle_get(&h);

	return result(ret ? ret : dd_max_nodes(h));
}

int DD_API ddpacketssize(void)
{
	struct dd *h;
	int ret = handle_get(&h);

	return result(ret ? ret : dd_packet_size(h));
}

/* What an error number cannot say about this limit. */
static void memlock_text(char *buf, size_t size)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	snprintf(buf, size, " (the limit is %llu KiB)",
		 (unsigned long long)limit.rlim_cur / 1024);
}

/*
 * What ddconn(), ddserve(), ddalloc() or ddfd() found out besides. Others that fail
 * with these numbers have it forgotten, so it is not of one long ago.
 */
static void reason_text(int error, char *buf, size_t size)
{
	char reason[256] = "";
	struct dd *h = handle_have();

	if (!ddi_alive(h)) {
		if (error == ENOCMP)
			snprintf(reason, sizeof(reason), "there is no /dev/dd: 'modprobe dd' loads the module");
	} else if (error == ENOCMP) {
		/* The device is open, so it is the node. */
		snprintf(reason, sizeof(reason), "node %d, this one, is down: 'ddctl node up' starts it",
			 dd_node(h));
	} else if (!ddi_reason_of(h, -error, reason, sizeof(reason)) &&
		   error == EBADSERVER) {
		ddi_reason_of(h, -EPROTO, reason, sizeof(reason));
	}
	if (*reason)
		snprintf(buf, size, " (%s)", reason);
}

void DD_API dderror(const char *string, ...)
{
	char detail[260] = "", *what = NULL;
	int error = errno, cancel;
	va_list args;

	if (error == EMEMLOCK)
		memlock_text(detail, sizeof(detail));
	else if (error == EBADSERVER || error == ENORESOURCE ||
		 error == ENOCMP || error == EEXIST)
		reason_text(error, detail, sizeof(detail));
	/* Disable cancellation: a cancelled thread would leave stderr locked. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (string && *string) {
		va_start(args, string);
		if (vasprintf(&what, string, args) < 0)
			what = NULL;
		va_end(args);
	}
	/* stderr has no buffer: one call is one write(), so lines do not mix. */
	fprintf(stderr, "%s%s%s%s\n", what ? what : "", what ? ": " : "",
		dd_strerror(error), detail);
	free(what);
	pthread_setcancelstate(cancel, NULL);
	errno = error;
}

int DD_API ddconnlist(servid_t servid, int count, connid_t *list)
{
	int ret = dd_conn_list(handle_have(), servid, list, count);

	/* The kernel writes this one. */
	return result(ret == -EFAULT ? -EINVAL : ret);
}

int DD_API ddfree(address_t addr)
{
	return result(dd_free(handle_have(), addr));
}

int DD_API ddfd(noteid_t noteid)
{
	return result(dd_list_fd(handle_have(), noteid));
}
