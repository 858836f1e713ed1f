// SPDX-License-Identifier: GPL-2.0-only
/*
 * flow.c - round trips, bandwidth, message rate: one loop for all methods
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/dd.h>

#include "method.h"
#include "net.h"
#include "../common/tool.h"

#define ACK_SIZE	8	/* bytes in the message that ends a one-way run */
#define CALIBRATION_WARM	16
#define BYTES_PER_RUN	(64u << 20)
#define NET_WINDOW_BYTES	(256u << 10)

static const double percents[] = { 0.5, 0.9, 0.99, 0.999 };
static const char * const percent_names[] = { "p50", "p90", "p99", "p99.9" };
#define PERCENTS	(sizeof(percents) / sizeof(percents[0]))

/**
 * struct score - what one method has done at one size
 * @method: which
 * @command: what was run, with the iterations
 * @rounds: a figure for each round
 * @samples: every round trip, in microseconds
 * @count: their number
 * @own: cost of this side, all rounds together
 * @other: cost of the other side
 * @packets: sent and received meanwhile, "net" only
 * @lost: of those sent
 * @messages: that these carried
 * @spread: of @rounds
 * @percentiles: of @samples
 * @ratio: ours by this one, spread over the rounds
 */
struct score {
	const struct method *method;
	struct command command;
	double *rounds;
	double *samples;
	size_t count;
	struct usage own;
	struct usage other;
	uint64_t packets;
	uint64_t lost;
	uint64_t messages;
	struct spread spread;
	double percentiles[PERCENTS];
	struct spread ratio;
};

static const struct {
	const char *name;
	const char *title;
	const char *unit;
	bool less_is_better;
	unsigned int window;
	uint64_t iterations;
} tests[] = {
	[TEST_LAT] = { "lat", "round trip", "us", true, 1, 1000 },
	[TEST_BW] = { "bw", "one-way bandwidth", "MB/s", false, 8, 1000 },
	[TEST_RATE] = { "rate", "one-way message rate", "kmsg/s", false, 64, 10000 },
	[TEST_INSN] = { "insn", "cost of a message one way, both sides", "", true, 8, 1000 },
	[TEST_TRIP] = { "trip", "cost of a message of a round trip, both sides", "", true, 1, 1000 },
};

/* --- the loops ------------------------------------------------------------ */

/* Read every line of a message; the sum goes where no compiler can drop it. */
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

static bool round_trips(enum test test)
{
	return test == TEST_LAT || test == TEST_TRIP;
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

/* The last message has been consumed when its acknowledgement comes. */
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

void flow_answer(struct side *s)
{
	struct usage before, usage;
	struct command c;

	for (;;) {
		pair_get(s, &c, sizeof(c));
		if (c.method >= method_count || c.size > s->hello.size)
			perf_fail(TOOL_FAILED, "a command that makes no sense");
		if (c.test == TEST_SHARE) {
			share_answer(s, &c);
			continue;
		}
		usage_now(&before);
		if (round_trips(c.test)) {
			pong(s, &methods[c.method], c.size, c.warm + c.count);
		} else {
			drain(s, &methods[c.method], c.size, c.warm);
			drain(s, &methods[c.method], c.size, c.count);
		}
		usage_since(&usage, &before);
		pair_put(s, &usage, sizeof(usage));
	}
}

/* --- one run -------------------------------------------------------------- */

static void *allocate(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p) {
		perf_fail(TOOL_FAILED, "out of memory");
	}
	return p;
}

static void add_usage(struct usage *sum, const struct usage *u)
{
	sum->cpu += u->cpu;
	sum->voluntary += u->voluntary;
	sum->involuntary += u->involuntary;
}

