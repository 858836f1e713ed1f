// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holds objects for the scripts of this folder: reads requests from standard
 * input, one in a line, and answers each with one line; the first line says
 * "ready".
 *
 *   region PAGES                        its id
 *   serve NAME MAXCONN WINDOW FLAGS     its id
 *   connect NAME NODE TYPE WINDOW       its serial
 *   connects COUNT NAME                 the number of connections made
 *   churn COUNT NAME                    as often connected and closed
 *   send CONN BYTES                     "1", or 0 if nothing was accepted
 *   take                                the number of notes consumed
 *   export NAME USERS IMPORTERS         its serial; enum dd_permission
 *   registrar                           "0"; accepts all names from now on
 *   register NAME                       its serial; its name is kept by the registrar
 *   import NAME RIGHTS                  its serial
 *   begin NAME NODE                     its serial; 0 is this node. The import is pending,
 *                                       until there is a segment
 *   list                                the descriptor of a list
 *   drop                                "0"; closes the device, but no other descriptor
 *   put IMPORT OFFSET BYTES             "1"
 *   control SEGMENT WHAT VALUE          "0"
 *   close CONN / unserve SERVICE / end SERIAL   "0"
 *
 * or "error ERRNO". It ends at the end of its input.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mem.h"

#define BLOCK		4096
#define LINKS_MAX	20000

static struct raw ctx;

/* What was made here: its id or serial, where its state and list are. */
static struct link {
	__u64 name;
	__u32 state_unit;
	__u32 list_unit;
} links[LINKS_MAX];
static unsigned int nlinks;
static __u32 last_region;	/* of the last connection */

static struct link *link_find(__u64 name)
{
	unsigned int i;

	for (i = 0; i < nlinks; i++) {
		if (links[i].name == name)
			return &links[i];
	}
	errno = ENOENT;
	return NULL;
}

static long long link_add(__u64 name, __u32 state_unit, __u32 list_unit)
{
	if (nlinks == LINKS_MAX) {
		errno = ENOSPC;
		return -1;
	}
	links[nlinks++] = (struct link){ name, state_unit, list_unit };
	return name;
}

static long long do_region(char **arg)
{
	struct mem mem;

	return raw_alloc(&ctx, atol(arg[0]) * PAGE, &mem) ? -1 : (int)mem.id;
}

static long long do_serve(char **arg)
{
	unsigned int maxconn = atoi(arg[1]);
	struct dd_serve s;
	struct mem mem;

	if (raw_alloc(&ctx, 2ul * maxconn * BLOCK, &mem))
		return -1;
	raw_serve_args(&s, arg[0], maxconn, &mem);
	s.window = atoi(arg[2]);
	s.flags = atoi(arg[3]);
	if (raw_serve(&ctx, &s))
		return -1;
	return link_add(s.service, 0, s.list_unit);
}

static long long connect_to(const char *name, __u32 node, __u32 type, __u32 window)
{
	struct dd_connect c;
	struct mem mem;

	if (raw_alloc(&ctx, 2 * BLOCK, &mem))
		return -1;
	raw_connect_args(&c, name, &mem);
	c.node = node;
	c.type = type;
	c.window = window;
	if (raw_connect(&ctx, &c))
		return -1;
	/* The connection keeps the memory, which is not accessed here. */
	munmap(mem.at, mem.len);
	last_region = mem.id;
	return link_add(c.conn, c.state_unit, c.list_unit);
}

static long long do_connect(char **arg)
{
	return connect_to(arg[0], atoi(arg[1]), atoi(arg[2]), atoi(arg[3]));
}

static long long do_connects(char **arg)
{
	int i, n = atoi(arg[0]);

	for (i = 0; i < n; i++) {
		if (connect_to(arg[1], 1, DD_CONN_STREAM, 1) < 0)
			return -1;
	}
	return n;
}

static long long do_churn(char **arg)
{
	int i, n = atoi(arg[0]);

	for (i = 0; i < n; i++) {
		long long id = connect_to(arg[1], 1, DD_CONN_STREAM, 1);

		if (id < 0 ||
		    raw_op(&ctx, DD_IOC_CLOSE, links[nlinks - 1].name) ||
		    raw_op(&ctx, DD_IOC_REGION_FREE, last_region))
			return -1;
		nlinks--;
	}
	return n;
}

static long long do_send(char **arg)
{
	struct link *link = link_find(atoll(arg[0]));

	if (!link)
		return -1;
	return raw_send(&ctx, link->state_unit, link->name, 0, 0, atol(arg[1]));
}

static long long do_take(char **arg)
{
	struct dd_note note;
	unsigned int i;
	int n = 0;

	for (i = 0; i < nlinks; i++) {
		while (links[i].list_unit && raw_take(&ctx, links[i].list_unit, &note))
			n++;
	}
	return n;
}

static long long export_as(__u32 class, const char *name, int permission, int importers)
{
	struct dd_segment_make s;
	struct mem mem;

	if (raw_alloc(&ctx, BLOCK, &mem))
		return -1;
	s = mem_segment(&mem, name);
	s.key_class = class;
	s.permission = permission;
	s.importers = importers;
	return mem_export(&ctx, &s) ? -1 : (long long)s.segment;
}

