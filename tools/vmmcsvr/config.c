// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * config.c - what vmmcsvr.conf, cluster.conf and the module say; the log
 *
 * Copyright (C) 2026 The dd authors
 */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cluster.h"
#include "config.h"
#include "dd.h"
#include "fields.h"

#define BLANKS	" \t\r\n"

static const char *config_file;

const char *node_name;
int node_number, node_count;

/* ---- the log ---------------------------------------------------------------------------- */

static void line(const char *format, va_list args)
{
	time_t now = time(NULL);
	struct tm tm;
	char text[1024];
	size_t len;

	len = strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S ", localtime_r(&now, &tm));
	vsnprintf(text + len, sizeof(text) - len, format, args);
	for (char *c = text; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	/* One write(): children write to the log, too. */
	dprintf(STDERR_FILENO, "%s\n", text);
}

void logs(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line(format, args);
	va_end(args);
}

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line(format, args);
	va_end(args);
	exit(1);
}

/* ---- the settings -------------------------------------------------------------------------- */

/* Call @found with each line's key and value until it returns true. */
static void settings(bool (*found)(int number, const char *key, const char *value, void *arg),
		     void *arg)
{
	FILE *file = fopen(config_file, "re");
	char line[4096], *key, *value;

	if (!file && errno != ENOENT)
		die("%s: %s", config_file, strerror(errno));
	for (int n = 1; file && fgets(line, sizeof(line), file); n++) {
		line[strcspn(line, "#\n")] = 0;
		key = strtok_r(line, BLANKS, &value);
		if (!key)
			continue;
		value += strspn(value, BLANKS);
		for (size_t len = strlen(value); len && strchr(BLANKS, value[len - 1]); len--)
			value[len - 1] = 0;
		if (found(n, key, value, arg))
			break;
	}
	if (file)
		fclose(file);
}

static bool check(int number, const char *key, const char *value, void *arg)
{
	long long n;

	if (!strcmp(key, "share") ? !*value :
	    !strcmp(key, "drive") ? *value != '/' :
	    !strcmp(key, "root") ? strcmp(value, "yes") && strcmp(value, "no") :
	    !strcmp(key, "port") ? !fields_parse(value, 1, 65535, &n) :
	    (strcmp(key, "processes") && strcmp(key, "sessions")) ||
	    !fields_parse(value, 1, 1000000, &n))
		die("%s:%d: '%s' is no setting, or '%s' is no value of it", config_file, number,
		    key, value);
	return false;
}

struct search {
	const char *key, *value;
	bool matches;
};

static bool get(int number, const char *key, const char *value, void *arg)
{
	struct search *s = arg;

	if (!strcmp(key, s->key))
		s->value = strdup(value);
	return false;
}

const char *config_text(const char *key, const char *otherwise)
{
	struct search s = { .key = key };

	settings(get, &s);
	return s.value ? s.value : otherwise;
}

long long config_number(const char *key, long long otherwise)
{
	long long n;

	return fields_parse(config_text(key, ""), 1, 1000000, &n) ? n : otherwise;
}

static bool permits(int number, const char *key, const char *value, void *arg)
{
	struct search *s = arg;

	s->matches = !strcmp(key, s->key) &&
		!fnmatch(value, s->value, FNM_PATHNAME | FNM_PERIOD | FNM_NOESCAPE);
	return s->matches;
}

bool config_permits(const char *key, const char *value)
{
	struct search s = { .key = key, .value = value };

	settings(permits, &s);
	return s.matches && !strstr(value, "..");
}

/* ---- the node -------------------------------------------------------------------------------- */

static int wanted;
static const char *wanted_name;

/* The first line of a number counts. */
static void host(int number, const char *name)
{
	if (number == wanted && !wanted_name)
		wanted_name = strdup(name);
}

const char *config_host(int node)
{
	wanted = node;
	wanted_name = NULL;
	ddi_cluster_read(host);
	return wanted_name;
}

void config_init(const char *file)
{
	static char name[256];
	struct dd *h;
	int ret;

	config_file = file;
	settings(check, NULL);
	ret = dd_open(&h);
	if (ret)
		die("cannot open /dev/dd: %s; is the node configured?", dd_strerror(ret));
	node_number = dd_node(h);
	node_count = dd_max_nodes(h);
	dd_shutdown(h);
	node_name = config_host(node_number);
	if (node_name)
		return;
	if (gethostname(name, sizeof(name) - 1))
		die("no name of this node: %s", strerror(errno));
	node_name = name;
}
