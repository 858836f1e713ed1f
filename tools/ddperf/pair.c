// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copyright (C) 2026 The dd authors
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net.h"
#include "../common/tool.h"

enum { FD_SHARED, FD_PACKET, FD_STREAM, FD_PIPE_IN, FD_PIPE_OUT, FDS };

#define PIPE_SIZE	(1 << 20)	/* as much as a user may have */

/* Where the mapping of both payloads ends. */
static size_t shared_size(size_t size)
{
	return sizeof(struct shared) + 2 * payload_room(size);
}

static void die(const char *what)
{
	perf_fail(TOOL_FAILED, "%s: %s", what, strerror(errno));
}

/* --- the control socket --------------------------------------------------- */

void pair_put(const struct side *s, const void *p, size_t size)
{
	if (send(s->control, p, size, MSG_NOSIGNAL) == (ssize_t)size)
		return;
	if (s->me)
		_exit(TOOL_OK);	/* a client ends like this */
	perf_lost(s->control);
}

void pair_get(const struct side *s, void *p, size_t size)
{
	ssize_t n;

	do {
		n = recv(s->control, p, size, MSG_PEEK);
	} while (n < 0 && errno == EINTR);
	if (n > 0 && perf_is_failure(p, n))
		perf_lost(s->control);
	do {
		n = recv(s->control, p, size, MSG_WAITALL);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)size) {
		if (s->me)
			_exit(TOOL_OK);	/* a client ends like this */
		perf_lost(s->control);
	}
}

/*
 * A side that spins on memory, or sleeps in a call, would wait for ever for
 * one that has died. This thread sleeps until the socket hangs up.
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
		die("pthread_create");
	pthread_detach(thread);
}

static void send_fds(int control, const struct hello *hello, const int *fds)
{
	char space[CMSG_SPACE(FDS * sizeof(int))] = {};
	struct iovec iov = { (void *)hello, sizeof(*hello) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(FDS * sizeof(int));
	memcpy(CMSG_DATA(c), fds, FDS * sizeof(int));
	if (sendmsg(control, &msg, MSG_NOSIGNAL) != sizeof(*hello))
		die("descriptors");
}

static void recv_fds(int control, struct hello *hello, int *fds)
{
	char space[CMSG_SPACE(FDS * sizeof(int))];
	struct iovec iov = { hello, sizeof(*hello) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space),
	};
	ssize_t n = recvmsg(control, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;

	if (n != sizeof(*hello) || !c || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(FDS * sizeof(int)))
		perf_fail(TOOL_FAILED, "the client sends no descriptors");
	memcpy(fds, CMSG_DATA(c), FDS * sizeof(int));
}

/* --- set-up --------------------------------------------------------------- */

static void map_shared(struct side *s, int fd)
{
	s->shared = mmap(NULL, shared_size(s->hello.size), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_POPULATE, fd, 0);
	if (s->shared == MAP_FAILED)
		die("shared memory");
}

