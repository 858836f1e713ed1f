// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmmcsvr - sessions of VMMC on a node: their processes and the output of these
 *
 * Copyright (C) 2026 The dd authors
 *
 * A child serves each connection, and may wait; its time is limited by alarm(2). One that has started a
 * process waits for its end. All state is in files. So this process may be killed at any time.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "peer.h"
#include "process.h"
#include "request.h"
#include "wire.h"
#include "../common/tool.h"

#define LOCAL_SOCKET	"/run/vmmc/socket"	/* lib/mem/session.c has it, too */
#define READ_S		5	/* for a whole request */
#define WORK_S		60
#define CHILDREN	256	/* for each socket */
#define CHILDREN_USER	128	/* whose requests are complete */
#define BIND_TRIES	20	/* while children of a server that was killed close their descriptors */

enum kind { NET, LOCAL, KINDS };

/**
 * struct slot - a connection's child; in memory that children share
 * @pid: 0: the slot is free
 * @number: of the connection
 * @state: READS: the request is not complete: the child may be killed to make room; LEFT: it is done,
 *         and the slot free, though the child goes on
 * @uid: user, in state WORKS
 */
static struct slot {
	pid_t pid;
	unsigned long long number;
	enum { READS, WORKS, KILLED, LEFT } state;
	uid_t uid;
} *slots[KINDS];

static int sockets[KINDS];

static const char usage[] =
	"Usage: vmmcsvr [-c FILE]\n"
	"The sessions of VMMC on this node, see vmmcsvr(8).\n"
	"  -c FILE     read the settings from FILE (/etc/dd/vmmcsvr.conf)\n"
	"  -h, --help  print this text\n"
	"  -V, --version\n"
	"              print the version\n";

static const struct option long_options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ }
};

/* ---- children ---------------------------------------------------------------------------- */

static bool slot_change(struct slot *s, int state)
{
	int reads = READS;

	return __atomic_compare_exchange_n(&s->state, &reads, state, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static int slots_of(const struct slot *all, uid_t uid)
{
	int n = 0;

	for (int i = 0; i < CHILDREN; i++)
		n += all[i].pid && all[i].state == WORKS && all[i].uid == uid;
	return n;
}

static void serve(int fd, enum kind kind, struct slot *s, const sigset_t *mask)
{
	int count;
	char **text;

	/* A server that is started again needs them. */
	close(sockets[NET]);
	close(sockets[LOCAL]);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_SETMASK, mask, NULL);
	alarm(READ_S);
	text = peer_request(fd, kind == LOCAL, &count);
	s->uid = peer_uid;
	if (!slot_change(s, WORKS))
		_exit(1);
	alarm(WORK_S);
	if (slots_of(slots[kind], peer_uid) > CHILDREN_USER)
		refuse(EAGAIN, "user %u has %d requests on node %s", peer_uid, CHILDREN_USER,
		       node_name);
	request_run(text, count);
	s->state = LEFT;
	alarm(0);
	request_watch();
}

static struct slot *slot_free(enum kind kind)
{
	for (int i = 0; i < CHILDREN; i++)
		if (!slots[kind][i].pid || slots[kind][i].state == LEFT)
			return &slots[kind][i];
	return NULL;
}

/* The oldest one whose request is not complete. */
static struct slot *slot_oldest(enum kind kind)
{
	struct slot *oldest = NULL, *s = slots[kind];

	for (; s < slots[kind] + CHILDREN; s++)
		if (s->pid && s->state == READS && (!oldest || s->number < oldest->number))
			oldest = s;
	return oldest;
}

static struct slot *slot_get(enum kind kind)
{
	struct slot *s = slot_free(kind);

	if (s)
		return s;
	s = slot_oldest(kind);
	if (!s || !slot_change(s, KILLED))
		return NULL;
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	return s;
}

static void connection(enum kind kind, const sigset_t *mask)
{
	static unsigned long long number;
	struct slot *s = slot_get(kind);
	int fd = s ? accept4(sockets[kind], NULL, NULL, SOCK_CLOEXEC) : -1;

	if (!s)
		return;
	*s = (struct slot){ .number = ++number };
	if (fd < 0)
		return;
	s->pid = fork();
	if (!s->pid) {
		s->pid = getpid();
		serve(fd, kind, s, mask);
	}
	if (s->pid < 0)
		s->pid = 0;
	close(fd);
}

/* Children that have freed their slots watch processes. */
static void reap(void)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (int i = 0; i < KINDS * CHILDREN; i++)
			if (slots[i / CHILDREN][i % CHILDREN].pid == pid)
				slots[i / CHILDREN][i % CHILDREN].pid = 0;
}

