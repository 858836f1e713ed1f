// SPDX-License-Identifier: GPL-2.0-only
/*
 * Traffic between nodes, each byte of it verified.
 *
 *	net_traffic FILE init SEED
 *	net_traffic FILE serve [OPTION...]		until SIGTERM
 *	net_traffic FILE load NODE[,NODE...] [OPTION...]	the same
 *	net_traffic FILE wait N NODE[,NODE...]	until N more messages of each have come
 *	net_traffic FILE check [whole|broken]
 *
 *	-c N	connections to each node
 *	-l N	bytes in a message of a client, at least
 *	-m N	bytes in a message, at most
 *	-k T	kinds of connections: s(plit), w (streams), or both
 *
 * A server and its clients must have the same -m. The numbers of the connection and of
 * the message determine the bytes of a message; its place in the block of the receiver is
 * random. The receiver compares the message, and the bytes around it with their previous
 * values. The sender overwrites the source as soon as it may, so that a late
 * retransmission is detected.
 *
 * check compares sent with received messages: on each connection at least those that were
 * done, at most those that were tried, and all of them if the connection was not broken.
 * With "whole" no connection may be broken, with "broken" at least one must be.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "traffic.h"

#define NODES_MAX	64

struct traffic *shared;
struct dd *dd;
volatile sig_atomic_t stopping;

struct options opt = { .conns = 4, .max = 65536, .kinds = "sw" };

size_t slot_size(void)
{
	return (opt.max + 4096 + 63) & ~63ul;
}

size_t block_size(void)
{
	return (SLOTS * slot_size() + 4095) & ~4095ul;
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

void die(const char *what, int err)
{
	fprintf(stderr, "# net_traffic: %s: %s\n", what,
		err ? dd_strerror(err) : strerror(errno));
	exit(1);
}

void wrong(const char *fmt, ...)
{
	va_list ap;

	/* The first errors are enough. */
	if (__atomic_fetch_add(&shared->errors, 1, __ATOMIC_RELAXED) >= 20)
		return;
	va_start(ap, fmt);
	fprintf(stderr, "# WRONG: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
}

static void on_term(int sig)
{
	stopping = 1;
}

void start(void)
{
	int err = dd_open(&dd);

	if (err)
		die("dd_open", err);
	signal(SIGTERM, on_term);
}

void *alloc(size_t size)
{
	void *p;
	int err = dd_alloc(dd, size, &p);

	if (err)
		die("dd_alloc", err);
	return p;
}

/* Map the file; with a seed, create it. */
static struct traffic *traffic_map(const char *path, const uint64_t *seed)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | (seed ? O_CREAT | O_TRUNC : 0), 0600);
	struct traffic *t;

	if (fd < 0 || (seed && ftruncate(fd, sizeof(*t))))
		die(path, 0);
	t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (t == MAP_FAILED)
		die(path, 0);
	if (seed)
		t->seed = *seed;
	close(fd);
	return t;
}

/* --- messages --------------------------------------------------------------*/

void pattern(uint32_t conn, uint32_t n, int direction, unsigned char *to, size_t len)
{
	uint64_t state = shared->seed ^ (uint64_t)conn << 33 ^ (uint64_t)n << 1 ^ direction;
	uint64_t word = next_random(&state);

	/* All words differ, also from those of other messages. */
	for (; len >= 8; len -= 8, to += 8) {
		memcpy(to, &word, 8);
		word = word * 0xd1342543de82ef95 + 0x9e3779b97f4a7c15;
	}
	memcpy(to, &word, len);
}

void scribble(unsigned char *to, size_t len)
{
	memset(to, 0xdb, len);
}

size_t random_size(uint64_t *state, size_t max)
{
	/* Empty, words, packets at the usual MTUs, pages. */
	static const size_t edges[] = {
		0, 1, 7, 8, 9, 64, 1100, 1128, 1200, 1240, 1280, 1348, 1400,
		1432, 1472, 1500, 4095, 4096, 4097, 8192, 8928, 8972, 9000,
		65535, 65536, 65537, 1 << 20,
	};
	uint64_t r = next_random(state);
	unsigned int kind = r % 8;
	size_t size;

	if (kind < 3) {
		size = edges[(r >> 8) % (sizeof(edges) / sizeof(edges[0]))];
		/* Or a little larger. */
		if (r & 1 << 7)
			size += (r >> 16) % 33;
	} else {
		size = (r >> 8) % (kind < 5 ? 3000 : kind < 7 ? 20000 : max + 1);
	}
	return size <= max ? size : size % (max + 1);
}

