// SPDX-License-Identifier: GPL-2.0-only
/*
 * st-lat - the time of a round trip of headers by ST
 *
 *   st-lat serve SERVICE            answer one client
 *   st-lat ping HOST SERVICE COUNT
 *
 *	cc st-lat.c -o st-lat $(pkg-config --cflags --libs dd-st)
 *
 * Copyright (C) 2026 The dd authors
 */
#include <err.h>
#include <st.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static st_chandle_t c;

static void serve(const char *service)
{
	st_header_t hdr;

	if (st_listen(c, NULL, service))
		err(1, "listen to %s", service);
	puts("ready");
	fflush(stdout);
	if (st_accept(c))
		err(1, "accept");
	while (!st_rx(&c, &hdr, NULL, NULL) && !st_tx(&c, &hdr, NULL, 0, 0, 0))
		;
}

static void ping(const char *host, const char *service, unsigned int count)
{
	st_header_t hdr = { .op = ST_OP_NOP };
	double begun;
	unsigned int i;

	if (st_connect(c, host, service))
		err(1, "connect to %s, %s", host, service);
	begun = st_time();
	for (i = 0; i < count; i++) {
		hdr.b_num = i;
		if (st_tx(&c, &hdr, NULL, 0, 0, 0) || st_rx(&c, &hdr, NULL, NULL))
			err(1, "header %u", i);
		if (hdr.b_num != i)
			errx(1, "header %u came instead of %u", hdr.b_num, i);
	}
	printf("%u round trips: %.3f us each\n", count, (st_time() - begun) / count * 1e6);
}

int main(int argc, char **argv)
{
	if (st_create(&c))
		err(1, "create");
	if (argc == 3 && !strcmp(argv[1], "serve"))
		serve(argv[2]);
	else if (argc == 5 && !strcmp(argv[1], "ping") && atoi(argv[4]) > 0)
		ping(argv[2], argv[3], atoi(argv[4]));
	else
		errx(2, "usage: st-lat serve SERVICE | ping HOST SERVICE COUNT");
	return st_delete(c);
}
