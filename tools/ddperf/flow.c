// SPDX-License-Identifier: GPL-2.0-only
/*
 * flow.c - round trips, bandwidth, message rate, and their cost: one loop for all
 * methods
 *
 * Copyright (C) 2026 The dd authors
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/dd_ddp.h>

#include "flow.h"
#include "insn.h"
#include "method.h"
#include "pair.h"
#include "process.h"
#include "report.h"
#include "../common/tool.h"

#define ACK_SIZE	8	/* bytes in the message that ends a one-way run */
#define BYTES_PER_RUN	(64u << 20)
#define NET_WINDOW_BYTES	(256u << 10)

static const double percents[] = { 0.5, 0.9, 0.99, 0.999 };
static const char * const percent_names[] = { "p50", "p90", "p99", "p99.9" };
#define PERCENTS	(sizeof(percents) / sizeof(percents[0]))

static const struct {
	const char *name;
	const char *title;
	const char *unit;
	bool less_is_better;
	bool round_trips;
	unsigned int window;
	uint64_t iterations;
} tests[] = {
	[TEST_LAT] = { "lat", "round trip", "us", true, true, 1, 1000 },
	[TEST_BW] = { "bw", "one-way bandwidth", "MB/s", false, false, 8, 1000 },
	[TEST_RATE] = { "rate", "one-way message rate", "kmsg/s", false, false, 64, 10000 },
	[TEST_INSN] = { "insn", "cost of a message one way, both sides", "", true, false, 8, 1000 },
	[TEST_TRIP] = { "trip", "cost of a message of a round trip, both sides", "", true, true, 1, 1000 },
};

#define TESTS	(sizeof(tests) / sizeof(tests[0]))

/**
 * struct command - what the server has to do
 * @test: enum test
 * @method: index of the method
 * @size: bytes in a message
 * @warm: messages before the measurement
 * @count: messages that count
 */
struct command {
	uint32_t test;
	uint32_t method;
	uint64_t size;
	uint64_t warm;
	uint64_t count;
};

/**
 * struct score - results of one method at one size
 * @method: the method
 * @command: its command
 * @rounds: a figure for each round
 * @samples: every round trip, in microseconds; "lat" only
 * @count: number of @samples
 * @switches: voluntary context switches of both sides, all rounds together
 * @packets: packets sent and received meanwhile, "net" only
 * @lost: packets lost
 * @messages: messages that @packets carried
 * @spread: of @rounds
 * @percentiles: of @samples
 * @ratio: direct deposit by this one, spread over the rounds
 */
struct score {
	const struct method *method;
	struct command command;
	double *rounds;
	double *samples;
	size_t count;
	uint64_t switches;
	uint64_t packets;
	uint64_t lost;
	uint64_t messages;
	struct spread spread;
	double percentiles[PERCENTS];
	struct spread ratio;
};

/* --- the loops ------------------------------------------------------------ */

/* Read every byte of a message; the volatile sum keeps the compiler from dropping it. */
static void touch(const struct side *s, const char *p, size_t size)
{
	static volatile uint64_t sink;
	uint64_t sum = 0;
	size_t i;

	if (!s->hello.touch)
		return;
	for (i = 0; i + 8 <= size; i += 8)
		sum += *(const uint64_t *)(p + i);
	for (; i < size; i++)
		sum += p[i];
	sink += sum;
}

/* @samples is NULL while warming up. */
static void ping(struct side *s, const struct method *m, size_t size,
		 uint64_t count, double *samples)
{
	uint64_t i, before = tool_now(), now;

	for (i = 0; i < count; i++) {
		m->send(s, size);
		touch(s, m->recv(s, size), size);
		if (samples) {
			now = tool_now();
			samples[i] = (now - before) / 1e3;
			before = now;
		}
	}
}

static void pong(struct side *s, const struct method *m, size_t size,
		 uint64_t count)
{
	uint64_t i;

	for (i = 0; i < count; i++) {
		touch(s, m->recv(s, size), size);
		m->send(s, size);
	}
}

/* The server acknowledges the last message when it has consumed it. */
static void pour(struct side *s, const struct method *m, size_t size,
		 uint64_t count)
{
	uint64_t i;

	for (i = 0; i < count; i++)
		m->send(s, size);
	m->recv(s, ACK_SIZE);
}

static void drain(struct side *s, const struct method *m, size_t size,
		  uint64_t count)
{
	uint64_t i;

	for (i = 0; i < count; i++)
		touch(s, m->recv(s, size), size);
	m->send(s, ACK_SIZE);
}

static uint64_t switches(void)
{
	struct rusage ru;

	getrusage(RUSAGE_THREAD, &ru);
	return ru.ru_nvcsw;
}

