// SPDX-License-Identifier: GPL-2.0-only
/*
 * support.c - what the figures use and do not define
 *
 * Copyright (C) 2026 The dd authors
 *
 * The figures were written when a function that was not declared returned an
 * int, and when falling off the end of main() was nobody's business: its
 * status is that of the last call, so these return 0.
 */
#include <stdio.h>

#include "support.h"

int reverse(char *from, char *to, int size)
{
	for (int i = 0; i < size; i++)
		to[i] = from[size - 1 - i];
	return 0;
}

int do_something_else(void)
{
	puts("something else");
	return 0;
}

int process_echo_response(void)
{
	puts("echo response");
	return 0;
}

int process_reverse_response(void)
{
	puts("reverse response");
	return 0;
}
