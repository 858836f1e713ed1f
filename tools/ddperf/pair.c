// SPDX-License-Identifier: GPL-2.0-only
/*
 * pair.c - sets up the two sides: a child process within a node, "ddperf net
 * serve" on another one
 *
 * Between nodes commands go by TCP, so that neither they nor the detection of a
 * failed server depend on direct deposit.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <json-c/json.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pair.h"
#include "process.h"
#include "../common/tool.h"

/**
 * struct greeting - first record of a client on another node
 * @magic: GREETING
 * @kind: enum net_kind
 */
struct greeting {
	char magic[16];
	uint32_t kind;
};

/* Both sides have the same version: their records carry no other one. */
#define GREETING	"ddperf6 " DD_VERSION

/* --- the control socket --------------------------------------------------- */

void pair_put(const struct side *s, const void *p, size_t size)
{
	if (send(s->control, p, size, MSG_NOSIGNAL) == (ssize_t)size)
		return;
	if (s->me)
		_exit(TOOL_OK);	/* the client has finished */
	perf_lost(s->control);
}

static ssize_t receive(int fd, void *p, size_t size, int flags)
{
	ssize_t n;

	do {
		n = recv(fd, p, size, flags);
	} while (n < 0 && errno == EINTR);
	return n;
}

void pair_get(const struct side *s, void *p, size_t size)
{
	ssize_t n = receive(s->control, p, size, MSG_PEEK);

	if (n > 0 && perf_is_failure(p, n))
		perf_lost(s->control);
	if (receive(s->control, p, size, MSG_WAITALL) == (ssize_t)size)
		return;
	if (s->me)
		_exit(TOOL_OK);	/* the client has finished */
	perf_lost(s->control);
}

/*
 * A side that spins on memory, or sleeps in a call, does not notice that the
 * other side has ended. This thread sleeps until the socket hangs up.
 */
static void *watch(void *arg)
{
	const struct side *s = arg;
	struct pollfd p = { .fd = s->control, .events = POLLRDHUP };

	while (poll(&p, 1, -1) < 0)
		;
	if (s->me)
		_exit(TOOL_OK);
	perf_lost(s->control);
	return NULL;
}

static void start_watch(struct side *s)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, watch, s))
		perf_die("pthread_create");
	pthread_detach(thread);
}

/* --- memory and connections ----------------------------------------------- */

static void *map(size_t size, int flags)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_ANONYMOUS | MAP_POPULATE | flags, -1, 0);

	if (p == MAP_FAILED)
		perf_die("memory");
	return p;
}

/* Before the fork, so that @buffer has one address in both processes. */
static void map_memory(struct side *s)
{
	size_t size = s->hello.size;

	if (!s->net)
		s->shared = map(sizeof(struct shared) + 2 * payload_size(size), MAP_SHARED);
	s->buffer = map(2 * size, MAP_PRIVATE);
}

static int link_count(const struct side *s)
{
	return s->net ? 1 : LINKS;
}

static void link_name(char *buf, size_t size, const char *service, int link)
{
	snprintf(buf, size, "%s%s", service, link == LINK_KERNEL ? ".k" : "");
}

static void serve_link(struct side *s, const char *service, int link)
{
	/* Blocks are rounded down to 8 bytes. */
	size_t size = (s->hello.size + 7) / 8 * 8;
	struct dd_serve_attr attr = {
		.size = sizeof(attr),
		.flags = link == LINK_KERNEL ? DD_ATTR_NODIRECT : 0,
		.maxconn = 1,
		.window = s->hello.window,
		.recv_size = perf_pages(size),
		.send_size = size,
	};
	char name[80];

	link_name(name, sizeof(name), service, link);
	must(s->h, dd_alloc(s->h, attr.recv_size, &attr.recv), "memory");
	must(s->h, dd_alloc(s->h, size, &attr.send), "memory");
	must(s->h, dd_serve(s->h, name, &attr, &s->links[link].list), name);
}

