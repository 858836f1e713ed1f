// SPDX-License-Identifier: GPL-2.0-only
/*
 * dd-echo-server - return each request to the client that sent it
 *
 * Its client is dd-rpc-client.c. SIGTERM or SIGINT ends it.
 *
 *	cc dd-echo-server.c -o dd-echo-server $(pkg-config --cflags --libs libdd)
 *
 * Copyright (C) 2026 The dd authors
 */
#include <fedex.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
"Usage: dd-echo-server [OPTION]...\n"
"Returns each request to the client that sent it.\n"
"\n"
"  --name NAME       name of the service [echo]\n"
"  --connections N   clients at a time [2]\n"
"  --size BYTES      longest request [2048]\n"
"  --requests N      exit after N requests [0: never]\n";

static const struct option options[] = {
	{ "name", required_argument, NULL, 'n' },
	{ "connections", required_argument, NULL, 'c' },
	{ "size", required_argument, NULL, 's' },
	{ "requests", required_argument, NULL, 'r' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

static void die(const char *call)
{
	dderror("dd-echo-server: %s", call);
	exit(1);
}

static void answer(const ddrecv_desc_t *request)
{
	size_t size = request->msgsize;
	conninfo_t client;

	/* The reply block of the connection that the request came on. */
	if (ddconninfo(request->connid, &client) < 0) {
		if (errno != EBADID)
			die("ddconninfo");
		return;		/* The client has gone. */
	}
	if (size > client.sendsize || size > client.remotesize) {
		fprintf(stderr, "dd-echo-server: process %d: no reply to %zu bytes, its reply buffer holds %zu\n",
			client.pid, size, client.remotesize);
		return;
	}
	/*
	 * The client does not write to its request block before it has the
	 * reply, and the reply block is free again by then: an RPC client has
	 * one request at a time.
	 */
	memcpy(client.sendbase, request->msgaddr, size);
	/* The client may have gone. That does not concern the others. */
	if (ddsend(request->connid, client.sendbase, size, 0, SEND_NOOPTS) < 0)
		dderror("dd-echo-server: reply to process %d", client.pid);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = stop };
	size_t size = 2048, area;
	unsigned long i, requests = 0;
	int c, connections = 2;
	const char *name = "echo";
	char *in, *out;
	noteid_t notes = 0;
	servid_t service;
	ddrecv_desc_t request;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			name = optarg;
			break;
		case 'c':
			connections = atoi(optarg);
			break;
		case 's':
			size = strtoul(optarg, NULL, 10);
			break;
		case 'r':
			requests = strtoul(optarg, NULL, 10);
			break;
		default:
			fputs(usage, c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);

	/* One block for each connection, in both areas; a multiple of 8 bytes. */
	area = connections * ((size + 7) / 8 * 8);
	in = ddalloc(area);
	out = ddalloc(area);
	if (!in || !out)
		die("ddalloc");
	if (ddserve(name, SERVE_NOOPTS, connections, in, area, out, area,
		    &notes, &service) < 0)
		die("ddserve");
	printf("ready\n");
	fflush(stdout);

	for (i = 0; !requests || i < requests; i++) {
		/* The timeout is for a signal that comes just before the wait. */
		while (ddrecv(notes, &request, RECV_INTR | RECV_TIMEOUT,
			      SBP_HZ) < 0) {
			if (errno != EINTR && errno != ETIMEDOUT)
				die("ddrecv");
			if (stopped)
				goto end;
		}
		answer(&request);
	}
end:
	/* The last reply may still be on its way to another node: wait for it. */
	if (ddunserve(service) < 0)
		die("ddunserve");
	return 0;
}
