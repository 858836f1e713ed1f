// SPDX-License-Identifier: GPL-2.0-only
/*
 * common.c - names and failures
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common.h"
#include "dd.h"
#include "../common/tool.h"

void fail(const char *what, int error)
{
	tool_warn("%s: %s", what, dd_strerror(error));
	exit(tool_exit_code(error));
}

/* A name of the server, or one that follows from it. */
void name_make(char made[RM_NAME_MAX + 1], const char *format, const char *name)
{
	if (snprintf(made, RM_NAME_MAX + 1, format, name) > RM_NAME_MAX)
		tool_usage("name '%s' is too long", name);
}

void *memory(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fail("cannot allocate memory", errno);
	return p;
}
