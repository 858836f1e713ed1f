// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cluster file, with names and addresses of its own: every error with its line,
 * and the result of valid files.
 */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/ddctl/cluster.h"
#include "../../tools/ddctl/say.h"

/* ---- names and addresses ---------------------------------------------------------- */

/* Names and their addresses; a '!' before those of this machine. */
static const struct {
	const char *name;
	const char *addrs;
} hosts[] = {
	{ "a", "!10.0.0.1" },
	{ "b", "10.0.0.2" },
	{ "also-b", "10.0.0.2" },
	{ "c", "10.0.0.3" },
	{ "six", "2001:db8::6" },
	{ "dual", "2001:db8::5 10.0.0.5" },
	{ "two", "10.0.0.7 10.0.0.8" },
	{ "debian", "!127.0.1.1" },
	{ "many", "10.0.0.9 !10.0.0.10" },
	{ }
};

static char complaints[65536];

void say(const char *fmt, ...)
{
	size_t len = strlen(complaints);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(complaints + len, sizeof(complaints) - len, fmt, ap);
	va_end(ap);
	strcat(complaints, "\n");
}

void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

static const char *numeric(const char *text, union addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	addr->sa.sa_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	return inet_pton(addr->sa.sa_family, text, strchr(text, ':') ?
			 (void *)&addr->in6.sin6_addr :
			 (void *)&addr->in.sin_addr) == 1 ?
		NULL : "not known";
}

/* The linker's --wrap option puts these in the place of those of addr.c. */
const char *__wrap_addr_resolve(const char *host, union addr *list, size_t max,
				size_t *n);
bool __wrap_addr_is_own(const union addr *addr);

const char *__wrap_addr_resolve(const char *host, union addr *list, size_t max,
				size_t *n)
{
	char copy[256], *word, *save = NULL;
	int i;

	*n = 0;
	for (i = 0; hosts[i].name; i++) {
		if (strcmp(hosts[i].name, host))
			continue;
		strcpy(copy, hosts[i].addrs);
		for (word = strtok_r(copy, " ", &save); word && *n < max;
		     word = strtok_r(NULL, " ", &save))
			numeric(word + (*word == '!'), &list[(*n)++]);
		return NULL;
	}
	*n = 1;
	return numeric(host, list);
}

bool __wrap_addr_is_own(const union addr *addr)
{
	char copy[256], *word, *save = NULL;
	union addr own;
	int i;

	for (i = 0; hosts[i].name; i++) {
		strcpy(copy, hosts[i].addrs);
		for (word = strtok_r(copy, " ", &save); word;
		     word = strtok_r(NULL, " ", &save)) {
			if (*word == '!' && !numeric(word + 1, &own) &&
			    addr_equal(addr, &own))
				return true;
		}
	}
	return addr_is_loopback(addr);
}

/* ---- cases -------------------------------------------------------------- */

/**
 * struct test - a file, and what is expected of it
 * @name: of the test
 * @text: the file
 * @self: --node, or -1
 * @want: what is said about it, each a line; of a valid file also its contents
 */
struct test {
	const char *name;
	const char *text;
	int self;
	const char *want;
};

