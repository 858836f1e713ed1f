// SPDX-License-Identifier: LGPL-2.1-only
/*
 * session.c - the session of the process, and the server of this node that has it
 *
 * Copyright (C) 2026 The dd authors
 *
 * A request is its length, 4 bytes, big endian, and texts that end with NUL. So is a reply: an error
 * number, a message, and what was asked for.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "session.h"

#define SERVER		"/run/vmmc/socket"
#define SERVER_S	70		/* the server answers within a minute */
#define CONNECT_TRIES	50		/* while the server is started again */
#define REQUEST_MAX	(128 << 10)
#define REPLY_MAX	4096
#define REPLY_FIELDS	5

struct request {
	char *data;
	size_t len;
	int err;
};

struct reply {
	char data[REPLY_MAX + 1];
	const char *field[REPLY_FIELDS];	/* "" if there are fewer */
};

/* ---- requests ----------------------------------------------------------------------------- */

static void add(struct request *r, const char *text)
{
	size_t len = strlen(text) + 1;

	if (!r->data && !r->err)
		r->data = malloc(REQUEST_MAX);
	if (!r->data)
		r->err = -ENOMEM;
	else if (len > REQUEST_MAX - r->len)
		r->err = -E2BIG;
	if (r->err)
		return;
	memcpy(r->data + r->len, text, len);
	r->len += len;
}

static void add_number(struct request *r, int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", n);
	add(r, text);
}

static void add_list(struct request *r, char *const *text)
{
	int n = 0;

	while (text[n])
		n++;
	add_number(r, n);
	for (int i = 0; i < n; i++)
		add(r, text[i]);
}

/* ---- the server ----------------------------------------------------------------------------- */

/* @flags: SOCK_NONBLOCK: one try. */
static int server_connect(int flags)
{
	const struct sockaddr_un address = { AF_UNIX, SERVER };
	const struct timeval patience = { .tv_sec = SERVER_S };
	const struct timespec pause = { .tv_nsec = 20000000 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	int tries = flags ? CONNECT_TRIES : 0;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	while (connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
		/* Notifications interrupt. */
		if ((errno == ECONNREFUSED && tries++ < CONNECT_TRIES && !nanosleep(&pause, NULL)) ||
		    errno == EINTR)
			continue;
		close(fd);
		return -1;
	}
	return fd;
}

/* All bytes, or none. */
static bool transfer(int fd, void *data, size_t len, bool out)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = out ? send(fd, (char *)data + done, len - done, MSG_NOSIGNAL) :
			  recv(fd, (char *)data + done, len - done, 0);
		if (n > 0)
			done += n;
		else if (!n || errno != EINTR)
			return false;
	}
	return true;
}

static bool request_send(int fd, const struct request *r)
{
	uint32_t head = htonl(r->len);

	return transfer(fd, &head, sizeof(head), true) && transfer(fd, r->data, r->len, true);
}

static bool exchange(int fd, const struct request *r, struct reply *reply, size_t *len)
{
	uint32_t head;

	if (!request_send(fd, r) || !transfer(fd, &head, sizeof(head), false))
		return false;
	*len = ntohl(head);
	return *len <= REPLY_MAX && transfer(fd, reply->data, *len, false);
}

static void reply_split(struct reply *reply, size_t len)
{
	const char *at = reply->data;

	reply->data[len] = 0;
	for (int i = 0; i < REPLY_FIELDS; i++) {
		reply->field[i] = at;
		if (at + strlen(at) < reply->data + len)
			at += strlen(at) + 1;
		else
			at = "";
	}
}

/* Ask the server, and free the request. 0, -EHOSTUNREACH: it does not answer, or its error. */
static int ask(struct request *r, struct reply *reply)
{
	int fd = r->err ? -1 : server_connect(0), ret = r->err;
	size_t len;

	if (!ret)
		ret = fd >= 0 && exchange(fd, r, reply, &len) ? 0 : -EHOSTUNREACH;
	if (fd >= 0)
		close(fd);
	free(r->data);
	if (ret)
		return ret;
	reply_split(reply, len);
	return -atoi(reply->field[0]);
}

