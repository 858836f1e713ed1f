// SPDX-License-Identifier: GPL-2.0-only
/*
 * dd-stream-recv - write what dd-stream-send sends to standard output
 *
 * A windowed stream: up to WINDOW messages are unread at a time, and the
 * receiver writes each from where the sender has deposited it.
 *
 *	cc dd-stream-recv.c -o dd-stream-recv $(pkg-config --cflags --libs libdd)
 *	dd-stream-recv >FILE
 *
 * Copyright (C) 2026 The dd authors
 */
#include <dd.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * WINDOW messages are announced and unread, one more is in place and is announced
 * later, and one is being written: WINDOW + 2 places. dd-stream-send has the same.
 */
#define WINDOW	8
#define PLACES	(WINDOW + 2)
#define PLACE	65536

static void die(struct dd *h, const char *call, int error)
{
	char why[256] = "";

	if (h)
		dd_last_error(h, why, sizeof(why));
	fprintf(stderr, "dd-stream-recv: %s: %s%s%s\n", call, dd_strerror(error),
		*why ? ": " : "", why);
	exit(1);
}

static void write_all(const char *data, size_t size)
{
	ssize_t n;

	for (; size; data += n, size -= n) {
		n = write(STDOUT_FILENO, data, size);
		if (n < 0 && errno != EINTR) {
			perror("dd-stream-recv: standard output");
			exit(1);
		}
		if (n < 0)
			n = 0;
	}
}

int main(void)
{
	struct dd_serve_attr attr = {
		.size = sizeof(attr),
		.flags = DD_ATTR_CLOSE,		/* report when the sender has gone */
		.maxconn = 1,
		.window = WINDOW,
		.recv_size = PLACES * PLACE,	/* no send area: no replies */
	};
	unsigned long long bytes = 0;
	int ret, list, service;
	struct dd_msg msg;
	struct dd *h;

	ret = dd_open(&h);
	if (ret)
		die(NULL, "dd_open", ret);
	ret = dd_alloc(h, attr.recv_size, &attr.recv);
	if (ret)
		die(h, "dd_alloc", ret);
	service = dd_serve(h, "stream", &attr, &list);
	if (service < 0)
		die(h, "dd_serve", service);
	fprintf(stderr, "ready\n");

	for (;;) {
		ret = dd_recv(h, list, &msg, DD_RECV_SPIN, DD_FOREVER);
		if (ret == -ECONNCLOSE) {
			fprintf(stderr, "dd-stream-recv: the sender went away after %llu bytes\n",
				bytes);
			return 1;
		}
		if (ret)
			die(h, "dd_recv", ret);
		if (!msg.len)
			break;		/* an empty message: all has been sent */
		write_all(msg.addr, msg.len);
		bytes += msg.len;
		/* The next dd_recv() gives the place back to the sender. */
	}
	dd_shutdown(h);
	return 0;
}
