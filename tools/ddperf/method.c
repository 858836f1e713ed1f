// SPDX-License-Identifier: GPL-2.0-only
/*
 * method.c - ways to carry a message: direct deposit, and its controls
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "headers.h"
#include "method.h"
#include "pair.h"
#include "process.h"
#include "words.h"
#include "../common/tool.h"

/* A SOCK_SEQPACKET message must fit the send buffer, 208 KiB by default. */
#define PACKET_LIMIT	(64u << 10)

/* Spinning for a process that needs this CPU would last its time slice. */
static void give_way(const struct side *s)
{
	if (s->hello.shared_cpu)
		sched_yield();
}

/* The same where the loop makes no system call of its own. */
static void relax(const struct side *s)
{
	if (s->hello.shared_cpu)
		sched_yield();
	else
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#else
		__asm__ volatile("" ::: "memory");
#endif
}

static void failed(const struct side *s, const char *what, int error)
{
	/* This process may see it before the thread that watches the control socket. */
	if (error == -ECONNCLOSE && !s->me)
		perf_lost(s->control);
	if (error == -ECONNCLOSE)
		_exit(TOOL_OK);
	perf_fail(error < 0 ? tool_exit_code(error) : TOOL_FAILED, "%s: %s",
		  what, dd_strerror(error));
}

/* --- direct deposit ------------------------------------------------------- */

/*
 * The library spins for a while, and then sleeps. Between nodes the control spins
 * without end, with MSG_DONTWAIT, and so direct deposit is polled without end too.
 */
static bool polls(const struct side *s)
{
	return s->net && !s->hello.sleep;
}

static void link_put(struct side *s, const struct link *l, size_t size)
{
	int ret;

	while ((ret = dd_send(s->h, l->conn, l->send, size, 0, 0, NULL, 0)) ==
	       -ENOTREADY) {
		if (polls(s))
			give_way(s);
		else
			ret = dd_done(s->h, l->conn, DD_DONE_PLACED, DD_FOREVER);
	}
	if (ret < 0)
		failed(s, "dd_send", ret);
}

static char *link_get(struct side *s, const struct link *l, size_t size)
{
	struct dd_msg msg;
	int ret;

	while ((ret = dd_recv(s->h, l->list, &msg,
			      s->hello.sleep ? DD_RECV_SLEEP : DD_RECV_SPIN,
			      polls(s) ? 0 : DD_FOREVER)) == -EWOULDBLOCK)
		give_way(s);
	if (ret || msg.len != size)
		failed(s, "dd_recv", ret ? ret : -EPROTO);
	return msg.addr;
}

#define LINK(name, link)						\
static void name##_put(struct side *s, size_t size)			\
{									\
	link_put(s, &s->links[link], size);				\
}									\
									\
static char *name##_get(struct side *s, size_t size)			\
{									\
	return link_get(s, &s->links[link], size);			\
}

LINK(dd, LINK_DD)
LINK(kernel, LINK_KERNEL)

/* --- a bare flag ---------------------------------------------------------- */

static char *payload_of(const struct side *s, int side)
{
	return s->shared->payload + side * payload_size(s->hello.size);
}

/*
 * The least that is possible: no window, since the sides take turns, and no
 * pause, which makes an emulated processor leave its loop. The flag is the
 * number of the message, behind its payload. It equals neither payload, whose
 * bytes are 1 and 2, nor an earlier flag.
 */
static uint64_t *flag_of(const struct side *s, int side, size_t size)
{
	return (uint64_t *)(payload_of(s, side) + (size + 7) / 8 * 8);
}

static void flag_put(struct side *s, size_t size)
{
	memcpy(payload_of(s, s->me), s->buffer, size);
	__atomic_store_n(flag_of(s, s->me, size), ++s->flags_set, __ATOMIC_RELEASE);
}

static char *flag_get(struct side *s, size_t size)
{
	const uint64_t *flag = flag_of(s, !s->me, size);
	uint64_t number = ++s->flags_seen;

	while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != number)
		give_way(s);
	return payload_of(s, !s->me);
}

/* --- counters in shared memory, with the window of direct deposit --------- */

