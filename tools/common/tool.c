// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Copyright (C) 2026 The dd authors
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "dd_errno.h"
#include "tool.h"

const char *tool_name = "dd";

static void end_output(void)
{
	/* ferror(): an earlier write may have failed. */
	if (!fflush(stdout) && !ferror(stdout))
		return;
	tool_warn("standard output: %s", strerror(errno));
	_exit(TOOL_FAILED);
}

void tool_begin(const char *name)
{
	tool_name = name;
	opterr = 0;
	atexit(end_output);
}

/*
 * Standard error has no buffer. A line that is printed in pieces is written in pieces,
 * and mixes with the lines of other processes: print it at once.
 */
static void say(const char *format, va_list args, const char *more)
{
	char *text, *line;

	if (vasprintf(&text, format, args) < 0)
		return;
	if (asprintf(&line, "%s: %s\n%s", tool_name, text, more) >= 0) {
		fputs(line, stderr);
		free(line);
	}
	free(text);
}

void tool_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args, "");
	va_end(args);
}

void tool_usage(const char *format, ...)
{
	char hint[64];
	va_list args;

	snprintf(hint, sizeof(hint), "Try '%s --help'.\n", tool_name);
	va_start(args, format);
	say(format, args, hint);
	va_end(args);
	exit(TOOL_USAGE);
}

void tool_bad_option(char **argv)
{
	tool_usage("'%s' is no option, or its value is missing or wrong", argv[optind - 1]);
}

void tool_version(void)
{
	printf("%s %s\n", tool_name, DD_VERSION);
	exit(TOOL_OK);
}

const char *tool_option(int c, const struct option *all, int index)
{
	static char name[32];

	if (index < 0)
		snprintf(name, sizeof(name), "-%c", c);
	else
		snprintf(name, sizeof(name), "--%s", all[index].name);
	return name;
}

int tool_exit_code(int error)
{
	switch (abs(error)) {
	case 0:
		return TOOL_OK;
	case ENOCMP:
	case EACCES:
	case EPERM:
		return TOOL_UNAVAILABLE;
	case ECONNCLOSE:
		return TOOL_PEER;
	default:
		return TOOL_FAILED;
	}
}

static unsigned int suffix_shift(char c)
{
	switch (toupper((unsigned char)c)) {
	case 'K':
		return 10;
	case 'M':
		return 20;
	case 'G':
		return 30;
	default:
		return 0;
	}
}

uint64_t tool_number(const char *option, const char *text, uint64_t min,
		     uint64_t max)
{
	unsigned int shift = 0;
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (end != text && *end) {
		shift = suffix_shift(*end);
		end += !!shift;
	}
	if (!isdigit((unsigned char)*text) || *end || errno ||
	    value > UINT64_MAX >> shift)
		tool_usage("%s: '%s' is not a number", option, text);
	value <<= shift;
	if (value < min || value > max)
		tool_usage("%s: %s is not within %llu..%llu", option, text,
			   (unsigned long long)min, (unsigned long long)max);
	return value;
}

unsigned int tool_utf8_length(const unsigned char *s)
{
	unsigned int i, n;

	n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 :
	    *s < 0xf5 ? 4 : 0;
	for (i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong forms, surrogates, and what is beyond U+10FFFF. */
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) ||
	    (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

const char *tool_print_name(char *buf, unsigned int size, const char *name)
{
	const unsigned char *s = (const unsigned char *)name;
	unsigned int n = 0, len;

	for (; *s; s += len ? len : 1) {
		len = tool_utf8_length(s);
		if (n + len + 1 >= size)
			break;
		/* Terminals take U+0080 to U+009F for control characters as well. */
		if (len == 0 || (len == 1 && iscntrl(*s)) ||
		    (len == 2 && *s == 0xc2 && s[1] < 0xa0)) {
			buf[n++] = '?';
		} else {
			memcpy(buf + n, s, len);
			n += len;
		}
	}
	buf[n] = 0;
	return buf;
}

uint64_t tool_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

void tool_raise_memlock(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	if (!setrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	/* Without CAP_SYS_RESOURCE the hard limit is the highest. */
	if (!getrlimit(RLIMIT_MEMLOCK, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_MEMLOCK, &limit);
	}
}
