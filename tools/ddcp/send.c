// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddcp send: reads a file straight into wired slots and deposits them.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "ddcp.h"
#include "progress.h"
#include "proto.h"
#include "../common/tool.h"

#define RETRY_INTERVAL	50	/* ms between two attempts to connect */

/**
 * struct sender - the sending process
 * @h: handle
 * @o: command line
 * @fd: file
 * @regular: reading it does not wait for a writer
 * @size: bytes in it, or PROTO_UNKNOWN
 * @mode: its permission bits
 * @conn: connection
 * @list: its note list
 * @list_fd: polls readable when the receiver has said something
 * @block: send block: a control page, then the slots
 * @free_slots: one bit for each slot that is ours to fill
 * @finished: the receiver has said its last word
 * @hash: over what has been read
 * @progress: bar
 * @out: how it ends
 */
struct sender {
	struct dd *h;
	const struct options *o;
	int fd;
	bool regular;
	uint64_t size;
	mode_t mode;
	int conn;
	int list;
	int list_fd;
	char *block;
	uint64_t free_slots;
	bool finished;
	XXH3_state_t *hash;
	struct progress progress;
	struct outcome out;
};

/* --- the file ------------------------------------------------------------- */

static int open_file(struct sender *s)
{
	const char *file = s->o->file, *base = strrchr(file, '/');
	bool in = !strcmp(file, "-");
	struct stat st;

	s->fd = in ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0 || fstat(s->fd, &st) < 0)
		return outcome_fail(&s->out, errno, "%s: %s", file, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return outcome_fail(&s->out, EISDIR, "%s: %s", file, strerror(EISDIR));
	s->regular = S_ISREG(st.st_mode) || S_ISBLK(st.st_mode);
	/* Files that the kernel makes up, as in /proc, say that they are empty. */
	s->size = S_ISREG(st.st_mode) && st.st_size > 0 && !in ?
		(uint64_t)st.st_size : PROTO_UNKNOWN;
	s->mode = S_ISREG(st.st_mode) ? st.st_mode & 0777 : 0666;
	if (s->o->as)
		file = s->o->as;
	else if (in)
		file = "stdin";
	else if (base)
		file = base + 1;
	if (strlen(file) > PROTO_NAME_MAX)
		return outcome_fail(&s->out, ENAMETOOLONG, "%s: %s", file,
				    strerror(ENAMETOOLONG));
	strcpy(s->out.name, file);
	if (s->regular)
		posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return 0;
}

/* --- messages ------------------------------------------------------------- */

static int lost(struct sender *s)
{
	return outcome_fail(&s->out, ECONNCLOSE,
			    "the receiver went away after %llu byte%s",
			    (unsigned long long)s->out.size, tool_s(s->out.size));
}

static void on_result(struct sender *s, const struct dd_msg *msg)
{
	char text[ERROR_TEXT] = "", clean[ERROR_TEXT];

	s->finished = true;
	if (msg->meta_count < 2 || !msg->meta[1])
		return;
	memcpy(text, msg->addr, msg->len < sizeof(text) ? msg->len : sizeof(text) - 1);
	outcome_fail(&s->out, EREMOTEIO, "receiver: %s",
		     tool_print_name(clean, sizeof(clean), text));
}

static void on_grant(struct sender *s, const struct dd_msg *msg)
{
	if (msg->meta_count >= 2 && msg->meta[1] < s->out.slots)
		s->free_slots |= 1ull << msg->meta[1];
}

static void on_accept(struct sender *s, const struct dd_msg *msg)
{
	unsigned int slots = msg->meta[1], size = msg->meta[2];

	if (msg->meta_count < 3 || s->out.slots || !slots || !size ||
	    slots > s->o->slots || size > s->o->slot_size) {
		outcome_fail(&s->out, EPROTO, "the receiver broke the protocol");
		return;
	}
	s->out.slots = slots;
	s->out.slot_size = size;
	s->free_slots = slots == 64 ? ~0ull : (1ull << slots) - 1;
}

/*
 * Take in what the receiver has said; wait for something if @timeout says so.
 * Return: 0, or -1 if there is an error, of ours or of the receiver's.
 */