static void wait_for_window(const struct side *s)
{
	const uint64_t *taken = &s->shared->taken[s->me].value;

	while (s->posted - __atomic_load_n(taken, __ATOMIC_ACQUIRE) >=
	       s->hello.window)
		relax(s);
}

static void post(struct side *s)
{
	__atomic_store_n(&s->shared->posted[s->me].value, ++s->posted,
			 __ATOMIC_RELEASE);
}

static char *wait_for_post(struct side *s, size_t size)
{
	const uint64_t *posted = &s->shared->posted[!s->me].value;

	while (__atomic_load_n(posted, __ATOMIC_ACQUIRE) == s->seen)
		relax(s);
	s->seen++;
	__atomic_store_n(&s->shared->taken[!s->me].value, s->seen,
			 __ATOMIC_RELEASE);
	return s->buffer;
}

static void shm_put(struct side *s, size_t size)
{
	wait_for_window(s);
	memcpy(payload_of(s, s->me), s->buffer, size);
	post(s);
}

static char *shm_get(struct side *s, size_t size)
{
	wait_for_post(s, size);
	return payload_of(s, !s->me);
}

/* Carries nothing: the cost of one copy. */
static void copy_put(struct side *s, size_t size)
{
	memcpy(s->buffer + s->hello.size, s->buffer, size);
	post(s);
}

static void vm_put(struct side *s, size_t size)
{
	struct iovec v = { s->buffer, size };

	wait_for_window(s);
	if (process_vm_writev(s->other, &v, 1, &v, 1, 0) != (ssize_t)size)
		failed(s, "process_vm_writev", errno);
	post(s);
}

/* --- counters in shared memory, asleep ------------------------------------ */

/* The half of the counter that changes with each message. */
static uint32_t *futex_word(struct counter *c)
{
	return (uint32_t *)&c->value + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/*
 * Each side writes before it reads, in one order for both (SEQ_CST): either the
 * sleeper sees the new value, or the process that stores it sees the sleeper.
 */
static void wait_change(struct counter *c, uint64_t old)
{
	while (__atomic_load_n(&c->value, __ATOMIC_ACQUIRE) == old) {
		__atomic_store_n(&c->asleep, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&c->value, __ATOMIC_SEQ_CST) == old)
			syscall(SYS_futex, futex_word(c), FUTEX_WAIT,
				(uint32_t)old, NULL, NULL, 0);
		__atomic_store_n(&c->asleep, 0, __ATOMIC_RELAXED);
	}
}

static void change(struct counter *c, uint64_t value)
{
	__atomic_store_n(&c->value, value, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&c->asleep, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, futex_word(c), FUTEX_WAKE, INT_MAX, NULL,
			NULL, 0);
}

static void futex_put(struct side *s, size_t size)
{
	struct counter *taken = &s->shared->taken[s->me];
	uint64_t seen;

	while (s->posted - (seen = __atomic_load_n(&taken->value,
						   __ATOMIC_ACQUIRE)) >=
	       s->hello.window)
		wait_change(taken, seen);
	memcpy(payload_of(s, s->me), s->buffer, size);
	change(&s->shared->posted[s->me], ++s->posted);
}

static char *futex_get(struct side *s, size_t size)
{
	wait_change(&s->shared->posted[!s->me], s->seen);
	change(&s->shared->taken[!s->me], ++s->seen);
	return payload_of(s, !s->me);
}

/* --- sockets --------------------------------------------------------------- */

static void socket_put(struct side *s, int fd, size_t size, int flags)
{
	const char *p = s->buffer;
	ssize_t n;

	while (size) {
		n = send(fd, p, size, MSG_NOSIGNAL | flags);
		if (n < 0 && errno != EAGAIN)
			failed(s, "send", errno);
		if (n < 0) {
			give_way(s);
			continue;
		}
		p += n;
		size -= n;
	}
}

static char *socket_get(struct side *s, int fd, size_t size, int flags)
{
	char *p = s->buffer;
	ssize_t n;

	while (size) {
		n = recv(fd, p, size, flags);
		if (!n)
			failed(s, "recv", -ECONNCLOSE);
		if (n < 0 && errno != EAGAIN)
			failed(s, "recv", errno);
		if (n < 0) {
			give_way(s);
			continue;
		}
		p += n;
		size -= n;
	}
	return s->buffer;
}

