// SPDX-License-Identifier: GPL-2.0-only
/*
 * intruder.c - a client and a clerk of the file service that keep to no rule
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "dd.h"
#include "../../tools/rmfs/rmfs.h"

#define REPLY_NS	60000000000ll

static struct dd *dd;
static struct call *call;
static uint8_t noise[sizeof(struct message)];

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

/* call OPERATION HANDLE OFFSET [TEXT]: print the error, the bytes, and a handle that was found. */
static int do_call(char **argv)
{
	int conn = join(DD_TYPE_RPC);
	struct found f = { 0 };
	struct dd_msg msg;
	struct call *reply;

	call->h = (struct header){
		.op = atoi(argv[0]), .handle = strtoull(argv[1], NULL, 0),
		.offset = strtoull(argv[2], NULL, 0), .len = argv[3] ? strlen(argv[3]) : 0,
	};
	memcpy(call->payload, argv[3] ? argv[3] : "", call->h.len);
	must(!dd_call(dd, conn, NULL, sizeof(call->h) + call->h.len, &msg, 0, REPLY_NS), "call");
	reply = msg.addr;
	if (call->h.op == OP_LOOKUP && !reply->h.op)
		memcpy(&f, reply->payload, sizeof(f));
	printf("%u %u 0x%llx\n", reply->h.op, reply->h.len, (unsigned long long)f.handle);
	return 0;
}

/*
 * scribble: requests that are overwritten while the clerk serves them, and replies that are not
 * consumed, until a signal.
 */
static void __attribute__((noreturn)) do_scribble(void)
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
			.len = i % 3 ? i : rand() * 2u,
		};
		memcpy(noise + RMFS_BLOCK, &h, sizeof(h));
		while (rm_write_block(rd, offsetof(struct inbox, boxes[i % RMFS_MAILBOXES]), noise,
				      sizeof(noise), RM_NOTIFY))
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

int main(int argc, char **argv)
{
	must(getrandom(noise, sizeof(noise), GRND_INSECURE) == sizeof(noise), "random");
	if (argc > 4 && !strcmp(argv[1], "call"))
		return do_call(argv + 2);
	if (argc > 1 && !strcmp(argv[1], "scribble"))
		do_scribble();
	if (argc > 1 && !strcmp(argv[1], "forge"))
		return do_forge(argv + 2);
	if (argc > 1 && !strcmp(argv[1], "fill"))
		return do_fill(argv + 2);
	printf("usage: intruder call|scribble|forge|fill ...\n");
	return 2;
}