static void connect_link(struct side *s, const char *service, int link)
{
	size_t size = s->hello.size;
	struct dd_connect_attr attr = {
		.size = sizeof(attr),
		.type = DD_TYPE_STREAM,
		.window = s->hello.window,
		.send_size = size,
		.recv_size = perf_pages(size),
	};
	struct link *l = &s->links[link];
	char name[80];

	link_name(name, sizeof(name), service, link);
	must(s->h, dd_alloc(s->h, attr.recv_size, &attr.recv), "memory");
	must(s->h, dd_alloc(s->h, size, &attr.send), "memory");
	l->conn = must(s->h, dd_connect(s->h, name, s->net ? s->node : dd_node(s->h),
					&attr, &l->list), name);
	l->send = memset(attr.send, 1, size);
	/* The server learns the connection's id from its first message. */
	must(s->h, dd_send(s->h, l->conn, l->send, 1, 0, 0, NULL, 0), "sending");
}

static void accept_link(struct side *s, int link)
{
	struct link *l = &s->links[link];
	struct dd_msg msg;

	must(s->h, dd_recv(s->h, l->list, &msg, DD_RECV_SLEEP, DD_FOREVER),
	     "receiving");
	l->conn = msg.conn;
	l->send = memset(msg.send, 2, s->hello.size);
}

/* Both: process_vm_writev() needs the permission to trace the other process. */
static void begin(struct side *s)
{
	if (!s->net)
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	memset(s->buffer, s->me + 1, 2 * s->hello.size);
	s->h = perf_open();
}

/* --- the server ----------------------------------------------------------- */

void pair_accept(struct side *s)
{
	char service[64] = "";
	int i;

	if (s->net) {
		pair_get(s, &s->hello, sizeof(s->hello));
		if (!s->hello.size || s->hello.size > SIZE_MAX_BYTES)
			perf_fail(TOOL_FAILED, "the client's message size is out of range");
		map_memory(s);
	}
	pin(s->hello.cpu);
	begin(s);
	snprintf(service, sizeof(service), "ddperf.%d", (int)getpid());
	for (i = 0; i < link_count(s); i++)
		serve_link(s, service, i);
	start_watch(s);
	pair_put(s, service, sizeof(service));
	for (i = 0; i < link_count(s); i++)
		accept_link(s, i);
}

static void no_delay(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* A TCP connection over the loopback device. */
static void tcp_pair(int pair[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(a);

	pair[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 1) ||
	    getsockname(fd, (struct sockaddr *)&a, &len) ||
	    connect(pair[0], (struct sockaddr *)&a, len) ||
	    (pair[1] = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) < 0)
		perf_die("TCP over loopback");
	close(fd);
	no_delay(pair[0]);
	no_delay(pair[1]);
}

pid_t pair_fork(struct side *s, pair_answer *answer)
{
	int control[2], packet[2], tcp[2];
	pid_t client = getpid(), pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, packet) < 0)
		perf_die("socketpair");
	tcp_pair(tcp);
	pid = fork();
	if (pid < 0)
		perf_die("fork");
	s->me = !pid;
	s->other = pid ? pid : client;
	s->control = control[s->me];
	s->packet = packet[s->me];
	s->tcp = tcp[s->me];
	close(control[!s->me]);
	close(packet[!s->me]);
	close(tcp[!s->me]);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	perf_serves(s->control, true);
	answer(s);
	_exit(TOOL_OK);
}

static void serve_client(int control, pair_answer *const answers[NET_KINDS])
{
	struct side s = { .me = 1, .net = true, .control = control, .tcp = control };
	struct greeting g;

	no_delay(control);
	perf_serves(control, false);
	pair_get(&s, &g, sizeof(g));
	if (memcmp(g.magic, GREETING, sizeof(GREETING)) || g.kind >= NET_KINDS)
		perf_fail(TOOL_FAILED, "a client of another version");
	answers[g.kind](&s);
	_exit(TOOL_OK);
}

/* IPv6 sockets take IPv4 as well; some machines have no IPv6. */
static int listen_at(unsigned int port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
				    .sin6_port = htons(port) };
	struct sockaddr_in four = { .sin_family = AF_INET,
				    .sin_port = htons(port) };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool has_six = fd >= 0;
	int one = 1;

	if (!has_six)
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, has_six ? (struct sockaddr *)&six : (struct sockaddr *)&four,
		 has_six ? sizeof(six) : sizeof(four)) || listen(fd, 16))
		perf_fail(TOOL_FAILED, "TCP port %u: %s", port, strerror(errno));
	return fd;
}

