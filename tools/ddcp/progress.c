// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copyright (C) 2026 The dd authors
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "progress.h"
#include "proto.h"
#include "../common/tool.h"

#define INTERVAL	200000000ull	/* ns between two pictures */
#define NAME_WIDTH	24

const char *progress_bytes(char *buf, double bytes)
{
	static const char * const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	unsigned int u = 0;

	while (bytes >= 1024 && u < 4) {
		bytes /= 1024;
		u++;
	}
	snprintf(buf, 16, u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
	return buf;
}

static int terminal_width(void)
{
	struct winsize w;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_col < 40)
		return 80;
	return w.ws_col;
}

static void time_left(char *buf, size_t size, uint64_t done, uint64_t total,
		      double seconds)
{
	double left = done ? seconds * (total - done) / done : 0;

	if (!done || left > 359999)
		snprintf(buf, size, "--:--");
	else if (left >= 3600)
		snprintf(buf, size, "%d:%02d:%02d", (int)left / 3600,
			 (int)left / 60 % 60, (int)left % 60);
	else
		snprintf(buf, size, "%02d:%02d", (int)left / 60, (int)left % 60);
}

static void draw(struct progress *p, uint64_t done, uint64_t now)
{
	double seconds = (now - p->begin) / 1e9;
	char name[NAME_WIDTH + 1], amount[16], rate[16], left[16], bar[64] = "";
	int width, fill;

	tool_print_name(name, sizeof(name), p->name);
	progress_bytes(amount, done);
	progress_bytes(rate, seconds > 0 ? done / seconds : 0);
	if (p->total == PROTO_UNKNOWN) {
		fprintf(stderr, "\r%-*s %10s %10s/s\033[K", NAME_WIDTH, name,
			amount, rate);
	} else {
		/* A file can outgrow what was announced. */
		if (done > p->total)
			done = p->total;
		width = terminal_width() - NAME_WIDTH - 42;
		if (width > (int)sizeof(bar) - 1)
			width = sizeof(bar) - 1;
		fill = width > 0 && p->total ? (double)width * done / p->total : width;
		if (width > 0) {
			memset(bar, '.', width);
			memset(bar, '#', fill);
		}
		time_left(left, sizeof(left), done, p->total, seconds);
		fprintf(stderr, "\r%-*s %3d%% [%s] %10s %10s/s %s\033[K",
			NAME_WIDTH, name,
			p->total ? (int)(100.0 * done / p->total) : 100,
			bar, amount, rate, left);
	}
	fflush(stderr);
	p->drawn = true;
}

void progress_begin(struct progress *p, bool quiet, const char *name,
		    uint64_t total)
{
	p->on = !quiet && isatty(STDERR_FILENO);
	p->drawn = false;
	p->name = name;
	p->total = total;
	p->begin = tool_now();
	p->next = p->begin + INTERVAL;
}

void progress_show(struct progress *p, uint64_t done)
{
	uint64_t now;

	if (!p->on)
		return;
	now = tool_now();
	if (now < p->next)
		return;
	draw(p, done, now);
	p->next = now + INTERVAL;
}

void progress_end(struct progress *p, uint64_t done, bool good)
{
	if (p->on && good)
		draw(p, done, tool_now());
	if (p->drawn)
		fputc('\n', stderr);
	p->on = false;
}
