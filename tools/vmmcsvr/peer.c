// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * peer.c - the connection that a child of the server serves
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config.h"
#include "fields.h"
#include "peer.h"
#include "wire.h"

static int peer_fd;
static uid_t requester;	/* gets the reply; peer_uid may become that of another user */
static char seal[SEAL_SIZE], *data;
static size_t len;
static FILE *out;

uid_t peer_uid;
pid_t peer_pid;

static void local_identity(void)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	/* Without a pid it is in another namespace of these. */
	if (getsockopt(peer_fd, SOL_SOCKET, SO_PEERCRED, &who, &size) || !who.pid)
		_exit(1);
	peer_uid = who.uid;
	peer_pid = who.pid;
}

static char *net_request(void)
{
	char nonce[NONCE_SIZE], *text, *request;
	const char *why;

	if (getrandom(nonce, sizeof(nonce), 0) != sizeof(nonce) ||
	    !frame_send(peer_fd, nonce, sizeof(nonce)))
		return NULL;
	text = frame_receive(peer_fd, &len);
	if (!text)
		return NULL;
	/* Not logged: anybody may send what is none. */
	seal_make(seal, nonce, peer_fd, true);
	request = credential_open(text, seal, &peer_uid, &len, &why);
	free(text);
	return request;
}

char **peer_request(int fd, bool local, int *count)
{
	char *request, **text = NULL;

	peer_fd = fd;
	if (local)
		local_identity();
	request = local ? frame_receive(fd, &len) : net_request();
	if (request)
		text = fields_split(request, len, count);
	if (!text)
		_exit(1);
	requester = peer_uid;
	return text;
}

FILE *reply_begin(int err, const char *message)
{
	out = open_memstream(&data, &len);
	if (!out)
		_exit(1);
	put_number(out, err);
	put(out, message);
	return out;
}

/* Shut down: a child that is held up may still have the connection open. */
void reply_send(void)
{
	const char *why;
	char *text;

	if (fclose(out))
		_exit(1);
	if (peer_pid) {
		frame_send(peer_fd, data, len);
	} else {
		text = credential_make(seal, data, len, requester, &why);
		if (text)
			frame_send(peer_fd, text, strlen(text));
		else
			logs("cannot make a credential: %s", why);
	}
	shutdown(peer_fd, SHUT_RDWR);
}

void refuse(int err, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	reply_begin(err, text);
	reply_send();
	_exit(0);
}

void done(void)
{
	reply_begin(0, "");
	reply_send();
	_exit(0);
}
