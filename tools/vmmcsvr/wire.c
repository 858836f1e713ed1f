// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * wire.c - what goes over connections to servers
 *
 * Copyright (C) 2026 The dd authors
 */
#include <arpa/inet.h>
#include <errno.h>
#include <munge.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "fields.h"
#include "wire.h"

#define CONNECT_S	10	/* until the nonce is there */

/* ---- frames ---------------------------------------------------------------------------- */

static bool send_all(int fd, const void *data, size_t len, int flags)
{
	return send(fd, data, len, flags | MSG_NOSIGNAL) == (ssize_t)len;
}

static bool receive_all(int fd, void *data, size_t len)
{
	return recv(fd, data, len, MSG_WAITALL) == (ssize_t)len;
}

bool frame_send(int fd, const void *data, size_t len)
{
	uint32_t head = htonl(len);

	return send_all(fd, &head, sizeof(head), MSG_MORE) && send_all(fd, data, len, 0);
}

char *frame_receive(int fd, size_t *len)
{
	uint32_t head;
	char *data;

	errno = 0;
	if (!receive_all(fd, &head, sizeof(head)) || ntohl(head) > FRAME_MAX)
		return NULL;
	*len = ntohl(head);
	data = calloc(1, *len + 1);
	if (data && receive_all(fd, data, *len))
		return data;
	free(data);
	return NULL;
}

/* ---- credentials ------------------------------------------------------------------------- */

void seal_make(char *seal, const char *nonce, int fd, bool server)
{
	struct sockaddr_storage a = { 0 };
	socklen_t len = sizeof(a);
	char *address = seal + NONCE_SIZE;

	memset(seal, 0, SEAL_SIZE);
	memcpy(seal, nonce, NONCE_SIZE);
	if (server ? getsockname(fd, (void *)&a, &len) : getpeername(fd, (void *)&a, &len))
		return;
	/* A socket of IPv6 has ::ffff:a.b.c.d for an address of IPv4. */
	if (a.ss_family == AF_INET6) {
		memcpy(address, &((struct sockaddr_in6 *)&a)->sin6_addr, 16);
	} else {
		memset(address + 10, 0xff, 2);
		memcpy(address + 12, &((struct sockaddr_in *)&a)->sin_addr, 4);
	}
}

char *credential_make(const char *seal, const char *data, size_t len, uid_t to, const char **why)
{
	munge_ctx_t ctx = munge_ctx_create();
	munge_err_t err = EMUNGE_NO_MEMORY;
	char *all = malloc(SEAL_SIZE + len), *text = NULL;

	if (ctx && all) {
		memcpy(all, seal, SEAL_SIZE);
		memcpy(all + SEAL_SIZE, data, len);
		err = munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, to);
		if (err == EMUNGE_SUCCESS)
			err = munge_encode(&text, ctx, all, SEAL_SIZE + len);
	}
	*why = munge_strerror(err);
	if (ctx)
		munge_ctx_destroy(ctx);
	free(all);
	return err == EMUNGE_SUCCESS ? text : NULL;
}

char *credential_open(const char *text, const char *seal, uid_t *uid, size_t *len,
		      const char **why)
{
	void *data = NULL;
	int n = 0;
	gid_t gid;
	munge_err_t err = munge_decode(text, NULL, &data, &n, uid, &gid);

	*why = munge_strerror(err);
	/* Some errors give the contents, too. */
	if (err == EMUNGE_SUCCESS && n >= SEAL_SIZE && !memcmp(data, seal, SEAL_SIZE)) {
		*len = n - SEAL_SIZE;
		return memmove(data, (char *)data + SEAL_SIZE, *len);
	}
	if (err == EMUNGE_SUCCESS)
		*why = "it belongs to another connection";
	free(data);
	return NULL;
}

/* ---- client -------------------------------------------------------------------------------- */

/**
 * struct ask - a request to a server
 * @host: its machine
 * @port: its TCP port
 * @seconds: for the reply
 * @fd: the connection
 * @why: (out) reason of a failure
 * @size: of @why
 */
struct ask {
	const char *host, *port;
	int seconds, fd;
	char *why;
	size_t size;
};

static void *no_server(const struct ask *a, const char *why)
{
	snprintf(a->why, a->size, "%s port %s: %s; is vmmcsvr running there?", a->host, a->port, why);
	return NULL;
}

static void *no_munge(const struct ask *a, const char *why)
{
	snprintf(a->why, a->size, "munge: %s; munged must run here, with the key of the cluster",
		 why);
	return NULL;
}

static void *no_frame(const struct ask *a, const char *closed)
{
	return no_server(a, errno == EAGAIN ? "no answer" : errno ? strerror(errno) : closed);
}

static void patience(int fd, int seconds)
{
	const struct timeval time = { .tv_sec = seconds };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

static bool ask_connect(struct ask *a)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	int err, no = 0;
	struct addrinfo *all, *to;

	err = getaddrinfo(a->host, a->port, &hints, &all);
	if (err) {
		snprintf(a->why, a->size, "HOST '%s': %s", a->host, gai_strerror(err));
		return false;
	}
	for (to = all; to && a->fd < 0; to = to->ai_next) {
		a->fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC, 0);
		patience(a->fd, CONNECT_S);
		if (a->fd >= 0 && !connect(a->fd, to->ai_addr, to->ai_addrlen))
			break;
		no = errno == EINPROGRESS ? ETIMEDOUT : errno;
		if (a->fd >= 0)
			close(a->fd);
		a->fd = -1;
	}
	freeaddrinfo(all);
	if (a->fd < 0)
		no_server(a, strerror(no));
	return a->fd >= 0;
}

/* The reply, opened, or NULL and the reason. */
static char *exchange(struct ask *a, const char *data, size_t *len)
{
	char seal[SEAL_SIZE], *nonce, *text, *reply;
	const char *why;
	size_t n;
	uid_t uid;

	nonce = frame_receive(a->fd, &n);
	if (!nonce || n != NONCE_SIZE)
		return no_frame(a, "it closed the connection");
	seal_make(seal, nonce, a->fd, false);
	free(nonce);
	patience(a->fd, a->seconds);
	text = credential_make(seal, data, *len, 0, &why);
	if (!text)
		return no_munge(a, why);
	if (!frame_send(a->fd, text, strlen(text)))
		return no_server(a, strerror(errno));
	free(text);
	text = frame_receive(a->fd, &n);
	if (!text)
		return no_frame(a, "it refused the credential: the key or the clock differs");
	reply = credential_open(text, seal, &uid, len, &why);
	free(text);
	if (!reply)
		return no_munge(a, why);
	return uid ? no_server(a, "the reply is not root's") : reply;
}

char **server_ask(const char *host, const char *port, const char *data, size_t len, int seconds,
		  int *count, char *why, size_t size)
{
	struct ask a = { host, port, seconds, -1, why, size };
	char *reply, **field;

	if (!ask_connect(&a))
		return NULL;
	reply = exchange(&a, data, &len);
	close(a.fd);
	if (!reply)
		return NULL;
	field = fields_split(reply, len, count);
	return field && *count >= 2 ? field : no_server(&a, "the reply is not that of a server");
}
