// SPDX-License-Identifier: LGPL-2.1-only
/*
 * echo.c - a service, and a client of it in the same process
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdlib.h>
#include <string.h>

#include "dd.h"
#include "echo.h"
#include "tap.h"

struct dd *h;
int service, list, conn, clist;
char *srecv, *ssend, *crecv, *csend;

void *alloc(size_t size)
{
	void *addr = NULL;

	check_eq(dd_alloc(h, size, &addr), 0);
	return addr;
}

int serve(const char *name, unsigned int flags, int *l)
{
	struct dd_serve_attr attr = {
		.size = sizeof(attr), .flags = flags, .maxconn = 2,
		.window = 1,
		.recv = srecv = alloc(2 * PAGE), .recv_size = 2 * PAGE,
		.send = ssend = alloc(PAGE), .send_size = PAGE,
		.list = *l,
	};

	return dd_serve(h, name, &attr, l);
}

int client(const char *name, unsigned int type, int *l)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr), .type = type, .window = 1, .list = *l,
		.recv = crecv = alloc(PAGE), .recv_size = PAGE,
		.send = csend = alloc(PAGE), .send_size = PAGE,
	};

	return dd_connect(h, name, dd_node(h), &attr, l);
}

void setup(unsigned int type)
{
	list = clist = 0;
	check_eq(dd_open(&h), 0);
	service = serve("echo", 0, &list);
	check(service > 0 && list > 0);
	conn = client("echo", type, &clist);
	check(conn > 0);
	check_eq(clist > 0, type != DD_TYPE_RPC);
}

void setup_direct(unsigned int type, bool direct)
{
	const char *value = getenv("DD_DIRECT");
	char *before = value ? strdup(value) : NULL;

	setenv("DD_DIRECT", direct ? "1" : "0", 1);
	setup(type);
	if (before)
		setenv("DD_DIRECT", before, 1);
	else
		unsetenv("DD_DIRECT");
	free(before);
}

void teardown(void)
{
	check_eq(dd_shutdown(h), 0);
}

int request(const char *text)
{
	strcpy(csend, text);
	return dd_send(h, conn, csend, strlen(text), 0, 0, NULL, 0);
}

int take(struct dd_msg *msg)
{
	return dd_recv(h, list, msg, 0, 0);
}

int send_some(int count, int *error)
{
	struct dd_send_msg msgs[4];

	for (int i = 0; i < count; i++) {
		csend[8 * i] = '0' + i;
		msgs[i] = (struct dd_send_msg){
			.conn = conn, .addr = csend + 8 * i, .len = 8,
			.roffset = 8 * i,
		};
	}
	return dd_sendv(h, msgs, count, error);
}