static void map_buffer(struct side *s)
{
	s->buffer = mmap(NULL, 2 * s->hello.size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (s->buffer == MAP_FAILED)
		die("memory");
	memset(s->buffer, s->me + 1, 2 * s->hello.size);
}

/* Both sides have as many. */
static int way_count(const struct side *s)
{
	return s->hello.net ? 1 : WAYS;
}

static void way_name(char *buf, size_t size, const char *service, int way)
{
	snprintf(buf, size, "%s%s", service, way == WAY_KERNEL ? ".k" : "");
}

static void serve_dd(struct side *s, const char *service, int way)
{
	/* Blocks are rounded down to 8 bytes. */
	size_t size = (s->hello.size + 7) / 8 * 8;
	struct dd_serve_attr attr = {
		.size = sizeof(attr),
		.flags = way == WAY_KERNEL ? DD_ATTR_NODIRECT : 0,
		.maxconn = 1,
		.window = s->hello.window,
		.recv_size = perf_pages(size),
		.send_size = size,
	};
	char name[80];

	way_name(name, sizeof(name), service, way);
	must(s->h, dd_alloc(s->h, attr.recv_size, &attr.recv), "memory");
	must(s->h, dd_alloc(s->h, size, &attr.send), "memory");
	must(s->h, dd_serve(s->h, name, &attr, &s->ways[way].list), name);
}

static void connect_dd(struct side *s, const char *service, int way)
{
	size_t size = s->hello.size;
	struct dd_connect_attr attr = {
		.size = sizeof(attr),
		.type = DD_TYPE_STREAM,
		.window = s->hello.window,
		.send_size = size,
		.recv_size = perf_pages(size),
	};
	struct way *w = &s->ways[way];
	char name[80];

	way_name(name, sizeof(name), service, way);
	must(s->h, dd_alloc(s->h, attr.recv_size, &attr.recv), "memory");
	must(s->h, dd_alloc(s->h, size, &attr.send), "memory");
	if (!s->hello.net)
		s->node = dd_node(s->h);
	w->conn = must(s->h, dd_connect(s->h, name, s->node, &attr, &w->list),
		       name);
	w->send = attr.send;
	memset(w->send, 1, size);
	/* Tells the server which connection it is. */
	must(s->h, dd_send(s->h, w->conn, w->send, 1, 0, 0, NULL, 0), "sending");
}

static void expect_dd(struct side *s, int way)
{
	struct way *w = &s->ways[way];
	struct dd_msg msg;

	must(s->h, dd_recv(s->h, w->list, &msg, DD_RECV_SLEEP, DD_FOREVER),
	     "receiving");
	w->conn = msg.conn;
	w->send = msg.send;
	memset(w->send, 2, s->hello.size);
}

/* process_vm_writev() asks for the right to trace the target. */
static void allow_tracing(void)
{
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
}

/* The server's life with one client, from @s->hello on. */
static void serve_client(struct side *s)
{
	struct welcome w = { .pid = getpid(), .buffer = (uintptr_t)s->buffer };
	int i;

	snprintf(w.service, sizeof(w.service), "ddperf.%d", (int)getpid());
	s->h = perf_open();
	for (i = 0; i < way_count(s); i++)
		serve_dd(s, w.service, i);
	if (s->hello.net)
		sock_listen(s, &w);
	start_watch(s);
	pair_put(s, &w, sizeof(w));
	for (i = 0; i < way_count(s); i++)
		expect_dd(s, i);
	if (s->hello.net)
		sock_accept(s);
	flow_answer(s);
	_exit(TOOL_OK);
}

static void check_hello(const struct hello *hello)
{
	if (!hello->size || hello->size > SIZE_MAX_BYTES)
		perf_fail(TOOL_FAILED, "a message size that makes no sense");
	pin(hello->cpu);
}

static void answer(int control, bool shared_terminal)
{
	struct side s = { .me = 1, .control = control };
	int fds[FDS];

	perf_serves(control, shared_terminal);

	recv_fds(control, &s.hello, fds);
	check_hello(&s.hello);
	map_shared(&s, fds[FD_SHARED]);
	map_buffer(&s);
	s.packet = fds[FD_PACKET];
	s.stream = fds[FD_STREAM];
	s.pipe_in = fds[FD_PIPE_IN];
	s.pipe_out = fds[FD_PIPE_OUT];
	s.other = s.hello.pid;
	s.other_buffer = (char *)(uintptr_t)s.hello.buffer;
	allow_tracing();
	serve_client(&s);
}

void pair_answer_net(int control)
{
	struct side s = { .me = 1, .control = control };

	perf_serves(control, false);
	pair_get(&s, &s.hello, sizeof(s.hello));
	check_hello(&s.hello);
	s.hello.net = true;
	map_buffer(&s);
	serve_client(&s);
}

static int start_server(void)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		die("socketpair");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		answer(pair[1], true);
	}
	close(pair[1]);
	return pair[0];
}