void flow_answer(struct side *s)
{
	const struct method *m;
	struct command c;
	uint64_t count;

	pair_accept(s);
	for (;;) {
		pair_get(s, &c, sizeof(c));
		if (c.test >= TESTS || c.method >= METHODS || c.size > s->hello.size)
			perf_fail(TOOL_FAILED, "the client's command is out of range");
		m = &methods[c.method];
		count = switches();
		if (tests[c.test].round_trips) {
			pong(s, m, c.size, c.warm + c.count);
		} else {
			drain(s, m, c.size, c.warm);
			drain(s, m, c.size, c.count);
		}
		count = switches() - count;
		pair_put(s, &count, sizeof(count));
	}
}

/* --- one run -------------------------------------------------------------- */

/* The median: a stall of the whole machine changes few of the samples. */
static double median_trip(const double *samples, size_t n)
{
	struct spread s;

	spread_of_ratio(&s, samples, NULL, n);
	return s.median;
}

static double figure(const struct command *c, uint64_t nanoseconds,
		     const double *samples)
{
	switch (c->test) {
	case TEST_LAT:
		return median_trip(samples, c->count);
	case TEST_BW:
		return (double)c->size * c->count * 1e3 / nanoseconds;
	case TEST_INSN:
		return (double)nanoseconds / c->count;
	case TEST_TRIP:
		return (double)nanoseconds / c->count / 2;
	default:
		return c->count * 1e6 / nanoseconds;
	}
}

static bool costs(enum test test)
{
	return test == TEST_INSN || test == TEST_TRIP;
}

/* Nanoseconds that the processors of this machine were idle. */
static uint64_t idle_now(void)
{
	FILE *f = fopen("/proc/timer_list", "r");
	unsigned long long ns;
	uint64_t sum = 0;
	char line[256];

	if (!f)
		perf_die("/proc/timer_list");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " .idle_sleeptime : %llu", &ns) == 1)
			sum += ns;
	fclose(f);
	return sum;
}

/*
 * Nanoseconds, or for the cost of a message the nanoseconds in which the processors
 * of this machine were not idle. The clock is read between the two readings of the
 * idle time, so that these readings do not count.
 */
static uint64_t begin_time(enum test test, uint64_t *idle)
{
	*idle = costs(test) ? idle_now() : 0;
	return tool_now();
}

static uint64_t end_time(enum test test, uint64_t begin, uint64_t idle)
{
	uint64_t elapsed = tool_now() - begin;

	if (!costs(test))
		return elapsed;
	return elapsed * sysconf(_SC_NPROCESSORS_ONLN) - (idle_now() - idle);
}

/* Returns nanoseconds. */
static uint64_t run(struct side *s, struct score *sc, double *samples)
{
	const struct method *m = sc->method;
	const struct command *c = &sc->command;
	uint64_t begin, idle, time, own = switches(), other;

	pair_put(s, c, sizeof(*c));
	if (tests[c->test].round_trips) {
		ping(s, m, c->size, c->warm, NULL);
		begin = begin_time(c->test, &idle);
		ping(s, m, c->size, c->count, samples);
	} else {
		pour(s, m, c->size, c->warm);
		begin = begin_time(c->test, &idle);
		pour(s, m, c->size, c->count);
	}
	time = end_time(c->test, begin, idle);
	own = switches() - own;
	pair_get(s, &other, sizeof(other));
	sc->switches += own + other;
	return time;
}

static uint64_t default_iterations(enum test test, size_t size)
{
	uint64_t n = BYTES_PER_RUN / size;

	if (n > tests[test].iterations)
		n = tests[test].iterations;
	return n < 16 ? 16 : n;
}

static bool takes_part(const struct method *m, const struct side *s,
		       const struct perf_options *o, enum test test, size_t size)
{
	if (!(m->tests & 1u << test) || !(m->where & (s->net ? NET : HERE)) ||
	    (m->limit && size > m->limit))
		return false;
	return m == methods || method_chosen(m, o->methods);
}

static unsigned int prepare(struct side *s, const struct perf_options *o,
			    enum test test, size_t size, struct score *scores)
{
	uint64_t count = o->iterations ? o->iterations : default_iterations(test, size);
	unsigned int i, n = 0;

	for (i = 0; i < METHODS; i++) {
		struct score *sc = &scores[n];

		if (!takes_part(&methods[i], s, o, test, size))
			continue;
		*sc = (struct score) {
			.method = &methods[i],
			.command = { test, i, size, count / 10 + 1, count },
			.rounds = allocate(o->rounds, sizeof(double)),
		};
		if (test == TEST_LAT)
			sc->samples = allocate(o->rounds * count, sizeof(double));
		n++;
	}
	return n;
}

