// SPDX-License-Identifier: GPL-2.0-only
/*
 * intruder.c - a client and a clerk of the file service that keep to no rule
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "dd.h"
#include "../../tools/rmfs/common.h"
#include "../../tools/rmfs/remote.h"

#define REPLY_NS	60000000000ll
#define BOXES		(RMFS_MAILBOXES * RMFS_DEPTH)	/* places of all mailboxes */

static struct dd *dd;
static struct call *call;
static uint8_t noise[sizeof(struct message)] __attribute__((aligned(8)));
static struct remote remote = { .name = "rmfs", .client = 1 };

static void must(int ok, const char *what)
{
	if (ok)
		return;
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

/* Connect to the clerk of this node. */
static int join(int type)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr), .type = type, .send_size = sizeof(*call),
		.recv_size = sizeof(*call),
	};
	int conn;

	must(!dd_open(&dd) && !dd_alloc(dd, sizeof(*call), &attr.send) &&
	     !dd_alloc(dd, sizeof(*call), &attr.recv), "memory");
	call = attr.send;
	conn = dd_connect(dd, "rmfs:rmfs", dd_node(dd), &attr, NULL);
	must(conn > 0, "connect");
	return conn;
}

/*
 * calls: for each line OPERATION HANDLE OFFSET [TEXT] print the error, the bytes, a handle that
 * was found, and the error of an earlier write.
 */
static int do_calls(char **argv)
{
	int conn = join(DD_TYPE_RPC), n;
	char line[512], text[256];
	struct found f = { 0 };
	struct dd_msg msg;
	struct call *reply;

	setlinebuf(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		call->h = (struct header){ 0 };
		n = sscanf(line, "%u %li %li %255s", &call->h.op, (long *)&call->h.handle,
			   (long *)&call->h.offset, text);
		call->h.len = n == 4 ? strlen(text) : 0;
		memcpy(call->payload, text, call->h.len);
		must(!dd_call(dd, conn, NULL, sizeof(call->h) + call->h.len, &msg, 0, REPLY_NS),
		     "call");
		reply = msg.addr;
		if (call->h.op == OP_LOOKUP && !reply->h.op)
			memcpy(&f, reply->payload, sizeof(f));
		printf("%u %u 0x%llx %u\n", reply->h.op, reply->h.len,
		       (unsigned long long)f.handle, reply->h.late);
	}
	return 0;
}

/*
 * scribble: requests that are overwritten while the clerk serves them, and replies that are not
 * consumed, until a signal.
 */
static int __attribute__((noreturn)) do_scribble(char **argv)
{
	int conn = join(DD_TYPE_STREAM), ret;
	size_t at, len;
	uint32_t n;

	printf("ready\n");
	fflush(stdout);
	for (n = 0;; n++) {
		call->h = (struct header){ .op = n % OP_CLIENTS, .offset = n % 3, .len = n % 9 };
		memcpy(call->payload, noise, sizeof(noise) - sizeof(call->h));
		at = n % 2 ? 0 : rand() % sizeof(*call);
		len = n % 2 ? sizeof(call->h) + call->h.len : rand() % (sizeof(*call) - at);
		ret = dd_send(dd, conn, n % 2 ? (void *)call : noise, len, at,
			      n % 2 ? 0 : DD_SEND_UNWIRED, NULL, 0);
		must(!ret || ret == -ENOTREADY, "send");
	}
}

/* Import a segment with the given rights: 0 or an errno. */
static int import(const char *name, char **argv, int rights, rm_desc_t *rd)
{
	return rm_import(name, argv[0] ? atoi(argv[0]) : -1, rights, rd) ? errno : 0;
}

/* forge [NODE]: write requests into all mailboxes; and fail to do more. */
static int do_forge(char **argv)
{
	struct header h = { 0 };
	rm_desc_t rd;
	uint32_t i;

	must(import("rmfs", argv, RM_WRITE, &rd) == EACCES, "the caches can be written");
	must(import("rmfs", argv, RM_CAS, &rd) == EACCES, "the caches can be swapped");
	must(import("inbox:rmfs", argv, RM_READ, &rd) == EACCES, "the inbox can be read");
	must(!import("inbox:rmfs", argv, RM_WRITE, &rd), "inbox");
	for (i = 0; i < 4096; i++) {
		h = (struct header){
			.op = i % 16, .handle = rand() % 2, .seq = rand(), .offset = rand(),
			.len = i % 3 ? i : rand() * 2u, .late = i / 4 % 2,
		};
		memcpy(noise + RMFS_BLOCK, &h, sizeof(h));
		while (rm_write_block(rd, offsetof(struct inbox, boxes) + i % BOXES * sizeof(noise),
				      noise, sizeof(noise), i % 2 ? RM_NOTIFY : 0))
			must(errno == EAGAIN, "write");
	}
	must(!rm_fence(rd, -1), "fence");
	return 0;
}