static int listen_to(struct sender *s, int64_t timeout)
{
	struct dd_msg msg;
	int ret;

	do {
		ret = dd_recv(s->h, s->list, &msg, DD_RECV_SPIN, timeout);
		if (ret == -EWOULDBLOCK)
			break;
		if (ret == -ECONNCLOSE)
			return s->finished ? 0 : lost(s);
		if (ret)
			return outcome_fail(&s->out, ret, "receiving: %s",
					    dd_strerror(ret));
		switch (msg.meta_count ? msg.meta[0] : 0) {
		case PROTO_ACCEPT:
			on_accept(s, &msg);
			break;
		case PROTO_GRANT:
			on_grant(s, &msg);
			break;
		case PROTO_RESULT:
			on_result(s, &msg);
			break;
		default:
			outcome_fail(&s->out, EPROTO, "the receiver broke the protocol");
		}
		timeout = 0;
	} while (!s->out.error && !s->finished);
	return s->out.error ? -1 : 0;
}

static int send_message(struct sender *s, const void *from, size_t len,
			size_t to, const unsigned int meta[4])
{
	int ret = dd_send(s->h, s->conn, from, len, to, 0, meta, 4);

	if (ret == -ECONNCLOSE) {
		/* It may have said why. */
		while (!s->out.error && !s->finished)
			listen_to(s, DD_FOREVER);
		return lost(s);
	}
	if (ret < 0)
		return outcome_fail(&s->out, ret, "sending: %s", dd_strerror(ret));
	return 0;
}

static int send_hello(struct sender *s)
{
	const unsigned int meta[4] = { PROTO_HELLO };
	struct hello hello = {
		.magic = htole32(PROTO_MAGIC),
		.version = htole32(PROTO_VERSION),
		.size = htole64(s->size),
		.mode = htole32(s->mode),
		.slots = htole32(s->o->slots),
		.slot_size = htole32(s->o->slot_size),
		.name_length = htole32(strlen(s->out.name)),
	};

	strcpy(hello.name, s->out.name);
	memcpy(s->block, &hello, sizeof(hello));
	return send_message(s, s->block, sizeof(hello), 0, meta);
}

static int send_fin(struct sender *s)
{
	const unsigned int meta[4] = {
		PROTO_FIN, 0, (uint32_t)s->out.size, s->out.size >> 32
	};
	XXH128_canonical_t sum;
	unsigned int i;

	XXH128_canonicalFromHash(&sum, XXH3_128bits_digest(s->hash));
	for (i = 0; i < PROTO_HASH; i++)
		sprintf(&s->out.hash[2 * i], "%02x", sum.digest[i]);
	memcpy(s->block, sum.digest, PROTO_HASH);
	return send_message(s, s->block, PROTO_HASH, 0, meta);
}

static int send_slot(struct sender *s, unsigned int slot, size_t len)
{
	const unsigned int meta[4] = {
		PROTO_DATA, slot, (uint32_t)s->out.size, s->out.size >> 32
	};
	size_t at = PROTO_CONTROL + slot * s->out.slot_size;

	s->free_slots &= ~(1ull << slot);
	return send_message(s, s->block + at, len, at, meta);
}

/* --- the copy ------------------------------------------------------------- */

/* A pipe may be silent for long: the receiver's end must not go unnoticed. */
static int wait_for_input(struct sender *s)
{
	struct pollfd p[2] = {
		{ .fd = s->fd, .events = POLLIN },
		{ .fd = s->list_fd, .events = POLLIN },
	};

	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return outcome_fail(&s->out, errno, "poll: %s", strerror(errno));
		if (p[1].revents && listen_to(s, 0))
			return -1;
		if (p[0].revents)
			return 0;
	}
}

/* Fill a slot as far as the file goes. Return: bytes, 0 at its end, or -1. */
static ssize_t fill(struct sender *s, char *slot)
{
	size_t done = 0;
	ssize_t n;

	while (done < s->out.slot_size) {
		if (!s->regular && wait_for_input(s))
			return -1;
		n = read(s->fd, slot + done, s->out.slot_size - done);
		if (!n)
			break;
		if (n > 0)
			done += n;
		else if (errno != EINTR && errno != EAGAIN)
			return outcome_fail(&s->out, errno, "%s: %s", s->o->file,
					    strerror(errno));
	}
	XXH3_128bits_update(s->hash, slot, done);
	return done;
}