void net_serve(unsigned int port, pair_answer *const answers[NET_KINDS])
{
	int fd = listen_at(port), client;

	tool_raise_memlock();
	signal(SIGCHLD, SIG_IGN);
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (client < 0)
			perf_die("accept");
		if (!fork()) {
			close(fd);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			signal(SIGCHLD, SIG_DFL);
			serve_client(client, answers);
		}
		close(client);
	}
}

/* --- the client ----------------------------------------------------------- */

int net_connect(const struct perf_options *o, enum net_kind kind)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICHOST }, *a;
	struct greeting g = { GREETING, kind };
	struct side s = {};
	struct peer peer;
	char port[16];
	int ret;

	if (!peer_look(&peer, o->node))
		perf_fail(TOOL_FAILED, "node %d: ddctl knows no address of it", o->node);
	snprintf(port, sizeof(port), "%u", o->port);
	ret = getaddrinfo(peer.address, port, &hints, &a);
	if (ret)
		perf_fail(TOOL_FAILED, "'%s': %s", peer.address, gai_strerror(ret));
	s.control = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s.control < 0 || connect(s.control, a->ai_addr, a->ai_addrlen) < 0)
		perf_fail(TOOL_FAILED, "node %d: no 'ddperf net serve' at %s, port %u: %s",
			  o->node, peer.address, o->port, strerror(errno));
	freeaddrinfo(a);
	no_delay(s.control);
	pair_put(&s, &g, sizeof(g));
	return s.control;
}

void pair_open(struct side *s, const struct perf_options *o, size_t size, pair_answer *answer)
{
	char service[64];
	int i;

	*s = (struct side) {
		.net = o->node >= 0,
		.node = o->node,
		.hello = {
			.size = size,
			.window = o->window,
			.sleep = o->sleep,
			.touch = o->touch,
			.shared_cpu = o->cpus[0] >= 0 && o->cpus[0] == o->cpus[1],
			.cpu = o->cpus[1],
		},
	};
	tool_raise_memlock();
	map_memory(s);
	/* The server first: a handle is not inherited. */
	if (s->net) {
		s->control = s->tcp = net_connect(o, NET_PAIR);
		pair_put(s, &s->hello, sizeof(s->hello));
	} else {
		pair_fork(s, answer);
	}
	pin(o->cpus[0]);
	begin(s);
	pair_get(s, service, sizeof(service));
	service[sizeof(service) - 1] = '\0';
	for (i = 0; i < link_count(s); i++)
		connect_link(s, service, i);
	start_watch(s);
}

/* --- the other node, as ddctl reports it ---------------------------------- */

static uint64_t number(struct json_object *row, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(row, key, &value) ?
	       json_object_get_uint64(value) : 0;
}

/* Without brackets and port: "10.9.0.2:56797", "[fe80::2%eth0]:56797". */
static void bare_address(char *buf, size_t size, const char *text)
{
	int len = *text == '[' ? strcspn(++text, "]") : strcspn(text, ":");

	snprintf(buf, size, "%.*s", len, text);
}

bool peer_look(struct peer *p, int node)
{
	struct json_object *row, *address;
	char command[96], text[4096];
	bool known;
	FILE *f;

	*p = (struct peer) {};
	/* ddctl is installed in /usr/sbin, which is not on every user's PATH. */
	snprintf(command, sizeof(command),
		 "PATH=\"$PATH:/usr/sbin\" ddctl -j peer show %d 2>/dev/null", node);
	f = popen(command, "r");
	if (!f)
		perf_die("ddctl");
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	pclose(f);
	row = json_tokener_parse(text);
	known = json_object_object_get_ex(row, "address", &address);
	if (known) {
		bare_address(p->address, sizeof(p->address),
			     json_object_get_string(address));
		p->packet = number(row, "packet_size");
		p->sent = number(row, "packets_sent");
		p->received = number(row, "packets_received");
		p->lost = number(row, "packets_lost");
	}
	json_object_put(row);
	return known;
}
