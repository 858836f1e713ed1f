// SPDX-License-Identifier: GPL-2.0-only
/*
 * dd-sum-client - several clients of dd-sum-server at a time
 *
 * Starts processes that add the numbers from 1 to COUNT, each by a connection of
 * its own, and checks every reply and the sum over all of them.
 *
 *	cc dd-sum-client.c -o dd-sum-client $(pkg-config --cflags --libs libdd)
 *	dd-sum-client [CLIENTS [COUNT [NODE]]]
 *
 * Copyright (C) 2026 The dd authors
 */
#include <fedex.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK	4096

/* As in dd-sum-server.c. */
enum { SUM_ADD = 1, SUM_READ = 2 };

struct sum_request {
	int32_t what;
	int32_t number;
};

struct sum_reply {
	int32_t error;
	int32_t clients;
	int64_t own;
	int64_t all;
};

struct server {
	connid_t conn;
	struct sum_request *request;	/* where requests are composed */
};

static void die(const char *call)
{
	dderror("dd-sum-client: %s", call);
	exit(1);
}

static struct server server_connect(int node)
{
	char *out = ddalloc(BLOCK), *in = ddalloc(BLOCK);
	struct server s;

	if (!out || !in)
		die("ddalloc");
	if (ddconn("sum", node < 0 ? ddmynode() : node, TYPE_RPC, CONN_NOOPTS,
		   out, BLOCK, in, BLOCK, &s.conn, NULL) < 0)
		die("ddconn");
	s.request = (struct sum_request *)out;
	return s;
}

static struct sum_reply call(struct server *s, int32_t what, int32_t number)
{
	struct sum_reply reply = { 0 };
	char *at;
	size_t size;

	s->request->what = what;
	s->request->number = number;
	/* Ten seconds at most: the server may be stopped, and not dead. */
	if (ddcall(s->conn, (char *)s->request, sizeof(*s->request), &at, &size,
		   RECV_SPIN | RECV_TIMEOUT, 10 * SBP_HZ) < 0)
		die("ddcall");
	if (size != sizeof(reply)) {
		fprintf(stderr, "dd-sum-client: a reply of %zu bytes, not %zu\n",
			size, sizeof(reply));
		exit(1);
	}
	memcpy(&reply, at, sizeof(reply));
	if (reply.error) {
		fprintf(stderr, "dd-sum-client: the server refuses the request: %s\n",
			strerror(reply.error));
		exit(1);
	}
	return reply;
}

/* A child of fork() has none of its parent's connections: it makes its own. */
static void add(int node, int32_t count)
{
	struct server s = server_connect(node);
	int64_t sum = 0;
	int32_t i;

	for (i = 1; i <= count; i++) {
		sum += i;
		if (call(&s, SUM_ADD, i).own != sum) {
			fprintf(stderr, "dd-sum-client: the sum of 1 to %d is wrong\n", i);
			exit(1);
		}
	}
	/* The process ends: the kernel closes its connection. */
}

int main(int argc, char **argv)
{
	int i, status, bad = 0, clients = argc > 1 ? atoi(argv[1]) : 4;
	int32_t count = argc > 2 ? atoi(argv[2]) : 1000;
	int node = argc > 3 ? atoi(argv[3]) : -1;
	int64_t before, after, expected;
	struct server s;

	if (argc > 4 || clients < 1 || count < 1) {
		fprintf(stderr, "Usage: dd-sum-client [CLIENTS [COUNT [NODE]]]\n");
		return 2;
	}
	s = server_connect(node);
	before = call(&s, SUM_READ, 0).all;
	for (i = 0; i < clients; i++) {
		switch (fork()) {
		case 0:
			add(node, count);
			return 0;
		case -1:
			perror("dd-sum-client: fork");
			return 1;
		}
	}
	while (wait(&status) > 0)
		bad |= status;
	if (bad)
		return 1;	/* The child has said why. */
	after = call(&s, SUM_READ, 0).all;
	expected = (int64_t)count * (count + 1) / 2 * clients;
	if (after - before != expected) {
		fprintf(stderr, "dd-sum-client: sum over all clients is %lld, not %lld\n",
			(long long)(after - before), (long long)expected);
		return 1;
	}
	printf("%d clients, %d requests each, sum %lld\n", clients, count,
	       (long long)expected);
	return 0;
}