static int copy(struct sender *s)
{
	unsigned int slot;
	ssize_t n;

	do {
		/* A grant also tells that the slot's last bytes have been sent. */
		if (listen_to(s, s->free_slots ? 0 : DD_FOREVER))
			return -1;
		if (s->finished || !s->free_slots)
			continue;
		slot = __builtin_ctzll(s->free_slots);
		n = fill(s, s->block + PROTO_CONTROL + slot * s->out.slot_size);
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		if (send_slot(s, slot, n))
			return -1;
		s->out.size += n;
		progress_show(&s->progress, s->out.size);
	} while (!s->finished);

	if (s->finished)
		return outcome_fail(&s->out, EPROTO, "the receiver broke the protocol");
	if (s->size != PROTO_UNKNOWN && s->size != s->out.size)
		return outcome_fail(&s->out, ESTALE, "%s: its size changed from %llu to %llu meanwhile",
				    s->o->file, (unsigned long long)s->size,
				    (unsigned long long)s->out.size);
	return 0;
}

static int transfer(struct sender *s)
{
	if (send_hello(s))
		return -1;
	while (!s->out.slots)
		if (listen_to(s, DD_FOREVER))
			return -1;
	if (copy(s) || send_fin(s))
		return -1;
	while (!s->finished)
		if (listen_to(s, DD_FOREVER))
			return -1;
	return 0;
}

/* --- the process ---------------------------------------------------------- */

static int allocate(struct sender *s, struct dd_connect_attr *attr)
{
	int ret;

	attr->send_size = PROTO_CONTROL + s->o->slots * s->o->slot_size;
	attr->recv_size = PROTO_CONTROL;
	ret = dd_alloc(s->h, attr->send_size, &attr->send);
	if (!ret)
		ret = dd_alloc(s->h, attr->recv_size, &attr->recv);
	if (ret < 0)
		ddcp_fail(&s->out, s->h, ret, "memory for the slots");
	s->block = attr->send;
	return ret;
}

/* Not there yet, or busy with others: worth another attempt. */
static int connect_patiently(struct sender *s, const struct dd_connect_attr *attr)
{
	const struct timespec pause = { 0, RETRY_INTERVAL * 1000000l };
	uint64_t end = tool_now() + s->o->wait * 1000000000ull;
	int ret, node = s->o->node >= 0 ? s->o->node : dd_node(s->h);
	char why[256];

	for (;;) {
		ret = dd_connect(s->h, s->o->name, node, attr, &s->list);
		if ((ret != -EBADSERVER && ret != -ENORESOURCE) ||
		    tool_now() >= end)
			break;
		nanosleep(&pause, NULL);
	}
	if (ret == -EBADSERVER && !dd_last_error(s->h, why, sizeof(why)))
		outcome_fail(&s->out, ret, "no receiver '%s' on node %d%s%s%s",
			     s->o->name, node, *why ? " (" : "", why,
			     *why ? ")" : "");
	else if (ret < 0)
		ddcp_fail(&s->out, s->h, ret, s->o->name);
	return ret;
}

static int start(struct sender *s)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr),
		.type = DD_TYPE_STREAM,
		.window = PROTO_WINDOW(s->o->slots),
	};
	int ret;

	tool_raise_memlock();
	ret = allocate(s, &attr);
	if (ret < 0)
		return ret;
	s->conn = connect_patiently(s, &attr);
	if (s->conn < 0)
		return s->conn;
	s->list_fd = dd_list_fd(s->h, s->list);
	if (s->list_fd < 0)
		ddcp_fail(&s->out, s->h, s->list_fd, "note list");
	return s->list_fd < 0 ? s->list_fd : 0;
}

int ddcp_send(const struct options *o)
{
	struct sender s = { .o = o };
	uint64_t begin;
	int ret;

	s.hash = XXH3_createState();
	if (!s.hash || open_file(&s)) {
		outcome_fail(&s.out, ENOMEM, "%s", strerror(ENOMEM));
		outcome_report(&s.out, o);
		return TOOL_FAILED;
	}
	XXH3_128bits_reset(s.hash);
	s.h = ddcp_open(o);
	ret = start(&s);
	if (ret < 0) {
		outcome_report(&s.out, o);
		return tool_exit_code(ret);
	}

	begin = tool_now();
	progress_begin(&s.progress, o->quiet, s.out.name, s.size);
	if (transfer(&s) && !s.finished && s.out.error != ECONNCLOSE) {
		const unsigned int meta[4] = { PROTO_ABORT, s.out.error };

		/* The window holds all slots and two more: it has room. */
		dd_send(s.h, s.conn, s.block, 0, 0, DD_SEND_BLOCK, meta, 4);
	}
	s.out.nanoseconds = tool_now() - begin;
	progress_end(&s.progress, s.out.size, !s.out.error);
	outcome_report(&s.out, o);
	dd_shutdown(s.h);
	return outcome_code(&s.out);
}
