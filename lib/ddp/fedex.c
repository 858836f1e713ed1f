// SPDX-License-Identifier: LGPL-2.1-only
/*
 * fedex.c - the calls of the Direct Deposit Protocol, on a handle opened on first use
 *
 * Copyright (C) 2026 The dd authors
 */
#include <limits.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "error.h"
#include "fedex.h"
#include "recv.h"
#include "send.h"
#include "wait.h"

/* Define the functions, not the macros that make the document's programs compile. */
#undef ddrecv
#undef ddcall

/* SERVE_WINDOW(), CONN_WINDOW() and SERVE_PERUSER() in flags. */
#define WINDOW_FLAGS	(0xfff << 16)
#define WINDOW_GET(f)	(((f) & WINDOW_FLAGS) >> 16)
#define PERUSER_FLAGS	(0xff << 8)
#define PERUSER_GET(f)	(((f) & PERUSER_FLAGS) >> 8)

/* The other flags, and the options, are the core's. */
#define SERVE_FLAGS	(SERVE_NOTELIST | SERVE_DOACCEPT | SERVE_NODIRECT | \
			 SERVE_DIRECT_ANY | SERVE_CLOSE | SERVE_SAMEUSER)
#define CONN_FLAGS	(CONN_NOTELIST | CONN_NODIRECT | CONN_DIRECT_ANY)
_Static_assert(SERVE_NOTELIST == DD_ATTR_LIST && SERVE_DOACCEPT == DD_ATTR_ACCEPT &&
	       SERVE_NODIRECT == DD_ATTR_NODIRECT &&
	       SERVE_DIRECT_ANY == DD_ATTR_DIRECT_ANY && SERVE_CLOSE == DD_ATTR_CLOSE &&
	       SERVE_SAMEUSER == DD_ATTR_SAME_USER && CONN_NOTELIST == DD_ATTR_LIST &&
	       CONN_NODIRECT == DD_ATTR_NODIRECT && CONN_DIRECT_ANY == DD_ATTR_DIRECT_ANY &&
	       RECV_SLEEP == DD_RECV_SLEEP && RECV_INTR == DD_RECV_INTR, "flags");

#define RECV_OPTIONS	(RECV_SLEEP | RECV_NOBLOCK | RECV_TIMEOUT | RECV_INTR)
#define NSEC_PER_TICK	(DDI_NSEC_PER_SEC / SBP_HZ)

/*
 * The default handle. A child of fork() finds its parent's here, which is unusable in
 * the child: every call gives EBADID, until the child calls ddalloc() and gets a handle
 * of its own. The parent's handle is then left alone.
 */
static struct dd *default_handle;

static DDI_NOINLINE int fail(int error)
{
	errno = -error;
	return -1;
}

/* From the core's result to the protocol's: -1 and errno. */
static inline int result(int ret)
{
	return ddi_unlikely(ret < 0) ? fail(ret) : ret;
}

/* The same, of a call that creates something. */
static int result_id(int ret, int *id)
{
	if (ret < 0)
		return fail(ret);
	*id = ret;
	return 0;
}

/* For calls that take an id; NULL, as long as there is no handle, gives EBADID. */
static struct dd *handle_have(void)
{
	return ddi_load_acquire(&default_handle);
}

/*
 * For calls that need the device, whatever their arguments; @fresh: for ddalloc(), the
 * first call of any program.
 */
static int handle_get(struct dd **handle, bool fresh)
{
	struct dd *old = handle_have();
	int ret;

	*handle = old;
	if (old && (!fresh || ddi_alive(old)))
		return 0;
	ret = dd_open(handle);
	if (ret)
		return ret;
	(*handle)->mutual = true;
	if (!__atomic_compare_exchange_n(&default_handle, &old, *handle, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		/* Another thread has opened one meanwhile. */
		dd_shutdown(*handle);
		*handle = old;
	}
	return 0;
}

int DD_API ddserve(const char *name, int flags, int maxconn,
		   address_t recvbase, size_t recvsize,
		   address_t replybase, size_t replysize,
		   noteid_t *noteid, servid_t *servid)
{
	struct dd_serve_attr attr = {
		.size = sizeof(attr), .flags = flags & SERVE_FLAGS, .maxconn = maxconn,
		.window = WINDOW_GET(flags), .peruser = PERUSER_GET(flags),
		.recv = recvbase, .recv_size = recvsize,
		.send = replybase, .send_size = replysize,
	};
	struct dd *h;

	if (flags & ~(SERVE_FLAGS | PERUSER_FLAGS | WINDOW_FLAGS) || maxconn <= 0 ||
	    !noteid || !servid)
		return fail(-EINVAL);
	attr.list = *noteid;
	return result_id(handle_get(&h, false) ?: dd_serve(h, name, &attr, noteid), servid);
}

/* DDP-30 has one error, EBADSERVER, for all that a node may lack. */
int DD_API ddconn(const char *name, int node, int type, int flags,
		  address_t sendbase, size_t sendsize,
		  address_t replybase, size_t replysize,
		  connid_t *connid, noteid_t *noteid)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr), .flags = flags & CONN_FLAGS, .type = type,
		.window = WINDOW_GET(flags), .send = sendbase, .send_size = sendsize,
		.recv = replybase, .recv_size = replysize,
	};
	int ret, none = 0;
	struct dd *h;

	noteid = type == TYPE_RPC ? &none : noteid;
	if (flags & ~(CONN_FLAGS | WINDOW_FLAGS) || type < TYPE_RPC ||
	    type > TYPE_SSTREAM || !connid || !noteid)
		return fail(-EINVAL);
	attr.list = *noteid;
	ret = handle_get(&h, false) ?: dd_connect(h, name, node, &attr, noteid);
	return result_id(ret == -EPROTO ? -EBADSERVER : ret, connid);
}

