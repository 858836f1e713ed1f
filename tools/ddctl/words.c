// SPDX-License-Identifier: GPL-2.0-only
/*
 * Words of a command line, and their values.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddctl.h"
#include "words.h"

int parse_u32(const char *what, const char *text, uint32_t min, uint32_t max,
	      uint32_t *value)
{
	bool hex = !strncmp(text, "0x", 2);
	const char *digits = hex ? text + 2 : text;
	unsigned long long n;

	/* Never octal: in the cluster file "010" is ten. */
	errno = 0;
	n = strtoull(digits, NULL, hex ? 16 : 10);
	if (!*digits ||
	    digits[strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789")]) {
		say("%s must be a number, %u to %u, not '%s'", what, min, max, text);
		return EXIT_USAGE;
	}
	if (errno || n < min || n > max) {
		say("%s must be %u to %u, not %s", what, min, max, text);
		return EXIT_USAGE;
	}
	*value = n;
	return EXIT_OK;
}

static int parse_switch(const char *what, const char *text, uint32_t *value)
{
	bool on = !strcmp(text, "on");

	if (!on && strcmp(text, "off")) {
		say("%s must be 'on' or 'off', not '%s'", what, text);
		return EXIT_USAGE;
	}
	*value = on;
	return EXIT_OK;
}

struct setting *setting_find(struct setting *list, const char *word)
{
	for (; list->word; list++) {
		if (!strcmp(list->word, word))
			return list;
	}
	return NULL;
}

static int say_unknown(const char *command, const struct setting *list,
		       const char *word)
{
	char known[128] = "";
	size_t len = 0;

	for (; list->word; list++)
		len += snprintf(known + len, sizeof(known) - len, "%s'%s'",
				len ? ", " : "", list->word);
	say("%s knows %s, not '%s'", command, known, word);
	return EXIT_USAGE;
}

int parse_settings(const char *command, struct setting *list, int argc,
		   char **argv)
{
	struct setting *s;
	char what[64];
	int status;

	for (; argc > 0; argc -= 2, argv += 2) {
		s = setting_find(list, argv[0]);
		if (!s)
			return say_unknown(command, list, argv[0]);
		if (argc == 1) {
			say("%s: '%s' wants a value", command, argv[0]);
			return EXIT_USAGE;
		}
		if (s->given) {
			say("%s: '%s' is there twice", command, argv[0]);
			return EXIT_USAGE;
		}
		snprintf(what, sizeof(what), "%s: %s", command, s->word);
		status = s->kind == SETTING_U32 ?
			parse_u32(what, argv[1], s->min, s->max, &s->value) :
			parse_switch(what, argv[1], &s->value);
		if (status)
			return status;
		s->given = true;
	}
	return EXIT_OK;
}

int put_settings(struct nl_msg *msg, const struct setting *s)
{
	int err = 0;

	for (; s->word && !err; s++) {
		if (!s->given)
			continue;
		err = s->kind == SETTING_U32 ?
			nla_put_u32(msg, s->attr, s->value) :
			nla_put_u8(msg, s->attr, s->value);
	}
	return err;
}
