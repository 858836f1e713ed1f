// SPDX-License-Identifier: GPL-2.0-only
/*
 * The simulator's command line. Every scenario runs in a process of its own,
 * so that it finds a fresh world, and leaves nothing when it fails.
 */
#include <getopt.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim.h"

static const char *pcap;
static struct scenario *scenarios, **last = &scenarios;

void scenario_add(struct scenario *s)
{
	*last = s;
	last = &s->next;
}

static void usage(FILE *f)
{
	fprintf(f, "usage: sim [--seed N] [--scenario NAME]... [--runs N]\n"
		"           [--pcap FILE] [--list]\n"
		"Tries the transport in virtual time. Without a scenario: all. The seed\n"
		"is followed by the next ones, --runs in all.\n");
}

static void list(void)
{
	const struct scenario *s;

	for (s = scenarios; s; s = s->next)
		printf("%-12s %s\n", s->name, s->what);
}

static struct scenario *find(const char *name)
{
	struct scenario *s;

	for (s = scenarios; s; s = s->next) {
		if (!strcmp(s->name, name))
			return s;
	}
	fprintf(stderr, "sim: no scenario is called %s\n", name);
	exit(2);
}

static bool run(const struct scenario *s, u64 seed)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(2);
	}
	if (!pid) {
		sim.seed = seed;
		sim.now = SEC;
		sim.name = s->name;
		if (pcap)
			net_pcap(pcap);
		s->run();
		exit(0);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		printf("# %s: killed by signal %d\n# again: build/selftests/sim --seed %llu --scenario %s\n",
		       s->name, WTERMSIG(status), seed, s->name);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "scenario", required_argument, NULL, 'S' },
		{ "runs", required_argument, NULL, 'n' },
		{ "pcap", required_argument, NULL, 'p' },
		{ "list", no_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	const struct scenario *s;
	u64 seed = time(NULL), runs = 1, i;
	int opt, bad = 0, test = 0;
	bool all = true;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'S':
			find(optarg)->chosen = true;
			all = false;
			break;
		case 'n':
			runs = strtoull(optarg, NULL, 0);
			break;
		case 'p':
			pcap = optarg;
			break;
		case 'l':
			list();
			return 0;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	printf("TAP version 13\n");
	for (i = seed; i < seed + runs; i++) {
		for (s = scenarios; s; s = s->next) {
			bool ok;

			if (!all && !s->chosen)
				continue;
			ok = run(s, i);
			printf("%sok %d sim %s: %s (seed %llu)\n", ok ? "" : "not ", ++test,
			       s->name, s->what, i);
			bad += !ok;
		}
	}
	printf("1..%d\n", test);
	return bad != 0;
}
