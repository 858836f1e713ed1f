// SPDX-License-Identifier: LGPL-2.1-only
/*
 * tx.c - st_tx()
 *
 * Copyright (C) 2026 The dd authors
 *
 * The bytes of Data are in the memory of the other end before a header is sent, or between nodes before
 * that is read. An Mx is contiguous, so the STUs of a call are one request.
 */
#include <errno.h>

#include "flush.h"
#include "map.h"
#include "message.h"
#include "remote.h"
#include "rx.h"

static bool valid(const st_header_t *hdr)
{
	return hdr && ST_OP_DELIVERED(hdr->op);
}

static DDI_NOINLINE int invalid(const st_header_t *hdr)
{
	if (!hdr || hdr->op < ST_OP_NOP || hdr->op > ST_OP_END_ACK)
		return st_error(EINVAL);
	return st_error(EOPNOTSUPP);
}

/* Whether the receiver will accept the header. */
static bool matches(const struct st_end *e, const st_header_t *hdr)
{
	return !st_option(e, ST_OPT_LITERAL) ||
	       (hdr->d_key == e->remote.key && st_port_of(&e->remote, hdr->d_port));
}

static uint32_t stus(uint32_t len, uint32_t stu)
{
	return len / stu + !!(len % stu);
}

/* Turn the header into that of the last STU of @len bytes. Returns the number of STUs. */
static uint32_t tile(const struct st_end *e, st_header_t *hdr, uint32_t len)
{
	uint32_t stu = st_option(e, ST_OPT_MAXSTU_REMOTE), size = e->remote.bufsize;
	uint32_t room = size - hdr->offset, full, n, last;

	if (len <= room) {
		n = last = stus(len, stu);
		hdr->offset += (last - 1) * stu;
	} else {
		len -= room;
		full = (len - 1) / size;
		last = stus(len - full * size, stu);
		n = stus(room, stu) + full * stus(size, stu) + last;
		hdr->bufx += 1 + full;
		hdr->offset = (last - 1) * stu;
	}
	if (n > 1)
		hdr->flags |= ST_FLAG_LAST;
	return n;
}

/*
 * The window is full while Data is under way. Collect its results before the wait for the window: the
 * calls of other threads need them.
 */
static DDI_NOINLINE int header_wait(struct st_end *e, const st_header_t *hdr, const void *pay, uint32_t n)
{
	int error = st_settle(e, true);

	if (!error)
		error = st_message_header(e, hdr, pay);
	if (!error)
		st_submitted(e, n);
	return error;
}

/* Send a header, and count it as @n. */
static int header_send(struct st_end *e, const st_header_t *hdr, const void *pay, uint32_t n)
{
	int error = st_message_header(e, hdr, pay);

	if (error)
		return error == EWOULDBLOCK ? header_wait(e, hdr, pay, n) : error;
	st_submitted(e, n);
	return 0;
}

/* Send the header of the Data that was put last: the other end reads it when that is in place. */
static int announce(struct st_end *e, const st_header_t *hdr)
{
	int error;

	st_remote_announced(e);
	error = st_message_data(e, hdr, e->newest);
	if (error != EWOULDBLOCK)
		return error;
	error = st_settle(e, true);
	return error ? error : st_message_data(e, hdr, e->newest);
}

/* The bytes of Data are under way to another node. */
static DDI_NOINLINE int data_under_way(struct st_end *e, const st_header_t *hdr, uint32_t n)
{
	int error = hdr->flags & ST_FLAG_SILENT ? 0 : announce(e, hdr);

	if (error)
		return error;
	if (e->busy)
		__atomic_add_fetch(&e->under_way, n, __ATOMIC_RELAXED);
	st_submitted(e, n);
	return 0;
}

/* Let the receiver drop a header, and count it. */
static int bad_send(struct st_end *e, uint32_t n)
{
	const st_header_t bad = { .op = ST_OP_BAD };

	return header_send(e, &bad, NULL, n);
}

/* Whether the program asks for one STU. */
static bool literal(const struct st_end *e)
{
	return st_option(e, ST_OPT_LITERAL) || st_option(e, ST_OPT_MAXSTU_REMOTE) >= ST_STU_UNLIMITED;
}

static int put(struct st_end *e, const st_header_t *hdr, uint32_t len, uint32_t bufx,
	       uint32_t off)
{
	struct st_map *map;
	void *local = st_map_get(e, ST_PIN_TX, bufx, off, len, &map);
	int error;

	if (!local)
		return EFAULT;
	error = matches(e, hdr) ? st_remote_put(e, hdr, local, len) : EBADMSG;
	st_map_put(map);
	return error;
}

static DDI_NOINLINE int data(struct st_end *e, st_header_t hdr, uint32_t len, uint32_t bufx, uint32_t off)
{
	bool silent = hdr.flags & ST_FLAG_SILENT;
	uint32_t n = 1;
	int error;

	if (!st_option(e, ST_OPT_LITERAL) && hdr.offset >= e->remote.bufsize)
		return EINVAL;
	if (!len && !silent)
		return header_send(e, &hdr, NULL, 1);
	error = len ? put(e, &hdr, len, bufx, off) : 0;
	if (error && error != EBADMSG && error != EINPROGRESS)
		return error;
	if (len && !literal(e))
		n = tile(e, &hdr, len);
	if (error)
		return error == EBADMSG ? bad_send(e, n) : data_under_way(e, &hdr, n);
	if (!silent)
		return header_send(e, &hdr, NULL, n);
	st_submitted(e, n);
	return 0;
}