static int named_socket(const char *name, int (*use)(int, const struct sockaddr *,
						     socklen_t))
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int n;

	/* An abstract name: nothing is left behind in the filesystem. */
	n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "ddperf.%s", name);
	if (fd < 0 || n >= (int)sizeof(a.sun_path) - 1 ||
	    use(fd, (struct sockaddr *)&a,
		offsetof(struct sockaddr_un, sun_path) + 1 + n) < 0) {
		tool_warn("'%s': %s", name, errno == ECONNREFUSED ?
			  "no server of that name" : strerror(errno));
		exit(TOOL_FAILED);
	}
	return fd;
}

int pair_serve(const struct perf_options *o)
{
	int fd = named_socket(o->server, bind), client;

	dd_shutdown(perf_open());
	signal(SIGCHLD, SIG_IGN);
	if (listen(fd, 4) < 0)
		die("listen");
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (client < 0)
			die("accept");
		if (!fork()) {
			close(fd);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			answer(client, false);
		}
		close(client);
	}
}

static void make_pipe(int *in, int *out)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		die("pipe");
	fcntl(ends[1], F_SETPIPE_SZ, PIPE_SIZE);
	*in = ends[0];
	*out = ends[1];
}

static void make_fds(struct side *s, int *fds)
{
	int packet[2], stream[2];

	fds[FD_SHARED] = memfd_create("ddperf", MFD_CLOEXEC);
	if (fds[FD_SHARED] < 0 ||
	    ftruncate(fds[FD_SHARED], shared_size(s->hello.size)) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, packet) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream) < 0)
		die("descriptors");
	s->packet = packet[0];
	s->stream = stream[0];
	fds[FD_PACKET] = packet[1];
	fds[FD_STREAM] = stream[1];
	make_pipe(&fds[FD_PIPE_IN], &s->pipe_out);
	make_pipe(&s->pipe_in, &fds[FD_PIPE_OUT]);
}

/* What only processes of one machine have in common. */
static void open_here(struct side *s)
{
	int fds[FDS], i;

	make_fds(s, fds);
	map_shared(s, fds[FD_SHARED]);
	allow_tracing();
	send_fds(s->control, &s->hello, fds);
	for (i = 0; i < FDS; i++)
		close(fds[i]);
}

void pair_open(struct side *s, const struct perf_options *o, size_t size,
	       unsigned int window)
{
	struct welcome w;
	int i;

	*s = (struct side) {
		.node = o->node,
		.hello = {
			.size = size,
			.window = window,
			.sleep = o->sleep,
			.touch = o->touch,
			.shared_cpu = share_cpu(o),
			.net = o->node >= 0,
			.cpu = o->cpus[1],
		},
	};
	tool_raise_memlock();
	/* The server first, since a handle is not inherited. */
	map_buffer(s);
	s->hello.pid = getpid();
	s->hello.buffer = (uintptr_t)s->buffer;
	if (s->hello.net) {
		s->control = net_connect(o, NET_PAIR);
		pair_put(s, &s->hello, sizeof(s->hello));
	} else {
		s->control = o->client ? named_socket(o->client, connect) :
					 start_server();
		open_here(s);
	}

	pin(o->cpus[0]);
	s->h = perf_open();
	pair_get(s, &w, sizeof(w));
	s->other = w.pid;
	s->other_buffer = (char *)(uintptr_t)w.buffer;
	for (i = 0; i < way_count(s); i++)
		connect_dd(s, w.service, i);
	if (s->hello.net)
		sock_connect(s, &w);
	start_watch(s);
}

/* --- usage ---------------------------------------------------------------- */

void usage_now(struct usage *u)
{
	struct rusage ru;

	getrusage(RUSAGE_THREAD, &ru);
	u->cpu = (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000000ull +
		(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000ull;
	u->voluntary = ru.ru_nvcsw;
	u->involuntary = ru.ru_nivcsw;
}

void usage_since(struct usage *u, const struct usage *before)
{
	usage_now(u);
	u->cpu -= before->cpu;
	u->voluntary -= before->voluntary;
	u->involuntary -= before->involuntary;
}
