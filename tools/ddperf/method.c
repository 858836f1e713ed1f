// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copyright (C) 2026 The dd authors
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "method.h"
#include "net.h"
#include "../common/tool.h"

#define BIT(n)		(1u << (n))
#define EVERY		(BIT(TEST_LAT) | BIT(TEST_BW) | BIT(TEST_RATE))
#define COST		(BIT(TEST_INSN) | BIT(TEST_TRIP))

/* A SOCK_SEQPACKET message must fit the send buffer, 208 KiB by default. */
#define PACKET_LIMIT	(64u << 10)

/* Largest payload of a datagram by IPv4. */
#define DATAGRAM_LIMIT	65507

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
	/* It may be seen here before it is seen on the socket for commands. */
	if (error == -ECONNCLOSE && !s->me)
		perf_lost(s->control);
	if (error == -ECONNCLOSE)
		_exit(TOOL_OK);
	perf_fail(error < 0 ? tool_exit_code(error) : TOOL_FAILED, "%s: %s",
		  what, dd_strerror(error));
}

/* --- ours ----------------------------------------------------------------- */

/*
 * The library spins for a while, and then sleeps. Between nodes it is compared
 * with sockets that are asked again and again, and so it is too.
 */
static bool asks_again(const struct side *s)
{
	return s->hello.net && !s->hello.sleep;
}

static void way_put(struct side *s, const struct way *w, size_t size)
{
	int ret;

	while ((ret = dd_send(s->h, w->conn, w->send, size, 0, 0, NULL, 0)) ==
	       -ENOTREADY) {
		if (asks_again(s))
			give_way(s);
		else
			ret = dd_done(s->h, w->conn, DD_DONE_PLACED, DD_FOREVER);
	}
	if (ret < 0)
		failed(s, "dd_send", ret);
}

static char *way_get(struct side *s, const struct way *w, size_t size)
{
	struct dd_msg msg;
	int ret;

	while ((ret = dd_recv(s->h, w->list, &msg,
			      s->hello.sleep ? DD_RECV_SLEEP : DD_RECV_SPIN,
			      asks_again(s) ? 0 : DD_FOREVER)) == -EWOULDBLOCK)
		give_way(s);
	if (ret || msg.len != size)
		failed(s, "dd_recv", ret ? ret : -EPROTO);
	return msg.addr;
}

static void dd_put(struct side *s, size_t size)
{
	way_put(s, &s->ways[WAY_DD], size);
}

static char *dd_get(struct side *s, size_t size)
{
	return way_get(s, &s->ways[WAY_DD], size);
}

static void kernel_put(struct side *s, size_t size)
{
	way_put(s, &s->ways[WAY_KERNEL], size);
}

static char *kernel_get(struct side *s, size_t size)
{
	return way_get(s, &s->ways[WAY_KERNEL], size);
}

/* --- memory that both sides map ------------------------------------------- */

/* The window is the same as ours: a full one waits for the other side. */
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

static void wait_for_post(struct side *s)
{
	const uint64_t *posted = &s->shared->posted[!s->me].value;

	while (__atomic_load_n(posted, __ATOMIC_ACQUIRE) == s->seen)
		relax(s);
	s->seen++;
	__atomic_store_n(&s->shared->taken[!s->me].value, s->seen,
			 __ATOMIC_RELEASE);
}

static char *payload_of(const struct side *s, int side)
{
	return s->shared->payload + side * payload_room(s->hello.size);
}

static void shm_put(struct side *s, size_t size)
{
	wait_for_window(s);
	memcpy(payload_of(s, s->me), s->buffer, size);
	post(s);
}

static char *shm_get(struct side *s, size_t size)
{
	wait_for_post(s);
	return payload_of(s, !s->me);
}

/*
 * As little as there can be: no window, since the sides take turns, and no
 * pause, which an emulated processor leaves its loop for. The flag is the
 * message's number, behind its payload: neither payloads, whose bytes are 1 and
 * 2, nor earlier flags are taken for it.
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

/* Nothing is carried: what a processor needs for one copy of its own. */
static void copy_put(struct side *s, size_t size)
{
	memcpy(s->buffer + s->hello.size, s->buffer, size);
	post(s);
}

