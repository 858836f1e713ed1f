// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "say.h"

static char *lines;	/* all that say() has printed */

/* Standard error is unbuffered: one call is one write(), so lines do not mix. */
void say(const char *fmt, ...)
{
	char *text = NULL, *all = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	fprintf(stderr, "ddctl: %s\n", text ? text : "out of memory");
	if (asprintf(&all, "%s%s%s", lines ? lines : "", lines ? "\n" : "",
		     text ? text : "") >= 0) {
		free(lines);
		lines = all;
	}
	free(text);
}

const char *said(void)
{
	return lines ? lines : "";
}

void *must(void *p)
{
	if (p)
		return p;
	say("out of memory");
	exit(EXIT_RUNTIME);
}