/* Half of the round trips are shorter: a stall of the machine does not count. */
static double median_trip(const double *samples, size_t n)
{
	double *v = allocate(n, sizeof(double));
	struct spread s;

	memcpy(v, samples, n * sizeof(double));
	spread_of(&s, v, n);
	free(v);
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

/*
 * Nanoseconds that the processors of this machine had something to do, or, where
 * that is not the question, nanoseconds. The clock is read within the readings
 * of the idle time, so that these do not count.
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

/* Returns nanoseconds; @samples may be NULL. */
static uint64_t run(struct side *s, const struct command *c, double *samples,
		    struct usage *own, struct usage *other)
{
	const struct method *m = &methods[c->method];
	struct usage before;
	uint64_t begin, idle, time;

	usage_now(&before);
	pair_put(s, c, sizeof(*c));
	if (round_trips(c->test)) {
		ping(s, m, c->size, c->warm, NULL);
		begin = begin_time(c->test, &idle);
		ping(s, m, c->size, c->count, samples);
	} else {
		pour(s, m, c->size, c->warm);
		begin = begin_time(c->test, &idle);
		pour(s, m, c->size, c->count);
	}
	time = end_time(c->test, begin, idle);
	usage_since(own, &before);
	pair_get(s, other, sizeof(*other));
	return time;
}

/* As many iterations as take @seconds. */
static void calibrate(struct side *s, struct command *c, double seconds)
{
	struct usage own, other;
	uint64_t ns;

	/*
	 * The first messages are slow: pages are touched and caches filled. So
	 * as many as are timed, and CALIBRATION_WARM at least, go before.
	 */
	c->count = 1;
	do {
		c->count *= 4;
		c->warm = c->count < CALIBRATION_WARM ? CALIBRATION_WARM : c->count;
		ns = run(s, c, NULL, &own, &other);
	} while (ns < 5000000 && c->count < 1u << 20);
	c->count = seconds * 1e9 * c->count / (ns ? ns : 1) / 1.1;
	if (c->count < 2)
		c->count = 2;
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
	unsigned int place = s->hello.net ? PLACE_NET : PLACE_HERE;

	if (!(m->tests & 1u << test) || !(m->places & place) ||
	    (m->limit && size > m->limit))
		return false;
	return m == &methods[0] || method_chosen(m, o->methods);
}

static unsigned int prepare(struct side *s, const struct perf_options *o,
			    enum test test, size_t size, struct score *scores)
{
	unsigned int i, n = 0;
	struct score *sc;

	for (i = 0; i < method_count; i++) {
		const struct method *m = &methods[i];

		if (takes_part(m, s, o, test, size))
			scores[n++] = (struct score) {
				.method = m,
				.command = { .test = test, .method = i, .size = size },
			};
	}
	for (sc = scores; sc < scores + n; sc++) {
		sc->command.count = o->iterations ? o->iterations :
			default_iterations(test, size);
		if (o->duration > 0)
			calibrate(s, &sc->command, o->duration / o->rounds / n);
		sc->command.warm = sc->command.count / 10 + 1;
		sc->rounds = allocate(o->rounds, sizeof(double));
		if (test == TEST_LAT)
			sc->samples = allocate(o->rounds * sc->command.count,
					       sizeof(double));
	}
	return n;
}

/* Whether ddctl knows the packets of it. */
static bool counted(const struct side *s, const struct score *sc)
{
	return s->hello.net && sc->method == &methods[0];
}

/* With the messages that end a run: what is reported is no less than it was. */
static void count_packets(const struct side *s, struct score *sc,
			  const struct peer *before)
{
	const struct command *c = &sc->command;
	struct peer now;

	peer_look(&now, s->node);
	sc->packets += now.sent - before->sent + now.received - before->received;
	sc->lost += now.lost - before->lost;
	sc->messages += (c->warm + c->count) * (round_trips(c->test) ? 2 : 1);
}

static void play_round(struct side *s, struct score *sc, unsigned int round)
{
	struct usage own, other;
	double *samples = sc->samples ? sc->samples + sc->count : NULL;
	struct peer before;
	uint64_t ns;

	if (counted(s, sc))
		peer_look(&before, s->node);
	ns = run(s, &sc->command, samples, &own, &other);
	if (counted(s, sc))
		count_packets(s, sc, &before);
	sc->rounds[round] = figure(&sc->command, ns, samples);
	sc->count += sc->samples ? sc->command.count : 0;
	add_usage(&sc->own, &own);
	add_usage(&sc->other, &other);
}

/* The rounds of @sc are in their order still; those of ours as well. */
static void compare(const struct score *ours, struct score *sc,
		    unsigned int rounds)
{
	double *v = allocate(rounds, sizeof(double));
	unsigned int i;

	for (i = 0; i < rounds; i++)
		v[i] = ours->rounds[i] / sc->rounds[i];
	spread_of(&sc->ratio, v, rounds);
	free(v);
}

static void evaluate(struct score *scores, unsigned int n, unsigned int rounds)
{
	struct score *sc;
	unsigned int i;

	for (sc = scores; sc < scores + n; sc++)
		compare(scores, sc, rounds);
	for (sc = scores; sc < scores + n; sc++) {
		spread_of(&sc->spread, sc->rounds, rounds);
		if (!sc->count)
			continue;
		sort_doubles(sc->samples, sc->count);
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

static void print_header(const struct perf_options *o, const struct command *c)
{
	unsigned int i;

	printf("\n%s, %llu byte%s, %u round%s of %llu, %s, %s, window %u; %s\n",
	       tests[c->test].title, (unsigned long long)c->size,
	       tool_s(c->size), o->rounds, tool_s(o->rounds),
	       (unsigned long long)c->count, o->sleep ? "sleeping" : "spinning",
	       o->touch ? "payload read" : "payload not read", o->window,
	       unit_of(c->test));
	printf("%-12s %9s %9s %9s %9s %9s", "", "min", "p25", "median", "p75", "max");
	if (c->test == TEST_LAT)
		for (i = 0; i < PERCENTS; i++)
			printf(" %9s", percent_names[i]);
	printf("  ours/it (min..max)\n");
}

static void print_score(const struct score *sc, bool ours)
{
	unsigned int i;

	printf("%-12s %9.5g %9.5g %9.5g %9.5g %9.5g", sc->method->name,
	       sc->spread.min, sc->spread.p25, sc->spread.median,
	       sc->spread.p75, sc->spread.max);
	if (sc->count)
		for (i = 0; i < PERCENTS; i++)
			printf(" %9.5g", sc->percentiles[i]);
	if (sc->messages)
		printf("  %.4g packets a message, %llu lost",
		       (double)sc->packets / sc->messages,
		       (unsigned long long)sc->lost);
	if (!ours)
		printf("  %.4g (%.4g..%.4g)", sc->ratio.median, sc->ratio.min,
		       sc->ratio.max);
	printf("\n");
	fflush(stdout);
}

static struct json_object *usage_json(const struct usage *u)
{
	struct json_object *j = json_object_new_object();

	json_object_object_add(j, "cpu_seconds", json_object_new_double(u->cpu / 1e9));
	json_object_object_add(j, "voluntary_switches",
			       json_object_new_uint64(u->voluntary));
	json_object_object_add(j, "involuntary_switches",
			       json_object_new_uint64(u->involuntary));
	return j;
}

static bool sleeps(const struct method *m, const struct perf_options *o)
{
	return m->waiting == WAITS_ASLEEP ||
	       (m->waiting == WAITS_AS_TOLD && o->sleep);
}

static struct json_object *score_json(const struct score *sc,
				      const struct perf_options *o, bool ours)
{
	struct json_object *j = json_object_new_object();
	struct json_object *p;
	unsigned int i;

	json_object_object_add(j, "name", json_object_new_string(sc->method->name));
	json_object_object_add(j, "what", json_object_new_string(sc->method->what));
	json_object_object_add(j, "waiting", json_object_new_string(
			       sleeps(sc->method, o) ? "sleep" : "spin"));
	json_object_object_add(j, "iterations",
			       json_object_new_uint64(sc->command.count));
	json_object_object_add(j, "rounds", spread_json(&sc->spread));
	if (sc->count) {
		p = json_object_new_object();
		for (i = 0; i < PERCENTS; i++)
			json_object_object_add(p, percent_names[i],
				json_object_new_double(sc->percentiles[i]));
		json_object_object_add(j, "percentiles", p);
	}
	json_object_object_add(j, "client", usage_json(&sc->own));
	json_object_object_add(j, "server", usage_json(&sc->other));
	if (sc->messages) {
		json_object_object_add(j, "packets_per_message",
			json_object_new_double((double)sc->packets / sc->messages));
		json_object_object_add(j, "packets_lost",
				       json_object_new_uint64(sc->lost));
	}
	if (!ours)
		json_object_object_add(j, "ours_by_this", spread_json(&sc->ratio));
	return j;
}

static struct json_object *size_json(const struct score *scores, unsigned int n,
				     const struct perf_options *o, size_t size)
{
	struct json_object *j = json_object_new_object();
	struct json_object *a = json_object_new_array();
	unsigned int i;

	json_object_object_add(j, "size", json_object_new_uint64(size));
	json_object_object_add(j, "window", json_object_new_uint64(o->window));
	for (i = 0; i < n; i++)
		json_object_array_add(a, score_json(&scores[i], o, i == 0));
	json_object_object_add(j, "methods", a);
	return j;
}

static struct json_object *parameters_json(const struct perf_options *o,
					   enum test test)
{
	struct json_object *j = json_object_new_object();

	json_object_object_add(j, "unit", json_object_new_string(unit_of(test)));
	json_object_object_add(j, "less_is_better",
			       json_object_new_boolean(tests[test].less_is_better));
	json_object_object_add(j, "rounds", json_object_new_uint64(o->rounds));
	json_object_object_add(j, "waiting",
			       json_object_new_string(o->sleep ? "sleep" : "spin"));
	json_object_object_add(j, "touch", json_object_new_boolean(o->touch));
	json_object_object_add(j, "cpu_client", json_object_new_int(o->cpus[0]));
	json_object_object_add(j, "cpu_server", json_object_new_int(o->cpus[1]));
	return j;
}

/* --- the test ------------------------------------------------------------- */

static struct json_object *measure(struct side *s, const struct perf_options *o,
				   enum test test, size_t size)
{
	struct score scores[METHODS_MAX];
	struct json_object *j = NULL;
	unsigned int i, r, n;

	n = prepare(s, o, test, size, scores);
	/* Another one begins each round: what drifts hits all of them. */
	for (r = 0; r < o->rounds; r++)
		for (i = 0; i < n; i++)
			play_round(s, &scores[(i + r) % n], r);
	evaluate(scores, n, o->rounds);

	if (o->json) {
		j = size_json(scores, n, o, size);
	} else {
		print_header(o, &scores[0].command);
		for (i = 0; i < n; i++)
			print_score(&scores[i], i == 0);
	}
	for (i = 0; i < n; i++) {
		free(scores[i].rounds);
		free(scores[i].samples);
	}
	return j;
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

/*
 * Beside sockets, which hold hundreds of kilobytes that nobody has read, a few short
 * messages would measure how fast the two sides take turns.
 */
static unsigned int window_of(const struct perf_options *o, enum test test,
			      size_t size)
{
	unsigned int least = tests[test].window, n;

	if (o->window)
		return o->window;
	if (o->node < 0 || round_trips(test) || costs(test))
		return least;
	n = NET_WINDOW_BYTES / (size ? size : 1);
	if (n > DD_WINDOW_MAX)
		n = DD_WINDOW_MAX;
	return n > least ? n : least;
}

/* Those opened before stay, and have nothing to do. */
static struct side *open_side(const struct perf_options *o, struct json_object *j,
			      bool first)
{
	struct side *s = allocate(1, sizeof(*s));

	pair_open(s, o, largest(o), o->window);
	if (first && s->hello.net)
		path_report(s, j);
	return s;
}

int perf_flow(enum test test, const struct perf_options *options)
{
	struct perf_options o = *options;
	struct json_object *j = NULL, *sizes = NULL;
	struct side *s = NULL;
	unsigned int i, window;
	char name[16];

	if (o.server)
		return pair_serve(&o);
	choose_cpus(&o);
	/* Spinning is no work. */
	o.sleep |= costs(test);
	/* Before this process is bound to its CPU. */
	if (o.json) {
		snprintf(name, sizeof(name), "%s%s", o.node >= 0 ? "net " : "",
			 tests[test].name);
		j = report_json(name, &o);
		json_object_object_add(j, "parameters", parameters_json(&o, test));
		sizes = json_object_new_array();
	} else {
		report_head(tests[test].title, &o);
	}
	for (i = 0; i < o.size_count; i++) {
		struct json_object *one;

		window = window_of(options, test, o.sizes[i]);
		if (!s || window != o.window) {
			o.window = window;
			s = open_side(&o, j, !s);
		}
		one = measure(s, &o, test, o.sizes[i]);
		if (o.json)
			json_object_array_add(sizes, one);
	}
	if (o.json) {
		json_object_object_add(j, "results", sizes);
		report_print_json(j);
	}
	if (s)
		dd_shutdown(s->h);
	return TOOL_OK;
}
