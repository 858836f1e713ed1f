// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddcp recv: one loop for all senders that are connected.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "ddcp.h"
#include "progress.h"
#include "proto.h"
#include "target.h"
#include "../common/tool.h"

#define SENDERS_MAX	4
#define LOOK_INTERVAL	200000000ll	/* ns between looks for dead senders */

/**
 * struct transfer - a file on its way
 * @receiver: whose
 * @conn: connection that it comes on, 0 if this entry is free
 * @surplus: more than --count, only there to be refused
 * @gone: the sender is; what it said last may still be in the list
 * @reply: wired page where replies are composed
 * @target: where it goes
 * @expected: bytes announced, or PROTO_UNKNOWN
 * @hash: over what has been written
 * @begin: when it began
 * @progress: bar
 * @out: how it ends
 */
struct transfer {
	struct receiver *receiver;
	int conn;
	bool surplus;
	bool gone;
	char *reply;
	struct target target;
	uint64_t expected;
	XXH3_state_t *hash;
	uint64_t begin;
	struct progress progress;
	struct outcome out;
};

/**
 * struct receiver - the receiving process
 * @h: handle
 * @o: command line
 * @list: note list of the service
 * @senders: connections at a time
 * @begun: files begun
 * @ended: files ended, well or not
 * @code: exit code so far
 * @next_look: when to look for dead senders again
 * @transfers: files on their way
 */
struct receiver {
	struct dd *h;
	const struct options *o;
	int list;
	unsigned int senders;
	uint64_t begun;
	uint64_t ended;
	int code;
	uint64_t next_look;
	struct transfer transfers[SENDERS_MAX];
};

/* The serving end gets no note of a close: it looks at the connection. */
static bool gone(void *arg)
{
	const struct transfer *t = arg;
	struct dd_conn_desc desc;

	return dd_conn_info(t->receiver->h, t->conn, &desc) < 0 || desc.closed;
}

static int reply(struct transfer *t, enum proto_kind kind, uint32_t a,
		 uint32_t b, size_t len)
{
	unsigned int meta[3] = { kind, a, b };

	return dd_send(t->receiver->h, t->conn, t->reply, len, 0, DD_SEND_BLOCK,
		       meta, 3);
}

static void end(struct transfer *t)
{
	struct receiver *r = t->receiver;
	int code = t->surplus ? TOOL_OK : outcome_code(&t->out);

	t->out.nanoseconds = tool_now() - t->begin;
	target_close(&t->target);
	progress_end(&t->progress, t->out.size, !t->out.error);
	outcome_report(&t->out, r->o);
	if (code && !r->code)
		r->code = code;
	XXH3_freeState(t->hash);
	/* What was last sent lies in the sender's memory: nothing is lost. */
	dd_close(r->h, t->conn);
	t->conn = 0;
	r->ended += !t->surplus;
}

/* Tell the sender how it ended, unless it is not there to be told. */
static void finish(struct transfer *t)
{
	size_t len = 0;

	if (t->out.error && t->reply) {
		len = strlen(t->out.text);
		memcpy(t->reply, t->out.text, len);
	}
	if (t->out.error != ECONNCLOSE)
		reply(t, PROTO_RESULT, t->out.error, 0, len);
	end(t);
}

static void lost(struct transfer *t)
{
	char name[NAME_MAX + 1];

	outcome_fail(&t->out, ECONNCLOSE, "%s: the sender went away after %llu byte%s",
		     tool_print_name(name, sizeof(name), t->out.name),
		     (unsigned long long)t->out.size, tool_s(t->out.size));
	end(t);
}

static void look_for_dead(struct receiver *r)
{
	unsigned int i;

	for (i = 0; i < r->senders; i++)
		if (r->transfers[i].conn && gone(&r->transfers[i]))
			r->transfers[i].gone = true;
	r->next_look = tool_now() + LOOK_INTERVAL;
}

/* Once the list holds nothing more of theirs, an ABORT above all. */
static void end_dead(struct receiver *r)
{
	unsigned int i;

	for (i = 0; i < r->senders; i++)
		if (r->transfers[i].conn && r->transfers[i].gone)
			lost(&r->transfers[i]);
}

static bool any_dead(const struct receiver *r)
{
	unsigned int i;

	for (i = 0; i < r->senders; i++)
		if (r->transfers[i].conn && r->transfers[i].gone)
			return true;
	return false;
}

/* --- messages ------------------------------------------------------------- */

/* A name within the directory, and not the directory. */
static bool good_name(const char *name, uint32_t length)
{
	if (!length || length > PROTO_NAME_MAX || memchr(name, 0, length) ||
	    memchr(name, '/', length))
		return false;
	return strcmp(name, ".") && strcmp(name, "..");
}

