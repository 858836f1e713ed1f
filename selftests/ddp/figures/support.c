// SPDX-License-Identifier: GPL-2.0-only
/*
 * support.c - functions that the figures call and do not define
 *
 * Copyright (C) 2026 The dd authors
 *
 * The figures call functions that they do not declare, and fall off the end of
 * main(), whose exit status is then the result of the last call: the functions
 * return 0.
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
