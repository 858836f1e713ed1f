// SPDX-License-Identifier: LGPL-2.1-only
/*
 * negative.c - calls of a program that wants negative error numbers
 *
 * Copyright (C) 2026 The dd authors
 */
#define ST_API_NEGATIVE
#include <errno.h>

#include "pair.h"

void negative(void)
{
	st_header_t h = { .op = ST_OP_NOP };
	st_chandle_t c = NULL;
	st_mhandle_t m = NULL;
	int64_t count;
	int n = 4096;

	check_eq(st_create(NULL), -EINVAL);
	check_eq(st_create(&c), 0);
	check_eq(st_getopt(c, 0, &n), -ENOPROTOOPT);
	check_eq(st_getopt(c, ST_OPT_PORT_LOCAL, &n), -ENOTCONN);
	check_eq(errno, ENOTCONN);
	check_eq(st_setopt(c, ST_OPT_RX_SLOTS, &n), -ENOPROTOOPT);
	check_eq(st_listen(c, NULL, "no such service"), -EINVAL);
	check_eq(st_accept(c), -EINVAL);
	check_eq(st_connect(c, NULL, NULL), -EINVAL);
	check_eq(st_close(c), -ENOTCONN);
	check_eq(st_map(&c, ST_PIN_TX, &n, sizeof(n), 0, 1, &m, NULL), -ENOTCONN);
	check_eq(st_unmap(&m), -EINVAL);
	check_eq(st_tx(&c, &h, NULL, 0, 0, 0), -ENOTCONN);
	check_eq(st_rx(&c, &h, NULL, NULL), -ENOTCONN);
	check_eq(st_flush(&c, 0, &count), -ENOTCONN);
	check_eq(st_delete(c), 0);
	check_eq(st_delete(c), -EBADF);
}