static int check_hello(struct transfer *t, const struct hello *h,
		       const struct dd_msg *msg)
{
	uint32_t n = le32toh(h->name_length);

	if (msg->len != sizeof(*h) || le32toh(h->magic) != PROTO_MAGIC)
		return outcome_fail(&t->out, EPROTO, "the sender is not ddcp");
	if (le32toh(h->version) != PROTO_VERSION)
		return outcome_fail(&t->out, EPROTO,
				    "the sender speaks version %u of the protocol, this side %u",
				    le32toh(h->version), PROTO_VERSION);
	if (!good_name(h->name, n))
		return outcome_fail(&t->out, EINVAL, "refused the sender's name for the file");
	memcpy(t->out.name, h->name, n);
	if (t->surplus)
		return outcome_fail(&t->out, EAGAIN, "all files that were expected have been begun");
	return 0;
}

static void accept_file(struct transfer *t, const struct hello *h)
{
	const struct options *o = t->receiver->o;
	uint32_t slots = le32toh(h->slots), size = le32toh(h->slot_size);

	t->expected = le64toh(h->size);
	progress_begin(&t->progress, o->quiet, t->out.name, t->expected);
	if (target_open(&t->target, o, t->out.name, t->expected,
			le32toh(h->mode), &t->out)) {
		finish(t);
		return;
	}
	if (slots > o->slots)
		slots = o->slots;
	if (size > o->slot_size)
		size = o->slot_size;
	t->out.slots = slots;
	t->out.slot_size = size;
	if (!slots || !size) {
		outcome_fail(&t->out, EPROTO, "the sender offers no slots");
		finish(t);
	} else if (reply(t, PROTO_ACCEPT, slots, size, 0) < 0) {
		t->gone = true;
	}
}

static struct transfer *begin(struct receiver *r, const struct dd_msg *msg)
{
	struct transfer *t = r->transfers;
	unsigned int i;

	for (i = 0; i < r->senders && t->conn; i++)
		t++;
	if (i == r->senders)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->receiver = r;
	t->conn = msg->conn;
	t->reply = msg->send;
	t->target.fd = -1;
	t->begin = tool_now();
	t->hash = XXH3_createState();
	if (t->hash)
		XXH3_128bits_reset(t->hash);
	t->surplus = r->o->count && r->begun == r->o->count;
	r->begun += !t->surplus;
	return t;
}

static void on_hello(struct receiver *r, const struct dd_msg *msg)
{
	struct transfer *t = begin(r, msg);
	struct hello hello = {};

	if (!t) {
		/* Its block was somebody's until now, whose notes came before. */
		look_for_dead(r);
		end_dead(r);
		t = begin(r, msg);
		if (!t)
			return;
	}
	/* Copied: the sender can still write to it. */
	memcpy(&hello, msg->addr, msg->len < sizeof(hello) ? msg->len : sizeof(hello));
	hello.name[PROTO_NAME_MAX] = 0;
	if (!t->hash)
		outcome_fail(&t->out, ENOMEM, "%s", strerror(ENOMEM));
	if (t->out.error || check_hello(t, &hello, msg))
		finish(t);
	else
		accept_file(t, &hello);
}

static bool data_in_order(const struct transfer *t, const struct dd_msg *msg)
{
	uint64_t offset = msg->meta[2] | (uint64_t)msg->meta[3] << 32;

	return msg->meta[1] < t->out.slots && msg->len &&
		msg->len <= t->out.slot_size && offset == t->out.size;
}

static void on_data(struct transfer *t, const struct dd_msg *msg)
{
	int error;

	if (!data_in_order(t, msg)) {
		outcome_fail(&t->out, EPROTO, "the sender broke the protocol");
		finish(t);
		return;
	}
	XXH3_128bits_update(t->hash, msg->addr, msg->len);
	error = target_write(&t->target, msg->addr, msg->len, gone, t);
	if (error == ECONNCLOSE) {
		t->gone = true;
		return;
	}
	if (error) {
		outcome_fail(&t->out, error, "%s: %s",
			     t->target.path ? t->target.path : "output", strerror(error));
		finish(t);
		return;
	}
	t->out.size += msg->len;
	progress_show(&t->progress, t->out.size);
	if (reply(t, PROTO_GRANT, msg->meta[1], 0, 0) < 0)
		t->gone = true;
}