static char *copy_get(struct side *s, size_t size)
{
	wait_for_post(s);
	return s->buffer;
}

/* --- process_vm_writev() -------------------------------------------------- */

static void vm_put(struct side *s, size_t size)
{
	struct iovec from = { s->buffer, size }, to = { s->other_buffer, size };

	wait_for_window(s);
	if (process_vm_writev(s->other, &from, 1, &to, 1, 0) != (ssize_t)size)
		failed(s, "process_vm_writev", errno);
	post(s);
}

static char *vm_get(struct side *s, size_t size)
{
	wait_for_post(s);
	return s->buffer;
}

/* --- UNIX sockets --------------------------------------------------------- */

static void packet_put(struct side *s, size_t size)
{
	if (send(s->packet, s->buffer, size, MSG_NOSIGNAL) != (ssize_t)size)
		failed(s, "send", errno);
}

static char *packet_get(struct side *s, size_t size)
{
	if (recv(s->packet, s->buffer, size, 0) != (ssize_t)size)
		failed(s, "recv", errno);
	return s->buffer;
}

static void packet_put_spinning(struct side *s, size_t size)
{
	ssize_t n;

	while ((n = send(s->packet, s->buffer, size,
			 MSG_NOSIGNAL | MSG_DONTWAIT)) < 0 && errno == EAGAIN)
		give_way(s);
	if (n != (ssize_t)size)
		failed(s, "send", errno);
}

static char *packet_get_spinning(struct side *s, size_t size)
{
	ssize_t n;

	while ((n = recv(s->packet, s->buffer, size, MSG_DONTWAIT)) < 0 &&
	       errno == EAGAIN)
		give_way(s);
	if (n != (ssize_t)size)
		failed(s, "recv", errno);
	return s->buffer;
}

static void stream_put(struct side *s, size_t size)
{
	const char *p = s->buffer;
	ssize_t n;

	for (; size; p += n, size -= n) {
		n = send(s->stream, p, size, MSG_NOSIGNAL);
		if (n < 0)
			failed(s, "send", errno);
	}
}

static char *stream_get(struct side *s, size_t size)
{
	char *p = s->buffer;
	ssize_t n;

	for (; size; p += n, size -= n) {
		n = recv(s->stream, p, size, 0);
		if (n <= 0)
			failed(s, "recv", errno);
	}
	return s->buffer;
}

