// SPDX-License-Identifier: GPL-2.0-only
/*
 * dd-rpc-client - call an echo service and check the replies
 *
 * The client of dd-echo-server.c and dd-epoll-server.c.
 *
 *	cc dd-rpc-client.c -o dd-rpc-client $(pkg-config --cflags --libs libdd)
 *
 * Copyright (C) 2026 The dd authors
 */
#include <fedex.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char usage[] =
"Usage: dd-rpc-client [OPTION]...\n"
"Calls an echo service and checks the replies.\n"
"\n"
"  --name NAME    name of the service [echo]\n"
"  --node N       node of the service [this one]\n"
"  --count N      number of calls [1]\n"
"  --size BYTES   bytes in a request [128]\n"
"  --sleep        wait for a reply asleep; without it, spin for a while\n";

static const struct option options[] = {
	{ "name", required_argument, NULL, 'n' },
	{ "node", required_argument, NULL, 'N' },
	{ "count", required_argument, NULL, 'c' },
	{ "size", required_argument, NULL, 's' },
	{ "sleep", no_argument, NULL, 'Z' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static void die(const char *call)
{
	dderror("dd-rpc-client: %s", call);
	exit(1);
}

/* Each request is different: a reply to an earlier one is noticed. */
static char byte(unsigned long number, size_t i)
{
	return number * 31 + i * 7 + (i >> 8);
}

static void call(connid_t server, char *request, size_t size,
		 unsigned long number, int how)
{
	size_t i, got;
	char *reply;

	for (i = 0; i < size; i++)
		request[i] = byte(number, i);
	if (ddcall(server, request, size, &reply, &got, how, 0) < 0)
		die("ddcall");
	/* The reply lies in this process' buffer until the next call. */
	for (i = 0; i < size && got == size; i++)
		if (reply[i] != byte(number, i))
			got = 0;
	if (got != size) {
		fprintf(stderr, "dd-rpc-client: reply %lu is wrong\n", number);
		exit(1);
	}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	unsigned long i, count = 1;
	int c, node = -1, how = RECV_SPIN;
	const char *name = "echo";
	char *out, *in;
	size_t size = 128;
	connid_t server;
	double begin;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			name = optarg;
			break;
		case 'N':
			node = atoi(optarg);
			break;
		case 'c':
			count = strtoul(optarg, NULL, 10);
			break;
		case 's':
			size = strtoul(optarg, NULL, 10);
			break;
		case 'Z':
			how = RECV_SLEEP;
			break;
		default:
			fputs(usage, c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}

	/* Requests are composed in one buffer and replies land in another one. */
	out = ddalloc(size);
	in = ddalloc(size);
	if (!out || !in)
		die("ddalloc");
	if (ddconn(name, node < 0 ? ddmynode() : node, TYPE_RPC, CONN_NOOPTS,
		   out, size, in, size, &server, NULL) < 0)
		die("ddconn");

	begin = seconds();
	for (i = 0; i < count; i++)
		call(server, out, size, i, how);
	printf("%lu call%s of %zu byte%s, %.1f us each, all replies correct\n",
	       count, count == 1 ? "" : "s", size, size == 1 ? "" : "s",
	       (seconds() - begin) * 1e6 / (count ? count : 1));
	if (ddclose(server) < 0)
		die("ddclose");
	return 0;
}