int DD_API ddclose(connid_t connid)
{
	return result(dd_close(handle_have(), connid));
}

int DD_API ddunserve(servid_t servid)
{
	return result(dd_unserve(handle_have(), servid));
}

DDI_HOT int DD_API ddsend(connid_t connid, const char *addr, size_t len,
			  offset_t roffset, option_t options)
{
	return result(ddi_unlikely(options) ?
		      dd_send(handle_have(), connid, addr, len, roffset, options, NULL, 0) :
		      ddi_send(handle_have(), connid, addr, len, roffset));
}

int DD_API ddsend_with_metadata(connid_t connid, const char *addr, size_t size,
				offset_t roffset, option_t options,
				const char *metap, size_t metacount)
{
	unsigned int meta[DD_META_WORDS];

	if (metacount > DD_META_WORDS || (metacount && !metap))
		return fail(-EINVAL);
	/* The caller's words need not be aligned. */
	memcpy(meta, metap, metacount * sizeof(*meta));
	return result(dd_send(handle_have(), connid, addr, size, roffset, options,
			      meta, metacount));
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

/* The core's timeout, or -EINVAL, from options and ticks. */
static inline int timeout_get(option_t options, timeout_t ticks, int64_t *timeout)
{
	*timeout = options & RECV_NOBLOCK ? 0 : DD_FOREVER;
	if (ddi_likely(!(options & ~(RECV_OPTIONS ^ RECV_TIMEOUT))))
		return 0;
	if (options & ~RECV_OPTIONS || ticks < 0)
		return -EINVAL;
	if (*timeout)
		*timeout = ticks * NSEC_PER_TICK;
	return 0;
}

/* ddrecv() passes its result to the core as it is. */
#define SAME(field, brief)	(offsetof(ddrecv_desc_t, field) ==		\
				 offsetof(struct ddi_brief, brief))
_Static_assert(SAME(msgaddr, addr) && SAME(msgsize, len) && SAME(connid, conn) &&
	       SAME(servid, service) && SAME(metad, meta) &&
	       SAME(metacount, meta_count), "layout");

DDI_HOT int DD_API ddrecv(noteid_t noteid, ddrecv_desc_t *recvblk, option_t options,
			  timeout_t ticks)
{
	int64_t timeout;
	int ret;

	if (timeout_get(options, ticks, &timeout) || ddi_unlikely(!recvblk))
		return fail(-EINVAL);
	ret = ddi_recv(handle_have(), noteid, recvblk, options | DDI_RECV_BRIEF,
		       timeout);
	if (ddi_likely(!ret))
		return 0;
	/* A timeout of 0 ticks is one that has expired. */
	return fail(ret == -EWOULDBLOCK && !(options & RECV_NOBLOCK) ?
		    -ETIMEDOUT : ret);
}

int DD_API ddcall(connid_t connid, const char *saddr, size_t ssize,
		  address_t *repaddr, size_t *repsize,
		  option_t options, timeout_t timeout)
{
	int64_t limit;
	struct dd_msg msg;
	int ret;

	if (timeout_get(options, timeout, &limit) || options & RECV_NOBLOCK ||
	    !repaddr || !repsize)
		return fail(-EINVAL);
	ret = dd_call(handle_have(), connid, saddr, ssize, &msg,
		      options & (RECV_SLEEP | RECV_INTR), limit);
	if (ret)
		return fail(ret);
	*repaddr = msg.addr;
	*repsize = msg.len;
	return 0;
}

/*
 * Whether memory can be accessed, without accessing it. The kernel copies the signal set
 * before it finds that the first argument is invalid: the result is EFAULT or EINVAL, and
 * nothing else happens.
 */
static bool word_readable(uintptr_t addr)
{
	return !syscall(SYS_rt_sigprocmask, ~0, addr & ~7ul, NULL, 8) || errno != EFAULT;
}

/*
 * The kernel adds 0 to the word atomically, so a concurrent store of another thread
 * is not lost. No thread waits on @here, and the comparison is never true, so that
 * no waiter on the word is woken.
 */
static bool word_writable(uintptr_t addr)
{
	uint32_t here = 0, op = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_LT, -2048);

	return syscall(SYS_futex, &here, FUTEX_WAKE_OP_PRIVATE, 0, NULL, addr & ~3ul,
		       op) >= 0 || errno != EFAULT;
}