static long long do_export(char **arg)
{
	return export_as(DD_SEGMENT_NAME, arg[0], atoi(arg[1]), atoi(arg[2]));
}

static long long do_register(char **arg)
{
	return export_as(DD_SEGMENT_REGISTERED, arg[0], DD_PERMIT_ANY, 1);
}

static void *answer(void *arg)
{
	struct dd_registrar_answer a = { 0 };
	struct dd_registrar_call c;
	int fd = *(int *)arg;

	while (read(fd, &c, sizeof(c)) == sizeof(c)) {
		a.call = c.call;
		if (a.call && write(fd, &a, sizeof(a)) != sizeof(a))
			break;
	}
	return NULL;
}

static long long do_registrar(char **arg)
{
	static pthread_t thread;
	static int fd;

	fd = raw_op(&ctx, DD_IOC_REGISTRAR, 0);
	return fd < 0 || pthread_create(&thread, NULL, answer, &fd) ? -1 : 0;
}

static long long do_import(char **arg)
{
	const struct mem none = { .len = BLOCK };
	struct dd_segment_make s = mem_segment(&none, arg[0]);
	struct dd_import_make i;

	if (mem_import(&ctx, &s, atoi(arg[1]), &i))
		return -1;
	return link_add(i.import, i.state_unit, 0);
}

static long long do_begin(char **arg)
{
	const struct mem none = { .len = BLOCK };
	const struct dd_segment_make s = mem_segment(&none, arg[0]);
	struct dd_import_make i;

	i = mem_import_of(&s, atoi(arg[1]) ? (__u32)atoi(arg[1]) : mem_node(&ctx), DD_RIGHT_GET,
			  DD_IMPORT_NOWAIT | DD_IMPORT_PARK, 0);
	if (raw_ioctl(&ctx, DD_IOC_IMPORT, &i))
		return -1;
	return link_add(i.import, i.state_unit, 0);
}

static long long do_list(char **arg)
{
	struct dd_list_make list;

	return mem_list(&ctx, &list) ? -1 : raw_op(&ctx, DD_IOC_LIST_FD, list.list);
}

static long long do_drop(char **arg)
{
	raw_close(&ctx);
	return 0;
}

static long long do_put(char **arg)
{
	static const char bytes[BLOCK];
	struct link *link = link_find(atoll(arg[0]));
	struct dd_import_make i;

	if (!link)
		return -1;
	i = (struct dd_import_make){ .import = link->name, .state_unit = link->state_unit };
	return mem_put(&ctx, &i, bytes, atoll(arg[1]), atoll(arg[2]), 0);
}

static long long do_control(char **arg)
{
	return mem_ctl(&ctx, atoll(arg[0]), atoi(arg[1]), atoll(arg[2]), 0, 0);
}

static long long do_end(char **arg)
{
	return mem_end(&ctx, atoll(arg[0]));
}

static const struct request {
	const char *name;
	int args;
	long long (*run)(char **arg);
} requests[] = {
	{ "region", 1, do_region },
	{ "serve", 4, do_serve },
	{ "connect", 4, do_connect },
	{ "connects", 2, do_connects },
	{ "churn", 2, do_churn },
	{ "send", 2, do_send },
	{ "take", 0, do_take },
	{ "export", 3, do_export },
	{ "registrar", 0, do_registrar },
	{ "register", 1, do_register },
	{ "import", 2, do_import },
	{ "begin", 2, do_begin },
	{ "list", 0, do_list },
	{ "drop", 0, do_drop },
	{ "put", 3, do_put },
	{ "control", 3, do_control },
	{ "end", 1, do_end },
};

/* Requests that name one object. */
static const struct {
	const char *name;
	unsigned int ioctl;
} ops[] = {
	{ "close", DD_IOC_CLOSE },
	{ "unserve", DD_IOC_UNSERVE },
};

static long long execute(char *line)
{
	char *word[6], *name = strtok(line, " \n");
	int n = 0;
	size_t i;

	while (n < 5 && (word[n] = strtok(NULL, " \n")))
		n++;
	for (i = 0; name && i < sizeof(requests) / sizeof(*requests); i++) {
		if (!strcmp(requests[i].name, name) && requests[i].args == n)
			return requests[i].run(word);
	}
	for (i = 0; name && n == 1 && i < sizeof(ops) / sizeof(*ops); i++) {
		if (!strcmp(ops[i].name, name))
			return raw_op(&ctx, ops[i].ioctl, atoll(word[0]));
	}
	errno = ENOTTY;
	return -1;
}

int main(void)
{
	char line[256];
	long long ret;

	if (raw_open(&ctx)) {
		perror("/dev/dd");
		return 1;
	}
	setlinebuf(stdout);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		ret = execute(line);
		if (ret < 0)
			printf("error %d\n", errno);
		else
			printf("%lld\n", ret);
	}
	return 0;
}
