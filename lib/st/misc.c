// SPDX-License-Identifier: LGPL-2.1-only
/*
 * misc.c - time, version, memory
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "end.h"

ST_API double st_time(void)
{
	return st_now() / 1e9;
}

ST_API const char *st_version(void)
{
	return "libst " DD_VERSION ", Scheduled Transfer bypass API level 0";
}

ST_API void *st_malloc(size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE), len;
	void *ptr = NULL;

	if (size > PTRDIFF_MAX - page) {
		errno = ENOMEM;
		return NULL;
	}
	len = size ? (size + page - 1) / page * page : page;
	ptr = aligned_alloc(page, len);
	return ptr ? memset(ptr, 0, len) : NULL;
}