const struct method methods[] = {
	{
		.name = "dd",
		.what = "direct deposit",
		.tests = EVERY | COST | BIT(TEST_SHARE),
		.places = PLACE_HERE | PLACE_NET,
		.send = dd_put,
		.recv = dd_get,
	}, {
		.name = "dd-kernel",
		.what = "direct deposit, each message sent by the kernel",
		.tests = EVERY,
		.places = PLACE_HERE,
		.send = kernel_put,
		.recv = kernel_get,
	}, {
		.name = "flag",
		.what = "memcpy() to shared memory and a flag behind it, no pause, no window: the limit",
		.tests = BIT(TEST_LAT),
		.places = PLACE_HERE,
		.waiting = WAITS_SPINNING,
		.send = flag_put,
		.recv = flag_get,
	}, {
		.name = "shm",
		.what = "memcpy() to shared memory, and a flag there",
		.tests = EVERY,
		.places = PLACE_HERE,
		.waiting = WAITS_SPINNING,
		.send = shm_put,
		.recv = shm_get,
	}, {
		.name = "memcpy",
		.what = "memcpy() within the sender, and a flag: carries nothing",
		.tests = BIT(TEST_BW),
		.places = PLACE_HERE,
		.waiting = WAITS_SPINNING,
		.send = copy_put,
		.recv = copy_get,
	}, {
		.name = "futex",
		.what = "memcpy() to shared memory, a flag and a futex there, blocking",
		.tests = EVERY,
		.places = PLACE_HERE,
		.waiting = WAITS_ASLEEP,
		.send = futex_put,
		.recv = futex_get,
	}, {
		.name = "vm-writev",
		.what = "process_vm_writev(), and a flag in shared memory",
		.tests = EVERY,
		.places = PLACE_HERE,
		.waiting = WAITS_SPINNING,
		.send = vm_put,
		.recv = vm_get,
	}, {
		.name = "unix-spin",
		.what = "UNIX SOCK_SEQPACKET, spinning with MSG_DONTWAIT",
		.tests = EVERY,
		.places = PLACE_HERE,
		.waiting = WAITS_SPINNING,
		.limit = PACKET_LIMIT,
		.send = packet_put_spinning,
		.recv = packet_get_spinning,
	}, {
		.name = "unix-block",
		.what = "UNIX SOCK_SEQPACKET, blocking",
		.tests = EVERY,
		.places = PLACE_HERE,
		.waiting = WAITS_ASLEEP,
		.limit = PACKET_LIMIT,
		.send = packet_put,
		.recv = packet_get,
	}, {
		.name = "unix-stream",
		.what = "UNIX SOCK_STREAM, blocking",
		.tests = EVERY,
		.places = PLACE_HERE,
		.waiting = WAITS_ASLEEP,
		.send = stream_put,
		.recv = stream_get,
	}, {
		.name = "pipe",
		.what = "a pipe for each direction, blocking",
		.tests = EVERY,
		.places = PLACE_HERE,
		.waiting = WAITS_ASLEEP,
		.send = pipe_put,
		.recv = pipe_get,
	}, {
		.name = "udp-spin",
		.what = "UDP, spinning with MSG_DONTWAIT",
		.tests = BIT(TEST_LAT),
		.places = PLACE_NET,
		.waiting = WAITS_SPINNING,
		.limit = DATAGRAM_LIMIT,
		.send = udp_put_spinning,
		.recv = udp_get_spinning,
	}, {
		.name = "udp-spin",
		.what = "UDP, acknowledged for its receiver's buffer, spinning",
		.tests = BIT(TEST_BW) | BIT(TEST_RATE),
		.places = PLACE_NET,
		.waiting = WAITS_SPINNING,
		.send = udp_flow_spinning,
		.recv = udp_take_spinning,
	}, {
		.name = "tcp-spin",
		.what = "TCP with TCP_NODELAY, spinning with MSG_DONTWAIT",
		.tests = EVERY,
		.places = PLACE_NET,
		.waiting = WAITS_SPINNING,
		.send = tcp_put_spinning,
		.recv = tcp_get_spinning,
	}, {
		.name = "udp-block",
		.what = "UDP, blocking",
		.tests = BIT(TEST_LAT) | BIT(TEST_TRIP),
		.places = PLACE_NET,
		.waiting = WAITS_ASLEEP,
		.limit = DATAGRAM_LIMIT,
		.send = udp_put,
		.recv = udp_get,
	}, {
		.name = "udp-block",
		.what = "UDP, acknowledged for its receiver's buffer, blocking",
		.tests = BIT(TEST_BW) | BIT(TEST_RATE),
		.places = PLACE_NET,
		.waiting = WAITS_ASLEEP,
		.send = udp_flow,
		.recv = udp_take,
	}, {
		.name = "tcp-block",
		.what = "TCP with TCP_NODELAY, blocking",
		.tests = EVERY | COST | BIT(TEST_SHARE),
		.places = PLACE_NET,
		.waiting = WAITS_ASLEEP,
		.send = tcp_put,
		.recv = tcp_get,
	},
};

const unsigned int method_count = sizeof(methods) / sizeof(methods[0]);

/* --- a choice of them ----------------------------------------------------- */

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

static bool is_there(const char *word, size_t len)
{
	unsigned int i;

	for (i = 0; i < method_count; i++)
		if (is_called(&methods[i], word, len))
			return true;
	return false;
}

void methods_check(const char *list)
{
	size_t len;

	for (; list && *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		if (!is_there(list, len))
			tool_usage("--methods: there is no '%.*s'", (int)len, list);
	}
}