static const struct test tests[] = {
	{ "two nodes", "0 a\n1 b\n", -1,
	  "self 0:56797 of 2 5000 0\n1 10.0.0.2:56797\n" },
	{ "comments, blanks, tabs, no newline at the end",
	  "# a cluster\n\n \t \n0\ta # here\n  1   b", -1,
	  "self 0:56797 of 2 5000 0\n1 10.0.0.2:56797\n" },
	{ "lines of another system", "0 a\r\n1 b 7\r\n", -1,
	  "self 0:56797 of 2 5000 0\n1 10.0.0.2:7\n" },
	{ "ports, in a word of their own or not",
	  "0 a 5000\n1 b:65535\n2 six 1\n3 [2001:db8::9]:2\n4 2001:db8::a 3\n",
	  -1, "self 0:5000 of 5 5000 0\n1 10.0.0.2:65535\n"
	  "2 [2001:db8::6]:1\n3 [2001:db8::9]:2\n4 [2001:db8::a]:3\n" },
	{ "max is one above the highest number", "7 b\n3 a\n", -1,
	  "self 3:56797 of 8 5000 0\n7 10.0.0.2:56797\n" },
	{ "max before and after", "1 b\nmax 4096\n0 a\n", -1,
	  "self 0:56797 of 4096 5000 0\n1 10.0.0.2:56797\n" },
	{ "dead-time and payload-crc",
	  "dead-time 100\npayload-crc on\n0 a\n1 b\n", -1,
	  "self 0:56797 of 2 100 1\n1 10.0.0.2:56797\n" },
	{ "alone", "0 a", -1, "self 0:56797 of 1 5000 0\n" },
	{ "a name of both families: IPv4", "0 a\n1 dual\n", -1,
	  "self 0:56797 of 2 5000 0\n1 10.0.0.5:56797\n" },
	{ "the own name is one of loopback", "0 b\n1 debian\n", -1,
	  "self 1:56797 of 2 5000 0\n0 10.0.0.2:56797\n" },
	{ "the own name has several addresses", "0 b\n1 many\n", -1,
	  "self 1:56797 of 2 5000 0\n0 10.0.0.2:56797\n" },
	{ "which node this is can be said", "0 b\n1 c\n", 1,
	  "self 1:56797 of 2 5000 0\n0 10.0.0.2:56797\n" },
	{ "two nodes of one machine", "0 a 1\n1 a 2\n", 1,
	  "self 1:2 of 2 5000 0\n0 10.0.0.1:1\n" },
	{ "one address, two ports", "0 a\n1 b 1\n2 b 2\n", -1,
	  "self 0:56797 of 3 5000 0\n1 10.0.0.2:1\n2 10.0.0.2:2\n" },

	{ "an empty file", "", -1, "f: there is no node in it\n" },
	{ "no nodes", "max 2\n", -1, "f: there is no node in it\n" },
	{ "numbers that are none", "4096 a\n99999999999999999999999 a\n0x1 a\n1 a\n\n1 b\n", -1,
	  "f:1: a node's number is 0 to 4095, not '4096'\n"
	  "f:2: a node's number is 0 to 4095, not '99999999999999999999999'\n"
	  "f:3: a node's number is 0 to 4095, not '0x1'\n"
	  "f:6: node 1 is there already, in line 4\n" },
	{ "ports that are none", "1 a 65536\n2 a dd\n3 a:1 1\n4 a 2 b\n", -1,
	  "f:1: the port must be 1 to 65535, not '65536'\n"
	  "f:2: the port must be 1 to 65535, not 'dd'\n"
	  "f:3: 'a:1' has a port, and '1' follows\n"
	  "f:4: 'b': a line is NUMBER HOST [PORT]\n" },
	{ "settings that are too low", "max 0\ndead-time 99\npayload-crc yes\n0 a\n", -1,
	  "f:1: max must be 1 to 4096, not '0'\n"
	  "f:2: dead-time must be 100 to 3600000 ms, not '99'\n"
	  "f:3: payload-crc must be on or off, not 'yes'\n" },
	{ "settings that are too high", "max 4097\ndead-time 3600001\n0 a\n", -1,
	  "f:1: max must be 1 to 4096, not '4097'\n"
	  "f:2: dead-time must be 100 to 3600000 ms, not '3600001'\n" },
	{ "settings that are twice, or of nothing", "max 4\nmax 4\n0 a\ndead-time\n", -1,
	  "f:2: max is there already, in line 1\n"
	  "f:4: dead-time needs one value: 100 to 3600000 ms\n" },
	{ "max too low for two", "0 a\n5 b\nmax 5\n7 c\n", -1,
	  "f:2: node 5 is not below max 5 of line 3\n"
	  "f:4: node 7 is not below max 5 of line 3\n" },
	{ "all errors, not only the first", "x\n0 a 0\n0 b\n1\n", -1,
	  "f:1: 'x' is neither a node's number nor 'max', 'dead-time' or 'payload-crc'\n"
	  "f:2: the port must be 1 to 65535, not '0'\n"
	  "f:3: node 0 is there already, in line 2\n"
	  "f:4: node 1 needs a host name or an address\n" },

	{ "a name that is not known is left out", "0 a\n1 nowhere\n2 c\n", -1,
	  "f:2: nowhere: not known\nself 0:56797 of 3 5000 0\n1 skipped\n2 10.0.0.3:56797\n" },
	{ "the own name is not known, but the number", "0 nowhere\n1 b\n", 0,
	  "self 0:56797 of 2 5000 0\n1 10.0.0.2:56797\n" },
	{ "no name is known", "0 nowhere\n1 nothing\n", -1,
	  "f:1: nowhere: not known\nf:2: nothing: not known\n"
	  "f: no line has an address of this machine; which node is it? --node NUMBER\n" },
	{ "this machine is none of them", "0 b\n1 c\n", -1,
	  "f: no line has an address of this machine; which node is it? --node NUMBER\n" },
	{ "this machine is two of them", "0 a 1\n1 a 2\n", -1,
	  "f:2: a is this machine, and so is a in line 1; which node is it? --node NUMBER\n" },
	{ "there is no such node", "0 a\n1 b\n", 2,
	  "f: there is no node 2 in it\n" },
	{ "two nodes at one place", "0 a\n1 b\n2 c\n3 10.0.0.2\n", -1,
	  "f:4: node 1 of line 2 has the address 10.0.0.2:56797 too\n" },
	{ "another node at the place of this one", "0 b\n1 10.0.0.1\n", 0,
	  "f:2: 10.0.0.1 is this machine, which is node 0; give the other node another port\n" },
	{ "this node's address twice, checked on another machine", "0 b\n1 c\n2 10.0.0.2\n", 0,
	  "f:3: node 0 of line 1 has the address 10.0.0.2:56797 too\n" },
	{ "the second address of this node", "0 two\n1 10.0.0.8\n", 0,
	  "f:2: node 0 of line 1 has the address 10.0.0.8:56797 too\n" },
	{ "a name of another that has the address of this one", "0 b\n1 a\n2 c\n", 0,
	  "f:2: a is this machine, which is node 0; give the other node another port\n"
	  "self 0:56797 of 3 5000 0\n1 skipped\n2 10.0.0.3:56797\n" },
	{ "two names of one address", "0 a\n1 b\n2 also-b\n", -1,
	  "f:3: node 1 of line 2 has the address 10.0.0.2:56797 too\n"
	  "self 0:56797 of 3 5000 0\n1 10.0.0.2:56797\n2 skipped\n" },
	{ "several addresses", "0 a\n1 two\n", -1,
	  "f:2: two: it has several addresses; give one of them\n"
	  "self 0:56797 of 2 5000 0\n1 skipped\n" },
	{ "a loopback address of another", "0 a\n1 127.0.0.1 2\n", 0,
	  "f:2: 127.0.0.1: a loopback address, which every machine has\n" },
	{ "a loopback address of one's own", "0 b\n1 ::1\n", -1,
	  "f:2: ::1: a loopback address, which every machine has\n" },
	{ "a name of another that is one of loopback", "0 a\n1 debian 2\n", 0,
	  "f:2: debian: a loopback address, which every machine has\n"
	  "self 0:56797 of 2 5000 0\n1 skipped\n" },
	{ "multicast of IPv6", "0 a\n1 ff02::1\n", -1,
	  "f:2: ff02::1: a multicast address is no address of a node\n" },
};