size_t place(uint64_t n, size_t len, uint64_t *state)
{
	return n % SLOTS * slot_size() + next_random(state) % (slot_size() - len);
}

/* Only its slot: comparing 3 MiB for each small message would take too long. */
static void compare(const struct shadow *s, size_t from, size_t to, uint32_t n)
{
	size_t slot = slot_size(), lo = from / slot * slot, hi = lo + slot, at;

	if (lo + 4096 < from)
		lo = from - 4096;
	if (to + 4096 < hi)
		hi = to + 4096;
	for (at = lo; at < hi && s->block[at] == s->copy[at]; at++)
		;
	if (at == hi)
		return;
	wrong("connection %u, message %u [%zu, %zu): byte %zu is %02x, not %02x",
	      s->conn, n, from, to, at, s->block[at], s->copy[at]);
	memcpy(s->copy + lo, s->block + lo, hi - lo);
}

bool look(struct shadow *s, uint32_t conn, uint32_t n, int direction,
	  const struct dd_msg *msg)
{
	size_t at = (unsigned char *)msg->addr - s->block;
	const unsigned int *meta = msg->meta;

	if (msg->meta_count != 4 || meta[0] != conn || meta[1] != n || msg->msgid != n ||
	    meta[2] != msg->len || meta[3] != at || at + msg->len > block_size()) {
		wrong("connection %u, message %u: it is %u, says %u:%u, %zu bytes at %zu, not %u at %u",
		      conn, n, msg->msgid, meta[0], meta[1], msg->len, at,
		      meta[2], meta[3]);
		return false;
	}
	/* The previous connection may have deposited a part of a message. */
	if (s->conn != conn)
		memcpy(s->copy, s->block, block_size());
	s->conn = conn;
	pattern(conn, n, direction, s->copy + at, msg->len);
	compare(s, at, at + msg->len, n);
	return true;
}

/* --- progress --------------------------------------------------------------*/

/* Number of messages of @node that have been read. */
static uint64_t came_from(uint32_t node)
{
	uint32_t i, n = __atomic_load_n(&shared->conns, __ATOMIC_RELAXED);
	uint64_t sum = 0;

	/* Numbers start at 1. */
	for (i = 1; i <= n && i < TRAFFIC_CONNS; i++)
		if (shared->conn[i].node == node)
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
	bool read = r->life && shared->drained[r->life - 1];
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
	if (broken)
		printf("; %u closed", broken);
	if (shared->conns != finished + broken)
		printf("; %u left", shared->conns - finished - broken);
	printf("; %u errors\n", shared->errors);
	return shared->errors != 0;
}

/* --- the command line ------------------------------------------------------*/

static int usage(void)
{
	fprintf(stderr, "usage: net_traffic FILE init SEED | serve | load NODE,... |\n"
		"\twait N NODE,... | check [whole|broken]\n"
		"\t[-c connections] [-l bytes] [-m bytes] [-k kinds]\n");
	return 2;
}

static int options(int argc, char **argv)
{
	int o;

	while ((o = getopt(argc, argv, "c:l:m:k:")) != -1)
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
	const char *verb, *arg;
	int nodes[NODES_MAX];
	uint64_t seed;

	/* Options are moved to the front. */
	if (options(argc, argv) || argc < optind + 2)
		return usage();
	argv += optind;
	argc -= optind;
	verb = argv[1];
	arg = argc > 2 ? argv[2] : "";
	seed = strtoull(arg, NULL, 0);
	shared = traffic_map(argv[0], strcmp(verb, "init") ? NULL : &seed);
	if (!strcmp(verb, "init"))
		return 0;
	if (!strcmp(verb, "check"))
		return check(arg);
	if (!strcmp(verb, "wait") && argc > 3)
		return wait_for(strtoull(arg, NULL, 0), nodes, node_list(argv[3], nodes));
	if (!strcmp(verb, "serve"))
		return serve();
	if (strcmp(verb, "load") || !*arg)
		return usage();
	return load(nodes, node_list(argv[2], nodes));
}