/* ---- beginning ------------------------------------------------------------------------------ */

static bool bound(int fd, const void *address, socklen_t len)
{
	for (int i = 0; i < BIND_TRIES; i++) {
		if (!bind(fd, address, len))
			return !listen(fd, 1024);
		if (errno != EADDRINUSE)
			return false;
		poll(NULL, 0, 100);
	}
	return false;
}

/* A kernel without IPv6 has IPv4 only. */
static int net_socket(const char *port)
{
	struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM }, *a;
	const int yes = 1, no = 0;
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	hints.ai_family = fd < 0 ? AF_INET : AF_INET6;
	if (fd < 0)
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	if (getaddrinfo(NULL, port, &hints, &a) || !bound(fd, a->ai_addr, a->ai_addrlen))
		die("cannot listen on TCP port %s: %s", port, strerror(errno));
	freeaddrinfo(a);
	return fd;
}

/* After the TCP port, which is another server's if there is one. */
static int local_socket(void)
{
	const struct sockaddr_un address = { AF_UNIX, LOCAL_SOCKET };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	unlink(LOCAL_SOCKET);
	if (!bound(fd, &address, sizeof(address)) || chmod(LOCAL_SOCKET, 0666))
		die("cannot listen on %s: %s", LOCAL_SOCKET, strerror(errno));
	return fd;
}

static void noted(int signal)
{
}

static void begin(const char *file)
{
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	signal(SIGCHLD, noted);
	umask(022);
	config_init(file);
	sessions_init();
	sockets[NET] = net_socket(config_text("port", VMMCSVR_PORT));
	sockets[LOCAL] = local_socket();
	for (int kind = 0; kind < KINDS; kind++) {
		slots[kind] = mmap(NULL, CHILDREN * sizeof(struct slot), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (slots[kind] == MAP_FAILED)
			die("no memory");
	}
	sessions_each(processes_check, NULL);
	logs("vmmcsvr %s serves node %d, %s", DD_VERSION, node_number, node_name);
	printf("vmmcsvr: ready\n");
	fflush(stdout);
}

/* The signal is delivered in ppoll() only. Connections wait while all children work. */
static void run(void)
{
	struct pollfd p[KINDS];
	sigset_t child, mask;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &mask);
	for (;;) {
		reap();
		for (int kind = 0; kind < KINDS; kind++) {
			p[kind] = (struct pollfd){ .fd = sockets[kind], .events = POLLIN };
			if (!slot_free(kind) && !slot_oldest(kind))
				p[kind].fd = -1;
		}
		if (ppoll(p, KINDS, NULL, &mask) <= 0)
			continue;
		for (int kind = 0; kind < KINDS; kind++)
			if (p[kind].revents)
				connection(kind, &mask);
	}
}

int main(int argc, char **argv)
{
	const char *file = VMMCSVR_CONF;
	int opt;

	tool_begin("vmmcsvr");
	while ((opt = getopt_long(argc, argv, "c:hV", long_options, NULL)) != -1) {
		switch (opt) {
		case 'c':
			file = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return TOOL_OK;
		case 'V':
			tool_version();
		default:
			tool_bad_option(argv);
		}
	}
	if (optind < argc)
		tool_usage("unexpected argument '%s'", argv[optind]);
	begin(file);
	run();
}