#define SOCKET(name, member, flags)					\
static void name##_put(struct side *s, size_t size)			\
{									\
	socket_put(s, s->member, size, flags);				\
}									\
									\
static char *name##_get(struct side *s, size_t size)			\
{									\
	return socket_get(s, s->member, size, flags);			\
}

SOCKET(unix_spin, packet, MSG_DONTWAIT)
SOCKET(unix_block, packet, 0)
SOCKET(tcp_spin, tcp, MSG_DONTWAIT)
SOCKET(tcp_block, tcp, 0)

/* --- all of them ---------------------------------------------------------- */

#define BIT(n)		(1u << (n))
#define EVERY		(BIT(TEST_LAT) | BIT(TEST_BW) | BIT(TEST_RATE))
#define COST		(BIT(TEST_INSN) | BIT(TEST_TRIP))

const struct method methods[METHODS] = {
	{ "dd", "direct deposit",
	  EVERY | COST, HERE | NET, WAITS_BY_OPTION, 0, dd_put, dd_get },
	{ "dd-kernel", "direct deposit, each message sent by the kernel",
	  EVERY, HERE, WAITS_BY_OPTION, 0, kernel_put, kernel_get },
	{ "flag", "memcpy() to shared memory and a flag behind it, no pause, no window: the limit",
	  BIT(TEST_LAT), HERE, WAITS_SPINNING, 0, flag_put, flag_get },
	{ "shm", "memcpy() to shared memory, and a counter there",
	  EVERY, HERE, WAITS_SPINNING, 0, shm_put, shm_get },
	{ "memcpy", "memcpy() within the sender, and a counter: carries nothing",
	  BIT(TEST_BW), HERE, WAITS_SPINNING, 0, copy_put, wait_for_post },
	{ "futex", "memcpy() to shared memory, a counter and a futex there, blocking",
	  EVERY, HERE, WAITS_ASLEEP, 0, futex_put, futex_get },
	{ "vm-writev", "process_vm_writev(), and a counter in shared memory",
	  EVERY, HERE, WAITS_SPINNING, 0, vm_put, wait_for_post },
	{ "vmmc", "vmmc_SendData(), whose last word the receiver spins for",
	  BIT(TEST_LAT), HERE | NET, WAITS_SPINNING, 0, words_put, words_get },
	{ "st", "st_tx() and st_rx() of a header, with its payload above 40 bytes",
	  BIT(TEST_LAT), HERE | NET, WAITS_SPINNING, HEADERS_LIMIT, headers_put, headers_get },
	{ "unix-spin", "UNIX SOCK_SEQPACKET, spinning with MSG_DONTWAIT",
	  EVERY, HERE, WAITS_SPINNING, PACKET_LIMIT, unix_spin_put, unix_spin_get },
	{ "unix-block", "UNIX SOCK_SEQPACKET, blocking",
	  EVERY, HERE, WAITS_ASLEEP, PACKET_LIMIT, unix_block_put, unix_block_get },
	{ "tcp-spin", "TCP with TCP_NODELAY, spinning with MSG_DONTWAIT",
	  EVERY, HERE | NET, WAITS_SPINNING, 0, tcp_spin_put, tcp_spin_get },
	{ "tcp-block", "TCP with TCP_NODELAY, blocking",
	  EVERY | COST, HERE | NET, WAITS_ASLEEP, 0, tcp_block_put, tcp_block_get },
};

static bool is_called(const struct method *m, const char *word, size_t len)
{
	return strlen(m->name) == len && !strncmp(m->name, word, len);
}

bool method_chosen(const struct method *m, const char *list)
{
	size_t len;

	if (!list)
		return true;
	for (; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		if (is_called(m, list, len))
			return true;
	}
	return false;
}

void methods_check(const char *list)
{
	size_t len;
	int i;

	for (; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		for (i = 0; i < METHODS && !is_called(&methods[i], list, len); i++)
			;
		if (i == METHODS)
			tool_usage("--methods: there is no '%.*s'", (int)len, list);
	}
}
