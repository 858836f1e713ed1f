/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the command line tools have in common: messages, exit codes, numbers.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_TOOL_H
#define DD_TOOL_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * enum tool_exit - exit codes of the tools
 * @TOOL_OK: everything asked for was done
 * @TOOL_FAILED: it was not
 * @TOOL_USAGE: wrong command line; nothing was tried
 * @TOOL_UNAVAILABLE: no module, no permission, or the node is down
 * @TOOL_PEER: the other side went away
 */
enum tool_exit {
	TOOL_OK = 0,
	TOOL_FAILED = 1,
	TOOL_USAGE = 2,
	TOOL_UNAVAILABLE = 3,
	TOOL_PEER = 4,
};

/* Name that messages begin with. */
extern const char *tool_name;

/**
 * tool_begin() - to be called before anything else
 * @name: becomes tool_name
 *
 * From then on exit() ends with %TOOL_FAILED if standard output could not be
 * written. getopt() prints no messages of its own, which begin with another name.
 */
void tool_begin(const char *name);

/* "1 round", "2 rounds". */
#define tool_s(n)	((n) == 1 ? "" : "s")

/**
 * tool_warn() - a line on standard error, after the tool's name, by one write()
 * @format: as for printf(), without the newline
 */
void tool_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * tool_usage() - complain about the command line and exit with TOOL_USAGE
 * @format: as for printf(), without the newline
 */
void tool_usage(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));

/**
 * tool_bad_option() - complain about what getopt() has refused, and exit with TOOL_USAGE
 * @argv: the command line
 */
void tool_bad_option(char **argv) __attribute__((noreturn));

/* For --version. */
void tool_version(void) __attribute__((noreturn));

/**
 * tool_option() - an option as the user gave it, by its letter or by its name
 * @c: what getopt_long() returned
 * @all: its long options
 * @index: what it stored, -1 before
 *
 * Return: text that the next call replaces.
 */
const char *tool_option(int c, const struct option *all, int index);

/**
 * tool_exit_code() - exit code that suits an error
 * @error: error number, of either sign
 */
int tool_exit_code(int error);

/**
 * tool_number() - the value of an option, or exit with TOOL_USAGE
 * @option: its name, for the message
 * @text: a decimal number with an optional suffix K, M or G (powers of 1024)
 * @min: smallest value allowed
 * @max: largest value allowed
 */
uint64_t tool_number(const char *option, const char *text, uint64_t min,
		     uint64_t max);

/* Length of the UTF-8 sequence at @s, 0 if there is none. */
unsigned int tool_utf8_length(const unsigned char *s);

/**
 * tool_print_name() - copy a name so that terminals and JSON can show it
 * @buf: where to; cut short if it is too small
 * @size: its size in bytes
 * @name: name that another process has chosen
 *
 * Bytes that are not printable UTF-8 become question marks.
 *
 * Return: @buf.
 */
const char *tool_print_name(char *buf, unsigned int size, const char *name);

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t tool_now(void);

/* Let this process wire as much memory as its hard limit (or root) allows. */
void tool_raise_memlock(void);

#endif /* DD_TOOL_H */