static void play_round(struct side *s, struct score *sc, unsigned int round)
{
	const struct command *c = &sc->command;
	bool counted = s->net && sc->method == methods;
	double *samples = sc->samples ? sc->samples + sc->count : NULL;
	struct peer before, after;
	uint64_t ns;

	if (counted)
		peer_look(&before, s->node);
	ns = run(s, sc, samples);
	if (counted) {
		peer_look(&after, s->node);
		sc->packets += after.sent - before.sent + after.received - before.received;
		sc->lost += after.lost - before.lost;
		sc->messages += (c->warm + c->count) * (tests[c->test].round_trips ? 2 : 1);
	}
	sc->rounds[round] = figure(c, ns, samples);
	sc->count += samples ? c->count : 0;
}

static void evaluate(struct score *scores, unsigned int n, unsigned int rounds)
{
	struct spread ignored;
	struct score *sc;
	unsigned int i;

	/* Before the first spread_of(), which sorts the rounds. */
	for (sc = scores; sc < scores + n; sc++)
		spread_of_ratio(&sc->ratio, scores->rounds, sc->rounds, rounds);
	for (sc = scores; sc < scores + n; sc++) {
		spread_of(&sc->spread, sc->rounds, rounds);
		if (!sc->count)
			continue;
		spread_of(&ignored, sc->samples, sc->count);
		for (i = 0; i < PERCENTS; i++)
			sc->percentiles[i] = quantile(sc->samples, sc->count,
						      percents[i]);
	}
}

/* --- reports -------------------------------------------------------------- */

static const char *unit_of(enum test test)
{
	static const char *cost;

	if (!costs(test))
		return tests[test].unit;
	if (!cost)
		cost = clock_counts_instructions() ? "instructions" :
						     "ns of all processors";
	return cost;
}

static void print_scores(const struct perf_options *o, const struct score *scores,
			 unsigned int n)
{
	const struct command *c = &scores->command;
	const struct score *sc;
	unsigned int i;

	printf("\n%s, %llu byte%s, %u round%s of %llu, %s, %s, window %u; %s\n",
	       tests[c->test].title, (unsigned long long)c->size,
	       tool_s(c->size), o->rounds, tool_s(o->rounds),
	       (unsigned long long)c->count, o->sleep ? "sleeping" : "spinning",
	       o->touch ? "payload read" : "payload not read", o->window,
	       unit_of(c->test));
	print_spread(12, NULL, 5, NULL);
	for (i = 0; c->test == TEST_LAT && i < PERCENTS; i++)
		printf(" %9s", percent_names[i]);
	printf("  ours/it (min..max)\n");
	for (sc = scores; sc < scores + n; sc++) {
		print_spread(12, sc->method->name, 5, &sc->spread);
		for (i = 0; sc->count && i < PERCENTS; i++)
			printf(" %9.5g", sc->percentiles[i]);
		if (sc->messages)
			printf("  %.4g packets a message, %llu lost",
			       (double)sc->packets / sc->messages,
			       (unsigned long long)sc->lost);
		if (sc != scores)
			printf("  %.4g (%.4g..%.4g)", sc->ratio.median,
			       sc->ratio.min, sc->ratio.max);
		printf("\n");
	}
	fflush(stdout);
}

static struct json_object *score_json(const struct score *sc,
				      const struct perf_options *o, bool ours)
{
	struct json_object *j = json_object_new_object(), *p;
	bool sleeps = sc->method->waiting == WAITS_ASLEEP ||
		      (sc->method->waiting == WAITS_BY_OPTION && o->sleep);
	unsigned int i;

	json_text(j, "name", sc->method->name);
	json_text(j, "what", sc->method->what);
	json_text(j, "waiting", sleeps ? "sleep" : "spin");
	json_count(j, "iterations", sc->command.count);
	json_count(j, "voluntary_switches", sc->switches);
	json_spread(j, "rounds", &sc->spread);
	if (sc->count) {
		p = json_object_new_object();
		for (i = 0; i < PERCENTS; i++)
			json_number(p, percent_names[i], sc->percentiles[i]);
		json_object_object_add(j, "percentiles", p);
	}
	if (sc->messages) {
		json_number(j, "packets_per_message", (double)sc->packets / sc->messages);
		json_count(j, "packets_lost", sc->lost);
	}
	if (!ours)
		json_spread(j, "ours_by_this", &sc->ratio);
	return j;
}