/*
 * The protocol requires EINVAL for a bad pointer of ddconninfo() and ddpoll(); other
 * calls check for NULL only. Ranges are no longer than the smallest page: probe both of
 * their ends.
 */
static bool range_good(const void *start, size_t len, bool (*good)(uintptr_t addr))
{
	uintptr_t addr = (uintptr_t)start;
	int saved = errno;
	bool ret = addr + len > addr && good(addr) && good(addr + len - 1);

	errno = saved;
	return ret;
}

int DD_API ddconninfo(connid_t connid, conninfo_t *conninfo)
{
	struct dd_conn_desc desc;
	int ret;

	if (!range_good(conninfo, sizeof(*conninfo), word_writable))
		return fail(-EINVAL);
	ret = dd_conn_info(handle_have(), connid, &desc);
	if (ret < 0)
		return fail(ret);
	*conninfo = (conninfo_t){
		.node = desc.node, .noteid = desc.list, .pid = desc.pid, .uid = desc.uid,
		.sendbase = desc.send, .sendsize = desc.send_size,
		.recvbase = desc.recv, .recvsize = desc.recv_size, .remotesize = desc.peer_size,
		.msgid_send = desc.submitted & INT_MAX, .msgid_recv = desc.received & INT_MAX,
	};
	return 0;
}

static int timeval_get(const timeval_t *tv, int64_t *timeout)
{
	*timeout = DD_FOREVER;
	if (!tv)
		return 0;
	if (!range_good(tv, sizeof(*tv), word_readable) || tv->tv_sec < 0 ||
	    tv->tv_usec < 0 || tv->tv_usec >= 1000000)
		return -EINVAL;
	if (__builtin_mul_overflow(tv->tv_sec, DDI_NSEC_PER_SEC, timeout) ||
	    __builtin_add_overflow(*timeout, tv->tv_usec * 1000, timeout))
		*timeout = DD_FOREVER;
	return 0;
}

int DD_API ddpoll(int count, noteid_t *notelist, timeval_t *timeout)
{
	struct dd *h = handle_have();
	int64_t limit;

	if (count < 0 || count > DD_WAIT_MAX || timeval_get(timeout, &limit) ||
	    (count && !range_good(notelist, count * sizeof(*notelist), word_writable)))
		return fail(-EINVAL);
	return result((count ? 0 : handle_get(&h, false)) ?:
		      dd_poll(h, notelist, count, limit));
}

address_t DD_API ddalloc(size_t size)
{
	struct dd *h;
	void *addr;
	int ret = size ? handle_get(&h, true) ?: dd_alloc(h, size, &addr) : -EINVAL;

	return ret ? fail(ret), NULL : addr;
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

static int number_of(int (*call)(struct dd *h))
{
	struct dd *h;

	return result(handle_get(&h, false) ?: call(h));
}

int DD_API ddmynode(void)
{
	return number_of(dd_node);
}

int DD_API ddmaxnodes(void)
{
	return number_of(dd_max_nodes);
}

int DD_API ddpacketssize(void)
{
	return number_of(dd_packet_size);
}

/*
 * What the number does not say: the limit of EMEMLOCK, or the reason that ddconn(),
 * ddserve(), ddalloc() or ddfd() has recorded, or dd_open() if there is no handle. Other calls
 * that fail with these numbers clear it, so it is never that of an earlier call.
 */
static void reason_text(int error, char *buf, size_t size)
{
	struct dd *h = handle_have();
	struct rlimit limit;

	if (error == EMEMLOCK && !getrlimit(RLIMIT_MEMLOCK, &limit))
		snprintf(buf, size, "the limit is %llu KiB",
			 (unsigned long long)limit.rlim_cur / 1024);
	else if (!ddi_alive(h))
		ddi_reason_of(NULL, -error, buf, size);
	else if (error == ENOCMP)
		/* The device is open, so it is the node. */
		snprintf(buf, size, "node %d, this one, is down: 'ddctl node up' starts it",
			 dd_node(h));
	else if ((error == EBADSERVER || error == ENORESOURCE || error == EEXIST) &&
		 !ddi_reason_of(h, -error, buf, size) && error == EBADSERVER)
		ddi_reason_of(h, -EPROTO, buf, size);
}

/*
 * Disables cancellation: a cancelled thread would leave stderr locked. stderr has no
 * buffer: one call of fprintf() is one write(), so lines do not mix.
 */
void DD_API dderror(const char *string, ...)
{
	char detail[256] = "", *what = NULL;
	int error = errno, cancel;
	va_list args;

	reason_text(error, detail, sizeof(detail));
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	va_start(args, string);
	if (!string || !*string || vasprintf(&what, string, args) < 0)
		what = NULL;
	va_end(args);
	fprintf(stderr, "%s%s%s%s%s%s\n", what ? what : "", what ? ": " : "",
		dd_strerror(error), *detail ? " (" : "", detail, *detail ? ")" : "");
	free(what);
	pthread_setcancelstate(cancel, NULL);
	errno = error;
}

int DD_API ddconnlist(servid_t servid, int count, connid_t *list)
{
	int ret = dd_conn_list(handle_have(), servid, list, count);

	/* The kernel writes the list. */
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
