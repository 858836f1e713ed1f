// SPDX-License-Identifier: GPL-2.0-only
/*
 * Traffic between nodes, each byte of it verified.
 *
 *	net_traffic FILE init SEED
 *	net_traffic FILE serve [OPTION...]		until SIGTERM
 *	net_traffic FILE load NODE[,NODE...] [OPTION...]
 *	net_traffic FILE wait N [NODE,...]	until N more messages have come
 *	net_traffic FILE check [whole|broken]
 *
 *	-c N	connections to each node (of each process that connects)
 *	-l N	bytes in a message of a client, at least
 *	-m N	bytes in a message, at most
 *	-t N	seconds; without it, or earlier, SIGTERM ends the clients
 *	-a N	connections used at a time, chosen at random; 0 for all
 *	-k T	kinds of connections: some of r(pc), s(plit), w (streams, window
 *		1) and W (streams, window 8)
 *
 * A server and its clients must have the same -m. The numbers of the connection and of
 * the message determine the bytes of a message; its place in the block of the receiver is
 * random. The receiver compares the message, and the bytes around it with their previous
 * values. The sender overwrites the source as soon as it may, so that a late
 * retransmission is detected.
 *
 * wait waits until N messages of each named node have been read, or N of all nodes
 * together if none is named.
 *
 * check compares sent with received messages: on each connection at least those that were
 * done, at most those that were tried, and all of them if the connection was not broken.
 * With "whole" no connection may be broken, with "broken" at least one must be.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traffic_end.h"

#define NODES_MAX	64

/* --- progress --------------------------------------------------------------*/

/* Number of messages of @node that have been read; 0 is any node. */
static uint64_t came_from(uint32_t node)
{
	uint32_t i, n = __atomic_load_n(&shared->conns, __ATOMIC_RELAXED);
	uint64_t sum = 0;

	/* Numbers start at 1. */
	for (i = 1; i <= n && i < TRAFFIC_CONNS; i++)
		if (!node || shared->conn[i].node == node)
			sum += __atomic_load_n(&shared->conn[i].received,
					       __ATOMIC_RELAXED);
	return sum;
}

static int wait_for(uint64_t count, const int *nodes, int n)
{
	double end = now() + PATIENCE / 1e9;
	uint64_t goal[NODES_MAX];
	int i;

	for (i = 0; i < n; i++)
		goal[i] = came_from(nodes[i]) + count;
	for (i = 0; i < n; i++)
		while (came_from(nodes[i]) < goal[i]) {
			/* The test has failed: nothing is worth waiting for. */
			if (__atomic_load_n(&shared->errors, __ATOMIC_RELAXED)) {
				printf("a result is wrong\n");
				return 1;
			}
			if (now() > end) {
				printf("node %d: %llu messages came of %llu\n",
				       nodes[i],
				       (unsigned long long)(count - goal[i] +
							    came_from(nodes[i])),
				       (unsigned long long)count);
				return 1;
			}
			usleep(2000);
		}
	return 0;
}

/* --- the check -----------------------------------------------------------*/

static void account(uint32_t i, const char *mode)
{
	const struct record *r = &shared->conn[i];
	bool read = r->life && shared->life[r->life - 1].drained;
	bool whole = !strcmp(mode, "whole");

	if (whole && !r->finished)
		wrong("connection %u was %s", i,
		      r->broken ? "closed" : "not finished");
	if (r->received > r->tried)
		wrong("connection %u: %llu messages came, %llu were sent", i,
		      (unsigned long long)r->received,
		      (unsigned long long)r->tried);
	if (read && r->received < r->done)
		wrong("connection %u: %llu messages came, %llu were done", i,
		      (unsigned long long)r->received,
		      (unsigned long long)r->done);
	if (whole && r->done && !r->life)
		wrong("connection %u: no message came", i);
	if ((read || whole) && r->finished && r->received != r->tried)
		wrong("connection %u: %llu messages came of %llu", i,
		      (unsigned long long)r->received,
		      (unsigned long long)r->tried);
}

static int check(const char *mode)
{
	unsigned long long messages = 0, replies = 0, bytes = 0;
	unsigned int i, broken = 0, finished = 0;

	for (i = 1; i <= shared->conns; i++) {
		account(i, mode);
		messages += shared->conn[i].received;
		bytes += shared->conn[i].received_bytes;
		replies += shared->conn[i].replies;
		broken += shared->conn[i].broken;
		finished += shared->conn[i].finished;
	}
	if (!messages)
		wrong("nothing was sent");
	if (!strcmp(mode, "broken") && !broken)
		wrong("no connection was closed");
	printf("%u connections, %llu messages of %.1f MiB, %llu replies",
	       shared->conns, messages, bytes / 1048576.0, replies);
	if (shared->late)
		printf("; %u replies had to wait", shared->late);
	if (broken)
		printf("; %u closed, %u attempts refused", broken,
		       shared->refused);
	if (shared->conns != finished + broken)
		printf("; %u left", shared->conns - finished - broken);
	printf("; %u errors\n", shared->errors);
	return shared->errors != 0;
}

/* --- the command line ------------------------------------------------------*/

static int usage(void)
{
	fprintf(stderr, "usage: net_traffic FILE init SEED | serve | load NODE,... | wait N [NODE,...] | check [whole|broken]\n"
		"\t[-c connections] [-l bytes] [-m bytes] [-t seconds] [-a active] [-k kinds]\n");
	return 2;
}

static int options(int argc, char **argv)
{
	int o;

	while ((o = getopt(argc, argv, "c:l:m:t:a:k:")) != -1)
		switch (o) {
		case 'c':
			opt.conns = atoi(optarg);
			break;
		case 'm':
			opt.max = atol(optarg);
			break;
		case 'l':
			opt.min = atol(optarg);
			break;
		case 't':
			opt.seconds = atoi(optarg);
			break;
		case 'a':
			opt.active = atoi(optarg);
			break;
		case 'k':
			opt.kinds = optarg;
			break;
		default:
			return -1;
		}
	return 0;
}

/* Parse a list of numbers, which is modified. */
static int node_list(char *list, int *nodes)
{
	char *arg;
	int n = 0;

	for (arg = strtok(list, ","); arg && n < NODES_MAX; arg = strtok(NULL, ","))
		nodes[n++] = atoi(arg);
	return n;
}

int main(int argc, char **argv)
{
	int nodes[NODES_MAX] = {}, n = 1, ret;
	char *verb;

	if (argc < 3)
		return usage();
	verb = argv[2];
	shared = strcmp(verb, "init") ? traffic_open(argv[1]) :
		 traffic_create(argv[1], argc > 3 ? strtoull(argv[3], NULL, 0) : 1);
	if (!shared)
		die(argv[1], 0);
	if (!strcmp(verb, "init"))
		return 0;
	if (!strcmp(verb, "check"))
		return check(argc > 3 ? argv[3] : "");
	if (!strcmp(verb, "wait") && argc > 3) {
		if (argc > 4)
			n = node_list(argv[4], nodes);
		return wait_for(strtoull(argv[3], NULL, 0), nodes, n);
	}
	optind = 3;
	if (options(argc, argv))
		return usage();
	if (!strcmp(verb, "serve")) {
		ret = dd_open(&dd);
		if (ret)
			die("dd_open", ret);
		return serve();
	}
	if (strcmp(verb, "load") || optind >= argc)
		return usage();
	n = node_list(argv[optind], nodes);
	return load(nodes, n);
}