static int verify(struct transfer *t, const struct dd_msg *msg)
{
	uint64_t size = msg->meta[2] | (uint64_t)msg->meta[3] << 32;
	XXH128_hash_t sum = XXH3_128bits_digest(t->hash);
	XXH128_canonical_t own;
	unsigned int i;

	XXH128_canonicalFromHash(&own, sum);
	for (i = 0; i < PROTO_HASH; i++)
		sprintf(&t->out.hash[2 * i], "%02x", own.digest[i]);
	if (msg->len != PROTO_HASH || size != t->out.size ||
	    (t->expected != PROTO_UNKNOWN && t->expected != size))
		return outcome_fail(&t->out, EPROTO,
				    "%llu byte%s arrived, the sender says %llu",
				    (unsigned long long)t->out.size,
				    tool_s(t->out.size),
				    (unsigned long long)size);
	if (memcmp(own.digest, msg->addr, PROTO_HASH))
		return outcome_fail(&t->out, EBADMSG,
				    "the checksum does not match what arrived");
	return target_commit(&t->target, &t->out);
}

static void on_abort(struct transfer *t, int error)
{
	char name[NAME_MAX + 1];

	/* The number is the sender's: only its text is worth anything. */
	outcome_fail(&t->out, EIO, "%s: the sender gave up: %s",
		     tool_print_name(name, sizeof(name), t->out.name),
		     dd_strerror(error));
	end(t);
}

static void on_message(struct receiver *r, const struct dd_msg *msg)
{
	struct transfer *t = NULL;
	unsigned int i, kind = msg->meta_count ? msg->meta[0] : 0;

	for (i = 0; i < r->senders; i++)
		if (r->transfers[i].conn == msg->conn)
			t = &r->transfers[i];
	if (!t && kind == PROTO_HELLO) {
		on_hello(r, msg);
	} else if (!t) {
		/* What a refused sender had on its way; or no ddcp at all. */
		dd_close(r->h, msg->conn);
	} else if (t->gone && kind != PROTO_ABORT) {
		/* Nobody is there who would learn how it ends. */
		return;
	} else if (kind == PROTO_DATA && msg->meta_count == 4) {
		on_data(t, msg);
	} else if (kind == PROTO_FIN && msg->meta_count == 4) {
		verify(t, msg);
		finish(t);
	} else if (kind == PROTO_ABORT && msg->meta_count >= 2) {
		on_abort(t, msg->meta[1]);
	} else {
		outcome_fail(&t->out, EPROTO, "the sender broke the protocol");
		finish(t);
	}
}

/* --- the process ---------------------------------------------------------- */

static int serve(struct receiver *r)
{
	const struct options *o = r->o;
	size_t in = (PROTO_CONTROL + o->slots * o->slot_size) * r->senders;
	size_t out = (size_t)PROTO_CONTROL * r->senders;
	struct dd_serve_attr attr = {
		.size = sizeof(attr),
		.maxconn = r->senders,
		.window = PROTO_WINDOW(o->slots),
		.recv_size = in,
		.send_size = out,
	};
	int ret = dd_alloc(r->h, in, &attr.recv);

	if (!ret)
		ret = dd_alloc(r->h, out, &attr.send);
	if (ret < 0)
		return ddcp_refused(o, r->h, ret, "memory for the slots");
	ret = dd_serve(r->h, o->name, &attr, &r->list);
	if (ret == -EEXIST) {
		struct outcome taken = { 0 };

		outcome_fail(&taken, ret,
			     "there is a receiver '%s' on this node already", o->name);
		outcome_report(&taken, o);
		return ret;
	}
	return ret < 0 ? ddcp_refused(o, r->h, ret, o->name) : 0;
}

static int receive(struct receiver *r)
{
	struct dd_msg msg;
	int ret;

	while (!r->o->count || r->ended < r->o->count) {
		ret = dd_recv(r->h, r->list, &msg, DD_RECV_SPIN,
			      any_dead(r) ? 0 : LOOK_INTERVAL);
		if (!ret && msg.type == DD_MSG_DATA) {
			on_message(r, &msg);
		} else if (ret == -EWOULDBLOCK) {
			end_dead(r);
		} else if (ret && ret != -ETIMEDOUT) {
			return tool_exit_code(ddcp_refused(r->o, r->h, ret,
							   "receiving"));
		}
		if (tool_now() >= r->next_look)
			look_for_dead(r);
	}
	return r->code;
}

int ddcp_recv(const struct options *o)
{
	struct receiver r = { .o = o };
	struct outcome out = { 0 };
	int ret;

	if (target_check(o, &out)) {
		outcome_report(&out, o);
		return outcome_code(&out);
	}
	r.h = ddcp_open(o);
	r.senders = o->count && o->count < SENDERS_MAX ? o->count : SENDERS_MAX;
	target_catch_signals();
	tool_raise_memlock();
	ret = serve(&r);
	if (ret < 0)
		return tool_exit_code(ret);
	if (!o->quiet)
		fprintf(stderr, "ddcp: ready as '%s' on node %d\n", o->name,
			dd_node(r.h));
	ret = receive(&r);
	dd_shutdown(r.h);
	return ret;
}
