// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settings of a command line, and their values.
 */
#include <stdio.h>
#include <netlink/msg.h>

#include "ddctl.h"
#include "words.h"

int parse_u32(const char *what, const char *text, uint32_t min, uint32_t max,
	      uint32_t *value)
{
	const struct setting s = { .min = min, .max = max };

	if (parse_value(&s, text, value))
		return EXIT_OK;
	return fail(EXIT_USAGE, "%s must be %u to %u, not %s%s%s", what, min, max,
		    *text ? "" : "'", text, *text ? "" : "'");
}

static int say_unknown(const char *command, const struct setting *list,
		       const char *word)
{
	char known[128] = "";
	size_t len = 0;

	for (; list->word; list++)
		len += snprintf(known + len, sizeof(known) - len, "%s'%s'",
				len ? ", " : "", list->word);
	return fail(EXIT_USAGE, "%s accepts %s, not '%s'", command, known, word);
}

int parse_settings(const char *command, struct setting *list, int argc,
		   char **argv)
{
	struct setting *s;
	char what[64];

	for (; argc > 0; argc -= 2, argv += 2) {
		s = setting_find(list, argv[0]);
		if (!s)
			return say_unknown(command, list, argv[0]);
		if (argc == 1)
			return fail(EXIT_USAGE, "%s: '%s' needs a value", command, argv[0]);
		if (s->given)
			return fail(EXIT_USAGE, "%s: '%s' is given twice", command, argv[0]);
		s->given = true;
		if (parse_value(s, argv[1], &s->value))
			continue;
		if (s->on_off)
			return fail(EXIT_USAGE, "%s: %s must be 'on' or 'off', not '%s'",
				    command, s->word, argv[1]);
		snprintf(what, sizeof(what), "%s: %s", command, s->word);
		return parse_u32(what, argv[1], s->min, s->max, &s->value);
	}
	return EXIT_OK;
}

void put_settings(struct nl_msg *msg, const struct setting *s)
{
	for (; s->word; s++) {
		if (s->given && s->on_off)
			nla_put_u8(msg, s->attr, s->value);
		else if (s->given)
			nla_put_u32(msg, s->attr, s->value);
	}
}
