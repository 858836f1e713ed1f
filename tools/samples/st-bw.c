// SPDX-License-Identifier: GPL-2.0-only
/*
 * st-bw - how fast ST moves bytes
 *
 *   st-bw serve SERVICE             offer memory to one client
 *   st-bw HOW HOST SERVICE MIB      move up to MIB MiB in transfers of each size; HOW is
 *	put	Data with a header each
 *	silent	Data without
 *	whole	Data with a header, as one STU each
 *	get	read instead
 *
 *	cc st-bw.c -o st-bw $(pkg-config --cflags --libs dd-st)
 *
 * Copyright (C) 2026 The dd authors
 */
#include <err.h>
#include <st.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST	(1u << 20)
#define MOST	2000		/* transfers of one size */

static st_chandle_t c;
static char *memory;
static int Mx;

/* The memory is whole pages: on one node the other process stores there itself. */
static void map(int flags)
{
	st_mhandle_t m;

	memory = st_malloc(LARGEST);
	if (!memory || st_map(&c, flags, memory, LARGEST, 0, -1, &m, &Mx))
		err(1, "map");
}

static void serve(const char *service)
{
	st_header_t hdr = { .op = ST_OP_MEMORY_REGION_AVAILABLE };

	if (st_listen(c, NULL, service))
		err(1, "listen to %s", service);
	puts("ready");
	fflush(stdout);
	if (st_accept(c))
		err(1, "accept");
	map(ST_PIN_TX | ST_PIN_RX);
	hdr.mx = Mx;
	if (st_tx(&c, &hdr, NULL, 0, 0, 0))
		err(1, "send");
	/* Read what comes; the last header is answered. */
	while (!st_rx(&c, &hdr, NULL, NULL))
		if (hdr.op == ST_OP_END && st_tx(&c, &hdr, NULL, 0, 0, 0))
			err(1, "send");
}

static void move(st_header_t hdr, unsigned int size, unsigned int count)
{
	st_header_t answer, end = { .op = ST_OP_END };
	double begun = st_time();
	unsigned int i;

	for (i = 0; i < count; i++)
		if (st_tx(&c, &hdr, NULL, size, 0, 0) ||
		    (hdr.op == ST_OP_GET && st_rx(&c, &answer, NULL, NULL)))
			err(1, "transfer %u of %u bytes", i, size);
	/* All are there when this one is answered. */
	if (st_tx(&c, &end, NULL, 0, 0, 0) || st_rx(&c, &answer, NULL, NULL))
		err(1, "end");
	printf("%7u bytes: %8.1f MB/s\n", size, (double)size * count / 1e6 / (st_time() - begun));
}

static void measure(const char *how, const char *host, const char *service, unsigned int mib)
{
	st_header_t hdr = { .op = strcmp(how, "get") ? ST_OP_DATA : ST_OP_GET }, region;
	int unlimited = ST_STU_UNLIMITED;
	unsigned int size;

	if (st_connect(c, host, service))
		err(1, "connect to %s, %s", host, service);
	map(ST_PIN_TX | ST_PIN_RX);
	if (st_rx(&c, &region, NULL, NULL))
		err(1, "receive");
	if (!strcmp(how, "whole") && st_setopt(c, ST_OPT_MAXSTU_REMOTE, &unlimited))
		err(1, "set");
	if (!strcmp(how, "silent"))
		hdr.flags = ST_FLAG_SILENT;
	hdr.mx = region.mx;
	for (size = 64; size <= LARGEST; size *= 4)
		move(hdr, size, (mib << 20) / size < MOST ? (mib << 20) / size : MOST);
}

static int known(const char *how)
{
	return !strcmp(how, "put") || !strcmp(how, "silent") || !strcmp(how, "whole") ||
	       !strcmp(how, "get");
}

int main(int argc, char **argv)
{
	if (st_create(&c))
		err(1, "create");
	if (argc == 3 && !strcmp(argv[1], "serve"))
		serve(argv[2]);
	else if (argc == 5 && known(argv[1]) && atoi(argv[4]) > 0 && atoi(argv[4]) < 4096)
		measure(argv[1], argv[2], argv[3], atoi(argv[4]));
	else
		errx(2, "usage: st-bw serve SERVICE | put|silent|whole|get HOST SERVICE MIB");
	return st_delete(c);
}
