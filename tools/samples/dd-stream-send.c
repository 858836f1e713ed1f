// SPDX-License-Identifier: GPL-2.0-only
/*
 * dd-stream-send - send standard input to dd-stream-recv
 *
 *	cc dd-stream-send.c -o dd-stream-send $(pkg-config --cflags --libs libdd)
 *	dd-stream-send [NODE] <FILE
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
 * Message n lies at place n % PLACES of this process' buffer and of the
 * receiver's. When dd_send() accepts message n - 1, message n - PLACES has been
 * sent and the receiver has finished with it: both places are free.
 */
#define WINDOW	8
#define PLACES	(WINDOW + 2)
#define PLACE	65536

static void die(struct dd *h, const char *call, int error)
{
	char why[256] = "";

	if (h)
		dd_last_error(h, why, sizeof(why));
	fprintf(stderr, "dd-stream-send: %s: %s%s%s\n", call, dd_strerror(error),
		*why ? ": " : "", why);
	exit(1);
}

/* Fill a place, as far as the input goes. */
static size_t read_all(char *place)
{
	size_t got = 0;
	ssize_t n;

	do {
		n = read(STDIN_FILENO, place + got, PLACE - got);
		if (n < 0 && errno != EINTR) {
			perror("dd-stream-send: standard input");
			exit(1);
		}
		if (n > 0)
			got += n;
	} while (n && got < PLACE);
	return got;
}

int main(int argc, char **argv)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr),
		.type = DD_TYPE_STREAM,
		.window = WINDOW,
		.send_size = PLACES * PLACE,
		.recv_size = 4096,	/* a connection has one; nothing comes */
	};
	size_t at, len;
	struct dd *h;
	unsigned long n;
	int ret, conn;

	if (argc > 2) {
		fprintf(stderr, "Usage: dd-stream-send [NODE] <FILE\n");
		return 2;
	}
	ret = dd_open(&h);
	if (ret)
		die(NULL, "dd_open", ret);
	ret = dd_alloc(h, attr.send_size, &attr.send);
	if (!ret)
		ret = dd_alloc(h, attr.recv_size, &attr.recv);
	if (ret)
		die(h, "dd_alloc", ret);
	conn = dd_connect(h, "stream", argc > 1 ? atoi(argv[1]) : dd_node(h),
			  &attr, NULL);
	if (conn < 0)
		die(h, "dd_connect", conn);

	/* The last message is empty: it says that all has been sent. */
	for (n = 0, len = 1; len; n++) {
		at = n % PLACES * PLACE;
		len = read_all((char *)attr.send + at);
		/* A full window: wait until the receiver has read a message. */
		while ((ret = dd_send(h, conn, (char *)attr.send + at, len, at,
				      0, NULL, 0)) == -ENOTREADY) {
			ret = dd_done(h, conn, DD_DONE_PLACED, DD_FOREVER);
			if (ret < 0)
				die(h, "dd_done", ret);
		}
		if (ret)
			die(h, "dd_send", ret);
	}
	/* All of it is in the receiver's memory when dd_done() returns. */
	ret = dd_done(h, conn, DD_DONE_PLACED, DD_FOREVER);
	if (ret < 0)
		die(h, "dd_done", ret);
	dd_shutdown(h);
	return 0;
}