/* fill [NODE]: take all mailboxes that are free. */
static int do_fill(char **argv)
{
	static uint32_t result;
	rm_seg_t seg = rm_export(NULL, &result, sizeof(result), 0, RM_NEVER);
	int i, taken = 0;
	rm_desc_t rd;

	must(seg >= 0 && !import("inbox:rmfs", argv, RM_CAS, &rd), "inbox");
	for (i = 0; i < (int)RMFS_MAILBOXES; i++) {
		must(!rm_cas(rd, offsetof(struct inbox, owners[i]), seg, 0, 0, 1) &&
		     !rm_fence(rd, -1), "swap");
		taken += result == RM_SUCCESS;
	}
	printf("%d\n", taken);
	return 0;
}

/* Become a clerk, and find a file: its handle. */
static uint64_t join_server(const char *name, const char *node)
{
	struct found f;

	must(!dd_open(&dd), "dd");
	remote.own = dd_node(dd);
	remote.node = node ? atoi(node) : -1;
	errno = remote_op(&remote, OP_LOOKUP, 0, 0, name, strlen(name));
	must(!errno && remote.len >= sizeof(f), name);
	memcpy(&f, remote.data, sizeof(f));
	return f.handle;
}

/* Write a whole place of the mailbox, or all but the last @less bytes. */
static void place_write(const struct header *h, size_t less)
{
	size_t at = offsetof(struct inbox, boxes[remote.box][h->seq % RMFS_DEPTH]);

	memcpy(noise + RMFS_BLOCK, h, sizeof(*h));
	while (rm_write_block(remote.inbox, at, noise, sizeof(noise) - less,
			      h->late ? 0 : RM_NOTIFY))
		must(errno == EAGAIN, "write");
}

/* rogue FILE [NODE]: requests of a clerk with the right numbers, all else is wrong. */
static int do_rogue(char **argv)
{
	uint64_t handle = join_server(argv[0], argv[1]);
	const uint32_t *answer = &remote.mirror->answer.h.seq;
	struct header h;
	uint32_t i;

	for (i = 1; i <= 2000; i++) {
		h = (struct header){
			.op = rand() % 16, .handle = i % 3 ? handle : (uint64_t)rand() << 32 | i % 4,
			.offset = (uint64_t)rand() << rand() % 40,
			.len = i % 5 ? rand() % 10000u : rand() * 2u, .late = i % RMFS_DEPTH,
			.seq = ++remote.seq,
		};
		place_write(&h, 0);
		/* One of each round has an answer, whatever the others were. */
		while (!h.late && __atomic_load_n(answer, __ATOMIC_ACQUIRE) != h.seq)
			usleep(100);
	}
	return 0;
}

/* left half|whole FILE TEXT [NODE]: a write whose number is stored, or not, by a killed clerk. */
static int do_left(char **argv)
{
	uint64_t handle = join_server(argv[1], argv[3]);
	struct header h = {
		.handle = handle, .op = OP_WRITE, .len = strlen(argv[2]), .late = 1,
		.seq = remote.seq + 1,
	};

	memcpy(noise + RMFS_BLOCK - rmfs_pad(h.len), argv[2], h.len);
	place_write(&h, strcmp(argv[0], "half") ? 0 : sizeof(h.late) + sizeof(h.seq));
	must(!rm_fence(remote.inbox, -1), "fence");
	raise(SIGKILL);
	return 1;
}

/*
 * stray AT [NODE]: a clerk that says it is on node AT; it succeeds if the server still looks for
 * it there after a line of input.
 */
static int do_stray(char **argv)
{
	struct hello hello = { .node = atoi(argv[0]), .name = "nowhere" };
	struct header h = { .op = OP_HELLO, .len = sizeof(hello), .seq = RMFS_DEPTH };
	static uint32_t result = ~RM_SUCCESS;
	rm_seg_t seg = rm_export(NULL, &result, sizeof(result), 0, RM_NEVER);
	size_t owner;

	must(seg >= 0 && !import("inbox:rmfs", argv + 1, RM_WRITE | RM_CAS, &remote.inbox), "inbox");
	do {
		owner = offsetof(struct inbox, owners[++remote.box]);
		must(!rm_cas(remote.inbox, owner, seg, 0, 0, 1) && !rm_fence(remote.inbox, -1),
		     "swap");
	} while (result != RM_SUCCESS);
	memcpy(noise + RMFS_BLOCK - rmfs_pad(h.len), &hello, sizeof(hello));
	place_write(&h, 0);
	must(!rm_fence(remote.inbox, -1), "fence");
	printf("ready\n");
	fflush(stdout);
	getchar();
	must(!rm_cas(remote.inbox, owner, seg, 0, 1, 1) && !rm_fence(remote.inbox, -1), "swap");
	return result != RM_SUCCESS;
}

static const struct {
	const char *name;
	int arguments;		/* at least */
	int (*run)(char **arguments);
} modes[] = {
	{ "calls", 0, do_calls }, { "scribble", 0, do_scribble }, { "forge", 0, do_forge },
	{ "fill", 0, do_fill }, { "rogue", 1, do_rogue }, { "left", 3, do_left },
	{ "stray", 1, do_stray },
};

int main(int argc, char **argv)
{
	size_t i;

	must(getrandom(noise, sizeof(noise), GRND_INSECURE) == sizeof(noise), "random");
	for (i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name) && argc > modes[i].arguments + 1)
			return modes[i].run(argv + 2);
	printf("usage: intruder calls|scribble|forge|fill|rogue|left|stray ...\n");
	return 2;
}