/* The header that reports the bytes of a Get. */
static void answer(struct st_end *e, struct st_answer *a, const st_header_t *get, uint32_t mx,
		   uint32_t bufx, uint32_t off)
{
	st_header_t hdr = {
		.op = ST_OP_DATA, .param = get->param,
		.d_port = e->port, .s_port = e->remote.port, .d_id = get->s_id,
		.s_id = get->d_id, .d_key = e->option[ST_OPT_KEY_LOCAL], .mx = mx, .bufx = bufx,
		.b_num = get->b_num,
	};

	hdr.offset = off;
	st_answer_post(e, a, &hdr);
}

static int fetch(struct st_end *e, const st_header_t *hdr, uint32_t len, uint32_t bufx,
		 uint32_t off, uint32_t *mx)
{
	struct st_map *map;
	void *local = st_map_get(e, ST_PIN_RX, bufx, off, len, &map);
	int error;

	if (!local)
		return EFAULT;
	*mx = st_map_mx(map);
	error = matches(e, hdr) ? st_remote_get(e, hdr, local, len) : EBADMSG;
	st_map_put(map);
	return error;
}

static DDI_NOINLINE int get(struct st_end *e, const st_header_t *hdr, const void *pay,
			    uint32_t len, uint32_t bufx, uint32_t off)
{
	struct st_answer *a = NULL;
	uint32_t mx = 0;
	int error;

	if (!st_option(e, ST_OPT_LITERAL) && hdr->offset >= e->remote.bufsize)
		return EINVAL;
	if (!(hdr->flags & ST_FLAG_SILENT)) {
		a = st_answer_new();
		if (!a)
			return ENOMEM;
	}
	error = fetch(e, hdr, len, bufx, off, &mx);
	if (!error) {
		if (a)
			answer(e, a, hdr, mx, bufx, off);
		st_submitted(e, 1);
		return 0;
	}
	st_answer_free(a);
	if (error == EBADMSG)
		return bad_send(e, 1);
	/* The other end's program is to answer. */
	return error == EACCES ? header_send(e, hdr, pay, 1) : error;
}

/* Data, a Get, or what is sent to another node. */
static DDI_NOINLINE int transmit(struct st_end *e, const st_header_t *hdr, const void *pay,
				 uint32_t len, uint32_t bufx, uint32_t off)
{
	int error = 0;

	if (e->far && !st_remote_follows(e, hdr, len))
		error = st_settle(e, true);
	if (error)
		return error;
	if (hdr->op == ST_OP_DATA)
		return data(e, *hdr, len, bufx, off);
	if (hdr->op == ST_OP_GET)
		return get(e, hdr, pay, len, bufx, off);
	return header_send(e, hdr, pay, 1);
}

/* Whether there are no bytes before the header, of this call or others, to wait for. */
static bool alone(const struct st_end *e, const st_header_t *hdr)
{
	return !e->far && !((1u << ST_OP_DATA | 1u << ST_OP_GET) >> hdr->op & 1);
}

static DDI_INLINE int send_alone(struct st_end *e, const st_header_t *hdr, const void *pay)
{
	int error = st_message_header(e, hdr, pay);

	if (!error)
		st_submitted(e, 1);
	return error;
}

static DDI_INLINE int tx_unlock(struct st_end *e, uintptr_t value, const st_header_t *hdr,
				const void *pay, uint32_t len, uint32_t bufx, uint32_t off)
{
	int error = st_connected(e, value);

	if (!error && __atomic_load_n(&e->reset, __ATOMIC_RELAXED))
		error = ECONNRESET;
	if (!error)
		error = alone(e, hdr) ? send_alone(e, hdr, pay) :
					transmit(e, hdr, pay, len, bufx, off);
	ddi_unlock(&e->order);
	return st_error(error);
}

/* Another thread sends. */
static DDI_NOINLINE int tx_wait(struct st_end *e, uintptr_t value, const st_header_t *hdr,
				const void *pay, uint32_t len, uint32_t bufx, uint32_t off)
{
	ddi_lock(&e->order);
	return tx_unlock(e, value, hdr, pay, len, bufx, off);
}

/*
 * One sender at a time, in the order of the calls. What is slow is called last, so that this function saves
 * few registers.
 */
ST_API int st_tx(st_chandle_t *chandle, st_header_t *hdr, void *opt_pay, uint len, uint bufx,
		 uint off)
{
	uintptr_t value;
	struct st_end *e = st_find(chandle, &value);

	if (!e)
		return st_error(EBADF);
	if (!valid(hdr))
		return invalid(hdr);
	if (ddi_unlikely(!ddi_trylock(&e->order)))
		return tx_wait(e, value, hdr, opt_pay, len, bufx, off);
	return tx_unlock(e, value, hdr, opt_pay, len, bufx, off);
}
