// SPDX-License-Identifier: GPL-2.0-only
/*
 * dd-sum-server - add numbers for several clients, one sum for each
 *
 * A remote procedure call with state: a request says what to do, the reply has
 * a status and two results, and the state of a client ends with the client. Its
 * client is dd-sum-client.c. SIGTERM or SIGINT ends it.
 *
 *	cc dd-sum-server.c -o dd-sum-server $(pkg-config --cflags --libs libdd)
 *
 * Copyright (C) 2026 The dd authors
 */
#include <fedex.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define CLIENTS	16
#define BLOCK	4096	/* whole pages: clients deposit without a system call */

enum { SUM_ADD = 1, SUM_READ = 2 };

struct sum_request {
	int32_t what;		/* SUM_ADD or SUM_READ */
	int32_t number;
};

struct sum_reply {
	int32_t error;		/* 0 or an error number */
	int32_t clients;	/* clients that are connected */
	int64_t own;		/* sum of this client's numbers */
	int64_t all;		/* sum of the numbers of all clients, ever */
};

static struct client {
	connid_t conn;		/* 0: not in use */
	int64_t sum;
	unsigned long requests;
} clients[CLIENTS];
static int32_t connected;
static int64_t all;
static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

static void die(const char *call)
{
	dderror("dd-sum-server: %s", call);
	exit(1);
}

/* The state of a connection, new with its first request. */
static struct client *find(connid_t conn)
{
	struct client *c, *unused = NULL;

	for (c = clients; c < clients + CLIENTS; c++) {
		if (c->conn == conn)
			return c;
		if (!c->conn)
			unused = c;
	}
	/* There are as many as the service has blocks: one is unused. */
	unused->conn = conn;
	connected++;
	return unused;
}

/* Reported once for each connection, after its last request. */
static void end(connid_t conn)
{
	struct client *c = find(conn);

	printf("connection %d: closed after %lu requests, sum %lld\n", conn,
	       c->requests, (long long)c->sum);
	memset(c, 0, sizeof(*c));
	connected--;
	ddclose(conn);
}

static void answer(const ddrecv_desc_t *d)
{
	struct client *c = find(d->connid);
	struct sum_request request = { 0 };
	struct sum_reply *reply;
	conninfo_t info;

	if (ddconninfo(d->connid, &info) < 0)
		die("ddconninfo");
	/*
	 * The client can write to its request block at any time. Copy the
	 * request first, then check and use the copy.
	 */
	if (d->msgsize == sizeof(request))
		memcpy(&request, d->msgaddr, sizeof(request));

	reply = (struct sum_reply *)info.sendbase;
	reply->error = 0;
	switch (request.what) {
	case SUM_ADD:
		c->sum += request.number;
		all += request.number;
		break;
	case SUM_READ:
		break;
	default:
		reply->error = EINVAL;
	}
	c->requests++;
	reply->own = c->sum;
	reply->all = all;
	reply->clients = connected;
	/* A client that has gone is reported by ddrecv(). */
	if (ddsend(d->connid, info.sendbase, sizeof(*reply), 0, SEND_NOOPTS) < 0 &&
	    errno != ECONNCLOSE)
		dderror("dd-sum-server: reply to process %d of user %d",
			info.pid, info.uid);
}

int main(void)
{
	struct sigaction action = { .sa_handler = stop };
	char *in = ddalloc(CLIENTS * BLOCK), *out = ddalloc(CLIENTS * BLOCK);
	noteid_t notes = 0;
	servid_t service;
	ddrecv_desc_t d;

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	if (!in || !out)
		die("ddalloc");
	/* With SERVE_CLOSE the server learns that a client has gone. */
	if (ddserve("sum", SERVE_CLOSE, CLIENTS, in, CLIENTS * BLOCK,
		    out, CLIENTS * BLOCK, &notes, &service) < 0)
		die("ddserve");
	printf("ready\n");
	fflush(stdout);

	while (!stopped) {
		/* The timeout is for a signal that comes just before the wait. */
		if (ddrecv(notes, &d, RECV_INTR | RECV_TIMEOUT, SBP_HZ) == 0)
			answer(&d);
		else if (errno == ECONNCLOSE)
			end(d.connid);
		else if (errno != EINTR && errno != ETIMEDOUT)
			die("ddrecv");
		fflush(stdout);
	}
	if (ddunserve(service) < 0)
		die("ddunserve");
	return 0;
}