/* ---- this process ------------------------------------------------------------------------------ */

/* What the server has given to the process that it has started, or to one that forked this one. */
struct own {
	int pid, lpid, group, parent_node, parent_pid;
};

/* The number of values that are there: 3, or 5 if a process has spawned that one. */
static int own_read(struct own *own)
{
	const char *text = getenv("VMMCPROCESS");

	return text ? sscanf(text, "%d %d %d %d %d", &own->pid, &own->lpid, &own->group,
			     &own->parent_node, &own->parent_pid) : 0;
}

static const char *session(void)
{
	const char *name = getenv("VMMCSESSION");

	return name && *name ? name : NULL;
}

int ddi_session(void)
{
	return !!session();
}

void ddi_session_enter(void)
{
	struct own own;
	int n = own_read(&own);
	struct request r = { 0 };
	struct reply reply;

	if (!session() || (n >= 3 && own.pid == getpid()))
		return;
	add(&r, "enter");
	add(&r, session());
	add_number(&r, n >= 3 ? own.group : 0);
	ask(&r, &reply);
}

/* What a caller of the interfaces can do about the error of a start. */
static int spawn_class(int ret)
{
	switch (-ret) {
	case 0:
	case EPERM:
		return ret;
	case EAGAIN:
	case ENOMEM:
	case ENOSPC:
	case EDQUOT:
		return -ENOMEM;
	case EBUSY:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case ENONET:
	case ETIMEDOUT:
		return -EHOSTUNREACH;
	}
	return -EINVAL;
}

DD_API int ddi_session_spawn(const char *program, char **argv, int node, int *pid)
{
	char *none[] = { NULL }, *directory;
	struct request r = { 0 };
	struct reply reply;
	struct own own;
	int ret;

	if (!session())
		return -EHOSTUNREACH;
	directory = getcwd(NULL, 0);
	if (!directory)
		return spawn_class(-errno);
	add(&r, "spawn");
	add(&r, session());
	add_number(&r, own_read(&own) >= 3 ? own.group : 0);
	add_number(&r, node);
	add(&r, directory);
	add(&r, program);
	add_list(&r, argv[0] ? argv + 1 : none);
	add_list(&r, environ);
	free(directory);
	ret = ask(&r, &reply);
	if (!ret)
		*pid = atoi(reply.field[3]);
	return spawn_class(ret);
}

int ddi_session_ask(int node, int pid)
{
	struct request r = { 0 };
	int fd;

	add(&r, "exists");
	add_number(&r, node);
	add_number(&r, pid);
	fd = r.err ? -1 : server_connect(SOCK_NONBLOCK);
	if (fd >= 0 && !request_send(fd, &r)) {
		close(fd);
		fd = -1;
	}
	free(r.data);
	return fd;
}

int ddi_session_answer(int fd)
{
	struct reply reply;
	uint32_t head = 0;
	ssize_t n = recv(fd, &head, sizeof(head), MSG_PEEK | MSG_DONTWAIT);
	size_t len = ntohl(head);
	int ret = -EHOSTUNREACH;

	if (n == sizeof(head) && len && len <= REPLY_MAX - sizeof(head)) {
		n = recv(fd, reply.data, sizeof(head) + len, MSG_PEEK | MSG_DONTWAIT);
		reply.data[n > 0 ? n : 0] = 0;
		if (n == (ssize_t)(sizeof(head) + len))
			ret = -atoi(reply.data + sizeof(head));
		else if (n > 0)
			ret = -EAGAIN;
	} else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		ret = -EAGAIN;
	}
	if (ret != -EAGAIN)
		close(fd);
	return ret;
}

DD_API int ddi_session_parent(int *node, int *pid)
{
	struct own own;

	if (own_read(&own) != 5 || own.pid != getpid())
		return -ESRCH;
	*node = own.parent_node;
	*pid = own.parent_pid;
	return 0;
}