#define COUNT	(sizeof(tests) / sizeof(tests[0]))
#define EXTRA	3

/* The contents of a valid file, as text, after what was said about it. */
static void describe(const struct cluster *c)
{
	char addr[ADDR_TEXT_MAX];
	size_t i, len = strlen(complaints);

	len += snprintf(complaints + len, sizeof(complaints) - len, "self %u:%u of %u %u %u\n",
		       c->self->number, c->self->port, c->max, c->dead_time,
		       c->payload_crc);
	for (i = 0; i < c->count; i++) {
		if (&c->nodes[i] == c->self)
			continue;
		addr_text(&c->nodes[i].addr, addr);
		if (c->nodes[i].skipped)
			strcpy(addr, "skipped");
		len += snprintf(complaints + len, sizeof(complaints) - len,
				"%u %s\n", c->nodes[i].number, addr);
	}
}

static const char *outcome(const char *text, size_t len, int self)
{
	FILE *in = fmemopen((void *)text, len ? len : 1, "r");
	uint32_t number = self;
	struct cluster c;

	/* A memory file cannot be empty. */
	if (!len)
		fgetc(in);
	*complaints = '\0';
	if (cluster_read(&c, in, "f") &&
	    cluster_resolve(&c, self < 0 ? NULL : &number))
		describe(&c);
	cluster_free(&c);
	fclose(in);
	return complaints;
}

static int report(int number, const char *name, const char *have,
		  const char *want)
{
	if (!strcmp(have, want)) {
		printf("ok %d cluster file: %s\n", number, name);
		return 0;
	}
	printf("not ok %d cluster file: %s\n", number, name);
	fprintf(stderr, "have:\n%swant:\n%s", have, want);
	return 1;
}

/* A file with a line for each number, and one line too many. */
static char *full_file(size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);
	unsigned int i;

	fputs("0 a\n", out);
	for (i = 1; i < 4096; i++)
		fprintf(out, "%u 10.1.%u.%u\n", i, i / 256, i % 256);
	fputs("4095 b\n", out);
	fclose(out);
	return text;
}

int main(void)
{
	char name[600], *full;
	int failed = 0;
	size_t i, len;

	printf("TAP version 13\n1..%zu\n", COUNT + EXTRA);
	for (i = 0; i < COUNT; i++)
		failed += report(i + 1, tests[i].name,
				 outcome(tests[i].text, strlen(tests[i].text),
					 tests[i].self), tests[i].want);
	failed += report(COUNT + 1, "a byte that is 0", outcome("0 a\n1\0b\n", 8, -1),
			 "f:2: a zero byte; is this a text file?\n");
	memset(name, 'n', sizeof(name));
	memcpy(name, "1 ", 2);
	failed += report(COUNT + 2, "a long name",
			 strstr(outcome(name, sizeof(name), -1),
				"': the name is too long\n") ?: "", "': the name is too long\n");
	full = full_file(&len);
	failed += report(COUNT + 3, "all numbers, and one more",
			 outcome(full, len, -1),
			 "f:4097: node 4095 is there already, in line 4096\n");
	free(full);
	return failed ? 1 : 0;
}