static struct json_object *size_json(const struct score *scores, unsigned int n,
				     const struct perf_options *o)
{
	struct json_object *j = json_object_new_object();
	struct json_object *a = json_object_new_array();
	unsigned int i;

	json_count(j, "size", scores->command.size);
	json_count(j, "window", o->window);
	for (i = 0; i < n; i++)
		json_object_array_add(a, score_json(&scores[i], o, i == 0));
	json_object_object_add(j, "methods", a);
	return j;
}

static struct json_object *head_json(const struct perf_options *o, enum test test)
{
	struct json_object *p = json_object_new_object(), *j;
	char name[16];

	snprintf(name, sizeof(name), "%s%s", o->node >= 0 ? "net " : "",
		 tests[test].name);
	j = report_json(name, o);
	json_text(p, "unit", unit_of(test));
	json_flag(p, "less_is_better", tests[test].less_is_better);
	json_count(p, "rounds", o->rounds);
	json_text(p, "waiting", o->sleep ? "sleep" : "spin");
	json_flag(p, "touch", o->touch);
	json_object_object_add(j, "parameters", p);
	return j;
}

/* The way to the other node, as text or as member "path" of @j. */
static void report_path(const struct side *s, struct json_object *j)
{
	struct json_object *path;
	socklen_t len = sizeof(int);
	struct peer peer;
	int mtu = 0;

	peer_look(&peer, s->node);
	if (getsockopt(s->control, IPPROTO_IPV6, IPV6_MTU, &mtu, &len))
		getsockopt(s->control, IPPROTO_IP, IP_MTU, &mtu, &len);
	if (!j) {
		printf("  path     to %s, MTU %d, packets of up to %u bytes\n",
		       peer.address, mtu, peer.packet);
		return;
	}
	path = json_object_new_object();
	json_text(path, "address", peer.address);
	json_count(path, "mtu", mtu);
	json_count(path, "dd_packet_size", peer.packet);
	json_object_object_add(j, "path", path);
}

/* --- the test ------------------------------------------------------------- */

/* Adds to @results, or prints if that is NULL. */
static void measure(struct side *s, const struct perf_options *o, enum test test,
		    size_t size, struct json_object *results)
{
	struct score scores[METHODS];
	unsigned int i, r, n;

	n = prepare(s, o, test, size, scores);
	/* Each round begins with another method, so that drift affects all of them. */
	for (r = 0; r < o->rounds; r++)
		for (i = 0; i < n; i++)
			play_round(s, &scores[(i + r) % n], r);
	evaluate(scores, n, o->rounds);
	if (results)
		json_object_array_add(results, size_json(scores, n, o));
	else
		print_scores(o, scores, n);
	for (i = 0; i < n; i++) {
		free(scores[i].rounds);
		free(scores[i].samples);
	}
}

/*
 * TCP's sockets hold hundreds of kilobytes that are not consumed yet. A window of a
 * few short messages would measure how fast the two sides take turns.
 */
static unsigned int window_of(const struct perf_options *o, enum test test,
			      size_t size)
{
	unsigned int least = tests[test].window, n;

	if (o->window)
		return o->window;
	if (o->node < 0 || tests[test].round_trips || costs(test))
		return least;
	n = NET_WINDOW_BYTES / size;
	if (n > DD_WINDOW_MAX)
		n = DD_WINDOW_MAX;
	return n > least ? n : least;
}

static size_t largest(const struct perf_options *o)
{
	size_t max = ACK_SIZE;
	unsigned int i;

	for (i = 0; i < o->size_count; i++)
		if (o->sizes[i] > max)
			max = o->sizes[i];
	return max;
}

int perf_flow(enum test test, const struct perf_options *options)
{
	struct perf_options o = *options;
	struct json_object *j = NULL, *sizes = NULL;
	struct side *s = NULL;
	unsigned int i, window;

	choose_cpus(&o);
	/* A receiver that spins is never idle. */
	o.sleep |= costs(test);
	/* Before this process is bound to its CPU. */
	if (o.json) {
		j = head_json(&o, test);
		sizes = json_object_new_array();
	} else {
		report_head(tests[test].title, &o);
	}
	for (i = 0; i < o.size_count; i++) {
		window = window_of(options, test, o.sizes[i]);
		if (!s || window != o.window) {
			bool first = !s;

			/* Pairs of another window stay open, idle. */
			o.window = window;
			s = allocate(1, sizeof(*s));
			pair_open(s, &o, largest(&o), flow_answer);
			if (first && s->net)
				report_path(s, j);
		}
		measure(s, &o, test, o.sizes[i], sizes);
	}
	if (o.json) {
		json_object_object_add(j, "results", sizes);
		report_print_json(j);
	}
	if (s)
		dd_shutdown(s->h);
	return TOOL_OK;
}
